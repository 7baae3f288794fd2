// Properties: buffers that are never alive together share bytes (@share: 64
// floats are 256 bytes, three buffers need two places); an allocation that a
// parallel loop makes goes on the stack (@stack); the largest of them, where all
// are more than the limit, share one allocation of the loop (@private: 600 KiB each,
// two of them never alive together); dynamic ones stay (@dynamic);
// a second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-plan-memory))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-plan-memory))' | diff %t.once -
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-plan-memory{stack-limit-kib=-1}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-plan-memory{stack-limit-kib=2000}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: option stack-limit-kib has value {{.*}}; it must be 0 to 1024

// CHECK-LABEL: func @share
//  CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<512xi8> {polynest.arena}
//       CHECK: memref.view %[[ARENA]]
//   CHECK-NOT: memref.alloc
//       CHECK: return
func.func @share(%x: memref<64xf32>, %r: memref<64xf32> {polynest.result})
    attributes {polynest.entry} {
  %a = memref.alloc() : memref<64xf32>
  %b = memref.alloc() : memref<64xf32>
  %c = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    %v = affine.load %x[%i] : memref<64xf32>
    affine.store %v, %a[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %v = affine.load %a[%i] : memref<64xf32>
    affine.store %v, %b[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %v = affine.load %b[%i] : memref<64xf32>
    affine.store %v, %c[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    %v = affine.load %c[%i] : memref<64xf32>
    affine.store %v, %r[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func @stack
//       CHECK: affine.parallel
//       CHECK: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
func.func @stack(%r: memref<64xf32> {polynest.result})
    attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  affine.parallel (%i) = (0) to (64) {
    %t = memref.alloc() : memref<8xf32>
    affine.store %one, %t[0] : memref<8xf32>
    %v = affine.load %t[0] : memref<8xf32>
    affine.store %v, %r[%i] : memref<64xf32>
  } {polynest.grain = 1 : i64}
  return
}

// CHECK-LABEL: func @private
//       CHECK: affine.parallel
//       CHECK: %[[BLOCK:.+]] = memref.alloc() {alignment = 64 : i64} : memref<1228800xi8>
//   CHECK-NOT: memref.alloc()
//   CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : index
//   CHECK-DAG: %[[HALF:.+]] = arith.constant 614400 : index
//   CHECK-DAG: %[[A:.+]] = memref.view %[[BLOCK]][%[[ZERO]]]
//   CHECK-DAG: %[[B:.+]] = memref.view %[[BLOCK]][%[[HALF]]]
//   CHECK-DAG: memref.alloca() {{.+}} : memref<16xf32>
//       CHECK: return
func.func @private(%x: memref<64x153600xf32>, %r: memref<64x153600xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.parallel (%i) = (0) to (64) {
    %a = memref.alloc() : memref<153600xf32>
    %b = memref.alloc() : memref<153600xf32>
    %c = memref.alloc() : memref<153600xf32>
    %small = memref.alloc() : memref<16xf32>
    affine.for %j = 0 to 16 {
      %v = affine.load %x[%i, %j] : memref<64x153600xf32>
      affine.store %v, %small[%j] : memref<16xf32>
    }
    affine.for %j = 0 to 153600 {
      %v = affine.load %x[%i, %j] : memref<64x153600xf32>
      %s = affine.load %small[3] : memref<16xf32>
      %u = arith.addf %v, %s : f32
      affine.store %u, %a[%j] : memref<153600xf32>
    }
    affine.for %j = 0 to 153600 {
      %v = affine.load %a[%j] : memref<153600xf32>
      affine.store %v, %b[153599 - %j] : memref<153600xf32>
    }
    affine.for %j = 0 to 153600 {
      %v = affine.load %b[%j] : memref<153600xf32>
      affine.store %v, %c[153599 - %j] : memref<153600xf32>
    }
    affine.for %j = 0 to 153600 {
      %v = affine.load %c[%j] : memref<153600xf32>
      affine.store %v, %r[%i, %j] : memref<64x153600xf32>
    }
  } {polynest.grain = 1 : i64}
  return
}

// CHECK-LABEL: func @dynamic
//       CHECK: memref.alloc(%{{.+}}) : memref<?xf32>
func.func @dynamic(%n: index) attributes {polynest.entry} {
  %one = arith.constant 1.0 : f32
  %a = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    affine.store %one, %a[%i] : memref<?xf32>
  }
  return
}
