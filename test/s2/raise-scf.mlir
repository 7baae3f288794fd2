// Properties: bounds and indices follow index arithmetic (@loop); min and max
// become multi-result bounds (@bounds); carried values stay (@carried); affine
// conditions become sets, negations swap the branches (@branch, @swapped);
// parallel loops run in order, reductions are carried (@parallel, @forall);
// division keeps its meaning (@division).
// RUN: polynest-opt %s --polynest-raise-scf | FileCheck %s
// RUN: polynest-opt %s --polynest-raise-scf > %t.once
// RUN: polynest-opt %t.once --polynest-raise-scf | diff %t.once -

// CHECK-DAG: #[[$INSIDE:.+]] = affine_set<(d0)[s0] : (d0 - 2 >= 0, -d0 + s0 + 1 >= 0)>
// CHECK-DAG: #[[$FIRST:.+]] = affine_set<(d0) : (d0 == 0)>

// CHECK-LABEL: func @loop
//  CHECK-SAME: (%[[A:.+]]: memref<?xf32>, %[[N:.+]]: index)
//       CHECK: affine.for %[[I:.+]] = 0 to %[[N]] step 2
//       CHECK: %[[X:.+]] = affine.load %[[A]][%[[I]] * 3 + 1]
//  CHECK-NEXT: affine.store %[[X]], %[[A]][%[[I]]]
func.func @loop(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : i64
  scf.for %i = %c0 to %n step %c2 {
    %w = arith.index_cast %i : index to i64
    %t = arith.muli %w, %c3 : i64
    %k = arith.index_cast %t : i64 to index
    %j = arith.addi %k, %c1 : index
    %x = memref.load %a[%j] : memref<?xf32>
    memref.store %x, %a[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @bounds
//  CHECK-SAME: (%[[A:.+]]: memref<?xf32>, %[[N:.+]]: index, %{{.+}}: f32)
//       CHECK: affine.for %[[I:.+]] = 0 to %[[N]] step 8
//       CHECK: affine.for %[[J:.+]] = #{{.+}}(%[[I]]) to min #{{.+}}(%[[I]])[%[[N]]]
//       CHECK: affine.store %{{.+}}, %[[A]][%[[J]]]
func.func @bounds(%a: memref<?xf32>, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c8 {
    %e = arith.addi %i, %c8 : index
    %u = arith.minsi %e, %n : index
    scf.for %j = %i to %u step %c1 {
      memref.store %x, %a[%j] : memref<?xf32>
    }
  }
  return
}

// CHECK-LABEL: func @carried
//       CHECK: %[[R:.+]] = affine.for %[[I:.+]] = 0 to 8 iter_args(%[[S:.+]] = %{{.+}}) -> (f32)
//       CHECK: %[[X:.+]] = affine.load
//       CHECK: %[[T:.+]] = arith.addf %[[S]], %[[X]]
//  CHECK-NEXT: affine.yield %[[T]]
//       CHECK: return %[[R]]
func.func @carried(%a: memref<8xf32>, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %x) -> f32 {
    %v = memref.load %a[%i] : memref<8xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @branch
//       CHECK: affine.for %[[I:.+]] = 0 to
//       CHECK: affine.if #[[$INSIDE]](%[[I]])[%{{.+}}] -> f32
//       CHECK: affine.load %{{.+}}[%[[I]] - 2]
//       CHECK: else
//  CHECK-NEXT: affine.yield
func.func @branch(%a: memref<?xf32>, %b: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %m = memref.dim %b, %c0 : memref<?xf32>
  scf.for %i = %c0 to %m step %c1 {
    %j = arith.subi %i, %c2 : index
    %p = arith.cmpi sge, %j, %c0 : index
    %q = arith.cmpi slt, %j, %n : index
    %in = arith.andi %p, %q : i1
    %v = scf.if %in -> f32 {
      %l = memref.load %a[%j] : memref<?xf32>
      scf.yield %l : f32
    } else {
      scf.yield %x : f32
    }
    memref.store %v, %b[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @swapped
//       CHECK: affine.for %[[I:.+]] = 0 to 8
//       CHECK: affine.if #[[$FIRST]](%[[I]])
//  CHECK-NEXT: } else {
//  CHECK-NEXT: affine.store
func.func @swapped(%a: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %p = arith.cmpi ne, %i, %c0 : index
    scf.if %p {
      memref.store %x, %a[%i] : memref<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @parallel
//       CHECK: %[[R:.+]] = affine.for %[[I:.+]] = 0 to 4 iter_args(%[[S:.+]] = %{{.+}})
//       CHECK: %[[Q:.+]] = affine.for %[[J:.+]] = 0 to 8 step 2 iter_args(%[[T:.+]] = %[[S]])
//  CHECK-NEXT: %[[X:.+]] = affine.load %{{.+}}[%[[I]], %[[J]]]
//  CHECK-NEXT: %[[Y:.+]] = arith.mulf %[[T]], %[[X]]
//  CHECK-NEXT: affine.yield %[[Y]]
//       CHECK: affine.yield %[[Q]]
//       CHECK: return %[[R]]
func.func @parallel(%a: memref<4x8xf32>, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %r = scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c1, %c2)
      init (%x) -> f32 {
    %v = memref.load %a[%i, %j] : memref<4x8xf32>
    scf.reduce(%v : f32) {
    ^bb0(%l: f32, %h: f32):
      %m = arith.mulf %l, %h : f32
      scf.reduce.return %m : f32
    }
  }
  return %r : f32
}

// CHECK-LABEL: func @forall
//       CHECK: affine.for %[[I:.+]] = 0 to 4
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 8
//  CHECK-NEXT: affine.store %{{.+}}, %{{.+}}[%[[I]], %[[J]]]
func.func @forall(%a: memref<4x8xf32>, %x: f32) {
  scf.forall (%i, %j) in (4, 8) {
    memref.store %x, %a[%i, %j] : memref<4x8xf32>
  }
  return
}

// CHECK-LABEL: func @division
//       CHECK: affine.for %[[I:.+]] = 0 to 32
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[I]] floordiv 4, %[[I]] mod 4]
func.func @division(%a: memref<8x4xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    %q = arith.divsi %i, %c4 : index
    %r = arith.remui %i, %c4 : index
    memref.store %x, %a[%q, %r] : memref<8x4xf32>
  }
  return
}
