// Names that mean something in HTML, in functions and places.
func.func @"<b>&\22'bold</b>"(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %m = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32> loc("a<script>alert(1)</script>.py":3:7)
  %r = math.exp %m : tensor<8x4xf32> loc("x & y \22quoted\22 \FF\C3\28")
  return %r : tensor<8x4xf32>
}
func.func @plain(%a: tensor<?xf32>) -> tensor<?xf32> {
  %r = math.absf %a : tensor<?xf32>
  return %r : tensor<?xf32>
}
