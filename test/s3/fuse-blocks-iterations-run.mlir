// Properties: what runs image by image gives what the plain program gives: an
// inverted residual whose weights are bound once, so that images have their channels
// last, and whose are not; with a stride, in integers, and of no
// image at all. 8 images of 40 channels, 35 x 33 and 33 x 31, are 2.7 MiB, those
// with a stride, of 48 channels, 2.1 MiB; a core of the target gets 2 MiB.
// RUN: polynestc run %s --check --target haswell
// RUN: polynestc run %s --check --target haswell --numerics strict
// RUN: polynestc run %s --check
// RUN: polynestc explain %s --target haswell 2>&1 | FileCheck %s

// CHECK-COUNT-4: fuse-blocks {{.*}} nests run iteration by iteration
func.func @f(
    %x0: tensor<8x12x33x31xf32>, %a0: tensor<40x12x1x1xf32> {polynest.constant},
    %b0: tensor<40x3x3xf32> {polynest.constant}, %c0: tensor<12x40x1x1xf32> {polynest.constant},
    %x1: tensor<8x12x33x31xf32>, %a1: tensor<40x12x1x1xf32>,
    %b1: tensor<40x3x3xf32>, %c1: tensor<12x40x1x1xf32>,
    %x2: tensor<8x12x33x31xf32>, %a2: tensor<48x12x1x1xf32> {polynest.constant},
    %b2: tensor<48x3x3xf32> {polynest.constant}, %c2: tensor<12x48x1x1xf32> {polynest.constant},
    %x3: tensor<8x12x33x31xi32>, %a3: tensor<40x12x1x1xi32> {polynest.constant},
    %b3: tensor<40x3x3xi32> {polynest.constant}, %c3: tensor<12x40x1x1xi32> {polynest.constant},
    %x4: tensor<0x12x33x31xf32>, %a4: tensor<40x12x1x1xf32> {polynest.constant},
    %b4: tensor<40x3x3xf32> {polynest.constant}, %c4: tensor<12x40x1x1xf32> {polynest.constant})
    -> (tensor<8x12x33x31xf32>, tensor<8x12x33x31xf32>, tensor<8x12x17x16xf32>, tensor<8x12x33x31xi32>, tensor<0x12x33x31xf32>) {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %zero32 = arith.constant 0 : i32
  %six32 = arith.constant 2000000000 : i32
  %ee0 = tensor.empty() : tensor<8x40x33x31xf32>
  %ef0 = linalg.fill ins(%zero : f32) outs(%ee0 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %e0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x0, %a0 : tensor<8x12x33x31xf32>, tensor<40x12x1x1xf32>) outs(%ef0 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %r0 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%e0 : tensor<8x40x33x31xf32>) outs(%ee0 : tensor<8x40x33x31xf32>) {
  ^bb0(%u: f32, %v: f32):
    %m = arith.maximumf %u, %zero : f32
    %k = arith.minimumf %m, %six : f32
    linalg.yield %k : f32
  } -> tensor<8x40x33x31xf32>
  %p0 = tensor.pad %r0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<8x40x33x31xf32> to tensor<8x40x35x33xf32>
  %de0 = tensor.empty() : tensor<8x40x33x31xf32>
  %df0 = linalg.fill ins(%zero : f32) outs(%de0 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %d0 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p0, %b0 : tensor<8x40x35x33xf32>, tensor<40x3x3xf32>) outs(%df0 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %ce0 = tensor.empty() : tensor<8x12x33x31xf32>
  %cf0 = linalg.fill ins(%zero : f32) outs(%ce0 : tensor<8x12x33x31xf32>) -> tensor<8x12x33x31xf32>
  %q0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%d0, %c0 : tensor<8x40x33x31xf32>, tensor<12x40x1x1xf32>) outs(%cf0 : tensor<8x12x33x31xf32>) -> tensor<8x12x33x31xf32>

  %s0 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q0, %x0 : tensor<8x12x33x31xf32>, tensor<8x12x33x31xf32>) outs(%ce0 : tensor<8x12x33x31xf32>) {
  ^bb0(%u: f32, %v: f32, %w: f32):
    %m = arith.addf %u, %v : f32
    linalg.yield %m : f32
  } -> tensor<8x12x33x31xf32>

  %ee1 = tensor.empty() : tensor<8x40x33x31xf32>
  %ef1 = linalg.fill ins(%zero : f32) outs(%ee1 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %e1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x1, %a1 : tensor<8x12x33x31xf32>, tensor<40x12x1x1xf32>) outs(%ef1 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %r1 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%e1 : tensor<8x40x33x31xf32>) outs(%ee1 : tensor<8x40x33x31xf32>) {
  ^bb0(%u: f32, %v: f32):
    %m = arith.maximumf %u, %zero : f32
    %k = arith.minimumf %m, %six : f32
    linalg.yield %k : f32
  } -> tensor<8x40x33x31xf32>
  %p1 = tensor.pad %r1 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<8x40x33x31xf32> to tensor<8x40x35x33xf32>
  %de1 = tensor.empty() : tensor<8x40x33x31xf32>
  %df1 = linalg.fill ins(%zero : f32) outs(%de1 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %d1 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p1, %b1 : tensor<8x40x35x33xf32>, tensor<40x3x3xf32>) outs(%df1 : tensor<8x40x33x31xf32>) -> tensor<8x40x33x31xf32>
  %ce1 = tensor.empty() : tensor<8x12x33x31xf32>
  %cf1 = linalg.fill ins(%zero : f32) outs(%ce1 : tensor<8x12x33x31xf32>) -> tensor<8x12x33x31xf32>
  %q1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%d1, %c1 : tensor<8x40x33x31xf32>, tensor<12x40x1x1xf32>) outs(%cf1 : tensor<8x12x33x31xf32>) -> tensor<8x12x33x31xf32>

  %s1 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q1, %x1 : tensor<8x12x33x31xf32>, tensor<8x12x33x31xf32>) outs(%ce1 : tensor<8x12x33x31xf32>) {
  ^bb0(%u: f32, %v: f32, %w: f32):
    %m = arith.addf %u, %v : f32
    linalg.yield %m : f32
  } -> tensor<8x12x33x31xf32>

  %ee2 = tensor.empty() : tensor<8x48x33x31xf32>
  %ef2 = linalg.fill ins(%zero : f32) outs(%ee2 : tensor<8x48x33x31xf32>) -> tensor<8x48x33x31xf32>
  %e2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x2, %a2 : tensor<8x12x33x31xf32>, tensor<48x12x1x1xf32>) outs(%ef2 : tensor<8x48x33x31xf32>) -> tensor<8x48x33x31xf32>
  %r2 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%e2 : tensor<8x48x33x31xf32>) outs(%ee2 : tensor<8x48x33x31xf32>) {
  ^bb0(%u: f32, %v: f32):
    %m = arith.maximumf %u, %zero : f32
    %k = arith.minimumf %m, %six : f32
    linalg.yield %k : f32
  } -> tensor<8x48x33x31xf32>
  %p2 = tensor.pad %r2 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<8x48x33x31xf32> to tensor<8x48x35x33xf32>
  %de2 = tensor.empty() : tensor<8x48x17x16xf32>
  %df2 = linalg.fill ins(%zero : f32) outs(%de2 : tensor<8x48x17x16xf32>) -> tensor<8x48x17x16xf32>
  %d2 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%p2, %b2 : tensor<8x48x35x33xf32>, tensor<48x3x3xf32>) outs(%df2 : tensor<8x48x17x16xf32>) -> tensor<8x48x17x16xf32>
  %ce2 = tensor.empty() : tensor<8x12x17x16xf32>
  %cf2 = linalg.fill ins(%zero : f32) outs(%ce2 : tensor<8x12x17x16xf32>) -> tensor<8x12x17x16xf32>
  %q2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%d2, %c2 : tensor<8x48x17x16xf32>, tensor<12x48x1x1xf32>) outs(%cf2 : tensor<8x12x17x16xf32>) -> tensor<8x12x17x16xf32>

  %ee3 = tensor.empty() : tensor<8x40x33x31xi32>
  %ef3 = linalg.fill ins(%zero32 : i32) outs(%ee3 : tensor<8x40x33x31xi32>) -> tensor<8x40x33x31xi32>
  %e3 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x3, %a3 : tensor<8x12x33x31xi32>, tensor<40x12x1x1xi32>) outs(%ef3 : tensor<8x40x33x31xi32>) -> tensor<8x40x33x31xi32>
  %r3 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%e3 : tensor<8x40x33x31xi32>) outs(%ee3 : tensor<8x40x33x31xi32>) {
  ^bb0(%u: i32, %v: i32):
    %m = arith.maxsi %u, %zero32 : i32
    %k = arith.minsi %m, %six32 : i32
    linalg.yield %k : i32
  } -> tensor<8x40x33x31xi32>
  %p3 = tensor.pad %r3 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero32 : i32
  } : tensor<8x40x33x31xi32> to tensor<8x40x35x33xi32>
  %de3 = tensor.empty() : tensor<8x40x33x31xi32>
  %df3 = linalg.fill ins(%zero32 : i32) outs(%de3 : tensor<8x40x33x31xi32>) -> tensor<8x40x33x31xi32>
  %d3 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p3, %b3 : tensor<8x40x35x33xi32>, tensor<40x3x3xi32>) outs(%df3 : tensor<8x40x33x31xi32>) -> tensor<8x40x33x31xi32>
  %ce3 = tensor.empty() : tensor<8x12x33x31xi32>
  %cf3 = linalg.fill ins(%zero32 : i32) outs(%ce3 : tensor<8x12x33x31xi32>) -> tensor<8x12x33x31xi32>
  %q3 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%d3, %c3 : tensor<8x40x33x31xi32>, tensor<12x40x1x1xi32>) outs(%cf3 : tensor<8x12x33x31xi32>) -> tensor<8x12x33x31xi32>

  %s3 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q3, %x3 : tensor<8x12x33x31xi32>, tensor<8x12x33x31xi32>) outs(%ce3 : tensor<8x12x33x31xi32>) {
  ^bb0(%u: i32, %v: i32, %w: i32):
    %m = arith.addi %u, %v : i32
    linalg.yield %m : i32
  } -> tensor<8x12x33x31xi32>

  %ee4 = tensor.empty() : tensor<0x40x33x31xf32>
  %ef4 = linalg.fill ins(%zero : f32) outs(%ee4 : tensor<0x40x33x31xf32>) -> tensor<0x40x33x31xf32>
  %e4 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x4, %a4 : tensor<0x12x33x31xf32>, tensor<40x12x1x1xf32>) outs(%ef4 : tensor<0x40x33x31xf32>) -> tensor<0x40x33x31xf32>
  %r4 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%e4 : tensor<0x40x33x31xf32>) outs(%ee4 : tensor<0x40x33x31xf32>) {
  ^bb0(%u: f32, %v: f32):
    %m = arith.maximumf %u, %zero : f32
    %k = arith.minimumf %m, %six : f32
    linalg.yield %k : f32
  } -> tensor<0x40x33x31xf32>
  %p4 = tensor.pad %r4 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<0x40x33x31xf32> to tensor<0x40x35x33xf32>
  %de4 = tensor.empty() : tensor<0x40x33x31xf32>
  %df4 = linalg.fill ins(%zero : f32) outs(%de4 : tensor<0x40x33x31xf32>) -> tensor<0x40x33x31xf32>
  %d4 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%p4, %b4 : tensor<0x40x35x33xf32>, tensor<40x3x3xf32>) outs(%df4 : tensor<0x40x33x31xf32>) -> tensor<0x40x33x31xf32>
  %ce4 = tensor.empty() : tensor<0x12x33x31xf32>
  %cf4 = linalg.fill ins(%zero : f32) outs(%ce4 : tensor<0x12x33x31xf32>) -> tensor<0x12x33x31xf32>
  %q4 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%d4, %c4 : tensor<0x40x33x31xf32>, tensor<12x40x1x1xf32>) outs(%cf4 : tensor<0x12x33x31xf32>) -> tensor<0x12x33x31xf32>

  %s4 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%q4, %x4 : tensor<0x12x33x31xf32>, tensor<0x12x33x31xf32>) outs(%ce4 : tensor<0x12x33x31xf32>) {
  ^bb0(%u: f32, %v: f32, %w: f32):
    %m = arith.addf %u, %v : f32
    linalg.yield %m : f32
  } -> tensor<0x12x33x31xf32>
  return %s0, %s1, %q2, %s3, %s4 : tensor<8x12x33x31xf32>, tensor<8x12x33x31xf32>, tensor<8x12x17x16xf32>, tensor<8x12x33x31xi32>, tensor<0x12x33x31xf32>
}
