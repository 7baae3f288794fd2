// Properties: where loops inside begin at the outer one's variable and stay
// within its step, no question is put to the solver, however many stores there
// are (@blocks, also with a bound of several results, @minimum, two levels down,
// @nested, and backwards, @backwards), or where conditions and bounds that move
// with other loops keep them there (@panels, @images), or the last iteration is
// too close (@apart); where they leave it the loop is not parallel (@overlap,
// @nested_overlap, @wide, @panels_overlap, @images_overlap, @apart_overlap), nor
// where how far they get is not known (@unknown).
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

// The last panel of 32 columns has 28: what a condition says about j, and a
// bound about l, keeps the columns of a block below 220, and with them l, which
// is one step of 16 before a bound that is whole steps.
// CHECK-LABEL: func @panels
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @panels(%v: vector<16xf32>, %s: f32,
                  %o: memref<440xf32> {polynest.result},
                  %c: memref<2xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %b = 0 to 2 {
    affine.store %s, %c[%b] : memref<2xf32>
    affine.for %j = 0 to 220 step 32 {
      affine.if affine_set<(j) : (188 - j >= 0)>(%j) {
        affine.vector_store %v, %o[%b * 220 + %j] : memref<440xf32>, vector<16xf32>
        affine.vector_store %v, %o[%b * 220 + %j + 16] : memref<440xf32>, vector<16xf32>
      } else {
        affine.for %l = 0 to affine_map<(j) -> (((220 - j) floordiv 16) * 16)>(%j)
            step 16 {
          affine.vector_store %v, %o[%b * 220 + %j + %l] : memref<440xf32>, vector<16xf32>
        }
        affine.for %l = 0 to min affine_map<(j) -> (32, 220 - j)>(%j) {
          affine.store %s, %o[%b * 220 + %j + %l] : memref<440xf32>
        }
      }
    }
  }
  return
}

// Two images of 49 elements each: i + ii stays below 98, and its quotient is 0
// or 1.
// CHECK-LABEL: func @images
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @images(%s: f32, %o: memref<8x7x7xf32> {polynest.result},
                  %c: memref<4xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %b = 0 to 4 {
    affine.store %s, %c[%b] : memref<4xf32>
    affine.for %i = 0 to 98 step 9 {
      affine.for %ii = 0 to min affine_map<(i) -> (9, 98 - i)>(%i) {
        affine.store %s, %o[%b * 2 + (%i + %ii) floordiv 49,
            ((%i + %ii) floordiv 7) mod 7, (%i + %ii) mod 7] : memref<8x7x7xf32>
      }
    }
  }
  return
}

// Elements 8 apart are never the same ones: j gets from 0 to 7.
// CHECK-LABEL: func @apart
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
//  REMARK-NOT: questions
func.func @apart(%s: f32, %o: memref<80xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %j = 0 to 8 {
    affine.for %k = 0 to 4 {
      affine.store %s, %o[%j] : memref<80xf32>
      affine.store %s, %o[%j + 8] : memref<80xf32>
      affine.store %s, %o[%j + 16] : memref<80xf32>
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

// j may be 192, and the second vector ends at 224.
// CHECK-LABEL: func @panels_overlap
//       CHECK: affine.for %{{.+}} = 0 to 2 {
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @panels_overlap(%v: vector<16xf32>,
                          %o: memref<500xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %b = 0 to 2 {
    affine.for %j = 0 to 220 step 32 {
      affine.if affine_set<(j) : (192 - j >= 0)>(%j) {
        affine.vector_store %v, %o[%b * 220 + %j] : memref<500xf32>, vector<16xf32>
        affine.vector_store %v, %o[%b * 220 + %j + 16] : memref<500xf32>, vector<16xf32>
      }
    }
  }
  return
}

// i + ii reaches 98, the next block's first element.
// CHECK-LABEL: func @images_overlap
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @images_overlap(%s: f32, %o: memref<9x7x7xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 98 step 9 {
      affine.for %ii = 0 to min affine_map<(i) -> (9, 99 - i)>(%i) {
        affine.store %s, %o[%b * 2 + (%i + %ii) floordiv 49,
            ((%i + %ii) floordiv 7) mod 7, (%i + %ii) mod 7] : memref<9x7x7xf32>
      }
    }
  }
  return
}

// Nor are those 8 apart where j gets to 8.
// CHECK-LABEL: func @apart_overlap
//       CHECK: affine.for %{{.+}} = 0 to 9 {
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @apart_overlap(%s: f32, %o: memref<80xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %j = 0 to 9 {
    affine.for %k = 0 to 4 {
      affine.store %s, %o[%j] : memref<80xf32>
      affine.store %s, %o[%j + 8] : memref<80xf32>
    }
  }
  return
}
