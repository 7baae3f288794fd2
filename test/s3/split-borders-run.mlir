// Properties: padded images that are read in place give what the plain program
// gives, also where padding meets weights of NaN: windows with
// borders on all sides, on one, and of several rows; strides, dilations, images
// that are wider than long; several images; maxima padded with -inf, sums that
// begin at -0.0; products over few channels, whose weights are bound once, also
// of images with channels first; integers, f64; rows along one dimension; no
// image at all; a source that is needed twice.
// RUN: polynestc run %s --check
// RUN: polynestc run %s --check --numerics strict
// RUN: polynestc run %s --check --target haswell
// RUN: polynestc explain %s 2>&1 | FileCheck %s

// CHECK-COUNT-8: split-borders {{.*}} the inside of a padded image is read in place
func.func @f(
    %x0: tensor<1x30x26x48xf32>, %w0: tensor<3x3x48xf32>,
    %x1: tensor<3x29x31x20xf32>, %w1: tensor<3x5x20xf32>,
    %x2: tensor<1x61x63x9xf32>,
    %x3: tensor<1x96x97x3xf32>, %w3: tensor<3x3x3x17xf32> {polynest.constant},
    %x4: tensor<1x3x97x96xf32>, %w4: tensor<17x3x3x3xf32> {polynest.constant},
    %x5: tensor<2x40x24x24xi32>, %w5: tensor<3x3x24xi32>,
    %x6: tensor<1x700x19xf64>, %w6: tensor<4x19xf64>,
    %x7: tensor<0x30x26x48xf32>,
    %x8: tensor<2x41x22x16xf32>, %w8: tensor<3x3x16xf32>)
    -> (tensor<1x30x26x48xf32>, tensor<3x14x30x20xf32>, tensor<1x59x61x9xf32>,
        tensor<1x48x49x17xf32>, tensor<1x17x49x48xf32>, tensor<2x40x24x24xi32>,
        tensor<1x701x19xf64>, tensor<0x30x26x48xf32>, tensor<2x41x22x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %negative = arith.constant -0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %zero32 = arith.constant 0 : i32
  %zero64 = arith.constant 0.0 : f64

  %p0 = tensor.pad %x0 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x30x26x48xf32> to tensor<1x32x28x48xf32>
  %v0 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w0 : tensor<3x3x48xf32>) outs(%w0 : tensor<3x3x48xf32>) {
  ^bb0(%a: f32, %b: f32):
    %root = math.sqrt %a : f32
    linalg.yield %root : f32
  } -> tensor<3x3x48xf32>
  %e0 = tensor.empty() : tensor<1x30x26x48xf32>
  %i0 = linalg.fill ins(%negative : f32) outs(%e0 : tensor<1x30x26x48xf32>) -> tensor<1x30x26x48xf32>
  %r0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p0, %v0 : tensor<1x32x28x48xf32>, tensor<3x3x48xf32>) outs(%i0 : tensor<1x30x26x48xf32>) -> tensor<1x30x26x48xf32>

  // (29 + 2 - 3) / 2 + 1 = 15 rows, of which the last is left out; 31 + 3 - 5 + 1 = 30.
  %p1 = tensor.pad %x1 low[0, 1, 2, 0] high[0, 0, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<3x29x31x20xf32> to tensor<3x30x34x20xf32>
  %e1 = tensor.empty() : tensor<3x14x30x20xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x14x30x20xf32>) -> tensor<3x14x30x20xf32>
  %r1 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%p1, %w1 : tensor<3x30x34x20xf32>, tensor<3x5x20xf32>) outs(%i1 : tensor<3x14x30x20xf32>) -> tensor<3x14x30x20xf32>

  // Dilated by 2: 61 + 2 - 4 = 59, 63 + 2 - 4 = 61.
  %p2 = tensor.pad %x2 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %low : f32
  } : tensor<1x61x63x9xf32> to tensor<1x63x65x9xf32>
  %k2 = tensor.empty() : tensor<3x3xf32>
  %e2 = tensor.empty() : tensor<1x59x61x9xf32>
  %i2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<1x59x61x9xf32>) -> tensor<1x59x61x9xf32>
  %r2 = linalg.pooling_nhwc_max {dilations = dense<2> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p2, %k2 : tensor<1x63x65x9xf32>, tensor<3x3xf32>) outs(%i2 : tensor<1x59x61x9xf32>) -> tensor<1x59x61x9xf32>

  %p3 = tensor.pad %x3 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x96x97x3xf32> to tensor<1x98x99x3xf32>
  %e3 = tensor.empty() : tensor<1x48x49x17xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x48x49x17xf32>) -> tensor<1x48x49x17xf32>
  %r3 = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%p3, %w3 : tensor<1x98x99x3xf32>, tensor<3x3x3x17xf32>) outs(%i3 : tensor<1x48x49x17xf32>) -> tensor<1x48x49x17xf32>

  %p4 = tensor.pad %x4 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x97x96xf32> to tensor<1x3x99x98xf32>
  %e4 = tensor.empty() : tensor<1x17x49x48xf32>
  %i4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<1x17x49x48xf32>) -> tensor<1x17x49x48xf32>
  %r4 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%p4, %w4 : tensor<1x3x99x98xf32>, tensor<17x3x3x3xf32>) outs(%i4 : tensor<1x17x49x48xf32>) -> tensor<1x17x49x48xf32>

  %p5 = tensor.pad %x5 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero32 : i32
  } : tensor<2x40x24x24xi32> to tensor<2x42x26x24xi32>
  %e5 = tensor.empty() : tensor<2x40x24x24xi32>
  %i5 = linalg.fill ins(%zero32 : i32) outs(%e5 : tensor<2x40x24x24xi32>) -> tensor<2x40x24x24xi32>
  %r5 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p5, %w5 : tensor<2x42x26x24xi32>, tensor<3x3x24xi32>) outs(%i5 : tensor<2x40x24x24xi32>) -> tensor<2x40x24x24xi32>

  %p6 = tensor.pad %x6 low[0, 2, 0] high[0, 2, 0] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %zero64 : f64
  } : tensor<1x700x19xf64> to tensor<1x704x19xf64>
  %e6 = tensor.empty() : tensor<1x701x19xf64>
  %i6 = linalg.fill ins(%zero64 : f64) outs(%e6 : tensor<1x701x19xf64>) -> tensor<1x701x19xf64>
  %r6 = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>} ins(%p6, %w6 : tensor<1x704x19xf64>, tensor<4x19xf64>) outs(%i6 : tensor<1x701x19xf64>) -> tensor<1x701x19xf64>

  %p7 = tensor.pad %x7 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<0x30x26x48xf32> to tensor<0x32x28x48xf32>
  %e7 = tensor.empty() : tensor<0x30x26x48xf32>
  %i7 = linalg.fill ins(%zero : f32) outs(%e7 : tensor<0x30x26x48xf32>) -> tensor<0x30x26x48xf32>
  %r7 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p7, %w0 : tensor<0x32x28x48xf32>, tensor<3x3x48xf32>) outs(%i7 : tensor<0x30x26x48xf32>) -> tensor<0x30x26x48xf32>

  %p8 = tensor.pad %x8 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<2x41x22x16xf32> to tensor<2x43x24x16xf32>
  %r8 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p8, %w8 : tensor<2x43x24x16xf32>, tensor<3x3x16xf32>) outs(%x8 : tensor<2x41x22x16xf32>) -> tensor<2x41x22x16xf32>

  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8
    : tensor<1x30x26x48xf32>, tensor<3x14x30x20xf32>, tensor<1x59x61x9xf32>,
      tensor<1x48x49x17xf32>, tensor<1x17x49x48xf32>, tensor<2x40x24x24xi32>,
      tensor<1x701x19xf64>, tensor<0x30x26x48xf32>, tensor<2x41x22x16xf32>
}
