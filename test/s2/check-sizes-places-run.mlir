// Properties: a slice at a place that is computed is an error where it ends past the
// end, or begins below 0, of what it is read from (@read) or written to (@written), with
// any step (@steps), in a loop (@loop), at a place that memory holds (@held); not where it
// is empty, wherever that is. One that wraps around 64 bits does not fit.
// RUN: polynestc run %s --entry read --check --size 9 --int-range 6:6
// RUN: polynestc run %s --entry read --check --size 9 --int-range 0:0
// RUN: not polynestc run %s --entry read --size 9 --int-range 7:7 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry read --size 9 --int-range=-1:-1 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry read --size 2 --int-range 0:0 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry read --size 9 --int-range 9223372036854775807:9223372036854775807 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry written --check --size 0.0=9 --size 1.0=4 --int-range 5:5
// RUN: polynestc run %s --entry written --check --size 0.0=9 --size 1.0=0 --int-range 50:50
// RUN: not polynestc run %s --entry written --size 0.0=9 --size 1.0=4 --int-range 6:6 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry steps --check --size 7 --int-range 3:3
// RUN: polynestc run %s --entry steps --check --size 6 --int-range=-2:-2
// RUN: polynestc run %s --entry steps --check --size 6 --int-range 0:0
// RUN: not polynestc run %s --entry steps --size 6 --int-range 3:3 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry steps --size 7 --int-range=-3:-3 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry steps --size 7 --int-range 4611686018427387904:4611686018427387904 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry steps --size 7 --int-range=-9223372036854775808:-9223372036854775808 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry loop --check --size 9 --int-range 8:8
// RUN: polynestc run %s --entry loop --check --size 9 --int-range 0:0
// RUN: not polynestc run %s --entry loop --size 9 --int-range 9:9 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry held --check --size 9 --int-range 7:7
// RUN: not polynestc run %s --entry held --size 9 --int-range 8:8 2>&1 | FileCheck %s

// CHECK: sizes do not fit: a slice lies outside of dimension 0 of input 0

func.func @read(%x: tensor<?xf32>, %at: index) -> tensor<3xf32> {
  %s = tensor.extract_slice %x[%at] [3] [1] : tensor<?xf32> to tensor<3xf32>
  return %s : tensor<3xf32>
}

func.func @written(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %at: index)
    -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %y, %c0 : tensor<?x8xf32>
  %s = tensor.insert_slice %y into %x[%at, 0] [%n, 8] [1, 1]
    : tensor<?x8xf32> into tensor<?x8xf32>
  return %s : tensor<?x8xf32>
}

// From element 0, or from element 4 where the step is below 0.
func.func @steps(%x: tensor<?xf32>, %step: index) -> tensor<3xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %up = arith.cmpi sgt, %step, %c0 : index
  %first = arith.select %up, %c0, %c4 : index
  %s = tensor.extract_slice %x[%first] [3] [%step]
    : tensor<?xf32> to tensor<3xf32>
  return %s : tensor<3xf32>
}

func.func @loop(%x: tensor<?xf32>, %n: index) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<2xf32>
  %zero = linalg.fill ins(%cst : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero)
      -> tensor<2xf32> {
    %s = tensor.extract_slice %x[%i] [2] [1] : tensor<?xf32> to tensor<2xf32>
    %next = linalg.add ins(%s, %sum : tensor<2xf32>, tensor<2xf32>)
                       outs(%e : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %next : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

func.func @held(%x: tensor<?xf32>, %place: tensor<i64>) -> tensor<2xf32> {
  %i = tensor.extract %place[] : tensor<i64>
  %at = arith.index_cast %i : i64 to index
  %s = tensor.extract_slice %x[%at] [2] [1] : tensor<?xf32> to tensor<2xf32>
  return %s : tensor<2xf32>
}
