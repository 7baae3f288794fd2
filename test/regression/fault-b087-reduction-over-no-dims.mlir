// Fault B087: a sum over no dimensions still adds the initial value: 3 + 4 is 7.
// RUN: %npy %t.0.0.npy f4 "17" "3"
// RUN: %npy %t.0.1.npy f4 "17" "4"
// RUN: polynestc run %s --entry sum --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^\[(7, )*7\]$}}
// RUN: %npy %t.1.0.npy f4 "1" "3"
// RUN: %npy %t.1.1.npy f4 "1" "4"
// RUN: polynestc run %s --entry sum --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[7]
// RUN: %npy %t.2.0.npy f4 "" "3"
// RUN: %npy %t.2.1.npy f4 "" "4"
// RUN: polynestc run %s --entry sum0 --input %t.2.0.npy --input %t.2.1.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}7

func.func @sum(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.reduce ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>)
      dimensions = []
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  return %r : tensor<?xf32>
}

func.func @sum0(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce ins(%x : tensor<f32>) outs(%y : tensor<f32>)
      dimensions = []
    (%a: f32, %b: f32) {
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    }
  return %r : tensor<f32>
}
