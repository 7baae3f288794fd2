// Properties: nests that are equal but for their buffers become calls of one
// function, which holds the constants and knows that what it writes overlaps
// nothing else (@layers); equal constants may be different values, and whether
// two buffers overlap that are only read makes no difference; nests that read the
// same two buffers the other way round are no equals (@swapped), nor are those
// with another constant (@constants) or in other loops (@loops); those of
// another function have a function of their own
// (@layers_init). Put back, each nest is there with its own buffers, and equal
// constants are one. A second run changes nothing.
// RUN: polynest-opt %s --polynest-share-nests=despite-remarks=true | FileCheck %s
// RUN: polynest-opt %s --polynest-share-nests=despite-remarks=true --polynest-share-nests=despite-remarks=true | FileCheck %s
// RUN: polynest-opt %s --polynest-share-nests=despite-remarks=true --polynest-unshare-nests | FileCheck %s --check-prefix=BACK

// CHECK-LABEL: func @layers(
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<16xf32>, %[[W:[a-z0-9]+]]: memref<16xf32>, %[[V:[a-z0-9]+]]: memref<16xf32>, %[[R:[a-z0-9]+]]: memref<16xf32> {polynest.result})
//   CHECK-NOT: affine.for
//       CHECK: %[[T:.+]] = memref.alloc() : memref<16xf32>
//       CHECK: call @layers_shared0(%[[X]], %[[W]], %[[T]])
//       CHECK: call @layers_shared0(%[[T]], %[[V]], %[[R]])
//       CHECK: return
// CHECK-LABEL: func private @layers_shared0(
//  CHECK-SAME: %[[A:[a-z0-9]+]]: memref<16xf32>, %[[B:[a-z0-9]+]]: memref<16xf32>, %[[C:[a-z0-9]+]]: memref<16xf32> {llvm.noalias}) attributes {polynest.shared}
//       CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
//       CHECK: affine.for %[[I:.+]] = 0 to 16 {
//       CHECK: %[[P:.+]] = affine.load %[[A]][%[[I]]]
//       CHECK: %[[Q:.+]] = affine.load %[[B]][%[[I]]]
//       CHECK: %[[S:.+]] = arith.mulf %[[P]], %[[Q]]
//       CHECK: %[[Y:.+]] = arith.addf %[[S]], %[[ONE]]
//       CHECK: affine.store %[[Y]], %[[C]][%[[I]]]
//   CHECK-NOT: affine.for
//       CHECK: return

// BACK-LABEL: func @layers(
//  BACK-SAME: %[[X:[a-z0-9]+]]: memref<16xf32>, %[[W:[a-z0-9]+]]: memref<16xf32>, %[[V:[a-z0-9]+]]: memref<16xf32>, %[[R:[a-z0-9]+]]: memref<16xf32> {polynest.result})
//       BACK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
//       BACK: %[[T:.+]] = memref.alloc() : memref<16xf32>
//       BACK: affine.for
//       BACK: affine.load %[[X]]
//       BACK: affine.load %[[W]]
//       BACK: arith.addf %{{.+}}, %[[ONE]]
//       BACK: affine.store %{{.+}}, %[[T]]
//       BACK: affine.for
//       BACK: affine.load %[[T]]
//       BACK: affine.load %[[V]]
//       BACK: arith.addf %{{.+}}, %[[ONE]]
//       BACK: affine.store %{{.+}}, %[[R]]
//   BACK-NOT: call
//       BACK: return
//   BACK-NOT: @layers_shared0
func.func @layers(%x: memref<16xf32>, %w: memref<16xf32>, %v: memref<16xf32>,
                  %r: memref<16xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %again = arith.constant 1.0 : f32
  %t = memref.alloc() : memref<16xf32>
  affine.for %i = 0 to 16 {
    %p = affine.load %x[%i] : memref<16xf32>
    %q = affine.load %w[%i] : memref<16xf32>
    %s = arith.mulf %p, %q : f32
    %y = arith.addf %s, %one : f32
    affine.store %y, %t[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %p = affine.load %t[%i] : memref<16xf32>
    %q = affine.load %v[%i] : memref<16xf32>
    %s = arith.mulf %p, %q : f32
    %y = arith.addf %s, %again : f32
    affine.store %y, %r[%i] : memref<16xf32>
  }
  return
}

// BACK-LABEL: func @layers_init(
// CHECK-LABEL: func @layers_init(
//       CHECK: call @layers_init_shared0
//       CHECK: call @layers_init_shared0
//       CHECK: return
// CHECK-LABEL: func private @layers_init_shared0
func.func @layers_init(%x: memref<16xf32>, %s: memref<16xf32> {polynest.state},
                       %t: memref<16xf32> {polynest.result}) {
  affine.for %i = 0 to 16 {
    %p = affine.load %x[%i] : memref<16xf32>
    affine.store %p, %s[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %p = affine.load %x[%i] : memref<16xf32>
    affine.store %p, %t[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @swapped
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
func.func @swapped(%x: memref<16xf32>, %w: memref<16xf32>,
                   %r: memref<16xf32> {polynest.result},
                   %s: memref<16xf32> {polynest.result}) {
  affine.for %i = 0 to 16 {
    %p = affine.load %x[%i] : memref<16xf32>
    %q = affine.load %w[%i] : memref<16xf32>
    %d = arith.subf %p, %q : f32
    %o = affine.load %x[%i] : memref<16xf32>
    %y = arith.mulf %d, %o : f32
    affine.store %y, %r[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %p = affine.load %w[%i] : memref<16xf32>
    %q = affine.load %x[%i] : memref<16xf32>
    %d = arith.subf %p, %q : f32
    %o = affine.load %x[%i] : memref<16xf32>
    %y = arith.mulf %d, %o : f32
    affine.store %y, %s[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @constants
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
func.func @constants(%r: memref<16xf32> {polynest.result},
                     %s: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  affine.for %i = 0 to 16 {
    affine.store %zero, %r[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    affine.store %minus, %s[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @loops
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
func.func @loops(%r: memref<16xf32> {polynest.result},
                 %s: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.store %zero, %r[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 15 {
    affine.store %zero, %s[%i] : memref<16xf32>
  }
  return
}
