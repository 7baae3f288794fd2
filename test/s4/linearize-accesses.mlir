// Properties: neighbours share all of the index but the constant (@neighbours);
// terms of outer loops stand first (@order); quotients and remainders of what is
// never negative are unsigned (@quotient), others are not (@signed); what wraps
// around claims nothing (@wraps); one dimension stays (@flat, @dynamic); strides
// count (@strided); vectors run along the last dimension (@vectors); equal
// variables are one term, and none is left of those that cancel (@merge).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-linearize-accesses,cse))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-linearize-accesses,polynest-linearize-accesses,cse))' | FileCheck %s

// CHECK-LABEL: func @neighbours
//  CHECK-SAME: %[[M:.+]]: memref<54x144xf32>
//   CHECK-DAG: %[[F:.+]] = memref.reinterpret_cast %[[M]] to offset: [0], sizes: [7776], strides: [1]
//       CHECK: affine.for %[[I:.+]] = 0 to 48
//       CHECK:   affine.for %[[J:.+]] = 0 to 96
//       CHECK:     %[[C144:.+]] = arith.constant 144
//       CHECK:     %[[R:.+]] = arith.muli %[[I]], %[[C144]] overflow<nsw>
//       CHECK:     %[[S:.+]] = arith.addi %[[R]], %[[J]] overflow<nsw>
//       CHECK:     memref.load %[[F]][%[[S]]]
// 3 * 144 + 8 = 440
//       CHECK:     %[[C440:.+]] = arith.constant 440
//       CHECK:     %[[T:.+]] = arith.addi %[[S]], %[[C440]] overflow<nsw>
//       CHECK:     memref.store %{{.+}}, %[[F]][%[[T]]]
func.func @neighbours(%m: memref<54x144xf32>) {
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 96 {
      %a = affine.load %m[%i, %j] : memref<54x144xf32>
      affine.store %a, %m[%i + 3, %j + 8] : memref<54x144xf32>
    }
  }
  return
}

// CHECK-LABEL: func @order
//       CHECK: affine.for %[[I:.+]] = 0 to 4
//       CHECK:   affine.for %[[J:.+]] = 0 to 5
//       CHECK:     affine.for %[[K:.+]] = 0 to 6
//       CHECK:       %[[A:.+]] = arith.addi %[[I]], %{{.+}} overflow<nsw>
//       CHECK:       arith.addi %[[A]], %{{.+}} overflow<nsw>
func.func @order(%m: memref<6x5x4xf32>, %v: f32) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 5 {
      affine.for %k = 0 to 6 {
        affine.store %v, %m[%k, %j, %i] : memref<6x5x4xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @quotient
//       CHECK: arith.divui
//       CHECK: arith.remui
func.func @quotient(%m: memref<8x16xf32>, %v: f32) {
  affine.for %i = 0 to 128 {
    affine.store %v, %m[%i floordiv 16, %i mod 16] : memref<8x16xf32>
  }
  return
}

// CHECK-LABEL: func @signed
//   CHECK-NOT: arith.divui
//       CHECK: affine.apply
//       CHECK: affine.apply
//   CHECK-NOT: arith.divui
//       CHECK: return
func.func @signed(%m: memref<8x16xf32>, %v: f32, %n: index) {
  affine.for %i = -1 to 127 {
    affine.store %v, %m[%i floordiv 16 + 1, %i mod 16] : memref<8x16xf32>
  }
  return
}

// CHECK-LABEL: func @wraps
//  CHECK-SAME: %[[N:[^ ]+]]: index
//       CHECK: arith.muli %[[N]], %{{.+}} : index
//       CHECK: arith.addi %{{.+}}, %{{.+}} : index
//       CHECK: memref.store
//       CHECK: affine.store
func.func @wraps(%m: memref<8x16xf32>, %v: f32, %n: index) {
  affine.for %j = 0 to 16 {
    affine.store %v, %m[symbol(%n) - 5, %j] : memref<8x16xf32>
    // Sixteen times the constant does not fit.
    affine.store %v, %m[symbol(%n) - 4611686018427387904, %j]
        : memref<8x16xf32>
  }
  return
}

// CHECK-LABEL: func @flat
//   CHECK-NOT: reinterpret_cast
//       CHECK: memref.load %{{.+}}[%{{.+}}] : memref<64xf32>
func.func @flat(%m: memref<64xf32>) -> f32 {
  %z = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 32 iter_args(%s = %z) -> f32 {
    %a = affine.load %m[2 * %i + 1] : memref<64xf32>
    %b = arith.addf %s, %a : f32
    affine.yield %b : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @dynamic
//       CHECK: memref.store %{{.+}}, %{{.+}}[%{{.+}}] : memref<?xf32>
//       CHECK: affine.store %{{.+}}, %{{.+}}[%{{.+}}, 0] : memref<?x?xf32>
func.func @dynamic(%m: memref<?xf32>, %w: memref<?x?xf32>, %v: f32) {
  affine.for %i = 0 to 32 {
    affine.store %v, %m[%i] : memref<?xf32>
    affine.store %v, %w[%i, 0] : memref<?x?xf32>
  }
  return
}

// 3 * 100 + 7 * 5 + 1 elements
// CHECK-LABEL: func @strided
//       CHECK: memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [336], strides: [1]
//   CHECK-DAG: arith.constant 100
//   CHECK-DAG: arith.constant 5
//       CHECK: memref.store
//       CHECK: affine.store
//       CHECK: affine.store
func.func @strided(%m: memref<4x8xf32, strided<[100, 5]>>, %v: f32,
                   %o: memref<4x8xf32, strided<[100, 5], offset: ?>>,
                   %d: memref<4x8xf32, strided<[?, 5]>>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      affine.store %v, %m[%i, %j] : memref<4x8xf32, strided<[100, 5]>>
      affine.store %v, %o[%i, %j]
          : memref<4x8xf32, strided<[100, 5], offset: ?>>
      affine.store %v, %d[%i, %j] : memref<4x8xf32, strided<[?, 5]>>
    }
  }
  return
}

// CHECK-LABEL: func @vectors
//       CHECK: vector.load %{{.+}}[%{{.+}}] : memref<128xf32>, vector<8xf32>
//       CHECK: vector.store %{{.+}}, %{{.+}}[%{{.+}}] : memref<128xf32>, vector<8xf32>
//       CHECK: affine.vector_load %{{.+}} : memref<8x16xf32>, vector<2x8xf32>
func.func @vectors(%m: memref<8x16xf32>) {
  affine.for %i = 0 to 7 {
    %a = affine.vector_load %m[%i, 0] : memref<8x16xf32>, vector<8xf32>
    affine.vector_store %a, %m[%i, 8] : memref<8x16xf32>, vector<8xf32>
    %b = affine.vector_load %m[%i, 0] : memref<8x16xf32>, vector<2x8xf32>
    affine.vector_store %b, %m[%i, 8] : memref<8x16xf32>, vector<2x8xf32>
  }
  return
}

// 1 * 16 + 1 = 17
// CHECK-LABEL: func @merge
//       CHECK: affine.for %[[I:.+]] = 0 to 8
//       CHECK:   %[[C17:.+]] = arith.constant 17
//       CHECK:   %[[P:.+]] = arith.muli %[[I]], %[[C17]] overflow<nsw>
//       CHECK:   memref.store %{{.+}}, %{{.+}}[%[[P]]]
//       CHECK:   %[[C0:.+]] = arith.constant 0
//       CHECK:   memref.store %{{.+}}, %{{.+}}[%[[C0]]]
func.func @merge(%m: memref<8x16xf32>, %n: memref<8xf32>, %v: f32) {
  affine.for %i = 0 to 8 {
    affine.store %v, %m[%i, %i] : memref<8x16xf32>
    %j = affine.apply affine_map<(i) -> (-i)>(%i)
    affine.store %v, %n[%i + %j] : memref<8xf32>
  }
  return
}
