// Properties: rows are turned in registers where sums leave room for a square
// (@room: one sum and 16 rows in 32 registers) and the reduction runs in lanes
// where they do not (@full: 16 sums and 16 rows); two squares at once where rows of
// both are one vector (@two) and none would be left over (@odd).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions{vector-registers=32 l2-size-kib=1024},polynest-vectorize-nests{vector-width-bits=512 vector-registers=32}))' | FileCheck %s

// CHECK-LABEL: func @room
//       CHECK: affine.for %{{.+}} = 0 to 32 step 16 iter_args(
//       CHECK: vector.shuffle
//       CHECK: vector.fma
//       CHECK: affine.yield
//       CHECK: return
func.func @room(%a: memref<32xf32>, %b: memref<10240x32xf32>,
                %c: memref<10240xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %j = 0 to 10240 {
    %sum = affine.for %k = 0 to 32 iter_args(%s = %zero) -> (f32) {
      %x = affine.load %a[%k] : memref<32xf32>
      %y = affine.load %b[%j, %k] : memref<10240x32xf32>
      %m = arith.mulf %x, %y : f32
      %n = arith.addf %s, %m : f32
      affine.yield %n : f32
    }
    affine.store %sum, %c[%j] : memref<10240xf32>
  }
  return
}

// CHECK-LABEL: func @full
//       CHECK: affine.for %[[K:.+]] = 0 to 256 step 16 iter_args(
//   CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: affine.vector_load {{.*}} vector<16xf32>
//   CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.fma
//       CHECK: affine.yield
//       CHECK: return
func.func @full(%a: memref<4x256xf32>, %b: memref<10240x256xf32>,
                %c: memref<4x10240xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 10240 {
      %sum = affine.for %k = 0 to 256 iter_args(%s = %zero) -> (f32) {
        %x = affine.load %a[%i, %k] : memref<4x256xf32>
        %y = affine.load %b[%j, %k] : memref<10240x256xf32>
        %m = arith.mulf %x, %y : f32
        %n = arith.addf %s, %m : f32
        affine.yield %n : f32
      }
      affine.store %sum, %c[%i, %j] : memref<4x10240xf32>
    }
  }
  return
}

// Sums of f64 leave 8 lanes; rows of twice as many f32 are one vector and one
// line. Two squares are turned at once, in 128 bits each, before rows 4 to 7 join
// the others.
// CHECK-LABEL: func @two
//       CHECK: affine.for %[[I:.+]] = 0 to 64 step 8
//       CHECK: affine.for %[[J:.+]] = 0 to 48 step 16 iter_args({{.+}}) -> (vector<8xf64>)
// CHECK-COUNT-8: affine.vector_load %{{.+}}, %[[J]]] : memref<64x48xf32>, vector<16xf32>
//       CHECK: vector.shuffle %{{.+}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
//       CHECK: %[[T:.+]] = vector.shuffle %{{.+}} [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23]
//       CHECK: vector.shuffle %[[T]], %[[T]] [0, 1, 2, 3, 4, 5, 6, 7]
//       CHECK: vector.shuffle %[[T]], %[[T]] [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK-COUNT-16: arith.truncf
//       CHECK: vector.shuffle %{{.+}} [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
// CHECK-COUNT-8: affine.vector_store {{.+}} vector<16xf32>
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @two(%x: memref<64x48xf32>, %y: memref<64x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f64
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 iter_args(%s = %zero) -> (f64) {
      %a = affine.load %x[%i, %j] : memref<64x48xf32>
      %b = arith.extf %a : f32 to f64
      %n = arith.addf %s, %b : f64
      %t = arith.truncf %n : f64 to f32
      affine.store %t, %y[%i, %j] : memref<64x48xf32>
      affine.yield %n : f64
    }
  }
  return
}

// 40 columns are 5 squares; two at once would leave 8 columns one by one.
// CHECK-LABEL: func @odd
//       CHECK: affine.for %{{.+}} = 0 to 40 step 8 iter_args(
//       CHECK: affine.vector_load {{.+}} vector<8xf32>
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @odd(%x: memref<64x40xf32>, %y: memref<64x40xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f64
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 40 iter_args(%s = %zero) -> (f64) {
      %a = affine.load %x[%i, %j] : memref<64x40xf32>
      %b = arith.extf %a : f32 to f64
      %n = arith.addf %s, %b : f64
      %t = arith.truncf %n : f64 to f32
      affine.store %t, %y[%i, %j] : memref<64x40xf32>
      affine.yield %n : f64
    }
  }
  return
}
