// Properties: padding with one value is a fill and an insertion (@pad), also
// where it cuts (@crop) and where nothing of the source is left (@gone); what is
// padded and then expanded in other dimensions is expanded first (@groups), in
// the same ones not (@halves); other
// padding tests the index (@mirror); map is a generic that reads its output
// (@map); named integer division keeps its guards (@divide); concat is
// insertions (@concat), or nothing (@nothing); indices of gather and scatter are asserted (@gather,
// @scatter); reshapes are views (@reshape); splat, generate and bitcast are
// fills and generics (@make); pack tests and unpack divides (@pack, @unpack);
// frees are dropped (@free).
// RUN: polynest-opt %s --polynest-decompose-tensor-ops --canonicalize --cse --polynest-verify-stage=stage=input | FileCheck %s
// RUN: polynest-opt %s --polynest-decompose-tensor-ops > %t.once
// RUN: polynest-opt %t.once --polynest-decompose-tensor-ops | diff %t.once -

// CHECK-LABEL: func @pad
//  CHECK-SAME: (%[[X:.+]]: tensor<3x?xf32>, %[[H:.+]]: index)
//       CHECK: %[[C:.+]] = arith.constant 7.5
//       CHECK: %[[F:.+]] = linalg.fill ins(%[[C]] : f32)
//       CHECK: %[[R:.+]] = tensor.insert_slice %{{.+}} into %[[F]][1, 2] [3, %{{.+}}] [1, 1]
//  CHECK-NEXT: return %[[R]]
func.func @pad(%x: tensor<3x?xf32>, %h: index) -> tensor<4x?xf32> {
  %c = arith.constant 7.5 : f32
  %r = tensor.pad %x low[1, 2] high[0, %h] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<3x?xf32> to tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// CHECK-LABEL: func @groups
//  CHECK-SAME: (%[[X:.+]]: tensor<2x6x5xf32>)
//       CHECK: %[[E:.+]] = tensor.expand_shape %[[X]] {{.+}} output_shape [2, 3, 2, 5]
//       CHECK: %[[F:.+]] = linalg.fill {{.+}} -> tensor<2x3x2x8xf32>
//       CHECK: %[[R:.+]] = tensor.insert_slice %[[E]] into %[[F]][0, 0, 0, 1] [2, 3, 2, 5]
//  CHECK-NEXT: return %[[R]]
func.func @groups(%x: tensor<2x6x5xf32>) -> tensor<2x3x2x8xf32> {
  %c = arith.constant 7.5 : f32
  %p = tensor.pad %x low[0, 0, 1] high[0, 0, 2] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %c : f32
  } : tensor<2x6x5xf32> to tensor<2x6x8xf32>
  %r = tensor.expand_shape %p [[0], [1, 2], [3]] output_shape [2, 3, 2, 8]
    : tensor<2x6x8xf32> into tensor<2x3x2x8xf32>
  return %r : tensor<2x3x2x8xf32>
}

// CHECK-LABEL: func @halves
//       CHECK: tensor.insert_slice
//       CHECK: tensor.expand_shape
func.func @halves(%x: tensor<5xf32>) -> tensor<2x3xf32> {
  %c = arith.constant 7.5 : f32
  %p = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<5xf32> to tensor<6xf32>
  %r = tensor.expand_shape %p [[0, 1]] output_shape [2, 3]
    : tensor<6xf32> into tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// Columns: 5 + 2 - 3 = 4, of which the source shows 5 - 3 = 2.
// CHECK-LABEL: func @crop
//  CHECK-SAME: (%[[X:.+]]: tensor<3x5xf32>)
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: %[[P:.+]] = tensor.extract_slice %[[X]][1, 0] [2, 2] [1, 1]
//  CHECK-NEXT: tensor.insert_slice %[[P]] into %[[F]][0, 2] [2, 2] [1, 1]
func.func @crop(%x: tensor<3x5xf32>) -> tensor<2x4xf32> {
  %c = arith.constant 7.5 : f32
  %r = tensor.pad %x low[-1, 2] high[0, -3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<3x5xf32> to tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func @gone
//       CHECK: %[[F:.+]] = linalg.fill
//  CHECK-NEXT: return %[[F]]
func.func @gone(%x: tensor<3xf32>) -> tensor<2xf32> {
  %c = arith.constant 7.5 : f32
  %r = tensor.pad %x low[4] high[-5] {
  ^bb0(%i: index):
    tensor.yield %c : f32
  } : tensor<3xf32> to tensor<2xf32>
  return %r : tensor<2xf32>
}

// CHECK-LABEL: func @mirror
//  CHECK-SAME: (%[[X:.+]]: tensor<5xf32>)
//       CHECK: linalg.generic
//       CHECK: %[[I:.+]] = linalg.index 0
//       CHECK: scf.if
//       CHECK: tensor.extract %[[X]]
//       CHECK: } else {
//       CHECK: %[[J:.+]] = arith.subi %{{.+}}, %[[I]]
//  CHECK-NEXT: tensor.extract %[[X]][%[[J]]]
func.func @mirror(%x: tensor<5xf32>) -> tensor<7xf32> {
  %c8 = arith.constant 8 : index
  %r = tensor.pad %x low[0] high[2] {
  ^bb0(%i: index):
    %j = arith.subi %c8, %i : index
    %v = tensor.extract %x[%j] : tensor<5xf32>
    tensor.yield %v : f32
  } : tensor<5xf32> to tensor<7xf32>
  return %r : tensor<7xf32>
}

// CHECK-LABEL: func @map
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: linalg.generic {{.*}} outs(%[[F]] : tensor<4xf32>)
//  CHECK-NEXT: ^bb0(%{{.+}}: f32, %[[O:.+]]: f32)
//  CHECK-NEXT: arith.addf %[[O]]
func.func @map(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant 21.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.map ins(%x : tensor<4xf32>) outs(%f : tensor<4xf32>)
    (%i: f32, %o: f32) {
      %t = arith.addf %o, %i : f32
      linalg.yield %t : f32
    }
  return %m : tensor<4xf32>
}

// CHECK-LABEL: func @divide
//       CHECK: linalg.generic
//       CHECK: arith.divsi
//   CHECK-NOT: linalg.div
//       CHECK: return
func.func @divide(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.div ins(%x, %y : tensor<4xi32>, tensor<4xi32>)
                  outs(%e : tensor<4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// CHECK-LABEL: func @concat
//  CHECK-SAME: (%[[X:.+]]: tensor<3xf32>, %[[Y:.+]]: tensor<2xf32>)
//       CHECK: %[[E:.+]] = tensor.empty
//  CHECK-NEXT: %[[A:.+]] = tensor.insert_slice %[[X]] into %[[E]][0] [3] [1]
//  CHECK-NEXT: %[[B:.+]] = tensor.insert_slice %[[Y]] into %[[A]][3] [2] [1]
//  CHECK-NEXT: return %[[B]]
func.func @concat(%x: tensor<3xf32>, %y: tensor<2xf32>) -> tensor<5xf32> {
  %r = tensor.concat dim(0) %x, %y
    : (tensor<3xf32>, tensor<2xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// CHECK-LABEL: func @nothing
//  CHECK-SAME: (%[[X:.+]]: tensor<?x0xf32>, %[[Y:.+]]: tensor<2x0xf32>)
//       CHECK: %[[N:.+]] = tensor.dim %[[X]]
//       CHECK: %[[S:.+]] = affine.apply #{{.+}}()[%[[N]]]
//  CHECK-NEXT: %[[E:.+]] = tensor.empty(%[[S]]) : tensor<?x0xf32>
//  CHECK-NEXT: return %[[E]]
func.func @nothing(%x: tensor<?x0xf32>, %y: tensor<2x0xf32>) -> tensor<?x0xf32> {
  %r = tensor.concat dim(0) %x, %y
    : (tensor<?x0xf32>, tensor<2x0xf32>) -> tensor<?x0xf32>
  return %r : tensor<?x0xf32>
}

// CHECK-LABEL: func @gather
//  CHECK-SAME: (%[[S:.+]]: tensor<3x4xf32>, %[[I:.+]]: tensor<6x1xi32>)
//       CHECK: linalg.generic
//   CHECK-DAG: %[[B:.+]] = linalg.index 0
//   CHECK-DAG: %[[K:.+]] = linalg.index 1
//       CHECK: %[[V:.+]] = tensor.extract %[[I]][%[[B]], %{{.+}}]
//  CHECK-NEXT: %[[N:.+]] = arith.index_cast %[[V]]
//       CHECK: cf.assert %{{.+}}, "tensor.gather: index out of range"
//  CHECK-NEXT: tensor.extract %[[S]][%[[K]], %[[N]]]
func.func @gather(%s: tensor<3x4xf32>, %i: tensor<6x1xi32>) -> tensor<6x3xf32> {
  %r = tensor.gather %s[%i] gather_dims([1])
    : (tensor<3x4xf32>, tensor<6x1xi32>) -> tensor<6x3xf32>
  return %r : tensor<6x3xf32>
}

// CHECK-LABEL: func @scatter
//  CHECK-SAME: (%[[S:.+]]: tensor<2x3xf32>, %[[D:.+]]: tensor<3x4xf32>, %[[I:.+]]: tensor<2x1xi64>)
//       CHECK: scf.for %[[B:.+]] = {{.+}} iter_args(%{{.+}} = %[[D]])
//       CHECK: scf.for %[[K:.+]] = {{.+}} iter_args(%[[O:.+]] =
//       CHECK: %[[V:.+]] = tensor.extract %[[I]][%[[B]], %{{.+}}]
//  CHECK-NEXT: %[[N:.+]] = arith.index_cast %[[V]]
//       CHECK: cf.assert %{{.+}}, "tensor.scatter: index out of range"
//  CHECK-NEXT: %[[X:.+]] = tensor.extract %[[S]][%[[B]], %[[K]]]
//  CHECK-NEXT: tensor.insert %[[X]] into %[[O]][%[[K]], %[[N]]]
func.func @scatter(%s: tensor<2x3xf32>, %d: tensor<3x4xf32>,
                   %i: tensor<2x1xi64>) -> tensor<3x4xf32> {
  %r = tensor.scatter %s into %d[%i] scatter_dims([1]) unique
    : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2x1xi64>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// CHECK-LABEL: func @reshape
//  CHECK-SAME: (%[[X:.+]]: tensor<?x6xf32>, %[[S:.+]]: tensor<2xi64>)
//   CHECK-NOT: tensor.reshape
//       CHECK: %[[F:.+]] = tensor.collapse_shape %[[X]] {{\[}}[0, 1]]
//       CHECK: %[[V:.+]] = tensor.extract %[[S]]
//       CHECK: %[[N:.+]] = arith.index_cast %[[V]]
//       CHECK: tensor.expand_shape %[[F]] {{\[}}[0, 1]] output_shape [%[[N]], 3]
func.func @reshape(%x: tensor<?x6xf32>, %s: tensor<2xi64>) -> tensor<?x3xf32> {
  %r = tensor.reshape %x(%s)
    : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

// CHECK-LABEL: func @make
//       CHECK: linalg.fill
//       CHECK: linalg.generic
//       CHECK: linalg.index 0
//       CHECK: linalg.generic
//       CHECK: arith.bitcast %{{.+}} : f32 to i32
//       CHECK: return
func.func @make(%f: f32, %n: index)
    -> (tensor<?xf32>, tensor<?xindex>, tensor<?xi32>) {
  %a = tensor.splat %f[%n] : tensor<?xf32>
  %b = tensor.generate %n {
  ^bb0(%i: index):
    %j = arith.addi %i, %n : index
    tensor.yield %j : index
  } : tensor<?xindex>
  %c = tensor.bitcast %a : tensor<?xf32> to tensor<?xi32>
  return %a, %b, %c : tensor<?xf32>, tensor<?xindex>, tensor<?xi32>
}

// CHECK-LABEL: func @pack
//  CHECK-SAME: (%[[X:.+]]: tensor<7xf32>
//       CHECK: linalg.generic
//       CHECK: %[[T:.+]] = arith.muli %{{.+}}, %c4
//  CHECK-NEXT: %[[P:.+]] = arith.addi %[[T]]
//  CHECK-NEXT: %[[IN:.+]] = arith.cmpi slt, %[[P]], %c7
//  CHECK-NEXT: scf.if %[[IN]]
//  CHECK-NEXT: tensor.extract %[[X]][%[[P]]]
func.func @pack(%x: tensor<7xf32>, %d: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %c = arith.constant 9.0 : f32
  %r = linalg.pack %x padding_value(%c : f32) inner_dims_pos = [0]
    inner_tiles = [4] into %d : tensor<7xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func @unpack
//  CHECK-SAME: (%[[X:.+]]: tensor<2x4xf32>
//       CHECK: %[[I:.+]] = linalg.index 0
//   CHECK-DAG: %[[Q:.+]] = arith.divui %[[I]], %c4
//   CHECK-DAG: %[[R:.+]] = arith.remui %[[I]], %c4
//       CHECK: tensor.extract %[[X]][%[[Q]], %[[R]]]
func.func @unpack(%x: tensor<2x4xf32>, %d: tensor<7xf32>) -> tensor<7xf32> {
  %r = linalg.unpack %x inner_dims_pos = [0] inner_tiles = [4] into %d
    : tensor<2x4xf32> -> tensor<7xf32>
  return %r : tensor<7xf32>
}

// CHECK-LABEL: func @free
//  CHECK-NEXT: return
func.func @free(%x: tensor<7xf32>) {
  bufferization.dealloc_tensor %x : tensor<7xf32>
  return
}

// CHECK-LABEL: func @constant
//   CHECK-DAG: arith.constant dense<3> : tensor<64xindex>
//       CHECK: linalg.fill ins(%{{.+}} : f32) outs(%{{.+}} : tensor<65xf32>)
func.func @constant() -> (tensor<64xindex>, tensor<65xf32>) {
  %a = arith.constant dense<3> : tensor<64xindex>
  %b = arith.constant dense<1.5> : tensor<65xf32>
  return %a, %b : tensor<64xindex>, tensor<65xf32>
}
