// Properties: an access is left to lower-affine where a stride (@dynamic), the
// offset (@offset) or the layout (@layout) is not known, a stride is negative
// (@backwards), a constant does not fit (@large), a vector has two dimensions
// or its elements do not follow each other (@vectors), and the remark counts
// them; a buffer without dimensions has nothing to do (@scalar).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-linearize-accesses))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=memref.load --implicit-check-not=memref.store --implicit-check-not=reinterpret_cast
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @dynamic
//       CHECK: affine.store
//      REMARK: [Missed] linearize-accesses
// REMARK-SAME: accesses=1, reason="strides are not known"
func.func @dynamic(%m: memref<8x?xf32>, %v: f32) {
  affine.for %i = 0 to 8 {
    affine.store %v, %m[%i, 0] : memref<8x?xf32>
  }
  return
}

// CHECK-LABEL: func @offset
//       CHECK: affine.store
//       CHECK: affine.store
//      REMARK: accesses=2
func.func @offset(%m: memref<8xf32, strided<[1], offset: ?>>,
                  %n: memref<8xf32, strided<[1], offset: 4>>, %v: f32) {
  affine.for %i = 0 to 8 {
    affine.store %v, %m[%i] : memref<8xf32, strided<[1], offset: ?>>
    affine.store %v, %n[%i] : memref<8xf32, strided<[1], offset: 4>>
  }
  return
}

// CHECK-LABEL: func @layout
//       CHECK: affine.store
//      REMARK: accesses=1
func.func @layout(%m: memref<8x8xf32, affine_map<(i, j) -> (i floordiv 2, j)>>,
                  %v: f32) {
  affine.for %i = 0 to 8 {
    affine.store %v, %m[%i, 0]
        : memref<8x8xf32, affine_map<(i, j) -> (i floordiv 2, j)>>
  }
  return
}

// CHECK-LABEL: func @backwards
//       CHECK: affine.store
//      REMARK: accesses=1
func.func @backwards(%m: memref<8x4xf32, strided<[-4, 1]>>, %v: f32) {
  affine.for %i = 0 to 4 {
    affine.store %v, %m[0, %i] : memref<8x4xf32, strided<[-4, 1]>>
  }
  return
}

// CHECK-LABEL: func @large
//       CHECK: affine.store
//      REMARK: accesses=1
func.func @large(%m: memref<8x16xf32>, %v: f32, %n: index) {
  affine.store %v, %m[symbol(%n) - 4611686018427387904, 0] : memref<8x16xf32>
  return
}

// CHECK-LABEL: func @vectors
//       CHECK: affine.vector_load
//       CHECK: affine.vector_store
//      REMARK: accesses=2
func.func @vectors(%m: memref<8x16xf32>,
                   %n: memref<8x16xf32, strided<[64, 2]>>, %v: vector<8xf32>) {
  affine.for %i = 0 to 7 {
    %b = affine.vector_load %m[%i, 0] : memref<8x16xf32>, vector<2x8xf32>
    affine.vector_store %v, %n[%i, 0]
        : memref<8x16xf32, strided<[64, 2]>>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @scalar
//       CHECK: affine.store
//      REMARK: accesses=1
func.func @scalar(%m: memref<f32>, %v: f32) {
  affine.store %v, %m[] : memref<f32>
  return
}
