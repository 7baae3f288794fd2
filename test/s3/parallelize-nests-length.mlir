// Properties: a vector operation counts as one, of four that a core takes in a
// cycle: 211 thousand operations are long enough to be shared (@long), 192
// thousand are not (@short).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=20000 frequency-mhz=2500}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @long
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests{{.*}}cycles-per-iteration=8.250000e+02
func.func @long(%a: memref<64x16xf32>, %o: memref<64x16xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 1100 {
      %x = affine.vector_load %a[%i, 0] : memref<64x16xf32>, vector<16xf32>
      %y = math.fma %x, %x, %x : vector<16xf32>
      affine.vector_store %y, %o[%i, 0] : memref<64x16xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @short
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: [Missed] parallelize-nests{{.*}}the nest is too short
func.func @short(%a: memref<64x16xf32>, %o: memref<64x16xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 1000 {
      %x = affine.vector_load %a[%i, 0] : memref<64x16xf32>, vector<16xf32>
      %y = math.fma %x, %x, %x : vector<16xf32>
      affine.vector_store %y, %o[%i, 0] : memref<64x16xf32>, vector<16xf32>
    }
  }
  return
}
