// Properties: a long nest gets one parallel loop with a grain (@rows), a short
// one stays serial (@short); two loops are merged where the outer has few
// iterations, and the index is taken apart outside of the inner loop (@merged);
// only inner loops of a sequential one are shared (@inner), also in scf.for
// (@region); steps and offsets are counted away (@step); a dynamic size is
// taken as it is (@dynamic); buffers in the body stay private (@private).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests,polynest-parallelize-nests))' | FileCheck %s

// CHECK-DAG: #[[$OUTER:.+]] = affine_map<(d0) -> (d0 floordiv 300)>
// CHECK-DAG: #[[$INNER:.+]] = affine_map<(d0) -> (d0 mod 300)>
// CHECK-DAG: #[[$STEP:.+]] = affine_map<(d0) -> (d0 * 3 + 2)>

// CHECK-LABEL: func @rows
//       CHECK: affine.parallel (%[[I:.+]]) = (0) to (1024) {
//       CHECK:   affine.for %[[J:.+]] = 0 to 1000
//       CHECK:     affine.store %{{.+}}[%[[I]], %[[J]]]
//       CHECK: } {polynest.grain = [[#]] : i64}
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
// REMARK-SAME: iterations=1024, merged-loops=1, reason="loop made parallel"
func.func @rows(%x: memref<1024x1000xf32>,
                %o: memref<1024x1000xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1000 {
      %a = affine.load %x[%i, %j] : memref<1024x1000xf32>
      %b = arith.mulf %a, %a : f32
      affine.store %b, %o[%i, %j] : memref<1024x1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @short
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: reason="the nest is too short"
func.func @short(%x: memref<64xf32>, %o: memref<64xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    %a = affine.load %x[%i] : memref<64xf32>
    affine.store %a, %o[%i] : memref<64xf32>
  }
  return
}

// 4 * 300 = 1200 iterations.
// CHECK-LABEL: func @merged
//       CHECK: affine.parallel (%[[N:.+]]) = (0) to (1200) {
//   CHECK-DAG:   %[[I:.+]] = affine.apply #[[$OUTER]](%[[N]])
//   CHECK-DAG:   %[[J:.+]] = affine.apply #[[$INNER]](%[[N]])
//       CHECK:   affine.for %[[K:.+]] = 0 to 500
//       CHECK:     affine.load %{{.+}}[%[[I]], %[[J]], %[[K]]]
//       CHECK: return
//      REMARK: iterations=1200, merged-loops=2
func.func @merged(%x: memref<4x300x500xf32>,
                  %o: memref<4x300xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 300 {
      affine.for %k = 0 to 500 {
        %a = affine.load %x[%i, %j, %k] : memref<4x300x500xf32>
        %b = affine.load %o[%i, %j] : memref<4x300xf32>
        %c = arith.addf %a, %b : f32
        affine.store %c, %o[%i, %j] : memref<4x300xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @inner
//       CHECK: affine.for
//       CHECK:   affine.parallel
//       CHECK:     affine.for
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
func.func @inner(%o: memref<100x512x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %t = 1 to 100 {
    affine.for %i = 0 to 512 {
      affine.for %j = 0 to 512 {
        %a = affine.load %o[%t - 1, %i, %j] : memref<100x512x512xf32>
        %b = math.exp %a : f32
        affine.store %b, %o[%t, %i, %j] : memref<100x512x512xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @region
//       CHECK: scf.for
//       CHECK:   affine.parallel
//       CHECK: return
func.func @region(%o: memref<1024x1000xf32> {polynest.result}, %n: index)
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %t = %c0 to %n step %c1 {
    affine.for %i = 0 to 1024 {
      affine.for %j = 0 to 1000 {
        %a = affine.load %o[%i, %j] : memref<1024x1000xf32>
        %b = math.exp %a : f32
        affine.store %b, %o[%i, %j] : memref<1024x1000xf32>
      }
    }
  }
  return
}

// From 2 to 1024 by 3: ceil(1022 / 3) = 341.
// CHECK-LABEL: func @step
//       CHECK: affine.parallel (%[[N:.+]]) = (0) to (341) {
//       CHECK:   affine.apply #[[$STEP]](%[[N]])
//       CHECK: return
func.func @step(%o: memref<1024x1000xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 2 to 1024 step 3 {
    affine.for %j = 0 to 1000 {
      %a = affine.load %o[%i, %j] : memref<1024x1000xf32>
      %b = math.exp %a : f32
      affine.store %b, %o[%i, %j] : memref<1024x1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: affine.parallel (%{{.+}}) = (0) to (symbol(%{{.+}})) {
//       CHECK: return
func.func @dynamic(%o: memref<?x1000xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %o, %c0 : memref<?x1000xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 1000 {
      %a = affine.load %o[%i, %j] : memref<?x1000xf32>
      %b = math.exp %a : f32
      affine.store %b, %o[%i, %j] : memref<?x1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @private
//       CHECK: affine.parallel
//       CHECK:   memref.alloca
//       CHECK: return
func.func @private(%x: memref<1024x1000xf32>,
                   %o: memref<1024x1000xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    %t = memref.alloca() : memref<1000xf32>
    affine.for %j = 0 to 1000 {
      %a = affine.load %x[%i, %j] : memref<1024x1000xf32>
      affine.store %a, %t[%j] : memref<1000xf32>
    }
    affine.for %j = 0 to 1000 {
      %a = affine.load %t[999 - %j] : memref<1000xf32>
      %b = math.exp %a : f32
      affine.store %b, %o[%i, %j] : memref<1024x1000xf32>
    }
  }
  return
}
