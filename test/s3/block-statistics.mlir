// Properties: nests that reduce channels and use what they find run channel by
// channel, and a result stays whole (@channels); buffers that nobody else touches get
// the size of a block (@local). Small channels run a few at a time, the last of them
// fewer (@uneven). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-statistics))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-statistics))' | diff %t.once -
// RUN: polynestc run --check %s --entry channels
// RUN: polynestc run --check %s --entry local
// RUN: polynestc run --check %s --entry uneven

// A channel of X has 9600 bytes, three of them 32 KiB or less.
// CHECK-DAG: #[[$LAST:.+]] = affine_map<(d0) -> (3, -d0 + 515)>

// CHECK-LABEL: func @channels
//  CHECK-SAME: %[[X:.+]]: memref<16x64x1000xf32>, %[[Y:.+]]: memref<16x64x1000xf32> {polynest.result}, %[[M:.+]]: memref<64xf32>
//       CHECK: affine.for %[[C:.+]] = 0 to 64 {
//  CHECK-NEXT:   affine.store %{{.+}}, %[[M]][%[[C]]]
//  CHECK-NEXT:   affine.for %[[B:.+]] = 0 to 16 {
//       CHECK:     affine.for %[[I:.+]] = 0 to 1000
//  CHECK-NEXT:       affine.load %[[X]][%[[B]], %[[C]], %[[I]]]
//       CHECK:   arith.divf
//       CHECK:   affine.for %{{.+}} = 0 to 16 {
//       CHECK:       affine.store %{{.+}}, %[[Y]][%{{.+}}, %[[C]], %{{.+}}]
//       CHECK: return
//      REMARK: nests=4, reason="nests run block by block", width=1
func.func @channels(%X: memref<16x64x1000xf32>, %Y: memref<16x64x1000xf32> {polynest.result},
                    %M: memref<64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 16000.0 : f32
  affine.for %c = 0 to 64 {
    affine.store %zero, %M[%c] : memref<64xf32>
  }
  affine.for %b = 0 to 16 {
    affine.for %c = 0 to 64 {
      %m = affine.load %M[%c] : memref<64xf32>
      %s = affine.for %i = 0 to 1000 iter_args(%a = %m) -> f32 {
        %x = affine.load %X[%b, %c, %i] : memref<16x64x1000xf32>
        %t = arith.addf %x, %a : f32
        affine.yield %t : f32
      }
      affine.store %s, %M[%c] : memref<64xf32>
    }
  }
  affine.for %c = 0 to 64 {
    %m = affine.load %M[%c] : memref<64xf32>
    %d = arith.divf %m, %count : f32
    affine.store %d, %M[%c] : memref<64xf32>
  }
  affine.for %b = 0 to 16 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%b, %c, %i] : memref<16x64x1000xf32>
        %m = affine.load %M[%c] : memref<64xf32>
        %d = arith.subf %x, %m : f32
        affine.store %d, %Y[%b, %c, %i] : memref<16x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @local
//       CHECK: affine.for %[[C:.+]] = 0 to 64 {
//   CHECK-DAG:   %[[M:.+]] = memref.alloc() {alignment = 64 : i64} : memref<1x1xf32>
//   CHECK-DAG:   %[[E:.+]] = memref.alloc() {alignment = 64 : i64} : memref<16x1x1000xf32>
//       CHECK:   affine.store %{{.+}}, %[[M]][0, 0]
//       CHECK:   affine.load %{{.+}}[%[[B:.+]], %[[C]], %[[I:.+]]]
//       CHECK:   affine.store %{{.+}}, %[[E]][%[[B]], 0, %[[I]]]
//       CHECK: return
//      REMARK: nests=3, reason="nests run block by block", width=1
func.func @local(%X: memref<16x64x1000xf32>, %Y: memref<16x64x1000xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %M = memref.alloc() : memref<1x64xf32>
  affine.for %c = 0 to 64 {
    affine.store %zero, %M[0, %c] : memref<1x64xf32>
  }
  %E = memref.alloc() : memref<16x64x1000xf32>
  affine.for %b = 0 to 16 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %x = affine.load %X[%b, %c, %i] : memref<16x64x1000xf32>
        %e = math.exp %x : f32
        affine.store %e, %E[%b, %c, %i] : memref<16x64x1000xf32>
        %m = affine.load %M[0, %c] : memref<1x64xf32>
        %t = arith.addf %e, %m : f32
        affine.store %t, %M[0, %c] : memref<1x64xf32>
      }
    }
  }
  affine.for %b = 0 to 16 {
    affine.for %c = 0 to 64 {
      affine.for %i = 0 to 1000 {
        %e = affine.load %E[%b, %c, %i] : memref<16x64x1000xf32>
        %m = affine.load %M[0, %c] : memref<1x64xf32>
        %d = arith.divf %e, %m : f32
        affine.store %d, %Y[%b, %c, %i] : memref<16x64x1000xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @uneven
//       CHECK: affine.for %[[G:.+]] = 0 to 515 step 3 {
//       CHECK:   %[[M:.+]] = memref.alloc() {alignment = 64 : i64} : memref<3xf32>
//       CHECK:   affine.for %[[C:.+]] = 0 to min #[[$LAST]](%[[G]]) {
//  CHECK-NEXT:     affine.store %{{.+}}, %[[M]][%[[C]]]
//       CHECK:   affine.for %[[C:.+]] = 0 to min #[[$LAST]](%[[G]]) {
//       CHECK:     affine.load %{{.+}}[%{{.+}}, %[[G]] + %[[C]], %{{.+}}]
//       CHECK: return
//      REMARK: nests=3, reason="nests run block by block", width=3
func.func @uneven(%X: memref<2x515x1200xf32>, %Y: memref<2x515x1200xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %M = memref.alloc() : memref<515xf32>
  affine.for %c = 0 to 515 {
    affine.store %zero, %M[%c] : memref<515xf32>
  }
  affine.for %b = 0 to 2 {
    affine.for %c = 0 to 515 {
      affine.for %i = 0 to 1200 {
        %x = affine.load %X[%b, %c, %i] : memref<2x515x1200xf32>
        %m = affine.load %M[%c] : memref<515xf32>
        %t = arith.maximumf %x, %m : f32
        affine.store %t, %M[%c] : memref<515xf32>
      }
    }
  }
  affine.for %b = 0 to 2 {
    affine.for %c = 0 to 515 {
      affine.for %i = 0 to 1200 {
        %x = affine.load %X[%b, %c, %i] : memref<2x515x1200xf32>
        %m = affine.load %M[%c] : memref<515xf32>
        %d = arith.subf %x, %m : f32
        affine.store %d, %Y[%b, %c, %i] : memref<2x515x1200xf32>
      }
    }
  }
  return
}
