// Properties: tiles stay in matrix registers while a loop adds products to them
// (@loop), from zeros, from sums in memory and from one value by way of memory
// (@start), with operands as words or as elements (@elements); each operand is
// loaded once for all products (@loop). Without a unit (PLAIN) for just these
// elements and sizes loops add up in memory: where sums are, unless somebody else
// asks for them (@shared) or another iteration does (@again), and carried sums may
// change places (@swap). What is more than sums (@foreign), is not loaded
// (@made), lies at strides that are not known (@strided), or, for loops, has been
// written since (@written), stays. What is no unit is refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8s8x4:16x16x16:llvm.x86.tdpbssd.internal,u8s8x4:16x16x16:llvm.x86.tdpbusd.internal,bf16bf16x2:16x16x16:llvm.x86.tdpbf16ps.internal}))' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8u8x4:16x16x16:llvm.x86.tdpbsud.internal,s8s8x4:8x16x16:llvm.x86.tdpbssd.internal}))' | FileCheck %s --check-prefix=PLAIN
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8s8x4:16x16x16}))' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8s8x3:16x16x16:llvm.x86.tdpbssd.internal}))' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8s8x4:16x0x16:llvm.x86.tdpbssd.internal}))' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8s8x4:16x16x128:llvm.x86.tdpbssd.internal}))' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-lower-tiles{units=s8s8x4:16x16x16:tdpbssd}))' 2>&1 | FileCheck %s --check-prefix=WORDS

// WORDS: option units holds {{.+}} it takes FORM:ROWSxCOLUMNSxWORDS:INTRINSIC

#mk = affine_map<(m, n, k, s) -> (m, k, s)>
#kn = affine_map<(m, n, k, s) -> (k, n, s)>
#mn = affine_map<(m, n, k, s) -> (m, n)>

// Rows of A are 48 words apart, those of B 16 and those of the sums 32. Two
// products share an operand.
// CHECK-LABEL: func @loop
//   CHECK-DAG: %[[ROWS:.+]] = arith.constant 16 : i16
//       CHECK: %[[Z0:.+]] = llvm.call_intrinsic "llvm.x86.tilezero.internal"
//       CHECK: %[[Z1:.+]] = llvm.call_intrinsic "llvm.x86.tilezero.internal"
//       CHECK: %[[R:.+]]:2 = scf.for {{.+}} iter_args(%[[S0:.+]] = %[[Z1]], %[[S1:.+]] = %[[Z0]]) -> (!llvm.x86_amx, !llvm.x86_amx)
//       CHECK: %[[A0:.+]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
//       CHECK: arith.constant 192 : i64
//       CHECK: %[[A1:.+]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
//       CHECK: arith.constant 64 : i64
//       CHECK: %[[B:.+]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
//   CHECK-NOT: tileloadd64
//       CHECK: %[[T0:.+]] = llvm.call_intrinsic "llvm.x86.tdpbssd.internal"(%{{.+}}, %{{.+}}, %{{.+}}, %[[S0]], %[[A0]], %[[B]])
//       CHECK: %[[T1:.+]] = llvm.call_intrinsic "llvm.x86.tdpbssd.internal"(%{{.+}}, %{{.+}}, %{{.+}}, %[[S1]], %[[A1]], %[[B]])
//       CHECK: scf.yield %[[T0]], %[[T1]] : !llvm.x86_amx, !llvm.x86_amx
//       CHECK: arith.constant 128 : i64
//       CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"({{.+}}, %[[R]]#0)
//       CHECK: llvm.call_intrinsic "llvm.x86.tilestored64.internal"({{.+}}, %[[R]]#1)
//   CHECK-NOT: vector
//       CHECK: return
// Sums are added to where they are: two places, no copies in the loop.
// PLAIN-LABEL: func @loop
// PLAIN-COUNT-2: memref.alloca() {{.+}} : memref<16x16xi32>
//   PLAIN-NOT: memref.alloca
//       PLAIN: scf.for %[[K:.+]] = {{.+}} {
//       PLAIN: scf.for
//       PLAIN: vector.load %{{.+}} : memref<16x16xi32>, vector<16xi32>
//       PLAIN: scf.for {{.+}} -> (vector<16xi32>)
//       PLAIN: vector.load %{{.+}} : memref<32x48xi32>, vector<1xi32>
//       PLAIN: vector.broadcast %{{.+}} : i32 to vector<16xi32>
//       PLAIN: vector.load %{{.+}} : memref<64x16xi32>, vector<16xi32>
//       PLAIN: vector.contract {{.+}} : vector<16x4xi32>, vector<16x4xi32> into vector<16xi32>
//       PLAIN: vector.store %{{.+}} : memref<16x16xi32>, vector<16xi32>
//       PLAIN: vector.contract {{.+}} into vector<16xi32>
//       PLAIN: vector.store %{{.+}} : memref<16x16xi32>, vector<16xi32>
//       PLAIN: vector.store %{{.+}} : memref<32x32xi32>, vector<16xi32>
//       PLAIN: vector.store %{{.+}} : memref<32x32xi32>, vector<16xi32>
//   PLAIN-NOT: vector<16x16xi32>
//       PLAIN: return
func.func @loop(%a: memref<32x48xi32>, %b: memref<64x16xi32>, %c: memref<32x32xi32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant dense<0> : vector<16x16xi32>
  %r:2 = scf.for %k = %c0 to %c48 step %c16 iter_args(%s0 = %zero, %s1 = %zero) -> (vector<16x16xi32>, vector<16x16xi32>) {
    %a0 = vector.load %a[%c0, %k] : memref<32x48xi32>, vector<16x16xi32>
    %a1 = vector.load %a[%c16, %k] : memref<32x48xi32>, vector<16x16xi32>
    %b0 = vector.load %b[%k, %c0] : memref<64x16xi32>, vector<16x16xi32>
    %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
    %x1 = vector.bitcast %a1 : vector<16x16xi32> to vector<16x64xi8>
    %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
    %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
    %x3 = vector.shape_cast %x1 : vector<16x64xi8> to vector<16x16x4xi8>
    %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
    %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %x5 = arith.extsi %x3 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %t0 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %s0 : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
    %t1 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x5, %y4, %s1 : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
    scf.yield %t0, %t1 : vector<16x16xi32>, vector<16x16xi32>
  }
  vector.store %r#0, %c[%c0, %c0] : memref<32x32xi32>, vector<16x16xi32>
  vector.store %r#1, %c[%c16, %c16] : memref<32x32xi32>, vector<16x16xi32>
  return
}

// -0.0 is not what a register is cleared to.
// CHECK-LABEL: func @start
//  CHECK-SAME: %[[X:[a-z0-9]+]]: f32)
//   CHECK-NOT: tilezero
// CHECK-COUNT-2: memref.alloca() {{.+}} : memref<16x16xf32>
//       CHECK: %[[MINUS:.+]] = arith.constant dense<-0.0{{.*}}> : vector<16xf32>
// CHECK-COUNT-16: vector.store %[[MINUS]], %{{.+}} : memref<16x16xf32>, vector<16xf32>
//   CHECK-NOT: vector.store
//       CHECK: tileloadd64
//       CHECK: tdpbf16ps
//       CHECK: %[[ROW:.+]] = vector.broadcast %[[X]] : f32 to vector<16xf32>
// CHECK-COUNT-16: vector.store %[[ROW]], %{{.+}} : memref<16x16xf32>, vector<16xf32>
//   CHECK-NOT: vector.store
//       CHECK: tileloadd64
// CHECK-COUNT-2: tdpbf16ps
//       CHECK: return
// PLAIN-LABEL: func @start
//       PLAIN: arith.extf
//   PLAIN-NOT: vector<16x16xf32>
//       PLAIN: return
func.func @start(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %c: memref<3x16x16xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %minus = arith.constant dense<-0.0> : vector<16x16xf32>
  %spread = vector.broadcast %x : f32 to vector<16x16xf32>
  %a0 = vector.load %a[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %held = vector.load %c[%c2, %c0, %c0] : memref<3x16x16xf32>, vector<16x16xf32>
  %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x32xbf16>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x32xbf16>
  %x2 = vector.shape_cast %x0 : vector<16x32xbf16> to vector<16x16x2xbf16>
  %y2 = vector.shape_cast %y0 : vector<16x32xbf16> to vector<16x16x2xbf16>
  %x4 = arith.extf %x2 : vector<16x16x2xbf16> to vector<16x16x2xf32>
  %y4 = arith.extf %y2 : vector<16x16x2xbf16> to vector<16x16x2xf32>
  %t0 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %minus : vector<16x16x2xf32>, vector<16x16x2xf32> into vector<16x16xf32>
  %t1 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %spread : vector<16x16x2xf32>, vector<16x16x2xf32> into vector<16x16xf32>
  %t2 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %held : vector<16x16x2xf32>, vector<16x16x2xf32> into vector<16x16xf32>
  vector.store %t0, %c[%c0, %c0, %c0] : memref<3x16x16xf32>, vector<16x16xf32>
  vector.store %t1, %c[%c1, %c0, %c0] : memref<3x16x16xf32>, vector<16x16xf32>
  vector.store %t2, %c[%c2, %c0, %c0] : memref<3x16x16xf32>, vector<16x16xf32>
  return
}

// CHECK-LABEL: func @elements
//       CHECK: arith.constant 64 : i16
//       CHECK: arith.constant 100 : i64
//       CHECK: tileloadd64
//       CHECK: tdpbusd
//       CHECK: return
// PLAIN-LABEL: func @elements
//       PLAIN: vector.load %{{.+}} : memref<16x100xi8>, vector<4xi8>
//       PLAIN: vector.bitcast %{{.+}} : vector<4xi8> to vector<1xi32>
//       PLAIN: arith.extui
//       PLAIN: return
func.func @elements(%a: memref<16x100xi8>, %b: memref<16x16xi32>, %c: memref<16x16xi32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %held = vector.load %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %x0 = vector.load %a[%c0, %c3] : memref<16x100xi8>, vector<16x64xi8>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
  %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
  %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
  %x4 = arith.extui %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %held : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  vector.store %t, %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  return
}

// Both sums are stored: the second product adds to a copy of the first's.
// PLAIN-LABEL: func @shared
// PLAIN-COUNT-2: memref.alloca() {{.+}} : memref<16x16xi32>
//   PLAIN-NOT: memref.alloca
//       PLAIN: return
func.func @shared(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %c: memref<16x16xi32>, %d: memref<16x16xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : vector<16x16xi32>
  %a0 = vector.load %a[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
  %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
  %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
  %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %t0 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %zero : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  %t1 = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %t0 : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  vector.store %t0, %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  vector.store %t1, %d[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  return
}

// Each iteration adds to what was loaded before the loop.
// PLAIN-LABEL: func @again
// PLAIN-COUNT-2: memref.alloca() {{.+}} : memref<16x16xi32>
//   PLAIN-NOT: memref.alloca
//       PLAIN: return
func.func @again(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %c: memref<4x16x16xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %held = vector.load %c[%c0, %c0, %c0] : memref<4x16x16xi32>, vector<16x16xi32>
  scf.for %i = %c1 to %n step %c1 {
    %a0 = vector.load %a[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
    %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
    %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
    %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
    %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
    %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
    %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %held : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
    vector.store %t, %c[%i, %c0, %c0] : memref<4x16x16xi32>, vector<16x16xi32>
  }
  return
}

// Two places, and two for what is on its way.
// CHECK-LABEL: func @swap
//       CHECK: iter_args(%[[S0:.+]] = %{{.+}}, %[[S1:.+]] = %{{.+}}) -> (!llvm.x86_amx, !llvm.x86_amx)
//       CHECK: %[[T:.+]] = llvm.call_intrinsic "llvm.x86.tdpbssd.internal"({{.+}}, %[[S0]],
//       CHECK: scf.yield %[[S1]], %[[T]] : !llvm.x86_amx, !llvm.x86_amx
//       CHECK: return
// PLAIN-LABEL: func @swap
// PLAIN-COUNT-4: memref.alloca() {{.+}} : memref<16x16xi32>
//   PLAIN-NOT: memref.alloca
//       PLAIN: return
func.func @swap(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %c: memref<16x16xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0> : vector<16x16xi32>
  %one = arith.constant dense<1> : vector<16x16xi32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %zero, %s1 = %one) -> (vector<16x16xi32>, vector<16x16xi32>) {
    %a0 = vector.load %a[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
    %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
    %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
    %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
    %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
    %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
    %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
    %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %s0 : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
    scf.yield %s1, %t : vector<16x16xi32>, vector<16x16xi32>
  }
  vector.store %r#1, %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  return
}

// CHECK-LABEL: func @foreign
//       CHECK: vector.contract
//       CHECK: return
// PLAIN-LABEL: func @foreign
//       PLAIN: vector.contract {{.+}} into vector<16x16xi32>
//       PLAIN: return
func.func @foreign(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %s: vector<16x16xi32>) -> vector<16x16xi32> {
  %c0 = arith.constant 0 : index
  %a0 = vector.load %a[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
  %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
  %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
  %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %s : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  return %t : vector<16x16xi32>
}

// CHECK-LABEL: func @made
//       CHECK: vector.contract
//       CHECK: return
func.func @made(%x2: vector<16x16x4xi8>, %b: memref<16x16xi32>, %c: memref<16x16xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : vector<16x16xi32>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
  %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
  %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %zero : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  vector.store %t, %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  return
}

// CHECK-LABEL: func @strided
//       CHECK: vector.contract
//       CHECK: return
func.func @strided(%a: memref<16x?xi32>, %b: memref<16x16xi32>, %c: memref<16x16xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : vector<16x16xi32>
  %a0 = vector.load %a[%c0, %c0] : memref<16x?xi32>, vector<16x16xi32>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
  %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
  %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
  %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %zero : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  vector.store %t, %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  return
}

// A register keeps what was loaded.
// CHECK-LABEL: func @written
//       CHECK: tdpbssd
//       CHECK: return
// PLAIN-LABEL: func @written
//       PLAIN: vector.contract {{.+}} into vector<16x16xi32>
//       PLAIN: return
func.func @written(%a: memref<16x16xi32>, %b: memref<16x16xi32>, %c: memref<16x16xi32>, %n: i32) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0> : vector<16x16xi32>
  %a0 = vector.load %a[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  memref.store %n, %a[%c0, %c0] : memref<16x16xi32>
  %b0 = vector.load %b[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  %x0 = vector.bitcast %a0 : vector<16x16xi32> to vector<16x64xi8>
  %y0 = vector.bitcast %b0 : vector<16x16xi32> to vector<16x64xi8>
  %x2 = vector.shape_cast %x0 : vector<16x64xi8> to vector<16x16x4xi8>
  %y2 = vector.shape_cast %y0 : vector<16x64xi8> to vector<16x16x4xi8>
  %x4 = arith.extsi %x2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %y4 = arith.extsi %y2 : vector<16x16x4xi8> to vector<16x16x4xi32>
  %t = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction", "reduction"], kind = #vector.kind<add>} %x4, %y4, %zero : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
  vector.store %t, %c[%c0, %c0] : memref<16x16xi32>, vector<16x16xi32>
  return
}
