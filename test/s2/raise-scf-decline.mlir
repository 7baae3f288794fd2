// Properties: what is not affine stays, with a remark: a bound or index that is
// data (@data), unsigned comparison and other widths (@unsigned), a condition
// that may overflow (@overflow), truncating division of what may be negative
// (@negative), a disjunction (@either).
// RUN: polynest-opt %s --polynest-raise-scf --remarks-filter=raise-scf 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// REMARK: [Missed] raise-scf {{.*}}reason="bounds, condition or indices are not affine"

// CHECK-LABEL: func @data
//       CHECK: affine.for
//       CHECK: %[[N:.+]] = affine.load
//       CHECK: scf.for %[[J:.+]] = %{{.+}} to %[[N]]
//       CHECK: memref.store %{{.+}}, %{{.+}}[%[[J]]]
func.func @data(%n: memref<8xindex>, %a: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %e = memref.load %n[%i] : memref<8xindex>
    scf.for %j = %c0 to %e step %c1 {
      memref.store %x, %a[%j] : memref<?xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unsigned
//       CHECK: scf.for unsigned
//       CHECK: scf.for %{{.+}} : i32
func.func @unsigned(%n: index, %m: i32, %a: memref<f32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = arith.constant 0 : i32
  %d1 = arith.constant 1 : i32
  scf.for unsigned %i = %c0 to %n step %c1 {
    memref.store %x, %a[] : memref<f32>
  }
  scf.for %i = %d0 to %m step %d1 : i32 {
    memref.store %x, %a[] : memref<f32>
  }
  return
}

// CHECK-LABEL: func @overflow
//       CHECK: scf.if
func.func @overflow(%n: index, %a: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %p = arith.cmpi slt, %n, %i : index
    scf.if %p {
      memref.store %x, %a[%i] : memref<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @negative
//       CHECK: arith.divsi
//       CHECK: memref.store
func.func @negative(%a: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %j = arith.subi %i, %c1 : index
    %q = arith.divsi %j, %c2 : index
    memref.store %x, %a[%q] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @either
//       CHECK: scf.if
//       CHECK: else
func.func @either(%a: memref<8xf32>, %x: f32, %y: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %p = arith.cmpi eq, %i, %c0 : index
    %q = arith.cmpi eq, %i, %c4 : index
    %o = arith.ori %p, %q : i1
    scf.if %o {
      memref.store %x, %a[%i] : memref<8xf32>
    } else {
      memref.store %y, %a[%i] : memref<8xf32>
    }
  }
  return
}
