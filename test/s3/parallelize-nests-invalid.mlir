// Properties: a loop of step 0 is left alone, broken input gets a diagnostic.
// RUN: polynest-opt %s --verify-diagnostics --split-input-file --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=0}))' | FileCheck %s

// CHECK-LABEL: func @zero_step
//       CHECK: affine.for
//   CHECK-NOT: affine.parallel
//       CHECK: return
func.func @zero_step(%b: memref<8xf32> {polynest.result}) {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 step 0 {
    affine.store %z, %b[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func private @declaration
func.func private @declaration(memref<4xf32>)

// -----

func.func @bound(%b: memref<8xf32>, %x: f32) {
  // expected-error @+1 {{attribute 'steps' failed to satisfy constraint}}
  "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [], steps = [0.5], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<() -> (8)>}> ({
  ^bb0(%i: index):
    affine.yield
  }) : () -> ()
  return
}
