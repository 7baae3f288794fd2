// Properties: an unknown mnemonic is an error that names it.
// RUN: not polynest-opt %s --polynest-lower-math=ops=exp,frobnicate 2>&1 | FileCheck %s
// CHECK: ops: 'frobnicate' is no operation of the math dialect
func.func @f() {
  return
}
