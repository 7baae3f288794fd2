// Properties: an assertion under structured control flow cannot return.
// RUN: polynest-opt %s --polynest-lower-asserts --split-input-file --verify-diagnostics

func.func @nested(%p: i1, %q: i1) attributes {polynest.entry} {
  scf.if %p {
    // expected-error@+1 {{must not be nested in structured control flow}}
    cf.assert %q, "nested"
  }
  return
}

// -----

func.func private @kernel() attributes {polynest.kernel} {
  return
}
func.func @call(%p: i1) attributes {polynest.entry} {
  scf.if %p {
    // expected-error@+1 {{must not be nested in structured control flow}}
    func.call @kernel() : () -> ()
  }
  return
}
