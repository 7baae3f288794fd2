// Properties: columns that would be packed as a whole and outgrow all caches are
// packed for one block of them at a time, inside of its loop, and used by all blocks
// of rows, also where they lie along the reduction (@wide, @turned); of a long
// reduction with few blocks of columns, in each of its parts (@long). Too few blocks
// for the cores, many rows, columns that are bound once, and those that a cache holds
// are packed as a whole (FEW, @tall, @bound, @small). A second run changes nothing;
// options ask for it, too.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l2-size-kib=16}))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l2-size-kib=16}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l2-size-kib=16 cores=16}))' | FileCheck %s --check-prefix=FEW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-columns=columns}))' | FileCheck %s --check-prefix=ASKED
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l2-size-kib=16 pack-columns=ahead}))' | FileCheck %s --check-prefix=AHEAD
// RUN: not polynest-opt %S/block-contractions-any-rows.mlir --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-columns=columns}))' 2>&1 | FileCheck %s --check-prefix=NOT

// NOT: error: the blocks asked for are not legal here: its columns cannot be packed by blocks of columns

// 200 x 1500 sums in 63 blocks of one panel of 24 columns and 7 of 32 rows.
// CHECK-LABEL: func @wide
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[J:.+]] = 0 to 63 {
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<1x300x24xf32>
//       CHECK: affine.store %{{.+}}, %[[P]][%{{.+}}, %{{.+}} + %{{.+}}, %{{.+}}]
//       CHECK: affine.for %[[I:.+]] = 0 to 7 {
//       CHECK: affine.vector_load %[[P]][%{{.+}} floordiv 24, %{{.+}} * 152 + %{{.+}}, 0]
//       CHECK: vector.fma
//       CHECK: return
//
// 63 blocks are too few for 16 cores.
// FEW-LABEL: func @wide
//       FEW: memref.alloc() {{.+}} : memref<63x1x300x24xf32>
//       FEW: return
//
// AHEAD-LABEL: func @wide
//       AHEAD: memref.alloc() {{.+}} : memref<63x1x300x24xf32>
//       AHEAD: return
func.func @wide(%a: memref<200x300xf32>, %b: memref<300x1500xf32>,
    %c: memref<200x1500xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 200 {
    affine.for %j = 0 to 1500 {
      %r = affine.for %k = 0 to 300 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<200x300xf32>
        %y = affine.load %b[%k, %j] : memref<300x1500xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<200x1500xf32>
    }
  }
  return
}

// CHECK-LABEL: func @turned
//       CHECK: affine.for %{{.+}} = 0 to 63 {
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<1x300x24xf32>
//       CHECK: vector.shuffle
//       CHECK: affine.vector_store %{{.+}}, %[[P]]
//       CHECK: affine.for %{{.+}} = 0 to 7 {
//       CHECK: vector.fma
//       CHECK: return
func.func @turned(%a: memref<200x300xf32>, %b: memref<1500x300xf32>,
    %c: memref<200x1500xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 200 {
    affine.for %j = 0 to 1500 {
      %r = affine.for %k = 0 to 300 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<200x300xf32>
        %y = affine.load %b[%j, %k] : memref<1500x300xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<200x1500xf32>
    }
  }
  return
}

// 5 blocks of 8 columns; twice as many in 2 parts of 10000, which leave 11.
// CHECK-LABEL: func @long
//       CHECK: %[[S:.+]] = memref.alloc() {{.+}} : memref<2x200x40xf32>
//       CHECK: affine.for %{{.+}} = 0 to 2 {
//       CHECK: affine.for %{{.+}} = 0 to 5 {
//       CHECK: memref.alloc() {{.+}} : memref<1x10000x8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 7 {
//       CHECK: affine.for %{{.+}} = 0 to 200 {
//       CHECK: affine.for %{{.+}} = 0 to 40 {
//       CHECK: affine.for %{{.+}} = 0 to 2 iter_args
//       CHECK: affine.for %{{.+}} = 20000 to 20011 iter_args
//       CHECK: return
func.func @long(%a: memref<200x20011xf32>, %b: memref<20011x40xf32>,
    %c: memref<200x40xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 200 {
    affine.for %j = 0 to 40 {
      %r = affine.for %k = 0 to 20011 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<200x20011xf32>
        %y = affine.load %b[%k, %j] : memref<20011x40xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<200x40xf32>
    }
  }
  return
}

// CHECK-LABEL: func @tall
//       CHECK: memref.alloc() {{.+}} : memref<63x1x300x24xf32>
//       CHECK: return
//
// ASKED-LABEL: func @tall
//   ASKED-NOT: memref.alloc
//       ASKED: affine.for %{{.+}} = 0 to 6 {
//       ASKED: memref.alloc() {{.+}}columns once for all blocks of rows
//       ASKED: return
func.func @tall(%a: memref<2100x300xf32>, %b: memref<300x1500xf32>,
    %c: memref<2100x1500xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 2100 {
    affine.for %j = 0 to 1500 {
      %r = affine.for %k = 0 to 300 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<2100x300xf32>
        %y = affine.load %b[%k, %j] : memref<300x1500xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<2100x1500xf32>
    }
  }
  return
}

// CHECK-LABEL: func @bound
//       CHECK: memref.alloc() {{.+}} : memref<63x1x300x24xf32>
//       CHECK: return
func.func @bound(%a: memref<200x300xf32>, %b: memref<300x1500xf32> {polynest.constant},
    %c: memref<200x1500xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 200 {
    affine.for %j = 0 to 1500 {
      %r = affine.for %k = 0 to 300 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<200x300xf32>
        %y = affine.load %b[%k, %j] : memref<300x1500xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<200x1500xf32>
    }
  }
  return
}

// 469 KiB of columns are less than 32 times 16 KiB.
// CHECK-LABEL: func @small
//       CHECK: memref.alloc() {{.+}} : memref<17x1x300x24xf32>
//       CHECK: return
func.func @small(%a: memref<200x300xf32>, %b: memref<300x400xf32>,
    %c: memref<200x400xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 200 {
    affine.for %j = 0 to 400 {
      %r = affine.for %k = 0 to 300 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<200x300xf32>
        %y = affine.load %b[%k, %j] : memref<300x400xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<200x400xf32>
    }
  }
  return
}
