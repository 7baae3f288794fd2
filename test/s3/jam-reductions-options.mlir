// Properties: registers bound the rows that are reduced together, L2 what is worth
// it; options out of range are refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions{vector-registers=32}))' | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions{vector-registers=8}))' | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions{l2-size-kib=4096}))' | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions{vector-registers=7}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-jam-reductions{l2-size-kib=-1}))' 2>&1 | FileCheck %s --check-prefix=L2

// REGISTERS: option vector-registers has value 7; it must be 8 to 256
// L2: option l2-size-kib has value -1; it must be 16 to 1048576

// 4 by 4 take 22 registers; 2 by 2 take 8. The operand has 2 MiB.
// CHECK-LABEL: func @batch
//        WIDE: :16 = affine.for
//      NARROW: :4 = affine.for
//   LARGE-NOT: polynest.jammed
//       CHECK: return
func.func @batch(%a: memref<8x512xf32>, %b: memref<1024x512xf32>,
                 %c: memref<8x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 8 {
    affine.for %n = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<8x512xf32>
        %y = affine.load %b[%n, %k] : memref<1024x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<8x1024xf32>
    }
  }
  return
}
