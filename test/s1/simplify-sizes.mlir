// Properties: a slice of all of a dimension that is clamped at both ends is there as it
// is (@whole); a minimum is the operand that is proven to be no larger, also by way of
// quotients (@half), of a loop's variable (@loop) and of affine maps (@maps); comparisons of
// sizes are constants (@compared); sums are a number and a constant (@sums). A second run
// changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-simplify-sizes,canonicalize,cse))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-simplify-sizes))' -o %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-simplify-sizes))' | diff %t.once -

// CHECK-LABEL: func @whole
//  CHECK-SAME: %[[X:.+]]: tensor<?xf32>
//   CHECK-NOT: arith.select
//       CHECK: %[[D:.+]] = tensor.dim %[[X]],
//       CHECK: tensor.extract_slice %[[X]][0] [%[[D]]] [1]
func.func @whole(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n1 = arith.constant -1 : index
  %c0_i64 = arith.constant 0 : i64
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %wide = arith.index_cast %n : index to i64
  %clamped = arith.minsi %wide, %c0_i64 : i64
  %first = arith.index_cast %clamped : i64 to index
  %below = arith.cmpi slt, %n, %c0 : index
  %twice = arith.addi %n, %n : index
  %end = arith.select %below, %twice, %n : index
  %none = arith.cmpi slt, %end, %c0 : index
  %last = arith.select %none, %n1, %end : index
  %most = arith.minsi %last, %n : index
  %left = arith.subi %most, %first : index
  %size = arith.maxsi %left, %c0 : index
  %s = tensor.extract_slice %x[%first] [%size] [1]
    : tensor<?xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}

// CHECK-LABEL: func @half
//       CHECK: %[[H:.+]] = arith.floordivsi
//       CHECK: %[[R:.+]] = arith.subi %{{.+}}, %[[H]]
//       CHECK: return %[[H]], %[[R]]
func.func @half(%x: tensor<?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %more = arith.addi %n, %c1 : index
  %half = arith.floordivsi %more, %c2 : index
  %first = arith.minsi %half, %n : index
  %left = arith.subi %n, %half : index
  %rest = arith.maxsi %left, %c0 : index
  return %first, %rest : index, index
}

// CHECK-LABEL: func @loop
//       CHECK: scf.for %[[I:.+]] =
//       CHECK: memref.store %{{.+}}, %{{.+}}[%[[I]], %[[I]]]
func.func @loop(%x: tensor<?xf32>, %y: memref<?x?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %low = arith.maxsi %i, %c0 : index
    %high = arith.minsi %i, %n : index
    memref.store %v, %y[%low, %high] : memref<?x?xf32>
  }
  return
}

// CHECK-LABEL: func @maps
//       CHECK: %[[C:.+]] = arith.constant 3 : index
//       CHECK: return %[[C]]
func.func @maps(%x: tensor<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = affine.max affine_map<(d0) -> (3, 2 - d0)>(%n)
  %r = affine.min affine_map<(d0)[s0] -> (s0 + 4, d0)>(%m)[%n]
  return %r : index
}

// CHECK-LABEL: func @compared
//   CHECK-DAG: %[[T:.+]] = arith.constant true
//   CHECK-DAG: %[[F:.+]] = arith.constant false
//       CHECK: return %[[T]], %[[T]], %[[F]], %[[F]]
func.func @compared(%x: tensor<?xf32>) -> (i1, i1, i1, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %more = arith.addi %n, %c1 : index
  %a = arith.cmpi sge, %n, %c0 : index
  %b = arith.cmpi ult, %n, %more : index
  %c = arith.cmpi eq, %more, %n : index
  %d = arith.cmpi sgt, %n, %more : index
  return %a, %b, %c, %d : i1, i1, i1, i1
}

// CHECK-LABEL: func @sums
//       CHECK: %[[N:.+]] = tensor.dim
//       CHECK: %[[S:.+]] = arith.addi %{{.+}}, %c2
//       CHECK: return %{{.+}}, %[[S]]
func.func @sums(%x: tensor<?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %a = arith.addi %n, %c3 : index
  %b = arith.subi %a, %c3 : index
  %c = arith.subi %a, %c1 : index
  return %b, %c : index, index
}
