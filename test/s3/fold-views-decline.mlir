// Properties: a view stays, with a remark, where something other than a plain
// access uses it (@copied), where a stride is no constant (@stride) or an inner
// size of an expansion is dynamic (@expand). A vector access is folded through
// no view that could change what its lanes are (@lanes).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fold-views))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @copied
//  CHECK-SAME: (%[[A:[a-z0-9]+]]: memref<8xf32>
//       CHECK: %[[V:.+]] = memref.subview
//       CHECK: affine.load %[[A]][2]
//       CHECK: memref.copy %[[V]],
//      REMARK: [Missed] fold-views
// REMARK-SAME: operation=memref.subview, reason="the view is still used"
func.func @copied(%a: memref<8xf32>, %b: memref<4xf32>) -> f32 {
  %v = memref.subview %a[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  %x = affine.load %v[0] : memref<4xf32, strided<[1], offset: 2>>
  memref.copy %v, %b : memref<4xf32, strided<[1], offset: 2>> to memref<4xf32>
  return %x : f32
}

// CHECK-LABEL: func @stride
//       CHECK: %[[V:.+]] = memref.subview
//       CHECK: affine.load %[[V]][1]
//      REMARK: [Missed] fold-views
func.func @stride(%a: memref<8xf32>, %s: index) -> f32 {
  %v = memref.subview %a[0] [2] [%s] : memref<8xf32> to memref<2xf32, strided<[?]>>
  %x = affine.load %v[1] : memref<2xf32, strided<[?]>>
  return %x : f32
}

// CHECK-LABEL: func @expand
//       CHECK: %[[V:.+]] = memref.expand_shape
//       CHECK: affine.load %[[V]][1, 0]
//      REMARK: [Missed] fold-views
// REMARK-SAME: operation=memref.expand_shape
func.func @expand(%a: memref<?xf32>, %n: index) -> f32 {
  %v = memref.expand_shape %a [[0, 1]] output_shape [4, %n] : memref<?xf32> into memref<4x?xf32>
  %x = affine.load %v[1, 0] : memref<4x?xf32>
  return %x : f32
}

// Lanes of the view are two elements apart.
// CHECK-LABEL: func @lanes
//       CHECK: %[[V:.+]] = memref.subview
//       CHECK: affine.vector_load %[[V]][0]
//      REMARK: [Missed] fold-views
func.func @lanes(%a: memref<16xf32>) -> vector<4xf32> {
  %v = memref.subview %a[0] [8] [2] : memref<16xf32> to memref<8xf32, strided<[2]>>
  %x = affine.vector_load %v[0] : memref<8xf32, strided<[2]>>, vector<4xf32>
  return %x : vector<4xf32>
}
