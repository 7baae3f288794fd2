// Properties: rows that would be gathered element by element for several blocks
// of columns are gathered once (@flipped), the gradient of a convolution's image,
// whose weights are transposed and flipped; loops of the depth that take longer
// steps than rows run outside. One block of columns has them gathered as it is
// (@once). Windows of a small image, with rows of half a vector or less, are laid
// out as a whole where four blocks of rows use them (@small), not for fewer
// (@few_rows).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s

// CHECK-LABEL: func @flipped
//  CHECK-SAME: %[[W:[a-z0-9]+]]: memref<24x32x3x3xf32>
//       CHECK: %[[ROWS:.+]] = memref.alloc() {{.*}}polynest.packed = "rows once
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 24 {
//  CHECK-NEXT: affine.for %[[O:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[U:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[V:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.load %[[W]][%[[C]], %[[O]], -%[[U]] + 2, -%[[V]] + 2]
//  CHECK-NEXT: affine.store %{{.+}}, %[[ROWS]][%[[O]], %[[C]] * 9 + %[[U]] * 3 + %[[V]]]
//       CHECK: %[[FLAT:.+]] = memref.collapse_shape %[[ROWS]]
//       CHECK: polynest.packed = "columns block by block
//   CHECK-NOT: polynest.packed
//       CHECK: memref.load %[[FLAT]]
func.func @flipped(%x: memref<1x24x66x66xf32>, %w: memref<24x32x3x3xf32>,
                   %r: memref<1x32x64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1 {
    affine.for %o = 0 to 32 {
      affine.for %i = 0 to 64 {
        affine.for %j = 0 to 64 {
          %0 = affine.for %c = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%n, %c, %i + %u, %j + %v] : memref<1x24x66x66xf32>
                %f = affine.load %w[%c, %o, 2 - %u, 2 - %v] : memref<24x32x3x3xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%n, %o, %i, %j] : memref<1x32x64x64xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @once
//       CHECK: polynest.packed = "rows block by block
func.func @once(%x: memref<1x24x10x10xf32>, %w: memref<24x32x3x3xf32>,
                %r: memref<1x32x8x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1 {
    affine.for %o = 0 to 32 {
      affine.for %i = 0 to 8 {
        affine.for %j = 0 to 8 {
          %0 = affine.for %c = 0 to 24 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%n, %c, %i + %u, %j + %v] : memref<1x24x10x10xf32>
                %f = affine.load %w[%c, %o, 2 - %u, 2 - %v] : memref<24x32x3x3xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%n, %o, %i, %j] : memref<1x32x8x8xf32>
        }
      }
    }
  }
  return
}

// 480 rows in blocks of 120; 96 columns are one block.
// CHECK-LABEL: func @small
//       CHECK: %[[WINDOWS:.+]] = memref.alloc() {{.*}}polynest.packed = "columns once{{.*}}: memref<432x112xf32>
//       CHECK: affine.store %{{.+}}, %[[WINDOWS]]
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//   CHECK-NOT: polynest.packed
//       CHECK: affine.for %[[B:.+]] = 0 to 2 {
//       CHECK: affine.vector_load %[[WINDOWS]][%[[B]] * 216 + %{{.+}}, %{{.+}}]
func.func @small(%x: memref<6x48x6x6xf32>, %w: memref<480x48x3x3xf32>,
                 %r: memref<6x480x4x4xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 6 {
    affine.for %o = 0 to 480 {
      affine.for %i = 0 to 4 {
        affine.for %j = 0 to 4 {
          %0 = affine.for %c = 0 to 48 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%n, %c, %i + %u, %j + %v] : memref<6x48x6x6xf32>
                %f = affine.load %w[%o, %c, %u, %v] : memref<480x48x3x3xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%n, %o, %i, %j] : memref<6x480x4x4xf32>
        }
      }
    }
  }
  return
}

// 96 rows are fewer than four blocks.
// CHECK-LABEL: func @few_rows
//       CHECK: polynest.packed = "columns block by block
func.func @few_rows(%x: memref<6x48x6x6xf32>, %w: memref<96x48x3x3xf32>,
                    %r: memref<6x96x4x4xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 6 {
    affine.for %o = 0 to 96 {
      affine.for %i = 0 to 4 {
        affine.for %j = 0 to 4 {
          %0 = affine.for %c = 0 to 48 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%n, %c, %i + %u, %j + %v] : memref<6x48x6x6xf32>
                %f = affine.load %w[%o, %c, %u, %v] : memref<96x48x3x3xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%n, %o, %i, %j] : memref<6x96x4x4xf32>
        }
      }
    }
  }
  return
}
