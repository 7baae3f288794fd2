// Properties: behind a causal mask the loops over columns of the score, of the rows
// and of the product end with the block (@causal), zeros times what is left out are
// added to the product, and the mask is put on by a nest of its own; a last block
// whose bound is the number of columns keeps them all, but for the mask (@last);
// a mask with a second condition stays where it is (@window), and where it hides
// columns in front these are left out too (@front); numbers of columns may be
// unknown (@unknown, @unknown_front); guards of rows that
// are masked as a whole, and sums that are divided behind the product, are seen
// through (@guarded). Comparisons may be without a sign. Rows may be further apart than their columns take (ROOM).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops))' | polynest-opt --pass-pipeline='builtin.module(func.func(polynest-trim-loops))' | FileCheck %s
// RUN: sed 's/cmpi sgt/cmpi ugt/; s/cmpi sle/cmpi ule/' %s | polynest-opt --pass-pipeline='builtin.module(func.func(polynest-trim-loops))' | FileCheck %s
// RUN: sed 's/memref<32x64xf32>/memref<32x80xf32>/' %s | polynest-opt --pass-pipeline='builtin.module(func.func(polynest-trim-loops))' | FileCheck %s --check-prefix=ROOM

// ROOM-LABEL: func @causal
//       ROOM: memref.alloc() : memref<32x80xf32>
//       ROOM: affine.for %{{.+}} = 0 to #[[END:.+]](%{{.+}}) {
//       ROOM: affine.for %{{.+}} = 0 to #[[END]](%{{.+}}) iter_args
//       ROOM: arith.maximumf
//       ROOM: affine.for %{{.+}} = 0 to #[[END]](%{{.+}}) iter_args
//       ROOM: math.exp
//       ROOM: affine.for %{{.+}} = 0 to #[[END]](%{{.+}}) {
//       ROOM: arith.divf

// CHECK-DAG: #[[$END:.+]] = affine_map<(d0) -> (d0 * 32 + 32)>
// CHECK-DAG: #[[$FIRST:.+]] = affine_map<(d0) -> (d0 * 32)>
// CHECK-LABEL: func @causal
//       CHECK: affine.for %[[IB:.+]] = 0 to 2 {
//  CHECK-NEXT: %[[S:.+]] = memref.alloc() : memref<32x64xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to #[[$END]](%[[IB]]) {
//  CHECK-NEXT: %[[X:.+]] = affine.load %{{.+}}[%[[IB]] * 32 + %[[I]], %[[J]]]
//  CHECK-NEXT: affine.store %[[X]], %[[S]][%[[I]], %[[J]]]
//       CHECK: affine.for %[[I:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[J:.+]] = #[[$FIRST]](%[[IB]]) to #[[$END]](%[[IB]]) {
//       CHECK: %[[M:.+]] = arith.select
//  CHECK-NEXT: affine.store %[[M]], %[[S]][%[[I]], %[[J]]]
//       CHECK: affine.for %{{.+}} = 0 to 32 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) iter_args
//       CHECK: arith.maximumf
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) iter_args
//       CHECK: math.exp
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) {
//       CHECK: arith.divf
//       CHECK: %[[Z:.+]] = memref.alloc() {{.*}} : memref<8xf32>
//       CHECK: affine.for %[[E:.+]] = 0 to 8 {
//  CHECK-NEXT: %[[SUM:.+]] = affine.for %[[J:.+]] = #[[$END]](%[[IB]]) to 64 iter_args
//  CHECK-NEXT: affine.load %{{.+}}[%[[J]], %[[E]]]
//       CHECK: affine.store %[[SUM]], %[[Z]][%[[E]]]
//       CHECK: affine.for %{{.+}} = 0 to 32 {
//  CHECK-NEXT: affine.for %[[E:.+]] = 0 to 8 {
//  CHECK-NEXT: %[[P:.+]] = affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) iter_args
//       CHECK: %[[K:.+]] = affine.load %[[Z]][%[[E]]]
//  CHECK-NEXT: %[[W:.+]] = arith.addf %[[P]], %[[K]]
//  CHECK-NEXT: affine.store %[[W]], %{{.+}}[%[[IB]] * 32 +
//      REMARK: [Passed] trim-loops
// REMARK-SAME: columns=64, front=false, least=32, loops=5, reason="loops end where a mask begins", split=true
func.func @causal(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @last
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//   CHECK-NOT: arith.select
//       CHECK: affine.for %{{.+}} = 32 to 64 {
//       CHECK: arith.select
//       CHECK: affine.for %{{.+}} = 0 to 64 iter_args
//   CHECK-NOT: memref.alloc
//      REMARK: least=64, loops=0, {{.*}}split=true
func.func @last(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%i + 32, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(i) -> (i + 32)>(%i)
          %k = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %k, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%i + 32, %e] : memref<64x8xf32>
        }
      }
  return
}

// CHECK-LABEL: func @window
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%{{.+}}) {
//       CHECK: arith.select
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%{{.+}}) iter_args
//      REMARK: loops=5, {{.*}}split=false
func.func @window(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %c = arith.cmpi sle, %j, %r : index
          %w = affine.apply affine_map<(b, i) -> (b * 32 + i - 20)>(%ib, %i)
          %d = arith.cmpi sge, %j, %w : index
          %1 = arith.andi %c, %d : i1
          %2 = arith.select %1, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// The first two blocks have columns from 0 on; 32 * ib + 32 - (32 * ib - 32) are
// left in the others, of which the first comes as 0.
// CHECK-LABEL: func @front
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<128x128xf32>, %[[V:[a-z0-9]+]]: memref<128x8xf32>
//       CHECK: affine.for %[[IB:.+]] = 0 to 2 {
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) {
//       CHECK: affine.for %[[IB:.+]] = 0 to 2 {
//       CHECK: %[[S:.+]] = memref.alloc() : memref<32x128xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 32 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 64 {
//       CHECK: affine.load %[[X]][%[[I]] + %[[IB]] * 32 + 64, %[[IB]] * 32 + %[[J]] + 32]
//       CHECK: arith.select
//       CHECK: affine.store %{{.+}}, %[[S]][%[[I]], {{.*}} + 32]
//       CHECK: affine.for %{{.+}} = 0 to 64 iter_args
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}(%[[IB]]) iter_args
//       CHECK: affine.load %[[V]]
//       CHECK: arith.mulf
//      REMARK: front=true, {{.*}}loops=5
func.func @front(%x: memref<128x128xf32>, %v: memref<128x8xf32>,
                  %o: memref<128x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 4 {
    %s = memref.alloc() : memref<32x128xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 128 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<128x128xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %c = arith.cmpi sle, %j, %r : index
          %w = affine.apply affine_map<(b, i) -> (b * 32 + i - 20)>(%ib, %i)
          %d = arith.cmpi sge, %j, %w : index
          %1 = arith.andi %c, %d : i1
          %2 = arith.select %1, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x128xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 128 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x128xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 128 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x128xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x128xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 128 {
          %0 = affine.load %s[%i, %j] : memref<32x128xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x128xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 128 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x128xf32>
            %1 = affine.load %v[%j, %e] : memref<128x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<128x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @unknown
//       CHECK: affine.for %[[IB:.+]] = 0 to #{{.+}}()[%[[N:.+]]] {
//  CHECK-NEXT: memref.alloc(%[[N]])
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 32 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) {
//       CHECK: affine.for %{{.+}} = #[[$FIRST]](%[[IB]]) to #[[$END]](%[[IB]]) {
//       CHECK: affine.for %{{.+}} = #[[$END]](%[[IB]]) to %[[N]] iter_args
//      REMARK: columns=-1, front=false, {{.*}}split=true
func.func @unknown(%x: memref<?x?xf32>, %v: memref<?x8xf32>,
                  %o: memref<?x8xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to affine_map<()[n] -> (n floordiv 32)>()[%n] {
    %s = memref.alloc(%n) : memref<32x?xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to %n {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<?x?xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %c = arith.cmpi sle, %j, %r : index
          %2 = arith.select %c, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x?xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to %n iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to %n iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x?xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to %n {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x?xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to %n iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x?xf32>
            %1 = affine.load %v[%j, %e] : memref<?x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<?x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @unknown_front
//       CHECK: affine.for %{{.+}} = 0 to min #{{.+}}()[%[[N:.+]]] {
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%[[N]]] {
//       CHECK: memref.alloc(%[[N]])
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 32 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 64 {
//      REMARK: columns=-1, front=true
func.func @unknown_front(%x: memref<?x?xf32>, %v: memref<?x8xf32>,
                  %o: memref<?x8xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to affine_map<()[n] -> (n floordiv 32)>()[%n] {
    %s = memref.alloc(%n) : memref<32x?xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to %n {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<?x?xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %c = arith.cmpi sle, %j, %r : index
          %w = affine.apply affine_map<(b, i) -> (b * 32 + i - 20)>(%ib, %i)
          %d = arith.cmpi sge, %j, %w : index
          %1 = arith.andi %c, %d : i1
          %2 = arith.select %1, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x?xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to %n iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to %n iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x?xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to %n {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x?xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to %n iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x?xf32>
            %1 = affine.load %v[%j, %e] : memref<?x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<?x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @guarded
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%{{.+}}) {
//   CHECK-NOT: arith.select
//       CHECK: affine.for %{{.+}} = #[[$FIRST]](%{{.+}}) to #[[$END]](%{{.+}}) {
//       CHECK: arith.cmpf oeq
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%{{.+}}) iter_args
//      REMARK: loops=4, {{.*}}split=true
func.func @guarded(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
    %n = memref.alloc() : memref<32xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %none = arith.cmpf oeq, %m, %low : f32
        %g = arith.select %none, %zero, %m : f32
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %g : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.store %t, %n[%i] : memref<32xf32>
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          %n0 = affine.load %n[%i] : memref<32xf32>
          %q = arith.divf %p, %n0 : f32
          affine.store %q, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}
