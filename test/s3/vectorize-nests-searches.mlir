// Properties: a value and its place are searched in lanes: of two vectors that value
// is taken that is better, of equals the first place (@first), or the last where the
// last equal one is taken (@last). Conditions are read by what they say: NaN that is
// never taken (@numbers), inverted selections (@inverted), maxima as values
// (@maximum), integers. Declined are conditions that put no order on numbers (@any,
// @beside), places that do not ascend (@descends), values that are seen inside
// (@seen), and a last place that could be in front of where it begins (@begins).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=256}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: %npy %t.npy f4 "61" "3 nan 1 -inf 0 -0.0 inf 2 2 nan -inf 5 5"
// RUN: %npy %t.ties.npy f4 "61" "1 0 -0.0 1 -inf 1 0.5"
// RUN: %npy %t.low.npy f4 "61" "-inf"
// RUN: polynestc run --check %s --entry first --input %t.npy
// RUN: polynestc run --check %s --entry first --input %t.ties.npy
// RUN: polynestc run --check %s --entry first --input %t.low.npy
// RUN: polynestc run --check %s --entry last --input %t.npy
// RUN: polynestc run --check %s --entry last --input %t.ties.npy
// RUN: polynestc run --check %s --entry last --input %t.low.npy
// RUN: polynestc run --check %s --entry numbers --input %t.npy
// RUN: polynestc run --check %s --entry numbers --input %t.ties.npy
// RUN: polynestc run --check %s --entry inverted --input %t.npy
// RUN: polynestc run --check %s --entry inverted --input %t.ties.npy
// RUN: polynestc run --check %s --entry maximum --input %t.npy
// RUN: polynestc run --check %s --entry maximum --input %t.ties.npy

// CHECK-LABEL: func @first
//       CHECK:   %[[R:.+]]:4 = affine.for
//  CHECK-SAME:   -> (vector<8xf32>, vector<8xf32>, vector<8xi32>, vector<8xi32>)
//       CHECK:   arith.cmpf ugt, %[[R]]#1, %[[R]]#0 : vector<8xf32>
//       CHECK:   arith.cmpf ugt, %[[R]]#0, %[[R]]#1 : vector<8xf32>
//       CHECK:   arith.cmpi slt, %[[R]]#3, %[[R]]#2 : vector<8xi32>
//       CHECK:   arith.select %{{.+}}, %[[R]]#1, %[[R]]#0 : vector<8xi1>, vector<8xf32>
//       CHECK:   arith.select %{{.+}}, %[[R]]#3, %[[R]]#2 : vector<8xi1>, vector<8xi32>
//       CHECK: return
//      REMARK: reduction runs in lanes
func.func @first(%X: memref<61xf32>, %Y: memref<i32> {polynest.result},
                 %Z: memref<f32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %c0) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %g = arith.cmpf ugt, %x, %m : f32
    %o = arith.cmpf ord, %m, %m : f32
    %t = arith.andi %g, %o : i1
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  affine.store %r#0, %Z[] : memref<f32>
  return
}

// CHECK-LABEL: func @last
//       CHECK:   arith.cmpi slt, %{{.+}} : vector<8xi32>
//       CHECK:   arith.cmpi sgt, %{{.+}} : vector<8xi32>
//       CHECK: return
//      REMARK: reduction runs in lanes
func.func @last(%X: memref<61xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %c0) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %g = arith.cmpf oge, %x, %m : f32
    %u = arith.cmpf uno, %x, %x : f32
    %t = arith.ori %g, %u : i1
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @numbers
//       CHECK:   vector<4xi64>
//       CHECK: return
//      REMARK: reduction runs in lanes
func.func @numbers(%X: memref<61xf32>, %Y: memref<i64> {polynest.result}) {
  %high = arith.constant 0x7F800000 : f32
  %none = arith.constant 77 : i64
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %high, %p = %none) -> (f32, i64) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf olt, %x, %m : f32
    %k = arith.index_cast %j : index to i64
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i64
    affine.yield %v, %q : f32, i64
  }
  affine.store %r#1, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @inverted
//       CHECK:   arith.xori
//       CHECK: return
//      REMARK: reduction runs in lanes
func.func @inverted(%X: memref<61xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %c0) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf uge, %m, %x : f32
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %m, %x : f32
    %q = arith.select %t, %p, %k : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @maximum
//       CHECK:   %[[R:.+]]:4 = affine.for
//       CHECK:   arith.maximumf %[[R]]#0, %[[R]]#1 : vector<8xf32>
//       CHECK: return
//      REMARK: reduction runs in lanes
func.func @maximum(%X: memref<61xf32>, %Y: memref<i32> {polynest.result},
                   %Z: memref<f32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %c0) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %g = arith.cmpf ugt, %x, %m : f32
    %o = arith.cmpf ord, %m, %m : f32
    %t = arith.andi %g, %o : i1
    %k = arith.index_cast %j : index to i32
    %v = arith.maximumf %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  affine.store %r#0, %Z[] : memref<f32>
  return
}

// CHECK-LABEL: func @any
//   CHECK-NOT:   vector<
//       CHECK: return
//      REMARK: loop carries a value that is no reduction
func.func @any(%X: memref<61xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %begin = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %begin) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf one, %x, %m : f32
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @beside
//   CHECK-NOT:   vector<
//       CHECK: return
//      REMARK: loop carries a value that is no reduction
func.func @beside(%X: memref<61xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %begin = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %begin) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf ugt, %x, %m : f32
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @descends
//   CHECK-NOT:   vector<
//       CHECK: return
//      REMARK: loop carries a value that is no reduction
func.func @descends(%X: memref<61xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %begin = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %begin) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf ogt, %x, %m : f32
    %d = affine.apply affine_map<(j) -> (60 - j)>(%j)
    %k = arith.index_cast %d : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @begins
//   CHECK-NOT:   vector<
//       CHECK: return
//      REMARK: loop carries a value that is no reduction
func.func @begins(%X: memref<61xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %begin = arith.constant 61 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %begin) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf oge, %x, %m : f32
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @seen
//   CHECK-NOT:   vector<
//       CHECK: return
//      REMARK: loop carries a value that is no reduction
func.func @seen(%X: memref<61xf32>, %Y: memref<i32> {polynest.result},
                %Z: memref<61xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %begin = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 61 iter_args(%m = %low, %p = %begin) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<61xf32>
    %t = arith.cmpf ogt, %x, %m : f32
    affine.store %m, %Z[%j] : memref<61xf32>
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}
