// Properties: a buffer stays where something else is stored too (@other), a
// constant that the type lacks (@constant), bytes of both kinds (@kinds), where
// the other operand of a product is wide (@mixed), where windows read elements
// again and again (@window), and where others reach it (@reached).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-narrow-buffers))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @other
//       CHECK: memref.alloc() : memref<8xf32>
//      REMARK: [Missed] narrow-buffers
// REMARK-SAME: other values are stored too
func.func @other(%a: memref<8xbf16>, %b: memref<8xf32>, %r: memref<8xf32> {polynest.result}) {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xbf16>
    %y = arith.extf %x : bf16 to f32
    affine.store %y, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    %x = affine.load %b[%i] : memref<8xf32>
    affine.store %x, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<8xf32>
    affine.store %x, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @constant
//       CHECK: memref.alloc() : memref<8xf32>
//      REMARK: [Missed] narrow-buffers
// REMARK-SAME: other values are stored too
func.func @constant(%a: memref<8xbf16>, %r: memref<8xf32> {polynest.result}) {
  %t = memref.alloc() : memref<8xf32>
  %third = arith.constant 0.333333343 : f32
  affine.for %i = 0 to 8 {
    affine.store %third, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<8xbf16>
    %y = arith.extf %x : bf16 to f32
    affine.store %y, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<8xf32>
    affine.store %x, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @kinds
//       CHECK: memref.alloc() : memref<8xi32>
//      REMARK: [Missed] narrow-buffers
// REMARK-SAME: other values are stored too
func.func @kinds(%a: memref<8xi8>, %r: memref<8xi32> {polynest.result}) {
  %t = memref.alloc() : memref<8xi32>
  affine.for %i = 0 to 4 {
    %x = affine.load %a[%i] : memref<8xi8>
    %y = arith.extsi %x : i8 to i32
    affine.store %y, %t[%i] : memref<8xi32>
    %z = arith.extui %x : i8 to i32
    affine.store %z, %t[%i + 4] : memref<8xi32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<8xi32>
    affine.store %x, %r[%i] : memref<8xi32>
  }
  return
}

// CHECK-LABEL: func @mixed
//       CHECK: memref.alloc() : memref<16x16xf32>
//      REMARK: [Missed] narrow-buffers
// REMARK-SAME: extended many times
func.func @mixed(%a: memref<16x16xbf16>, %b: memref<16x16xf32>, %r: memref<16x16xf32> {polynest.result}) {
  %s = memref.alloc() : memref<16x16xf32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %x = affine.load %a[%j, %i] : memref<16x16xbf16>
      %y = arith.extf %x : bf16 to f32
      affine.store %y, %s[%i, %j] : memref<16x16xf32>
    }
  }
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %sum = affine.for %k = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%i, %k] : memref<16x16xf32>
        %y = affine.load %b[%k, %j] : memref<16x16xf32>
        %p = arith.mulf %x, %y : f32
        %d = arith.addf %c, %p : f32
        affine.yield %d : f32
      }
      affine.store %sum, %r[%i, %j] : memref<16x16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @window
//       CHECK: memref.alloc() : memref<10xf32>
//      REMARK: [Missed] narrow-buffers
// REMARK-SAME: extended many times
func.func @window(%a: memref<10xbf16>, %r: memref<8xf32> {polynest.result}) {
  %t = memref.alloc() : memref<10xf32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 10 {
    %x = affine.load %a[%i] : memref<10xbf16>
    %y = arith.extf %x : bf16 to f32
    affine.store %y, %t[%i] : memref<10xf32>
  }
  affine.for %i = 0 to 8 {
    %sum = affine.for %k = 0 to 3 iter_args(%c = %zero) -> f32 {
      %x = affine.load %t[%i + %k] : memref<10xf32>
      %d = arith.addf %c, %x : f32
      affine.yield %d : f32
    }
    affine.store %sum, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @reached
//       CHECK: memref.alloc() : memref<8xf32>
//      REMARK: [Missed] narrow-buffers
// REMARK-SAME: reached by other operations
func.func @reached(%a: memref<8xbf16>, %r: memref<8xf32> {polynest.result}) {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xbf16>
    %y = arith.extf %x : bf16 to f32
    affine.store %y, %t[%i] : memref<8xf32>
  }
  memref.copy %t, %r : memref<8xf32> to memref<8xf32>
  return
}
