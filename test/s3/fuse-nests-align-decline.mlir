// Properties: nests stay in their own loops, with a remark, where what they store
// lies in runs that are no whole lines (@runs, @shuffle), where they do not read
// all of the product (@part), each element once (@again), or parts that follow
// each other (@apart), where loops stand inside (@rows) or carry a dependence
// (@carried), or read the product at two places (@twice), and where another
// product reads what they store (@operand).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @runs
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 4
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="the result goes on in runs that are no whole vectors"
func.func @runs(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<4x256x24xf32> {polynest.result}) {
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
  affine.for %h = 0 to 4 {
    affine.for %s = 0 to 256 {
      affine.for %d = 0 to 24 {
        %0 = affine.load %c[%s, %h * 24 + %d] : memref<256x96xf32>
        affine.store %0, %r[%h, %s, %d] : memref<4x256x24xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @shuffle
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 256
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="the result goes on in runs that are no whole vectors"
func.func @shuffle(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<256x32x3xf32> {polynest.result}) {
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
  affine.for %s = 0 to 256 {
    affine.for %d = 0 to 32 {
      affine.for %h = 0 to 3 {
        %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
        affine.store %0, %r[%s, %d, %h] : memref<256x32x3xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @part
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 2
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="the result is not read as a whole"
func.func @part(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<2x256x32xf32> {polynest.result}) {
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
  affine.for %h = 0 to 2 {
    affine.for %s = 0 to 256 {
      affine.for %d = 0 to 32 {
        %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
        affine.store %0, %r[%h, %s, %d] : memref<2x256x32xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @again
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 5
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="a loop reads the result again"
func.func @again(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<5x3x256x32xf32> {polynest.result}) {
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
  affine.for %e = 0 to 5 {
    affine.for %h = 0 to 3 {
      affine.for %s = 0 to 256 {
        affine.for %d = 0 to 32 {
          %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
          affine.store %0, %r[%e, %h, %s, %d] : memref<5x3x256x32xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @apart
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 3
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="the result is not read as a whole"
func.func @apart(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<3x256x32xf32> {polynest.result}) {
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
  affine.for %h = 0 to 3 {
    affine.for %s = 0 to 256 {
      affine.for %d = 0 to 32 {
        %0 = affine.load %c[%s, %h * 16 + %d] : memref<256x96xf32>
        affine.store %0, %r[%h, %s, %d] : memref<3x256x32xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @carried
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 3
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="a loop that reads the result is not parallel"
func.func @carried(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<3x256x32xf32> {polynest.result}) {
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
  affine.for %h = 0 to 3 {
    affine.for %s = 0 to 256 {
      affine.for %d = 0 to 32 {
        %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
        affine.store %0, %r[0, %s, %d] : memref<3x256x32xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @twice
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 3
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="the result is not read as a whole"
func.func @twice(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<3x256x32xf32> {polynest.result}) {
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
  affine.for %h = 0 to 3 {
    affine.for %s = 0 to 256 {
      affine.for %d = 0 to 32 {
        %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
        %1 = affine.load %c[0, %h * 32 + %d] : memref<256x96xf32>
        %2 = arith.addf %0, %1 : f32
        affine.store %2, %r[%h, %s, %d] : memref<3x256x32xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @rows
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 3
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="the nest that reads the result has loops inside"
func.func @rows(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<3x256xf32> {polynest.result}) {
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
  affine.for %h = 0 to 3 {
    affine.for %s = 0 to 256 {
      affine.store %zero, %r[%h, %s] : memref<3x256xf32>
      affine.for %d = 0 to 32 {
        %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
        %1 = affine.load %r[%h, %s] : memref<3x256xf32>
        %2 = arith.addf %0, %1 : f32
        affine.store %2, %r[%h, %s] : memref<3x256xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @operand
//       CHECK: affine.for %{{.+}} = 0 to 40
//       CHECK: affine.for %{{.+}} = 0 to 3
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="a product reads what is stored"
func.func @operand(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %w: memref<3x32x48xf32>, %r: memref<3x256x48xf32> {polynest.mutable}) {
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
  %t = memref.alloc() : memref<3x256x32xf32>
  affine.for %h = 0 to 3 {
    affine.for %s = 0 to 256 {
      affine.for %d = 0 to 32 {
        %0 = affine.load %c[%s, %h * 32 + %d] : memref<256x96xf32>
        %1 = arith.addf %0, %0 : f32
        affine.store %1, %t[%h, %s, %d] : memref<3x256x32xf32>
      }
    }
  }
  affine.for %h = 0 to 3 {
    affine.for %s = 0 to 256 {
      affine.for %e = 0 to 48 {
        affine.for %d = 0 to 32 {
          %0 = affine.load %t[%h, %s, %d] : memref<3x256x32xf32>
          %1 = affine.load %w[%h, %d, %e] : memref<3x32x48xf32>
          %2 = affine.load %r[%h, %s, %e] : memref<3x256x48xf32>
          %3 = arith.mulf %0, %1 : f32
          %4 = arith.addf %2, %3 : f32
          affine.store %4, %r[%h, %s, %e] : memref<3x256x48xf32>
        }
      }
    }
  }
  return
}
