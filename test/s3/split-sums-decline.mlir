// Properties: left are short sums (@short), maxima and products (@maximum),
// sums that the loop looks at (@seen), that are yielded somewhere else (@swapped)
// or scaled (@scaled), of f16 and of integers (@narrow), in loops with other
// bounds or steps (@dynamic, @later, @two, @step), around loops (@around), and, without
// a remark, inside of others (@inside). Of two values both must be sums (@both).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=polynest.split_sums
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

//         REMARK: [Missed] split-sums {{.*}}least-elements=16384, reason="the sum is short"
// REMARK-COUNT-8: [Missed] split-sums {{.*}}reason="a value that the loop carries is no sum of f32 or f64"
// REMARK-COUNT-4: [Missed] split-sums {{.*}}reason="bounds are neither constant nor a size"
//         REMARK: [Missed] split-sums {{.*}}reason="a value that the loop carries is no sum of f32 or f64"
// CHECK-LABEL: func @short
// CHECK-LABEL: func @inside
//       CHECK: return
func.func @short(%x: memref<16384xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 16383 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

func.func @maximum(%x: memref<16384xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %s = arith.maximumf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

func.func @seen(%x: memref<16384xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %s = arith.addf %a, %v : f32
    affine.store %s, %x[%i] : memref<16384xf32>
    affine.yield %s : f32
  }
  return %r : f32
}

func.func @swapped(%x: memref<16384xf32>, %init: f32) -> f32 {
  %r:2 = affine.for %i = 0 to 16384 iter_args(%a = %init, %b = %init) -> (f32, f32) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %s = arith.addf %a, %v : f32
    %t = arith.addf %b, %v : f32
    affine.yield %t, %s : f32, f32
  }
  return %r#0 : f32
}

func.func @scaled(%x: memref<16384xf32>, %init: f32) -> (f32, f32) {
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %s = math.fma %a, %v, %v : f32
    affine.yield %s : f32
  }
  %q = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f32) {
    %s = arith.addf %a, %a : f32
    affine.yield %s : f32
  }
  return %r, %q : f32, f32
}

func.func @narrow(%x: memref<16384xf16>, %init: f16, %y: memref<16384xi32>, %zero: i32) -> (f16, i32) {
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f16) {
    %v = affine.load %x[%i] : memref<16384xf16>
    %s = arith.addf %a, %v : f16
    affine.yield %s : f16
  }
  %q = affine.for %i = 0 to 16384 iter_args(%a = %zero) -> (i32) {
    %v = affine.load %y[%i] : memref<16384xi32>
    %s = arith.addi %a, %v : i32
    affine.yield %s : i32
  }
  return %r, %q : f16, i32
}

func.func @both(%x: memref<16384xf32>, %init: f32) -> f32 {
  %r:2 = affine.for %i = 0 to 16384 iter_args(%a = %init, %b = %init) -> (f32, f32) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %s = arith.addf %a, %v : f32
    %t = arith.maximumf %b, %v : f32
    affine.yield %s, %t : f32, f32
  }
  return %r#0 : f32
}

func.func @dynamic(%x: memref<?xf32>, %n: index, %init: f32) -> f32 {
  %r = affine.for %i = 0 to %n iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// From 1 on there may be fewer than none.
func.func @later(%x: memref<?xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r = affine.for %i = 1 to %n iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

func.func @two(%x: memref<?xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r = affine.for %i = 0 to min affine_map<(d0) -> (d0, 100000)>(%n) iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

func.func @step(%x: memref<65536xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 65536 step 2 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<65536xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

func.func @around(%x: memref<16384x8xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f32) {
    %q = affine.for %j = 0 to 8 iter_args(%b = %a) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<16384x8xf32>
      %s = arith.addf %b, %v : f32
      affine.yield %s : f32
    }
    affine.yield %q : f32
  }
  return %r : f32
}

func.func @inside(%x: memref<8x16384xf32>, %y: memref<8xf32>, %init: f32) {
  affine.for %i = 0 to 8 {
    %r = affine.for %j = 0 to 16384 iter_args(%a = %init) -> (f32) {
      %v = affine.load %x[%i, %j] : memref<8x16384xf32>
      %s = arith.addf %a, %v : f32
      affine.yield %s : f32
    }
    affine.store %r, %y[%i] : memref<8xf32>
  }
  return
}
