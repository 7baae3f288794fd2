// Properties: types that no stage can hold are refused at the first operation
// that has one, and so is an operation that has no decomposition.
// RUN: polynest-opt %s --polynest-decompose-tensor-ops --split-input-file --verify-diagnostics

// expected-error@+1 {{complex element types are not supported}}
func.func @argument(%x: tensor<4xcomplex<f32>>) {
  return
}

// -----

func.func @inside(%x: f32) -> f32 {
  // expected-error@+1 {{complex element types are not supported}}
  %c = complex.create %x, %x : complex<f32>
  %r = complex.re %c : complex<f32>
  return %r : f32
}

// -----

func.func @unranked(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{unranked types are not supported}}
  %u = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  %r = tensor.cast %u : tensor<*xf32> to tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error@+1 {{element type i4 is not supported; use i1, i8, i16, i32, i64, index, f16, bf16, f32 or f64}}
func.func @narrow(%x: tensor<4xi4>) {
  return
}

// -----

// expected-error@+1 {{element type ui8 is not supported; use signless integers}}
func.func @unsigned(%x: tensor<4xui8>) {
  return
}

// -----

#sparse = #sparse_tensor.encoding<{map = (d0) -> (d0 : compressed)}>
// expected-error@+1 {{tensor encodings are not supported}}
func.func @sparse(%x: tensor<4xf32, #sparse>) {
  return
}
