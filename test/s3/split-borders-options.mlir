// Properties: the option has a range, and takes effect.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-borders{least-kib=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-borders{least-kib=1048577}))' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-borders{least-kib=8}))' | FileCheck %s --check-prefix=SPLIT
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-borders{least-kib=9}))' | FileCheck %s --check-prefix=WHOLE

// NEGATIVE: option least-kib has value -1; it must be 0 to 1048576
//    LARGE: option least-kib has value 1048577; it must be 0 to 1048576

// 66 rows of 32 elements are 8448 bytes, 8 KiB and a quarter.
// SPLIT-LABEL: func @rows
//       SPLIT: memref.alloc() : memref<3x32xf32>
// WHOLE-LABEL: func @rows
//       WHOLE: memref.alloc() : memref<66x32xf32>
func.func @rows(%x: memref<64x32xf32>, %r: memref<64x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<66x32xf32>
  affine.for %i = 0 to 66 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %p[%i, %c] : memref<66x32xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %c = 0 to 32 {
      %0 = affine.load %x[%i, %c] : memref<64x32xf32>
      affine.store %0, %p[%i + 1, %c] : memref<66x32xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %c = 0 to 32 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<66x32xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<64x32xf32>
    }
  }
  return
}
