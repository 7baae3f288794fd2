// Loops with bounds known at run time, unrolled and jammed: the rest's lower
// bound was set from operands that its own setting had moved, which crashed.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers))' | FileCheck %s
// RUN: polynestc run %s --entry matmul --size 0.0=7 --size 0.1=9 --size 1.0=9 --size 1.1=5 --check

// CHECK-LABEL: func @jam
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%[[N:.+]]] step
//       CHECK: affine.for %{{.+}} = max #{{.+}}()[%[[N]]] to %[[N]]
func.func @jam(%n: index, %a: memref<?x9xf32>, %b: memref<9x8xf32>,
               %c: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 8 {
      %s = affine.for %k = 0 to 9 iter_args(%x = %zero) -> f32 {
        %p = affine.load %a[%i, %k] : memref<?x9xf32>
        %q = affine.load %b[%k, %j] : memref<9x8xf32>
        %m = arith.mulf %p, %q : f32
        %y = arith.addf %x, %m : f32
        affine.yield %y : f32
      }
      affine.store %s, %c[%i, %j] : memref<64x8xf32>
    }
  }
  return
}

func.func @matmul(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>)
    -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>)
    -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
    outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
