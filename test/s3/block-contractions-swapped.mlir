// Properties: windows that would be gathered in lanes, element by element, are
// rows instead, read where they are, and the result is turned (@gradient): the
// gradient of a convolution's weights. A window that advances by 2 along the
// depth has every second element read (@strided); blocks that do not divide the
// depth end where it does. Where the sums are short beside the result, which
// would be turned, the sides stay as they are (@short), and so do windows that
// fill lanes (@wide).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' 2>&1 >/dev/null | FileCheck %s --check-prefix=QUIET --allow-empty
// QUIET-NOT: {{.}}

//   CHECK-DAG: [[$RUNS:#.+]] = affine_map<(d0, d1) -> (d1 + d0 * 30)>
//   CHECK-DAG: [[$TWOS:#.+]] = affine_map<(d0, d1, d2) -> (d2 * 2 + d0 * 225 + d1 * 30)>
//   CHECK-DAG: [[$ENDS:#.+]] = affine_map<(d0) -> (8, d0 * -8 + 28)>

// Blocks of 8 rows of the gradient, which has 28 of 28 elements; the image has 30.
// After all blocks of depth each column of the sums runs over some of 16 channels
// and 3 x 3 places of the result.
// CHECK-LABEL: func @gradient
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<16x4x30x30xf32>
//       CHECK: %[[ROWS:.+]] = memref.collapse_shape %[[X]]
//       CHECK: memref.alloc() {{.*}}polynest.packed = "columns once
//   CHECK-NOT: polynest.packed
//       CHECK: %[[SUMS:.+]] = memref.alloc() {{.*}}: memref<54x{{[0-9]+}}xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to min [[$ENDS]](%{{.+}}) iter_args(
//       CHECK: affine.for %[[J:.+]] = 0 to 28 step 7 iter_args(
//       CHECK: affine.apply [[$RUNS]](%[[I]], %[[J]])
//       CHECK: memref.load %[[ROWS]]
//       CHECK: vector.fma
//       CHECK: affine.for %[[O:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to min
//  CHECK-NEXT: affine.for %[[U:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[V:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.load %[[SUMS]][%[[C]] * 9 + %[[U]] * 3 + %[[V]], %[[O]]]
//  CHECK-NEXT: affine.store %{{.+}} : memref<32x16x3x3xf32>
func.func @gradient(%x: memref<16x4x30x30xf32>, %g: memref<32x4x28x28xf32>,
                    %r: memref<32x16x3x3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %o = 0 to 32 {
    affine.for %c = 0 to 16 {
      affine.for %u = 0 to 3 {
        affine.for %v = 0 to 3 {
          %0 = affine.for %n = 0 to 4 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %i = 0 to 28 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %j = 0 to 28 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%c, %n, %i + %u, %j + %v] : memref<16x4x30x30xf32>
                %f = affine.load %g[%o, %n, %i, %j] : memref<32x4x28x28xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%o, %c, %u, %v] : memref<32x16x3x3xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @strided
//       CHECK: affine.for %[[N:.+]] = 0 to 5 iter_args(
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 7 iter_args(
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 7 step 7 iter_args(
//       CHECK: affine.apply [[$TWOS]](%[[N]], %[[I]], %[[J]])
//       CHECK: %[[TWO:.+]] = arith.constant 2 : index
//  CHECK-NEXT: %[[AT:.+]] = arith.addi %{{.+}}, %[[TWO]]
//  CHECK-NEXT: memref.load %{{.+}}[%[[AT]]]
func.func @strided(%x: memref<16x5x15x15xf32>, %g: memref<64x5x7x7xf32>,
                   %r: memref<64x16x3x3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %o = 0 to 64 {
    affine.for %c = 0 to 16 {
      affine.for %u = 0 to 3 {
        affine.for %v = 0 to 3 {
          %0 = affine.for %n = 0 to 5 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %i = 0 to 7 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %j = 0 to 7 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%c, %n, %i * 2 + %u, %j * 2 + %v] : memref<16x5x15x15xf32>
                %f = affine.load %g[%o, %n, %i, %j] : memref<64x5x7x7xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%o, %c, %u, %v] : memref<64x16x3x3xf32>
        }
      }
    }
  }
  return
}

// Sums of 16 products.
// CHECK-LABEL: func @short
//       CHECK: polynest.packed = "columns block by block
func.func @short(%x: memref<16x1x6x6xf32>, %g: memref<32x1x4x4xf32>,
                 %r: memref<32x16x3x3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %o = 0 to 32 {
    affine.for %c = 0 to 16 {
      affine.for %u = 0 to 3 {
        affine.for %v = 0 to 3 {
          %0 = affine.for %i = 0 to 4 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %j = 0 to 4 iter_args(%s1 = %s0) -> f32 {
              %d = affine.load %x[%c, 0, %i + %u, %j + %v] : memref<16x1x6x6xf32>
              %f = affine.load %g[%o, 0, %i, %j] : memref<32x1x4x4xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s1, %m : f32
              affine.yield %a : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%o, %c, %u, %v] : memref<32x16x3x3xf32>
        }
      }
    }
  }
  return
}

// A plain convolution: lanes run along rows of the image.
// CHECK-LABEL: func @wide
//       CHECK: polynest.packed = "columns block by block
func.func @wide(%x: memref<16x34x34xf32>, %w: memref<8x16x3x3xf32>,
                %r: memref<8x32x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %o = 0 to 8 {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 32 {
        %0 = affine.for %c = 0 to 16 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %x[%c, %i + %u, %j + %v] : memref<16x34x34xf32>
              %f = affine.load %w[%o, %c, %u, %v] : memref<8x16x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%o, %i, %j] : memref<8x32x32xf32>
      }
    }
  }
  return
}
