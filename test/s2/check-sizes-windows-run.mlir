// Properties: an index below zero is an error, not what lies in front of an argument,
// where only sizes of a call decide: one that begins there (@before), one that falls
// (@falls, @turns); and so is one whose product wraps around to what is there (@wide).
// Sizes that fit run, also none, and where another loop is empty (@apart).
// RUN: polynestc run %s --entry before --check --size 0
// RUN: not polynestc run %s --entry before --size 7 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry falls --check --size 0
// RUN: polynestc run %s --entry falls --check --size 1
// RUN: not polynestc run %s --entry falls --size 7 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry turns --check --size 3
// RUN: not polynestc run %s --entry turns --size 7 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry apart --check --size 1.0=4 --size 1.1=0
// RUN: not polynestc run %s --entry apart --size 1.0=4 --size 1.1=1 2>&1 | FileCheck %s
// RUN: polynestc run %s --entry wide --check --size 1
// RUN: not polynestc run %s --entry wide --size 9 2>&1 | FileCheck %s --check-prefix=WIDE

// CHECK: sizes do not fit: what linalg.generic reads lies below the start of {{dimension 0 of input 0|size 2}}
// WIDE: sizes do not fit: an index of linalg.generic is too large for a word of 64 bits

func.func @before(%x: tensor<?xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 - 5)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @falls(%x: tensor<?xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (-d0)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @turns(%x: tensor<?xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (2 - d0)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @wide(%x: tensor<?xf32>, %r: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 * 2305843009213693952)>,
                                        affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%r : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @apart(%x: tensor<2xf32>, %r: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (1 - d0)>,
                                        affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2xf32>) outs(%r : tensor<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
