// Properties: the block follows from the size of the cache and of vectors; options
// out of range are refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=8}))' | FileCheck %s --check-prefix=MORE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=4 vector-width-bits=512}))' | FileCheck %s --check-prefix=LESS
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=4 vector-width-bits=1024}))' | FileCheck %s --check-prefix=WHOLE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes))' | FileCheck %s --check-prefix=WHOLE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=0}))' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=1048577}))' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{vector-width-bits=-64}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{vector-width-bits=96}))' 2>&1 | FileCheck %s --check-prefix=POWER

//     ZERO: option l1-size-kib has value 0; it must be 1 to 1048576
//    LARGE: option l1-size-kib has value 1048577; it must be 1 to 1048576
// NEGATIVE: option vector-width-bits has value -64; it must be 64 to 16384
//    POWER: option vector-width-bits has value 96; it must be a power of two

// 220 bytes a channel: 32 of them take 7040, 16 take 3520. By 96 and more, the
// channels touch 7296 bytes for one element.
// MORE-LABEL: func @rows
//       MORE: affine.for %{{.+}} = 0 to 96 step 32
// LESS-LABEL: func @rows
//       LESS: affine.for %{{.+}} = 0 to 96 step 16
// WHOLE-LABEL: func @rows
//   WHOLE-NOT: step
//       WHOLE: return
func.func @rows(%x: memref<12x12x96xf32>, %w: memref<3x3x96xf32>, %r: memref<10x10x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 96 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x96xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x96xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x96xf32>
      }
    }
  }
  return
}
