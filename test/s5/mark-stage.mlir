// Properties: the module says at which stage it is; a later mark replaces an
// earlier one; the same mark again changes nothing.
// RUN: polynest-opt %s --polynest-mark-stage=stage=s1 | FileCheck %s --check-prefix=ONE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-mark-stage{stage=s1},polynest-mark-stage{stage=s5})' | FileCheck %s --check-prefix=FIVE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-mark-stage{stage=s3},polynest-mark-stage{stage=s3})' | FileCheck %s --check-prefix=TWICE
// ONE: module attributes {polynest.stage = "s1"}
// ONE: func.func @f
// FIVE: module attributes {polynest.stage = "s5"}
// TWICE: module attributes {polynest.stage = "s3"}
func.func @f() {
  return
}
