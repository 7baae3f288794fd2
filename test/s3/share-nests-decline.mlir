// Properties: stays what writes into a buffer that may overlap another one
// (@inputs), uses a number from outside (@number), buffers of dynamic size
// (@dynamic) or views with gaps (@gaps), or has results (@results). Where
// remarks are wanted nothing is shared without the option.
// RUN: polynest-opt %s --polynest-share-nests=despite-remarks=true --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --polynest-share-nests --remarks-filter='.*' 2>%t.all | FileCheck %s --check-prefix=NONE
// RUN: FileCheck %s --check-prefix=ALL < %t.all

//    ALL: [Missed] share-nests
// ALL-NOT: [Missed]
//    ALL: each nest is to have its own remarks
//    NONE: func @inputs
// NONE-NOT: call
//    NONE: func @last

// CHECK-LABEL: func @inputs
//   CHECK-NOT: call
//       CHECK: return
// REMARK-COUNT-2: a buffer that is written may overlap another
func.func @inputs(%x: memref<16xf32>, %w: memref<16xf32>, %v: memref<16xf32>) {
  affine.for %i = 0 to 16 {
    %p = affine.load %x[%i] : memref<16xf32>
    affine.store %p, %w[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %p = affine.load %w[%i] : memref<16xf32>
    affine.store %p, %v[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @number
//   CHECK-NOT: call
//       CHECK: return
// REMARK-COUNT-2: the nest uses a number from outside that is not constant
func.func @number(%a: f32, %r: memref<16xf32> {polynest.result},
                  %s: memref<16xf32> {polynest.result}) {
  affine.for %i = 0 to 16 {
    affine.store %a, %r[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    affine.store %a, %s[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @dynamic
//   CHECK-NOT: call
//       CHECK: return
// REMARK-COUNT-2: a buffer has a dynamic size or is a view with gaps
func.func @dynamic(%r: memref<?xf32> {polynest.result},
                   %s: memref<?xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.store %zero, %r[%i] : memref<?xf32>
  }
  affine.for %i = 0 to 16 {
    affine.store %zero, %s[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @gaps
//   CHECK-NOT: call
//       CHECK: return
// REMARK-COUNT-2: a buffer has a dynamic size or is a view with gaps
func.func @gaps(%r: memref<32xf32> {polynest.result},
                %s: memref<32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %t = memref.subview %r[0] [16] [2]
      : memref<32xf32> to memref<16xf32, strided<[2]>>
  %u = memref.subview %s[0] [16] [2]
      : memref<32xf32> to memref<16xf32, strided<[2]>>
  affine.for %i = 0 to 16 {
    affine.store %zero, %t[%i] : memref<16xf32, strided<[2]>>
  }
  affine.for %i = 0 to 16 {
    affine.store %zero, %u[%i] : memref<16xf32, strided<[2]>>
  }
  return
}

// CHECK-LABEL: func @results
//   CHECK-NOT: call
//       CHECK: return
// REMARK-COUNT-2: the nest has results
func.func @results(%x: memref<16xf32>, %r: memref<2xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = affine.for %i = 0 to 16 iter_args(%a = %zero) -> f32 {
    %y = affine.load %x[%i] : memref<16xf32>
    %b = arith.addf %a, %y : f32
    affine.yield %b : f32
  }
  %q = affine.for %i = 0 to 16 iter_args(%a = %zero) -> f32 {
    %y = affine.load %x[%i] : memref<16xf32>
    %b = arith.addf %a, %y : f32
    affine.yield %b : f32
  }
  affine.store %p, %r[0] : memref<2xf32>
  affine.store %q, %r[1] : memref<2xf32>
  return
}

func.func @last() {
  return
}
