// Properties: the head of a loop gets its trips and one as weights, by rounding
// up where steps do not divide it (@steps), and with a bound that is the least
// of a constant and what is not known (@least). Left alone are bounds or begins
// that are not known (@unknown, @begin), loops that never run (@never), other
// comparisons (@other), conditions of no loop (@choice) and weights that are
// there (@given).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(convert-scf-to-cf,polynest-weigh-branches))' | FileCheck %s

// CHECK-LABEL: func.func @steps
//       CHECK: cf.cond_br %{{.+}} weights([22, 1])
//       CHECK: cf.cond_br %{{.+}} weights([64, 1])
func.func @steps(%m: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c3 {
    scf.for %j = %c0 to %c64 step %c1 {
      memref.store %v, %m[%j] : memref<?xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func @least
//       CHECK: cf.cond_br %{{.+}} weights([5, 1])
func.func @least(%m: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %a = arith.minsi %n, %c5 : index
  %b = arith.minsi %c9, %a : index
  scf.for %i = %c0 to %b step %c1 {
    memref.store %v, %m[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @unknown
//   CHECK-NOT: weights
//       CHECK: return
func.func @unknown(%m: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    memref.store %v, %m[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @begin
//   CHECK-NOT: weights
//       CHECK: return
func.func @begin(%m: memref<?xf32>, %v: f32, %n: index) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %n to %c64 step %c1 {
    memref.store %v, %m[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @never
//   CHECK-NOT: weights
//       CHECK: return
func.func @never(%m: memref<?xf32>, %v: f32, %n: index) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c64 to %c64 step %c1 {
    memref.store %v, %m[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func.func @other
//   CHECK-NOT: weights
//       CHECK: return
func.func @other(%m: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi ne, %i, %c64 : index
  cf.cond_br %more, ^body, ^end
^body:
  memref.store %v, %m[%i] : memref<?xf32>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^end:
  return
}

// CHECK-LABEL: func.func @choice
//   CHECK-NOT: weights
//       CHECK: return
func.func @choice(%m: memref<?xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %few = arith.cmpi slt, %n, %c64 : index
  cf.cond_br %few, ^body, ^end
^body:
  memref.store %v, %m[%c0] : memref<?xf32>
  cf.br ^end
^end:
  return
}

// CHECK-LABEL: func.func @given
//       CHECK: cf.cond_br %{{.+}} weights([2, 7])
func.func @given(%m: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  cf.br ^head(%c0 : index)
^head(%i: index):
  %more = arith.cmpi slt, %i, %c64 : index
  cf.cond_br %more weights([2, 7]), ^body, ^end
^body:
  memref.store %v, %m[%i] : memref<?xf32>
  %next = arith.addi %i, %c1 : index
  cf.br ^head(%next : index)
^end:
  return
}
