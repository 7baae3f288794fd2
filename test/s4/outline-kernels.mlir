// Properties: a marked loop is a kernel over a range, called with all of it
// (@marked: bounds 0 and the size); constants and views are made again in the
// kernel, so that two memrefs and no constant are captured (@captures); another
// nest is a kernel without range and grain (@serial); a marked loop in a nest
// is outlined where it stands (@inner); equal kernels are one (@equal), but not
// ones that differ in grain (@grain); names avoid those that are taken
// (@taken). Arguments that overlap no other are marked (@distinct). Nests that fill,
// one behind the other, are one kernel with what is stored between them (@fills), up
// to one that reads (@apart), that is marked, or whose time is taken (@timed). A
// second run changes nothing.
// RUN: polynest-opt %s --split-input-file --polynest-outline-kernels > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --split-input-file --polynest-outline-kernels | diff %t.once -
// RUN: polynest-opt %s --split-input-file --polynest-outline-kernels --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// QUIET-NOT: outline-kernels

// CHECK-LABEL: func @marked
//  CHECK-SAME: (%[[A:.+]]: memref<?xf32>, %[[N:.+]]: index)
//   CHECK-NOT: affine.parallel
//   CHECK-DAG: %[[BEGIN:.+]] = affine.apply #{{.+}}()
//   CHECK-DAG: %[[END:.+]] = affine.apply #{{.+}}()[%[[N]]]
//       CHECK: call @marked_kernel0(%[[BEGIN]], %[[END]], %[[A]])
//  CHECK-NEXT: return
// CHECK-LABEL: func private @marked_kernel0
//  CHECK-SAME: (%[[B:.+]]: index, %[[E:.+]]: index, %[[C:.+]]: memref<?xf32>{{.*}})
//  CHECK-SAME: attributes {polynest.grain = 8 : i64, polynest.kernel}
//       CHECK: affine.for %[[I:.+]] = %[[B]] to %[[E]] {
//       CHECK:   affine.load %[[C]][%[[I]]]
//       CHECK: return
func.func @marked(%a: memref<?xf32>, %n: index) {
  affine.parallel (%i) = (0) to (symbol(%n)) {
    %x = affine.load %a[%i] : memref<?xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %a[%i] : memref<?xf32>
  } {polynest.grain = 8 : i64}
  return
}

// -----

// CHECK-LABEL: func @captures
//       CHECK: call @captures_kernel0(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) : (index, index, memref<{{.+}}>, memref<{{.+}}>) -> ()
// CHECK-LABEL: func private @captures_kernel0
//   CHECK-DAG: arith.constant 2.0
//   CHECK-DAG: memref.subview
//       CHECK: affine.for
//       CHECK: return
func.func @captures(%a: memref<9xf32>, %r: memref<8xf32> {polynest.result}) {
  %two = arith.constant 2.0 : f32
  %v = memref.subview %a[1] [8] [1]
    : memref<9xf32> to memref<8xf32, strided<[1], offset: 1>>
  affine.parallel (%i) = (0) to (8) {
    %x = affine.load %v[%i] : memref<8xf32, strided<[1], offset: 1>>
    %y = arith.mulf %x, %two : f32
    affine.store %y, %r[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  return
}

// -----

// CHECK-LABEL: func @serial
//   CHECK-NOT: affine.for
//       CHECK: call @serial_kernel0(%{{.+}}) : (memref<4x8xf32>) -> ()
// CHECK-LABEL: func private @serial_kernel0
//  CHECK-SAME: (%{{[^:]+}}: memref<4x8xf32>{{[^,]*}}) attributes {polynest.kernel} {
//       CHECK: affine.for
//       CHECK:   affine.for
//       CHECK: return
func.func @serial(%a: memref<4x8xf32>) {
  affine.for %i = 1 to 4 {
    affine.for %j = 0 to 8 {
      %x = affine.load %a[%i - 1, %j] : memref<4x8xf32>
      affine.store %x, %a[%i, %j] : memref<4x8xf32>
    }
  }
  return
}

// -----

// CHECK-LABEL: func @inner
//       CHECK: affine.for %[[I:.+]] = 1 to 4 {
//       CHECK:   call @inner_kernel0(%{{.+}}, %{{.+}}, %{{.+}})
//       CHECK: return
// CHECK-LABEL: func private @inner_kernel0
//  CHECK-SAME: polynest.grain = 4 : i64
func.func @inner(%a: memref<4x8xf32>) {
  affine.for %i = 1 to 4 {
    affine.parallel (%j) = (0) to (8) {
      %x = affine.load %a[%i - 1, %j] : memref<4x8xf32>
      affine.store %x, %a[%i, %j] : memref<4x8xf32>
    } {polynest.grain = 4 : i64}
  }
  return
}

// -----

// CHECK-LABEL: func @equal
//       CHECK: call @equal_kernel0(
//       CHECK: call @equal_kernel0(
//       CHECK: return
//       CHECK: func private @equal_kernel0
//   CHECK-NOT: func private @equal_kernel1
func.func @equal(%a: memref<8xf32>, %b: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (8) {
    affine.store %zero, %a[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  affine.parallel (%i) = (0) to (8) {
    affine.store %zero, %b[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  return
}

// -----

// CHECK-LABEL: func @grain
//       CHECK: call @grain_kernel0(
//       CHECK: call @grain_kernel1(
//       CHECK: return
//   CHECK-DAG: func private @grain_kernel0
//   CHECK-DAG: func private @grain_kernel1
func.func @grain(%a: memref<8xf32>, %b: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (8) {
    affine.store %zero, %a[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  affine.parallel (%i) = (0) to (8) {
    affine.store %zero, %b[%i] : memref<8xf32>
  } {polynest.grain = 2 : i64}
  return
}

// -----

func.func private @taken_kernel0()

// CHECK-LABEL: func @taken
//       CHECK: call @taken_kernel1(
//       CHECK: return
func.func @taken(%a: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %zero, %a[%i] : memref<8xf32>
  }
  return
}

// -----

// Inputs may overlap each other, a result overlaps nothing.
// CHECK-LABEL: func private @distinct_kernel0
//  CHECK-SAME: (%{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<8xf32>, %{{[a-z0-9]+}}: memref<8xf32>, %{{[a-z0-9]+}}: memref<8xf32> {llvm.noalias})
func.func @distinct(%a: memref<8xf32>, %b: memref<8xf32>,
                    %r: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (8) {
    %x = affine.load %a[%i] : memref<8xf32>
    %y = affine.load %b[%i] : memref<8xf32>
    %z = arith.addf %x, %y : f32
    affine.store %z, %r[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  return
}

// -----

// CHECK-LABEL: func @fills
//   CHECK-NOT: affine.store
//       CHECK: call @fills_kernel0(
//   CHECK-NOT: affine.store
//       CHECK: call @fills_kernel1(
//  CHECK-NEXT: return
// CHECK-LABEL: func private @fills_kernel1
// CHECK-LABEL: func private @fills_kernel0
//       CHECK: affine.for %{{.+}} = 0 to 4
//       CHECK:   affine.store
//       CHECK: affine.store %{{.+}}[8]
//       CHECK: affine.for %{{.+}} = 0 to 9
//       CHECK:   affine.store
//       CHECK: return
func.func @fills(%x: f32, %a: memref<9xf32>, %b: memref<9xf32> {polynest.result}) {
  affine.for %i = 0 to 4 {
    affine.store %x, %a[%i] : memref<9xf32>
  }
  %zero = arith.constant 0.0 : f32
  affine.store %zero, %a[8] : memref<9xf32>
  affine.for %i = 0 to 9 {
    affine.store %zero, %b[%i] : memref<9xf32>
  }
  affine.parallel (%i) = (0) to (4) {
    affine.store %x, %a[%i + 4] : memref<9xf32>
  } {polynest.grain = 1 : i64}
  return
}

// -----

// CHECK-LABEL: func @apart
//       CHECK: call @apart_kernel0
//       CHECK: affine.load
//       CHECK: call @apart_kernel1
//       CHECK: call @apart_kernel2
//       CHECK: return
func.func @apart(%x: f32, %a: memref<9xf32>, %b: memref<9xf32> {polynest.result}) {
  affine.for %i = 0 to 4 {
    affine.store %x, %a[%i] : memref<9xf32>
  }
  %y = affine.load %a[1] : memref<9xf32>
  affine.for %i = 0 to 5 {
    affine.store %y, %a[%i + 4] : memref<9xf32>
  }
  affine.for %i = 0 to 9 {
    %z = affine.load %a[%i] : memref<9xf32>
    affine.store %z, %b[%i] : memref<9xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @timed
//       CHECK: call @timed_kernel0{{.*}} {polynest.nest = 0 : i64}
//       CHECK: call @timed_kernel1{{.*}} {polynest.nest = 1 : i64}
//       CHECK: return
func.func @timed(%x: f32, %a: memref<9xf32>, %b: memref<9xf32> {polynest.result}) {
  affine.for %i = 0 to 4 {
    affine.store %x, %a[%i] : memref<9xf32>
  } {polynest.nest = 0 : i64}
  affine.for %i = 0 to 9 {
    affine.store %x, %b[%i] : memref<9xf32>
  } {polynest.nest = 1 : i64}
  return
}
