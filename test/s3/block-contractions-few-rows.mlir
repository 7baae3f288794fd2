// Properties: products of few rows by columns that are bound once are left alone by
// the passes that stream, and multiplied from panels that are one stream, all of
// the depth in one block: weights of a linear layer, with rows that lie in one set
// of the first cache packed (@rows_apart); rows in place (@rows_near); columns
// along the result and what is done with the sums (@along); more rows than have
// places of their own (@sixteen); odd sizes (@odd). Columns that are not bound
// stream as they did (@unbound).
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{vector-width-bits=512 vector-registers=32},polynest-jam-reductions{vector-registers=32},polynest-block-contractions{vector-width-bits=512 vector-registers=32 l1-size-kib=48 l2-size-kib=1024}))' > %t.once 2> %t.remarks
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynestc run %s --entry rows_apart --check
// RUN: polynestc run %s --entry rows_near --check
// RUN: polynestc run %s --entry along --check
// RUN: polynestc run %s --entry sixteen --check
// RUN: polynestc run %s --entry odd --check
// RUN: polynestc run %s --entry unbound --check

// REMARK: the operand is bound once and packed before the call
// REMARK: the operand is bound once and packed before the call

// Rows are 4 KiB apart: 8 of them are copied, 64 bytes further apart each. 8 KiB
// are 2048 elements, asked for line by line.
// CHECK-LABEL: func @rows_apart
//       CHECK: %[[W2:.+]] = memref.alloc() {{.+}} : memref<10x2x1025x32xf32>
//       CHECK: memref.alloc() {{.+}} : memref<8x1040xf32>
//       CHECK: affine.for %{{.+}} = 0 to 1024 iter_args
//       CHECK: affine.prefetch %[[W2]][{{.+}}, 0, %[[K:.+]] * 32 + 2048], read, locality<3>, data
//  CHECK-NEXT: affine.prefetch %[[W2]][{{.+}}, 0, %[[K]] * 32 + 2064]
//  CHECK-NEXT: affine.vector_load %[[W2]]
//   CHECK-NOT: affine.prefetch
//       CHECK: return
func.func @rows_apart(%x: memref<8x1024xf32>,
                      %w: memref<640x1024xf32> {polynest.constant},
                      %r: memref<8x640xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 640 {
      %s = affine.for %k = 0 to 1024 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<8x1024xf32>
        %d = affine.load %w[%j, %k] : memref<640x1024xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<8x640xf32>
    }
  }
  return
}

// CHECK-LABEL: func @rows_near
//  CHECK-SAME: %[[NEAR:.+]]: memref<4x1000xf32>
//       CHECK: %[[X:.+]] = memref.collapse_shape %[[NEAR]]
//       CHECK: memref.alloc() {{.+}} : memref<{{.+}}x1001x64xf32>
//       CHECK: affine.prefetch
//       CHECK: memref.load %[[X]]
//       CHECK: return
func.func @rows_near(%x: memref<4x1000xf32>,
                     %w: memref<640x1000xf32> {polynest.constant},
                     %r: memref<4x640xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 640 {
      %s = affine.for %k = 0 to 1000 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<4x1000xf32>
        %d = affine.load %w[%j, %k] : memref<640x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<4x640xf32>
    }
  }
  return
}

// CHECK-LABEL: func @along
//   CHECK-NOT: polynest.streamed
//       CHECK: affine.prefetch
//       CHECK: arith.maximumf
//       CHECK: return
func.func @along(%x: memref<2x300xf32>,
                 %w: memref<300x520xf32> {polynest.constant},
                 %b: memref<520xf32>,
                 %r: memref<2x520xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 520 {
      %s = affine.for %k = 0 to 300 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<2x300xf32>
        %d = affine.load %w[%k, %j] : memref<300x520xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      %e = affine.load %b[%j] : memref<520xf32>
      %f = arith.addf %s, %e : f32
      %g = arith.maximumf %f, %zero : f32
      affine.store %g, %r[%i, %j] : memref<2x520xf32>
    }
  }
  return
}

// 16 rows of one vector each; 8 by 3 would take two tiles.
// CHECK-LABEL: func @sixteen
//       CHECK: memref.alloc() {{.+}} : memref<8x4x968x16xf32>
//       CHECK: memref.alloc() {{.+}} : memref<16x976xf32>
//       CHECK: affine.prefetch
//       CHECK: return
func.func @sixteen(%x: memref<16x968xf32>,
                   %w: memref<968x512xf32> {polynest.constant},
                   %r: memref<16x512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 512 {
      %s = affine.for %k = 0 to 968 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<16x968xf32>
        %d = affine.load %w[%k, %j] : memref<968x512xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<16x512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @odd
//   CHECK-NOT: polynest.streamed
//       CHECK: affine.prefetch
//       CHECK: return
func.func @odd(%x: memref<3x401xf32>,
               %w: memref<401x333xf32> {polynest.constant},
               %r: memref<3x333xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 333 {
      %s = affine.for %k = 0 to 401 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<3x401xf32>
        %d = affine.load %w[%k, %j] : memref<401x333xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<3x333xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unbound
//       CHECK: polynest.streamed
//       CHECK: return
func.func @unbound(%x: memref<2x300xf32>, %w: memref<300x520xf32>,
                   %r: memref<2x520xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 520 {
      %s = affine.for %k = 0 to 300 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<2x300xf32>
        %d = affine.load %w[%k, %j] : memref<300x520xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<2x520xf32>
    }
  }
  return
}
