// The result of a loop whose trip count is data, and which makes a new tensor of
// the size that it starts from, has that size.
// RUN: %npy %t.0.npy f4 "3" "1..4"
// RUN: %npy %t.1.npy i8 "" "2..3"
// RUN: polynestc run %s --entry f --input %t.0.npy --input %t.1.npy --print --check | FileCheck %s
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

// Both sides of a branch give a tensor of the same size, each in its way; a loop
// after it starts from a tensor whose sizes are those of another.
// RUN: %npy %t.2.npy f4 "2,3" "0..6"
// RUN: %npy %t.3.npy b1 "" "0"
// RUN: polynestc run %s --entry branch --input %t.2.npy --input %t.3.npy --input %t.1.npy --print --check | FileCheck %s --check-prefix=BRANCH
// BRANCH: {{\[\[}}0, 2, 4],
// BRANCH: {{6, 8, (10|1e.01)\]\]}}
func.func @branch(%x: tensor<?x?xf32>, %c: i1, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %b = scf.if %c -> (tensor<?x?xf32>) {
    %a = linalg.exp ins(%x : tensor<?x?xf32>) outs(%x : tensor<?x?xf32>)
      -> tensor<?x?xf32>
    scf.yield %a : tensor<?x?xf32>
  } else {
    %e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
    %a = linalg.add ins(%x, %x : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    scf.yield %a : tensor<?x?xf32>
  }
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %b)
      -> (tensor<?x?xf32>) {
    %e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
    %a = linalg.abs ins(%t : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>)
      -> tensor<?x?xf32>
    scf.yield %a : tensor<?x?xf32>
  }
  return %r : tensor<?x?xf32>
}
