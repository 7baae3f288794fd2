// Fault B089: ceiling division of INT_MIN by 5 and floor division of INT_MIN + 1
// by -1, with no poison and no trap from a branch not taken.
// RUN: %npy %t.0.0.npy i1 "17" "-128"
// RUN: %npy %t.0.1.npy i1 "17" "5"
// RUN: polynestc run %s --entry ceil_i8 --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^\[(-25, ){16}-25\]$}}
// RUN: %npy %t.1.0.npy i8 "1" "-9223372036854775808"
// RUN: %npy %t.1.1.npy i8 "1" "5"
// RUN: polynestc run %s --entry ceil_i64 --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[-1844674407370955161]
// RUN: %npy %t.2.0.npy i1 "2" "-127"
// RUN: %npy %t.2.1.npy i1 "2" "-1"
// RUN: polynestc run %s --entry divide_i8 --input %t.2.0.npy --input %t.2.1.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}[127, 127]
// RUN: %npy %t.3.0.npy i8 "1" "-9223372036854775807"
// RUN: %npy %t.3.1.npy i8 "1" "-1"
// RUN: polynestc run %s --entry divide_i64 --input %t.3.0.npy --input %t.3.1.npy --print --check | FileCheck %s --check-prefix=R3
// R3: {{^}}[9223372036854775807]

#id = affine_map<(d0) -> (d0)>

func.func @ceil_i8(%x0: tensor<?xi8>, %x1: tensor<?xi8>) -> tensor<?xi8> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi8>
  %e = tensor.empty(%n) : tensor<?xi8>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi8>, tensor<?xi8>)
      outs(%e : tensor<?xi8>) {
  ^bb0(%a0: i8, %a1: i8, %o: i8):
    %r = arith.ceildivsi %a0, %a1 : i8
    linalg.yield %r : i8
  } -> tensor<?xi8>
  return %s : tensor<?xi8>
}

func.func @ceil_i64(%x0: tensor<?xi64>, %x1: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xi64>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi64>, tensor<?xi64>)
      outs(%e : tensor<?xi64>) {
  ^bb0(%a0: i64, %a1: i64, %o: i64):
    %r = arith.ceildivsi %a0, %a1 : i64
    linalg.yield %r : i64
  } -> tensor<?xi64>
  return %s : tensor<?xi64>
}

func.func @divide_i8(%x0: tensor<?xi8>, %x1: tensor<?xi8>) -> tensor<?xi8> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi8>
  %e = tensor.empty(%n) : tensor<?xi8>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi8>, tensor<?xi8>)
      outs(%e : tensor<?xi8>) {
  ^bb0(%a0: i8, %a1: i8, %o: i8):
    %r = arith.floordivsi %a0, %a1 : i8
    linalg.yield %r : i8
  } -> tensor<?xi8>
  return %s : tensor<?xi8>
}

func.func @divide_i64(%x0: tensor<?xi64>, %x1: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?xi64>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi64>, tensor<?xi64>)
      outs(%e : tensor<?xi64>) {
  ^bb0(%a0: i64, %a1: i64, %o: i64):
    %r = arith.floordivsi %a0, %a1 : i64
    linalg.yield %r : i64
  } -> tensor<?xi64>
  return %s : tensor<?xi64>
}
