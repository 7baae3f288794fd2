// Properties: a nest that carries reductions is cut into parts, each of which
// begins with what changes nothing (@sum), or with what the reduction begins with
// where that may be combined twice (@largest); parts of single elements are
// multiples of 256 and what is left comes last (@row); several reductions of one
// nest (@moments); a search of a value and its place, whose parts are compared in
// order (@search); a second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-split-reductions))' | diff %t.once -
// RUN: polynestc run --check %s --entry search

// 100 rows: 100 parts of 100 / 64 = 1 row.
// CHECK-LABEL: func @sum
//   CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
//   CHECK-DAG: %[[NONE:.+]] = arith.constant -0.000000e+00 : f32
//       CHECK: %[[T:.+]] = memref.alloc() : memref<100xf32>
//       CHECK: affine.for %[[P:.+]] = 0 to 100 {
//       CHECK:   %[[S:.+]] = affine.for %[[I:.+]] = #{{.+}}(%[[P]]) to #{{.+}}(%[[P]]) iter_args(%[[A:.+]] = %[[NONE]]) -> (f32)
//       CHECK:     affine.for %{{.+}} = 0 to 1000 iter_args(%{{.+}} = %[[A]])
//       CHECK:   affine.store %[[S]], %[[T]][%[[P]]]
//       CHECK: %[[R:.+]] = affine.for %[[P:.+]] = 0 to 100 iter_args(%[[A:.+]] = %[[ZERO]]) -> (f32)
//       CHECK:   %[[X:.+]] = affine.load %[[T]][%[[P]]]
//       CHECK:   arith.addf %[[A]], %[[X]]
//       CHECK: affine.store %[[R]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @sum(%X: memref<100x1000xf32>, %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 100 iter_args(%a = %zero) -> f32 {
    %s = affine.for %j = 0 to 1000 iter_args(%b = %a) -> f32 {
      %x = affine.load %X[%i, %j] : memref<100x1000xf32>
      %y = arith.addf %b, %x : f32
      affine.yield %y : f32
    }
    affine.yield %s : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}

// CHECK-LABEL: func @largest
//       CHECK: %[[INIT:.+]] = affine.load %{{.+}}[0] : memref<1xf32>
//       CHECK: affine.for
//       CHECK:   affine.for %{{.+}} iter_args(%{{.+}} = %[[INIT]])
//       CHECK: affine.for %{{.+}} = 0 to 64 iter_args(%{{.+}} = %[[INIT]])
//       CHECK:   arith.maximumf
//       CHECK: return
func.func @largest(%X: memref<16384xf32>, %I: memref<1xf32>,
                   %Y: memref<f32> {polynest.result}) {
  %init = affine.load %I[0] : memref<1xf32>
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> f32 {
    %x = affine.load %X[%i] : memref<16384xf32>
    %e = math.exp %x : f32
    %y = arith.maximumf %e, %a : f32
    affine.yield %y : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}

// 100003 elements: 100003 / 64 = 1562, in whole 256 1536; 65 parts of it are
// 99840, from where the loop that was goes on.
// CHECK-LABEL: func @row
//       CHECK: memref.alloc() : memref<65xi32>
//       CHECK: %[[R:.+]] = affine.for %{{.+}} = 0 to 65 iter_args(%{{.+}} = %{{.+}}) -> (i32)
//       CHECK: affine.for %{{.+}} = 99840 to 100003 iter_args(%{{.+}} = %[[R]]) -> (i32)
//       CHECK: return
func.func @row(%X: memref<100003xi32>, %Y: memref<i32> {polynest.result}) {
  %zero = arith.constant 3 : i32
  %r = affine.for %i = 0 to 100003 iter_args(%a = %zero) -> i32 {
    %x = affine.load %X[%i] : memref<100003xi32>
    %y = arith.addi %a, %x : i32
    affine.yield %y : i32
  }
  affine.store %r, %Y[] : memref<i32>
  return
}

// CHECK-LABEL: func @moments
//       CHECK: %[[T:.+]] = memref.alloc() : memref<64xf32>
//       CHECK: %[[U:.+]] = memref.alloc() : memref<64xf64>
//       CHECK: %[[S:.+]]:2 = affine.for %{{.+}} iter_args
//       CHECK: affine.store %[[S]]#0, %[[T]]
//       CHECK: affine.store %[[S]]#1, %[[U]]
//       CHECK: affine.for %{{.+}} = 0 to 64 iter_args
//       CHECK:   arith.addf %{{.+}} : f32
//       CHECK:   arith.mulf %{{.+}} : f64
//       CHECK: return
func.func @moments(%X: memref<65536xf32>, %Y: memref<f32> {polynest.result},
                   %Z: memref<f64> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f64
  %r:2 = affine.for %i = 0 to 65536 iter_args(%a = %zero, %b = %one)
      -> (f32, f64) {
    %x = affine.load %X[%i] : memref<65536xf32>
    %w = arith.extf %x : f32 to f64
    %y = arith.addf %a, %x : f32
    %z = arith.mulf %b, %w : f64
    affine.yield %y, %z : f32, f64
  }
  affine.store %r#0, %Y[] : memref<f32>
  affine.store %r#1, %Z[] : memref<f64>
  return
}

// CHECK-LABEL: func @search
//       CHECK: %[[V:.+]] = memref.alloc() : memref<65xf32>
//       CHECK: %[[A:.+]] = memref.alloc() : memref<65xi32>
//       CHECK: affine.for %{{.+}} = 0 to 65 {
//       CHECK:   affine.for {{.+}} iter_args(%{{.+}} = %[[LOW:.+]], %{{.+}} = %[[BEGIN:.+]]) -> (f32, i32)
//       CHECK: %[[R:.+]]:2 = affine.for %[[P:.+]] = 0 to 65 iter_args(%[[M:.+]] = %[[LOW]], %[[K:.+]] = %[[BEGIN]]) -> (f32, i32)
//       CHECK:   %[[X:.+]] = affine.load %[[V]][%[[P]]]
//       CHECK:   %[[Y:.+]] = affine.load %[[A]][%[[P]]]
//       CHECK:   %[[T:.+]] = arith.cmpf ogt, %[[X]], %[[M]]
//       CHECK:   arith.select %[[T]], %[[X]], %[[M]]
//       CHECK:   arith.select %[[T]], %[[Y]], %[[K]]
//       CHECK: affine.for {{.+}} iter_args(%{{.+}} = %[[R]]#0, %{{.+}} = %[[R]]#1)
func.func @search(%X: memref<100000xf32>, %Y: memref<i32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : i32
  %r:2 = affine.for %j = 0 to 100000 iter_args(%m = %low, %p = %c0) -> (f32, i32) {
    %x = affine.load %X[%j] : memref<100000xf32>
    %t = arith.cmpf ogt, %x, %m : f32
    %k = arith.index_cast %j : index to i32
    %v = arith.select %t, %x, %m : f32
    %q = arith.select %t, %k, %p : i32
    affine.yield %v, %q : f32, i32
  }
  affine.store %r#1, %Y[] : memref<i32>
  return
}
