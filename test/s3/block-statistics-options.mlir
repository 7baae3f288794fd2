// Properties: a cache has some size.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-statistics{cache-size-kib=0}))' 2>&1 | FileCheck %s
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-statistics{cache-size-kib=-4}))' 2>&1 | FileCheck %s
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-statistics{cache-size-kib=99999999999}))' 2>&1 | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-statistics{cache-size-kib=1}))' -o /dev/null
// CHECK: cache-size-kib
