// Fault B005: argmax and argmin give the index of the first NaN.
// RUN: %npy %t.0.0.npy f4 "1,2" "nan 4.6"
// RUN: polynestc run %s --entry argmax --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[0]
// RUN: %npy %t.1.0.npy f4 "1,3" "1 nan 9"
// RUN: polynestc run %s --entry argmax --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[1]
// RUN: %npy %t.2.0.npy f4 "1,17" "nan"
// RUN: polynestc run %s --entry argmax --input %t.2.0.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}[0]
// RUN: %npy %t.3.0.npy f4 "1,17" "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 nan"
// RUN: polynestc run %s --entry argmax --input %t.3.0.npy --print --check | FileCheck %s --check-prefix=R3
// R3: {{^}}[16]
// RUN: %npy %t.4.0.npy f4 "3,2" "nan 4.6 1 nan 4 4"
// RUN: polynestc run %s --entry argmax --input %t.4.0.npy --print --check | FileCheck %s --check-prefix=R4
// R4: {{^}}[0, 1, 0]
// RUN: %npy %t.5.0.npy f4 "1,2" "nan 4.6"
// RUN: polynestc run %s --entry argmin --input %t.5.0.npy --print --check | FileCheck %s --check-prefix=R5
// R5: {{^}}[0]
// RUN: %npy %t.6.0.npy f4 "1,3" "1 nan 9"
// RUN: polynestc run %s --entry argmin --input %t.6.0.npy --print --check | FileCheck %s --check-prefix=R6
// R6: {{^}}[1]
// RUN: %npy %t.7.0.npy f4 "1,17" "nan"
// RUN: polynestc run %s --entry argmin --input %t.7.0.npy --print --check | FileCheck %s --check-prefix=R7
// R7: {{^}}[0]
// RUN: %npy %t.8.0.npy f4 "1,17" "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 nan"
// RUN: polynestc run %s --entry argmin --input %t.8.0.npy --print --check | FileCheck %s --check-prefix=R8
// R8: {{^}}[16]
// RUN: %npy %t.9.0.npy f4 "3,2" "nan 4.6 1 nan 4 4"
// RUN: polynestc run %s --entry argmin --input %t.9.0.npy --print --check | FileCheck %s --check-prefix=R9
// R9: {{^}}[0, 1, 0]

#row = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

func.func @argmax(%x: tensor<?x?xf32>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %worst = arith.constant 0xFF800000 : f32
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
    %better = arith.cmpf ogt, %in, %best : f32
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
