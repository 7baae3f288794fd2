// Properties: a loop that computes functions of a row that an earlier loop has
// read asks for the next row, one place a cache line (@softmax: 16 floats in two
// vectors are one line; @wide: 32 are two), and so does one whose rows go down in
// steps of two (@steps). Where no loop computes functions, the last one that reads
// the row again does (@last), but not by less than half a line (@light), nor where there
// are two (prefetch-rows-pages.mlir). The first
// one over a row (@first), operands that fit the cache (@small), rows that do not fit a
// quarter of it (@long), operands that are written (@written) and rows at unknown
// distances (@dynamic) stay. A second run changes nothing. A loop along a row that
// data choose asks for a row 4 KiB of rows later, the last for their last again, by a
// number computed from the same loads and arithmetic (@chosen, rows two apart, numbers
// three apart; @chosen_dynamic); a loop that reads one line of each row asks for the line after next
// (@across), but not for what lies in one page (@near), is written (@written_across) or
// where the next iteration reads more than a line further on (@lines); numbers that change along the row (@along), from memory that the nest writes
// (@changing), divisions that might trap (@divided), short rows (@short) and small
// matrices (@tiny) stay.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{cache-size-kib=16}))' | FileCheck %s --check-prefix=TINY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{cache-size-kib=15}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{cache-size-kib=1048577}))' 2>&1 | FileCheck %s --check-prefix=RANGE

// RANGE: cache-size-kib {{.*}}16 {{.*}}1048576

// 1024 rows two apart from 1 on end with 2047; four of them have 4 KiB.
//       CHECK: #[[$NEXT:.+]] = affine_map<(d0) -> (d0 + 8, 2047)>
//       CHECK: #[[$LATER:.+]] = affine_map<(d0) -> (d0 + 16, 2047)>
//       CHECK: #[[$COUNTED:.+]] = affine_map<(d0)[s0] -> (d0 + 1, s0 - 1)>

// Rows of 4 KiB and 4 MiB in all; the cache has 512 KiB.
// CHECK-LABEL: func @softmax
//  CHECK-SAME: (%[[X:[^:]+]]: memref<1024x1024xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 1024
//       CHECK:   affine.for
//   CHECK-NOT:     affine.prefetch
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 16
//       CHECK:     affine.prefetch %[[X]][%[[I]] + 1, %[[J]]], read, locality<2>, data
//   CHECK-NOT:     affine.prefetch
//       CHECK:     affine.vector_load
//       CHECK: return
//      REMARK: [Passed] prefetch-rows
// REMARK-SAME: bytes=4194304, lines=1,
// REMARK-SAME: row-bytes=4096
// With 16 KiB, a row of 4 KiB is a quarter.
//  TINY-LABEL: func @softmax
//        TINY: affine.prefetch
//        TINY: return
func.func @softmax(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<8xf32>
  affine.for %i = 0 to 1024 {
    %m = affine.for %j = 0 to 1024 step 8 iter_args(%s = %c) -> (vector<8xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %n = arith.maximumf %v, %s : vector<8xf32>
      affine.yield %n : vector<8xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %w = affine.vector_load %x[%i, %j + 8] : memref<1024x1024xf32>, vector<8xf32>
      %a = arith.subf %v, %m : vector<8xf32>
      %b = arith.subf %w, %m : vector<8xf32>
      %e = math.exp %a : vector<8xf32>
      %f = math.exp %b : vector<8xf32>
      affine.vector_store %e, %o[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      affine.vector_store %f, %o[%i, %j + 8] : memref<1024x1024xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @wide
//       CHECK:   affine.prefetch %{{.+}}[%{{.+}} + 1, %[[J:.+]]], read
//       CHECK:   affine.prefetch %{{.+}}[%{{.+}} + 1, %[[J]] + 16], read
//       CHECK: return
func.func @wide(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      affine.store %v, %o[%i, %j] : memref<1024x1024xf32>
    }
    affine.for %j = 0 to 1024 step 32 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %x[%i, %j + 16] : memref<1024x1024xf32>, vector<16xf32>
      %e = math.exp %v : vector<16xf32>
      %f = math.exp %w : vector<16xf32>
      affine.vector_store %e, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      affine.vector_store %f, %o[%i, %j + 16] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @steps
//       CHECK:   affine.prefetch %{{.+}}[%{{.+}} + 2, %{{.+}}], read
//       CHECK: return
func.func @steps(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 step 2 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      affine.store %v, %o[%i, %j] : memref<1024x1024xf32>
    }
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      %e = math.exp %v : f32
      affine.store %e, %o[%i, %j] : memref<1024x1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @light
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @light(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      affine.store %v, %o[%i, %j] : memref<1024x1024xf32>
    }
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      %e = arith.addf %v, %v : f32
      affine.store %e, %o[%i, %j] : memref<1024x1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @last
//       CHECK:   affine.for
//   CHECK-NOT:   affine.prefetch
//       CHECK:   affine.for
//   CHECK-NOT:   affine.prefetch
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 8
//       CHECK:     affine.prefetch %{{.+}}[%{{.+}} + 1, %[[J]]], read
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @last(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<8xf32>
  affine.for %i = 0 to 1024 {
    %m = affine.for %j = 0 to 1024 step 8 iter_args(%s = %c) -> (vector<8xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %n = arith.maximumf %v, %s : vector<8xf32>
      affine.yield %n : vector<8xf32>
    }
    %t = affine.for %j = 0 to 1024 step 8 iter_args(%s = %c) -> (vector<8xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %n = arith.addf %v, %s : vector<8xf32>
      affine.yield %n : vector<8xf32>
    }
    affine.for %j = 0 to 1024 step 8 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %a = arith.subf %v, %m : vector<8xf32>
      %b = arith.mulf %a, %t : vector<8xf32>
      affine.vector_store %b, %o[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @first
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @first(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %y[%i, %j] : memref<1024x1024xf32>
      affine.store %v, %o[%i, %j] : memref<1024x1024xf32>
    }
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      %e = math.exp %v : f32
      affine.store %e, %o[%i, %j] : memref<1024x1024xf32>
    }
  }
  return
}

// 128 rows of 4 KiB are 512 KiB.
// CHECK-LABEL: func @small
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @small(%x: memref<128x1024xf32>, %o: memref<128x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<128x1024xf32>
      affine.store %v, %o[%i, %j] : memref<128x1024xf32>
    }
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<128x1024xf32>
      %e = math.exp %v : f32
      affine.store %e, %o[%i, %j] : memref<128x1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @long
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @long(%x: memref<64x65536xf32>, %o: memref<64x65536xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 65536 {
      %v = affine.load %x[%i, %j] : memref<64x65536xf32>
      affine.store %v, %o[%i, %j] : memref<64x65536xf32>
    }
    affine.for %j = 0 to 65536 {
      %v = affine.load %x[%i, %j] : memref<64x65536xf32>
      %e = math.exp %v : f32
      affine.store %e, %o[%i, %j] : memref<64x65536xf32>
    }
  }
  return
}

// CHECK-LABEL: func @written
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @written(%x: memref<1024x1024xf32> {polynest.mutable}, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      affine.store %v, %o[%i, %j] : memref<1024x1024xf32>
    }
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      %e = math.exp %v : f32
      affine.store %e, %x[%i, %j] : memref<1024x1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @dynamic(%x: memref<1024x?xf32>, %o: memref<1024x?xf32> {polynest.result}, %n: index) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to %n {
      %v = affine.load %x[%i, %j] : memref<1024x?xf32>
      affine.store %v, %o[%i, %j] : memref<1024x?xf32>
    }
    affine.for %j = 0 to %n {
      %v = affine.load %x[%i, %j] : memref<1024x?xf32>
      %e = math.exp %v : f32
      affine.store %e, %o[%i, %j] : memref<1024x?xf32>
    }
  }
  return
}

// Rows 1, 3, to 2047 of numbers at 3, 9, to 6141.
// CHECK-LABEL: func @chosen
//  CHECK-SAME: (%[[T:[^:]+]]: memref<4096x256xf32>, %[[N:[^:]+]]: memref<6144xi64>
//       CHECK: affine.for %[[I:.+]] = 1 to 2048 step 2
//       CHECK:   %[[NEXT:.+]] = affine.min #[[$NEXT]](%[[I]])
//       CHECK:   %[[AT:.+]] = arith.muli %[[NEXT]], %
//       CHECK:   %[[M:.+]] = memref.load %[[N]][%[[AT]]]
//       CHECK:   %[[S:.+]] = arith.addi %[[M]], %
//       CHECK:   %[[R:.+]] = arith.index_cast %[[S]]
//       CHECK:   %[[LATER:.+]] = affine.min #[[$LATER]](%[[I]])
//       CHECK:   arith.muli %[[LATER]], %
//       CHECK:   %[[L:.+]] = arith.index_cast
//       CHECK:   %[[ZERO:.+]] = arith.constant 0 : index
//  CHECK-NEXT:   memref.prefetch %[[T]][%[[L]], %[[ZERO]]], read, locality<2>, data
//       CHECK:   affine.for %[[J:.+]] = 0 to 256 step 16
//       CHECK:     memref.prefetch %[[T]][%[[R]], %[[J]]], read, locality<2>, data
//  CHECK-NEXT:     vector.load %[[T]][%{{.+}}, %[[J]]]
//       CHECK: return
//      REMARK: ahead=4, {{.+}}row that data choose later asked for
func.func @chosen(%t: memref<4096x256xf32>, %n: memref<6144xi64>, %o: memref<2048x256xf32> {polynest.result}) attributes {polynest.entry} {
  %one = arith.constant 1 : i64
  affine.for %i = 1 to 2048 step 2 {
    affine.for %j = 0 to 256 step 16 {
      %m = affine.load %n[%i * 3] : memref<6144xi64>
      %s = arith.addi %m, %one : i64
      %r = arith.index_cast %s : i64 to index
      %v = vector.load %t[%r, %j] : memref<4096x256xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<2048x256xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @chosen_dynamic
//  CHECK-SAME: %[[COUNT:[^ ]+]]: index)
//       CHECK: affine.for %[[I:.+]] = 0 to %[[COUNT]]
//       CHECK:   affine.min #[[$COUNTED]](%[[I]])[%[[COUNT]]]
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 16
//       CHECK:     memref.prefetch
//       CHECK: return
func.func @chosen_dynamic(%t: memref<4096x1024xf32>, %n: memref<?xi64>, %o: memref<?x1024xf32> {polynest.result}, %count: index) attributes {polynest.entry} {
  affine.for %i = 0 to %count {
    affine.for %j = 0 to 1024 step 16 {
      %m = affine.load %n[%i] : memref<?xi64>
      %r = arith.index_cast %m : i64 to index
      %v = vector.load %t[%r, %j] : memref<4096x1024xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<?x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @along
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @along(%t: memref<4096x256xf32>, %n: memref<2048xi64>, %o: memref<2048x256xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 256 step 16 {
      %m = affine.load %n[%i + %j] : memref<2048xi64>
      %r = arith.index_cast %m : i64 to index
      %v = vector.load %t[%r, %j] : memref<4096x256xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<2048x256xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @changing
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @changing(%t: memref<4096x256xf32>, %n: memref<2048xi64> {polynest.mutable}, %o: memref<2048x256xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 256 step 16 {
      %m = affine.load %n[%i] : memref<2048xi64>
      affine.store %m, %n[%i] : memref<2048xi64>
      %r = arith.index_cast %m : i64 to index
      %v = vector.load %t[%r, %j] : memref<4096x256xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<2048x256xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @divided
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @divided(%t: memref<4096x256xf32>, %n: memref<2048xi64>, %o: memref<2048x256xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 256 step 16 {
      %m = affine.load %n[%i] : memref<2048xi64>
      %q = arith.divsi %m, %m : i64
      %r = arith.index_cast %q : i64 to index
      %v = vector.load %t[%r, %j] : memref<4096x256xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<2048x256xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @short
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @short(%t: memref<8192x112xf32>, %n: memref<2048xi64>, %o: memref<2048x112xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 112 step 16 {
      %m = affine.load %n[%i] : memref<2048xi64>
      %r = arith.index_cast %m : i64 to index
      %v = vector.load %t[%r, %j] : memref<8192x112xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<2048x112xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @tiny
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @tiny(%t: memref<512x256xf32>, %n: memref<2048xi64>, %o: memref<2048x256xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 2048 {
    affine.for %j = 0 to 256 step 16 {
      %m = affine.load %n[%i] : memref<2048xi64>
      %r = arith.index_cast %m : i64 to index
      %v = vector.load %t[%r, %j] : memref<512x256xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<2048x256xf32>, vector<16xf32>
    }
  }
  return
}

// Lines of 64 bytes of 1024 rows of 16 KiB; after two of 16 floats come those 32 on.
// CHECK-LABEL: func @across
//  CHECK-SAME: (%[[X:[^:]+]]: memref<1024x4096xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 4096 step 16
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 2
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[J]], %[[I]] + 32], read, locality<2>, data
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[J]] + 1, %[[I]] + 32], read, locality<2>, data
//  CHECK-NEXT:     affine.vector_load
//       CHECK: return
//      REMARK: bytes=16777216, lines=2, {{.*}}next lines of rows asked for{{.*}}row-bytes=65536
func.func @across(%x: memref<1024x4096xf32>, %o: memref<4096x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 4096 step 16 {
    affine.for %j = 0 to 1024 step 2 {
      %v = affine.vector_load %x[%j, %i] : memref<1024x4096xf32>, vector<16xf32>
      %w = affine.vector_load %x[%j + 1, %i] : memref<1024x4096xf32>, vector<16xf32>
      %s = arith.addf %v, %w : vector<16xf32>
      affine.vector_store %s, %o[%i, %j] : memref<4096x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @near
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @near(%x: memref<65536x512xf32>, %o: memref<512x65536xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 512 step 16 {
    affine.for %j = 0 to 1024 {
      %v = affine.vector_load %x[%j, %i] : memref<65536x512xf32>, vector<16xf32>
      affine.vector_store %v, %o[%i, %j] : memref<512x65536xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @written_across
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @written_across(%x: memref<1024x4096xf32> {polynest.mutable}) attributes {polynest.entry} {
  affine.for %i = 0 to 4096 step 16 {
    affine.for %j = 0 to 1024 {
      %v = affine.vector_load %x[%j, %i] : memref<1024x4096xf32>, vector<16xf32>
      %s = arith.addf %v, %v : vector<16xf32>
      affine.vector_store %s, %x[%j, %i] : memref<1024x4096xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @lines
//   CHECK-NOT:   prefetch
//       CHECK: return
func.func @lines(%x: memref<1024x4096xf32>, %o: memref<4096x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 4096 step 32 {
    affine.for %j = 0 to 1024 {
      %v = affine.vector_load %x[%j, %i] : memref<1024x4096xf32>, vector<16xf32>
      %w = affine.vector_load %x[%j, %i + 16] : memref<1024x4096xf32>, vector<16xf32>
      %s = arith.addf %v, %w : vector<16xf32>
      affine.vector_store %s, %o[%i, %j] : memref<4096x1024xf32>, vector<16xf32>
    }
  }
  return
}
