// Properties: vector stores to a large result become non-temporal in the branch
// that is taken when the result is aligned to its vectors (@rows), also as the
// body of a parallel loop (@merged) and from two rows at once (@two_rows); of
// dynamic size, when it is large enough, too, and its rows are whole vectors
// (@dynamic); from many rows where vectors are whole lines (@lines). A second run
// changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=1024}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=1024},polynest-stream-stores{threshold-kib=1024}))' | FileCheck %s

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
