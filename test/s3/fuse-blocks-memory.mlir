// Properties: blocks read 512 KiB of operands again to keep a buffer of 1 MiB small
// where the operands stay in the last cache and the buffer does not, as long as
// memory is slower than that; they do not where the buffer would stay there, too, or
// where the operands come from memory as well.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16 cores=1 memory-cost=2 shared-size-kib=768}))' | polynest-opt
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16 cores=1 memory-cost=2 shared-size-kib=768}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16 cores=1 memory-cost=1 shared-size-kib=768}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=APART
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16 cores=1 memory-cost=2 shared-size-kib=1024}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=APART
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16 cores=1 memory-cost=2 shared-size-kib=256}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=APART

// APART: [Missed] fuse-blocks
// APART-SAME: operands read by each block are larger than the buffers
// FUSED: [Passed] fuse-blocks
// FUSED-SAME: nests run block by block
// FUSED: memref.alloc() : memref<32x528xf32>
func.func @rows(%x: memref<512x128xf32>, %u: memref<512x128xf32>,
                %w: memref<512x128xf32>,
                %o: memref<512x128xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %r = affine.for %d = 0 to 128 iter_args(%c = %zero) -> f32 {
        %a = affine.load %x[%i, %d] : memref<512x128xf32>
        %y = affine.load %u[%j, %d] : memref<512x128xf32>
        %m = arith.mulf %a, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %e = 0 to 128 {
      %r = affine.for %j = 0 to 512 iter_args(%c = %zero) -> f32 {
        %a = affine.load %s[%i, %j] : memref<512x512xf32>
        %y = affine.load %w[%j, %e] : memref<512x128xf32>
        %m = arith.mulf %a, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<512x128xf32>
    }
  }
  return
}
