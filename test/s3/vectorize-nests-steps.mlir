// Properties: the place of a row of lanes in parts of a dimension is known where
// a loop around moves by whole parts, or by whole vectors of one (@parts), and
// not where it does not (@odd).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests,canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: func @parts
//       CHECK: affine.for %[[J:.+]] = 0 to 192 step 48
//       CHECK: affine.vector_store %{{.+}}, %{{.+}} : memref<12x16xf32>, vector<8xf32>
//   CHECK-NOT: affine.store
//       CHECK: return
func.func @parts(%x: memref<192xf32>, %r: memref<12x16xf32> {polynest.result}) {
  affine.for %j = 0 to 192 step 48 {
    affine.for %l = 0 to 48 {
      %0 = affine.load %x[%j + %l] : memref<192xf32>
      %1 = arith.addf %0, %0 : f32
      affine.store %1, %r[(%j + %l) floordiv 16, (%j + %l) mod 16] : memref<12x16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @odd
//   CHECK-NOT: affine.vector_store
//       CHECK: return
func.func @odd(%x: memref<192xf32>, %r: memref<12x16xf32> {polynest.result}) {
  affine.for %j = 0 to 147 step 7 {
    affine.for %l = 0 to 48 {
      %0 = affine.load %x[%j + %l] : memref<192xf32>
      %1 = arith.addf %0, %0 : f32
      affine.store %1, %r[(%j + %l) floordiv 16, (%j + %l) mod 16] : memref<12x16xf32>
    }
  }
  return
}
