// A concat with parts that have no elements, first, last, or all of them.
// RUN: %npy %t.0.npy f4 "4" "0..4"
// RUN: %npy %t.1.npy f4 "0" "0"
// RUN: polynestc run %s --input %t.0.npy --input %t.1.npy --print --check | FileCheck %s
// CHECK: result 0
// CHECK: [0, 1, 2, 3]
// CHECK: result 1
// CHECK: [0, 1, 2, 3]
func.func @f(%a: tensor<4xf32>, %b: tensor<0xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<0xf32>) {
  %r = tensor.concat dim(0) %a, %b
    : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
  %s = tensor.concat dim(0) %b, %a
    : (tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = tensor.concat dim(0) %b, %b
    : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return %r, %s, %t : tensor<4xf32>, tensor<4xf32>, tensor<0xf32>
}
