// Properties: a subview's offsets and strides (@subview), an expand_shape's
// linear index (@expand), also where one size is unknown and all others are 1
// (@expand_units), a collapse of unit sizes (@collapse) and the order of
// a transpose's indices (@transpose) end in the access; a collapse of several sizes stays (@keep); a second run changes
// nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fold-views))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-fold-views))' | diff %t.once -

// CHECK-LABEL: func @subview
//  CHECK-SAME: (%[[A:.+]]: memref<8x8xf32>)
//   CHECK-NOT: subview
//       CHECK: affine.for %[[I:[a-z0-9]+]] =
// The index is 1 + 2 i in dimension 0 and 3 in the dropped dimension 1.
//       CHECK: affine.load %[[A]][%[[I]] * 2 + 1, 3]
func.func @subview(%a: memref<8x8xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %v = memref.subview %a[1, 3] [3, 1] [2, 1]
      : memref<8x8xf32> to memref<3xf32, strided<[16], offset: 11>>
  %s = affine.for %i = 0 to 3 iter_args(%acc = %zero) -> f32 {
    %x = affine.load %v[%i] : memref<3xf32, strided<[16], offset: 11>>
    %y = arith.addf %acc, %x : f32
    affine.yield %y : f32
  }
  return %s : f32
}

// CHECK-LABEL: func @expand
//  CHECK-SAME: (%[[A:.+]]: memref<24xf32>)
//       CHECK: affine.for %[[I:[a-z0-9]+]] = 0 to 4
//       CHECK: affine.for %[[J:[a-z0-9]+]] = 0 to 6
//       CHECK: affine.store %{{.+}}, %[[A]][%[[I]] * 6 + %[[J]]]
func.func @expand(%a: memref<24xf32>) {
  %one = arith.constant 1.0 : f32
  %v = memref.expand_shape %a [[0, 1]] output_shape [4, 6]
      : memref<24xf32> into memref<4x6xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 6 {
      affine.store %one, %v[%i, %j] : memref<4x6xf32>
    }
  }
  return
}

// CHECK-LABEL: func @expand_units
//  CHECK-SAME: (%[[A:.+]]: memref<?x4xf32>, %[[N:.+]]: index)
//   CHECK-NOT: expand_shape
//       CHECK: affine.for %[[I:[a-z0-9]+]] = 0 to %[[N]]
//       CHECK: affine.store %{{.+}}, %[[A]][%[[I]], 3]
func.func @expand_units(%a: memref<?x4xf32>, %n: index) {
  %one = arith.constant 1.0 : f32
  %v = memref.expand_shape %a [[0, 1, 2], [3, 4]] output_shape [1, %n, 1, 4, 1]
      : memref<?x4xf32> into memref<1x?x1x4x1xf32>
  affine.for %i = 0 to %n {
    affine.store %one, %v[0, %i, 0, 3, 0] : memref<1x?x1x4x1xf32>
  }
  return
}

// CHECK-LABEL: func @collapse
//  CHECK-SAME: (%[[A:.+]]: memref<1x8x1xf32>)
//       CHECK: affine.for %[[I:[a-z0-9]+]] =
//       CHECK: affine.store %{{.+}}, %[[A]][0, %[[I]], 0]
func.func @collapse(%a: memref<1x8x1xf32>) {
  %one = arith.constant 1.0 : f32
  %v = memref.collapse_shape %a [[0, 1, 2]] : memref<1x8x1xf32> into memref<8xf32>
  affine.for %i = 0 to 8 {
    affine.store %one, %v[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @transpose
//  CHECK-SAME: (%[[A:.+]]: memref<4x8x2xf32>)
//   CHECK-NOT: transpose
//       CHECK: affine.for %[[I:[a-z0-9]+]] =
//       CHECK: affine.for %[[J:[a-z0-9]+]] =
//       CHECK: affine.for %[[K:[a-z0-9]+]] =
//       CHECK: affine.store %{{.+}}, %[[A]][%[[J]], %[[K]], %[[I]]]
func.func @transpose(%a: memref<4x8x2xf32>) {
  %one = arith.constant 1.0 : f32
  %v = memref.transpose %a (i, j, k) -> (k, i, j)
      : memref<4x8x2xf32> to memref<2x4x8xf32, strided<[1, 16, 2]>>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 4 {
      affine.for %k = 0 to 8 {
        affine.store %one, %v[%i, %j, %k] : memref<2x4x8xf32, strided<[1, 16, 2]>>
      }
    }
  }
  return
}

// CHECK-LABEL: func @keep
//       CHECK: memref.collapse_shape
func.func @keep(%a: memref<4x8xf32>) {
  %one = arith.constant 1.0 : f32
  %v = memref.collapse_shape %a [[0, 1]] : memref<4x8xf32> into memref<32xf32>
  affine.for %i = 0 to 32 {
    affine.store %one, %v[%i] : memref<32xf32>
  }
  return
}
