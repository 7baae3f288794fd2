// Properties: s1 hands over buffers, structured operations, entries.
// RUN: polynest-opt %s --polynest-verify-stage=stage=s1 --split-input-file --verify-diagnostics

func.func @tensor(%x: memref<4xf32>) {
  // expected-error@+1 {{operations of dialect 'tensor' are not allowed in the output of stage s1}}
  %e = tensor.empty() : tensor<4xf32>
  return
}

// -----

func.func @held(%x: tensor<4xf32>, %p: i1) {
  // expected-error@+1 {{tensors are not allowed in the output of stage s1}}
  %e = arith.select %p, %x, %x : tensor<4xf32>
  return
}

// -----

func.func @free(%x: memref<4xf32>) {
  // expected-error@+1 {{buffers are not freed one by one in the output of stage s1}}
  memref.dealloc %x : memref<4xf32>
  return
}

// -----

func.func private @callee()
func.func @call() {
  // expected-error@+1 {{calls are not allowed in the output of stage s1}}
  func.call @callee() : () -> ()
  return
}

// -----

func.func @softmax(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{only structured linalg operations are allowed in the output of stage s1}}
  linalg.softmax dimension(0) ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

// expected-error@+1 {{an entry returns nothing; its results are arguments in the output of stage s1}}
func.func @entry(%x: memref<4xf32>) -> memref<4xf32> attributes {polynest.entry} {
  return %x : memref<4xf32>
}

// -----

// expected-error@+1 {{results of an entry are its last arguments in the output of stage s1}}
func.func @order(%r: memref<4xf32> {polynest.result}, %x: memref<4xf32>) attributes {polynest.entry} {
  return
}
