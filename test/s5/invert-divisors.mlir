// Properties: what a loop divides by one scalar from outside of it is multiplied
// by the inverse, which stands before the loop, where the numbers are in range
// (@row); four divisions share a question (@five), those by another scalar have
// their own (@two), as has one that needs the result of another (@chain). Loops
// of few vectors (@few), divisors that a loop changes (@changes), that differ
// between lanes (@lanes), scalars (@scalar), f16 (@narrow) and divisions under a
// condition (@condition) stay. Where the divider's speed is known, some of a group
// are left to it (@shared). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors))' --remarks-filter='.*' 2>%t.remarks > %t.once
// RUN: FileCheck %s < %t.once
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-invert-divisors))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{fma-ports=1 divide-cycles=6}))' > %t.shared
// RUN: FileCheck %s --check-prefix=SHARED < %t.shared
// RUN: polynest-opt %t.shared --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{fma-ports=1 divide-cycles=6}))' | diff %t.shared -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{fma-ports=1 divide-cycles=1}))' --remarks-filter='.*' 2>%t.fast | FileCheck %s --check-prefix=FAST
// RUN: FileCheck %s --check-prefix=FASTER < %t.fast
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{divide-cycles=16}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-invert-divisors{fma-ports=2 divide-cycles=10}))' | diff %t.once -

// The patterns of 2^-100 and 2^100 without their sign, moved so that the lower
// is the smallest integer: (127 - 100) * 2^24 = 452984832, and 2^31 less that
// is 1694498816; the limit is -2^31 + 200 * 2^24 = 1207959552 without overflow.
// CHECK-LABEL: func @row
//  CHECK-SAME: (%[[X:.+]]: memref<?xf32>, %[[B:.+]]: f32, %{{.+}}: index)
//       CHECK:   %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
//       CHECK:   %[[Y:.+]] = arith.divf %[[ONE]], %[[B]] : f32
//       CHECK:   %[[R:.+]] = math.fma %{{.+}}, %[[Y]], %{{.+}} : f32
//       CHECK:   %[[Z:.+]] = arith.mulf %[[R]], %[[Y]] : f32
//       CHECK:   %[[TOP:.+]] = arith.constant 1207959552 : i32
//       CHECK:   %[[NONE:.+]] = arith.constant -2147483648 : i32
//       CHECK:   %[[LIMIT:.+]] = arith.select %{{.+}}, %[[TOP]], %[[NONE]] : i32
//       CHECK:   %[[MINUS:.+]] = vector.broadcast %{{.+}} : f32 to vector<8xf32>
//       CHECK:   %[[YS:.+]] = vector.broadcast %[[Y]] : f32 to vector<8xf32>
//       CHECK:   %[[ZS:.+]] = vector.broadcast %[[Z]] : f32 to vector<8xf32>
//       CHECK:   %[[LIMITS:.+]] = vector.broadcast %[[LIMIT]] : i32 to vector<8xi32>
//       CHECK:   scf.for
//       CHECK:     %[[V:.+]] = vector.load %[[X]]
//       CHECK:     %[[BITS:.+]] = arith.bitcast %[[V]]
//       CHECK:     %[[TWICE:.+]] = arith.addi %[[BITS]], %[[BITS]]
//       CHECK:     %[[MOVE:.+]] = arith.constant dense<1694498816>
//       CHECK:     %[[MOVED:.+]] = arith.addi %[[TWICE]], %[[MOVE]]
//       CHECK:     %[[IN:.+]] = arith.cmpi slt, %[[MOVED]], %[[LIMITS]]
//       CHECK:     %[[ALL:.+]] = vector.reduction <and>, %[[IN]]
//       CHECK:     %[[Q:.+]] = scf.if %[[ALL]]
//       CHECK:       %[[XZ:.+]] = arith.mulf %[[V]], %[[ZS]]
//       CHECK:       %[[NEAR:.+]] = math.fma %[[V]], %[[YS]], %[[XZ]]
//       CHECK:       %[[REST:.+]] = math.fma %[[NEAR]], %[[MINUS]], %[[V]]
//       CHECK:       %[[RIGHT:.+]] = math.fma %[[REST]], %[[YS]], %[[NEAR]]
//       CHECK:       scf.yield %[[RIGHT]]
//       CHECK:     else
//       CHECK:       %[[SLOW:.+]] = arith.divf %[[V]], %{{.+}} : vector<8xf32>
//       CHECK:       scf.yield %[[SLOW]]
//       CHECK:     vector.store %[[Q]]
//      REMARK: [Passed] invert-divisors
// REMARK-SAME: divisions=1
func.func @row(%x: memref<?xf32>, %b: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %d = vector.broadcast %b : f32 to vector<8xf32>
    %q = arith.divf %v, %d : vector<8xf32>
    vector.store %q, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}

// Of five divisions four share a question; the inverse is made once.
// CHECK-LABEL: func @five
//       CHECK:   arith.divf %{{.+}}, %{{.+}} : f64
//   CHECK-NOT:   arith.divf %{{.+}}, %{{.+}} : f64
//       CHECK:   scf.for
//       CHECK:     arith.maxsi
//       CHECK:     arith.maxsi
//       CHECK:     arith.maxsi
//       CHECK:     %{{.+}}:4 = scf.if
//       CHECK:     scf.if
//      REMARK: [Passed] invert-divisors
// REMARK-SAME: divisions=4
//      REMARK: [Passed] invert-divisors
// REMARK-SAME: divisions=1
func.func @five(%x: memref<?xf64>, %b: f64, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %d = vector.broadcast %b : f64 to vector<4xf64>
  scf.for %i = %c0 to %n step %c4 {
    %v = vector.load %x[%i] : memref<?xf64>, vector<4xf64>
    %w = arith.addf %v, %v : vector<4xf64>
    %q0 = arith.divf %v, %d : vector<4xf64>
    %q1 = arith.divf %w, %d : vector<4xf64>
    %q2 = arith.divf %v, %d : vector<4xf64>
    %q3 = arith.divf %w, %d : vector<4xf64>
    %q4 = arith.divf %v, %d : vector<4xf64>
    vector.store %q0, %x[%i] : memref<?xf64>, vector<4xf64>
    vector.store %q1, %x[%i] : memref<?xf64>, vector<4xf64>
    vector.store %q2, %x[%i] : memref<?xf64>, vector<4xf64>
    vector.store %q3, %x[%i] : memref<?xf64>, vector<4xf64>
    vector.store %q4, %x[%i] : memref<?xf64>, vector<4xf64>
  }
  return
}

// CHECK-LABEL: func @two
//       CHECK:   arith.divf %{{.+}}, %{{.+}} : f32
//       CHECK:   arith.divf %{{.+}}, %{{.+}} : f32
//       CHECK:   scf.for
//       CHECK:     scf.if
//       CHECK:     scf.if
//       CHECK:   return
func.func @two(%x: memref<?xf32>, %a: f32, %b: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %d = vector.broadcast %a : f32 to vector<8xf32>
  %e = vector.broadcast %b : f32 to vector<8xf32>
  scf.for %i = %c0 to %n step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %q = arith.divf %v, %d : vector<8xf32>
    %r = arith.divf %v, %e : vector<8xf32>
    vector.store %q, %x[%i] : memref<?xf32>, vector<8xf32>
    vector.store %r, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @chain
//       CHECK:   scf.for
//       CHECK:     %[[Q:.+]] = scf.if
//       CHECK:     arith.bitcast %[[Q]]
//       CHECK:     scf.if
//       CHECK:   return
func.func @chain(%x: memref<?xf32>, %b: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %d = vector.broadcast %b : f32 to vector<8xf32>
  scf.for %i = %c0 to %n step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %q = arith.divf %v, %d : vector<8xf32>
    %r = arith.divf %q, %d : vector<8xf32>
    vector.store %r, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}

// Seven vectors; eight would do.
// CHECK-LABEL: func @few
//   CHECK-NOT:   scf.if
//       CHECK:   return
//      REMARK: [Missed] invert-divisors
// REMARK-SAME: the loop divides a few vectors only
func.func @few(%x: memref<?xf32>, %b: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c56 = arith.constant 56 : index
  %d = vector.broadcast %b : f32 to vector<8xf32>
  scf.for %i = %c0 to %c56 step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %q = arith.divf %v, %d : vector<8xf32>
    vector.store %q, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @changes
//   CHECK-NOT:   scf.if
//       CHECK:   return
func.func @changes(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c8 {
    %b = memref.load %x[%i] : memref<?xf32>
    %d = vector.broadcast %b : f32 to vector<8xf32>
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %q = arith.divf %v, %d : vector<8xf32>
    vector.store %q, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @lanes
//   CHECK-NOT:   scf.if
//       CHECK:   return
func.func @lanes(%x: memref<?xf32>, %d: vector<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %q = arith.divf %v, %d : vector<8xf32>
    vector.store %q, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}

// CHECK-LABEL: func @scalar
//   CHECK-NOT:   scf.if
//       CHECK:   return
func.func @scalar(%x: memref<?xf32>, %b: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %q = arith.divf %v, %b : f32
    memref.store %q, %x[%i] : memref<?xf32>
  }
  return
}

// CHECK-LABEL: func @narrow
//   CHECK-NOT:   scf.if
//       CHECK:   return
func.func @narrow(%x: memref<?xf16>, %b: f16, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %d = vector.broadcast %b : f16 to vector<8xf16>
  scf.for %i = %c0 to %n step %c8 {
    %v = vector.load %x[%i] : memref<?xf16>, vector<8xf16>
    %q = arith.divf %v, %d : vector<8xf16>
    vector.store %q, %x[%i] : memref<?xf16>, vector<8xf16>
  }
  return
}

// CHECK-LABEL: func @condition
//   CHECK-NOT:   math.fma
//       CHECK:   return
func.func @condition(%x: memref<?xf32>, %b: f32, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %d = vector.broadcast %b : f32 to vector<8xf32>
  scf.for %i = %c0 to %n step %c8 {
    scf.if %c {
      %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
      %q = arith.divf %v, %d : vector<8xf32>
      vector.store %q, %x[%i] : memref<?xf32>, vector<8xf32>
    }
  }
  return
}

// Four of which two stay where a division takes 6 cycles and an FMA one, as the
// other two take 2 * 4 then; all four where it takes 1 (4 for 3 and 4), none where it
// takes 16 or where an FMA takes half a cycle and a division 10. One alone is
// multiplied, as are f64.
// CHECK-LABEL: func @shared
//   CHECK-NOT:     polynest.divided
//       CHECK:     scf.if
//       CHECK:   return
// SHARED-LABEL: func @shared
//       SHARED:   scf.for
// SHARED-COUNT-2: arith.divf %{{.+}}, %{{.+}} {polynest.divided} : vector<8xf32>
//   SHARED-NOT:     polynest.divided
//       SHARED:     arith.maxsi
//   SHARED-NOT:     arith.maxsi
//       SHARED:     scf.if
//   SHARED-NOT:     scf.if
//       SHARED:   return
// FAST-LABEL: func @shared
//       FAST:   scf.for
// FAST-COUNT-4: arith.divf %{{.+}}, %{{.+}} {polynest.divided} : vector<8xf32>
//   FAST-NOT:     scf.if
//       FAST:   return
//     FASTER: [Missed] invert-divisors
// FASTER-SAME: divide-cycles=1, reason="the divider is as fast"
func.func @shared(%x: memref<?xf32>, %b: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %d = vector.broadcast %b : f32 to vector<8xf32>
  scf.for %i = %c0 to %n step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    %q0 = arith.divf %v, %d : vector<8xf32>
    %q1 = arith.divf %w, %d : vector<8xf32>
    %q2 = arith.divf %v, %d : vector<8xf32>
    %q3 = arith.divf %w, %d : vector<8xf32>
    vector.store %q0, %x[%i] : memref<?xf32>, vector<8xf32>
    vector.store %q1, %x[%i] : memref<?xf32>, vector<8xf32>
    vector.store %q2, %x[%i] : memref<?xf32>, vector<8xf32>
    vector.store %q3, %x[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}
