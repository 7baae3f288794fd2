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

// Runs of a quarter of L2 / 32 bytes: 16384, of which 4 are all columns, or 512;
// chunks of three quarters of L1 / (32 + 16) bytes: 1024 or 128. 4 runs of the
// former are fewer than 8, but 128 rows make only parts of 64, 2 of them.
// CHECK-LABEL: func @few_rows
//       LARGE: memref.alloc() {{.+}} : memref<2x8x65536xf32>
//       LARGE: affine.for %{{.+}} = 0 to 2 {
//       LARGE: affine.for %{{.+}} = 0 to 4 {
//       LARGE: affine.for %{{.+}} = 0 to 16384 step 1024 {
//       SMALL: affine.for %{{.+}} = 0 to 128 {
//       SMALL: memref.alloc() {{.+}} : memref<8x512xf32>
//       SMALL: affine.for %{{.+}} = 0 to 512 step 128 {
//        WIDE: affine.for %{{.+}} = 0 to 8 step 4 {
// WIDE-COUNT-16: math.fma
//    WIDE-NOT: math.fma
//      NARROW: affine.for %{{.+}} = 0 to 8 step 2 {
// NARROW-COUNT-8: math.fma
//  NARROW-NOT: math.fma
//       CHECK: return
func.func @few_rows(%a: memref<8x128xf32>, %b: memref<128x65536xf32>,
                    %c: memref<8x65536xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 8 {
    affine.for %n = 0 to 65536 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<8x128xf32>
        %y = affine.load %b[%k, %n] : memref<128x65536xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<8x65536xf32>
    }
  }
  return
}
