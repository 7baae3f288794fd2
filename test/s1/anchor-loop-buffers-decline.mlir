// Properties: tensors that may grow (@grow) are left.
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
