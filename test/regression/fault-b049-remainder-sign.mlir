// Fault B049: a remainder takes the sign of the divisor.
// RUN: %npy %t.0.0.npy f4 "9" "5.5 -5.5 7"
// RUN: %npy %t.0.1.npy f4 "9" "-2 2 3"
// RUN: polynestc run %s --entry remainder_f32 --input %t.0.0.npy --input %t.0.1.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}[-0.5, 0.5, 1, -0.5
// RUN: %npy %t.1.0.npy i4 "9" "-7 7 6"
// RUN: %npy %t.1.1.npy i4 "9" "3 -3 3"
// RUN: polynestc run %s --entry remainder_i32 --input %t.1.0.npy --input %t.1.1.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^}}[2, -2, 0, 2

#id = affine_map<(d0) -> (d0)>

func.func @remainder_f32(%x0: tensor<?xf32>, %x1: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xf32>, tensor<?xf32>)
      outs(%e : tensor<?xf32>) {
  ^bb0(%a0: f32, %a1: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %m = arith.remf %a0, %a1 : f32
    %some = arith.cmpf une, %m, %z : f32
    %bneg = arith.cmpf olt, %a1, %z : f32
    %mneg = arith.cmpf olt, %m, %z : f32
    %differ = arith.xori %bneg, %mneg : i1
    %adjust = arith.andi %some, %differ : i1
    %t = arith.addf %m, %a1 : f32
    %r = arith.select %adjust, %t, %m : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @remainder_i32(%x0: tensor<?xi32>, %x1: tensor<?xi32>) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x0, %c0 : tensor<?xi32>
  %e = tensor.empty(%n) : tensor<?xi32>
  %s = linalg.generic {
      indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x0, %x1 : tensor<?xi32>, tensor<?xi32>)
      outs(%e : tensor<?xi32>) {
  ^bb0(%a0: i32, %a1: i32, %o: i32):
    %z = arith.constant 0 : i32
    %m = arith.remsi %a0, %a1 : i32
    %some = arith.cmpi ne, %m, %z : i32
    %bneg = arith.cmpi slt, %a1, %z : i32
    %mneg = arith.cmpi slt, %m, %z : i32
    %differ = arith.xori %bneg, %mneg : i1
    %adjust = arith.andi %some, %differ : i1
    %t = arith.addi %m, %a1 : i32
    %r = arith.select %adjust, %t, %m : i32
    linalg.yield %r : i32
  } -> tensor<?xi32>
  return %s : tensor<?xi32>
}
