// Properties: nests are left, with a remark, where all channels stay in the first
// cache (@small), none of the blocks divides them (@odd) or fits (@long), all
// columns lie in few sets of the cache (@sets), bounds are not constant (@rows)
// or what is read is not known (@taps), there are no channels (@none), or the
// loops carry a dependence (@carried). No such nests, and without a remark:
// channels first (@first), what does not slide (@apart),
// results that are not contiguous along them (@turned), unknown indices
// (@indirect).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=4 vector-width-bits=512}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=step
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// 19 elements of 4 bytes for each of 16 channels.
// CHECK-LABEL: func @small
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="windows of all lanes stay in the first cache
func.func @small(%x: memref<12x12x16xf32>, %w: memref<3x3x16xf32>, %r: memref<10x10x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 16 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x16xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x16xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x16xf32>
      }
    }
  }
  return
}

// No multiple of 16.
// CHECK-LABEL: func @odd
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="no block of lanes divides them and fits the first cache
func.func @odd(%x: memref<12x12x72xf32>, %w: memref<3x3x72xf32>, %r: memref<10x10x72xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 72 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x72xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x72xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x72xf32>
      }
    }
  }
  return
}

// 3 rows of 22 inputs, 9 weights and 20 results are 380 bytes a channel.
// CHECK-LABEL: func @long
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="no block of lanes divides them and fits the first cache
func.func @long(%x: memref<12x22x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x20x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 20 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x22x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x20x64xf32>
      }
    }
  }
  return
}

// 16 channels of each 1024 lie in one line of 64.
// CHECK-LABEL: func @sets
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="no block of lanes divides them and fits the first cache
func.func @sets(%x: memref<12x12x1024xf32>, %w: memref<3x3x1024xf32>, %r: memref<10x10x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 1024 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x1024xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x1024xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x1024xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @rows
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="bounds are not constant
func.func @rows(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}, %m: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to %m {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @taps
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="what windows read is not known
func.func @taps(%x: memref<?x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}, %m: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to %m iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<?x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @none
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="no lanes
func.func @none(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 64 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @carried
//      REMARK: [Missed] block-lanes
// REMARK-SAME: reason="loop carries a dependence
func.func @carried(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %x[%y, %z, %c] : memref<12x12x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @first
func.func @first(%x: memref<12x12x12xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 10 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y, %z + %a, %c + %b] : memref<12x12x12xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @apart
func.func @apart(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%a, %b, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @turned
func.func @turned(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<64x10x10xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%c, %y, %z] : memref<64x10x10xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @indirect
func.func @indirect(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %h = arith.addi %y, %a : index
            %i = arith.remui %h, %z : index
            %0 = memref.load %x[%i, %z, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}
