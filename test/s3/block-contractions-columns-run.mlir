// Properties: products whose columns are read where they are give what the plain
// program gives, in f32 and f64: several panels, depths of one block, of several and of
// a part of one, batches that are long enough for several steps of the depth in an
// iteration, a rest of rows, columns of a slice at an odd offset, and of a buffer that
// another product writes; no row and few of them.
// RUN: polynestc run %s --check --size 0
// RUN: polynestc run %s --check --size 1
// RUN: polynestc run %s --check --size 7
// RUN: polynestc run %s --check --size 50
// RUN: polynestc targets znver3 --file > %t.target
// RUN: polynestc run %s --check --size 33 --target %t.target
// RUN: polynestc explain %s | FileCheck %s
// CHECK-COUNT-5: block-contractions {{.*}}applied {{.*}}columns-in-place true

func.func @products(
    %a: tensor<?x200xf32>, %b: tensor<200x32xf32>,
    %c: tensor<3x2103x300xf32>, %d: tensor<3x300x16xf32>,
    %e: tensor<?x90xf64>, %f: tensor<97x23xf64>,
    %g: tensor<70x61xf32>, %h: tensor<61x40xf32>,
    %k: tensor<40x64xf32>)
    -> (tensor<?x32xf32>, tensor<3x2103x16xf32>, tensor<?x16xf64>,
        tensor<70x64xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %wide = arith.constant 0.0 : f64
  %m = tensor.dim %a, %c0 : tensor<?x200xf32>
  %e0 = tensor.empty(%m) : tensor<?x32xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x32xf32>)
    -> tensor<?x32xf32>
  %p0 = linalg.matmul ins(%a, %b : tensor<?x200xf32>, tensor<200x32xf32>)
    outs(%i0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %e1 = tensor.empty() : tensor<3x2103x16xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2103x16xf32>)
    -> tensor<3x2103x16xf32>
  %p1 = linalg.batch_matmul
    ins(%c, %d : tensor<3x2103x300xf32>, tensor<3x300x16xf32>)
    outs(%i1 : tensor<3x2103x16xf32>) -> tensor<3x2103x16xf32>
  %n = tensor.dim %e, %c0 : tensor<?x90xf64>
  %s = tensor.extract_slice %f[5, 3] [90, 16] [1, 1]
    : tensor<97x23xf64> to tensor<90x16xf64>
  %e2 = tensor.empty(%n) : tensor<?x16xf64>
  %i2 = linalg.fill ins(%wide : f64) outs(%e2 : tensor<?x16xf64>)
    -> tensor<?x16xf64>
  %p2 = linalg.matmul ins(%e, %s : tensor<?x90xf64>, tensor<90x16xf64>)
    outs(%i2 : tensor<?x16xf64>) -> tensor<?x16xf64>
  %e3 = tensor.empty() : tensor<61x64xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<61x64xf32>)
    -> tensor<61x64xf32>
  %q = linalg.matmul ins(%h, %k : tensor<61x40xf32>, tensor<40x64xf32>)
    outs(%i3 : tensor<61x64xf32>) -> tensor<61x64xf32>
  %e4 = tensor.empty() : tensor<70x64xf32>
  %i4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<70x64xf32>)
    -> tensor<70x64xf32>
  %p4 = linalg.matmul ins(%g, %q : tensor<70x61xf32>, tensor<61x64xf32>)
    outs(%i4 : tensor<70x64xf32>) -> tensor<70x64xf32>
  return %p0, %p1, %p2, %p4 : tensor<?x32xf32>, tensor<3x2103x16xf32>,
    tensor<?x16xf64>, tensor<70x64xf32>
}
