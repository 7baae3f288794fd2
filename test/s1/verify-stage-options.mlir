// Properties: a stage that does not exist is refused with the names that do.
// RUN: not polynest-opt %s --polynest-verify-stage 2>&1 | FileCheck %s
// RUN: not polynest-opt %s --polynest-verify-stage=stage=s6 2>&1 | FileCheck %s --check-prefix=SIX
// CHECK: stage '' is not one of any, input, s1, s2, s3, s4, s5
// SIX: stage 's6' is not one of any, input, s1, s2, s3, s4, s5
func.func @f() {
  return
}
