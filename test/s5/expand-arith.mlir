// Properties: divisions that round up or down and casts between bf16 and f32
// are plain arithmetic afterwards, on scalars and vectors; maximumf and
// minimumf stay (fault B007). A second run changes nothing.
// RUN: polynest-opt %s --polynest-expand-arith > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --polynest-expand-arith | diff %t.once -

// CHECK-LABEL: func @divisions
//   CHECK-NOT: ceildivsi
//   CHECK-NOT: ceildivui
//   CHECK-NOT: floordivsi
//       CHECK: arith.divsi
//       CHECK: arith.divui
//       CHECK: arith.divsi
//       CHECK: return
func.func @divisions(%a: i32, %b: i32) -> (i32, i32, i32) {
  %c = arith.ceildivsi %a, %b : i32
  %u = arith.ceildivui %a, %b : i32
  %f = arith.floordivsi %a, %b : i32
  return %c, %u, %f : i32, i32, i32
}

// CHECK-LABEL: func @vectors
//   CHECK-NOT: floordivsi
//       CHECK: arith.divsi %{{.+}}, %{{.+}} : vector<8xi64>
//       CHECK: return
func.func @vectors(%a: vector<8xi64>, %b: vector<8xi64>) -> vector<8xi64> {
  %f = arith.floordivsi %a, %b : vector<8xi64>
  return %f : vector<8xi64>
}

// The upper half of an f32 is the bf16 of the same value.
// CHECK-LABEL: func @widen
//       CHECK: %[[BITS:.+]] = arith.bitcast %{{.+}} : bf16 to i16
//       CHECK: %[[WIDE:.+]] = arith.extui %[[BITS]] : i16 to i32
//       CHECK: arith.shli %[[WIDE]], %{{.+}} : i32
//       CHECK: arith.bitcast %{{.+}} : i32 to f32
//   CHECK-NOT: extf
//       CHECK: return
func.func @widen(%a: bf16) -> f32 {
  %w = arith.extf %a : bf16 to f32
  return %w : f32
}

// CHECK-LABEL: func @narrow
//   CHECK-NOT: truncf
//       CHECK: arith.trunci %{{.+}} : vector<4xi32> to vector<4xi16>
//       CHECK: arith.bitcast %{{.+}} : vector<4xi16> to vector<4xbf16>
//       CHECK: return
func.func @narrow(%a: vector<4xf32>) -> vector<4xbf16> {
  %n = arith.truncf %a : vector<4xf32> to vector<4xbf16>
  return %n : vector<4xbf16>
}

// CHECK-LABEL: func @kept
//       CHECK: arith.maximumf
//       CHECK: arith.minimumf
//       CHECK: arith.truncf %{{.+}} : f32 to f16
//       CHECK: arith.divsi
//       CHECK: return
func.func @kept(%a: f32, %b: f32, %i: i32) -> (f32, f16, i32) {
  %m = arith.maximumf %a, %b : f32
  %n = arith.minimumf %m, %b : f32
  %h = arith.truncf %n : f32 to f16
  %q = arith.divsi %i, %i : i32
  return %n, %h, %q : f32, f16, i32
}
