// Properties: rows of a window that are contiguous along parts of a block of
// depth are read where they are, run by run: the micro-kernel carries its sums
// through a loop over rows of the window (@stem) and one over its columns too,
// where groups lie between (@groups); these share cache lines and run inside of the
// loops over blocks of rows, unlike groups that lie apart (@planes). Points of depth keep their numbers in the
// packed columns. Small products of many groups are worth it where their columns
// are bound once, and none of their tiles is whole (@few_channels). The loop over a run is unrolled, up to 8 times. Runs of few
// elements are packed (@narrow), unless it is asked for that they are not.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-rows=never}))' | FileCheck %s --check-prefix=NEVER

//   CHECK-DAG: [[$BY9:#.+]] = affine_map<(d0, d1) -> (d1 + d0 * 9)>
//   CHECK-DAG: [[$BY99:#.+]] = affine_map<(d0, d1) -> (d1 + d0 * 99)>

// A row of the image has 33 * 3 elements, a run 3 * 3.
// CHECK-LABEL: func @stem
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<1x33x33x3xf32>
//       CHECK: %[[ROWS:.+]] = memref.collapse_shape %[[X]]
//       CHECK: %[[W:.+]] = memref.alloc() {{.*}}: memref<1x27x16xf32>
//       CHECK: %[[ROW:.+]] = affine.load %{{.+}} : memref<48xindex>
//       CHECK: :12 = affine.for %[[U:.+]] = 0 to 3 iter_args(
//  CHECK-NEXT: :12 = affine.for %[[K:.+]] = 0 to 9 step 3 iter_args(
//  CHECK-NEXT: %[[POINT:.+]] = affine.apply [[$BY9]](%[[U]], %[[K]])
//  CHECK-NEXT: %[[FAR:.+]] = affine.apply [[$BY99]](%[[U]], %[[K]])
//  CHECK-NEXT: affine.vector_load %[[W]][%{{.+}} floordiv 16, %[[POINT]], 0]
//       CHECK: %[[AT:.+]] = arith.addi %[[ROW]], %[[FAR]]
//  CHECK-NEXT: memref.load %[[ROWS]][%[[AT]]]
// NEVER-LABEL: func @stem
func.func @stem(%x: memref<1x33x33x3xf32>,
               %w: memref<3x3x3x16xf32> {polynest.constant},
               %r: memref<1x16x16x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      affine.for %o = 0 to 16 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 3 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %x[0, %i * 2 + %u, %j * 2 + %v, %c] : memref<1x33x33x3xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x3x16xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[0, %i, %j, %o] : memref<1x16x16x16xf32>
      }
    }
  }
  return
}

// All groups of a block of 8 of 16 rows of the result, then the next block.
// CHECK-LABEL: func @groups
//       CHECK: affine.for %{{.+}} = 0 to 2 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 3 {
//       CHECK: :12 = affine.for %{{.+}} = 0 to 3 iter_args(
//  CHECK-NEXT: :12 = affine.for %{{.+}} = 0 to 3 iter_args(
//  CHECK-NEXT: :12 = affine.for %{{.+}} = 0 to 8 step 8 iter_args(
//       CHECK: memref.load %{{.+}} : memref<7776xf32>
func.func @groups(%x: memref<18x18x3x8xf32>,
               %w: memref<3x3x3x8x24xf32> {polynest.constant},
               %r: memref<16x16x3x24xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      affine.for %g = 0 to 3 {
       affine.for %o = 0 to 24 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 8 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %x[%i + %u, %j + %v, %g, %c] : memref<18x18x3x8xf32>
              %f = affine.load %w[%g, %u, %v, %c, %o] : memref<3x3x3x8x24xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %g, %o] : memref<16x16x3x24xf32>
      }
     }
    }
  }
  return
}

// Groups lie apart: all blocks of one, then the next.
// CHECK-LABEL: func @planes
//       CHECK: affine.store %{{.+}} : memref<3x1x72x24xf32>
//       CHECK: affine.for %{{.+}} = 0 to 3 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 2 {
func.func @planes(%x: memref<3x18x18x8xf32>,
               %w: memref<3x3x3x8x24xf32> {polynest.constant},
               %r: memref<16x16x3x24xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      affine.for %g = 0 to 3 {
       affine.for %o = 0 to 24 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 8 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %x[%g, %i + %u, %j + %v, %c] : memref<3x18x18x8xf32>
              %f = affine.load %w[%g, %u, %v, %c, %o] : memref<3x3x3x8x24xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %g, %o] : memref<16x16x3x24xf32>
      }
     }
    }
  }
  return
}

// Runs of 3 * 2 elements.
// CHECK-LABEL: func @narrow
//       CHECK: :12 = affine.for %{{.+}} = 0 to 18 iter_args(
// NEVER-LABEL: func @narrow
//       NEVER: :12 = affine.for %{{.+}} = 0 to 3 iter_args(
//  NEVER-NEXT: :12 = affine.for %{{.+}} = 0 to 6 step 6 iter_args(
func.func @narrow(%x: memref<34x34x2xf32>,
               %w: memref<3x3x2x16xf32> {polynest.constant},
               %r: memref<32x32x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 32 {
      affine.for %o = 0 to 16 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 2 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %x[%i + %u, %j + %v, %c] : memref<34x34x2xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x2x16xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<32x32x16xf32>
      }
    }
  }
  return
}

// 49 * 8 * 72 products a group. Loops over the image write down where the rows
// of a block begin, the last tile's are the last row again; the 8 columns of a
// group are left of a panel, always, and nothing asks for it.
// CHECK-LABEL: func @few_channels
//       CHECK: memref.alloc() {{.*}}: memref<5x{{.+}}x72x[[NR:[0-9]+]]xf32>
//       CHECK: affine.for %{{.+}} = 0 to 5 {
//       CHECK: %[[TABLE:.+]] = memref.alloc() {{.+}} : memref<[[ALL:[0-9]+]]xindex>
//       CHECK: affine.for %[[I:.+]] = 0 to 7 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 7 {
//   CHECK-NOT: floordiv
//       CHECK: affine.store %{{.+}}, %[[TABLE]][%[[I]] * 7 + %[[J]]]
//       CHECK: affine.for %[[P:.+]] = 49 to [[ALL]] {
//       CHECK: affine.store %{{.+}}, %[[TABLE]][%[[P]]]
//       CHECK: vector.fma
//   CHECK-NOT: affine.if
//       CHECK: affine.for %{{.+}} = 0 to 8 {
//       CHECK: affine.store %{{.+}} : memref<7x7x40xf32>
//   CHECK-NOT: affine.if
//       CHECK: return
// NEVER-LABEL: func @few_channels
func.func @few_channels(%x: memref<9x9x5x8xf32>,
                        %w: memref<5x3x3x8x8xf32> {polynest.constant},
                        %r: memref<7x7x40xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %g = 0 to 5 {
    affine.for %i = 0 to 7 {
      affine.for %j = 0 to 7 {
        affine.for %o = 0 to 8 {
          %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %c = 0 to 8 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %x[%i + %u, %j + %v, %g, %c] : memref<9x9x5x8xf32>
                %f = affine.load %w[%g, %u, %v, %c, %o] : memref<5x3x3x8x8xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%i, %j, %g * 8 + %o] : memref<7x7x40xf32>
        }
      }
    }
  }
  return
}
