// Properties: a window that certainly ends outside is an error: at a dilation below
// zero (@dilated), at a stride below zero of what has any size (@strided), past the
// end only between the first iteration and the last (@between), at an index that
// leaves 64 bits (@wraps); not where nothing runs (@empty); so is a remainder and an
// index that goes both ways (@rest, @both), unless it stays inside (@inside), and a
// slice that leaves 64 bits (@slice).
// RUN: polynest-opt %s --polynest-check-sizes -split-input-file -verify-diagnostics

func.func @dilated(%x: memref<1x9x1xf32>, %w: memref<3x1x1xf32>,
                   %r: memref<1x5x1xf32>) attributes {polynest.entry} {
  // expected-error@+1 {{what linalg.conv_1d_nwc_wcf reads lies below the start of size 9, at index -2}}
  linalg.conv_1d_nwc_wcf {dilations = dense<-1> : tensor<1xi64>,
                          strides = dense<1> : tensor<1xi64>}
      ins(%x, %w : memref<1x9x1xf32>, memref<3x1x1xf32>)
      outs(%r : memref<1x5x1xf32>)
  return
}

// -----

// (3 - 1) * -7 = -14
func.func @strided(%x: memref<1x?x1xf32>, %e: memref<2xf32>,
                   %r: memref<1x3x1xf32>) attributes {polynest.entry} {
  // expected-error@+1 {{what linalg.pooling_nwc_sum reads lies below the start of dimension 1 of input 0, at index -14}}
  linalg.pooling_nwc_sum {dilations = dense<1> : tensor<1xi64>,
                          strides = dense<-7> : tensor<1xi64>}
      ins(%x, %e : memref<1x?x1xf32>, memref<2xf32>)
      outs(%r : memref<1x3x1xf32>)
  return
}

// -----

// The first index is 3, the last 3 + 3 - 3 = 3, the highest 3 + 3 = 6.
func.func @between(%x: memref<4xf32>, %r: memref<4x4xf32>)
    attributes {polynest.entry} {
  // expected-error@+1 {{what linalg.generic reads lies past the end of size 4, at index 6}}
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 - d1 + 3)>,
                                   affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4xf32>) outs(%r : memref<4x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// 8 * 2^61 = 2^64, which is 0 in a word.
func.func @wraps(%x: memref<?xf32>, %r: memref<9xf32>)
    attributes {polynest.entry} {
  // expected-error@+1 {{an index of linalg.generic is too large for a word of 64 bits}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 * 2305843009213693952)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%r : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

func.func @empty(%x: memref<?xf32>, %r: memref<9x0xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (-d0)>,
                                   affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?xf32>) outs(%r : memref<9x0xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// 3 mod 4, where the size is 3.
func.func @rest(%x: memref<3xf32>, %r: memref<9xf32>)
    attributes {polynest.entry} {
  // expected-error@+1 {{what linalg.generic reads lies outside of size 3, at index 3}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 4)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<3xf32>) outs(%r : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// 0, -1, 1, 0, 2, 1, ..., 4: below zero at the second iteration, and nowhere else.
func.func @both(%x: memref<5xf32>, %r: memref<9xf32>)
    attributes {polynest.entry} {
  // expected-error@+1 {{what linalg.generic reads lies outside of size 5, at index -1}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> ((d0 floordiv 2) * 3 - d0)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<5xf32>) outs(%r : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// 0 to 2, five times; 0, 1, 2, 1, 2, 3, ..., 6, of which ends of ranges say less.
func.func @inside(%x: memref<3xf32>, %y: memref<7xf32>, %r: memref<15xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 3)>,
                                   affine_map<(d0) -> (d0 - (d0 floordiv 3) * 2)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x, %y : memref<3xf32>, memref<7xf32>) outs(%r : memref<15xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    linalg.yield %b : f32
  }
  return
}

// -----

// 2^62 + 2^62 leaves a word.
func.func @slice(%x: memref<?xf32>) attributes {polynest.entry} {
  // expected-error@+1 {{a slice lies outside of dimension 0 of input 0}}
  %s = memref.subview %x[4611686018427387904] [2] [4611686018427387904]
    : memref<?xf32> to memref<2xf32, strided<[4611686018427387904],
                                             offset: 4611686018427387904>>
  return
}
