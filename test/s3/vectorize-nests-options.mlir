// Properties: register width, number of registers, and latency times ports set
// the lanes and accumulators; rows that no cache holds are scanned in lanes along
// them (@sums); values out of range are refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=512 vector-registers=32}))' | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=128 fma-latency-cycles=3 fma-ports=1}))' | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{threshold-kib=512}))' | FileCheck %s --check-prefix=FAR
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{threshold-kib=513}))' | FileCheck %s --check-prefix=NEAR
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{threshold-kib=0}))' | FileCheck %s --check-prefix=NEAR
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=0}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=384}))' 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-width-bits=1048576}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{vector-registers=1}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{fma-latency-cycles=0}))' 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{fma-ports=4000000000}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{fma-ports=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests{threshold-kib=4294967297}))' 2>&1 | FileCheck %s --check-prefix=THRESHOLD

// WIDTH: error: option vector-width-bits has value {{[0-9]+}}; it must be 64 to 2048
// POWER: error: option vector-width-bits has value 384; it must be a power of two
// REGISTERS: error: option vector-registers has value 1; it must be 8 to 256
// LATENCY: error: option fma-latency-cycles has value 0; it must be 1 to 64
// PORTS: error: option fma-ports has value 4000000000; it must be 1 to 16
// NEGATIVE: error
// THRESHOLD: error: option threshold-kib has value 4294967297; it must be 0 to 4294967296

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

// Two arrays of 64 * 1024 * 4 bytes = 256 KiB.
//  FAR-LABEL: func @sums
//        FAR:   affine.for %[[I:.+]] = 0 to 64 {
//   FAR-NEXT:     vector.broadcast
//        FAR:     affine.vector_load %{{.+}}[%[[I]], %{{.+}}]
//        FAR:   return
// NEAR-LABEL: func @sums
//       NEAR:   affine.for %[[I:.+]] = 0 to 64 step 8
//       NEAR:     affine.vector_load %{{.+}}[%[[I]] + 7, %{{.+}}]
//       NEAR:   return
func.func @sums(%X: memref<64x1024xf32>,
                %Y: memref<64x1024xf32> {polynest.result}, %x: f32) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 1024 iter_args(%s = %x) -> f32 {
      %a = affine.load %X[%i, %j] : memref<64x1024xf32>
      %t = arith.addf %s, %a : f32
      affine.store %t, %Y[%i, %j] : memref<64x1024xf32>
      affine.yield %t : f32
    }
  }
  return
}
