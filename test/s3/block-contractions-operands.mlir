// Properties: what the code behind the sums reads of a buffer that outgrows L2, an
// element for each sum, is asked for before a tile is summed up (@short), in the
// last block of depth (@deep); not of one that fits it, nor what all rows share
// (@near), nor across lines (@across); each line of it once, whatever its elements
// (@wide). What is asked for changes no result.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | diff %t.once -
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: polynestc run %s --entry short --check
// RUN: polynestc run %s --entry deep --check
// RUN: polynestc run %s --entry wide --check

// REMARK: far-operands=1,
// REMARK: far-operands=1,
// REMARK: far-operands=0,
// REMARK: far-operands=0,
// REMARK: far-operands=2,

// Four rows of a tile of 4 x 24, the 24 columns in two lines of 16, in blocks of 8
// rows.
//   CHECK-DAG: [[$LAST:#.+]] = affine_set<(d0) : (d0 - 1 == 0)>
// CHECK-LABEL: func @short
//  CHECK-SAME: %[[Y:[^:]+]]: memref<600x1000xf32>, %{{.+}}: memref<600x1000xf32> {polynest.result}
//       CHECK: affine.for %[[J:.+]] = 0 to 1000 step 24 {
//       CHECK: affine.for %[[I:.+]] = 0 to 8 step 4 {
//       CHECK: affine.prefetch %[[Y]][%[[IB:.+]] * 8 + %[[I]], %[[J]]], read, locality<3>, data
//  CHECK-NEXT: affine.prefetch %[[Y]][%[[IB]] * 8 + %[[I]], %[[J]] + 16], read
// CHECK-COUNT-5: affine.prefetch %[[Y]][
//       CHECK: affine.prefetch %[[Y]][%[[IB]] * 8 + %[[I]] + 3, %[[J]] + 16], read
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 64 step 4 iter_args
//   CHECK-NOT: affine.prefetch %[[Y]]
//       CHECK: return
func.func @short(%x: memref<600x64xf32>,
    %w: memref<64x1000xf32> {polynest.constant},
    %y: memref<600x1000xf32>,
    %r: memref<600x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 600 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<600x64xf32>
        %d = affine.load %w[%k, %j] : memref<64x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      %q = affine.load %y[%i, %j] : memref<600x1000xf32>
      %t = arith.addf %s, %q : f32
      affine.store %t, %r[%i, %j] : memref<600x1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @deep
//  CHECK-SAME: %[[Y:[^:]+]]: memref<600x1000xf32>, %{{.+}}: memref<600x1000xf32> {polynest.result}
//       CHECK: affine.for %[[KB:.+]] = 0 to 2 {
//       CHECK: affine.if [[$LAST]](%[[KB]]) {
// CHECK-COUNT-8: affine.prefetch %[[Y]][
//  CHECK-NEXT: }
//  CHECK-NEXT: affine.for {{.+}} iter_args
//   CHECK-NOT: affine.prefetch %[[Y]]
//       CHECK: return
func.func @deep(%x: memref<600x300xf32>,
    %w: memref<300x1000xf32> {polynest.constant},
    %y: memref<600x1000xf32>,
    %r: memref<600x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 600 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 300 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<600x300xf32>
        %d = affine.load %w[%k, %j] : memref<300x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      %q = affine.load %y[%i, %j] : memref<600x1000xf32>
      %t = arith.addf %s, %q : f32
      affine.store %t, %r[%i, %j] : memref<600x1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @near
//   CHECK-NOT: affine.prefetch {{.+}} : memref<60{{0?}}x1000xf32>
//       CHECK: return
func.func @near(%x: memref<60x64xf32>,
    %w: memref<64x1000xf32> {polynest.constant},
    %y: memref<60x1000xf32>, %v: memref<600x1000xf32>,
    %r: memref<60x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 60 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<60x64xf32>
        %d = affine.load %w[%k, %j] : memref<64x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      %p = affine.load %y[%i, %j] : memref<60x1000xf32>
      %q = affine.load %v[7, %j] : memref<600x1000xf32>
      %u = arith.addf %s, %p : f32
      %t = arith.addf %u, %q : f32
      affine.store %t, %r[%i, %j] : memref<60x1000xf32>
    }
  }
  return
}

// CHECK-LABEL: func @across
//   CHECK-NOT: affine.prefetch {{.+}} : memref<1000x600xf32>
//       CHECK: return
func.func @across(%x: memref<600x64xf32>,
    %w: memref<64x1000xf32> {polynest.constant},
    %y: memref<1000x600xf32>,
    %r: memref<600x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 600 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<600x64xf32>
        %d = affine.load %w[%k, %j] : memref<64x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      %q = affine.load %y[%j, %i] : memref<1000x600xf32>
      %t = arith.addf %s, %q : f32
      affine.store %t, %r[%i, %j] : memref<600x1000xf32>
    }
  }
  return
}

// Of 24 columns of f64 three lines of 8, of those of f16 one of 32.
// CHECK-LABEL: func @wide
//  CHECK-SAME: %[[Y:[^:]+]]: memref<600x1000xf64>, %[[H:[^:]+]]: memref<600x2000xf16>, %{{.+}}: memref<600x1000xf32> {polynest.result}
//       CHECK: affine.prefetch %[[Y]][%[[IB:.+]] * 8 + %[[I:.+]], %[[J:.+]]], read
//  CHECK-NEXT: affine.prefetch %[[H]][%[[IB]] * 8 + %[[I]], %[[J]]], read
//  CHECK-NEXT: affine.prefetch %[[Y]][%[[IB]] * 8 + %[[I]], %[[J]] + 8], read
//  CHECK-NEXT: affine.prefetch %[[Y]][%[[IB]] * 8 + %[[I]], %[[J]] + 16], read
//  CHECK-NEXT: affine.prefetch %[[Y]][%[[IB]] * 8 + %[[I]] + 1, %[[J]]], read
//       CHECK: return
func.func @wide(%x: memref<600x64xf32>,
    %w: memref<64x1000xf32> {polynest.constant},
    %y: memref<600x1000xf64>, %h: memref<600x2000xf16>,
    %r: memref<600x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 600 {
    affine.for %j = 0 to 1000 {
      %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<600x64xf32>
        %d = affine.load %w[%k, %j] : memref<64x1000xf32>
        %m = arith.mulf %c, %d : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      %q = affine.load %y[%i, %j] : memref<600x1000xf64>
      %p = affine.load %h[%i, %j] : memref<600x2000xf16>
      %u = arith.truncf %q : f64 to f32
      %v = arith.extf %p : f16 to f32
      %t = arith.addf %s, %u : f32
      %z = arith.mulf %t, %v : f32
      affine.store %z, %r[%i, %j] : memref<600x1000xf32>
    }
  }
  return
}
