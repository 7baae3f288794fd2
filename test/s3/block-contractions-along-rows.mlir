// Behavior: where a reduction is short and the result large, blocks have the rows
// of one micro-tile, or of two, and run along whole rows, so that each line of the
// result is written at once; where columns are packed block by block or products count,
// they stay tall.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-columns=block}))' | FileCheck %s --check-prefix=BLOCK

// One loop over blocks of columns, one over tiles of rows; inside of a block the
// panels, then a loop that runs once.
// CHECK-LABEL: func @wide
//       CHECK: affine.for %{{.+}} = 0 to 40 step 8 {
//       CHECK:   affine.for %{{.+}} = 0 to 24 {
//       CHECK: affine.for %{{.+}} = 0 to 2 {
//  CHECK-NEXT:   affine.for %{{.+}} = 0 to 250 {
//       CHECK:     affine.for %{{.+}} = 0 to min {{.+}} step 24 {
//  CHECK-NEXT:       affine.for %{{.+}} = 0 to 4 step 4 {
//       CHECK:         :12 = affine.for %{{.+}} = 0 to 40 step 4 iter_args
// BLOCK-LABEL: func @wide
//       BLOCK: affine.for %{{.+}} = 0 to 8 {
//  BLOCK-NEXT:   affine.for %{{.+}} = 0 to 8 {
func.func @wide(%a: memref<1000x40xf32>, %b: memref<40x1800xf32>,
                %c: memref<1000x1800xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 1800 {
      %r = affine.for %k = 0 to 40 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<1000x40xf32>
        %y = affine.load %b[%k, %j] : memref<40x1800xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<1000x1800xf32>
    }
  }
  return
}

// A panel of 24 columns and 64 points of depth is 6 KiB, more than an eighth of
// 32 KiB: two tiles of rows share it.
// CHECK-LABEL: func @shared
//       CHECK: affine.for %{{.+}} = 0 to 64 step 8 {
//       CHECK:   affine.for %{{.+}} = 0 to 125 {
//       CHECK:     affine.for %{{.+}} = 0 to min {{.+}} step 24 {
//  CHECK-NEXT:       affine.for %{{.+}} = 0 to 8 step 4 {
//       CHECK:         :12 = affine.for %{{.+}} = 0 to 64 step 4 iter_args
func.func @shared(%a: memref<1000x64xf32>, %b: memref<64x1800xf32>,
                %c: memref<1000x1800xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 1800 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<1000x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x1800xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<1000x1800xf32>
    }
  }
  return
}

// CHECK-LABEL: func @long
//       CHECK: affine.for %{{.+}} = 0 to 160 step 8 {
//       CHECK:   affine.for %{{.+}} = 0 to 24 {
//       CHECK: affine.for %{{.+}} = 0 to 8 {
//  CHECK-NEXT:   affine.for %{{.+}} = 0 to 8 {
func.func @long(%a: memref<1000x160xf32>, %b: memref<160x1800xf32>,
                %c: memref<1000x1800xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 1800 {
      %r = affine.for %k = 0 to 160 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<1000x160xf32>
        %y = affine.load %b[%k, %j] : memref<160x1800xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<1000x1800xf32>
    }
  }
  return
}
