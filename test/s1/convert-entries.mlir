// Properties: results become trailing arguments and a shape function is made
// (@dynamic); strides of an argument become its layout (@strided); scalars stay
// and scalar results are stored (@scalar); memrefs that are written are marked
// (@memrefs); a second run changes nothing.
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
