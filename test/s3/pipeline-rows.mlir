// Properties: the last loop of a row, which streams, runs with the exponentials of
// the next, in front of what each iteration does there, and the sum is carried; rows
// run in blocks as even as they can be, and the grain counts blocks (@softmax). Loops that no
// cores share have one block; what stands behind the last loop comes along (@serial). Indices
// are made anew for the row before (@place). The first loop of a row runs with the
// exponentials of the row before, behind what each iteration does there, and asks for rows
// further on; the first row of a block begins alone, its last one leads to none (@ahead), but
// not where rows are stored there (@both). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-pipeline-rows))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-pipeline-rows))' | diff %t.once -

//   CHECK-DAG: #[[$BEGIN:.+]] = affine_map<(d0) -> ((d0 * 300) floordiv 64)>
//   CHECK-DAG: #[[$SECOND:.+]] = affine_map<(d0) -> ((d0 * 300) floordiv 64 + 1)>
//   CHECK-DAG: #[[$END:.+]] = affine_map<(d0) -> ((d0 * 300 + 300) floordiv 64)>
//   CHECK-DAG: #[[$LAST:.+]] = affine_map<(d0) -> ((d0 * 300 + 300) floordiv 64 - 1)>
//   CHECK-DAG: #[[$BEFORE:.+]] = affine_map<(d0) -> (d0 - 1)>
//   CHECK-DAG: #[[$BEHIND:.+]] = affine_map<(d0) -> (d0 + 1)>
//   CHECK-DAG: #[[$TWICE:.+]] = affine_map<(d0) -> (d0 * 2)>

// CHECK-LABEL: func @softmax
//  CHECK-SAME: %[[X:.+]]: memref<300x1024xf32>, %[[R:.+]]: memref<300x1024xf32>
//       CHECK: affine.parallel (%[[B:.+]]) = (0) to (64) {
//  CHECK-NEXT:   %[[E:.+]] = memref.alloca()
//  CHECK-NEXT:   %[[FIRST:.+]] = affine.apply #[[$BEGIN]](%[[B]])
//       CHECK:   affine.for
//       CHECK:     affine.vector_load %[[X]][%[[FIRST]], %{{.+}}]
//       CHECK:   %[[S0:.+]] = affine.for
//       CHECK:     affine.vector_store %{{.+}}, %[[E]]
//       CHECK:   %[[SN:.+]] = affine.for %[[I:.+]] = #[[$SECOND]](%[[B]]) to #[[$END]](%[[B]]) iter_args(%[[C:.+]] = %[[S0]])
//       CHECK:     %[[H:.+]] = affine.apply #[[$BEFORE]](%[[I]])
//       CHECK:     affine.for
//       CHECK:       affine.vector_load %[[X]][%[[I]], %{{.+}}]
//       CHECK:     %[[S:.+]] = affine.for %[[J:.+]] = 0 to 1024 step 16 iter_args
//  CHECK-NEXT:       %[[P:.+]] = affine.vector_load %[[E]][%[[J]]]
//  CHECK-NEXT:       %[[Q:.+]] = arith.divf %[[P]], %[[C]]
//  CHECK-NEXT:       vector.store %[[Q]], %[[R]][%[[H]], %[[J]]] {alignment = 64 : i64, nontemporal = true}
//  CHECK-NEXT:       affine.vector_load %[[X]][%[[I]], %[[J]]]
//       CHECK:       affine.vector_store %{{.+}}, %[[E]][%[[J]]]
//       CHECK:     affine.yield %[[S]]
//       CHECK:   %[[Z:.+]] = affine.apply #[[$LAST]](%[[B]])
//  CHECK-NEXT:   affine.for
//       CHECK:     arith.divf %{{.+}}, %[[SN]]
//       CHECK:     vector.store %{{.+}}, %[[R]][%[[Z]], %{{.+}}]
// 10 * 64 / 300.
//       CHECK: } {polynest.grain = 2 : i64}
//      REMARK: [Passed] pipeline-rows
// REMARK-SAME: blocks=64, carried=1, reason="rows stored while the next are computed", rows=300
func.func @softmax(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  } {polynest.grain = 10 : i64}
  return
}

// CHECK-LABEL: func @serial
//   CHECK-NOT: affine.parallel
//       CHECK: affine.for %[[I:.+]] = 2 to 9 iter_args
//       CHECK:   %[[H:.+]] = affine.apply #[[$BEFORE]](%[[I]])
//       CHECK:   affine.for %{{.+}} = 0 to 1024 step 32 iter_args
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 16 iter_args
//       CHECK:     vector.store %{{.+}}, %{{.+}}[%[[H]], %[[J]]]
//       CHECK:     math.exp
//       CHECK:     affine.yield
//       CHECK:   affine.vector_store %{{.+}}, %{{.+}}[%[[H]], 1024]
//       CHECK:   math.exp
//       CHECK:   affine.vector_store %{{.+}}, %{{.+}}[1024]
//       CHECK:   affine.yield
//       CHECK: }
//      REMARK: [Passed] pipeline-rows
// REMARK-SAME: blocks=1, carried=1, reason="rows stored while the next are computed", rows=8
func.func @serial(%x: memref<9x1040xf32>, %r: memref<9x1040xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 1 to 9 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1040xf32>
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<9x1040xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<9x1040xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1040xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %x1 = affine.vector_load %x[%i, 1024] : memref<9x1040xf32>, vector<16xf32>
    %p1 = math.exp %x1 : vector<16xf32>
    affine.vector_store %p1, %e[1024] : memref<1040xf32>, vector<16xf32>
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1040xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<9x1040xf32>, vector<16xf32>
    }
    %p2 = affine.vector_load %e[1024] : memref<1040xf32>, vector<16xf32>
    %q2 = arith.divf %p2, %s : vector<16xf32>
    affine.vector_store %q2, %r[%i, 1024] : memref<9x1040xf32>, vector<16xf32>
  }
  return
}

// CHECK-LABEL: func @place
//       CHECK: affine.for %[[I:.+]] = 1 to 8 iter_args
//       CHECK:   %[[H:.+]] = affine.apply #[[$BEFORE]](%[[I]])
//       CHECK:   %[[K:.+]] = affine.apply #[[$TWICE]](%[[H]])
//       CHECK:   affine.apply #[[$TWICE]](%[[I]])
//       CHECK:   vector.store %{{.+}}, %{{.+}}[%[[K]], %{{.+}}]
//       CHECK:   math.exp
//      REMARK: [Passed] pipeline-rows
// REMARK-SAME: blocks=1, carried=1, reason="rows stored while the next are computed", rows=8
func.func @place(%x: memref<16x1024xf32>, %r: memref<16x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 8 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %k = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    %m = affine.for %j = 0 to 1024 step 32 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%k, %j] : memref<16x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%k, %j] : memref<16x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%k, %j] {alignment = 64 : i64, nontemporal = true} : memref<16x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @ahead
//  CHECK-SAME: %[[X:.+]]: memref<300x1024xf32>, %[[R:.+]]: memref<300xf32>
//       CHECK: affine.parallel (%[[B:.+]]) = (0) to (64) {
//  CHECK-NEXT:   %[[FIRST:.+]] = affine.apply #[[$BEGIN]](%[[B]])
//  CHECK-NEXT:   affine.for
//  CHECK-NEXT:     affine.vector_load %[[X]][%[[FIRST]], %{{.+}}]
//       CHECK:   %[[M0:.+]] = vector.reduction
//  CHECK-NEXT:   %[[MN:.+]] = affine.for %[[I:.+]] = #[[$BEGIN]](%[[B]]) to #[[$LAST]](%[[B]]) iter_args(%[[M:.+]] = %[[M0]])
//  CHECK-NEXT:     %[[N:.+]] = affine.apply #[[$BEHIND]](%[[I]])
//  CHECK-NEXT:     %[[S:.+]]:2 = affine.for %[[J:.+]] = 0 to 1024 step 16 iter_args
// 16384 bytes are four rows, and the next one is asked for without.
//  CHECK-NEXT:       affine.prefetch %[[X]][%[[I]] + 5, %[[J]]]
//  CHECK-NEXT:       affine.vector_load %[[X]][%[[I]], %[[J]]]
//  CHECK-NEXT:       vector.broadcast %[[M]]
//       CHECK:       math.exp
//       CHECK:       affine.vector_load %[[X]][%[[N]], %[[J]]]
//  CHECK-NEXT:       arith.maximumf
//       CHECK:     %[[M1:.+]] = vector.reduction <maximumf>, %[[S]]#1
//       CHECK:     affine.store %{{.+}}, %[[R]][%[[I]]]
//  CHECK-NEXT:     affine.yield %[[M1]]
//       CHECK:   %[[Z:.+]] = affine.apply #[[$LAST]](%[[B]])
//  CHECK-NEXT:   affine.for
//   CHECK-NOT:     arith.maximumf
//       CHECK:   affine.store %{{.+}}, %[[R]][%[[Z]]]
//      REMARK: [Passed] pipeline-rows
// REMARK-SAME: ahead=4, blocks=64, carried=1, reason="rows begun while those before are computed", rows=300
func.func @ahead(%x: memref<300x1024xf32>, %t: memref<300xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.parallel (%i) = (0) to (300) {
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %g = vector.reduction <maximumf>, %m : vector<16xf32> into f32
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      affine.prefetch %x[%i + 1, %j], read, locality<2>, data : memref<300x1024xf32>
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %w = vector.broadcast %g : f32 to vector<16xf32>
      %d = arith.subf %a, %w : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %n = vector.reduction <add>, %s : vector<16xf32> into f32
    %l = math.log %n : f32
    %r = arith.addf %g, %l : f32
    affine.store %r, %t[%i] : memref<300xf32>
  } {polynest.grain = 10 : i64}
  return
}

// CHECK-LABEL: func @both
//  CHECK-SAME: %[[X:.+]]: memref<300x1024xf32>, %[[R:.+]]: memref<300x1024xf32>
//       CHECK: %[[E:.+]] = memref.alloca()
//       CHECK: affine.for %[[I:.+]] = 1 to 300 iter_args(%{{.+}} = %{{.+}}) -> (vector<16xf32>) {
//       CHECK:   %[[M:.+]] = affine.for
//  CHECK-NEXT:     affine.vector_load %[[X]][%[[I]], %{{.+}}]
//  CHECK-NEXT:     arith.maximumf
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 16
//  CHECK-NEXT:     affine.vector_load %[[E]][%[[J]]]
//       CHECK:     vector.store
//  CHECK-NEXT:     affine.vector_load %[[X]][%[[I]], %[[J]]]
//  CHECK-NEXT:     arith.subf %{{.+}}, %[[M]]
//       CHECK:     affine.vector_store %{{.+}}, %[[E]][%[[J]]]
//   CHECK-NOT:     arith.maximumf
//       CHECK: return
//      REMARK: blocks=1, carried=1, reason="rows stored while the next are computed", rows=300
//  REMARK-NOT: rows begun
func.func @both(%x: memref<300x1024xf32>, %r: memref<300x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant dense<0xFF800000> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 300 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 step 16 iter_args(%c = %least) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %b = arith.maximumf %a, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%c = %zero) -> vector<16xf32> {
      %a = affine.vector_load %x[%i, %j] : memref<300x1024xf32>, vector<16xf32>
      %d = arith.subf %a, %m : vector<16xf32>
      %p = math.exp %d : vector<16xf32>
      affine.vector_store %p, %e[%j] : memref<1024xf32>, vector<16xf32>
      %b = arith.addf %p, %c : vector<16xf32>
      affine.yield %b : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %p = affine.vector_load %e[%j] : memref<1024xf32>, vector<16xf32>
      %q = arith.divf %p, %s : vector<16xf32>
      vector.store %q, %r[%i, %j] {alignment = 64 : i64, nontemporal = true} : memref<300x1024xf32>, vector<16xf32>
    }
  }
  return
}
