// Properties: broken input gets a diagnostic; a loop of step 0, which the
// parser accepts, a declaration and an empty function are left alone.
// RUN: polynest-opt %s --verify-diagnostics --split-input-file --pass-pipeline='builtin.module(func.func(polynest-fuse-nests))' | FileCheck %s

// CHECK-LABEL: func @zero_step
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
func.func @zero_step(%a: memref<8xf32>, %b: memref<8xf32> {polynest.result}) {
  affine.for %i = 0 to 8 step 0 {
    %x = affine.load %a[%i] : memref<8xf32>
    affine.store %x, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 step 0 {
    %x = affine.load %b[%i] : memref<8xf32>
    affine.store %x, %b[%i] : memref<8xf32>
  }
  return
}

// -----

// CHECK-LABEL: func private @declaration
func.func private @declaration(memref<4xf32>)
// CHECK-LABEL: func @empty
func.func @empty() {
  return
}

// -----

func.func @rank(%a: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    // expected-error @+1 {{affine map num results must equal memref rank}}
    %x = "affine.load"(%a, %i, %i) <{map = affine_map<(d0, d1) -> (d0, d1)>}> : (memref<8xf32>, index, index) -> f32
  }
  return
}
