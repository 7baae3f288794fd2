// Fault B033: a product of [25088, 128] that is written as [8, 4, 14, 4, 14, 128]
// with two dimensions swapped: the epilogue's index is not the product's.
// RUN: polynestc run %s --check

func.func @windows(%a: tensor<25088x9xf32>, %b: tensor<9x128xf32>,
                   %bias: tensor<128xf32>) -> tensor<8x4x4x14x14x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<25088x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<25088x128xf32>)
    -> tensor<25088x128xf32>
  %r = linalg.matmul ins(%a, %b : tensor<25088x9xf32>, tensor<9x128xf32>)
    outs(%f : tensor<25088x128xf32>) -> tensor<25088x128xf32>
  %w = tensor.expand_shape %r [[0, 1, 2, 3, 4], [5]]
    output_shape [8, 4, 14, 4, 14, 128]
    : tensor<25088x128xf32> into tensor<8x4x14x4x14x128xf32>
  %o = tensor.empty() : tensor<8x4x4x14x14x128xf32>
  %t = linalg.generic {indexing_maps = [
      affine_map<(n, i, y, j, x, c) -> (n, i, y, j, x, c)>,
      affine_map<(n, i, y, j, x, c) -> (c)>,
      affine_map<(n, i, y, j, x, c) -> (n, i, j, y, x, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "parallel"]}
      ins(%w, %bias : tensor<8x4x14x4x14x128xf32>, tensor<128xf32>)
      outs(%o : tensor<8x4x4x14x14x128xf32>) {
  ^bb0(%x: f32, %c: f32, %y: f32):
    %s = arith.addf %x, %c : f32
    linalg.yield %s : f32
  } -> tensor<8x4x4x14x14x128xf32>
  return %t : tensor<8x4x4x14x14x128xf32>
}
