// Fault B017: GELU of a channels-last image, two permuted views of it padded up to
// 66, which no vector divides, and their batched product: as without fusion, and
// no vector is stored beyond the end.
// RUN: polynestc run %s --check --reduction 66

func.func @f(%x: tensor<1x66x66x8xf32>) -> tensor<8x66x66xf32> {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %e = tensor.empty() : tensor<8x66x66xf32>
  %g = linalg.generic {indexing_maps = [
      affine_map<(c, i, j) -> (0, i, j, c)>, affine_map<(c, i, j) -> (c, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x66x66x8xf32>) outs(%e : tensor<8x66x66xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.mulf %a, %root : f32
    %c = math.erf %b : f32
    %d = arith.addf %c, %one : f32
    %h = arith.mulf %a, %half : f32
    %r = arith.mulf %h, %d : f32
    linalg.yield %r : f32
  } -> tensor<8x66x66xf32>
  %l = tensor.extract_slice %g[0, 1, 0] [8, 64, 66] [1, 1, 1]
    : tensor<8x66x66xf32> to tensor<8x64x66xf32>
  %lp = tensor.pad %l low[0, 0, 0] high[0, 2, 0] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<8x64x66xf32> to tensor<8x66x66xf32>
  %t = tensor.empty() : tensor<8x66x66xf32>
  %m = linalg.transpose ins(%g : tensor<8x66x66xf32>)
    outs(%t : tensor<8x66x66xf32>) permutation = [0, 2, 1]
  %s = tensor.extract_slice %m[0, 0, 2] [8, 66, 63] [1, 1, 1]
    : tensor<8x66x66xf32> to tensor<8x66x63xf32>
  %sp = tensor.pad %s low[0, 0, 1] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<8x66x63xf32> to tensor<8x66x66xf32>
  %o = tensor.empty() : tensor<8x66x66xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<8x66x66xf32>)
    -> tensor<8x66x66xf32>
  %r = linalg.batch_matmul ins(%lp, %sp
      : tensor<8x66x66xf32>, tensor<8x66x66xf32>)
    outs(%f : tensor<8x66x66xf32>) -> tensor<8x66x66xf32>
  return %r : tensor<8x66x66xf32>
}
