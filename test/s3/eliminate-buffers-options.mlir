// Properties: the pass has no options.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(polynest-eliminate-buffers{size=1})' 2>&1 | FileCheck %s
// CHECK: no such option size
