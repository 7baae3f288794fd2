// Properties: windows over blocks of channels give what the plain program gives:
// a few images, strides and dilations, maxima, sums that begin elsewhere with
// code behind them, integers, f64, one dimension, weights that are bound once;
// no image at all, and channels that no block divides. Padded images of a block:
// in both dimensions and unevenly, with -0.0 and with infinities that meet zeros,
// images that take strides.
// RUN: polynestc run %s --check
// RUN: polynestc run %s --check --numerics strict
// RUN: polynestc run %s --check --target haswell
// RUN: polynestc explain %s --target haswell 2>&1 | FileCheck %s

// CHECK-COUNT-7: block-lanes {{.*}} windows slide over a block of lanes at a time
func.func @f(
    %x0: tensor<3x9x11x416xf32>, %w0: tensor<3x3x416xf32>,
    %x1: tensor<1x13x12x224xf32>, %w1: tensor<5x4x224xf32> {polynest.constant},
    %x2: tensor<2x7x9x800xf32>,
    %x3: tensor<2x8x7x400xi32>, %w3: tensor<3x3x400xi32>,
    %x4: tensor<1x40x560xf64>, %w4: tensor<4x560xf64>,
    %x5: tensor<0x9x11x416xf32>,
    %x6: tensor<1x5x6x433xf32>, %w6: tensor<3x3x433xf32>,
    %x7: tensor<3x7x5x416xf32>, %x8: tensor<2x9x8x320xf32>, %w8: tensor<5x3x320xf32>)
    -> (tensor<3x7x9x416xf32>, tensor<1x5x3x224xf32>, tensor<2x5x7x800xf32>,
        tensor<2x6x5x400xi32>, tensor<1x37x560xf64>, tensor<0x7x9x416xf32>,
        tensor<1x3x4x433xf32>, tensor<3x7x5x416xf32>, tensor<2x4x9x320xf32>) {
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %zero32 = arith.constant 0 : i32
  %zero64 = arith.constant 0.0 : f64

  %e0 = tensor.empty() : tensor<3x7x9x416xf32>
  %i0 = linalg.fill ins(%negative : f32) outs(%e0 : tensor<3x7x9x416xf32>) -> tensor<3x7x9x416xf32>
  %c0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x0, %w0 : tensor<3x9x11x416xf32>, tensor<3x3x416xf32>) outs(%i0 : tensor<3x7x9x416xf32>) -> tensor<3x7x9x416xf32>
  %r0 = linalg.generic {indexing_maps = [affine_map<(n, a, b, c) -> (n, a, b, c)>, affine_map<(n, a, b, c) -> (n, a, b, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c0 : tensor<3x7x9x416xf32>) outs(%e0 : tensor<3x7x9x416xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 3 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %s = arith.addf %a, %k : f32
    %t = arith.maximumf %s, %zero : f32
    linalg.yield %t : f32
  } -> tensor<3x7x9x416xf32>

  // (13 - 5) / 2 + 1 = 5 rows; 12 - 3 * 3 = 3 columns.
  %e1 = tensor.empty() : tensor<1x5x3x224xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x5x3x224xf32>) -> tensor<1x5x3x224xf32>
  %r1 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<[1, 3]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%x1, %w1 : tensor<1x13x12x224xf32>, tensor<5x4x224xf32>) outs(%i1 : tensor<1x5x3x224xf32>) -> tensor<1x5x3x224xf32>

  %k2 = tensor.empty() : tensor<3x3xf32>
  %e2 = tensor.empty() : tensor<2x5x7x800xf32>
  %i2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<2x5x7x800xf32>) -> tensor<2x5x7x800xf32>
  %r2 = linalg.pooling_nhwc_max {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x2, %k2 : tensor<2x7x9x800xf32>, tensor<3x3xf32>) outs(%i2 : tensor<2x5x7x800xf32>) -> tensor<2x5x7x800xf32>

  %e3 = tensor.empty() : tensor<2x6x5x400xi32>
  %i3 = linalg.fill ins(%zero32 : i32) outs(%e3 : tensor<2x6x5x400xi32>) -> tensor<2x6x5x400xi32>
  %r3 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x3, %w3 : tensor<2x8x7x400xi32>, tensor<3x3x400xi32>) outs(%i3 : tensor<2x6x5x400xi32>) -> tensor<2x6x5x400xi32>

  %e4 = tensor.empty() : tensor<1x37x560xf64>
  %i4 = linalg.fill ins(%zero64 : f64) outs(%e4 : tensor<1x37x560xf64>) -> tensor<1x37x560xf64>
  %r4 = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>} ins(%x4, %w4 : tensor<1x40x560xf64>, tensor<4x560xf64>) outs(%i4 : tensor<1x37x560xf64>) -> tensor<1x37x560xf64>

  %e5 = tensor.empty() : tensor<0x7x9x416xf32>
  %i5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<0x7x9x416xf32>) -> tensor<0x7x9x416xf32>
  %r5 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x5, %w0 : tensor<0x9x11x416xf32>, tensor<3x3x416xf32>) outs(%i5 : tensor<0x7x9x416xf32>) -> tensor<0x7x9x416xf32>

  %e6 = tensor.empty() : tensor<1x3x4x433xf32>
  %i6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<1x3x4x433xf32>) -> tensor<1x3x4x433xf32>
  %r6 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x6, %w6 : tensor<1x5x6x433xf32>, tensor<3x3x433xf32>) outs(%i6 : tensor<1x3x4x433xf32>) -> tensor<1x3x4x433xf32>

  %p7 = tensor.pad %x7 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %negative : f32
  } : tensor<3x7x5x416xf32> to tensor<3x9x7x416xf32>
  %e7 = tensor.empty() : tensor<3x7x5x416xf32>
  %i7 = linalg.fill ins(%negative : f32) outs(%e7 : tensor<3x7x5x416xf32>) -> tensor<3x7x5x416xf32>
  %r7 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p7, %w0 : tensor<3x9x7x416xf32>, tensor<3x3x416xf32>) outs(%i7 : tensor<3x7x5x416xf32>) -> tensor<3x7x5x416xf32>

  // (9 + 1 + 2 - 5) / 2 + 1 = 4 rows; 8 + 2 + 1 - 2 = 9 columns.
  %p8 = tensor.pad %x8 low[0, 1, 2, 0] high[0, 2, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<2x9x8x320xf32> to tensor<2x12x11x320xf32>
  %e8 = tensor.empty() : tensor<2x4x9x320xf32>
  %i8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<2x4x9x320xf32>) -> tensor<2x4x9x320xf32>
  %r8 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%p8, %w8 : tensor<2x12x11x320xf32>, tensor<5x3x320xf32>) outs(%i8 : tensor<2x4x9x320xf32>) -> tensor<2x4x9x320xf32>

  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8
    : tensor<3x7x9x416xf32>, tensor<1x5x3x224xf32>, tensor<2x5x7x800xf32>,
      tensor<2x6x5x400xi32>, tensor<1x37x560xf64>, tensor<0x7x9x416xf32>,
      tensor<1x3x4x433xf32>, tensor<3x7x5x416xf32>, tensor<2x4x9x320xf32>
}
