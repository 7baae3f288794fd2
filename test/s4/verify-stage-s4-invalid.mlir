// Properties: s4 hands over no affine operation, and kernels over a range.
// RUN: polynest-opt %s --polynest-verify-stage=stage=s4 --split-input-file --verify-diagnostics

func.func @affine() {
  // expected-error@+1 {{operations of dialect 'affine' are not allowed in the output of stage s4}}
  affine.for %i = 0 to 4 {
  }
  return
}

// -----

// expected-error@+1 {{a kernel is private in the output of stage s4}}
func.func @kernel(%b: index, %e: index) attributes {polynest.kernel} {
  return
}

// -----

// expected-error@+1 {{a kernel with a grain takes begin and end in the output of stage s4}}
func.func private @range(%b: index) attributes {polynest.kernel, polynest.grain = 1 : i64} {
  return
}
