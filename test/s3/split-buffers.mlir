// Properties: parts of a buffer that several nests write become buffers, and
// nests that read several are cut at the seams (@concat), also where sizes are
// not known (@dynamic), where two loops make up an index (@stacked), and where
// one counts down (@flipped). What a fill leaves is no buffer: readers take its
// value (@border), and fill where they compute nothing else, results only where
// they are not overwritten (@pad, @result), buffers that windows are read of as
// they were filled (@window). A nest whose elements are read in parts is cut, and
// what nobody reads is not computed (@halves). Parts are updated in place
// (@update), and read before they are overwritten (@early). Rows are cut where
// columns are reduced (@rows). What is read and never written has any value
// (@unwritten). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-buffers))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-split-buffers))' | diff %t.once -

// CHECK-LABEL: func @concat
//  CHECK-SAME: (%[[X:.+]]: memref<3x4xf32>, %[[Y:.+]]: memref<3x5xf32>, %[[Z:.+]]: memref<3x9xf32>, %[[R:.+]]: memref<3x9xf32>
//   CHECK-DAG: %[[A:.+]] = memref.alloc() {alignment = 64 : i64} : memref<3x4xf32>
//   CHECK-DAG: %[[B:.+]] = memref.alloc() {alignment = 64 : i64} : memref<3x5xf32>
//   CHECK-NOT: memref<3x9xf32>
//       CHECK: affine.load %[[X]]
//       CHECK: affine.store %{{.+}}, %[[A]][%{{.+}}, %{{.+}}]
//       CHECK: affine.load %[[Y]]
//       CHECK: affine.store %{{.+}}, %[[B]][%{{.+}}, %{{.+}}]
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 4
//  CHECK-NEXT: affine.load %[[A]][%[[I]], %[[J]]]
//  CHECK-NEXT: affine.load %[[Z]][%[[I]], %[[J]]]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I]], %[[J]]]
//       CHECK: affine.for %[[I2:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %[[J2:.+]] = 0 to 5
//  CHECK-NEXT: affine.load %[[B]][%[[I2]], %[[J2]]]
//  CHECK-NEXT: affine.load %[[Z]][%[[I2]], %[[J2]] + 4]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I2]], %[[J2]] + 4]
//       CHECK: return
func.func @concat(%x: memref<3x4xf32>, %y: memref<3x5xf32>, %z: memref<3x9xf32>, %r: memref<3x9xf32> {polynest.result}) {
  %b = memref.alloc() {alignment = 64 : i64} : memref<3x9xf32>
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %x[%i, %j] : memref<3x4xf32>
      %1 = arith.addf %0, %0 : f32
      affine.store %1, %b[%i, %j] : memref<3x9xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 5 {
      %0 = affine.load %y[%i, %j] : memref<3x5xf32>
      %1 = arith.mulf %0, %0 : f32
      affine.store %1, %b[%i, %j + 4] : memref<3x9xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 9 {
      %0 = affine.load %b[%i, %j] : memref<3x9xf32>
      %1 = affine.load %z[%i, %j] : memref<3x9xf32>
      %2 = arith.subf %0, %1 : f32
      affine.store %2, %r[%i, %j] : memref<3x9xf32>
    }
  }
  return
}

// 0 + 1 is what the result is filled with, above, below and left of the inside.
// CHECK-LABEL: func @pad
//  CHECK-SAME: (%[[X:.+]]: memref<60x60xf32>, %[[R:.+]]: memref<64x63xf32>
//       CHECK: %[[A:.+]] = memref.alloc() : memref<60x60xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: affine.store %{{.+}}, %[[A]]
//       CHECK: %[[ONE:.+]] = arith.constant 1.0
//       CHECK: affine.for %[[I:.+]] = 0 to 1 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 63 {
//  CHECK-NEXT: affine.store %[[ONE]], %[[R]][%[[I]], %[[J]]]
//       CHECK: affine.for %[[I2:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[J2:.+]] = 0 to 63 {
//  CHECK-NEXT: affine.store %[[ONE]], %[[R]][%[[I2]] + 61, %[[J2]]]
//       CHECK: affine.for %[[I3:.+]] = 0 to 60 {
//  CHECK-NEXT: affine.for %[[J3:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.store %[[ONE]], %[[R]][%[[I3]] + 1, %[[J3]]]
//       CHECK: affine.for %[[I4:.+]] = 0 to 60 {
//  CHECK-NEXT: affine.for %[[J4:.+]] = 0 to 60 {
//  CHECK-NEXT: affine.load %[[A]][%[[I4]], %[[J4]]]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I4]] + 1, %[[J4]] + 3]
//       CHECK: return
func.func @pad(%x: memref<60x60xf32>, %r: memref<64x63xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %b = memref.alloc() : memref<64x63xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 63 {
      affine.store %zero, %b[%i, %j] : memref<64x63xf32>
    }
  }
  affine.for %i = 0 to 60 {
    affine.for %j = 0 to 60 {
      %0 = affine.load %x[%i, %j] : memref<60x60xf32>
      affine.store %0, %b[%i + 1, %j + 3] : memref<64x63xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 63 {
      %0 = affine.load %b[%i, %j] : memref<64x63xf32>
      %1 = arith.addf %0, %one : f32
      affine.store %1, %r[%i, %j] : memref<64x63xf32>
    }
  }
  return
}

// CHECK-LABEL: func @border
//  CHECK-SAME: (%{{.+}}: memref<2x3xf32>, %[[Z:.+]]: memref<4x3xf32>, %[[R:.+]]: memref<4x3xf32>
//       CHECK: %[[ZERO:.+]] = arith.constant 0.0
//       CHECK: %[[A:.+]] = memref.alloc() : memref<2x3xf32>
//       CHECK: affine.store %{{.+}}, %[[A]]
//       CHECK: affine.for %[[I:.+]] = 0 to 2
//       CHECK: %[[V:.+]] = affine.load %[[Z]][%[[I]], %{{.+}}]
//  CHECK-NEXT: arith.subf %[[ZERO]], %[[V]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[R]][%[[I]], %{{.+}}]
//       CHECK: affine.for %[[I2:.+]] = 0 to 2
//       CHECK: affine.load %[[A]][%[[I2]], %{{.+}}]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I2]] + 2, %{{.+}}]
func.func @border(%x: memref<2x3xf32>, %z: memref<4x3xf32>, %r: memref<4x3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %b = memref.alloc() : memref<4x3xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 3 {
      affine.store %zero, %b[%i, %j] : memref<4x3xf32>
    }
  }
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 3 {
      %0 = affine.load %x[%i, %j] : memref<2x3xf32>
      affine.store %0, %b[%i + 2, %j] : memref<4x3xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 3 {
      %0 = affine.load %b[%i, %j] : memref<4x3xf32>
      %1 = affine.load %z[%i, %j] : memref<4x3xf32>
      %2 = arith.subf %0, %1 : f32
      affine.store %2, %r[%i, %j] : memref<4x3xf32>
    }
  }
  return
}

// CHECK-LABEL: func @window
//   CHECK-DAG: memref.alloc() : memref<6x4xf32>
//   CHECK-DAG: %[[C:.+]] = memref.alloc() : memref<8x4xf32>
//       CHECK: %[[LESS:.+]] = arith.constant -1.0
//       CHECK: affine.for %{{.+}} = 0 to 8
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 4
//  CHECK-NEXT: affine.store %[[LESS]], %[[C]]
//       CHECK: affine.for %[[I:.+]] = 0 to 6
//       CHECK: affine.store %{{.+}}, %[[C]][%[[I]] + 1, %{{.+}}]
//       CHECK: affine.load %[[C]][%{{.+}} + %{{.+}}, %{{.+}}]
func.func @window(%x: memref<6x4xf32>, %r: memref<6x4xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %b = memref.alloc() : memref<8x4xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      affine.store %zero, %b[%i, %j] : memref<8x4xf32>
    }
  }
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %x[%i, %j] : memref<6x4xf32>
      affine.store %0, %b[%i + 1, %j] : memref<8x4xf32>
    }
  }
  %c = memref.alloc() : memref<8x4xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %b[%i, %j] : memref<8x4xf32>
      %1 = arith.subf %0, %one : f32
      affine.store %1, %c[%i, %j] : memref<8x4xf32>
    }
  }
  affine.for %i = 0 to 6 {
    affine.for %j = 0 to 4 {
      affine.for %k = 0 to 3 {
        %0 = affine.load %c[%i + %k, %j] : memref<8x4xf32>
        %1 = affine.load %r[%i, %j] : memref<6x4xf32>
        %2 = arith.addf %0, %1 : f32
        affine.store %2, %r[%i, %j] : memref<6x4xf32>
      }
    }
  }
  return
}

// The second operand ends the first row and makes up the second.
// CHECK-LABEL: func @stacked
//  CHECK-SAME: %[[R:[^:]+]]: memref<2x4xf32>
//   CHECK-NOT: memref<8xf32>
//       CHECK: affine.load %{{.+}}[(%{{.+}} + 1) floordiv 2]
//       CHECK: affine.for %{{.+}} = 0 to 1 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 3 {
//       CHECK: affine.store %{{.+}}, %[[R]][%{{.+}}, %[[J]]]
//       CHECK: affine.for %{{.+}} = 0 to 1 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 1 {
//       CHECK: affine.store %{{.+}}, %[[R]][%{{.+}}, %[[J]] + 3]
//       CHECK: affine.for %[[I:.+]] = 0 to 1 {
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 4 {
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I]] + 1, %[[J]]]
//       CHECK: return
func.func @stacked(%x: memref<3xf32>, %y: memref<4xf32>, %r: memref<2x4xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 3 {
    %0 = affine.load %x[%i] : memref<3xf32>
    affine.store %0, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 5 {
    %0 = affine.load %y[%i floordiv 2] : memref<4xf32>
    affine.store %0, %b[%i + 3] : memref<8xf32>
  }
  affine.for %i = 0 to 2 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %b[%i * 4 + %j] : memref<8xf32>
      %1 = arith.negf %0 : f32
      affine.store %1, %r[%i, %j] : memref<2x4xf32>
    }
  }
  return
}

// CHECK-LABEL: func @flipped
//  CHECK-SAME: %[[R:[^:]+]]: memref<8xf32>
//   CHECK-DAG: %[[A:.+]] = memref.alloc() : memref<3xf32>
//   CHECK-DAG: %[[B:.+]] = memref.alloc() : memref<5xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//       CHECK: affine.for %[[I:.+]] = 0 to 5
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//  CHECK-NEXT: affine.load %[[A]][-%[[I]] + 2]
//  CHECK-NEXT: affine.store %{{.+}}, %[[R]][%[[I]] + 5]
//       CHECK: affine.for %[[I:.+]] = 0 to 5
//  CHECK-NEXT: affine.load %[[B]][-%[[I]] + 4]
//  CHECK-NEXT: affine.store %{{.+}}, %[[R]][%[[I]]]
func.func @flipped(%x: memref<3xf32>, %y: memref<5xf32>, %r: memref<8xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 3 {
    %0 = affine.load %x[%i] : memref<3xf32>
    affine.store %0, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 5 {
    %0 = affine.load %y[%i] : memref<5xf32>
    affine.store %0, %b[%i + 3] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %b[7 - %i] : memref<8xf32>
    affine.store %0, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @halves
//  CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[P:.+]]: memref<3xf32>
//   CHECK-DAG: %[[A:.+]] = memref.alloc() : memref<3xf32>
//   CHECK-DAG: %[[B:.+]] = memref.alloc() : memref<4xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//  CHECK-NEXT: affine.load %[[X]][%[[I]]]
//       CHECK: affine.store %{{.+}}, %[[A]][%[[I]]]
//       CHECK: affine.for %[[I:.+]] = 0 to 4
//  CHECK-NEXT: affine.load %[[X]][%[[I]] + 4]
//       CHECK: affine.store %{{.+}}, %[[B]][%[[I]]]
//       CHECK: affine.load %[[A]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]]
//       CHECK: affine.load %[[B]]
func.func @halves(%x: memref<8xf32>, %p: memref<3xf32> {polynest.result}, %q: memref<4xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    %1 = arith.addf %0, %0 : f32
    affine.store %1, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 3 {
    %0 = affine.load %b[%i] : memref<8xf32>
    affine.store %0, %p[%i] : memref<3xf32>
  }
  affine.for %i = 0 to 4 {
    %0 = affine.load %b[%i + 4] : memref<8xf32>
    affine.store %0, %q[%i] : memref<4xf32>
  }
  return
}

// CHECK-LABEL: func @update
//       CHECK: %[[U:.+]] = memref.alloc() : memref<2xf32>
//       CHECK: affine.load %{{.+}}[%{{.+}} + 3]
//  CHECK-NEXT: affine.store %{{.+}}, %[[U]]
//       CHECK: affine.load %[[U]]
//       CHECK: affine.store %{{.+}}, %[[U]]
//       CHECK: affine.load %[[U]]
//  CHECK-NEXT: affine.store %{{.+}}, %{{.+}}[%{{.+}} + 3]
func.func @update(%x: memref<8xf32>, %y: memref<2xf32>, %r: memref<8xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    affine.store %0, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %b[%i + 3] : memref<8xf32>
    %1 = affine.load %y[%i] : memref<2xf32>
    %2 = arith.addf %0, %1 : f32
    affine.store %2, %b[%i + 3] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %b[%i] : memref<8xf32>
    affine.store %0, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @early
//  CHECK-SAME: (%[[X:.+]]: memref<8xf32>, %[[Y:.+]]: memref<2xf32>, %[[P:.+]]: memref<8xf32> {{.+}}, %[[R:.+]]: memref<8xf32>
//       CHECK: memref.alloc() : memref<6xf32>
//       CHECK: %[[B:.+]] = memref.alloc() : memref<2xf32>
//       CHECK: affine.load %[[X]][%{{.+}} + 6]
//  CHECK-NEXT: affine.store %{{.+}}, %[[B]]
//       CHECK: affine.load %[[B]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%{{.+}} + 6]
//       CHECK: affine.load %[[Y]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[B]]
//       CHECK: affine.load %[[B]]
//  CHECK-NEXT: affine.store %{{.+}}, %[[R]][%{{.+}} + 6]
func.func @early(%x: memref<8xf32>, %y: memref<2xf32>, %p: memref<8xf32> {polynest.result}, %r: memref<8xf32> {polynest.result}) {
  %b = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    affine.store %0, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %b[%i] : memref<8xf32>
    affine.store %0, %p[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %y[%i] : memref<2xf32>
    affine.store %0, %b[%i + 6] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %b[%i] : memref<8xf32>
    affine.store %0, %r[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @rows
//  CHECK-SAME: %[[R:[^:]+]]: memref<4xf32>
//       CHECK: %[[ZERO:.+]] = arith.constant 0.0
//       CHECK: %[[A:.+]] = memref.alloc() : memref<3x5xf32>
//       CHECK: affine.store %[[ZERO]], %[[A]][%{{.+}}, %{{.+}}]
//       CHECK: affine.store %{{.+}}, %[[A]][%{{.+}}, %{{.+}} + 1]
//       CHECK: affine.for %[[I:.+]] = 0 to 1
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 5
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I]]]
//       CHECK: affine.for %[[I:.+]] = 0 to 3
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 5
//  CHECK-NEXT: affine.load %[[A]]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I]] + 1]
func.func @rows(%x: memref<3x4xf32>, %r: memref<4xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %b = memref.alloc() : memref<4x5xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 5 {
      affine.store %zero, %b[%i, %j] : memref<4x5xf32>
    }
  }
  affine.for %i = 0 to 3 {
    affine.for %j = 0 to 4 {
      %0 = affine.load %x[%i, %j] : memref<3x4xf32>
      affine.store %0, %b[%i + 1, %j + 1] : memref<4x5xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 5 {
      %0 = affine.load %b[%i, %j] : memref<4x5xf32>
      %1 = affine.load %r[%i] : memref<4xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %r[%i] : memref<4xf32>
    }
  }
  return
}

// CHECK-LABEL: func @dynamic
//   CHECK-DAG: %[[N:.+]] = memref.dim %[[X:.+]], %c0
//   CHECK-DAG: %[[M:.+]] = memref.dim %[[X]], %c1
//   CHECK-DAG: %[[K:.+]] = memref.dim %[[Y:.+]], %c1
//       CHECK: %[[A:.+]] = memref.alloc(%[[N]], %[[M]])
//       CHECK: %[[B:.+]] = memref.alloc(%[[N]], %[[K]])
//       CHECK: affine.store %{{.+}}, %[[A]][%{{.+}}, %{{.+}}]
//       CHECK: affine.store %{{.+}}, %[[B]][%{{.+}}, %{{.+}}]
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//  CHECK-NEXT: affine.for %{{.+}} = 0 to %[[M]]
//  CHECK-NEXT: affine.load %[[A]]
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to %[[K]]
//  CHECK-NEXT: affine.load %[[B]][%{{.+}}, %[[J]]]
//       CHECK: affine.store %{{.+}}, %{{.+}}[%{{.+}}, %[[J]] + symbol(%[[M]])]
func.func @dynamic(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %r: memref<?x?xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %m = memref.dim %x, %c1 : memref<?x?xf32>
  %k = memref.dim %y, %c1 : memref<?x?xf32>
  %s = affine.apply affine_map<()[a, b] -> (a + b)>()[%m, %k]
  %b = memref.alloc(%n, %s) : memref<?x?xf32>
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      %0 = affine.load %x[%i, %j] : memref<?x?xf32>
      affine.store %0, %b[%i, %j] : memref<?x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %k {
      %0 = affine.load %y[%i, %j] : memref<?x?xf32>
      affine.store %0, %b[%i, %j + symbol(%m)] : memref<?x?xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %s {
      %0 = affine.load %b[%i, %j] : memref<?x?xf32>
      %1 = arith.negf %0 : f32
      affine.store %1, %r[%i, %j] : memref<?x?xf32>
    }
  }
  return
}

// CHECK-LABEL: func @unwritten
//  CHECK-SAME: %[[R:[^:]+]]: memref<5xf32>
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.store %{{.+}}, %[[R]][%{{.+}}]
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.store %{{.+}}, %[[R]][%{{.+}} + 3]
//       CHECK: %[[ANY:.+]] = arith.constant 0.0
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 1
//  CHECK-NEXT: affine.store %[[ANY]], %[[R]][%{{.+}} + 2]
func.func @unwritten(%x: memref<3xf32>, %r: memref<5xf32> {polynest.result}) {
  %b = memref.alloc() : memref<5xf32>
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i] : memref<3xf32>
    affine.store %0, %b[%i] : memref<5xf32>
  }
  affine.for %i = 0 to 2 {
    %0 = affine.load %x[%i] : memref<3xf32>
    affine.store %0, %b[%i + 3] : memref<5xf32>
  }
  affine.for %i = 0 to 5 {
    %0 = affine.load %b[%i] : memref<5xf32>
    affine.store %0, %r[%i] : memref<5xf32>
  }
  return
}

// CHECK-LABEL: func @result
//  CHECK-SAME: (%[[V:.+]]: f32, %{{.+}}: memref<62x64xf32>, %[[R:.+]]: memref<64x64xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 1
//       CHECK: affine.store %[[V]], %[[R]][%[[I]], %{{.+}}]
//       CHECK: affine.for %[[I:.+]] = 0 to 1
//       CHECK: affine.store %[[V]], %[[R]][%[[I]] + 63, %{{.+}}]
//       CHECK: affine.for %[[I:.+]] = 0 to 62
//       CHECK: affine.store %{{.+}}, %[[R]][%[[I]] + 1, %{{.+}}]
func.func @result(%v: f32, %x: memref<62x64xf32>, %r: memref<64x64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.store %v, %r[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 62 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %x[%i, %j] : memref<62x64xf32>
      affine.store %0, %r[%i + 1, %j] : memref<64x64xf32>
    }
  }
  return
}
