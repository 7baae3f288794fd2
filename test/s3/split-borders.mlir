// Properties: of a padded image the inside is read where it came from, and the
// border from buffers of what the first and last rows and columns read, each
// filled and copied for itself (@image); strides leave borders out that nothing
// reads (@strided); dilated windows and several reads of one image (@pool);
// batches, whose nests were fused, of which each has buffers of its own (@fused), but not where
// they are one product (@product), and a source whose indices are turned
// and moved (@turned). Loops that run once are dropped. What is left of the copy is gone. A second run
// changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-borders{least-kib=0}))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-split-borders{least-kib=0}))' | diff %t.once -

// Row 0 reads rows 0 to 2 of the image, all of its 42 columns.
// CHECK-LABEL: func @image
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<30x40x8xf32>
//       CHECK: %[[TOP:.+]] = memref.alloc() : memref<3x42x8xf32>
//       CHECK: affine.for %{{.+}} = 0 to 3
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 42
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 8
//  CHECK-NEXT: affine.store %{{.+}}, %[[TOP]]
//       CHECK: affine.for %[[I:.+]] = 1 to 3
//  CHECK-NEXT: affine.for %[[J:.+]] = 1 to 41
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 8
//  CHECK-NEXT: %[[E:.+]] = affine.load %[[X]][%[[I]] - 1, %[[J]] - 1, %[[C]]]
//  CHECK-NEXT: affine.store %[[E]], %[[TOP]][%[[I]], %[[J]], %[[C]]]
//       CHECK: affine.for %[[J:.+]] = 0 to 40
//       CHECK: affine.load %[[TOP]][%{{.+}}, %[[J]] + %{{.+}}, %{{.+}}]
// The last row reads rows 29 to 31: 2 rows of the source, from 28 on.
//       CHECK: %[[BOTTOM:.+]] = memref.alloc() : memref<3x42x8xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 2
//       CHECK: affine.load %[[X]][%[[I]] + 28,
//       CHECK: affine.load %[[BOTTOM]][%{{.+}},
//       CHECK: affine.store %{{.+}}, %{{.+}}[%c29,
// Rows 1 to 28 read rows 1 to 30 of the image.
//       CHECK: %[[LEFT:.+]] = memref.alloc() : memref<30x3x8xf32>
//       CHECK: affine.for %[[Y:.+]] = 1 to 29
//       CHECK: affine.load %[[LEFT]][%[[Y]] + %{{.+}} - 1,
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[Y]], %c0,
//       CHECK: %[[RIGHT:.+]] = memref.alloc() : memref<30x3x8xf32>
//       CHECK: affine.for %[[Y:.+]] = 1 to 29
//       CHECK: affine.load %[[RIGHT]][%[[Y]] + %{{.+}} - 1,
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[Y]], %c39,
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[Y:.+]] = 1 to 29
//  CHECK-NEXT: affine.for %[[Z:.+]] = 1 to 39
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 8
//       CHECK: affine.for %[[S:.+]] = 0 to 3
//       CHECK: affine.for %[[T:.+]] = 0 to 3
//       CHECK: affine.load %[[X]][%[[Y]] + %[[S]] - 1, %[[Z]] + %[[T]] - 1, %[[C]]]
func.func @image(%x: memref<30x40x8xf32>, %w: memref<3x3x8xf32>, %r: memref<30x40x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x42x8xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 42 {
      affine.for %c = 0 to 8 {
        affine.store %zero, %p[%i, %j, %c] : memref<32x42x8xf32>
      }
    }
  }
  affine.for %i = 0 to 30 {
    affine.for %j = 0 to 40 {
      affine.for %c = 0 to 8 {
        %0 = affine.load %x[%i, %j, %c] : memref<30x40x8xf32>
        affine.store %0, %p[%i + 1, %j + 1, %c] : memref<32x42x8xf32>
      }
    }
  }
  affine.for %i = 0 to 30 {
    affine.for %j = 0 to 40 {
      affine.for %c = 0 to 8 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %p[%i + %a, %j + %b, %c] : memref<32x42x8xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%i, %j, %c] : memref<30x40x8xf32>
      }
    }
  }
  return
}

// Windows of 3 by steps of 2: the last, 15, reads indices 30 to 32, all of them
// of the source. One border.
// CHECK-LABEL: func @strided
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<33x8xf32>
//       CHECK: memref.alloc() : memref<3x8xf32>
//       CHECK: affine.store %{{.+}}, %{{.+}}[%c0,
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 1 to 16
//       CHECK: affine.load %[[X]][%[[I]] * 2 + %{{.+}} - 1, %{{.+}}]
func.func @strided(%x: memref<33x8xf32>, %r: memref<16x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<35x8xf32>
  affine.for %i = 0 to 35 {
    affine.for %c = 0 to 8 {
      affine.store %zero, %p[%i, %c] : memref<35x8xf32>
    }
  }
  affine.for %i = 0 to 33 {
    affine.for %c = 0 to 8 {
      %0 = affine.load %x[%i, %c] : memref<33x8xf32>
      affine.store %0, %p[%i + 1, %c] : memref<35x8xf32>
    }
  }
  affine.for %i = 0 to 16 {
    affine.for %c = 0 to 8 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %0 = affine.load %p[%i * 2 + %a, %c] : memref<35x8xf32>
        %1 = arith.addf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<16x8xf32>
    }
  }
  return
}

// Reads of i + 2 a, from 0 to 4, and i + 1, which lie in [2, 62) for i in [2, 58).
// CHECK-LABEL: func @pool
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<60x4xf32>
//       CHECK: memref.alloc() : memref<6x4xf32>
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: memref.alloc() : memref<6x4xf32>
//       CHECK: affine.for %{{.+}} = 58 to 60
//       CHECK: affine.for %[[I:.+]] = 2 to 58
//       CHECK: affine.load %[[X]][%[[I]] - 1, %{{.+}}]
//       CHECK: affine.load %[[X]][%[[I]] + %{{.+}} * 2 - 2, %{{.+}}]
func.func @pool(%x: memref<60x4xf32>, %r: memref<60x4xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %p = memref.alloc() : memref<64x4xf32>
  affine.for %i = 0 to 64 {
    affine.for %c = 0 to 4 {
      affine.store %low, %p[%i, %c] : memref<64x4xf32>
    }
  }
  affine.for %i = 2 to 62 {
    affine.for %c = 0 to 4 {
      %0 = affine.load %x[%i - 2, %c] : memref<60x4xf32>
      affine.store %0, %p[%i, %c] : memref<64x4xf32>
    }
  }
  affine.for %i = 0 to 60 {
    affine.for %c = 0 to 4 {
      %first = affine.load %p[%i + 1, %c] : memref<64x4xf32>
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %first) -> f32 {
        %0 = affine.load %p[%i + %a * 2, %c] : memref<64x4xf32>
        %1 = arith.maximumf %s0, %0 : f32
        affine.yield %1 : f32
      }
      affine.store %s, %r[%i, %c] : memref<60x4xf32>
    }
  }
  return
}

// CHECK-LABEL: func @fused
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<3x30x4xf32>
//       CHECK: affine.for %[[N:.+]] = 0 to 3
//  CHECK-NEXT: %[[P:.+]] = memref.alloc() : memref<1x3x4xf32>
//       CHECK: affine.load %[[X]][%[[N]], %{{.+}} - 1, %{{.+}}]
//       CHECK: affine.load %[[P]][0, {{.+}}, %{{.+}}]
//       CHECK: affine.for %[[N:.+]] = 0 to 3
//  CHECK-NEXT: memref.alloc() : memref<1x3x4xf32>
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[N]], %c29,
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[I:.+]] = 1 to 29
//       CHECK: affine.load %[[X]][%{{.+}}, %[[I]] + %{{.+}} - 1, %{{.+}}]
func.func @fused(%x: memref<3x30x4xf32>, %r: memref<3x30x4xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<3x32x4xf32>
  affine.for %n = 0 to 3 {
    affine.for %i = 0 to 32 {
      affine.for %c = 0 to 4 {
        affine.store %zero, %p[%n, %i, %c] : memref<3x32x4xf32>
      }
    }
    affine.for %i = 0 to 30 {
      affine.for %c = 0 to 4 {
        %0 = affine.load %x[%n, %i, %c] : memref<3x30x4xf32>
        affine.store %0, %p[%n, %i + 1, %c] : memref<3x32x4xf32>
      }
    }
  }
  affine.for %n = 0 to 3 {
    affine.for %i = 0 to 30 {
      affine.for %c = 0 to 4 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %0 = affine.load %p[%n, %i + %a, %c] : memref<3x32x4xf32>
          %1 = arith.addf %s0, %0 : f32
          affine.yield %1 : f32
        }
        affine.store %s, %r[%n, %i, %c] : memref<3x30x4xf32>
      }
    }
  }
  return
}

// 4 * 3 * 64 * 64 products in each border are worth a block of rows.
// CHECK-LABEL: func @product
//       CHECK: memref.alloc() : memref<4x3x64xf32>
//       CHECK: memref.alloc() : memref<4x3x64xf32>
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @product(%x: memref<4x30x64xf32>, %w: memref<3x64x64xf32>, %r: memref<4x30x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<4x32x64xf32>
  affine.for %n = 0 to 4 {
    affine.for %i = 0 to 32 {
      affine.for %c = 0 to 64 {
        affine.store %zero, %p[%n, %i, %c] : memref<4x32x64xf32>
      }
    }
  }
  affine.for %n = 0 to 4 {
    affine.for %i = 0 to 30 {
      affine.for %c = 0 to 64 {
        %0 = affine.load %x[%n, %i, %c] : memref<4x30x64xf32>
        affine.store %0, %p[%n, %i + 1, %c] : memref<4x32x64xf32>
      }
    }
  }
  affine.for %n = 0 to 4 {
    affine.for %i = 0 to 30 {
      affine.for %f = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %c = 0 to 64 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %p[%n, %i + %a, %c] : memref<4x32x64xf32>
            %1 = affine.load %w[%a, %c, %f] : memref<3x64x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%n, %i, %f] : memref<4x30x64xf32>
      }
    }
  }
  return
}

// The source has rows last, two apart, from the fifth on; what is contiguous in
// the image is summed.
// CHECK-LABEL: func @turned
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x70xf32>
//       CHECK: affine.for %[[I:.+]] = 1 to 29
//       CHECK: affine.load %[[X]][%{{.+}}, (%[[I]] + %{{.+}} - 1) * 2 + 5]
func.func @turned(%x: memref<4x70xf32>, %r: memref<30x6xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<32x4xf32>
  affine.for %i = 0 to 32 {
    affine.for %c = 0 to 4 {
      affine.store %zero, %p[%i, %c] : memref<32x4xf32>
    }
  }
  affine.for %i = 0 to 30 {
    affine.for %c = 0 to 4 {
      %k = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
      %0 = affine.load %x[%c, %k + 5] : memref<4x70xf32>
      affine.store %0, %p[%i + 1, %c] : memref<32x4xf32>
    }
  }
  affine.for %i = 0 to 30 {
    affine.for %f = 0 to 6 {
      %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
        %t = affine.for %c = 0 to 4 iter_args(%t0 = %s0) -> f32 {
          %0 = affine.load %p[%i + %a, %c] : memref<32x4xf32>
          %1 = arith.addf %t0, %0 : f32
          affine.yield %1 : f32
        }
        affine.yield %t : f32
      }
      affine.store %s, %r[%i, %f] : memref<30x6xf32>
    }
  }
  return
}
