// Properties: a buffer of dynamic size stays an allocation, with a remark
// (@dynamic); a buffer that is handed on shares no bytes although another use ends before
// (@handed: 2 * 64 bytes and not 64). Functions that are no entries are left
// (@other).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-plan-memory{stack-limit-kib=32}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

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
