// Reductions, normalizations and scans, one program a section.
// A line "// arguments:" holds arguments of polynestc run.

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @softmax(%x: tensor<5x37xf32>) -> tensor<5x37xf32> {
  %e = tensor.empty() : tensor<5x37xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<5x37xf32>) outs(%e : tensor<5x37xf32>) -> tensor<5x37xf32>
  return %r : tensor<5x37xf32>
}

// -----

// arguments: --size 0.0=3 --size 0.1=41
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
func.func @layer_norm(%x: tensor<?x?xf32>, %g: tensor<41xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %ni = arith.index_cast %n : index to i64
  %nf = arith.sitofp %ni : i64 to f32
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%f, %f : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %b, %a : f32
    %q = arith.mulf %a, %a : f32
    %t = arith.addf %c, %q : f32
    linalg.yield %d, %t : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  %o = tensor.empty(%m, %n) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #row, #col, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s#0, %s#1, %g : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<41xf32>) outs(%o : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %w: f32, %u: f32):
    %mean = arith.divf %b, %nf : f32
    %square = arith.divf %c, %nf : f32
    %mm = arith.mulf %mean, %mean : f32
    %var = arith.subf %square, %mm : f32
    %v = arith.addf %var, %eps : f32
    %i = math.rsqrt %v : f32
    %d = arith.subf %a, %mean : f32
    %h = arith.mulf %d, %i : f32
    %y = arith.mulf %h, %w : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

#id = affine_map<(n, c, h) -> (n, c, h)>
#ch = affine_map<(n, c, h) -> (c)>
func.func @batch_norm(%x: tensor<3x5x13xf32>, %mean: tensor<5xf32>, %scale: tensor<5xf32>, %bias: tensor<5xf32>) -> tensor<3x5x13xf32> {
  %e = tensor.empty() : tensor<3x5x13xf32>
  %z = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [#id, #ch, #ch, #ch, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %mean, %scale, %bias : tensor<3x5x13xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<3x5x13xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    %u = arith.addf %t, %d : f32
    %v = arith.maximumf %u, %z : f32
    linalg.yield %v : f32
  } -> tensor<3x5x13xf32>
  return %r : tensor<3x5x13xf32>
}

// -----

func.func @sum_of_all(%x: tensor<1003xf32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<1003xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %r : tensor<f32>
}

// -----

func.func @max_of_columns(%x: tensor<11x19xf64>) -> tensor<19xf64> {
  %z = arith.constant 0xFFF0000000000000 : f64
  %e = tensor.empty() : tensor<19xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<19xf64>) -> tensor<19xf64>
  %r = linalg.reduce { arith.maximumf } ins(%x : tensor<11x19xf64>) outs(%f : tensor<19xf64>) dimensions = [0]
  return %r : tensor<19xf64>
}

// -----

// The middle dimension goes; a sum of products in 64-bit integers.
func.func @product_in_the_middle(%x: tensor<3x4x5xi64>) -> tensor<3x5xi64> {
  %z = arith.constant 1 : i64
  %e = tensor.empty() : tensor<3x5xi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<3x5xi64>) -> tensor<3x5xi64>
  %r = linalg.reduce { arith.muli } ins(%x : tensor<3x4x5xi64>) outs(%f : tensor<3x5xi64>) dimensions = [1]
  return %r : tensor<3x5xi64>
}

// -----

// arguments: --size 0
func.func @maximum_of_none(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.maximumf } ins(%x : tensor<?x4xf32>) outs(%f : tensor<4xf32>) dimensions = [0]
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @argmax(%x: tensor<6x23xf32>) -> tensor<6xi64> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<6xf32>
  %ei = tensor.empty() : tensor<6xi64>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %g = linalg.fill ins(%zero : i64) outs(%ei : tensor<6xi64>) -> tensor<6xi64>
  %r:2 = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x23xf32>) outs(%f, %g : tensor<6xf32>, tensor<6xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %j = linalg.index 1 : index
    %ji = arith.index_cast %j : index to i64
    %more = arith.cmpf ogt, %a, %m : f32
    %v = arith.select %more, %a, %m : f32
    %i = arith.select %more, %ji, %k : i64
    linalg.yield %v, %i : f32, i64
  } -> (tensor<6xf32>, tensor<6xi64>)
  return %r#1 : tensor<6xi64>
}

// -----

func.func @cumulative_sum(%x: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x9xf32>
  %a = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  %r:2 = "tm_tensor.scan"(%x, %e, %f) <{dimension = 1 : i64, inclusive = true, operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<4x9xf32>, tensor<4x9xf32>, tensor<4xf32>) -> (tensor<4x9xf32>, tensor<4xf32>)
  return %r#0 : tensor<4x9xf32>
}

// -----

func.func @sort_rows(%x: tensor<3x10xf32>, %i: tensor<3x10xi64>) -> (tensor<3x10xf32>, tensor<3x10xi64>) {
  %r:2 = "tm_tensor.sort"(%x, %i) <{dimension = 1 : i64}> ({
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %p = arith.cmpf ole, %a, %b : f32
    "tm_tensor.yield"(%p) : (i1) -> ()
  }) : (tensor<3x10xf32>, tensor<3x10xi64>) -> (tensor<3x10xf32>, tensor<3x10xi64>)
  return %r#0, %r#1 : tensor<3x10xf32>, tensor<3x10xi64>
}
