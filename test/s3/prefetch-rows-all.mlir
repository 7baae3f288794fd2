// Properties: with row-requests=1, where several loops along the rows of operands
// that no cache holds compute no functions, each of them asks for the next row, a
// place of each line that an iteration stands for (@norm, also in vectors of half a
// line), of two operands, of what it does not read itself, whatever its step (@handed),
// and a place of each page of a row 16 KiB further on in front of the first that reads it
// (rows of no whole pages have none: @ragged, whose loops end with rests). Rows side by side are
// asked for each (@pair). Loops that run over other indices do not ask (@part). Functions
// (@functions), written operands (@written), rows that go down
// (@down), rows that fill more than a quarter of the cache (@long) and what a cache
// holds (@small) have what they have otherwise; of three operands two are asked for
// (@three). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{row-requests=1 threshold-kib=4096}))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{row-requests=1 threshold-kib=4096}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{row-requests=0 threshold-kib=4096}))' | FileCheck %s --check-prefix=LAST
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{row-requests=2}))' 2>&1 | FileCheck %s --check-prefix=RANGE

// RANGE: option row-requests has value 2; it must be 0 to 1

// Rows of a page; 16 KiB are four of them, behind the next one.
// CHECK-LABEL: func @norm
//  CHECK-SAME: (%[[X:[^:]+]]: memref
//       CHECK: affine.for %[[I:.+]] = 0 to 1024
//  CHECK-NEXT:   affine.prefetch %[[X]][%[[I]] + 5, 0], read, locality<2>, data
//  CHECK-NEXT:   affine.for %[[J:.+]] = 0 to 1024 step 16
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[I]] + 1, %[[J]]], read, locality<2>, data
//  CHECK-NEXT:     affine.vector_load
//       CHECK:   affine.for %[[K:.+]] = 0 to 1024 step 32
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[I]] + 1, %[[K]]], read, locality<2>, data
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[I]] + 1, %[[K]] + 16], read, locality<2>, data
//  CHECK-NEXT:     affine.vector_load
//       CHECK: return
//      REMARK: [Passed] prefetch-rows
// REMARK-SAME: reason="pages of a later row asked for"
//  LAST-LABEL: func @norm
//       LAST:   iter_args
//   LAST-NOT:     affine.prefetch
//       LAST:   affine.for
//  LAST-NEXT:     affine.prefetch
//       LAST: return
func.func @norm(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<8xf32>
  affine.for %i = 0 to 1024 {
    %s:2 = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c, %u = %c) -> (vector<8xf32>, vector<8xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %w = affine.vector_load %x[%i, %j + 8] : memref<1024x1024xf32>, vector<8xf32>
      %n = arith.addf %t, %v : vector<8xf32>
      %m = arith.addf %u, %w : vector<8xf32>
      affine.yield %n, %m : vector<8xf32>, vector<8xf32>
    }
    affine.for %j = 0 to 1024 step 32 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      %w = affine.vector_load %x[%i, %j + 8] : memref<1024x1024xf32>, vector<8xf32>
      %y = affine.vector_load %x[%i, %j + 16] : memref<1024x1024xf32>, vector<8xf32>
      %z = affine.vector_load %x[%i, %j + 24] : memref<1024x1024xf32>, vector<8xf32>
      %a = arith.mulf %v, %s#0 : vector<8xf32>
      %b = arith.mulf %w, %s#1 : vector<8xf32>
      %d = arith.mulf %y, %s#0 : vector<8xf32>
      %e = arith.mulf %z, %s#1 : vector<8xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<8xf32>
      affine.vector_store %b, %o[%i, %j + 8] : memref<1024x1024xf32>, vector<8xf32>
      affine.vector_store %d, %o[%i, %j + 16] : memref<1024x1024xf32>, vector<8xf32>
      affine.vector_store %e, %o[%i, %j + 24] : memref<1024x1024xf32>, vector<8xf32>
    }
  }
  return
}

// Rows of two pages, two of them are 16 KiB.
// CHECK-LABEL: func @handed
//  CHECK-SAME: (%[[X:[^:]+]]: memref{{[^:]+}}, %[[Y:[^:]+]]: memref
//       CHECK: affine.for %[[I:.+]] = 0 to 512
//       CHECK:   memref.alloca
//   CHECK-DAG:   affine.prefetch %[[X]][%[[I]] + 3, 0], read
//   CHECK-DAG:   affine.prefetch %[[X]][%[[I]] + 3, 1024], read
//   CHECK-DAG:   affine.prefetch %[[Y]][%[[I]] + 3, 0], read
//   CHECK-DAG:   affine.prefetch %[[Y]][%[[I]] + 3, 1024], read
//       CHECK:   affine.for %[[J:.+]] = 0 to 2048 step 16
//   CHECK-DAG:     affine.prefetch %[[X]][%[[I]] + 1, %[[J]]], read
//   CHECK-DAG:     affine.prefetch %[[Y]][%[[I]] + 1, %[[J]]], read
//       CHECK:     affine.vector_load
//       CHECK:   affine.for %[[K:.+]] = 0 to 2048 step 64
//   CHECK-DAG:     affine.prefetch %[[X]][%[[I]] + 1, %[[K]]], read
//   CHECK-DAG:     affine.prefetch %[[X]][%[[I]] + 1, %[[K]] + 16], read
//   CHECK-DAG:     affine.prefetch %[[X]][%[[I]] + 1, %[[K]] + 32], read
//   CHECK-DAG:     affine.prefetch %[[X]][%[[I]] + 1, %[[K]] + 48], read
//   CHECK-DAG:     affine.prefetch %[[Y]][%[[I]] + 1, %[[K]]], read
//   CHECK-DAG:     affine.prefetch %[[Y]][%[[I]] + 1, %[[K]] + 16], read
//   CHECK-DAG:     affine.prefetch %[[Y]][%[[I]] + 1, %[[K]] + 32], read
//   CHECK-DAG:     affine.prefetch %[[Y]][%[[I]] + 1, %[[K]] + 48], read
//       CHECK:     affine.vector_load
//       CHECK: return
func.func @handed(%x: memref<512x2048xf32>, %y: memref<512x2048xf32>, %o: memref<512x2048xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 512 {
    %b = memref.alloca() : memref<2048xf32>
    %s = affine.for %j = 0 to 2048 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<512x2048xf32>, vector<16xf32>
      %w = affine.vector_load %y[%i, %j] : memref<512x2048xf32>, vector<16xf32>
      %a = arith.addf %v, %w : vector<16xf32>
      affine.vector_store %a, %b[%j] : memref<2048xf32>, vector<16xf32>
      %n = arith.addf %t, %a : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 2048 step 64 {
      %v = affine.vector_load %b[%j] : memref<2048xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<512x2048xf32>, vector<16xf32>
    }
  }
  return
}

// Rows of 4092 bytes: 1023 is 63 x 16 + 15 and 31 x 32 + 31.
// CHECK-LABEL: func @ragged
//       CHECK: affine.for %[[I:.+]] = 0 to 1100
//  CHECK-NEXT:   affine.for %[[J:.+]] = 0 to 1008 step 16
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I]] + 1, %[[J]]], read
//  CHECK-NEXT:     affine.vector_load
//       CHECK:   affine.for %[[K:.+]] = 0 to 992 step 32
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I]] + 1, %[[K]]], read
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I]] + 1, %[[K]] + 16], read
//  CHECK-NEXT:     affine.vector_load
//       CHECK:   affine.for %{{.+}} = 992 to 1023
//   CHECK-NOT:     affine.prefetch
//       CHECK: return
func.func @ragged(%x: memref<1100x1023xf32>, %o: memref<1100x1023xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1100 {
    %s = affine.for %j = 0 to 1008 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1100x1023xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 992 step 32 {
      %v = affine.vector_load %x[%i, %j] : memref<1100x1023xf32>, vector<16xf32>
      %w = affine.vector_load %x[%i, %j + 16] : memref<1100x1023xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      %b = arith.mulf %w, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1100x1023xf32>, vector<16xf32>
      affine.vector_store %b, %o[%i, %j + 16] : memref<1100x1023xf32>, vector<16xf32>
    }
    affine.for %j = 992 to 1023 {
      %v = affine.load %x[%i, %j] : memref<1100x1023xf32>
      affine.store %v, %o[%i, %j] : memref<1100x1023xf32>
    }
  }
  return
}

// CHECK-LABEL: func @pair
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 16
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I:.+]] + 2, %[[J]]], read
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I]] + 3, %[[J]]], read
//  CHECK-NEXT:     affine.vector_load
//       CHECK:   affine.for %[[K:.+]] = 0 to 1024 step 16
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I]] + 2, %[[K]]], read
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I]] + 3, %[[K]]], read
//  CHECK-NEXT:     affine.vector_load
//       CHECK: return
func.func @pair(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 step 2 {
    %s:2 = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c, %u = %c) -> (vector<16xf32>, vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %x[%i + 1, %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      %m = arith.addf %u, %w : vector<16xf32>
      affine.yield %n, %m : vector<16xf32>, vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %x[%i + 1, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s#0 : vector<16xf32>
      %b = arith.mulf %w, %s#1 : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      affine.vector_store %b, %o[%i + 1, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// Only the last one asks, as it reads again.
// CHECK-LABEL: func @part
//       CHECK:   affine.for %{{.+}} = 0 to 1024 step 16
//   CHECK-NOT:     affine.prefetch
//       CHECK:   affine.for %[[J:.+]] = 0 to 512 step 16
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[I:.+]] + 1, %[[J]]], read
//   CHECK-NOT:     affine.prefetch
//       CHECK: return
func.func @part(%x: memref<1024x1024xf32>, %o: memref<1024x512xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 512 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x512xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @functions
//       CHECK:   iter_args
//   CHECK-NOT:     affine.prefetch
//       CHECK:   affine.for
//  CHECK-NEXT:     affine.prefetch
//       CHECK: return
func.func @functions(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %e = math.exp %v : vector<16xf32>
      %a = arith.mulf %e, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @three
//  CHECK-SAME: %[[Z:[^ :]+]]: memref<1024x1024xf32>, %{{[^ :]+}}: memref<1024x1024xf32> {polynest.result}
//       CHECK:   iter_args
// CHECK-COUNT-2:   affine.prefetch
//       CHECK:   affine.for
// CHECK-COUNT-2:   affine.prefetch
//   CHECK-NOT:   affine.prefetch %[[Z]]
//       CHECK: return
func.func @three(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %z: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %u = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %v = affine.vector_load %y[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %m = arith.addf %u, %v : vector<16xf32>
      %n = arith.addf %t, %m : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %u = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %v = affine.vector_load %y[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %z[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.mulf %u, %s : vector<16xf32>
      %b = arith.addf %a, %v : vector<16xf32>
      %d = arith.addf %b, %w : vector<16xf32>
      affine.vector_store %d, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @written
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @written(%x: memref<1024x1024xf32> {polynest.mutable}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @down
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @down(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, 1008 - %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, 1008 - %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// 256 KiB of 512: the last one asks for nothing either; the first, which sums for it,
// for the next page.
// CHECK-LABEL: func @long
//       CHECK:   iter_args
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%{{.+}}, %{{.+}} + 1024]
//       CHECK:   affine.for
//   CHECK-NOT:     affine.prefetch
//       CHECK: return
func.func @long(%x: memref<64x65536xf32>, %o: memref<64x65536xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 64 {
    %s = affine.for %j = 0 to 65536 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<64x65536xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 65536 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<64x65536xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<64x65536xf32>, vector<16xf32>
    }
  }
  return
}

// 3 MiB: the last loop alone.
// CHECK-LABEL: func @small
//       CHECK:   iter_args
//   CHECK-NOT:     affine.prefetch
//       CHECK:   affine.for
//  CHECK-NEXT:     affine.prefetch
//       CHECK: return
func.func @small(%x: memref<768x1024xf32>, %o: memref<768x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 768 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<768x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<768x1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<768x1024xf32>, vector<16xf32>
    }
  }
  return
}
