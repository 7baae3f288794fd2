// Properties: fusions that would be wrong are refused. In place updates are not
// run again (@b069), inputs that the consumer (@b070) or a nest between
// (@between) overwrites are not read late, an initialization does not run once a
// column (@b071), a fill does not move past the copy that overwrites part of it
// (@b072), a read of all
// lanes waits for all lanes (@b073), calls may write (@b074), a scaling in place
// follows the copy it scales (@b075); a contraction keeps its loops (@rows), a
// producer that would be computed again is not (@again), a store between whose
// value is needed keeps its place (@order), rows that do not fit the cache stay
// apart (@large), where they are read backwards too (@backwards), arguments that may overlap are left (@overlap), and what
// constants decide stays apart (@bound) unless it is more than they are (@grows). The padding of a
// convolution stays whole where the weights of a group are more than a quarter of
// its image (@wide), or bound once (@packed). Parts of one row, which a merged loop
// would write in turn, stay apart (@turns), and so do rows of which one is needed
// before the other is written (@overlapping_rows). What many cores compute stays out
// of a sum that none share (@serial), and functions out of one whose parallel loops
// stand inside (@functions).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @b069
//       CHECK: affine.for %{{.+}} = 0 to 6
//       CHECK:   arith.mulf
//   CHECK-NOT:   affine.load
//       CHECK: affine.for %{{.+}} = 0 to 3
//   CHECK-NOT:   arith.mulf
//       CHECK: return
//      REMARK: [Missed] fuse-nests
//      REMARK: reason="outermost loops differ"
func.func @b069(%d: memref<3xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant 10.0 : f32
  %two = arith.constant 2.0 : f32
  %p = memref.alloc() : memref<6xf32>
  affine.for %i = 0 to 6 {
    affine.store %two, %p[%i] : memref<6xf32>
  }
  affine.for %i = 0 to 6 {
    %a = affine.load %p[%i] : memref<6xf32>
    %b = arith.mulf %a, %c : f32
    affine.store %b, %p[%i] : memref<6xf32>
  }
  affine.for %i = 0 to 3 {
    %a = affine.load %p[%i] : memref<6xf32>
    affine.store %a, %d[%i] : memref<3xf32>
  }
  return
}

// CHECK-LABEL: func @b070
//       CHECK: affine.for
//       CHECK:   affine.load %[[A:.+]][0]
//       CHECK: affine.for
//       CHECK:   affine.store %{{.+}}, %[[A]]
//       CHECK: return
//      REMARK: an input of the producer is overwritten
//      REMARK: an element is not touched in the same iteration of both
func.func @b070(%a: memref<4xf32> {polynest.mutable}, %c: memref<4xf32>)
    attributes {polynest.entry} {
  %s = memref.alloc() : memref<4xf32>
  affine.for %p = 0 to 4 {
    %x = affine.load %a[0] : memref<4xf32>
    %y = affine.load %c[%p] : memref<4xf32>
    %z = arith.addf %x, %y : f32
    affine.store %z, %s[%p] : memref<4xf32>
  }
  affine.for %p = 0 to 4 {
    %x = affine.load %s[%p] : memref<4xf32>
    affine.store %x, %a[%p] : memref<4xf32>
  }
  return
}

// Merged at i alone the order is kept.
// CHECK-LABEL: func @b071
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//       CHECK:   affine.store %{{.+}}[%[[I]], 0]
//       CHECK:   affine.store %{{.+}}[%[[I]], 1]
//       CHECK:   affine.for
//       CHECK:     affine.for
//       CHECK: return
func.func @b071(%x: memref<3x2x5xf32>, %o: memref<3x2xf32> {polynest.result})
    attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 3 {
    affine.store %z, %o[%i, 0] : memref<3x2xf32>
    affine.store %z, %o[%i, 1] : memref<3x2xf32>
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 2 {
      affine.for %k = 0 to 5 {
        %a = affine.load %x[%i, %j, %k] : memref<3x2x5xf32>
        %b = affine.load %o[%i, %j] : memref<3x2xf32>
        %c = arith.addf %a, %b : f32
        affine.store %c, %o[%i, %j] : memref<3x2xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @b072
//       CHECK: affine.for
//       CHECK:   affine.store
//       CHECK: memref.copy
//       CHECK: affine.for
//       CHECK:   affine.load
//       CHECK: return
func.func @b072(%f: memref<4xf32>, %o: memref<6xf32> {polynest.result})
    attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %b = memref.alloc() : memref<6xf32>
  affine.for %i = 0 to 6 {
    affine.store %z, %b[%i] : memref<6xf32>
  }
  %v = memref.subview %b[1] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1], offset: 1>>
  memref.copy %f, %v : memref<4xf32> to memref<4xf32, strided<[1], offset: 1>>
  affine.for %i = 0 to 6 {
    %x = affine.load %b[%i] : memref<6xf32>
    %y = arith.addf %x, %one : f32
    affine.store %y, %o[%i] : memref<6xf32>
  }
  return
}

// CHECK-LABEL: func @b073
//       CHECK: affine.for
//       CHECK:   affine.vector_store
//       CHECK: affine.for
//       CHECK:   affine.vector_load
//       CHECK: return
func.func @b073(%x: memref<8xf32>, %o: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %c = memref.alloc() : memref<8xf32>
  affine.for %j = 0 to 4 {
    %a = affine.vector_load %x[2 * %j] : memref<8xf32>, vector<2xf32>
    affine.vector_store %a, %c[2 * %j] : memref<8xf32>, vector<2xf32>
  }
  affine.for %j = 0 to 4 {
    %a = affine.vector_load %c[0] : memref<8xf32>, vector<8xf32>
    affine.vector_store %a, %o[%j, 0] : memref<4x8xf32>, vector<8xf32>
  }
  return
}

func.func private @f(memref<10xf32>)

// CHECK-LABEL: func @b074
//       CHECK: affine.for
//       CHECK:   func.call @f
//       CHECK: affine.for
//       CHECK: return
//      REMARK: an operation may touch any memory
func.func @b074(%o: memref<10xf32>) {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<10xf32>
  affine.for %i = 0 to 10 {
    affine.store %one, %a[%i] : memref<10xf32>
    func.call @f(%a) : (memref<10xf32>) -> ()
  }
  affine.for %i = 0 to 10 {
    %x = affine.load %a[%i] : memref<10xf32>
    affine.store %x, %o[%i] : memref<10xf32>
  }
  return
}

// CHECK-LABEL: func @b075
//       CHECK: arith.mulf
//   CHECK-NOT: arith.mulf
//       CHECK: return
func.func @b075(%x: memref<4x6xf32>, %o: memref<6x4xf32> {polynest.result})
    attributes {polynest.entry} {
  %c = arith.constant 3.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 6 {
      %a = affine.load %x[%i, %j] : memref<4x6xf32>
      affine.store %a, %o[%j, %i] : memref<6x4xf32>
    }
  }
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %a = affine.load %o[%i, %j] : memref<6x4xf32>
      %b = arith.mulf %a, %c : f32
      affine.store %b, %o[%i, %j] : memref<6x4xf32>
    }
  }
  return
}

// CHECK-LABEL: func @rows
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: affine.for %{{.+}} = 0 to 7
//       CHECK:   affine.for %{{.+}} = 0 to 5
//       CHECK: return
//      REMARK: a contraction keeps its loops
func.func @rows(%a: memref<7x9xf32>, %b: memref<9x5xf32>,
                %t: memref<7x5xf32> {polynest.result},
                %o: memref<7xf32> {polynest.result}) attributes {polynest.entry} {
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
      %y = affine.load %o[%i] : memref<7xf32>
      %s = arith.addf %x, %y : f32
      affine.store %s, %o[%i] : memref<7xf32>
    }
  }
  return
}

// 3 * 40 evaluations instead of 40.
// CHECK-LABEL: func @again
//       CHECK: affine.for
//       CHECK:   math.exp
//       CHECK: affine.for
//   CHECK-NOT:   math.exp
//       CHECK: return
//      REMARK: too much would be computed again
func.func @again(%x: memref<40xf32>, %o: memref<3x40xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<40xf32>
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    %b = math.exp %a : f32
    affine.store %b, %t[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 40 {
      %a = affine.load %t[%j] : memref<40xf32>
      affine.store %a, %o[%i, %j] : memref<3x40xf32>
    }
  }
  return
}

// CHECK-LABEL: func @order
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 41
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: return
//      REMARK: a nest in between depends on both
func.func @order(%x: memref<40xf32>, %o: memref<40xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<40xf32>
  %u = memref.alloc() : memref<41xf32>
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    %b = math.exp %a : f32
    affine.store %b, %t[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 41 {
    %a = affine.load %t[0] : memref<40xf32>
    %b = math.exp %a : f32
    affine.store %b, %u[%i] : memref<41xf32>
  }
  affine.for %i = 0 to 40 {
    %a = affine.load %t[%i] : memref<40xf32>
    %b = affine.load %u[%i + 1] : memref<41xf32>
    %c = arith.addf %a, %b : f32
    %d = affine.load %u[%i] : memref<41xf32>
    %e = arith.addf %c, %d : f32
    affine.store %e, %o[%i] : memref<40xf32>
  }
  return
}

// A row takes 2 * 4 MiB.
// CHECK-LABEL: func @large
//       CHECK: affine.for %{{.+}} = 0 to 64
//       CHECK: affine.for %{{.+}} = 0 to 64
//       CHECK: return
//      REMARK: the data of one merged iteration do not fit the cache
func.func @large(%x: memref<64x1048576xf32>, %s: memref<64xf32> {polynest.result},
                 %o: memref<64x1048576xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 1048576 {
      %a = affine.load %x[%i, %j] : memref<64x1048576xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 1048576 {
      %a = affine.load %x[%i, %j] : memref<64x1048576xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<64x1048576xf32>
    }
  }
  return
}

// CHECK-LABEL: func @backwards
//       CHECK: affine.for %{{.+}} = 0 to 64
//       CHECK: affine.for %{{.+}} = 0 to 64
//       CHECK: return
//      REMARK: the data of one merged iteration do not fit the cache
func.func @backwards(%x: memref<64x100000xf32>, %g: memref<64xf32>,
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
      %a = affine.load %t[%i, 99999 - %j] : memref<64x100000xf32>
      affine.store %a, %o[%i, %j] : memref<64x100000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @overlap
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
//      REMARK: different memrefs may share storage
func.func @overlap(%x: memref<40xf32> {polynest.mutable}, %y: memref<40xf32>,
                   %o: memref<40xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 40 {
    %a = affine.load %y[39 - %i] : memref<40xf32>
    affine.store %a, %x[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    %b = affine.load %y[%i] : memref<40xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %o[%i] : memref<40xf32>
  }
  return
}

// A nest in between overwrites what the producer reads.
// CHECK-LABEL: func @between
//       CHECK: %[[T:.+]] = memref.alloc() : memref<8xf32>
//       CHECK: affine.store %{{.+}}, %[[T]]
//       CHECK: affine.store
//       CHECK: affine.load %[[T]]
//       CHECK: return
//      REMARK: an input of the producer is overwritten
func.func @between(%m: memref<8xf32> {polynest.mutable},
                   %r: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %x = affine.load %m[7 - %i] : memref<8xf32>
    affine.store %x, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    affine.store %z, %m[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %x = affine.load %t[%j] : memref<8xf32>
      affine.store %x, %r[%i, %j] : memref<4x8xf32>
    }
  }
  return
}

// What constants alone decide runs once, when they are bound; unless the constant
// is not one, or more is written than read (@grows).
// CHECK-LABEL: func @bound
//       CHECK: %[[T:.+]] = memref.alloc() : memref<8xf32>
//       CHECK: affine.store %{{.+}}, %[[T]]
//       CHECK: affine.load %[[T]]
//       CHECK: return
//      REMARK: one of the two runs once, when constants are bound
func.func @bound(%c: memref<8xf32> {polynest.constant}, %x: memref<4x8xf32>,
                 %r: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %j = 0 to 8 {
    %a = affine.load %c[%j] : memref<8xf32>
    %b = math.sqrt %a : f32
    affine.store %b, %t[%j] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%j] : memref<8xf32>
      %b = affine.load %x[%i, %j] : memref<4x8xf32>
      %d = arith.mulf %a, %b : f32
      affine.store %d, %r[%i, %j] : memref<4x8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @grows
//   CHECK-NOT: memref.alloc() : memref<4x8xf32>
//       CHECK: return
func.func @grows(%c: memref<8xf32> {polynest.constant}, %x: memref<4x8xf32>,
                 %r: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<4x8xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %a = affine.load %c[%j] : memref<8xf32>
      %b = arith.negf %a : f32
      affine.store %b, %t[%i, %j] : memref<4x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%i, %j] : memref<4x8xf32>
      %b = affine.load %x[%i, %j] : memref<4x8xf32>
      %d = arith.mulf %a, %b : f32
      affine.store %d, %r[%i, %j] : memref<4x8xf32>
    }
  }
  return
}

// 16 x 16 x 3 x 3 weights are 9216 bytes, a padded image 20736.
// CHECK-LABEL: func @wide
//       CHECK: memref.alloc() : memref<2x64x16x18x18xf32>
//       CHECK: return
func.func @wide(%x: memref<2x64x16x16x16xf32>, %w: memref<64x16x16x3x3xf32>,
                 %r: memref<2x64x16x16x16xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x64x16x18x18xf32>
  affine.for %n = 0 to 2 {
    affine.for %g = 0 to 64 {
      affine.for %c = 0 to 16 {
        affine.for %h = 0 to 18 {
          affine.for %v = 0 to 18 {
            affine.store %zero, %p[%n, %g, %c, %h, %v] : memref<2x64x16x18x18xf32>
          }
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %g = 0 to 64 {
      affine.for %c = 0 to 16 {
        affine.for %h = 0 to 16 {
          affine.for %v = 0 to 16 {
            %0 = affine.load %x[%n, %g, %c, %h, %v] : memref<2x64x16x16x16xf32>
            affine.store %0, %p[%n, %g, %c, %h + 1, %v + 1] : memref<2x64x16x18x18xf32>
          }
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %g = 0 to 64 {
      affine.for %f = 0 to 16 {
        affine.for %h = 0 to 16 {
          affine.for %v = 0 to 16 {
            affine.store %zero, %r[%n, %g, %f, %h, %v] : memref<2x64x16x16x16xf32>
            affine.for %c = 0 to 16 {
              affine.for %s = 0 to 3 {
                affine.for %t = 0 to 3 {
                  %0 = affine.load %p[%n, %g, %c, %h + %s, %v + %t] : memref<2x64x16x18x18xf32>
                  %1 = affine.load %w[%g, %f, %c, %s, %t] : memref<64x16x16x3x3xf32>
                  %2 = affine.load %r[%n, %g, %f, %h, %v] : memref<2x64x16x16x16xf32>
                  %3 = arith.mulf %0, %1 : f32
                  %4 = arith.addf %2, %3 : f32
                  affine.store %4, %r[%n, %g, %f, %h, %v] : memref<2x64x16x16x16xf32>
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

// CHECK-LABEL: func @packed
//       CHECK: memref.alloc() : memref<2x64x8x18x18xf32>
//       CHECK: return
func.func @packed(%x: memref<2x64x8x16x16xf32>, %w: memref<64x8x8x3x3xf32> {polynest.constant},
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

// CHECK-LABEL: func @turns
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK: return
//      REMARK: parts of a result are written one after the other
func.func @turns(%a: memref<64xf32>, %b: memref<64xf32>, %r: memref<128xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    %v = affine.load %a[%i] : memref<64xf32>
    affine.store %v, %r[%i] : memref<128xf32>
  }
  affine.for %i = 0 to 64 {
    %v = affine.load %b[%i] : memref<64xf32>
    affine.store %v, %r[%i + 64] : memref<128xf32>
  }
  return
}

// Row i + 1 of the first nest is overwritten by the second one's row i.
// CHECK-LABEL: func @overlapping_rows
//       CHECK: affine.for
//       CHECK:   affine.for
//       CHECK:     affine.load %[[A:.+]][
//       CHECK: affine.for
//       CHECK:   affine.for
//       CHECK: return
//      REMARK: an element is not touched in the same iteration of both
func.func @overlapping_rows(%a: memref<8x4xf32>, %b: memref<8x4xf32>, %r: memref<9x4xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %v = affine.load %a[%i, %j] : memref<8x4xf32>
      affine.store %v, %r[%i, %j] : memref<9x4xf32>
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %v = affine.load %b[%i, %j] : memref<8x4xf32>
      affine.store %v, %r[%i + 1, %j] : memref<9x4xf32>
    }
  }
  return
}

// Windows that move by five elements do not run in vectors: what follows them
// does, behind a row of sums.
// CHECK-LABEL: func @far
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: affine.for %[[J:.+]] = 0 to 40
//       CHECK: affine.for %[[U:.+]] = 0 to 3
//       CHECK: affine.load %{{.+}}[%{{.+}}, %[[J]] * 5 + %[[U]]]
//       CHECK: affine.for %[[J:.+]] = 0 to 40
//       CHECK: return
func.func @far(%x: memref<8x200xf32>, %w: memref<3xf32>,
                   %g: memref<40xf32>, %r: memref<8x40xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8x40xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 40 {
      affine.store %zero, %t[%i, %j] : memref<8x40xf32>
      affine.for %u = 0 to 3 {
        %a = affine.load %x[%i, %j * 5 + %u] : memref<8x200xf32>
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

// CHECK-LABEL: func @serial
//       CHECK: affine.store
//   CHECK-NOT: arith.addf
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: arith.addf
//       CHECK: return
//      REMARK: [Missed] fuse-nests
//      REMARK: reason="too few parallel iterations would be left"
func.func @serial(%x: memref<8x64x12544xf32>, %t: memref<8x64x12544xf32> {polynest.result}, %s: memref<1xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %n = 0 to 8 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 12544 {
        %a = affine.load %x[%n, %c, %i] : memref<8x64x12544xf32>
        %m = arith.mulf %a, %a : f32
        affine.store %m, %t[%n, %c, %i] : memref<8x64x12544xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 12544 {
        %a = affine.load %t[%n, %c, %i] : memref<8x64x12544xf32>
        %b = affine.load %s[0] : memref<1xf32>
        %d = arith.addf %b, %a : f32
        affine.store %d, %s[0] : memref<1xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @functions
//       CHECK: affine.store
//   CHECK-NOT: arith.addf
//       CHECK: affine.for %{{.+}} = 0 to 8
//       CHECK: arith.addf
//       CHECK: return
//      REMARK: [Missed] fuse-nests
//      REMARK: reason="too few parallel iterations would be left"
func.func @functions(%x: memref<8x64x12544xf32>, %t: memref<8x64x12544xf32> {polynest.result}, %s: memref<64xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %n = 0 to 8 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 12544 {
        %a = affine.load %x[%n, %c, %i] : memref<8x64x12544xf32>
        %m = math.exp %a : f32
        affine.store %m, %t[%n, %c, %i] : memref<8x64x12544xf32>
      }
    }
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
