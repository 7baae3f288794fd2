// Properties: a buffer copied to a result is computed there (@into), also at
// other indices, as pieces of a concatenation are (@pieces), while it is still
// read (@still_read), or with dimensions joined (@joined) if nothing else reads it
// so (@joined_twice) and one nest writes it (@joined_filled); a copy of memory that does not change is read from there
// (@from), and so is what turns rows that something else reads, too (@turned); a buffer that only updates itself goes with its loads, stores and
// loops (@self); data may choose places of a buffer whose copy keeps them (@scattered); a chain of dead buffers goes at once (@chain); what a nest stores goes where the next
// one overwrites it (@overwritten).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-eliminate-buffers)' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-eliminate-buffers,polynest-eliminate-buffers)' | FileCheck %s

// CHECK-LABEL: func @into
//  CHECK-SAME: %[[X:.+]]: memref<2x8xf32>, %[[O:.+]]: memref<1x2x8xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to 2
//       CHECK:   affine.for %[[J:.+]] = 0 to 8
//       CHECK:     affine.store %{{.+}}, %[[O]][0, %[[I]], %[[J]]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] eliminate-buffers
// REMARK-SAME: values computed where they were copied to
func.func @into(%x: memref<2x8xf32>, %o: memref<1x2x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<2x8xf32>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 8 {
      %a = affine.load %x[%i, %j] : memref<2x8xf32>
      %b = arith.negf %a : f32
      affine.store %b, %t[%i, %j] : memref<2x8xf32>
    }
  }
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%i, %j] : memref<2x8xf32>
      affine.store %a, %o[0, %i, %j] : memref<1x2x8xf32>
    }
  }
  return
}

// CHECK-LABEL: func @joined
//  CHECK-SAME: %[[X:.+]]: memref<2x3x8xf32>, %[[O:.+]]: memref<2x24xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to 2
//       CHECK:   affine.for %[[G:.+]] = 0 to 3
//       CHECK:     affine.for %[[C:.+]] = 0 to 8
//       CHECK:       affine.store %{{.+}}, %[[O]][%[[I]], %[[G]] * 8 + %[[C]]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @joined(%x: memref<2x3x8xf32>, %o: memref<2x24xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<2x3x8xf32>
  affine.for %i = 0 to 2 {
    affine.for %g = 0 to 3 {
      affine.for %c = 0 to 8 {
        %a = affine.load %x[%i, %g, %c] : memref<2x3x8xf32>
        %b = arith.negf %a : f32
        affine.store %b, %t[%i, %g, %c] : memref<2x3x8xf32>
      }
    }
  }
  %v = memref.collapse_shape %t [[0], [1, 2]] : memref<2x3x8xf32> into memref<2x24xf32>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 24 {
      %a = affine.load %v[%i, %j] : memref<2x24xf32>
      affine.store %a, %o[%i, %j] : memref<2x24xf32>
    }
  }
  return
}

// CHECK-LABEL: func @joined_twice
//       CHECK: memref.alloc() : memref<2x3x8xf32>
//       CHECK: return
func.func @joined_twice(%x: memref<2x3x8xf32>, %o: memref<2x24xf32> {polynest.result},
                        %p: memref<2x24xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<2x3x8xf32>
  affine.for %i = 0 to 2 {
    affine.for %g = 0 to 3 {
      affine.for %c = 0 to 8 {
        %a = affine.load %x[%i, %g, %c] : memref<2x3x8xf32>
        %b = arith.negf %a : f32
        affine.store %b, %t[%i, %g, %c] : memref<2x3x8xf32>
      }
    }
  }
  %v = memref.collapse_shape %t [[0], [1, 2]] : memref<2x3x8xf32> into memref<2x24xf32>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 24 {
      %a = affine.load %v[%i, %j] : memref<2x24xf32>
      affine.store %a, %o[%i, %j] : memref<2x24xf32>
    }
  }
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 24 {
      %a = affine.load %v[%i, %j] : memref<2x24xf32>
      %b = arith.mulf %a, %a : f32
      affine.store %b, %p[%i, %j] : memref<2x24xf32>
    }
  }
  return
}

// CHECK-LABEL: func @joined_filled
//       CHECK: memref.alloc() : memref<2x3x8xf32>
//       CHECK: return
func.func @joined_filled(%x: memref<2x3x8xf32>, %o: memref<2x24xf32> {polynest.result})
    attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<2x3x8xf32>
  affine.for %i = 0 to 2 {
    affine.for %g = 0 to 3 {
      affine.for %c = 0 to 8 {
        affine.store %zero, %t[%i, %g, %c] : memref<2x3x8xf32>
      }
    }
  }
  affine.for %i = 0 to 2 {
    affine.for %g = 0 to 3 {
      affine.for %c = 0 to 4 {
        %a = affine.load %x[%i, %g, %c] : memref<2x3x8xf32>
        affine.store %a, %t[%i, %g, %c] : memref<2x3x8xf32>
      }
    }
  }
  %v = memref.collapse_shape %t [[0], [1, 2]] : memref<2x3x8xf32> into memref<2x24xf32>
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 24 {
      %a = affine.load %v[%i, %j] : memref<2x24xf32>
      affine.store %a, %o[%i, %j] : memref<2x24xf32>
    }
  }
  return
}

// CHECK-LABEL: func @pieces
//  CHECK-SAME: %[[X:.+]]: memref<8xf32>, %[[O:.+]]: memref<16xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.store %{{.+}}, %[[O]][%{{.+}}]
//       CHECK: affine.store %{{.+}}, %[[O]][%{{.+}} + 8]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @pieces(%x: memref<8xf32>, %o: memref<16xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  %u = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = math.exp %a : f32
    affine.store %b, %u[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %o[%i] : memref<16xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %u[%i] : memref<8xf32>
    affine.store %a, %o[%i + 8] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @still_read
//  CHECK-SAME: %[[X:.+]]: memref<8xf32>, %[[O:.+]]: memref<8xf32> {polynest.result}, %[[P:.+]]: memref<8xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.store %{{.+}}, %[[O]]
//       CHECK: affine.load %[[O]]
//       CHECK: affine.store %{{.+}}, %[[P]]
//       CHECK: return
func.func @still_read(%x: memref<8xf32>, %o: memref<8xf32> {polynest.result},
                      %p: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %t[%i] : memref<8xf32>
  }
  memref.copy %t, %o : memref<8xf32> to memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %t[7 - %i] : memref<8xf32>
    affine.store %a, %p[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @from
//  CHECK-SAME: %[[X:.+]]: memref<8x4xf32>, %[[O:.+]]: memref<4x8xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to 4
//       CHECK:   affine.for %[[J:.+]] = 0 to 8
//       CHECK:     affine.load %[[X]][%[[J]], %[[I]]]
//       CHECK:     affine.load %[[X]][0, 1]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: values read where they were copied from
func.func @from(%x: memref<8x4xf32>, %o: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<4x8xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %a = affine.load %x[%i, %j] : memref<8x4xf32>
      affine.store %a, %t[%j, %i] : memref<4x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%i, %j] : memref<4x8xf32>
      %b = affine.load %t[1, 0] : memref<4x8xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %o[%i, %j] : memref<4x8xf32>
    }
  }
  return
}

// As an error is that two products of a backward pass read.
// CHECK-LABEL: func @turned
//       CHECK: %[[T:.+]] = memref.alloc() : memref<8x4xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to 8
//       CHECK:   affine.for %[[J:.+]] = 0 to 4
//       CHECK:     arith.negf
//       CHECK:     affine.store %{{.+}}, %[[T]][%[[I]], %[[J]]]
//       CHECK: affine.for %[[I2:.+]] = 0 to 4
//       CHECK:   affine.for %[[J2:.+]] = 0 to 8
//       CHECK:     affine.load %[[T]][%[[J2]], %[[I2]]]
//       CHECK: affine.for %[[I3:.+]] = 0 to 8
//       CHECK:   affine.for %[[J3:.+]] = 0 to 4
//       CHECK:     affine.load %[[T]][%[[I3]], %[[J3]]]
//       CHECK: return
//      REMARK: values read where they were copied from
func.func @turned(%x: memref<8x4xf32>, %o: memref<4x8xf32> {polynest.result},
                  %p: memref<8x4xf32> {polynest.result})
    attributes {polynest.entry} {
  %s = memref.alloc() : memref<8x4xf32>
  %t = memref.alloc() : memref<4x8xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %a = affine.load %x[%i, %j] : memref<8x4xf32>
      %b = arith.negf %a : f32
      affine.store %b, %s[%i, %j] : memref<8x4xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %a = affine.load %s[%j, %i] : memref<8x4xf32>
      affine.store %a, %t[%i, %j] : memref<4x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%i, %j] : memref<4x8xf32>
      %b = math.exp %a : f32
      affine.store %b, %o[%i, %j] : memref<4x8xf32>
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %a = affine.load %s[%i, %j] : memref<8x4xf32>
      %b = math.sqrt %a : f32
      affine.store %b, %p[%i, %j] : memref<8x4xf32>
    }
  }
  return
}

// The index of a maximum that nobody asks for, as softmax computes it.
// CHECK-LABEL: func @self
//       CHECK: %[[M:.+]] = memref.alloc() : memref<8xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for
//   CHECK-NOT:   i64
//       CHECK:   arith.maximumf
//   CHECK-NOT:   arith.select
//       CHECK: return
//      REMARK: contents of the buffer are not needed
func.func @self(%x: memref<8x9xf32>, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %z = arith.constant 0 : i64
  %t = memref.alloc() : memref<8xi64>
  %m = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    affine.store %z, %t[%i] : memref<8xi64>
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 9 {
      %a = affine.load %x[%i, %j] : memref<8x9xf32>
      %b = affine.load %m[%i] : memref<8xf32>
      %c = affine.load %t[%i] : memref<8xi64>
      %d = arith.index_cast %j : index to i64
      %e = arith.maximumf %a, %b : f32
      %f = arith.cmpf ogt, %a, %b : f32
      %g = arith.select %f, %d, %c : i64
      affine.store %e, %m[%i] : memref<8xf32>
      affine.store %g, %t[%i] : memref<8xi64>
    }
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %m[%i] : memref<8xf32>
    %b = arith.negf %a : f32
    affine.store %b, %o[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @chain
//   CHECK-NOT: memref.alloc
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @chain(%x: memref<8xf32>) attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  %u = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %u[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @overwritten
//   CHECK-NOT: arith.constant 1.0
//       CHECK: affine.for %[[I:.+]] = 0 to 4 {
//       CHECK:   affine.for %[[J:.+]] = 0 to 8 iter_args
//       CHECK:     affine.store %{{.+}}, %{{.+}}[%[[I]], %[[J]]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: what the nest stores is overwritten
func.func @overwritten(%x: memref<4x8xf32>, %o: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      affine.store %one, %o[%i, %j] : memref<4x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 iter_args(%a = %zero) -> f32 {
      %v = affine.load %x[%i, %j] : memref<4x8xf32>
      %s = arith.addf %a, %v : f32
      affine.store %s, %o[%i, %j] : memref<4x8xf32>
      affine.yield %s : f32
    }
  }
  return
}

// CHECK-LABEL: func @scattered
//  CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[P:.+]]: memref<4xindex>, %[[O:.+]]: memref<8xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for
//       CHECK:   affine.store %{{.+}}, %[[O]]
//       CHECK: affine.for
//       CHECK:   memref.load %[[O]]
//       CHECK:   memref.store %{{.+}}, %[[O]]
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @scattered(%x: memref<8xf32>, %p: memref<4xindex>, %o: memref<8xf32> {polynest.result})
    attributes {polynest.entry} {
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 4 {
    %j = affine.load %p[%i] : memref<4xindex>
    %a = memref.load %t[%j] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %t[%j] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %a = affine.load %t[%i] : memref<8xf32>
    affine.store %a, %o[%i] : memref<8xf32>
  }
  return
}

// n + 3 rows, as a size and as a bound.
// CHECK-LABEL: func @unknown
//  CHECK-SAME: (%[[X:.+]]: memref<?x8xf32>, %[[O:.+]]: memref<9x?xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to
//       CHECK:   affine.for %[[J:.+]] = 0 to 8
//       CHECK:     affine.store %{{.+}}, %[[O]][%[[J]] + 1, %[[I]]]
//       CHECK: affine.for
//       CHECK:   affine.store %{{.+}}, %[[O]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: values computed where they were copied to
func.func @unknown(%x: memref<?x8xf32>, %o: memref<9x?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %m = arith.addi %n, %c3 : index
  %t = memref.alloc(%m) : memref<?x8xf32>
  affine.for %i = 0 to affine_map<()[s0] -> (s0 + 3)>()[%n] {
    affine.for %j = 0 to 8 {
      affine.store %zero, %t[%i, %j] : memref<?x8xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 8 {
      %a = affine.load %x[%i, %j] : memref<?x8xf32>
      affine.store %a, %t[%i + 3, %j] : memref<?x8xf32>
    }
  }
  affine.for %i = 0 to affine_map<()[s0] -> (s0 + 3)>()[%n] {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%i, %j] : memref<?x8xf32>
      affine.store %a, %o[%j + 1, %i] : memref<9x?xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unknown_source
//  CHECK-SAME: (%[[X:.+]]: memref<?x8xf32>, %[[O:.+]]: memref<8x?xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 0 to
//       CHECK:   affine.for %[[J:.+]] = 0 to 8
//       CHECK:     affine.load %[[X]][%[[I]], %[[J]]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: values read where they were copied from
func.func @unknown_source(%x: memref<?x8xf32>,
                          %o: memref<8x?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %t = memref.alloc(%n) : memref<8x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 8 {
      %a = affine.load %x[%i, %j] : memref<?x8xf32>
      affine.store %a, %t[%j, %i] : memref<8x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%j, %i] : memref<8x?xf32>
      %b = arith.addf %a, %a : f32
      affine.store %b, %o[%j, %i] : memref<8x?xf32>
    }
  }
  return
}

// Callers see to it that the result has as many columns as its shape function
// says.
// CHECK-LABEL: func @unknown_joined
//  CHECK-SAME: (%[[X:.+]]: memref<?x?xf32>, %[[O:.+]]: memref<?x?xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: %[[N:.+]] = memref.dim %[[X]], %c0
//       CHECK: %[[M:.+]] = memref.dim %[[X]], %c1
//   CHECK-NOT: memref.alloc
//       CHECK: %[[V:.+]] = memref.expand_shape %[[O]] {{\[}}[0], [1, 2]] output_shape [%[[N]], 3, %[[M]]] : memref<?x?xf32> into memref<?x3x?xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to
//       CHECK:   affine.for %[[J:.+]] = 0 to 3
//       CHECK:     affine.for %[[K:.+]] = 0 to
//       CHECK:       affine.store %{{.+}}, %[[V]][%[[I]], %[[J]], %[[K]]]
//   CHECK-NOT: collapse_shape
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: values computed where they were copied to
func.func @unknown_joined(%x: memref<?x?xf32>, %o: memref<?x?xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %t = memref.alloc(%n, %m) : memref<?x3x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 3 {
      affine.for %k = 0 to %m {
        %a = affine.load %x[%i, %k] : memref<?x?xf32>
        affine.store %a, %t[%i, %j, %k] : memref<?x3x?xf32>
      }
    }
  }
  %v = memref.collapse_shape %t [[0], [1, 2]] : memref<?x3x?xf32> into memref<?x?xf32>
  %r = memref.dim %v, %c1 : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %r {
      %a = affine.load %v[%i, %j] : memref<?x?xf32>
      affine.store %a, %o[%i, %j] : memref<?x?xf32>
    }
  }
  return
}
func.func @unknown_joined_shapes(%n: index, %m: index) -> (index, index) attributes {polynest.shapes} {
  %c3 = arith.constant 3 : index
  %r = arith.muli %m, %c3 : index
  return %n, %r : index, index
}

// Two reshapes, of sizes that are asserted before anything is written.
// CHECK-LABEL: func @unknown_recut
//  CHECK-SAME: (%[[X:.+]]: memref<?x?xf32>, %[[K:.+]]: index, %[[O:.+]]: memref<?x4xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: cf.assert
//       CHECK: cf.assert
//       CHECK: %[[C:.+]] = memref.collapse_shape %[[O]] {{\[}}[0, 1]] : memref<?x4xf32> into memref<?xf32>
//       CHECK: %[[V:.+]] = memref.expand_shape %[[C]] {{\[}}[0, 1]] output_shape [%{{.+}}, %{{.+}}] : memref<?xf32> into memref<?x?xf32>
//       CHECK: affine.store %{{.+}}, %[[V]]
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: values computed where they were copied to
func.func @unknown_recut(%x: memref<?x?xf32>, %k: index, %o: memref<?x4xf32> {polynest.result})
    attributes {polynest.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %all = arith.muli %n, %m : index
  %cut = arith.muli %k, %c4 : index
  %same = arith.cmpi eq, %all, %cut : index
  cf.assert %same, "sizes differ"
  %rows = memref.dim %o, %c0 : memref<?x4xf32>
  %fits = arith.cmpi eq, %k, %rows : index
  cf.assert %fits, "sizes differ"
  %t = memref.alloc(%n, %m) : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %a = affine.load %x[%i, %j] : memref<?x?xf32>
      %b = arith.negf %a : f32
      affine.store %b, %t[%i, %j] : memref<?x?xf32>
    }
  }
  %v = memref.collapse_shape %t [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  %w = memref.expand_shape %v [[0, 1]] output_shape [%k, 4] : memref<?xf32> into memref<?x4xf32>
  affine.for %i = 0 to %k {
    affine.for %j = 0 to 4 {
      %a = affine.load %w[%i, %j] : memref<?x4xf32>
      affine.store %a, %o[%i, %j] : memref<?x4xf32>
    }
  }
  return
}
