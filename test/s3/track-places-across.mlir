// Properties: nests that combine rows into maxima and the places of these become one
// (@rows), which is streamed (STREAM) and gives the same as before; they stay where the
// maxima begin with what some value may lie below (@begins), where another column's
// maximum is asked for (@turned), and where values change in between (@written).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-track-places))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-track-places))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-track-places,polynest-stream-reductions))' | FileCheck %s --check-prefix=STREAM
// RUN: %npy %t.npy f4 "130,300" "3 nan 1 -inf 0 -0.0 inf 2 2 nan -inf 5 5"
// RUN: polynestc run --check %s --entry rows --input %t.npy
// RUN: polynestc run --check %s --entry rows
// RUN: polynestc run --check %s --entry begins --input %t.npy
// RUN: polynestc run --check %s --entry turned --input %t.npy
// RUN: polynestc run --check %s --entry written --input %t.npy
// RUN: %npy %t.low.npy f4 "130,300" "-inf"
// RUN: polynestc run --check %s --entry rows --input %t.low.npy

// What fills the results is gone. Columns that lie 300 elements apart are read in
// groups of eight rows again, of which each half is searched apart.
// REMARK: the loop that finds an extreme finds its place
// CHECK-LABEL: func @rows
//   CHECK-NOT: affine.store
//       CHECK: affine.for %[[N:.+]] = 0 to 300
//   CHECK-NOT:   affine.load
//       CHECK:   %[[F:.+]]:2 = affine.for %[[K:.+]] = 0 to 130 iter_args(%[[M:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}}) -> (f32, i32)
//       CHECK:     %[[X:.+]] = affine.load %{{.+}}[%[[K]], %[[N]]]
//       CHECK:     arith.cmpf ugt, %[[X]], %[[M]]
//       CHECK:   affine.store %[[F]]#0, %{{.+}}[%[[N]]] : memref<300xf32>
//   CHECK-NOT: affine.for
//       CHECK:   affine.store %{{.+}}, %{{.+}}[%[[N]]] : memref<300xi64>
//       CHECK: return
// STREAM-LABEL: func @rows
//       STREAM: memref.alloc() {{.+}} : memref<300xf32>
//       STREAM: memref.alloc() {{.+}} : memref<300xi32>
//       STREAM: affine.for %{{.+}} = 0 to 128 step 8
//       STREAM: affine.for %{{.+}} = 0 to 300
// STREAM-COUNT-8: arith.cmpf ugt
//       STREAM: affine.for %{{.+}} = 0 to 300
// STREAM-COUNT-2: arith.cmpf ugt
//   STREAM-NOT: arith.cmpf ugt
//       STREAM: return
func.func @rows(%X: memref<130x300xf32>, %Y: memref<300xi64> {polynest.result},
                  %Z: memref<300xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 130 : i64
  %most = arith.constant 9223372036854775807 : i64
  affine.for %n = 0 to 300 {
    affine.store %low, %Z[%n] : memref<300xf32>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %t = arith.maximumf %x, %m : f32
      affine.store %t, %Z[%n] : memref<300xf32>
    }
  }
  affine.for %n = 0 to 300 {
    affine.store %most, %Y[%n] : memref<300xi64>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %e = arith.cmpf oeq, %x, %m : f32
      %u = arith.cmpf une, %x, %x : f32
      %c = arith.ori %e, %u : i1
      %i = arith.index_cast %k : index to i64
      %s = arith.select %c, %i, %none : i64
      %p = affine.load %Y[%n] : memref<300xi64>
      %q = arith.minsi %s, %p : i64
      affine.store %q, %Y[%n] : memref<300xi64>
    }
  }
  return
}

// REMARK: the extreme may be what it begins with
// CHECK-LABEL: func @begins
// CHECK-COUNT-2: affine.for %{{.+}} = 0 to 130
//       CHECK: return
func.func @begins(%X: memref<130x300xf32>, %Y: memref<300xi64> {polynest.result},
                  %Z: memref<300xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 130 : i64
  %most = arith.constant 9223372036854775807 : i64
  affine.for %n = 0 to 300 {
    affine.store %zero, %Z[%n] : memref<300xf32>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %t = arith.maximumf %x, %m : f32
      affine.store %t, %Z[%n] : memref<300xf32>
    }
  }
  affine.for %n = 0 to 300 {
    affine.store %most, %Y[%n] : memref<300xi64>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %e = arith.cmpf oeq, %x, %m : f32
      %u = arith.cmpf une, %x, %x : f32
      %c = arith.ori %e, %u : i1
      %i = arith.index_cast %k : index to i64
      %s = arith.select %c, %i, %none : i64
      %p = affine.load %Y[%n] : memref<300xi64>
      %q = arith.minsi %s, %p : i64
      affine.store %q, %Y[%n] : memref<300xi64>
    }
  }
  return
}

// CHECK-LABEL: func @turned
// CHECK-COUNT-2: affine.for %{{.+}} = 0 to 130
//       CHECK: return
func.func @turned(%X: memref<130x300xf32>, %Y: memref<300xi64> {polynest.result},
                  %Z: memref<300xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 130 : i64
  %most = arith.constant 9223372036854775807 : i64
  affine.for %n = 0 to 300 {
    affine.store %low, %Z[%n] : memref<300xf32>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %t = arith.maximumf %x, %m : f32
      affine.store %t, %Z[%n] : memref<300xf32>
    }
  }
  affine.for %n = 0 to 300 {
    affine.store %most, %Y[%n] : memref<300xi64>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[299 - %n] : memref<300xf32>
      %e = arith.cmpf oeq, %x, %m : f32
      %u = arith.cmpf une, %x, %x : f32
      %c = arith.ori %e, %u : i1
      %i = arith.index_cast %k : index to i64
      %s = arith.select %c, %i, %none : i64
      %p = affine.load %Y[%n] : memref<300xi64>
      %q = arith.minsi %s, %p : i64
      affine.store %q, %Y[%n] : memref<300xi64>
    }
  }
  return
}

// CHECK-LABEL: func @written
// CHECK-COUNT-2: affine.for %{{.+}} = 0 to 130
//       CHECK: return
func.func @written(%X: memref<130x300xf32> {polynest.mutable}, %Y: memref<300xi64> {polynest.result},
                  %Z: memref<300xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 130 : i64
  %most = arith.constant 9223372036854775807 : i64
  affine.for %n = 0 to 300 {
    affine.store %low, %Z[%n] : memref<300xf32>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %t = arith.maximumf %x, %m : f32
      affine.store %t, %Z[%n] : memref<300xf32>
    }
  }
  affine.for %n = 0 to 300 {
    affine.store %zero, %X[100, %n] : memref<130x300xf32>
  }
  affine.for %n = 0 to 300 {
    affine.store %most, %Y[%n] : memref<300xi64>
  }
  affine.for %k = 0 to 130 {
    affine.for %n = 0 to 300 {
      %x = affine.load %X[%k, %n] : memref<130x300xf32>
      %m = affine.load %Z[%n] : memref<300xf32>
      %e = arith.cmpf oeq, %x, %m : f32
      %u = arith.cmpf une, %x, %x : f32
      %c = arith.ori %e, %u : i1
      %i = arith.index_cast %k : index to i64
      %s = arith.select %c, %i, %none : i64
      %p = affine.load %Y[%n] : memref<300xi64>
      %q = arith.minsi %s, %p : i64
      affine.store %q, %Y[%n] : memref<300xi64>
    }
  }
  return
}
