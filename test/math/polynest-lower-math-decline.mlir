// Properties: tensors and element types beside f16, bf16, f32, f64 stay, with
// the reason.
// RUN: polynest-opt %s --polynest-lower-math --remarks-filter=.* 2>&1 | FileCheck %s

// CHECK-DAG: remark: {{.*}}operand is neither a scalar nor a vector
// CHECK-DAG: remark: {{.*}}element type is none of f16, bf16, f32 and f64

// CHECK-LABEL: func @tensor
//       CHECK: math.exp
//       CHECK: return
func.func @tensor(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func @wide
//       CHECK: math.exp
//       CHECK: return
func.func @wide(%x: f128) -> f128 {
  %0 = math.exp %x : f128
  return %0 : f128
}
