// Fault B047: ties round to even, and the sign of zero is kept.
// RUN: %npy %t.0.0.npy f4 "17" "0.5 1.5 2.5 -0.5 -1.5"
// RUN: polynestc run %s --entry round --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[0, 2, 2, -0, -2, 0, 2, 2, -0, -2,
// RUN: %npy %t.1.0.npy f8 "5" "0.5 1.5 2.5 -0.5 -1.5"
// RUN: polynestc run %s --entry round_f64 --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[0, 2, 2, -0, -2]

#id = affine_map<(d0) -> (d0)>

func.func @round(%x0: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x0 : tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %r = math.roundeven %a0 : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @round_f64(%x0: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf64>
  %e = tensor.empty(%n) : tensor<?xf64>
  %s = linalg.generic {
      indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x0 : tensor<?xf64>)
      outs(%e : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %r = math.roundeven %a0 : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  return %s : tensor<?xf64>
}
