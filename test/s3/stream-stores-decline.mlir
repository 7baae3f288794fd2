// Properties: ordinary stores stay where the result fits the caches (@small),
// is read (@read), is written in small part by the nest (@part), has rows of no whole vectors (@odd), where iterations leave
// gaps (@gaps), walk backwards (@back) or down columns (@columns), or write to
// many rows at once (@many), where what borders a row is all that could be
// streamed (@bordered), and for what is no result (@buffer) or too narrow
// a vector (@narrow).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=1024}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-stream-stores{threshold-kib=0}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefix=OFF

// OFF-NOT: stream-stores
//     OFF: func @small
// OFF-NOT: scf.if

// CHECK-LABEL: func @small
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="the result fits the caches"
func.func @small(%x: vector<8xf32>, %r: memref<511x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 511 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<511x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @read
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="the result is read, or seen through a view"
func.func @read(%x: vector<8xf32>, %r: memref<1024x512xf32> {polynest.result},
                %s: memref<1xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  %a = affine.load %r[3, 4] : memref<1024x512xf32>
  affine.store %a, %s[0] : memref<1xf32>
  return
}

// 31 of 1024 rows are less than a 16th of 1 MiB.
// CHECK-LABEL: func @part
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="the nest writes a small part of the result"
func.func @part(%x: vector<8xf32>, %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (31) {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  return
}
// CHECK-LABEL: func @odd
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @odd(%x: vector<8xf32>, %r: memref<1024x516xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x516xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @gaps
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="iterations leave gaps"
func.func @gaps(%x: vector<8xf32>, %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 step 16 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @back
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="iterations do not write one after the other"
func.func @back(%x: vector<8xf32>, %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, -%j + 504] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @columns
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="iterations leave gaps"
func.func @columns(%x: vector<8xf32>, %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %j = 0 to 512 step 8 {
    affine.for %i = 0 to 1024 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @many
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="iterations write to too many rows"
func.func @many(%x: vector<8xf32>, %r: memref<1025x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1025 step 5 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<1025x512xf32>, vector<8xf32>
      affine.vector_store %x, %r[%i + 1, %j] : memref<1025x512xf32>, vector<8xf32>
      affine.vector_store %x, %r[%i + 2, %j] : memref<1025x512xf32>, vector<8xf32>
      affine.vector_store %x, %r[%i + 3, %j] : memref<1025x512xf32>, vector<8xf32>
      affine.vector_store %x, %r[%i + 4, %j] : memref<1025x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @buffer
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @buffer(%x: vector<8xf32>) attributes {polynest.entry} {
  %r = memref.alloc() : memref<1024x512xf32>
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 step 8 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @narrow
//   CHECK-NOT: scf.if
//       CHECK: return
func.func @narrow(%x: vector<2xf32>, %r: memref<1024x512xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 512 step 2 {
      affine.vector_store %x, %r[%i, %j] : memref<1024x512xf32>, vector<2xf32>
    }
  }
  return
}

// What differs between lanes other than by element keeps its place: constants
// (@alternating), every second element (@stepping), a vector for all iterations
// (@repeating), as do rows of few vectors (@brief). What the lanes behind a row hold
// is divided by (@divided).
// CHECK-LABEL: func @alternating
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @alternating(%a: memref<4096x4096xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  %signs = arith.constant dense<[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]> : vector<16xf32>
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4080 step 16 {
      %0 = affine.vector_load %a[%i, %j] : memref<4096x4096xf32>, vector<16xf32>
      %1 = arith.mulf %0, %signs : vector<16xf32>
      affine.vector_store %1, %r[%i, %j] : memref<4096x4094xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @stepping
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @stepping(%a: memref<4096x8192xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4064 step 16 {
      %0 = affine.vector_load %a[%i, %j * 2] : memref<4096x8192xf32>, vector<16xf32>
      affine.vector_store %0, %r[%i, %j] : memref<4096x4094xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @repeating
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @repeating(%a: memref<4096x4096xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4080 step 16 {
      %0 = affine.vector_load %a[%i, 0] : memref<4096x4096xf32>, vector<16xf32>
      affine.vector_store %0, %r[%i, %j] : memref<4096x4094xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @brief
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @brief(%a: memref<65536x256xf32>, %r: memref<65536x254xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 65536 {
    affine.for %j = 0 to 240 step 16 {
      %0 = affine.vector_load %a[%i, %j] : memref<65536x256xf32>, vector<16xf32>
      affine.vector_store %0, %r[%i, %j] : memref<65536x254xf32>, vector<16xf32>
    }
  }
  return
}

// The second vector of an iteration is not what the first one would be further on.
// CHECK-LABEL: func @unlike
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @unlike(%a: memref<4096x4096xf32>, %r: memref<4096x4094xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4064 step 32 {
      %0 = affine.vector_load %a[%i, %j] : memref<4096x4096xf32>, vector<16xf32>
      %1 = affine.vector_load %a[%i, %j + 16] : memref<4096x4096xf32>, vector<16xf32>
      %2 = arith.mulf %1, %1 : vector<16xf32>
      affine.vector_store %0, %r[%i, %j] : memref<4096x4094xf32>, vector<16xf32>
      affine.vector_store %2, %r[%i, %j + 16] : memref<4096x4094xf32>, vector<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @divided
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="rows are no whole number of vectors"
func.func @divided(%a: memref<4096x4096xi32>, %r: memref<4096x4094xi32> {polynest.result})
    attributes {polynest.entry} {
  %top = arith.constant dense<1000> : vector<16xi32>
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4080 step 16 {
      %0 = affine.vector_load %a[%i, %j] : memref<4096x4096xi32>, vector<16xi32>
      %1 = arith.divsi %top, %0 : vector<16xi32>
      affine.vector_store %1, %r[%i, %j] : memref<4096x4094xi32>, vector<16xi32>
    }
  }
  return
}

// The rows go down, which decides.
// CHECK-LABEL: func @bordered
//   CHECK-NOT: scf.if
//       CHECK: return
//      REMARK: reason="iterations do not write one after the other"
func.func @bordered(%x: vector<16xf32>, %r: memref<4096x4096xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 1024 step 16 {
      affine.vector_store %x, %r[%i, %j] : memref<4096x4096xf32>, vector<16xf32>
    }
    affine.for %j = 0 to 3072 step 16 {
      affine.vector_store %x, %r[%i, -%j + 4080] : memref<4096x4096xf32>, vector<16xf32>
    }
  }
  return
}
