// Properties: a stage that does not exist is refused with the names that do.
// RUN: not polynest-opt %s --polynest-verify-stage 2>&1 | FileCheck %s
// RUN: not polynest-opt %s --polynest-verify-stage=stage=s6 2>&1 | FileCheck %s --check-prefix=SIX
// CHECK: option stage has value ''; it must be any, input or s1 to s5
// SIX: option stage has value 's6'; it must be any, input or s1 to s5
func.func @f() {
  return
}
