// Fault B035: the minimum of booleans is their conjunction, the maximum their
// disjunction; an integer vector minus a scalar; a choice of bool and int64.
// RUN: %npy %t.0.0.npy b1 "17" "0 0 1 1"
// RUN: %npy %t.0.1.npy b1 "17" "0 1 0 1"
// RUN: polynestc run %s --entry minimum --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[{{0|false}}, {{0|false}}, {{0|false}}, {{1|true}}, {{0|false}}
// RUN: %npy %t.1.0.npy b1 "17" "0 0 1 1"
// RUN: %npy %t.1.1.npy b1 "17" "0 1 0 1"
// RUN: polynestc run %s --entry maximum --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[{{0|false}}, {{1|true}}, {{1|true}}, {{1|true}}, {{0|false}}
// RUN: %npy %t.2.0.npy i8 "9" "5 -9223372036854775808"
// RUN: polynestc run %s --entry subtract --input %t.2.0.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}[2, 9223372036854775805, 2
// RUN: %npy %t.3.0.npy b1 "4" "0 0 1 1"
// RUN: %npy %t.3.1.npy b1 "4" "0 1 0 1"
// RUN: polynestc run %s --entry choose --input %t.3.0.npy --input %t.3.1.npy --print --check | FileCheck %s --check-prefix=R3
// R3: {{^}}[-3, -3, 0, 1]

#id = affine_map<(d0) -> (d0)>

func.func @minimum(%x0: tensor<?xi1>, %x1: tensor<?xi1>) -> tensor<?xi1> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi1>
  %e = tensor.empty(%n) : tensor<?xi1>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi1>, tensor<?xi1>)
      outs(%e : tensor<?xi1>) {
  ^bb0(%a0: i1, %a1: i1, %o: i1):
    %r = arith.minui %a0, %a1 : i1
    linalg.yield %r : i1
  } -> tensor<?xi1>
  return %s : tensor<?xi1>
}

func.func @maximum(%x0: tensor<?xi1>, %x1: tensor<?xi1>) -> tensor<?xi1> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi1>
  %e = tensor.empty(%n) : tensor<?xi1>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi1>, tensor<?xi1>)
      outs(%e : tensor<?xi1>) {
  ^bb0(%a0: i1, %a1: i1, %o: i1):
    %r = arith.maxui %a0, %a1 : i1
    linalg.yield %r : i1
  } -> tensor<?xi1>
  return %s : tensor<?xi1>
}

func.func @subtract(%x0: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xi64>
  %s = linalg.generic {
      indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x0 : tensor<?xi64>)
      outs(%e : tensor<?xi64>) {
  ^bb0(%a0: i64, %o: i64):
    %c = arith.constant 3 : i64
    %r = arith.subi %a0, %c : i64
    linalg.yield %r : i64
  } -> tensor<?xi64>
  return %s : tensor<?xi64>
}

func.func @choose(%x0: tensor<?xi1>, %x1: tensor<?xi1>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi1>
  %e = tensor.empty(%n) : tensor<?xi64>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi1>, tensor<?xi1>)
      outs(%e : tensor<?xi64>) {
  ^bb0(%a0: i1, %a1: i1, %o: i64):
    %c = arith.constant -3 : i64
    %w = arith.extui %a1 : i1 to i64
    %r = arith.select %a0, %w, %c : i64
    linalg.yield %r : i64
  } -> tensor<?xi64>
  return %s : tensor<?xi64>
}
