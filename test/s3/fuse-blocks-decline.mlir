// Properties: nests stay apart, with the reason, where the second product reads
// another row than the first has written (@shifted), where the rows are what it
// sums over (@columns), where a buffer is small (@fits), where each block would
// read more again than the buffers hold (@weights), also for each iteration of a loop
// around blocks, whose rows a product that stands alone joins (@joined), where nothing
// is a contraction (@rows), where what would shrink is read element by element
// (@elements), and where too few iterations would run at once (@few); where a loop runs another
// number of times in each iteration around it (@triangle).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16}))' --remarks-filter='.*' 2>%t.remarks > %t
// RUN: polynest-opt %s | diff - %t
// RUN: FileCheck %s < %t.remarks

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: an element is not touched in the same iteration of both
func.func @shifted(%q: memref<128x16xf32>, %v: memref<128x16xf32>,
                   %o: memref<127x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x128xf32>
  affine.for %i = 0 to 127 {
    affine.for %j = 0 to 128 {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %q[%i, %d] : memref<128x16xf32>
        %y = affine.load %v[%j, %d] : memref<128x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<128x128xf32>
    }
  }
  affine.for %i = 0 to 127 {
    affine.for %e = 0 to 16 {
      %r = affine.for %j = 0 to 128 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%i + 1, %j] : memref<128x128xf32>
        %y = affine.load %v[%j, %e] : memref<128x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<127x16xf32>
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: an element is not touched in the same iteration of both
func.func @columns(%q: memref<128x16xf32>, %v: memref<128x16xf32>,
                   %o: memref<128x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x128xf32>
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 128 {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %q[%i, %d] : memref<128x16xf32>
        %y = affine.load %v[%j, %d] : memref<128x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<128x128xf32>
    }
  }
  affine.for %i = 0 to 128 {
    affine.for %e = 0 to 16 {
      %r = affine.for %j = 0 to 128 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%j, %i] : memref<128x128xf32>
        %y = affine.load %v[%j, %e] : memref<128x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<128x16xf32>
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: the buffers take little of one core's cache
func.func @fits(%q: memref<64x16xf32>, %v: memref<16x16xf32>,
                %o: memref<64x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<64x16xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 16 {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %q[%i, %d] : memref<64x16xf32>
        %y = affine.load %v[%j, %d] : memref<16x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<64x16xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %e = 0 to 16 {
      %r = affine.for %j = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%i, %j] : memref<64x16xf32>
        %y = affine.load %v[%j, %e] : memref<16x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<64x16xf32>
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: operands read by each block are larger than the buffers
func.func @weights(%x: memref<128x256xf32>, %u: memref<512x256xf32>,
                   %w: memref<512x256xf32>,
                   %o: memref<128x256xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x512xf32>
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 512 {
      %r = affine.for %d = 0 to 256 iter_args(%c = %zero) -> f32 {
        %a = affine.load %x[%i, %d] : memref<128x256xf32>
        %y = affine.load %u[%j, %d] : memref<512x256xf32>
        %m = arith.mulf %a, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<128x512xf32>
    }
  }
  affine.for %i = 0 to 128 {
    affine.for %e = 0 to 256 {
      %r = affine.for %j = 0 to 512 iter_args(%c = %zero) -> f32 {
        %a = affine.load %s[%i, %j] : memref<128x512xf32>
        %y = affine.load %w[%j, %e] : memref<512x256xf32>
        %m = arith.mulf %a, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<128x256xf32>
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: operands read by each block are larger than the buffers
func.func @joined(%x: memref<16x32x96xf32>, %u: memref<384x96xf32>,
                  %w: memref<384x96xf32>,
                  %o: memref<16x32x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<16x32x384xf32>
  affine.for %h = 0 to 16 {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 384 {
        %r = affine.for %d = 0 to 96 iter_args(%c = %zero) -> f32 {
          %a = affine.load %x[%h, %i, %d] : memref<16x32x96xf32>
          %y = affine.load %u[%j, %d] : memref<384x96xf32>
          %m = arith.mulf %a, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%h, %i, %j] : memref<16x32x384xf32>
      }
    }
  }
  affine.for %h = 0 to 16 {
    affine.for %i = 0 to 32 {
      affine.for %e = 0 to 96 {
        %r = affine.for %j = 0 to 384 iter_args(%c = %zero) -> f32 {
          %a = affine.load %s[%h, %i, %j] : memref<16x32x384xf32>
          %y = affine.load %w[%j, %e] : memref<384x96xf32>
          %m = arith.mulf %a, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%h, %i, %e] : memref<16x32x96xf32>
      }
    }
  }
  return
}

// Of an unknown number of rows there may be as few.
// CHECK: [Missed] fuse-blocks
// CHECK-SAME: operands read by each block are larger than the buffers
func.func @few_rows(%b: index, %n: index, %x: memref<?x?x96xf32>,
                    %u: memref<384x96xf32>, %w: memref<384x96xf32>,
                    %o: memref<?x?x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc(%b, %n) : memref<?x?x384xf32>
  affine.for %h = 0 to %b {
    affine.for %i = 0 to %n {
      affine.for %j = 0 to 384 {
        %r = affine.for %d = 0 to 96 iter_args(%c = %zero) -> f32 {
          %a = affine.load %x[%h, %i, %d] : memref<?x?x96xf32>
          %y = affine.load %u[%j, %d] : memref<384x96xf32>
          %m = arith.mulf %a, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%h, %i, %j] : memref<?x?x384xf32>
      }
    }
  }
  affine.for %h = 0 to %b {
    affine.for %i = 0 to %n {
      affine.for %e = 0 to 96 {
        %r = affine.for %j = 0 to 384 iter_args(%c = %zero) -> f32 {
          %a = affine.load %s[%h, %i, %j] : memref<?x?x384xf32>
          %y = affine.load %w[%j, %e] : memref<384x96xf32>
          %m = arith.mulf %a, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%h, %i, %e] : memref<?x?x96xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: no contraction is among the nests
func.func @rows(%x: memref<128x128xf32>, %o: memref<128xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x128xf32>
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 128 {
      %a = affine.load %x[%i, %j] : memref<128x128xf32>
      affine.store %a, %s[%i, %j] : memref<128x128xf32>
    }
  }
  affine.for %i = 0 to 128 {
    %r = affine.for %j = 0 to 128 iter_args(%c = %zero) -> f32 {
      %a = affine.load %s[%i, %j] : memref<128x128xf32>
      %t = arith.addf %c, %a : f32
      affine.yield %t : f32
    }
    affine.store %r, %o[%i] : memref<128xf32>
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: no nest reduces along rows of what would shrink
func.func @elements(%x: memref<128x16xf32>, %u: memref<96x16xf32>,
                    %o: memref<128x94xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x96xf32>
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 96 {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %a = affine.load %x[%i, %d] : memref<128x16xf32>
        %y = affine.load %u[%j, %d] : memref<96x16xf32>
        %m = arith.mulf %a, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<128x96xf32>
    }
  }
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 94 {
      %r = affine.for %d = 0 to 3 iter_args(%c = %zero) -> f32 {
        %a = affine.load %s[%i, %j + %d] : memref<128x96xf32>
        %t = arith.addf %c, %a : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %j] : memref<128x94xf32>
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// CHECK-SAME: too few parallel iterations would be left
func.func @few(%q: memref<2x40x16xf32>, %k: memref<2x80x16xf32>,
               %o: memref<2x40x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<2x40x80xf32>
  affine.for %b = 0 to 2 {
    affine.for %i = 0 to 40 {
      affine.for %j = 0 to 80 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<2x40x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<2x80x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<2x40x80xf32>
      }
    }
  }
  affine.for %b = 0 to 2 {
    affine.for %i = 0 to 40 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 80 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<2x40x80xf32>
          %y = affine.load %k[%b, %j, %e] : memref<2x80x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<2x40x16xf32>
      }
    }
  }
  return
}

// CHECK: [Missed] fuse-blocks
// Only the outer one counts.
// CHECK-SAME: too few parallel iterations would be left
func.func @triangle(%q: memref<80x80x16xf32>, %v: memref<80x16xf32>,
                    %o: memref<80x80x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<80x80x80xf32>
  affine.for %b = 0 to 80 {
    affine.for %i = 0 to affine_map<(d0) -> (d0)>(%b) {
      affine.for %j = 0 to 80 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<80x80x16xf32>
          %y = affine.load %v[%j, %d] : memref<80x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<80x80x80xf32>
      }
    }
  }
  affine.for %b = 0 to 80 {
    affine.for %i = 0 to affine_map<(d0) -> (d0)>(%b) {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 80 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<80x80x80xf32>
          %y = affine.load %v[%j, %e] : memref<80x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<80x80x16xf32>
      }
    }
  }
  return
}

// Rows are whole matrices of unknown size: 32 of them fit no cache.
// CHECK: [Missed] fuse-blocks
// CHECK-SAME: a small block outgrows the caches, too
func.func @matrices(%b: index, %n: index, %q: memref<?x?x768xf32>,
                    %w: memref<768x768xf32>,
                    %o: memref<?x768x768xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc(%b, %n) : memref<?x?x768xf32>
  affine.for %h = 0 to %b {
    affine.for %i = 0 to %n {
      affine.for %j = 0 to 768 {
        %r = affine.for %k = 0 to 768 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%h, %i, %k] : memref<?x?x768xf32>
          %y = affine.load %w[%j, %k] : memref<768x768xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%h, %i, %j] : memref<?x?x768xf32>
      }
    }
  }
  affine.for %h = 0 to %b {
    affine.for %i = 0 to 768 {
      affine.for %j = 0 to 768 {
        %r = affine.for %k = 0 to %n iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%h, %k, %j] : memref<?x?x768xf32>
          %y = affine.load %q[%h, %k, %i] : memref<?x?x768xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%h, %i, %j] : memref<?x768x768xf32>
      }
    }
  }
  return
}
