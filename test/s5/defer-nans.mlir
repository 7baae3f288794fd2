// Properties: a loop of maxima compares plainly and carries the signs of all
// values, by "and", and a mark for NaN, one question for two values; both go into
// the result once, behind what combines the accumulators (@maximum). Minima take
// "or" (@minimum); an accumulator alone is its own group, and a constant start is
// not asked for NaN (@alone); a loop of both
// has two groups (@both). An accumulator that is used otherwise (@used), scalars
// (@scalar) and f16 (@narrow) stay, and so do loops that would carry more than
// the registers hold (@many, with 8 registers). Maxima with the constant +0 compare
// plainly anywhere, and lose the sign of zero in a sum (@rectified); those with -0,
// of f16 and of scalars stay (@kept), all where the target has exact ones (EXACT). A
// second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-defer-nans))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-defer-nans))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-defer-nans{vector-registers=8}))' --remarks-filter='.*' 2>&1 >/dev/null | FileCheck %s --check-prefix=FEW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-defer-nans{exact-extremes=true}))' | FileCheck %s --check-prefix=EXACT
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-defer-nans{vector-registers=7}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-defer-nans{vector-registers=257}))' 2>&1 | FileCheck %s --check-prefix=RANGE

// RANGE: option vector-registers has value {{7|257}}; it must be 8 to 256

// CHECK-LABEL: func @maximum
//  CHECK-SAME:   %[[B0:[^,:]+]]: vector<8xf32>) ->
//       CHECK:   %[[START:.+]] = arith.andi %{{.+}}, %{{.+}} : vector<8xi32>
//       CHECK:   arith.cmpf uno, %[[B0]], %[[B0]]
//       CHECK:   %[[NANS:.+]] = arith.select
//       CHECK:   %[[L:.+]]:4 = scf.for {{.*}} iter_args(%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}}, %[[S:.+]] = %[[START]], %[[M:.+]] = %[[NANS]])
//       CHECK:     %[[X:.+]] = vector.load
//       CHECK:     %[[Y:.+]] = vector.load
//       CHECK:     %[[XA:.+]] = arith.cmpf ogt, %[[X]], %[[A]]
//       CHECK:     %[[NEXTA:.+]] = arith.select %[[XA]], %[[X]], %[[A]]
//       CHECK:     %[[YB:.+]] = arith.cmpf ogt, %[[Y]], %[[B]]
//       CHECK:     %[[NEXTB:.+]] = arith.select %[[YB]], %[[Y]], %[[B]]
//       CHECK:     %[[XY:.+]] = arith.andi
//       CHECK:     %[[NEXTS:.+]] = arith.andi %[[S]], %[[XY]]
//       CHECK:     %[[NAN:.+]] = arith.cmpf uno, %[[X]], %[[Y]]
//       CHECK:     %[[NEXTM:.+]] = arith.select %[[NAN]], %{{.+}}, %[[M]]
//       CHECK:     scf.yield %[[NEXTA]], %[[NEXTB]], %[[NEXTS]], %[[NEXTM]]
//       CHECK:   %[[AB:.+]] = arith.cmpf ogt, %[[L]]#0, %[[L]]#1
//       CHECK:   %[[R:.+]] = arith.select %[[AB]], %[[L]]#0, %[[L]]#1
//       CHECK:   %[[SIGN:.+]] = arith.andi %[[L]]#2
//       CHECK:   %[[ZERO:.+]] = arith.bitcast %[[SIGN]]
//       CHECK:   %[[IS:.+]] = arith.cmpf oeq, %[[R]]
//       CHECK:   %[[SIGNED:.+]] = arith.select %[[IS]], %[[ZERO]], %[[R]]
//       CHECK:   %[[MARKED:.+]] = arith.cmpi slt, %[[L]]#3
//       CHECK:   %[[PATCHED:.+]] = arith.select %[[MARKED]], %{{.+}}, %[[SIGNED]]
//       CHECK:   return %[[PATCHED]]
//      REMARK: [Passed] defer-nans
// REMARK-SAME: chains=2
// REMARK-SAME: groups=1
func.func @maximum(%x: memref<?xf32>, %n: index, %a: vector<8xf32>, %b: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %r:2 = scf.for %i = %c0 to %n step %c16 iter_args(%s = %a, %t = %b) -> (vector<8xf32>, vector<8xf32>) {
    %j = arith.addi %i, %c8 : index
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %w = vector.load %x[%j] : memref<?xf32>, vector<8xf32>
    %m = arith.maximumf %v, %s : vector<8xf32>
    %k = arith.maximumf %t, %w : vector<8xf32>
    scf.yield %m, %k : vector<8xf32>, vector<8xf32>
  }
  %c = arith.maximumf %r#0, %r#1 : vector<8xf32>
  return %c : vector<8xf32>
}

// CHECK-LABEL: func @minimum
//       CHECK:   arith.ori
//       CHECK:   scf.for
//       CHECK:     arith.cmpf olt
//       CHECK:     arith.cmpf olt
//       CHECK:     arith.ori
//       CHECK:     arith.ori
//       CHECK:     arith.cmpf uno
//   CHECK-NOT:   arith.minimumf
//       CHECK:   return
func.func @minimum(%x: memref<?xf64>, %n: index, %a: vector<4xf64>) -> vector<4xf64> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %r:2 = scf.for %i = %c0 to %n step %c8 iter_args(%s = %a, %t = %a) -> (vector<4xf64>, vector<4xf64>) {
    %j = arith.addi %i, %c4 : index
    %v = vector.load %x[%i] : memref<?xf64>, vector<4xf64>
    %w = vector.load %x[%j] : memref<?xf64>, vector<4xf64>
    %m = arith.minimumf %v, %s : vector<4xf64>
    %k = arith.minimumf %w, %t : vector<4xf64>
    scf.yield %m, %k : vector<4xf64>, vector<4xf64>
  }
  %c = arith.minimumf %r#0, %r#1 : vector<4xf64>
  return %c : vector<4xf64>
}

// CHECK-LABEL: func @alone
//   CHECK-NOT:   arith.cmpf
//       CHECK:   %[[L:.+]]:3 = scf.for
//       CHECK:     %[[V:.+]] = vector.load
//       CHECK:     arith.cmpf uno, %[[V]], %[[V]]
//       CHECK:   arith.cmpf oeq, %[[L]]#0
//       CHECK:   %[[P:.+]] = arith.select
//       CHECK:   %[[Q:.+]] = arith.select
//       CHECK:   return %[[Q]]
func.func @alone(%x: memref<?xf32>, %n: index) -> vector<8xf32> {
  %a = arith.constant dense<0xFF800000> : vector<8xf32>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%s = %a) -> (vector<8xf32>) {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %m = arith.maximumf %v, %s : vector<8xf32>
    scf.yield %m : vector<8xf32>
  }
  return %r : vector<8xf32>
}

// A maximum and a minimum, which an operation of another kind combines.
// CHECK-LABEL: func @both
//       CHECK:   %[[L:.+]]:6 = scf.for
//   CHECK-NOT:   arith.minimumf
//       CHECK:   %[[P:.+]] = arith.maximumf
//       CHECK:   return %[[P]]
//      REMARK: chains=2, groups=2
func.func @both(%x: memref<?xf32>, %n: index, %a: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r:2 = scf.for %i = %c0 to %n step %c8 iter_args(%s = %a, %t = %a) -> (vector<8xf32>, vector<8xf32>) {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %m = arith.maximumf %v, %s : vector<8xf32>
    %k = arith.minimumf %v, %t : vector<8xf32>
    scf.yield %m, %k : vector<8xf32>, vector<8xf32>
  }
  %c = arith.maximumf %r#0, %r#1 : vector<8xf32>
  return %c : vector<8xf32>
}

// CHECK-LABEL: func @used
//       CHECK:   arith.maximumf
//       CHECK:   return
func.func @used(%x: memref<?xf32>, %n: index, %a: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%s = %a) -> (vector<8xf32>) {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    vector.store %s, %x[%i] : memref<?xf32>, vector<8xf32>
    %m = arith.maximumf %v, %s : vector<8xf32>
    scf.yield %m : vector<8xf32>
  }
  return %r : vector<8xf32>
}

// CHECK-LABEL: func @scalar
//       CHECK:   arith.maximumf
//       CHECK:   return
func.func @scalar(%x: memref<?xf32>, %n: index, %a: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %a) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %m = arith.maximumf %v, %s : f32
    scf.yield %m : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @narrow
//       CHECK:   arith.maximumf
//       CHECK:   return
func.func @narrow(%x: memref<?xf16>, %n: index, %a: vector<8xf16>) -> vector<8xf16> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %n step %c8 iter_args(%s = %a) -> (vector<8xf16>) {
    %v = vector.load %x[%i] : memref<?xf16>, vector<8xf16>
    %m = arith.maximumf %v, %s : vector<8xf16>
    scf.yield %m : vector<8xf16>
  }
  return %r : vector<8xf16>
}

// Five accumulators in one group carry 5 + 2 vectors, and two more are needed.
// CHECK-LABEL: func @many
//       CHECK:   %{{.+}}:7 = scf.for
//         FEW: [Missed] defer-nans
//    FEW-SAME: carried=7
//    FEW-SAME: the loop would carry more than registers hold
func.func @many(%x: memref<?xf32>, %n: index, %a: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %r:5 = scf.for %i = %c0 to %n step %c8 iter_args(%s = %a, %t = %a, %u = %a, %p = %a, %q = %a) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %m0 = arith.maximumf %v, %s : vector<8xf32>
    %m1 = arith.maximumf %v, %t : vector<8xf32>
    %m2 = arith.maximumf %v, %u : vector<8xf32>
    %m3 = arith.maximumf %v, %p : vector<8xf32>
    %m4 = arith.maximumf %v, %q : vector<8xf32>
    scf.yield %m0, %m1, %m2, %m3, %m4 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
  }
  %d0 = arith.maximumf %r#0, %r#1 : vector<8xf32>
  %d1 = arith.maximumf %r#2, %r#3 : vector<8xf32>
  %d2 = arith.maximumf %d0, %d1 : vector<8xf32>
  %d3 = arith.maximumf %d2, %r#4 : vector<8xf32>
  return %d3 : vector<8xf32>
}

// CHECK-LABEL: func @rectified
//  CHECK-SAME:   %[[X:[^,:]+]]: vector<8xf32>, %[[Y:[^,:]+]]: vector<4xf64>
//       CHECK:   %[[BELOW:.+]] = arith.cmpf ogt, %[[ZERO:.+]], %[[X]]
//       CHECK:   %[[MAX:.+]] = arith.select %[[BELOW]], %[[ZERO]], %[[X]]
//       CHECK:   %[[XR:.+]] = arith.addf %[[MAX]], %{{.+}} : vector<8xf32>
//       CHECK:   %[[BELOWY:.+]] = arith.cmpf ogt, %[[ZEROY:.+]], %[[Y]]
//       CHECK:   %[[MAXY:.+]] = arith.select %[[BELOWY]], %[[ZEROY]], %[[Y]]
//       CHECK:   %[[YR:.+]] = arith.addf %[[MAXY]], %{{.+}} : vector<4xf64>
//       CHECK:   return %[[XR]], %[[YR]]
// EXACT-LABEL: func @rectified
// EXACT-COUNT-2: arith.maximumf
//       EXACT:   return
func.func @rectified(%x: vector<8xf32>, %y: vector<4xf64>) -> (vector<8xf32>, vector<4xf64>) {
  %z = arith.constant dense<0.0> : vector<8xf32>
  %w = arith.constant dense<0.0> : vector<4xf64>
  %0 = arith.maximumf %x, %z : vector<8xf32>
  %1 = arith.maximumf %w, %y : vector<4xf64>
  return %0, %1 : vector<8xf32>, vector<4xf64>
}

// CHECK-LABEL: func @kept
// CHECK-COUNT-3: arith.maximumf
//       CHECK:   return
func.func @kept(%x: vector<8xf32>, %y: vector<8xf16>, %s: f32) -> (vector<8xf32>, vector<8xf16>, f32) {
  %z = arith.constant dense<-0.0> : vector<8xf32>
  %w = arith.constant dense<0.0> : vector<8xf16>
  %o = arith.constant 0.0 : f32
  %0 = arith.maximumf %x, %z : vector<8xf32>
  %1 = arith.maximumf %y, %w : vector<8xf16>
  %2 = arith.maximumf %s, %o : f32
  return %0, %1, %2 : vector<8xf32>, vector<8xf16>, f32
}
