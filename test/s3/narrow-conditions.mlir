// Properties: a signed comparison of sums of indices becomes one of their
// difference with a constant, in i32 (@mask, @blocks, @equal, @indices); what
// computed the sums goes, though used twice there (@twice). It stays where the
// difference does not fit 32 bits, just so (@edge) or by far (@far), where a
// loop has no known length (@unknown), for unsigned comparisons (@unsigned), for
// values from memory (@loaded), outside of loops (@outside), and where no index
// moves it (@constant).
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
