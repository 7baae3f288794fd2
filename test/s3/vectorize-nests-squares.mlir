// Properties: rows are turned in registers where sums leave room for a square
// (@room: one sum and 16 rows in 32 registers) and the reduction runs in lanes
// where they do not (@full: 16 sums and 16 rows).
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
