// Properties: a stage that no dump is of is refused.
// RUN: not polynest-opt %s --polynest-mark-stage 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not polynest-opt %s --polynest-mark-stage=stage=s0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not polynest-opt %s --polynest-mark-stage=stage=input 2>&1 | FileCheck %s --check-prefix=INPUT
// EMPTY: option stage has value ''; it must be s1, s2, s3, s4 or s5
// ZERO: option stage has value 's0'; it must be s1, s2, s3, s4 or s5
// INPUT: option stage has value 'input'; it must be s1, s2, s3, s4 or s5
func.func @f() {
  return
}
