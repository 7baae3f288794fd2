// Properties: rows stored and begun while others are computed have the bits that they have
// otherwise, with one thread and with two, and what the plain program gives: blocks of
// unequal length, quotients out of a buffer and differences out of the input, ends of
// rows behind the loops (@quotients, @differences, @ends), fewer rows than blocks
// (@few), no rows and one (@none, @one), and rows that are only begun ahead, with an end
// behind the loops (@logarithms).
// RUN: polynestc targets host --file | sed 's/^usable_llc_kib_per_core = .*/usable_llc_kib_per_core = 64  # KiB/' > %t.target
// RUN: polynestc targets znver4 --file | sed 's/^usable_llc_kib_per_core = .*/usable_llc_kib_per_core = 64  # KiB/' > %t.znver4
// RUN: polynestc explain %s --target %t.znver4 | FileCheck %s
// RUN: polynestc run %s --entry quotients --target %t.target --check
// RUN: polynestc run %s --entry differences --target %t.target --check
// RUN: polynestc run %s --entry ends --target %t.target --check
// RUN: polynestc run %s --entry few --target %t.target --check
// RUN: polynestc run %s --entry none --target %t.target --check
// RUN: polynestc run %s --entry one --target %t.target --check
// RUN: polynestc run %s --entry logarithms --target %t.target --check
// RUN: rm -rf %t && mkdir -p %t/a %t/b %t/c %t/d %t/e
// RUN: polynestc run %s --entry ends --target %t.target --threads 1 --save %t/a
// RUN: polynestc run %s --entry ends --target %t.target --threads 2 --save %t/b
// RUN: polynestc run %s --entry ends --target %t.target --disable-pass pipeline-rows --save %t/c
// RUN: cmp %t/a/result0.npy %t/b/result0.npy
// RUN: cmp %t/a/result0.npy %t/c/result0.npy
// RUN: polynestc run %s --entry logarithms --target %t.target --threads 2 --save %t/d
// RUN: polynestc run %s --entry logarithms --target %t.target --disable-pass pipeline-rows --save %t/e
// RUN: cmp %t/d/result0.npy %t/e/result0.npy

// CHECK: count-operations {{.+}} uncounted 0)
// CHECK: pipeline-rows applied rows stored while the next are computed (rows 301, blocks 64, carried 1)
func.func @quotients(%x: memref<301x1024xf32>, %o: memref<301x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 301 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<301x1024xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 1024 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<301x1024xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<1024xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 1024 {
      %a = affine.load %e[%j] : memref<1024xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<301x1024xf32>
    }
  }
  return
}

// CHECK: count-operations {{.+}} uncounted 0)
// CHECK: pipeline-rows applied rows stored while the next are computed (rows 301, blocks 64, carried 2)
func.func @differences(%x: memref<301x2048xf32>, %o: memref<301x2048xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 301 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<2048xf32>
    %m = affine.for %j = 0 to 2048 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<301x2048xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 2048 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<301x2048xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<2048xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    %l = math.log %s : f32
    affine.for %j = 0 to 2048 {
      %a = affine.load %x[%i, %j] : memref<301x2048xf32>
      %d = arith.subf %a, %m : f32
      %q = arith.subf %d, %l : f32
      affine.store %q, %o[%i, %j] : memref<301x2048xf32>
    }
  }
  return
}

// CHECK: count-operations {{.+}} uncounted 0)
// CHECK: pipeline-rows applied rows stored while the next are computed (rows 333, blocks 64, carried 1)
func.func @ends(%x: memref<333x4112xf32>, %o: memref<333x4112xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 333 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<4112xf32>
    %m = affine.for %j = 0 to 4112 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<333x4112xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 4112 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<333x4112xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<4112xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 4112 {
      %a = affine.load %e[%j] : memref<4112xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<333x4112xf32>
    }
  }
  return
}

// CHECK: pipeline-rows declined the rows are too few (rows 9)
func.func @few(%x: memref<9x65536xf32>, %o: memref<9x65536xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<65536xf32>
    %m = affine.for %j = 0 to 65536 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<9x65536xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 65536 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<9x65536xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<65536xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 65536 {
      %a = affine.load %e[%j] : memref<65536xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<9x65536xf32>
    }
  }
  return
}

func.func @none(%x: memref<0x1024xf32>, %o: memref<0x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 0 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<1024xf32>
    %m = affine.for %j = 0 to 1024 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<0x1024xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 1024 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<0x1024xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<1024xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 1024 {
      %a = affine.load %e[%j] : memref<1024xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<0x1024xf32>
    }
  }
  return
}

func.func @one(%x: memref<1x131072xf32>, %o: memref<1x131072xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<131072xf32>
    %m = affine.for %j = 0 to 131072 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<1x131072xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 131072 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<1x131072xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<131072xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 131072 {
      %a = affine.load %e[%j] : memref<131072xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<1x131072xf32>
    }
  }
  return
}

// CHECK: count-operations {{.+}} uncounted 0)
// CHECK: pipeline-rows applied rows begun while those before are computed (rows 301, blocks 64, carried 4, ahead 1)
func.func @logarithms(%x: memref<301x4107xf32>, %o: memref<301xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 301 {
    %m = affine.for %j = 0 to 4107 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<301x4107xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 4107 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<301x4107xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    %l = math.log %s : f32
    %r = arith.addf %l, %m : f32
    affine.store %r, %o[%i] : memref<301xf32>
  }
  return
}
