// Fault B011: floor division of floats is made of the remainder: 1.0 // 0.1 is 9.
// RUN: %npy %t.0.0.npy f4 "17" "1.0 0.5 6.0 -7.5"
// RUN: %npy %t.0.1.npy f4 "17" "0.1 0.1 0.2 2"
// RUN: polynestc run %s --entry floor_divide_f32 --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[9, 4, 29, -4, 9,
// RUN: %npy %t.1.0.npy f8 "17" "1.0 0.5 6.0 -7.5"
// RUN: %npy %t.1.1.npy f8 "17" "0.1 0.1 0.2 2"
// RUN: polynestc run %s --entry floor_divide_f64 --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[9, 4, 29, -4, 9,

#id = affine_map<(d0) -> (d0)>

func.func @floor_divide_f32(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %mod = arith.remf %a0, %a1 : f32
    %whole = arith.subf %a0, %mod : f32
    %div = arith.divf %whole, %a1 : f32
    %some = arith.cmpf une, %mod, %zero : f32
    %bneg = arith.cmpf olt, %a1, %zero : f32
    %mneg = arith.cmpf olt, %mod, %zero : f32
    %differ = arith.xori %bneg, %mneg : i1
    %adjust = arith.andi %some, %differ : i1
    %less = arith.subf %div, %one : f32
    %d = arith.select %adjust, %less, %div : f32
    %f = math.floor %d : f32
    %rest = arith.subf %d, %f : f32
    %up = arith.cmpf ogt, %rest, %half : f32
    %more = arith.addf %f, %one : f32
    %r = arith.select %up, %more, %f : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @floor_divide_f64(%x0: tensor<?xf64>, %x1: tensor<?xf64>) -> tensor<?xf64> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf64>
  %e = tensor.empty(%n) : tensor<?xf64>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf64>, tensor<?xf64>)
      outs(%e : tensor<?xf64>) {
  ^bb0(%a0: f64, %a1: f64, %o: f64):
    %zero = arith.constant 0.0 : f64
    %one = arith.constant 1.0 : f64
    %half = arith.constant 0.5 : f64
    %mod = arith.remf %a0, %a1 : f64
    %whole = arith.subf %a0, %mod : f64
    %div = arith.divf %whole, %a1 : f64
    %some = arith.cmpf une, %mod, %zero : f64
    %bneg = arith.cmpf olt, %a1, %zero : f64
    %mneg = arith.cmpf olt, %mod, %zero : f64
    %differ = arith.xori %bneg, %mneg : i1
    %adjust = arith.andi %some, %differ : i1
    %less = arith.subf %div, %one : f64
    %d = arith.select %adjust, %less, %div : f64
    %f = math.floor %d : f64
    %rest = arith.subf %d, %f : f64
    %up = arith.cmpf ogt, %rest, %half : f64
    %more = arith.addf %f, %one : f64
    %r = arith.select %up, %more, %f : f64
    linalg.yield %r : f64
  } -> tensor<?xf64>
  return %s : tensor<?xf64>
}
