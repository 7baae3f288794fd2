// Slices that drop some dimensions of size 1 and keep others, at offsets that
// are data: MLIR took the dropped dimensions of the buffer from its strides, of
// which two were the same, and read past its tables.
// RUN: %npy %t.0.npy f4 "3,2,5,4" "0..120"
// RUN: %npy %t.1.npy i8 "" "1..2"
// RUN: %npy %t.2.npy i8 "" "0..1"
// RUN: %npy %t.3.npy f4 "1,3" "1000..1003"
// RUN: %npy %t.4.npy i8 "" "2..3"
// RUN: polynestc run %s --entry extract --input %t.0.npy --input %t.1.npy --input %t.2.npy --print --check | FileCheck %s --check-prefix=EXTRACT
// RUN: polynestc run %s --entry insert --input %t.0.npy --input %t.3.npy --input %t.4.npy --input %t.1.npy --print --check | FileCheck %s --check-prefix=INSERT
// RUN: polynestc compile %s --stage s2 | FileCheck %s --check-prefix=VIEWS

// 40 a + 20 + 2.
//     EXTRACT: 22
//     EXTRACT: 62
//     EXTRACT: 102
// VIEWS-LABEL: func @extract
//       VIEWS: memref.subview {{.*}} to memref<3x1x1x1xf32
func.func @extract(%x: tensor<3x2x5x4xf32>, %i: index, %j: index)
    -> tensor<3x1xf32> {
  %r = tensor.extract_slice %x[0, %i, %j, 2] [3, 1, 1, 1] [1, 2, 1, 1]
    : tensor<3x2x5x4xf32> to tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// 80 + 4 k + 1.
//      INSERT: 79
//      INSERT: 1e+03, 82, 83
//      INSERT: 84, 1001, 86, 87
//      INSERT: 88, 1002, {{.*}}, 91
// VIEWS-LABEL: func @insert
//       VIEWS: memref.subview {{.*}} to memref<1x1x3x1xf32
func.func @insert(%x: tensor<3x2x5x4xf32>, %s: tensor<1x3xf32>, %i: index,
                  %j: index) -> tensor<3x2x5x4xf32> {
  %r = tensor.insert_slice %s into %x[%i, 0, 0, %j] [1, 1, 3, 1] [1, 1, 1, 1]
    : tensor<1x3xf32> into tensor<3x2x5x4xf32>
  return %r : tensor<3x2x5x4xf32>
}
