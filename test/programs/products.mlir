// Matrix products and convolutions, one program a section.
// A line "// arguments:" holds arguments of polynestc run.

func.func @matmul_relu(%a: tensor<13x17xf32>, %b: tensor<17x19xf32>) -> tensor<13x19xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<13x19xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<13x19xf32>) -> tensor<13x19xf32>
  %m = linalg.matmul ins(%a, %b : tensor<13x17xf32>, tensor<17x19xf32>) outs(%f : tensor<13x19xf32>) -> tensor<13x19xf32>
  %r = linalg.max ins(%m, %f : tensor<13x19xf32>, tensor<13x19xf32>) outs(%e : tensor<13x19xf32>) -> tensor<13x19xf32>
  return %r : tensor<13x19xf32>
}

// -----

// arguments: --size 0.0=5 --size 0.1=9 --size 1.0=9 --size 1.1=33
func.func @matmul_dynamic(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// No products at all: a sum of none is 0.
// arguments: --size 0
func.func @matmul_of_none(%a: tensor<3x?xf32>, %b: tensor<?x5xf32>) -> tensor<3x5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3x5xf32>) -> tensor<3x5xf32>
  %r = linalg.matmul ins(%a, %b : tensor<3x?xf32>, tensor<?x5xf32>) outs(%f : tensor<3x5xf32>) -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

func.func @matmul_accumulate(%a: tensor<8x8xi32>, %b: tensor<8x8xi32>, %c: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<8x8xi32>, tensor<8x8xi32>) outs(%c : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}

// -----

func.func @matmul_i8(%a: tensor<5x33xi8>, %b: tensor<33x7xi8>) -> tensor<5x7xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<5x7xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<5x7xi32>) -> tensor<5x7xi32>
  %r = linalg.matmul ins(%a, %b : tensor<5x33xi8>, tensor<33x7xi8>) outs(%f : tensor<5x7xi32>) -> tensor<5x7xi32>
  return %r : tensor<5x7xi32>
}

// -----

func.func @batch_matmul_f64(%a: tensor<3x4x5xf64>, %b: tensor<3x5x6xf64>) -> tensor<3x4x6xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<3x4x6xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<3x4x6xf64>) -> tensor<3x4x6xf64>
  %r = linalg.batch_matmul ins(%a, %b : tensor<3x4x5xf64>, tensor<3x5x6xf64>) outs(%f : tensor<3x4x6xf64>) -> tensor<3x4x6xf64>
  return %r : tensor<3x4x6xf64>
}

// -----

func.func @matvec_bf16(%a: tensor<9x31xbf16>, %x: tensor<31xbf16>) -> tensor<9xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<9xf32>) -> tensor<9xf32>
  %r = linalg.matvec ins(%a, %x : tensor<9x31xbf16>, tensor<31xbf16>) outs(%f : tensor<9xf32>) -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// -----

// Linear layer: weights transposed, bias added, erf-free activation.
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @linear_tanh(%x: tensor<6x20xf32>, %w: tensor<11x20xf32>, %bias: tensor<11xf32>) -> tensor<6x11xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x11xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<6x11xf32>) -> tensor<6x11xf32>
  %m = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<6x20xf32>, tensor<11x20xf32>) outs(%f : tensor<6x11xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<6x11xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %bias : tensor<6x11xf32>, tensor<11xf32>) outs(%e : tensor<6x11xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %t = arith.addf %p, %q : f32
    %u = math.tanh %t : f32
    linalg.yield %u : f32
  } -> tensor<6x11xf32>
  return %r : tensor<6x11xf32>
}

// -----

// Two products in a row, as in attention without its softmax.
func.func @chain(%q: tensor<7x8xf32>, %k: tensor<8x9xf32>, %v: tensor<9x8xf32>) -> tensor<7x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x9xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<7x9xf32>) -> tensor<7x9xf32>
  %s = linalg.matmul ins(%q, %k : tensor<7x8xf32>, tensor<8x9xf32>) outs(%f : tensor<7x9xf32>) -> tensor<7x9xf32>
  %g = tensor.empty() : tensor<7x8xf32>
  %h = linalg.fill ins(%z : f32) outs(%g : tensor<7x8xf32>) -> tensor<7x8xf32>
  %r = linalg.matmul ins(%s, %v : tensor<7x9xf32>, tensor<9x8xf32>) outs(%h : tensor<7x8xf32>) -> tensor<7x8xf32>
  return %r : tensor<7x8xf32>
}

// -----

func.func @conv_2d_padded(%x: tensor<1x3x9x11xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x5x6xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f32
  } : tensor<1x3x9x11xf32> to tensor<1x3x11x13xf32>
  %e = tensor.empty() : tensor<1x4x5x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x5x6xf32>) -> tensor<1x4x5x6xf32>
  %r = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %w : tensor<1x3x11x13xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<1x4x5x6xf32>) -> tensor<1x4x5x6xf32>
  return %r : tensor<1x4x5x6xf32>
}

// -----

func.func @conv_2d_dilated(%x: tensor<2x10x10x3xf32>, %w: tensor<3x3x3x5xf32>) -> tensor<2x6x6x5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x6x6x5xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x6x6x5xf32>) -> tensor<2x6x6x5xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>, dilations = dense<2> : tensor<2xi64>}
      ins(%x, %w : tensor<2x10x10x3xf32>, tensor<3x3x3x5xf32>) outs(%f : tensor<2x6x6x5xf32>) -> tensor<2x6x6x5xf32>
  return %r : tensor<2x6x6x5xf32>
}

// -----

func.func @depthwise(%x: tensor<1x7x7x6xf32>, %w: tensor<3x3x6xf32>) -> tensor<1x5x5x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x5x5x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x5x5x6xf32>) -> tensor<1x5x5x6xf32>
  %r = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x7x7x6xf32>, tensor<3x3x6xf32>) outs(%f : tensor<1x5x5x6xf32>) -> tensor<1x5x5x6xf32>
  return %r : tensor<1x5x5x6xf32>
}

// -----

// A border of one side that is wider; rows of windows are read run by run.
// arguments: --size 2
func.func @stem(%x: tensor<?x25x23x3xf32>, %w: tensor<3x3x3x16xf32>) -> tensor<?x14x13x16xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x25x23x3xf32>
  %p = tensor.pad %x low[0, 1, 2, 0] high[0, 3, 2, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %z : f32
  } : tensor<?x25x23x3xf32> to tensor<?x29x27x3xf32>
  %e = tensor.empty(%n) : tensor<?x14x13x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?x14x13x16xf32>) -> tensor<?x14x13x16xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%p, %w : tensor<?x29x27x3xf32>, tensor<3x3x3x16xf32>) outs(%f : tensor<?x14x13x16xf32>) -> tensor<?x14x13x16xf32>
  return %r : tensor<?x14x13x16xf32>
}

// -----

// 21 * 19 * 8 elements, of which 17 * 17 * 8 are overwritten; the border is 1.5.
func.func @depthwise_padded(%x: tensor<1x17x17x8xf32>, %w: tensor<3x3x8xf32>) -> tensor<1x10x9x8xf32> {
  %v = arith.constant 1.5 : f32
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 2, 0] high[0, 3, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %v : f32
  } : tensor<1x17x17x8xf32> to tensor<1x21x19x8xf32>
  %e = tensor.empty() : tensor<1x10x9x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x10x9x8xf32>) -> tensor<1x10x9x8xf32>
  %r = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%p, %w : tensor<1x21x19x8xf32>, tensor<3x3x8xf32>) outs(%f : tensor<1x10x9x8xf32>) -> tensor<1x10x9x8xf32>
  return %r : tensor<1x10x9x8xf32>
}

// -----

func.func @conv_1d(%x: tensor<21xi64>, %w: tensor<4xi64>) -> tensor<18xi64> {
  %z = arith.constant 0 : i64
  %e = tensor.empty() : tensor<18xi64>
  %f = linalg.fill ins(%z : i64) outs(%e : tensor<18xi64>) -> tensor<18xi64>
  %r = linalg.conv_1d ins(%x, %w : tensor<21xi64>, tensor<4xi64>) outs(%f : tensor<18xi64>) -> tensor<18xi64>
  return %r : tensor<18xi64>
}

// -----

func.func @max_pool(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x4x4xf32> {
  %low = arith.constant 0xFF800000 : f32
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x2x9x9xf32>, tensor<3x3xf32>) outs(%f : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %r : tensor<1x2x4x4xf32>
}

// -----

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
func.func @average_pool(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %quarter = arith.constant 0.25 : f32
  %w = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %s = linalg.pooling_nchw_sum {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x2x8x8xf32>, tensor<2x2xf32>) outs(%f : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x2x4x4xf32>) outs(%e : tensor<1x2x4x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.mulf %a, %quarter : f32
    linalg.yield %b : f32
  } -> tensor<1x2x4x4xf32>
  return %r : tensor<1x2x4x4xf32>
}
