// Properties: a slice at a constant place that ends past the end of what any size has
// is an error, not memory of others, where it is read (@read), written (@written), of a
// computed tensor (@computed) or in a branch that runs (@branch); one that fits runs, and
// so does a branch that does not.
// RUN: polynestc run %s --entry read --check --size 10
// RUN: not polynestc run %s --entry read --size 9 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry written --check --size 7
// RUN: not polynestc run %s --entry written --size 6 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry computed --check --size 7
// RUN: not polynestc run %s --entry computed --size 6 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry branch --check --size 7
// RUN: polynestc run %s --entry branch --check --size 5
// RUN: not polynestc run %s --entry branch --size 6 2>&1 | FileCheck %s

// CHECK: sizes do not fit: a slice ends past the end of dimension 0 of input 0

func.func @read(%x: tensor<?xf32>) -> tensor<4xf32> {
  %s = tensor.extract_slice %x[3] [4] [2] : tensor<?xf32> to tensor<4xf32>
  return %s : tensor<4xf32>
}

func.func @written(%x: tensor<?x8xf32>, %y: tensor<4x8xf32>) -> tensor<?x8xf32> {
  %s = tensor.insert_slice %y into %x[3, 0] [4, 8] [1, 1]
    : tensor<4x8xf32> into tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

func.func @computed(%x: tensor<?xf32>) -> tensor<4xf32> {
  %e = math.exp %x : tensor<?xf32>
  %s = tensor.extract_slice %e[3] [4] [1] : tensor<?xf32> to tensor<4xf32>
  return %s : tensor<4xf32>
}

func.func @branch(%x: tensor<?xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %c = arith.cmpi sge, %n, %c6 : index
  %r = scf.if %c -> (tensor<4xf32>) {
    %s = tensor.extract_slice %x[3] [4] [1] : tensor<?xf32> to tensor<4xf32>
    %e = math.exp %s : tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  } else {
    scf.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
