// Properties: a copy out of a result's buffer comes before the copy that
// overwrites it (@chain), also through a view and past the store of a scalar
// result (@view), or of an input that a result updates (@updated); where buffers
// trade places one goes through a temporary
// (@swap); a source that may be anything is read first (@unknown); a second run
// changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-order-copies))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-order-copies))' > %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-order-copies))' | diff %t.once -

// CHECK-LABEL: func @chain
//  CHECK-SAME: (%[[A:.+]]: memref<4xf32> {polynest.result}, %[[B:.+]]: memref<4xf32> {polynest.result}, %[[C:.+]]: memref<4xf32> {polynest.result})
//       CHECK: %[[T:.+]] = memref.alloc
//       CHECK: memref.copy %[[B]], %[[C]]
//  CHECK-NEXT: memref.copy %[[A]], %[[B]]
//  CHECK-NEXT: memref.copy %[[T]], %[[A]]
//  CHECK-NEXT: return
func.func @chain(%a: memref<4xf32> {polynest.result},
                 %b: memref<4xf32> {polynest.result},
                 %c: memref<4xf32> {polynest.result}) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %t, %a : memref<4xf32> to memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %b, %c : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func @view
//  CHECK-SAME: (%[[A:[^:]+]]: memref<4xf32> {polynest.result}, %[[B:[^:]+]]: memref<2xf32> {polynest.result}, %[[S:[^:]+]]: memref<f32> {polynest.result}, %[[X:[^:]+]]: f32)
//       CHECK: %[[T:.+]] = memref.alloc
//       CHECK: memref.store %[[X]], %[[S]][]
//       CHECK: %[[V:.+]] = memref.subview %[[A]]
//  CHECK-NEXT: memref.copy %[[V]], %[[B]]
//  CHECK-NEXT: memref.copy %[[T]], %[[A]]
//  CHECK-NEXT: return
func.func @view(%a: memref<4xf32> {polynest.result},
                %b: memref<2xf32> {polynest.result},
                %s: memref<f32> {polynest.result}, %x: f32) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %t, %a : memref<4xf32> to memref<4xf32>
  memref.store %x, %s[] : memref<f32>
  %v = memref.subview %a[1] [2] [1]
    : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  memref.copy %v, %b
    : memref<2xf32, strided<[1], offset: 1>> to memref<2xf32>
  return
}

// CHECK-LABEL: func @swap
//  CHECK-SAME: (%[[A:.+]]: memref<?xf32> {polynest.result}, %[[B:.+]]: memref<?xf32> {polynest.result})
//       CHECK: %[[N:.+]] = memref.dim %[[A]]
//       CHECK: %[[T:.+]] = memref.alloc(%[[N]])
//       CHECK: memref.copy %[[A]], %[[T]]
//  CHECK-NEXT: memref.copy %[[B]], %[[A]]
//  CHECK-NEXT: memref.copy %[[T]], %[[B]]
//  CHECK-NEXT: return
func.func @swap(%a: memref<?xf32> {polynest.result},
                %b: memref<?xf32> {polynest.result}) {
  memref.copy %b, %a : memref<?xf32> to memref<?xf32>
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}

// CHECK-LABEL: func @unknown
//  CHECK-SAME: (%[[A:[^:]+]]: memref<4xf32> {polynest.result}, %[[B:[^:]+]]: memref<4xf32> {polynest.result}
//       CHECK: %[[S:.+]] = arith.select
//       CHECK: memref.copy %[[S]], %[[B]]
//  CHECK-NEXT: memref.copy %{{.+}}, %[[A]]
//  CHECK-NEXT: return
func.func @unknown(%a: memref<4xf32> {polynest.result},
                   %b: memref<4xf32> {polynest.result}, %i: memref<4xf32>,
                   %j: memref<4xf32>, %c: i1) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %t, %a : memref<4xf32> to memref<4xf32>
  %s = arith.select %c, %i, %a : memref<4xf32>
  memref.copy %s, %b : memref<4xf32> to memref<4xf32>
  return
}

// The new value of the input is in a result's buffer; the copy of a buffer to
// itself has no effect.
// CHECK-LABEL: func @updated
//  CHECK-SAME: (%[[P:.+]]: memref<4xf32> {polynest.updated}, %[[Q:.+]]: memref<4xf32> {polynest.updated}, %[[R:.+]]: memref<4xf32> {polynest.result})
//       CHECK: %[[T:.+]] = memref.alloc
//       CHECK: memref.copy %[[Q]], %[[Q]]
//  CHECK-NEXT: memref.copy %[[R]], %[[P]]
//  CHECK-NEXT: memref.copy %[[T]], %[[R]]
//  CHECK-NEXT: return
func.func @updated(%p: memref<4xf32> {polynest.updated},
                   %q: memref<4xf32> {polynest.updated},
                   %r: memref<4xf32> {polynest.result}) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %t, %r : memref<4xf32> to memref<4xf32>
  memref.copy %r, %p : memref<4xf32> to memref<4xf32>
  memref.copy %q, %q : memref<4xf32> to memref<4xf32>
  return
}
