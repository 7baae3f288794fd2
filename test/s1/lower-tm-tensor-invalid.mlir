// Properties: other operations of the dialect, and known ones of another form,
// are errors, not guesses.
// RUN: polynest-opt %s --polynest-lower-tm-tensor --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @attention(%x: tensor<3xf32>) {
  // expected-error@+1 {{of tm_tensor, only scan, sort and scatter are supported}}
  "tm_tensor.attention"(%x) : (tensor<3xf32>) -> ()
  return
}

// -----

func.func @bare(%x: tensor<3xf32>) {
  // expected-error@+1 {{a scan has an input, an output, an accumulator and its attributes}}
  "tm_tensor.scan"(%x) : (tensor<3xf32>) -> ()
  return
}

// -----

func.func @rank(%x: tensor<3xf32>) {
  // expected-error@+1 {{a sort's dimension or body does not match}}
  %r = "tm_tensor.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%p: f32, %q: f32):
    %s = arith.cmpf ole, %p, %q : f32
    "tm_tensor.yield"(%s) : (i1) -> ()
  }) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @body(%x: tensor<3xf32>) {
  // expected-error@+1 {{a sort's dimension or body does not match}}
  %r = "tm_tensor.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%p: f32):
    "tm_tensor.yield"(%p) : (f32) -> ()
  }) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @map(%u: tensor<2xf32>, %i: tensor<2x1xi64>, %o: tensor<3xf32>) {
  // expected-error@+1 {{a scatter's operands, dimension map or body do not match}}
  %r = "tm_tensor.scatter"(%u, %i, %o) <{dimension_map = array<i64: 7>}> ({
  ^bb0(%p: f32, %q: f32):
    "tm_tensor.yield"(%p) : (f32) -> ()
  }) : (tensor<2xf32>, tensor<2x1xi64>, tensor<3xf32>) -> tensor<3xf32>
  return
}
