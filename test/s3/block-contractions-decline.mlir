// Properties: each function is left as it is, for the reason in its remark.
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A row of the product is what a later row reads.
// REMARK: carries a dependence
// CHECK-LABEL: func @carried
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @carried(%b: memref<64x64xf32>,
                   %c: memref<65x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %c[%i, %k] : memref<65x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i + 1, %j] : memref<65x64xf32>
    }
  }
  return
}

// A matrix times a vector reuses the vector only.
// REMARK: no loop reuses one of the operands
// CHECK-LABEL: func @vector
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @vector(%a: memref<512x512xf32>, %b: memref<512xf32>,
                  %c: memref<512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 512 {
    %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
      %x = affine.load %a[%i, %k] : memref<512x512xf32>
      %y = affine.load %b[%k] : memref<512xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%i] : memref<512xf32>
  }
  return
}

// REMARK: too little arithmetic to pay for packing
// CHECK-LABEL: func @small
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @small(%a: memref<16x16xf32>, %b: memref<16x16xf32>,
                 %c: memref<16x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %r = affine.for %k = 0 to 16 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<16x16xf32>
        %y = affine.load %b[%k, %j] : memref<16x16xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<16x16xf32>
    }
  }
  return
}

// Each of the products packs its own columns.
// REMARK: too little arithmetic to pay for packing
// CHECK-LABEL: func @small_batch
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @small_batch(%a: memref<40x16x16xf32>, %b: memref<40x16x16xf32>,
  %c: memref<40x16x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %g = 0 to 40 {
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 16 {
        %r = affine.for %k = 0 to 16 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%g, %i, %k] : memref<40x16x16xf32>
          %y = affine.load %b[%g, %k, %j] : memref<40x16x16xf32>
          %p = arith.mulf %x, %y : f32
          %t = arith.addf %s, %p : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%g, %i, %j] : memref<40x16x16xf32>
      }
    }
  }
  return
}

// Columns are bound once, but 8 * 16 * 16 products do not fill micro-tiles.
// REMARK: too little arithmetic to pay for packing
// CHECK-LABEL: func @small_bound
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @small_bound(%a: memref<40x8x16xf32>, %b: memref<40x16x16xf32> {polynest.constant},
  %c: memref<40x8x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %g = 0 to 40 {
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 16 {
        %r = affine.for %k = 0 to 16 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%g, %i, %k] : memref<40x8x16xf32>
          %y = affine.load %b[%g, %k, %j] : memref<40x16x16xf32>
          %p = arith.mulf %x, %y : f32
          %t = arith.addf %s, %p : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%g, %i, %j] : memref<40x8x16xf32>
      }
    }
  }
  return
}

// As many products as are worth it where columns do not fill a vector.
// REMARK: too little arithmetic to pay for packing
// CHECK-LABEL: func @filled
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @filled(%a: memref<64x40xf32>, %b: memref<40x8xf32>,
                  %c: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 8 {
      %r = affine.for %k = 0 to 40 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x40xf32>
        %y = affine.load %b[%k, %j] : memref<40x8xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x8xf32>
    }
  }
  return
}

// REMARK: the bounds of a loop depend on another
// CHECK-LABEL: func @triangle
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @triangle(%a: memref<64x64xf32>, %b: memref<64x64xf32>,
                    %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
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

// REMARK: the accumulator's type has no micro-kernel
// CHECK-LABEL: func @half
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @half(%a: memref<64x64xf16>, %b: memref<64x64xf16>,
                %c: memref<64x64xf16> {polynest.result}) {
  %zero = arith.constant 0.0 : f16
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f16 {
        %x = affine.load %a[%i, %k] : memref<64x64xf16>
        %y = affine.load %b[%k, %j] : memref<64x64xf16>
        %p = arith.mulf %x, %y : f16
        %t = arith.addf %s, %p : f16
        affine.yield %t : f16
      }
      affine.store %r, %c[%i, %j] : memref<64x64xf16>
    }
  }
  return
}

// Depthwise: the sum over channels is not there, each channel has its own
// weights.
// REMARK: no loop reuses one of the operands
// CHECK-LABEL: func @depthwise
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @depthwise(%x: memref<32x58x58xf32>, %w: memref<32x3x3xf32>,
                     %c: memref<32x56x56xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %d = 0 to 32 {
    affine.for %i = 0 to 56 {
      affine.for %j = 0 to 56 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %a = affine.load %x[%d, %i + %u, %j + %v] : memref<32x58x58xf32>
            %b = affine.load %w[%d, %u, %v] : memref<32x3x3xf32>
            %p = arith.mulf %a, %b : f32
            %t = arith.addf %s1, %p : f32
            affine.yield %t : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %c[%d, %i, %j] : memref<32x56x56xf32>
      }
    }
  }
  return
}
