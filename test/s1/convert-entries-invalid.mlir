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
