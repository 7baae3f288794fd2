// Properties: of a buffer that is filled with one value and overwritten but for
// a border, the border alone is filled, side by side without overlap (@image);
// also where the buffer belongs to an iteration of a loop, in memory or on the
// stack (@stack), and where sides are missing (@channel), and with a dimension of dynamic size that is overwritten
// as a whole (@batch). Fills that are overwritten as a whole go (@all). Boxes
// are cut off at the end of the buffer (@strided). Results are filled so, too
// (@result). Of several nests that overwrite boxes, with nests between that store
// no box, the largest box is left out (@pieces). In dimensions of unknown size the
// loop that overwrites says where the border begins (@open). A second run changes
// nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-fills))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-trim-fills))' | diff %t.once -

// CHECK-DAG: #[[$LOW:.+]] = affine_map<()[s0] -> (s0, 2)>
// CHECK-DAG: #[[$END:.+]] = affine_map<()[s0] -> (s0 + 2, 0)>
// CHECK-DAG: #[[$BOX:.+]] = affine_map<()[s0, s1] -> (s0 + 2, s1)>

// CHECK-LABEL: func @image
//       CHECK: %[[P:.+]] = memref.alloc() : memref<32x40x8xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 1
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 40
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 8
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%[[I]], %[[J]], %[[C]]]
//       CHECK: affine.for %{{.+}} = 29 to 32
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 40
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 8
//       CHECK: affine.for %{{.+}} = 1 to 29
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.for %{{.+}} = 1 to 29
//  CHECK-NEXT: affine.for %{{.+}} = 38 to 40
//       CHECK: affine.load
func.func @image(%x: memref<28x36x8xf32>, %r: memref<32x40x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x40x8xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 40 {
      affine.for %c = 0 to 8 {
        affine.store %zero, %p[%i, %j, %c] : memref<32x40x8xf32>
      }
    }
  }
  affine.for %i = 0 to 28 {
    affine.for %j = 0 to 36 {
      affine.for %c = 0 to 8 {
        %0 = affine.load %x[%i, %j, %c] : memref<28x36x8xf32>
        affine.store %0, %p[%i + 1, %j + 2, %c] : memref<32x40x8xf32>
      }
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 40 {
      affine.for %c = 0 to 8 {
        %0 = affine.load %p[%i, %j, %c] : memref<32x40x8xf32>
        affine.store %0, %r[%i, %j, %c] : memref<32x40x8xf32>
      }
    }
  }
  return
}

// The next row of each channel is not there before its first: one side.
// CHECK-LABEL: func @channel
//       CHECK: affine.for %[[N:.+]] = 0 to 3
//  CHECK-NEXT: %[[P:.+]] = memref.alloc() : memref<64x65xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 64
//  CHECK-NEXT: affine.for %[[J:.+]] = 64 to 65
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%[[I]], %[[J]]]
//       CHECK: affine.load
func.func @channel(%x: memref<3x64x64xf32>, %r: memref<3x64x65xf32> {polynest.result}) {
  %one = arith.constant 1.0 : f32
  affine.for %n = 0 to 3 {
    %p = memref.alloc() : memref<64x65xf32>
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 65 {
        affine.store %one, %p[%i, %j] : memref<64x65xf32>
      }
    }
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 64 {
        %0 = affine.load %x[%n, %i, %j] : memref<3x64x64xf32>
        affine.store %0, %p[%i, %j] : memref<64x65xf32>
      }
    }
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 65 {
        %0 = affine.load %p[%i, %j] : memref<64x65xf32>
        affine.store %0, %r[%n, %i, %j] : memref<3x64x65xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @stack
//       CHECK: %[[P:.+]] = memref.alloca() : memref<64x65xf32>
//  CHECK-NEXT: affine.for %[[I:.+]] = 0 to 64
//  CHECK-NEXT: affine.for %[[J:.+]] = 64 to 65
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%[[I]], %[[J]]]
//       CHECK: affine.load
func.func @stack(%x: memref<3x64x64xf32>, %r: memref<3x64x65xf32> {polynest.result}) {
  %one = arith.constant 1.0 : f32
  affine.for %n = 0 to 3 {
    %p = memref.alloca() : memref<64x65xf32>
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 65 {
        affine.store %one, %p[%i, %j] : memref<64x65xf32>
      }
    }
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 64 {
        %0 = affine.load %x[%n, %i, %j] : memref<3x64x64xf32>
        affine.store %0, %p[%i, %j] : memref<64x65xf32>
      }
    }
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 65 {
        %0 = affine.load %p[%i, %j] : memref<64x65xf32>
        affine.store %0, %r[%n, %i, %j] : memref<3x64x65xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @batch
//  CHECK-SAME: %[[N:[a-z0-9]+]]: index
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 2
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 32
//       CHECK: affine.for %{{.+}} = 0 to %[[N]]
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 128
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 32
//       CHECK: return
func.func @batch(%n: index, %x: memref<?x128x32xf32>, %r: memref<?x130x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc(%n) : memref<?x130x32xf32>
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 130 {
      affine.for %j = 0 to 32 {
        affine.store %zero, %p[%b, %i, %j] : memref<?x130x32xf32>
      }
    }
  }
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 128 {
      affine.for %j = 0 to 32 {
        %0 = affine.load %x[%b, %i, %j] : memref<?x128x32xf32>
        affine.store %0, %p[%b, %i + 2, %j] : memref<?x130x32xf32>
      }
    }
  }
  affine.for %b = 0 to %n {
    affine.for %i = 0 to 130 {
      affine.for %j = 0 to 32 {
        %0 = affine.load %p[%b, %i, %j] : memref<?x130x32xf32>
        affine.store %0, %r[%b, %i, %j] : memref<?x130x32xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @all
//       CHECK: memref.alloc() : memref<4096xf32>
//  CHECK-NEXT: affine.for
//  CHECK-NEXT: affine.load
//       CHECK: return
func.func @all(%x: memref<4096xf32>, %r: memref<4096xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4096xf32>
  affine.for %i = 0 to 4096 {
    affine.store %zero, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %x[%i] : memref<4096xf32>
    affine.store %0, %p[%i] : memref<4096xf32>
  }
  affine.for %i = 0 to 4096 {
    %0 = affine.load %p[%i] : memref<4096xf32>
    affine.store %0, %r[%i] : memref<4096xf32>
  }
  return
}

// Loops begin elsewhere, in another order.
// CHECK-LABEL: func @strided
//       CHECK: affine.for %{{.+}} = 0 to 3
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 80
//       CHECK: affine.for %{{.+}} = 62 to 64
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 80
//       CHECK: affine.for %{{.+}} = 3 to 62
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 4
//       CHECK: affine.load
func.func @strided(%x: memref<80x80xf32>, %r: memref<64x80xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64x80xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 80 {
      affine.store %zero, %p[%i, %j] : memref<64x80xf32>
    }
  }
  affine.for %j = 5 to 81 {
    affine.for %i = 1 to 60 {
      %0 = affine.load %x[%i, %j - 1] : memref<80x80xf32>
      affine.store %0, %p[%i + 2, %j - 1] : memref<64x80xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 80 {
      %0 = affine.load %p[%i, %j] : memref<64x80xf32>
      affine.store %0, %r[%i, %j] : memref<64x80xf32>
    }
  }
  return
}

// CHECK-LABEL: func @result
//   CHECK-NOT: 0 to 64
//       CHECK: affine.for %{{.+}} = 0 to 1
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 80
//       CHECK: affine.for %{{.+}} = 61 to 64
//       CHECK: affine.for %{{.+}} = 1 to 61
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 2
//       CHECK: affine.for %{{.+}} = 1 to 61
//  CHECK-NEXT: affine.for %{{.+}} = 78 to 80
//       CHECK: affine.load
func.func @result(%x: memref<60x76xf32>, %r: memref<64x80xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 80 {
      affine.store %zero, %r[%i, %j] : memref<64x80xf32>
    }
  }
  affine.for %i = 0 to 60 {
    affine.for %j = 0 to 76 {
      %0 = affine.load %x[%i, %j] : memref<60x76xf32>
      affine.store %0, %r[%i + 1, %j + 2] : memref<64x80xf32>
    }
  }
  return
}

// A row, a column and every other element of a row, then the inside.
// CHECK-LABEL: func @pieces
//       CHECK: %[[P:.+]] = memref.alloc() : memref<64x64x8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 1 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 64 {
//       CHECK: affine.for %{{.+}} = 62 to 64 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 64 {
//       CHECK: affine.for %{{.+}} = 1 to 62 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 1 {
//       CHECK: affine.for %{{.+}} = 1 to 62 {
//  CHECK-NEXT: affine.for %{{.+}} = 62 to 64 {
//       CHECK: affine.for %[[J:.+]] = 0 to 62 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.load %{{.+}}[%[[J]], %[[C]]]
func.func @pieces(%x: memref<62x8xf32>, %r: memref<64x64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<64x64x8xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %c = 0 to 8 {
        affine.store %zero, %p[%i, %j, %c] : memref<64x64x8xf32>
      }
    }
  }
  affine.for %j = 0 to 62 {
    affine.for %c = 0 to 8 {
      %0 = affine.load %x[%j, %c] : memref<62x8xf32>
      affine.store %0, %p[62, %j + 1, %c] : memref<64x64x8xf32>
    }
  }
  affine.for %i = 0 to 61 {
    affine.for %c = 0 to 8 {
      %0 = affine.load %x[%i, %c] : memref<62x8xf32>
      affine.store %0, %p[%i + 1, 62, %c] : memref<64x64x8xf32>
    }
  }
  affine.for %j = 0 to 31 {
    affine.for %c = 0 to 8 {
      %0 = affine.load %x[%j, %c] : memref<62x8xf32>
      affine.store %0, %p[62, %j * 2 + 1, %c] : memref<64x64x8xf32>
    }
  }
  affine.for %i = 0 to 61 {
    affine.for %j = 0 to 61 {
      affine.for %c = 0 to 8 {
        %0 = affine.load %x[%j, %c] : memref<62x8xf32>
        affine.store %0, %p[%i + 1, %j + 1, %c] : memref<64x64x8xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %c = 0 to 8 {
        %0 = affine.load %p[%i, %j, %c] : memref<64x64x8xf32>
        affine.store %0, %r[%i, %j, %c] : memref<64x64x8xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @open
//       CHECK: %[[N:.+]] = memref.dim %{{.+}}, %c0
//       CHECK: %[[M:.+]] = memref.dim %{{.+}}, %c0
//       CHECK: affine.for %{{.+}} = 0 to min #[[$LOW]]()[%[[M]]] {
//       CHECK:   affine.for %{{.+}} = 0 to 8 {
//       CHECK: affine.for %{{.+}} = max #[[$END]]()[%[[N]]] to %[[M]] {
//       CHECK:   affine.for %{{.+}} = 0 to 8 {
//       CHECK: affine.for %{{.+}} = 2 to min #[[$BOX]]()[%[[N]], %[[M]]] {
//       CHECK:   affine.for %{{.+}} = 7 to 8 {
//       CHECK: affine.for %{{.+}} = 0 to %[[N]] {
//       CHECK:   affine.for %{{.+}} = 0 to 7 {
func.func @open(%x: memref<?x7xf32>, %r: memref<?x8xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x7xf32>
  %m = memref.dim %r, %c0 : memref<?x8xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 8 {
      affine.store %zero, %r[%i, %j] : memref<?x8xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 7 {
      %a = affine.load %x[%i, %j] : memref<?x7xf32>
      affine.store %a, %r[%i + 2, %j] : memref<?x8xf32>
    }
  }
  return
}
