// Slices that drop a dimension of size 1, of a tensor whose other dimensions
// turn out to be 1: MLIR folded their sizes and then dropped the first one of
// size 1, so that the result was of shape 4x1x4 where it is declared 1x4x4.
// RUN: %npy %t.0.npy f4 "1,4,2,8" "0..64"
// RUN: %npy %t.1.npy f4 "1,4,4" "1000..1016"
// RUN: polynestc run %s --entry extract --input %t.0.npy --print --check | FileCheck %s --check-prefix=EXTRACT
// RUN: polynestc run %s --entry insert --input %t.0.npy --input %t.1.npy --print --check | FileCheck %s --check-prefix=INSERT

// 16 j + 8 + k.
//     EXTRACT: 1x4x4
// EXTRACT-NEXT: 8, 9, {{.*}}, 11
// EXTRACT-NEXT: 24, 25, 26, 27
func.func @extract(%x: tensor<1x4x2x8xf32>) -> tensor<?x?x4xf32> {
  %w = tensor.cast %x : tensor<1x4x2x8xf32> to tensor<?x?x?x8xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %w, %c0 : tensor<?x?x?x8xf32>
  %m = tensor.dim %w, %c1 : tensor<?x?x?x8xf32>
  %r = tensor.extract_slice %w[0, 0, 1, 0] [%n, %m, 1, 4] [1, 1, 1, 1]
    : tensor<?x?x?x8xf32> to tensor<?x?x4xf32>
  return %r : tensor<?x?x4xf32>
}

// INSERT: 0, 1, 2, 3, 4, 5, 6, 7
// INSERT: 1001, 1002, 1003, 12, 13, 14, 15
// INSERT: 16, 17,
// INSERT: 1004, 1005, 1006, 1007, 28,
func.func @insert(%x: tensor<1x4x2x8xf32>, %s: tensor<1x4x4xf32>)
    -> tensor<?x?x?x8xf32> {
  %w = tensor.cast %x : tensor<1x4x2x8xf32> to tensor<?x?x?x8xf32>
  %v = tensor.cast %s : tensor<1x4x4xf32> to tensor<?x?x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %w, %c0 : tensor<?x?x?x8xf32>
  %m = tensor.dim %w, %c1 : tensor<?x?x?x8xf32>
  %r = tensor.insert_slice %v into %w[0, 0, 1, 0] [%n, %m, 1, 4] [1, 1, 1, 1]
    : tensor<?x?x4xf32> into tensor<?x?x?x8xf32>
  return %r : tensor<?x?x?x8xf32>
}
