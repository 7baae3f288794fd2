// Properties: a loop that carries a reduction in memory (@memory) or in
// registers (@register) is not split, nor one with a dependence (@carried),
// one that may overlap (@overlap), one that writes a place again (@rests), or one that calls (@call).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-parallelize-nests{min-work-ns=0}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// CHECK-LABEL: func @memory
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
// REMARK-SAME: loop carries a dependence of {{(read|write)}} by affine.
func.func @memory(%x: memref<100000xf32>, %o: memref<1xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 100000 {
    %a = affine.load %x[%i] : memref<100000xf32>
    %b = affine.load %o[0] : memref<1xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %o[0] : memref<1xf32>
  }
  return
}

// CHECK-LABEL: func @register
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: reason="the loop carries values"
func.func @register(%x: memref<100000xf32>) -> f32 {
  %z = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 100000 iter_args(%s = %z) -> f32 {
    %a = affine.load %x[%i] : memref<100000xf32>
    %c = arith.addf %a, %s : f32
    affine.yield %c : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @carried
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
// REMARK-SAME: loop carries a dependence of {{(read|write)}} by affine.
func.func @carried(%o: memref<100001xf32> {polynest.result}) {
  affine.for %i = 0 to 100000 {
    %a = affine.load %o[%i] : memref<100001xf32>
    affine.store %a, %o[%i + 1] : memref<100001xf32>
  }
  return
}

// CHECK-LABEL: func @overlap
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
// REMARK-SAME: loop carries a dependence of {{(read|write)}} by affine.
func.func @overlap(%x: memref<100000xf32> {polynest.mutable}, %y: memref<100000xf32>)
    attributes {polynest.entry} {
  affine.for %i = 0 to 100000 {
    %a = affine.load %y[%i] : memref<100000xf32>
    affine.store %a, %x[%i] : memref<100000xf32>
  }
  return
}

// Iterations with one rest write one place: the quotient is no index.
// CHECK-LABEL: func @rests
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
// REMARK-SAME: loop carries a dependence of write by affine.
func.func @rests(%x: memref<100000xf32>, %o: memref<4x8xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 100000 {
    %a = affine.load %x[%i] : memref<100000xf32>
    affine.store %a, %o[%i mod 4, %i floordiv 12500] : memref<4x8xf32>
  }
  return
}

func.func private @f()

// CHECK-LABEL: func @call
//   CHECK-NOT: affine.parallel
//       CHECK: return
//      REMARK: [Missed] parallelize-nests
// REMARK-SAME: loop carries a dependence of read by func.call
func.func @call() {
  affine.for %i = 0 to 100000 {
    func.call @f() : () -> ()
  }
  return
}

// The same options do split a loop that nothing forbids to.
// CHECK-LABEL: func @free
//       CHECK: affine.parallel
//       CHECK: return
//      REMARK: [Passed] parallelize-nests
func.func @free(%x: memref<100000xf32>, %o: memref<100000xf32> {polynest.result})
    attributes {polynest.entry} {
  affine.for %i = 0 to 100000 {
    %a = affine.load %x[%i] : memref<100000xf32>
    affine.store %a, %o[%i] : memref<100000xf32>
  }
  return
}
