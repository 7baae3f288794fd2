// Properties: windows slide over a block of channels at a time (@rows); batches
// stay outside, of unknown number too, and so do loops that begin elsewhere
// (@batch); what does not move with the channels counts once, and conditions and
// indices move with them (@maximum); the widest element counts (@wide). A padded
// image becomes one of each block (@padded); not one whose source is written
// before the reads are done (@written) or that is read for every batch
// (@shared), and it stays. A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=4 vector-width-bits=512}))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-lanes{l1-size-kib=4 vector-width-bits=512}))' | diff %t.once -

// A channel has 9 weights, 3 rows of 12 inputs and 10 results, 220 bytes: 16
// take 3520, 32 more than 4096.
// CHECK-LABEL: func @rows
//       CHECK: affine.for %[[B:.+]] = 0 to 64 step 16 {
//  CHECK-NEXT: affine.for %[[Y:.+]] = 0 to 10 {
//  CHECK-NEXT: affine.for %[[X:.+]] = 0 to 10 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//       CHECK: affine.load %{{.+}}[%[[Y]] + %{{.+}}, %[[X]] + %{{.+}}, %[[B]] + %[[C]]]
//       CHECK: affine.load %{{.+}}[%{{.+}}, %{{.+}}, %[[B]] + %[[C]]]
//       CHECK: affine.store %{{.+}}, %{{.+}}[%[[Y]], %[[X]], %[[B]] + %[[C]]]
func.func @rows(%x: memref<12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<10x10x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 10 {
      affine.for %c = 0 to 64 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x12x64xf32>
            %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        affine.store %s, %r[%y, %z, %c] : memref<10x10x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @batch
//       CHECK: affine.for %[[N:.+]] = 0 to %{{.+}} {
//  CHECK-NEXT: affine.for %[[B:.+]] = 3 to 67 step 16 {
//  CHECK-NEXT: affine.for %[[Y:.+]] = 2 to 12 {
//  CHECK-NEXT: affine.for %[[X:.+]] = 0 to 10 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//       CHECK: affine.load %{{.+}}[%[[N]], %[[Y]] + %{{.+}} - 2, %[[X]] + %{{.+}}, %[[B]] + %[[C]] - 3]
func.func @batch(%x: memref<?x12x12x64xf32>, %w: memref<3x3x64xf32>, %r: memref<?x10x10x64xf32> {polynest.result}, %m: index) {
  %zero = arith.constant 0.0 : f32
  affine.for %n = 0 to %m {
    affine.for %y = 2 to 12 {
      affine.for %z = 0 to 10 {
        affine.for %c = 3 to 67 {
          %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
              %0 = affine.load %x[%n, %y + %a - 2, %z + %b, %c - 3] : memref<?x12x12x64xf32>
              %1 = affine.load %w[%a, %b, %c - 3] : memref<3x3x64xf32>
              %2 = arith.mulf %0, %1 : f32
              %3 = arith.addf %t0, %2 : f32
              affine.yield %3 : f32
            }
            affine.yield %t : f32
          }
          affine.store %s, %r[%n, %y - 2, %z, %c - 3] : memref<?x10x10x64xf32>
        }
      }
    }
  }
  return
}

// 9 elements and a result of a channel are 40 bytes, of 96 of them 3840; a row
// has 13 inputs, 3 times, and 11 results, 200 bytes.
// CHECK-LABEL: func @maximum
//       CHECK: affine.for %[[B:.+]] = 0 to 96 step 16 {
//  CHECK-NEXT: affine.for %[[Y:.+]] = 0 to 10 {
//  CHECK-NEXT: affine.for %[[X:.+]] = 0 to 11 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//       CHECK: %[[I:.+]] = affine.apply #{{.+}}(%[[B]], %[[C]])
//       CHECK: arith.index_cast %[[I]]
//       CHECK: affine.if #{{.+}}(%[[B]], %[[C]])
func.func @maximum(%x: memref<12x13x96xf32>, %q: memref<3xf32>, %r: memref<10x11x96xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %y = 0 to 10 {
    affine.for %z = 0 to 11 {
      affine.for %c = 0 to 96 {
        %s = affine.for %a = 0 to 3 iter_args(%s0 = %low) -> f32 {
          %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
            %0 = affine.load %x[%y + %a, %z + %b, %c] : memref<12x13x96xf32>
            %1 = affine.load %q[%b] : memref<3xf32>
            %2 = arith.addf %0, %1 : f32
            %3 = arith.maximumf %t0, %2 : f32
            affine.yield %3 : f32
          }
          affine.yield %t : f32
        }
        %i = arith.index_cast %c : index to i32
        %f = arith.sitofp %i : i32 to f32
        %g = affine.if affine_set<(c) : (c - 7 >= 0)>(%c) -> f32 {
          affine.yield %f : f32
        } else {
          affine.yield %zero : f32
        }
        %u = arith.addf %s, %g : f32
        affine.store %u, %r[%y, %z, %c] : memref<10x11x96xf32>
      }
    }
  }
  return
}

// 8 lanes of f64. A row of one dimension: 4 weights, 4 inputs, a result.
// CHECK-LABEL: func @wide
//       CHECK: affine.for %{{.+}} = 0 to 56 step 8 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 30 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 8 {
func.func @wide(%x: memref<33x56xf32>, %w: memref<4x56xf64>, %r: memref<30x56xf64> {polynest.result}) {
  %zero = arith.constant 0.0 : f64
  affine.for %y = 0 to 30 {
    affine.for %c = 0 to 56 {
      %s = affine.for %a = 0 to 4 iter_args(%s0 = %zero) -> f64 {
        %0 = affine.load %x[%y + %a, %c] : memref<33x56xf32>
        %4 = arith.extf %0 : f32 to f64
        %1 = affine.load %w[%a, %c] : memref<4x56xf64>
        %2 = arith.mulf %4, %1 : f64
        %3 = arith.addf %s0, %2 : f64
        affine.yield %3 : f64
      }
      affine.store %s, %r[%y, %c] : memref<30x56xf64>
    }
  }
  return
}

// 10 x 10 inputs, 9 weights and 8 results take 592 bytes a channel with all rows
// of the image: 16 channels of it and no more are four times the cache.
// CHECK-LABEL: func @padded
//   CHECK-NOT: memref.alloc
//       CHECK: affine.for %[[N:.+]] = 0 to 2 {
//  CHECK-NEXT: affine.for %[[B:.+]] = 0 to 64 step 16 {
//  CHECK-NEXT: %[[P:.+]] = memref.alloc() : memref<1x10x10x16xf32>
// The sides: rows above and below, columns to the left and right of the rest.
//  CHECK-NEXT: affine.for %[[X:.+]] = 0 to 10 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%{{.+}}, %{{.+}}, %[[X]], %[[C]]]
//       CHECK: affine.for %{{.+}} = 0 to 10 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 16 {
//       CHECK: affine.for %[[Y:.+]] = 1 to 9 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//  CHECK-NEXT: affine.store %{{.+}}, %[[P]][%{{.+}}, %[[Y]], %{{.+}}, %[[C]]]
//       CHECK: affine.for %{{.+}} = 1 to 9 {
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 16 {
//       CHECK: affine.for %[[Y:.+]] = 1 to 9 {
//  CHECK-NEXT: affine.for %[[X:.+]] = 1 to 9 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//  CHECK-NEXT: %[[V:.+]] = affine.load %{{.+}}[%[[N]], %[[Y]] - 1, %[[X]] - 1, %[[B]] + %[[C]]]
//  CHECK-NEXT: affine.store %[[V]], %[[P]][%{{.+}}, %[[Y]], %[[X]], %[[C]]]
//       CHECK: affine.for %[[Y:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.for %[[X:.+]] = 0 to 8 {
//  CHECK-NEXT: affine.for %[[C:.+]] = 0 to 16 {
//       CHECK: affine.load %[[P]][0, %[[Y]] + %{{.+}}, %[[X]] + %{{.+}}, %[[C]]]
//       CHECK: affine.load %{{.+}}[%{{.+}}, %{{.+}}, %[[B]] + %[[C]]]
func.func @padded(%x: memref<2x8x8x64xf32>, %w: memref<3x3x64xf32>, %r: memref<2x8x8x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x10x10x64xf32>
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 10 {
      affine.for %z = 0 to 10 {
        affine.for %c = 0 to 64 {
          affine.store %zero, %p[%n, %y, %z, %c] : memref<2x10x10x64xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 8 {
      affine.for %z = 0 to 8 {
        affine.for %c = 0 to 64 {
          %0 = affine.load %x[%n, %y, %z, %c] : memref<2x8x8x64xf32>
          affine.store %0, %p[%n, %y + 1, %z + 1, %c] : memref<2x10x10x64xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 8 {
      affine.for %z = 0 to 8 {
        affine.for %c = 0 to 64 {
          %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
              %0 = affine.load %p[%n, %y + %a, %z + %b, %c] : memref<2x10x10x64xf32>
              %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
              %2 = arith.mulf %0, %1 : f32
              %3 = arith.addf %t0, %2 : f32
              affine.yield %3 : f32
            }
            affine.yield %t : f32
          }
          affine.store %s, %r[%n, %y, %z, %c] : memref<2x8x8x64xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @written
//       CHECK: %[[P:.+]] = memref.alloc() : memref<2x10x10x64xf32>
//       CHECK: affine.for %[[B:.+]] = 0 to 64 step 16 {
//   CHECK-NOT: memref.alloc
//       CHECK: affine.load %[[P]][{{.+}}, %[[B]] + %{{.+}}]
func.func @written(%x: memref<2x8x8x64xf32> {polynest.mutable}, %w: memref<3x3x64xf32>, %r: memref<2x8x8x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x10x10x64xf32>
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 10 {
      affine.for %z = 0 to 10 {
        affine.for %c = 0 to 64 {
          affine.store %zero, %p[%n, %y, %z, %c] : memref<2x10x10x64xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 8 {
      affine.for %z = 0 to 8 {
        affine.for %c = 0 to 64 {
          %0 = affine.load %x[%n, %y, %z, %c] : memref<2x8x8x64xf32>
          affine.store %0, %p[%n, %y + 1, %z + 1, %c] : memref<2x10x10x64xf32>
        }
      }
    }
  }
  affine.store %zero, %x[0, 3, 3, 3] : memref<2x8x8x64xf32>
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 8 {
      affine.for %z = 0 to 8 {
        affine.for %c = 0 to 64 {
          %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
              %0 = affine.load %p[%n, %y + %a, %z + %b, %c] : memref<2x10x10x64xf32>
              %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
              %2 = arith.mulf %0, %1 : f32
              %3 = arith.addf %t0, %2 : f32
              affine.yield %3 : f32
            }
            affine.yield %t : f32
          }
          affine.store %s, %r[%n, %y, %z, %c] : memref<2x8x8x64xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @shared
//       CHECK: %[[P:.+]] = memref.alloc() : memref<2x10x10x64xf32>
//       CHECK: affine.for %[[B:.+]] = 0 to 64 step 16 {
//   CHECK-NOT: memref.alloc
//       CHECK: affine.load %[[P]][{{.+}}, %[[B]] + %{{.+}}]
func.func @shared(%x: memref<2x8x8x64xf32>, %w: memref<3x3x64xf32>, %r: memref<2x8x8x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<2x10x10x64xf32>
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 10 {
      affine.for %z = 0 to 10 {
        affine.for %c = 0 to 64 {
          affine.store %zero, %p[%n, %y, %z, %c] : memref<2x10x10x64xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 8 {
      affine.for %z = 0 to 8 {
        affine.for %c = 0 to 64 {
          %0 = affine.load %x[%n, %y, %z, %c] : memref<2x8x8x64xf32>
          affine.store %0, %p[%n, %y + 1, %z + 1, %c] : memref<2x10x10x64xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 2 {
    affine.for %y = 0 to 8 {
      affine.for %z = 0 to 8 {
        affine.for %c = 0 to 64 {
          %s = affine.for %a = 0 to 3 iter_args(%s0 = %zero) -> f32 {
            %t = affine.for %b = 0 to 3 iter_args(%t0 = %s0) -> f32 {
              %0 = affine.load %p[1, %y + %a, %z + %b, %c] : memref<2x10x10x64xf32>
              %1 = affine.load %w[%a, %b, %c] : memref<3x3x64xf32>
              %2 = arith.mulf %0, %1 : f32
              %3 = arith.addf %t0, %2 : f32
              affine.yield %3 : f32
            }
            affine.yield %t : f32
          }
          affine.store %s, %r[%n, %y, %z, %c] : memref<2x8x8x64xf32>
        }
      }
    }
  }
  return
}
