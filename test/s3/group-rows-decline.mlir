// Properties: rows stay as they are, with the reason, where one reads what another
// writes (@chained), where two are too large (@large), where they are odd in number
// (@odd) or of unknown length (@unknown), and long rows of two operands, without
// functions, as two would be four streams (@several). What has another form gets no remark: loops
// that hand no number on (@apart), a loop as long as its row says (@slanted), a condition
// between the loops (@asked), a number of rows that is not known (@rows).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-group-rows))' --remarks-filter='.*' 2>%t.remarks > %t
// RUN: polynest-opt %s | diff - %t
// RUN: FileCheck %s --implicit-check-not=Missed < %t.remarks

// CHECK: [Missed] group-rows
// CHECK-SAME: reason="rows may depend on each other"
func.func @chained(%x: memref<9x10xf32> {polynest.mutable}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 10 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<9x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 10 {
      %a = affine.load %x[%i, %j] : memref<9x10xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %x[%i + 1, %j] : memref<9x10xf32>
    }
  }
  return
}

// CHECK: [Missed] group-rows
// CHECK-SAME: reason="two rows are too large for the first-level cache"
// 2 * 2 * 8400 bytes.
func.func @large(%x: memref<8x2100xf32>, %o: memref<8x2100xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 2100 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x2100xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 2100 {
      %a = affine.load %x[%i, %j] : memref<8x2100xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x2100xf32>
    }
  }
  return
}

// CHECK: [Missed] group-rows
// CHECK-SAME: reason="groups do not divide the rows"
func.func @odd(%x: memref<7x10xf32>, %o: memref<7x10xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 7 {
    %s = affine.for %j = 0 to 10 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<7x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 10 {
      %a = affine.load %x[%i, %j] : memref<7x10xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<7x10xf32>
    }
  }
  return
}

// CHECK: [Missed] group-rows
// CHECK-SAME: reason="the size of a row is not known"
func.func @unknown(%x: memref<8x?xf32>, %o: memref<8x?xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to %n iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x?xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to %n {
      %a = affine.load %x[%i, %j] : memref<8x?xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x?xf32>
    }
  }
  return
}

func.func @apart(%x: memref<8x10xf32>, %o: memref<8x10xf32> {polynest.result}, %r: memref<8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 10 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.store %s, %r[%i] : memref<8xf32>
    affine.for %j = 0 to 10 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %q = arith.divf %a, %a : f32
      affine.store %q, %o[%i, %j] : memref<8x10xf32>
    }
  }
  return
}

func.func @slanted(%x: memref<8x10xf32>, %o: memref<8x10xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to affine_map<(i) -> (i + 1)>(%i) iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 10 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x10xf32>
    }
  }
  return
}

func.func @asked(%x: memref<8x10xf32>, %o: memref<8x10xf32> {polynest.result}, %r: memref<8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 10 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.if affine_set<(i) : (i - 3 >= 0)>(%i) {
      affine.store %s, %r[%i] : memref<8xf32>
    }
    affine.for %j = 0 to 10 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x10xf32>
    }
  }
  return
}

func.func @rows(%x: memref<?x10xf32>, %o: memref<?x10xf32> {polynest.result}, %n: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to %n {
    %s = affine.for %j = 0 to 10 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<?x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 10 {
      %a = affine.load %x[%i, %j] : memref<?x10xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<?x10xf32>
    }
  }
  return
}

// CHECK: [Missed] group-rows
// CHECK-SAME: reason="long rows of several operands come from memory as fast alone"
func.func @several(%x: memref<8x1024xf32>, %y: memref<8x1024xf32>, %o: memref<8x1024xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 1024 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x1024xf32>
      %b = affine.load %y[%i, %j] : memref<8x1024xf32>
      %p = arith.mulf %a, %b : f32
      %n = arith.addf %p, %c : f32
      affine.yield %n : f32
    }
    affine.for %j = 0 to 1024 {
      %a = affine.load %x[%i, %j] : memref<8x1024xf32>
      %b = affine.load %y[%i, %j] : memref<8x1024xf32>
      %p = arith.mulf %a, %b : f32
      %q = arith.mulf %p, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x1024xf32>
    }
  }
  return
}
