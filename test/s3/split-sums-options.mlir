// Properties: each option has a range, and takes effect; blocks are a number of
// elements near the one wanted that leaves nothing, or that one.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{block-elements=63}))' 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{block-elements=1048577}))' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{block-elements=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{least-elements=8191}))' 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{least-elements=1099511627777}))' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{least-elements=0}))' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{block-elements=64 least-elements=1000}))' | FileCheck %s --check-prefix=B64
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{block-elements=300 least-elements=1000}))' | FileCheck %s --check-prefix=B300
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums{block-elements=300 least-elements=1001}))' | FileCheck %s --check-prefix=LONGER

//    SMALL: option block-elements has value 63; it must be 64 to 1048576
//    LARGE: option block-elements has value 1048577; it must be 64 to 1048576
// NEGATIVE: option block-elements has value -1; it must be 64 to 1048576
//      FEW: option least-elements has value 8191; it must be 8192 to 1099511627776
//     MANY: option least-elements has value 1099511627777; it must be 8192 to 1099511627776
//     ZERO: option least-elements has value 0; it must be 8192 to 1099511627776

// 1000 is 15 times 64 and 40 more; no multiple of 64 divides it.
//    B64-LABEL: func @thousand
//          B64: affine.for %{{.+}} = 0 to 15 iter_args
//          B64: affine.for %{{.+}} = 960 to 1000 iter_args
//   B300-LABEL: func @thousand
//         B300: affine.for %{{.+}} = 0 to 3 iter_args
//         B300: affine.for %{{.+}} = 900 to 1000 iter_args
// LONGER-LABEL: func @thousand
//       LONGER: affine.for %{{.+}} = 0 to 1000 iter_args
//   LONGER-NOT: polynest.split_sums
//       LONGER: return
func.func @thousand(%x: memref<1000xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 1000 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<1000xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}
