// Properties: a remainder (@rest, @open) or an index that goes both ways (@both)
// that leaves what it indexes is an error where only sizes of a call decide, none
// where a call runs too few iterations to get there, or none because another loop is
// empty (@apart). Too many boxes of loops to decide
// while compiling are run through (@many).
// RUN: polynestc run %s --entry rest --check --size 4
// RUN: polynestc run %s --entry rest --check --size 9
// RUN: not polynestc run %s --entry rest --size 0 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry rest --size 3 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry open --check --size 0
// RUN: polynestc run %s --entry open --check --size 3
// RUN: polynestc run %s --entry open --check --size 7
// RUN: polynestc run %s --entry both --check --size 0
// RUN: polynestc run %s --entry both --check --size 9
// RUN: not polynestc run %s --entry both --size 1 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry both --size 8 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry apart --check --size 0.0=3 --size 1.1=0
// RUN: not polynestc run %s --entry apart --size 0.0=3 --size 1.1=1 2>&1 | FileCheck %s
// RUN: not polynestc run %s --entry many 2>&1 | FileCheck %s --check-prefix=MANY

// CHECK: sizes do not fit: what linalg.generic reads lies outside of dimension 0 of input 0
// MANY: sizes do not fit: what linalg.generic reads lies outside of size 65535

func.func @rest(%x: tensor<?xf32>, %r: tensor<9xf32>) -> tensor<9xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 4)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
func.func @open(%x: tensor<?xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 4)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @both(%x: tensor<?xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (8 - d0 + (d0 floordiv 2) * 2)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
func.func @apart(%x: tensor<?xf32>, %r: tensor<9x?xf32>) -> tensor<9x?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 mod 4)>,
                                        affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<9x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<9x?xf32>
  return %0 : tensor<9x?xf32>
}

// 65535 at d0 = 1 alone.
func.func @many(%x: tensor<65535xf32>, %r: tensor<65536xf32>)
    -> tensor<65536xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> ((d0 * 65535) mod 65536)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<65535xf32>) outs(%r : tensor<65536xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<65536xf32>
  return %0 : tensor<65536xf32>
}
