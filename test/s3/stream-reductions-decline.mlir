// Properties: each function is left as it is, for the reason in its remark.
// RUN: polynest-opt %s --remarks-filter='.*' --pass-pipeline='builtin.module(func.func(polynest-stream-reductions))' 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Rows that are summed each are read once as they are.
// REMARK: no operand is contiguous along a parallel loop
// CHECK-LABEL: func @transposed
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @transposed(%b: memref<512x4096xf32>, %c: memref<512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 512 {
    %r = affine.for %k = 0 to 4096 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n, %k] : memref<512x4096xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<512xf32>
  }
  return
}

// The diagonal of a product.
// REMARK: an operand is strided along the columns
// CHECK-LABEL: func @strided
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @strided(%a: memref<512x4096xf32>, %b: memref<4096x512xf32>,
                   %c: memref<512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 512 {
    %r = affine.for %k = 0 to 4096 iter_args(%s = %zero) -> f32 {
      %x = affine.load %a[%n, %k] : memref<512x4096xf32>
      %y = affine.load %b[%k, %n] : memref<4096x512xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<512xf32>
  }
  return
}

// What is stored lies across the rows.
// REMARK: what is stored is strided along the columns
// CHECK-LABEL: func @stores_across
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @stores_across(%b: memref<512x4096xf32>,
                         %e: memref<4096x512xf32> {polynest.result},
                         %c: memref<4096xf32> {polynest.result}) {
  affine.for %k = 0 to 512 {
    affine.for %n = 0 to 4096 {
      %x = affine.load %b[%k, %n] : memref<512x4096xf32>
      affine.store %x, %e[%n, %k] : memref<4096x512xf32>
      %s = affine.load %c[%n] : memref<4096xf32>
      %t = arith.addf %x, %s : f32
      affine.store %t, %c[%n] : memref<4096xf32>
    }
  }
  return
}

// A row is computed from the one before.
// REMARK: loop carries a dependence
// CHECK-LABEL: func @stores_next
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @stores_next(%c: memref<4096xf32> {polynest.result}) {
  %e = memref.alloc() : memref<513x4096xf32>
  affine.for %k = 0 to 512 {
    affine.for %n = 0 to 4096 {
      %x = affine.load %e[%k, %n] : memref<513x4096xf32>
      %v = arith.mulf %x, %x : f32
      affine.store %v, %e[%k + 1, %n] : memref<513x4096xf32>
      %s = affine.load %c[%n] : memref<4096xf32>
      %t = arith.addf %v, %s : f32
      affine.store %t, %c[%n] : memref<4096xf32>
    }
  }
  return
}

// The sum so far is stored, and what is stored is read again: no reductions.
// CHECK-LABEL: func @stores_sums
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @stores_sums(%b: memref<512x4096xf32>,
                       %e: memref<512x4096xf32> {polynest.result},
                       %c: memref<4096xf32> {polynest.result}) {
  affine.for %k = 0 to 512 {
    affine.for %n = 0 to 4096 {
      %x = affine.load %b[%k, %n] : memref<512x4096xf32>
      %s = affine.load %c[%n] : memref<4096xf32>
      %t = arith.addf %x, %s : f32
      affine.store %t, %e[%k, %n] : memref<512x4096xf32>
      affine.store %t, %c[%n] : memref<4096xf32>
    }
  }
  return
}

// The branch reads what was stored in front of it.
// CHECK-LABEL: func @reads_in_branch
//   CHECK-NOT: polynest.streamed
//       CHECK: return
#set = affine_set<(d0) : (d0 - 3 >= 0)>
func.func @reads_in_branch(%b: memref<512x4096xf32>,
                           %e: memref<512x4096xf32> {polynest.result},
                           %c: memref<4096xf32> {polynest.result}) {
  affine.for %k = 0 to 512 {
    affine.for %n = 0 to 4096 {
      %x = affine.load %b[%k, %n] : memref<512x4096xf32>
      affine.store %x, %e[%k, %n] : memref<512x4096xf32>
      %y = affine.if #set(%k) -> f32 {
        %z = affine.load %e[%k, %n] : memref<512x4096xf32>
        affine.yield %z : f32
      } else {
        affine.yield %x : f32
      }
      %s = affine.load %c[%n] : memref<4096xf32>
      %t = arith.addf %y, %s : f32
      affine.store %t, %c[%n] : memref<4096xf32>
    }
  }
  return
}

// CHECK-LABEL: func @reads_again
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @reads_again(%b: memref<512x4096xf32>,
                       %c: memref<4096xf32> {polynest.result}) {
  %e = memref.alloc() : memref<512x4096xf32>
  affine.for %k = 0 to 512 {
    affine.for %n = 0 to 4096 {
      %x = affine.load %b[%k, %n] : memref<512x4096xf32>
      affine.store %x, %e[%k, %n] : memref<512x4096xf32>
      %y = affine.load %e[%k, %n] : memref<512x4096xf32>
      %s = affine.load %c[%n] : memref<4096xf32>
      %t = arith.addf %y, %s : f32
      affine.store %t, %c[%n] : memref<4096xf32>
    }
  }
  return
}

// Sums of windows read elements again and again.
// REMARK: windows of an operand overlap
// CHECK-LABEL: func @windows
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @windows(%b: memref<5000xf32>, %c: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 4096 {
    %r = affine.for %k = 0 to 904 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%n + %k] : memref<5000xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<4096xf32>
  }
  return
}

// A product of 17 rows is packed.
// REMARK: many rows use the operand again
// CHECK-LABEL: func @many_rows
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @many_rows(%a: memref<17x512xf32>, %b: memref<512x512xf32>,
                     %c: memref<17x512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 17 {
    affine.for %n = 0 to 512 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<17x512xf32>
        %y = affine.load %b[%k, %n] : memref<512x512xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<17x512xf32>
    }
  }
  return
}

// Three columns fill no vector.
// REMARK: too few columns
// CHECK-LABEL: func @few_columns
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @few_columns(%b: memref<4096x3xf32>, %c: memref<3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 3 {
    %r = affine.for %k = 0 to 4096 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<4096x3xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<3xf32>
  }
  return
}

// 63 rows may be read side by side.
// REMARK: the reduction is too short
// CHECK-LABEL: func @short
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @short(%b: memref<63x4096xf32>, %c: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 4096 {
    %r = affine.for %k = 0 to 63 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<63x4096xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<4096xf32>
  }
  return
}

// 60 rows at most, of a number that moves.
// REMARK: the reduction is too short
// CHECK-LABEL: func @moving
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @moving(%b: memref<70x4096xf32>, %c: memref<6x4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 6 {
    %w = memref.alloc() : memref<1xf32>
    affine.store %zero, %w[0] : memref<1xf32>
    affine.for %n = 0 to 4096 {
      %r = affine.for %k = affine_map<(i) -> (10 * i + 10)>(%i) to 70 iter_args(%s = %zero) -> f32 {
        %y = affine.load %b[%k, %n] : memref<70x4096xf32>
        %t = arith.addf %s, %y : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %n] : memref<6x4096xf32>
    }
  }
  return
}

// 32 KiB.
// REMARK: the operand stays in L1
// CHECK-LABEL: func @small
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @small(%b: memref<64x128xf32>, %c: memref<128xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 128 {
    %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<64x128xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<128xf32>
  }
  return
}

// No row at all.
// REMARK: the reduction is too short
// CHECK-LABEL: func @empty
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @empty(%b: memref<0x4096xf32>, %c: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 4096 {
    %r = affine.for %k = 0 to 0 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<0x4096xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<4096xf32>
  }
  return
}

// No column.
// REMARK: too few columns
// CHECK-LABEL: func @no_columns
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @no_columns(%b: memref<4096x8x0xf32>, %c: memref<8x0xf32> {polynest.result}) {
  affine.for %k = 0 to 4096 {
    affine.for %m = 0 to 0 {
      affine.for %n = 0 to 8 {
        %y = affine.load %b[%k, %n, %m] : memref<4096x8x0xf32>
        %s = affine.load %c[%n, %m] : memref<8x0xf32>
        %t = arith.addf %s, %y : f32
        affine.store %t, %c[%n, %m] : memref<8x0xf32>
      }
    }
  }
  return
}

// No row.
// REMARK: a loop does not run
// CHECK-LABEL: func @no_rows
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @no_rows(%a: memref<0x512xf32>, %b: memref<512x1024xf32>,
                   %c: memref<0x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to 0 {
    affine.for %n = 0 to 1024 {
      %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<0x512xf32>
        %y = affine.load %b[%k, %n] : memref<512x1024xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<0x1024xf32>
    }
  }
  return
}

// A sum overwrites what the one before it read.
// REMARK: carries a dependence
// CHECK-LABEL: func @read_elsewhere
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @read_elsewhere(%b: memref<64x512xf32>, %c: memref<512xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 511 {
    %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<64x512xf32>
      %x = affine.load %c[%n + 1] : memref<512xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<512xf32>
  }
  return
}

// Rows that data choose.
// REMARK: a load is not affine
// CHECK-LABEL: func @gathered
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @gathered(%i: memref<4096xindex>, %b: memref<4096x512xf32>,
                    %c: memref<512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 512 {
    %r = affine.for %k = 0 to 4096 iter_args(%s = %zero) -> f32 {
      %j = affine.load %i[%k] : memref<4096xindex>
      %y = memref.load %b[%j, %n] : memref<4096x512xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<512xf32>
  }
  return
}

// Bits are not packed in memory.
// REMARK: sums of this type have no vectors
// CHECK-LABEL: func @bits
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @bits(%b: memref<4096x512xi1>, %c: memref<512xi1> {polynest.result}) {
  %no = arith.constant false
  affine.for %n = 0 to 512 {
    %r = affine.for %k = 0 to 4096 iter_args(%s = %no) -> i1 {
      %y = affine.load %b[%k, %n] : memref<4096x512xi1>
      %t = arith.ori %s, %y : i1
      affine.yield %t : i1
    }
    affine.store %r, %c[%n] : memref<512xi1>
  }
  return
}


// REMARK: the bounds of a loop depend on another
// CHECK-LABEL: func @triangle
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @triangle(%b: memref<512x512xf32>, %c: memref<512xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to 512 {
    %r = affine.for %k = 0 to affine_map<(d0) -> (d0 + 1)>(%n) iter_args(%s = %zero) -> f32 {
      %y = affine.load %b[%k, %n] : memref<512x512xf32>
      %t = arith.addf %s, %y : f32
      affine.yield %t : f32
    }
    affine.store %r, %c[%n] : memref<512xf32>
  }
  return
}

// Not reductions: no remark either. What is added is read from the sums; a sum
// is stored for each row; two reductions run over different loops.
// CHECK-LABEL: func @scan
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @scan(%b: memref<64x512xf32>, %c: memref<512xf32>,
                %d: memref<64x512xf32> {polynest.result}) {
  affine.for %k = 0 to 64 {
    affine.for %n = 0 to 512 {
      %y = affine.load %b[%k, %n] : memref<64x512xf32>
      %s = affine.load %c[%n] : memref<512xf32>
      %t = arith.addf %s, %y : f32
      affine.store %t, %c[%n] : memref<512xf32>
      affine.store %t, %d[%k, %n] : memref<64x512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @shifted
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @shifted(%b: memref<64x512xf32>, %c: memref<513xf32>) {
  affine.for %k = 0 to 64 {
    affine.for %n = 0 to 512 {
      %y = affine.load %c[%n + 1] : memref<513xf32>
      %s = affine.load %c[%n] : memref<513xf32>
      %t = arith.addf %s, %y : f32
      affine.store %t, %c[%n] : memref<513xf32>
    }
  }
  return
}

// What is added is the sum itself, read once more.
// CHECK-LABEL: func @twice
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @twice(%b: memref<64x512xf32>, %c: memref<512xf32>) {
  affine.for %k = 0 to 64 {
    affine.for %n = 0 to 512 {
      %y = affine.load %b[%k, %n] : memref<64x512xf32>
      %s = affine.load %c[%n] : memref<512xf32>
      %u = affine.load %c[%n] : memref<512xf32>
      %p = arith.mulf %u, %y : f32
      %t = arith.addf %s, %p : f32
      affine.store %t, %c[%n] : memref<512xf32>
    }
  }
  return
}

// CHECK-LABEL: func @both_ways
//   CHECK-NOT: polynest.streamed
//       CHECK: return
func.func @both_ways(%b: memref<64x512xf32>, %c: memref<512xf32>,
                     %d: memref<64xf32>) {
  affine.for %k = 0 to 64 {
    affine.for %n = 0 to 512 {
      %y = affine.load %b[%k, %n] : memref<64x512xf32>
      %s = affine.load %c[%n] : memref<512xf32>
      %t = arith.addf %s, %y : f32
      affine.store %t, %c[%n] : memref<512xf32>
      %u = affine.load %d[%k] : memref<64xf32>
      %v = arith.addf %u, %y : f32
      affine.store %v, %d[%k] : memref<64xf32>
    }
  }
  return
}

// Rows of two loops, both unknown: no condition tells how many they are.
// REMARK: many rows use the operand again
// CHECK-LABEL: func @unknown_twice
//   CHECK-NOT: affine.if
//       CHECK: return
func.func @unknown_twice(%a: memref<?x?x512xf32>, %b: memref<512x1024xf32>,
                         %c: memref<?x?x1024xf32> {polynest.result},
                         %l: index, %rows: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to %l {
    affine.for %m = 0 to %rows {
      affine.for %n = 0 to 1024 {
        %r = affine.for %k = 0 to 512 iter_args(%s = %zero) -> f32 {
          %x = affine.load %a[%i, %m, %k] : memref<?x?x512xf32>
          %y = affine.load %b[%k, %n] : memref<512x1024xf32>
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

// 256 KiB stay in L2: not worth two forms.
// REMARK: many rows may use the operand again
// CHECK-LABEL: func @unknown_small
//   CHECK-NOT: affine.if
//       CHECK: return
func.func @unknown_small(%a: memref<?x256xf32>, %b: memref<256x256xf32>,
                         %c: memref<?x256xf32> {polynest.result},
                         %rows: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %m = 0 to %rows {
    affine.for %n = 0 to 256 {
      %r = affine.for %k = 0 to 256 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%m, %k] : memref<?x256xf32>
        %y = affine.load %b[%k, %n] : memref<256x256xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%m, %n] : memref<?x256xf32>
    }
  }
  return
}
