// Properties: a loop whose copies share a load is unrolled and jammed into one
// reduction with several accumulators, and what does not fill a tile runs
// behind it (@matmul); a loop that carries a dependence is left (@carried); a
// second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-tile-registers))' | diff %t.once -

// CHECK-LABEL: func @matmul
//   CHECK-DAG: %[[ROW:.+]] = arith.constant 12 : index
//       CHECK: affine.for %{{.+}} = 0 to {{.+}} step
//       CHECK: affine.for %{{.+}} = 0 to 9 iter_args({{.+}}, {{.+}}, {{.+}}, {{.+}}) -> (f32, f32, f32, f32
//       CHECK: } {polynest.tiled_registers}
// 13 rows are two tiles of 6 and row 12.
//       CHECK: affine.for %[[J:.+]] = 0 to 11 {
//       CHECK:   %[[S:.+]] = affine.for %{{.+}} = 0 to 9 iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK:   affine.store %[[S]], %{{.+}}[%[[ROW]], %[[J]]]
//       CHECK: return
func.func @matmul(%a: memref<13x9xf32>, %b: memref<9x11xf32>,
                  %c: memref<13x11xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 13 {
    affine.for %j = 0 to 11 {
      %r = affine.for %k = 0 to 9 iter_args(%acc = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<13x9xf32>
        %y = affine.load %b[%k, %j] : memref<9x11xf32>
        %p = math.fma %x, %y, %acc : f32
        affine.yield %p : f32
      }
      affine.store %r, %c[%i, %j] : memref<13x11xf32>
    }
  }
  return
}

// Row i reads row i - 1 of what the nest writes: i may not be interleaved, and
// j offers no load to share.
// CHECK-LABEL: func @carried
//   CHECK-NOT: polynest.tiled_registers
//       CHECK: return
func.func @carried(%c: memref<14x11xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 1 to 14 {
    %r = affine.for %k = 0 to 11 iter_args(%acc = %zero) -> f32 {
      %x = affine.load %c[%i - 1, %k] : memref<14x11xf32>
      %s = arith.addf %x, %acc : f32
      affine.yield %s : f32
    }
    affine.store %r, %c[%i, 0] : memref<14x11xf32>
  }
  return
}

// A loop that may end before it begins has no rest then: it begins no earlier
// than the loop did.
// CHECK-LABEL: func.func @ends_before
//       CHECK:   affine.for %{{.+}} = max #{{.+}}()[%{{.+}}] to
func.func @ends_before(%a: memref<?x64xf32>, %b: memref<64xf32>, %n: index) -> memref<?xf32> {
  %r = memref.alloc(%n) : memref<?xf32>
  %zero = arith.constant dense<0.0> : vector<8xf32>
  affine.for %i = 0 to affine_map<()[s0] -> (s0 - 3)>()[%n] {
    %s = affine.for %k = 0 to 64 step 8 iter_args(%acc = %zero) -> vector<8xf32> {
      %x = affine.vector_load %a[%i, %k] : memref<?x64xf32>, vector<8xf32>
      %w = affine.vector_load %b[%k] : memref<64xf32>, vector<8xf32>
      %z = vector.fma %x, %w, %acc : vector<8xf32>
      affine.yield %z : vector<8xf32>
    } {polynest.vectorized}
    %t = vector.reduction <add>, %s : vector<8xf32> into f32
    affine.store %t, %r[%i] : memref<?xf32>
  }
  return %r : memref<?xf32>
}
