// Properties: where packed columns come from memory, tiles of rows ask for the next
// panel while they multiply this one, all together for all of it: columns that are
// bound once (@bound), others that outgrow L2 (@large); not those that fit it
// (@small); where one tile has all rows, panels are one stream (@few_rows).
// What is asked for changes no result.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | diff %t.once -
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: polynestc run %s --entry bound --check
// RUN: polynestc run %s --entry large --check

// REMARK: panel-share=1, reason="contraction blocked"
// REMARK: panel-share=1, reason="contraction blocked"
// REMARK: panel-share=0, reason="contraction blocked"
// REMARK: panel-share=0, reason="contraction blocked"

// A panel has 600 x 24 = 14400 elements, a block of columns 11 of them = 158400, a
// block of depth 200 x 24 = 4800 of one. Tile t of 24 asks for 24 / 24 = 1 element a
// point, 200 from 200 t on. Behind the last panel: 4800 - 158400 + 14400, the first
// one at the next block of depth; in the last block of depth, which begins at 9600,
// 14400 - 9600, the beginning of the next columns.
//   CHECK-DAG: [[$BEHIND:#.+]] = affine_map<(d0, d1, d2) -> ((d1 floordiv 4) * 200 - ((d0 + 24) floordiv 264) * 153600 + (((d0 + 24) floordiv 264 + (d2 + 1) floordiv 3) floordiv 2) * 144000 + 14400)>
// CHECK-LABEL: func @bound
//       CHECK: %[[W:.+]] = memref.alloc() {{.+}} : memref<4x11x600x24xf32>
//       CHECK: memref.alloc() {{.+}} : memref<4x24xf32>
//       CHECK: affine.for %[[KB:.+]] = 0 to 3 {
//       CHECK: affine.for %[[J:.+]] = 0 to min {{.+}} step 24 {
//       CHECK: affine.for %[[I:.+]] = 0 to 96 step 4 {
//       CHECK: %[[NEXT:.+]] = affine.apply [[$BEHIND]](%[[J]], %[[I]], %[[KB]])
//       CHECK: affine.for %[[K:.+]] = 0 to 200 step 4 iter_args
//  CHECK-NEXT: affine.prefetch %[[W]][%{{.+}}, %[[J]] floordiv 24, %[[KB]] * 200, %[[K]] + %[[NEXT]]], read, locality<3>, data
//  CHECK-NEXT: affine.vector_load %[[W]][%{{.+}}, %[[J]] floordiv 24, %[[KB]] * 200 + %[[K]], 0]
//   CHECK-NOT: affine.prefetch
//       CHECK: return
func.func @bound(%x: memref<96x600xf32>,
                 %w: memref<600x1000xf32> {polynest.constant},
                 %r: memref<96x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 600 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<96x600xf32>
        %d = affine.load %w[%k, %j] : memref<600x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<96x1000xf32>
    }
  }
  return
}

// Blocks of 104 rows are 26 tiles of 4 x 24.
// CHECK-LABEL: func @large
//       CHECK: affine.prefetch
func.func @large(%x: memref<301x300xf32>,
                 %w: memref<300x500xf32>,
                 %r: memref<301x500xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 301 {
    affine.for %j = 0 to 500 {
      %s = affine.for %k = 0 to 300 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<301x300xf32>
        %d = affine.load %w[%k, %j] : memref<300x500xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<301x500xf32>
    }
  }
  return
}

// CHECK-LABEL: func @small
//   CHECK-NOT: affine.prefetch
//       CHECK: return
func.func @small(%x: memref<301x100xf32>,
                 %w: memref<100x300xf32>,
                 %r: memref<301x300xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 301 {
    affine.for %j = 0 to 300 {
      %s = affine.for %k = 0 to 100 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<301x100xf32>
        %d = affine.load %w[%k, %j] : memref<100x300xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<301x300xf32>
    }
  }
  return
}

// CHECK-LABEL: func @few_rows
//       CHECK: affine.prefetch %{{.+}}[{{.+}}, 0, %{{.+}} * 24 + 2048], read, locality<3>, data
//       CHECK: return
func.func @few_rows(%x: memref<4x600xf32>,
                    %w: memref<600x1000xf32> {polynest.constant},
                    %r: memref<4x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 600 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<4x600xf32>
        %d = affine.load %w[%k, %j] : memref<600x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<4x1000xf32>
    }
  }
  return
}
