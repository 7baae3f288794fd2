// Properties: what no program may hold is refused before s1.
// RUN: polynest-opt %s --polynest-verify-stage=stage=input --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @unknown(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown operations are not allowed in the input of stage s1}}
  "tm_tensor.scan"(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @dialect(%x: tensor<4xindex>) {
  // expected-error@+1 {{operations of dialect 'shape' are not allowed in the input of stage s1}}
  %n = shape.num_elements %x : tensor<4xindex> -> index
  return
}

// -----

// expected-error@+1 {{branches between blocks are not allowed in the input of stage s1}}
func.func @branch() {
  cf.br ^next
^next:
  return
}

// -----

// expected-error@+1 {{complex element types are not supported}}
func.func @complex(%x: complex<f32>) {
  return
}
