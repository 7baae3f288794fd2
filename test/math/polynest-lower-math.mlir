// Properties: no math operation but the instructions is left, whatever shape
// and type (@all_unary, @shapes, @narrow); huge arguments sit behind a branch
// (@branch); known powers are products (@known_power); functions of neighbouring
// vectors take turns operation by operation (@abreast: five are four and one), but
// not where one needs another's result (@chained); a second run changes nothing; only the listed operations are expanded (prefix OPS).
// RUN: polynest-opt %s --polynest-lower-math | FileCheck %s
// RUN: polynest-opt %s --polynest-lower-math > %t.once
// RUN: polynest-opt %t.once --polynest-lower-math | diff %t.once -
// RUN: polynest-opt %s --polynest-lower-math=ops=exp,tanh | FileCheck %s --check-prefix=OPS

// CHECK-LABEL: func @all_unary
//   CHECK-NOT: math.{{(a|c|e|l|is|fpowi|ipowi|rsqrt|sin|tan)}}
//       CHECK: math.fma
//   CHECK-NOT: math.{{(acos|asin|atan|cbrt|cos|e|l|is|fpowi|ipowi|rsqrt|sin|tan)}}
//   CHECK-NOT: fastmath
//       CHECK: return
//   OPS-LABEL: func @all_unary
//     OPS-NOT: math.exp %
//         OPS: math.exp2
//     OPS-NOT: math.tanh
//         OPS: return
func.func @all_unary(%x: vector<8xf32>, %n: vector<8xi32>) -> (vector<8xf32>, vector<8xi1>, vector<8xi32>) {
  %0 = math.exp %x fastmath<fast> : vector<8xf32>
  %1 = math.exp2 %0 : vector<8xf32>
  %2 = math.expm1 %1 : vector<8xf32>
  %3 = math.log %2 : vector<8xf32>
  %4 = math.log2 %3 : vector<8xf32>
  %5 = math.log10 %4 : vector<8xf32>
  %6 = math.log1p %5 : vector<8xf32>
  %7 = math.tanh %6 : vector<8xf32>
  %8 = math.erf %7 : vector<8xf32>
  %9 = math.erfc %8 : vector<8xf32>
  %10 = math.sin %9 : vector<8xf32>
  %11 = math.cos %10 : vector<8xf32>
  %12 = math.tan %11 : vector<8xf32>
  %13 = math.asin %12 : vector<8xf32>
  %14 = math.acos %13 : vector<8xf32>
  %15 = math.atan %14 : vector<8xf32>
  %16 = math.atan2 %15, %x : vector<8xf32>
  %17 = math.sinh %16 : vector<8xf32>
  %18 = math.cosh %17 : vector<8xf32>
  %19 = math.asinh %18 : vector<8xf32>
  %20 = math.acosh %19 : vector<8xf32>
  %21 = math.atanh %20 : vector<8xf32>
  %22 = math.cbrt %21 : vector<8xf32>
  %23 = math.rsqrt %22 : vector<8xf32>
  %24 = math.powf %23, %x : vector<8xf32>
  %25 = math.fpowi %24, %n : vector<8xf32>, vector<8xi32>
  %s, %c = math.sincos %25 : vector<8xf32>
  %26 = math.clampf %s to [%x, %c] : vector<8xf32>
  %27 = math.isnan %26 : vector<8xf32>
  %28 = math.isinf %26 : vector<8xf32>
  %29 = math.isfinite %26 : vector<8xf32>
  %30 = math.isnormal %26 : vector<8xf32>
  %31 = arith.ori %27, %28 : vector<8xi1>
  %32 = arith.ori %29, %30 : vector<8xi1>
  %33 = arith.ori %31, %32 : vector<8xi1>
  %34 = math.ipowi %n, %n : vector<8xi32>
  return %26, %33, %34 : vector<8xf32>, vector<8xi1>, vector<8xi32>
}

// CHECK-LABEL: func @shapes
//   CHECK-NOT: math.{{exp|sin}}
//       CHECK: return
func.func @shapes(%a: f64, %b: vector<f32>, %c: vector<2x3xf32>, %d: vector<[4]xf32>, %e: vector<1xf64>) -> (f64, vector<f32>, vector<2x3xf32>, vector<[4]xf32>, vector<1xf64>) {
  %0 = math.exp %a : f64
  %1 = math.sin %b : vector<f32>
  %2 = math.sin %c : vector<2x3xf32>
  %3 = math.sin %d : vector<[4]xf32>
  %4 = math.exp %e : vector<1xf64>
  return %0, %1, %2, %3, %4 : f64, vector<f32>, vector<2x3xf32>, vector<[4]xf32>, vector<1xf64>
}

// f16 is widened and narrowed once; bf16 is narrowed in integers.
// CHECK-LABEL: func @narrow
//       CHECK: arith.extf %{{.+}} : vector<8xf16> to vector<8xf32>
//       CHECK: arith.truncf %{{.+}} : vector<8xf32> to vector<8xf16>
//   CHECK-NOT: arith.truncf
//       CHECK: arith.trunci %{{.+}} : vector<8xi32> to vector<8xi16>
//       CHECK: arith.bitcast %{{.+}} : vector<8xi16> to vector<8xbf16>
//       CHECK: math.roundeven %{{.+}} : vector<8xf32>
//       CHECK: return
func.func @narrow(%h: vector<8xf16>, %b: vector<8xbf16>) -> (vector<8xf16>, vector<8xbf16>, vector<8xf16>) {
  %0 = math.exp %h : vector<8xf16>
  %1 = math.exp %b : vector<8xbf16>
  %2 = math.roundeven %h : vector<8xf16>
  return %0, %1, %2 : vector<8xf16>, vector<8xbf16>, vector<8xf16>
}

// CHECK-LABEL: func @branch
//       CHECK: %[[ANY:.+]] = vector.reduction <or>, %{{.+}} : vector<8xi1> into i1
//       CHECK: scf.if %[[ANY]] -> (vector<8xf32>)
//       CHECK: else
//       CHECK: return
func.func @branch(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func @known_power
//  CHECK-SAME: (%[[X:.+]]: f32, %[[N:.+]]: i32)
//       CHECK: %[[S:.+]] = arith.mulf %[[X]], %[[X]]
//       CHECK: %[[N2:.+]] = arith.muli %[[N]], %[[N]]
//       CHECK: %[[N3:.+]] = arith.muli %[[N]], %[[N2]]
//       CHECK: return %[[S]], %[[N3]]
func.func @known_power(%x: f32, %n: i32) -> (f32, i32) {
  %two = arith.constant 2.0 : f32
  %0 = math.powf %x, %two : f32
  %three = arith.constant 3 : i32
  %1 = math.ipowi %n, %three : i32
  return %0, %1 : f32, i32
}

// CHECK-LABEL: func @instructions
//  CHECK-NEXT: math.absf
//  CHECK-NEXT: math.ceil
//  CHECK-NEXT: math.copysign
//  CHECK-NEXT: math.roundeven
//  CHECK-NEXT: math.sqrt
//  CHECK-NEXT: math.ctpop
//  CHECK-NEXT: return
func.func @instructions(%x: vector<8xf32>, %n: vector<8xi32>) -> (vector<8xf32>, vector<8xi32>) {
  %0 = math.absf %x : vector<8xf32>
  %1 = math.ceil %0 : vector<8xf32>
  %2 = math.copysign %1, %x : vector<8xf32>
  %3 = math.roundeven %2 : vector<8xf32>
  %4 = math.sqrt %3 : vector<8xf32>
  %5 = math.ctpop %n : vector<8xi32>
  return %4, %5 : vector<8xf32>, vector<8xi32>
}

// CHECK-LABEL: func @abreast
//  CHECK-SAME: (%[[A:[^:]+]]: vector<8xf32>, %[[B:[^:]+]]: vector<8xf32>)
//       CHECK: math.sqrt %[[A]]
//   CHECK-NOT: arith.divf
//       CHECK: math.sqrt %[[B]]
//   CHECK-NOT: arith.divf
//       CHECK: math.sqrt %[[A]]
//   CHECK-NOT: arith.divf
//       CHECK: math.sqrt %[[B]]
//   CHECK-NOT: math.sqrt
//       CHECK: arith.divf
//   CHECK-NOT: math.sqrt
//       CHECK: arith.divf
//   CHECK-NOT: math.sqrt
//       CHECK: arith.divf
//   CHECK-NOT: math.sqrt
//       CHECK: arith.divf
//       CHECK: math.sqrt %[[A]]
//       CHECK: arith.divf
//       CHECK: return
func.func @abreast(%a: vector<8xf32>, %b: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = math.rsqrt %a : vector<8xf32>
  %1 = math.rsqrt %b : vector<8xf32>
  %2 = math.rsqrt %a : vector<8xf32>
  %3 = math.rsqrt %b : vector<8xf32>
  %4 = math.rsqrt %a : vector<8xf32>
  return %0, %1, %2, %3, %4 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// The third needs the first.
// CHECK-LABEL: func @chained
//  CHECK-SAME: (%[[A:[^:]+]]: vector<8xf32>, %[[B:[^:]+]]: vector<8xf32>)
//       CHECK: %[[SA:.+]] = math.sqrt %[[A]]
//       CHECK: math.sqrt %[[B]]
//       CHECK: %[[R:.+]] = arith.divf %{{.+}}, %[[SA]]
//       CHECK: arith.divf
//       CHECK: math.sqrt %[[R]]
//       CHECK: arith.divf
//       CHECK: return
func.func @chained(%a: vector<8xf32>, %b: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>) {
  %0 = math.rsqrt %a : vector<8xf32>
  %1 = math.rsqrt %b : vector<8xf32>
  %2 = math.rsqrt %0 : vector<8xf32>
  return %1, %2 : vector<8xf32>, vector<8xf32>
}

// One power for the sum, and no other form near 0; two of them take turns.
// CHECK-LABEL: func @one_plus_tanh
//   CHECK-NOT: math.absf
//       CHECK: %[[P:.+]] = arith.divf
//  CHECK-NEXT: %[[Q:.+]] = arith.divf
//       CHECK: return %[[P]], %[[Q]]
func.func @one_plus_tanh(%a: vector<8xf32>, %b: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>) {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %0 = math.tanh %a : vector<8xf32>
  %1 = math.tanh %b : vector<8xf32>
  %2 = arith.addf %0, %one : vector<8xf32>
  %3 = arith.addf %one, %1 : vector<8xf32>
  return %2, %3 : vector<8xf32>, vector<8xf32>
}

// Half of a number times the sum is a quotient, in either order; a quarter of it
// is not, and neither is where the sum is needed besides.
// CHECK-LABEL: func @half_times_sum
//  CHECK-SAME: (%[[X:[^:]+]]: vector<8xf32>, %[[Y:[^:]+]]: vector<8xf32>)
//       CHECK: %[[P:.+]] = arith.divf %[[Y]], %
//       CHECK: %[[Q:.+]] = arith.divf %[[Y]], %
//       CHECK: return %[[P]], %[[Q]]
func.func @half_times_sum(%x: vector<8xf32>, %y: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>) {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %half = arith.constant dense<0.5> : vector<8xf32>
  %h = arith.mulf %y, %half : vector<8xf32>
  %0 = math.tanh %x : vector<8xf32>
  %1 = arith.addf %0, %one : vector<8xf32>
  %2 = arith.mulf %h, %1 : vector<8xf32>
  %3 = math.tanh %x : vector<8xf32>
  %4 = arith.addf %3, %one : vector<8xf32>
  %5 = arith.mulf %4, %h : vector<8xf32>
  return %2, %5 : vector<8xf32>, vector<8xf32>
}

// CHECK-LABEL: func @quarter_times_sum
//       CHECK: %[[S:.+]] = arith.divf
//       CHECK: %[[P:.+]] = arith.mulf %{{.+}}, %[[S]]
//       CHECK: %[[T:.+]] = arith.divf
//       CHECK: %[[Q:.+]] = arith.mulf %{{.+}}, %[[T]]
//       CHECK: return %[[P]], %[[T]], %[[Q]]
func.func @quarter_times_sum(%x: f32, %y: f32) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %quarter = arith.constant 0.25 : f32
  %h = arith.mulf %y, %half : f32
  %q = arith.mulf %y, %quarter : f32
  %0 = math.tanh %x : f32
  %1 = arith.addf %0, %one : f32
  %2 = arith.mulf %q, %1 : f32
  %3 = math.tanh %x : f32
  %4 = arith.addf %3, %one : f32
  %5 = arith.mulf %h, %4 : f32
  return %2, %4, %5 : f32, f32, f32
}

// Another number, another use, or another type: tanh as it is.
// CHECK-LABEL: func @tanh_plus
// CHECK-COUNT-3: math.absf
//       CHECK: return
func.func @tanh_plus(%a: f32, %b: f64) -> (f32, f32, f32, f64) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %wide = arith.constant 1.0 : f64
  %0 = math.tanh %a : f32
  %1 = arith.addf %0, %two : f32
  %2 = math.tanh %a : f32
  %3 = arith.addf %2, %one : f32
  %4 = math.tanh %b : f64
  %5 = arith.addf %4, %wide : f64
  return %1, %2, %3, %5 : f32, f32, f32, f64
}
