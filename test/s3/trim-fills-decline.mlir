// Properties: fills stay, with a remark, where the next nest reads the buffer
// (@read), may not store (@asked, @stepped, @empty), where the box is small
// (@small) or so is the buffer (@little), and where its end is computed behind the
// fill (@late). What is not a fill gets no remark: one
// of an argument that is no result (@seen), of a part (@part), of values that
// move (@moving).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-fills))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @read
//       CHECK: affine.for %{{.+}} = 0 to 4096
//      REMARK: [Missed] trim-fills
// REMARK-SAME: reason="the next nest does more than store to the buffer"
func.func @read(%x: memref<4000xf32>, %r: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4000 {
    %0 = affine.load %x[%i] : memref<4000xf32>
    %1 = affine.load %p[%i] : memref<4096xf32>
    %2 = arith.addf %0, %1 : f32
    affine.store %2, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @asked
//       CHECK: affine.for %{{.+}} = 0 to 4096
//      REMARK: [Missed] trim-fills
// REMARK-SAME: reason="the next nest
func.func @asked(%x: memref<4000xf32>, %r: memref<4096xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4000 {
    affine.if affine_set<(d0)[s0] : (s0 - d0 >= 0)>(%i)[%n] {
      %0 = affine.load %x[%i] : memref<4000xf32>
      affine.store %0, %p[%i] : memref<4096xf32>
    }
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @stepped
//       CHECK: affine.for %{{.+}} = 0 to 4096
//      REMARK: [Missed] trim-fills
// REMARK-SAME: reason="the next nests overwrite no box of known bounds"
func.func @stepped(%x: memref<4096xf32>, %r: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 step 2 {
    %0 = affine.load %x[%i] : memref<4096xf32>
    affine.store %0, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @empty
//       CHECK: affine.for %{{.+}} = 0 to 4096
//      REMARK: [Missed] trim-fills
// REMARK-SAME: reason="the next nests overwrite no box of known bounds"
func.func @empty(%x: memref<4096xf32>, %r: memref<4096xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %k = 0 to %n {
    affine.for %i = 0 to 4096 {
      %0 = affine.load %x[%i] : memref<4096xf32>
      affine.store %0, %p[%i] : memref<4096xf32>
    }
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @small
//       CHECK: affine.for %{{.+}} = 0 to 4096
//      REMARK: [Missed] trim-fills
// REMARK-SAME: reason="filling all of the buffer is as fast"
func.func @small(%x: memref<4096xf32>, %r: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 2000 {
    %0 = affine.load %x[%i] : memref<4096xf32>
    affine.store %0, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @little
//       CHECK: affine.for %{{.+}} = 0 to 1024
//      REMARK: [Missed] trim-fills
// REMARK-SAME: reason="filling all of the buffer is as fast"
func.func @little(%x: memref<1000xf32>, %r: memref<1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<1024xf32>
  affine.for %i = 0 to 1024 {
    affine.store %zero, %p[%i] : memref<1024xf32>
  }
  affine.for %i = 0 to 1000 {
    %0 = affine.load %x[%i] : memref<1000xf32>
    affine.store %0, %p[%i] : memref<1024xf32>
  }
  affine.for %i = 0 to 1024 {
    %0 = affine.load %p[%i] : memref<1024xf32>
    affine.store %0, %r[%i] : memref<1024xf32>
  }
  return
}

// CHECK-LABEL: func @seen
//       CHECK: affine.for %{{.+}} = 0 to 4096
//       CHECK: affine.for %{{.+}} = 0 to 4000
func.func @seen(%x: memref<4000xf32>, %r: memref<4096xf32> {polynest.mutable}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4096 {
    affine.store %zero, %r[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4000 {
    %0 = affine.load %x[%i] : memref<4000xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @part
//       CHECK: affine.for %{{.+}} = 0 to 4095
//       CHECK: affine.for %{{.+}} = 0 to 4000
func.func @part(%x: memref<4000xf32>, %r: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4095 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4000 {
    %0 = affine.load %x[%i] : memref<4000xf32>
    affine.store %0, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4095 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// CHECK-LABEL: func @moving
//       CHECK: affine.for %{{.+}} = 0 to 4096
//       CHECK: affine.for %{{.+}} = 0 to 4000
func.func @moving(%x: memref<4096xf32>, %r: memref<4096xf32> {polynest.result}) {
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    %0 = affine.load %x[%i] : memref<4096xf32>
    affine.store %0, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4000 {
    %0 = affine.load %x[%i] : memref<4096xf32>
    affine.store %0, %p[4095 - %i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// Where the box ends is not known in front of the fill.
// CHECK-LABEL: func @late
//       CHECK: affine.for %{{.+}} = 0 to %{{.+}} {
//       CHECK:   affine.store %cst
//       CHECK: memref.load
//       CHECK: return
//      REMARK: [Missed]
// REMARK-SAME: the next nests overwrite no box of known bounds
func.func @late(%x: memref<?xf32>, %k: memref<1xindex>, %r: memref<?xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.dim %r, %c0 : memref<?xf32>
  affine.for %i = 0 to %m {
    affine.store %zero, %r[%i] : memref<?xf32>
  }
  %n = memref.load %k[%c0] : memref<1xindex>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf32>
    affine.store %a, %r[%i + 2] : memref<?xf32>
  }
  return
}
