// Properties: nests stay where all that they touch stays in the cache (@near) or a
// block does not (@deep) or is made of short pieces (@pieces), where one reads what
// other iterations found (@out_of_step), where a store stands between them (@written),
// where a nest carries a dependence (@carried), where none uses what another found
// (@unused), and where one reads a large array again (@product).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-statistics))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @near
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
//      REMARK: all stays in the cache
func.func @near(%X: memref<1x64x1000xf32>, %U: memref<16x64x1000xf32>,
                %Y: memref<1x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 1 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<1x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.for %k = 0 to 1 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<1x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %n, %i] : memref<1x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @deep
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
//      REMARK: a block does not stay in the cache
func.func @deep(%X: memref<2048x64x1000xf32>, %U: memref<16x64x1000xf32>,
                %Y: memref<2048x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 2048 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<2048x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.for %k = 0 to 2048 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<2048x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %n, %i] : memref<2048x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @pieces
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
//      REMARK: a block would be made of short pieces of memory
func.func @pieces(%X: memref<16x1000x64xf32>, %U: memref<16x64x1000xf32>,
                %Y: memref<16x1000x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %i, %n] : memref<16x1000x64xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %i, %n] : memref<16x1000x64xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %i, %n] : memref<16x1000x64xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @out_of_step
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
func.func @out_of_step(%X: memref<16x64x1000xf32>, %U: memref<16x64x1000xf32>,
                %Y: memref<16x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[63 - %n] : memref<64xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %n, %i] : memref<16x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @written
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
func.func @written(%X: memref<16x64x1000xf32>, %U: memref<16x64x1000xf32>,
                %Y: memref<16x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.store %zero, %S[7] : memref<64xf32>
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %n, %i] : memref<16x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @carried
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
func.func @carried(%X: memref<16x64x1000xf32>,
                %Y: memref<16x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %U = memref.alloc() : memref<16x65x1000xf32>
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
        %u = affine.load %U[%k, %n, -%i + 999] : memref<16x65x1000xf32>
        %v = arith.addf %x, %u : f32
        affine.store %v, %U[%k, %n + 1, %i] : memref<16x65x1000xf32>
      }
    }
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %n, %i] : memref<16x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @unused
//   CHECK-NOT:   step
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//   CHECK-NOT:   step
//       CHECK: return
func.func @unused(%X: memref<16x64x1000xf32>, %U: memref<16x64x1000xf32>,
                %Y: memref<16x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %U[%k, %n, %i] : memref<16x64x1000xf32>
        %t = arith.divf %x, %s : f32
        affine.store %t, %Y[%k, %n, %i] : memref<16x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @product
//       CHECK:   affine.for %{{.+}} = 0 to 64 {
//  CHECK-NEXT:     affine.store %{{.+}}, %{{.+}}
//  CHECK-NEXT:   }
//       CHECK: return
//      REMARK: a large array is read again by one nest
func.func @product(%X: memref<16x64x1000xf32>, %W: memref<1000x16xf32>,
                   %Y: memref<16x64x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %S = memref.alloc() : memref<64xf32>
  affine.for %n = 0 to 64 {
    affine.store %zero, %S[%n] : memref<64xf32>
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
        %s = affine.load %S[%n] : memref<64xf32>
        %t = arith.addf %x, %s : f32
        affine.store %t, %S[%n] : memref<64xf32>
      }
    }
  }
  affine.for %k = 0 to 16 {
    affine.for %n = 0 to 64 {
      affine.for %i = 0 to 1000 {
        affine.for %j = 0 to 16 {
          %x = affine.load %X[%k, %n, %i] : memref<16x64x1000xf32>
          %s = affine.load %S[%n] : memref<64xf32>
          %w = affine.load %W[%i, %j] : memref<1000x16xf32>
          %d = arith.subf %x, %s : f32
          %p = arith.mulf %d, %w : f32
          %y = affine.load %Y[%k, %n, %j] : memref<16x64x16xf32>
          %t = arith.addf %p, %y : f32
          affine.store %t, %Y[%k, %n, %j] : memref<16x64x16xf32>
        }
      }
    }
  }
  return
}
