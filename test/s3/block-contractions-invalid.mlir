// Properties: a loop of step 0, a loop that does not run, and a function
// without a body are left alone.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s

// CHECK-LABEL: func @zero_step
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @zero_step(%a: memref<64x64xf32>, %b: memref<64x64xf32>,
                     %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 step 0 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @empty
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @empty(%a: memref<64x0xf32>, %b: memref<0x64xf32>,
                 %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 0 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x0xf32>
        %y = affine.load %b[%k, %j] : memref<0x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func private @declaration
func.func private @declaration(memref<4xf32>)
