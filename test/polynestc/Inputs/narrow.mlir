#id = affine_map<(d0) -> (d0)>
func.func @narrow(%a: tensor<19xf32>, %b: tensor<19xbf16>, %h: tensor<19xf16>, %d: tensor<19xf64>) -> (tensor<19xbf16>, tensor<19xf32>, tensor<19xf16>, tensor<19xf16>, tensor<19xbf16>) {
  %e = tensor.empty() : tensor<19xbf16>
  %e2 = tensor.empty() : tensor<19xf32>
  %e3 = tensor.empty() : tensor<19xf16>
  %r:5 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%a, %b, %h, %d : tensor<19xf32>, tensor<19xbf16>, tensor<19xf16>, tensor<19xf64>) outs(%e, %e2, %e3, %e3, %e : tensor<19xbf16>, tensor<19xf32>, tensor<19xf16>, tensor<19xf16>, tensor<19xbf16>) {
  ^bb0(%x: f32, %y: bf16, %z: f16, %w: f64, %o: bf16, %p: f32, %q: f16, %q2: f16, %q3: bf16):
    %t = arith.truncf %x : f32 to bf16
    %s = arith.addf %t, %y : bf16
    %u = arith.extf %y : bf16 to f32
    %v = arith.mulf %z, %z : f16
    %v2 = arith.truncf %w : f64 to f16
    %v3 = arith.truncf %w : f64 to bf16
    linalg.yield %s, %u, %v, %v2, %v3 : bf16, f32, f16, f16, bf16
  } -> (tensor<19xbf16>, tensor<19xf32>, tensor<19xf16>, tensor<19xf16>, tensor<19xbf16>)
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<19xbf16>, tensor<19xf32>, tensor<19xf16>, tensor<19xf16>, tensor<19xbf16>
}
