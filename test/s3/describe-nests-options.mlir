// Property: the form is one of two words; functions without a body are left
// out.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-describe-nests{form=other}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-describe-nests{number=2}))' 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-describe-nests{number=true}))' | FileCheck %s

// FORM: error: option form has value 'other'
// WORD: number
// CHECK: func private @outside
func.func private @outside(memref<4xf32>)
