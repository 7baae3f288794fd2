// Properties: a location stays in memory if another argument may share it
// (@alias), if a moving index of the same memref may meet it (@moving), if it is
// touched under a condition (@condition), or if a view of it is touched (@view);
// values die at a call (@call), at a may-alias store (@kill), and at the end of
// a block that may not run (@branch); an unread store before a loop that reads
// stays (@read).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-replace-scalars))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @alias
//       CHECK: affine.for
//   CHECK-NOT: iter_args
//       CHECK: affine.load
//       CHECK: affine.load
//       CHECK: affine.store
//       CHECK: return
//      REMARK: replace-scalars
// REMARK-SAME: another access in the loop may touch the location
func.func @alias(%A: memref<8xf32> {polynest.mutable},
                 %B: memref<8xf32> {polynest.mutable}) {
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %b = affine.load %B[0] : memref<8xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %B[0] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @moving
//       CHECK: affine.for
//       CHECK: affine.for
//   CHECK-NOT: iter_args
//       CHECK: affine.store
//       CHECK: return
func.func @moving(%A: memref<8x8xf32>) {
  affine.for %i = 0 to 8 {
    affine.for %k = 0 to 8 {
      %a = affine.load %A[%i, %k] : memref<8x8xf32>
      %b = affine.load %A[%i, %i] : memref<8x8xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %A[%i, %i] : memref<8x8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @condition
//       CHECK: affine.store
//       CHECK: affine.for
//       CHECK: scf.if
//       CHECK: affine.load
//       CHECK: affine.store
//       CHECK: %[[L:.+]] = affine.load
//       CHECK: return %[[L]]
func.func @condition(%A: memref<1xf32>, %X: memref<?xf32>, %n: index) -> f32 {
  %z = arith.constant 0.0 : f32
  affine.store %z, %A[0] : memref<1xf32>
  affine.for %i = 0 to %n {
    %x = affine.load %X[%i] : memref<?xf32>
    %c = arith.cmpf ogt, %x, %z : f32
    scf.if %c {
      %a = affine.load %A[0] : memref<1xf32>
      %s = arith.addf %a, %x : f32
      affine.store %s, %A[0] : memref<1xf32>
    }
  }
  %r = affine.load %A[0] : memref<1xf32>
  return %r : f32
}

// CHECK-LABEL: func @view
//       CHECK: affine.for
//   CHECK-NOT: iter_args
//       CHECK: affine.store
//       CHECK: return
func.func @view(%A: memref<8xf32>) {
  %V = memref.reinterpret_cast %A to offset: [0], sizes: [8], strides: [1]
    : memref<8xf32> to memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %b = affine.load %V[0] : memref<8xf32>
    %s = arith.addf %a, %b : f32
    affine.store %s, %V[0] : memref<8xf32>
  }
  return
}

func.func private @f(memref<4xf32>)

// CHECK-LABEL: func @call
//       CHECK: affine.store
//       CHECK: call @f
//       CHECK: %[[L:.+]] = affine.load
//       CHECK: return %[[L]]
func.func @call(%A: memref<4xf32>, %x: f32) -> f32 {
  affine.store %x, %A[1] : memref<4xf32>
  call @f(%A) : (memref<4xf32>) -> ()
  %r = affine.load %A[1] : memref<4xf32>
  return %r : f32
}

// CHECK-LABEL: func @kill
//       CHECK: affine.store
//       CHECK: affine.store
//       CHECK: %[[L:.+]] = affine.load
//       CHECK: return %[[L]]
func.func @kill(%A: memref<4xf32> {polynest.mutable},
                %B: memref<4xf32> {polynest.mutable}, %x: f32, %y: f32) -> f32 {
  affine.store %x, %A[1] : memref<4xf32>
  affine.store %y, %B[1] : memref<4xf32>
  %r = affine.load %A[1] : memref<4xf32>
  return %r : f32
}

// CHECK-LABEL: func @branch
//       CHECK: scf.if
//       CHECK: affine.store
//       CHECK: %[[L:.+]] = affine.load
//       CHECK: return %[[L]]
func.func @branch(%A: memref<4xf32>, %c: i1, %x: f32) -> f32 {
  scf.if %c {
    affine.store %x, %A[1] : memref<4xf32>
  }
  %r = affine.load %A[1] : memref<4xf32>
  return %r : f32
}

// CHECK-LABEL: func @read
//       CHECK: affine.store
//       CHECK: affine.for
//       CHECK: affine.load
//       CHECK: affine.store
//       CHECK: affine.store
//       CHECK: return
func.func @read(%A: memref<4xf32>, %B: memref<4xf32> {polynest.result},
                %x: f32, %y: f32) {
  affine.store %x, %A[1] : memref<4xf32>
  affine.for %i = 0 to 4 {
    %a = affine.load %A[%i] : memref<4xf32>
    affine.store %a, %B[%i] : memref<4xf32>
  }
  affine.store %y, %A[1] : memref<4xf32>
  return
}
