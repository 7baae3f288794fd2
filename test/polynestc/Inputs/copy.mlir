func.func @f32(%a: tensor<?x3xf32>) -> tensor<?x3xf32> {
  return %a : tensor<?x3xf32>
}
func.func @f16(%a: tensor<?x3xf16>) -> tensor<?x3xf16> {
  return %a : tensor<?x3xf16>
}
func.func @bf16(%a: tensor<?x3xbf16>) -> tensor<?x3xbf16> {
  return %a : tensor<?x3xbf16>
}
func.func @i1(%a: tensor<?x3xi1>) -> tensor<?x3xi1> {
  return %a : tensor<?x3xi1>
}
func.func @i64(%a: tensor<?x3xi64>) -> tensor<?x3xi64> {
  return %a : tensor<?x3xi64>
}
func.func @scalar(%a: f64) -> f64 {
  return %a : f64
}
