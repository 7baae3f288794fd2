// Fault B029: a cumulative sum of a constant of rank 0 is the value itself, and of
// a boolean an i64.
// RUN: polynestc run %s --entry cumsum_f32 --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}2.5
// RUN: polynestc run %s --entry cumsum_i64 --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}-3
// RUN: polynestc run %s --entry cumsum_bool --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}1

func.func @cumsum_f32() -> tensor<f32> {
  %x = arith.constant dense<2.5> : tensor<f32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %e = tensor.empty() : tensor<f32>
  %r = linalg.add ins(%x, %zero : tensor<f32>, tensor<f32>)
                  outs(%e : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

func.func @cumsum_i64() -> tensor<i64> {
  %x = arith.constant dense<-3> : tensor<i64>
  %zero = arith.constant dense<0> : tensor<i64>
  %e = tensor.empty() : tensor<i64>
  %r = linalg.add ins(%x, %zero : tensor<i64>, tensor<i64>)
                  outs(%e : tensor<i64>) -> tensor<i64>
  return %r : tensor<i64>
}

func.func @cumsum_bool() -> tensor<i64> {
  %x = arith.constant dense<true> : tensor<i1>
  %e = tensor.empty() : tensor<i64>
  %r = linalg.generic {
      indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>],
      iterator_types = []}
      ins(%x : tensor<i1>) outs(%e : tensor<i64>) {
  ^bb0(%a: i1, %o: i64):
    %v = arith.extui %a : i1 to i64
    linalg.yield %v : i64
  } -> tensor<i64>
  return %r : tensor<i64>
}
