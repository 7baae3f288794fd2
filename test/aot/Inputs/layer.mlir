func.func @layer(%x: tensor<3x40xf32>, %w: tensor<24x40xf32> {polynest.constant},
                 %b: tensor<24xf32> {polynest.constant}) -> tensor<3x24xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x24xf32>
  %p = tensor.empty() : tensor<24x40xf32>
  // Squares of the weights, transposed: computed once.
  %s = linalg.map ins(%w : tensor<24x40xf32>) outs(%p : tensor<24x40xf32>)
    (%v: f32, %o: f32) {
      %q = arith.mulf %v, %v : f32
      linalg.yield %q : f32
    }
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<40x24xf32>) -> tensor<40x24xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>,
      affine_map<(i, j) -> (39 - i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<24x40xf32>) outs(%f : tensor<40x24xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<40x24xf32>
  %ye = tensor.empty() : tensor<3x24xf32>
  %yb = linalg.broadcast ins(%b : tensor<24xf32>) outs(%ye : tensor<3x24xf32>) dimensions = [0]
  %y = linalg.matmul ins(%x, %t : tensor<3x40xf32>, tensor<40x24xf32>)
    outs(%yb : tensor<3x24xf32>) -> tensor<3x24xf32>
  return %y : tensor<3x24xf32>
}
