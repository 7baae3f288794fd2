// Properties: products of any number of rows by columns that are bound once have a
// form for up to as many rows as one tile has, by the panels that the form for more
// has packed: one stream, all of the depth at once, a kernel of half the rows beside
// that of all (@rows). Passes that stream leave these alone. Rows that lie in one set
// of the first cache are laid out (@apart). One form is left where columns fit the
// first cache (@near), change between calls (@unbound), or rows are two loops
// (@batched). A second run changes nothing.
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{vector-width-bits=512 vector-registers=32},polynest-jam-reductions{vector-registers=32 l2-size-kib=256},polynest-block-contractions{vector-width-bits=512 vector-registers=32 l1-size-kib=48 l2-size-kib=1024}))' > %t.once 2> %t.remarks
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=512 vector-registers=32 l1-size-kib=48 l2-size-kib=1024}))' | diff %t.once -

// REMARK: the operand is bound once and packed before the call
// REMARK: block-depth=208,
// REMARK-SAME: columns-ahead=true,
// REMARK-SAME: most-rows=0,
// REMARK-SAME: panel-lead=0,
// REMARK: block-depth=1000,
// REMARK-SAME: most-rows=8,
// REMARK-SAME: panel-lead=2048,

// CHECK: #[[$FEW:.+]] = affine_set<()[s0] : (-s0 + 8 >= 0)>

// 8 rows of 2 vectors: 640 columns are 20 panels.
// CHECK-LABEL: func @rows
//       CHECK: %[[W2:.+]] = memref.alloc() {{.+}} : memref<{{.+}}x1001x32xf32>
//       CHECK: affine.if #[[$FEW]]()[%{{.+}}]
//   CHECK-NOT: memref.alloc() {{.+}} : memref<{{.+}}x1001x32xf32>
//       CHECK: %{{.+}}:16 = affine.for %{{.+}} = 0 to 1000
//       CHECK: affine.prefetch %[[W2]]
//       CHECK: %{{.+}}:8 = affine.for %{{.+}} = 0 to 1000
//       CHECK: affine.prefetch %[[W2]]
//       CHECK: } else {
//   CHECK-NOT: memref.alloc() {{.+}} : memref<{{.+}}x1001x32xf32>
//       CHECK: affine.vector_load %[[W2]]
//       CHECK: return
func.func @rows(%x: memref<?x1000xf32>,
                %w: memref<640x1000xf32> {polynest.constant},
                %r: memref<?x640xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x1000xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 640 {
      %s = affine.for %k = 0 to 1000 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<?x1000xf32>
        %d = affine.load %w[%j, %k] : memref<640x1000xf32>
        %p = arith.mulf %c, %d : f32
        %n = arith.addf %a, %p : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<?x640xf32>
    }
  }
  return
}

// CHECK-LABEL: func @apart
//       CHECK: affine.if #[[$FEW]]()[%{{.+}}]
//       CHECK: memref.alloc() {{.+}} : memref<8x1040xf32>
//       CHECK: } else {
//       CHECK: return
func.func @apart(%x: memref<?x1024xf32>,
                 %w: memref<1024x640xf32> {polynest.constant},
                 %r: memref<?x640xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x1024xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 640 {
      %s = affine.for %k = 0 to 1024 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<?x1024xf32>
        %d = affine.load %w[%k, %j] : memref<1024x640xf32>
        %p = arith.mulf %c, %d : f32
        %n = arith.addf %a, %p : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<?x640xf32>
    }
  }
  return
}

// CHECK-LABEL: func @near
//   CHECK-NOT: #[[$FEW]]()
//       CHECK: vector.fma
//   CHECK-NOT: #[[$FEW]]()
//       CHECK: return
func.func @near(%x: memref<?x64xf32>,
                %w: memref<64x96xf32> {polynest.constant},
                %r: memref<?x96xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x64xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 96 {
      %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<?x64xf32>
        %d = affine.load %w[%k, %j] : memref<64x96xf32>
        %p = arith.mulf %c, %d : f32
        %n = arith.addf %a, %p : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<?x96xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unbound
//       CHECK: affine.if
//       CHECK: polynest.jammed
//   CHECK-NOT: #[[$FEW]]()
//       CHECK: return
func.func @unbound(%x: memref<?x1000xf32>, %w: memref<640x1000xf32>,
                   %r: memref<?x640xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x1000xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 640 {
      %s = affine.for %k = 0 to 1000 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<?x1000xf32>
        %d = affine.load %w[%j, %k] : memref<640x1000xf32>
        %p = arith.mulf %c, %d : f32
        %n = arith.addf %a, %p : f32
        affine.yield %n : f32
      }
      affine.store %s, %r[%i, %j] : memref<?x640xf32>
    }
  }
  return
}

// CHECK-LABEL: func @batched
//   CHECK-NOT: #[[$FEW]]()
//       CHECK: vector.fma
//   CHECK-NOT: #[[$FEW]]()
//       CHECK: return
func.func @batched(%x: memref<?x7x1000xf32>,
                   %w: memref<1000x640xf32> {polynest.constant},
                   %r: memref<?x7x640xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x7x1000xf32>
  affine.for %b = 0 to %m {
    affine.for %i = 0 to 7 {
      affine.for %j = 0 to 640 {
        %s = affine.for %k = 0 to 1000 iter_args(%a = %zero) -> f32 {
          %c = affine.load %x[%b, %i, %k] : memref<?x7x1000xf32>
          %d = affine.load %w[%k, %j] : memref<1000x640xf32>
          %p = arith.mulf %c, %d : f32
          %n = arith.addf %a, %p : f32
          affine.yield %n : f32
        }
        affine.store %s, %r[%b, %i, %j] : memref<?x7x640xf32>
      }
    }
  }
  return
}
