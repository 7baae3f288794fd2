// Properties: broken input gets a diagnostic; loops of step 0, which the parser
// accepts, are left alone (@zero_step).
// RUN: polynest-opt %s --verify-diagnostics --split-input-file --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests))' | FileCheck %s

// CHECK-LABEL: func @zero_step
//   CHECK-NOT: vector
//       CHECK: return
func.func @zero_step(%A: memref<64x64xf32>, %x: f32, %n: index) {
  affine.for %i = 0 to 8 step 0 {
    affine.store %x, %A[%i, 0] : memref<64x64xf32>
  }
  affine.for %j = 0 to 64 {
    affine.for %i = 0 to %n step 0 {
      affine.store %x, %A[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// -----

func.func @not_a_dimension(%A: memref<8xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    %j = arith.muli %i, %i : index
    // expected-error@+1 {{'affine.store' op operand cannot be used as a dimension id}}
    affine.store %x, %A[%j] : memref<8xf32>
  }
  return
}
