// Properties: where loops inside begin at the outer one's variable and stay
// within its step, no question is put to the solver, however many stores there
// are (@blocks, also with a bound of several results, @minimum, two levels down,
// @nested, and backwards, @backwards); where they leave it the loop is not
// parallel (@overlap, @nested_overlap, @wide), nor where how far they get is not
// known (@unknown).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=0}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @blocks
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @blocks(%n: index, %v: vector<16xi8>,
                  %o: memref<?x?xi8> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %n step 64 {
    affine.for %j = 0 to %n step 4 {
      affine.for %k = affine_map<(i) -> (i)>(%i)
          to affine_map<(i) -> (i + 64)>(%i) step 16 {
        affine.vector_store %v, %o[%j, %k] : memref<?x?xi8>, vector<16xi8>
        affine.vector_store %v, %o[%j + 1, %k] : memref<?x?xi8>, vector<16xi8>
        affine.vector_store %v, %o[%j + 2, %k] : memref<?x?xi8>, vector<16xi8>
        affine.vector_store %v, %o[%j + 3, %k] : memref<?x?xi8>, vector<16xi8>
      }
    }
  }
  return
}

// CHECK-LABEL: func @minimum
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @minimum(%n: index, %v: i8, %o: memref<?x?xi8> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %n step 32 {
    affine.for %k = affine_map<(i) -> (i)>(%i)
        to min affine_map<(i)[n] -> (n, i + 32)>(%i)[%n] {
      affine.store %v, %o[%k, 0] : memref<?x?xi8>
      affine.store %v, %o[%k, 1] : memref<?x?xi8>
    }
  }
  return
}

// CHECK-LABEL: func @nested
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @nested(%n: index, %v: i8, %o: memref<?xi8> {polynest.result})
    attributes {polynest.entry} {
  // j reaches i + 48, k j + 15, and 64 - 63 are left.
  affine.for %i = 0 to %n step 64 {
    affine.for %j = affine_map<(i) -> (i)>(%i)
        to affine_map<(i) -> (i + 64)>(%i) step 16 {
      affine.for %k = affine_map<(j) -> (j)>(%j)
          to affine_map<(j) -> (j + 16)>(%j) {
        affine.store %v, %o[%k] : memref<?xi8>
      }
    }
  }
  return
}

// CHECK-LABEL: func @backwards
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @backwards(%n: index, %v: i8, %o: memref<?xi8> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %n step 8 {
    affine.for %k = affine_map<(i) -> (2 * i + 3)>(%i)
        to affine_map<(i) -> (2 * i + 19)>(%i) step 5 {
      affine.store %v, %o[3000 - %k] : memref<?xi8>
    }
  }
  return
}

// CHECK-LABEL: func @overlap
//       CHECK: affine.for %{{.+}} = 0 to %{{.+}} step
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
// REMARK-SAME: loop carries a dependence
func.func @overlap(%n: index, %v: vector<16xi8>,
                   %o: memref<?xi8> {polynest.result})
    attributes {polynest.entry} {
  // The last begins at i + 48 and ends behind i + 64.
  affine.for %i = 0 to %n step 60 {
    affine.for %k = affine_map<(i) -> (i)>(%i)
        to affine_map<(i) -> (i + 49)>(%i) step 16 {
      affine.vector_store %v, %o[%k] : memref<?xi8>, vector<16xi8>
    }
  }
  return
}

// CHECK-LABEL: func @nested_overlap
//       CHECK: affine.for %{{.+}} = 0 to %{{.+}} step
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @nested_overlap(%n: index, %v: i8, %o: memref<?xi8> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %n step 64 {
    affine.for %j = affine_map<(i) -> (i)>(%i)
        to affine_map<(i) -> (i + 64)>(%i) step 16 {
      affine.for %k = affine_map<(j) -> (j)>(%j)
          to affine_map<(j) -> (j + 17)>(%j) {
        affine.store %v, %o[%k] : memref<?xi8>
      }
    }
  }
  return
}

// CHECK-LABEL: func @wide
//       CHECK: affine.for %{{.+}} = 0 to %{{.+}} step
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @wide(%n: index, %v: i8, %o: memref<?xi8> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %n step 8 {
    affine.for %k = affine_map<(i) -> (i)>(%i)
        to affine_map<(i) -> (i + 8)>(%i) {
      affine.store %v, %o[%k] : memref<?xi8>
      affine.store %v, %o[%k + 1] : memref<?xi8>
    }
  }
  return
}

// CHECK-LABEL: func @unknown
//       CHECK: affine.for %{{.+}} = 0 to %{{.+}} step
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @unknown(%n: index, %m: index, %v: i8,
                   %o: memref<?xi8> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to %n step 8 {
    affine.for %k = affine_map<(i) -> (i)>(%i) to affine_map<()[m] -> (m)>()[%m] {
      affine.store %v, %o[%k] : memref<?xi8>
    }
  }
  return
}
