// Properties: operations on memrefs are left to the next stage.
// RUN: polynest-opt %s --polynest-decompose-tensor-ops | FileCheck %s

// CHECK-LABEL: func @map
//       CHECK: linalg.map
//       CHECK: return
func.func @map(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.map { math.exp } ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
