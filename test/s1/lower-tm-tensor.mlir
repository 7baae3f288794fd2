// Properties: an inclusive scan carries its value along its dimension from what
// changes nothing (@scan), or from the first element where that is not known
// (@scan_any), and leaves the accumulator where there is none; an exclusive one
// begins with the accumulator (@exclusive); a sort merges runs of doubling length
// (@sort, @many),
// from both ends where the order is total (@sort_ends), or keeps the few that are read sorted (@topk, @least); a scatter
// asserts
// its indices and applies the body (@scatter).
// RUN: polynest-opt %s --allow-unregistered-dialect --polynest-lower-tm-tensor | FileCheck %s
// RUN: polynest-opt %s --allow-unregistered-dialect --polynest-lower-tm-tensor > %t.once
// RUN: polynest-opt %t.once --polynest-lower-tm-tensor | diff %t.once -
// RUN: polynestc run %s --entry scan --check
// RUN: polynestc run %s --entry exclusive --check
// RUN: %npy %t.x.npy f4 3,5 "3 1 2 1 0 nan 5 -1 5 4"
// RUN: %npy %t.i.npy i8 3,5 "0 1 2 3 4"
// RUN: polynestc run %s --entry sort --input %t.x.npy --input %t.i.npy --check --print | FileCheck %s --check-prefix=SORTED
// SORTED: {{^\[\[}}0, 1, 1, 2, 3],
// SORTED: {{^\[\[}}4, 1, 3, 2, 0],
// RUN: polynestc run %s --entry sort_ends --input %t.x.npy --input %t.i.npy --check --print | FileCheck %s --check-prefix=ENDS
// ENDS: {{^\[\[}}0, 1, 1, 2, 3],
// ENDS: [-1, 4, 5, 5, nan],
// ENDS: {{^\[\[}}4, 1, 3, 2, 0],
// RUN: %npy %t.k.npy f4 3,40 "1..120"
// RUN: polynestc run %s --entry topk --input %t.k.npy --check --print | FileCheck %s --check-prefix=BEST
// BEST: 39, 38],
// BEST: [37, 37, 36]
// RUN: %npy %t.e.npy f4 3,40 "1 2 2 3 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
// RUN: polynestc run %s --entry topk --input %t.e.npy --check --print | FileCheck %s --check-prefix=EQUAL
// EQUAL: {{^\[\[}}3, 2, 2],
// EQUAL: [2, 2, 2]
// RUN: polynestc run %s --entry many --check
// RUN: polynestc run %s --entry least --input %t.k.npy --check
// RUN: %npy %t.l.npy f4 2,4 "1"
// RUN: not polynestc run %s --entry least --input %t.l.npy 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: out of range
// RUN: %npy %t.u.npy f4 2,1,5 "1..11"
// RUN: %npy %t.n.npy i8 2,1 "2"
// RUN: %npy %t.o.npy f4 3,5 "0.5"
// RUN: polynestc run %s --entry scatter --input %t.u.npy --input %t.n.npy --input %t.o.npy --check --print | FileCheck %s --check-prefix=SUM
// SUM: {{\[}}7.5, 9.5, 11.5, 13.5, 15.5]]

// CHECK-LABEL: func @scan
//  CHECK-SAME: (%[[X:.+]]: tensor<3x5xf32>, %[[O:.+]]: tensor<3x5xf32>, %[[A:.+]]: tensor<3xf32>)
//       CHECK: scf.for %[[I:.+]] = {{.+}} iter_args(%[[T:.+]] = %[[O]], %[[S:.+]] = %[[A]])
//       CHECK: %[[A0:.+]] = tensor.extract %[[S]][%[[I]]]
//       CHECK: %[[Z:.+]] = arith.constant -0.000000e+00 : f32
//       CHECK: %[[L:.+]]:2 = scf.for %[[K:.+]] = {{.+}} iter_args(%[[U:.+]] = %[[T]], %[[C:.+]] = %[[Z]]) -> (tensor<3x5xf32>, f32)
//  CHECK-NEXT: %[[E:.+]] = tensor.extract %[[X]][%[[I]], %[[K]]]
//  CHECK-NEXT: %[[N:.+]] = arith.addf %[[C]], %[[E]]
//  CHECK-NEXT: tensor.insert %[[N]] into %[[U]][%[[I]], %[[K]]]
//       CHECK: %[[LAST:.+]] = arith.select %{{.+}}, %[[A0]], %[[L]]#1
//  CHECK-NEXT: tensor.insert %[[LAST]] into %[[S]][%[[I]]]
func.func @scan(%x: tensor<3x5xf32>, %o: tensor<3x5xf32>, %a: tensor<3xf32>)
    -> (tensor<3x5xf32>, tensor<3xf32>) {
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 1 : i64, inclusive = true,
      operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<3x5xf32>, tensor<3x5xf32>, tensor<3xf32>)
    -> (tensor<3x5xf32>, tensor<3xf32>)
  return %r#0, %r#1 : tensor<3x5xf32>, tensor<3xf32>
}

// CHECK-LABEL: func @scan_any
//  CHECK-SAME: (%[[X:.+]]: tensor<5xf32>, %[[O:.+]]: tensor<5xf32>, %[[A:.+]]: tensor<f32>)
//       CHECK: scf.for %[[K:.+]] = {{.+}} iter_args(%[[U:.+]] = %[[O]], %[[C:.+]] = %{{.+}}) -> (tensor<5xf32>, f32)
//  CHECK-NEXT: %[[E:.+]] = tensor.extract %[[X]][%[[K]]]
//       CHECK: %[[N:.+]] = math.powf %[[C]], %[[E]]
//       CHECK: %[[F:.+]] = arith.cmpi eq, %[[K]]
//  CHECK-NEXT: %[[V:.+]] = arith.select %[[F]], %[[E]], %[[N]]
//  CHECK-NEXT: tensor.insert %[[V]] into %[[U]][%[[K]]]
func.func @scan_any(%x: tensor<5xf32>, %o: tensor<5xf32>, %a: tensor<f32>)
    -> (tensor<5xf32>, tensor<f32>) {
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 0 : i64, inclusive = true,
      operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    %s = math.powf %p, %q : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<5xf32>, tensor<5xf32>, tensor<f32>)
    -> (tensor<5xf32>, tensor<f32>)
  return %r#0, %r#1 : tensor<5xf32>, tensor<f32>
}

// CHECK-LABEL: func @exclusive
//       CHECK: %[[C:.+]]:2 = scf.for
//       CHECK: iter_args(%[[U:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}) -> (tensor<?x5xf32>, f32)
//       CHECK: tensor.insert %[[V]] into %[[U]]
func.func @exclusive(%x: tensor<?x5xf32>, %o: tensor<?x5xf32>,
                     %a: tensor<5xf32>) -> (tensor<?x5xf32>, tensor<5xf32>) {
  %r:2 = "tm_tensor.scan"(%x, %o, %a) <{dimension = 0 : i64, inclusive = false,
      operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<?x5xf32>, tensor<?x5xf32>, tensor<5xf32>)
    -> (tensor<?x5xf32>, tensor<5xf32>)
  return %r#0, %r#1 : tensor<?x5xf32>, tensor<5xf32>
}

// CHECK-LABEL: func @sort
//       CHECK: scf.for
//       CHECK: scf.while
// CHECK-COUNT-2: arith.cmpf ole
//   CHECK-NOT: arith.cmpf
//       CHECK: tensor.insert_slice
func.func @sort(%x: tensor<3x5xf32>, %i: tensor<3x5xi64>)
    -> (tensor<3x5xf32>, tensor<3x5xi64>) {
  %r:2 = "tm_tensor.sort"(%x, %i) <{dimension = 1 : i64,
      operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%p: f32, %q: f32, %j: i64, %k: i64):
    %s = arith.cmpf ole, %p, %q : f32
    "tm_tensor.yield"(%s) : (i1) -> ()
  }) : (tensor<3x5xf32>, tensor<3x5xi64>)
    -> (tensor<3x5xf32>, tensor<3x5xi64>)
  return %r#0, %r#1 : tensor<3x5xf32>, tensor<3x5xi64>
}

// An order of all elements is the same from both ends: first come those, then
// what is left between them.
// CHECK-LABEL: func @sort_ends
//       CHECK: scf.while
//       CHECK: %[[M:.+]] = arith.minsi %{{.+}}, %[[N:.+]] : index
//       CHECK: %[[E:.+]] = arith.minsi %{{.+}}, %[[N]] : index
//       CHECK: %[[R:.+]] = arith.subi %[[E]], %[[M]]
//       CHECK: %[[S:.+]] = arith.minsi %{{.+}}, %[[R]]
//       CHECK: scf.for %{{.+}} = %{{.+}} to %[[S]]
//       CHECK: arith.cmpf ole
//       CHECK: arith.cmpf ole
//   CHECK-NOT: arith.cmpf ole
//       CHECK: scf.for
//       CHECK: arith.cmpf ole
func.func @sort_ends(%x: tensor<3x5xf32>, %i: tensor<3x5xi64>)
    -> (tensor<3x5xf32>, tensor<3x5xi64>) {
  %r:2 = "tm_tensor.sort"(%x, %i) <{dimension = 1 : i64,
      operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%p: f32, %q: f32, %j: i64, %k: i64):
    %s = arith.cmpf ole, %p, %q : f32
    %n = arith.cmpf uno, %q, %q : f32
    %t = arith.ori %s, %n : i1
    "tm_tensor.yield"(%t) : (i1) -> ()
  }) : (tensor<3x5xf32>, tensor<3x5xi64>)
    -> (tensor<3x5xf32>, tensor<3x5xi64>)
  return %r#0, %r#1 : tensor<3x5xf32>, tensor<3x5xi64>
}

// The index of what is read is no load; nothing of the rest of a row is kept.
// CHECK-LABEL: func @topk
//  CHECK-SAME: (%[[X:.+]]: tensor<3x40xf32>)
//       CHECK: %[[K:.+]] = arith.constant 3 : index
//       CHECK: scf.for
//       CHECK: scf.for %{{.+}} = %{{.+}} to %[[K]]
//       CHECK: scf.for
//       CHECK: scf.for
//       CHECK: %[[E:.+]] = tensor.extract %[[X]]
//   CHECK-NOT: tensor<3x40xi64>
//       CHECK: %[[C:.+]] = arith.cmpf oge, %{{.+}}, %[[E]]
//  CHECK-NEXT: scf.if %[[C]]
//       CHECK: else
//       CHECK: scf.for
//   CHECK-NOT: scf.while
//       CHECK: tensor.extract_slice %{{.+}} : tensor<3x3xf32> to tensor<3x3xf32>
//       CHECK: tensor.extract_slice %{{.+}}[0, 2] [3, 1] [1, 1] : tensor<3x3xi64> to tensor<3xi64>
func.func @topk(%x: tensor<3x40xf32>) -> (tensor<3x3xf32>, tensor<3xi64>) {
  %e = tensor.empty() : tensor<3x40xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]} outs(%e : tensor<3x40xi64>) {
  ^bb0(%o: i64):
    %n = linalg.index 1 : index
    %c = arith.index_cast %n : index to i64
    linalg.yield %c : i64
  } -> tensor<3x40xi64>
  %r:2 = "tm_tensor.sort"(%x, %i) <{dimension = 1 : i64,
      operandSegmentSizes = array<i32: 0, 2>}> ({
  ^bb0(%p: f32, %q: f32, %j: i64, %k: i64):
    %s = arith.cmpf oge, %p, %q : f32
    "tm_tensor.yield"(%s) : (i1) -> ()
  }) : (tensor<3x40xf32>, tensor<3x40xi64>)
    -> (tensor<3x40xf32>, tensor<3x40xi64>)
  %v = tensor.extract_slice %r#0[0, 0] [3, 3] [1, 1]
      : tensor<3x40xf32> to tensor<3x3xf32>
  %w = tensor.extract_slice %r#1[0, 2] [3, 1] [1, 1]
      : tensor<3x40xi64> to tensor<3xi64>
  return %v, %w : tensor<3x3xf32>, tensor<3xi64>
}

// More than 16, of which a row has fewer than 64 times as many, are sorted.
// CHECK-LABEL: func @many
//       CHECK: scf.while
//       CHECK: tensor.extract_slice %{{.+}} : tensor<3x40xf32> to tensor<3x20xf32>
func.func @many(%x: tensor<3x40xf32>) -> tensor<3x20xf32> {
  %r = "tm_tensor.sort"(%x) <{dimension = 1 : i64,
      operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.cmpf oge, %p, %q : f32
    "tm_tensor.yield"(%s) : (i1) -> ()
  }) : (tensor<3x40xf32>) -> tensor<3x40xf32>
  %v = tensor.extract_slice %r[0, 0] [3, 20] [1, 1]
      : tensor<3x40xf32> to tensor<3x20xf32>
  return %v : tensor<3x20xf32>
}

// Of a length that is not known there must be enough, also where the place of
// the slice is computed; other rows are nobody's concern.
// CHECK-LABEL: func @least
//       CHECK: %[[K:.+]] = arith.constant 3 : index
//       CHECK: %[[OK:.+]] = arith.cmpi sle, %[[K]], %{{.+}}
//  CHECK-NEXT: cf.assert %[[OK]], "slice: out of range"
//   CHECK-NOT: scf.while
//       CHECK: tensor.extract_slice %{{.+}} : tensor<3x?xf32> to tensor<2x?xf32>
func.func @least(%x: tensor<?x?xf32>) -> tensor<2x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i64
  %n = arith.constant 1 : index
  %h = tensor.dim %x, %c0 : tensor<?x?xf32>
  %l = arith.index_cast %h : index to i64
  %m = arith.minsi %l, %c1 : i64
  %at = arith.index_cast %m : i64 to index
  %r = "tm_tensor.sort"(%x) <{dimension = 0 : i64,
      operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.cmpf ole, %p, %q : f32
    "tm_tensor.yield"(%s) : (i1) -> ()
  }) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %w = tensor.dim %r, %n : tensor<?x?xf32>
  %v = tensor.extract_slice %r[%at, 0] [2, %w] [1, 1]
      : tensor<?x?xf32> to tensor<2x?xf32>
  return %v : tensor<2x?xf32>
}

// CHECK-LABEL: func @scatter
//  CHECK-SAME: (%[[U:.+]]: tensor<2x1x5xf32>, %[[I:.+]]: tensor<2x1xi64>, %[[O:.+]]: tensor<3x5xf32>)
//       CHECK: scf.for %[[N:.+]] = {{.+}} iter_args(%{{.+}} = %[[O]])
//       CHECK: %[[V:.+]] = tensor.extract %[[I]][%[[N]],
//       CHECK: cf.assert %{{.+}}, "scatter: index out of range"
//       CHECK: %[[P:.+]] = tensor.extract %[[U]][%[[N]],
//  CHECK-NEXT: %[[Q:.+]] = tensor.extract
//  CHECK-NEXT: %[[S:.+]] = arith.addf %[[P]], %[[Q]]
//       CHECK: tensor.insert %[[S]]
func.func @scatter(%u: tensor<2x1x5xf32>, %i: tensor<2x1xi64>,
                   %o: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %r = "tm_tensor.scatter"(%u, %i, %o) <{dimension_map = array<i64: 0>,
      operandSegmentSizes = array<i32: 2, 1>, unique_indices = false}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    "tm_tensor.yield"(%s) : (f32) -> ()
  }) : (tensor<2x1x5xf32>, tensor<2x1xi64>, tensor<3x5xf32>)
    -> tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}
