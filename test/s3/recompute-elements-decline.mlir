// Properties: where many elements are read (@many), what the expression reads is
// written (@overwritten) or may be (@mutable), a value is carried (@carried), the
// store does not fill the buffer (@part), is not alone (@twice) or the read comes
// before it (@before), the buffer stays.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-recompute-elements))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @many
//       CHECK: affine.for
//       CHECK: affine.for
//       CHECK:   memref.load %{{.+}} : memref<64xf32>
//       CHECK: return
//      REMARK: [Missed] recompute-elements
// REMARK-SAME: many elements are read
func.func @many(%x: memref<64xf32>, %t: memref<17xindex>, %o: memref<17xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    %e = math.exp %v : f32
    affine.store %e, %p[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 17 {
    %k = affine.load %t[%i] : memref<17xindex>
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<17xf32>
  }
  return
}

// CHECK-LABEL: func @overwritten
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
//  CHECK-NEXT: affine.store
//       CHECK: return
//      REMARK: an element cannot be computed where it is read
func.func @overwritten(%x: memref<64xf32> {polynest.mutable}, %k: index, %o: memref<1xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %p[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.store %c, %x[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 1 {
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<1xf32>
  }
  return
}

// The input may lie where the other one does.
// CHECK-LABEL: func @mutable
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
//  CHECK-NEXT: affine.store
//       CHECK: return
//      REMARK: an element cannot be computed where it is read
func.func @mutable(%x: memref<64xf32>, %y: memref<64xf32> {polynest.mutable}, %k: index, %o: memref<1xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %p[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.store %c, %y[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 1 {
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @carried
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
//  CHECK-NEXT: affine.store
//       CHECK: return
//      REMARK: an element cannot be computed where it is read
func.func @carried(%x: memref<64xf32>, %k: index, %o: memref<1xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64xf32>
  %r = affine.for %i = 0 to 64 iter_args(%s = %c) -> (f32) {
    %v = affine.load %x[%i] : memref<64xf32>
    %e = arith.addf %v, %s : f32
    affine.store %e, %p[%i] : memref<64xf32>
    affine.yield %e : f32
  }
  affine.for %i = 0 to 1 {
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @part
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
//  CHECK-NEXT: affine.store
//       CHECK: return
func.func @part(%x: memref<64xf32>, %k: index, %o: memref<1xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 63 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %p[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 1 {
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @twice
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
//  CHECK-NEXT: affine.store
//       CHECK: return
func.func @twice(%x: memref<64xf32>, %k: index, %o: memref<1xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %p[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 1 {
    affine.store %c, %p[%i * 3] : memref<64xf32>
  }
  affine.for %i = 0 to 1 {
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @before
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
//  CHECK-NEXT: affine.store
//       CHECK: return
func.func @before(%x: memref<64xf32>, %k: index, %o: memref<2xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<64xf32>
  affine.for %t = 0 to 2 {
    affine.for %i = 0 to 1 {
      %v = memref.load %p[%k] : memref<64xf32>
      affine.store %v, %o[%t] : memref<2xf32>
    }
    affine.for %i = 0 to 64 {
      %v = affine.load %x[%i] : memref<64xf32>
      affine.store %v, %p[%i] : memref<64xf32>
    }
  }
  return
}
