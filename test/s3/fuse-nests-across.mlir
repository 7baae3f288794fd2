// Properties: a nest that writes down the columns of its result stays apart from
// one that reads rows (@turned); where lanes can run along the merged loop the two
// are one (@columns), and so where few elements are written (@few).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-nests))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynestc run %s --entry turned --check
// RUN: polynestc run %s --entry columns --check
// RUN: polynestc run %s --entry few --check

// CHECK-LABEL: func @turned
//       CHECK:   affine.for %{{.+}} = 0 to 130
//       CHECK:   affine.for %{{.+}} = 0 to 70
//       CHECK: return
//      REMARK: [Missed] fuse-nests{{.*}}reason="rows would be written across those of the result"
func.func @turned(%a: memref<70x130xf32>, %r: memref<130x70xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<70xf32>
  affine.for %i = 0 to 70 {
    affine.store %zero, %s[%i] : memref<70xf32>
    affine.for %j = 0 to 130 {
      %0 = affine.load %a[%i, %j] : memref<70x130xf32>
      %1 = affine.load %s[%i] : memref<70xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%i] : memref<70xf32>
    }
  }
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 130 {
      %0 = affine.load %a[%i, %j] : memref<70x130xf32>
      %1 = affine.load %s[%i] : memref<70xf32>
      %2 = arith.subf %0, %1 : f32
      affine.store %2, %r[%j, %i] : memref<130x70xf32>
    }
  }
  return
}

// CHECK-LABEL: func @columns
//       CHECK:   affine.for %{{.+}} = 0 to 70
//   CHECK-NOT:   affine.for %{{.+}} = 0 to 70
//       CHECK: return
func.func @columns(%a: memref<130x70xf32>, %r: memref<130x70xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<70xf32>
  affine.for %i = 0 to 70 {
    affine.store %zero, %s[%i] : memref<70xf32>
    affine.for %j = 0 to 130 {
      %0 = affine.load %a[%j, %i] : memref<130x70xf32>
      %1 = affine.load %s[%i] : memref<70xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%i] : memref<70xf32>
    }
  }
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 130 {
      %0 = affine.load %a[%j, %i] : memref<130x70xf32>
      %1 = affine.load %s[%i] : memref<70xf32>
      %2 = arith.subf %0, %1 : f32
      affine.store %2, %r[%j, %i] : memref<130x70xf32>
    }
  }
  return
}

// CHECK-LABEL: func @few
//       CHECK:   affine.for %{{.+}} = 0 to 70
//   CHECK-NOT:   affine.for %{{.+}} = 0 to 70
//       CHECK: return
func.func @few(%a: memref<70x130xf32>, %r: memref<12x70xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %s = memref.alloc() : memref<70xf32>
  affine.for %i = 0 to 70 {
    affine.store %zero, %s[%i] : memref<70xf32>
    affine.for %j = 0 to 130 {
      %0 = affine.load %a[%i, %j] : memref<70x130xf32>
      %1 = affine.load %s[%i] : memref<70xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%i] : memref<70xf32>
    }
  }
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 12 {
      %0 = affine.load %a[%i, %j] : memref<70x130xf32>
      %1 = affine.load %s[%i] : memref<70xf32>
      %2 = arith.subf %0, %1 : f32
      affine.store %2, %r[%j, %i] : memref<12x70xf32>
    }
  }
  return
}
