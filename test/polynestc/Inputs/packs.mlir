// A product with a weight, one with an argument, and a turned result.
func.func @packs(%a: tensor<64x96xf32>, %w: tensor<96x128xf32> {polynest.constant},
    %b: tensor<96x128xf32>) -> (tensor<64x128xf32>, tensor<64x128xf32>, tensor<96x64xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x128xf32>) -> tensor<64x128xf32>
  %p = linalg.matmul ins(%a, %w : tensor<64x96xf32>, tensor<96x128xf32>)
      outs(%f : tensor<64x128xf32>) -> tensor<64x128xf32>
  %q = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x128xf32>)
      outs(%f : tensor<64x128xf32>) -> tensor<64x128xf32>
  %t = tensor.empty() : tensor<96x64xf32>
  %r = linalg.transpose ins(%a : tensor<64x96xf32>) outs(%t : tensor<96x64xf32>) permutation = [1, 0]
  return %p, %q, %r : tensor<64x128xf32>, tensor<64x128xf32>, tensor<96x64xf32>
}
