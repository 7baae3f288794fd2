// Properties: left with a remark are maxima (@maxima), sums that the loop also
// stores (@used); sums of f32,
// and loops that carry several values, get none (@wide, @several).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-widen-sums))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=arith.extf
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @maxima
//      REMARK: [Missed] widen-sums
// REMARK-SAME: reason="the carried value is no sum"
func.func @maxima(%x: memref<5xf16>, %r: memref<f16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.maximumf %a, %0 : f16
    affine.yield %1 : f16
  }
  affine.store %s, %r[] : memref<f16>
  return
}

// CHECK-LABEL: func @used
//      REMARK: [Missed] widen-sums
// REMARK-SAME: reason="the carried value is no sum"
func.func @used(%x: memref<5xf16>, %r: memref<5xf16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.addf %a, %0 : f16
    affine.store %1, %r[%i] : memref<5xf16>
    affine.yield %1 : f16
  }
  return
}

// CHECK-LABEL: func @wide
func.func @wide(%x: memref<5xf32>, %r: memref<f32> {polynest.result}) {
  %z = arith.constant 1.0 : f32
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f32 {
    %0 = affine.load %x[%i] : memref<5xf32>
    %1 = arith.addf %a, %0 : f32
    affine.yield %1 : f32
  }
  affine.store %s, %r[] : memref<f32>
  return
}

// CHECK-LABEL: func @several
func.func @several(%x: memref<5xf16>, %r: memref<2xf16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s:2 = affine.for %i = 0 to 5 iter_args(%a = %z, %b = %z) -> (f16, f16) {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.addf %a, %0 : f16
    %2 = arith.addf %b, %1 : f16
    affine.yield %1, %2 : f16, f16
  }
  affine.store %s#0, %r[0] : memref<2xf16>
  affine.store %s#1, %r[1] : memref<2xf16>
  return
}
