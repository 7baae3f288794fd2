// Properties: where an index from data chooses one element of each row, it is
// computed there, from the input and from what is kept of each row (@gather);
// through a buffer of the row that another loop filled, at the chosen place
// (@through); reads in the same iteration use the row's values as they are
// (@same); plain reads of one column too (@column). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-recompute-elements))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-recompute-elements))' | diff %t.once -

// CHECK-LABEL: func @gather
//  CHECK-SAME: (%[[X:[^:]+]]: memref<16x64xf32>, %[[R:[^:]+]]: memref<16xf32>, %[[T:[^:]+]]: memref<16xindex>
//       CHECK: %[[K:.+]] = memref.alloc() : memref<16xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 16
//       CHECK:   %[[LOG:.+]] = math.log
//       CHECK:   affine.store %[[LOG]], %[[K]][%[[I]]]
//       CHECK:   affine.for
//       CHECK: affine.for %[[J:.+]] = 0 to 16
//       CHECK:   %[[AT:.+]] = affine.load %[[T]][%[[J]]]
//       CHECK:   %[[V:.+]] = memref.load %[[X]][%[[J]], %[[AT]]]
//       CHECK:   %[[L:.+]] = memref.load %[[K]][%[[J]]]
//       CHECK:   %[[E:.+]] = arith.subf %[[V]], %[[L]]
//       CHECK:   affine.store %[[E]]
//       CHECK: return
//      REMARK: [Passed] recompute-elements
// REMARK-SAME: kept=1
func.func @gather(%x: memref<16x64xf32>, %r: memref<16xf32>, %t: memref<16xindex>,
    %o: memref<16xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<16x64xf32>
  affine.for %i = 0 to 16 {
    %s = affine.load %r[%i] : memref<16xf32>
    %l = math.log %s : f32
    affine.for %j = 0 to 64 {
      %v = affine.load %x[%i, %j] : memref<16x64xf32>
      %e = arith.subf %v, %l : f32
      affine.store %e, %p[%i, %j] : memref<16x64xf32>
    }
  }
  affine.for %i = 0 to 16 {
    %k = affine.load %t[%i] : memref<16xindex>
    %v = memref.load %p[%i, %k] : memref<16x64xf32>
    affine.store %v, %o[%i] : memref<16xf32>
  }
  return
}

// The element of the row's buffer is x times itself at the chosen place, and the
// one at place 0, which is another.
// CHECK-LABEL: func @through
//  CHECK-SAME: (%[[X:[^:]+]]: memref<16x64xf32>, %[[T:[^:]+]]: memref<16xindex>
//       CHECK:   %[[AT:.+]] = affine.load %[[T]][%[[J:.+]]]
//       CHECK:   %[[A:.+]] = memref.load %[[X]][%[[J]], %[[AT]]]
//       CHECK:   %[[SQUARE:.+]] = arith.mulf %[[A]], %[[A]]
//       CHECK:   %[[ZERO:.+]] = arith.constant 0 : index
//       CHECK:   %[[B:.+]] = memref.load %[[X]][%[[J]], %[[ZERO]]]
//       CHECK:   %[[OTHER:.+]] = arith.mulf %[[B]], %[[B]]
//       CHECK:   %[[E:.+]] = arith.addf %[[SQUARE]], %[[OTHER]]
//       CHECK:   affine.store %[[E]]
//       CHECK: return
func.func @through(%x: memref<16x64xf32>, %t: memref<16xindex>,
    %o: memref<16xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<16x64xf32>
  affine.for %i = 0 to 16 {
    %d = memref.alloca() : memref<64xf32>
    affine.for %j = 0 to 64 {
      %v = affine.load %x[%i, %j] : memref<16x64xf32>
      %e = arith.mulf %v, %v : f32
      affine.store %e, %d[%j] : memref<64xf32>
    }
    affine.for %j = 0 to 64 {
      %v = affine.load %d[%j] : memref<64xf32>
      %w = affine.load %d[0] : memref<64xf32>
      %e = arith.addf %v, %w : f32
      affine.store %e, %p[%i, %j] : memref<16x64xf32>
    }
  }
  affine.for %i = 0 to 16 {
    %k = affine.load %t[%i] : memref<16xindex>
    %v = memref.load %p[%i, %k] : memref<16x64xf32>
    affine.store %v, %o[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @same
//       CHECK: affine.for
//       CHECK:   %[[S:.+]] = affine.load %{{.+}} : memref<16xf32>
//       CHECK:   affine.for
//       CHECK:   }
//       CHECK:   %[[V:.+]] = memref.load %{{.+}} : memref<16x64xf32>
//       CHECK:   arith.subf %[[V]], %[[S]]
//       CHECK: return
func.func @same(%x: memref<16x64xf32>, %r: memref<16xf32>, %t: memref<16xindex>,
    %o: memref<16xf32> {polynest.result}) attributes {polynest.entry} {
  affine.for %i = 0 to 16 {
    %p = memref.alloca() : memref<64xf32>
    %s = affine.load %r[%i] : memref<16xf32>
    affine.for %j = 0 to 64 {
      %v = affine.load %x[%i, %j] : memref<16x64xf32>
      %e = arith.subf %v, %s : f32
      affine.store %e, %p[%j] : memref<64xf32>
    }
    %k = affine.load %t[%i] : memref<16xindex>
    %v = memref.load %p[%k] : memref<64xf32>
    affine.store %v, %o[%i] : memref<16xf32>
  }
  return
}

// The buffer is transposed.
// CHECK-LABEL: func @column
//  CHECK-SAME: (%[[X:[^:]+]]: memref<16x64xf32>,
//       CHECK: affine.for %[[J:.+]] = 0 to 8
//       CHECK:   %[[FIVE:.+]] = affine.apply #{{.+}}()
//       CHECK:   %[[TWICE:.+]] = affine.apply #{{.+}}(%[[J]])
//       CHECK:   memref.load %[[X]][%[[TWICE]], %[[FIVE]]]
//       CHECK: return
func.func @column(%x: memref<16x64xf32>, %o: memref<8xf32> {polynest.result}) attributes {polynest.entry} {
  %p = memref.alloc() : memref<64x16xf32>
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 64 {
      %v = affine.load %x[%i, %j] : memref<16x64xf32>
      %e = math.exp %v : f32
      affine.store %e, %p[%j, %i] : memref<64x16xf32>
    }
  }
  affine.for %i = 0 to 8 {
    %v = affine.load %p[5, %i * 2] : memref<64x16xf32>
    affine.store %v, %o[%i] : memref<8xf32>
  }
  return
}
