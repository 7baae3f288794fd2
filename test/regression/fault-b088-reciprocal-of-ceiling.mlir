// Fault B088: the ceiling of -0.75 and of -0.0 is -0, so its reciprocal is -inf.
// RUN: %npy %t.0.0.npy f4 "17" "-0.75 -0.0 0.0"
// RUN: polynestc run %s --entry reciprocal --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[-inf, -inf, inf, -inf
// RUN: %npy %t.1.0.npy f8 "3" "-0.75 -0.0 0.0"
// RUN: polynestc run %s --entry reciprocal_f64 --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[-inf, -inf, inf]

#id = affine_map<(d0) -> (d0)>

func.func @reciprocal(%x0: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x0 : tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %c = math.ceil %a0 : f32
    %r = arith.divf %one, %c : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @reciprocal_f64(%x0: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf64>
  %e = tensor.empty(%n) : tensor<?xf64>
  %s = linalg.generic {
      indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x0 : tensor<?xf64>)
      outs(%e : tensor<?xf64>) {
  ^bb0(%a0: f64, %o: f64):
    %one = arith.constant 1.0 : f64
    %c = math.ceil %a0 : f64
    %r = arith.divf %one, %c : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  return %s : tensor<?xf64>
}
