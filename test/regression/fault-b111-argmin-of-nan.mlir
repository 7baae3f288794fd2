// Fault B111: argmin meets a NaN in the middle, min(nan, 7) is NaN.
// RUN: %npy %t.0.0.npy f4 "1,6" "4 2 nan 6 1 3"
// RUN: polynestc run %s --entry argmin --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[2]
// RUN: %npy %t.1.0.npy f4 "1" "nan"
// RUN: %npy %t.1.1.npy f4 "1" "7"
// RUN: polynestc run %s --entry minimum --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[nan]
// RUN: %npy %t.2.0.npy f4 "1" "7"
// RUN: %npy %t.2.1.npy f4 "1" "nan"
// RUN: polynestc run %s --entry minimum --input %t.2.0.npy --input %t.2.1.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}[nan]

#row = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

func.func @argmin(%x: tensor<?x?xf32>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %worst = arith.constant 0x7F800000 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e0 = tensor.empty(%n) : tensor<?xf32>
  %e1 = tensor.empty(%n) : tensor<?xi64>
  %b0 = linalg.fill ins(%worst : f32) outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
  %i0 = linalg.fill ins(%zero : i64) outs(%e1 : tensor<?xi64>) -> tensor<?xi64>
  %r:2 = linalg.generic {
      indexing_maps = [#row, #out, #out],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%b0, %i0 : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%in: f32, %best: f32, %at: i64):
    %k = linalg.index 1 : index
    %i = arith.index_cast %k : index to i64
    %better = arith.cmpf olt, %in, %best : f32
    %in_nan = arith.cmpf uno, %in, %in : f32
    %best_number = arith.cmpf ord, %best, %best : f32
    %first_nan = arith.andi %in_nan, %best_number : i1
    %take = arith.ori %better, %first_nan : i1
    %v = arith.select %take, %in, %best : f32
    %j = arith.select %take, %i, %at : i64
    linalg.yield %v, %j : f32, i64
  } -> (tensor<?xf32>, tensor<?xi64>)
  return %r#1 : tensor<?xi64>
}

func.func @minimum(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.min ins(%x, %y : tensor<?xf32>, tensor<?xf32>)
                  outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
