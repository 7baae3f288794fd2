// A result's buffer holds an earlier value that is another result: that one is
// copied out before the buffer is overwritten.
// RUN: %npy %t.0.npy i8 "3" "0..3"
// RUN: %npy %t.1.npy i8 "2" "5..7"
// RUN: %npy %t.2.npy i8 "" "9..10"
// RUN: polynestc run %s --input %t.0.npy --input %t.1.npy --input %t.2.npy --print --check | FileCheck %s
// CHECK: [9, 1, 2, 5, 6]
// CHECK: [0, 1, 2, 5, 6]
func.func @f(%a: tensor<?xi64>, %b: tensor<?xi64>, %x: i64)
    -> (tensor<?xi64>, tensor<?xi64>) {
  %c0 = arith.constant 0 : index
  %c = tensor.concat dim(0) %a, %b
    : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %i = tensor.insert %x into %c[%c0] : tensor<?xi64>
  %n = tensor.dim %c, %c0 : tensor<?xi64>
  %s = tensor.extract_slice %c[0][%n][1] : tensor<?xi64> to tensor<?xi64>
  return %i, %s : tensor<?xi64>, tensor<?xi64>
}
