// Properties: a product of joined batches gets their loops (@batches); a linear
// layer gets loops for batch and row, with the pointwise operation behind it
// (@linear), and the part of the reshape that the last dimension has stays
// (@heads); one size of a group may be dynamic (@dynamic), several where they are
// read from what was joined (@sizes) or asserted to be equal (@asserted). Left as
// it is: what was not joined (@plain), was joined otherwise (@otherwise, @swapped:
// both sizes unknown), has other uses (@used), asks for an index (@indexed), or is
// parted in the last dimension alone (@last) or by 1 (@unit). A second run changes
// nothing.
// RUN: polynest-opt %s --polynest-expand-reshapes --canonicalize --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=MAPS < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --polynest-expand-reshapes --canonicalize | diff %t.once -

// MAPS-DAG: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
// MAPS-DAG: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
// MAPS-DAG: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>

// CHECK-LABEL: func @batches
//  CHECK-SAME: %[[X:.+]]: tensor<2x3x5x7xf32>, %[[Y:.+]]: tensor<2x3x7x4xf32>
//   CHECK-NOT: collapse_shape
//       CHECK: %[[E:.+]] = tensor.empty() : tensor<2x3x5x4xf32>
//       CHECK: %[[F:.+]] = linalg.fill {{.+}} outs(%[[E]]
//       CHECK: %[[R:.+]] = linalg.generic {indexing_maps = [#[[A:.+]], #[[B:.+]], #[[C:.+]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%[[X]], %[[Y]] : {{.+}}) outs(%[[F]]
//       CHECK: arith.mulf
//       CHECK: arith.addf
//       CHECK: return %[[R]] : tensor<2x3x5x4xf32>
//      REMARK: [Passed] expand-reshapes {{.*}}op=linalg.batch_matmul
func.func @batches(%x: tensor<2x3x5x7xf32>, %y: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %a = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<2x3x5x7xf32> into tensor<6x5x7xf32>
  %b = tensor.collapse_shape %y [[0, 1], [2], [3]] : tensor<2x3x7x4xf32> into tensor<6x7x4xf32>
  %e = tensor.empty() : tensor<6x5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %m = linalg.batch_matmul ins(%a, %b : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%f : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2], [3]] output_shape [2, 3, 5, 4] : tensor<6x5x4xf32> into tensor<2x3x5x4xf32>
  return %r : tensor<2x3x5x4xf32>
}

// CHECK-LABEL: func @linear
//  CHECK-SAME: %[[X:.+]]: tensor<2x5x7xf32>, %[[W:.+]]: tensor<7x4xf32>, %[[V:.+]]: tensor<4xf32>
//   CHECK-NOT: _shape
//       CHECK: %[[M:.+]] = linalg.generic {{.+}} ins(%[[X]], %[[W]] :
//   CHECK-NOT: _shape
//       CHECK: %[[R:.+]] = linalg.generic {{.+}} ins(%[[M]], %[[V]] :
//       CHECK: return %[[R]] : tensor<2x5x4xf32>
func.func @linear(%x: tensor<2x5x7xf32>, %w: tensor<7x4xf32>, %v: tensor<4xf32>) -> tensor<2x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x5x7xf32> into tensor<10x7xf32>
  %e = tensor.empty() : tensor<10x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<10x4xf32>) -> tensor<10x4xf32>
  %m = linalg.matmul ins(%a, %w : tensor<10x7xf32>, tensor<7x4xf32>) outs(%f : tensor<10x4xf32>) -> tensor<10x4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} ins(%m, %v : tensor<10x4xf32>, tensor<4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %t = arith.addf %p, %q : f32
    linalg.yield %t : f32
  } -> tensor<10x4xf32>
  %r = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 5, 4] : tensor<10x4xf32> into tensor<2x5x4xf32>
  return %r : tensor<2x5x4xf32>
}

// CHECK-LABEL: func @heads
//       CHECK: %[[M:.+]] = linalg.generic {{.+}} outs(%{{.+}} : tensor<2x5x6xf32>)
//       CHECK: tensor.expand_shape %[[M]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 5, 3, 2]
func.func @heads(%x: tensor<2x5x7xf32>, %w: tensor<7x6xf32>, %f: tensor<10x6xf32>) -> tensor<2x5x3x2xf32> {
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x5x7xf32> into tensor<10x7xf32>
  %m = linalg.matmul ins(%a, %w : tensor<10x7xf32>, tensor<7x6xf32>) outs(%f : tensor<10x6xf32>) -> tensor<10x6xf32>
  %r = tensor.expand_shape %m [[0, 1], [2, 3]] output_shape [2, 5, 3, 2] : tensor<10x6xf32> into tensor<2x5x3x2xf32>
  return %r : tensor<2x5x3x2xf32>
}

// CHECK-LABEL: func @dynamic
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3x5x7xf32>
//   CHECK-NOT: collapse_shape %[[X]]
//       CHECK: linalg.generic {{.+}} ins(%[[X]]
//  CHECK-SAME: outs(%{{.+}} : tensor<?x3x5x4xf32>)
func.func @dynamic(%x: tensor<?x3x5x7xf32>, %y: tensor<?x3x7x4xf32>, %f: tensor<?x5x4xf32>, %n: index) -> tensor<?x3x5x4xf32> {
  %a = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<?x3x5x7xf32> into tensor<?x5x7xf32>
  %b = tensor.collapse_shape %y [[0, 1], [2], [3]] : tensor<?x3x7x4xf32> into tensor<?x7x4xf32>
  %m = linalg.batch_matmul ins(%a, %b : tensor<?x5x7xf32>, tensor<?x7x4xf32>) outs(%f : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2], [3]] output_shape [%n, 3, 5, 4] : tensor<?x5x4xf32> into tensor<?x3x5x4xf32>
  return %r : tensor<?x3x5x4xf32>
}

// CHECK-LABEL: func @sizes
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x7xf32>
//   CHECK-NOT: collapse_shape %[[X]]
//       CHECK: linalg.generic {{.+}} ins(%[[X]]
func.func @sizes(%x: tensor<?x?x7xf32>, %w: tensor<7x4xf32>, %f: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x7xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x7xf32>
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x7xf32> into tensor<?x7xf32>
  %m = linalg.matmul ins(%a, %w : tensor<?x7xf32>, tensor<7x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [%d0, %d1, 4] : tensor<?x4xf32> into tensor<?x?x4xf32>
  return %r : tensor<?x?x4xf32>
}

// CHECK-LABEL: func @asserted
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x5x7xf32>, %[[Y:[a-z0-9]+]]: tensor<?x?x7x4xf32>
//   CHECK-NOT: collapse_shape
//       CHECK: linalg.generic {{.+}} ins(%[[X]], %[[Y]] :
//   CHECK-NOT: _shape
//       CHECK: return
func.func @asserted(%x: tensor<?x?x5x7xf32>, %y: tensor<?x?x7x4xf32>) -> tensor<?x?x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x0 = tensor.dim %x, %c0 : tensor<?x?x5x7xf32>
  %x1 = tensor.dim %x, %c1 : tensor<?x?x5x7xf32>
  %y0 = tensor.dim %y, %c0 : tensor<?x?x7x4xf32>
  %y1 = tensor.dim %y, %c1 : tensor<?x?x7x4xf32>
  %same0 = arith.cmpi eq, %x0, %y0 : index
  cf.assert %same0, "batches differ"
  %same1 = arith.cmpi eq, %y1, %x1 : index
  cf.assert %same1, "heads differ"
  %a = tensor.collapse_shape %x [[0, 1], [2], [3]] : tensor<?x?x5x7xf32> into tensor<?x5x7xf32>
  %b = tensor.collapse_shape %y [[0, 1], [2], [3]] : tensor<?x?x7x4xf32> into tensor<?x7x4xf32>
  %n = arith.muli %x0, %x1 : index
  %e = tensor.empty(%n) : tensor<?x5x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  %m = linalg.batch_matmul ins(%a, %b : tensor<?x5x7xf32>, tensor<?x7x4xf32>) outs(%f : tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2], [3]] output_shape [%x0, %x1, 5, 4] : tensor<?x5x4xf32> into tensor<?x?x5x4xf32>
  return %r : tensor<?x?x5x4xf32>
}

// CHECK-LABEL: func @swapped
//       CHECK: tensor.collapse_shape
//       CHECK: linalg.matmul
//       CHECK: tensor.expand_shape
func.func @swapped(%x: tensor<?x?x7xf32>, %w: tensor<7x4xf32>, %f: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x7xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x7xf32>
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x7xf32> into tensor<?x7xf32>
  %m = linalg.matmul ins(%a, %w : tensor<?x7xf32>, tensor<7x4xf32>) outs(%f : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [%d1, %d0, 4] : tensor<?x4xf32> into tensor<?x?x4xf32>
  return %r : tensor<?x?x4xf32>
}

// CHECK-LABEL: func @plain
//       CHECK: linalg.matmul
func.func @plain(%x: tensor<10x7xf32>, %w: tensor<7x4xf32>, %f: tensor<10x4xf32>) -> tensor<2x5x4xf32> {
  %m = linalg.matmul ins(%x, %w : tensor<10x7xf32>, tensor<7x4xf32>) outs(%f : tensor<10x4xf32>) -> tensor<10x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [2, 5, 4] : tensor<10x4xf32> into tensor<2x5x4xf32>
  return %r : tensor<2x5x4xf32>
}

// CHECK-LABEL: func @otherwise
//       CHECK: linalg.matmul
func.func @otherwise(%x: tensor<5x2x7xf32>, %w: tensor<7x4xf32>, %f: tensor<10x4xf32>) -> tensor<2x5x4xf32> {
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<5x2x7xf32> into tensor<10x7xf32>
  %m = linalg.matmul ins(%a, %w : tensor<10x7xf32>, tensor<7x4xf32>) outs(%f : tensor<10x4xf32>) -> tensor<10x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [2, 5, 4] : tensor<10x4xf32> into tensor<2x5x4xf32>
  return %r : tensor<2x5x4xf32>
}

// CHECK-LABEL: func @used
//       CHECK: linalg.matmul
func.func @used(%x: tensor<2x5x7xf32>, %w: tensor<7x4xf32>, %f: tensor<10x4xf32>) -> (tensor<2x5x4xf32>, tensor<10x4xf32>) {
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x5x7xf32> into tensor<10x7xf32>
  %m = linalg.matmul ins(%a, %w : tensor<10x7xf32>, tensor<7x4xf32>) outs(%f : tensor<10x4xf32>) -> tensor<10x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [2, 5, 4] : tensor<10x4xf32> into tensor<2x5x4xf32>
  return %r, %m : tensor<2x5x4xf32>, tensor<10x4xf32>
}

// CHECK-LABEL: func @indexed
//       CHECK: tensor.collapse_shape
//       CHECK: linalg.index
//       CHECK: tensor.expand_shape
func.func @indexed(%x: tensor<2x5x7xf32>, %e: tensor<10x7xindex>) -> tensor<2x5x7xindex> {
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x5x7xf32> into tensor<10x7xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<10x7xf32>) outs(%e : tensor<10x7xindex>) {
  ^bb0(%p: f32, %o: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<10x7xindex>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [2, 5, 7] : tensor<10x7xindex> into tensor<2x5x7xindex>
  return %r : tensor<2x5x7xindex>
}

// CHECK-LABEL: func @last
//       CHECK: linalg.matmul
func.func @last(%x: tensor<5x7xf32>, %w: tensor<7x2x3xf32>, %f: tensor<5x6xf32>) -> tensor<5x2x3xf32> {
  %b = tensor.collapse_shape %w [[0], [1, 2]] : tensor<7x2x3xf32> into tensor<7x6xf32>
  %m = linalg.matmul ins(%x, %b : tensor<5x7xf32>, tensor<7x6xf32>) outs(%f : tensor<5x6xf32>) -> tensor<5x6xf32>
  %r = tensor.expand_shape %m [[0], [1, 2]] output_shape [5, 2, 3] : tensor<5x6xf32> into tensor<5x2x3xf32>
  return %r : tensor<5x2x3xf32>
}

// CHECK-LABEL: func @unit
//       CHECK: linalg.matmul
func.func @unit(%x: tensor<1x5x7xf32>, %w: tensor<7x4xf32>, %f: tensor<5x4xf32>) -> tensor<1x5x4xf32> {
  %a = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x5x7xf32> into tensor<5x7xf32>
  %m = linalg.matmul ins(%a, %w : tensor<5x7xf32>, tensor<7x4xf32>) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  %r = tensor.expand_shape %m [[0, 1], [2]] output_shape [1, 5, 4] : tensor<5x4xf32> into tensor<1x5x4xf32>
  return %r : tensor<1x5x4xf32>
}
