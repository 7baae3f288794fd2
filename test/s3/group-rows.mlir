// Properties: loops run along four rows at a time, whose buffers get a place for each
// row (@softmax), two at a time where four are no divisor or too large (@pairs, @long);
// what stands between loops stays there (@between), indices too (@place). Short rows
// run part by part, as many as fit (@parts), of an outermost loop so many that it runs
// often (@outermost). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-group-rows))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-group-rows))' | diff %t.once -
// RUN: polynestc run --check %s --entry softmax
// RUN: polynestc run --check %s --entry between
// RUN: polynestc run --check %s --entry parts
// RUN: polynestc run --check %s --entry outermost

// CHECK-LABEL: func @softmax
//  CHECK-SAME: %[[X:.+]]: memref<12x100xf32>, %[[O:[a-z0-9]+]]: memref<12x100xf32>
//       CHECK: affine.for %[[G:.+]] = 0 to 3 {
//       CHECK: %[[E:.+]] = memref.alloca() {alignment = 64 : i64} : memref<4x100xf32>
//       CHECK: %[[MAX:.+]]:4 = affine.for %[[J:.+]] = 0 to 100 iter_args(%[[C0:.+]] = %{{.+}}, %[[C1:.+]] = %{{.+}}, %{{.+}} = %{{.+}}, %[[C3:[a-z0-9]+]] = %{{.+}})
//  CHECK-NEXT: %[[A0:.+]] = affine.load %[[X]][%[[G]] * 4, %[[J]]]
//  CHECK-NEXT: %[[A1:.+]] = affine.load %[[X]][%[[G]] * 4 + 1, %[[J]]]
//       CHECK: arith.maximumf %[[A0]], %[[C0]]
//  CHECK-NEXT: arith.maximumf %[[A1]], %[[C1]]
//       CHECK: arith.maximumf %{{.+}}, %[[C3]]
//  CHECK-NEXT: affine.yield
//       CHECK: %[[SUM:.+]]:4 = affine.for %[[J2:.+]] = 0 to 100
//       CHECK: arith.subf %{{.+}}, %[[MAX]]#0
//       CHECK: arith.subf %{{.+}}, %[[MAX]]#3
//       CHECK: affine.store %{{.+}}, %[[E]][0, %[[J2]]]
//       CHECK: affine.store %{{.+}}, %[[E]][3, %[[J2]]]
//       CHECK: affine.for %[[J3:.+]] = 0 to 100
//       CHECK: affine.load %[[E]][1, %[[J3]]]
//       CHECK: arith.divf %{{.+}}, %[[SUM]]#0
//  CHECK-NEXT: arith.divf %{{.+}}, %[[SUM]]#1
//       CHECK: affine.store %{{.+}}, %[[O]][%[[G]] * 4 + 3, %[[J3]]]
//       CHECK: return
//      REMARK: [Passed] group-rows
// REMARK-SAME: loops=3, reason="loops run along several rows at a time", rows=4
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
//       CHECK: %{{.+}}:2 = affine.for
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
//       CHECK: affine.for %{{.+}} = 0 to 4 {
//       CHECK: %{{.+}}:2 = affine.for
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
//       CHECK: affine.load %[[W]][%[[G]] * 4]
//       CHECK: affine.load %[[W]][%[[G]] * 4 + 3]
//       CHECK: %{{.+}}:4 = affine.for
//       CHECK: affine.store %{{.+}}, %[[A]][%[[G]] * 4]
//       CHECK: affine.store %{{.+}}, %[[A]][%[[G]] * 4 + 3]
//       CHECK: affine.for
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

// The index of a row's place is used behind the first loop and in the second.
// CHECK-LABEL: func @place
//  CHECK-SAME: %{{.+}}: memref<8x10xf32>, %{{.+}}: memref<8x10xf32> {polynest.result}, %[[R:[a-z0-9]+]]: memref<30xf32>
//       CHECK: affine.for %[[G:.+]] = 0 to 2 {
//       CHECK: affine.store %{{.+}}, %[[R]][%[[G]] * 8]
//       CHECK: affine.store %{{.+}}, %[[R]][%[[G]] * 8 + 6]
//       CHECK: return
func.func @place(%x: memref<8x10xf32>, %o: memref<8x10xf32> {polynest.result}, %r: memref<30xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %s = affine.for %j = 0 to 10 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<8x10xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    %at = affine.apply affine_map<(i) -> (i * 2)>(%i)
    affine.store %s, %r[%at] : memref<30xf32>
    affine.for %j = 0 to 10 {
      %z = arith.index_cast %at : index to i32
      %a = arith.sitofp %z : i32 to f32
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<8x10xf32>
    }
  }
  return
}

// 32 rows of 3 * 4 * 20 bytes: all of them. The scale is loaded in the first part and
// used in the last, the sum is handed on from the second.
// CHECK-LABEL: func @parts
//  CHECK-SAME: %[[X:.+]]: memref<3x32x20xf32>, %[[W:.+]]: memref<3x32xf32>, %[[O:[a-z0-9]+]]: memref<3x32x20xf32>
//       CHECK: affine.for %[[H:.+]] = 0 to 3 {
//  CHECK-NEXT: affine.for %[[B:.+]] = 0 to 1 {
//       CHECK: %[[E:.+]] = memref.alloca() {{.*}} : memref<32x20xf32>
//       CHECK: %[[M:.+]] = memref.alloca() {{.*}} : memref<32xf32>
//       CHECK: affine.for %[[G:.+]] = 0 to 8 {
//       CHECK: affine.load %[[W]][%[[H]], %[[B]] * 32 + %[[G]] * 4]
//       CHECK: %[[MAX:.+]]:4 = affine.for
//       CHECK: arith.maximumf
//       CHECK: affine.store %[[MAX]]#3, %[[M]][%[[G]] * 4 + 3]
//       CHECK: affine.for %[[G:.+]] = 0 to 8 {
//       CHECK: %[[T:.+]] = affine.load %[[M]][%[[G]] * 4 + 1]
//       CHECK: %{{.+}}:4 = affine.for %[[J:.+]] = 0 to 20
//       CHECK: arith.subf %{{.+}}, %[[T]]
//       CHECK: affine.store %{{.+}}, %[[E]][%[[G]] * 4 + 2, %[[J]]]
//       CHECK: affine.for %[[G:.+]] = 0 to 8 {
//       CHECK: affine.for %[[J:.+]] = 0 to 20
//       CHECK: affine.load %[[E]][%[[G]] * 4 + 3, %[[J]]]
//       CHECK: affine.store %{{.+}}, %[[O]][%[[H]], %[[B]] * 32 + %[[G]] * 4 + 3, %[[J]]]
//       CHECK: return
//      REMARK: rows=4, together=32
func.func @parts(%x: memref<3x32x20xf32>, %w: memref<3x32xf32>, %o: memref<3x32x20xf32> {polynest.result}) attributes {polynest.entry} {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %h = 0 to 3 {
    affine.for %i = 0 to 32 {
      %e = memref.alloca() {alignment = 64 : i64} : memref<20xf32>
      %scale = affine.load %w[%h, %i] : memref<3x32xf32>
      %m = affine.for %j = 0 to 20 iter_args(%c = %least) -> f32 {
        %a = affine.load %x[%h, %i, %j] : memref<3x32x20xf32>
        %b = arith.maximumf %a, %c : f32
        affine.yield %b : f32
      }
      %s = affine.for %j = 0 to 20 iter_args(%c = %zero) -> f32 {
        %a = affine.load %x[%h, %i, %j] : memref<3x32x20xf32>
        %d = arith.subf %a, %m : f32
        %p = math.exp %d : f32
        affine.store %p, %e[%j] : memref<20xf32>
        %b = arith.addf %p, %c : f32
        affine.yield %b : f32
      }
      %t = arith.mulf %s, %scale : f32
      affine.for %j = 0 to 20 {
        %a = affine.load %e[%j] : memref<20xf32>
        %q = arith.divf %a, %t : f32
        %r = arith.addf %q, %scale : f32
        affine.store %r, %o[%h, %i, %j] : memref<3x32x20xf32>
      }
    }
  }
  return
}

// 512 rows are 64 times 8.
// CHECK-LABEL: func @outermost
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: affine.for %{{.+}} = 0 to 2 {
//       CHECK: return
//      REMARK: rows=4, together=8
func.func @outermost(%x: memref<512x20xf32>, %o: memref<512x20xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 512 {
    %s = affine.for %j = 0 to 20 iter_args(%c = %zero) -> f32 {
      %a = affine.load %x[%i, %j] : memref<512x20xf32>
      %b = arith.addf %a, %c : f32
      affine.yield %b : f32
    }
    affine.for %j = 0 to 20 {
      %a = affine.load %x[%i, %j] : memref<512x20xf32>
      %q = arith.divf %a, %s : f32
      affine.store %q, %o[%i, %j] : memref<512x20xf32>
    }
  }
  return
}
