// Properties: a range and a mask computed from it become conditions where they are
// read (@mask), also of dynamic size (@dynamic, @longer) and with unit dimensions
// (@unit); a constant that fills a buffer is read as one (@filled), and an index
// as what it is where it is read (@index). Accesses at places that loops decide are
// affine, also where a number counts from the end (@window).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-recompute-indices))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=memref.alloc
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @mask
//       CHECK: affine.for %[[I:.+]] = 0 to 7 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 9 {
//  CHECK-NEXT: %[[X:.+]] = affine.load
//       CHECK: %[[R:.+]] = affine.apply #{{.+}}(%[[I]])
//       CHECK: %[[A:.+]] = arith.index_cast %[[J]] : index to i64
//       CHECK: %[[B:.+]] = arith.index_cast %[[R]] : index to i64
//       CHECK: %[[C:.+]] = arith.cmpi sle, %[[A]], %[[B]] : i64
//       CHECK: arith.select %[[C]], %[[X]]
//      REMARK: [Passed] recompute-indices
// REMARK-SAME: loads=2, operations=1, reason="elements computed where they are read"
//      REMARK: [Passed] recompute-indices
// REMARK-SAME: loads=1, operations=3
func.func @mask(%x: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %a = memref.alloc() : memref<10xi64>
  %m = memref.alloc() : memref<9x10xi1>
  affine.for %i = 0 to 10 {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<10xi64>
  }
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 9 {
      %0 = affine.load %a[%j] : memref<10xi64>
      %1 = affine.load %a[%i] : memref<10xi64>
      %2 = arith.cmpi sle, %0, %1 : i64
      affine.store %2, %m[%j, %i] : memref<9x10xi1>
    }
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = affine.load %m[%j, %i + 2] : memref<9x10xi1>
      %2 = arith.select %1, %0, %zero : f32
      affine.store %2, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: affine.for %[[I:.+]] = 0 to %{{.+}} {
//       CHECK: arith.index_cast %[[I]]
func.func @dynamic(%n: index, %x: memref<?xi64>, %r: memref<?xi64> {polynest.result}) {
  %a = memref.alloc(%n) : memref<?xi64>
  affine.for %i = 0 to %n {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<?xi64>
  }
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xi64>
    %1 = affine.load %a[%i] : memref<?xi64>
    %2 = arith.addi %0, %1 : i64
    affine.store %2, %r[%i] : memref<?xi64>
  }
  return
}

// One more than there are of %x, spelled in two ways.
// CHECK-LABEL: func @longer
//       CHECK: affine.for %[[I:.+]] = 0 to %{{.+}} {
//       CHECK: %[[N:.+]] = affine.apply #{{.+}}(%[[I]])
//       CHECK: arith.index_cast %[[N]]
func.func @longer(%x: memref<?xi64>, %r: memref<1xi64> {polynest.result}) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 7 : i64
  %n = memref.dim %x, %c0 : memref<?xi64>
  %m = arith.addi %n, %c1 : index
  %a = memref.alloc(%m) : memref<?xi64>
  affine.for %i = 0 to affine_map<()[s0] -> (s0 + 1)>()[%n] {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[%i] : memref<?xi64>
  }
  affine.store %zero, %r[0] : memref<1xi64>
  affine.for %i = 0 to %n {
    %0 = affine.load %x[%i] : memref<?xi64>
    %1 = affine.load %a[%i + 1] : memref<?xi64>
    %2 = arith.muli %0, %1 : i64
    %3 = affine.load %r[0] : memref<1xi64>
    %4 = arith.addi %2, %3 : i64
    affine.store %4, %r[0] : memref<1xi64>
  }
  return
}

// CHECK-LABEL: func @unit
//       CHECK: affine.for %[[I:.+]] = 0 to 5 {
//       CHECK: arith.index_cast %[[I]]
func.func @unit(%r: memref<5xi64> {polynest.result}) {
  %a = memref.alloc() : memref<1x5xi64>
  affine.for %i = 0 to 5 {
    %0 = arith.index_cast %i : index to i64
    affine.store %0, %a[0, %i] : memref<1x5xi64>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[0, %i] : memref<1x5xi64>
    affine.store %1, %r[%i] : memref<5xi64>
  }
  return
}

// CHECK-LABEL: func @filled
//       CHECK: %[[ONE:.+]] = arith.constant 1.0
//       CHECK: affine.for
//  CHECK-NEXT: affine.store %[[ONE]]
func.func @filled(%r: memref<5xf32> {polynest.result}) {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<5xf32>
  affine.for %i = 0 to 5 {
    affine.store %one, %a[%i] : memref<5xf32>
  }
  affine.for %i = 0 to 5 {
    %1 = affine.load %a[4 - %i] : memref<5xf32>
    affine.store %1, %r[%i] : memref<5xf32>
  }
  return
}

// CHECK-LABEL: func @index
//       CHECK: affine.for %[[I:.+]] = 0 to 2 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 5 {
//  CHECK-NEXT: %[[X:.+]] = affine.apply #{{.+}}(%[[I]], %[[J]])
//  CHECK-NEXT: affine.store %[[X]], %{{.+}}[%[[I]], %[[J]]]
func.func @index(%r: memref<2x5xindex> {polynest.result}) {
  %t = memref.alloc() : memref<10xindex>
  affine.for %i = 0 to 10 {
    affine.store %i, %t[%i] : memref<10xindex>
  }
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 5 {
      %x = affine.load %t[%i * 5 + %j] : memref<10xindex>
      affine.store %x, %r[%i, %j] : memref<2x5xindex>
    }
  }
  return
}


// Rows counted from the end where they are negative, which these are not: the
// window of five from the second is copied, and nothing is asserted.
// CHECK-LABEL: func @window
//       CHECK: affine.for %[[I:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 5 {
//  CHECK-NEXT: %[[X:.+]] = affine.load %{{.+}}[%[[I]] + 4, %[[I]] + %[[J]]] : memref<7x7xf32>
//  CHECK-NEXT: affine.store %[[X]], %{{.+}}[%[[J]], %[[I]]] : memref<5x3xf32>
//  CHECK-NEXT: }
//  CHECK-NEXT: }
//  CHECK-NEXT: return
//      REMARK: [Passed] recompute-indices {{.*}} reason="the assertion always holds"
//      REMARK: [Passed] recompute-indices {{.*}} reason="loops decide what is accessed"
//      REMARK: [Passed] recompute-indices {{.*}} reason="loops decide what is accessed"
func.func @window(%x: memref<7x7xf32>, %r: memref<5x3xf32> {polynest.result}) {
  %c0 = arith.constant 0 : i64
  %c7 = arith.constant 7 : i64
  %size = arith.constant 7 : index
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 5 {
      %0 = arith.index_cast %i : index to i64
      %1 = arith.index_cast %j : index to i64
      %2 = arith.addi %0, %1 : i64
      %3 = arith.cmpi slt, %2, %c0 : i64
      %4 = arith.addi %2, %c7 : i64
      %5 = arith.select %3, %4, %2 : i64
      %6 = arith.index_cast %5 : i64 to index
      %7 = arith.cmpi ult, %6, %size : index
      cf.assert %7, "index out of range"
      %8 = affine.apply affine_map<(d0) -> (d0 - 3)>(%i)
      %9 = arith.index_cast %8 : index to i64
      %10 = arith.cmpi slt, %9, %c0 : i64
      %11 = arith.addi %9, %c7 : i64
      %12 = arith.select %10, %11, %9 : i64
      %13 = arith.index_cast %12 : i64 to index
      %14 = memref.load %x[%13, %6] : memref<7x7xf32>
      memref.store %14, %r[%j, %i] : memref<5x3xf32>
    }
  }
  return
}
