// Properties: a loop stays scalar, with the reason remarked, if it carries a
// dependence (@carried), if another memref may share storage with what it
// writes (@alias, @view), if it carries a value that is no reduction (@before)
// or shows products so far, of which parts may overflow (@products), if
// inner bounds (@triangle) or conditions (@padding) depend on it, if it holds
// operations with effects (@call) or without vectors (@complex), if all
// iterations store to one place (@last), if lane by lane accesses cost more than
// they gain (@column), or if it is too short (@short) or longer than any memory, so
// that whole vectors would end outside of 64 bits (@endless). Vectors of i1 would be
// packed in memory, memrefs of i1 are not: no vector access (@bits).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @carried
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 2]]:{{.*}}vectorize-nests
func.func @carried(%A: memref<65xf32>) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<65xf32>
    affine.store %a, %A[%i + 1] : memref<65xf32>
  }
  return
}

// CHECK-LABEL: func @alias
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
func.func @alias(%A: memref<65xf32> {polynest.mutable},
                 %B: memref<65xf32> {polynest.mutable}) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<65xf32>
    affine.store %a, %B[%i] : memref<65xf32>
  }
  return
}

// CHECK-LABEL: func @view
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 4]]:
func.func @view(%A: memref<9xf32>) {
  %V = memref.reinterpret_cast %A to offset: [0], sizes: [9], strides: [1]
    : memref<9xf32> to memref<9xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<9xf32>
    %s = arith.addf %a, %a : f32
    affine.store %s, %V[%i + 1] : memref<9xf32>
  }
  return
}

// CHECK-LABEL: func @before
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 4]]:
// REMARK-SAME: carries a value that is no reduction
func.func @before(%A: memref<64xf32>, %B: memref<64xf32> {polynest.result},
                  %x: f32) {
  %r = affine.for %i = 0 to 64 iter_args(%s = %x) -> f32 {
    %a = affine.load %A[%i] : memref<64xf32>
    %t = arith.addf %s, %a : f32
    affine.store %s, %B[%i] : memref<64xf32>
    affine.yield %t : f32
  }
  return
}

// CHECK-LABEL: func @products
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 4]]:
// REMARK-SAME: carries a value that is no reduction
func.func @products(%A: memref<64xf32>, %B: memref<64xf32> {polynest.result},
                    %x: f32) {
  %r = affine.for %i = 0 to 64 iter_args(%s = %x) -> f32 {
    %a = affine.load %A[%i] : memref<64xf32>
    %t = arith.mulf %s, %a : f32
    affine.store %t, %B[%i] : memref<64xf32>
    affine.yield %t : f32
  }
  return
}

// CHECK-LABEL: func @triangle
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
func.func @triangle(%A: memref<64x64xf32>, %x: f32) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
      affine.store %x, %A[%j, %i] : memref<64x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @padding
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
// REMARK-SAME: condition depends on the loop
func.func @padding(%A: memref<64xf32>, %B: memref<64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    affine.if affine_set<(d0) : (d0 - 3 >= 0)>(%i) {
      %a = affine.load %A[%i - 3] : memref<64xf32>
      affine.store %a, %B[%i] : memref<64xf32>
    }
  }
  return
}

func.func private @f(f32) -> f32

// CHECK-LABEL: func @call
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
// REMARK-SAME: operation has effects or regions
func.func @call(%A: memref<64xf32>) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<64xf32>
    %b = func.call @f(%a) : (f32) -> f32
    affine.store %b, %A[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func @complex
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
// REMARK-SAME: loaded type has no vectors
func.func @complex(%A: memref<64xcomplex<f32>>) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<64xcomplex<f32>>
    %b = complex.neg %a : complex<f32>
    affine.store %b, %A[%i] : memref<64xcomplex<f32>>
  }
  return
}

// CHECK-LABEL: func @last
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
// REMARK-SAME: all iterations store to one location
func.func @last(%A: memref<64xf32>, %B: memref<1xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<64xf32>
    affine.store %a, %B[0] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @column
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 4]]:
// REMARK-SAME: vector code costs
func.func @column(%A: memref<64x64xf32>,
                  %B: memref<64x64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i, 0] : memref<64x64xf32>
    affine.store %a, %B[%i, 0] : memref<64x64xf32>
  }
  return
}

// CHECK-LABEL: func @short
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 3]]:
// REMARK-SAME: too few iterations
func.func @short(%A: memref<64xf32>) {
  affine.for %i = 0 to 1 {
    %a = affine.load %A[%i] : memref<64xf32>
    affine.store %a, %A[%i + 1] : memref<64xf32>
  }
  return
}

// Two elements that data choose may be one.
// CHECK-LABEL: func @scatter
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 4]]:
// REMARK-SAME: data choose the place of each element that is stored
func.func @scatter(%P: memref<64xindex>,
                   %A: memref<64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %p = affine.load %P[%i] : memref<64xindex>
    %a = memref.load %A[%p] : memref<64xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %A[%p] : memref<64xf32>
  }
  return
}

// A row is written where it and the next one are read.
// CHECK-LABEL: func @scatter_next
//   CHECK-NOT: vector
//       CHECK: return
//      REMARK: vectorize-nests-decline.mlir:[[# @LINE + 4]]:
// REMARK-SAME: dependence
func.func @scatter_next(%P: memref<1xindex>,
                        %A: memref<64x65xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %p = affine.load %P[0] : memref<1xindex>
    %j = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    %a = memref.load %A[%p, %i] : memref<64x65xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %A[%p, %j] : memref<64x65xf32>
  }
  return
}

// CHECK-LABEL: func @bits
//   CHECK-NOT: affine.vector
//       CHECK: return
func.func @bits(%A: memref<64xi1>, %B: memref<64xi1> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %a = affine.load %A[%i] : memref<64xi1>
    affine.store %a, %B[%i] : memref<64xi1>
  }
  return
}

// CHECK-LABEL: func @endless
//   CHECK-NOT: affine.vector
//       CHECK: return
func.func @endless(%A: memref<64xf32> {polynest.result}) {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 9223372036854775806 {
    affine.store %one, %A[%i] : memref<64xf32>
  }
  return
}
