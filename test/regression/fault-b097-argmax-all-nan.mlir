// Fault B097: rows all NaN, NaN last and NaN first, at lengths around vector
// widths: the first NaN's index, never the last index or 2147483647.
// RUN: %npy %t.0.0.npy f4 "3,3" "nan nan nan 1 1 nan nan 1 1"
// RUN: polynestc run %s --entry argmax --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[0, 2, 0]
// RUN: %npy %t.1.0.npy f4 "3,5" "nan nan nan nan nan 1 1 1 1 nan nan 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[0, 4, 0]
// RUN: %npy %t.2.0.npy f4 "3,7" "nan nan nan nan nan nan nan 1 1 1 1 1 1 nan nan 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.2.0.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}[0, 6, 0]
// RUN: %npy %t.3.0.npy f4 "3,8" "nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.3.0.npy --print --check | FileCheck %s --check-prefix=R3
// R3: {{^}}[0, 7, 0]
// RUN: %npy %t.4.0.npy f4 "3,10" "nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.4.0.npy --print --check | FileCheck %s --check-prefix=R4
// R4: {{^}}[0, 9, 0]
// RUN: %npy %t.5.0.npy f4 "3,16" "nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.5.0.npy --print --check | FileCheck %s --check-prefix=R5
// R5: {{^}}[0, 15, 0]
// RUN: %npy %t.6.0.npy f4 "3,17" "nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.6.0.npy --print --check | FileCheck %s --check-prefix=R6
// R6: {{^}}[0, 16, 0]
// RUN: %npy %t.7.0.npy f4 "3,100" "nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmax --input %t.7.0.npy --print --check | FileCheck %s --check-prefix=R7
// R7: {{^}}[0, 99, 0]
// RUN: %npy %t.8.0.npy f4 "3,3" "nan nan nan 1 1 nan nan 1 1"
// RUN: polynestc run %s --entry argmin --input %t.8.0.npy --print --check | FileCheck %s --check-prefix=R8
// R8: {{^}}[0, 2, 0]
// RUN: %npy %t.9.0.npy f4 "3,5" "nan nan nan nan nan 1 1 1 1 nan nan 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.9.0.npy --print --check | FileCheck %s --check-prefix=R9
// R9: {{^}}[0, 4, 0]
// RUN: %npy %t.10.0.npy f4 "3,7" "nan nan nan nan nan nan nan 1 1 1 1 1 1 nan nan 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.10.0.npy --print --check | FileCheck %s --check-prefix=R10
// R10: {{^}}[0, 6, 0]
// RUN: %npy %t.11.0.npy f4 "3,8" "nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.11.0.npy --print --check | FileCheck %s --check-prefix=R11
// R11: {{^}}[0, 7, 0]
// RUN: %npy %t.12.0.npy f4 "3,10" "nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.12.0.npy --print --check | FileCheck %s --check-prefix=R12
// R12: {{^}}[0, 9, 0]
// RUN: %npy %t.13.0.npy f4 "3,16" "nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.13.0.npy --print --check | FileCheck %s --check-prefix=R13
// R13: {{^}}[0, 15, 0]
// RUN: %npy %t.14.0.npy f4 "3,17" "nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.14.0.npy --print --check | FileCheck %s --check-prefix=R14
// R14: {{^}}[0, 16, 0]
// RUN: %npy %t.15.0.npy f4 "3,100" "nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 nan nan 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
// RUN: polynestc run %s --entry argmin --input %t.15.0.npy --print --check | FileCheck %s --check-prefix=R15
// R15: {{^}}[0, 99, 0]

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
