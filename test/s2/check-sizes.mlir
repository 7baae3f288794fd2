// Properties: sizes of arguments that must agree are compared once, at the
// start (@add, @chain); static sizes and equal values cost nothing (@static,
// @same); a size may be computed from arguments (@computed); inside of a branch
// the assertion stays there (@branch); sizes that a loop keeps are those it
// starts from (@carried); windows may not reach past the end (@window), or below the
// start where an index falls (@falls), or leave 64 bits (@wide), and need no check
// where loops of known size say so (@inside); copies
// and casts are checked (@copy, @cast), and reshapes, unless the parts are those that
// were joined (@parts, @joined), of numbers of any width (@words); what an assertion of the program says
// is not said again (@said), nor what callers see to (@shaped); a place that no loop
// moves is there, or nothing runs (@place); what a slice at a constant place reads is
// there (@slices), as at a computed one, unless that is proven (@clamped, not @reach);
// a remainder needs no check where nothing it can be is too large
// (@rest), else it is compared with that, and computed point by point (@short).
// RUN: polynest-opt %s --polynest-check-sizes | FileCheck %s

// CHECK-LABEL: func @add
//  CHECK-SAME: (%[[X:.+]]: memref<?xf32>, %[[Y:.+]]: memref<?xf32>, %[[R:.+]]: memref<?xf32> {
//  CHECK-NEXT: arith.constant 0
//  CHECK-NEXT: %[[M:.+]] = memref.dim %[[X]],
//   CHECK-DAG: %[[N:.+]] = memref.dim %[[Y]],
//       CHECK: %[[E:.+]] = arith.cmpi eq, %[[M]], %[[N]]
//  CHECK-NEXT: cf.assert %[[E]], "sizes differ: dimension 0 of input 0 and dimension 0 of input 1 must be equal in linalg.add"
//       CHECK: cf.assert %{{.+}}, "sizes differ: dimension 0 of input 0 and dimension 0 of result 0 must be equal in linalg.add"
//   CHECK-NOT: cf.assert
//       CHECK: linalg.add
func.func @add(%x: memref<?xf32>, %y: memref<?xf32>,
               %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  linalg.add ins(%x, %y : memref<?xf32>, memref<?xf32>)
             outs(%r : memref<?xf32>)
  return
}

// Both assertions stand in front of both operations; the third follows.
// CHECK-LABEL: func @chain
// CHECK-COUNT-2: cf.assert
//       CHECK: linalg.exp
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @chain(%x: memref<?xf32>, %y: memref<?xf32>, %r: memref<?xf32>)
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  linalg.exp ins(%x : memref<?xf32>) outs(%t : memref<?xf32>)
  linalg.add ins(%t, %y : memref<?xf32>, memref<?xf32>)
             outs(%r : memref<?xf32>)
  linalg.mul ins(%y, %x : memref<?xf32>, memref<?xf32>)
             outs(%r : memref<?xf32>)
  return
}

// CHECK-LABEL: func @static
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @static(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {polynest.entry} {
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// CHECK-LABEL: func @collapsed
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @collapsed(%n: index) attributes {polynest.entry} {
  %x = memref.alloc(%n) : memref<1x?x1x8xf32>
  %y = memref.alloc(%n) : memref<?x8xf32>
  %v = memref.collapse_shape %x [[0, 1, 2], [3]]
      : memref<1x?x1x8xf32> into memref<?x8xf32>
  linalg.exp ins(%v : memref<?x8xf32>) outs(%y : memref<?x8xf32>)
  return
}

// CHECK-LABEL: func @same
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @same(%x: memref<?x8xf32>, %n: index) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x8xf32>
  %t = memref.alloc(%m) : memref<8x?xf32>
  %v = memref.transpose %x (i, j) -> (j, i)
      : memref<?x8xf32> to memref<8x?xf32, strided<[1, 8]>>
  linalg.exp ins(%v : memref<8x?xf32, strided<[1, 8]>>)
             outs(%t : memref<8x?xf32>)
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}

// CHECK-LABEL: func @computed
//       CHECK: arith.addi
//       CHECK: cf.assert %{{.+}}, "sizes differ: a computed size and dimension 0 of input 1 must be equal in linalg.exp"
//       CHECK: memref.alloc
func.func @computed(%x: memref<?xf32>, %y: memref<?xf32>, %k: index)
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %s = memref.alloc(%k) : memref<?xf32>
  linalg.exp ins(%s : memref<?xf32>) outs(%s : memref<?xf32>)
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = arith.addi %n, %k : index
  %t = memref.alloc(%m) : memref<?xf32>
  linalg.exp ins(%t : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

// CHECK-LABEL: func @branch
//   CHECK-NOT: cf.assert
//       CHECK: scf.if
//       CHECK: cf.assert
//  CHECK-NEXT: linalg.exp ins
func.func @branch(%x: memref<?xf32>, %y: memref<?xf32>, %c: i1)
    attributes {polynest.entry} {
  scf.if %c {
    linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  }
  return
}

// CHECK-LABEL: func @carried
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @carried(%x: memref<?xf32>, %n: index) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%m) : memref<?xf32>
  %b = memref.alloc(%m) : memref<?xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b)
      -> (memref<?xf32>, memref<?xf32>) {
    linalg.add ins(%p, %x : memref<?xf32>, memref<?xf32>)
               outs(%q : memref<?xf32>)
    scf.yield %q, %p : memref<?xf32>, memref<?xf32>
  }
  linalg.exp ins(%r#0 : memref<?xf32>) outs(%x : memref<?xf32>)
  return
}

// CHECK-LABEL: func @window
//       CHECK: cf.assert %{{.+}}, "sizes do not fit: what linalg.conv_1d reads lies past the end of dimension 0 of input 0"
//       CHECK: linalg.conv_1d
func.func @window(%x: memref<?xf32>, %w: memref<3xf32>, %r: memref<?xf32>)
    attributes {polynest.entry} {
  linalg.conv_1d ins(%x, %w : memref<?xf32>, memref<3xf32>)
                 outs(%r : memref<?xf32>)
  return
}

// The lowest index is that of the last iteration.
// CHECK-LABEL: func @falls
//       CHECK: %[[E:.+]] = arith.subi %[[N:.+]], %{{.+}} : index
//       CHECK: %[[T:.+]] = arith.muli %[[E]],
//       CHECK: %[[L:.+]] = arith.addi %[[T]],
//       CHECK: arith.cmpi sge, %[[L]], %{{.+}} : index
//       CHECK: cf.assert %{{.+}}, "sizes do not fit: what linalg.generic reads lies below the start of dimension 0 of input 0"
//       CHECK: cf.assert %{{.+}}, "sizes do not fit: what linalg.generic reads lies past the end of dimension 0 of input 0"
//       CHECK: linalg.generic
func.func @falls(%x: memref<?xf32>, %r: memref<?xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (2 - d0)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// The last iteration is 2 at most: 2 * 2^61 = 2^62.
// CHECK-LABEL: func @wide
//       CHECK: %[[LIMIT:.+]] = arith.constant 2 : index
//       CHECK: arith.cmpi sle, %{{.+}}, %[[LIMIT]] : index
//       CHECK: cf.assert %{{.+}}, "sizes do not fit: an index of linalg.generic is too large for a word of 64 bits"
//       CHECK: cf.assert %{{.+}}, "sizes do not fit: what linalg.generic reads lies past the end of dimension 0 of input 0"
//       CHECK: linalg.generic
func.func @wide(%x: memref<?xf32>, %r: memref<?xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 * 2305843009213693952)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// 8 - 8 = 0 and (8 - 0) floordiv 2 = 4 lie in [0, 5).
// CHECK-LABEL: func @inside
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @inside(%x: memref<5xf32>, %r: memref<9xf32>)
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> ((8 - d0) floordiv 2)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<5xf32>) outs(%r : memref<9xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// CHECK-LABEL: func @copy
//       CHECK: cf.assert %{{.+}}, "sizes differ: dimension 0 of input 0 and dimension 0 of input 1 must be equal in memref.copy"
//       CHECK: memref.copy
func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>)
    attributes {polynest.entry} {
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  return
}

// CHECK-LABEL: func @cast
//       CHECK: cf.assert %{{.+}}, "sizes differ: dimension 0 of input 0 and size 4 must be equal in memref.cast"
func.func @cast(%x: memref<?xf32>, %y: memref<4xf32>)
    attributes {polynest.entry} {
  %v = memref.cast %x : memref<?xf32> to memref<4xf32>
  memref.copy %v, %y : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func @said
//       CHECK: cf.assert %{{.+}}, "own words"
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @said(%x: memref<?xf32>, %y: memref<?xf32>)
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %e = arith.cmpi eq, %n, %m : index
  cf.assert %e, "own words"
  linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
  return
}

// CHECK-LABEL: func @shaped(
//       CHECK: cf.assert %{{.+}}, "sizes differ: dimension 1 of input 1 and dimension 0 of input 2
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @shaped(%n: i32, %x: memref<4x?xf32>, %y: memref<?xf32>,
                  %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (0, d0)>,
                                   affine_map<(d0) -> (d0)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x, %y : memref<4x?xf32>, memref<?xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}
func.func @shaped_shapes(%n: index, %x0: index, %x1: index, %y: index) -> index
    attributes {polynest.shapes} {
  return %x1 : index
}

// One place that no loop moves: it is there, or nothing runs.
// CHECK-LABEL: func @place(
//   CHECK-DAG: %[[N:.+]] = memref.dim %{{.+}}, %{{.+}} : memref<?x4xf32>
//   CHECK-DAG: %[[M:.+]] = memref.dim %{{.+}}, %{{.+}} : memref<?xf32>
//       CHECK: arith.minsi %{{.+}}, %[[M]]
//       CHECK: arith.cmpi slt, %{{.+}}, %[[N]]
//       CHECK: arith.ori
//  CHECK-NEXT: cf.assert %{{.+}}, "sizes do not fit: what linalg.generic reads lies past the end of dimension 0 of input 0"
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @place(%x: memref<?x4xf32>, %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (2, 1)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<?x4xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
func.func @place_shapes(%x0: index, %x1: index, %r: index) -> index
    attributes {polynest.shapes} {
  return %r : index
}

// CHECK-LABEL: func @parts
//  CHECK-SAME: %[[X:.+]]: memref<?xf32>, %[[M:.+]]: index
//   CHECK-DAG: %[[N:.+]] = memref.dim %[[X]],
//   CHECK-DAG: %[[P:.+]] = arith.muli %{{.+}}, %[[M]]
//       CHECK: %[[E:.+]] = arith.cmpi eq, %{{.+}}, %[[P]]
//  CHECK-NEXT: cf.assert %[[E]], "sizes differ: a reshape to another number of elements than there are"
//       CHECK: %[[PRODUCT:.+]] = arith.mulf %{{.+}}, %{{.+}} : f64
//       CHECK: %[[SMALL:.+]] = arith.cmpf ole, %[[PRODUCT]], %{{.+}}
//  CHECK-NEXT: cf.assert %[[SMALL]], "sizes differ: a reshape to another number of elements than there are"
//   CHECK-NOT: cf.assert
//       CHECK: memref.expand_shape
//       CHECK: return
func.func @parts(%x: memref<?xf32>, %m: index) attributes {polynest.entry} {
  %p = memref.expand_shape %x [[0, 1]] output_shape [%m, 4]
    : memref<?xf32> into memref<?x4xf32>
  %r = memref.alloc(%m) : memref<?x4xf32>
  linalg.exp ins(%p : memref<?x4xf32>) outs(%r : memref<?x4xf32>)
  return
}

// CHECK-LABEL: func @joined
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @joined(%x: memref<?x?xf32>) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %f = memref.collapse_shape %x [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  %p = memref.expand_shape %f [[0, 1]] output_shape [%n, %m]
    : memref<?xf32> into memref<?x?xf32>
  %r = memref.alloc(%n, %m) : memref<?x?xf32>
  linalg.exp ins(%p : memref<?x?xf32>) outs(%r : memref<?x?xf32>)
  return
}

// CHECK-LABEL: func @words
//  CHECK-SAME: %{{.+}}: memref<?xf32>, %[[M:.+]]: i64
//       CHECK: %[[ROWS:.+]] = arith.index_cast %[[M]] : i64 to index
//       CHECK: %[[P:.+]] = arith.muli %{{.+}}, %[[ROWS]] : index
//       CHECK: %[[E:.+]] = arith.cmpi eq, %{{.+}}, %[[P]]
//  CHECK-NEXT: cf.assert %[[E]], "sizes differ: a reshape to another number of elements than there are"
//       CHECK: return
func.func @words(%x: memref<?xf32>, %n: i64) attributes {polynest.entry} {
  %m = arith.index_cast %n : i64 to index
  %p = memref.expand_shape %x [[0, 1]] output_shape [%m, 4]
    : memref<?xf32> into memref<?x4xf32>
  %r = memref.alloc(%m) : memref<?x4xf32>
  linalg.exp ins(%p : memref<?x4xf32>) outs(%r : memref<?x4xf32>)
  return
}

// 3 + (4 - 1) * 2 = 9; the place is compared at the start, too.
// CHECK-LABEL: func @slices
//  CHECK-SAME: %[[X:.+]]: memref<?xf32>, %[[N:.+]]: index
//       CHECK: %[[D:.+]] = memref.dim %[[X]],
//       CHECK: %[[END:.+]] = arith.constant 9 : index
//       CHECK: %[[E:.+]] = arith.cmpi slt, %[[END]], %[[D]]
//  CHECK-NEXT: cf.assert %[[E]], "sizes do not fit: a slice ends past the end of dimension 0 of input 0"
//       CHECK: %[[B:.+]] = arith.cmpi ult, %[[N]], %[[D]]
//       CHECK: %[[I:.+]] = arith.andi %[[B]],
//       CHECK: %[[O:.+]] = arith.ori %{{.+}}, %[[I]]
//  CHECK-NEXT: cf.assert %[[O]], "sizes do not fit: a slice lies outside of dimension 0 of input 0"
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @slices(%x: memref<?xf32>, %n: index) attributes {polynest.entry} {
  %s = memref.subview %x[3] [4] [2]
    : memref<?xf32> to memref<4xf32, strided<[2], offset: 3>>
  %none = memref.subview %x[3] [0] [2]
    : memref<?xf32> to memref<0xf32, strided<[2], offset: 3>>
  %some = memref.subview %x[%n] [4] [2]
    : memref<?xf32> to memref<4xf32, strided<[2], offset: ?>>
  return
}

// min(n, 1) + max(n - min(n, 1), 0) = n; steps of 2 end at (n + 1) floordiv 2 * 2 - 2;
// n - n floordiv 2 of them begin in the middle.
// CHECK-LABEL: func @clamped
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @clamped(%x: memref<?xf32>) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %first = arith.minsi %n, %c1 : index
  %left = arith.subi %n, %first : index
  %size = arith.maxsi %left, %c0 : index
  %behind = memref.subview %x[%first] [%size] [1]
    : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  %more = arith.addi %n, %c1 : index
  %half = arith.floordivsi %more, %c2 : index
  %odd = memref.subview %x[0] [%half] [2]
    : memref<?xf32> to memref<?xf32, strided<[2]>>
  %rest = arith.subi %n, %half : index
  %second = memref.subview %x[%half] [%rest] [1]
    : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  scf.for %i = %c0 to %n step %c1 {
    %row = memref.subview %x[%i] [1] [1]
      : memref<?xf32> to memref<1xf32, strided<[1], offset: ?>>
  }
  return
}

// One more than there are; steps of 2 of as many as there are.
// CHECK-LABEL: func @reach
// CHECK-COUNT-3: cf.assert %{{.+}}, "sizes do not fit: a slice lies outside of dimension 0 of input 0"
//   CHECK-NOT: cf.assert
//       CHECK: return
func.func @reach(%x: memref<?xf32>) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %behind = memref.subview %x[1] [%n] [1]
    : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  %half = arith.ceildivsi %n, %c2 : index
  %odd = memref.subview %x[1] [%half] [2]
    : memref<?xf32> to memref<?xf32, strided<[2], offset: 1>>
  scf.for %i = %c0 to %n step %c1 {
    %row = memref.subview %x[%i] [2] [1]
      : memref<?xf32> to memref<2xf32, strided<[1], offset: ?>>
  }
  return
}

// CHECK-LABEL: func @rest
//   CHECK-NOT: cf.assert
//       CHECK: linalg.generic
func.func @rest(%x: memref<4xf32>, %r: memref<?xf32> {polynest.result})
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 mod 4)>,
                                   affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// CHECK-LABEL: func @short
//  CHECK-SAME: (%[[X:.+]]: memref<?xf32>, %[[R:.+]]: memref<?x5xf32> {
//   CHECK-DAG: %[[M:.+]] = memref.dim %[[X]],
//   CHECK-DAG: %[[N:.+]] = memref.dim %[[R]],
//       CHECK: %[[F:.+]] = arith.cmpi slt, %c6{{.*}}, %[[M]]
//       CHECK: %[[C:.+]] = scf.if %[[F]] -> (i1)
//  CHECK-NEXT: scf.yield %[[F]]
//       CHECK: %[[SOME:.+]] = arith.cmpi sgt, %[[N]],
//       CHECK: %[[RUNS:.+]] = arith.andi %{{.+}}, %[[SOME]]
//       CHECK: %[[FITS:.+]] = arith.cmpi ule, %[[N]], %{{.+}}
//       CHECK: %[[A:.+]] = arith.muli %[[N]], %c5
//       CHECK: %[[ALL:.+]] = arith.select %[[FITS]], %[[A]], %c9223372036854775807
//       CHECK: %[[T:.+]] = arith.select %[[RUNS]], %[[ALL]], %c0
//       CHECK: scf.while
//       CHECK: arith.cmpi slt, %{{.+}}, %[[T]]
//       CHECK: arith.cmpi ult, %{{.+}}, %[[M]]
//       CHECK: cf.assert %[[C]], "sizes do not fit: what linalg.generic reads lies outside of dimension 0 of input 0"
//   CHECK-NOT: cf.assert
//       CHECK: linalg.generic
func.func @short(%x: memref<?xf32>, %r: memref<?x5xf32> {polynest.result})
    attributes {polynest.entry} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ((d0 + d1) mod 7)>,
                                   affine_map<(d0, d1) -> (d0, d1)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?xf32>) outs(%r : memref<?x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}
