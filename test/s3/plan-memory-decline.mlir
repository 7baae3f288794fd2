// Properties: a private buffer beyond the stack limit of 32 KiB (@large: 16 Ki floats are
// 64 KiB) and one of dynamic size (@dynamic) stay allocations, with a remark; a
// buffer that is handed on shares no bytes although another use ends before
// (@handed: 2 * 64 bytes and not 64). Functions that are no entries are left
// (@other).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-plan-memory{stack-limit-kib=32}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @large
//   CHECK-NOT: polynest.arena
//       CHECK: affine.parallel
//       CHECK:   memref.alloc() : memref<16384xf32>
//       CHECK: return
//      REMARK: [Missed] plan-memory
// REMARK-SAME: bytes=65536, reason="private to an iteration and too large for the stack"
func.func @large(%r: memref<64xf32> {polynest.result}) attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  affine.parallel (%i) = (0) to (64) {
    %t = memref.alloc() : memref<16384xf32>
    affine.store %one, %t[0] : memref<16384xf32>
    %v = affine.load %t[0] : memref<16384xf32>
    affine.store %v, %r[%i] : memref<64xf32>
  } {polynest.grain = 1 : i64}
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: memref.alloc(%{{.+}}) : memref<?xf32>
//      REMARK: [Missed] plan-memory
// REMARK-SAME: the size is not known
func.func @dynamic(%n: index) attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    affine.store %one, %a[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @handed
//  CHECK-SAME: %{{.+}}: memref<128xi8> {polynest.arena}
//       CHECK: return
func.func @handed(%x: f32, %p: i1) attributes {polynest.entry} {
  %a = memref.alloc() : memref<16xf32>
  %s = arith.select %p, %a, %a : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  affine.store %x, %b[0] : memref<16xf32>
  affine.store %x, %s[0] : memref<16xf32>
  return
}

// CHECK-LABEL: func @other
//   CHECK-NOT: arena
//       CHECK: memref.alloc() : memref<16xf32>
func.func @other(%x: f32) {
  %a = memref.alloc() : memref<16xf32>
  affine.store %x, %a[0] : memref<16xf32>
  return
}
