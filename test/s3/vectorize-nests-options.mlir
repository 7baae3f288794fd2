// Properties: register width, number of registers, and latency times ports set
// the lanes and accumulators; values out of range are refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=512 vector-registers=32}))' | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=128 fma-latency-cycles=3 fma-ports=1}))' | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=0}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=384}))' 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=1048576}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-registers=1}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{fma-latency-cycles=0}))' 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{fma-ports=4000000000}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{fma-ports=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// WIDTH: error: option vector-width-bits has value {{[0-9]+}}; it must be 64 to 2048
// POWER: error: option vector-width-bits has value 384; it must be a power of two
// REGISTERS: error: option vector-registers has value 1; it must be 8 to 256
// LATENCY: error: option fma-latency-cycles has value 0; it must be 1 to 64
// PORTS: error: option fma-ports has value 4000000000; it must be 1 to 16
// NEGATIVE: error

// 512 / 32 = 16 lanes and 4 * 2 = 8 accumulators; 128 / 32 = 4 lanes and 3 * 1.
// CHECK-LABEL: func @sum
//        WIDE: :8 = affine.for %{{.+}} = 0 to 768 step 128 {{.*}}vector<16xf32>
//       SMALL: :3 = affine.for %{{.+}} = 0 to 768 step 12 {{.*}}vector<4xf32>
//       CHECK: return
func.func @sum(%X: memref<768xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 768 iter_args(%s = %init) -> f32 {
    %x = affine.load %X[%i] : memref<768xf32>
    %t = arith.addf %s, %x : f32
    affine.yield %t : f32
  }
  return %r : f32
}
