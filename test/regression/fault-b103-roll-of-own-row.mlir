// Fault B103: a row replaced by its own roll uses only the row's old values.
// RUN: %npy %t.0.0.npy f4 "2,100" "0..200"
// RUN: polynestc run %s --entry roll --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^\[\[}}95, 96, 97, 98, 99, 0, 1, 2,{{.*}} 93, 94],
// R0: {{\[(100|1e\+02)}}, 101,{{.*}} 199]]
// RUN: %npy %t.1.0.npy f4 "100" "0..100"
// RUN: polynestc run %s --entry shift --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[0, 1, 2, 3, 4, 0, 1, 2,{{.*}} 94]

func.func @roll(%x: tensor<2x100xf32>) -> tensor<2x100xf32> {
  %a = tensor.extract_slice %x[0, 95] [1, 5] [1, 1]
    : tensor<2x100xf32> to tensor<1x5xf32>
  %b = tensor.extract_slice %x[0, 0] [1, 95] [1, 1]
    : tensor<2x100xf32> to tensor<1x95xf32>
  %c = tensor.concat dim(1) %a, %b
    : (tensor<1x5xf32>, tensor<1x95xf32>) -> tensor<1x100xf32>
  %r = tensor.insert_slice %c into %x[0, 0] [1, 100] [1, 1]
    : tensor<1x100xf32> into tensor<2x100xf32>
  return %r : tensor<2x100xf32>
}

func.func @shift(%x: tensor<100xf32>) -> tensor<100xf32> {
  %b = tensor.extract_slice %x[0] [95] [1]
    : tensor<100xf32> to tensor<95xf32>
  %r = tensor.insert_slice %b into %x[5] [95] [1]
    : tensor<95xf32> into tensor<100xf32>
  return %r : tensor<100xf32>
}
