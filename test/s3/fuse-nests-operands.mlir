// Properties: what is computed of the operand of a product is computed in its
// place where passes behind evaluate it once, or a few times: weights that are
// packed, as integers with a scale and a zero point (@weights), with a scale for
// each group, in dimensions that are split and joined again (@groups), along the
// columns (@along), of an integer product (@integers); that three rows read as they
// lie (@few); whose number of columns is not known (@unknown); of a convolution
// (@windows_weights); rows of few columns (@short_rows). Rows that would be copied
// for several blocks of columns, and are read where they are, keep their buffer
// (@rows), and so do functions that 16 rows would compute four times (@functions),
// windows, of which each element is read often (@windows), weights that data choose
// (@chosen), a product too small to be packed (@small), both sides of one product
// (@squares), and what is summed up without being multiplied by what its other
// loops move (@sums).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests,canonicalize))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynestc run %s --entry weights --check
// RUN: polynestc run %s --entry groups --check
// RUN: polynestc run %s --entry along --check
// RUN: polynestc run %s --entry integers --check
// RUN: polynestc run %s --entry few --check
// RUN: polynestc run %s --entry unknown --check
// RUN: polynestc run %s --entry unknown --size 1 --check
// RUN: polynestc run %s --entry unknown --size 0 --check
// RUN: polynestc run %s --entry unknown --size 77 --check
// RUN: polynestc run %s --entry windows_weights --check
// RUN: polynestc run %s --entry short_rows --check
// RUN: polynestc run %s --entry rows --check
// RUN: polynestc run %s --entry squares --check

// CHECK-LABEL: func @weights
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %{{.+}} = 0 to 65
//       CHECK:   affine.for %[[J:.+]] = 0 to 71
//       CHECK:     affine.for %[[K:.+]] = 0 to 131
//       CHECK:       %[[Q:.+]] = affine.load %{{.+}}[%[[J]], %[[K]]] : memref<71x131xi8>
//       CHECK:       %[[F:.+]] = arith.sitofp %[[Q]]
//       CHECK:       %[[Z:.+]] = affine.load %{{.+}}[%[[J]]]
//       CHECK:       %[[D:.+]] = arith.subf %[[F]], %[[Z]]
//       CHECK:       %[[S:.+]] = affine.load %{{.+}}[%[[J]]]
//       CHECK:       arith.mulf %[[D]], %[[S]]
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @weights(%x: memref<65x131xf32>, %q: memref<71x131xi8>,
                   %z: memref<71xf32>, %s: memref<71xf32>,
                   %o: memref<65x71xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<131x71xf32>
  affine.for %j = 0 to 71 {
    affine.for %k = 0 to 131 {
      %a = affine.load %q[%j, %k] : memref<71x131xi8>
      %b = arith.sitofp %a : i8 to f32
      %c = affine.load %z[%j] : memref<71xf32>
      %d = arith.subf %b, %c : f32
      %e = affine.load %s[%j] : memref<71xf32>
      %f = arith.mulf %d, %e : f32
      affine.store %f, %w[%k, %j] : memref<131x71xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 71 {
      affine.store %zero, %o[%i, %j] : memref<65x71xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %x[%i, %k] : memref<65x131xf32>
        %b = affine.load %w[%k, %j] : memref<131x71xf32>
        %c = affine.load %o[%i, %j] : memref<65x71xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x71xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @groups
//   CHECK-NOT: memref.alloc
//   CHECK-NOT: memref.collapse_shape
//       CHECK: affine.for %{{.+}} = 0 to 65
//       CHECK:   affine.for %[[J:.+]] = 0 to 71
//       CHECK:     affine.for %[[K:.+]] = 0 to 160
//       CHECK:       affine.load %{{.+}}[%[[J]], %[[K]]] : memref<71x160xi8>
//       CHECK:       affine.load %{{.+}}[%[[J]], %[[K]] floordiv 32] : memref<71x5xf32>
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @groups(%x: memref<65x160xf32>, %q: memref<71x160xi8>,
                  %s: memref<71x5xf32>, %o: memref<65x71xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<71x5x32xf32>
  affine.for %j = 0 to 71 {
    affine.for %g = 0 to 5 {
      affine.for %k = 0 to 32 {
        %a = affine.load %q[%j, %g * 32 + %k] : memref<71x160xi8>
        %b = arith.sitofp %a : i8 to f32
        %e = affine.load %s[%j, %g] : memref<71x5xf32>
        %f = arith.mulf %b, %e : f32
        affine.store %f, %w[%j, %g, %k] : memref<71x5x32xf32>
      }
    }
  }
  %v = memref.collapse_shape %w [[0], [1, 2]]
      : memref<71x5x32xf32> into memref<71x160xf32>
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 71 {
      affine.store %zero, %o[%i, %j] : memref<65x71xf32>
      affine.for %k = 0 to 160 {
        %a = affine.load %x[%i, %k] : memref<65x160xf32>
        %b = affine.load %v[%j, %k] : memref<71x160xf32>
        %c = affine.load %o[%i, %j] : memref<65x71xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x71xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @along
//   CHECK-NOT: memref.alloc
//       CHECK: arith.extf
//       CHECK: arith.subf
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @along(%x: memref<65x131xf32>, %q: memref<131x71xbf16>,
                 %o: memref<65x71xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<131x71xf32>
  affine.for %k = 0 to 131 {
    affine.for %j = 0 to 71 {
      %a = affine.load %q[%k, %j] : memref<131x71xbf16>
      %b = arith.extf %a : bf16 to f32
      affine.store %b, %w[%k, %j] : memref<131x71xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 71 {
      affine.store %zero, %o[%i, %j] : memref<65x71xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %x[%i, %k] : memref<65x131xf32>
        %b = affine.load %w[%k, %j] : memref<131x71xf32>
        %c = affine.load %o[%i, %j] : memref<65x71xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.subf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x71xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @integers
//   CHECK-NOT: memref.alloc
//       CHECK: arith.extui
//       CHECK: arith.subi
//       CHECK: arith.muli
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @integers(%x: memref<33x67xi8>, %q: memref<35x67xi8>,
                    %o: memref<33x35xi32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0 : i32
  %half = arith.constant 128 : i32
  %w = memref.alloc() : memref<35x67xi32>
  affine.for %j = 0 to 35 {
    affine.for %k = 0 to 67 {
      %a = affine.load %q[%j, %k] : memref<35x67xi8>
      %b = arith.extui %a : i8 to i32
      %c = arith.subi %b, %half : i32
      affine.store %c, %w[%j, %k] : memref<35x67xi32>
    }
  }
  affine.for %i = 0 to 33 {
    affine.for %j = 0 to 35 {
      affine.store %zero, %o[%i, %j] : memref<33x35xi32>
      affine.for %k = 0 to 67 {
        %a = affine.load %x[%i, %k] : memref<33x67xi8>
        %b = arith.extsi %a : i8 to i32
        %c = affine.load %w[%j, %k] : memref<35x67xi32>
        %d = affine.load %o[%i, %j] : memref<33x35xi32>
        %e = arith.muli %b, %c : i32
        %f = arith.addi %d, %e : i32
        affine.store %f, %o[%i, %j] : memref<33x35xi32>
      }
    }
  }
  return
}

// Twice more, 2 operations each, for 3 multiply-adds and a buffer of 1.2 MiB.
// CHECK-LABEL: func @few
//   CHECK-NOT: memref.alloc
//       CHECK: arith.sitofp
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=200
func.func @few(%x: memref<3x601xf32>, %q: memref<523x601xi8>,
               %s: memref<523xf32>, %o: memref<3x523xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<523x601xf32>
  affine.for %j = 0 to 523 {
    affine.for %k = 0 to 601 {
      %a = affine.load %q[%j, %k] : memref<523x601xi8>
      %b = arith.sitofp %a : i8 to f32
      %e = affine.load %s[%j] : memref<523xf32>
      %f = arith.mulf %b, %e : f32
      affine.store %f, %w[%j, %k] : memref<523x601xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 523 {
      affine.store %zero, %o[%i, %j] : memref<3x523xf32>
      affine.for %k = 0 to 601 {
        %a = affine.load %x[%i, %k] : memref<3x601xf32>
        %b = affine.load %w[%j, %k] : memref<523x601xf32>
        %c = affine.load %o[%i, %j] : memref<3x523xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<3x523xf32>
      }
    }
  }
  return
}

// Packed for each of 1024 / 64 blocks of rows.
// CHECK-LABEL: func @unknown
//   CHECK-NOT: memref.alloc
//       CHECK: arith.sitofp
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=1500
func.func @unknown(%x: memref<?x67xf32>, %q: memref<?x67xi8>,
                   %o: memref<?x?xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x67xf32>
  %n = memref.dim %q, %c0 : memref<?x67xi8>
  %w = memref.alloc(%n) : memref<?x67xf32>
  affine.for %j = 0 to %n {
    affine.for %k = 0 to 67 {
      %a = affine.load %q[%j, %k] : memref<?x67xi8>
      %b = arith.sitofp %a : i8 to f32
      affine.store %b, %w[%j, %k] : memref<?x67xf32>
    }
  }
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      affine.store %zero, %o[%i, %j] : memref<?x?xf32>
      affine.for %k = 0 to 67 {
        %a = affine.load %x[%i, %k] : memref<?x67xf32>
        %b = affine.load %w[%j, %k] : memref<?x67xf32>
        %c = affine.load %o[%i, %j] : memref<?x?xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<?x?xf32>
      }
    }
  }
  return
}
func.func @unknown_shapes(%m: index, %k: index, %n: index, %l: index) -> (index, index)
    attributes {polynest.shapes} {
  return %m, %n : index, index
}

// The channels of the result are contiguous: weights run in lanes.
// CHECK-LABEL: func @windows_weights
//   CHECK-NOT: memref.alloc
//       CHECK: arith.sitofp
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @windows_weights(%x: memref<10x10x16xf32>, %q: memref<3x3x16x24xi8>,
                           %o: memref<8x8x24xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<3x3x16x24xf32>
  affine.for %a = 0 to 3 {
    affine.for %b = 0 to 3 {
      affine.for %c = 0 to 16 {
        affine.for %f = 0 to 24 {
          %v = affine.load %q[%a, %b, %c, %f] : memref<3x3x16x24xi8>
          %e = arith.sitofp %v : i8 to f32
          affine.store %e, %w[%a, %b, %c, %f] : memref<3x3x16x24xf32>
        }
      }
    }
  }
  affine.for %y = 0 to 8 {
    affine.for %z = 0 to 8 {
      affine.for %f = 0 to 24 {
        affine.store %zero, %o[%y, %z, %f] : memref<8x8x24xf32>
        affine.for %a = 0 to 3 {
          affine.for %b = 0 to 3 {
            affine.for %c = 0 to 16 {
              %p = affine.load %x[%y + %a, %z + %b, %c] : memref<10x10x16xf32>
              %v = affine.load %w[%a, %b, %c, %f] : memref<3x3x16x24xf32>
              %s = affine.load %o[%y, %z, %f] : memref<8x8x24xf32>
              %d = arith.mulf %p, %v : f32
              %e = arith.addf %s, %d : f32
              affine.store %e, %o[%y, %z, %f] : memref<8x8x24xf32>
            }
          }
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @short_rows
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: reason="producer's expression put in place of loads", redundant-percent=0
func.func @short_rows(%x: memref<65x131xf32>, %w: memref<131x71xf32>,
                      %o: memref<65x71xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %t = memref.alloc() : memref<65x131xf32>
  affine.for %i = 0 to 65 {
    affine.for %k = 0 to 131 {
      %a = affine.load %x[%i, %k] : memref<65x131xf32>
      %b = arith.mulf %a, %two : f32
      affine.store %b, %t[%i, %k] : memref<65x131xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 71 {
      affine.store %zero, %o[%i, %j] : memref<65x71xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %t[%i, %k] : memref<65x131xf32>
        %b = affine.load %w[%k, %j] : memref<131x71xf32>
        %c = affine.load %o[%i, %j] : memref<65x71xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x71xf32>
      }
    }
  }
  return
}

// Three blocks of 128 columns.
// CHECK-LABEL: func @rows
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: [Missed] fuse-nests
//      REMARK: reason="too much would be computed again"
func.func @rows(%x: memref<65x131xf32>, %w: memref<131x300xf32>,
                %o: memref<65x300xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %t = memref.alloc() : memref<65x131xf32>
  affine.for %i = 0 to 65 {
    affine.for %k = 0 to 131 {
      %a = affine.load %x[%i, %k] : memref<65x131xf32>
      %b = arith.mulf %a, %two : f32
      affine.store %b, %t[%i, %k] : memref<65x131xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 300 {
      affine.store %zero, %o[%i, %j] : memref<65x300xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %t[%i, %k] : memref<65x131xf32>
        %b = affine.load %w[%k, %j] : memref<131x300xf32>
        %c = affine.load %o[%i, %j] : memref<65x300xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x300xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @functions
//       CHECK: memref.alloc
//       CHECK: math.exp
//       CHECK: affine.for %{{.+}} = 0 to 16
//   CHECK-NOT: math.exp
//       CHECK: return
//      REMARK: [Missed] fuse-nests
//      REMARK: reason="too much would be computed again"
func.func @functions(%x: memref<16x601xf32>, %q: memref<523x601xf32>,
                     %o: memref<16x523xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<523x601xf32>
  affine.for %j = 0 to 523 {
    affine.for %k = 0 to 601 {
      %a = affine.load %q[%j, %k] : memref<523x601xf32>
      %b = math.exp %a : f32
      affine.store %b, %w[%j, %k] : memref<523x601xf32>
    }
  }
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 523 {
      affine.store %zero, %o[%i, %j] : memref<16x523xf32>
      affine.for %k = 0 to 601 {
        %a = affine.load %x[%i, %k] : memref<16x601xf32>
        %b = affine.load %w[%j, %k] : memref<523x601xf32>
        %c = affine.load %o[%i, %j] : memref<16x523xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<16x523xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @windows
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="too much would be computed again"
func.func @windows(%x: memref<130xf32>, %w: memref<32x67xf32>,
                   %o: memref<32x64xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %t = memref.alloc() : memref<130xf32>
  affine.for %i = 0 to 130 {
    %a = affine.load %x[%i] : memref<130xf32>
    %b = arith.mulf %a, %two : f32
    affine.store %b, %t[%i] : memref<130xf32>
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 64 {
      affine.store %zero, %o[%i, %j] : memref<32x64xf32>
      affine.for %k = 0 to 67 {
        %a = affine.load %t[%j + %k] : memref<130xf32>
        %b = affine.load %w[%i, %k] : memref<32x67xf32>
        %c = affine.load %o[%i, %j] : memref<32x64xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<32x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @chosen
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="too much would be computed again"
func.func @chosen(%x: memref<65x131xf32>, %t: memref<500x131xf32>,
                  %p: memref<71xindex>, %o: memref<65x71xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %w = memref.alloc() : memref<71x131xf32>
  affine.for %j = 0 to 71 {
    affine.for %k = 0 to 131 {
      %r = affine.load %p[%j] : memref<71xindex>
      %a = memref.load %t[%r, %k] : memref<500x131xf32>
      %b = arith.mulf %a, %two : f32
      affine.store %b, %w[%j, %k] : memref<71x131xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 71 {
      affine.store %zero, %o[%i, %j] : memref<65x71xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %x[%i, %k] : memref<65x131xf32>
        %b = affine.load %w[%j, %k] : memref<71x131xf32>
        %c = affine.load %o[%i, %j] : memref<65x71xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x71xf32>
      }
    }
  }
  return
}

// 16 * 16 * 16 products are not packed, and each would compute the square root.
// CHECK-LABEL: func @small
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="too much would be computed again"
func.func @small(%x: memref<16x16xf32>, %q: memref<16x16xf32>,
                 %o: memref<16x16xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<16x16xf32>
  affine.for %j = 0 to 16 {
    affine.for %k = 0 to 16 {
      %a = affine.load %q[%j, %k] : memref<16x16xf32>
      %b = math.sqrt %a : f32
      affine.store %b, %w[%j, %k] : memref<16x16xf32>
    }
  }
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      affine.store %zero, %o[%i, %j] : memref<16x16xf32>
      affine.for %k = 0 to 16 {
        %a = affine.load %x[%i, %k] : memref<16x16xf32>
        %b = affine.load %w[%j, %k] : memref<16x16xf32>
        %c = affine.load %o[%i, %j] : memref<16x16xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<16x16xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @squares
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="too much would be computed again"
func.func @squares(%q: memref<65x131xi8>, %o: memref<65x65xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<65x131xf32>
  affine.for %j = 0 to 65 {
    affine.for %k = 0 to 131 {
      %a = affine.load %q[%j, %k] : memref<65x131xi8>
      %b = arith.sitofp %a : i8 to f32
      affine.store %b, %w[%j, %k] : memref<65x131xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 65 {
      affine.store %zero, %o[%i, %j] : memref<65x65xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %w[%i, %k] : memref<65x131xf32>
        %b = affine.load %w[%j, %k] : memref<65x131xf32>
        %c = affine.load %o[%i, %j] : memref<65x65xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x65xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @sums
//       CHECK: memref.alloc
//       CHECK: return
//      REMARK: reason="too much would be computed again"
func.func @sums(%x: memref<131xf32>, %q: memref<71x131xi8>,
                %o: memref<65x71xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %w = memref.alloc() : memref<71x131xf32>
  affine.for %j = 0 to 71 {
    affine.for %k = 0 to 131 {
      %a = affine.load %q[%j, %k] : memref<71x131xi8>
      %b = arith.sitofp %a : i8 to f32
      affine.store %b, %w[%j, %k] : memref<71x131xf32>
    }
  }
  affine.for %i = 0 to 65 {
    affine.for %j = 0 to 71 {
      affine.store %zero, %o[%i, %j] : memref<65x71xf32>
      affine.for %k = 0 to 131 {
        %a = affine.load %x[%k] : memref<131xf32>
        %b = affine.load %w[%j, %k] : memref<71x131xf32>
        %c = affine.load %o[%i, %j] : memref<65x71xf32>
        %d = arith.mulf %a, %b : f32
        %e = arith.addf %c, %d : f32
        affine.store %e, %o[%i, %j] : memref<65x71xf32>
      }
    }
  }
  return
}
