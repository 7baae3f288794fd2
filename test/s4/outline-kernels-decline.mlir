// Properties: marked loops of a form that no range covers stay serial, each
// with its reason; a nest that yields a value stays, and so do shape functions
// and kernels.
// RUN: polynest-opt %s --polynest-outline-kernels --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @dimensions
//       CHECK: call @dimensions_kernel0(
// CHECK-LABEL: func private @dimensions_kernel0
//   CHECK-NOT: index
//  CHECK-SAME: attributes {polynest.kernel} {
//       CHECK: affine.parallel
//      REMARK: [Missed] outline-kernels
// REMARK-SAME: the loop has more than one dimension
func.func @dimensions(%a: memref<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j) = (0, 0) to (4, 8) {
    affine.store %zero, %a[%i, %j] : memref<4x8xf32>
  } {polynest.grain = 1 : i64}
  return
}

// CHECK-LABEL: func private @step_kernel0
//  CHECK-SAME: attributes {polynest.kernel} {
//       CHECK: affine.parallel
//      REMARK: [Missed] outline-kernels
// REMARK-SAME: the loop's step is not 1
func.func @step(%a: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (8) step (2) {
    affine.store %zero, %a[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  return
}

// CHECK-LABEL: func @reduction
//       CHECK: affine.parallel
//   CHECK-NOT: call
//       CHECK: return
//      REMARK: [Missed] outline-kernels
// REMARK-SAME: the loop has reductions
func.func @reduction(%a: memref<8xf32>, %r: memref<f32>) {
  %s = affine.parallel (%i) = (0) to (8) reduce ("addf") -> f32 {
    %x = affine.load %a[%i] : memref<8xf32>
    affine.yield %x : f32
  } {polynest.grain = 1 : i64}
  affine.store %s, %r[] : memref<f32>
  return
}

// CHECK-LABEL: func private @minimum_kernel0
//  CHECK-SAME: attributes {polynest.kernel} {
//       CHECK: affine.parallel
//      REMARK: [Missed] outline-kernels
// REMARK-SAME: a bound is a minimum or maximum
func.func @minimum(%a: memref<8xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (min(8, symbol(%n))) {
    affine.store %zero, %a[%i] : memref<8xf32>
  } {polynest.grain = 1 : i64}
  return
}

// CHECK-LABEL: func @carries
//       CHECK: affine.for
//   CHECK-NOT: call
//       CHECK: return
func.func @carries(%a: memref<8xf32>, %r: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 8 iter_args(%t = %zero) -> f32 {
    %x = affine.load %a[%i] : memref<8xf32>
    %u = arith.addf %t, %x : f32
    affine.yield %u : f32
  }
  affine.store %s, %r[] : memref<f32>
  return
}

// CHECK-LABEL: func private @held
//       CHECK: affine.for
//   CHECK-NOT: call
//       CHECK: return
func.func private @held(%a: memref<8xf32>) attributes {polynest.kernel} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %zero, %a[%i] : memref<8xf32>
  }
  return
}
