// Properties: a reduction is left, with a remark that has the numbers, where it
// has no loop around it (@alone), where the loop around carries a dependence
// (@carried), where no load would be shared (@nothing), and where two rows of which
// functions are computed are too large (@long). One whose body stores is no reduction and
// gets none (@stores).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-tile-registers))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s --implicit-check-not=polynest.tiled_registers
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @alone
//      REMARK: [Missed] tile-registers
// REMARK-SAME: candidates=0{{.*}}reason="no loop around the reduction"
func.func @alone(%a: memref<64xf32>, %r: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> f32 {
    %x = affine.load %a[%k] : memref<64xf32>
    %t = arith.addf %x, %acc : f32
    affine.yield %t : f32
  }
  affine.store %s, %r[] : memref<f32>
  return
}

// Row i reads what row i - 1 has written: its loads of b could be shared, but
// rows may not be interleaved.
// CHECK-LABEL: func @carried
//      REMARK: [Missed] tile-registers
// REMARK-SAME: candidates=0{{.*}}reason="loop carries a dependence
func.func @carried(%b: memref<11xf32>, %c: memref<14x11xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 1 to 14 {
    %r = affine.for %k = 0 to 11 iter_args(%acc = %zero) -> f32 {
      %x = affine.load %c[%i - 1, %k] : memref<14x11xf32>
      %y = affine.load %b[%k] : memref<11xf32>
      %s = math.fma %x, %y, %acc : f32
      affine.yield %s : f32
    }
    affine.store %r, %c[%i, 0] : memref<14x11xf32>
  }
  return
}

// CHECK-LABEL: func @nothing
//      REMARK: [Missed] tile-registers
// REMARK-SAME: no tile is faster
func.func @nothing(%a: memref<14x11xf32>, %c: memref<14xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 14 {
    %r:8 = affine.for %k = 0 to 11 iter_args(%s = %zero, %t = %zero, %u = %zero, %v = %zero, %w = %zero, %x = %zero, %y = %zero, %z = %zero) -> (f32, f32, f32, f32, f32, f32, f32, f32) {
      %l = affine.load %a[%i, %k] : memref<14x11xf32>
      %0 = arith.addf %s, %l : f32
      %1 = arith.addf %t, %l : f32
      %2 = arith.addf %u, %l : f32
      %3 = arith.addf %v, %l : f32
      %4 = arith.addf %w, %l : f32
      %5 = arith.addf %x, %l : f32
      %6 = arith.addf %y, %l : f32
      %7 = arith.addf %z, %l : f32
      affine.yield %0, %1, %2, %3, %4, %5, %6, %7 : f32, f32, f32, f32, f32, f32, f32, f32
    }
    affine.store %r#0, %c[%i] : memref<14xf32>
  }
  return
}

// 4097 * 4 * 2 bytes.
// CHECK-LABEL: func @long
//      REMARK: [Missed] tile-registers
// REMARK-SAME: two rows are too large for the first-level cache
func.func @long(%a: memref<14x4097xf32>, %c: memref<14xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 14 {
    %m = affine.for %k = 0 to 4097 iter_args(%s = %zero) -> f32 {
      %l = affine.load %a[%i, %k] : memref<14x4097xf32>
      %0 = arith.maximumf %s, %l : f32
      affine.yield %0 : f32
    }
    %r = affine.for %k = 0 to 4097 iter_args(%s = %zero) -> f32 {
      %l = affine.load %a[%i, %k] : memref<14x4097xf32>
      %d = arith.subf %l, %m : f32
      %e = math.exp %d : f32
      %0 = arith.addf %s, %e : f32
      affine.yield %0 : f32
    }
    affine.store %r, %c[%i] : memref<14xf32>
  }
  return
}

// CHECK-LABEL: func @stores
func.func @stores(%b: memref<11xf32>, %c: memref<14x11xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 14 {
    %r = affine.for %k = 0 to 11 iter_args(%acc = %zero) -> f32 {
      %y = affine.load %b[%k] : memref<11xf32>
      %s = arith.addf %y, %acc : f32
      affine.store %s, %c[%i, %k] : memref<14x11xf32>
      affine.yield %s : f32
    }
  }
  return
}
