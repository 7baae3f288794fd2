// Properties: a long sum is a loop over blocks that divide it, added up in f64,
// around one over elements from nothing on (@divided); what is no whole block is
// a loop behind it (@rest); several sums go together, a multiply-add is one and
// f64 stays f64 (@several); iterations keep their order, so that stores may stand
// beside a sum (@stores). A second run changes nothing, however many blocks there
// are (@many); attributes are kept. A sum up to a size is split whatever it is (@size).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-split-sums))' > %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-split-sums))' | diff %t.once -

// 1000000 = 125 blocks of 8000.
// CHECK-DAG: #[[$LOW:.+]] = affine_map<(d0) -> (d0 * 8000)>
// CHECK-DAG: #[[$HIGH:.+]] = affine_map<(d0) -> (d0 * 8000 + 8000)>
// 20003 = 4 blocks of 4096 from 3 on, and 3616 more.
// CHECK-DAG: #[[$LOW3:.+]] = affine_map<(d0) -> (d0 * 4096 + 3)>
// CHECK-DAG: #[[$HIGH3:.+]] = affine_map<(d0) -> (d0 * 4096 + 4099)>

// CHECK-DAG: #[[$BLOCKS:.+]] = affine_map<()[s0] -> (s0 floordiv 4096)>
// CHECK-DAG: #[[$REST:.+]] = affine_map<()[s0] -> ((s0 floordiv 4096) * 4096)>
// CHECK-DAG: #[[$LOW4:.+]] = affine_map<(d0) -> (d0 * 4096)>
// CHECK-DAG: #[[$HIGH4:.+]] = affine_map<(d0) -> (d0 * 4096 + 4096)>

// CHECK-LABEL: func @divided
//  CHECK-SAME: %[[X:.+]]: memref<1000000xf32>, %[[INIT:.+]]: f32
//       CHECK: %[[WIDE:.+]] = arith.extf %[[INIT]] : f32 to f64
//       CHECK: %[[SUM:.+]] = affine.for %[[B:.+]] = 0 to 125 iter_args(%[[A:.+]] = %[[WIDE]]) -> (f64) {
//       CHECK:   %[[NOTHING:.+]] = arith.constant -0.000000e+00 : f32
//       CHECK:   %[[PART:.+]] = affine.for %[[I:.+]] = #[[$LOW]](%[[B]]) to #[[$HIGH]](%[[B]]) iter_args(%[[P:.+]] = %[[NOTHING]]) -> (f32) {
//       CHECK:     %[[V:.+]] = affine.load %[[X]][%[[I]]]
//       CHECK:     %[[Q:.+]] = arith.addf %[[P]], %[[V]] : f32
//       CHECK:     affine.yield %[[Q]] : f32
//       CHECK:   } {polynest.kind = "sum"}
//       CHECK:   %[[E:.+]] = arith.extf %[[PART]] : f32 to f64
//       CHECK:   %[[N:.+]] = arith.addf %[[A]], %[[E]] : f64
//       CHECK:   affine.yield %[[N]] : f64
//       CHECK: } {polynest.split_sums}
//       CHECK: %[[R:.+]] = arith.truncf %[[SUM]] : f64 to f32
//       CHECK: return %[[R]]
func.func @divided(%x: memref<1000000xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 1000000 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<1000000xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  } {polynest.kind = "sum"}
  return %r : f32
}

// CHECK-LABEL: func @rest
//       CHECK: %[[SUM:.+]] = affine.for %[[B:.+]] = 0 to 4 iter_args
//       CHECK:   affine.for %{{.+}} = #[[$LOW3]](%[[B]]) to #[[$HIGH3]](%[[B]])
//       CHECK: } {polynest.split_sums}
// 3 + 4 * 4096 = 16387.
//       CHECK: %[[PART:.+]] = affine.for %{{.+}} = 16387 to 20003 iter_args(%{{.+}} = %{{.+}}) -> (f32)
//       CHECK: %[[E:.+]] = arith.extf %[[PART]] : f32 to f64
//       CHECK: %[[N:.+]] = arith.addf %[[SUM]], %[[E]] : f64
//       CHECK: arith.truncf %[[N]] : f64 to f32
func.func @rest(%x: memref<20003xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 3 to 20003 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<20003xf32>
    %s = arith.addf %v, %a : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @several
//  CHECK-SAME: %[[F:[a-z0-9]+]]: f32, %[[D:[a-z0-9]+]]: f64
//       CHECK: %[[WIDE:.+]] = arith.extf %[[F]]
//       CHECK: %[[S:.+]]:2 = affine.for %{{.+}} = 0 to 4 iter_args(%{{.+}} = %[[WIDE]], %{{.+}} = %[[D]]) -> (f64, f64)
//       CHECK:   affine.for {{.+}} -> (f32, f64)
//       CHECK:     math.fma
//       CHECK: %[[N:.+]] = arith.truncf %[[S]]#0 : f64 to f32
//       CHECK: return %[[N]], %[[S]]#1
func.func @several(%x: memref<16384xf32>, %y: memref<16384xf64>, %f: f32, %d: f64) -> (f32, f64) {
  %r:2 = affine.for %i = 0 to 16384 iter_args(%a = %f, %b = %d) -> (f32, f64) {
    %v = affine.load %x[%i] : memref<16384xf32>
    %w = affine.load %y[%i] : memref<16384xf64>
    %s = math.fma %v, %v, %a : f32
    %t = arith.addf %b, %w : f64
    affine.yield %s, %t : f32, f64
  }
  return %r#0, %r#1 : f32, f64
}

// CHECK-LABEL: func @stores
//       CHECK: affine.for %{{.+}} = 0 to 4 iter_args
//       CHECK:   affine.for
//       CHECK:     affine.store
func.func @stores(%x: memref<16385xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 16384 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<16385xf32>
    affine.store %v, %x[%i + 1] : memref<16385xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// 2^28 / 2^12 = 65536 blocks.
// CHECK-LABEL: func @many
//       CHECK: affine.for %{{.+}} = 0 to 65536 iter_args
//       CHECK: } {polynest.split_sums}
func.func @many(%x: memref<268435456xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 268435456 iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<268435456xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// CHECK-LABEL: func @size
//       CHECK: %[[N:.+]] = memref.dim
//       CHECK: affine.for %[[B:.+]] = 0 to #[[$BLOCKS]]()[%[[N]]] iter_args
//       CHECK:   affine.for %{{.+}} = #[[$LOW4]](%[[B]]) to #[[$HIGH4]](%[[B]]) iter_args
//       CHECK: } {polynest.split_sums}
//       CHECK: affine.for %{{.+}} = #[[$REST]]()[%[[N]]] to %[[N]] iter_args
func.func @size(%x: memref<?xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r = affine.for %i = 0 to %n iter_args(%a = %init) -> (f32) {
    %v = affine.load %x[%i] : memref<?xf32>
    %s = arith.addf %a, %v : f32
    affine.yield %s : f32
  }
  return %r : f32
}
