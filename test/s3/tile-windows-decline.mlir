// Properties: rows are left, with a remark, where they carry a dependence
// (@carried), where a reduction inside has no such window (@mixed), and where
// two rows do not fit the registers (@full). Not windows at all, and without a
// remark: taps too many (@long), rows that do not meet (@apart), bodies that
// store (@stores) or mix what is carried (@crossed), dynamic strides (@dynamic).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=polynest.tiled_registers
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @carried
//      REMARK: [Missed] tile-windows
// REMARK-SAME: reason="loop carries a dependence
func.func @carried(%y: memref<18xf32>, %w: memref<3xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 15 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %y[%i + %p] : memref<18xf32>
      %1 = affine.load %w[%p] : memref<3xf32>
      %2 = math.fma %0, %1, %a : f32
      affine.yield %2 : f32
    }
    affine.store %r, %y[%i + 3] : memref<18xf32>
  }
  return
}

// CHECK-LABEL: func @mixed
//      REMARK: [Missed] tile-windows
// REMARK-SAME: reason="not all reductions inside slide"
func.func @mixed(%x: memref<18xf32>, %w: memref<3xf32>, %z: memref<16x40xf32>,
                 %y: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i + %p] : memref<18xf32>
      %1 = affine.load %w[%p] : memref<3xf32>
      %2 = math.fma %0, %1, %a : f32
      affine.yield %2 : f32
    }
    %s = affine.for %p = 0 to 40 iter_args(%a = %r) -> f32 {
      %0 = affine.load %z[%i, %p] : memref<16x40xf32>
      %1 = arith.addf %0, %a : f32
      affine.yield %1 : f32
    }
    affine.store %s, %y[%i] : memref<16xf32>
  }
  return
}

// Eight sums a row: two rows are all 16 registers.
// CHECK-LABEL: func @full
//      REMARK: [Missed] tile-windows
// REMARK-SAME: reason="no tile is faster"
func.func @full(%x: memref<18xf32>, %w: memref<3xf32>,
                %y: memref<16x8xf32> {polynest.result}) {
  %o = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r:8 = affine.for %p = 0 to 3 iter_args(%a = %o, %b = %o, %c = %o, %d = %o, %e = %o, %f = %o, %g = %o, %h = %o) -> (f32, f32, f32, f32, f32, f32, f32, f32) {
      %x0 = affine.load %x[%i + %p] : memref<18xf32>
      %w0 = affine.load %w[%p] : memref<3xf32>
      %0 = math.fma %x0, %w0, %a : f32
      %1 = math.fma %x0, %w0, %b : f32
      %2 = math.fma %x0, %w0, %c : f32
      %3 = math.fma %x0, %w0, %d : f32
      %4 = math.fma %x0, %w0, %e : f32
      %5 = math.fma %x0, %w0, %f : f32
      %6 = math.fma %x0, %w0, %g : f32
      %7 = math.fma %x0, %w0, %h : f32
      affine.yield %0, %1, %2, %3, %4, %5, %6, %7 : f32, f32, f32, f32, f32, f32, f32, f32
    }
    affine.store %r#0, %y[%i, 0] : memref<16x8xf32>
    affine.store %r#7, %y[%i, 7] : memref<16x8xf32>
  }
  return
}

// CHECK-LABEL: func @long
func.func @long(%x: memref<24xf32>, %y: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r = affine.for %p = 0 to 9 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i + %p] : memref<24xf32>
      %1 = arith.addf %0, %a : f32
      affine.yield %1 : f32
    }
    affine.store %r, %y[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @apart
func.func @apart(%x: memref<48xf32>, %y: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i * 3 + %p] : memref<48xf32>
      %1 = arith.addf %0, %a : f32
      affine.yield %1 : f32
    }
    affine.store %r, %y[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @stores
func.func @stores(%x: memref<18xf32>, %y: memref<16x3xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i + %p] : memref<18xf32>
      %1 = arith.addf %0, %a : f32
      affine.store %1, %y[%i, %p] : memref<16x3xf32>
      affine.yield %1 : f32
    }
  }
  return
}

// CHECK-LABEL: func @crossed
func.func @crossed(%x: memref<18xf32>, %y: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r:2 = affine.for %p = 0 to 3 iter_args(%a = %zero, %b = %zero) -> (f32, f32) {
      %0 = affine.load %x[%i + %p] : memref<18xf32>
      %1 = arith.addf %0, %a : f32
      affine.yield %b, %1 : f32, f32
    }
    affine.store %r#0, %y[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @dynamic
func.func @dynamic(%x: memref<18x?xf32>, %y: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i + %p, 0] : memref<18x?xf32>
      %1 = arith.addf %0, %a : f32
      affine.yield %1 : f32
    }
    affine.store %r, %y[%i] : memref<16xf32>
  }
  return
}
