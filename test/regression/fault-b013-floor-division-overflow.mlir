// Fault B013: INT_MIN floor-divided by -1 wraps and raises no signal, alone and
// in a vector.
// RUN: %npy %t.0.0.npy i4 "1" "-2147483648"
// RUN: %npy %t.0.1.npy i4 "1" "-1"
// RUN: polynestc run %s --entry divide_i32 --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[-2147483648]
// RUN: %npy %t.1.0.npy i4 "16" "-2147483648"
// RUN: %npy %t.1.1.npy i4 "16" "-1"
// RUN: polynestc run %s --entry divide_i32 --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^\[(-2147483648, ){15}-2147483648\]$}}
// RUN: %npy %t.2.0.npy i4 "4" "-7 7 5 -8"
// RUN: %npy %t.2.1.npy i4 "4" "2 -2 0 3"
// RUN: polynestc run %s --entry divide_i32 --input %t.2.0.npy --input %t.2.1.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}[-4, -4, 0, -3]
// RUN: %npy %t.3.0.npy i8 "1" "-9223372036854775808"
// RUN: %npy %t.3.1.npy i8 "1" "-1"
// RUN: polynestc run %s --entry divide_i64 --input %t.3.0.npy --input %t.3.1.npy --print --check | FileCheck %s --check-prefix=R3
// R3: {{^}}[-9223372036854775808]
// RUN: %npy %t.4.0.npy i8 "16" "-9223372036854775808"
// RUN: %npy %t.4.1.npy i8 "16" "-1"
// RUN: polynestc run %s --entry divide_i64 --input %t.4.0.npy --input %t.4.1.npy --print --check | FileCheck %s --check-prefix=R4
// R4: {{^\[(-9223372036854775808, ){15}-9223372036854775808\]$}}
// RUN: %npy %t.5.0.npy i8 "4" "-7 7 5 -8"
// RUN: %npy %t.5.1.npy i8 "4" "2 -2 0 3"
// RUN: polynestc run %s --entry divide_i64 --input %t.5.0.npy --input %t.5.1.npy --print --check | FileCheck %s --check-prefix=R5
// R5: {{^}}[-4, -4, 0, -3]

#id = affine_map<(d0) -> (d0)>

func.func @divide_i32(%x0: tensor<?xi32>, %x1: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi32>
  %e = tensor.empty(%n) : tensor<?xi32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi32>, tensor<?xi32>)
      outs(%e : tensor<?xi32>) {
  ^bb0(%a0: i32, %a1: i32, %o: i32):
    %r = arith.floordivsi %a0, %a1 : i32
    linalg.yield %r : i32
  } -> tensor<?xi32>
  return %s : tensor<?xi32>
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
