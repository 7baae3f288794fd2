// Properties: an unknown mnemonic is an error that names it.
// RUN: not polynest-opt %s --polynest-lower-math=ops=exp,frobnicate 2>&1 | FileCheck %s
// CHECK: ops: 'frobnicate' is no operation of the math dialect
// So are instructions that are none, too narrow, or not the widest first.
// RUN: not polynest-opt %s --polynest-lower-math=permutes=256 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=256:permd 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=-256:llvm.a 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=0:llvm.a 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=128:llvm.a 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=384:llvm.a 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=4096:llvm.a 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: not polynest-opt %s --polynest-lower-math=permutes=256:llvm.a,512:llvm.b 2>&1 | FileCheck %s --check-prefix=PERMUTE
// RUN: polynest-opt %s --polynest-lower-math=permutes=512:llvm.b,256:llvm.a | FileCheck %s --check-prefix=FINE
// PERMUTE: option permutes holds
// FINE: func @f
func.func @f() {
  return
}
