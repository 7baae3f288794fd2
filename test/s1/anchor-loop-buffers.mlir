// Properties: a carried tensor made anew is written to its buffer (@fresh,
// @while_loop), so that there is one, also where its size is not known but equal
// by where it comes from (@dynamic) or by an assertion in front (@asserted); one
// made by overwriting the argument is there already (@kept, @in_place, @nested); arguments that trade places are
// read before either is overwritten (@swap).
// RUN: polynest-opt %s --polynest-anchor-loop-buffers | FileCheck %s
// RUN: polynest-opt %s --polynest-anchor-loop-buffers > %t.once
// RUN: polynest-opt %t.once --polynest-anchor-loop-buffers | diff %t.once -
// RUN: polynest-opt %s --polynest-anchor-loop-buffers --eliminate-empty-tensors --one-shot-bufferize="bufferize-function-boundaries allow-return-allocs-from-loops" --canonicalize | FileCheck %s --check-prefix=BUFFER

// CHECK-LABEL: func @fresh
//       CHECK: scf.for {{.*}} iter_args(%[[A:.+]] = %{{.+}})
//       CHECK: %[[T:.+]] = linalg.exp
//       CHECK: %[[M:.+]] = bufferization.materialize_in_destination %[[T]] in %[[A]]
//  CHECK-NEXT: scf.yield %[[M]]
// BUFFER-LABEL: func @fresh
//       BUFFER: %[[B:.+]] = memref.alloc
//       BUFFER: scf.for %{{[a-z0-9]+}} = %{{.+}} to %{{.+}} step %{{[a-z0-9]+}} {
//   BUFFER-NOT: alloc
//       BUFFER: linalg.exp ins(%[[B]] : {{.*}}) outs(%[[B]] :
//   BUFFER-NOT: memref.copy
//       BUFFER: return
func.func @fresh(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %i0 = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%z : f32) outs(%i0 : tensor<8xf32>) -> tensor<8xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %t = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>)
      -> tensor<8xf32>
    scf.yield %t : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// CHECK-LABEL: func @kept
//   CHECK-NOT: bufferization.materialize_in_destination
//       CHECK: return
func.func @kept(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %t = linalg.exp ins(%x : tensor<?xf32>) outs(%a : tensor<?xf32>)
      -> tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func @dynamic
//       CHECK: scf.for {{.*}} iter_args(%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}})
//       CHECK: %[[T:.+]] = linalg.exp ins(%[[B]]
//       CHECK: %[[U:.+]] = linalg.exp ins(%[[A]]
//   CHECK-DAG: bufferization.materialize_in_destination %[[T]] in %[[A]]
//   CHECK-DAG: bufferization.materialize_in_destination %[[U]] in %[[B]]
//       CHECK: scf.yield
func.func @dynamic(%m: index, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %i0 = tensor.empty(%m) : tensor<?xf32>
  %i = linalg.fill ins(%z : f32) outs(%i0 : tensor<?xf32>) -> tensor<?xf32>
  %j = linalg.fill ins(%z : f32) outs(%i0 : tensor<?xf32>) -> tensor<?xf32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i, %b = %j)
      -> (tensor<?xf32>, tensor<?xf32>) {
    %d = tensor.dim %b, %c0 : tensor<?xf32>
    %e = tensor.empty(%d) : tensor<?xf32>
    %t = linalg.exp ins(%b : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
    %u = linalg.exp ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
    scf.yield %t, %u : tensor<?xf32>, tensor<?xf32>
  }
  return %r#0 : tensor<?xf32>
}

// CHECK-LABEL: func @asserted
//       CHECK: scf.for {{.*}} iter_args(%[[A:.+]] = %{{.+}})
//       CHECK: bufferization.materialize_in_destination %{{.+}} in %[[A]]
//       CHECK: scf.yield
func.func @asserted(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index)
    -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %dx = tensor.dim %x, %c0 : tensor<?xf32>
  %dy = tensor.dim %y, %c0 : tensor<?xf32>
  %same = arith.cmpi eq, %dx, %dy : index
  cf.assert %same, "sizes differ"
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %e = tensor.empty(%dy) : tensor<?xf32>
    %t = linalg.exp ins(%a : tensor<?xf32>) outs(%e : tensor<?xf32>)
      -> tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func @while_loop
//       CHECK: do {
//  CHECK-NEXT: ^bb0(%[[I:.+]]: i32, %[[A:.+]]: tensor<8xf32>):
//       CHECK: bufferization.materialize_in_destination %{{.+}} in %[[A]]
func.func @while_loop(%x: tensor<8xf32>, %n: i32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.while (%a = %x, %i = %c0) : (tensor<8xf32>, i32)
      -> (i32, tensor<8xf32>) {
    %p = arith.cmpi slt, %i, %n : i32
    scf.condition(%p) %i, %a : i32, tensor<8xf32>
  } do {
  ^bb0(%i: i32, %a: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %t = linalg.exp ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>)
      -> tensor<8xf32>
    %j = arith.addi %i, %c1 : i32
    scf.yield %t, %j : tensor<8xf32>, i32
  }
  return %r#1 : tensor<8xf32>
}

// BUFFER-LABEL: func @in_place
//   BUFFER-NOT: memref.copy
//       BUFFER: scf.for
//   BUFFER-NOT: memref.copy
//       BUFFER: return
func.func @in_place(%v: f32, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%v : f32) outs(%i0 : tensor<8xf32>) -> tensor<8xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> tensor<8xf32> {
    %t = tensor.insert %v into %a[%k] : tensor<8xf32>
    scf.yield %t : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// BUFFER-LABEL: func @nested
//   BUFFER-NOT: memref.copy
//       BUFFER: scf.for
//       BUFFER: scf.for
//   BUFFER-NOT: memref.copy
//       BUFFER: return
func.func @nested(%v: f32, %n: index) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i0 = tensor.empty() : tensor<8x8xf32>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i0) -> tensor<8x8xf32> {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a)
        -> tensor<8x8xf32> {
      %t = tensor.insert %v into %b[%k, %j] : tensor<8x8xf32>
      scf.yield %t : tensor<8x8xf32>
    }
    scf.yield %s : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// CHECK-LABEL: func @swap
//       CHECK: scf.for {{.*}} iter_args(%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}}) -> (tensor<8xf32>, tensor<8xf32>)
//       CHECK: %[[T:.+]] = bufferization.alloc_tensor() copy(%[[A]])
//  CHECK-NEXT: %[[P:.+]] = bufferization.materialize_in_destination %{{.+}} in %[[A]]
//  CHECK-NEXT: %[[Q:.+]] = bufferization.materialize_in_destination %[[T]] in %[[B]]
//  CHECK-NEXT: scf.yield %[[P]], %[[Q]]
func.func @swap(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xf32>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %e)
      -> (tensor<8xf32>, tensor<8xf32>) {
    %v = tensor.extract %a[%c1] : tensor<8xf32>
    %w = arith.addf %v, %v : f32
    %t = tensor.insert %w into %b[%c0] : tensor<8xf32>
    scf.yield %t, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0 : tensor<8xf32>
}
