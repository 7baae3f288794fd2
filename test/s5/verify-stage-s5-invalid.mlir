// Properties: s5 hands over the LLVM dialect.
// RUN: polynest-opt %s --polynest-verify-stage=stage=s5 --split-input-file --verify-diagnostics

llvm.func @f() {
  llvm.return
}

// -----

// expected-error@+1 {{operations of dialect 'func' are not allowed in the output of stage s5}}
func.func @g() {
  return
}
