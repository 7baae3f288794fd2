// Properties: a matrix product is cut in blocks with a private buffer of sums,
// the columns packed before, the rows read where they are, and a micro-kernel
// that fills the registers (@matmul, for 16 registers of 8 lanes and 32 of 16); rows
// past the end are the last one again (@edge); rows at uneven distances stay where
// they are (@windows); constant operands are laid out once (@constant_rows,
// @constant_columns); a short reduction needs no buffer for sums but that of a
// tile, which the code behind the sums follows (@short); a condition that stands still
// ends up around all (@guarded); what starts the sums and what
// follows them runs over the block (@bias); a convolution packs windows of one
// block only (@convolution); a row count that is not constant (@dynamic),
// of which a last tile of few rows has a micro-kernel of its own; rows of two loops
// of unknown sizes are rows of one (@merged), unless an index is stored (@stored) or a
// buffer may be longer than its loop (@apart), where no more of a pack is cleared than
// is read;
// operands are evaluated while they are packed (@cast); a difference negates
// the columns (@difference); columns that lie along the reduction are turned in
// registers (@transposed), also where an integer is taken off (@transposed_off);
// columns that loops around the nest do not move are packed in front of these, as
// long as iterations are left outside for all cores (@around), nothing there writes
// them (@around_written), and what they read is there even if the loops do not run
// (@around_maybe, not @around_absent); what is bound once is packed in front of
// branches, too (@bound_in_branch), unless a loop moves it (@bound_moves). A second run
// changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' > %t.once
// RUN: FileCheck %s --check-prefixes=CHECK,AVX2 < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=512 vector-registers=32 l1-size-kib=48 l2-size-kib=1024}))' | FileCheck %s --check-prefixes=CHECK,AVX512

// With AVX2 6 rows of 2 vectors of 8. Depth: 7/8 of 32 KiB hold 28672 / (4 * (16
// + 2 * 6)) = 256 rows of both panels; 512 in 2 parts. With AVX-512 6 rows of
// 4 vectors of 16: 43008 / (4 * (64 + 2 * 6)) = 141; 512 in 4 parts: 128.
// CHECK-LABEL: func @matmul
//  CHECK-SAME: %[[X:.+]]: memref<768x512xf32>, %[[Y:.+]]: memref<512x1024xf32>, %[[Z:[a-z0-9]+]]:
//       CHECK: %[[ROWS:.+]] = memref.collapse_shape %[[X]] {{\[\[}}0, 1]]
//
// The columns, once: blocks of panels, each as deep as the matrix, and one row
// more, so that panels do not lie in one set of the caches. A row of the source at a
// time, where a panel takes more than a line of it.
//        AVX2: %[[B:.+]] = memref.alloc() {{.+}} : memref<[[BLOCKS:[0-9]+]]x[[PANELS:[0-9]+]]x513x16xf32>
//      AVX512: %[[B:.+]] = memref.alloc() {{.+}} : memref<[[BLOCKS:[0-9]+]]x[[PANELS:[0-9]+]]x513x64xf32>
//       CHECK: affine.for %[[FEW:.+]] = 0 to 512 step 8 {
// AVX512-NEXT: affine.for %[[K:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.for %[[JB:.+]] = 0 to [[BLOCKS]] {
//       CHECK: affine.for %[[P:.+]] = 0 to {{.+}} {
//        AVX2: affine.for %[[K:.+]] = 0 to 8 {
//       CHECK: affine.for %[[L:.+]] = 0 to {{16|64}} {
//       CHECK: %[[V:.+]] = affine.load %[[Y]][%[[FEW]] + %[[K]], %[[JB]]
//       CHECK: affine.store %[[V]], %[[B]][%[[JB]], %[[P]], %[[FEW]] + %[[K]], %[[L]]]
//
// Blocks of the result.
//       CHECK: affine.for %[[JB:.+]] = 0 to [[BLOCKS]] {
//       CHECK: affine.for %[[IB:.+]] = 0 to
//       CHECK: %[[S:.+]] = memref.alloc()
//       CHECK: %[[TILE:.+]] = memref.alloc() {{.+}} : memref<{{6x16|6x64}}xf32>
//   CHECK-NOT: affine.store
//        AVX2: affine.for %[[KB:.+]] = 0 to 2 {
//      AVX512: affine.for %[[KB:.+]] = 0 to 4 {
//
// The micro-kernel.
//        AVX2: affine.for %[[J:.+]] = 0 to {{.*}} step 16
//      AVX512: affine.for %[[J:.+]] = 0 to {{.*}} step 64
//       CHECK: affine.for %[[I:.+]] = 0 to {{.*}} step 6
//       CHECK: %[[START:.+]] = vector.broadcast %cst
//        AVX2: %[[SUM:.+]]:12 = affine.for %[[K:.+]] = 0 to {{.*}} step 4 iter_args(%{{.+}} = %[[START]], {{.*}}vector<8xf32>
//      AVX512: %[[SUM:.+]]:24 = affine.for %[[K:.+]] = 0 to {{.*}} step 4 iter_args(%{{.+}} = %[[START]], {{.*}}vector<16xf32>
//        AVX2: affine.vector_load %[[B]][%[[JB]], %[[J]] floordiv 16, %[[KB]] * 256 + %[[K]], 0]
//      AVX512: affine.vector_load %[[B]][%[[JB]], %[[J]] floordiv 64, %[[KB]] * 128 + %[[K]], 0]
//       CHECK: %[[A:.+]] = memref.load %[[ROWS]]
//       CHECK: %[[AA:.+]] = vector.broadcast %[[A]]
//       CHECK: vector.fma %[[AA]]
//       CHECK: } {polynest.tiled_registers, polynest.vectorized}
// What earlier blocks of the reduction have left.
//       CHECK: %[[ALL:.+]]:{{12|24}} = affine.if #{{.+}}(%[[KB]])
//  CHECK-NEXT: affine.yield %[[SUM]]#0,
//  CHECK-NEXT: } else {
//  CHECK-NEXT: %[[HELD:.+]] = affine.vector_load %[[S]][%[[I]], %[[J]]]
//  CHECK-NEXT: arith.addf %[[HELD]], %[[SUM]]#0
//
// What follows the sums, in the last block of the reduction; in the others they
// are put back.
//       CHECK: affine.if #{{.+}}(%[[KB]]) {
//       CHECK: affine.vector_store %[[ALL]]#0, %[[TILE]][0, 0]
//       CHECK: affine.for %[[II:.+]] = 0 to
//       CHECK: affine.for %[[JJ:.+]] = 0 to
//       CHECK: %[[R:.+]] = affine.load %[[TILE]][%[[II]], %[[JJ]]]
//       CHECK: affine.store %[[R]], %[[Z]][%[[IB]] * {{[0-9]+}} + %[[I]] + %[[II]], %[[JB]] * {{[0-9]+}} + %[[J]] + %[[JJ]]]
//       CHECK: } else {
//       CHECK: affine.vector_store %[[ALL]]#0, %[[S]][%[[I]], %[[J]]]
//       CHECK: return
func.func @matmul(%a: memref<768x512xf32>, %b: memref<512x1024xf32>,
                  %c: memref<768x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 768 {
    affine.for %j = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<768x512xf32>
        %y = affine.load %b[%k, %j] : memref<512x1024xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<768x1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @edge
//       CHECK: %[[TABLE:.+]] = memref.alloc() {{.+}} : memref<{{.+}}xindex>
//       CHECK: %[[ROW:[0-9]+]] = affine.min
//  CHECK-NEXT: %[[PLACE:.+]] = affine.apply #{{.+}}%[[ROW]]
//  CHECK-NEXT: affine.store %[[PLACE]], %[[TABLE]][
//       CHECK: affine.load %[[TABLE]]
//       CHECK: vector.fma
//       CHECK: return
func.func @edge(%a: memref<67x64xf32>, %b: memref<64x35xf32>,
                %c: memref<67x35xf32> {polynest.result}) {
  affine.for %i = 0 to 67 {
    affine.for %j = 0 to 35 {
      %start = affine.load %c[%i, %j] : memref<67x35xf32>
      %r = affine.for %k = 0 to 64 iter_args(%s = %start) -> f32 {
        %x = affine.load %a[%i, %k] : memref<67x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x35xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<67x35xf32>
    }
  }
  return
}

// The loops of the result's columns run in lanes, whichever operand has them.
// CHECK-LABEL: func @bias
//       CHECK: %[[S:.+]] = memref.alloc()
//       CHECK: affine.for
//       CHECK: %[[START:.+]] = affine.load %{{.+}}[%{{.+}}] : memref<96xf32>
//       CHECK: affine.store %[[START]], %[[S]]
//       CHECK: vector.fma
//       CHECK: affine.vector_store
//       CHECK: %[[SUM:.+]] = affine.load %[[S]]
//       CHECK: %[[MAX:.+]] = arith.maximumf %[[SUM]]
//       CHECK: affine.store %[[MAX]]
//       CHECK: return
func.func @bias(%a: memref<64x96xf32>, %b: memref<80x64xf32>,
                %bias: memref<96xf32>,
                %c: memref<80x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 80 {
    affine.for %j = 0 to 96 {
      %start = affine.load %bias[%j] : memref<96xf32>
      %r = affine.for %k = 0 to 64 iter_args(%s = %start) -> f32 {
        %x = affine.load %a[%k, %j] : memref<64x96xf32>
        %y = affine.load %b[%i, %k] : memref<80x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %p, %s : f32
        affine.yield %t : f32
      }
      %m = arith.maximumf %r, %zero : f32
      affine.store %m, %c[%i, %j] : memref<80x96xf32>
    }
  }
  return
}

// What is stored of 12 rows of 20 pixels is one row of 240.
// CHECK-LABEL: func @convolution
//       CHECK: %[[FLAT:.+]] = memref.collapse_shape %{{.+}} {{\[\[}}0], [1], [2, 3]] : memref<2x32x20x20xf32> into memref<2x32x400xf32>
//       CHECK: memref.collapse_shape %{{.+}} {{\[\[}}0, 1, 2, 3]]
//       CHECK: affine.load %{{.+}}[%{{.+}}, %[[C:[a-z0-9]+]], {{.+}} + %[[U:[a-z0-9]+]], %[[X:[a-z0-9]+]] + %[[V:[a-z0-9]+]]] : memref<2x16x22x22xf32>
//  CHECK-NEXT: affine.store %{{.+}}, %{{.+}}[%[[C]] * 9 + %[[U]] * 3 + %[[V]], %{{.+}} * 20 + %[[X]]]
//       CHECK: vector.fma
//       CHECK: affine.for %[[P:.+]] = 0 to min
//  CHECK-NEXT: %[[SUM:.+]] = affine.load %{{.+}}[%{{.+}}, %[[P]]]
//  CHECK-NEXT: affine.store %[[SUM]], %[[FLAT]][%{{.+}}, %{{.+}}, %{{.+}} * {{240|320}} + %[[P]]]
//       CHECK: return
func.func @convolution(%x: memref<2x16x22x22xf32>, %w: memref<32x16x3x3xf32>,
                       %c: memref<2x32x20x20xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 2 {
    affine.for %o = 0 to 32 {
      affine.for %i = 0 to 20 {
        affine.for %j = 0 to 20 {
          %0 = affine.for %d = 0 to 16 iter_args(%s0 = %zero) -> f32 {
            %1 = affine.for %u = 0 to 3 iter_args(%s1 = %s0) -> f32 {
              %2 = affine.for %v = 0 to 3 iter_args(%s2 = %s1) -> f32 {
                %a = affine.load %x[%n, %d, %i + %u, %j + %v]
                    : memref<2x16x22x22xf32>
                %b = affine.load %w[%o, %d, %u, %v] : memref<32x16x3x3xf32>
                %p = arith.mulf %a, %b : f32
                %t = arith.addf %s2, %p : f32
                affine.yield %t : f32
              }
              affine.yield %2 : f32
            }
            affine.yield %1 : f32
          }
          affine.store %0, %c[%n, %o, %i, %j] : memref<2x32x20x20xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%{{.+}}]
//       CHECK: affine.min
//       CHECK: affine.for %{{.+}} = 0 to 96 step
// 9 rows of 3 vectors; with AVX2 4 of 3.
//       CHECK: affine.for %{{.+}} = 0 to min #{{.+}} step
//        AVX2: %{{.+}}:12 = affine.for %{{.+}} = 0 to 64
//      AVX512: %{{.+}}:27 = affine.for %{{.+}} = 0 to 64
//       CHECK: vector.fma
//
// The rest, 3 rows at a time: 9 sums hide the latency of an FMA.
//       CHECK: affine.for %{{.+}} = max #{{.+}} to min #{{.+}} step 3
//        AVX2: %{{.+}}:9 = affine.for %{{.+}} = 0 to 64
//      AVX512: %{{.+}}:9 = affine.for %{{.+}} = 0 to 64
//       CHECK: vector.fma
//       CHECK: return
func.func @dynamic(%a: memref<?x64xf32>, %b: memref<64x96xf32>,
                   %c: memref<?x96xf32> {polynest.result}, %m: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<?x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x96xf32>
        %t = math.fma %x, %y, %s : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<?x96xf32>
    }
  }
  return
}

// CHECK-LABEL: func @merged
//  CHECK-SAME: %[[B:.+]]: index, %[[N:.+]]: index,
//   CHECK-DAG: %[[ROWS:.+]] = arith.muli %[[B]], %[[N]]
//   CHECK-DAG: memref.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : memref<?x?x64xf32> into memref<?x64xf32>
//   CHECK-DAG: memref.collapse_shape %{{.+}} {{\[\[}}0, 1], [2]] : memref<?x?x96xf32> into memref<?x96xf32>
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%[[ROWS]]]
//       CHECK: vector.fma
//   CHECK-NOT: memref<?x?x96xf32>
//       CHECK: return
func.func @merged(%b: index, %n: index, %w: memref<64x96xf32>) {
  %a = memref.alloc(%b, %n) : memref<?x?x64xf32>
  %c = memref.alloc(%b, %n) : memref<?x?x96xf32>
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to %b {
    affine.for %i = 0 to %n {
      affine.for %j = 0 to 96 {
        %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%h, %i, %k] : memref<?x?x64xf32>
          %y = affine.load %w[%k, %j] : memref<64x96xf32>
          %p = arith.mulf %x, %y : f32
          %u = arith.addf %s, %p : f32
          affine.yield %u : f32
        }
        affine.store %r, %c[%h, %i, %j] : memref<?x?x96xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @stored
//   CHECK-NOT: into memref<?x
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}} : memref<?x?x96xindex>
//       CHECK: return
func.func @stored(%b: index, %n: index, %w: memref<64x96xf32>) {
  %a = memref.alloc(%b, %n) : memref<?x?x64xf32>
  %c = memref.alloc(%b, %n) : memref<?x?x96xf32>
  %d = memref.alloc(%b, %n) : memref<?x?x96xindex>
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to %b {
    affine.for %i = 0 to %n {
      affine.for %j = 0 to 96 {
        %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%h, %i, %k] : memref<?x?x64xf32>
          %y = affine.load %w[%k, %j] : memref<64x96xf32>
          %p = arith.mulf %x, %y : f32
          %u = arith.addf %s, %p : f32
          affine.yield %u : f32
        }
        affine.store %r, %c[%h, %i, %j] : memref<?x?x96xf32>
        affine.store %i, %d[%h, %i, %j] : memref<?x?x96xindex>
      }
    }
  }
  return
}

// CHECK-LABEL: func @apart
//   CHECK-NOT: into memref<?x96xf32>
//       CHECK: affine.for %{{.+}} = 0 to %arg0
//
// Zeros behind the rows that there are, up to a whole tile.
//       CHECK: affine.for %[[I:.+]] = max #{{.+}} to min #{{.+}} {
//  CHECK-NEXT: affine.for %[[K:.+]] = 0 to
//  CHECK-NEXT: affine.store %{{.+}}, %[[A:.+]][%[[I]], %[[K]]]
//       CHECK: affine.load %[[A]]
//       CHECK: vector.fma
//       CHECK: return
func.func @apart(%b: index, %n: index, %m: index, %w: memref<64x96xf32>) {
  %a = memref.alloc(%b, %n) : memref<?x?x64xf32>
  %c = memref.alloc(%b, %m) : memref<?x?x96xf32>
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to %b {
    affine.for %i = 0 to %n {
      affine.for %j = 0 to 96 {
        %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%h, %i, %k] : memref<?x?x64xf32>
          %y = affine.load %w[%k, %j] : memref<64x96xf32>
          %p = arith.mulf %x, %y : f32
          %u = arith.addf %s, %p : f32
          affine.yield %u : f32
        }
        affine.store %r, %c[%h, %i, %j] : memref<?x?x96xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @cast
//       CHECK: %[[Y:.+]] = affine.load %{{.+}} : memref<64x96xi8>
//  CHECK-NEXT: %[[W:.+]] = arith.extsi %[[Y]]
//  CHECK-NEXT: affine.store %[[W]]
//       CHECK: %[[P:.+]] = arith.muli %{{.+}}, %{{.+}} : vector<{{8|16}}xi32>
//  CHECK-NEXT: arith.addi %{{.+}}, %[[P]]
//       CHECK: return
func.func @cast(%a: memref<48x64xi8>, %b: memref<64x96xi8>,
                %c: memref<48x96xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<48x64xi8>
        %xx = arith.extsi %x : i8 to i32
        %y = affine.load %b[%k, %j] : memref<64x96xi8>
        %yy = arith.extsi %y : i8 to i32
        %p = arith.muli %xx, %yy : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<48x96xi32>
    }
  }
  return
}

// CHECK-LABEL: func @difference
//       CHECK: %[[Y:.+]] = affine.load
//  CHECK-NEXT: %[[N:.+]] = arith.negf %[[Y]]
//  CHECK-NEXT: affine.store %[[N]]
//       CHECK: return
func.func @difference(%a: memref<48x64xf32>, %b: memref<64x96xf32>,
                      %c: memref<48x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<48x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x96xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.subf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<48x96xf32>
    }
  }
  return
}

// 64 and 96 are whole squares of 8 or 16: no rest.
// CHECK-LABEL: func @transposed
//       CHECK: affine.for %{{.+}} step {{8|16}}
//       CHECK: affine.for %{{.+}} step {{8|16}}
//       CHECK: affine.vector_load %{{.+}}[%{{.+}}, %{{.+}}] : memref<96x64xf32>
//       CHECK: vector.shuffle
//       CHECK: affine.vector_store
//   CHECK-NOT: affine.load %{{.+}} : memref<96x64xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @transposed(%a: memref<48x64xf32>, %b: memref<96x64xf32>,
                      %c: memref<48x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<48x64xf32>
        %y = affine.load %b[%j, %k] : memref<96x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<48x96xf32>
    }
  }
  return
}

// CHECK-LABEL: func @transposed_off
//       CHECK: %[[ZERO:.+]] = arith.constant dense<0> : vector<{{8|16}}xi32>
//       CHECK: arith.subi %[[ZERO]], %{{.+}} : vector<{{8|16}}xi32>
//       CHECK: vector.shuffle
//       CHECK: return
func.func @transposed_off(%a: memref<48x64xi32>, %b: memref<96x64xi32>,
                          %c: memref<48x96xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<48x64xi32>
        %y = affine.load %b[%j, %k] : memref<96x64xi32>
        %p = arith.muli %x, %y : i32
        %t = arith.subi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<48x96xi32>
    }
  }
  return
}

// CHECK-LABEL: func @guarded
//       CHECK: affine.if
//       CHECK: affine.for
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}} : memref<?x?xf32>
//       CHECK: return
func.func @guarded(%a: memref<?x?xf32>, %b: memref<?x?xf32>,
                   %c: memref<?x?xf32> {polynest.result}, %m: index,
                   %n: index, %d: index) {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      affine.if affine_set<()[s0] : (s0 - 1 >= 0)>()[%d] {
        %start = affine.load %c[%i, %j] : memref<?x?xf32>
        %r = affine.for %k = 0 to %d iter_args(%s = %start) -> f32 {
          %x = affine.load %a[%i, %k] : memref<?x?xf32>
          %y = affine.load %b[%k, %j] : memref<?x?xf32>
          %p = arith.mulf %x, %y : f32
          %t = arith.addf %s, %p : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%i, %j] : memref<?x?xf32>
      }
    }
  }
  return
}

// Channels last: a row of the image's window is contiguous, rows of the output
// are not at even distances in the image.
// CHECK-LABEL: func @windows
//       CHECK: memref.collapse_shape %{{.+}} {{\[\[}}0, 1, 2]] : memref<18x18x64xf32>
//       CHECK: %[[PLACE:.+]] = affine.apply
//  CHECK-NEXT: affine.store %[[PLACE]], %{{.+}} : memref<{{[0-9]+}}xindex>
//   CHECK-NOT: affine.load %{{.+}} : memref<18x18x64xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @windows(%x: memref<18x18x64xf32>, %w: memref<3x3x64x96xf32>,
                   %c: memref<16x16x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      affine.for %o = 0 to 96 {
        %0 = affine.for %u = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %1 = affine.for %v = 0 to 3 iter_args(%s1 = %s0) -> f32 {
            %2 = affine.for %d = 0 to 64 iter_args(%s2 = %s1) -> f32 {
              %a = affine.load %x[%i + %u, %j + %v, %d] : memref<18x18x64xf32>
              %b = affine.load %w[%u, %v, %d, %o] : memref<3x3x64x96xf32>
              %p = arith.mulf %a, %b : f32
              %t = arith.addf %s2, %p : f32
              affine.yield %t : f32
            }
            affine.yield %2 : f32
          }
          affine.yield %1 : f32
        }
        affine.store %0, %c[%i, %j, %o] : memref<16x16x96xf32>
      }
    }
  }
  return
}

// Rows that are bound once: blocks of the depth, each contiguous, and zeros where
// the last micro-tile reads past the end. The blocked nest does not read the
// original.
// CHECK-LABEL: func @constant_rows
//  CHECK-SAME: %[[X:.+]]: memref<67x512xf32>
//        AVX2: %[[B:.+]] = memref.alloc() {{.+}} : memref<{{.+}}x176xf32>
//        AVX2: affine.store %cst{{.*}}, %[[B]]
//        AVX2: %[[V:.+]] = affine.load %[[X]]
//        AVX2: affine.store %[[V]], %[[B]]
//        AVX2: %[[ROWS:.+]] = memref.collapse_shape %[[B]]
//    AVX2-NOT: %[[X]]
//        AVX2: memref.load %[[ROWS]]
//       CHECK: return
func.func @constant_rows(%a: memref<67x512xf32> {polynest.constant},
                         %b: memref<512x96xf32>,
                         %c: memref<67x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 67 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<67x512xf32>
        %y = affine.load %b[%k, %j] : memref<512x96xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<67x96xf32>
    }
  }
  return
}

// Rows of columns that no first cache holds: they are packed.
// CHECK-LABEL: func @around
//       CHECK: affine.for %[[H:.+]] = 0 to 8 {
//       CHECK: %[[B:.+]] = memref.alloc() {{.+}} : memref<{{.*}}x{{[0-9]+}}xf32>
//       CHECK: affine.load %{{.+}}[%[[H]], {{.*}}] : memref<8x64x224xf32>
//       CHECK: affine.store %{{.+}}, %[[B]]
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//   CHECK-NOT: memref<8x64x224xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @around(%a: memref<8x128x64xf32>, %b: memref<8x64x224xf32>,
                  %c: memref<8x128x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to 8 {
    affine.for %ib = 0 to 4 {
      %t = memref.alloc() : memref<32xf32>
      affine.for %i = 0 to 32 {
        affine.store %zero, %t[%i] : memref<32xf32>
      }
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 96 {
          %start = affine.load %t[%i] : memref<32xf32>
          %r = affine.for %k = 0 to 64 iter_args(%s = %start) -> f32 {
            %x = affine.load %a[%h, %ib * 32 + %i, %k] : memref<8x128x64xf32>
            %y = affine.load %b[%h, %k, %j] : memref<8x64x224xf32>
            %p = arith.mulf %x, %y : f32
            %u = arith.addf %s, %p : f32
            affine.yield %u : f32
          }
          affine.store %r, %c[%h, %ib * 32 + %i, %j] : memref<8x128x96xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @around_written
//       CHECK: affine.for %[[H:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 4 {
//       CHECK: affine.store %{{.+}}, %[[B:.+]][%{{.+}}, %{{.+}}] : memref<64x224xf32>
//       CHECK: affine.load %[[B]]
//       CHECK: vector.fma
//       CHECK: return
func.func @around_written(%a: memref<8x128x64xf32>, %b: memref<64x224xf32>,
                          %c: memref<8x128x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to 8 {
    affine.for %ib = 0 to 4 {
      affine.for %i = 0 to 64 {
        affine.for %j = 0 to 96 {
          %v = affine.load %a[%h, %ib, %i] : memref<8x128x64xf32>
          affine.store %v, %b[%i, %j] : memref<64x224xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 96 {
          %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
            %x = affine.load %a[%h, %ib * 32 + %i, %k] : memref<8x128x64xf32>
            %y = affine.load %b[%k, %j] : memref<64x224xf32>
            %p = arith.mulf %x, %y : f32
            %u = arith.addf %s, %p : f32
            affine.yield %u : f32
          }
          affine.store %r, %c[%h, %ib * 32 + %i, %j] : memref<8x128x96xf32>
        }
      }
    }
  }
  return
}

// The loop over blocks may not run at all: what is there is read in front of it
// all the same.
// CHECK-LABEL: func @around_maybe
//       CHECK: affine.load %{{.+}} : memref<64x224xf32>
//       CHECK: affine.for %{{.+}} = 0 to %arg0 {
//   CHECK-NOT: affine.load %{{.+}} : memref<64x224xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @around_maybe(%n: index, %a: memref<?x32x64xf32>,
                        %b: memref<64x224xf32>,
                        %c: memref<?x32x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %ib = 0 to %n {
    affine.store %zero, %c[%ib, 0, 0] : memref<?x32x96xf32>
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 96 {
        %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%ib, %i, %k] : memref<?x32x64xf32>
          %y = affine.load %b[%k, %j] : memref<64x224xf32>
          %p = arith.mulf %x, %y : f32
          %u = arith.addf %s, %p : f32
          affine.yield %u : f32
        }
        affine.store %r, %c[%ib, %i, %j] : memref<?x32x96xf32>
      }
    }
  }
  return
}

// What may not be there is not read in front of it.
// CHECK-LABEL: func @around_absent
//       CHECK: affine.for %{{.+}} = 0 to %arg0 {
//       CHECK: affine.load %{{.+}} : memref<?x224xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @around_absent(%n: index, %a: memref<?x32x64xf32>,
                        %b: memref<?x224xf32>,
                        %c: memref<?x32x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %ib = 0 to %n {
    affine.store %zero, %c[%ib, 0, 0] : memref<?x32x96xf32>
    affine.for %i = 0 to 32 {
      affine.for %j = 0 to 96 {
        %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%ib, %i, %k] : memref<?x32x64xf32>
          %y = affine.load %b[%k, %j] : memref<?x224xf32>
          %p = arith.mulf %x, %y : f32
          %u = arith.addf %s, %p : f32
          affine.yield %u : f32
        }
        affine.store %r, %c[%ib, %i, %j] : memref<?x32x96xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @bound_in_branch
//       CHECK: affine.load %{{.+}} : memref<64x96xf32>
//       CHECK: affine.for %{{.+}} = 0 to %arg0 {
//  CHECK-NEXT: affine.if
//   CHECK-NOT: affine.load %{{.+}} : memref<64x96xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @bound_in_branch(%n: index, %a: memref<?x32x64xf32>,
                           %b: memref<64x96xf32> {polynest.constant},
                           %c: memref<?x32x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %ib = 0 to %n {
    affine.if affine_set<()[s] : (s - 8 >= 0)>()[%n] {
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 96 {
          %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
            %x = affine.load %a[%ib, %i, %k] : memref<?x32x64xf32>
            %y = affine.load %b[%k, %j] : memref<64x96xf32>
            %p = arith.mulf %x, %y : f32
            %u = arith.addf %s, %p : f32
            affine.yield %u : f32
          }
          affine.store %r, %c[%ib, %i, %j] : memref<?x32x96xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @bound_moves
//       CHECK: affine.for %[[H:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.if
//       CHECK: affine.load %{{.+}}[%[[H]], {{.+}}] : memref<8x64x96xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @bound_moves(%n: index, %a: memref<8x32x64xf32>,
                       %b: memref<8x64x96xf32> {polynest.constant},
                       %c: memref<8x32x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to 8 {
    affine.if affine_set<()[s] : (s - 8 >= 0)>()[%n] {
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 96 {
          %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
            %x = affine.load %a[%h, %i, %k] : memref<8x32x64xf32>
            %y = affine.load %b[%h, %k, %j] : memref<8x64x96xf32>
            %p = arith.mulf %x, %y : f32
            %u = arith.addf %s, %p : f32
            affine.yield %u : f32
          }
          affine.store %r, %c[%h, %i, %j] : memref<8x32x96xf32>
        }
      }
    }
  }
  return
}

// Columns that are bound once are packed in front even if one block of rows uses
// them.
// CHECK-LABEL: func @constant_columns
//       CHECK: %[[B:.+]] = memref.alloc() {{.+}} : memref<{{.*}}x65x{{[0-9]+}}xf32>
//       CHECK: affine.load %{{.+}} : memref<64x96xf32>
//       CHECK: affine.store %{{.+}}, %[[B]]
//       CHECK: memref.alloc()
//   CHECK-NOT: affine.load %{{.+}} : memref<64x96xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @constant_columns(%a: memref<16x64xf32>,
                            %b: memref<64x96xf32> {polynest.constant},
                            %c: memref<16x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 96 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<16x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x96xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<16x96xf32>
    }
  }
  return
}

// All micro-tiles have a constant number of columns: blocks of 528 are 22 whole
// ones, and behind 20 of the last block 2 are left. Sums are short, and what
// follows them stands there for each row of a whole tile.
// CHECK-LABEL: func @short
//        AVX2: %[[S:.+]] = memref.alloc() {{.+}} : memref<[[MR:[0-9]+]]x[[NR:[0-9]+]]xf32>
//        AVX2: affine.for %[[J:.+]] = 0 to {{.*}} step [[NR]]
//        AVX2: affine.for %[[I:.+]] = 0 to {{.*}} step [[MR]]
//        AVX2: affine.vector_store %{{.+}}, %[[S]][0, 0]
//        AVX2: affine.if
//        AVX2: affine.for %[[C:.+]] = 0 to [[NR]] {
//        AVX2: %[[SUM:.+]] = affine.load %[[S]][0, %[[C]]]
//        AVX2: %[[MAX:.+]] = arith.maximumf %[[SUM]]
//        AVX2: affine.store %[[MAX]], %{{.+}}[{{.+}} + %[[I]], {{.+}}] : memref<1000x1010xf32>
//        AVX2: affine.load %[[S]][3, %
//        AVX2: affine.store %{{.+}}[{{.+}} + %[[I]] + 3, {{.+}}] : memref<1000x1010xf32>
//   AVX2-NOT: affine.for
//        AVX2: else
//        AVX2: affine.for %{{.+}} = 0 to [[MR]] {
//        AVX2: affine.for %{{.+}} = 0 to 2 {
//       CHECK: return
func.func @short(%a: memref<1000x64xf32>, %b: memref<64x1010xf32>,
                 %c: memref<1000x1010xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1000 {
    affine.for %j = 0 to 1010 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<1000x64xf32>
        %y = affine.load %b[%k, %j] : memref<64x1010xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      %m = arith.maximumf %r, %zero : f32
      affine.store %m, %c[%i, %j] : memref<1000x1010xf32>
    }
  }
  return
}

// 7 columns do not fill a vector, so that fewer products are worth it.
// CHECK-LABEL: func @narrow
//       CHECK: vector.fma
//       CHECK: return
func.func @narrow(%a: memref<64x40xf32>, %b: memref<40x7xf32>,
                  %c: memref<64x7xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 7 {
      %r = affine.for %k = 0 to 40 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x40xf32>
        %y = affine.load %b[%k, %j] : memref<40x7xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x7xf32>
    }
  }
  return
}
