// Properties: a function that is no entry has no status (@plain); an index that
// is no growing sum of the loops' indices is left alone (@back), with a remark.
// RUN: polynest-opt %s -o %t.plain
// RUN: polynest-opt %s --polynest-check-sizes | diff %t.plain -
// RUN: polynest-opt %s --polynest-check-sizes --remarks-filter='.*' 2>&1 >/dev/null | FileCheck %s

// CHECK: an index is no growing sum of the loops' indices

func.func @plain(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

func.func @back(%x: memref<?xf32>, %y: memref<9xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (8 - d0)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
