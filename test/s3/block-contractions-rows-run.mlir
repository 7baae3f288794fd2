// Properties: products of any number of rows give what the plain program gives: no
// row, one, as many as fit a micro-tile, half of it, one of either more or less, and
// more than a block has; in f32, f64 and integers of 8 bits.
// RUN: polynestc run %s --check --size 0
// RUN: polynestc run %s --check --size 1
// RUN: polynestc run %s --check --size 2
// RUN: polynestc run %s --check --size 3
// RUN: polynestc run %s --check --size 5
// RUN: polynestc run %s --check --size 6
// RUN: polynestc run %s --check --size 9
// RUN: polynestc run %s --check --size 14
// RUN: polynestc run %s --check --size 23
// RUN: polynestc run %s --check --size 131
// RUN: polynestc run %s --check --size 257

func.func @products(
    %a: tensor<?x96xf32>, %b: tensor<96x80xf32>, %c: tensor<80xf32>,
    %d: tensor<?x40xf64>, %e: tensor<40x72xf64>,
    %f: tensor<?x64xi8>, %g: tensor<64x96xi8>)
    -> (tensor<?x80xf32>, tensor<?x72xf64>, tensor<?x96xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %wide = arith.constant 0.0 : f64
  %none = arith.constant 0 : i32
  %m = tensor.dim %a, %c0 : tensor<?x96xf32>
  %e0 = tensor.empty(%m) : tensor<?x80xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x80xf32>)
    -> tensor<?x80xf32>
  %p0 = linalg.matmul ins(%a, %b : tensor<?x96xf32>, tensor<96x80xf32>)
    outs(%i0 : tensor<?x80xf32>) -> tensor<?x80xf32>
  %r0 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%p0, %c : tensor<?x80xf32>, tensor<80xf32>)
      outs(%e0 : tensor<?x80xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<?x80xf32>
  %n = tensor.dim %d, %c0 : tensor<?x40xf64>
  %e1 = tensor.empty(%n) : tensor<?x72xf64>
  %i1 = linalg.fill ins(%wide : f64) outs(%e1 : tensor<?x72xf64>)
    -> tensor<?x72xf64>
  %r1 = linalg.matmul ins(%d, %e : tensor<?x40xf64>, tensor<40x72xf64>)
    outs(%i1 : tensor<?x72xf64>) -> tensor<?x72xf64>
  %o = tensor.dim %f, %c0 : tensor<?x64xi8>
  %e2 = tensor.empty(%o) : tensor<?x96xi32>
  %i2 = linalg.fill ins(%none : i32) outs(%e2 : tensor<?x96xi32>)
    -> tensor<?x96xi32>
  %r2 = linalg.matmul ins(%f, %g : tensor<?x64xi8>, tensor<64x96xi8>)
    outs(%i2 : tensor<?x96xi32>) -> tensor<?x96xi32>
  return %r0, %r1, %r2 : tensor<?x80xf32>, tensor<?x72xf64>, tensor<?x96xi32>
}
