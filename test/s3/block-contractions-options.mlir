// Properties: the caches bound the blocks; options out of range are refused;
// tile, blocks and packing may be asked for in place of the model's choice, and
// what is not legal for the nest is an error.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l1-size-kib=64 l2-size-kib=2048}))' | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l1-size-kib=8 l2-size-kib=64}))' | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=0}))' 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=384}))' 2>&1 | FileCheck %s --check-prefix=POWER
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-registers=-1}))' 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{fma-latency-cycles=65}))' 2>&1 | FileCheck %s --check-prefix=LATENCY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{fma-ports=0}))' 2>&1 | FileCheck %s --check-prefix=PORTS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{load-ports=17}))' 2>&1 | FileCheck %s --check-prefix=LOADS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l1-size-kib=0}))' 2>&1 | FileCheck %s --check-prefix=L1
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{l2-size-kib=1000000000000}))' 2>&1 | FileCheck %s --check-prefix=L2
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{cores=0}))' 2>&1 | FileCheck %s --check-prefix=CORES
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tile-rows=6 tile-vectors=2 block-rows=96 block-columns=128 block-depth=256 pack-columns=block pack-rows=block}))' | FileCheck %s --check-prefix=ASKED
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tile-rows=13 tile-vectors=1}))' 2>&1 | FileCheck %s --check-prefix=TILEROWS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tile-vectors=5 tile-rows=1}))' 2>&1 | FileCheck %s --check-prefix=TILEVECTORS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{block-rows=-1}))' 2>&1 | FileCheck %s --check-prefix=BLOCKROWS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{block-columns=1073741825}))' 2>&1 | FileCheck %s --check-prefix=BLOCKCOLUMNS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{block-depth=-8}))' 2>&1 | FileCheck %s --check-prefix=BLOCKDEPTH
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-columns=first}))' 2>&1 | FileCheck %s --check-prefix=PACKCOLUMNS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-rows=ahead}))' 2>&1 | FileCheck %s --check-prefix=PACKROWS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tile-rows=5 tile-vectors=3}))' 2>&1 | FileCheck %s --check-prefix=SPILLS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tile-rows=5}))' 2>&1 | FileCheck %s --check-prefix=HALF

// WIDTH: option vector-width-bits has value 0; it must be 64 to 2048
// POWER: option vector-width-bits has value 384; it must be a power of two
// REGISTERS: option vector-registers has value -1; it must be 8 to 256
// LATENCY: option fma-latency-cycles has value 65; it must be 1 to 64
// PORTS: option fma-ports has value 0; it must be 1 to 16
// LOADS: option load-ports has value 17; it must be 1 to 16
// L1: option l1-size-kib has value 0; it must be 4 to 65536
// L2: option l2-size-kib has value 1000000000000; it must be 16 to 1048576
// CORES: option cores has value 0; it must be 1 to 65536
// TILEROWS: option tile-rows has value 13; it must be 0 to 12
// TILEVECTORS: option tile-vectors has value 5; it must be 0 to 4
// BLOCKROWS: option block-rows has value -1; it must be 0 to 1073741824
// BLOCKCOLUMNS: option block-columns has value 1073741825; it must be 0 to 1073741824
// BLOCKDEPTH: option block-depth has value -8; it must be 0 to 1073741824
// PACKCOLUMNS: option pack-columns has value 'first'; it must be auto, ahead, columns, block or never
// PACKROWS: option pack-rows has value 'ahead'; it must be auto, never or block
// 5 * 3 sums, 3 vectors and a broadcast are 19 of 16 registers.
// SPILLS: error: the blocks asked for are not legal here: the tile takes more registers than there are
// HALF: error: the blocks asked for are not legal here: a tile needs both rows and vectors

// 7/8 of 64 KiB hold 57344 / (4 * (16 + 2 * 6)) = 512 rows of both panels, of 8 KiB
// 64: 512 in 1 or 8 parts.
// CHECK-LABEL: func @matmul
//       LARGE: :12 = affine.for %{{.+}} = 0 to 512 step 4 iter_args
//       SMALL: affine.for %{{.+}} = 0 to 8 {
//       SMALL: :12 = affine.for %{{.+}} = 0 to 64 step 4 iter_args
//       CHECK: return
//
// 8 blocks of 128 columns, 8 of 96 rows, 2 of 256 deep, both operands packed in
// each: 8 panels of 16 columns, and 256 elements a row in 17 lines.
// ASKED-LABEL: func @matmul
//   ASKED-NOT: memref.alloc
//       ASKED: affine.for %{{.+}} = 0 to 8 {
//  ASKED-NEXT: affine.for %{{.+}} = 0 to 8 {
//       ASKED: memref.alloc() {{.+}} : memref<8x256x16xf32>
//       ASKED: memref.alloc() {{.+}} : memref<96x272xf32>
//       ASKED: affine.for %{{.+}} = 0 to 2 {
//       ASKED: :12 = affine.for %{{.+}} = 0 to 256 step 4 iter_args
//       ASKED: return
func.func @matmul(%a: memref<768x512xf32>, %b: memref<512x1024xf32>,
                  %c: memref<768x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 768 {
    affine.for %j = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<768x512xf32>
        %y = affine.load %b[%k, %j] : memref<512x1024xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<768x1024xf32>
    }
  }
  return
}
