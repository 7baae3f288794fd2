// Properties: trapping divisors are replaced and the defined result selected
// (@signed); remainders need no select (@remainder); safe constants stay
// (@constant); a second run changes nothing.
// RUN: polynest-opt %s --polynest-guard-integer-division | FileCheck %s
// RUN: polynest-opt %s --polynest-guard-integer-division > %t.once
// RUN: polynest-opt %t.once --polynest-guard-integer-division | diff %t.once -

// CHECK-LABEL: func @signed
//  CHECK-SAME: (%[[A:.+]]: i32, %[[B:.+]]: i32)
//   CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
//   CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i32
//   CHECK-DAG: %[[M1:.+]] = arith.constant -1 : i32
//   CHECK-DAG: %[[ISZ:.+]] = arith.cmpi eq, %[[B]], %[[ZERO]]
//   CHECK-DAG: %[[ISM:.+]] = arith.cmpi eq, %[[B]], %[[M1]]
//       CHECK: %[[BAD:.+]] = arith.ori %[[ISZ]], %[[ISM]]
//       CHECK: %[[D:.+]] = arith.select %[[BAD]], %[[ONE]], %[[B]]
//       CHECK: %[[Q:.+]] = arith.divsi %[[A]], %[[D]]
//       CHECK: %[[N:.+]] = arith.subi %[[ZERO]], %[[A]]
//       CHECK: %[[R:.+]] = arith.select %[[ISM]], %[[N]], %[[Q]]
//       CHECK: %[[S:.+]] = arith.select %[[ISZ]], %[[ZERO]], %[[R]]
//       CHECK: return %[[S]]
func.func @signed(%a: i32, %b: i32) -> i32 {
  %q = arith.divsi %a, %b : i32
  return %q : i32
}

// CHECK-LABEL: func @remainder
//       CHECK: %[[D:.+]] = arith.select
//       CHECK: %[[R:.+]] = arith.remui %{{.+}}, %[[D]]
//  CHECK-NEXT: return %[[R]]
func.func @remainder(%a: vector<4xi8>, %b: vector<4xi8>) -> vector<4xi8> {
  %q = arith.remui %a, %b : vector<4xi8>
  return %q : vector<4xi8>
}

// CHECK-LABEL: func @constant
//  CHECK-SAME: (%[[A:.+]]: i64)
//       CHECK: %[[C:.+]] = arith.constant 3 : i64
//  CHECK-NEXT: %[[Q:.+]] = arith.floordivsi %[[A]], %[[C]]
//  CHECK-NEXT: return %[[Q]]
func.func @constant(%a: i64) -> i64 {
  %c = arith.constant 3 : i64
  %q = arith.floordivsi %a, %c : i64
  return %q : i64
}
