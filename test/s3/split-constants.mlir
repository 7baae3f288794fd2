// Properties: a nest that reads constants alone moves to the function that fills
// the state, with the temporary it goes through (@chain: 16 floats of state, 64
// bytes; the temporary stays behind in @chain_init); a fill moves with the nest
// that writes over part of it (@padded); two buffers lie at offsets 0 and 128
// (@two: 20 floats are 80 bytes, 128 rounded up to lines); views move along
// (@viewed). A second run changes nothing.
// RUN: polynest-opt %s --polynest-split-constants | FileCheck %s
// RUN: polynest-opt %s --polynest-split-constants --polynest-split-constants | FileCheck %s

// CHECK-LABEL: func @chain(
//  CHECK-SAME: %[[S:[a-z0-9]+]]: memref<64xi8> {polynest.state})
//   CHECK-NOT: memref.alloc
//       CHECK: %[[T:.+]] = memref.view %[[S]][%c0][] : memref<64xi8> to memref<16xf32>
//       CHECK: affine.for
//       CHECK: affine.load %[[T]]
//   CHECK-NOT: affine.for
//       CHECK: return
// CHECK-LABEL: func @chain_init(
//  CHECK-SAME: %[[W:[a-z0-9]+]]: memref<16xf32> {polynest.constant}, %[[S:[a-z0-9]+]]: memref<64xi8> {polynest.state}) attributes {polynest.entry, polynest.init = @chain}
//       CHECK: %[[T:.+]] = memref.view %[[S]][%c0][]
//       CHECK: %[[U:.+]] = memref.alloc() : memref<16xf32>
//       CHECK: affine.load %[[W]]
//       CHECK: affine.store %{{.+}}, %[[U]]
//       CHECK: affine.load %[[U]]
//       CHECK: affine.store %{{.+}}, %[[T]]
//       CHECK: return
func.func @chain(%x: memref<16xf32>, %w: memref<16xf32> {polynest.constant},
                 %r: memref<16xf32> {polynest.result})
    attributes {polynest.entry} {
  %u = memref.alloc() : memref<16xf32>
  %t = memref.alloc() : memref<16xf32>
  affine.for %i = 0 to 16 {
    %a = affine.load %w[%i] : memref<16xf32>
    %b = math.exp %a : f32
    affine.store %b, %u[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %a = affine.load %u[15 - %i] : memref<16xf32>
    affine.store %a, %t[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 16 {
    %a = affine.load %t[%i] : memref<16xf32>
    %b = affine.load %x[%i] : memref<16xf32>
    %c = arith.mulf %a, %b : f32
    affine.store %c, %r[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @padded(
//       CHECK: memref.view
//       CHECK: affine.for
//   CHECK-NOT: affine.for
//       CHECK: return
// CHECK-LABEL: func @padded_init(
//       CHECK: affine.for %{{.+}} = 0 to 18
//       CHECK: affine.for %{{.+}} = 0 to 16
//       CHECK: return
func.func @padded(%x: memref<18xf32>, %w: memref<16xf32> {polynest.constant},
                  %r: memref<18xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<18xf32>
  affine.for %i = 0 to 18 {
    affine.store %zero, %t[%i] : memref<18xf32>
  }
  affine.for %i = 0 to 16 {
    %a = affine.load %w[%i] : memref<16xf32>
    affine.store %a, %t[%i + 1] : memref<18xf32>
  }
  affine.for %i = 0 to 18 {
    %a = affine.load %t[%i] : memref<18xf32>
    %b = affine.load %x[%i] : memref<18xf32>
    %c = arith.mulf %a, %b : f32
    affine.store %c, %r[%i] : memref<18xf32>
  }
  return
}

// CHECK-LABEL: func @two(
//  CHECK-SAME: memref<256xi8> {polynest.state}
//       CHECK: memref.view %{{.+}}[%c0][]
//       CHECK: memref.view %{{.+}}[%c128][]
//       CHECK: return
// CHECK-LABEL: func @two_init(
//       CHECK: memref.view %{{.+}}[%c0][]
//       CHECK: memref.view %{{.+}}[%c128][]
//       CHECK: return
func.func @two(%x: memref<20xf32>, %v: memref<20xf32> {polynest.constant},
               %w: memref<20xf32> {polynest.constant},
               %r: memref<20xf32> {polynest.result})
    attributes {polynest.entry} {
  %s = memref.alloc() : memref<20xf32>
  %t = memref.alloc() : memref<20xf32>
  affine.for %i = 0 to 20 {
    %a = affine.load %v[%i] : memref<20xf32>
    %b = math.exp %a : f32
    affine.store %b, %s[%i] : memref<20xf32>
  }
  affine.for %i = 0 to 20 {
    %a = affine.load %w[%i] : memref<20xf32>
    %b = math.tanh %a : f32
    affine.store %b, %t[%i] : memref<20xf32>
  }
  affine.for %i = 0 to 20 {
    %a = affine.load %s[%i] : memref<20xf32>
    %b = affine.load %t[19 - %i] : memref<20xf32>
    %c = affine.load %x[%i] : memref<20xf32>
    %d = arith.mulf %a, %c : f32
    %e = arith.addf %b, %d : f32
    affine.store %e, %r[%i] : memref<20xf32>
  }
  return
}

// CHECK-LABEL: func @viewed(
//       CHECK: %[[T:.+]] = memref.view
//       CHECK: %[[V:.+]] = memref.expand_shape %[[T]]
//       CHECK: affine.load %[[V]]
//       CHECK: return
// CHECK-LABEL: func @viewed_init(
//       CHECK: memref.collapse_shape %{{.+}} : memref<2x8xf32> into memref<16xf32>
//       CHECK: return
func.func @viewed(%x: memref<4x4xf32>, %w: memref<2x8xf32> {polynest.constant},
                  %r: memref<4x4xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<16xf32>
  %flat = memref.collapse_shape %w [[0, 1]] : memref<2x8xf32> into memref<16xf32>
  affine.for %i = 0 to 16 {
    %a = affine.load %flat[%i] : memref<16xf32>
    affine.store %a, %t[15 - %i] : memref<16xf32>
  }
  %v = memref.expand_shape %t [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 4 {
      %a = affine.load %v[%i, %j] : memref<4x4xf32>
      %b = affine.load %x[%i, %j] : memref<4x4xf32>
      %c = arith.mulf %a, %b : f32
      affine.store %c, %r[%i, %j] : memref<4x4xf32>
    }
  }
  return
}
