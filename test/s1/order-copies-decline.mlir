// Properties: copies in good order stay (@good), and so do those after which
// something else has an effect (@effect) or that do not go to results (@inner).
// RUN: polynest-opt %s -o %t.plain
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-order-copies))' | diff %t.plain -

func.func @good(%a: memref<4xf32> {polynest.result},
                %b: memref<4xf32> {polynest.result}) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %t, %a : memref<4xf32> to memref<4xf32>
  return
}

func.func @effect(%a: memref<4xf32> {polynest.result},
                  %b: memref<4xf32> {polynest.result}, %x: memref<f32>,
                  %f: f32) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %t, %a : memref<4xf32> to memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.store %f, %x[] : memref<f32>
  return
}

func.func @inner(%a: memref<4xf32>, %b: memref<4xf32>) {
  %t = memref.alloc() : memref<4xf32>
  memref.copy %t, %a : memref<4xf32> to memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}
