// Properties: groups of two i16 are multiplied by the unit that has them, cut
// in its width (@pairs); sides may change places (@bytes); floating-point units
// add up themselves (@halves); without a unit plain arithmetic computes the same
// (PLAIN); other contractions stay (@matrix, @mixed); what is no unit is refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-lower-dots{units=u8s8x4:256:add:llvm.x86.avx512.vpdpbusd.256,s16s16x2:256:sum:llvm.x86.avx2.pmadd.wd,bf16bf16x2:256:add:llvm.x86.avx512bf16.dpbf16ps.256})' | FileCheck %s
// RUN: polynest-opt %s --pass-pipeline='builtin.module(polynest-lower-dots)' | FileCheck %s --check-prefix=PLAIN
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(polynest-lower-dots{units=s16s16x2:256:llvm.x86.avx2.pmadd.wd})' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(polynest-lower-dots{units=s16u8x2:256:sum:llvm.x86.avx2.pmadd.wd})' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(polynest-lower-dots{units=s16s16x2:0:sum:llvm.x86.avx2.pmadd.wd})' 2>&1 | FileCheck %s --check-prefix=WORDS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(polynest-lower-dots{units=s16s16x2:256:sum:pmaddwd})' 2>&1 | FileCheck %s --check-prefix=WORDS

// WORDS: option units holds {{.+}} it takes FORM:BITS:HOW:INTRINSIC

#groups = affine_map<(d0, d1) -> (d0, d1)>
#lanes = affine_map<(d0, d1) -> (d0)>

// 16 sums are two vectors of 256 bits.
// CHECK-LABEL: func @pairs
//  CHECK-SAME: %[[A:.+]]: vector<32xi16>, %[[B:.+]]: vector<32xi16>, %[[C:.+]]: vector<16xi32>
//   CHECK-NOT: vector.contract
//       CHECK: %[[C0:.+]] = vector.shuffle %[[C]], %[[C]] [0, 1, 2, 3, 4, 5, 6, 7]
//       CHECK: %[[A0:.+]] = vector.shuffle %[[A]], %[[A]] [0, {{.+}}, 15]
//       CHECK: %[[B0:.+]] = vector.shuffle %[[B]], %[[B]] [0, {{.+}}, 15]
//       CHECK: %[[S0:.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[A0]], %[[B0]])
//       CHECK: %[[R0:.+]] = arith.addi %[[C0]], %[[S0]]
//       CHECK: vector.shuffle %[[A]], %[[A]] [16, {{.+}}, 31]
//       CHECK: %[[S1:.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
//       CHECK: %[[R1:.+]] = arith.addi %{{.+}}, %[[S1]]
//       CHECK: vector.shuffle %[[R0]], %[[R1]] [0, {{.+}}, 15]
// Elements 0, 2, 4, ... and then 1, 3, 5, ...
// PLAIN-LABEL: func @pairs
//       PLAIN: vector.shuffle %{{.+}} [0, 2, 4, {{.+}}, 30]
//       PLAIN: arith.extsi %{{.+}} : vector<16xi16> to vector<16xi32>
//       PLAIN: arith.muli
//       PLAIN: arith.addi
//       PLAIN: vector.shuffle %{{.+}} [1, 3, 5, {{.+}}, 31]
//       PLAIN: arith.muli
//       PLAIN: arith.addi
//   PLAIN-NOT: vector.shape_cast
//       PLAIN: return
func.func @pairs(%a: vector<32xi16>, %b: vector<32xi16>, %c: vector<16xi32>) -> vector<16xi32> {
  %a2 = vector.shape_cast %a : vector<32xi16> to vector<16x2xi16>
  %b2 = vector.shape_cast %b : vector<32xi16> to vector<16x2xi16>
  %x = arith.extsi %a2 : vector<16x2xi16> to vector<16x2xi32>
  %y = arith.extsi %b2 : vector<16x2xi16> to vector<16x2xi32>
  %r = vector.contract {indexing_maps = [#groups, #groups, #lanes], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %c : vector<16x2xi32>, vector<16x2xi32> into vector<16xi32>
  return %r : vector<16xi32>
}

// The unit wants the side without signs first.
// CHECK-LABEL: func @bytes
//  CHECK-SAME: %[[A:.+]]: vector<32xi8>, %[[B:.+]]: vector<32xi8>, %[[C:.+]]: vector<8xi32>
//       CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%[[C]], %[[B]], %[[A]])
//       CHECK: return
// PLAIN-LABEL: func @bytes
//       PLAIN: arith.extsi
//       PLAIN: arith.extui
//       PLAIN: return
func.func @bytes(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<8xi32>) -> vector<8xi32> {
  %a2 = vector.shape_cast %a : vector<32xi8> to vector<8x4xi8>
  %b2 = vector.shape_cast %b : vector<32xi8> to vector<8x4xi8>
  %x = arith.extsi %a2 : vector<8x4xi8> to vector<8x4xi32>
  %y = arith.extui %b2 : vector<8x4xi8> to vector<8x4xi32>
  %r = vector.contract {indexing_maps = [#groups, #groups, #lanes], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %c : vector<8x4xi32>, vector<8x4xi32> into vector<8xi32>
  return %r : vector<8xi32>
}

// CHECK-LABEL: func @halves
//  CHECK-SAME: %[[A:.+]]: vector<16xbf16>, %[[B:.+]]: vector<16xbf16>, %[[C:.+]]: vector<8xf32>
//       CHECK: %[[R:.+]] = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.256"(%[[C]], %[[A]], %[[B]])
//  CHECK-NEXT: return %[[R]]
// PLAIN-LABEL: func @halves
//       PLAIN: arith.extf
//       PLAIN: vector.fma
//       PLAIN: vector.fma
//       PLAIN: return
func.func @halves(%a: vector<16xbf16>, %b: vector<16xbf16>, %c: vector<8xf32>) -> vector<8xf32> {
  %a2 = vector.shape_cast %a : vector<16xbf16> to vector<8x2xbf16>
  %b2 = vector.shape_cast %b : vector<16xbf16> to vector<8x2xbf16>
  %x = arith.extf %a2 : vector<8x2xbf16> to vector<8x2xf32>
  %y = arith.extf %b2 : vector<8x2xbf16> to vector<8x2xf32>
  %r = vector.contract {indexing_maps = [#groups, #groups, #lanes], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %c : vector<8x2xf32>, vector<8x2xf32> into vector<8xf32>
  return %r : vector<8xf32>
}

// Elements without a sign in pairs: the unit takes them for others.
// CHECK-LABEL: func @no_unit
//   CHECK-NOT: call_intrinsic
//       CHECK: arith.extui
//       CHECK: return
func.func @no_unit(%a: vector<16xi16>, %b: vector<16xi16>, %c: vector<8xi32>) -> vector<8xi32> {
  %a2 = vector.shape_cast %a : vector<16xi16> to vector<8x2xi16>
  %b2 = vector.shape_cast %b : vector<16xi16> to vector<8x2xi16>
  %x = arith.extui %a2 : vector<8x2xi16> to vector<8x2xi32>
  %y = arith.extsi %b2 : vector<8x2xi16> to vector<8x2xi32>
  %r = vector.contract {indexing_maps = [#groups, #groups, #lanes], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %c : vector<8x2xi32>, vector<8x2xi32> into vector<8xi32>
  return %r : vector<8xi32>
}

// CHECK-LABEL: func @matrix
//       CHECK: vector.contract
//       CHECK: return
func.func @matrix(%a: vector<4x2xf32>, %b: vector<2x4xf32>, %c: vector<4x4xf32>) -> vector<4x4xf32> {
  %r = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4x2xf32>, vector<2x4xf32> into vector<4x4xf32>
  return %r : vector<4x4xf32>
}

// A product instead of a sum.
// CHECK-LABEL: func @mixed
//       CHECK: vector.contract
//       CHECK: return
func.func @mixed(%a: vector<8x2xi32>, %b: vector<8x2xi32>, %c: vector<8xi32>) -> vector<8xi32> {
  %r = vector.contract {indexing_maps = [#groups, #groups, #lanes], iterator_types = ["parallel", "reduction"], kind = #vector.kind<mul>} %a, %b, %c : vector<8x2xi32>, vector<8x2xi32> into vector<8xi32>
  return %r : vector<8xi32>
}

// A side that is one number is an element of any kind that holds it.
// CHECK-LABEL: func @number
//       CHECK: %[[N:.+]] = arith.constant dense<-128> : vector<32xi8>
//       CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%{{.+}}, %[[N]], %{{.+}})
//       CHECK: return
func.func @number(%b: vector<32xi8>, %c: vector<8xi32>) -> vector<8xi32> {
  %x = arith.constant dense<128> : vector<8x4xi32>
  %b2 = vector.shape_cast %b : vector<32xi8> to vector<8x4xi8>
  %y = arith.extsi %b2 : vector<8x4xi8> to vector<8x4xi32>
  %r = vector.contract {indexing_maps = [#groups, #groups, #lanes], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %c : vector<8x4xi32>, vector<8x4xi32> into vector<8xi32>
  return %r : vector<8xi32>
}
