// Properties: results become trailing arguments and a shape function is made
// (@dynamic); strides of an argument become its layout (@strided); scalars stay
// and scalar results are stored (@scalar); memrefs that are written are marked
// (@memrefs); results that update inputs are put there, on tensors, behind the
// other results (@updates), through a copy where they are in another one's memory
// (@exchanged) or might be (@over), and not at all where they are the input itself
// (@same), which is then no input that is written; sizes of
// such results are none of the shape function's (@sizes); a second run changes
// nothing.
// RUN: polynest-opt %s --polynest-convert-entries | FileCheck %s
// RUN: polynest-opt %s --polynest-convert-entries > %t.once
// RUN: polynest-opt %t.once --polynest-convert-entries | diff %t.once -

// CHECK-LABEL: func @dynamic
//  CHECK-SAME: (%[[A:.+]]: memref<?x4xf32>, %[[R:.+]]: memref<?x4xf32> {polynest.result})
//  CHECK-SAME: polynest.entry
//       CHECK: %[[T:.+]] = bufferization.to_tensor %[[A]] restrict
//       CHECK: bufferization.materialize_in_destination %{{.+}} in restrict writable %[[R]]
//  CHECK-NEXT: return
// CHECK-LABEL: func @dynamic_shapes
//  CHECK-SAME: (%[[N:.+]]: index, %{{.+}}: index) -> index
//       CHECK: return %[[N]] : index
func.func @dynamic(%a: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %r = linalg.copy ins(%a : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>)
      -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// CHECK-LABEL: func @strided
//  CHECK-SAME: memref<4x8xf32, strided<[1, ?]>>
func.func @strided(%a: tensor<4x8xf32>
                   {polynest.strides = array<i64: 1, -9223372036854775808>})
    -> tensor<4x8xf32> {
  return %a : tensor<4x8xf32>
}

// CHECK-LABEL: func @scalar
//  CHECK-SAME: (%[[X:.+]]: i64, %[[R:.+]]: memref<i64> {polynest.result})
//       CHECK: memref.store %[[X]], %[[R]][]
func.func @scalar(%x: i64) -> i64 {
  return %x : i64
}

// Of memref arguments, one that is written, also through a view, is mutable.
// CHECK-LABEL: func @memrefs
//  CHECK-SAME: (%{{[a-z0-9]+}}: memref<4xf32>, %{{[a-z0-9]+}}: memref<4xf32> {polynest.mutable}, %{{[a-z0-9]+}}: memref<4xf32> {polynest.mutable}, %{{[a-z0-9]+}}: memref<f32> {polynest.result})
func.func @memrefs(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>,
                   %r: memref<f32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  memref.store %x, %b[%c0] : memref<4xf32>
  %v = memref.subview %c[2] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 2>>
  memref.store %x, %v[%c0] : memref<2xf32, strided<[1], offset: 2>>
  memref.store %x, %r[] : memref<f32>
  return
}

// CHECK-LABEL: func @updates
//  CHECK-SAME: (%[[P:.+]]: memref<4xf32> {polynest.mutable, polynest.updated}, %[[Q:.+]]: memref<4xf32>, %[[R:.+]]: memref<4xf32> {polynest.result})
//       CHECK: %[[T:.+]] = bufferization.to_tensor %[[P]] restrict writable
//       CHECK: %[[N:.+]] = linalg.add
//       CHECK: bufferization.materialize_in_destination %[[N]] in restrict writable %[[R]]
//       CHECK: %[[M:.+]] = bufferization.materialize_in_destination %[[N]] in %[[T]]
//  CHECK-SAME: -> tensor<4xf32>
//       CHECK: %[[B:.+]] = bufferization.to_buffer %[[M]] read_only
//       CHECK: memref.copy %[[B]], %[[P]]
//  CHECK-NEXT: return
func.func @updates(%p: tensor<4xf32>, %q: tensor<4xf32>)
    -> (tensor<4xf32> {polynest.updates = 0}, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %n = linalg.add ins(%p, %q : tensor<4xf32>, tensor<4xf32>)
      outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %n, %n : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @exchanged
//       CHECK: %[[P:.+]] = bufferization.to_tensor
//       CHECK: %[[Q:.+]] = bufferization.to_tensor
//       CHECK: %[[FLAT:.+]] = tensor.collapse_shape %[[Q]]
//       CHECK: %[[BACK:.+]] = tensor.expand_shape %[[FLAT]]
//       CHECK: %[[OLDP:.+]] = bufferization.alloc_tensor() copy(%[[P]])
//       CHECK: %[[OLDQ:.+]] = bufferization.alloc_tensor() copy(%[[BACK]])
//       CHECK: materialize_in_destination %[[OLDP]] in %[[Q]]
//       CHECK: materialize_in_destination %[[OLDQ]] in %[[P]]
func.func @exchanged(%p: tensor<4x2xf32>, %q: tensor<4x2xf32>)
    -> (tensor<4x2xf32> {polynest.updates = 1}, tensor<4x2xf32> {polynest.updates = 0}) {
  %f = tensor.collapse_shape %q [[0, 1]] : tensor<4x2xf32> into tensor<8xf32>
  %b = tensor.expand_shape %f [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  return %p, %b : tensor<4x2xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: func @same
//  CHECK-SAME: (%{{.+}}: memref<4xf32>) attributes
//   CHECK-NOT: materialize_in_destination
//       CHECK: return
func.func @same(%p: tensor<4xf32>) -> (tensor<4xf32> {polynest.updates = 0}) {
  return %p : tensor<4xf32>
}

// CHECK-LABEL: func @sizes
//       CHECK: %[[C:.+]] = tensor.cast %{{.+}} : tensor<4xf32> to tensor<?xf32>
//       CHECK: materialize_in_destination %[[C]] in
// CHECK-LABEL: func @sizes_shapes
//  CHECK-SAME: (%{{[^,]+}}: index, %[[M:[^,]+]]: index, %{{[^,]+}}: index) -> index
//       CHECK: return %[[M]] : index
func.func @sizes(%p: tensor<?xf32>, %q: tensor<?xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32> {polynest.updates = 0}, tensor<?xf32>) {
  return %x, %q : tensor<4xf32>, tensor<?xf32>
}

// CHECK-LABEL: func @over
//       CHECK: %[[P:.+]] = bufferization.to_tensor
//       CHECK: %[[Q:.+]] = bufferization.to_tensor
//       CHECK: %[[A:.+]] = linalg.negf
//       CHECK: %[[B:.+]] = linalg.abs
//       CHECK: %[[COPY:.+]] = bufferization.alloc_tensor() copy(%[[B]])
//       CHECK: materialize_in_destination %[[A]] in %[[P]]
//       CHECK: materialize_in_destination %[[COPY]] in %[[Q]]
func.func @over(%p: tensor<4xf32>, %q: tensor<4xf32>)
    -> (tensor<4xf32> {polynest.updates = 0}, tensor<4xf32> {polynest.updates = 1}) {
  %a = linalg.negf ins(%q : tensor<4xf32>) outs(%p : tensor<4xf32>) -> tensor<4xf32>
  %b = linalg.abs ins(%q : tensor<4xf32>) outs(%p : tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
