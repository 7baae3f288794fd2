// Fault B015: sums of products of i32 wrap around, however they are grouped: the
// row sums of x y + x z + p q + p r are those of x (y + z) + p (q + r).
// RUN: %npy %t.x.npy i4 "2,2" "2147483647 -1 -2147483648 1"
// RUN: %npy %t.y.npy i4 "2,2" "2147483647 2 0 -2147483648"
// RUN: %npy %t.z.npy i4 "2,2" "1 -2147483648 -1 2147483647"
// RUN: %npy %t.p.npy i4 "2,2" "-2147483648 -1 3 2147483647"
// RUN: %npy %t.q.npy i4 "2,2" "-1 2147483647 5 -2147483648"
// RUN: %npy %t.r.npy i4 "2,2" "2147483647 0 -7 1"
// RUN: polynestc run %s --entry f --input %t.x.npy --input %t.y.npy --input %t.z.npy --input %t.p.npy --input %t.q.npy --input %t.r.npy --print --check | FileCheck %s
// CHECK: [[SUMS:\[-?[0-9]+, -?[0-9]+\]]]
// CHECK: [[SUMS]]

func.func private @product(%a: tensor<2x2xi32>, %b: tensor<2x2xi32>)
    -> tensor<2x2xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x2xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<2x2xi32>)
    -> tensor<2x2xi32>
  %r = linalg.matmul ins(%a, %b : tensor<2x2xi32>, tensor<2x2xi32>)
    outs(%f : tensor<2x2xi32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}

func.func private @sum(%a: tensor<2x2xi32>, %b: tensor<2x2xi32>)
    -> tensor<2x2xi32> {
  %e = tensor.empty() : tensor<2x2xi32>
  %r = linalg.add ins(%a, %b : tensor<2x2xi32>, tensor<2x2xi32>)
    outs(%e : tensor<2x2xi32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}

func.func private @rows(%a: tensor<2x2xi32>) -> tensor<2xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<2xi32>) -> tensor<2xi32>
  %r = linalg.reduce {arith.addi} ins(%a : tensor<2x2xi32>)
    outs(%f : tensor<2xi32>) dimensions = [1]
  return %r : tensor<2xi32>
}

func.func @f(%x: tensor<2x2xi32>, %y: tensor<2x2xi32>, %z: tensor<2x2xi32>,
             %p: tensor<2x2xi32>, %q: tensor<2x2xi32>, %r: tensor<2x2xi32>)
    -> (tensor<2xi32>, tensor<2xi32>) {
  %xy = func.call @product(%x, %y)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %xz = func.call @product(%x, %z)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %pq = func.call @product(%p, %q)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %pr = func.call @product(%p, %r)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %s = func.call @sum(%xy, %xz)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %t = func.call @sum(%pq, %pr)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %u = func.call @sum(%s, %t)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %v = func.call @rows(%u) : (tensor<2x2xi32>) -> tensor<2xi32>
  %yz = func.call @sum(%y, %z)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %qr = func.call @sum(%q, %r)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %xyz = func.call @product(%x, %yz)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %pqr = func.call @product(%p, %qr)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %w = func.call @sum(%xyz, %pqr)
    : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %o = func.call @rows(%w) : (tensor<2x2xi32>) -> tensor<2xi32>
  return %v, %o : tensor<2xi32>, tensor<2xi32>
}
