// Properties: left with a remark are rows that take more to compute than to keep
// (@dear, @narrow), come from what the body has read before (@again), are computed
// from what is written later on in the body (@written), or there may be
// (@overlap), are not filled as a whole (@part), read first (@early), or depend on
// a carried value (@carried). A buffer of a whole nest is none (@whole).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-recompute-rows))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Passed < %t.remarks

// CHECK-LABEL: func @dear
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="elements take more to compute than to keep"
func.func @dear(%x: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = math.exp %0 : f32
      affine.store %1, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @narrow
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xbf16>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="elements take more to compute than to keep"
func.func @narrow(%x: memref<7x9xbf16>, %r: memref<7x9xbf16> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xbf16>
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xbf16>
      %1 = arith.addf %0, %0 : bf16
      %2 = arith.mulf %1, %0 : bf16
      affine.store %2, %p[%j] : memref<9xbf16>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xbf16>
      affine.store %0, %r[%i, %j] : memref<7x9xbf16>
    }
  }
  return
}

// CHECK-LABEL: func @again
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="elements come from what was read before"
func.func @again(%x: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    %m = affine.for %j = 0 to 9 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = arith.addf %0, %a : f32
      affine.yield %1 : f32
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = arith.subf %0, %m : f32
      affine.store %1, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @written
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="what elements are computed from is written"
func.func @written(%r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    affine.for %j = 0 to 9 {
      %0 = affine.load %r[%i, %j] : memref<7x9xf32>
      %1 = arith.negf %0 : f32
      affine.store %1, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[-%j + 8] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @overlap
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="what elements are computed from is written"
func.func @overlap(%x: memref<7x9xf32>, %r: memref<7x9xf32>) {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = arith.negf %0 : f32
      affine.store %1, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[-%j + 8] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @part
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="one nest does not fill all of the buffer"
func.func @part(%x: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    affine.for %j = 0 to 8 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      affine.store %0, %p[%j] : memref<9xf32>
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @early
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="the buffer is read before it is full"
func.func @early(%x: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    affine.for %j = 0 to 9 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      affine.store %0, %p[%j] : memref<9xf32>
      %1 = affine.load %p[%j] : memref<9xf32>
      affine.store %1, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @carried
//       CHECK: affine.load %alloca[{{.+}}] : memref<9xf32>
//      REMARK: [Missed] recompute-rows
// REMARK-SAME: reason="an element cannot be computed again"
func.func @carried(%x: memref<7x9xf32>, %r: memref<7x9xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 7 {
    %p = memref.alloca() : memref<9xf32>
    %m = affine.for %j = 0 to 9 iter_args(%a = %zero) -> f32 {
      %0 = affine.load %x[%i, %j] : memref<7x9xf32>
      %1 = arith.addf %0, %a : f32
      affine.store %1, %p[%j] : memref<9xf32>
      affine.yield %1 : f32
    }
    affine.for %j = 0 to 9 {
      %0 = affine.load %p[%j] : memref<9xf32>
      affine.store %0, %r[%i, %j] : memref<7x9xf32>
    }
  }
  return
}

// CHECK-LABEL: func @whole
//       CHECK: affine.load %alloc[%{{.+}}] : memref<9xf32>
//  REMARK-NOT: recompute-rows
func.func @whole(%x: memref<9xf32>, %r: memref<9xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<9xf32>
  affine.for %j = 0 to 9 {
    %0 = affine.load %x[%j] : memref<9xf32>
    affine.store %0, %p[%j] : memref<9xf32>
  }
  affine.for %j = 0 to 9 {
    %0 = affine.load %p[%j] : memref<9xf32>
    affine.store %0, %r[%j] : memref<9xf32>
  }
  return
}
