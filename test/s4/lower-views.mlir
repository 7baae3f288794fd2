// Properties: a group with several dynamic sizes is a cast (@crowded), also of
// a strided source (@strided); other views stay (@plain). What comes out is
// lowered by upstream without a crash.
// RUN: polynest-opt %s --polynest-lower-views | FileCheck %s
// RUN: polynest-opt %s --polynest-lower-views > %t.once
// RUN: polynest-opt %t.once --polynest-lower-views | diff %t.once -
// RUN: polynest-opt %s --polynest-lower-views --expand-strided-metadata

// CHECK-LABEL: func @crowded
//  CHECK-SAME: (%[[A:.+]]: memref<?xf32>, %[[N:.+]]: index, %[[M:.+]]: index)
//       CHECK: %[[S:.+]] = affine.apply #{{.+}}()[%[[M]]]
//       CHECK: memref.reinterpret_cast %[[A]] to offset: [0], sizes: [%[[N]], %[[M]], 3], strides: [%[[S]], 3, 1]
func.func @crowded(%a: memref<?xf32>, %n: index, %m: index)
    -> memref<?x?x3xf32> {
  %e = memref.expand_shape %a [[0, 1, 2]] output_shape [%n, %m, 3]
    : memref<?xf32> into memref<?x?x3xf32>
  return %e : memref<?x?x3xf32>
}

// CHECK-LABEL: func @strided
//       CHECK: %{{.+}}, %[[O:.+]], %{{.+}}:2, %[[T:.+]]:2 = memref.extract_strided_metadata
//       CHECK: %[[S:.+]] = affine.apply #{{.+}}()[%[[T]]#1, %{{.+}}]
//       CHECK: memref.reinterpret_cast %{{.+}} to offset: [%[[O]]], sizes: [4, %{{.+}}, %{{.+}}], strides: [%[[T]]#0, %[[S]], %[[T]]#1]
func.func @strided(%a: memref<4x?xf32, strided<[?, ?], offset: ?>>, %n: index,
                   %m: index)
    -> memref<4x?x?xf32, strided<[?, ?, ?], offset: ?>> {
  %e = memref.expand_shape %a [[0], [1, 2]] output_shape [4, %n, %m]
    : memref<4x?xf32, strided<[?, ?], offset: ?>>
    into memref<4x?x?xf32, strided<[?, ?, ?], offset: ?>>
  return %e : memref<4x?x?xf32, strided<[?, ?, ?], offset: ?>>
}

// CHECK-LABEL: func @plain
//       CHECK: memref.expand_shape
func.func @plain(%a: memref<?xf32>, %n: index) -> memref<?x3xf32> {
  %e = memref.expand_shape %a [[0, 1]] output_shape [%n, 3]
    : memref<?xf32> into memref<?x3xf32>
  return %e : memref<?x3xf32>
}
