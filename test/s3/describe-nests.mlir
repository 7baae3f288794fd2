// Properties: each nest is described with its work and traffic, and each buffer
// with where it comes from and goes to (@chain); bounds that depend on outer
// loops are counted exactly (@tiles, @triangle); what is not known says so
// (@dynamic, @endless); packs are counted as often as they are made, and nests that
// only move data are told (@packs, @bind); numbers are given where asked for.
// Nothing else is changed.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-describe-nests))' --remarks-filter=describe-nests 2>%t.remarks | FileCheck %s --implicit-check-not=polynest.nest
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-describe-nests{form=plain number=true}))' --remarks-filter=describe-nests 2>%t.plain | FileCheck %s --check-prefix=NUMBER
// RUN: FileCheck %s --check-prefix=PLAIN < %t.plain
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-describe-nests{number=true}))' | FileCheck %s --check-prefix=NUMBER

// The first nest reads half of its input of 64 bytes, the second sums.
// CHECK-LABEL: func @chain
// NUMBER-LABEL: func @chain
//     NUMBER: } {polynest.nest = 0 : i64}
//     NUMBER: } {polynest.nest = 1 : i64}
//      REMARK: describe-nests
// REMARK-SAME: bytes-known=true, bytes-read=32, bytes-written=32, flop=8,
// REMARK-SAME: form=final, function=chain, functions=exp, grain=0,
// REMARK-SAME: kind=pointwise, lanes=1, loops=8, nest=0, reason=nest,
// REMARK-SAME: uncounted=0
//      REMARK: bytes-read=32, bytes-written=4, flop=8,
// REMARK-SAME: kind=reduction, lanes=1, loops="1 x 8", nest=1
//      REMARK: buffer="input 0", bytes=64, form=final, from=in
// REMARK-SAME: reason=buffer, shape=16xf32, to=0
//      REMARK: buffer="buffer 0", bytes=32, form=final, from=0
// REMARK-SAME: to=1
//      REMARK: buffer="result 0", bytes=4, form=final, from=1
// REMARK-SAME: to=out
//  REMARK-NOT: reason=move
// PLAIN: form=plain
func.func @chain(%a: memref<16xf32>, %r: memref<f32> {polynest.result}) attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<16xf32>
    %y = math.exp %x : f32
    affine.store %y, %t[%i] : memref<8xf32>
  }
  %zero = arith.constant 0.0 : f32
  affine.for %o = 0 to 1 {
    %s = affine.for %i = 0 to 8 iter_args(%sum = %zero) -> f32 {
      %x = affine.load %t[%i] : memref<8xf32>
      %y = arith.addf %sum, %x : f32
      affine.yield %y : f32
    }
    affine.store %s, %r[] : memref<f32>
  }
  return
}

// 100 elements in tiles of 8, the last of 4.
// CHECK-LABEL: func @tiles
//      REMARK: flop=100
// REMARK-SAME: function=tiles
// REMARK-SAME: loops="13 x ?"
// REMARK-SAME: uncounted=0
func.func @tiles(%a: memref<100xf32>) attributes {polynest.entry} {
  affine.for %t = 0 to 100 step 8 {
    affine.for %i = affine_map<(d0) -> (d0)>(%t) to min affine_map<(d0) -> (d0 + 8, 100)>(%t) {
      %x = affine.load %a[%i] : memref<100xf32>
      %y = arith.negf %x : f32
      affine.store %y, %a[%i] : memref<100xf32>
    }
  }
  return
}

// A view is stored by three loops, one after another: its bytes count once, and
// not those of all that it is a view of.
// CHECK-LABEL: func @view
//      REMARK: bytes-written=32
// REMARK-SAME: function=view
func.func @view(%a: memref<8x4xf32>, %state: memref<4096xi8> {polynest.state}) attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %v = memref.view %state[%c0][] : memref<4096xi8> to memref<8xf32>
  affine.for %o = 0 to 4 {
    affine.for %i = 0 to 8 {
      %x = affine.load %a[%i, %o] : memref<8x4xf32>
      affine.store %x, %v[%i] : memref<8xf32>
    }
    affine.for %i = 0 to 8 {
      %x = affine.load %a[%i, %o] : memref<8x4xf32>
      affine.store %x, %v[%i] : memref<8xf32>
    }
  }
  return
}

// 0 + 1 + ... + 19.
// CHECK-LABEL: func @triangle
//      REMARK: flop=190
// REMARK-SAME: function=triangle
// REMARK-SAME: uncounted=0
func.func @triangle(%a: memref<20x20xf32>) attributes {polynest.entry} {
  affine.for %i = 0 to 20 {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
      %x = affine.load %a[%i, %j] : memref<20x20xf32>
      %y = arith.negf %x : f32
      affine.store %y, %a[%i, %j] : memref<20x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//      REMARK: bytes-known=false
// REMARK-SAME: function=dynamic
// REMARK-SAME: loops=?
// REMARK-SAME: uncounted=1
//      REMARK: bytes=?
// REMARK-SAME: from=in
func.func @dynamic(%a: memref<?xf32>, %n: index, %r: memref<?xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to %n {
    %x = affine.load %a[%i] : memref<?xf32>
    %y = arith.negf %x : f32
    affine.store %y, %r[%i] : memref<?xf32>
  }
  return
}

// The first runs 4 * 2 times, the second never ends.
// CHECK-LABEL: func @endless
//      REMARK: flop=8
// REMARK-SAME: function=endless
// REMARK-SAME: loops="4 x 2"
// REMARK-SAME: uncounted=0
//      REMARK: flop=0
// REMARK-SAME: loops=?
// REMARK-SAME: uncounted=1
func.func @endless(%a: memref<16xf32>) attributes {polynest.entry} {
  affine.parallel (%i, %j) = (0, 0) to (4, 8) step (1, 4) {
    %x = affine.load %a[%i + %j] : memref<16xf32>
    %y = arith.negf %x : f32
    affine.store %y, %a[%i + %j] : memref<16xf32>
  }
  affine.parallel (%i) = (0) to (16) step (0) {
    %x = affine.load %a[%i] : memref<16xf32>
    %y = arith.negf %x : f32
    affine.store %y, %a[%i] : memref<16xf32>
  }
  return
}

// Three times 4 elements, and 8 zeros before; a sum is no move, a turned copy is.
// CHECK-LABEL: func @packs
//   CHECK-NOT: polynest.packed
//       CHECK: return
//      REMARK: function=packs
//      REMARK: bytes=80, form=final, function=packs, nest=0, once=false,
// REMARK-SAME: reason=move, what="rows block by block: a reason"
//      REMARK: bytes=96, form=final, function=packs, nest=1, once=false,
// REMARK-SAME: reason=move, what=moved
//  REMARK-NOT: reason=move
func.func @packs(%a: memref<12xf32>, %b: memref<4x6xf32>, %r: memref<12xf32> {polynest.result}, %s: memref<6x4xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %b0 = 0 to 1 {
    %t = memref.alloc() {polynest.packed = "rows block by block: a reason"} : memref<8xf32>
    affine.for %i = 0 to 8 {
      affine.store %zero, %t[%i] : memref<8xf32>
    }
    affine.for %i = 0 to 12 step 4 {
      affine.for %j = 0 to 4 {
        %x = affine.load %a[%i + %j] : memref<12xf32>
        affine.store %x, %t[%j] : memref<8xf32>
      }
      affine.for %j = 0 to 4 {
        %x = affine.load %t[%j] : memref<8xf32>
        %y = arith.addf %x, %x : f32
        affine.store %y, %r[%i + %j] : memref<12xf32>
      }
    }
  }
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %x = affine.load %b[%j, %i] : memref<4x6xf32>
      affine.store %x, %s[%i, %j] : memref<6x4xf32>
    }
  }
  return
}

// CHECK-LABEL: func @bind
//      REMARK: function=bind
//      REMARK: bytes=?, form=final, function=bind, nest=0, once=true,
// REMARK-SAME: reason=move, what=moved
func.func @bind(%a: memref<?xf32>, %n: index, %s: memref<?xf32> {polynest.state}) attributes {polynest.init = @packs} {
  affine.for %i = 0 to %n {
    %x = affine.load %a[%i] : memref<?xf32>
    affine.store %x, %s[%i] : memref<?xf32>
  }
  return
}
