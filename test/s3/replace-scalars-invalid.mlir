// Properties: broken input gets a diagnostic; a loop of step 0, which the
// parser accepts, is left alone (@zero_step).
// RUN: polynest-opt %s --verify-diagnostics --split-input-file --pass-pipeline='builtin.module(func.func(polynest-replace-scalars))' | FileCheck %s

// CHECK-LABEL: func @zero_step
//       CHECK: affine.for
//       CHECK: return
func.func @zero_step(%A: memref<8xf32>, %x: f32, %n: index) {
  affine.for %i = 0 to 8 step 0 {
    %a = affine.load %A[0] : memref<8xf32>
    affine.store %a, %A[0] : memref<8xf32>
    affine.for %j = 0 to %n step 0 {
      %b = affine.load %A[0] : memref<8xf32>
      affine.store %x, %A[0] : memref<8xf32>
    }
  }
  return
}

// -----

func.func @not_a_dimension(%A: memref<8xf32>, %n: index, %x: f32) {
  affine.for %i = 0 to 8 {
    %j = arith.muli %i, %i : index
    // expected-error@+1 {{'affine.store' op operand cannot be used as a dimension id}}
    affine.store %x, %A[%j] : memref<8xf32>
  }
  return
}
