// Properties: a buffer that goes to memory and that several nests read is computed by
// each, which takes less (@softmax), also where one of them is fused further
// (@log_softmax); it stays where it is small, where what it is
// computed from is more to read (@inputs), where that would be read across
// (@across, @turned), and where an element is read more than once (@products).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{threshold-kib=1024},canonicalize))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{threshold-kib=1025},canonicalize))' | FileCheck %s --check-prefix=SMALL

// 512 x 512 elements of 4 bytes. With it 16 bytes of the buffer are moved for an
// element, without it 4 more of %x: 48 cycles for the exponential's 21.
// CHECK-LABEL: func @softmax
//   CHECK-NOT: memref.alloc
//       CHECK: math.exp
//       CHECK: arith.addf
//       CHECK: math.exp
//       CHECK: arith.divf
//       CHECK: return
// SMALL-LABEL: func @softmax
//       SMALL: memref.alloc() : memref<512x512xf32>
//       SMALL: math.exp
//   SMALL-NOT: math.exp
//       SMALL: return
func.func @softmax(%x: memref<512x512xf32>, %m: memref<512xf32>,
                   %s: memref<512xf32> {polynest.result},
                   %o: memref<512x512xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %x[%i, %j] : memref<512x512xf32>
      %b = affine.load %m[%j] : memref<512xf32>
      %c = arith.subf %a, %b : f32
      %e = math.exp %c : f32
      affine.store %e, %t[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.addf %b, %a : f32
      affine.store %c, %s[%j] : memref<512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}

// The sum's nest is a reader of %x, as the first nest is: they are not fused again.
// CHECK-LABEL: func @log_softmax
//   CHECK-NOT: memref.alloc
//       CHECK: arith.subf
//  CHECK-NEXT: math.exp
//       CHECK: arith.addf
//       CHECK: arith.subf
//       CHECK: arith.subf
//       CHECK: return
func.func @log_softmax(%x: memref<512x512xf32>, %m: memref<512xf32>,
                       %s: memref<512xf32> {polynest.result},
                       %o: memref<512x512xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<512x512xf32>
  %u = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %x[%i, %j] : memref<512x512xf32>
      %b = affine.load %m[%j] : memref<512xf32>
      %c = arith.subf %a, %b : f32
      affine.store %c, %t[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %e = math.exp %a : f32
      affine.store %e, %u[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %u[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.addf %b, %a : f32
      affine.store %c, %s[%j] : memref<512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.subf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}

// Five inputs: 20 bytes more for 16 less. The cache holds 1 MiB, and these are larger.
// CHECK-LABEL: func @inputs
//       CHECK: memref.alloc() : memref<512x513xf32>
//       CHECK: return
func.func @inputs(%x: memref<5x512x513xf32>, %y: memref<512x513xf32>,
                  %s: memref<513xf32> {polynest.result},
                  %o: memref<512x513xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<512x513xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 513 {
      %a = affine.load %x[0, %i, %j] : memref<5x512x513xf32>
      %b = affine.load %x[4, %i, %j] : memref<5x512x513xf32>
      %e = arith.addf %a, %b : f32
      affine.store %e, %t[%i, %j] : memref<512x513xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 513 {
      %a = affine.load %t[%i, %j] : memref<512x513xf32>
      %b = affine.load %s[%j] : memref<513xf32>
      %c = arith.addf %b, %a : f32
      affine.store %c, %s[%j] : memref<513xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 513 {
      %a = affine.load %t[%i, %j] : memref<512x513xf32>
      %b = affine.load %s[%j] : memref<513xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<512x513xf32>
    }
  }
  return
}

// The readers would run along what lies across in %x.
// CHECK-LABEL: func @across
//       CHECK: memref.alloc() : memref<512x512xf32>
//       CHECK: math.exp
//   CHECK-NOT: math.exp
//       CHECK: return
func.func @across(%x: memref<512x512xf32>,
                  %s: memref<512xf32> {polynest.result},
                  %o: memref<512x512xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %x[%i, %j] : memref<512x512xf32>
      %e = math.exp %a : f32
      affine.store %e, %t[%j, %i] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.addf %b, %a : f32
      affine.store %c, %s[%j] : memref<512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @turned
//       CHECK: memref.alloc() : memref<512x512xf32>
//       CHECK: math.exp
//   CHECK-NOT: math.exp
//       CHECK: return
func.func @turned(%x: memref<512x512xf32>,
                  %s: memref<512xf32> {polynest.result},
                  %o: memref<512x512xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %x[%i, %j] : memref<512x512xf32>
      %e = math.exp %a : f32
      affine.store %e, %t[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %c = arith.addf %b, %a : f32
      affine.store %c, %s[%j] : memref<512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %b = affine.load %s[%j] : memref<512xf32>
      %a = affine.load %t[%j, 511 - %i] : memref<512x512xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @products
//       CHECK: memref.alloc() : memref<512x512xf32>
//       CHECK: math.exp
//   CHECK-NOT: math.exp
//       CHECK: return
func.func @products(%x: memref<512x512xf32>, %w: memref<512x512xf32>,
                    %p: memref<512x512xf32> {polynest.result},
                    %o: memref<512x512xf32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %x[%i, %j] : memref<512x512xf32>
      %e = math.exp %a : f32
      affine.store %e, %t[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      affine.for %k = 0 to 512 {
        %a = affine.load %t[%i, %k] : memref<512x512xf32>
        %b = affine.load %w[%k, %j] : memref<512x512xf32>
        %c = arith.mulf %a, %b : f32
        %d = affine.load %p[%i, %j] : memref<512x512xf32>
        %e = arith.addf %d, %c : f32
        affine.store %e, %p[%i, %j] : memref<512x512xf32>
      }
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<512x512xf32>
      affine.store %a, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}
