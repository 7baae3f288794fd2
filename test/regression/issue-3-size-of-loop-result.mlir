// The result of a loop whose trip count is data, and which makes a new tensor of
// the size that it starts from, has that size.
// RUN: %npy %t.0.npy f4 "3" "1..4"
// RUN: %npy %t.1.npy i8 "" "2..3"
// RUN: polynestc run %s --input %t.0.npy --input %t.1.npy --print --check | FileCheck %s
// CHECK: [4, 8, 12]
func.func @f(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<?xf32>) {
    %e = tensor.empty(%d) : tensor<?xf32>
    %a = linalg.add ins(%t, %t : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
