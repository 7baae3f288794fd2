// Properties: a stack buffer in a loop moves to the start of the function
// (@loop), also from a condition in a loop and with a view (@view); one of
// dynamic size (@dynamic), one that is carried (@carried) and one in a scope of
// its own (@scope) stay. What a kernel allocates in its loop is allocated once
// (@kernel, @serial), but not in other functions (@no_kernel), nor where the size
// is computed in the kernel (@computed). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-hoist-allocas))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-hoist-allocas,polynest-hoist-allocas))' | FileCheck %s

// CHECK-LABEL: func @loop
//  CHECK-NEXT: %[[B:.+]] = memref.alloca() {alignment = 64 : i64} : memref<100xf32>
//       CHECK: affine.for
//   CHECK-NOT: memref.alloca
//       CHECK:   affine.store %{{.+}}, %[[B]]
//       CHECK: return
//      REMARK: [Passed] hoist-allocas
// REMARK-SAME: buffers=1
func.func @loop(%x: f32) {
  affine.for %i = 0 to 1000000 {
    %b = memref.alloca() {alignment = 64 : i64} : memref<100xf32>
    affine.store %x, %b[0] : memref<100xf32>
  }
  return
}

// CHECK-LABEL: func @view
//  CHECK-NEXT: memref.alloca
//       CHECK: scf.for
//       CHECK:   scf.if
//       CHECK:     memref.subview
//       CHECK: return
func.func @view(%x: f32, %n: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      %b = memref.alloca() : memref<100xf32>
      %v = memref.subview %b[1] [4] [1] : memref<100xf32> to memref<4xf32, strided<[1], offset: 1>>
      memref.store %x, %v[%c0] : memref<4xf32, strided<[1], offset: 1>>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: affine.for
//       CHECK:   memref.alloca
//       CHECK: return
//      REMARK: [Missed] hoist-allocas
func.func @dynamic(%n: index) {
  affine.for %i = 0 to 10 {
    %b = memref.alloca(%n) : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @carried
//       CHECK: scf.for
//       CHECK:   memref.alloca
//       CHECK: return
func.func @carried(%n: index, %a: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%m = %a) -> memref<4xf32> {
    %b = memref.alloca() : memref<4xf32>
    %v = memref.load %m[%c0] : memref<4xf32>
    memref.store %v, %b[%c0] : memref<4xf32>
    scf.yield %b : memref<4xf32>
  }
  return
}

// CHECK-LABEL: func @scope
//       CHECK: memref.alloca_scope
//       CHECK:   memref.alloca()
//       CHECK: return
func.func @scope(%x: f32) {
  affine.for %i = 0 to 10 {
    memref.alloca_scope {
      %b = memref.alloca() : memref<4xf32>
      affine.store %x, %b[0] : memref<4xf32>
    }
  }
  return
}

// CHECK-LABEL: func private @kernel
//  CHECK-NEXT: %[[B:.+]] = memref.alloc() : memref<100000xf32>
//       CHECK: affine.for
//   CHECK-NOT: memref.alloc
//       CHECK: affine.store %{{.+}}, %[[B]]
//       CHECK: return
func.func private @kernel(%begin: index, %end: index, %x: f32)
    attributes {polynest.kernel, polynest.grain = 1 : i64} {
  affine.for %i = %begin to %end {
    %b = memref.alloc() : memref<100000xf32>
    affine.store %x, %b[0] : memref<100000xf32>
  }
  return
}

// CHECK-LABEL: func @no_kernel
//       CHECK: affine.for
//  CHECK-NEXT: memref.alloc
//       CHECK: return
func.func @no_kernel(%begin: index, %end: index, %x: f32) {
  affine.for %i = %begin to %end {
    %b = memref.alloc() : memref<100000xf32>
    affine.store %x, %b[0] : memref<100000xf32>
  }
  return
}

// CHECK-LABEL: func private @serial
//  CHECK-SAME: (%[[N:.+]]: index,
//  CHECK-NEXT: memref.alloc(%[[N]]) : memref<32x?xf32>
//       CHECK: affine.for
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func private @serial(%n: index, %x: f32) attributes {polynest.kernel} {
  affine.for %i = 0 to 10 {
    %b = memref.alloc(%n) : memref<32x?xf32>
    affine.store %x, %b[0, 0] : memref<32x?xf32>
  }
  return
}

// CHECK-LABEL: func private @computed
//       CHECK: affine.for
//       CHECK: memref.alloc(
//       CHECK: return
func.func private @computed(%n: index, %x: f32)
    attributes {polynest.kernel, polynest.grain = 1 : i64} {
  affine.for %i = 0 to 10 {
    %size = arith.addi %n, %i : index
    %b = memref.alloc(%size) : memref<?xf32>
    affine.store %x, %b[0] : memref<?xf32>
  }
  return
}
