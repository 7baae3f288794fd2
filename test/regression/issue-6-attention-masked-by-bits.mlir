// Properties: lanes of bits that are stored one by one become code. LLVM 22 ended
// the process ("Cannot emit physreg copy instruction"): scaled_dot_product_attention
// with a mask of bits, 33 x 64.
// RUN: polynestc run %s --int-range 0:2 --check
// RUN: polynestc run %s --int-range 0:2 --check --target haswell
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
module {
  func.func @main(%arg0: tensor<33x64xi1>, %arg1: tensor<2x1x33x16xf32>, %arg2: tensor<2x1x64x16xf32>, %arg3: tensor<2x1x64x24xf32>) -> tensor<2x1x33x24xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %true = arith.constant true
    %cst_1 = arith.constant 0xFFF0000000000000 : f64
    %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = arith.constant 5.000000e-01 : f32
    %0 = tensor.empty() : tensor<33x64xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %cst_3, %cst_2 : tensor<33x64xi1>, tensor<f32>, tensor<f32>) outs(%0 : tensor<33x64xf32>) {
    ^bb0(%in: i1, %in_10: f32, %in_11: f32, %out: f32):
      %31 = arith.select %in, %in_10, %in_11 : f32
      linalg.yield %31 : f32
    } -> tensor<33x64xf32>
    %2 = tensor.empty() : tensor<2x1x33x16xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x1x33x16xf32>) outs(%2 : tensor<2x1x33x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.mulf %in, %cst_4 : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x16xf32>
    %4 = tensor.empty() : tensor<2x1x16x64xf32>
    %transposed = linalg.transpose ins(%arg2 : tensor<2x1x64x16xf32>) outs(%4 : tensor<2x1x16x64xf32>) permutation = [0, 1, 3, 2] 
    %5 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<2x1x16x64xf32>) outs(%4 : tensor<2x1x16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.mulf %in, %cst_4 : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x16x64xf32>
    %collapsed = tensor.collapse_shape %3 [[0], [1, 2], [3]] : tensor<2x1x33x16xf32> into tensor<2x33x16xf32>
    %collapsed_5 = tensor.collapse_shape %5 [[0], [1, 2], [3]] : tensor<2x1x16x64xf32> into tensor<2x16x64xf32>
    %6 = tensor.empty() : tensor<2x33x64xf32>
    %7 = linalg.fill ins(%cst : f32) outs(%6 : tensor<2x33x64xf32>) -> tensor<2x33x64xf32>
    %8 = linalg.batch_matmul ins(%collapsed, %collapsed_5 : tensor<2x33x16xf32>, tensor<2x16x64xf32>) outs(%7 : tensor<2x33x64xf32>) -> tensor<2x33x64xf32>
    %expanded = tensor.expand_shape %8 [[0], [1, 2], [3]] output_shape [2, 1, 33, 64] : tensor<2x33x64xf32> into tensor<2x1x33x64xf32>
    %9 = tensor.empty() : tensor<2x1x33x64xf32>
    %10 = linalg.generic {indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %1 : tensor<2x1x33x64xf32>, tensor<33x64xf32>) outs(%9 : tensor<2x1x33x64xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %31 = arith.addf %in, %in_10 : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x64xf32>
    %11 = tensor.empty() : tensor<2x1x33xi64>
    %12 = linalg.fill ins(%c0_i64 : i64) outs(%11 : tensor<2x1x33xi64>) -> tensor<2x1x33xi64>
    %13 = tensor.empty() : tensor<2x1x33xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<2x1x33xf32>) -> tensor<2x1x33xf32>
    %15 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<2x1x33x64xf32>) outs(%14 : tensor<2x1x33xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.maximumf %in, %out : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33xf32>
    %expanded_6 = tensor.expand_shape %15 [[0], [1], [2, 3]] output_shape [2, 1, 33, 1] : tensor<2x1x33xf32> into tensor<2x1x33x1xf32>
    %16 = linalg.generic {indexing_maps = [#map2, #map5, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %expanded_6 : tensor<2x1x33x64xf32>, tensor<2x1x33x1xf32>) outs(%9 : tensor<2x1x33x64xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %31 = arith.subf %in, %in_10 : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x64xf32>
    %17 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x1x33x64xf32>) outs(%9 : tensor<2x1x33x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.exp %in : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x64xf32>
    %18 = tensor.empty() : tensor<2x1x33x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<2x1x33x1xf32>) -> tensor<2x1x33x1xf32>
    %20 = linalg.generic {indexing_maps = [#map2, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x1x33x64xf32>) outs(%19 : tensor<2x1x33x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.addf %in, %out : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x1xf32>
    %21 = linalg.generic {indexing_maps = [#map2, #map5, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %20 : tensor<2x1x33x64xf32>, tensor<2x1x33x1xf32>) outs(%9 : tensor<2x1x33x64xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %31 = arith.divf %in, %in_10 : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x64xf32>
    %22 = tensor.empty() : tensor<2x1x33x64xi1>
    %23 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x1x33x64xf32>) outs(%22 : tensor<2x1x33x64xi1>) {
    ^bb0(%in: f32, %out: i1):
      %31 = arith.extf %in : f32 to f64
      %32 = arith.cmpf oeq, %31, %cst_1 : f64
      linalg.yield %32 : i1
    } -> tensor<2x1x33x64xi1>
    %24 = tensor.empty() : tensor<2x1x33x1xi1>
    %25 = linalg.fill ins(%true : i1) outs(%24 : tensor<2x1x33x1xi1>) -> tensor<2x1x33x1xi1>
    %26 = linalg.generic {indexing_maps = [#map2, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%23 : tensor<2x1x33x64xi1>) outs(%25 : tensor<2x1x33x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %31 = arith.andi %in, %out : i1
      linalg.yield %31 : i1
    } -> tensor<2x1x33x1xi1>
    %27 = linalg.generic {indexing_maps = [#map5, #map6, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26, %cst_3, %21 : tensor<2x1x33x1xi1>, tensor<f32>, tensor<2x1x33x64xf32>) outs(%9 : tensor<2x1x33x64xf32>) {
    ^bb0(%in: i1, %in_10: f32, %in_11: f32, %out: f32):
      %31 = arith.select %in, %in_10, %in_11 : f32
      linalg.yield %31 : f32
    } -> tensor<2x1x33x64xf32>
    %collapsed_7 = tensor.collapse_shape %27 [[0], [1, 2], [3]] : tensor<2x1x33x64xf32> into tensor<2x33x64xf32>
    %collapsed_8 = tensor.collapse_shape %arg3 [[0], [1, 2], [3]] : tensor<2x1x64x24xf32> into tensor<2x64x24xf32>
    %28 = tensor.empty() : tensor<2x33x24xf32>
    %29 = linalg.fill ins(%cst : f32) outs(%28 : tensor<2x33x24xf32>) -> tensor<2x33x24xf32>
    %30 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<2x33x64xf32>, tensor<2x64x24xf32>) outs(%29 : tensor<2x33x24xf32>) -> tensor<2x33x24xf32>
    %expanded_9 = tensor.expand_shape %30 [[0], [1, 2], [3]] output_shape [2, 1, 33, 24] : tensor<2x33x24xf32> into tensor<2x1x33x24xf32>
    return %expanded_9 : tensor<2x1x33x24xf32>
  }
}
