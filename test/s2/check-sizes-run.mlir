// Properties: a reshape to parts that do not make up what is there is an error, not
// memory of others; one that does runs. The number of rows is an argument (@given) or
// computed (@rows); one whose product with the columns wraps around is too large
// (@wraps).
// RUN: polynestc run %s --entry rows --check --size 8
// RUN: polynestc run %s --entry rows --check --size 0
// RUN: not polynestc run %s --entry rows --size 7 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry given --size 7 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry wraps --size 8 2>&1 | FileCheck %s

// CHECK: sizes differ: a reshape to another number of elements than there are

func.func @rows(%x: tensor<?xf32>) -> tensor<?x4xf32> {
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.divsi %d, %c4 : index
  %p = tensor.expand_shape %x [[0, 1]] output_shape [%m, 4]
    : tensor<?xf32> into tensor<?x4xf32>
  %e = tensor.empty(%m) : tensor<?x4xf32>
  %r = linalg.exp ins(%p : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>)
    -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

func.func @given(%x: tensor<?xf32>, %n: index) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i64
  %i = arith.index_cast %n : index to i64
  %s = tensor.from_elements %i, %c3 : tensor<2xi64>
  %p = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %r = linalg.exp ins(%p : tensor<?x3xf32>) outs(%e : tensor<?x3xf32>)
    -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

func.func @wraps(%x: tensor<?xf32>) -> tensor<f32> {
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %large = arith.constant 4611686018427387904 : index // 2^62
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %q = arith.divsi %d, %c4 : index
  %m = arith.addi %q, %large : index
  %p = tensor.expand_shape %x [[0, 1]] output_shape [%m, 4]
    : tensor<?xf32> into tensor<?x4xf32>
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%p : tensor<?x4xf32>)
    outs(%i : tensor<f32>) dimensions = [0, 1]
  return %r : tensor<f32>
}
