// What keeps the layouts of buffers and constants as they are.
// RUN: polynest-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(polynest-assign-layouts))' | FileCheck %s

// Weights that come with every call are packed along the reduction as they lie.
// CHECK-LABEL: func @free
//       CHECK: memref.alloc() : memref<8x16x16xf32>
//       CHECK: return
func.func @free(%x: memref<8x16x16xf32>, %w: memref<12x8x3x3xf32>,
                 %r: memref<12x14x14xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<8x16x16xf32>
  affine.for %c = 0 to 8 {
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 16 {
        %e = affine.load %x[%c, %i, %j] : memref<8x16x16xf32>
        affine.store %e, %p[%c, %i, %j] : memref<8x16x16xf32>
      }
    }
  }
  affine.for %o = 0 to 12 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %0 = affine.for %c = 0 to 8 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %s = 0 to 3 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%c, %i + %u, %j + %s] : memref<8x16x16xf32>
              %f = affine.load %w[%o, %c, %u, %s] : memref<12x8x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%o, %i, %j] : memref<12x14x14xf32>
        }
    }
  }
  return
}

// A buffer with views, or that is handed on, is not renamed.
// CHECK-LABEL: func @viewed
//       CHECK: memref.alloc() : memref<8x16x16xf32>
//       CHECK: return
func.func @viewed(%x: memref<8x16x16xf32>, %w: memref<12x8x3x3xf32> {polynest.constant},
                 %r: memref<12x14x14xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<8x16x16xf32>
  affine.for %c = 0 to 8 {
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 16 {
        %e = affine.load %x[%c, %i, %j] : memref<8x16x16xf32>
        affine.store %e, %p[%c, %i, %j] : memref<8x16x16xf32>
      }
    }
  }
  affine.for %o = 0 to 12 {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        %0 = affine.for %c = 0 to 8 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %s = 0 to 3 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%c, %i + %u, %j + %s] : memref<8x16x16xf32>
              %f = affine.load %w[%o, %c, %u, %s] : memref<12x8x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%o, %i, %j] : memref<12x14x14xf32>
        }
    }
  }
  %v = memref.collapse_shape %p [[0, 1, 2]]
      : memref<8x16x16xf32> into memref<2048xf32>
  "test.use"(%v) : (memref<2048xf32>) -> ()
  return
}

// A product of matrices has no window and one loop a side.
// CHECK-LABEL: func @product
//       CHECK: memref.alloc() : memref<32x48xf32>
//       CHECK: return
func.func @product(%x: memref<32x48xf32>,
                   %w: memref<32x64xf32> {polynest.constant},
                   %r: memref<48x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x48xf32>
  affine.for %k = 0 to 32 {
    affine.for %i = 0 to 48 {
      %e = affine.load %x[%k, %i] : memref<32x48xf32>
      affine.store %e, %p[%k, %i] : memref<32x48xf32>
    }
  }
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 64 {
      %0 = affine.for %k = 0 to 32 iter_args(%s = %zero) -> f32 {
        %d = affine.load %p[%k, %i] : memref<32x48xf32>
        %f = affine.load %w[%k, %j] : memref<32x64xf32>
        %m = arith.mulf %d, %f : f32
        %a = arith.addf %s, %m : f32
        affine.yield %a : f32
      }
      affine.store %0, %r[%i, %j] : memref<48x64xf32>
    }
  }
  return
}

// Windows that come with every call are not copied.
// CHECK-LABEL: func @free_window
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @free_window(%x: memref<?x16x16x24xf32>, %w: memref<24x3x3xf32>,
                 %r: memref<?x14x14x24xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        affine.for %c = 0 to 24 {
          %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %s = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %d = affine.load %x[%b, %i + %u, %j + %s, %c] : memref<?x16x16x24xf32>
              %f = affine.load %w[%c, %u, %s] : memref<24x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s1, %m : f32
              affine.yield %a : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%b, %i, %j, %c] : memref<?x14x14x24xf32>
        }
      }
    }
  }
  return
}

// The result is contiguous along the image: all its lanes share an element.
// CHECK-LABEL: func @shared
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @shared(%x: memref<?x16x16x24xf32>, %w: memref<24x3x3xf32> {polynest.constant},
                 %r: memref<?x24x14x14xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        affine.for %c = 0 to 24 {
          %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %s = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %d = affine.load %x[%b, %i + %u, %j + %s, %c] : memref<?x16x16x24xf32>
              %f = affine.load %w[%c, %u, %s] : memref<24x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s1, %m : f32
              affine.yield %a : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%b, %c, %i, %j] : memref<?x24x14x14xf32>
        }
      }
    }
  }
  return
}

// Channels are there only if the nest runs: nothing may be read before.
// CHECK-LABEL: func @absent
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @absent(%x: memref<?x16x16x24xf32>, %w: memref<?x3x3xf32> {polynest.constant},
                 %r: memref<?x14x14x24xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 14 {
      affine.for %j = 0 to 14 {
        affine.for %c = 0 to 24 {
          %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %s = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %d = affine.load %x[%b, %i + %u, %j + %s, %c] : memref<?x16x16x24xf32>
              %f = affine.load %w[%c, %u, %s] : memref<?x3x3xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s1, %m : f32
              affine.yield %a : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%b, %i, %j, %c] : memref<?x14x14x24xf32>
        }
      }
    }
  }
  return
}
