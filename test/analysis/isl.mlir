// Properties: mod, floordiv and ceildiv are exact (B090, B115: 0 and 2 are the
// only values); parameters come back as symbols; what is not linear is refused
// (the product); a query that costs too much is given up, not answered.
// RUN: polynest-opt %s -o /dev/null \
// RUN:   --pass-pipeline='builtin.module(func.func(test-polynest-isl))' \
// RUN:   | FileCheck %s
// RUN: polynest-opt %s -o /dev/null --pass-pipeline='builtin.module(func.func(test-polynest-isl{max-operations=3}))' \
// RUN:   | FileCheck %s --check-prefix=QUOTA

// CHECK-LABEL: isl of @values
//       CHECK: bounds 0 3
//  CHECK-NEXT: symbolic () -> (0) to () -> (4) exact
//       CHECK: set { [i0, i1] : i1 = 7
//       CHECK: bounds 7 7
//       CHECK: bounds * *
//  CHECK-NEXT: symbolic ()[s0] -> (s0) to ()[s0] -> (s0 + 19) covering
//       CHECK: (i2) mod 2 = 0
//       CHECK: bounds 0 2
//       CHECK: not linear
//       CHECK: bounds 0 3
//       CHECK: given up 0
// QUOTA-LABEL: isl of @values
//       QUOTA: empty given up
//   QUOTA-NOT: exact
//       QUOTA: queries 20, given up 15
func.func @values(%d: index, %e: index, %s: index) {
  %0 = affine.apply affine_map<(d0) -> (d0 mod 4)>(%d)
  %1 = affine.apply affine_map<(d0) -> (((d0 - (d0 + 2)) floordiv 8) mod 8)>(%d)
  %2 = affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0)>(%d)[%s]
  %3 = affine.apply affine_map<(d0, d1) -> (((d0 mod 20) floordiv 2 * 2) mod 4)>(%d, %e)
  %4 = affine.apply affine_map<()[s0] -> (s0 * s0)>()[%s]
  %5 = affine.apply affine_map<(d0) -> (d0 ceildiv 3)>(%d)
  return
}
