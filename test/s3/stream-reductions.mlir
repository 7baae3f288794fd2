// Properties: a vector times a matrix reads the matrix eight rows at a time, in
// parts with sums of their own (@vecmat); the rows of a product of a few share what is
// loaded (@few_rows), more take turns that ask for what comes next (@turns), and
// where their number is not known a condition chooses (@unknown_rows); a last
// odd row and rows that do not fill a group (@rests); sums in memory with the
// reduction outermost (@columns), which stores what it sums (@stored), in the
// place of what it read too (@in_place); two reductions of one nest, of which maxima
// start from the given values (@two); one of several loops, cut at the outermost
// (@several); integers that are taken off (@difference); what follows the sums
// (@finish); sizes that are not constant, under a condition (@dynamic); columns
// of several loops (@images). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-stream-reductions))' | diff %t.once -

// Of @dynamic:
//   CHECK-DAG: #[[$PARTS:.+]] = affine_map<()[s0] -> (s0 ceildiv 256)>
//   CHECK-DAG: #[[$GROUPS:.+]] = affine_map<(d0)[s0] -> (256, d0 * -256 + (s0 floordiv 8) * 8)>
//   CHECK-DAG: #[[$FROM:.+]] = affine_map<(d0)[s0] -> (d0 * 256, (s0 floordiv 8) * 8)>
//   CHECK-DAG: #[[$TO:.+]] = affine_map<(d0)[s0] -> (d0 * 256 + 256, s0)>

// 16 rows at most.
// CHECK: #[[$FEW:.+]] = affine_set<()[s0] : (-s0 + 16 >= 0)>

// 2048 sums of 4 bytes fit half of 32 KiB: one run; 4096 rows in 16 parts.
// CHECK-LABEL: func @vecmat
//  CHECK-SAME: %[[A:.+]]: memref<4096xf32>, %[[B:.+]]: memref<4096x2048xf32>, %[[C:[a-z0-9]+]]:
//   CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<16x2048xf32>
//       CHECK: affine.for %[[P:.+]] = 0 to 16 {
//       CHECK: %[[NONE:.+]] = arith.constant -0.000000e+00
//       CHECK: affine.store %[[NONE]], %[[S]][%[[P]],
//       CHECK: affine.for %[[K:.+]] = 0 to 256 step 8 {
//       CHECK: %[[A0:.+]] = affine.load %[[A]]
//       CHECK: affine.for %[[N:.+]] = 0 to 2048 {
//   CHECK-DAG: %[[B0:.+]] = affine.load %[[B]][%{{.+}}, %[[N]]]
//   CHECK-DAG: %[[OLD:.+]] = affine.load %[[S]][%[[P]], %[[N]]]
//       CHECK: %[[F:.+]] = math.fma %[[A0]], %[[B0]], %[[OLD]]
// CHECK-COUNT-6: math.fma
//       CHECK: %[[NEW:.+]] = math.fma
//   CHECK-NOT: math.fma
//       CHECK: affine.store %[[NEW]], %[[S]][%[[P]], %[[N]]]
//       CHECK: } {polynest.streamed}
//       CHECK: affine.for %[[N2:.+]] = 0 to 2048 {
//       CHECK: %[[SUM:.+]] = affine.for %[[Q:.+]] = 0 to 16 iter_args(%[[X:.+]] = %[[ZERO]])
//       CHECK: %[[Y:.+]] = affine.load %[[S]][%[[Q]], %[[N2]]]
//       CHECK: arith.addf %[[X]], %[[Y]]
//       CHECK: affine.store %[[SUM]], %[[C]][%[[N2]]]
func.func @vecmat(%a: memref<4096xf32>, %b: memref<4096x2048xf32>,
                  %c: memref<2048xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2048 {
    %r = affine.for %k = 0 to 4096 iter_args(%s = %zero) -> f32 {
      %x = affine.load %a[%k] : memref<4096xf32>
      %y = affine.load %b[%k, %n] : memref<4096x2048xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<2048xf32>
  }
  return
}

// Runs: a quarter of 512 KiB holds 4096 columns of 8 sums; 8 runs need no parts.
// All rows use what is loaded; their sums are 257 lines apart.
// CHECK-LABEL: func @few_rows
//  CHECK-SAME: %[[A:.+]]: memref<8x128xf32>, %[[B:.+]]: memref<128x32768xf32>,
//       CHECK: affine.for %[[BLOCK:.+]] = 0 to 8 {
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<8x4112xf32>
//       CHECK: affine.for %[[K:.+]] = 0 to 128 step 8 {
// CHECK-COUNT-64: affine.load %[[A]]
//       CHECK: affine.for %[[N:.+]] = 0 to 4096 {
//   CHECK-NOT: affine.prefetch
// CHECK-COUNT-8: affine.load %[[B]]
//   CHECK-NOT: affine.load %[[B]]
// CHECK-COUNT-64: math.fma
//   CHECK-NOT: math.fma
// CHECK-COUNT-8: affine.store %{{.+}}, %[[S]]
//       CHECK: return
func.func @few_rows(%a: memref<8x128xf32>, %b: memref<128x32768xf32>,
                    %c: memref<8x32768xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 8 {
    affine.for %n = 0 to 32768 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<8x128xf32>
        %y = affine.load %b[%k, %n] : memref<128x32768xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<8x32768xf32>
    }
  }
  return
}

// 16 rows take 4 turns of 4, each of which asks for a row of the next group. Runs: a
// quarter of 512 KiB holds 2048 columns of 16 sums.
// CHECK-LABEL: func @turns
//  CHECK-SAME: %[[A:.+]]: memref<16x128xf32>, %[[B:.+]]: memref<128x32768xf32>,
//       CHECK: affine.for %[[BLOCK:.+]] = 0 to 16 {
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<16x2064xf32>
//       CHECK: affine.for %[[K:.+]] = 0 to 128 step 4 {
//       CHECK: affine.for %[[M:.+]] = 0 to 16 step 4 {
//       CHECK: affine.for %[[N:.+]] = 0 to 2048 {
//       CHECK: affine.prefetch %[[B]]
// CHECK-COUNT-4: affine.load %[[B]]
//   CHECK-NOT: affine.load %[[B]]
// CHECK-COUNT-16: math.fma
//   CHECK-NOT: math.fma
//       CHECK: return
func.func @turns(%a: memref<16x128xf32>, %b: memref<128x32768xf32>,
                 %c: memref<16x32768xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 16 {
    affine.for %n = 0 to 32768 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<16x128xf32>
        %y = affine.load %b[%k, %n] : memref<128x32768xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<16x32768xf32>
    }
  }
  return
}

// Up to 16 rows in turns of 4 and single ones; more run as they were.
// CHECK-LABEL: func @unknown_rows
//  CHECK-SAME: %[[A:.+]]: memref<?x128xf32>, %[[B:.+]]: memref<128x32768xf32>,
//       CHECK: %[[M:.+]] = memref.dim
//       CHECK: affine.if #[[$FEW]](){{\[}}%[[M]]] {
//       CHECK: memref.alloc() {{.+}} : memref<16x2064xf32>
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}(){{\[}}%[[M]]] step 4 {
// CHECK-COUNT-16: math.fma
//   CHECK-NOT: math.fma
//       CHECK: affine.for %{{.+}} = #{{.+}}(){{\[}}%[[M]]] to %[[M]] {
// CHECK-COUNT-4: math.fma
//   CHECK-NOT: math.fma
//       CHECK: } else {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to %[[M]] {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 32768 {
//       CHECK: arith.mulf
//       CHECK: } {polynest.many_rows}
//       CHECK: return
func.func @unknown_rows(%a: memref<?x128xf32>, %b: memref<128x32768xf32>,
                        %c: memref<?x32768xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = arith.constant 0 : index
  %rows = memref.dim %a, %d : memref<?x128xf32>
  affine.for %m = 0 to %rows {
    affine.for %n = 0 to 32768 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<?x128xf32>
        %y = affine.load %b[%k, %n] : memref<128x32768xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<?x32768xf32>
    }
  }
  return
}

// 11 rows: two turns of 4 and 3; 67 rows of the operand: 16 groups of 4 and 3.
// CHECK-LABEL: func @rests
//       CHECK: affine.for %{{.+}} = 0 to 64 step 4 {
//       CHECK: affine.for %{{.+}} = 0 to 8 step 4 {
// CHECK-COUNT-16: math.fma
//   CHECK-NOT: math.fma
//       CHECK: affine.store
// CHECK-COUNT-12: math.fma
//   CHECK-NOT: math.fma
//       CHECK: affine.store
//       CHECK: affine.for %{{.+}} = 0 to 8 step 4 {
// CHECK-COUNT-12: math.fma
//   CHECK-NOT: math.fma
//       CHECK: affine.store
// CHECK-COUNT-9: math.fma
//   CHECK-NOT: math.fma
//       CHECK: return
func.func @rests(%a: memref<11x67xf32>, %b: memref<67x300xf32>,
                 %c: memref<11x300xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 11 {
    affine.for %n = 0 to 300 {
      %r = affine.for %k = 0 to 67 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<11x67xf32>
        %y = affine.load %b[%k, %n] : memref<67x300xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<11x300xf32>
    }
  }
  return
}

// Values of a group are added pairwise first.
// CHECK-LABEL: func @columns
//  CHECK-SAME: %[[B:.+]]: memref<20x100xf64>, %[[C:[a-z0-9]+]]:
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<100xf64>
//       CHECK: affine.for %[[N:.+]] = 0 to 100 {
//       CHECK: %[[START:.+]] = affine.load %[[C]][%[[N]]]
//       CHECK: affine.store %[[START]], %[[S]][%[[N]]]
//       CHECK: affine.for %[[K:.+]] = 0 to 16 step 8 {
//       CHECK: affine.for %[[N2:.+]] = 0 to 100 {
// CHECK-COUNT-8: affine.load %[[B]]
//       CHECK: %[[OLD:.+]] = affine.load %[[S]]
// CHECK-COUNT-7: arith.addf
//       CHECK: arith.addf %{{.+}}, %[[OLD]]
//       CHECK: affine.for
// CHECK-COUNT-4: affine.load %[[B]]
//       CHECK: affine.for %[[N3:.+]] = 0 to 100 {
//       CHECK: affine.store %{{.+}}, %[[C]][%[[N3]]]
func.func @columns(%b: memref<20x100xf64>, %c: memref<100xf64> {polynest.result}) {
  affine.for %k = 0 to 20 {
    affine.for %n = 0 to 100 {
      %x = affine.load %b[%k, %n] : memref<20x100xf64>
      %s = affine.load %c[%n] : memref<100xf64>
      %t = arith.addf %x, %s : f64
      affine.store %t, %c[%n] : memref<100xf64>
    }
  }
  return
}

// Groups of four rows, each of which is stored before the sums are.
// CHECK-LABEL: func @stored
//  CHECK-SAME: %[[B:.+]]: memref<22x100xf64>, %[[E:[a-z0-9]+]]: memref<22x100xf64> {polynest.result}, %[[C:[a-z0-9]+]]:
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<100xf64>
//       CHECK: affine.for %[[K:.+]] = 0 to 20 step 4 {
//       CHECK: affine.for %[[N:.+]] = 0 to 100 {
//       CHECK: %[[X:.+]] = affine.load %[[B]][%[[K]], %[[N]]]
//       CHECK: %[[V:.+]] = math.exp %[[X]]
//       CHECK: affine.store %[[V]], %[[E]][%[[K]], %[[N]]]
// CHECK-COUNT-3: affine.store %{{.+}}, %[[E]]
//       CHECK: %[[OLD:.+]] = affine.load %[[S]]
// CHECK-COUNT-3: arith.addf
//       CHECK: arith.addf %{{.+}}, %[[OLD]]
//       CHECK: affine.store %{{.+}}, %[[S]]
//       CHECK: affine.for
// CHECK-COUNT-2: affine.store %{{.+}}, %[[E]]
//   CHECK-NOT: affine.store %{{.+}}, %[[E]]
//       CHECK: return
func.func @stored(%b: memref<22x100xf64>, %e: memref<22x100xf64> {polynest.result},
                  %c: memref<100xf64> {polynest.result}) {
  affine.for %k = 0 to 22 {
    affine.for %n = 0 to 100 {
      %x = affine.load %b[%k, %n] : memref<22x100xf64>
      %v = math.exp %x : f64
      affine.store %v, %e[%k, %n] : memref<22x100xf64>
      %s = affine.load %c[%n] : memref<100xf64>
      %t = arith.addf %v, %s : f64
      affine.store %t, %c[%n] : memref<100xf64>
    }
  }
  return
}

// Each row is read before it is stored.
// CHECK-LABEL: func @in_place
//       CHECK: %[[E:.+]] = memref.alloc() : memref<20x100xf64>
//       CHECK: affine.for %{{.+}} = 0 to 20 step 4 {
//       CHECK: affine.for
//       CHECK: %[[X:.+]] = affine.load %[[E]]
//       CHECK: %[[Y:.+]] = arith.mulf %[[X]], %[[X]]
//       CHECK: affine.store %[[Y]], %[[E]]
// CHECK-COUNT-3: affine.store %{{.+}}, %[[E]]
// CHECK-COUNT-3: arith.addf
//       CHECK: return
func.func @in_place(%c: memref<100xf64> {polynest.result},
                    %d: memref<20x100xf64> {polynest.result}) {
  %e = memref.alloc() : memref<20x100xf64>
  affine.for %k = 0 to 20 {
    affine.for %n = 0 to 100 {
      %x = affine.load %e[%k, %n] : memref<20x100xf64>
      %v = arith.mulf %x, %x : f64
      affine.store %v, %e[%k, %n] : memref<20x100xf64>
      %s = affine.load %c[%n] : memref<100xf64>
      %t = arith.addf %v, %s : f64
      affine.store %t, %c[%n] : memref<100xf64>
    }
  }
  return
}

// 1048576 rows of 64 bytes: 16 parts. Sums start from -0, maxima as given.
// CHECK-LABEL: func @two
//  CHECK-SAME: %[[B:.+]]: memref<1048576x16xf32>, %[[C:.+]]: memref<16xf32> {polynest.result}, %[[D:.+]]: memref<16xf32> {polynest.result}
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<16x16xf32>
//       CHECK: %[[T:.+]] = memref.alloc() {{.+}} : memref<16x16xf32>
//       CHECK: affine.for %[[P:.+]] = 0 to 16 {
//       CHECK: %[[NONE:.+]] = arith.constant -0.000000e+00
//       CHECK: %[[START:.+]] = affine.load %[[D]]
//   CHECK-DAG: affine.store %[[NONE]], %[[S]]
//   CHECK-DAG: affine.store %[[START]], %[[T]]
//       CHECK: affine.for %{{.+}} = 0 to 65536 step 8 {
// CHECK-COUNT-8: arith.maximumf
//       CHECK: iter_args(%[[X:.+]] = %{{.+}}, %[[Y:.+]] = %{{.+}})
//       CHECK: arith.addf %[[X]],
//       CHECK: arith.maximumf %[[Y]],
func.func @two(%b: memref<1048576x16xf32>, %c: memref<16xf32> {polynest.result},
               %d: memref<16xf32> {polynest.result}) {
  affine.for %k = 0 to 1048576 {
    affine.for %n = 0 to 16 {
      %x = affine.load %b[%k, %n] : memref<1048576x16xf32>
      %s = affine.load %c[%n] : memref<16xf32>
      %t = arith.addf %s, %x : f32
      affine.store %t, %c[%n] : memref<16xf32>
      %u = affine.load %d[%n] : memref<16xf32>
      %v = arith.maximumf %u, %x : f32
      affine.store %v, %d[%n] : memref<16xf32>
    }
  }
  return
}

// 512 images of 7 x 7 rows: 16 parts of 32 images; rows of an image in a group.
// CHECK-LABEL: func @several
//       CHECK: affine.for %{{.+}} = 0 to 16 {
//       CHECK: affine.for %{{.+}} = 0 to 32 {
//       CHECK: affine.for %{{.+}} = 0 to 7 {
//       CHECK: affine.for %{{.+}} = 0 to 256 {
// CHECK-COUNT-7: arith.addf
//   CHECK-NOT: arith.addf
//       CHECK: affine.store
func.func @several(%b: memref<512x7x7x256xf32>,
                   %c: memref<256xf32> {polynest.result}) {
  affine.for %i = 0 to 512 {
    affine.for %h = 0 to 7 {
      affine.for %w = 0 to 7 {
        affine.for %n = 0 to 256 {
          %x = affine.load %b[%i, %h, %w, %n] : memref<512x7x7x256xf32>
          %s = affine.load %c[%n] : memref<256xf32>
          %t = arith.addf %s, %x : f32
          affine.store %t, %c[%n] : memref<256xf32>
        }
      }
    }
  }
  return
}

// Parts start from 0 and are added.
// CHECK-LABEL: func @difference
//       CHECK: arith.constant 0 : i32
//       CHECK: arith.addi
//       CHECK: arith.subi
//       CHECK: iter_args
//       CHECK: arith.addi
func.func @difference(%b: memref<65536x64xi32>,
                      %c: memref<64xi32> {polynest.result}) {
  affine.for %k = 0 to 65536 {
    affine.for %n = 0 to 64 {
      %x = affine.load %b[%k, %n] : memref<65536x64xi32>
      %s = affine.load %c[%n] : memref<64xi32>
      %t = arith.subi %s, %x : i32
      affine.store %t, %c[%n] : memref<64xi32>
    }
  }
  return
}

// What comes before the sum is computed again behind it.
// CHECK-LABEL: func @finish
//  CHECK-SAME: %[[B:.+]]: memref<128x512xf16>, %[[BIAS:.+]]: memref<512xf32>, %[[C:[a-z0-9]+]]:
//       CHECK: affine.for %[[N:.+]] = 0 to 512 {
//       CHECK: %[[START:.+]] = affine.load %[[BIAS]][%[[N]]]
//       CHECK: affine.store %[[START]],
//       CHECK: affine.for %{{.+}} = 0 to 128 step 8 {
// CHECK-COUNT-8: arith.extf
//       CHECK: affine.for %[[N2:.+]] = 0 to 512 {
//       CHECK: %[[SUM:.+]] = affine.load
//       CHECK: %[[AGAIN:.+]] = affine.load %[[BIAS]][%[[N2]]]
//       CHECK: %[[P:.+]] = arith.mulf %[[SUM]], %[[AGAIN]]
//       CHECK: affine.store %[[P]], %[[C]][%[[N2]]]
func.func @finish(%b: memref<128x512xf16>, %bias: memref<512xf32>,
                  %c: memref<512xf32> {polynest.result}) {
  affine.for %n = 0 to 512 {
    %v = affine.load %bias[%n] : memref<512xf32>
    %r = affine.for %k = 0 to 128 iter_args(%s = %v) -> f32 {
      %y = affine.load %b[%k, %n] : memref<128x512xf16>
      %w = arith.extf %y : f16 to f32
      %t = arith.addf %s, %w : f32
      affine.yield %t : f32
    }
    %q = arith.mulf %r, %v : f32
    affine.store %q, %c[%n] : memref<512xf32>
  }
  return
}

// Parts of 256 rows, as many as there are. What does not fill a group belongs
// to the last one, and begins where groups end.
// CHECK-LABEL: func @dynamic
//  CHECK-SAME: %[[K:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
//       CHECK: affine.if
//       CHECK: %[[P:.+]] = affine.apply #[[$PARTS]]()[%[[K]]]
//       CHECK: memref.alloc(%[[P]], %[[N]]) {{.+}} : memref<?x?xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to #[[$PARTS]]()[%[[K]]] {
//       CHECK: affine.for %{{.+}} = 0 to min #[[$GROUPS]](%[[I]])[%[[K]]] step 8 {
//       CHECK: affine.for %{{.+}} = max #[[$FROM]](%[[I]])[%[[K]]] to min #[[$TO]](%[[I]])[%[[K]]] {
//       CHECK: return
#some = affine_set<()[s0] : (s0 - 1 >= 0)>
func.func @dynamic(%a: memref<?xf32>, %b: memref<?x?xf32>,
                   %c: memref<?xf32> {polynest.result}, %kk: index, %nn: index) {
  affine.for %n = 0 to %nn {
    affine.if #some()[%kk] {
      %v = affine.load %c[%n] : memref<?xf32>
      %r = affine.for %k = 0 to %kk iter_args(%s = %v) -> f32 {
        %x = affine.load %a[%k] : memref<?xf32>
        %y = affine.load %b[%k, %n] : memref<?x?xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%n] : memref<?xf32>
    }
  }
  return
}

// Columns that lie in several loops make up a run: 14 of 14 x 20.
// CHECK-LABEL: func @images
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: memref.alloc() {{.+}} : memref<14x20xf32>
//       CHECK: affine.for %{{.+}} = 0 to 96 step 8 {
//       CHECK: affine.for %{{.+}} = 0 to 14 {
//       CHECK: affine.for %{{.+}} = 0 to 20 {
//       CHECK: return
func.func @images(%b: memref<64x96x14x20xf32>,
                  %c: memref<64x14x20xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %h = 0 to 14 {
      affine.for %w = 0 to 20 {
        %r = affine.for %k = 0 to 96 iter_args(%s = %zero) -> f32 {
          %x = affine.load %b[%i, %k, %h, %w] : memref<64x96x14x20xf32>
          %t = arith.addf %s, %x : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%i, %h, %w] : memref<64x14x20xf32>
      }
    }
  }
  return
}
