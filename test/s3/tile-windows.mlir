// Properties: rows whose windows overlap are jammed and their taps unrolled, so
// that each input is loaded once (@depthwise: 7 in place of 15), what is left
// over makes a smaller tile, and taps move inside of the other reduction loop;
// of two loops of rows the one that shares more is taken (@innermost); strides
// share less (@strided); a second run, and polynest-tile-registers, change
// nothing. What comes out is compared in tile-windows-run.mlir.
// tile.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-tile-windows,polynest-tile-registers))' | diff %t.once -

// Five rows by two vectors are 10 sums, with 3 weights and an input 14 registers.
// 14 rows are two tiles of 5 and one of 4.
// CHECK-LABEL: func @depthwise
//       CHECK: affine.for %[[H:.+]] = 0 to 10 step 5 {
//       CHECK:   :10 = affine.for %[[Q:.+]] = 0 to 3 iter_args
//  CHECK-NEXT:     %[[X0:.+]] = affine.vector_load %{{.+}}[%[[H]], %[[Q]]]
//  CHECK-NEXT:     %[[W0:.+]] = affine.load %{{.+}}[0, %[[Q]]]
//  CHECK-NEXT:     %[[V0:.+]] = vector.broadcast %[[W0]]
//  CHECK-NEXT:     %[[S0:.+]] = vector.fma %[[X0]], %[[V0]], %{{.+}}
//  CHECK-NEXT:     %[[X1:.+]] = affine.vector_load %{{.+}}[%[[H]] + 1, %[[Q]]]
//  CHECK-NEXT:     %[[W1:.+]] = affine.load %{{.+}}[1, %[[Q]]]
//  CHECK-NEXT:     %[[V1:.+]] = vector.broadcast %[[W1]]
//       CHECK:     vector.fma %[[X1]]
//       CHECK:     vector.fma %[[X1]]
//       CHECK:     affine.vector_load %{{.+}}[%[[H]] + 2, %[[Q]]]
//       CHECK:     affine.vector_load %{{.+}}[%[[H]] + 3, %[[Q]]]
//       CHECK:     affine.vector_load %{{.+}}[%[[H]] + 4, %[[Q]]]
//       CHECK:     affine.vector_load %{{.+}}[%[[H]] + 5, %[[Q]]]
//       CHECK:     affine.vector_load %{{.+}}[%[[H]] + 6, %[[Q]]]
//   CHECK-NOT:     affine.vector_load %{{.+}}[%[[H]]{{.*}}, %[[Q]]]
//       CHECK:     affine.vector_load %{{.+}}[%[[H]], %[[Q]] + 8]
//       CHECK:     affine.yield
//       CHECK: } {polynest.tiled_registers}
//       CHECK: affine.for %{{.+}} = 10 to 14 step 4 {
//       CHECK:   :8 = affine.for %{{.+}} = 0 to 3 iter_args
//       CHECK: } {polynest.tiled_registers}
func.func @depthwise(%x: memref<16x18xf32>, %w: memref<3x3xf32>,
                     %y: memref<14x16xf32> {polynest.result}) {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  affine.for %h = 0 to 14 {
    %r:2 = affine.for %p = 0 to 3 iter_args(%a = %zero, %b = %zero) -> (vector<8xf32>, vector<8xf32>) {
      %s:2 = affine.for %q = 0 to 3 iter_args(%c = %a, %d = %b) -> (vector<8xf32>, vector<8xf32>) {
        %0 = affine.vector_load %x[%h + %p, %q] : memref<16x18xf32>, vector<8xf32>
        %1 = affine.vector_load %x[%h + %p, %q + 8] : memref<16x18xf32>, vector<8xf32>
        %2 = affine.load %w[%p, %q] : memref<3x3xf32>
        %3 = vector.broadcast %2 : f32 to vector<8xf32>
        %4 = vector.fma %0, %3, %c : vector<8xf32>
        %5 = vector.fma %1, %3, %d : vector<8xf32>
        affine.yield %4, %5 : vector<8xf32>, vector<8xf32>
      }
      affine.yield %s#0, %s#1 : vector<8xf32>, vector<8xf32>
    }
    affine.vector_store %r#0, %y[%h, 0] : memref<14x16xf32>, vector<8xf32>
    affine.vector_store %r#1, %y[%h, 8] : memref<14x16xf32>, vector<8xf32>
  }
  return
}

// Windows overlap along both loops; along the columns they do in 3 of 3 taps,
// along the rows, which are two apart, in one of three.
// CHECK-LABEL: func @innermost
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//       CHECK:   affine.for %[[J:.+]] = 0 to {{.+}} step
//       CHECK:     affine.for %[[P:.+]] = 0 to 3 iter_args
//       CHECK:       affine.load %{{.+}}[%{{.+}} * 2 + %[[P]], %[[J]]]
//       CHECK:       affine.load %{{.+}}[%{{.+}} * 2 + %[[P]], %[[J]] + 1]
func.func @innermost(%x: memref<9x13xf32>, %w: memref<3x3xf32>,
                     %y: memref<4x11xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 11 {
      %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
        %s = affine.for %q = 0 to 3 iter_args(%b = %a) -> f32 {
          %0 = affine.load %x[%i * 2 + %p, %j + %q] : memref<9x13xf32>
          %1 = affine.load %w[%p, %q] : memref<3x3xf32>
          %2 = math.fma %0, %1, %b : f32
          affine.yield %2 : f32
        }
        affine.yield %s : f32
      }
      affine.store %r, %y[%i, %j] : memref<4x11xf32>
    }
  }
  return
}

// Two apart, rows share one of three inputs with the next.
// CHECK-LABEL: func @strided
//       CHECK: affine.for %[[I:.+]] = 0 to {{.+}} step
//   CHECK-DAG: affine.load %{{.+}}[%[[I]] * 2]
//   CHECK-DAG: affine.load %{{.+}}[%[[I]] * 2 + 1]
//   CHECK-DAG: affine.load %{{.+}}[%[[I]] * 2 + 2]
//   CHECK-DAG: affine.load %{{.+}}[%[[I]] * 2 + 3]
//       CHECK: } {polynest.tiled_registers}
func.func @strided(%x: memref<23xf32>, %w: memref<3xf32>,
                   %y: memref<11xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 11 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i * 2 + %p] : memref<23xf32>
      %1 = affine.load %w[%p] : memref<3xf32>
      %2 = math.fma %0, %1, %a : f32
      affine.yield %2 : f32
    }
    affine.store %r, %y[%i] : memref<11xf32>
  }
  return
}

// Without weights: 14 rows of any number of taps fit.
// CHECK-LABEL: func @pool
//       CHECK: affine.for %[[I:.+]] = 0 to {{.+}} step [[N:[0-9]+]] {
//   CHECK-NOT:   iter_args
//       CHECK:   arith.maximumf
//       CHECK: } {polynest.tiled_registers}
func.func @pool(%x: memref<17xf32>, %y: memref<15xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to 15 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %low) -> f32 {
      %0 = affine.load %x[%i + %p] : memref<17xf32>
      %1 = arith.maximumf %0, %a : f32
      affine.yield %1 : f32
    }
    affine.store %r, %y[%i] : memref<15xf32>
  }
  return
}
