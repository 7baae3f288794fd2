// Properties: vector stores to a large result become non-temporal in the branch
// that is taken when the result is aligned to its vectors (@rows), also as the
// body of a parallel loop (@merged) and from two rows at once (@two_rows); of
// dynamic size, when it is large enough, too, and its rows are whole vectors
// (@dynamic); from many rows, and down columns, where vectors are whole lines
// (@lines, @down). Rows of any
// length begin at their first aligned element (@odd), also where more is done behind
// the loop (@odd_rest), or beside it (@border); rows of a view that joins
// dimensions are the result's (@joined). A second run changes
// nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=1024}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=1024},polynest-stream-stores{threshold-kib=1024}))' | FileCheck %s

// CHECK-DAG: #[[$LEAD:.+]] = affine_map<(d0) -> ((d0 * 2 + 14) mod 16)>
// CHECK-DAG: #[[$END:.+]] = affine_map<(d0) -> ((d0 * 2 + 14) mod 16 + 3968)>
// CHECK-DAG: #[[$TAIL:.+]] = affine_map<(d0) -> ((d0 * 14 + 2) mod 16)>
// CHECK-DAG: #[[$LAST:.+]] = affine_map<(d0) -> (-((d0 * 14 + 2) mod 16) + 4032)>
// CHECK-DAG: #[[$REST:.+]] = affine_map<(d0) -> ((d0 * 2 + 14) mod 16 + 4032)>
// CHECK-DAG: #[[$BEHIND:.+]] = affine_map<(d0) -> ((d0 * 14 + 10) mod 16)>
// CHECK-DAG: #[[$SINCE:.+]] = affine_map<(d0) -> (-((d0 * 14 + 10) mod 16) + 4072)>

// CHECK-LABEL: func @rows
//  CHECK-SAME: %[[R:[^ ]+]]: memref<1024x512xf32> {polynest.result}
//   CHECK-DAG: %[[P:.+]] = memref.extract_aligned_pointer_as_index %[[R]]
// One vector is 8 * 4 bytes.
//   CHECK-DAG: %[[MASK:.+]] = arith.constant 31 : index
//       CHECK: %[[REST:.+]] = arith.andi %[[P]], %[[MASK]]
//       CHECK: %[[IS:.+]] = arith.cmpi eq, %[[REST]], %{{.+}}
//       CHECK: scf.if %[[IS]] {
//       CHECK:   affine.parallel (%[[I:.+]]) = (0) to (1024) {
//       CHECK:     affine.for %[[J:.+]] = 0 to 512 step 16 {
//       CHECK:       vector.store %{{.+}}, %[[R]][%{{.+}}, %{{.+}}] {alignment = 32 : i64, nontemporal = true} : memref<1024x512xf32>, vector<8xf32>
//       CHECK:       vector.store %{{.+}} {alignment = 32 : i64, nontemporal = true}
//       CHECK:   } {polynest.grain = 4 : i64}
//       CHECK: } else {
//       CHECK:   affine.vector_store
//       CHECK:   affine.vector_store
//       CHECK:   } {polynest.grain = 4 : i64}
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: [Passed] stream-stores
// REMARK-SAME: alignment-bytes=32
// REMARK-SAME: result=1, stores=2
func.func @rows(%x: memref<1024x512xf32>,
                %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (1024) {
    affine.for %j = 0 to 512 step 16 {
      %a = affine.vector_load %x[%i, %j] : memref<1024x512xf32>, vector<8xf32>
      %b = affine.vector_load %x[%i, %j + 8] : memref<1024x512xf32>, vector<8xf32>
      affine.vector_store %a, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
      affine.vector_store %b, %r[%i, %j + 8] : memref<1024x512xf32>, vector<8xf32>
    }
  } {polynest.grain = 4 : i64}
  return
}

// CHECK-LABEL: func @joined
//  CHECK-SAME: %[[R:[^ ]+]]: memref<1024x16x32xf32> {polynest.result}
//       CHECK: %[[V:.+]] = memref.collapse_shape %[[R]]
//       CHECK: memref.extract_aligned_pointer_as_index %[[R]]
//       CHECK: scf.if
//       CHECK:   vector.store %{{.+}}, %[[V]][%{{.+}}, %{{.+}}] {alignment = 64 : i64, nontemporal = true}
//       CHECK: else
//       CHECK:   affine.vector_store
//       CHECK: return
func.func @joined(%x: memref<1024x512xf32>,
                  %r: memref<1024x16x32xf32> {polynest.result})
    attributes {polynest.entry} {
  %v = memref.collapse_shape %r [[0], [1, 2]] : memref<1024x16x32xf32> into memref<1024x512xf32>
  affine.parallel (%i) = (0) to (1024) {
    affine.for %j = 0 to 512 step 16 {
      %a = affine.vector_load %x[%i, %j] : memref<1024x512xf32>, vector<16xf32>
      affine.vector_store %a, %v[%i, %j] : memref<1024x512xf32>, vector<16xf32>
    }
  } {polynest.grain = 4 : i64}
  return
}

// CHECK-LABEL: func @merged
//       CHECK: scf.if
//       CHECK:   vector.store %{{.+}} {alignment = 64 : i64, nontemporal = true}
//       CHECK: else
//       CHECK:   affine.vector_store
//       CHECK: return
func.func @merged(%x: vector<8xf64>, %r: memref<262144xf64> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (32768) {
    affine.vector_store %x, %r[%i * 8] : memref<262144xf64>, vector<8xf64>
  } {polynest.grain = 100 : i64}
  return
}

// CHECK-LABEL: func @two_rows
//       CHECK: scf.if
//       CHECK:   vector.store %{{.+}}nontemporal = true
//       CHECK:   vector.store %{{.+}}nontemporal = true
//       CHECK: else
//       CHECK: return
func.func @two_rows(%x: vector<8xf32>,
                    %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 step 2 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
      affine.vector_store %x, %r[%i + 1, %j] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//  CHECK-SAME: %[[R:[^ ]+]]: memref<?x?xf32> {polynest.result}
//   CHECK-DAG: %[[P:.+]] = memref.extract_aligned_pointer_as_index %[[R]]
//   CHECK-DAG: %[[LEAST:.+]] = arith.constant 1048576 : index
//   CHECK-DAG: %[[N:.+]] = memref.dim %[[R]], %{{.+}}
//   CHECK-DAG: %[[BYTES:.+]] = arith.muli %{{.+}}, %{{.+}}
//       CHECK: arith.cmpi uge, %{{.+}}, %[[LEAST]]
//       CHECK: arith.andi
// Rows of whole vectors: the last size is a multiple of 8.
//       CHECK: arith.constant 7 : index
//       CHECK: scf.if
//       CHECK:   vector.store %{{.+}}nontemporal = true
//       CHECK: else
//   CHECK-NOT:   nontemporal
//       CHECK: return
func.func @dynamic(%x: vector<8xf32>, %m: index, %n: index,
                   %r: memref<?x?xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to affine_map<()[s0] -> (s0 - s0 mod 8)>()[%n] step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<?x?xf32>, vector<8xf32>
    }
  }
  return
}

// Whole lines may go to many rows; blocks of them begin at multiples that the
// index of a parallel loop is taken apart to.
// CHECK-LABEL: func @lines
//       CHECK: scf.if
//       CHECK:   affine.parallel
// CHECK-COUNT-5:  vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//       CHECK: } else {
func.func @lines(%x: vector<16xf32>, %r: memref<1025x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (410) {
    %row = affine.apply affine_map<(d0) -> ((d0 floordiv 2) * 5)>(%i)
    %begin = affine.apply affine_map<(d0) -> ((d0 mod 2) * 256)>(%i)
    affine.for %j = affine_map<(d0) -> (d0)>(%begin)
                 to affine_map<(d0) -> (d0 + 256)>(%begin) step 16 {
      affine.vector_store %x, %r[%row, %j] : memref<1025x512xf32>, vector<16xf32>
      affine.vector_store %x, %r[%row + 1, %j] : memref<1025x512xf32>, vector<16xf32>
      affine.vector_store %x, %r[%row + 2, %j] : memref<1025x512xf32>, vector<16xf32>
      affine.vector_store %x, %r[%row + 3, %j] : memref<1025x512xf32>, vector<16xf32>
      affine.vector_store %x, %r[%row + 4, %j] : memref<1025x512xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @down
//       CHECK: vector.store %{{.+}} {alignment = 64 : i64, nontemporal = true}
func.func @down(%x: vector<16xf32>, %r: memref<8192x96xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %j = 0 to 96 step 16 {
    affine.for %i = 0 to 8192 {
      affine.vector_store %x, %r[%i, %j] : memref<8192x96xf32>, vector<16xf32>
    }
  }
  return
}

// Row i begins 4094 i + 2 elements behind an aligned one, so that -4094 i - 2, or
// 2 i + 14, modulo 16 elements of it come before the first line, and
// 4094 i + 2 + 4032, or 14 i + 2, behind the last one. Of 63 iterations
// (4032 - 15) / 64 = 62 fit wherever they begin; up to three lines, and less than one
// at either end, are left. Lanes of those that are not stored are not read.
// CHECK-LABEL: func @odd
//       CHECK: scf.if
//       CHECK:   affine.parallel (%[[I:.+]]) =
//       CHECK:     %[[LEAD:.+]] = affine.apply #[[$LEAD]](%[[I]])
//       CHECK:     arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : vector<16xi32>
//       CHECK:     %[[WORD:.+]] = arith.index_cast %[[LEAD]] : index to i32
//       CHECK:     %[[LIMIT:.+]] = vector.broadcast %[[WORD]]
//       CHECK:     %[[MASK:.+]] = arith.cmpi ult, %{{.+}}, %[[LIMIT]]
//   CHECK-NOT:     affine.prefetch
//       CHECK:     affine.vector_load %{{.+}}[%[[I]], %{{.+}} + 3]
//   CHECK-NOT:     affine.vector_load
//       CHECK:     vector.maskedstore %{{.+}}, %[[MASK]], %{{.+}}
//       CHECK:     affine.for %{{.+}} = #[[$LEAD]](%[[I]]) to #[[$END]](%[[I]]) step 64
//       CHECK:       affine.prefetch
// CHECK-COUNT-4:      vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//   CHECK-NOT:     nontemporal
//       CHECK:     affine.for %{{.+}} = #[[$END]](%[[I]]) to 4017 step 16
//   CHECK-NOT:       affine.prefetch
//       CHECK:       vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//   CHECK-NOT:     nontemporal
//       CHECK:     %[[TAIL:.+]] = affine.apply #[[$TAIL]](%[[I]])
//       CHECK:     affine.apply #[[$LAST]](%[[I]])
//       CHECK:     %[[WORD2:.+]] = arith.index_cast %[[TAIL]] : index to i32
//       CHECK:     %[[LIMIT2:.+]] = vector.broadcast %[[WORD2]]
//       CHECK:     %[[MASK2:.+]] = arith.cmpi ult, %{{.+}}, %[[LIMIT2]]
//       CHECK:     %[[GOT:.+]] = vector.maskedload %{{.+}}, %[[MASK2]], %{{.+}}
//       CHECK:     %[[TWICE:.+]] = arith.mulf %[[GOT]]
//       CHECK:     vector.maskedstore %{{.+}}, %[[MASK2]], %[[TWICE]]
//   CHECK-NOT:   affine.vector_store
//       CHECK: } else {
//   CHECK-NOT:   nontemporal
//       CHECK: return
func.func @odd(%a: memref<4096x4096xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  %two = arith.constant dense<2.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (4096) {
    affine.for %j = 0 to 4032 step 64 {
      affine.prefetch %a[%i, %j + 1027], read, locality<2>, data : memref<4096x4096xf32>
      %0 = affine.vector_load %a[%i, %j + 3] : memref<4096x4096xf32>, vector<16xf32>
      %1 = affine.vector_load %a[%i, %j + 19] : memref<4096x4096xf32>, vector<16xf32>
      %2 = affine.vector_load %a[%i, %j + 35] : memref<4096x4096xf32>, vector<16xf32>
      %3 = affine.vector_load %a[%i, %j + 51] : memref<4096x4096xf32>, vector<16xf32>
      %4 = arith.mulf %0, %two : vector<16xf32>
      %5 = arith.mulf %1, %two : vector<16xf32>
      %6 = arith.mulf %2, %two : vector<16xf32>
      %7 = arith.mulf %3, %two : vector<16xf32>
      affine.vector_store %4, %r[%i, %j + 2] : memref<4096x4094xf32>, vector<16xf32>
      affine.vector_store %5, %r[%i, %j + 18] : memref<4096x4094xf32>, vector<16xf32>
      affine.vector_store %6, %r[%i, %j + 34] : memref<4096x4094xf32>, vector<16xf32>
      affine.vector_store %7, %r[%i, %j + 50] : memref<4096x4094xf32>, vector<16xf32>
    }
  }
  return
}

// A vector more and one that is moved back to end with the row at 4072: as much of the
// row as the loop, by an iteration of which lines of it run on to there.
// CHECK-LABEL: func @odd_rest
//       CHECK: scf.if
//       CHECK:   affine.parallel (%[[I:.+]]) =
//       CHECK:     vector.maskedstore
//       CHECK:     affine.for %{{.+}} = #[[$LEAD]](%[[I]]) to #[[$REST]](%[[I]]) step 32
// CHECK-COUNT-2:      vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//   CHECK-NOT:     nontemporal
//       CHECK:     affine.for %{{.+}} = #[[$REST]](%[[I]]) to 4057 step 16
//       CHECK:       vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//   CHECK-NOT:     nontemporal
//       CHECK:     affine.apply #[[$BEHIND]](%[[I]])
//       CHECK:     affine.apply #[[$SINCE]](%[[I]])
//       CHECK:     vector.maskedstore
//   CHECK-NOT:   affine.vector_load
//   CHECK-NOT:   affine.vector_store
//       CHECK: } else {
//   CHECK-NOT:   nontemporal
//       CHECK: return
func.func @odd_rest(%a: memref<4096x4096xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (4096) {
    affine.for %j = 0 to 4032 step 32 {
      %0 = affine.vector_load %a[%i, %j + 3] : memref<4096x4096xf32>, vector<16xf32>
      %1 = affine.vector_load %a[%i, %j + 19] : memref<4096x4096xf32>, vector<16xf32>
      affine.vector_store %0, %r[%i, %j + 2] : memref<4096x4094xf32>, vector<16xf32>
      affine.vector_store %1, %r[%i, %j + 18] : memref<4096x4094xf32>, vector<16xf32>
    }
    %2 = affine.vector_load %a[%i, 4035] : memref<4096x4096xf32>, vector<16xf32>
    %3 = affine.vector_load %a[%i, 4051] : memref<4096x4096xf32>, vector<16xf32>
    %4 = affine.vector_load %a[%i, 4059] : memref<4096x4096xf32>, vector<16xf32>
    affine.vector_store %2, %r[%i, 4034] : memref<4096x4094xf32>, vector<16xf32>
    affine.vector_store %3, %r[%i, 4050] : memref<4096x4094xf32>, vector<16xf32>
    affine.vector_store %4, %r[%i, 4058] : memref<4096x4094xf32>, vector<16xf32>
  }
  return
}

// What borders the row is stored ordinarily, the row past the caches.
// CHECK-LABEL: func @border
//       CHECK: scf.if
//       CHECK:   affine.parallel
//       CHECK:     affine.vector_store %{{.+}} : memref<4096x4094xf32>, vector<2xf32>
//       CHECK:     affine.vector_store %{{.+}} : memref<4096x4094xf32>, vector<4xf32>
//       CHECK:     vector.maskedstore
//       CHECK:     affine.for
//       CHECK:       vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//       CHECK:     affine.for
//       CHECK:       vector.store {{.+}} {alignment = 64 : i64, nontemporal = true}
//       CHECK:     vector.maskedstore
//       CHECK: } else {
//   CHECK-NOT:   nontemporal
//       CHECK: return
func.func @border(%a: memref<4096x4096xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  %two = arith.constant dense<0.0> : vector<2xf32>
  %four = arith.constant dense<0.0> : vector<4xf32>
  affine.parallel (%i) = (0) to (4096) {
    affine.vector_store %two, %r[%i, 0] : memref<4096x4094xf32>, vector<2xf32>
    affine.vector_store %four, %r[%i, 4090] : memref<4096x4094xf32>, vector<4xf32>
    affine.for %j = 0 to 4080 step 16 {
      %0 = affine.vector_load %a[%i, %j + 3] : memref<4096x4096xf32>, vector<16xf32>
      affine.vector_store %0, %r[%i, %j + 2] : memref<4096x4094xf32>, vector<16xf32>
    }
  }
  return
}
