// Properties: a nest that takes a product apart into batch and row, head and
// column runs in the loops of the product, whose indices are quotients and
// rests (@heads); so do several, which become one before (@chain), also with an
// operand in the new order and one of a whole dimension (@operands). Columns are
// of three parts (@three); dimensions change places (@turned); how many parts
// there are is not known (@batch). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-fuse-nests))' | diff %t.once -

// CHECK-LABEL: func @heads
//       CHECK: affine.for %[[I:.+]] = 0 to 256 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[I]] floordiv 64, %[[J]] floordiv 32, %[[I]] mod 64, %[[J]] mod 32] : memref<4x3x64x32xf32>
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests{{.*}}"nest put in the loops of a product"
func.func @heads(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<4x3x64x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  affine.for %n = 0 to 4 {
    affine.for %h = 0 to 3 {
      affine.for %s = 0 to 64 {
        affine.for %d = 0 to 32 {
          %0 = affine.load %c[%n * 64 + %s, %h * 32 + %d] : memref<256x96xf32>
          affine.store %0, %r[%n, %h, %s, %d] : memref<4x3x64x32xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @chain
//       CHECK: affine.for %[[I:.+]] = 0 to 256 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: %[[T:.+]] = math.tanh %[[S:.+]] : f32
//       CHECK: %[[P:.+]] = arith.mulf %[[S]], %[[T]]
//       CHECK: affine.store %[[P]], %{{.+}}[%[[I]] floordiv 64, %[[J]] floordiv 32, %[[I]] mod 64, %[[J]] mod 32]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests{{.*}}"nest put in the loops of a product"
func.func @chain(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<4x3x64x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  %t = memref.alloc() : memref<4x3x64x32xf32>
  affine.for %n = 0 to 4 {
    affine.for %h = 0 to 3 {
      affine.for %s = 0 to 64 {
        affine.for %d = 0 to 32 {
          %0 = affine.load %c[%n * 64 + %s, %h * 32 + %d] : memref<256x96xf32>
          %1 = math.tanh %0 : f32
          affine.store %1, %t[%n, %h, %s, %d] : memref<4x3x64x32xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 4 {
    affine.for %h = 0 to 3 {
      affine.for %s = 0 to 64 {
        affine.for %d = 0 to 32 {
          %0 = affine.load %c[%n * 64 + %s, %h * 32 + %d] : memref<256x96xf32>
          %1 = affine.load %t[%n, %h, %s, %d] : memref<4x3x64x32xf32>
          %2 = arith.mulf %0, %1 : f32
          affine.store %2, %r[%n, %h, %s, %d] : memref<4x3x64x32xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @operands
// CHECK-SAME: %{{.+}}: memref<256x40xf32>, %{{.+}}: memref<40x96xf32>, %[[Y:.+]]: memref<4x3x64x32xf32>, %[[Z:.+]]: memref<96xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 256 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.load %[[Y]][%[[I]] floordiv 64, %[[J]] floordiv 32, %[[I]] mod 64, %[[J]] mod 32]
//       CHECK: affine.load %[[Z]][%[[J]]]
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[I]] floordiv 64, %[[J]] floordiv 32, %[[I]] mod 64, %[[J]] mod 32]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests{{.*}}"nest put in the loops of a product"
func.func @operands(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %y: memref<4x3x64x32xf32>, %z: memref<96xf32>, %r: memref<4x3x64x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  affine.for %n = 0 to 4 {
    affine.for %h = 0 to 3 {
      affine.for %s = 0 to 64 {
        affine.for %d = 0 to 32 {
          %0 = affine.load %c[%n * 64 + %s, %h * 32 + %d] : memref<256x96xf32>
          %1 = affine.load %y[%n, %h, %s, %d] : memref<4x3x64x32xf32>
          %2 = affine.load %z[%h * 32 + %d] : memref<96xf32>
          %3 = arith.addf %0, %1 : f32
          %4 = arith.addf %3, %2 : f32
          affine.store %4, %r[%n, %h, %s, %d] : memref<4x3x64x32xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @three
//       CHECK: affine.for %[[I:.+]] = 0 to 256 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[J]] floordiv 32, (%[[J]] floordiv 16) mod 2, %[[I]], %[[J]] mod 16]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests{{.*}}"nest put in the loops of a product"
func.func @three(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<3x2x256x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  affine.for %q = 0 to 3 {
    affine.for %h = 0 to 2 {
      affine.for %s = 0 to 256 {
        affine.for %d = 0 to 16 {
          %0 = affine.load %c[%s, %q * 32 + %h * 16 + %d] : memref<256x96xf32>
          affine.store %0, %r[%q, %h, %s, %d] : memref<3x2x256x16xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @turned
//       CHECK: affine.for %[[I:.+]] = 0 to 256 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.load %{{.+}}[%[[J]], %[[I]]]
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[J]], %[[I]]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests{{.*}}"nest put in the loops of a product"
func.func @turned(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %y: memref<96x256xf32>, %r: memref<96x256xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  affine.for %p = 0 to 96 {
    affine.for %q = 0 to 256 {
      %0 = affine.load %c[%q, %p] : memref<256x96xf32>
      %1 = affine.load %y[%p, %q] : memref<96x256xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %r[%p, %q] : memref<96x256xf32>
    }
  }
  return
}

// CHECK-LABEL: func @batch
//       CHECK: affine.for %[[I:.+]] = 0 to
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 96 {
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[I]] floordiv 64, %[[I]] mod 64, %[[J]]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests{{.*}}"nest put in the loops of a product"
func.func @batch(%a: memref<?x40xf32>, %b: memref<40x96xf32>, %r: memref<?x64x96xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %r, %c0 : memref<?x64x96xf32>
  %m = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%n]
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%m) : memref<?x96xf32>
  affine.for %i = 0 to affine_map<()[s0] -> (s0 * 64)>()[%n] {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<?x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<?x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<?x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<?x96xf32>
      }
    }
  }
  affine.for %p = 0 to %n {
    affine.for %s = 0 to 64 {
      affine.for %j = 0 to 96 {
        %0 = affine.load %c[%p * 64 + %s, %j] : memref<?x96xf32>
        affine.store %0, %r[%p, %s, %j] : memref<?x64x96xf32>
      }
    }
  }
  return
}
