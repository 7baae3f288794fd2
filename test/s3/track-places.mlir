// Properties: a loop that carries a maximum carries the first place of it, too, in
// 32 bits; the value goes by the same comparison (@first), but for a maximum of
// floats that is used besides (@used). Minima, integers and the last place likewise
// (@last, @unsigned), and conditions that are spelled otherwise (@spelled). Places
// may be affine in the loop (@affine). What may not run ends with what it began with
// (@dynamic). A second run finds nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-track-places))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-track-places))' | diff %t.once -
// RUN: %npy %t.npy f4 "4,37" "3 nan 1 -inf 0 -0.0 inf 2 2 nan -inf 5 5"
// RUN: polynestc run --check %s --entry first --input %t.npy
// RUN: polynestc run --check %s --entry used --input %t.npy
// RUN: polynestc run --check %s --entry last --input %t.npy
// RUN: %npy %t.low.npy f4 "4,37" "-inf"
// RUN: polynestc run --check %s --entry first --input %t.low.npy
// RUN: polynestc run --check %s --entry last --input %t.low.npy
// RUN: polynestc run --check %s --entry unsigned
// RUN: polynestc run --check %s --entry spelled
// RUN: polynestc run --check %s --entry affine
// RUN: polynestc run --check %s --entry dynamic --size 0.0=100
// RUN: polynestc run --check %s --entry dynamic --size 0.0=1
// RUN: polynestc run --check %s --entry dynamic --size 0.0=0

// CHECK-LABEL: func @first
//       CHECK: affine.for %[[I:.+]] = 0 to 4
//       CHECK:   %[[R:.+]]:2 = affine.for %[[J:.+]] = 0 to 37 iter_args(%[[M:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}}) -> (f32, i32)
//  CHECK-NEXT:     %[[X:.+]] = affine.load %{{.+}}[%[[I]], %[[J]]]
//  CHECK-NEXT:     %[[U:.+]] = arith.cmpf ugt, %[[X]], %[[M]]
//  CHECK-NEXT:     %[[O:.+]] = arith.cmpf ord, %[[M]], %[[M]]
//  CHECK-NEXT:     %[[T:.+]] = arith.andi %[[U]], %[[O]]
//  CHECK-NEXT:     %[[K:.+]] = arith.index_cast %[[J]] : index to i32
//  CHECK-NEXT:     %[[V:.+]] = arith.select %[[T]], %[[X]], %[[M]]
//  CHECK-NEXT:     %[[Q:.+]] = arith.select %[[T]], %[[K]], %[[P]]
//  CHECK-NEXT:     affine.yield %[[V]], %[[Q]]
//       CHECK:   arith.extsi %[[R]]#1 : i32 to i64
//   CHECK-NOT:   affine.for
//       CHECK: return
//      REMARK: bits=32, reason="the loop that finds an extreme finds its place"
func.func @first(%X: memref<4x37xf32>, %Y: memref<4xi64> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %none = arith.constant 37 : i64
  affine.for %i = 0 to 4 {
    %m = affine.for %j = 0 to 37 iter_args(%a = %low) -> f32 {
      %x = affine.load %X[%i, %j] : memref<4x37xf32>
      %n = arith.maximumf %x, %a : f32
      affine.yield %n : f32
    }
    %p = affine.for %j = 0 to 37 iter_args(%a = %most) -> i64 {
      %x = affine.load %X[%i, %j] : memref<4x37xf32>
      %e = arith.cmpf oeq, %x, %m : f32
      %u = arith.cmpf une, %x, %x : f32
      %t = arith.ori %e, %u : i1
      %k = arith.index_cast %j : index to i64
      %s = arith.select %t, %k, %none : i64
      %n = arith.minsi %s, %a : i64
      affine.yield %n : i64
    }
    affine.store %p, %Y[%i] : memref<4xi64>
  }
  return
}

// CHECK-LABEL: func @used
//       CHECK:   affine.for %{{.+}} = 0 to 37 iter_args(%[[M:.+]] = %{{.+}}, %{{.+}} = %{{.+}}) -> (f32, i32)
//       CHECK:     arith.cmpf ult, %[[X:.+]], %[[M]]
//       CHECK:     arith.select %{{.+}}, %{{.+}}, %{{.+}} : i32
//       CHECK:     arith.minimumf %[[X]], %[[M]]
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @used(%X: memref<4x37xf32>, %Y: memref<4xi64> {polynest.result},
                %Z: memref<4xf32> {polynest.result}) {
  %high = arith.constant 0x7F800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  affine.for %i = 0 to 4 {
    %m = affine.for %j = 0 to 37 iter_args(%a = %high) -> f32 {
      %x = affine.load %X[%i, %j] : memref<4x37xf32>
      %n = arith.minimumf %x, %a : f32
      affine.yield %n : f32
    }
    affine.store %m, %Z[%i] : memref<4xf32>
    %p = affine.for %j = 0 to 37 iter_args(%a = %most) -> i64 {
      %x = affine.load %X[%i, %j] : memref<4x37xf32>
      %e = arith.cmpf oeq, %m, %x : f32
      %u = arith.cmpf uno, %x, %x : f32
      %t = arith.ori %e, %u : i1
      %k = arith.index_cast %j : index to i64
      %s = arith.select %t, %k, %most : i64
      %n = arith.minsi %a, %s : i64
      affine.yield %n : i64
    }
    affine.store %p, %Y[%i] : memref<4xi64>
  }
  return
}

// CHECK-LABEL: func @last
//       CHECK:   iter_args(%[[M:.+]] = %{{.+}}, %{{.+}} = %{{.+}}) -> (f32, i32)
//       CHECK:     %[[G:.+]] = arith.cmpf oge, %[[X:.+]], %[[M]]
//       CHECK:     %[[U:.+]] = arith.cmpf uno, %[[X]], %[[X]]
//       CHECK:     arith.ori %[[G]], %[[U]]
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @last(%X: memref<4x37xf32>, %Y: memref<4xi64> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant -1 : i64
  affine.for %i = 0 to 4 {
    %m = affine.for %j = 0 to 37 iter_args(%a = %low) -> f32 {
      %x = affine.load %X[%i, %j] : memref<4x37xf32>
      %n = arith.maximumf %x, %a : f32
      affine.yield %n : f32
    }
    %p = affine.for %j = 0 to 37 iter_args(%a = %none) -> i64 {
      %x = affine.load %X[%i, %j] : memref<4x37xf32>
      %e = arith.cmpf oeq, %x, %m : f32
      %u = arith.cmpf une, %x, %x : f32
      %t = arith.ori %e, %u : i1
      %k = arith.index_cast %j : index to i64
      %s = arith.select %t, %k, %none : i64
      %n = arith.maxsi %s, %a : i64
      affine.yield %n : i64
    }
    affine.store %p, %Y[%i] : memref<4xi64>
  }
  return
}

// CHECK-LABEL: func @unsigned
//       CHECK:   -> (i8, i32)
//       CHECK:     %[[T:.+]] = arith.cmpi ugt, %[[X:.+]], %[[M:.+]] : i8
//       CHECK:     arith.select %[[T]], %[[X]], %[[M]] : i8
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @unsigned(%X: memref<1000xi8>, %Y: memref<i64> {polynest.result},
                    %Z: memref<i8> {polynest.result}) {
  %low = arith.constant 0 : i8
  %none = arith.constant 999 : i64
  %m = affine.for %j = 0 to 1000 iter_args(%a = %low) -> i8 {
    %x = affine.load %X[%j] : memref<1000xi8>
    %n = arith.maxui %a, %x : i8
    affine.yield %n : i8
  }
  %p = affine.for %j = 0 to 1000 iter_args(%a = %none) -> i64 {
    %x = affine.load %X[%j] : memref<1000xi8>
    %t = arith.cmpi eq, %x, %m : i8
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  affine.store %m, %Z[] : memref<i8>
  return
}

// Not below, or no number: that is what equals the maximum.
// CHECK-LABEL: func @spelled
//       CHECK:   -> (f64, i32)
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @spelled(%X: memref<1000xf64>, %Y: memref<index> {polynest.result}) {
  %low = arith.constant 0xFFF0000000000000 : f64
  %none = arith.constant 1000 : index
  %m = affine.for %j = 0 to 1000 iter_args(%a = %low) -> f64 {
    %x = affine.load %X[%j] : memref<1000xf64>
    %q = arith.mulf %x, %x : f64
    %n = arith.maximumf %a, %q : f64
    affine.yield %n : f64
  }
  %p = affine.for %j = 0 to 1000 iter_args(%a = %none) -> index {
    %x = affine.load %X[%j] : memref<1000xf64>
    %q = arith.mulf %x, %x : f64
    %e = arith.cmpf oge, %q, %m : f64
    %u = arith.cmpf une, %q, %q : f64
    %t = arith.ori %e, %u : i1
    %s = arith.select %t, %j, %none : index
    %n = arith.minsi %s, %a : index
    affine.yield %n : index
  }
  affine.store %p, %Y[] : memref<index>
  return
}

// CHECK-LABEL: func @affine
//       CHECK:   %[[R:.+]]:2 = affine.for %[[J:.+]] = 3 to 100 step 5
//       CHECK:     affine.apply #{{.+}}(%[[J]])
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @affine(%X: memref<100xf32>, %Y: memref<i64> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %none = arith.constant 1000 : i64
  %two = arith.constant 2 : i64
  %m = affine.for %j = 3 to 100 step 5 iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<100xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 3 to 100 step 5 iter_args(%a = %none) -> i64 {
    %x = affine.load %X[%j] : memref<100xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %d = arith.muli %k, %two : i64
    %s = arith.select %t, %d, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK:   %[[R:.+]]:2 = affine.for
//  CHECK-SAME:   -> (f32, i64)
//       CHECK:   %[[T:.+]] = arith.cmpi slt
//       CHECK:   arith.select %[[T]], %[[R]]#1, %{{.+}} : i64
//   CHECK-NOT:   affine.for
//       CHECK: return
func.func @dynamic(%X: memref<?xf32>, %Y: memref<i64> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %most = arith.constant 9223372036854775807 : i64
  %c0 = arith.constant 0 : index
  %size = memref.dim %X, %c0 : memref<?xf32>
  %none = arith.index_cast %size : index to i64
  %m = affine.for %j = 0 to %size iter_args(%a = %low) -> f32 {
    %x = affine.load %X[%j] : memref<?xf32>
    %n = arith.maximumf %x, %a : f32
    affine.yield %n : f32
  }
  %p = affine.for %j = 0 to %size iter_args(%a = %most) -> i64 {
    %x = affine.load %X[%j] : memref<?xf32>
    %e = arith.cmpf oeq, %x, %m : f32
    %u = arith.cmpf une, %x, %x : f32
    %t = arith.ori %e, %u : i1
    %k = arith.index_cast %j : index to i64
    %s = arith.select %t, %k, %none : i64
    %n = arith.minsi %s, %a : i64
    affine.yield %n : i64
  }
  affine.store %p, %Y[] : memref<i64>
  return
}
