// Properties: a row that is the sum of two operands is computed again in each later
// loop of the row (@sum), at the place that is read there (@shifted), also where it
// has two dimensions (@tile), a size that is not known (@dynamic), or is computed
// from another row that went away (@chain); a nest that only filled it goes
// with it.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-recompute-rows))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=memref.alloc
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @sum
//       CHECK: affine.for %[[I:.+]] = 0 to 7 {
//       CHECK: affine.for %[[J:.+]] = 0 to 9 iter_args
//   CHECK-NOT: affine.store
//       CHECK: affine.for %[[K:.+]] = 0 to 9 {
//  CHECK-NEXT: %[[X:.+]] = affine.load %arg0[%[[I]], %[[K]]]
//  CHECK-NEXT: %[[Y:.+]] = affine.load %arg1[%[[I]], %[[K]]]
//  CHECK-NEXT: %[[S:.+]] = arith.addf %[[X]], %[[Y]]
//  CHECK-NEXT: %[[D:.+]] = arith.subf %[[S]], %{{.+}}
//  CHECK-NEXT: affine.store %[[D]], %arg2
//      REMARK: [Passed] recompute-rows
// REMARK-SAME: loads=1, operations=3, reason="rows computed again where they are read"
func.func @sum(%x: memref<7x9xf32>, %y: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    %m = affine.for %j = 0 to 9 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = affine.load %y[%i, %j] : memref<7x9xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %p[%j] : memref<9xf32>
      %3 = arith.addf %2, %a : f32
      affine.yield %3 : f32
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xf32>
      %1 = arith.subf %0, %m : f32
      affine.store %1, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @shifted
//       CHECK: affine.for %[[I:.+]] = 0 to 7 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 4 {
//  CHECK-NEXT: affine.load %arg0[%[[I]], %[[J]] * 2 + 1]
//  CHECK-NEXT: affine.load %arg1[%[[I]] + 1, %[[J]] * -2 + 7]
func.func @shifted(%x: memref<7x9xf32>, %y: memref<8x9xf32>, %r: memref<7x4xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloc() : memref<9xf32>
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = affine.load %y[%i + 1, 8 - %j] : memref<8x9xf32>
      %2 = arith.mulf %0, %1 : f32
      affine.store %2, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 4 {
      %0 = affine.load %p[%j * 2 + 1] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x4xf32>
    }
  }
  return
}

// CHECK-LABEL: func @tile
//       CHECK: affine.for %[[A:.+]] = 0 to 5 {
//  CHECK-NEXT: affine.for %[[B:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.load %arg0[%{{.+}}, %[[B]], %[[A]]]
func.func @tile(%x: memref<7x3x5xf32>, %r: memref<7x5x3xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<5x3xf32>
    affine.for %a = 0 to 3 {
      affine.for %b = 0 to 5 {
        %0 = affine.load %x[%i, %a, %b] : memref<7x3x5xf32>
        %1 = arith.negf %0 : f32
        affine.store %1, %p[%b, %a] : memref<5x3xf32>
      }
    }
    affine.for %a = 0 to 5 {
      affine.for %b = 0 to 3 {
        %0 = affine.load %p[%a, %b] : memref<5x3xf32>
        affine.store %0, %r[%i, %a, %b] : memref<7x5x3xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: arith.addf
//       CHECK: return
func.func @dynamic(%x: memref<7x?xf32>, %r: memref<7x?xf32> {polynest.result}) attributes {polynest.entry} {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<7x?xf32>
  affine.for %i = 0 to 7 {
    %p = memref.alloc(%n) : memref<?xf32>
    affine.for %j = 0 to %n {
      %0 = affine.load %x[%i, %j] : memref<7x?xf32>
      %1 = arith.addf %0, %0 : f32
      affine.store %1, %p[%j] : memref<?xf32>
    }
    affine.for %j = 0 to %n {
      %0 = affine.load %p[%j] : memref<?xf32>
      affine.store %0, %r[%i, %j] : memref<7x?xf32>
    }
  }
  return
}

// CHECK-LABEL: func @chain
//       CHECK: affine.for %[[I:.+]] = 0 to 7 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 9 {
//  CHECK-NEXT: %[[X:.+]] = affine.load %arg0[%[[I]], %[[J]]]
//  CHECK-NEXT: %[[N:.+]] = arith.negf %[[X]]
//  CHECK-NEXT: %[[Y:.+]] = affine.load %arg1[%[[I]], %[[J]]]
//  CHECK-NEXT: %[[S:.+]] = arith.addf %[[N]], %[[Y]]
//  CHECK-NEXT: affine.store %[[S]], %arg2
func.func @chain(%x: memref<7x9xf32>, %y: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    %q = memref.alloca() : memref<9xf32>
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = arith.negf %0 : f32
      affine.store %1, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xf32>
      %1 = affine.load %y[%i, %j] : memref<7x9xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %q[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %q[%j] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}
