// Properties: the option has a range; a declaration is left alone.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=4294967297}))' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=4294967296}))' | FileCheck %s

//    LARGE: option threshold-kib has value 4294967297; it must be 0 to 4294967296
// NEGATIVE: '-1' value invalid

// CHECK: func private @declaration
func.func private @declaration(memref<4xf32>)
