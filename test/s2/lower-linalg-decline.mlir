// Properties: operations on tensors (@tensors) and copies of unranked memrefs
// (@unranked) stay, with a remark.
// RUN: polynest-opt %s --polynest-lower-linalg --remarks-filter=lower-linalg 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @tensors
//       CHECK: linalg.fill
//      REMARK: [Missed] lower-linalg {{.*}} op=linalg.fill, reason="operands are tensors"
func.func @tensors(%x: f32, %o: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.fill ins(%x : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @unranked
//       CHECK: memref.copy
//      REMARK: [Missed] lower-linalg {{.*}} op=memref.copy, reason="operands are unranked"
func.func @unranked(%a: memref<*xf32>, %b: memref<*xf32>) {
  memref.copy %a, %b : memref<*xf32> to memref<*xf32>
  return
}
