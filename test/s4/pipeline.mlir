// Properties: the order of s4. A stack buffer of a parallel iteration moves to
// the start of its kernel, not of the entry, where all threads would share it.
// RUN: polynest-opt %s --polynest-s4 | FileCheck %s

// CHECK-LABEL: func @f
//   CHECK-NOT: memref.alloca
//       CHECK: call @f_kernel0(
//       CHECK: return
// CHECK-LABEL: func private @f_kernel0
//       CHECK: memref.alloca() : memref<4xf32>
//       CHECK: scf.for
//   CHECK-NOT: memref.alloca
//       CHECK: return
func.func @f(%a: memref<64xf32>, %r: memref<64xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (64) {
    %t = memref.alloca() : memref<4xf32>
    %x = affine.load %a[%i] : memref<64xf32>
    affine.store %x, %t[%i mod 4] : memref<4xf32>
    %y = affine.load %t[%i mod 4] : memref<4xf32>
    affine.store %y, %r[%i] : memref<64xf32>
  } {polynest.grain = 1 : i64}
  return
}
