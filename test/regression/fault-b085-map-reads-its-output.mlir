// Fault B085: a map whose body reads the element it overwrites sees the value from
// before: 21 + x. In a loop, an iteration does not see another's buffer.
// RUN: %npy %t.0.0.npy f4 "5" "1 2 3"
// RUN: polynestc run %s --entry once --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[22, 23, 24, 22, 23]
// RUN: %npy %t.1.0.npy f4 "3" "1 2 4"
// RUN: polynestc run %s --entry loop --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^\[\[}}22, 23, 25],
// R1: {{\[}}23, 25, 29],
// R1: {{\[}}24, 27, 33],
// R1: {{\[}}25, 29, 37]]

func.func @once(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %init = arith.constant 21.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%init : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %m = linalg.map ins(%x : tensor<?xf32>) outs(%f : tensor<?xf32>)
    (%in: f32, %out: f32) {
      %s = arith.addf %out, %in : f32
      linalg.yield %s : f32
    }
  return %m : tensor<?xf32>
}

// Row i holds 21 + (i + 1) * x; each iteration needs what the last one left.
func.func @loop(%x: tensor<3xf32>) -> tensor<4x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %init = arith.constant 21.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%init : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %o = tensor.empty() : tensor<4x3xf32>
  %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %f, %all = %o)
      -> (tensor<3xf32>, tensor<4x3xf32>) {
    %m = linalg.map ins(%x : tensor<3xf32>) outs(%a : tensor<3xf32>)
      (%in: f32, %out: f32) {
        %s = arith.addf %out, %in : f32
        linalg.yield %s : f32
      }
    %n = tensor.insert_slice %m into %all[%i, 0] [1, 3] [1, 1]
      : tensor<3xf32> into tensor<4x3xf32>
    scf.yield %m, %n : tensor<3xf32>, tensor<4x3xf32>
  }
  return %r#1 : tensor<4x3xf32>
}
