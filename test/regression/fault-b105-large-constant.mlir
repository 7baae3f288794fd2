// Fault B105: a large array of ones that is updated at one point is filled where
// it is used; neither folded nor stored in the program.
// RUN: polynestc compile %s --stage s2 -o %t.s2.mlir
// RUN: FileCheck %s < %t.s2.mlir
// RUN: polynestc run %s --entry small --print --check | FileCheck %s --check-prefix=SMALL
// SMALL: {{^}}[1, 1, 1, 1, 1, 1, 1, 7, 1, 1

// CHECK-LABEL: func.func @large(
//   CHECK-NOT: memref.global
//       CHECK: affine.for %{{.+}} = 0 to 500
//   CHECK-NOT: memref.get_global
//       CHECK: return
func.func @large() -> tensor<500x500x500xf32> {
  %x = arith.constant dense<1.0> : tensor<500x500x500xf32>
  %v = arith.constant 7.0 : f32
  %i = arith.constant 7 : index
  %r = tensor.insert %v into %x[%i, %i, %i] : tensor<500x500x500xf32>
  return %r : tensor<500x500x500xf32>
}

func.func @small() -> tensor<100xf32> {
  %x = arith.constant dense<1.0> : tensor<100xf32>
  %v = arith.constant 7.0 : f32
  %i = arith.constant 7 : index
  %r = tensor.insert %v into %x[%i] : tensor<100xf32>
  return %r : tensor<100xf32>
}
