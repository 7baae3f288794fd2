// Properties: dynamic sizes are symbols (@matmul); strides and dilations are
// one composed map (@conv), windows need no access (@pool); NaN-carrying forms
// stay (@pool, @two); rank 0 makes no loop (@rank0); size 0 makes an empty one
// (@size0); indices are induction variables (@index); several results are read
// before any is written (@two); a nest inside a data-dependent region is scf
// (@inner); parallel loops around a reduction stand as the result lies
// (@channels), others as they are named (@turned); copies go straight, or nowhere, or through a temporary (@copies).
// RUN: polynest-opt %s --polynest-lower-linalg --cse --canonicalize | FileCheck %s
// RUN: polynest-opt %s --polynest-lower-linalg > %t.once
// RUN: polynest-opt %t.once --polynest-lower-linalg | diff %t.once -

// CHECK-LABEL: func @matmul
//  CHECK-SAME: (%[[A:.+]]: memref<?x5xf32>, %[[B:.+]]: memref<5x?xf32>, %[[C:.+]]: memref<?x?xf32>)
//   CHECK-DAG: %[[M:.+]] = memref.dim %[[A]],
//   CHECK-DAG: %[[N:.+]] = memref.dim %[[B]],
//       CHECK: affine.for %[[I:.+]] = 0 to %[[M]] {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to %[[N]] {
//  CHECK-NEXT: affine.for %[[K:.+]] = 0 to 5 {
//  CHECK-NEXT: %[[X:.+]] = affine.load %[[A]][%[[I]], %[[K]]]
//  CHECK-NEXT: %[[Y:.+]] = affine.load %[[B]][%[[K]], %[[J]]]
//  CHECK-NEXT: %[[Z:.+]] = affine.load %[[C]][%[[I]], %[[J]]]
//  CHECK-NEXT: %[[P:.+]] = arith.mulf %[[X]], %[[Y]]
//  CHECK-NEXT: %[[S:.+]] = arith.addf %[[Z]], %[[P]]
//  CHECK-NEXT: affine.store %[[S]], %[[C]][%[[I]], %[[J]]]
func.func @matmul(%a: memref<?x5xf32>, %b: memref<5x?xf32>,
                  %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x5xf32>, memref<5x?xf32>)
                outs(%c : memref<?x?xf32>)
  return
}

// Input length 19 = (7 - 1) * 2 + (3 - 1) * 3 + 1.
// CHECK-LABEL: func @conv
//  CHECK-SAME: (%[[X:.+]]: memref<1x3x19xf32>, %[[W:.+]]: memref<4x3x3xf32>
//       CHECK: affine.for %[[N:.+]] = 0 to 1
//  CHECK-NEXT: affine.for %[[F:.+]] = 0 to 4
//  CHECK-NEXT: affine.for %[[O:.+]] = 0 to 7
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[K:.+]] = 0 to 3
//  CHECK-NEXT: affine.load %[[X]][%[[N]], %[[C]], %[[O]] * 2 + %[[K]] * 3]
//  CHECK-NEXT: affine.load %[[W]][%[[F]], %[[C]], %[[K]]]
func.func @conv(%x: memref<1x3x19xf32>, %w: memref<4x3x3xf32>,
                %o: memref<1x4x7xf32>) {
  linalg.conv_1d_ncw_fcw
    {strides = dense<2> : tensor<1xi64>, dilations = dense<3> : tensor<1xi64>}
    ins(%x, %w : memref<1x3x19xf32>, memref<4x3x3xf32>)
    outs(%o : memref<1x4x7xf32>)
  return
}

// CHECK-LABEL: func @pool
//  CHECK-SAME: (%[[X:.+]]: memref<1x9x9x2xf32>, %[[W:.+]]: memref<3x3xf32>,
//   CHECK-NOT: load %[[W]]
//       CHECK: affine.load %[[X]][%{{.+}}, %[[I:.+]] * 2 + %[[KI:.+]], %[[J:.+]] * 2 + %[[KJ:.+]], %{{.+}}]
//       CHECK: arith.maximumf
func.func @pool(%x: memref<1x9x9x2xf32>, %w: memref<3x3xf32>,
                %o: memref<1x4x4x2xf32>) {
  linalg.pooling_nhwc_max
    {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w : memref<1x9x9x2xf32>, memref<3x3xf32>)
    outs(%o : memref<1x4x4x2xf32>)
  return
}

// CHECK-LABEL: func @rank0
//  CHECK-SAME: (%[[X:.+]]: f32, %[[O:.+]]: memref<f32>)
//  CHECK-NEXT: affine.store %[[X]], %[[O]][]
//  CHECK-NEXT: return
func.func @rank0(%x: f32, %o: memref<f32>) {
  linalg.fill ins(%x : f32) outs(%o : memref<f32>)
  return
}

// CHECK-LABEL: func @size0
//       CHECK: affine.for %{{.+}} = 0 to 0
//       CHECK: affine.for %{{.+}} = 0 to 4
func.func @size0(%x: memref<0x4xf32>, %o: memref<0x4xf32>) {
  linalg.copy ins(%x : memref<0x4xf32>) outs(%o : memref<0x4xf32>)
  return
}

// CHECK-LABEL: func @index
//  CHECK-SAME: (%[[O:.+]]: memref<3x4xi64>)
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 4
//  CHECK-NEXT: %[[S:.+]] = arith.addi %[[I]], %[[J]]
//  CHECK-NEXT: %[[V:.+]] = arith.index_cast %[[S]]
//  CHECK-NEXT: affine.store %[[V]], %[[O]][%[[I]], %[[J]]]
func.func @index(%o: memref<3x4xi64>) {
  linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} outs(%o : memref<3x4xi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.addi %i, %j : index
    %v = arith.index_cast %s : index to i64
    linalg.yield %v : i64
  }
  return
}

// CHECK-LABEL: func @two
//  CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[M:.+]]: memref<f32>, %[[N:.+]]: memref<f32>)
//       CHECK: affine.for %[[I:.+]] = 0 to 8
//  CHECK-NEXT: %[[E:.+]] = affine.load %[[X]][%[[I]]]
//  CHECK-NEXT: %[[A:.+]] = affine.load %[[M]][]
//  CHECK-NEXT: %[[B:.+]] = affine.load %[[N]][]
//  CHECK-NEXT: %[[P:.+]] = arith.maximumf %[[E]], %[[A]]
//  CHECK-NEXT: %[[Q:.+]] = arith.minimumf %[[E]], %[[B]]
//  CHECK-NEXT: affine.store %[[P]], %[[M]][]
//  CHECK-NEXT: affine.store %[[Q]], %[[N]][]
func.func @two(%x: memref<8xf32>, %m: memref<f32>, %n: memref<f32>) {
  linalg.reduce ins(%x, %x : memref<8xf32>, memref<8xf32>)
                outs(%m, %n : memref<f32>, memref<f32>) dimensions = [0]
    (%a: f32, %b: f32, %c: f32, %d: f32) {
      %p = arith.maximumf %a, %c : f32
      %q = arith.minimumf %b, %d : f32
      linalg.yield %p, %q : f32, f32
    }
  return
}

// CHECK-LABEL: func @inner
//       CHECK: do {
//       CHECK: %[[N:.+]] = memref.load
//       CHECK: scf.for %[[I:.+]] = %{{.+}} to %[[N]]
//  CHECK-NEXT: memref.store %{{.+}}, %{{.+}}[%[[I]]]
func.func @inner(%sizes: memref<8xindex>, %x: f32, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.while (%i = %c0) : (index) -> index {
    %c = memref.load %sizes[%i] : memref<8xindex>
    %more = arith.cmpi sgt, %c, %c0 : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    %n = memref.load %sizes[%i] : memref<8xindex>
    %v = memref.subview %o[0] [%n] [2] : memref<?xf32>
      to memref<?xf32, strided<[2]>>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>],
                    iterator_types = ["parallel"]}
      outs(%v : memref<?xf32, strided<[2]>>) {
    ^bb0(%out: f32):
      linalg.yield %x : f32
    }
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  return
}

// The first copy reaches a result argument, the second another row, the third
// the view itself, the last one two elements further in the same row.
// CHECK-LABEL: func @copies
//  CHECK-SAME: (%[[A:.+]]: memref<8x8xf32>, %[[B:.+]]: memref<8x8xf32>
//   CHECK-NOT: alloc
//       CHECK: affine.load %[[A]][%[[I:.+]], %[[J:.+]]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[B]][%[[I]], %[[J]]]
//   CHECK-NOT: alloc
//       CHECK: affine.store %{{.+}}, %{{.+}}[%{{.+}}] : memref<8xf32, strided<[1], offset: 32>>
//       CHECK: %[[T:.+]] = memref.alloc() : memref<6xf32>
//  CHECK-NEXT: affine.for
//       CHECK: affine.store %{{.+}}, %[[T]]
//       CHECK: affine.for
//  CHECK-NEXT: affine.load %[[T]]
//  CHECK-NEXT: affine.store %{{.+}} : memref<6xf32, strided<[1], offset: 2>>
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @copies(%a: memref<8x8xf32>, %b: memref<8x8xf32> {polynest.result}) {
  memref.copy %a, %b : memref<8x8xf32> to memref<8x8xf32>
  %l = memref.subview %b[0, 0] [1, 8] [1, 1]
    : memref<8x8xf32> to memref<8xf32, strided<[1]>>
  %h = memref.subview %b[4, 0] [1, 8] [1, 1]
    : memref<8x8xf32> to memref<8xf32, strided<[1], offset: 32>>
  memref.copy %l, %h : memref<8xf32, strided<[1]>>
    to memref<8xf32, strided<[1], offset: 32>>
  memref.copy %l, %l : memref<8xf32, strided<[1]>>
    to memref<8xf32, strided<[1]>>
  %p = memref.subview %b[0, 0] [1, 6] [1, 1]
    : memref<8x8xf32> to memref<6xf32, strided<[1]>>
  %q = memref.subview %b[0, 2] [1, 6] [1, 1]
    : memref<8x8xf32> to memref<6xf32, strided<[1], offset: 2>>
  memref.copy %p, %q : memref<6xf32, strided<[1]>>
    to memref<6xf32, strided<[1], offset: 2>>
  return
}

// CHECK-LABEL: func @channels
//       CHECK: affine.for %[[N:.+]] = 0 to 2 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[H:.+]] = 0 to 5 {
//  CHECK-NEXT: affine.for %[[W:.+]] = 0 to 7 {
//  CHECK-NEXT: affine.for %[[P:.+]] = 0 to 4 {
//  CHECK-NEXT: affine.for %[[Q:.+]] = 0 to 6 {
//  CHECK-NEXT: affine.load %{{.+}}[%[[N]], %[[C]], %[[H]] + %[[P]], %[[W]] + %[[Q]]]
//  CHECK-NEXT: affine.load %{{.+}}[%[[C]], %[[P]], %[[Q]]]
//  CHECK-NEXT: affine.load %{{.+}}[%[[N]], %[[C]], %[[H]], %[[W]]]
func.func @channels(%x: memref<2x3x8x12xf32>, %w: memref<3x4x6xf32>,
                    %y: memref<2x3x5x7xf32> {polynest.result}) {
  linalg.depthwise_conv_2d_nchw_chw
    ins(%x, %w : memref<2x3x8x12xf32>, memref<3x4x6xf32>)
    outs(%y : memref<2x3x5x7xf32>)
  return
}

// A transposition has no order that is better for both sides.
// CHECK-LABEL: func @turned
//       CHECK: affine.for %[[I:.+]] = 0 to 2 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.load %{{.+}}[%[[I]], %[[J]]]
//  CHECK-NEXT: affine.store %{{.+}}, %{{.+}}[%[[J]], %[[I]]]
func.func @turned(%x: memref<2x3xf32>,
                  %y: memref<3x2xf32> {polynest.result}) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                   affine_map<(i, j) -> (j, i)>],
                  iterator_types = ["parallel", "parallel"]}
    ins(%x : memref<2x3xf32>) outs(%y : memref<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}
