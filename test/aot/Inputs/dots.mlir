// Products of narrow numbers of every sign, and of bf16, 33x131 times 131x40.

func.func @s8s8(%a: tensor<33x131xi8>, %b: tensor<131x40xi8>)
    -> tensor<33x40xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<33x40xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<33x40xi32>)
    -> tensor<33x40xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x131xi8>, tensor<131x40xi8>)
      outs(%i : tensor<33x40xi32>) {
    ^bb0(%x: i8, %y: i8, %s: i32):
      %x1 = arith.extsi %x : i8 to i32
      %y1 = arith.extsi %y : i8 to i32
      %p = arith.muli %x1, %y1 : i32
      %t = arith.addi %s, %p : i32
      linalg.yield %t : i32
  } -> tensor<33x40xi32>
  return %r : tensor<33x40xi32>
}

func.func @u8u8(%a: tensor<33x131xi8>, %b: tensor<40x131xi8>)
    -> tensor<33x40xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<33x40xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<33x40xi32>)
    -> tensor<33x40xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x131xi8>, tensor<40x131xi8>)
      outs(%i : tensor<33x40xi32>) {
    ^bb0(%x: i8, %y: i8, %s: i32):
      %x1 = arith.extui %x : i8 to i32
      %y1 = arith.extui %y : i8 to i32
      %p = arith.muli %x1, %y1 : i32
      %t = arith.addi %s, %p : i32
      linalg.yield %t : i32
  } -> tensor<33x40xi32>
  return %r : tensor<33x40xi32>
}

func.func @u8s8(%a: tensor<33x131xi8>, %b: tensor<131x40xi8>)
    -> tensor<33x40xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<33x40xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<33x40xi32>)
    -> tensor<33x40xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x131xi8>, tensor<131x40xi8>)
      outs(%i : tensor<33x40xi32>) {
    ^bb0(%x: i8, %y: i8, %s: i32):
      %x1 = arith.extui %x : i8 to i32
      %y1 = arith.extsi %y : i8 to i32
      %p = arith.muli %x1, %y1 : i32
      %t = arith.addi %s, %p : i32
      linalg.yield %t : i32
  } -> tensor<33x40xi32>
  return %r : tensor<33x40xi32>
}

func.func @s8u8(%a: tensor<33x131xi8>, %b: tensor<40x131xi8>)
    -> tensor<33x40xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<33x40xi32>
  %i = linalg.fill ins(%z : i32) outs(%e : tensor<33x40xi32>)
    -> tensor<33x40xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x131xi8>, tensor<40x131xi8>)
      outs(%i : tensor<33x40xi32>) {
    ^bb0(%x: i8, %y: i8, %s: i32):
      %x1 = arith.extsi %x : i8 to i32
      %y1 = arith.extui %y : i8 to i32
      %p = arith.muli %x1, %y1 : i32
      %t = arith.addi %s, %p : i32
      linalg.yield %t : i32
  } -> tensor<33x40xi32>
  return %r : tensor<33x40xi32>
}

func.func @halves(%a: tensor<33x131xbf16>, %b: tensor<131x40xbf16>)
    -> tensor<33x40xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<33x40xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<33x40xf32>)
    -> tensor<33x40xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                       affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<33x131xbf16>, tensor<131x40xbf16>)
      outs(%i : tensor<33x40xf32>) {
    ^bb0(%x: bf16, %y: bf16, %s: f32):
      %x1 = arith.extf %x : bf16 to f32
      %y1 = arith.extf %y : bf16 to f32
      %p = arith.mulf %x1, %y1 : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
  } -> tensor<33x40xf32>
  return %r : tensor<33x40xf32>
}
