// Properties: the number of registers bounds the tile, latency times ports sets
// how many accumulators pay, load ports how dear a load is, the operations that
// a body may have how many copies there are; values out of range are refused.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{vector-registers=0}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{vector-registers=129}))' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{fma-latency-cycles=0}))' 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{fma-ports=17}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{load-ports=-1}))' 2>&1 | FileCheck %s --check-prefix=LOADS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{load-ports=99999999999999999999}))' 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{vector-registers=8}))' | FileCheck %s --check-prefixes=CHECK,FEW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{vector-registers=32 load-ports=3}))' | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{max-operations=14}))' | FileCheck %s --check-prefixes=CHECK,SHORT
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{max-operations=13}))' | FileCheck %s --check-prefixes=CHECK,NONE --implicit-check-not=polynest.tiled_registers
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{max-operations=0}))' 2>&1 | FileCheck %s --check-prefix=OPERATIONS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers{max-operations=1048577}))' 2>&1 | FileCheck %s --check-prefix=MILLIONS
// REGISTERS: option vector-registers has value 0; it must be 1 to 128
// MANY: option vector-registers has value 129; it must be 1 to 128
// LATENCY: option fma-latency-cycles has value 0; it must be 1 to 64
// PORTS: option fma-ports has value 17; it must be 1 to 16
// LOADS: option load-ports has value -1; it must be 1 to 16
// HUGE: error
// OPERATIONS: option max-operations has value 0; it must be 1 to 1048576
// MILLIONS: option max-operations has value 1048577; it must be 1 to 1048576

// CHECK-LABEL: func @matmul
// Six accumulators, one operand held and one in passing fill 8 registers; a
// factor is 8 at the most.
//         FEW: affine.for %{{.+}} = 0 to 24 step 6
//         FEW: :6 = affine.for %{{.+}} = 0 to 9
//       LARGE: affine.for %{{.+}} = 0 to 24 step 8
//       LARGE: :8 = affine.for %{{.+}} = 0 to 9
// The body of the loop of columns: a loop of three and its end, a store, its
// own end; twice those are 14.
//       SHORT: affine.for %{{.+}} = 0 to 24 {
//       SHORT: affine.for %{{.+}} = 0 to 24 step 2
//       SHORT: :2 = affine.for %{{.+}} = 0 to 9
//        NONE: affine.for %{{.+}} = 0 to 24 {
//        NONE: affine.for %{{.+}} = 0 to 24 {
//       CHECK: return
func.func @matmul(%a: memref<24x9xf32>, %b: memref<9x24xf32>,
                  %c: memref<24x24xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 24 {
    affine.for %j = 0 to 24 {
      %r = affine.for %k = 0 to 9 iter_args(%acc = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<24x9xf32>
        %y = affine.load %b[%k, %j] : memref<9x24xf32>
        %p = math.fma %x, %y, %acc : f32
        affine.yield %p : f32
      }
      affine.store %r, %c[%i, %j] : memref<24x24xf32>
    }
  }
  return
}
