// Properties: each option has a range, and takes effect.
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{max-redundant-compute-percent=10001}))' 2>&1 | FileCheck %s --check-prefix=PERCENT
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{cache-size-kib=1048577}))' 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{threshold-kib=1073741825}))' 2>&1 | FileCheck %s --check-prefix=THRESHOLD
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{stack-limit-kib=1025}))' 2>&1 | FileCheck %s --check-prefix=STACK
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{cache-size-kib=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{cache-size-kib=1 cache-size-kib=2,3}))' 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{max-fused-accesses=2}))' | FileCheck %s --check-prefix=APART
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{max-fused-operations=0}))' | FileCheck %s --check-prefix=APART
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{max-redundant-compute-percent=0 cache-size-kib=0 stack-limit-kib=0 min-parallel-trips=0}))' | FileCheck %s --check-prefix=MERGED
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{max-redundant-compute-percent=200}))' | FileCheck %s --check-prefix=AGAIN
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{stack-limit-kib=1}))' | FileCheck %s --check-prefix=ROW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests{stack-limit-kib=1 cache-size-kib=1}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=WHOLE

//  PERCENT: option max-redundant-compute-percent has value 10001; it must be 0 to 10000
//    CACHE: option cache-size-kib has value 1048577; it must be 0 to 1048576
// THRESHOLD: option threshold-kib has value 1073741825; it must be 0 to 1073741824
//    STACK: option stack-limit-kib has value 1025; it must be 0 to 1024
// NEGATIVE: '-1' value invalid
//     LIST: option

// APART-LABEL: func @chain
//       APART: affine.for
//       APART: affine.for
// MERGED-LABEL: func @chain
//       MERGED: affine.for
//   MERGED-NOT: affine.for
//       MERGED: return
func.func @chain(%x: memref<33xf32>, %o: memref<33xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<33xf32>
  affine.for %i = 0 to 33 {
    %a = affine.load %x[%i] : memref<33xf32>
    %b = math.exp %a : f32
    affine.store %b, %t[%i] : memref<33xf32>
  }
  affine.for %i = 0 to 33 {
    %a = affine.load %t[%i] : memref<33xf32>
    %b = arith.negf %a : f32
    affine.store %b, %o[%i] : memref<33xf32>
  }
  return
}

// Three times the work is 200 percent more.
// AGAIN-LABEL: func @again
//   AGAIN-NOT: memref.alloc
//       AGAIN: affine.for
//       AGAIN:   math.exp
//       AGAIN: return
func.func @again(%x: memref<40xf32>, %o: memref<3x40xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<40xf32>
  affine.for %i = 0 to 40 {
    %a = affine.load %x[%i] : memref<40xf32>
    %b = math.exp %a : f32
    affine.store %b, %t[%i] : memref<40xf32>
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 40 {
      %a = affine.load %t[%j] : memref<40xf32>
      affine.store %a, %o[%i, %j] : memref<3x40xf32>
    }
  }
  return
}

// A row of 1200 bytes does not fit a stack of 1 KiB: it is allocated in the loop,
// unless it does not fit the cache either.
// ROW-LABEL: func @rows
//   ROW-NOT: memref.alloc
//       ROW: affine.for %{{.+}} = 0 to 64
//       ROW:   memref.alloc() {{.+}} : memref<300xf32>
//       ROW:   math.exp
//       ROW: return
// WHOLE: bytes=1200, reason="buffer of one iteration does not fit the cache"
// WHOLE-LABEL: func.func @rows
//       WHOLE: memref.alloc() {{.+}} : memref<64x300xf32>
//       WHOLE: return
func.func @rows(%x: memref<64x300xf32>, %o: memref<64xf32> {polynest.result})
    attributes {polynest.entry} {
  %z = arith.constant 0.0 : f32
  %t = memref.alloc() {alignment = 64 : i64} : memref<64x300xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 300 {
      %a = affine.load %x[%i, %j] : memref<64x300xf32>
      %b = math.exp %a : f32
      affine.store %b, %t[%i, %j] : memref<64x300xf32>
    }
    %s = affine.for %j = 0 to 300 iter_args(%c = %z) -> f32 {
      %a = affine.load %t[%i, 299 - %j] : memref<64x300xf32>
      %d = arith.addf %c, %a : f32
      affine.yield %d : f32
    }
    affine.store %s, %o[%i] : memref<64xf32>
  }
  return
}
