// Properties: with a length that is not constant the last vector ends where the
// loop does; its lanes lie in two rows of the result and are stored one by one,
// while those of the vectors before it lie in one.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests))' | FileCheck %s

// CHECK-LABEL: func @rows
//       CHECK: affine.vector_store %{{.+}}, %{{.+}}[%{{.+}} floordiv 16, %{{.+}} mod 16]
//       CHECK: affine.for %[[I:.+]] = #{{.+}} to min
//   CHECK-NOT: affine.vector_store
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[I]] floordiv 16, %[[I]] mod 16]
//       CHECK: affine.store %{{.+}}, %{{.+}}[(%[[I]] + 1) floordiv 16, (%[[I]] + 1) mod 16]
//       CHECK: return
func.func @rows(%x: memref<?xf32>, %n: index,
                %y: memref<8x16xf32> {polynest.result}) {
  affine.for %i = 0 to min affine_map<()[s0] -> (128, s0)>()[%n] {
    %v = affine.load %x[%i] : memref<?xf32>
    affine.store %v, %y[%i floordiv 16, %i mod 16] : memref<8x16xf32>
  }
  return
}
