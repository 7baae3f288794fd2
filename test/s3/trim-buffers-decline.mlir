// Properties: buffers stay where little of them is not read (@little), where a loop
// that fills them stores something else (@other) or asserts (@asserts), reads
// rows that a slice leaves out (@rows), fills them at two places (@moved), where
// the place that is read is not known (@chosen). Products stay whole where a part is short (@short), where
// parts overlap (@overlap), where rows have to be packed for each (@packed), and
// where they are multiplied further (@further).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-buffers))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Passed < %t.remarks

// CHECK-LABEL: func @little
//       CHECK: memref.alloc() : memref<256x96xf32>
//       CHECK: return
//      REMARK: [Missed] trim-buffers{{.*}}reason="little of the buffer is not read"
func.func @little(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<256x90xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 90 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x90xf32>
    }
  }
  return
}

// CHECK-LABEL: func @other
//       CHECK: memref.alloc() : memref<256x96xf32>
//       CHECK: return
func.func @other(%x: memref<256x96xf32>, %s: memref<256x96xf32> {polynest.result}, %r: memref<256x20xf32> {polynest.result}) {
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %0 = affine.load %x[%i, %j] : memref<256x96xf32>
      affine.store %0, %c[%i, %j] : memref<256x96xf32>
      affine.store %0, %s[%i, %j] : memref<256x96xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @asserts
//       CHECK: memref.alloc() : memref<256x96xf32>
//       CHECK: return
func.func @asserts(%x: memref<256x96xf32>, %r: memref<256x20xf32> {polynest.result}) {
  %c = memref.alloc() : memref<256x96xf32>
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %0 = affine.load %x[%i, %j] : memref<256x96xf32>
      %p = arith.cmpf one, %0, %z : f32
      cf.assert %p, "zero"
      affine.store %0, %c[%i, %j] : memref<256x96xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @rows
//       CHECK: memref.alloc() : memref<256x96xf32>
//       CHECK: return
func.func @rows(%x: memref<256x96xf32>, %r: memref<256x20xf32> {polynest.result}) {
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %0 = affine.load %x[%i, %j] : memref<256x96xf32>
      affine.store %0, %c[%i, %j] : memref<256x96xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = affine.load %c[%i, 95] : memref<256x96xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %c[%i, %j] : memref<256x96xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @moved
//       CHECK: memref.alloc() : memref<256x96xf32>
//       CHECK: return
func.func @moved(%x: memref<256x96xf32>, %r: memref<256x20xf32> {polynest.result}) {
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 95 {
      %0 = affine.load %x[%i, %j] : memref<256x96xf32>
      affine.store %0, %c[%i, %j] : memref<256x96xf32>
      affine.store %0, %c[%i, %j + 1] : memref<256x96xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @chosen
//       CHECK: memref.alloc() : memref<256x96xf32>
//       CHECK: return
func.func @chosen(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %p: index, %r: memref<256x20xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<256x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<256x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<256x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<256x96xf32>
      }
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i, %j + symbol(%p)] : memref<256x96xf32>
      affine.store %0, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @short
//       CHECK: memref.alloc() : memref<64x384xf32>
//       CHECK: return
func.func @short(%a: memref<64x200xf32>, %b: memref<200x384xf32>, %r0: memref<64x64xf32> {polynest.result}, %r1: memref<64x320xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x384xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.store %zero, %c[%i, %j] : memref<64x384xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.for %k = 0 to 200 {
        %0 = affine.load %a[%i, %k] : memref<64x200xf32>
        %1 = affine.load %b[%k, %j] : memref<200x384xf32>
        %2 = affine.load %c[%i, %j] : memref<64x384xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<64x384xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %c[%i, %j] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r0[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 320 {
      %0 = affine.load %c[%i, %j + 64] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r1[%i, %j] : memref<64x320xf32>
    }
  }
  return
}

// CHECK-LABEL: func @overlap
//       CHECK: memref.alloc() : memref<64x384xf32>
//       CHECK: return
func.func @overlap(%a: memref<64x200xf32>, %b: memref<200x384xf32>, %r0: memref<64x256xf32> {polynest.result}, %r1: memref<64x256xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x384xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.store %zero, %c[%i, %j] : memref<64x384xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.for %k = 0 to 200 {
        %0 = affine.load %a[%i, %k] : memref<64x200xf32>
        %1 = affine.load %b[%k, %j] : memref<200x384xf32>
        %2 = affine.load %c[%i, %j] : memref<64x384xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<64x384xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %0 = affine.load %c[%i, %j] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r0[%i, %j] : memref<64x256xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %0 = affine.load %c[%i, %j + 128] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r1[%i, %j] : memref<64x256xf32>
    }
  }
  return
}

// CHECK-LABEL: func @packed
//       CHECK: memref.alloc() : memref<64x384xf32>
//       CHECK: return
func.func @packed(%a: memref<200x64xf32>, %b: memref<200x384xf32>, %r0: memref<64x128xf32> {polynest.result}, %r1: memref<64x256xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x384xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.store %zero, %c[%i, %j] : memref<64x384xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.for %k = 0 to 200 {
        %0 = affine.load %a[%k, %i] : memref<200x64xf32>
        %1 = affine.load %b[%k, %j] : memref<200x384xf32>
        %2 = affine.load %c[%i, %j] : memref<64x384xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<64x384xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %0 = affine.load %c[%i, %j] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r0[%i, %j] : memref<64x128xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 256 {
      %0 = affine.load %c[%i, %j + 128] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r1[%i, %j] : memref<64x256xf32>
    }
  }
  return
}

// CHECK-LABEL: func @further
//       CHECK: memref.alloc() : memref<64x384xf32>
//       CHECK: return
func.func @further(%a: memref<64x200xf32>, %b: memref<200x384xf32>, %e: memref<256x64xf32>, %r: memref<64x128xf32> {polynest.result}, %r1: memref<64x64xf32> {polynest.mutable}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<64x384xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.store %zero, %c[%i, %j] : memref<64x384xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      affine.for %k = 0 to 200 {
        %0 = affine.load %a[%i, %k] : memref<64x200xf32>
        %1 = affine.load %b[%k, %j] : memref<200x384xf32>
        %2 = affine.load %c[%i, %j] : memref<64x384xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<64x384xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 128 {
      %0 = affine.load %c[%i, %j] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<64x128xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 256 {
        %0 = affine.load %c[%i, %k + 128] : memref<64x384xf32>
        %1 = affine.load %e[%k, %j] : memref<256x64xf32>
        %2 = affine.load %r1[%i, %j] : memref<64x64xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %r1[%i, %j] : memref<64x64xf32>
      }
    }
  }
  return
}
