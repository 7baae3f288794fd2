// Properties: a function with a non-temporal store fences before each return
// (@stream); one without does not (@plain); without an intrinsic none does. The
// name of another thing is refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(llvm.func(polynest-fence-streams{intrinsic=llvm.x86.sse.sfence}))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(llvm.func(polynest-fence-streams))' | FileCheck %s --check-prefix=NONE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(llvm.func(polynest-fence-streams{intrinsic=sfence}))' 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: option intrinsic has value 'sfence'; it must be empty or begin with 'llvm.'

// NONE-LABEL: llvm.func @stream
//   NONE-NOT: call_intrinsic
//       NONE: llvm.return

// CHECK-LABEL: llvm.func @stream
//       CHECK: llvm.store %{{.+}} nontemporal
//       CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"()
//  CHECK-NEXT: llvm.return
//       CHECK: llvm.call_intrinsic "llvm.x86.sse.sfence"()
//  CHECK-NEXT: llvm.return
llvm.func @stream(%v: vector<8xf32>, %p: !llvm.ptr, %c: i1) {
  llvm.store %v, %p {alignment = 32 : i64, nontemporal} : vector<8xf32>, !llvm.ptr
  llvm.cond_br %c, ^bb1, ^bb2
^bb1:
  llvm.return
^bb2:
  llvm.return
}

// CHECK-LABEL: llvm.func @plain
//   CHECK-NOT: call_intrinsic
//       CHECK: llvm.return
llvm.func @plain(%v: vector<8xf32>, %p: !llvm.ptr) {
  llvm.store %v, %p : vector<8xf32>, !llvm.ptr
  llvm.return
}
llvm.func @declared()
