// Properties: a fill that two operations overwrite becomes two (@shared); an
// initial value that is not read becomes an empty tensor (@unread), but not
// where a reduction of size zero could leave it (@reduction) or the body reads it
// (@read).
// RUN: polynest-opt %s --polynest-split-inits | FileCheck %s
// RUN: polynest-opt %s --polynest-split-inits > %t.once
// RUN: polynest-opt %t.once --polynest-split-inits | diff %t.once -

// CHECK-LABEL: func @shared
// CHECK-COUNT-2: linalg.fill
//       CHECK: linalg.matmul
//       CHECK: linalg.matmul
func.func @shared(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%b, %a : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func @unread
//       CHECK: linalg.fill
//       CHECK: %[[E:.+]] = tensor.empty(%{{.+}}) : tensor<?xf32>
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[E]] : tensor<?xf32>)
func.func @unread(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%a : tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func @reduction
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[F]] :
func.func @reduction(%a: tensor<4x?xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @read
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[F]] :
func.func @read(%a: tensor<4xf32>) -> tensor<4xf32> {
  %z = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
