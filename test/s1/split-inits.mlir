// Properties: a fill that two operations overwrite becomes two (@shared); an
// initial value that is not read becomes an empty tensor (@unread), but not
// where a reduction of size zero could leave it (@reduction) or the body reads it
// (@read); an operand that is overwritten unread stays as it is (@chain, @input),
// but not in a loop (@carried), where the body reads it, or where not all of it is
// written (@sum, @part). Uses of an input that is only read are apart (@uses),
// where it is written they are not (@written).
// RUN: polynest-opt %s --polynest-split-inits | FileCheck %s
// RUN: polynest-opt %s --polynest-split-inits > %t.once
// RUN: polynest-opt %t.once --polynest-split-inits | diff %t.once -

// CHECK-LABEL: func @shared
// CHECK-COUNT-2: linalg.fill
//       CHECK: linalg.matmul
//       CHECK: linalg.matmul
func.func @shared(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%b, %a : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func @unread
//       CHECK: linalg.fill
//       CHECK: %[[E:.+]] = tensor.empty(%{{.+}}) : tensor<?xf32>
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[E]] : tensor<?xf32>)
func.func @unread(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%a : tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func @reduction
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[F]] :
func.func @reduction(%a: tensor<4x?xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4x?xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @read
//       CHECK: %[[F:.+]] = linalg.fill
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[F]] :
func.func @read(%a: tensor<4xf32>) -> tensor<4xf32> {
  %z = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.mulf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Sizes are those of the first value.
// CHECK-LABEL: func @chain
//  CHECK-SAME: %[[N:[a-z0-9]+]]: index
//       CHECK: %[[E0:.+]] = tensor.empty(%[[N]]) : tensor<?xf32>
//       CHECK: %[[A:.+]] = linalg.exp {{.*}} outs(%[[E0]] :
//       CHECK: %[[E1:.+]] = tensor.empty(%[[N]]) : tensor<?xf32>
//       CHECK: %[[B:.+]] = linalg.add ins(%[[A]], %{{.*}} outs(%[[E1]] :
//       CHECK: %[[E2:.+]] = tensor.empty(%[[N]]) : tensor<?xf32>
//       CHECK: linalg.mul ins(%{{.*}}, %[[B]] : {{.*}} outs(%[[E2]] :
func.func @chain(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  %a = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
  %b = linalg.add ins(%a, %x : tensor<?xf32>, tensor<?xf32>)
      outs(%a : tensor<?xf32>) -> tensor<?xf32>
  %c = linalg.mul ins(%x, %b : tensor<?xf32>, tensor<?xf32>)
      outs(%b : tensor<?xf32>) -> tensor<?xf32>
  return %c : tensor<?xf32>
}

// CHECK-LABEL: func @input
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x?xf32>
//       CHECK: %[[D:.+]] = tensor.dim %[[X]], %{{.*}} : tensor<3x?xf32>
//       CHECK: %[[E:.+]] = tensor.empty(%[[D]]) : tensor<3x?xf32>
//       CHECK: linalg.exp {{.*}} outs(%[[E]] :
func.func @input(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
  %a = linalg.exp ins(%x : tensor<3x?xf32>) outs(%x : tensor<3x?xf32>)
      -> tensor<3x?xf32>
  return %a : tensor<3x?xf32>
}

// CHECK-LABEL: func @carried
//       CHECK: scf.for {{.*}} iter_args(%[[T:.+]] =
//       CHECK: linalg.exp {{.*}} outs(%[[T]] :
func.func @carried(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    %a = linalg.exp ins(%t : tensor<4xf32>) outs(%t : tensor<4xf32>)
        -> tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @sum
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[X]] :
func.func @sum(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func @part
//  CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32>
//       CHECK: linalg.generic
//  CHECK-SAME: outs(%[[X]] :
func.func @part(%x: tensor<8xf32>, %h: tensor<4xf32>) -> tensor<8xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i) -> (2 * i)>, affine_map<(i) -> (i)>,
                       affine_map<(i) -> (2 * i)>],
      iterator_types = ["parallel"]}
      ins(%x, %h : tensor<8xf32>, tensor<4xf32>) outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    linalg.yield %b : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func @uses
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>
//       CHECK: %[[A:.+]] = bufferization.to_tensor %[[X]] restrict
//       CHECK: %[[B:.+]] = bufferization.to_tensor %[[X]] restrict
//       CHECK: linalg.add ins(%[[B]], %[[A]] :
func.func @uses(%m: memref<4xf32>) -> tensor<4xf32> {
  %x = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
      outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// CHECK-LABEL: func @written
// CHECK-COUNT-1: bufferization.to_tensor
//   CHECK-NOT: bufferization.to_tensor
//       CHECK: return
func.func @written(%m: memref<4xf32>) -> tensor<4xf32> {
  %x = bufferization.to_tensor %m restrict writable : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %a = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>)
      outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
