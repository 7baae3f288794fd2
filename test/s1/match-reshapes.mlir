// Properties: dimensions that went through one are joined (@joined) and parted
// (@parted) by groups, and not at all where the shape is the same in the end
// (@nothing); sizes may be those of another tensor that assertions in front show
// to be equal (@asserted); what is cut anew is one group (@anew), beside others
// that stay (@beside); sizes of 1 come and go (@ones); constants count
// (@constants), also where one type has them and the other does not (@cast). A
// second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-match-reshapes))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-match-reshapes))' | diff %t.once -

// CHECK-LABEL: func @joined
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x?xf32>
//       CHECK: %[[R:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
//   CHECK-NOT: reshape %
//       CHECK: return %[[R]]
//      REMARK: [Passed] match-reshapes {{.*}}groups=2, op=tensor.reshape
func.func @joined(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %x, %c2 : tensor<?x?x?xf32>
  %i0 = arith.index_cast %d0 : index to i64
  %i1 = arith.index_cast %d1 : index to i64
  %i2 = arith.index_cast %d2 : index to i64
  %n = arith.muli %i1, %i0 : i64
  %flat = tensor.collapse_shape %x [[0, 1, 2]] : tensor<?x?x?xf32> into tensor<?xf32>
  %s = tensor.from_elements %n, %i2 : tensor<2xi64>
  %r = tensor.reshape %flat(%s) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @parted
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x?xf32>
//       CHECK: %[[A:.+]] = tensor.dim %[[X]]
//       CHECK: %[[B:.+]] = tensor.dim %[[X]]
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: %[[R:.+]] = tensor.expand_shape %[[F]] {{\[\[}}0, 1], [2]] output_shape [%[[A]], %[[B]], %{{.+}}] : tensor<?x?xf32> into tensor<?x?x?xf32>
//       CHECK: return %[[R]]
func.func @parted(%x: tensor<?x?x?xf32>, %v: f32) -> tensor<?x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %x, %c2 : tensor<?x?x?xf32>
  %joined = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x?xf32> into tensor<?x?xf32>
  %n = tensor.dim %joined, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%n, %d2) : tensor<?x?xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %flat = tensor.collapse_shape %f [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1, 2]] output_shape [%d0, %d1, %d2] : tensor<?xf32> into tensor<?x?x?xf32>
  return %r : tensor<?x?x?xf32>
}

// CHECK-LABEL: func @nothing
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xf32>
//   CHECK-NOT: _shape
//       CHECK: return %[[X]]
func.func @nothing(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%d0, %d1] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @asserted
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xf32>, %[[Y:[a-z0-9]+]]: tensor<?x?xf32>
//       CHECK: cf.assert
//       CHECK: return %[[Y]]
func.func @asserted(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %y0 = tensor.dim %y, %c0 : tensor<?x?xf32>
  %y1 = tensor.dim %y, %c1 : tensor<?x?xf32>
  %same = arith.cmpi eq, %x0, %y0 : index
  cf.assert %same, "sizes differ"
  %flat = tensor.collapse_shape %y [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%x0, %y1] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @anew
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?xf32>
//       CHECK: %[[C:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]]
//       CHECK: tensor.expand_shape %[[C]] {{\[\[}}0, 1]]
//   CHECK-NOT: tensor.reshape
//       CHECK: return
func.func @anew(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %s = tensor.from_elements %d1, %d0 : tensor<2xindex>
  %r = tensor.reshape %flat(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @beside
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x?x5x6xf32>
//       CHECK: %[[C:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0], [1], [2, 3]] : tensor<?x?x5x6xf32> into tensor<?x?x30xf32>
//       CHECK: tensor.expand_shape %[[C]] {{\[\[}}0], [1], [2, 3]] output_shape [%{{.+}}, %{{.+}}, 10, 3]
func.func @beside(%x: tensor<?x?x5x6xf32>) -> tensor<?x?x10x3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?x5x6xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x5x6xf32>
  %flat = tensor.collapse_shape %x [[0, 1, 2, 3]] : tensor<?x?x5x6xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1, 2, 3]] output_shape [%d0, %d1, 10, 3] : tensor<?xf32> into tensor<?x?x10x3xf32>
  return %r : tensor<?x?x10x3xf32>
}

// CHECK-LABEL: func @ones
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x?x?x1xf32>
//       CHECK: %[[C:.+]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2, 3]] : tensor<1x?x?x1xf32> into tensor<?x?xf32>
//       CHECK: tensor.expand_shape %[[C]] {{\[\[}}0], [1, 2]] output_shape [%{{.+}}, 1, %{{.+}}] : tensor<?x?xf32> into tensor<?x1x?xf32>
func.func @ones(%x: tensor<1x?x?x1xf32>) -> tensor<?x1x?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d1 = tensor.dim %x, %c1 : tensor<1x?x?x1xf32>
  %d2 = tensor.dim %x, %c2 : tensor<1x?x?x1xf32>
  %flat = tensor.collapse_shape %x [[0, 1, 2, 3]] : tensor<1x?x?x1xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1, 2]] output_shape [%d1, 1, %d2] : tensor<?xf32> into tensor<?x1x?xf32>
  return %r : tensor<?x1x?xf32>
}

// CHECK-LABEL: func @constants
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x12xf32>
//       CHECK: tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] output_shape [%{{.+}}, 3, 4]
func.func @constants(%x: tensor<?x12xf32>) -> tensor<?x3x4xf32> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x12xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x12xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1, 2]] output_shape [%d0, 3, 4] : tensor<?xf32> into tensor<?x3x4xf32>
  return %r : tensor<?x3x4xf32>
}

// CHECK-LABEL: func @cast
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x4xf32>
//       CHECK: %[[C:.+]] = tensor.cast %[[X]] : tensor<?x4xf32> to tensor<?x?xf32>
//   CHECK-NOT: _shape
//       CHECK: return %[[C]]
func.func @cast(%x: tensor<?x4xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%d0, %c4] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
