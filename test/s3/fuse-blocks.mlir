// Properties: two products and the rows between them run block by block of their
// last common loop; buffers hold the rows of one block, and one takes the place of
// the other, which is done with (@attention: 96 rows of 384 bytes in blocks of 32,
// as half of 16 KiB hold fewer); not where a row is still needed (@both, @again); rows
// that blocks do not divide follow as a block of their own (@rest: 97 in three
// blocks of 32 and one of 1); a loop that is one block is merged without being
// cut (@short). Sizes may be unknown: as many whole blocks as there are run, then
// what is left (@dynamic); buffers of other sizes keep places of their own
// (@sizes). Of a convolution whose channels are its rows, blocks are of these: a loop
// over its columns is not taken (@columns). Buffers that would just fit have short
// blocks (@near). Indices are computed beside their uses (@window). Rows of whole
// KiB are a line further apart (@spread), but for elements larger than that
// (@vectors).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=1048576}))' | FileCheck %s --check-prefix=LARGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=8}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: option cache-size-kib has value 8; it must be 16 to 1048576

// LARGE-LABEL: func @attention
//       LARGE: memref.alloc() : memref<4x96x96xf32>

// CHECK-LABEL: func @attention
//  CHECK-SAME: %[[Q:.+]]: memref<4x96x16xf32>, %[[K:.+]]: memref<4x96x16xf32>, %[[V:.+]]: memref<4x96x16xf32>, %[[O:[a-z0-9]+]]:
//   CHECK-NOT: memref<4x96x96xf32>
//       CHECK: affine.for %[[B:.+]] = 0 to 4 {
//  CHECK-NEXT: affine.for %[[IB:.+]] = 0 to 3 {
//  CHECK-NEXT: %[[S:.+]] = memref.alloc() : memref<32x96xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.load %[[Q]][%[[B]], %[[IB]] * 32 + %[[I]],
//       CHECK: affine.load %[[K]][%[[B]], %[[J]],
//       CHECK: affine.store %{{.+}}, %[[S]][%[[I]], %[[J]]] : memref<32x96xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 32 {
//       CHECK: affine.load %[[S]][%[[I]], %{{.+}}] : memref<32x96xf32>
//       CHECK: affine.store %{{.+}}, %[[S]][%[[I]], %{{.+}}] : memref<32x96xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[E:.+]] = 0 to 16 {
//       CHECK: affine.load %[[S]][%[[I]], %[[J:.+]]] : memref<32x96xf32>
//       CHECK: affine.load %[[V]][%[[B]], %[[J]], %[[E]]]
//       CHECK: affine.store %{{.+}}, %[[O]][%[[B]], %[[IB]] * 32 + %[[I]], %[[E]]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-blocks
// REMARK-SAME: depth=2, nests=3, reason="nests run block by block", rows=32
//      REMARK: bytes=12288, bytes-before=147456, reason="buffer shrunk to one block"
func.func @attention(%q: memref<4x96x16xf32>, %k: memref<4x96x16xf32>,
                     %v: memref<4x96x16xf32>,
                     %o: memref<4x96x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4x96x96xf32>
  %p = memref.alloc() : memref<4x96x96xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %j = 0 to 96 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x96x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x96x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<4x96x96xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      %l = affine.for %j = 0 to 96 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%b, %i, %j] : memref<4x96x96xf32>
        %t = arith.addf %c, %x : f32
        affine.yield %t : f32
      }
      affine.for %j = 0 to 96 {
        %x = affine.load %s[%b, %i, %j] : memref<4x96x96xf32>
        %t = arith.divf %x, %l : f32
        affine.store %t, %p[%b, %i, %j] : memref<4x96x96xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 96 iter_args(%c = %zero) -> f32 {
          %x = affine.load %p[%b, %i, %j] : memref<4x96x96xf32>
          %y = affine.load %v[%b, %j, %e] : memref<4x96x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x96x16xf32>
      }
    }
  }
  return
}

// Elements of the first buffer are read after others of the second are written.
// CHECK-LABEL: func @both
//       CHECK: affine.for
//       CHECK: %[[P:.+]] = memref.alloc() : memref<32x96xf32>
//  CHECK-NEXT: %[[S:.+]] = memref.alloc() : memref<32x96xf32>
//       CHECK: affine.store %{{.+}}, %[[S]]
//       CHECK: affine.load %[[S]]
//       CHECK: affine.store %{{.+}}, %[[P]]
//       CHECK: affine.load %[[P]]
//       CHECK: return
func.func @both(%q: memref<4x96x16xf32>, %k: memref<4x96x16xf32>,
                %v: memref<4x96x16xf32>,
                %o: memref<4x96x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4x96x96xf32>
  %p = memref.alloc() : memref<4x96x96xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %j = 0 to 96 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x96x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x96x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<4x96x96xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %j = 0 to 96 {
        %x = affine.load %s[%b, %i, 95 - %j] : memref<4x96x96xf32>
        affine.store %x, %p[%b, %i, %j] : memref<4x96x96xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 96 iter_args(%c = %zero) -> f32 {
          %x = affine.load %p[%b, %i, %j] : memref<4x96x96xf32>
          %y = affine.load %v[%b, %j, %e] : memref<4x96x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x96x16xf32>
      }
    }
  }
  return
}

// A loop that no index names reads each element again.
// CHECK-LABEL: func @again
//       CHECK: affine.for
//       CHECK: %[[P:.+]] = memref.alloc() : memref<32x96xf32>
//  CHECK-NEXT: %[[S:.+]] = memref.alloc() : memref<32x96xf32>
//       CHECK: affine.store %{{.+}}, %[[S]]
//       CHECK: affine.load %[[S]]
//       CHECK: affine.store %{{.+}}, %[[P]]
//       CHECK: affine.load %[[P]]
//       CHECK: return
func.func @again(%q: memref<4x96x16xf32>, %k: memref<4x96x16xf32>,
                %v: memref<4x96x16xf32>,
                %o: memref<4x96x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4x96x96xf32>
  %p = memref.alloc() : memref<4x96x96xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %j = 0 to 96 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x96x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x96x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<4x96x96xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %t = 0 to 3 {
        affine.for %j = 0 to 96 {
          %x = affine.load %s[%b, %i, %j] : memref<4x96x96xf32>
          %y = arith.addf %x, %x : f32
          affine.store %y, %p[%b, %i, %j] : memref<4x96x96xf32>
        }
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 96 iter_args(%c = %zero) -> f32 {
          %x = affine.load %p[%b, %i, %j] : memref<4x96x96xf32>
          %y = affine.load %v[%b, %j, %e] : memref<4x96x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x96x16xf32>
      }
    }
  }
  return
}

// Three full blocks in a loop, and the rows that are left behind it.
// CHECK-LABEL: func @rest
//       CHECK: affine.for %[[IB:.+]] = 0 to 3 {
//       CHECK: affine.for %[[I:.+]] = 0 to 32 {
//       CHECK: affine.load %{{.+}}[%[[IB]] * 32 + %[[I]], %{{.+}}] : memref<97x16xf32>
//       CHECK: memref.alloc() : memref<32x97xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 1 {
//       CHECK: affine.load %{{.+}}[%[[I]] + 96, %{{.+}}] : memref<97x16xf32>
//       CHECK: affine.store %{{.+}}[%[[I]], %{{.+}}] : memref<32x97xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 1 {
//       CHECK: affine.store %{{.+}}[%[[I]] + 96, %{{.+}}] : memref<97x16xf32>
//       CHECK: return
func.func @rest(%q: memref<97x16xf32>, %k: memref<97x16xf32>,
                %v: memref<97x16xf32>,
                %o: memref<97x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<97x97xf32>
  affine.for %i = 0 to 97 {
    affine.for %j = 0 to 97 {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %q[%i, %d] : memref<97x16xf32>
        %y = affine.load %k[%j, %d] : memref<97x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<97x97xf32>
    }
  }
  affine.for %i = 0 to 97 {
    affine.for %e = 0 to 16 {
      %r = affine.for %j = 0 to 97 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%i, %j] : memref<97x97xf32>
        %y = affine.load %v[%j, %e] : memref<97x16xf32>
        %m = arith.mulf %x, %y : f32
        %t = arith.addf %c, %m : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<97x16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @short
//       CHECK: affine.for %[[B:.+]] = 0 to 16 {
//  CHECK-NEXT: %[[S:.+]] = memref.alloc() : memref<40x40xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 40 {
//       CHECK: affine.load %{{.+}}[%[[B]], %[[I]], %{{.+}}] : memref<16x40x16xf32>
//       CHECK: affine.store %{{.+}}, %[[S]][%[[I]],
//       CHECK: affine.for %[[I:.+]] = 0 to 40 {
//       CHECK: affine.load %[[S]][%[[I]],
//       CHECK: return
func.func @short(%q: memref<16x40x16xf32>, %k: memref<16x40x16xf32>,
                 %v: memref<16x40x16xf32>,
                 %o: memref<16x40x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<16x40x40xf32>
  affine.for %b = 0 to 16 {
    affine.for %i = 0 to 40 {
      affine.for %j = 0 to 40 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<16x40x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<16x40x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<16x40x40xf32>
      }
    }
  }
  affine.for %b = 0 to 16 {
    affine.for %i = 0 to 40 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 40 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<16x40x40xf32>
          %y = affine.load %v[%b, %j, %e] : memref<16x40x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<16x40x16xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//  CHECK-SAME: %[[N:.+]]: index, %[[M:.+]]: index, %[[Q:[a-z0-9]+]]: memref<?x16xf32>,
//   CHECK-NOT: memref<?x?xf32>
//       CHECK: affine.for %[[IB:.+]] = 0 to #{{.+}}()[%[[N]]] {
//  CHECK-NEXT: %[[S:.+]] = memref.alloc(%[[M]]) : memref<32x?xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to %[[M]] {
//       CHECK: affine.load %[[Q]][%[[IB]] * 32 + %[[I]],
//       CHECK: affine.store %{{.+}}, %[[S]][%[[I]], %[[J]]]
//       CHECK: affine.for %{{.+}} = 0 to 32 {
//       CHECK: %[[S:.+]] = memref.alloc(%[[M]]) : memref<32x?xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to #[[LEFT:.+]]()[%[[N]]] {
//       CHECK: affine.load %[[Q]][%[[I]] + (symbol(%[[N]]) floordiv 32) * 32,
//       CHECK: affine.store %{{.+}}, %[[S]][%[[I]],
//       CHECK: affine.for %{{.+}} = 0 to #[[LEFT]]()[%[[N]]] {
//       CHECK: return
//      REMARK: depth=1, nests=2, reason="nests run block by block", rows=32
func.func @dynamic(%n: index, %m: index, %q: memref<?x16xf32>,
                   %v: memref<?x16xf32>,
                   %o: memref<?x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc(%n, %m) : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %q[%i, %d] : memref<?x16xf32>
        %y = affine.load %v[%j, %d] : memref<?x16xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %c, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<?x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %e = 0 to 16 {
      %r = affine.for %j = 0 to %m iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%i, %j] : memref<?x?xf32>
        %y = affine.load %v[%j, %e] : memref<?x16xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %c, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<?x16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @sizes
//  CHECK-SAME: %[[N:.+]]: index, %[[M:.+]]: index, %[[L:.+]]: index,
//       CHECK: affine.for
//  CHECK-NEXT: memref.alloc(%[[L]]) : memref<32x?xf32>
//  CHECK-NEXT: memref.alloc(%[[M]]) : memref<32x?xf32>
//       CHECK: return
func.func @sizes(%n: index, %m: index, %l: index, %q: memref<?x16xf32>,
                 %v: memref<?x16xf32>,
                 %o: memref<?x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc(%n, %m) : memref<?x?xf32>
  %u = memref.alloc(%n, %l) : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %q[%i, %d] : memref<?x16xf32>
        %y = affine.load %v[%j, %d] : memref<?x16xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %c, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %s[%i, %j] : memref<?x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    %r = affine.for %j = 0 to %m iter_args(%c = %zero) -> f32 {
      %x = affine.load %s[%i, %j] : memref<?x?xf32>
      %t = arith.addf %c, %x : f32
      affine.yield %t : f32
    }
    affine.for %k = 0 to %l {
      affine.store %r, %u[%i, %k] : memref<?x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %e = 0 to 16 {
      %r = affine.for %k = 0 to %l iter_args(%c = %zero) -> f32 {
        %x = affine.load %u[%i, %k] : memref<?x?xf32>
        %y = affine.load %v[%k, %e] : memref<?x16xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %c, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %o[%i, %e] : memref<?x16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @columns
//       CHECK: affine.for %[[B:.+]] = 0 to 4 {
//  CHECK-NEXT: memref.alloc() : memref<32x8x16xf32>
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 32 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 8 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 16 {
func.func @columns(%x: memref<4x8x16xf32>, %w: memref<128x4xf32>,
                   %o: memref<128x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<128x8x16xf32>
  affine.for %c = 0 to 128 {
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 16 {
        %r = affine.for %d = 0 to 4 iter_args(%t = %zero) -> f32 {
          %a = affine.load %x[%d, %i, %j] : memref<4x8x16xf32>
          %y = affine.load %w[%c, %d] : memref<128x4xf32>
          %m = arith.mulf %a, %y : f32
          %u = arith.addf %t, %m : f32
          affine.yield %u : f32
        }
        affine.store %r, %s[%c, %i, %j] : memref<128x8x16xf32>
      }
    }
  }
  affine.for %c = 0 to 128 {
    affine.for %i = 0 to 8 {
      %r = affine.for %j = 0 to 16 iter_args(%t = %zero) -> f32 {
        %a = affine.load %s[%c, %i, %j] : memref<128x8x16xf32>
        %u = arith.addf %t, %a : f32
        affine.yield %u : f32
      }
      affine.store %r, %o[%c, %i] : memref<128x8xf32>
    }
  }
  return
}

// LARGE-LABEL: func @masked
//       LARGE: affine.for %{{.+}} = 0 to 4 {
//  LARGE-NEXT: affine.for %{{.+}} = 0 to 5 {
//  LARGE-NEXT: memref.alloc() : memref<32x160xf32>
//       LARGE: return
func.func @masked(%q: memref<4x160x16xf32>, %k: memref<4x160x16xf32>,
                  %o: memref<4x160x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<4x160x160xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 160 {
      affine.for %j = 0 to 160 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x160x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x160x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        %ahead = affine.apply affine_map<(i, j) -> (j - i)>(%i, %j)
        %n = arith.index_cast %ahead : index to i64
        %one = arith.constant 1 : i64
        %behind = arith.cmpi sge, %n, %one : i64
        %w = arith.select %behind, %hidden, %r : f32
        affine.store %w, %s[%b, %i, %j] : memref<4x160x160xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 160 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 160 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<4x160x160xf32>
          %y = affine.load %k[%b, %j, %e] : memref<4x160x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x160x16xf32>
      }
    }
  }
  return
}

// What is computed from the index of a row stands beside its use: the loops over
// rows and columns stay alone in each other.
// LARGE-LABEL: func @window
//       LARGE: memref.alloc() : memref<32x128xf32>
//  LARGE-NEXT: affine.for %[[I:.+]] = 0 to 32 {
//  LARGE-NEXT: affine.for %[[J:.+]] = 0 to 128 {
//       LARGE: %[[R:.+]] = affine.apply #{{.+}}(%{{.+}}, %[[I]])
//  LARGE-NEXT: arith.subi %[[J]], %[[R]]
//       LARGE: return
func.func @window(%q: memref<4x128x16xf32>, %k: memref<4x128x16xf32>,
                  %o: memref<4x128x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<4x128x128xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 128 {
      affine.for %j = 0 to 128 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x128x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x128x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        %ahead = arith.subi %j, %i : index
        %one = arith.constant 1 : index
        %behind = arith.cmpi sge, %ahead, %one : index
        %w = arith.select %behind, %hidden, %r : f32
        affine.store %w, %s[%b, %i, %j] : memref<4x128x128xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 128 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 128 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<4x128x128xf32>
          %y = affine.load %k[%b, %j, %e] : memref<4x128x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x128x16xf32>
      }
    }
  }
  return
}

// LARGE-LABEL: func @loaded
//       LARGE: memref.alloc() : memref<4x128x128xf32>
//       LARGE: return
func.func @loaded(%q: memref<4x128x16xf32>, %k: memref<4x128x16xf32>,
                  %mask: memref<128x128xi1>,
                  %o: memref<4x128x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<4x128x128xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 128 {
      affine.for %j = 0 to 128 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x128x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x128x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        %behind = affine.load %mask[%i, %j] : memref<128x128xi1>
        %w = arith.select %behind, %hidden, %r : f32
        affine.store %w, %s[%b, %i, %j] : memref<4x128x128xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 128 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 128 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<4x128x128xf32>
          %y = affine.load %k[%b, %j, %e] : memref<4x128x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x128x16xf32>
      }
    }
  }
  return
}

// LARGE-LABEL: func @padded
//       LARGE: memref.alloc() : memref<4x128x128xf32>
//       LARGE: return
func.func @padded(%q: memref<4x128x16xf32>, %k: memref<4x128x16xf32>,
                  %o: memref<4x128x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %s = memref.alloc() : memref<4x128x128xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 128 {
      affine.for %j = 0 to 128 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x128x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x128x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        %last = arith.constant 100 : index
        %behind = arith.cmpi sgt, %i, %last : index
        %w = arith.select %behind, %hidden, %r : f32
        affine.store %w, %s[%b, %i, %j] : memref<4x128x128xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 128 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 128 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<4x128x128xf32>
          %y = affine.load %k[%b, %j, %e] : memref<4x128x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x128x16xf32>
      }
    }
  }
  return
}

// The scores of four heads fill the cache: a quarter of it may stay as it is.
// CHECK-LABEL: func @near
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//  CHECK-NEXT: memref.alloc() : memref<32x32xf32>
//       CHECK: return
func.func @near(%q: memref<4x32x16xf32>, %v: memref<4x32x16xf32>,
                %o: memref<4x32x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4x32x32xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 32 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x32x16xf32>
          %y = affine.load %v[%b, %j, %d] : memref<4x32x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<4x32x32xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 32 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 32 iter_args(%c = %zero) -> f32 {
          %x = affine.load %s[%b, %i, %j] : memref<4x32x32xf32>
          %y = affine.load %v[%b, %j, %e] : memref<4x32x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x32x16xf32>
      }
    }
  }
  return
}

// 256 * 4 bytes are 16 lines of 64 bytes; 17 of them are 272 numbers.
// CHECK-LABEL: func @spread
//       CHECK: %[[S:.+]] = memref.alloc() : memref<32x272xf32>
//       CHECK: affine.for %[[J:.+]] = 0 to 256 {
//       CHECK: affine.store %{{.+}}, %[[S]][%{{.+}}, %[[J]]] : memref<32x272xf32>
//       CHECK: return
func.func @spread(%q: memref<4x96x16xf32>, %k: memref<4x256x16xf32>,
                  %v: memref<4x256x16xf32>,
                  %o: memref<4x96x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<4x96x256xf32>
  %p = memref.alloc() : memref<4x96x256xf32>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %j = 0 to 256 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> f32 {
          %x = affine.load %q[%b, %i, %d] : memref<4x96x16xf32>
          %y = affine.load %k[%b, %j, %d] : memref<4x256x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %s[%b, %i, %j] : memref<4x96x256xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      %l = affine.for %j = 0 to 256 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%b, %i, %j] : memref<4x96x256xf32>
        %t = arith.addf %c, %x : f32
        affine.yield %t : f32
      }
      affine.for %j = 0 to 256 {
        %x = affine.load %s[%b, %i, %j] : memref<4x96x256xf32>
        %t = arith.divf %x, %l : f32
        affine.store %t, %p[%b, %i, %j] : memref<4x96x256xf32>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 256 iter_args(%c = %zero) -> f32 {
          %x = affine.load %p[%b, %i, %j] : memref<4x96x256xf32>
          %y = affine.load %v[%b, %j, %e] : memref<4x256x16xf32>
          %m = arith.mulf %x, %y : f32
          %t = arith.addf %c, %m : f32
          affine.yield %t : f32
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x96x16xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @vectors
//       CHECK: memref.alloc() : memref<32x2xvector<512xf32>>
//       CHECK: return
!kib2 = vector<512xf32>
func.func @vectors(%q: memref<4x96x16x!kib2>, %k: memref<4x2x16x!kib2>,
                   %v: memref<4x2x16x!kib2>,
                   %o: memref<4x96x16x!kib2> {polynest.result}) {
  %zero = arith.constant dense<0.0> : !kib2
  %s = memref.alloc() : memref<4x96x2x!kib2>
  %p = memref.alloc() : memref<4x96x2x!kib2>
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %j = 0 to 2 {
        %r = affine.for %d = 0 to 16 iter_args(%c = %zero) -> !kib2 {
          %x = affine.load %q[%b, %i, %d] : memref<4x96x16x!kib2>
          %y = affine.load %k[%b, %j, %d] : memref<4x2x16x!kib2>
          %m = arith.mulf %x, %y : !kib2
          %t = arith.addf %c, %m : !kib2
          affine.yield %t : !kib2
        }
        affine.store %r, %s[%b, %i, %j] : memref<4x96x2x!kib2>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      %l = affine.for %j = 0 to 2 iter_args(%c = %zero) -> !kib2 {
        %x = affine.load %s[%b, %i, %j] : memref<4x96x2x!kib2>
        %t = arith.addf %c, %x : !kib2
        affine.yield %t : !kib2
      }
      affine.for %j = 0 to 2 {
        %x = affine.load %s[%b, %i, %j] : memref<4x96x2x!kib2>
        %t = arith.divf %x, %l : !kib2
        affine.store %t, %p[%b, %i, %j] : memref<4x96x2x!kib2>
      }
    }
  }
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 96 {
      affine.for %e = 0 to 16 {
        %r = affine.for %j = 0 to 2 iter_args(%c = %zero) -> !kib2 {
          %x = affine.load %p[%b, %i, %j] : memref<4x96x2x!kib2>
          %y = affine.load %v[%b, %j, %e] : memref<4x2x16x!kib2>
          %m = arith.mulf %x, %y : !kib2
          %t = arith.addf %c, %m : !kib2
          affine.yield %t : !kib2
        }
        affine.store %r, %o[%b, %i, %e] : memref<4x96x16x!kib2>
      }
    }
  }
  return
}
