// Fault B053: with ceil_mode, windows at the border divide by the count of the
// padded (or real) elements they cover. Of ones, the average is the share of
// real elements among those counted: the product of a share an axis.
// RUN: %npy %t.0.0.npy f4 "1,1,8,8" "1"
// RUN: polynestc run %s --entry pool_8_real --input %t.0.0.npy --print --check | FileCheck %s --check-prefix=R0
// R0: {{^\[\[\[\[}}1, 1, 1, 1, 1],
// R0: {{\[}}1, 1, 1, 1, 1]]]]
// RUN: %npy %t.1.0.npy f4 "1,1,8,8" "1"
// RUN: polynestc run %s --entry pool_8_padded --input %t.1.0.npy --print --check | FileCheck %s --check-prefix=R1
// R1: {{^\[\[\[\[}}0.444{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.333{{[0-9]+}}],
// R1: {{\[}}0.333{{[0-9]+}}, 0.5, 0.5, 0.5, 0.25]]]]
// RUN: %npy %t.2.0.npy f4 "1,1,11,11" "1"
// RUN: polynestc run %s --entry pool_11_real --input %t.2.0.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^\[\[\[\[}}1, 1, 1, 1, 1, 1],
// R2: {{\[}}1, 1, 1, 1, 1, 1]]]]
// RUN: %npy %t.3.0.npy f4 "1,1,11,11" "1"
// RUN: polynestc run %s --entry pool_11_padded --input %t.3.0.npy --print --check | FileCheck %s --check-prefix=R3
// R3: {{^\[\[\[\[}}1, 1, 1, 1, 1, 1],
// R3: {{\[}}1, 1, 1, 1, 1, 1]]]]
// RUN: %npy %t.4.0.npy f4 "1,1,33,33" "1"
// RUN: polynestc run %s --entry pool_33_real --input %t.4.0.npy --print --check | FileCheck %s --check-prefix=R4
// R4: {{^\[\[\[\[}}1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
// R4: {{\[}}1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]]]
// RUN: %npy %t.5.0.npy f4 "1,1,33,33" "1"
// RUN: polynestc run %s --entry pool_33_padded --input %t.5.0.npy --print --check | FileCheck %s --check-prefix=R5
// R5: {{^\[\[\[\[}}0.444{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.666{{[0-9]+}}, 0.333{{[0-9]+}}],
// R5: {{\[}}0.333{{[0-9]+}}, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25]]]]

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

func.func @pool_8_real(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %stride = arith.constant 2 : index
  %pad = arith.constant 1 : index
  %window = arith.constant 3 : index
  %first = arith.constant 0 : index
  %limit = arith.constant 8 : index
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 2, 2] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x8x8xf32> to tensor<1x1x11x11xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x1x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  %s = linalg.pooling_nchw_sum
    {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x1x11x11xf32>, tensor<3x3xf32>)
    outs(%f : tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x1x5x5xf32>) outs(%e : tensor<1x1x5x5xf32>) {
  ^bb0(%v: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %i0 = arith.muli %i, %stride : index
    %i1 = arith.subi %i0, %pad : index
    %i2 = arith.addi %i1, %window : index
    %i3 = arith.maxsi %i1, %first : index
    %i4 = arith.minsi %i2, %limit : index
    %in = arith.subi %i4, %i3 : index
    %j0 = arith.muli %j, %stride : index
    %j1 = arith.subi %j0, %pad : index
    %j2 = arith.addi %j1, %window : index
    %j3 = arith.maxsi %j1, %first : index
    %j4 = arith.minsi %j2, %limit : index
    %jn = arith.subi %j4, %j3 : index
    %n = arith.muli %in, %jn : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %y = arith.divf %v, %q : f32
    linalg.yield %y : f32
  } -> tensor<1x1x5x5xf32>
  return %r : tensor<1x1x5x5xf32>
}

func.func @pool_8_padded(%x: tensor<1x1x8x8xf32>) -> tensor<1x1x5x5xf32> {
  %zero = arith.constant 0.0 : f32
  %stride = arith.constant 2 : index
  %pad = arith.constant 1 : index
  %window = arith.constant 3 : index
  %first = arith.constant -1 : index
  %limit = arith.constant 9 : index
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 2, 2] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x8x8xf32> to tensor<1x1x11x11xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x1x5x5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  %s = linalg.pooling_nchw_sum
    {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x1x11x11xf32>, tensor<3x3xf32>)
    outs(%f : tensor<1x1x5x5xf32>) -> tensor<1x1x5x5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x1x5x5xf32>) outs(%e : tensor<1x1x5x5xf32>) {
  ^bb0(%v: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %i0 = arith.muli %i, %stride : index
    %i1 = arith.subi %i0, %pad : index
    %i2 = arith.addi %i1, %window : index
    %i3 = arith.maxsi %i1, %first : index
    %i4 = arith.minsi %i2, %limit : index
    %in = arith.subi %i4, %i3 : index
    %j0 = arith.muli %j, %stride : index
    %j1 = arith.subi %j0, %pad : index
    %j2 = arith.addi %j1, %window : index
    %j3 = arith.maxsi %j1, %first : index
    %j4 = arith.minsi %j2, %limit : index
    %jn = arith.subi %j4, %j3 : index
    %n = arith.muli %in, %jn : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %y = arith.divf %v, %q : f32
    linalg.yield %y : f32
  } -> tensor<1x1x5x5xf32>
  return %r : tensor<1x1x5x5xf32>
}

func.func @pool_11_real(%x: tensor<1x1x11x11xf32>) -> tensor<1x1x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %stride = arith.constant 2 : index
  %pad = arith.constant 0 : index
  %window = arith.constant 2 : index
  %first = arith.constant 0 : index
  %limit = arith.constant 11 : index
  %p = tensor.pad %x low[0, 0, 0, 0] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x11x11xf32> to tensor<1x1x12x12xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x1x6x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x6x6xf32>) -> tensor<1x1x6x6xf32>
  %s = linalg.pooling_nchw_sum
    {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x1x12x12xf32>, tensor<2x2xf32>)
    outs(%f : tensor<1x1x6x6xf32>) -> tensor<1x1x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x1x6x6xf32>) outs(%e : tensor<1x1x6x6xf32>) {
  ^bb0(%v: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %i0 = arith.muli %i, %stride : index
    %i1 = arith.subi %i0, %pad : index
    %i2 = arith.addi %i1, %window : index
    %i3 = arith.maxsi %i1, %first : index
    %i4 = arith.minsi %i2, %limit : index
    %in = arith.subi %i4, %i3 : index
    %j0 = arith.muli %j, %stride : index
    %j1 = arith.subi %j0, %pad : index
    %j2 = arith.addi %j1, %window : index
    %j3 = arith.maxsi %j1, %first : index
    %j4 = arith.minsi %j2, %limit : index
    %jn = arith.subi %j4, %j3 : index
    %n = arith.muli %in, %jn : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %y = arith.divf %v, %q : f32
    linalg.yield %y : f32
  } -> tensor<1x1x6x6xf32>
  return %r : tensor<1x1x6x6xf32>
}

func.func @pool_11_padded(%x: tensor<1x1x11x11xf32>) -> tensor<1x1x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %stride = arith.constant 2 : index
  %pad = arith.constant 0 : index
  %window = arith.constant 2 : index
  %first = arith.constant 0 : index
  %limit = arith.constant 11 : index
  %p = tensor.pad %x low[0, 0, 0, 0] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x11x11xf32> to tensor<1x1x12x12xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x1x6x6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x6x6xf32>) -> tensor<1x1x6x6xf32>
  %s = linalg.pooling_nchw_sum
    {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x1x12x12xf32>, tensor<2x2xf32>)
    outs(%f : tensor<1x1x6x6xf32>) -> tensor<1x1x6x6xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x1x6x6xf32>) outs(%e : tensor<1x1x6x6xf32>) {
  ^bb0(%v: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %i0 = arith.muli %i, %stride : index
    %i1 = arith.subi %i0, %pad : index
    %i2 = arith.addi %i1, %window : index
    %i3 = arith.maxsi %i1, %first : index
    %i4 = arith.minsi %i2, %limit : index
    %in = arith.subi %i4, %i3 : index
    %j0 = arith.muli %j, %stride : index
    %j1 = arith.subi %j0, %pad : index
    %j2 = arith.addi %j1, %window : index
    %j3 = arith.maxsi %j1, %first : index
    %j4 = arith.minsi %j2, %limit : index
    %jn = arith.subi %j4, %j3 : index
    %n = arith.muli %in, %jn : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %y = arith.divf %v, %q : f32
    linalg.yield %y : f32
  } -> tensor<1x1x6x6xf32>
  return %r : tensor<1x1x6x6xf32>
}

func.func @pool_33_real(%x: tensor<1x1x33x33xf32>) -> tensor<1x1x12x12xf32> {
  %zero = arith.constant 0.0 : f32
  %stride = arith.constant 3 : index
  %pad = arith.constant 1 : index
  %window = arith.constant 3 : index
  %first = arith.constant 0 : index
  %limit = arith.constant 33 : index
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 2, 2] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x33x33xf32> to tensor<1x1x36x36xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x1x12x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x12x12xf32>) -> tensor<1x1x12x12xf32>
  %s = linalg.pooling_nchw_sum
    {strides = dense<3> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x1x36x36xf32>, tensor<3x3xf32>)
    outs(%f : tensor<1x1x12x12xf32>) -> tensor<1x1x12x12xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x1x12x12xf32>) outs(%e : tensor<1x1x12x12xf32>) {
  ^bb0(%v: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %i0 = arith.muli %i, %stride : index
    %i1 = arith.subi %i0, %pad : index
    %i2 = arith.addi %i1, %window : index
    %i3 = arith.maxsi %i1, %first : index
    %i4 = arith.minsi %i2, %limit : index
    %in = arith.subi %i4, %i3 : index
    %j0 = arith.muli %j, %stride : index
    %j1 = arith.subi %j0, %pad : index
    %j2 = arith.addi %j1, %window : index
    %j3 = arith.maxsi %j1, %first : index
    %j4 = arith.minsi %j2, %limit : index
    %jn = arith.subi %j4, %j3 : index
    %n = arith.muli %in, %jn : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %y = arith.divf %v, %q : f32
    linalg.yield %y : f32
  } -> tensor<1x1x12x12xf32>
  return %r : tensor<1x1x12x12xf32>
}

func.func @pool_33_padded(%x: tensor<1x1x33x33xf32>) -> tensor<1x1x12x12xf32> {
  %zero = arith.constant 0.0 : f32
  %stride = arith.constant 3 : index
  %pad = arith.constant 1 : index
  %window = arith.constant 3 : index
  %first = arith.constant -1 : index
  %limit = arith.constant 34 : index
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 2, 2] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x1x33x33xf32> to tensor<1x1x36x36xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x1x12x12xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x1x12x12xf32>) -> tensor<1x1x12x12xf32>
  %s = linalg.pooling_nchw_sum
    {strides = dense<3> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x1x36x36xf32>, tensor<3x3xf32>)
    outs(%f : tensor<1x1x12x12xf32>) -> tensor<1x1x12x12xf32>
  %r = linalg.generic {indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s : tensor<1x1x12x12xf32>) outs(%e : tensor<1x1x12x12xf32>) {
  ^bb0(%v: f32, %out: f32):
    %i = linalg.index 2 : index
    %j = linalg.index 3 : index
    %i0 = arith.muli %i, %stride : index
    %i1 = arith.subi %i0, %pad : index
    %i2 = arith.addi %i1, %window : index
    %i3 = arith.maxsi %i1, %first : index
    %i4 = arith.minsi %i2, %limit : index
    %in = arith.subi %i4, %i3 : index
    %j0 = arith.muli %j, %stride : index
    %j1 = arith.subi %j0, %pad : index
    %j2 = arith.addi %j1, %window : index
    %j3 = arith.maxsi %j1, %first : index
    %j4 = arith.minsi %j2, %limit : index
    %jn = arith.subi %j4, %j3 : index
    %n = arith.muli %in, %jn : index
    %m = arith.index_cast %n : index to i64
    %q = arith.sitofp %m : i64 to f32
    %y = arith.divf %v, %q : f32
    linalg.yield %y : f32
  } -> tensor<1x1x12x12xf32>
  return %r : tensor<1x1x12x12xf32>
}
