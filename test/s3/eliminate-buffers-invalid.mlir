// Properties: a loop of step 0 and a declaration are left alone, broken input
// gets a diagnostic.
// RUN: polynest-opt %s --verify-diagnostics --split-input-file --pass-pipeline='builtin.module(polynest-eliminate-buffers)' | FileCheck %s

// CHECK-LABEL: func @zero_step
//       CHECK: affine.for
//       CHECK: return
func.func @zero_step() {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 step 0 {
    affine.store %z, %t[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func private @declaration
func.func private @declaration(memref<4xf32>)

// -----

func.func @copy(%a: memref<8xf32>, %b: memref<8xi32>) {
  // expected-error @+1 {{same element type}}
  memref.copy %a, %b : memref<8xf32> to memref<8xi32>
  return
}
