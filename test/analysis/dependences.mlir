// Properties: what stands above each function. The cases are those that made
// comparable analyses answer wrongly; distances are sink minus source.
// RUN: polynest-opt %s -o /dev/null --mlir-disable-threading \
// RUN:   --pass-pipeline='builtin.module(func.func(test-polynest-dependences))' \
// RUN:   | FileCheck %s

// B068: a view is the buffer it was cast from.
// CHECK-LABEL: dependences of @view_alias{{$}}
//       CHECK: dep 1 0: level 0 [1,1]
//       CHECK: parallel 0: illegal
func.func @view_alias(%A: memref<12xf32>) {
  %V = memref.reinterpret_cast %A to offset: [0], sizes: [12], strides: [1] : memref<12xf32> to memref<12xf32, strided<[1]>>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<12xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %V[%i + 1] : memref<12xf32, strided<[1]>>
  }
  return
}

// B069: merging is fine, running the producer again is not.
// CHECK-LABEL: dependences of @in_place{{$}}
//       CHECK: reorder 0 1: illegal
//       CHECK: recompute 0: illegal
//       CHECK: fuse 0 1 depth 1: legal
//       CHECK: slice depth 1: (d0) -> (d0) to (d0) -> (d0 + 1) exact
func.func @in_place(%P: memref<6xf32>, %D: memref<6xf32> {polynest.result}, %c: f32) {
  affine.for %i = 0 to 6 {
    %a = affine.load %P[%i] : memref<6xf32>
    %b = arith.mulf %a, %c : f32
    affine.store %b, %P[%i] : memref<6xf32>
  }
  affine.for %i = 0 to 3 {
    %a = affine.load %P[%i] : memref<6xf32>
    affine.store %a, %D[%i] : memref<6xf32>
  }
  return
}

// B070: a late read of what the consumer writes early.
// CHECK-LABEL: dependences of @first_element{{$}}
//       CHECK: fuse 0 1 depth 1: illegal
func.func @first_element(%A: memref<4xf32>, %C: memref<4xf32>) {
  %S = memref.alloc() : memref<4xf32>
  affine.for %p = 0 to 4 {
    %a = affine.load %A[0] : memref<4xf32>
    %c = affine.load %C[%p] : memref<4xf32>
    %s = arith.addf %a, %c : f32
    affine.store %s, %S[%p] : memref<4xf32>
  }
  affine.for %p = 0 to 4 {
    %s = affine.load %S[%p] : memref<4xf32>
    affine.store %s, %A[%p] : memref<4xf32>
  }
  return
}

// B073: a vector touches all of its lanes.
// CHECK-LABEL: dependences of @vector_lanes{{$}}
//       CHECK: fuse 0 1 depth 1: illegal
//       CHECK: slice depth 1: (d0) -> (0) to (d0) -> (4) exact
func.func @vector_lanes(%x: vector<2xf32>) {
  %C = memref.alloc() : memref<8xf32>
  affine.for %j = 0 to 4 {
    affine.vector_store %x, %C[%j * 2] : memref<8xf32>, vector<2xf32>
  }
  affine.for %j = 0 to 4 {
    %v = affine.vector_load %C[0] : memref<8xf32>, vector<8xf32>
  }
  return
}

// B076: distance (1, -1).
// CHECK-LABEL: dependences of @anti_diagonal{{$}}
//       CHECK: dep 1 0: level 0 [1,1][-1,-1]
//       CHECK: parallel 0: illegal
//       CHECK: tile 0 depth 2: illegal
//       CHECK: permute 0 to 1,0: illegal
//       CHECK: parallel 1: legal
func.func @anti_diagonal(%A: memref<8x8xf32>, %f: f32) {
  affine.for %i = 1 to 7 {
    affine.for %j = 0 to 6 {
      %a = affine.load %A[%i - 1, %j + 1] : memref<8x8xf32>
      affine.store %a, %A[%i, %j] : memref<8x8xf32>
    }
  }
  return
}

// B077: the same under a product of symbols.
// CHECK-LABEL: dependences of @anti_diagonal_product{{$}}
//       CHECK: dep 1 0: level 0 [1,1][-1,-1]
//       CHECK: tile 0 depth 2: illegal
//       CHECK: permute 0 to 1,0: illegal
func.func @anti_diagonal_product(%A: memref<?x8x8xf32>, %s: index, %t: index) {
  affine.for %i = 1 to 7 {
    affine.for %j = 0 to 6 {
      %a = affine.load %A[symbol(%s) * symbol(%t), %i - 1, %j + 1] : memref<?x8x8xf32>
      affine.store %a, %A[symbol(%s) * symbol(%t), %i, %j] : memref<?x8x8xf32>
    }
  }
  return
}

// B078: a loop that never runs touches nothing.
// CHECK-LABEL: dependences of @never_runs{{$}}
//       CHECK: dep 0 1: none; overlap no
//       CHECK: reorder 0 1: legal
func.func @never_runs(%A: memref<2xf32>, %x: f32) {
  affine.for %i = 5 to 2 {
    affine.store %x, %A[0] : memref<2xf32>
  }
  affine.for %i = 0 to 2 {
    affine.store %x, %A[%i] : memref<2xf32>
  }
  return
}

// B079: affine and plain stores are both seen.
// CHECK-LABEL: dependences of @plain_store{{$}}
//       CHECK: dep 0 0: level 0 [1,3]
//       CHECK: dep 0 1: none
//       CHECK: dep 1 1: level 0 [1,3]
//       CHECK: parallel 0: illegal
func.func @plain_store(%A: memref<4xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  affine.for %i = 0 to 4 {
    affine.store %x, %A[1] : memref<4xf32>
    memref.store %x, %A[%c0] : memref<4xf32>
  }
  return
}

func.func private @opaque(memref<4xf32>)

// B074: a call touches all but private memory.
// CHECK-LABEL: dependences of @call{{$}}
//       CHECK: dep 0 2: level 0 ; overlap may
//       CHECK: dep 1 2: none
//       CHECK: dep 1 6: level 0
//       CHECK: reorder 0 1: illegal
//       CHECK: reorder 1 2: legal
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

// Steps that interleave, and a negative stride.
// CHECK-LABEL: dependences of @steps{{$}}
//       CHECK: dep 0 1: none
//       CHECK: parallel 0: legal
//       CHECK: recompute 0: legal
func.func @steps(%A: memref<32xf32>, %x: f32) {
  affine.for %i = 0 to 16 step 2 {
    %a = affine.load %A[%i + 1] : memref<32xf32>
    affine.store %a, %A[%i] : memref<32xf32>
  }
  affine.for %i = 0 to 8 {
    affine.store %x, %A[-%i + 7] : memref<32xf32>
  }
  return
}

// B067 kind: two index tuples of one element.
// CHECK-LABEL: dependences of @overlapping_layout{{$}}
//       CHECK: dep 0 0: level 0 [1,3][-3,-1]
//       CHECK: parallel 0: illegal
//       CHECK: parallel 1: legal
func.func @overlapping_layout(%A: memref<16xf32>, %x: f32) {
  %V = memref.reinterpret_cast %A to offset: [0], sizes: [4, 4], strides: [1, 1] : memref<16xf32> to memref<4x4xf32, strided<[1, 1]>>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 4 {
      affine.store %x, %V[%i, %j] : memref<4x4xf32, strided<[1, 1]>>
    }
  }
  return
}

// B072: a copy into a part stays between.
// CHECK-LABEL: dependences of @copy_between{{$}}
//       CHECK: dep 0 2: level 0
//       CHECK: dep 2 3: level 0
//       CHECK: reorder 0 1: illegal
//       CHECK: reorder 1 2: illegal
func.func @copy_between(%S: memref<4xf32>) {
  %B = memref.alloc() : memref<6xf32>
  %O = memref.alloc() : memref<6xf32>
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 6 {
    affine.store %z, %B[%i] : memref<6xf32>
  }
  %V = memref.subview %B[1] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1], offset: 1>>
  memref.copy %S, %V : memref<4xf32> to memref<4xf32, strided<[1], offset: 1>>
  affine.for %i = 0 to 6 {
    %b = affine.load %B[%i] : memref<6xf32>
    affine.store %b, %O[%i] : memref<6xf32>
  }
  return
}

// A reduction in memory.
// CHECK-LABEL: dependences of @matmul{{$}}
//       CHECK: tile 0 depth 3: legal
//       CHECK: permute 0 to 2,1,0: legal
//       CHECK: parallel 1: legal
//       CHECK: parallel 2: illegal
//       CHECK: reductions 2: addf in memory
//       CHECK: parallel but for reductions 2: legal
func.func @matmul(%A: memref<8x16xf32> , %B: memref<16x4xf32>, %C: memref<8x4xf32> {polynest.result}) attributes {polynest.entry} {
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

// A carried reduction.
// CHECK-LABEL: dependences of @row_max{{$}}
//       CHECK: parallel 1: illegal
//       CHECK: reductions 1: maximumf carried
//       CHECK: parallel but for reductions 1: legal
func.func @row_max(%A: memref<8x16xf32>, %C: memref<8xf32> {polynest.result}) attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %m = affine.for %k = 0 to 16 iter_args(%x = %z) -> f32 {
      %a = affine.load %A[%i, %k] : memref<8x16xf32>
      %s = arith.maximumf %x, %a : f32
      affine.yield %s : f32
    }
    affine.store %m, %C[%i] : memref<8xf32>
  }
  return
}

// A - x is no reduction of x.
// CHECK-LABEL: dependences of @not_a_reduction{{$}}
//       CHECK: parallel 0: illegal (loop carries a value in iter_args)
func.func @not_a_reduction(%A: memref<16xf32>, %z: f32) -> f32 {
  %m = affine.for %k = 0 to 16 iter_args(%x = %z) -> f32 {
    %a = affine.load %A[%k] : memref<16xf32>
    %s = arith.subf %a, %x : f32
    affine.yield %s : f32
  }
  return %m : f32
}

// Memory of one iteration.
// CHECK-LABEL: dependences of @private_row{{$}}
//       CHECK: dep 0 1: level 1 [0,0]
//       CHECK: parallel 0: legal
func.func @private_row(%A: memref<8x16xf32>, %z: f32) {
  affine.for %i = 0 to 8 {
    %t = memref.alloc() : memref<16xf32>
    affine.for %j = 0 to 16 {
      affine.store %z, %t[%j] : memref<16xf32>
    }
    affine.for %j = 0 to 16 {
      %a = affine.load %t[%j] : memref<16xf32>
      affine.store %a, %A[%i, %j] : memref<8x16xf32>
    }
  }
  return
}

// Blocks of 8 that the loop inside fills, at any place of the loop outside.
// CHECK-LABEL: dependences of @blocks{{$}}
//       CHECK: parallel 0: legal
//       CHECK: parallel 1: legal
//       CHECK: parallel 2: legal
func.func @blocks(%A: memref<8x64xf32> {polynest.result}, %c: f32) {
  affine.for %o = 0 to 8 {
    affine.for %i = 0 to 8 {
      affine.for %k = 0 to 8 {
        affine.store %c, %A[%o, %i * -8 + 63 - %k] : memref<8x64xf32>
      }
    }
  }
  return
}

// The same with one element in common with the next block.
// CHECK-LABEL: dependences of @wide_blocks{{$}}
//       CHECK: parallel 0: legal
//       CHECK: parallel 1: illegal
//       CHECK: parallel 2: legal
func.func @wide_blocks(%A: memref<8x73xf32> {polynest.result}, %c: f32) {
  affine.for %o = 0 to 8 {
    affine.for %i = 0 to 8 {
      affine.for %k = 0 to 9 {
        affine.store %c, %A[%o, %i * 8 + %k] : memref<8x73xf32>
      }
    }
  }
  return
}

// And with vectors: four lanes from 4 on end with the block, from 5 on do not.
// CHECK-LABEL: dependences of @vector_blocks{{$}}
//       CHECK: parallel 0: legal
//       CHECK: parallel 1: legal
//       CHECK: parallel 2: illegal
//       CHECK: parallel 3: illegal
func.func @vector_blocks(%A: memref<73xf32> {polynest.result}, %v: vector<4xf32>) {
  affine.for %i = 0 to 64 step 8 {
    affine.for %k = 0 to 5 step 4 {
      affine.vector_store %v, %A[%i + %k] : memref<73xf32>, vector<4xf32>
    }
  }
  affine.for %i = 0 to 64 step 8 {
    affine.for %k = 0 to 6 {
      affine.vector_store %v, %A[%i + %k] : memref<73xf32>, vector<4xf32>
    }
  }
  return
}

// What is made in an iteration is that iteration's, however it is indexed.
// CHECK-LABEL: dependences of @own_buffer{{$}}
//       CHECK: parallel 0: legal
//       CHECK: parallel 1: illegal
func.func @own_buffer(%A: memref<64xf32> {polynest.result}, %c: f32) {
  affine.for %i = 0 to 64 {
    %b = memref.alloc() : memref<8xf32>
    affine.for %k = 0 to 64 {
      affine.store %c, %b[%k floordiv 8] : memref<8xf32>
    }
    %x = affine.load %b[%i mod 8] : memref<8xf32>
    affine.store %x, %A[%i] : memref<64xf32>
  }
  return
}

// Quotient and rest of one number name it, if vectors end within the row.
// CHECK-LABEL: dependences of @parts{{$}}
//       CHECK: parallel 0: legal
//       CHECK: parallel 1: illegal
func.func @parts(%A: memref<4x64xf32> {polynest.result}, %B: memref<4x72xf32> {polynest.result}, %v: vector<8xf32>) {
  affine.for %i = 0 to 256 step 8 {
    affine.vector_store %v, %A[%i floordiv 64, %i mod 64] : memref<4x64xf32>, vector<8xf32>
  }
  affine.for %i = 0 to 256 step 4 {
    affine.vector_store %v, %B[%i floordiv 64, %i mod 64] : memref<4x72xf32>, vector<8xf32>
  }
  return
}
