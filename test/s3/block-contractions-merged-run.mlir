// Properties: products of which batch and rows are not known give what the plain
// program gives, where they become rows of one matrix: none, one, few and more than
// one block.
// RUN: polynestc run %s --check --size 0
// RUN: polynestc run %s --check --size 1
// RUN: polynestc run %s --check --size 0.0=3 --size 0.1=1
// RUN: polynestc run %s --check --size 0.0=1 --size 0.1=9
// RUN: polynestc run %s --check --size 0.0=3 --size 0.1=5
// RUN: polynestc run %s --check --size 0.0=2 --size 0.1=70
// RUN: polynestc run %s --check --size 0.0=70 --size 0.1=2

func.func @products(%a: tensor<?x?x64xf32>, %b: tensor<64x96xf32>,
                    %c: tensor<96x80xf32>) -> tensor<?x?x80xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?x64xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?x64xf32>
  %e0 = tensor.empty(%m, %n) : tensor<?x?x96xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x?x96xf32>)
    -> tensor<?x?x96xf32>
  %p0 = linalg.generic {
      indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>,
                       affine_map<(b, i, j, k) -> (k, j)>,
                       affine_map<(b, i, j, k) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<?x?x64xf32>, tensor<64x96xf32>)
      outs(%i0 : tensor<?x?x96xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.mulf %x, %y : f32
    %t = arith.addf %z, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x?x96xf32>
  %e1 = tensor.empty(%m, %n) : tensor<?x?x80xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x?x80xf32>)
    -> tensor<?x?x80xf32>
  %p1 = linalg.generic {
      indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>,
                       affine_map<(b, i, j, k) -> (k, j)>,
                       affine_map<(b, i, j, k) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p0, %c : tensor<?x?x96xf32>, tensor<96x80xf32>)
      outs(%i1 : tensor<?x?x80xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.mulf %x, %y : f32
    %t = arith.addf %z, %s : f32
    linalg.yield %t : f32
  } -> tensor<?x?x80xf32>
  return %p1 : tensor<?x?x80xf32>
}
