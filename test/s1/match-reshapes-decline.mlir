// Properties: reshapes stay where sizes are not proven equal: by no assertion
// (@apart), by one that stands behind (@behind) or in a branch (@branch), by one
// that compares otherwise (@less); where what is left over could differ if
// another size is 0 (@rest); where a size is 0 (@zero). Static shapes are left
// to others (@static).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-match-reshapes))' | FileCheck %s

// CHECK-LABEL: func @apart
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
func.func @apart(%x: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %c1 = arith.constant 1 : index
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%n, %d1] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @behind
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
//       CHECK: cf.assert
func.func @behind(%x: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%n, %d1] : tensor<?xf32> into tensor<?x?xf32>
  %same = arith.cmpi eq, %d0, %n : index
  cf.assert %same, "sizes differ"
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @branch
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
func.func @branch(%x: tensor<?x?xf32>, %n: index, %c: i1) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  scf.if %c {
    %same = arith.cmpi eq, %d0, %n : index
    cf.assert %same, "sizes differ"
  }
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%n, %d1] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @less
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
func.func @less(%x: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %same = arith.cmpi sle, %d0, %n : index
  cf.assert %same, "sizes differ"
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%n, %d1] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// With 0 in front, any number of columns has as many elements.
// CHECK-LABEL: func @rest
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
func.func @rest(%x: tensor<?x?xf32>, %n: index) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%d0, %n] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func @zero
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
func.func @zero(%x: tensor<?x0xf32>, %n: index) -> tensor<?x0xf32> {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x0xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%n, 0] : tensor<?xf32> into tensor<?x0xf32>
  return %r : tensor<?x0xf32>
}

// CHECK-LABEL: func @static
//       CHECK: tensor.collapse_shape
//       CHECK: tensor.expand_shape
func.func @static(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}
