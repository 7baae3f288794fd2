// Properties: tensors that may grow (@grow, @swap_sizes) are left, as are those whose
// size an assertion says something of behind the loop or in a branch alone (@later).
// RUN: polynest-opt %s --polynest-anchor-loop-buffers --remarks-filter=anchor-loop-buffers 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// REMARK: [Missed] anchor-loop-buffers {{.*}}carried tensors stay in place or may change shape

// CHECK-LABEL: func @grow
//   CHECK-NOT: materialize
//       CHECK: scf.yield
func.func @grow(%x: tensor<?xf32>, %v: f32, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %d = tensor.dim %a, %c0 : tensor<?xf32>
    %m = arith.addi %d, %c1 : index
    %e = tensor.empty(%m) : tensor<?xf32>
    %f = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %f : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// The second tensor may have another size than the first.
// CHECK-LABEL: func @swap_sizes
//   CHECK-NOT: materialize
//       CHECK: scf.yield
func.func @swap_sizes(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index)
    -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %y)
      -> (tensor<?xf32>, tensor<?xf32>) {
    %d = tensor.dim %a, %c0 : tensor<?xf32>
    %e = tensor.empty(%d) : tensor<?xf32>
    %t = linalg.exp ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
    scf.yield %b, %t : tensor<?xf32>, tensor<?xf32>
  }
  return %r#0 : tensor<?xf32>
}

// CHECK-LABEL: func @later
//   CHECK-NOT: materialize
//       CHECK: return
func.func @later(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index, %p: i1)
    -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %dx = tensor.dim %x, %c0 : tensor<?xf32>
  %dy = tensor.dim %y, %c0 : tensor<?xf32>
  %same = arith.cmpi eq, %dx, %dy : index
  scf.if %p {
    cf.assert %same, "sizes differ"
  }
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %e = tensor.empty(%dy) : tensor<?xf32>
    %t = linalg.exp ins(%y : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  cf.assert %same, "sizes differ"
  return %r : tensor<?xf32>
}
