// Properties: each stage's output passes, and is not changed.
// RUN: polynest-opt %s --split-input-file --polynest-verify-stage=stage=input | FileCheck %s --check-prefix=INPUT

// INPUT-LABEL: func @input
//       INPUT: linalg.exp
func.func @input(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
    -> tensor<4xf32>
  return %r : tensor<4xf32>
}
