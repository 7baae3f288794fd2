// Properties: edges go through the buffer that joins two nests (@chain); a full
// write ends what came before it (@overwritten); a call orders everything but
// private memory (@call); all readers of what is overwritten come before
// (@readers); kinds come from the access patterns. After random
// changes the graph is what a rebuild gives.
// RUN: polynest-opt %s -o /dev/null --mlir-disable-threading \
// RUN:   --pass-pipeline='builtin.module(func.func(test-polynest-nest-graph))' \
// RUN:   | FileCheck %s
// RUN: polynest-opt %s -o /dev/null --pass-pipeline='builtin.module(func.func(test-polynest-nest-graph{mutate quiet}))'

// CHECK-LABEL: graph of @chain
//       CHECK: node 0: nest affine.for kind=pointwise trips=[8]
//  CHECK-SAME: bytes=64 flops=8
//  CHECK-NEXT: flow -> 1 through %{{.*}}
//  CHECK-NEXT: node 1: nest affine.for kind=reduction
//  CHECK-NEXT: node 2:
func.func @chain(%A: memref<8xf32>, %R: memref<f32> {polynest.result},
                 %Q: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    %r = affine.load %R[] : memref<f32>
    %s = arith.addf %a, %r : f32
    affine.store %s, %R[] : memref<f32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    affine.store %a, %Q[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: graph of @overwritten
//       CHECK: node 0:
//  CHECK-NEXT: output -> 1
//  CHECK-NEXT: node 1:
//  CHECK-SAME: covers=1
//  CHECK-NEXT: flow -> 2
//  CHECK-NEXT: node 2: nest affine.for kind=stencil
func.func @overwritten(%x: f32, %Q: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<9xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %t[%i] : memref<9xf32>
  }
  affine.for %i = 0 to 9 {
    affine.store %x, %t[%i] : memref<9xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<9xf32>
    %b = affine.load %t[%i + 1] : memref<9xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %Q[%i] : memref<8xf32>
  }
  return
}

func.func private @opaque(memref<4xf32>)

// CHECK-LABEL: graph of @call
//       CHECK: node 0:
//       CHECK: flow -> 1 through memory
//  CHECK-NEXT: flow -> 2 through %{{.*}}
//  CHECK-NEXT: node 1: opaque func.call
//  CHECK-SAME: touches-all
//   CHECK-NOT: -> 2
//       CHECK: flow -> 3 through memory
//       CHECK: node 2:
//       CHECK: node 3:
func.func @call(%A: memref<4xf32>, %x: f32) {
  %P = memref.alloc() : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %x, %A[%i] : memref<4xf32>
    affine.store %x, %P[%i] : memref<4xf32>
  }
  func.call @opaque(%A) : (memref<4xf32>) -> ()
  affine.for %i = 0 to 4 {
    %a = affine.load %P[%i] : memref<4xf32>
  }
  affine.for %i = 0 to 4 {
    %a = affine.load %A[%i] : memref<4xf32>
  }
  return
}

// CHECK-LABEL: graph of @matmul
//       CHECK: kind=matmul trips=[8,4,16] {{.*}} bytes=896 flops=1024
func.func @matmul(%A: memref<8x16xf32>, %B: memref<16x4xf32>,
                  %C: memref<8x4xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      affine.for %k = 0 to 16 {
        %a = affine.load %A[%i, %k] : memref<8x16xf32>
        %b = affine.load %B[%k, %j] : memref<16x4xf32>
        %c = affine.load %C[%i, %j] : memref<8x4xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<8x4xf32>
      }
    }
  }
  return
}

// Both readers come before the write of what they read.
// CHECK-LABEL: graph of @readers
//       CHECK: node 0:
//  CHECK-NEXT: anti -> 2 through %{{.*}}
//  CHECK-NEXT: node 1:
//  CHECK-NEXT: anti -> 2 through %{{.*}}
//  CHECK-NEXT: node 2:
func.func @readers(%x: f32, %A: memref<8xf32> {polynest.mutable},
                   %P: memref<8xf32> {polynest.result},
                   %Q: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    affine.store %a, %P[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    affine.store %a, %Q[7 - %i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    affine.store %x, %A[%i] : memref<8xf32>
  }
  return
}

// The vector stands still where the result moves: nothing for tiles to reuse.
// CHECK-LABEL: graph of @matvec
//       CHECK: node 0: nest affine.for kind=reduction
func.func @matvec(%A: memref<4x8xf32>, %x: memref<8xf32>,
                  %y: memref<4xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4 {
    affine.for %k = 0 to 8 {
      %a = affine.load %A[%i, %k] : memref<4x8xf32>
      %b = affine.load %x[%k] : memref<8xf32>
      %c = affine.load %y[%i] : memref<4xf32>
      %p = arith.mulf %a, %b : f32
      %s = arith.addf %c, %p : f32
      affine.store %s, %y[%i] : memref<4xf32>
    }
  }
  return
}
