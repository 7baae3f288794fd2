// A transpose of rank 0, on which MLIR's verifier crashes, is the identity; one
// with an empty permutation and another rank is an error.
// RUN: %npy %t.0.npy i4 "" "7..8"
// RUN: polynestc run %s --input %t.0.npy --print --check | FileCheck %s
// CHECK: 7
// RUN: echo 'func.func @g(%%a: tensor<2xi32>) -> tensor<2xi32> {' > %t.mlir
// RUN: echo '  %%r = linalg.transpose ins(%%a : tensor<2xi32>)' >> %t.mlir
// RUN: echo '    outs(%%a : tensor<2xi32>) permutation = []' >> %t.mlir
// RUN: echo '  return %%r : tensor<2xi32> }' >> %t.mlir
// RUN: not polynestc run %t.mlir 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: {{.*}}.mlir:2:{{[0-9]+}}: {{.*}}empty permutation
func.func @f(%a: tensor<i32>) -> tensor<i32> {
  %e = tensor.empty() : tensor<i32>
  %r = linalg.transpose ins(%a : tensor<i32>) outs(%e : tensor<i32>)
    permutation = []
  return %r : tensor<i32>
}
