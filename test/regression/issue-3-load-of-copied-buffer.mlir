// Loads outside of loops are nodes of the nest graph; redirecting them to the
// source of a copy used to leave the graph with freed operations.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-eliminate-buffers)' | FileCheck %s
// CHECK-LABEL: func @f
//  CHECK-SAME: (%[[X:[^:]+]]: memref<8xf32>, %[[R:[^:]+]]: memref<f32> {polynest.result}, %[[Q:[^:]+]]: memref<f32> {polynest.result})
//       CHECK: %[[A:.+]] = affine.load %[[X]][1]
//       CHECK: affine.store %[[A]], %[[R]][]
//       CHECK: %[[B:.+]] = affine.load %[[X]][3]
//       CHECK: affine.store %[[B]], %[[Q]][]
//  CHECK-NEXT: return
func.func @f(%x: memref<8xf32>, %r: memref<f32> {polynest.result},
             %q: memref<f32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  %b = affine.load %t[1] : memref<8xf32>
  affine.store %b, %r[] : memref<f32>
  %c = affine.load %t[3] : memref<8xf32>
  affine.store %c, %q[] : memref<f32>
  return
}
