// Properties: images are copied as a whole, with a remark, where they are small
// (@small), padded along the contiguous dimension (@lanes), turned for it
// (@turned), read very often (@often), read in no order of rows (@backwards), by
// loops that carry something (@carried, @dependent) or border alone (@narrow,
// @wide), by products of which a border has too few to be blocked (@few), where
// their is overwritten in between (@overwritten). No padded image, and no
// remark: what is filled after it is copied (@order), read in two nests (@two),
// copied under a condition (@asked) or filled by a moving value (@moving).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-borders))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @small
//       CHECK: memref.alloc() : memref<102x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="the buffer is small
func.func @small(%x: memref<100x64xf32>, %r: memref<100x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<102x64xf32>
  affine.for %i = 0 to 102 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<102x64xf32>
    }
  }
  affine.for %i = 0 to 100 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<100x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<102x64xf32>
    }
  }
  affine.for %i = 0 to 100 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<102x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<100x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @lanes
//       CHECK: memref.alloc() : memref<402x66xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="lanes would cross a border
func.func @lanes(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x66xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 66 {
      affine.store %zero, %p[%i, %c] : memref<402x66xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c + 1] : memref<402x66xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %p[%i + 2, %c + 2] : memref<402x66xf32>
      affine.store %0, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @turned
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="the copy turns the image for lanes
func.func @turned(%x: memref<64x400xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%c, %i] : memref<64x400xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @often
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="each element is read many times
func.func @often(%x: memref<400x64xf32>, %r: memref<400x64x100xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      affine.for %f = 0 to 100 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
          %1 = arith.addf %s0, %0 : f32
          affine.yield %1 : f32
        }
        affine.store %s, %r[%i, %c, %f] : memref<400x64x100xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @backwards
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="a border has no inside, or is not read by rows
func.func @backwards(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%a - %i + 399, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @carried
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="a border has no inside, or is not read by rows
func.func @carried(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %c = 0 to 64 {
    %s = affine.for %i = 0 to 402 iter_args(%s0 = %zero) -> f32 {
      %0 = affine.load %p[%i, %c] : memref<402x64xf32>
      %1 = arith.addf %s0, %0 : f32
      affine.yield %1 : f32
    }
    affine.store %s, %r[0, %c] : memref<400x64xf32>
  }
  return
}

// CHECK-LABEL: func @dependent
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="loop carries a dependence
func.func @dependent(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}, %q: memref<64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %p[%i + 2, %c] : memref<402x64xf32>
      %1 = affine.load %q[%c] : memref<64xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %q[%c] : memref<64xf32>
      affine.store %2, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @narrow
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="a border has no inside
func.func @narrow(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 2 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 401 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @wide
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="borders read most of the buffer
func.func @wide(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 102 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 300 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @overwritten
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="what is copied is overwritten
func.func @overwritten(%x: memref<400x64xf32> {polynest.mutable}, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.store %zero, %x[%i, 7] : memref<400x64xf32>
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @order
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @order(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @two
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @two(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}, %q: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %p[%i, %c] : memref<402x64xf32>
      affine.store %0, %q[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @asked
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @asked(%x: memref<400x64xf32>, %n: index, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      affine.if affine_set<()[s0] : (s0 - 5 >= 0)>()[%n] {
        %0 = affine.load %x[%i, %c] : memref<400x64xf32>
        affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
      }
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}

// 20 * 8 * 72 products in the first row of a group.
// CHECK-LABEL: func @few
//       CHECK: memref.alloc() : memref<102x22x8x8xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: [Missed] split-borders
// REMARK-SAME: reason="a border has too few products to be blocked
func.func @few(%x: memref<100x20x8x8xf32>, %w: memref<8x3x3x8x8xf32>,
               %r: memref<100x20x8x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<102x22x8x8xf32>
  affine.for %i = 0 to 102 {
    affine.for %j = 0 to 22 {
      affine.for %g = 0 to 8 {
        affine.for %c = 0 to 8 {
          affine.store %zero, %p[%i, %j, %g, %c] : memref<102x22x8x8xf32>
        }
      }
    }
  }
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 20 {
      affine.for %g = 0 to 8 {
        affine.for %c = 0 to 8 {
          %0 = affine.load %x[%i, %j, %g, %c] : memref<100x20x8x8xf32>
          affine.store %0, %p[%i + 1, %j + 1, %g, %c] : memref<102x22x8x8xf32>
        }
      }
    }
  }
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 20 {
      affine.for %g = 0 to 8 {
        affine.for %o = 0 to 8 {
          %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %c = 0 to 8 iter_args(%s2 = %s1) -> f32 {
                %d = affine.load %p[%i + %u, %j + %v, %g, %c] : memref<102x22x8x8xf32>
                %f = affine.load %w[%g, %u, %v, %c, %o] : memref<8x3x3x8x8xf32>
                %m = arith.mulf %d, %f : f32
                %a = arith.addf %s2, %m : f32
                affine.yield %a : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %r[%i, %j, %g, %o] : memref<100x20x8x8xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @moving
//       CHECK: memref.alloc() : memref<402x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @moving(%x: memref<400x64xf32>, %r: memref<400x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<402x64xf32>
  affine.for %i = 0 to 402 {
    affine.for %c = 0 to 64 {
      %k = arith.index_cast %i : index to i32
      %f = arith.sitofp %k : i32 to f32
      affine.store %f, %p[%i, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %0 = affine.load %x[%i, %c] : memref<400x64xf32>
      affine.store %0, %p[%i + 1, %c] : memref<402x64xf32>
    }
  }
  affine.for %i = 0 to 400 {
    affine.for %c = 0 to 64 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i + %a, %c] : memref<402x64xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<400x64xf32>
    }
  }
  return
}
