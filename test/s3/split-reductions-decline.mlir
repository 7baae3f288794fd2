// Properties: stays whole what is short (@short), of unknown length (@dynamic),
// carries what is no reduction (@last, @scan) or a dependence beside it
// (@in_place), or has too few iterations (@single).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-reductions))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @short
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: the nest is too short
func.func @short(%X: memref<1000xf32>, %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 1000 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i] : memref<1000xf32>
    %y = arith.addf %a, %x : f32
    affine.yield %y : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}

// CHECK-LABEL: func @dynamic
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: bounds are not constant
func.func @dynamic(%X: memref<?x1000xf32>, %n: index,
                   %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to %n iter_args(%a = %zero) -> f32 {
    %s = affine.for %j = 0 to 1000 iter_args(%b = %a) -> f32 {
      %x = affine.load %X[%i, %j] : memref<?x1000xf32>
      %y = arith.addf %b, %x : f32
      affine.yield %y : f32
    }
    affine.yield %s : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}

// CHECK-LABEL: func @last
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: the loop carries a value that is no reduction
func.func @last(%X: memref<100000xf32>, %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 100000 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i] : memref<100000xf32>
    %y = arith.subf %x, %a : f32
    affine.yield %y : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}

// CHECK-LABEL: func @scan
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: the loop carries a value that is no reduction
func.func @scan(%X: memref<100000xf32>,
                %Y: memref<100000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 100000 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i] : memref<100000xf32>
    %y = arith.addf %a, %x : f32
    affine.store %y, %Y[%i] : memref<100000xf32>
    affine.yield %y : f32
  }
  return
}

// CHECK-LABEL: func @in_place
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: loop carries a dependence
func.func @in_place(%X: memref<100000xf32> {polynest.mutable},
                    %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 1 to 100000 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i - 1] : memref<100000xf32>
    %d = arith.addf %x, %x : f32
    affine.store %d, %X[%i] : memref<100000xf32>
    %y = arith.addf %a, %x : f32
    affine.yield %y : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}

// CHECK-LABEL: func @single
//   CHECK-NOT: memref.alloc
//       CHECK: return
//      REMARK: too few iterations
func.func @single(%X: memref<400xf32>, %Y: memref<f32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 400 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i] : memref<400xf32>
    %0 = math.exp %x : f32
    %1 = math.exp %0 : f32
    %2 = math.exp %1 : f32
    %3 = math.exp %2 : f32
    %4 = math.exp %3 : f32
    %5 = math.exp %4 : f32
    %6 = math.exp %5 : f32
    %7 = math.exp %6 : f32
    %8 = math.exp %7 : f32
    %9 = math.exp %8 : f32
    %y = arith.addf %a, %9 : f32
    affine.yield %y : f32
  }
  affine.store %r, %Y[] : memref<f32>
  return
}
