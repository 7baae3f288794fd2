// Slices that drop some sizes of 1 and keep others, or ones that may be, are of
// full rank (@ones, @unknown, @insert); those with one meaning stay (@whole). A
// dimension of size 0 joined with unknown ones is an empty tensor (@zero), with
// known ones it stays (@known). A second run changes nothing.
// RUN: polynest-opt %s --polynest-settle-views --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --polynest-settle-views | diff %t.once -

// REMARK: [Passed] settle-views {{.*}}op=tensor.extract_slice

// CHECK-LABEL: func @ones
//  CHECK-SAME: (%[[X:.+]]: tensor<1x?x1x4xf32>, %[[N:.+]]: index, %[[S:.+]]: tensor<1x?xf32>
//       CHECK: %[[F:.+]] = tensor.extract_slice %[[X]][0, 1, 0, 2] [1, %[[N]], 1, 1] [1, 1, 1, 1] : tensor<1x?x1x4xf32> to tensor<1x?x1x1xf32>
//       CHECK: tensor.collapse_shape %[[F]] {{\[\[}}0], [1, 2, 3]] : tensor<1x?x1x1xf32> into tensor<1x?xf32>
//       CHECK: %[[E:.+]] = tensor.expand_shape %[[S]] {{\[\[}}0], [1, 2, 3]] output_shape [1, %[[N]], 1, 1]
//       CHECK: tensor.insert_slice %[[E]] into %[[X]][0, 0, 0, 3] [1, %[[N]], 1, 1] [1, 1, 1, 1] : tensor<1x?x1x1xf32> into tensor<1x?x1x4xf32>
func.func @ones(%x: tensor<1x?x1x4xf32>, %n: index, %s: tensor<1x?xf32>)
    -> (tensor<1x?xf32>, tensor<1x?x1x4xf32>) {
  %a = tensor.extract_slice %x[0, 1, 0, 2] [1, %n, 1, 1] [1, 1, 1, 1]
    : tensor<1x?x1x4xf32> to tensor<1x?xf32>
  %r = tensor.insert_slice %s into %x[0, 0, 0, 3] [1, %n, 1, 1] [1, 1, 1, 1]
    : tensor<1x?xf32> into tensor<1x?x1x4xf32>
  return %a, %r : tensor<1x?xf32>, tensor<1x?x1x4xf32>
}

// CHECK-LABEL: func @whole
//   CHECK-NOT: _shape
//       CHECK: return
func.func @whole(%x: tensor<3x5x1x4xf32>) -> (tensor<3x5x4xf32>, tensor<3x1x1x4xf32>, tensor<f32>) {
  %a = tensor.extract_slice %x[0, 0, 0, 0] [3, 5, 1, 4] [1, 1, 1, 1]
    : tensor<3x5x1x4xf32> to tensor<3x5x4xf32>
  %b = tensor.extract_slice %x[0, 2, 0, 0] [3, 1, 1, 4] [1, 1, 1, 1]
    : tensor<3x5x1x4xf32> to tensor<3x1x1x4xf32>
  %c = tensor.extract_slice %x[0, 2, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1]
    : tensor<3x5x1x4xf32> to tensor<f32>
  return %a, %b, %c : tensor<3x5x4xf32>, tensor<3x1x1x4xf32>, tensor<f32>
}

// CHECK-LABEL: func @unknown
//  CHECK-SAME: (%[[X:.+]]: tensor<?x?x?x8xf32>, %[[N:.+]]: index, %[[M:.+]]: index)
//       CHECK: %[[F:.+]] = tensor.extract_slice %[[X]][0, 0, 1, 0] [%[[N]], %[[M]], 1, 4] [1, 1, 1, 1] : tensor<?x?x?x8xf32> to tensor<?x?x1x4xf32>
//       CHECK: tensor.collapse_shape %[[F]] {{\[\[}}0], [1, 2], [3]] : tensor<?x?x1x4xf32> into tensor<?x?x4xf32>
func.func @unknown(%x: tensor<?x?x?x8xf32>, %n: index, %m: index)
    -> tensor<?x?x4xf32> {
  %a = tensor.extract_slice %x[0, 0, 1, 0] [%n, %m, 1, 4] [1, 1, 1, 1]
    : tensor<?x?x?x8xf32> to tensor<?x?x4xf32>
  return %a : tensor<?x?x4xf32>
}

// CHECK-LABEL: func @insert
//  CHECK-SAME: (%[[X:.+]]: tensor<?x?x8xf32>, %[[S:.+]]: tensor<?x4xf32>, %[[N:.+]]: index)
//       CHECK: %[[E:.+]] = tensor.expand_shape %[[S]] {{\[\[}}0, 1], [2]] output_shape [%[[N]], 1, 4]
//       CHECK: tensor.insert_slice %[[E]] into %[[X]][0, 2, 0] [%[[N]], 1, 4] [1, 1, 1] : tensor<?x1x4xf32> into tensor<?x?x8xf32>
func.func @insert(%x: tensor<?x?x8xf32>, %s: tensor<?x4xf32>, %n: index)
    -> tensor<?x?x8xf32> {
  %r = tensor.insert_slice %s into %x[0, 2, 0] [%n, 1, 4] [1, 1, 1]
    : tensor<?x4xf32> into tensor<?x?x8xf32>
  return %r : tensor<?x?x8xf32>
}

// CHECK-LABEL: func @zero
//  CHECK-SAME: (%[[X:.+]]: tensor<0x?x?x3x?xf32>)
//       CHECK: %[[B:.+]] = tensor.dim %[[X]], %c2
//       CHECK: %[[T:.+]] = arith.muli %[[B]], %c3
//       CHECK: %[[C:.+]] = tensor.dim %[[X]], %c4
//       CHECK: %[[P:.+]] = arith.muli %[[T]], %[[C]]
//       CHECK: tensor.empty(%c0{{.*}}, %[[P]]) : tensor<?x?xf32>
func.func @zero(%x: tensor<0x?x?x3x?xf32>) -> tensor<?x?xf32> {
  %r = tensor.collapse_shape %x [[0, 1], [2, 3, 4]]
    : tensor<0x?x?x3x?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @known
//   CHECK-NOT: tensor.empty
//       CHECK: tensor.collapse_shape
//       CHECK: return
func.func @known(%x: tensor<0x5x?x?xf32>) -> tensor<0x?xf32> {
  %r = tensor.collapse_shape %x [[0, 1], [2, 3]]
    : tensor<0x5x?x?xf32> into tensor<0x?xf32>
  return %r : tensor<0x?xf32>
}
