// Properties: rows that read only padding in a block of the reduction are left out
// of it: a table holds those that stay, and where their sums lie, tile by tile of
// rows until there are no more. Sums that fill up the last tile go to a row that
// nobody reads. Columns that are not finite keep all rows (@padded): the sum of
// their products with zero is not zero then. Integers need none (@whole_numbers).
// Nothing is left out where columns change between calls (@unbound), where padding
// is no zero (@ones), where rows are read run by run (@narrow), of large images
// (@large), and if it is asked for. Where a block holds all taps of a row of the
// window, those at its ends are multiplied (@rows).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{skip-padding=false}))' | FileCheck %s --check-prefix=ALL

// Of 3 taps each way, 6, 7 and 6 of 7 rows read the image: 1 - (19 / 21)^2.
//      REMARK: reason="taps of padding are left out", share=1.81405
// CHECK-LABEL: func @padded
//       CHECK: %[[IMAGE:.+]] = memref.alloc() : memref<9x9x256xf32>
//       CHECK: %[[ROWS:.+]] = memref.collapse_shape %[[IMAGE]]
//       CHECK: %[[W:.+]] = memref.alloc() {{.*}}polynest.packed
//       CHECK: %[[SUM:.+]] = memref.alloc() {{.*}}: memref<1xf32>
//       CHECK: affine.store %{{.+}}, %[[SUM]][0]
//       CHECK: vector.fma %{{.+}}, %[[ZERO:.+]], %{{.+}}
//       CHECK: affine.store %{{.+}}, %[[SUM]][0]
// 49 rows in 9 tiles of 6, and the one that nobody reads.
//       CHECK: %[[S:.+]] = memref.alloc() {{.*}}: memref<55x{{.+}}xf32>
//       CHECK: %[[FROM:.+]] = memref.alloc() {{.*}}: memref<60xindex>
//       CHECK: %[[TO:.+]] = memref.alloc() {{.*}}: memref<60xindex>
//       CHECK: %[[HELD:.+]] = affine.load %[[SUM]][0]
//       CHECK: %[[KEEPS:.+]] = arith.cmpf une, %[[HELD]]
//       CHECK: %[[COUNT:.+]]:2 = affine.for %{{.+}} = 0 to 7 iter_args(
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 7 iter_args(%[[N:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
//       CHECK: memref.store %[[ADDRESS:.+]], %[[FROM]][%[[N]]]
//  CHECK-NEXT: memref.store %{{.+}}, %[[TO]][%[[N]]]
//       CHECK: %[[IN0:.+]] = arith.cmpi ule
//       CHECK: %[[IN1:.+]] = arith.cmpi ule
//       CHECK: %[[IN:.+]] = arith.andi %[[IN0]], %[[IN1]]
//       CHECK: arith.ori %[[IN]], %[[KEEPS]]
//       CHECK: affine.for %{{.+}} = 0 to 5 {
//       CHECK: memref.store %[[COUNT]]#1, %[[FROM]]
//       CHECK: memref.store %c54, %[[TO]]
//       CHECK: affine.for %[[ROW:.+]] = 0 to 49 step 6 {
//       CHECK: %[[MORE:.+]] = arith.cmpi ult, %[[ROW]], %[[COUNT]]#0
//  CHECK-NEXT: scf.if %[[MORE]] {
//       CHECK: %[[PLACE:.+]] = affine.load %[[TO]][%[[ROW]]]
//       CHECK: vector.load %[[S]][%[[PLACE]], %{{.+}}]
//       CHECK: vector.store %{{.+}}, %[[S]][%[[PLACE]], %{{.+}}]
//   ALL-LABEL: func @padded
//     ALL-NOT: scf.if
//         ALL: return
func.func @padded(%x: memref<7x7x256xf32>,
               %w: memref<3x3x256x48xf32> {polynest.constant},
               %r: memref<7x7x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<9x9x256xf32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 9 {
      affine.for %c = 0 to 256 {
        affine.store %zero, %p[%i, %j, %c] : memref<9x9x256xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %c = 0 to 256 {
        %d = affine.load %x[%i, %j, %c] : memref<7x7x256xf32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<9x9x256xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 256 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<9x9x256xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x256x48xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<7x7x48xf32>
      }
    }
  }
  return
}

//      REMARK: taps of padding are left out
// CHECK-LABEL: func @whole_numbers
//   CHECK-NOT: memref<1xi32>
//       CHECK: arith.andi
//   CHECK-NOT: arith.ori
//       CHECK: scf.if
func.func @whole_numbers(%x: memref<7x7x256xi32>,
               %w: memref<3x3x256x48xi32>,
               %r: memref<7x7x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  %p = memref.alloc() : memref<9x9x256xi32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 9 {
      affine.for %c = 0 to 256 {
        affine.store %zero, %p[%i, %j, %c] : memref<9x9x256xi32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %c = 0 to 256 {
        %d = affine.load %x[%i, %j, %c] : memref<7x7x256xi32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<9x9x256xi32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> i32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> i32 {
            %2 = affine.for %c = 0 to 256 iter_args(%s2 = %s1) -> i32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<9x9x256xi32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x256x48xi32>
              %m = arith.muli %d, %f : i32
              %a = arith.addi %s2, %m : i32
              affine.yield %a : i32
            }
            affine.yield %2 : i32
          }
          affine.yield %1 : i32
        }
        affine.store %0, %r[%i, %j, %o] : memref<7x7x48xi32>
      }
    }
  }
  return
}

//      REMARK: Missed{{.*}}taps of padding are multiplied: columns are not bound and packed once, and may not be finite
// CHECK-LABEL: func @unbound
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @unbound(%x: memref<7x7x256xf32>,
               %w: memref<3x3x256x48xf32>,
               %r: memref<7x7x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<9x9x256xf32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 9 {
      affine.for %c = 0 to 256 {
        affine.store %zero, %p[%i, %j, %c] : memref<9x9x256xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %c = 0 to 256 {
        %d = affine.load %x[%i, %j, %c] : memref<7x7x256xf32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<9x9x256xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 256 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<9x9x256xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x256x48xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<7x7x48xf32>
      }
    }
  }
  return
}

//  REMARK-NOT: taps
// CHECK-LABEL: func @ones
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @ones(%x: memref<7x7x256xf32>,
               %w: memref<3x3x256x48xf32> {polynest.constant},
               %r: memref<7x7x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %p = memref.alloc() : memref<9x9x256xf32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 9 {
      affine.for %c = 0 to 256 {
        affine.store %one, %p[%i, %j, %c] : memref<9x9x256xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %c = 0 to 256 {
        %d = affine.load %x[%i, %j, %c] : memref<7x7x256xf32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<9x9x256xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 256 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<9x9x256xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x256x48xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<7x7x48xf32>
      }
    }
  }
  return
}

//      REMARK: Missed{{.*}}taps of padding are multiplied: rows are not contiguous along a block of the reduction
// CHECK-LABEL: func @narrow
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @narrow(%x: memref<7x7x16xf32>,
               %w: memref<3x3x16x48xf32> {polynest.constant},
               %r: memref<7x7x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<9x9x16xf32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 9 {
      affine.for %c = 0 to 16 {
        affine.store %zero, %p[%i, %j, %c] : memref<9x9x16xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %c = 0 to 16 {
        %d = affine.load %x[%i, %j, %c] : memref<7x7x16xf32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<9x9x16xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 16 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<9x9x16xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x16x48xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<7x7x48xf32>
      }
    }
  }
  return
}

// A block holds the 3 taps of a row of the window, 3 * 64 elements: 1 - 19 / 21.
//      REMARK: reason="taps of padding are left out", share=9.5238
// CHECK-LABEL: func @rows
//       CHECK: %[[IN:.+]] = arith.cmpi ule
//  CHECK-NEXT: arith.ori %[[IN]]
//       CHECK: scf.if
func.func @rows(%x: memref<7x7x64xf32>,
               %w: memref<3x3x64x48xf32> {polynest.constant},
               %r: memref<7x7x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<9x9x64xf32>
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 9 {
      affine.for %c = 0 to 64 {
        affine.store %zero, %p[%i, %j, %c] : memref<9x9x64xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %c = 0 to 64 {
        %d = affine.load %x[%i, %j, %c] : memref<7x7x64xf32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<9x9x64xf32>
      }
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 7 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 64 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<9x9x64xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x64x48xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<7x7x48xf32>
      }
    }
  }
  return
}

//  REMARK-NOT: taps
// CHECK-LABEL: func @large
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @large(%x: memref<40x40x256xf32>,
               %w: memref<3x3x256x48xf32> {polynest.constant},
               %r: memref<40x40x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<42x42x256xf32>
  affine.for %i = 0 to 42 {
    affine.for %j = 0 to 42 {
      affine.for %c = 0 to 256 {
        affine.store %zero, %p[%i, %j, %c] : memref<42x42x256xf32>
      }
    }
  }
  affine.for %i = 0 to 40 {
    affine.for %j = 0 to 40 {
      affine.for %c = 0 to 256 {
        %d = affine.load %x[%i, %j, %c] : memref<40x40x256xf32>
        affine.store %d, %p[%i + 1, %j + 1, %c] : memref<42x42x256xf32>
      }
    }
  }
  affine.for %i = 0 to 40 {
    affine.for %j = 0 to 40 {
      affine.for %o = 0 to 48 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %c = 0 to 256 iter_args(%s2 = %s1) -> f32 {
              %d = affine.load %p[%i + %u, %j + %v, %c] : memref<42x42x256xf32>
              %f = affine.load %w[%u, %v, %c, %o] : memref<3x3x256x48xf32>
              %m = arith.mulf %d, %f : f32
              %a = arith.addf %s2, %m : f32
              affine.yield %a : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %r[%i, %j, %o] : memref<40x40x48xf32>
      }
    }
  }
  return
}
