// Properties: a signed comparison of sums of indices becomes one of their
// difference with a constant, in i32 (@mask, @blocks, @equal, @indices); what
// computed the sums goes, though used twice there (@twice). It stays where the
// difference does not fit 32 bits, just so (@edge) or by far (@far), where a
// loop has no known length (@unknown), for unsigned comparisons (@unsigned), for
// values from memory (@loaded), outside of loops (@outside), and where no index
// moves it (@constant). One of widened floats is made of what was widened, with a
// constant (@threshold) or each other (@widened); a constant that the narrow type
// does not have is rounded down (@between, @beyond); NaN stays NaN (@nan); what
// asks for equality with such a one stays (@never), as does what was widened from
// two types (@mixed), or compared with what was wide (@wide). A minimum or maximum
// of indices that a loop carries is carried in i32 (@first), from the nearest number
// where it begins beyond all (@last, @begin), but not where the loop may end with
// what it begins with (@below, @empty, @given), for numbers that do not fit
// (@numerous) or come from memory (@chosen_numbers), or if it is used inside (@used).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-narrow-conditions))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-narrow-conditions))' | polynest-opt --pass-pipeline='builtin.module(func.func(polynest-narrow-conditions))' | FileCheck %s

// CHECK-DAG: #[[$MINUS:.+]] = affine_map<(d0, d1) -> (d0 - d1)>
// CHECK-DAG: #[[$BLOCKS:.+]] = affine_map<(d0, d1, d2) -> (d0 - d1 * 64 - d2)>
// CHECK-DAG: #[[$TWICE:.+]] = affine_map<(d0) -> (d0 * 2)>

// CHECK-LABEL: func.func @mask
//       CHECK:   %[[D:.+]] = affine.apply #[[$MINUS]]
//  CHECK-NEXT:   %[[N:.+]] = arith.index_cast %[[D]] : index to i32
//       CHECK:   arith.cmpi sge, %[[N]], %c1_i32 : i32
//   CHECK-NOT:   i64
func.func @mask(%m: memref<128x128xi1>) {
  %c1 = arith.constant 1 : i64
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 128 {
      %i64 = arith.index_cast %i : index to i64
      %j64 = arith.index_cast %j : index to i64
      %d = arith.subi %j64, %i64 : i64
      %t = arith.cmpi sge, %d, %c1 : i64
      affine.store %t, %m[%i, %j] : memref<128x128xi1>
    }
  }
  return
}

// Constants of both sides come together: j - 3 < 64 b + i + 5.
// CHECK-LABEL: func.func @blocks
//       CHECK:   affine.apply #[[$BLOCKS]](%{{.+}}, %{{.+}}, %{{.+}})
//       CHECK:   arith.cmpi slt, %{{.+}}, %c8_i32 : i32
func.func @blocks(%m: memref<4x64x128xi1>) {
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  affine.for %b = 0 to 4 {
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 128 {
        %row = affine.apply affine_map<(b, i) -> (b * 64 + i)>(%b, %i)
        %r = arith.addi %row, %c5 : index
        %c = arith.subi %j, %c3 : index
        %t = arith.cmpi slt, %c, %r : index
        affine.store %t, %m[%b, %i, %j] : memref<4x64x128xi1>
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @equal
//       CHECK:   arith.cmpi eq, %{{.+}}, %c0_i32 : i32
func.func @equal(%m: memref<8x8xi1>) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %t = arith.cmpi eq, %i, %j : index
      affine.store %t, %m[%i, %j] : memref<8x8xi1>
    }
  }
  return
}

// CHECK-LABEL: func.func @indices
//       CHECK:   affine.apply #[[$TWICE]]
//       CHECK:   arith.cmpi sgt, %{{.+}}, %c7_i32 : i32
func.func @indices(%m: memref<8xi1>) {
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  affine.for %i = 0 to 8 {
    %x = arith.muli %i, %c2 : index
    %t = arith.cmpi sgt, %x, %c7 : index
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// The cast is an operand of both sums, and twice of the first.
// CHECK-LABEL: func.func @twice
//   CHECK-NOT:   i64
//       CHECK:   arith.cmpi slt, %{{.+}}, %c0_i32 : i32
//   CHECK-NOT:   i64
//       CHECK:   return
func.func @twice(%m: memref<64x64xi1>) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %i64 = arith.index_cast %i : index to i64
      %j64 = arith.index_cast %j : index to i64
      %s = arith.addi %i64, %i64 : i64
      %x = arith.addi %s, %i64 : i64
      %t = arith.cmpi slt, %x, %j64 : i64
      affine.store %t, %m[%i, %j] : memref<64x64xi1>
    }
  }
  return
}

// 2147483648 is the most that i - 0 is, one too many.
// CHECK-LABEL: func.func @edge
//       CHECK:   arith.cmpi slt, %{{.+}}, %{{.+}} : index
//       CHECK:   arith.cmpi slt, %{{.+}}, %{{.+}} : i32
// WHY: remark: [Missed] narrow-conditions |{{.*}}the difference may need more than 32 bits
func.func @edge(%k: memref<1xi1>) {
  %c5 = arith.constant 5 : index
  affine.for %i = 0 to 2147483649 {
    %t = arith.cmpi slt, %i, %c5 : index
    affine.store %t, %k[0] : memref<1xi1>
  }
  affine.for %i = 0 to 2147483648 {
    %t = arith.cmpi slt, %i, %c5 : index
    affine.store %t, %k[0] : memref<1xi1>
  }
  return
}

// CHECK-LABEL: func.func @far
//       CHECK:   arith.cmpi slt, %{{.+}}, %{{.+}} : i64
// WHY: remark: [Missed] narrow-conditions |{{.*}}the difference may need more than 32 bits
func.func @far(%m: memref<8xi1>) {
  %far = arith.constant 2147483649 : i64
  affine.for %i = 0 to 8 {
    %x = arith.index_cast %i : index to i64
    %t = arith.cmpi slt, %x, %far : i64
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @unknown
//       CHECK:   arith.cmpi sge, %{{.+}}, %{{.+}} : index
// WHY: remark: [Missed] narrow-conditions |{{.*}}what is compared has no known bounds
func.func @unknown(%m: memref<?xi1>, %n: index) {
  %c1 = arith.constant 1 : index
  affine.for %i = 0 to %n {
    %t = arith.cmpi sge, %i, %c1 : index
    affine.store %t, %m[%i] : memref<?xi1>
  }
  return
}

// CHECK-LABEL: func.func @unsigned
//       CHECK:   arith.cmpi uge, %{{.+}}, %{{.+}} : index
func.func @unsigned(%m: memref<8xi1>) {
  %c1 = arith.constant 1 : index
  affine.for %i = 0 to 8 {
    %t = arith.cmpi uge, %i, %c1 : index
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @loaded
//       CHECK:   arith.cmpi slt, %{{.+}}, %{{.+}} : i64
// WHY: remark: [Missed] narrow-conditions |{{.*}}what is compared is not affine in indices
func.func @loaded(%m: memref<8xi1>, %a: memref<8xi64>) {
  affine.for %i = 0 to 8 {
    %x = arith.index_cast %i : index to i64
    %y = affine.load %a[%i] : memref<8xi64>
    %t = arith.cmpi slt, %x, %y : i64
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @outside
//       CHECK:   arith.cmpi slt, %{{.+}}, %{{.+}} : index
func.func @outside(%n: index) -> i1 {
  %c1 = arith.constant 1 : index
  %t = arith.cmpi slt, %n, %c1 : index
  return %t : i1
}

// CHECK-LABEL: func.func @constant
//       CHECK:   arith.cmpi slt, %{{.+}}, %{{.+}} : index
func.func @constant(%m: memref<8xi1>) {
  affine.for %i = 0 to 8 {
    %next = affine.apply affine_map<(i) -> (i + 1)>(%i)
    %t = arith.cmpi slt, %i, %next : index
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @threshold
//       CHECK:   %[[X:.+]] = affine.load
//       CHECK:   arith.cmpf ole, %[[X]], %{{.+}} : f32
//       CHECK:   arith.cmpf ult, %[[X]], %{{.+}} : f32
//   CHECK-NOT:   f64
//       CHECK:   return
func.func @threshold(%m: memref<2x8xi1>, %a: memref<8xf32>) {
  %c0 = arith.constant 0.0 : f64
  %half = arith.constant 0.5 : f64
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %w = arith.extf %x : f32 to f64
    %t = arith.cmpf ole, %w, %c0 : f64
    affine.store %t, %m[0, %i] : memref<2x8xi1>
    %u = arith.cmpf ugt, %half, %w : f64
    affine.store %u, %m[1, %i] : memref<2x8xi1>
  }
  return
}

// CHECK-LABEL: func.func @widened
//       CHECK:   arith.cmpf une, %{{.+}}, %{{.+}} : bf16
//   CHECK-NOT:   arith.extf
//       CHECK:   return
func.func @widened(%m: memref<8xi1>, %a: memref<8xbf16>, %b: memref<8xbf16>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xbf16>
    %y = affine.load %b[%i] : memref<8xbf16>
    %v = arith.extf %x : bf16 to f32
    %w = arith.extf %y : bf16 to f32
    %t = arith.cmpf une, %v, %w : f32
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// 0.1 lies between 0x1.999998p-4 and 0x1.99999Ap-4, and -0.1 below the first of
// both with a sign.
// CHECK-LABEL: func.func @between
//       CHECK:   %[[LOW:.+]] = arith.constant 0.099999994 : f32
//       CHECK:   arith.cmpf ogt, %{{.+}}, %[[LOW]] : f32
//       CHECK:   %[[LOW2:.+]] = arith.constant 0.099999994 : f32
//       CHECK:   arith.cmpf ole, %{{.+}}, %[[LOW2]] : f32
//       CHECK:   %[[MINUS:.+]] = arith.constant -1.000000e-01 : f32
//       CHECK:   arith.cmpf ugt, %{{.+}}, %[[MINUS]] : f32
//   CHECK-NOT:   f64
//       CHECK:   return
func.func @between(%m: memref<3x8xi1>, %a: memref<8xf32>) {
  %c = arith.constant 1.0e-01 : f64
  %minus = arith.constant -1.0e-01 : f64
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %w = arith.extf %x : f32 to f64
    %t = arith.cmpf oge, %w, %c : f64
    affine.store %t, %m[0, %i] : memref<3x8xi1>
    %u = arith.cmpf olt, %w, %c : f64
    affine.store %u, %m[1, %i] : memref<3x8xi1>
    %v = arith.cmpf ule, %minus, %w : f64
    affine.store %v, %m[2, %i] : memref<3x8xi1>
  }
  return
}

// No f32 lies beyond 1e300 but infinity, nor beyond -1e300 but the other one.
// CHECK-LABEL: func.func @beyond
//       CHECK:   %[[MOST:.+]] = arith.constant 3.40282347E+38 : f32
//       CHECK:   arith.cmpf ogt, %{{.+}}, %[[MOST]] : f32
//       CHECK:   %[[MINUS:.+]] = arith.constant 0xFF800000 : f32
//       CHECK:   arith.cmpf ole, %{{.+}}, %[[MINUS]] : f32
func.func @beyond(%m: memref<2x8xi1>, %a: memref<8xf32>) {
  %far = arith.constant 1.0e+300 : f64
  %minus = arith.constant -1.0e+300 : f64
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %w = arith.extf %x : f32 to f64
    %t = arith.cmpf ogt, %w, %far : f64
    affine.store %t, %m[0, %i] : memref<2x8xi1>
    %u = arith.cmpf olt, %w, %minus : f64
    affine.store %u, %m[1, %i] : memref<2x8xi1>
  }
  return
}

// CHECK-LABEL: func.func @nan
//       CHECK:   %[[NAN:.+]] = arith.constant 0x7FC00000 : f32
//       CHECK:   arith.cmpf uge, %{{.+}}, %[[NAN]] : f32
func.func @nan(%m: memref<8xi1>, %a: memref<8xf32>) {
  %nan = arith.constant 0x7FF8000000000000 : f64
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %w = arith.extf %x : f32 to f64
    %t = arith.cmpf uge, %w, %nan : f64
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @never
//       CHECK:   arith.cmpf oeq, %{{.+}}, %{{.+}} : f64
// WHY: remark: [Missed] narrow-conditions |{{.*}}asked for equality with what the narrow type does not have
func.func @never(%m: memref<8xi1>, %a: memref<8xf32>) {
  %c = arith.constant 1.0e-01 : f64
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %w = arith.extf %x : f32 to f64
    %t = arith.cmpf oeq, %w, %c : f64
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @mixed
//       CHECK:   arith.cmpf olt, %{{.+}}, %{{.+}} : f32
// WHY: remark: [Missed] narrow-conditions |{{.*}}floats were widened from two types
func.func @mixed(%m: memref<8xi1>, %a: memref<8xbf16>, %b: memref<8xf16>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xbf16>
    %y = affine.load %b[%i] : memref<8xf16>
    %v = arith.extf %x : bf16 to f32
    %w = arith.extf %y : f16 to f32
    %t = arith.cmpf olt, %v, %w : f32
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @wide
//       CHECK:   arith.cmpf olt, %{{.+}}, %{{.+}} : f64
// WHY: remark: [Missed] narrow-conditions |{{.*}}a float is compared with one that was not widened
func.func @wide(%m: memref<8xi1>, %a: memref<8xf32>, %b: memref<8xf64>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    %y = affine.load %b[%i] : memref<8xf64>
    %w = arith.extf %x : f32 to f64
    %t = arith.cmpf olt, %w, %y : f64
    affine.store %t, %m[%i] : memref<8xi1>
  }
  return
}

// CHECK-LABEL: func.func @first
//       CHECK:   %[[MOST:.+]] = arith.constant 2147483647 : i32
//       CHECK:   %[[M:.+]] = affine.for %[[J:.+]] = 0 to 128 iter_args(%[[A:.+]] = %[[MOST]]) -> (i32)
//       CHECK:     %[[C:.+]] = affine.load
//       CHECK:     %[[N:.+]] = arith.index_cast %{{.+}} : index to i32
//       CHECK:     %[[END:.+]] = arith.constant 128 : i32
//       CHECK:     %[[S:.+]] = arith.select %[[C]], %[[N]], %[[END]] : i32
//       CHECK:     %[[B:.+]] = arith.minsi %[[S]], %[[A]] : i32
//       CHECK:     affine.yield %[[B]] : i32
//       CHECK:   %[[W:.+]] = arith.extsi %[[M]] : i32 to i64
//       CHECK:   return %[[W]]
func.func @first(%c: memref<128xi1>) -> i64 {
  %most = arith.constant 9223372036854775807 : i64
  %end = arith.constant 128 : i64
  %m = affine.for %j = 0 to 128 iter_args(%a = %most) -> (i64) {
    %t = affine.load %c[%j] : memref<128xi1>
    %n = arith.index_cast %j : index to i64
    %s = arith.select %t, %n, %end : i64
    %b = arith.minsi %a, %s : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @last
//       CHECK:   arith.constant -2147483648 : i32
//       CHECK:   arith.maxsi %{{.+}} : i32
//       CHECK:   return
func.func @last(%c: memref<128xi1>) -> i64 {
  %least = arith.constant -2147483649 : i64
  %none = arith.constant -1 : i64
  %m = affine.for %j = 0 to 128 iter_args(%a = %least) -> (i64) {
    %t = affine.load %c[%j] : memref<128xi1>
    %n = arith.index_cast %j : index to i64
    %s = arith.select %t, %n, %none : i64
    %b = arith.maxsi %s, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @begin
//       CHECK:   arith.constant 5 : i32
//       CHECK:   arith.minsi %{{.+}} : i32
//       CHECK:   return
func.func @begin() -> i64 {
  %five = arith.constant 5 : i64
  %m = affine.for %j = 3 to 128 iter_args(%a = %five) -> (i64) {
    %n = arith.index_cast %j : index to i64
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @below
//       CHECK:   arith.minsi %{{.+}} : i64
//       CHECK:   return
//         WHY: reason="the loop may end with what it begins with, in 64 bits"
func.func @below() -> i64 {
  %less = arith.constant -2147483649 : i64
  %m = affine.for %j = 0 to 128 iter_args(%a = %less) -> (i64) {
    %n = arith.index_cast %j : index to i64
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @empty
//       CHECK:   arith.minsi %{{.+}} : i64
//       CHECK:   return
//         WHY: reason="the loop may end with what it begins with, in 64 bits"
func.func @empty() -> i64 {
  %most = arith.constant 9223372036854775807 : i64
  %m = affine.for %j = 128 to 128 iter_args(%a = %most) -> (i64) {
    %n = arith.index_cast %j : index to i64
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @given
//       CHECK:   arith.minsi %{{.+}} : i64
//       CHECK:   return
//         WHY: reason="the loop may end with what it begins with, in 64 bits"
func.func @given(%begin: i64) -> i64 {
  %m = affine.for %j = 0 to 128 iter_args(%a = %begin) -> (i64) {
    %n = arith.index_cast %j : index to i64
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @numerous
//       CHECK:   arith.minsi %{{.+}} : i64
//       CHECK:   return
//         WHY: reason="what is carried may need more than 32 bits"
func.func @numerous() -> i64 {
  %most = arith.constant 9223372036854775807 : i64
  %m = affine.for %j = 0 to 2147483649 iter_args(%a = %most) -> (i64) {
    %n = arith.index_cast %j : index to i64
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @chosen_numbers
//       CHECK:   arith.minsi %{{.+}} : i64
//       CHECK:   return
//         WHY: reason="what is carried is not affine in indices"
func.func @chosen_numbers(%x: memref<128xi64>) -> i64 {
  %most = arith.constant 9223372036854775807 : i64
  %m = affine.for %j = 0 to 128 iter_args(%a = %most) -> (i64) {
    %n = affine.load %x[%j] : memref<128xi64>
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}

// CHECK-LABEL: func.func @used
//       CHECK:   arith.minsi %{{.+}} : i64
//       CHECK:   return
func.func @used(%x: memref<128xi64>) -> i64 {
  %most = arith.constant 9223372036854775807 : i64
  %m = affine.for %j = 0 to 128 iter_args(%a = %most) -> (i64) {
    affine.store %a, %x[%j] : memref<128xi64>
    %n = arith.index_cast %j : index to i64
    %b = arith.minsi %n, %a : i64
    affine.yield %b : i64
  }
  return %m : i64
}
