// Properties: products of any number of rows by columns that are bound once give what
// the plain program gives: no row, one, half a tile, one more, all of it, one more,
// and more than a block; in f32 behind a bias, in f64, and in integers of 8 bits and
// bf16, where units multiply these.
// RUN: polynestc run %s --check --size 0
// RUN: polynestc run %s --check --size 1
// RUN: polynestc run %s --check --size 3
// RUN: polynestc run %s --check --size 4
// RUN: polynestc run %s --check --size 5
// RUN: polynestc run %s --check --size 8
// RUN: polynestc run %s --check --size 9
// RUN: polynestc run %s --check --size 17
// RUN: polynestc run %s --check --size 257

func.func @products(
    %a: tensor<?x300xf32>, %b: tensor<300x333xf32> {polynest.constant},
    %c: tensor<333xf32>,
    %d: tensor<?x256xf64>, %e: tensor<256x144xf64> {polynest.constant},
    %f: tensor<?x254xi8>, %g: tensor<254x320xi8> {polynest.constant},
    %h: tensor<?x256xbf16>, %i: tensor<256x200xbf16> {polynest.constant})
    -> (tensor<?x333xf32>, tensor<?x144xf64>, tensor<?x320xi32>,
        tensor<?x200xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %wide = arith.constant 0.0 : f64
  %none = arith.constant 0 : i32
  %m = tensor.dim %a, %c0 : tensor<?x300xf32>
  %e0 = tensor.empty(%m) : tensor<?x333xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x333xf32>)
    -> tensor<?x333xf32>
  %p0 = linalg.matmul ins(%a, %b : tensor<?x300xf32>, tensor<300x333xf32>)
    outs(%i0 : tensor<?x333xf32>) -> tensor<?x333xf32>
  %r0 = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%p0, %c : tensor<?x333xf32>, tensor<333xf32>)
      outs(%e0 : tensor<?x333xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<?x333xf32>
  %n = tensor.dim %d, %c0 : tensor<?x256xf64>
  %e1 = tensor.empty(%n) : tensor<?x144xf64>
  %i1 = linalg.fill ins(%wide : f64) outs(%e1 : tensor<?x144xf64>)
    -> tensor<?x144xf64>
  %r1 = linalg.matmul ins(%d, %e : tensor<?x256xf64>, tensor<256x144xf64>)
    outs(%i1 : tensor<?x144xf64>) -> tensor<?x144xf64>
  %o = tensor.dim %f, %c0 : tensor<?x254xi8>
  %e2 = tensor.empty(%o) : tensor<?x320xi32>
  %i2 = linalg.fill ins(%none : i32) outs(%e2 : tensor<?x320xi32>)
    -> tensor<?x320xi32>
  %r2 = linalg.matmul ins(%f, %g : tensor<?x254xi8>, tensor<254x320xi8>)
    outs(%i2 : tensor<?x320xi32>) -> tensor<?x320xi32>
  %q = tensor.dim %h, %c0 : tensor<?x256xbf16>
  %e3 = tensor.empty(%q) : tensor<?x200xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<?x200xf32>)
    -> tensor<?x200xf32>
  %r3 = linalg.matmul ins(%h, %i : tensor<?x256xbf16>, tensor<256x200xbf16>)
    outs(%i3 : tensor<?x200xf32>) -> tensor<?x200xf32>
  return %r0, %r1, %r2, %r3 : tensor<?x333xf32>, tensor<?x144xf64>,
    tensor<?x320xi32>, tensor<?x200xf32>
}
