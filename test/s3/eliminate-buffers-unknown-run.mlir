// Properties: plain against optimized where a buffer becomes a view of the result
// that a reshape of it is copied to, whose sizes are not known: none, one, and odd
// numbers of rows and columns.
// RUN: polynestc compile --stage s3 %s | FileCheck %s --implicit-check-not=memref.alloc
// RUN: polynestc run --check %s --entry repeated --size 0
// RUN: polynestc run --check %s --entry repeated --size 1
// RUN: polynestc run --check %s --entry repeated --size 7
// RUN: polynestc run --check %s --entry repeated --size 33
// RUN: polynestc run --check %s --entry recut --size 0
// RUN: polynestc run --check %s --entry recut --size 1
// RUN: polynestc run --check %s --entry recut --size 7
// RUN: polynestc run --check %s --entry recut --size 33

// CHECK-LABEL: func.func @repeated
//       CHECK: memref.expand_shape
func.func @repeated(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%n, %m) : tensor<2x?x3x?xf32>
  %t = linalg.generic {
    indexing_maps = [affine_map<(a, b, c, d) -> (b, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]
  } ins(%x : tensor<?x?xf32>) outs(%e : tensor<2x?x3x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = arith.negf %in : f32
    linalg.yield %r : f32
  } -> tensor<2x?x3x?xf32>
  %r = tensor.collapse_shape %t [[0, 1], [2, 3]] : tensor<2x?x3x?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// A reshape of a reshape.
// CHECK-LABEL: func.func @recut
//       CHECK: memref.collapse_shape
//       CHECK: memref.expand_shape
func.func @recut(%x: tensor<?x?x6xi32>) -> tensor<?x2xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x6xi32>
  %m = tensor.dim %x, %c1 : tensor<?x?x6xi32>
  %e = tensor.empty(%m, %n) : tensor<6x?x?xi32>
  %t = linalg.transpose ins(%x : tensor<?x?x6xi32>) outs(%e : tensor<6x?x?xi32>) permutation = [2, 1, 0]
  %f = tensor.collapse_shape %t [[0, 1, 2]] : tensor<6x?x?xi32> into tensor<?xi32>
  %nm = arith.muli %n, %m : index
  %rows = arith.muli %nm, %c3 : index
  %r = tensor.expand_shape %f [[0, 1]] output_shape [%rows, 2] : tensor<?xi32> into tensor<?x2xi32>
  return %r : tensor<?x2xi32>
}
