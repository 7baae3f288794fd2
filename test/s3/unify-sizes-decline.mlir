// Properties: a function of several blocks is left as it is.
// RUN: polynest-opt %s --polynest-unify-sizes | FileCheck %s

// CHECK-LABEL: func @blocks
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>
//       CHECK: memref.alloc(%{{.+}})
//       CHECK: %[[M:.+]] = memref.dim %[[Y]]
//       CHECK: memref.alloc(%[[M]])
func.func @blocks(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %k = memref.dim %y, %c0 : memref<?xf32>
  %same = arith.cmpi eq, %n, %k : index
  cf.assert %same, "sizes differ"
  %a = memref.alloc(%n) : memref<?xf32>
  cf.br ^next
^next:
  %m = memref.dim %y, %c0 : memref<?xf32>
  %b = memref.alloc(%m) : memref<?xf32>
  return
}
