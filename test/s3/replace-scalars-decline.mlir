// Properties: a location stays in memory if another argument may share it
// (@alias), if a moving index of the same memref may meet it (@moving), if it is
// touched under a condition (@condition), or if a view of it is touched (@view);
// values die at a call (@call), at a may-alias store (@kill), and at the end of
// a block that may not run (@branch); an unread store before a loop that reads
// stays (@read); a loop carries both of two values that begin unlike (@begin), are
// computed unlike (@step), of what another loop carries unlike (@inner), or of
// memory that is written between two loads (@written).
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

// CHECK-LABEL: func @begin
//       CHECK: affine.for {{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (f32, f32)
//       CHECK: return
func.func @begin(%A: memref<?xf32>, %n: index) -> (f32, f32) {
  %z = arith.constant 0.0 : f32
  %m = arith.constant -0.0 : f32
  %r:2 = affine.for %i = 0 to %n iter_args(%x = %z, %y = %m) -> (f32, f32) {
    %a = affine.load %A[%i] : memref<?xf32>
    %x1 = arith.addf %x, %a : f32
    %y1 = arith.addf %y, %a : f32
    affine.yield %x1, %y1 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// Other operations, other attributes, operands in another order.
// CHECK-LABEL: func @step
//       CHECK: affine.for {{.+}} -> (f32, f32, f32, f32)
//       CHECK: return
func.func @step(%A: memref<?xf32>, %n: index, %z: f32) -> (f32, f32, f32, f32) {
  %r:4 = affine.for %i = 0 to %n iter_args(%x = %z, %y = %z, %v = %z, %w = %z) -> (f32, f32, f32, f32) {
    %a = affine.load %A[%i] : memref<?xf32>
    %x1 = arith.addf %x, %a : f32
    %y1 = arith.subf %y, %a : f32
    %v1 = arith.addf %v, %a fastmath<contract> : f32
    %w1 = arith.addf %a, %w : f32
    affine.yield %x1, %y1, %v1, %w1 : f32, f32, f32, f32
  }
  return %r#0, %r#1, %r#2, %r#3 : f32, f32, f32, f32
}

// CHECK-LABEL: func @inner
//       CHECK: affine.for {{.+}} -> (f32, f32)
//       CHECK: affine.for {{.+}} -> (f32, f32)
//       CHECK: return
func.func @inner(%A: memref<?xf32>, %n: index, %z: f32) -> (f32, f32) {
  %r:2 = affine.for %i = 0 to %n iter_args(%x = %z, %y = %z) -> (f32, f32) {
    %q:2 = affine.for %j = 0 to %n iter_args(%v = %x, %w = %y) -> (f32, f32) {
      %a = affine.load %A[%j] : memref<?xf32>
      %v1 = arith.addf %v, %a : f32
      %w1 = arith.maximumf %w, %a : f32
      affine.yield %v1, %w1 : f32, f32
    }
    affine.yield %q#0, %q#1 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// CHECK-LABEL: func @written
//       CHECK: affine.for {{.+}} -> (f32, f32)
//       CHECK: return
func.func @written(%A: memref<?xf32> {polynest.mutable}, %n: index, %z: f32) -> (f32, f32) {
  %r:2 = affine.for %i = 0 to %n iter_args(%x = %z, %y = %z) -> (f32, f32) {
    %a = affine.load %A[%i] : memref<?xf32>
    %x1 = arith.addf %x, %a : f32
    affine.store %x1, %A[%i + 1] : memref<?xf32>
    %b = affine.load %A[%i + 1] : memref<?xf32>
    %y1 = arith.addf %y, %b : f32
    affine.yield %x1, %y1 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}
