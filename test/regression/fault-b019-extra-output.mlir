// Fault B019: returning something else too does not change a product.
// RUN: polynestc run %s --entry alone --seed 5 --save %t.1 --check
// RUN: polynestc run %s --entry extra --seed 5 --save %t.2 --check
// RUN: cmp %t.1/result0.npy %t.2/result0.npy
// RUN: polynestc run %s --entry alone --seed 5 --save %t.3 --threads 2
// RUN: cmp %t.1/result0.npy %t.3/result0.npy

func.func @alone(%a: tensor<67x45xf32>, %b: tensor<45x83xf32>)
    -> tensor<67x83xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<67x83xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<67x83xf32>)
    -> tensor<67x83xf32>
  %r = linalg.matmul ins(%a, %b : tensor<67x45xf32>, tensor<45x83xf32>)
    outs(%f : tensor<67x83xf32>) -> tensor<67x83xf32>
  return %r : tensor<67x83xf32>
}

func.func @extra(%a: tensor<67x45xf32>, %b: tensor<45x83xf32>)
    -> (tensor<67x83xf32>, tensor<83x67xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<67x83xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<67x83xf32>)
    -> tensor<67x83xf32>
  %r = linalg.matmul ins(%a, %b : tensor<67x45xf32>, tensor<45x83xf32>)
    outs(%f : tensor<67x83xf32>) -> tensor<67x83xf32>
  %o = tensor.empty() : tensor<83x67xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<67x83xf32>) outs(%o : tensor<83x67xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  } -> tensor<83x67xf32>
  return %r, %t : tensor<67x83xf32>, tensor<83x67xf32>
}
