// Properties: a reduction whose result is fewer blocks than the target has cores
// is summed up in parts that loops over parts run at once, each blocked like any
// product, and the nest adds them up in order (@deep); what does not fill the parts
// is added behind them, integers too, in loops that do not start at 0 (@rest);
// short reductions, many blocks, dynamic sizes and conditions stay (@short, @many,
// @dynamic, @guarded). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{cores=4}))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions{cores=4}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{cores=1}))' | FileCheck %s --check-prefix=ONE

// 64 x 64 sums are two blocks of 64 x 48; two for each of 4 cores are 4 parts of
// 2048.
// CHECK-LABEL: func @deep
//   CHECK-DAG: %[[NEUTRAL:.+]] = arith.constant -0.000000e+00 : f32
//   CHECK-DAG: %[[S:.+]] = memref.alloc() {{.+}} : memref<4x64x64xf32>
//       CHECK: affine.for %[[P:.+]] = 0 to 4 {
//       CHECK: vector.broadcast %[[NEUTRAL]]
//       CHECK: vector.fma
//       CHECK: affine.store %{{.+}}, %[[S]][%[[P]],
//       CHECK: affine.for %[[I:.+]] = 0 to 64 {
//       CHECK: affine.for %[[J:.+]] = 0 to 64 {
//       CHECK: %[[T:.+]] = affine.for %[[Q:.+]] = 0 to 4 iter_args(%[[A:.+]] = %{{.+}}) -> (f32) {
//       CHECK: %[[H:.+]] = affine.load %[[S]][%[[Q]], %[[I]], %[[J]]]
//       CHECK: arith.addf %[[A]], %[[H]]
//       CHECK: %[[M:.+]] = arith.maximumf %[[T]]
//       CHECK: affine.store %[[M]]
//       CHECK: return
// ONE-LABEL: func @deep
//   ONE-NOT: memref<{{.*}}x64x64xf32>
//       ONE: return
func.func @deep(%a: memref<64x8192xf32>, %b: memref<8192x64xf32>,
                %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 8192 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x8192xf32>
        %y = affine.load %b[%k, %j] : memref<8192x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      %m = arith.maximumf %r, %zero : f32
      affine.store %m, %c[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// 8 parts of 8189 floordiv 8 = 1023, down to whole vectors of 8 lanes: 1016. Eight
// of these, 8128, leave 61.
// CHECK-LABEL: func @rest
//   CHECK-DAG: %[[NEUTRAL:.+]] = arith.constant 0 : i32
//   CHECK-DAG: %[[S:.+]] = memref.alloc() {{.+}} : memref<8x60x64xi32>
//       CHECK: affine.for %{{.+}} = 0 to 8 {
//       CHECK: affine.for %[[I:.+]] = 2 to 122 step 2 {
//       CHECK: affine.for %[[J:.+]] = 0 to 64 {
//       CHECK: %[[T:.+]] = affine.for %[[Q:.+]] = 0 to 8 iter_args
//       CHECK: affine.load %[[S]][%[[Q]], %[[I]] floordiv 2 - 1, %[[J]]]
//       CHECK: %[[U:.+]] = affine.for %{{.+}} = 8131 to 8192 iter_args(%{{.+}} = %[[T]])
//       CHECK: arith.subi
//       CHECK: affine.store %[[U]]
//       CHECK: return
func.func @rest(%a: memref<128x8192xi32>, %b: memref<8192x64xi32>,
                %c: memref<128x64xi32> {polynest.result}) {
  affine.for %i = 2 to 122 step 2 {
    affine.for %j = 0 to 64 {
      %start = affine.load %c[%i, %j] : memref<128x64xi32>
      %r = affine.for %k = 3 to 8192 iter_args(%s = %start) -> i32 {
        %x = affine.load %a[%i, %k] : memref<128x8192xi32>
        %y = affine.load %b[%k, %j] : memref<8192x64xi32>
        %p = arith.muli %x, %y : i32
        %t = arith.subi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<128x64xi32>
    }
  }
  return
}

// CHECK-LABEL: func @short
//   CHECK-NOT: memref<{{[0-9]+}}x64x64xf32>
//       CHECK: return
func.func @short(%a: memref<64x800xf32>, %b: memref<800x64xf32>,
                 %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 800 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x800xf32>
        %y = affine.load %b[%k, %j] : memref<800x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @many
//   CHECK-NOT: memref<{{[0-9]+}}x512x512xf32>
//       CHECK: return
func.func @many(%a: memref<512x8192xf32>, %b: memref<8192x512xf32>,
                %c: memref<512x512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 512 {
      %r = affine.for %k = 0 to 8192 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<512x8192xf32>
        %y = affine.load %b[%k, %j] : memref<8192x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<512x512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//   CHECK-NOT: memref<{{[0-9?]+}}x{{[0-9?]+}}x64xf32>
//       CHECK: return
func.func @dynamic(%a: memref<?x8192xf32>, %b: memref<8192x64xf32>,
                   %c: memref<?x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = arith.constant 0 : index
  %n = memref.dim %a, %d : memref<?x8192xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 8192 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<?x8192xf32>
        %y = affine.load %b[%k, %j] : memref<8192x64xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<?x64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @guarded
//   CHECK-NOT: memref<{{[0-9]+}}x64x64xf32>
//       CHECK: return
func.func @guarded(%a: memref<64x8192xf32>, %b: memref<8192x64xf32>, %n: index,
                   %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.if affine_set<()[s0] : (s0 - 1 >= 0)>()[%n] {
        %r = affine.for %k = 0 to 8192 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%i, %k] : memref<64x8192xf32>
          %y = affine.load %b[%k, %j] : memref<8192x64xf32>
          %p = arith.mulf %x, %y : f32
          %t = arith.addf %s, %p : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
