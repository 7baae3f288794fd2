// Properties: what no caller could pass, or whose result has a size that
// depends on data, is refused with its reason.
// RUN: polynest-opt %s --polynest-convert-entries --split-input-file \
// RUN:   --verify-diagnostics

// expected-error@+1 {{argument 0 of entry 'unranked' has type 'tensor<*xf32>': unranked types are not supported}}
func.func @unranked(%a: tensor<*xf32>) {
  return
}

// -----

// expected-error@+1 {{argument 0 has rank 2 but polynest.strides has 1 values}}
func.func @strides(%a: tensor<4x8xf32> {polynest.strides = array<i64: 1>}) {
  return
}

// -----

// expected-error@+1 {{result 0 of entry 'number' has polynest.updates = 1 : i64, which is not the number of an input}}
func.func @number(%a: tensor<4xf32>) -> (tensor<4xf32> {polynest.updates = 1}) {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0 of entry 'negative' has polynest.updates = -1 : i64, which is not the number of an input}}
func.func @negative(%a: tensor<4xf32>) -> (tensor<4xf32> {polynest.updates = -1}) {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0 of entry 'word' has polynest.updates = "a", which is not the number of an input}}
func.func @word(%a: tensor<4xf32>) -> (tensor<4xf32> {polynest.updates = "a"}) {
  return %a : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 1 of entry 'other' updates input 0 but has type 'tensor<5xf32>', not 'tensor<4xf32>'}}
func.func @other(%a: tensor<4xf32>, %b: tensor<5xf32>)
    -> (tensor<4xf32>, tensor<5xf32> {polynest.updates = 0}) {
  return %a, %b : tensor<4xf32>, tensor<5xf32>
}

// -----

// expected-error@+1 {{result 0 of entry 'element' updates input 0 but has type 'tensor<4xi32>', not 'tensor<4xf32>'}}
func.func @element(%a: tensor<4xf32>, %b: tensor<4xi32>)
    -> (tensor<4xi32> {polynest.updates = 0}) {
  return %b : tensor<4xi32>
}

// -----

// expected-error@+1 {{result 0 of entry 'scalar' updates input 0 but has type 'f32', not 'f32'}}
func.func @scalar(%a: f32) -> (f32 {polynest.updates = 0}) {
  return %a : f32
}

// -----

// expected-error@+1 {{result 1 of entry 'twice' updates input 0, which another result updates}}
func.func @twice(%a: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<4xf32> {polynest.updates = 0}, tensor<4xf32> {polynest.updates = 0}) {
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0 of entry 'constant' updates input 0, which is constant}}
func.func @constant(%a: tensor<4xf32> {polynest.constant}, %b: tensor<4xf32>)
    -> (tensor<4xf32> {polynest.updates = 0}) {
  return %b : tensor<4xf32>
}

// -----

func.func private @missing(%a: tensor<4xf32>) -> tensor<4xf32>
func.func @calls(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{function 'missing' is called and has no body}}
  %r = func.call @missing(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @again(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{function 'again' calls itself; write recursion as a loop}}
  %r = func.call @again(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func private @even(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{function 'odd' calls itself; write recursion as a loop}}
  %r = func.call @odd(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @odd(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @even(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @parity(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = func.call @even(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
