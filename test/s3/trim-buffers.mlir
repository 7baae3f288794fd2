// Properties: of a product of which a slice is read, the slice alone is computed
// (@columns), also one that begins later, in both dimensions (@box), through a
// nest in between (@chain), for several readers (@readers), where the number of rows
// is not known (@rows). A product whose columns are read in parts becomes one for
// each (@chunk), also where bias is added before (@bias). A second run changes
// nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-buffers))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-trim-buffers))' | diff %t.once -

// CHECK-LABEL: func @columns
//       CHECK: %[[C:.+]] = memref.alloc() : memref<256x20xf32>
//       CHECK: affine.for %{{.+}} = 0 to 256
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 20
//       CHECK: affine.for %[[K:.+]] = 0 to 40
//       CHECK: affine.load %{{.+}}[%[[K]], %[[J]]] : memref<40x96xf32>
//       CHECK: affine.load %[[C]]
//       CHECK: affine.for %{{.+}} = 0 to 256
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
func.func @columns(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<256x20xf32> {polynest.result}) {
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
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @box
//       CHECK: %[[C:.+]] = memref.alloc() : memref<100x20xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 100
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 20
//       CHECK: affine.store %{{.+}}, %[[C]][%[[I]], %[[J]]]
//       CHECK: affine.for %[[K:.+]] = 0 to 40
//       CHECK: affine.load %{{.+}}[%[[I]] + 7, %[[K]]]
//       CHECK: affine.load %{{.+}}[%[[K]], %[[J]] + 60]
//       CHECK: affine.load %[[C]][%[[I]], %[[J]]]
//       CHECK: affine.store %{{.+}}, %[[C]][%[[I]], %[[J]]]
//       CHECK: affine.load %[[C]]
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
func.func @box(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<100x20xf32> {polynest.result}) {
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
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i + 7, %j + 60] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<100x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @chain
//       CHECK: memref.alloc() : memref<256x20xf32>
//       CHECK: affine.for %[[K:.+]] = 0 to 40
//       CHECK: affine.load %{{.+}}[%[[K]], %{{.+}} + 3]
//       CHECK: memref.alloc() : memref<256x20xf32>
//       CHECK: affine.for %{{.+}} = 0 to 256
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 20
//  CHECK-NEXT: affine.load %{{.+}}[%{{.+}}, %[[J]]]
//       CHECK: affine.for %{{.+}} = 0 to 256
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 20
//  CHECK-NEXT: affine.load %{{.+}}[%{{.+}}, %[[J]]]
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
func.func @chain(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<256x20xf32> {polynest.result}) {
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
  %t = memref.alloc() : memref<256x96xf32>
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 96 {
      %0 = affine.load %c[%i, %j] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %t[%i, %j] : memref<256x96xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 20 {
      %0 = affine.load %t[%i, %j + 3] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @readers
//       CHECK: memref.alloc() : memref<256x60xf32>
//       CHECK: affine.for %{{.+}} = 0 to 60
//       CHECK: affine.load %{{.+}}[%{{.+}}, %{{.+}}] : memref<256x60xf32>
//       CHECK: affine.for %{{.+}} = 0 to 30
//       CHECK: affine.load %{{.+}}[%{{.+}}, %{{.+}} + 30]
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
func.func @readers(%a: memref<256x40xf32>, %b: memref<40x96xf32>, %r: memref<256x20xf32> {polynest.result}, %s: memref<256x30xf32> {polynest.result}) {
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
      %0 = affine.load %c[%i, %j + 10] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r[%i, %j] : memref<256x20xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 30 {
      %0 = affine.load %c[%i, %j + 40] : memref<256x96xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %s[%i, %j] : memref<256x30xf32>
    }
  }
  return
}

// CHECK-LABEL: func @rows
//       CHECK: memref.alloc(%{{.+}}) : memref<?x20xf32>
//       CHECK: affine.for %{{.+}} = 0 to 20
//      REMARK: [Passed] trim-buffers{{.*}}"buffer and loops cut to what is read"
func.func @rows(%a: memref<?x40xf32>, %b: memref<40x96xf32>, %m: index, %r: memref<?x20xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc(%m) : memref<?x96xf32>
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 96 {
      affine.store %zero, %c[%i, %j] : memref<?x96xf32>
      affine.for %k = 0 to 40 {
        %0 = affine.load %a[%i, %k] : memref<?x40xf32>
        %1 = affine.load %b[%k, %j] : memref<40x96xf32>
        %2 = affine.load %c[%i, %j] : memref<?x96xf32>
        %3 = arith.mulf %0, %1 : f32
        %4 = arith.addf %2, %3 : f32
        affine.store %4, %c[%i, %j] : memref<?x96xf32>
      }
    }
  }
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 20 {
      %0 = affine.load %c[%i, %j] : memref<?x96xf32>
      affine.store %0, %r[%i, %j] : memref<?x20xf32>
    }
  }
  return
}

// CHECK-LABEL: func @chunk
//       CHECK: %[[P:.+]] = memref.alloc() : memref<64x128xf32>
//       CHECK: %[[Q:.+]] = memref.alloc() : memref<64x256xf32>
//       CHECK: affine.for %{{.+}} = 0 to 64
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 128
//       CHECK: affine.for %[[K:.+]] = 0 to 200
//       CHECK: affine.load %{{.+}}[%[[K]], %[[J]]] : memref<200x384xf32>
//       CHECK: affine.store %{{.+}}, %[[P]]
//       CHECK: affine.for %{{.+}} = 0 to 64
//  CHECK-NEXT: affine.for %[[L:.+]] = 0 to 256
//       CHECK: affine.for %[[K:.+]] = 0 to 200
//       CHECK: affine.load %{{.+}}[%[[K]], %[[L]] + 128] : memref<200x384xf32>
//       CHECK: affine.store %{{.+}}, %[[Q]]
//       CHECK: affine.load %[[P]]
//       CHECK: affine.load %[[Q]][%{{.+}}, %{{.+}}]
//      REMARK: [Passed] trim-buffers{{.*}}"each part of a product has a nest of its own"
func.func @chunk(%a: memref<64x200xf32>, %b: memref<200x384xf32>, %r0: memref<64x128xf32> {polynest.result}, %r1: memref<64x256xf32> {polynest.result}) {
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

// CHECK-LABEL: func @bias
//       CHECK: affine.for %[[K:.+]] = 0 to 200
//       CHECK: affine.load %{{.+}}[%[[K]], %{{.+}}] : memref<200x384xf32>
//       CHECK: affine.for %[[K:.+]] = 0 to 200
//       CHECK: affine.load %{{.+}}[%[[K]], %{{.+}} + 192] : memref<200x384xf32>
//       CHECK: affine.for %{{.+}} = 0 to 64
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 192
//       CHECK: affine.load %{{.+}}[%{{.+}}] : memref<384xf32>
//       CHECK: affine.for %{{.+}} = 0 to 64
//  CHECK-NEXT: affine.for %{{.+}} = 0 to 192
//       CHECK: affine.load %{{.+}}[%{{.+}} + 192] : memref<384xf32>
//      REMARK: [Passed] trim-buffers{{.*}}"each part of a product has a nest of its own"
func.func @bias(%a: memref<64x200xf32>, %b: memref<200x384xf32>, %y: memref<384xf32>, %r0: memref<64x192xf32> {polynest.result}, %r1: memref<64x192xf32> {polynest.result}) {
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
  %t = memref.alloc() : memref<64x384xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 384 {
      %0 = affine.load %c[%i, %j] : memref<64x384xf32>
      %1 = affine.load %y[%j] : memref<384xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %t[%i, %j] : memref<64x384xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 192 {
      %0 = affine.load %t[%i, %j] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r0[%i, %j] : memref<64x192xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 192 {
      %0 = affine.load %t[%i, %j + 192] : memref<64x384xf32>
      %1 = math.absf %0 : f32
      affine.store %1, %r1[%i, %j] : memref<64x192xf32>
    }
  }
  return
}
