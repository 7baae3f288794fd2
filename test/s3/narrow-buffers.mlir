// Properties: a private buffer of extended values is kept in the type they come
// from, whatever its loops (@rounded, @bytes), with a constant that the type has
// (@padded) and for each operand of a product (@product); what rounds the loaded
// value again takes it as it is (@again), also where another such buffer stores that
// (@chained). A second run finds nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-narrow-buffers))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-narrow-buffers))' > %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-narrow-buffers))' | diff %t.once -
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @rounded
//       CHECK: %[[T:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xbf16>
//       CHECK: %[[X:.*]] = arith.truncf
//   CHECK-NOT: arith.extf
//       CHECK: affine.store %[[X]], %[[T]][%{{.*}}] : memref<?xbf16>
//       CHECK: %[[Y:.*]] = affine.load %[[T]][%{{.*}} + 1] : memref<?xbf16>
//       CHECK: arith.extf %[[Y]] : bf16 to f32
//      REMARK: [Passed] narrow-buffers {{.*}}loads=1, reason="kept narrow", type=bf16
func.func @rounded(%a: memref<?xf32>, %r: memref<?xf32> {polynest.result}, %n: index) {
  %t = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  affine.for %i = 0 to %n {
    %x = affine.load %a[%i] : memref<?xf32>
    %y = arith.truncf %x : f32 to bf16
    %z = arith.extf %y : bf16 to f32
    affine.store %z, %t[%i] : memref<?xf32>
  }
  affine.for %i = 0 to affine_map<()[s0] -> (s0 - 1)>()[%n] {
    %x = affine.load %t[%i + 1] : memref<?xf32>
    %y = arith.negf %x : f32
    affine.store %y, %r[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @again
//       CHECK: memref.alloc() : memref<8xf16>
//   CHECK-NOT: arith.extf
//       CHECK: %[[Y:.*]] = affine.load %{{.*}} : memref<8xf16>
//  CHECK-NEXT: affine.store %[[Y]], %{{.*}} : memref<8xf16>
func.func @again(%a: memref<8xf16>, %r: memref<8xf16> {polynest.result}) {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %x = affine.load %a[7 - %i] : memref<8xf16>
    %y = arith.extf %x : f16 to f32
    affine.store %y, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<8xf32>
    %y = arith.truncf %x : f32 to f16
    affine.store %y, %r[%i] : memref<8xf16>
  }
  return
}

// CHECK-LABEL: func @bytes
//       CHECK: memref.alloc() : memref<8xi8>
//       CHECK: arith.extui %{{.*}} : i8 to i32
func.func @bytes(%a: memref<8xi8>, %r: memref<8xi32> {polynest.result}) {
  %t = memref.alloc() : memref<8xi32>
  %most = arith.constant 255 : i32
  affine.for %i = 0 to 7 {
    %x = affine.load %a[%i] : memref<8xi8>
    %y = arith.extui %x : i8 to i32
    affine.store %y, %t[%i] : memref<8xi32>
  }
  affine.store %most, %t[7] : memref<8xi32>
  affine.for %i = 0 to 8 {
    %x = affine.load %t[7 - %i] : memref<8xi32>
    affine.store %x, %r[%i] : memref<8xi32>
  }
  return
}

// CHECK-LABEL: func @padded
//       CHECK: memref.alloc() : memref<10xbf16>
//       CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00 : bf16
//       CHECK: affine.store %[[ZERO]]
func.func @padded(%a: memref<8xbf16>, %r: memref<10xf32> {polynest.result}) {
  %t = memref.alloc() : memref<10xf32>
  %zero = arith.constant -0.0 : f32
  affine.for %i = 0 to 10 {
    affine.store %zero, %t[%i] : memref<10xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xbf16>
    %y = arith.extf %x : bf16 to f32
    affine.store %y, %t[%i + 1] : memref<10xf32>
  }
  affine.for %i = 0 to 10 {
    %x = affine.load %t[%i] : memref<10xf32>
    affine.store %x, %r[%i] : memref<10xf32>
  }
  return
}

// Elements are read many times, but packed first.
// CHECK-LABEL: func @product
// CHECK-COUNT-2: memref.alloc() : memref<16x16xbf16>
func.func @product(%a: memref<16x16xbf16>, %b: memref<16x16xbf16>, %r: memref<16x16xf32> {polynest.result}) {
  %s = memref.alloc() : memref<16x16xf32>
  %t = memref.alloc() : memref<16x16xf32>
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %x = affine.load %a[%j, %i] : memref<16x16xbf16>
      %y = arith.extf %x : bf16 to f32
      affine.store %y, %s[%i, %j] : memref<16x16xf32>
      %z = affine.load %b[%j, %i] : memref<16x16xbf16>
      %w = arith.extf %z : bf16 to f32
      affine.store %w, %t[%i, %j] : memref<16x16xf32>
    }
  }
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 16 {
      %sum = affine.for %k = 0 to 16 iter_args(%c = %zero) -> f32 {
        %x = affine.load %s[%i, %k] : memref<16x16xf32>
        %y = affine.load %t[%k, %j] : memref<16x16xf32>
        %p = arith.mulf %x, %y : f32
        %d = arith.addf %c, %p : f32
        affine.yield %d : f32
      }
      affine.store %sum, %r[%i, %j] : memref<16x16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @chained
//       CHECK: %[[T:.*]] = memref.alloc() : memref<8xbf16>
//       CHECK: %[[U:.*]] = memref.alloc() : memref<8xbf16>
//       CHECK: %[[V:.*]] = memref.alloc() : memref<8xbf16>
//       CHECK: %[[X:.*]] = affine.load %[[T]]
//       CHECK: affine.store %[[X]], %[[U]]
//       CHECK: %[[Y:.*]] = affine.load %[[T]]
//       CHECK: affine.store %[[Y]], %[[V]]
//       CHECK: %[[W:.*]] = affine.load %[[V]]
//       CHECK: %[[Z:.*]] = arith.extf %[[W]] : bf16 to f32
//       CHECK: arith.extf %[[Z]] : f32 to f64
func.func @chained(%a: memref<8xbf16>, %r: memref<8xf32> {polynest.result}, %s: memref<8xf64> {polynest.result}) {
  %t = memref.alloc() : memref<8xf32>
  %u = memref.alloc() : memref<8xf32>
  %v = memref.alloc() : memref<8xf64>
  affine.for %i = 0 to 8 {
    %x = affine.load %a[7 - %i] : memref<8xbf16>
    %y = arith.extf %x : bf16 to f32
    affine.store %y, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<8xf32>
    %y = arith.truncf %x : f32 to bf16
    %z = arith.extf %y : bf16 to f32
    affine.store %z, %u[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %t[%i] : memref<8xf32>
    %y = arith.extf %x : f32 to f64
    affine.store %y, %v[%i] : memref<8xf64>
  }
  affine.for %i = 0 to 8 {
    %x = affine.load %u[%i] : memref<8xf32>
    affine.store %x, %r[%i] : memref<8xf32>
    %y = affine.load %v[%i] : memref<8xf64>
    affine.store %y, %s[%i] : memref<8xf64>
  }
  return
}
