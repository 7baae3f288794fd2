// Properties: caches bound runs, chunks and parts; registers and ports choose
// how many rows share what is loaded; options out of range are refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{l1-size-kib=64 l2-size-kib=2048}))' | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{l1-size-kib=8 l2-size-kib=64}))' | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{vector-width-bits=512 vector-registers=32}))' | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{fma-ports=1 load-ports=1}))' | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{vector-width-bits=0}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{vector-registers=-1}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{fma-ports=0}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{load-ports=17}))' 2>&1 | FileCheck %s --check-prefix=LOADS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{l1-size-kib=0}))' 2>&1 | FileCheck %s --check-prefix=L1
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{l2-size-kib=1000000000000}))' 2>&1 | FileCheck %s --check-prefix=L2
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-reductions{vector-width-bits=384}))' 2>&1 | FileCheck %s --check-prefix=POWER

// WIDTH: option vector-width-bits has value 0; it must be 64 to 2048
// REGISTERS: option vector-registers has value -1; it must be 8 to 256
// PORTS: option fma-ports has value 0; it must be 1 to 16
// LOADS: option load-ports has value 17; it must be 1 to 16
// L1: option l1-size-kib has value 0; it must be 4 to 65536
// L2: option l2-size-kib has value 1000000000000; it must be 16 to 1048576
// POWER: option vector-width-bits has value 384; it must be a power of two

// 12 rows take 3 turns of 4, since 6 would load most factors again; with 32
// registers 2 of 6. Runs of a quarter of L2 / 48 bytes of sums, 10912 or 320
// columns in units of 32; of those chunks, at most half of L2 / (48 bytes and two
// groups of 4 rows of 8 bytes), 9344 or 288, so two each. 7 of the large runs are
// too few: parts. Rows of the buffer are an odd number of 64 bytes apart.
// CHECK-LABEL: func @few_rows
//       LARGE: memref.alloc() {{.+}} : memref<2x12x65552xf32>
//       LARGE: affine.for %{{.+}} = 0 to 2 {
//       LARGE: affine.for %{{.+}} = 0 to 7 {
//       LARGE: affine.for %{{.+}} = 0 to min #{{.+}} step 4704 {
//       LARGE: affine.for %{{.+}} = 0 to 12 step 4 {
//       SMALL: affine.for %{{.+}} = 0 to 205 {
//       SMALL: memref.alloc() {{.+}} : memref<12x336xf32>
//       SMALL: affine.for %{{.+}} = 0 to min #{{.+}} step 160 {
//       SMALL: affine.for %{{.+}} = 0 to 12 step 4 {
//        WIDE: affine.for %{{.+}} = 0 to 12 step 6 {
// WIDE-COUNT-24: math.fma
//    WIDE-NOT: math.fma
//      NARROW: affine.for %{{.+}} = 0 to 12 step 4 {
// NARROW-COUNT-16: math.fma
//  NARROW-NOT: math.fma
//       CHECK: return
func.func @few_rows(%a: memref<12x128xf32>, %b: memref<128x65536xf64>,
                    %c: memref<12x65536xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 12 {
    affine.for %n = 0 to 65536 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<12x128xf32>
        %w = affine.load %b[%k, %n] : memref<128x65536xf64>
        %y = arith.truncf %w : f64 to f32
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<12x65536xf32>
    }
  }
  return
}
