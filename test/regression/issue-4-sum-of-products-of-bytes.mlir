// Properties: a sum of 8 or 16 products of bytes, one with a sign and one without,
// is whole: of halves that get narrower LLVM 22 adds up the first four alone where
// the target has vpdpbusd. Sums of floats are folded in halves, in that order.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests))' | FileCheck %s
// RUN: polynestc run %s --entry bytes --check --seed 3
// RUN: polynestc run %s --entry more_bytes --check --seed 3

// CHECK-LABEL: func @bytes
//       CHECK: vector.reduction <add>, %{{.+}} : vector<8xi32> into i32
//       CHECK: return
func.func @bytes(%x: memref<8xi8>, %y: memref<8xi8>,
                 %z: memref<1xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 1 {
    %r = affine.for %k = 0 to 8 iter_args(%s = %zero) -> i32 {
      %a = affine.load %x[%k] : memref<8xi8>
      %b = affine.load %y[%k] : memref<8xi8>
      %c = arith.extui %a : i8 to i32
      %d = arith.extsi %b : i8 to i32
      %p = arith.muli %c, %d : i32
      %t = arith.addi %s, %p : i32
      affine.yield %t : i32
    }
    affine.store %r, %z[%i] : memref<1xi32>
  }
  return
}

// CHECK-LABEL: func @more_bytes
//       CHECK: vector.reduction <add>
//       CHECK: return
func.func @more_bytes(%x: memref<16xi8>, %y: memref<16xi8>,
                      %z: memref<1xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 1 {
    %r = affine.for %k = 0 to 16 iter_args(%s = %zero) -> i32 {
      %a = affine.load %x[%k] : memref<16xi8>
      %b = affine.load %y[%k] : memref<16xi8>
      %c = arith.extui %a : i8 to i32
      %d = arith.extsi %b : i8 to i32
      %p = arith.muli %c, %d : i32
      %t = arith.addi %s, %p : i32
      affine.yield %t : i32
    }
    affine.store %r, %z[%i] : memref<1xi32>
  }
  return
}

// CHECK-LABEL: func @floats
//   CHECK-NOT: vector.reduction
//       CHECK: vector.shuffle {{.+}} [0, 1] : vector<4xf32>
//   CHECK-NOT: vector.reduction
//       CHECK: return
func.func @floats(%x: memref<8xf32>, %z: memref<1xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1 {
    %r = affine.for %k = 0 to 8 iter_args(%s = %zero) -> f32 {
      %a = affine.load %x[%k] : memref<8xf32>
      %t = arith.addf %s, %a : f32
      affine.yield %t : f32
    }
    affine.store %r, %z[%i] : memref<1xf32>
  }
  return
}
