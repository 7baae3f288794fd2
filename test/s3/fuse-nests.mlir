// Properties: a chain of equal loops becomes one nest and its buffers go
// (@chain); a fill goes in front of the reduction loop it initializes (@init),
// an element-wise consumer behind it (@epilogue); nests of rows merge at the
// row loop, inner loops that line up merge again, and the buffer of a row moves
// to the stack (@rows); two reductions of one input run together (@siblings); a
// transposing copy becomes an access (@transposed); a producer with two readers
// is computed once (@diamond); unit loops do not hinder (@unit); nests in
// between step aside (@between); nests inside scf.for merge too (@region);
// the padding of a convolution in small groups is that of one group (@groups);
// parts of a result's rows are written one after the other in one nest (@parts);
// rows of a producer and a consumer that do not fit the cache together merge where
// each element is read in step (@steps);
// what follows a window that moves by a few elements stands behind each sum
// (@strided); rows that data choose from a large table go with what is done to them
// (@chosen); a few operations join a sum whose parallel loop stands inside of
// one that reduces (@inside), and functions one that combines rows in lanes (@rows_of_functions);
// what reads a nest's buffer takes the nest in before one that reads the same does,
// which the other reader would have to wait for (@turns, @waiting).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests,canonicalize))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests,polynest-fuse-nests,canonicalize))' | FileCheck %s

// CHECK-LABEL: func @chain
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to 33
//       CHECK:   affine.for %[[J:.+]] = 0 to 17
//       CHECK:     %[[X:.+]] = affine.load %{{.+}}[%[[I]], %[[J]]]
//       CHECK:     %[[E:.+]] = math.exp %[[X]]
//   CHECK-NOT:     affine.load
//       CHECK:     %[[S:.+]] = arith.addf %[[E]], %[[X]]
//       CHECK:     affine.store %[[S]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-nests
// REMARK-SAME: depth=2,
// REMARK-SAME: reason="nests fused"
func.func @chain(%x: memref<33x17xf32>, %o: memref<33x17xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<33x17xf32>
  affine.for %i = 0 to 33 {
    affine.for %j = 0 to 17 {
      %a = affine.load %x[%i, %j] : memref<33x17xf32>
      %b = math.exp %a : f32
      affine.store %b, %t[%i, %j] : memref<33x17xf32>
    }
  }
  affine.for %i = 0 to 33 {
    affine.for %j = 0 to 17 {
      %a = affine.load %t[%i, %j] : memref<33x17xf32>
      %b = affine.load %x[%i, %j] : memref<33x17xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<33x17xf32>
    }
  }
  return
}

// CHECK-LABEL: func @init
//       CHECK: affine.for %[[I:.+]] = 0 to 7
//       CHECK:   affine.for %[[J:.+]] = 0 to 5
//       CHECK:     affine.store %{{.+}}[%[[I]], %[[J]]]
//       CHECK:     affine.for %{{.+}} = 0 to 9
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @init(%a: memref<7x9xf32>, %b: memref<9x5xf32>,
                %o: memref<7x5xf32> {polynest.result}) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      affine.store %z, %o[%i, %j] : memref<7x5xf32>
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      affine.for %k = 0 to 9 {
        %x = affine.load %a[%i, %k] : memref<7x9xf32>
        %y = affine.load %b[%k, %j] : memref<9x5xf32>
        %c = affine.load %o[%i, %j] : memref<7x5xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %o[%i, %j] : memref<7x5xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @epilogue
//       CHECK: affine.for %[[I:.+]] = 0 to 7
//       CHECK:   affine.for %[[J:.+]] = 0 to 5
//       CHECK:     affine.store
//       CHECK:     affine.for %{{.+}} = 0 to 9
//       CHECK:     }
//       CHECK:     affine.load %{{.+}}[%[[J]]]
//       CHECK:     arith.maximumf
//       CHECK:     affine.store %{{.+}}[%[[I]], %[[J]]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @epilogue(%a: memref<7x9xf32>, %b: memref<9x5xf32>, %bias: memref<5xf32>,
                    %o: memref<7x5xf32> {polynest.result}) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<7x5xf32>
  %u = memref.alloc() : memref<7x5xf32>
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      affine.store %z, %t[%i, %j] : memref<7x5xf32>
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      affine.for %k = 0 to 9 {
        %x = affine.load %a[%i, %k] : memref<7x9xf32>
        %y = affine.load %b[%k, %j] : memref<9x5xf32>
        %c = affine.load %t[%i, %j] : memref<7x5xf32>
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %t[%i, %j] : memref<7x5xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      %x = affine.load %t[%i, %j] : memref<7x5xf32>
      %y = affine.load %bias[%j] : memref<5xf32>
      %s = arith.addf %x, %y : f32
      affine.store %s, %u[%i, %j] : memref<7x5xf32>
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 5 {
      %x = affine.load %u[%i, %j] : memref<7x5xf32>
      %s = arith.maximumf %x, %z : f32
      affine.store %s, %o[%i, %j] : memref<7x5xf32>
    }
  }
  return
}

// A softmax without the maximum: sum of exp, then division.
// CHECK-LABEL: func @rows
//   CHECK-NOT: memref.alloc()
//       CHECK: affine.for %[[I:.+]] = 0 to 64
//   CHECK-DAG:   memref.alloca() {{.*}} : memref<f32>
//   CHECK-DAG:   %[[ROW:.+]] = memref.alloca() {{.*}} : memref<100xf32>
//       CHECK:   affine.for %[[J:.+]] = 0 to 100
//       CHECK:     %[[E:.+]] = math.exp
//       CHECK:     affine.store %[[E]], %[[ROW]][%[[J]]]
//       CHECK:     arith.addf
//       CHECK:   affine.for
//       CHECK:     arith.divf
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: bytes=400, bytes-before=25600, on-stack=true, reason="buffer shrunk"
func.func @rows(%x: memref<64x100xf32>, %o: memref<64x100xf32> {polynest.result})
    attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() {alignment = 64 : i64} : memref<64x100xf32>
  %s = memref.alloc() {alignment = 64 : i64} : memref<64xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %x[%i, %j] : memref<64x100xf32>
      %b = math.exp %a : f32
      affine.store %b, %t[%i, %j] : memref<64x100xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.store %z, %s[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %t[%i, %j] : memref<64x100xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %t[%i, %j] : memref<64x100xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<64x100xf32>
    }
  }
  return
}

// CHECK-LABEL: func @siblings
//       CHECK: affine.for
//       CHECK:   affine.for
//       CHECK:     affine.load
//       CHECK:     arith.maximumf
//       CHECK:     arith.addf
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @siblings(%x: memref<64x100xf32>, %m: memref<64xf32> {polynest.result},
                    %s: memref<64xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %x[%i, %j] : memref<64x100xf32>
      %b = affine.load %m[%i] : memref<64xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %x[%i, %j] : memref<64x100xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @transposed
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to 12
//       CHECK:   affine.for %[[J:.+]] = 0 to 19
//       CHECK:     affine.load %{{.+}}[%[[J]], %[[I]]] : memref<19x12xf32>
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @transposed(%x: memref<19x12xf32>, %y: memref<12x19xf32>,
                      %o: memref<12x19xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<12x19xf32>
  affine.for %i = 0 to 19 {
    affine.for %j = 0 to 12 {
      %a = affine.load %x[%i, %j] : memref<19x12xf32>
      affine.store %a, %t[%j, %i] : memref<12x19xf32>
    }
  }
  affine.for %i = 0 to 12 {
    affine.for %j = 0 to 19 {
      %a = affine.load %t[%i, %j] : memref<12x19xf32>
      %b = affine.load %y[%i, %j] : memref<12x19xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<12x19xf32>
    }
  }
  return
}

// CHECK-LABEL: func @diamond
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for
//       CHECK:   math.tanh
//   CHECK-NOT:   math.tanh
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @diamond(%x: memref<40xf32>, %o: memref<40xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<40xf32>
  %u = memref.alloc() : memref<40xf32>
  %v = memref.alloc() : memref<40xf32>
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    %b = math.tanh %a : f32
    affine.store %b, %t[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 40 {
    %a = affine.load %t[%i] : memref<40xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %u[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 40 {
    %a = affine.load %t[%i] : memref<40xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %v[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 40 {
    %a = affine.load %u[%i] : memref<40xf32>
    %b = affine.load %v[%i] : memref<40xf32>
    %c = arith.subf %a, %b : f32
    affine.store %c, %o[%i] : memref<40xf32>
  }
  return
}

// CHECK-LABEL: func @unit
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %{{.+}} = 0 to 128
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @unit(%x: memref<1x128x1xf32>, %o: memref<128xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<128xf32>
  affine.for %i = 0 to 1 {
    affine.for %j = 0 to 128 {
      affine.for %k = 0 to 1 {
        %a = affine.load %x[%i, %j, %k] : memref<1x128x1xf32>
        %b = arith.addf %a, %a : f32
        affine.store %b, %t[%j] : memref<128xf32>
      }
    }
  }
  affine.for %j = 0 to 128 {
    %a = affine.load %t[%j] : memref<128xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %o[%j] : memref<128xf32>
  }
  return
}

// The nest that fills %p must come before the consumer, the one that reads %t
// may stay behind it.
// CHECK-LABEL: func @between
//       CHECK: affine.for %{{.+}} = 0 to 50
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK:   arith.mulf
//       CHECK:   arith.subf
//       CHECK: affine.for %{{.+}} = 0 to 41
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @between(%x: memref<40xf32>, %p: memref<50xf32> {polynest.result},
                   %o: memref<40xf32> {polynest.result},
                   %q: memref<41xf32> {polynest.result}, %n: index)
    attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<40xf32>
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %t[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 50 {
    affine.store %z, %p[%i] : memref<50xf32>
  }
  affine.for %i = 0 to 41 {
    %a = affine.load %t[0] : memref<40xf32>
    affine.store %a, %q[%i] : memref<41xf32>
  }
  affine.for %i = 0 to 40 {
    %a = affine.load %t[%i] : memref<40xf32>
    %b = affine.load %p[%i + 10] : memref<50xf32>
    %c = arith.subf %a, %b : f32
    affine.store %c, %o[%i] : memref<40xf32>
  }
  return
}

// CHECK-LABEL: func @region
//       CHECK: scf.for
//       CHECK:   affine.for
//       CHECK:     math.exp
//       CHECK:     arith.negf
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @region(%x: memref<40xf32> {polynest.mutable},
                  %o: memref<40xf32> {polynest.result}, %n: index)
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<40xf32>
  scf.for %k = %c0 to %n step %c1 {
    affine.for %i = 0 to 40 {
      %a = affine.load %x[%i] : memref<40xf32>
      %b = math.exp %a : f32
      affine.store %b, %t[%i] : memref<40xf32>
    }
    affine.for %i = 0 to 40 {
      %a = affine.load %t[%i] : memref<40xf32>
      %b = arith.negf %a : f32
      affine.store %b, %o[%i] : memref<40xf32>
    }
  }
  return
}

// Of a group 8 x 8 x 3 x 3 weights are 2304 bytes, beside a padded
// image of 10368.
// CHECK-LABEL: func @groups
//       CHECK: affine.for %{{.+}} = 0 to 2 {
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//       CHECK:     memref.alloca(){{.*}} : memref<8x18x18xf32>
//       CHECK:     affine.for %{{.+}} = 0 to 8 {
//       CHECK:       affine.for %{{.+}} = 0 to 18 {
//       CHECK:       affine.for %{{.+}} = 0 to 16 {
//       CHECK:     affine.for %{{.+}} = 0 to 8 {
//       CHECK:       arith.mulf
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @groups(%x: memref<2x64x8x16x16xf32>, %w: memref<64x8x8x3x3xf32>,
                 %r: memref<2x64x8x16x16xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x64x8x18x18xf32>
  affine.for %n = 0 to 2 {
    affine.for %g = 0 to 64 {
      affine.for %c = 0 to 8 {
        affine.for %h = 0 to 18 {
          affine.for %v = 0 to 18 {
            affine.store %zero, %p[%n, %g, %c, %h, %v] : memref<2x64x8x18x18xf32>
          }
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %g = 0 to 64 {
      affine.for %c = 0 to 8 {
        affine.for %h = 0 to 16 {
          affine.for %v = 0 to 16 {
            %0 = affine.load %x[%n, %g, %c, %h, %v] : memref<2x64x8x16x16xf32>
            affine.store %0, %p[%n, %g, %c, %h + 1, %v + 1] : memref<2x64x8x18x18xf32>
          }
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %g = 0 to 64 {
      affine.for %f = 0 to 8 {
        affine.for %h = 0 to 16 {
          affine.for %v = 0 to 16 {
            affine.store %zero, %r[%n, %g, %f, %h, %v] : memref<2x64x8x16x16xf32>
            affine.for %c = 0 to 8 {
              affine.for %s = 0 to 3 {
                affine.for %t = 0 to 3 {
                  %0 = affine.load %p[%n, %g, %c, %h + %s, %v + %t] : memref<2x64x8x18x18xf32>
                  %1 = affine.load %w[%g, %f, %c, %s, %t] : memref<64x8x8x3x3xf32>
                  %2 = affine.load %r[%n, %g, %f, %h, %v] : memref<2x64x8x16x16xf32>
                  %3 = arith.mulf %0, %1 : f32
                  %4 = arith.addf %2, %3 : f32
                  affine.store %4, %r[%n, %g, %f, %h, %v] : memref<2x64x8x16x16xf32>
                }
              }
            }
          }
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @parts
//  CHECK-SAME: (%[[A:.+]]: memref<32x100xf32>, %[[B:.+]]: memref<32x28xf32>, %[[R:.+]]: memref<32x128xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 32
//       CHECK:   affine.for %[[J:.+]] = 0 to 100
//       CHECK:     affine.load %[[A]][%[[I]], %[[J]]]
//       CHECK:     affine.store %{{.+}}, %[[R]][%[[I]], %[[J]]]
//       CHECK:   affine.for %[[K:.+]] = 0 to 28
//       CHECK:     affine.load %[[B]][%[[I]], %[[K]]]
//       CHECK:     affine.store %{{.+}}, %[[R]][%[[I]], %[[K]] + 100]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @parts(%a: memref<32x100xf32>, %b: memref<32x28xf32>, %r: memref<32x128xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 100 {
      %v = affine.load %a[%i, %j] : memref<32x100xf32>
      affine.store %v, %r[%i, %j] : memref<32x128xf32>
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 28 {
      %v = affine.load %b[%i, %j] : memref<32x28xf32>
      affine.store %v, %r[%i, %j + 100] : memref<32x128xf32>
    }
  }
  return
}

// CHECK-LABEL: func @strided
//       CHECK: affine.for %[[I:.+]] = 0 to 8
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 40
//       CHECK: affine.for %[[U:.+]] = 0 to 3
//       CHECK: affine.load %{{.+}}[%[[I]], %[[J]] * 4 + %[[U]]]
//       CHECK: }
//   CHECK-NOT: affine.for
//       CHECK: affine.store %{{.+}}[%[[I]], %[[J]]] : memref<8x40xf32>
//       CHECK: return
func.func @strided(%x: memref<8x160xf32>, %w: memref<3xf32>,
                   %g: memref<40xf32>, %r: memref<8x40xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x40xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 40 {
      affine.store %zero, %t[%i, %j] : memref<8x40xf32>
      affine.for %u = 0 to 3 {
        %a = affine.load %x[%i, %j * 4 + %u] : memref<8x160xf32>
        %b = affine.load %w[%u] : memref<3xf32>
        %s = affine.load %t[%i, %j] : memref<8x40xf32>
        %m = arith.mulf %a, %b : f32
        %n = arith.addf %s, %m : f32
        affine.store %n, %t[%i, %j] : memref<8x40xf32>
      }
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 40 {
      %a = affine.load %t[%i, %j] : memref<8x40xf32>
      %b = affine.load %g[%j] : memref<40xf32>
      %m = arith.mulf %a, %b : f32
      affine.store %m, %r[%i, %j] : memref<8x40xf32>
    }
  }
  return
}

// CHECK-LABEL: func @inside
//       CHECK: affine.for %{{.+}} = 0 to 8
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 64
//       CHECK: arith.mulf
//   CHECK-NOT: affine.for
//       CHECK: arith.addf
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @inside(%x: memref<8x64x12544xf32>,
                  %t: memref<8x64x12544xf32> {polynest.result},
                  %s: memref<64xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 8 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 12544 {
        %a = affine.load %x[%n, %c, %i] : memref<8x64x12544xf32>
        %m = arith.mulf %a, %a : f32
        affine.store %m, %t[%n, %c, %i] : memref<8x64x12544xf32>
      }
    }
  }
  affine.for %c = 0 to 64 {
    affine.store %zero, %s[%c] : memref<64xf32>
  }
  affine.for %n = 0 to 8 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 12544 {
        %a = affine.load %t[%n, %c, %i] : memref<8x64x12544xf32>
        %b = affine.load %s[%c] : memref<64xf32>
        %d = arith.addf %b, %a : f32
        affine.store %d, %s[%c] : memref<64xf32>
      }
    }
  }
  return
}

// polynest-stream-reductions has all cores add up parts of the columns.
// CHECK-LABEL: func @rows_of_functions
//       CHECK: affine.for %{{.+}} = 0 to 4096
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 512
//       CHECK: %[[E:.+]] = math.exp
//       CHECK: affine.store %[[E]]
//   CHECK-NOT: affine.for
//       CHECK: arith.addf %{{.+}}, %[[E]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @rows_of_functions(%x: memref<4096x512xf32>,
                             %t: memref<4096x512xf32> {polynest.result},
                             %s: memref<512xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 512 {
      %a = affine.load %x[%i, %j] : memref<4096x512xf32>
      %m = math.exp %a : f32
      affine.store %m, %t[%i, %j] : memref<4096x512xf32>
    }
  }
  affine.for %j = 0 to 512 {
    affine.store %zero, %s[%j] : memref<512xf32>
  }
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 512 {
      %a = affine.load %t[%i, %j] : memref<4096x512xf32>
      %b = affine.load %s[%j] : memref<512xf32>
      %d = arith.addf %b, %a : f32
      affine.store %d, %s[%j] : memref<512xf32>
    }
  }
  return
}

// Rows of 400 KB: two for the producer, three for both.
// CHECK-LABEL: func @steps
//       CHECK: affine.for %{{.+}} = 0 to 64
//       CHECK:   math.sqrt
//       CHECK:   affine.for %{{.+}} = 0 to 100000
//       CHECK:     arith.mulf
//   CHECK-NOT:   affine.for
//       CHECK:     arith.addf
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @steps(%x: memref<64x100000xf32>, %g: memref<64xf32>,
                 %o: memref<64x100000xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<64x100000xf32>
  affine.for %i = 0 to 64 {
    %a = affine.load %g[%i] : memref<64xf32>
    %b = math.sqrt %a : f32
    affine.for %j = 0 to 100000 {
      %c = affine.load %x[%i, %j] : memref<64x100000xf32>
      %d = arith.mulf %c, %b : f32
      affine.store %d, %t[%i, %j] : memref<64x100000xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100000 {
      %a = affine.load %t[%i, %j] : memref<64x100000xf32>
      %b = affine.load %x[%i, %j] : memref<64x100000xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<64x100000xf32>
    }
  }
  return
}

// A row of 64 elements and its sum, not the table, are what one iteration touches.
// CHECK-LABEL: func @chosen
//   CHECK-NOT: memref.alloc()
//       CHECK: affine.for %{{.+}} = 0 to 500
//       CHECK:   memref.load
//       CHECK:   arith.addf
//   CHECK-NOT: affine.for %{{.+}} = 0 to 500
//       CHECK: return
func.func @chosen(%t: memref<100000x64xf32>, %i: memref<500xi64>,
                  %s: memref<500xf32> {polynest.result},
                  %o: memref<500x64xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %rows = memref.alloc() : memref<500x64xf32>
  affine.for %r = 0 to 500 {
    affine.for %c = 0 to 64 {
      %n = affine.load %i[%r] : memref<500xi64>
      %row = arith.index_cast %n : i64 to index
      %v = memref.load %t[%row, %c] : memref<100000x64xf32>
      affine.store %v, %rows[%r, %c] : memref<500x64xf32>
    }
  }
  affine.for %r = 0 to 500 {
    affine.store %zero, %s[%r] : memref<500xf32>
  }
  affine.for %r = 0 to 500 {
    affine.for %c = 0 to 64 {
      %v = affine.load %rows[%r, %c] : memref<500x64xf32>
      %a = affine.load %s[%r] : memref<500xf32>
      %b = arith.addf %a, %v : f32
      affine.store %b, %s[%r] : memref<500xf32>
    }
  }
  affine.for %r = 0 to 500 {
    affine.for %c = 0 to 64 {
      %v = affine.load %rows[%r, %c] : memref<500x64xf32>
      %a = affine.load %s[%r] : memref<500xf32>
      %b = arith.divf %v, %a : f32
      affine.store %b, %o[%r, %c] : memref<500x64xf32>
    }
  }
  return
}

// Put together because both read x, the two differences would have to wait for
// the sum, and fill a buffer each.
// CHECK-LABEL: func @turns
//   CHECK-NOT: memref.alloc() : memref<512x512xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 512
//       CHECK:   affine.for %[[J:.+]] = 0 to 512
//       CHECK:     %[[X:.+]] = affine.load %[[IN:.+]][%[[I]], %[[J]]] : memref<512x512xf32>
//       CHECK:     %[[D:.+]] = arith.subf %[[X]], %{{.+}}
//       CHECK:     %[[Q:.+]] = arith.mulf %[[D]], %[[D]]
//       CHECK:     arith.addf %{{.+}}, %[[Q]]
//       CHECK: math.sqrt
//       CHECK: affine.for %[[K:.+]] = 0 to 512
//       CHECK:   affine.for %[[L:.+]] = 0 to 512
//       CHECK:     %[[Y:.+]] = affine.load %[[IN]][%[[K]], %[[L]]] : memref<512x512xf32>
//       CHECK:     %[[E:.+]] = arith.subf %[[Y]], %{{.+}}
//       CHECK:     %[[R:.+]] = arith.divf %[[E]], %{{.+}}
//       CHECK:     affine.store %[[R]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @turns(%x: memref<512x512xf32>, %m: memref<f32>, %n: memref<f32>,
                 %o: memref<512x512xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<512x512xf32>
  %b = memref.alloc() : memref<512x512xf32>
  %s = memref.alloc() : memref<f32>
  %r = memref.alloc() : memref<f32>
  affine.store %zero, %s[] : memref<f32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %v = affine.load %x[%i, %j] : memref<512x512xf32>
      %mean = affine.load %m[] : memref<f32>
      %d = arith.subf %v, %mean : f32
      affine.store %d, %a[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %v = affine.load %x[%i, %j] : memref<512x512xf32>
      %mean = affine.load %n[] : memref<f32>
      %d = arith.subf %v, %mean : f32
      affine.store %d, %b[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %d = affine.load %b[%i, %j] : memref<512x512xf32>
      %q = arith.mulf %d, %d : f32
      %sum = affine.load %s[] : memref<f32>
      %new = arith.addf %sum, %q : f32
      affine.store %new, %s[] : memref<f32>
    }
  }
  %sum = affine.load %s[] : memref<f32>
  %root = math.sqrt %sum : f32
  affine.store %root, %r[] : memref<f32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %d = affine.load %a[%i, %j] : memref<512x512xf32>
      %root2 = affine.load %r[] : memref<f32>
      %q = arith.divf %d, %root2 : f32
      affine.store %q, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}

// Rows are summed in the nest that computes them either way; the quotients need
// all sums, and would wait for them with the differences in a buffer.
// CHECK-LABEL: func @waiting
//   CHECK-NOT: memref.alloc() : memref<512x512xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 512
//       CHECK:   affine.for %[[J:.+]] = 0 to 512
//       CHECK:     %[[X:.+]] = affine.load %[[IN:.+]][%[[I]], %[[J]]] : memref<512x512xf32>
//       CHECK:     %[[D:.+]] = math.exp %[[X]]
//       CHECK:     arith.addf %{{.+}}, %[[D]]
//       CHECK: affine.for %[[K:.+]] = 0 to 512
//       CHECK:   affine.for %[[L:.+]] = 0 to 512
//       CHECK:     %[[Y:.+]] = affine.load %[[IN]][%[[K]], %[[L]]] : memref<512x512xf32>
//       CHECK:     %[[E:.+]] = arith.addf %[[Y]], %[[Y]]
//       CHECK:     %[[R:.+]] = arith.divf %[[E]], %{{.+}}
//       CHECK:     affine.store %[[R]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @waiting(%x: memref<512x512xf32>, %s: memref<512xf32> {polynest.result},
                   %o: memref<512x512xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<512x512xf32>
  %b = memref.alloc() : memref<512x512xf32>
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %v = affine.load %x[%i, %j] : memref<512x512xf32>
      %d = arith.addf %v, %v : f32
      affine.store %d, %a[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %v = affine.load %x[%i, %j] : memref<512x512xf32>
      %d = math.exp %v : f32
      affine.store %d, %b[%i, %j] : memref<512x512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.store %zero, %s[%i] : memref<512xf32>
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %d = affine.load %b[%i, %j] : memref<512x512xf32>
      %sum = affine.load %s[%i] : memref<512xf32>
      %new = arith.addf %sum, %d : f32
      affine.store %new, %s[%i] : memref<512xf32>
    }
  }
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %d = affine.load %a[%i, %j] : memref<512x512xf32>
      %sum = affine.load %s[%j] : memref<512xf32>
      %q = arith.divf %d, %sum : f32
      affine.store %q, %o[%i, %j] : memref<512x512xf32>
    }
  }
  return
}
