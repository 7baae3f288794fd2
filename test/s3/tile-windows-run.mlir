// Properties: windows that slide give what the plain program gives: rows that
// fill tiles, leave some over, or are one; 2 to 8 taps and more; strides and
// dilations; vectors along the image and along the channels; floats, integers,
// maxima, sums from -0.0; no image at all; sizes known at run time; channels
// before the image, whose loops stand the other way round in the definition.
// RUN: polynestc run %s --entry fixed --check
// RUN: polynestc run %s --entry dynamic --check --size 0.0=2 --size 0.1=3 --size 0.2=13 --size 0.3=20 --size 1.0=3 --size 2.0=2 --size 2.1=3 --size 2.2=11 --size 2.3=18

func.func @fixed(
    %x0: tensor<2x3x13x19xf32>, %w0: tensor<3x3x3xf32>,
    %x1: tensor<1x5x9x40xf32>, %w1: tensor<5x8x3xf32>,
    %x2: tensor<1x2x7x23xf32>, %w2: tensor<2x2x9xf32>,
    %x3: tensor<2x3x16x37xf32>, %w3: tensor<3x3x3xf32>,
    %x4: tensor<1x3x15x21xf32>, %w4: tensor<3x3x3xf32>,
    %x5: tensor<1x2x23x29xf32>, %w5: tensor<2x5x5xf32>,
    %x6: tensor<1x4x3x18xf32>, %w6: tensor<4x3x3xf32>,
    %x7: tensor<2x2x7x7xf32>, %w7: tensor<2x3x3xf32>,
    %x8: tensor<2x14x17x11xf32>, %w8: tensor<3x3x11xf32>,
    %x9: tensor<1x15x12x21xf32>, %w9: tensor<7x7x21xf32>,
    %x10: tensor<1x3x12x14xf64>, %w10: tensor<3x5x3xf64>,
    %x11: tensor<2x3x13x19xi32>, %w11: tensor<3x3x3xi32>,
    %x12: tensor<1x3x13x37xi8>, %w12: tensor<3x3x3xi8>,
    %x13: tensor<0x3x13x19xf32>, %w13: tensor<3x3x3xf32>,
    %x14: tensor<2x3x11x21xf32>,
    %x15: tensor<1x9x9x13xf32>,
    %x16: tensor<1x9x9x13xf32>)
    -> (tensor<2x3x11x17xf32>,
        tensor<1x5x2x38xf32>,
        tensor<1x2x6x15xf32>,
        tensor<2x3x7x18xf32>,
        tensor<1x3x11x17xf32>,
        tensor<1x2x6x9xf32>,
        tensor<1x4x1x16xf32>,
        tensor<2x2x5x5xf32>,
        tensor<2x12x15x11xf32>,
        tensor<1x5x3x21xf32>,
        tensor<1x3x8x12xf64>,
        tensor<2x3x11x17xi32>,
        tensor<1x3x11x35xi8>,
        tensor<0x3x11x17xf32>,
        tensor<2x3x9x19xf32>,
        tensor<1x6x8x13xf32>,
        tensor<1x4x4x13xf32>) {
  // first
  %z0 = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2x3x11x17xf32>
  %i0 = linalg.fill ins(%z0 : f32) outs(%e0 : tensor<2x3x11x17xf32>) -> tensor<2x3x11x17xf32>
  %r0 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x0, %w0 : tensor<2x3x13x19xf32>, tensor<3x3x3xf32>)
    outs(%i0 : tensor<2x3x11x17xf32>) -> tensor<2x3x11x17xf32>
  // tall
  %z1 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<1x5x2x38xf32>
  %i1 = linalg.fill ins(%z1 : f32) outs(%e1 : tensor<1x5x2x38xf32>) -> tensor<1x5x2x38xf32>
  %r1 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x1, %w1 : tensor<1x5x9x40xf32>, tensor<5x8x3xf32>)
    outs(%i1 : tensor<1x5x2x38xf32>) -> tensor<1x5x2x38xf32>
  // wide
  %z2 = arith.constant 0.0 : f32
  %e2 = tensor.empty() : tensor<1x2x6x15xf32>
  %i2 = linalg.fill ins(%z2 : f32) outs(%e2 : tensor<1x2x6x15xf32>) -> tensor<1x2x6x15xf32>
  %r2 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x2, %w2 : tensor<1x2x7x23xf32>, tensor<2x2x9xf32>)
    outs(%i2 : tensor<1x2x6x15xf32>) -> tensor<1x2x6x15xf32>
  // strided
  %z3 = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<2x3x7x18xf32>
  %i3 = linalg.fill ins(%z3 : f32) outs(%e3 : tensor<2x3x7x18xf32>) -> tensor<2x3x7x18xf32>
  %r3 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<2> : tensor<2xi64>}
    ins(%x3, %w3 : tensor<2x3x16x37xf32>, tensor<3x3x3xf32>)
    outs(%i3 : tensor<2x3x7x18xf32>) -> tensor<2x3x7x18xf32>
  // dilated
  %z4 = arith.constant 0.0 : f32
  %e4 = tensor.empty() : tensor<1x3x11x17xf32>
  %i4 = linalg.fill ins(%z4 : f32) outs(%e4 : tensor<1x3x11x17xf32>) -> tensor<1x3x11x17xf32>
  %r4 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<2> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x4, %w4 : tensor<1x3x15x21xf32>, tensor<3x3x3xf32>)
    outs(%i4 : tensor<1x3x11x17xf32>) -> tensor<1x3x11x17xf32>
  // both
  %z5 = arith.constant 0.0 : f32
  %e5 = tensor.empty() : tensor<1x2x6x9xf32>
  %i5 = linalg.fill ins(%z5 : f32) outs(%e5 : tensor<1x2x6x9xf32>) -> tensor<1x2x6x9xf32>
  %r5 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<3> : tensor<2xi64>,
      strides = dense<2> : tensor<2xi64>}
    ins(%x5, %w5 : tensor<1x2x23x29xf32>, tensor<2x5x5xf32>)
    outs(%i5 : tensor<1x2x6x9xf32>) -> tensor<1x2x6x9xf32>
  // one_row
  %z6 = arith.constant 0.0 : f32
  %e6 = tensor.empty() : tensor<1x4x1x16xf32>
  %i6 = linalg.fill ins(%z6 : f32) outs(%e6 : tensor<1x4x1x16xf32>) -> tensor<1x4x1x16xf32>
  %r6 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x6, %w6 : tensor<1x4x3x18xf32>, tensor<4x3x3xf32>)
    outs(%i6 : tensor<1x4x1x16xf32>) -> tensor<1x4x1x16xf32>
  // small
  %z7 = arith.constant 0.0 : f32
  %e7 = tensor.empty() : tensor<2x2x5x5xf32>
  %i7 = linalg.fill ins(%z7 : f32) outs(%e7 : tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %r7 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x7, %w7 : tensor<2x2x7x7xf32>, tensor<2x3x3xf32>)
    outs(%i7 : tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  // last
  %z8 = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<2x12x15x11xf32>
  %i8 = linalg.fill ins(%z8 : f32) outs(%e8 : tensor<2x12x15x11xf32>) -> tensor<2x12x15x11xf32>
  %r8 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x8, %w8 : tensor<2x14x17x11xf32>, tensor<3x3x11xf32>)
    outs(%i8 : tensor<2x12x15x11xf32>) -> tensor<2x12x15x11xf32>
  // last_strided
  %z9 = arith.constant 0.0 : f32
  %e9 = tensor.empty() : tensor<1x5x3x21xf32>
  %i9 = linalg.fill ins(%z9 : f32) outs(%e9 : tensor<1x5x3x21xf32>) -> tensor<1x5x3x21xf32>
  %r9 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>,
      strides = dense<2> : tensor<2xi64>}
    ins(%x9, %w9 : tensor<1x15x12x21xf32>, tensor<7x7x21xf32>)
    outs(%i9 : tensor<1x5x3x21xf32>) -> tensor<1x5x3x21xf32>
  // double
  %z10 = arith.constant 0.0 : f64
  %e10 = tensor.empty() : tensor<1x3x8x12xf64>
  %i10 = linalg.fill ins(%z10 : f64) outs(%e10 : tensor<1x3x8x12xf64>) -> tensor<1x3x8x12xf64>
  %r10 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x10, %w10 : tensor<1x3x12x14xf64>, tensor<3x5x3xf64>)
    outs(%i10 : tensor<1x3x8x12xf64>) -> tensor<1x3x8x12xf64>
  // whole
  %z11 = arith.constant 0 : i32
  %e11 = tensor.empty() : tensor<2x3x11x17xi32>
  %i11 = linalg.fill ins(%z11 : i32) outs(%e11 : tensor<2x3x11x17xi32>) -> tensor<2x3x11x17xi32>
  %r11 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x11, %w11 : tensor<2x3x13x19xi32>, tensor<3x3x3xi32>)
    outs(%i11 : tensor<2x3x11x17xi32>) -> tensor<2x3x11x17xi32>
  // narrow
  %z12 = arith.constant 0 : i8
  %e12 = tensor.empty() : tensor<1x3x11x35xi8>
  %i12 = linalg.fill ins(%z12 : i8) outs(%e12 : tensor<1x3x11x35xi8>) -> tensor<1x3x11x35xi8>
  %r12 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x12, %w12 : tensor<1x3x13x37xi8>, tensor<3x3x3xi8>)
    outs(%i12 : tensor<1x3x11x35xi8>) -> tensor<1x3x11x35xi8>
  // empty
  %z13 = arith.constant 0.0 : f32
  %e13 = tensor.empty() : tensor<0x3x11x17xf32>
  %i13 = linalg.fill ins(%z13 : f32) outs(%e13 : tensor<0x3x11x17xf32>) -> tensor<0x3x11x17xf32>
  %r13 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x13, %w13 : tensor<0x3x13x19xf32>, tensor<3x3x3xf32>)
    outs(%i13 : tensor<0x3x11x17xf32>) -> tensor<0x3x11x17xf32>
  // maxima
  %z14 = arith.constant 0xFF800000 : f32
  %k14 = tensor.empty() : tensor<3x3xf32>
  %e14 = tensor.empty() : tensor<2x3x9x19xf32>
  %i14 = linalg.fill ins(%z14 : f32) outs(%e14 : tensor<2x3x9x19xf32>) -> tensor<2x3x9x19xf32>
  %r14 = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x14, %k14 : tensor<2x3x11x21xf32>, tensor<3x3xf32>)
    outs(%i14 : tensor<2x3x9x19xf32>) -> tensor<2x3x9x19xf32>
  // sums
  %z15 = arith.constant -0.0 : f32
  %k15 = tensor.empty() : tensor<4x2xf32>
  %e15 = tensor.empty() : tensor<1x6x8x13xf32>
  %i15 = linalg.fill ins(%z15 : f32) outs(%e15 : tensor<1x6x8x13xf32>) -> tensor<1x6x8x13xf32>
  %r15 = linalg.pooling_nhwc_sum {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x15, %k15 : tensor<1x9x9x13xf32>, tensor<4x2xf32>)
    outs(%i15 : tensor<1x6x8x13xf32>) -> tensor<1x6x8x13xf32>
  // minima
  %z16 = arith.constant 0x7F800000 : f32
  %k16 = tensor.empty() : tensor<3x3xf32>
  %e16 = tensor.empty() : tensor<1x4x4x13xf32>
  %i16 = linalg.fill ins(%z16 : f32) outs(%e16 : tensor<1x4x4x13xf32>) -> tensor<1x4x4x13xf32>
  %r16 = linalg.pooling_nhwc_min {dilations = dense<1> : tensor<2xi64>,
      strides = dense<2> : tensor<2xi64>}
    ins(%x16, %k16 : tensor<1x9x9x13xf32>, tensor<3x3xf32>)
    outs(%i16 : tensor<1x4x4x13xf32>) -> tensor<1x4x4x13xf32>
  return %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11, %r12, %r13, %r14, %r15, %r16
    : tensor<2x3x11x17xf32>,
      tensor<1x5x2x38xf32>,
      tensor<1x2x6x15xf32>,
      tensor<2x3x7x18xf32>,
      tensor<1x3x11x17xf32>,
      tensor<1x2x6x9xf32>,
      tensor<1x4x1x16xf32>,
      tensor<2x2x5x5xf32>,
      tensor<2x12x15x11xf32>,
      tensor<1x5x3x21xf32>,
      tensor<1x3x8x12xf64>,
      tensor<2x3x11x17xi32>,
      tensor<1x3x11x35xi8>,
      tensor<0x3x11x17xf32>,
      tensor<2x3x9x19xf32>,
      tensor<1x6x8x13xf32>,
      tensor<1x4x4x13xf32>
}

func.func @dynamic(%x: tensor<?x?x?x?xf32>, %w: tensor<?x3x3xf32>,
                   %e: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> {
  %r = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>,
      strides = dense<1> : tensor<2xi64>}
    ins(%x, %w : tensor<?x?x?x?xf32>, tensor<?x3x3xf32>)
    outs(%e : tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %r : tensor<?x?x?x?xf32>
}
