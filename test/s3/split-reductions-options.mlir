// Properties: min-operations has a range, and takes effect.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions{min-operations=1}))' | FileCheck %s --check-prefix=SHORT
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions{min-operations=1099511627776}))' | FileCheck %s --check-prefix=NONE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions{min-operations=0}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions{min-operations=-5}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions{min-operations=1099511627777}))' 2>&1 | FileCheck %s --check-prefix=RANGE

// RANGE: option min-operations has value {{.+}}; it must be 1 to 1099511627776

// SHORT-LABEL: func @sum
//       SHORT: memref.alloc() : memref<2xf32>
//       SHORT: return
// NONE-LABEL: func @sum
//   NONE-NOT: memref.alloc
//       NONE: return
func.func @sum(%X: memref<600xf32>, %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 600 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i] : memref<600xf32>
    %y = arith.addf %a, %x : f32
    affine.yield %y : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}
