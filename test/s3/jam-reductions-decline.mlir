// Properties: each function is left as it is, for the reason in its remark.
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-jam-reductions))' 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Columns of a matrix.
// REMARK: an operand is not contiguous along the reduction
// CHECK-LABEL: func @columns
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @columns(%b: memref<512x1024xf32>, %c: memref<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1024 {
    %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<512x1024xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<1024xf32>
  }
  return
}

// Squares are kept.
// REMARK: elements are stored besides
// CHECK-LABEL: func @stored
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @stored(%b: memref<4096x1024xf32>, %e: memref<4096x1024xf32>,
                  %c: memref<4096xf32> {polynest.result}) {
  affine.for %n = 0 to 4096 {
    affine.for %k = 0 to 1024 {
      %y = affine.load %b[%n, %k] : memref<4096x1024xf32>
      %z = arith.mulf %y, %y : f32
      affine.store %z, %e[%n, %k] : memref<4096x1024xf32>
      %s = affine.load %c[%n] : memref<4096xf32>
      %t = arith.addf %s, %z : f32
      affine.store %t, %c[%n] : memref<4096xf32>
    }
  }
  return
}

// The lanes of a sum are folded once a row.
// REMARK: rows are too short
// CHECK-LABEL: func @short
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @short(%b: memref<4096x127xf32>, %c: memref<4096xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 4096 {
    %r = affine.for %k = 0 to 127 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<4096x127xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<4096xf32>
  }
  return
}

// 512 KiB.
// REMARK: the operand stays in L2
// CHECK-LABEL: func @small
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @small(%b: memref<256x512xf32>, %c: memref<256xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 256 {
    %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<256x512xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<256xf32>
  }
  return
}

// One row has no other.
// REMARK: too few rows
// CHECK-LABEL: func @single
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @single(%b: memref<1x200000xf32>, %c: memref<1xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1 {
    %r = affine.for %k = 0 to 200000 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<1x200000xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<1xf32>
  }
  return
}

// All rows are the same.
// REMARK: no operand has rows along the reduction
// CHECK-LABEL: func @one_value
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @one_value(%b: memref<200000xf32>, %c: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 4 {
    %r = affine.for %k = 0 to 200000 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k] : memref<200000xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<4xf32>
  }
  return
}

// No element at all.
// REMARK: rows are too short
// CHECK-LABEL: func @empty
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @empty(%b: memref<4096x0xf32>, %c: memref<4096xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 4096 {
    %r = affine.for %k = 0 to 0 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<4096x0xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<4096xf32>
  }
  return
}

// A sum is what the next row reads.
// REMARK: carries a dependence
// CHECK-LABEL: func @carried
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @carried(%b: memref<1024x512xf32>, %c: memref<1024x512xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1023 {
    %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<1024x512xf32>
      %z = affine.load %c[%n, %k] : memref<1024x512xf32>
      %p = arith.mulf %z, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n + 1, 0] : memref<1024x512xf32>
  }
  return
}

// Elements that data choose.
// REMARK: a load is not affine
// CHECK-LABEL: func @gathered
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @gathered(%b: memref<1024x512xf32>, %c: memref<1024xf32>, %i: memref<512xindex>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 1024 {
    %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<1024x512xf32>
      %j = affine.load %i[%k] : memref<512xindex>
      %z = memref.load %b[%n, %j] : memref<1024x512xf32>
      %p = arith.mulf %z, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<1024xf32>
  }
  return
}

// 17 rows are packed.
// REMARK: many rows use the operand again
// CHECK-LABEL: func @many_rows
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @many_rows(%a: memref<17x512xf32>, %b: memref<1024x512xf32>,
                     %c: memref<17x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 17 {
    affine.for %n = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<17x512xf32>
        %y = affine.load %b[%n, %k] : memref<1024x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<17x1024xf32>
    }
  }
  return
}

// No row at all.
// REMARK: too few rows
// CHECK-LABEL: func @no_rows
//   CHECK-NOT: polynest.jammed
//       CHECK: return
func.func @no_rows(%a: memref<0x512xf32>, %b: memref<1024x512xf32>,
                   %c: memref<0x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 0 {
    affine.for %n = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<0x512xf32>
        %y = affine.load %b[%n, %k] : memref<1024x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<0x1024xf32>
    }
  }
  return
}

// Rows of two loops, both unknown: no condition tells how many they are.
// REMARK: many rows use the operand again
// CHECK-LABEL: func @unknown_twice
//   CHECK-NOT: affine.if
//       CHECK: return
func.func @unknown_twice(%a: memref<?x?x512xf32>, %b: memref<1024x512xf32>,
                         %c: memref<?x?x1024xf32> {polynest.result},
                         %l: index, %rows: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to %l {
    affine.for %m = 0 to %rows {
      affine.for %n = 0 to 1024 {
        %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%i, %m, %k] : memref<?x?x512xf32>
          %y = affine.load %b[%n, %k] : memref<1024x512xf32>
          %p = arith.mulf %x, %y : f32
          %t = arith.addf %s, %p : f32
          affine.yield %t : f32
        }
        affine.store %r, %c[%i, %m, %n] : memref<?x?x1024xf32>
      }
    }
  }
  return
}
