// Pointwise programs of many element types, indirect accesses and control flow.
// A line "// arguments:" holds arguments of polynestc run.

#id = affine_map<(i) -> (i)>
func.func @math_chain(%x: tensor<67xf32>) -> tensor<67xf32> {
  %e = tensor.empty() : tensor<67xf32>
  %one = arith.constant 1.0 : f32
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<67xf32>) outs(%e : tensor<67xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.exp %a : f32
    %c = arith.addf %b, %one : f32
    %d = math.log %c : f32
    %f = math.sin %d : f32
    %g = math.erf %f : f32
    linalg.yield %g : f32
  } -> tensor<67xf32>
  return %r : tensor<67xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @math_f64(%x: tensor<19xf64>, %y: tensor<19xf64>) -> tensor<19xf64> {
  %e = tensor.empty() : tensor<19xf64>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<19xf64>, tensor<19xf64>) outs(%e : tensor<19xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %c = math.absf %a : f64
    %d = math.powf %c, %b : f64
    %f = math.tanh %d : f64
    linalg.yield %f : f64
  } -> tensor<19xf64>
  return %r : tensor<19xf64>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @bf16_add(%x: tensor<29xbf16>, %y: tensor<29xbf16>) -> (tensor<29xbf16>, tensor<29xf32>) {
  %e = tensor.empty() : tensor<29xbf16>
  %f = tensor.empty() : tensor<29xf32>
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<29xbf16>, tensor<29xbf16>) outs(%e, %f : tensor<29xbf16>, tensor<29xf32>) {
  ^bb0(%a: bf16, %b: bf16, %o: bf16, %p: f32):
    %s = arith.addf %a, %b : bf16
    %w = arith.extf %s : bf16 to f32
    linalg.yield %s, %w : bf16, f32
  } -> (tensor<29xbf16>, tensor<29xf32>)
  return %r#0, %r#1 : tensor<29xbf16>, tensor<29xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @f16_scale(%x: tensor<31xf16>, %s: f16) -> tensor<31xf16> {
  %e = tensor.empty() : tensor<31xf16>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<31xf16>) outs(%e : tensor<31xf16>) {
  ^bb0(%a: f16, %o: f16):
    %b = arith.mulf %a, %s : f16
    linalg.yield %b : f16
  } -> tensor<31xf16>
  return %r : tensor<31xf16>
}

// -----

// Quotients by zero and of the lowest number are defined.
// arguments: --int-range=-2:2
#id = affine_map<(i) -> (i)>
func.func @integer_division(%x: tensor<40xi32>, %y: tensor<40xi32>) -> (tensor<40xi32>, tensor<40xi32>, tensor<40xi32>) {
  %e = tensor.empty() : tensor<40xi32>
  %low = arith.constant -2147483648 : i32
  %r:3 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<40xi32>, tensor<40xi32>) outs(%e, %e, %e : tensor<40xi32>, tensor<40xi32>, tensor<40xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32, %p: i32, %q: i32):
    %l = arith.addi %a, %low : i32
    %d = arith.divsi %l, %b : i32
    %m = arith.remsi %l, %b : i32
    %f = arith.floordivsi %a, %b : i32
    linalg.yield %d, %m, %f : i32, i32, i32
  } -> (tensor<40xi32>, tensor<40xi32>, tensor<40xi32>)
  return %r#0, %r#1, %r#2 : tensor<40xi32>, tensor<40xi32>, tensor<40xi32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @narrow_integers(%x: tensor<50xi8>, %y: tensor<50xi16>) -> (tensor<50xi16>, tensor<50xi8>) {
  %e = tensor.empty() : tensor<50xi16>
  %f = tensor.empty() : tensor<50xi8>
  %c100 = arith.constant 100 : i8
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<50xi8>, tensor<50xi16>) outs(%e, %f : tensor<50xi16>, tensor<50xi8>) {
  ^bb0(%a: i8, %b: i16, %o: i16, %p: i8):
    %s = arith.muli %a, %c100 : i8
    %w = arith.extsi %s : i8 to i16
    %t = arith.addi %w, %b : i16
    %n = arith.trunci %t : i16 to i8
    linalg.yield %t, %n : i16, i8
  } -> (tensor<50xi16>, tensor<50xi8>)
  return %r#0, %r#1 : tensor<50xi16>, tensor<50xi8>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @booleans(%x: tensor<33xf32>, %y: tensor<33xf32>, %m: tensor<33xi1>) -> (tensor<33xi1>, tensor<33xf32>) {
  %e = tensor.empty() : tensor<33xi1>
  %f = tensor.empty() : tensor<33xf32>
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y, %m : tensor<33xf32>, tensor<33xf32>, tensor<33xi1>) outs(%e, %f : tensor<33xi1>, tensor<33xf32>) {
  ^bb0(%a: f32, %b: f32, %c: i1, %o: i1, %p: f32):
    %l = arith.cmpf olt, %a, %b : f32
    %n = arith.xori %l, %c : i1
    %s = arith.select %n, %a, %b : f32
    linalg.yield %n, %s : i1, f32
  } -> (tensor<33xi1>, tensor<33xf32>)
  return %r#0, %r#1 : tensor<33xi1>, tensor<33xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#flip = affine_map<(i, j) -> (j, i)>
#col = affine_map<(i, j) -> (0, j)>
func.func @mixed_maps(%x: tensor<6x9xf32>, %y: tensor<9x6xf32>, %b: tensor<1x9xf32>) -> tensor<6x9xf32> {
  %e = tensor.empty() : tensor<6x9xf32>
  %r = linalg.generic {indexing_maps = [#id, #flip, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y, %b : tensor<6x9xf32>, tensor<9x6xf32>, tensor<1x9xf32>) outs(%e : tensor<6x9xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32, %o: f32):
    %t = arith.subf %p, %q : f32
    %u = arith.mulf %t, %s : f32
    linalg.yield %u : f32
  } -> tensor<6x9xf32>
  return %r : tensor<6x9xf32>
}

// -----

func.func @rank_0(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %a = linalg.mul ins(%x, %y : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.exp ins(%a : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @scalars(%n: index, %x: f64, %p: i1) -> (tensor<f64>, tensor<index>) {
  %z = arith.constant 0.0 : f64
  %s = arith.select %p, %x, %z : f64
  %a = tensor.from_elements %s : tensor<f64>
  %b = tensor.from_elements %n : tensor<index>
  return %a, %b : tensor<f64>, tensor<index>
}

// -----

// arguments: --size 1
#id = affine_map<(i) -> (i)>
func.func @one_element(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.negf ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Rows of a table.
// arguments: --int-range 0:8
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @gather(%t: tensor<9x12xf32>, %k: tensor<7xi64>) -> tensor<7x12xf32> {
  %e = tensor.empty() : tensor<7x12xf32>
  %r = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%k : tensor<7xi64>) outs(%e : tensor<7x12xf32>) {
  ^bb0(%a: i64, %o: f32):
    %i = arith.index_cast %a : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%i, %j] : tensor<9x12xf32>
    linalg.yield %v : f32
  } -> tensor<7x12xf32>
  return %r : tensor<7x12xf32>
}

// -----

// arguments: --int-range 0:3
func.func @scatter(%u: tensor<6x5xf32>, %k: tensor<6x1xi32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %r = "tm_tensor.scatter"(%u, %k, %y) <{dimension_map = array<i64: 0>, unique_indices = false, operandSegmentSizes = array<i32: 2, 1>}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<6x5xf32>, tensor<6x1xi32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}

// -----

#id = affine_map<(i) -> (i)>
func.func @constants(%x: tensor<5xf32>) -> tensor<5xf32> {
  %c = arith.constant dense<[1.0, -2.0, 3.5, 0.25, 1.0e10]> : tensor<5xf32>
  %e = tensor.empty() : tensor<5xf32>
  %r = linalg.mul ins(%x, %c : tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// A tensor carried by a loop, and a branch on a value of the input.
#id = affine_map<(i) -> (i)>
func.func @loop(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %k = tensor.extract %n[] : tensor<i32>
  %p = arith.cmpi sgt, %k, %zero : i32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %x) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %s = scf.if %p -> tensor<8xf32> {
      %a = linalg.exp ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %a : tensor<8xf32>
    } else {
      %b = linalg.abs ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %b : tensor<8xf32>
    }
    scf.yield %s : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// -----

// Private functions, a middle value that is also a result, and its reuse.
func.func private @twice(%x: tensor<6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = linalg.add ins(%x, %x : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
func.func @calls(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %a = call @twice(%x) : (tensor<6xf32>) -> tensor<6xf32>
  %e = tensor.empty() : tensor<6xf32>
  %b = linalg.sub ins(%x, %a : tensor<6xf32>, tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %c = call @twice(%b) : (tensor<6xf32>) -> tensor<6xf32>
  return %a, %c : tensor<6xf32>, tensor<6xf32>
}

// -----

// Written by hand on buffers, with a strided view and an index that wraps.
func.func @memrefs(%x: memref<12xf32>, %y: memref<12xf32> {polynest.result}) {
  affine.for %i = 0 to 12 {
    %a = affine.load %x[%i] : memref<12xf32>
    %b = affine.load %x[(%i + 5) mod 12] : memref<12xf32>
    %c = arith.subf %a, %b : f32
    affine.store %c, %y[11 - %i] : memref<12xf32>
  }
  return
}

// -----

// A loop in order whose temporaries have a dynamic size.
// arguments: --size 9
func.func @loop_dynamic(%x: tensor<?xf32>, %t: tensor<3x?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %e = tensor.empty(%n) : tensor<?xf32>
    %row = tensor.extract_slice %t[%i, 0] [1, %n] [1, 1] : tensor<3x?xf32> to tensor<?xf32>
    %b = linalg.exp ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %c = linalg.mul ins(%b, %row : tensor<?xf32>, tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %c : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// Written by hand: each iteration of a loop in order has a buffer of dynamic
// size.
func.func @allocate_in_loop(%x: memref<?xf32>, %r: memref<9xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.store %zero, %r[0] : memref<9xf32>
  affine.for %i = 1 to 9 {
    %t = memref.alloc(%n) : memref<?xf32>
    affine.for %j = 0 to %n {
      %v = affine.load %x[%j] : memref<?xf32>
      %w = math.exp %v : f32
      affine.store %w, %t[%j] : memref<?xf32>
    }
    %s = affine.load %t[%i mod 7] : memref<?xf32>
    %u = affine.load %r[%i - 1] : memref<9xf32>
    %q = arith.addf %s, %u : f32
    affine.store %q, %r[%i] : memref<9xf32>
  }
  return
}
