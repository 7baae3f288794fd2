// Properties: with `iterations`, nests stay apart, with the reason, where their
// buffers fit one core's share of the last cache (@fits), where what one iteration
// touches outgrows it (@large) or is little (@little), where too few iterations
// would run at once (@few), where their number, or the size of a buffer, is not
// known (@unknown, @size), where weights are large (@weights), where an iteration
// reads what another has written (@shifted), and where nothing is a contraction
// (@sums).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{iterations=true cache-size-kib=16 shared-size-kib=128 cores=2}))' --remarks-filter='.*' 2>%t.remarks > %t
// RUN: polynest-opt %s | diff - %t
// RUN: FileCheck %s < %t.remarks

// 4 x 14336 bytes.
// CHECK: [Missed] fuse-blocks
// CHECK-SAME: the buffers fit one core's share of the last cache
func.func @fits(%x: memref<4x112x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
    %r: memref<4x112x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<4x112x32xf32>
  affine.for %n = 0 to 4 {
    affine.for %y = 0 to 112 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<4x112x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<4x112x32xf32>
      }
    }
  }
  affine.for %n = 0 to 4 {
    affine.for %y = 0 to 112 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<4x112x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<4x112x16xf32>
      }
    }
  }
  return
}

// 69632 bytes in each of 8 iterations.
// CHECK: [Missed] fuse-blocks
// CHECK-SAME: one iteration outgrows the caches, too
func.func @large(%x: memref<8x544x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
    %r: memref<8x544x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<8x544x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 544 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<8x544x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<8x544x32xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 544 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<8x544x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<8x544x16xf32>
      }
    }
  }
  return
}

// 960 bytes, 128 times.
// CHECK: [Missed] fuse-blocks
// CHECK-SAME: one iteration takes little of one core's cache
func.func @little(%x: memref<128x60x16xf32>, %a: memref<16x4xf32>, %c: memref<4x4xf32>,
    %r: memref<128x60x4xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<128x60x4xf32>
  affine.for %n = 0 to 128 {
    affine.for %y = 0 to 60 {
      affine.for %k = 0 to 4 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<128x60x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x4xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<128x60x4xf32>
      }
    }
  }
  affine.for %n = 0 to 128 {
    affine.for %y = 0 to 60 {
      affine.for %k = 0 to 4 {
        %s = affine.for %i = 0 to 4 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<128x60x4xf32>
          %v = affine.load %c[%i, %k] : memref<4x4xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<128x60x4xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: too few parallel iterations would be left
func.func @few(%x: memref<3x256x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
    %r: memref<3x256x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<3x256x32xf32>
  affine.for %n = 0 to 3 {
    affine.for %y = 0 to 256 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<3x256x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<3x256x32xf32>
      }
    }
  }
  affine.for %n = 0 to 3 {
    affine.for %y = 0 to 256 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<3x256x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<3x256x16xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: an unknown number of iterations may be few
func.func @unknown(%x: memref<?x144x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
    %r: memref<?x144x16xf32> {polynest.result}, %N: index) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc(%N) : memref<?x144x32xf32>
  affine.for %n = 0 to %N {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<?x144x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<?x144x32xf32>
      }
    }
  }
  affine.for %n = 0 to %N {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<?x144x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<?x144x16xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: the size of a buffer is not known
func.func @size(%x: memref<8x?x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
    %r: memref<8x?x16xf32> {polynest.result}, %Y: index) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc(%Y) : memref<8x?x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to %Y {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<8x?x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<8x?x32xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to %Y {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<8x?x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<8x?x16xf32>
      }
    }
  }
  return
}

// 32 x 144 weights, 18432 bytes, of which each iteration reads as much.
// CHECK: [Missed] fuse-blocks
// CHECK-SAME: little is handed over beside operands that are read again
func.func @weights(%x: memref<8x144x16xf32>, %a: memref<16x32xf32>, %c: memref<32x144xf32>,
    %r: memref<8x144x144xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<8x144x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<8x144x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<8x144x32xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 144 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<8x144x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x144xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<8x144x144xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: an element is not touched in the same iteration of both
func.func @shifted(%x: memref<8x144x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
    %r: memref<8x144x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<9x144x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<8x144x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<9x144x32xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n + 1, %y, %i] : memref<9x144x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<8x144x16xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: no contraction is among the nests
func.func @sums(%x: memref<8x144x16xf32>, %a: memref<16xf32>, %c: memref<32xf32>,
    %r: memref<8x144x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<8x144x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<8x144x16xf32>
          %v = affine.load %a[%i] : memref<16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<8x144x32xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<8x144x32xf32>
          %v = affine.load %c[%i] : memref<32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<8x144x16xf32>
      }
    }
  }
  return
}
