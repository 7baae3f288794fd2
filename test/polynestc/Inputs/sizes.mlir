func.func @exp(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %e = math.exp %x : tensor<?x?x?xf32>
  return %e : tensor<?x?x?xf32>
}
