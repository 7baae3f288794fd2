// Properties: a matrix times a vector takes four rows at a time (@matvec); weights
// times eight rows take pairs of four and two (@batch); rows that make up no tile
// (@rests); sums of rows (@sums); sums in memory with the reduction outermost are
// carried then (@outermost); several reduction loops (@several); what comes
// before and behind the sums (@finish); sizes that are not constant (@dynamic); a scale
// for each group of 64 (@groups).
// A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-jam-reductions))' | diff %t.once -

// 16 rows at most.
// CHECK: #[[$FEW:.+]] = affine_set<()[s0] : (-s0 + 16 >= 0)>

// CHECK-LABEL: func @matvec
//  CHECK-SAME: %[[A:.+]]: memref<512xf32>, %[[B:.+]]: memref<1024x512xf32>, %[[C:[a-z0-9]+]]:
//       CHECK: affine.for %[[N:.+]] = 0 to 1024 step 4 {
// CHECK-COUNT-2: affine.apply
//       CHECK: %[[N3:.+]] = affine.apply
//       CHECK: %[[SUMS:.+]]:4 = affine.for %[[K:.+]] = 0 to 512 iter_args(
//       CHECK: affine.load %[[A]][%[[K]]]
//   CHECK-NOT: affine.load %[[A]]
// CHECK-COUNT-4: affine.load %[[B]]
// CHECK-COUNT-4: arith.addf
//       CHECK: } {polynest.jammed, polynest.tiled_registers}
//       CHECK: affine.store %[[SUMS]]#0, %[[C]][%[[N]]]
//       CHECK: affine.store %[[SUMS]]#3, %[[C]][%[[N3]]]
//       CHECK: return
func.func @matvec(%a: memref<512xf32>, %b: memref<1024x512xf32>,
                  %c: memref<1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1024 {
    %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
      %x = affine.load %a[%k] : memref<512xf32>
      %y = affine.load %b[%n, %k] : memref<1024x512xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<1024xf32>
  }
  return
}

// CHECK-LABEL: func @groups
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 4 {
//       CHECK: :4 = affine.for %[[K:.+]] = 0 to 2048 iter_args(
// CHECK-COUNT-4: affine.load %{{.+}} floordiv 64]
//       CHECK: affine.yield
//       CHECK: return
func.func @groups(%a: memref<2048xf32>, %b: memref<1024x2048xi8>,
                  %s: memref<1024x32xf32>, %c: memref<1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1024 {
    %r = affine.for %k = 0 to 2048 iter_args(%t = %zero) -> f32 {
      %x = affine.load %a[%k] : memref<2048xf32>
      %y = affine.load %b[%n, %k] : memref<1024x2048xi8>
      %f = arith.sitofp %y : i8 to f32
      %g = affine.load %s[%n, %k floordiv 64] : memref<1024x32xf32>
      %w = arith.mulf %f, %g : f32
      %p = arith.mulf %x, %w : f32
      %u = arith.addf %t, %p : f32
      affine.yield %u : f32
    }
    affine.store %r, %c[%n] : memref<1024xf32>
  }
  return
}

// 8 sums, 4 rows of the operand and two more make 14 registers; 4 by 4 do not
// fit 16. Rows of the small operand run inside.
// CHECK-LABEL: func @batch
//  CHECK-SAME: %[[A:.+]]: memref<8x512xf32>, %[[B:.+]]: memref<1024x512xf32>, %[[C:[a-z0-9]+]]:
//       CHECK: affine.for %[[N:.+]] = 0 to 1024 step 4 {
//       CHECK: affine.for %[[M:.+]] = 0 to 8 step 2 {
//       CHECK: :8 = affine.for %[[K:.+]] = 0 to 512 iter_args(
// CHECK-COUNT-2: affine.load %[[A]]
//   CHECK-NOT: affine.load %[[A]]
//       CHECK: affine.yield
// CHECK-COUNT-8: affine.store
//   CHECK-NOT: affine.store
//       CHECK: return
func.func @batch(%a: memref<8x512xf32>, %b: memref<1024x512xf32>,
                 %c: memref<8x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 8 {
    affine.for %n = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<8x512xf32>
        %y = affine.load %b[%n, %k] : memref<1024x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<8x1024xf32>
    }
  }
  return
}

// 3 rows by 1022 of the operand: pairs of 2 by 4, 1 by 4, 2 by 2, 1 by 2.
// CHECK-LABEL: func @rests
//       CHECK: affine.for %{{.+}} = 0 to 1020 step 4 {
//       CHECK: :8 = affine.for
//       CHECK: :4 = affine.for
//       CHECK: :4 = affine.for
//       CHECK: :2 = affine.for
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @rests(%a: memref<3x512xf32>, %b: memref<1022x512xf32>,
                 %c: memref<3x1022xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 3 {
    affine.for %n = 0 to 1022 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<3x512xf32>
        %y = affine.load %b[%n, %k] : memref<1022x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<3x1022xf32>
    }
  }
  return
}

// CHECK-LABEL: func @sums
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 4 {
//       CHECK: :4 = affine.for
// CHECK-COUNT-4: arith.maxsi
//       CHECK: return
func.func @sums(%b: memref<1024x512xi32>, %c: memref<1024xi32> {polynest.result}) {
  affine.for %n = 0 to 1024 {
    affine.for %k = 0 to 512 {
      %y = affine.load %b[%n, %k] : memref<1024x512xi32>
      %s = affine.load %c[%n] : memref<1024xi32>
      %t = arith.maxsi %s, %y : i32
      affine.store %t, %c[%n] : memref<1024xi32>
    }
  }
  return
}

// CHECK-LABEL: func @outermost
//  CHECK-SAME: %[[B:.+]]: memref<1024x512xf32>, %[[C:[a-z0-9]+]]:
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 4 {
// CHECK-COUNT-4: affine.load %[[C]]
//       CHECK: :4 = affine.for %{{.+}} = 0 to 512
// CHECK-COUNT-4: affine.store %{{.+}}, %[[C]]
//       CHECK: return
func.func @outermost(%b: memref<1024x512xf32>,
                     %c: memref<1024xf32> {polynest.result}) {
  affine.for %k = 0 to 512 {
    affine.for %n = 0 to 1024 {
      %y = affine.load %b[%n, %k] : memref<1024x512xf32>
      %s = affine.load %c[%n] : memref<1024xf32>
      %t = arith.addf %s, %y : f32
      affine.store %t, %c[%n] : memref<1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @several
//       CHECK: affine.for %{{.+}} = 0 to 6 {
//       CHECK: affine.for %{{.+}} = 0 to 100 step 4 {
//       CHECK: %[[OUTER:.+]]:4 = affine.for %{{.+}} = 0 to 3 iter_args(
//       CHECK: %[[INNER:.+]]:4 = affine.for %{{.+}} = 0 to 200 iter_args(
//       CHECK: affine.yield
//       CHECK: affine.yield %[[INNER]]#0, %[[INNER]]#1, %[[INNER]]#2, %[[INNER]]#3
//       CHECK: return
func.func @several(%b: memref<6x100x3x200xf32>,
                   %c: memref<6x100xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 6 {
    affine.for %n = 0 to 100 {
      %r = affine.for %h = 0 to 3 iter_args(%s = %zero) -> f32 {
        %q = affine.for %k = 0 to 200 iter_args(%u = %s) -> f32 {
          %y = affine.load %b[%i, %n, %h, %k] : memref<6x100x3x200xf32>
          %t = arith.addf %u, %y : f32
          affine.yield %t : f32
        }
        affine.yield %q : f32
      }
      affine.store %r, %c[%i, %n] : memref<6x100xf32>
    }
  }
  return
}

// CHECK-LABEL: func @finish
//  CHECK-SAME: %[[B:.+]]: memref<1024x512xf16>, %[[BIAS:.+]]: memref<1024xf32>, %[[C:[a-z0-9]+]]:
//       CHECK: %[[V0:.+]] = affine.load %[[BIAS]]
//       CHECK: :4 = affine.for %{{.+}} = 0 to 512 iter_args(%{{.+}} = %[[V0]],
// CHECK-COUNT-4: arith.mulf
//       CHECK: return
func.func @finish(%b: memref<1024x512xf16>, %bias: memref<1024xf32>,
                  %c: memref<1024xf32> {polynest.result}) {
  affine.for %n = 0 to 1024 {
    %v = affine.load %bias[%n] : memref<1024xf32>
    %r = affine.for %k = 0 to 512 iter_args(%s = %v) -> f32 {
      %y = affine.load %b[%n, %k] : memref<1024x512xf16>
      %w = arith.extf %y : f16 to f32
      %t = arith.addf %s, %w : f32
      affine.yield %t : f32
    }
    %q = arith.mulf %r, %v : f32
    affine.store %q, %c[%n] : memref<1024xf32>
  }
  return
}

// CHECK-LABEL: func @dynamic
//  CHECK-SAME: %[[K:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index
//       CHECK: affine.if
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}()[%[[N]]] step 4 {
//       CHECK: :4 = affine.for %{{.+}} = 0 to %[[K]]
//       CHECK: affine.for %{{.+}} = max #{{.+}}()[%[[N]]] to %[[N]] {
//       CHECK: = affine.for %{{.+}} = 0 to %[[K]]
//       CHECK: return
#some = affine_set<()[s0] : (s0 - 1 >= 0)>
func.func @dynamic(%b: memref<?x?xf32>, %c: memref<?xf32> {polynest.result},
                   %kk: index, %nn: index) {
  affine.for %n = 0 to %nn {
    affine.if #some()[%kk] {
      %v = affine.load %c[%n] : memref<?xf32>
      %r = affine.for %k = 0 to %kk iter_args(%s = %v) -> f32 {
        %y = affine.load %b[%n, %k] : memref<?x?xf32>
        %t = arith.addf %s, %y : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%n] : memref<?xf32>
    }
  }
  return
}

// Up to 16 rows in pairs and a single one; more run as they were.
// CHECK-LABEL: func @unknown_rows
//       CHECK: %[[M:.+]] = memref.dim
//       CHECK: affine.if #[[$FEW]](){{\[}}%[[M]]] {
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 4 {
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}(){{\[}}%[[M]]] step 2 {
//       CHECK: :8 = affine.for
//       CHECK: affine.for %{{.+}} = max #{{.+}}(){{\[}}%[[M]]] to %[[M]] {
//       CHECK: :4 = affine.for
//       CHECK: } else {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to %[[M]] {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 1024 {
//       CHECK: = affine.for
//       CHECK: } {polynest.many_rows}
//       CHECK: return
func.func @unknown_rows(%a: memref<?x512xf32>, %b: memref<1024x512xf32>,
                        %c: memref<?x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = arith.constant 0 : index
  %rows = memref.dim %a, %d : memref<?x512xf32>
  affine.for %m = 0 to %rows {
    affine.for %n = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<?x512xf32>
        %y = affine.load %b[%n, %k] : memref<1024x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<?x1024xf32>
    }
  }
  return
}
