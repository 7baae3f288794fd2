// A reshape that joins a dimension of size 0 with one of unknown size was
// refused: its form on memrefs may not have the size 0 that MLIR gave it.
// RUN: %npy %t.0.npy f8 "0,3" ""
// RUN: polynestc run %s --entry joined --input %t.0.npy --print --check | FileCheck %s
// RUN: polynestc run %s --entry behind --input %t.0.npy --print --check | FileCheck %s

// CHECK: 0
func.func @joined(%x: tensor<0x?xf64>) -> tensor<?xf64> {
  %e = tensor.collapse_shape %x [[0, 1]] : tensor<0x?xf64> into tensor<?xf64>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %e, %c0 : tensor<?xf64>
  %o = tensor.empty(%n) : tensor<?xf64>
  %r = linalg.exp ins(%e : tensor<?xf64>) outs(%o : tensor<?xf64>)
    -> tensor<?xf64>
  return %r : tensor<?xf64>
}

// Known only once casts are folded.
func.func @behind(%x: tensor<0x?xf64>) -> tensor<?xf64> {
  %w = tensor.cast %x : tensor<0x?xf64> to tensor<?x?xf64>
  %e = tensor.collapse_shape %w [[0, 1]] : tensor<?x?xf64> into tensor<?xf64>
  return %e : tensor<?xf64>
}
