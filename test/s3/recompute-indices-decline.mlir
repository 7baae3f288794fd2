// Properties: left with a remark are buffers that are not filled as a whole (@part,
// @when, @short, @shorter), that are read first (@early), and elements that take
// much to compute (@far, @wide), accesses not known to lie inside (@outside). What
// depends on memory gets none (@memory, @twice), nor do indices that no expression
// is (@sides).
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

// CHECK-LABEL: func @shorter
//       CHECK: affine.load %{{.+}} : memref<?xi64>
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="one nest does not fill all of the buffer"
func.func @shorter(%x: memref<?xi64>, %r: memref<?xi64> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xi64>
  %m = arith.addi %n, %c1 : index
  %a = memref.alloc(%m) : memref<?xi64>
  affine.for %i = 0 to %n {
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


// Counted from the end in the first rows alone, and guarded: stays as it is.
// CHECK-LABEL: func @sides
//       CHECK: cf.assert
//       CHECK: memref.load
func.func @sides(%x: memref<7xf32>, %r: memref<7xf32> {polynest.result}) {
  %c0 = arith.constant 0 : i64
  %c7 = arith.constant 7 : i64
  %size = arith.constant 7 : index
  affine.for %i = 0 to 7 {
    %8 = affine.apply affine_map<(d0) -> (d0 - 3)>(%i)
    %9 = arith.index_cast %8 : index to i64
    %10 = arith.cmpi slt, %9, %c0 : i64
    %11 = arith.addi %9, %c7 : i64
    %12 = arith.select %10, %11, %9 : i64
    %13 = arith.index_cast %12 : i64 to index
    %7 = arith.cmpi ult, %13, %size : index
    cf.assert %7, "index out of range"
    %14 = memref.load %x[%13] : memref<7xf32>
    affine.store %14, %r[%i] : memref<7xf32>
  }
  return
}

// Outside at the end, before the first, and of a size that is not known: what the
// assertion guards stays behind it.
// CHECK-LABEL: func @outside
//       CHECK: cf.assert
//       CHECK: memref.load
//       CHECK: memref.load
//       CHECK: memref.load
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="indices are not known to lie inside"
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="indices are not known to lie inside"
//      REMARK: [Missed] recompute-indices
// REMARK-SAME: reason="indices are not known to lie inside"
func.func @outside(%x: memref<7xf32>, %y: memref<?xf32>, %r: memref<8xf32> {polynest.result}) {
  %one = arith.constant 1 : index
  %size = arith.constant 7 : index
  affine.for %i = 0 to 8 {
    %0 = arith.cmpi ult, %i, %size : index
    cf.assert %0, "index out of range"
    %1 = memref.load %x[%i] : memref<7xf32>
    %2 = arith.subi %i, %one : index
    %3 = memref.load %x[%2] : memref<7xf32>
    %4 = memref.load %y[%i] : memref<?xf32>
    %5 = arith.addf %1, %3 : f32
    %6 = arith.addf %5, %4 : f32
    affine.store %6, %r[%i] : memref<8xf32>
  }
  return
}
