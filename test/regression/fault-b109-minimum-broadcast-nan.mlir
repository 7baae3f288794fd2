// Fault B109: minimum and maximum of [3, 1] holding a NaN with a one-element 10:
// the NaN stays, broadcast or not.
// RUN: %npy %t.0.0.npy f4 "3,1" "4 nan 20"
// RUN: %npy %t.0.1.npy f4 "1" "10"
// RUN: polynestc run %s --entry minimum --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}{{\[\[}}4],
// R0: {{\[}}nan],
// R0: {{\[(10|1e\+01)}}]]
// RUN: %npy %t.1.0.npy f4 "3,1" "4 nan 20"
// RUN: %npy %t.1.1.npy f4 "1" "10"
// RUN: polynestc run %s --entry maximum --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^\[\[(10|1e\+01)}}],
// R1: {{\[}}nan],
// R1: {{\[(20|2e\+01)}}]]
// RUN: %npy %t.2.0.npy f4 "3,1" "4 5 20"
// RUN: %npy %t.2.1.npy f4 "1" "nan"
// RUN: polynestc run %s --entry minimum --input %t.2.0.npy --input %t.2.1.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^}}{{\[\[}}nan],
// R2: {{\[}}nan],
// R2: {{\[}}nan]]

func.func @minimum(%x: tensor<3x1xf32>, %y: tensor<1xf32>) -> tensor<3x1xf32> {
  %e = tensor.empty() : tensor<3x1xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                       affine_map<(d0, d1) -> (0)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<3x1xf32>, tensor<1xf32>)
      outs(%e : tensor<3x1xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.minimumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

func.func @maximum(%x: tensor<3x1xf32>, %y: tensor<1xf32>) -> tensor<3x1xf32> {
  %e = tensor.empty() : tensor<3x1xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
                       affine_map<(d0, d1) -> (0)>,
                       affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<3x1xf32>, tensor<1xf32>)
      outs(%e : tensor<3x1xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}
