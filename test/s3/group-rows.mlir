// Properties: rows run four at a time, loop by loop; what they hand on goes through
// buffers with a place for each row (@softmax), two at a time where four are no
// divisor or too large (@pairs, @long); what stands between loops stays with the one in
// front of it (@between). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-group-rows))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-group-rows))' | diff %t.once -
// RUN: polynestc run --check %s --entry softmax
// RUN: polynestc run --check %s --entry between

// CHECK-LABEL: func @softmax
//  CHECK-SAME: %[[X:.+]]: memref<12x100xf32>, %[[O:[a-z0-9]+]]: memref<12x100xf32>
//       CHECK: affine.for %[[G:.+]] = 0 to 3 {
//       CHECK: %[[E:.+]] = memref.alloca() {alignment = 64 : i64} : memref<4x100xf32>
//  CHECK-NEXT: %[[M:.+]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
//  CHECK-NEXT: %[[S:.+]] = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
//  CHECK-NEXT: affine.for %[[R:.+]] = 0 to 4 {
//  CHECK-NEXT: %[[MAX:.+]] = affine.for %[[J:.+]] = 0 to 100
//  CHECK-NEXT: affine.load %[[X]][%[[G]] * 4 + %[[R]], %[[J]]]
//       CHECK: affine.store %[[MAX]], %[[M]][%[[R]]]
//       CHECK: affine.for %[[R2:.+]] = 0 to 4 {
//  CHECK-NEXT: %[[M1:.+]] = affine.load %[[M]][%[[R2]]]
//  CHECK-NEXT: %[[SUM:.+]] = affine.for %[[J2:.+]] = 0 to 100
//       CHECK: arith.subf %{{.+}}, %[[M1]]
//       CHECK: affine.store %{{.+}}, %[[E]][%[[R2]], %[[J2]]]
//       CHECK: affine.store %[[SUM]], %[[S]][%[[R2]]]
//       CHECK: affine.for %[[R3:.+]] = 0 to 4 {
//  CHECK-NEXT: %[[S1:.+]] = affine.load %[[S]][%[[R3]]]
//  CHECK-NEXT: affine.for %[[J3:.+]] = 0 to 100
//  CHECK-NEXT: affine.load %[[E]][%[[R3]], %[[J3]]]
//       CHECK: affine.store %{{.+}}, %[[O]][%[[G]] * 4 + %[[R3]], %[[J3]]]
//       CHECK: return
//      REMARK: [Passed] group-rows
// REMARK-SAME: loops=3, reason="rows run in groups, loop by loop", rows=4
func.func @softmax(%x: memref<12x100xf32>, %o: memref<12x100xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 12 {
    %e = memref.alloca() {alignment = 64 : i64} : memref<100xf32>
    %m = affine.for %j = 0 to 100 iter_args(%c = %least) -> f32 {
      %a = affine.load %x[%i, %j] : memref<12x100xf32>
      %b = arith.maximumf %a, %c : f32
      affine.yield %b : f32
    }
    %s = affine.for %j = 0 to 100 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<12x100xf32>
      %d = arith.subf %a, %m : f32
      %p = math.exp %d : f32
      affine.store %p, %e[%j] : memref<100xf32>
      %b = arith.addf %p, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 100 {
      %a = affine.load %e[%j] : memref<100xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<12x100xf32>
    }
  }
  return
}

// 6 rows are three pairs.
// CHECK-LABEL: func @pairs
//       CHECK: affine.for %{{.+}} = 0 to 3 {
//       CHECK: memref.alloca() {alignment = 64 : i64} : memref<2xf32>
//       CHECK: return
func.func @pairs(%x: memref<6x100xf32>, %o: memref<6x100xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 6 {
    %s = affine.for %j = 0 to 100 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<6x100xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 100 {
      %a = affine.load %x[%i, %j] : memref<6x100xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<6x100xf32>
    }
  }
  return
}

// A row takes 2 * 6000 bytes, four more than 32 KiB.
// CHECK-LABEL: func @long
//       CHECK: memref.alloca() {alignment = 64 : i64} : memref<2xf32>
//       CHECK: return
func.func @long(%x: memref<8x1500xf32>, %o: memref<8x1500xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 1500 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x1500xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 1500 {
      %a = affine.load %x[%i, %j] : memref<8x1500xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x1500xf32>
    }
  }
  return
}

// The mean goes to memory and on to the next loop; the scale of the row is loaded in front.
// CHECK-LABEL: func @between
//  CHECK-SAME: %[[X:.+]]: memref<8x33xf32>, %[[W:.+]]: memref<8xf32>, %[[O:[a-z0-9]+]]: memref<8x33xf32> {polynest.result}, %[[A:[a-z0-9]+]]: memref<8xf32>
//       CHECK: affine.for %[[G:.+]] = 0 to 2 {
//       CHECK: affine.for %[[R:.+]] = 0 to 4 {
//       CHECK: affine.load %[[W]][%[[G]] * 4 + %[[R]]]
//       CHECK: affine.for
//       CHECK: affine.store %{{.+}}, %[[A]][%[[G]] * 4 + %[[R]]]
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//       CHECK: return
func.func @between(%x: memref<8x33xf32>, %w: memref<8xf32>, %o: memref<8x33xf32> {polynest.result}, %mean: memref<8xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 33.0 : f32
  affine.for %i = 0 to 8 {
    %scale = affine.load %w[%i] : memref<8xf32>
    %s = affine.for %j = 0 to 33 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x33xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    %m = arith.divf %s, %n : f32
    affine.store %m, %mean[%i] : memref<8xf32>
    affine.for %j = 0 to 33 {
      %a = affine.load %x[%i, %j] : memref<8x33xf32>
      %d = arith.subf %a, %m : f32
      %q = arith.mulf %d, %scale : f32
      affine.store %q, %o[%i, %j] : memref<8x33xf32>
    }
  }
  return
}
