// Properties: the number of registers bounds the rows of a tile; latency and
// ports decide how many pay; values out of range are refused.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{vector-registers=0}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{vector-registers=129}))' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{fma-latency-cycles=0}))' 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{fma-ports=17}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{load-ports=-1}))' 2>&1 | FileCheck %s --check-prefix=LOADS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{load-ports=99999999999999999999}))' 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{vector-registers=8}))' | FileCheck %s --check-prefixes=CHECK,FEW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-windows{vector-registers=32 load-ports=1 fma-latency-cycles=1}))' | FileCheck %s --check-prefixes=CHECK,LARGE
// REGISTERS: option vector-registers has value 0; it must be 1 to 128
// MANY: option vector-registers has value 129; it must be 1 to 128
// LATENCY: option fma-latency-cycles has value 0; it must be 1 to 64
// PORTS: option fma-ports has value 17; it must be 1 to 16
// LOADS: option load-ports has value -1; it must be 1 to 16
// HUGE: error

// CHECK-LABEL: func @rows
// 8 registers hold 3 weights, an input and 4 sums. With registers for more and
// one load port, 8 rows take 10 + 3 loads for 24 multiply-adds.
//         FEW: affine.for %{{.+}} = 0 to 24 step 4
//       LARGE: affine.for %{{.+}} = 0 to 24 step 8
//       CHECK: return
func.func @rows(%x: memref<26xf32>, %w: memref<3xf32>,
                %y: memref<24xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 24 {
    %r = affine.for %p = 0 to 3 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i + %p] : memref<26xf32>
      %1 = affine.load %w[%p] : memref<3xf32>
      %2 = math.fma %0, %1, %a : f32
      affine.yield %2 : f32
    }
    affine.store %r, %y[%i] : memref<24xf32>
  }
  return
}
