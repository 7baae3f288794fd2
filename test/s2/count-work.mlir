// Properties: operations count by the trips of the loops around them (@nest),
// lanes of vectors and both halves of a multiply-add too (@vector), integer
// ones do not (@integers); what runs an unknown number of times is reported as
// uncounted (@dynamic), and so is what never ends (@endless). Iterations with
// equal bounds inside are counted once (@repeated): there are too many to look at
// each. Nothing is changed.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-count-work))' --remarks-filter=count-work 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=flop= < %t.remarks
// RUN: polynest-opt %s > %t.before
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-count-work))' | diff %t.before -

// 4 * 3 products and sums, and 4 functions.
// CHECK-LABEL: func @nest
//      REMARK: count-work
// REMARK-SAME: flop=28
// REMARK-SAME: uncounted=0
func.func @nest(%a: memref<4x3xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 3 {
      %x = affine.load %a[%i, %j] : memref<4x3xf32>
      %y = arith.mulf %x, %x : f32
      %z = arith.addf %y, %x : f32
      affine.store %z, %a[%i, %j] : memref<4x3xf32>
    }
    %x = affine.load %a[%i, 0] : memref<4x3xf32>
    %y = math.exp %x : f32
    affine.store %y, %a[%i, 0] : memref<4x3xf32>
  }
  return
}

// 2 iterations of 8 lanes, 2 each.
// CHECK-LABEL: func @vector
//      REMARK: flop=32
// REMARK-SAME: uncounted=0
func.func @vector(%a: memref<16xf32>) {
  affine.for %i = 0 to 16 step 8 {
    %x = affine.vector_load %a[%i] : memref<16xf32>, vector<8xf32>
    %y = math.fma %x, %x, %x : vector<8xf32>
    affine.vector_store %y, %a[%i] : memref<16xf32>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @integers
func.func @integers(%a: memref<16xi32>) {
  affine.for %i = 0 to 16 {
    %x = affine.load %a[%i] : memref<16xi32>
    %y = arith.addi %x, %x : i32
    affine.store %y, %a[%i] : memref<16xi32>
  }
  return
}

// CHECK-LABEL: func @dynamic
//      REMARK: flop=0
// REMARK-SAME: uncounted=1
func.func @dynamic(%a: memref<?xf32>, %n: index) {
  affine.for %i = 0 to %n {
    %x = affine.load %a[%i] : memref<?xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %a[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @endless
//      REMARK: flop=0
// REMARK-SAME: uncounted=1
//      REMARK: flop=0
// REMARK-SAME: uncounted=1
func.func @endless(%a: memref<16xf32>) {
  affine.for %i = 0 to 16 step 0 {
    %x = affine.load %a[%i] : memref<16xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %a[%i] : memref<16xf32>
  }
  affine.parallel (%i) = (0) to (16) step (0) {
    %x = affine.load %a[%i] : memref<16xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %a[%i] : memref<16xf32>
  }
  return
}

// 7 * j mod 1000 takes each value once, 0 + .. + 999 = 499500; to it come 1000
// times i mod 4, each of which comes 100 times:
// 400 * 499500 + 100 * 1000 * (0 + 1 + 2 + 3).
// CHECK-LABEL: func @repeated
//      REMARK: flop=200400000
// REMARK-SAME: uncounted=0
func.func @repeated(%a: memref<1002xf32>) {
  affine.for %i = 0 to 400 {
    %r = affine.apply affine_map<(d0) -> (d0 mod 4)>(%i)
    affine.for %j = 0 to 1000 {
      affine.for %k = 0 to affine_map<(d0, d1) -> (d0 * 7 mod 1000 + d1)>(%j, %r) {
        %x = affine.load %a[%k] : memref<1002xf32>
        %y = arith.negf %x : f32
        affine.store %y, %a[%k] : memref<1002xf32>
      }
    }
  }
  return
}
