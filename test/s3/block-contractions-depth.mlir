// Behavior: blocks of the reduction are multiples of 8 points, and of whole vectors
// where these are turned as columns are packed.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=512 vector-registers=32 l1-size-kib=48 l2-size-kib=1024}))' | FileCheck %s

// CHECK-DAG: #[[$EIGHTS:.+]] = affine_map<(d0) -> (168, d0 * -168 + 1000)>
// CHECK-DAG: #[[$VECTORS:.+]] = affine_map<(d0) -> (160, d0 * -160 + 1000)>

// 42 KiB hold panels of 48 columns and twice 8 rows 168 deep: 6 blocks.
// CHECK-LABEL: func @rows
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//       CHECK:   affine.for %[[BLOCK:.+]] = 0 to 6 {
//       CHECK:     affine.for %{{.+}} = 0 to 64 step 8 {
//       CHECK:       :24 = affine.for %{{.+}} = 0 to min #[[$EIGHTS]](%[[BLOCK]])
func.func @rows(%a: memref<256x1000xf32>, %b: memref<1000x96xf32>,
                %c: memref<256x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 1000 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<256x1000xf32>
        %y = affine.load %b[%k, %j] : memref<1000x96xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<256x96xf32>
    }
  }
  return
}

// Columns that lie along the reduction are packed in squares of 16 by 16: 7 blocks.
// CHECK-LABEL: func @turned
//       CHECK: affine.for %{{.+}} = 0 to 96 step 16 {
//  CHECK-NEXT:   affine.for %{{.+}} = 0 to 992 step 16 {
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//       CHECK:   affine.for %[[BLOCK:.+]] = 0 to 7 {
//       CHECK:     affine.for %{{.+}} = 0 to 64 step 8 {
//       CHECK:       :24 = affine.for %{{.+}} = 0 to min #[[$VECTORS]](%[[BLOCK]])
func.func @turned(%a: memref<256x1000xf32>, %b: memref<96x1000xf32>,
                  %c: memref<256x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 1000 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<256x1000xf32>
        %y = affine.load %b[%j, %k] : memref<96x1000xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<256x96xf32>
    }
  }
  return
}
