// Properties: a loop that computes functions of what no loop has read before asks
// for what it reads a page later, one place a cache line: where rows follow each
// other (@rows, but not what a loop leaves of a row), in one long loop (@flat), and
// where short rows do (@short). Loops that compute none (@plain), rows with more
// between them than in them (@gaps), runs of three pages (@run), operands that fit
// the cache (@small) or are written (@written), by a call too that may write
// anything (@called), and single elements (@elements) stay,
// and so does the first loop over rows of which a later one asks for the next
// (@later). Nor does one that reduces rows for a later loop (@handed), unless no
// cache holds the operand; of two operands only if it stores as well, not where it
// reads alone (@both). One that reduces for no later loop asks for a place of each
// page of a later row in front of it (@sums, @blocks), if rows follow on each other and have 1 to
// 16 pages, and nobody writes them (@declined). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{threshold-kib=4096}))' | FileCheck %s --check-prefix=LARGE
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{threshold-kib=4097}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{threshold-kib=0}))' | diff %t.once -
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-prefetch-rows{threshold-kib=4294967297}))' 2>&1 | FileCheck %s --check-prefix=RANGE

// RANGE: threshold-kib {{.*}}0 {{.*}}4294967296

// Pages of 4096 bytes are 1024 floats.
// CHECK-LABEL: func @rows
//  CHECK-SAME: (%[[X:[^:]+]]: memref<1024x1040xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 1024
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 32
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[I]], %[[J]] + 1024], read, locality<2>, data
//  CHECK-NEXT:     affine.prefetch %[[X]][%[[I]], %[[J]] + 1040], read, locality<2>, data
//  CHECK-NEXT:     affine.vector_load
//       CHECK:   affine.for %{{.+}} = 1024 to 1040 step 16
//   CHECK-NOT:     affine.prefetch
//       CHECK: return
//      REMARK: [Passed] prefetch-rows
// REMARK-SAME: bytes=4259840, lines=2, reason="next page asked for", row-bytes=4096
func.func @rows(%x: memref<1024x1040xf32>, %o: memref<1024x1040xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 step 32 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1040xf32>, vector<16xf32>
      %w = affine.vector_load %x[%i, %j + 16] : memref<1024x1040xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      %b = math.erf %w : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1040xf32>, vector<16xf32>
      affine.vector_store %b, %o[%i, %j + 16] : memref<1024x1040xf32>, vector<16xf32>
    }
    affine.for %j = 1024 to 1040 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1040xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1040xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @flat
//       CHECK:   affine.for %[[J:.+]] = 0 to 524288 step 8
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%[[J]] + 512], read, locality<2>, data
//       CHECK: return
func.func @flat(%x: memref<524288xf64>, %o: memref<524288xf64> {polynest.result}) attributes {polynest.entry} {
  affine.for %j = 0 to 524288 step 8 {
    %v = affine.vector_load %x[%j] : memref<524288xf64>, vector<8xf64>
    %a = math.erf %v : vector<8xf64>
    affine.vector_store %a, %o[%j] : memref<524288xf64>, vector<8xf64>
  }
  return
}

// Rows of 512 bytes.
// CHECK-LABEL: func @short
//       CHECK:   affine.prefetch %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}} + 1024], read, locality<2>, data
//       CHECK: return
func.func @short(%x: memref<64x128x128xf32>, %o: memref<64x128x128xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %c = 0 to 64 {
    affine.for %i = 0 to 128 {
      affine.for %j = 0 to 128 step 16 {
        %v = affine.vector_load %x[%c, %i, %j] : memref<64x128x128xf32>, vector<16xf32>
        %a = math.erf %v : vector<16xf32>
        affine.vector_store %a, %o[%c, %i, %j] : memref<64x128x128xf32>, vector<16xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @plain
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @plain(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.divf %v, %v : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// 128 of 1024 columns.
// CHECK-LABEL: func @gaps
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @gaps(%x: memref<1024x1024xf32>, %o: memref<1024x128xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 128 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x128xf32>, vector<16xf32>
    }
  }
  return
}

// 12 KiB, and then the next one beyond a gap.
// CHECK-LABEL: func @run
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @run(%x: memref<64x16384xf32>, %o: memref<64x3072xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 3072 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<64x16384xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<64x3072xf32>, vector<16xf32>
    }
  }
  return
}

// 512 KiB.
// CHECK-LABEL: func @small
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @small(%x: memref<128x1024xf32>, %o: memref<128x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<128x1024xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<128x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @written
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @written(%x: memref<1024x1024xf32> {polynest.mutable}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      affine.vector_store %a, %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @called
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func private @any()
func.func @called(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      func.call @any() : () -> ()
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @elements
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @elements(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%i, %j] : memref<1024x1024xf32>
      %a = math.erf %v : f32
      affine.store %a, %o[%i, %j] : memref<1024x1024xf32>
    }
  }
  return
}

// CHECK-LABEL: func @later
//       CHECK:   affine.for {{.+}} iter_args
//   CHECK-NOT:   affine.prefetch
//       CHECK:   affine.for %[[J:.+]] = 0 to 1024 step 16
//  CHECK-NEXT:     affine.prefetch %{{.+}}[%{{.+}} + 1, %[[J]]], read
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
func.func @later(%x: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = math.erf %v : vector<16xf32>
      %n = arith.addf %t, %a : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// 4 MiB of each.
// CHECK-LABEL: func @handed
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
// LARGE-LABEL: func @handed
//       LARGE:   affine.for %[[I:.+]] = 0 to 1024
//       LARGE:     affine.for %[[J:.+]] = 0 to 1024 step 16 iter_args
//  LARGE-NEXT:       affine.prefetch %{{.+}}[%[[I]], %[[J]] + 1024], read, locality<2>, data
//  LARGE-NEXT:       affine.prefetch %{{.+}}[%[[I]], %[[J]] + 1024], read, locality<2>, data
//   LARGE-NOT:   affine.prefetch
//       LARGE: return
func.func @handed(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %b = memref.alloca() : memref<1024xf32>
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %y[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.addf %v, %w : vector<16xf32>
      affine.vector_store %a, %b[%j] : memref<1024xf32>, vector<16xf32>
      %n = arith.addf %t, %a : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %b[%j] : memref<1024xf32>, vector<16xf32>
      %a = arith.mulf %v, %s : vector<16xf32>
      affine.vector_store %a, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @both
// LARGE-LABEL: func @both
//   LARGE-NOT:   affine.prefetch
//       LARGE: return
func.func @both(%x: memref<1024x1024xf32>, %y: memref<1024x1024xf32>, %o: memref<1024x1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %y[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.addf %v, %w : vector<16xf32>
      %n = arith.addf %t, %a : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    affine.for %j = 0 to 1024 step 16 {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %w = affine.vector_load %y[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %a = arith.addf %v, %w : vector<16xf32>
      %b = arith.mulf %a, %s : vector<16xf32>
      affine.vector_store %b, %o[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
    }
  }
  return
}

// Rows of a page that a loop only reduces: 16 KiB ahead, a place of each page.
// CHECK-LABEL: func @sums
//   CHECK-NOT:   affine.prefetch
//       CHECK: return
// LARGE-LABEL: func @sums
//  LARGE-SAME: (%[[X:[^:]+]]: memref
//       LARGE: affine.for %[[I:.+]] = 0 to 1024
//  LARGE-NEXT:   affine.prefetch %[[X]][%[[I]] + 4, 0], read, locality<2>, data
//   LARGE-NOT:   affine.prefetch
//       LARGE: return
func.func @sums(%x: memref<1024x1024xf32>, %o: memref<1024xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    %r = vector.reduction <add>, %s : vector<16xf32> into f32
    affine.store %r, %o[%i] : memref<1024xf32>
  }
  return
}

// Blocks of rows of two pages, 16 KiB ahead; rows of more than 16 pages, of less
// than one, apart from each other and written ones stay.
// LARGE-LABEL: func @blocks
//  LARGE-SAME: (%[[X:[^:]+]]: memref
//       LARGE: affine.for
//       LARGE: affine.for %[[I:.+]] = #
//  LARGE-NEXT:   affine.prefetch %[[X]][%[[I]] + 2, 0], read, locality<2>, data
//  LARGE-NEXT:   affine.prefetch %[[X]][%[[I]] + 2, 1024], read, locality<2>, data
//  LARGE-NEXT:   affine.for
//   LARGE-NOT:   affine.prefetch
//       LARGE: return
func.func @blocks(%x: memref<512x2048xf32>, %o: memref<64xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %b = 0 to 64 {
    %z = affine.for %i = affine_map<(d0) -> (d0 * 8)>(%b) to affine_map<(d0) -> (d0 * 8 + 8)>(%b) iter_args(%u = %c) -> (vector<16xf32>) {
      %s = affine.for %j = 0 to 2048 step 16 iter_args(%t = %u) -> (vector<16xf32>) {
        %v = affine.vector_load %x[%i, %j] : memref<512x2048xf32>, vector<16xf32>
        %n = arith.addf %t, %v : vector<16xf32>
        affine.yield %n : vector<16xf32>
      }
      affine.yield %s : vector<16xf32>
    }
    %r = vector.reduction <add>, %z : vector<16xf32> into f32
    affine.store %r, %o[%b] : memref<64xf32>
  }
  return
}

// LARGE-LABEL: func @declined
//   LARGE-NOT:   affine.prefetch
//       LARGE: return
func.func @declined(%x: memref<64x32768xf32>, %y: memref<8192x512xf32>, %w: memref<1024x2048xf32>, %z: memref<1024x1024xf32> {polynest.mutable}, %o: memref<8192xf32> {polynest.result}) attributes {polynest.entry} {
  %c = arith.constant dense<0.0> : vector<16xf32>
  affine.for %i = 0 to 64 {
    %s = affine.for %j = 0 to 32768 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %x[%i, %j] : memref<64x32768xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    %r = vector.reduction <add>, %s : vector<16xf32> into f32
    affine.store %r, %o[%i] : memref<8192xf32>
  }
  affine.for %i = 0 to 8192 {
    %s = affine.for %j = 0 to 512 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %y[%i, %j] : memref<8192x512xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    %r = vector.reduction <add>, %s : vector<16xf32> into f32
    affine.store %r, %o[%i] : memref<8192xf32>
  }
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %w[%i, %j] : memref<1024x2048xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    %r = vector.reduction <add>, %s : vector<16xf32> into f32
    affine.store %r, %o[%i] : memref<8192xf32>
  }
  affine.for %i = 0 to 1024 {
    %s = affine.for %j = 0 to 1024 step 16 iter_args(%t = %c) -> (vector<16xf32>) {
      %v = affine.vector_load %z[%i, %j] : memref<1024x1024xf32>, vector<16xf32>
      %n = arith.addf %t, %v : vector<16xf32>
      affine.yield %n : vector<16xf32>
    }
    %r = vector.reduction <add>, %s : vector<16xf32> into f32
    affine.store %r, %z[%i, 0] : memref<1024x1024xf32>
  }
  return
}
