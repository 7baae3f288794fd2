// Properties: plain against optimized where the buffer that is computed again has
// one element more than the input, whose size is not known: of none, of one and of
// several elements, with sums that wrap around.
// RUN: polynestc compile --stage s3 %s | FileCheck %s --implicit-check-not=memref.alloc
// RUN: %npy %t.0.npy i8 "0" ""
// RUN: %npy %t.1.npy i8 "1" "5"
// RUN: %npy %t.33.npy i8 "33" "5 -3 9223372036854775807"
// RUN: polynestc run --check %s --entry longer --input %t.0.npy
// RUN: polynestc run --check %s --entry longer --input %t.1.npy
// RUN: polynestc run --check %s --entry longer --input %t.33.npy

// CHECK-LABEL: func.func @longer
//       CHECK: affine.for
func.func @longer(%x: memref<?xi64>, %r: memref<1xi64> {polynest.result}) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 7 : i64
  %n = memref.dim %x, %c0 : memref<?xi64>
  %m = arith.addi %n, %c1 : index
  %a = memref.alloc(%m) : memref<?xi64>
  affine.for %i = 0 to affine_map<()[s0] -> (s0 + 1)>()[%n] {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<?xi64>
  }
  affine.store %zero, %r[0] : memref<1xi64>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xi64>
    %1 = affine.load %a[%i + 1] : memref<?xi64>
    %2 = arith.muli %0, %1 : i64
    %3 = affine.load %r[0] : memref<1xi64>
    %4 = arith.addi %2, %3 : i64
    affine.store %4, %r[0] : memref<1xi64>
  }
  return
}
