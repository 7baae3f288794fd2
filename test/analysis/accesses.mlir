// Properties: strides, ranges and footprints (@strides); views keep their base,
// and ranges of bytes tell views of one arena apart (@arena); an index that is
// loaded is indirect (@gather), and the footprint of such accesses is what they
// move, however large the buffer (@chosen); inputs may overlap each other, results nothing
// (@roles), nor inputs that results update (@updated).
// RUN: polynest-opt %s -o /dev/null --mlir-disable-threading \
// RUN:   --pass-pipeline='builtin.module(func.func(test-polynest-accesses))' \
// RUN:   | FileCheck %s

// CHECK-LABEL: accesses of @strides
// The column of an 8x16 buffer: 8 times 16 elements of 4 bytes for the nest.
//       CHECK: access 0: read affine.load {{.*}} range [0..7, 0..15] strides [1, 16] innermost strided
//       CHECK: access 1: write affine.store {{.*}} range [0..30] strides [2, 0] innermost invariant
//       CHECK: loop 0: trips 16, footprint 636
//       CHECK: loop 1: trips 8, footprint 36
func.func @strides(%A: memref<8x16xf32>, %B: memref<32xf32>) {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 8 {
      %a = affine.load %A[%j, %i] : memref<8x16xf32>
      affine.store %a, %B[%i * 2] : memref<32xf32>
    }
  }
  return
}

// CHECK-LABEL: accesses of @arena
//       CHECK: access 0: write {{.*}} distinct {{.*}} byte (d0) -> (d0 * 4)
//       CHECK: access 1: write {{.*}} distinct {{.*}} byte (d0) -> (d0 * 4 + 32)
//       CHECK: access 2: write {{.*}} distinct {{.*}} byte (d0) -> (d0 * 4 + 16)
//       CHECK: alias 0 1: no
//       CHECK: alias 0 2: may
//       CHECK: alias 1 2: may
func.func @arena(%x: f32, %R: memref<64xi8> {polynest.arena})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %a = memref.view %R[%c0][] : memref<64xi8> to memref<8xf32>
  %b = memref.view %R[%c32][] : memref<64xi8> to memref<8xf32>
  %c = memref.view %R[%c16][] : memref<64xi8> to memref<8xf32>
  affine.for %i = 0 to 8 {
    affine.store %x, %a[%i] : memref<8xf32>
    affine.store %x, %b[%i] : memref<8xf32>
    affine.store %x, %c[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: accesses of @gather
//       CHECK: access 0: read affine.load
//       CHECK: access 1: read memref.load {{.*}} indirect
//       CHECK: access 2: write memref.store {{.*}} (d0) -> (d0 + 1)
func.func @gather(%T: memref<8xindex>, %A: memref<16xf32>, %B: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  affine.for %i = 0 to 8 {
    %t = affine.load %T[%i] : memref<8xindex>
    %a = memref.load %A[%t] : memref<16xf32>
    %j = arith.addi %i, %c1 : index
    memref.store %a, %B[%j] : memref<16xf32>
  }
  return
}

// Rows of a table of which data choose 4: 16 elements of each by themselves and
// 8 of each at once, and 4 indices of 4 bytes.
// CHECK-LABEL: accesses of @chosen
//       CHECK: loop 0: trips 4, footprint 400
//       CHECK: loop 1: trips 16, footprint 64
// No more than the 3 elements of S, for either access: 40 runs reach them, and how
// often the loop of scf runs is not known. 4 indices again.
//       CHECK: loop 2: trips 40, footprint 40
//       CHECK: loop 3: trips 2, footprint 12
func.func @chosen(%T: memref<4xi32>, %A: memref<?x16xf32>, %S: memref<3xf32>,
                  %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  affine.for %i = 0 to 4 {
    %t = affine.load %T[%i] : memref<4xi32>
    %k = arith.index_cast %t : i32 to index
    affine.for %j = 0 to 16 {
      %a = memref.load %A[%k, %j] : memref<?x16xf32>
    }
    %v = vector.load %A[%k, %c0] : memref<?x16xf32>, vector<8xf32>
  }
  affine.for %i = 0 to 40 {
    %t = affine.load %T[%i mod 4] : memref<4xi32>
    %k = arith.index_cast %t : i32 to index
    %s = memref.load %S[%k] : memref<3xf32>
    affine.for %j = 0 to 2 {
      scf.for %l = %c0 to %n step %c1 {
        %u = memref.load %S[%l] : memref<3xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: accesses of @roles
//       CHECK: access 0: read affine.load read-only
//       CHECK: access 1: read affine.load mutable
//       CHECK: access 2: write affine.store distinct
//       CHECK: access 3: read affine.load allocation {{.*}} in source (d0) -> (0, d0)
//       CHECK: alias 0 1: may
//       CHECK: alias 0 2: no
//       CHECK: alias 0 3: no
//       CHECK: alias 1 2: no
func.func @roles(%A: memref<8xf32>, %M: memref<8xf32> {polynest.mutable},
                 %R: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %P = memref.alloc() : memref<1x8xf32>
  %p = memref.collapse_shape %P [[0, 1]] : memref<1x8xf32> into memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %m = affine.load %M[%i] : memref<8xf32>
    affine.store %a, %R[%i] : memref<8xf32>
    %q = affine.load %p[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: accesses of @updated
//       CHECK: access 0: read affine.load read-only
//       CHECK: access 1: read affine.load mutable
//       CHECK: access 2: write affine.store distinct
//       CHECK: alias 0 2: no
//       CHECK: alias 1 2: no
func.func @updated(%A: memref<8xf32>, %M: memref<8xf32> {polynest.mutable},
                   %U: memref<8xf32> {polynest.mutable, polynest.updated})
    attributes {polynest.entry} {
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    %m = affine.load %M[%i] : memref<8xf32>
    affine.store %a, %U[%i] : memref<8xf32>
  }
  return
}
