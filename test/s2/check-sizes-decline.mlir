// Properties: a function that is no entry has no status (@plain); an index that is
// divided by what is not above 0 is left alone (@rest), with a remark.
// RUN: polynest-opt %s -o %t.plain
// RUN: polynest-opt %s --polynest-check-sizes | diff %t.plain -
// RUN: polynest-opt %s --polynest-check-sizes --remarks-filter='.*' 2>&1 >/dev/null | FileCheck %s

// CHECK: an index cannot be computed

func.func @plain(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

func.func @rest(%x: memref<?xf32>, %y: memref<9xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod -4)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
