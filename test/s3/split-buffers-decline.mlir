// Properties: buffers stay whole where one nest needs all of it at once: sums of
// products (@product), windows (@window), loops that carry values along what
// would be cut (@scan); where they are used through views (@view) or
// have too many parts (@many); where a size is known too late (@late) or bounds cannot be
// compared (@unknown, @placed); where functions would be computed one by one (@narrow), or
// an assertion would move (@asserted). Small results are filled as a whole
// (@small), and so are those that are read (@read).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-buffers))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @product
//       CHECK: memref.alloc() : memref<8x4xf32>
//      REMARK: reason="a nest uses several parts at once"
func.func @product(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %w: memref<4x6xf32>, %r: memref<8x6xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8x4xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %x[%i, %j] : memref<4x4xf32>
      affine.store %0, %b[%i, %j] : memref<8x4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %y[%i, %j] : memref<4x4xf32>
      affine.store %0, %b[%i + 4, %j] : memref<8x4xf32>
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 6 {
      affine.for %k = 0 to 4 {
        %0 = affine.load %b[%i, %k] : memref<8x4xf32>
        %1 = affine.load %w[%k, %j] : memref<4x6xf32>
        %2 = affine.load %r[%i, %j] : memref<8x6xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %r[%i, %j] : memref<8x6xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @window
//       CHECK: memref.alloc() : memref<8xf32>
//      REMARK: reason="a nest uses several parts at once"
func.func @window(%x: memref<4xf32>, %y: memref<4xf32>, %r: memref<6xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 4 {
    %0 = affine.load %x[%i] : memref<4xf32>
    affine.store %0, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    %0 = affine.load %y[%i] : memref<4xf32>
    affine.store %0, %b[%i + 4] : memref<8xf32>
  }
  affine.for %i = 0 to 6 {
    affine.for %k = 0 to 3 {
      %0 = affine.load %b[%i + %k] : memref<8xf32>
      %1 = affine.load %r[%i] : memref<6xf32>
      %2 = arith.maximumf %0, %1 : f32
      affine.store %2, %r[%i] : memref<6xf32>
    }
  }
  return
}

// CHECK-LABEL: func @scan
//       CHECK: memref.alloc() : memref<8xf32>
//      REMARK: reason="a nest uses several parts at once"
func.func @scan(%x: memref<4xf32>, %y: memref<4xf32>, %r: memref<9xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 4 {
    %0 = affine.load %x[%i] : memref<4xf32>
    affine.store %0, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    %0 = affine.load %y[%i] : memref<4xf32>
    affine.store %0, %b[%i + 4] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %b[%i] : memref<8xf32>
    %1 = affine.load %r[%i] : memref<9xf32>
    %2 = arith.addf %0, %1 : f32
    affine.store %2, %r[%i + 1] : memref<9xf32>
  }
  return
}

// CHECK-LABEL: func @view
//       CHECK: memref.alloc() : memref<2x4xf32>
//       CHECK: memref.collapse_shape
func.func @view(%x: memref<4xf32>, %y: memref<4xf32>, %r: memref<8xf32> {polynest.result}) {
  %b = memref.alloc() : memref<2x4xf32>
  affine.for %i = 0 to 4 {
    %0 = affine.load %x[%i] : memref<4xf32>
    affine.store %0, %b[0, %i] : memref<2x4xf32>
  }
  affine.for %i = 0 to 4 {
    %0 = affine.load %y[%i] : memref<4xf32>
    affine.store %0, %b[1, %i] : memref<2x4xf32>
  }
  %v = memref.collapse_shape %b [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  affine.for %i = 0 to 8 {
    %0 = affine.load %v[%i] : memref<8xf32>
    affine.store %0, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @late
//       CHECK: memref.alloc(%{{.+}}) : memref<?xf32>
//   CHECK-NOT: memref.alloc
//      REMARK: reason="the size of a part is known too late"
func.func @late(%x: memref<?xf32>, %y: memref<?xf32>, %r: memref<?xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %r, %c0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %b = memref.alloc(%m) : memref<?xf32>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xf32>
    affine.store %0, %b[%i] : memref<?xf32>
  }
  %k = memref.dim %y, %c0 : memref<?xf32>
  affine.for %i = 0 to %k {
    %0 = affine.load %y[%i] : memref<?xf32>
    affine.store %0, %b[%i + symbol(%n)] : memref<?xf32>
  }
  affine.for %i = 0 to affine_map<()[a, b] -> (a + b)>()[%n, %k] {
    %0 = affine.load %b[%i] : memref<?xf32>
    affine.store %0, %r[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @unknown
//       CHECK: memref.alloc(%{{.+}}) : memref<?xf32>
//   CHECK-NOT: memref.alloc
//      REMARK: reason="bounds of parts cannot be compared"
func.func @unknown(%x: memref<?xf32>, %y: memref<?xf32>, %s: index, %r: memref<?xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %r, %c0 : memref<?xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %k = memref.dim %y, %c0 : memref<?xf32>
  %b = memref.alloc(%m) : memref<?xf32>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xf32>
    affine.store %0, %b[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %k {
    %0 = affine.load %y[%i] : memref<?xf32>
    affine.store %0, %b[%i + symbol(%s)] : memref<?xf32>
  }
  affine.for %i = 0 to %m {
    %0 = affine.load %b[%i] : memref<?xf32>
    affine.store %0, %r[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @placed
//       CHECK: memref.alloc() : memref<16xf32>
//   CHECK-NOT: memref.alloc
//      REMARK: reason="bounds of parts cannot be compared"
func.func @placed(%x: memref<8xf32>, %s: index, %r: memref<16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %b = memref.alloc() : memref<16xf32>
  affine.for %i = 0 to 16 {
    affine.store %zero, %b[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    affine.store %0, %b[%i + symbol(%s)] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %0 = affine.load %b[%i] : memref<16xf32>
    affine.store %0, %r[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @narrow
//       CHECK: memref.alloc() : memref<64x8xf32>
//   CHECK-NOT: memref.alloc
//      REMARK: reason="vectors would be lost"
func.func @narrow(%x: memref<64x4xf32>, %y: memref<64x4xf32>, %r: memref<64x8xf32> {polynest.result}) {
  %b = memref.alloc() : memref<64x8xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %x[%i, %j] : memref<64x4xf32>
      affine.store %0, %b[%i, %j] : memref<64x8xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %y[%i, %j] : memref<64x4xf32>
      affine.store %0, %b[%i, %j + 4] : memref<64x8xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 8 {
      %0 = affine.load %b[%i, %j] : memref<64x8xf32>
      %1 = math.exp %0 : f32
      affine.store %1, %r[%i, %j] : memref<64x8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @asserted
//       CHECK: memref.alloc() : memref<8xi64>
//   CHECK-NOT: memref.alloc
//      REMARK: reason="a nest uses several parts at once"
func.func @asserted(%x: memref<4xi64>, %y: memref<4xi64>, %r: memref<8xi64> {polynest.result}) {
  %c9 = arith.constant 9 : i64
  %b = memref.alloc() : memref<8xi64>
  affine.for %i = 0 to 4 {
    %0 = affine.load %x[%i] : memref<4xi64>
    affine.store %0, %b[%i] : memref<8xi64>
  }
  affine.for %i = 0 to 4 {
    %0 = affine.load %y[%i] : memref<4xi64>
    affine.store %0, %b[%i + 4] : memref<8xi64>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %b[%i] : memref<8xi64>
    %1 = arith.cmpi slt, %0, %c9 : i64
    cf.assert %1, "too large"
    affine.store %0, %r[%i] : memref<8xi64>
  }
  return
}

// CHECK-LABEL: func @small
//       CHECK: affine.for %{{.+}} = 0 to 8 {
//  CHECK-NEXT: affine.store
//      REMARK: reason="storing all of the result is as fast"
func.func @small(%x: memref<6xf32>, %v: f32, %r: memref<8xf32> {polynest.result}) {
  affine.for %i = 0 to 8 {
    affine.store %v, %r[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 6 {
    %0 = affine.load %x[%i] : memref<6xf32>
    affine.store %0, %r[%i + 1] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @read
//       CHECK: affine.for %{{.+}} = 0 to 80000 {
//  CHECK-NEXT: affine.store
//      REMARK: reason="the result is read"
func.func @read(%x: memref<79998xf32>, %v: f32, %r: memref<80000xf32> {polynest.result}) {
  affine.for %i = 0 to 80000 {
    affine.store %v, %r[%i] : memref<80000xf32>
  }
  affine.for %i = 0 to 79998 {
    %0 = affine.load %x[%i] : memref<79998xf32>
    %1 = affine.load %r[%i] : memref<80000xf32>
    %2 = arith.addf %0, %1 : f32
    affine.store %2, %r[%i] : memref<80000xf32>
  }
  return
}

// CHECK-LABEL: func @many
//       CHECK: memref.alloc() : memref<34xf32>
//   CHECK-NOT: memref.alloc
//      REMARK: reason="the buffer has too many parts"
func.func @many(%x: memref<34xf32>, %r: memref<34xf32> {polynest.result}) {
  %b = memref.alloc() : memref<34xf32>
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 0] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 0] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 1] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 2] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 2] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 4] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 3] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 6] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 4] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 8] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 5] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 10] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 6] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 12] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 7] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 14] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 8] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 16] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 9] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 18] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 10] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 20] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 11] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 22] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 12] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 24] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 13] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 26] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 14] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 28] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 15] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 30] : memref<34xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i + 16] : memref<34xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i + 32] : memref<34xf32>
  }
  affine.for %i = 0 to 34 {
    %0 = affine.load %b[%i] : memref<34xf32>
    affine.store %0, %r[%i] : memref<34xf32>
  }
  return
}
