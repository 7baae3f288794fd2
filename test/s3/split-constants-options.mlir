// Properties: a state above max-growth-percent of the constants, and 4 KiB, is
// declined: 64 floats spread over 64 rows are 16 KiB, 64 times as much.
// RUN: polynest-opt %s --polynest-split-constants | FileCheck %s --check-prefix=KEPT
// RUN: polynest-opt %s --polynest-split-constants='max-growth-percent=6400' | FileCheck %s --check-prefix=MOVED
// RUN: not polynest-opt %s --polynest-split-constants='max-growth-percent=100001' 2>&1 | FileCheck %s --check-prefix=RANGE

// RANGE: option max-growth-percent has value 100001; it must be 0 to 100000

// KEPT-LABEL: func @spread(
//   KEPT-NOT: polynest.state
//       KEPT: return
// MOVED-LABEL: func @spread(
//  MOVED-SAME: memref<16384xi8> {polynest.state}
//       MOVED: return
func.func @spread(%x: memref<64x64xf32>, %w: memref<64xf32> {polynest.constant},
                  %r: memref<64x64xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<64x64xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %a = affine.load %w[%j] : memref<64xf32>
      affine.store %a, %t[%i, 63 - %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %a = affine.load %t[%i, %j] : memref<64x64xf32>
      %b = affine.load %x[%i, %j] : memref<64x64xf32>
      %c = arith.mulf %a, %b : f32
      affine.store %c, %r[%i, %j] : memref<64x64xf32>
    }
  }
  return
}
