// Properties: left with a remark are buffers that are not filled as a whole (@part,
// @when, @short), that are read first (@early), and elements that take much to
// compute (@far, @wide). What depends on memory gets none (@memory, @twice).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-recompute-indices))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @part
//       CHECK: affine.load %{{.+}} : memref<6xi64>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="one nest does not fill all of the buffer"
func.func @part(%r: memref<5xi64> {polynest.result}) {
  %a = memref.alloc() : memref<6xi64>
  affine.for %i = 0 to 5 {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<6xi64>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[%i] : memref<6xi64>
    affine.store %1, %r[%i] : memref<5xi64>
  }
  return
}

// CHECK-LABEL: func @when
//       CHECK: affine.load %{{.+}} : memref<5xi64>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="one nest does not fill all of the buffer"
func.func @when(%r: memref<5xi64> {polynest.result}) {
  %a = memref.alloc() : memref<5xi64>
  affine.for %i = 0 to 5 {
    %0 = arith.index_cast %i : index to i64
    affine.if affine_set<(i) : (i - 2 >= 0)>(%i) {
      affine.store %0, %a[%i] : memref<5xi64>
    }
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[%i] : memref<5xi64>
    affine.store %1, %r[%i] : memref<5xi64>
  }
  return
}

// CHECK-LABEL: func @short
//       CHECK: affine.load %{{.+}} : memref<?xi64>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="one nest does not fill all of the buffer"
func.func @short(%n: index, %k: index, %r: memref<?xi64> {polynest.result}) {
  %a = memref.alloc(%n) : memref<?xi64>
  affine.for %i = 0 to %k {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<?xi64>
  }
  affine.for %i = 0 to %n {
    %1 = affine.load %a[%i] : memref<?xi64>
    affine.store %1, %r[%i] : memref<?xi64>
  }
  return
}

// CHECK-LABEL: func @early
//       CHECK: affine.load %{{.+}} : memref<5xi64>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="the buffer is read before it is full"
func.func @early(%r: memref<5xi64> {polynest.result}) {
  %a = memref.alloc() : memref<5xi64>
  affine.for %i = 0 to 5 {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<5xi64>
    %1 = affine.load %a[4 - %i] : memref<5xi64>
    affine.store %1, %r[%i] : memref<5xi64>
  }
  return
}

// CHECK-LABEL: func @far
//       CHECK: affine.load %{{.+}} : memref<5xf32>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="elements take much to compute"
func.func @far(%r: memref<5xf32> {polynest.result}) {
  %a = memref.alloc() : memref<5xf32>
  affine.for %i = 0 to 5 {
    %0 = arith.index_cast %i : index to i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = math.sin %1 : f32
    affine.store %2, %a[%i] : memref<5xf32>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[%i] : memref<5xf32>
    affine.store %1, %r[%i] : memref<5xf32>
  }
  return
}

// CHECK-LABEL: func @wide
//       CHECK: affine.load %{{.+}} : memref<5xf32>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="elements take much to compute"
func.func @wide(%r: memref<5xf32> {polynest.result}) {
  %c = arith.constant 3 : index
  %z = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %a = memref.alloc() : memref<5xf32>
  affine.for %i = 0 to 5 {
    %0 = arith.cmpi sgt, %i, %c : index
    %1 = arith.select %0, %low, %z : f32
    affine.store %1, %a[%i] : memref<5xf32>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[%i] : memref<5xf32>
    affine.store %1, %r[%i] : memref<5xf32>
  }
  return
}

// CHECK-LABEL: func @memory
//       CHECK: affine.load %{{.+}} : memref<5xi64>
//       CHECK: affine.load %{{.+}} : memref<5xi64>
func.func @memory(%x: memref<5xi64>, %r: memref<5xi64> {polynest.result}) {
  %a = memref.alloc() : memref<5xi64>
  affine.for %i = 0 to 5 {
    %0 = affine.load %x[%i] : memref<5xi64>
    affine.store %0, %a[%i] : memref<5xi64>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[%i] : memref<5xi64>
    affine.store %1, %r[%i] : memref<5xi64>
  }
  return
}

// CHECK-LABEL: func @twice
//       CHECK: affine.load %{{.+}} : memref<5xi64>
func.func @twice(%r: memref<5xi64> {polynest.result}) {
  %c = arith.constant 3 : i64
  %a = memref.alloc() : memref<5xi64>
  affine.for %i = 0 to 5 {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<5xi64>
  }
  affine.for %i = 1 to 2 {
    affine.store %c, %a[%i] : memref<5xi64>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[%i] : memref<5xi64>
    affine.store %1, %r[%i] : memref<5xi64>
  }
  return
}
