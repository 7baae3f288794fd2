// Properties: one conversion takes arithmetic, branches, calls, indices, memory
// and flat vectors (@flat, @calls, @allocates); what it would not take goes
// through upstream's passes first: math with an intrinsic and without one
// (@math), vectors of two dimensions, masks and slices (@wide, @mask, @slice).
// Bits are stored as bytes, those made of one as what it was (@bits), and loaded
// as bytes where nothing else is wanted of them (@bytes). Nothing but the LLVM
// dialect is left.
// RUN: polynest-opt %s --polynest-convert-to-llvm --reconcile-unrealized-casts | FileCheck %s --implicit-check-not=builtin.unrealized --implicit-check-not=func.func --implicit-check-not=arith. --implicit-check-not=memref. --implicit-check-not=vector.
// RUN: polynest-opt %s --polynest-convert-to-llvm --polynest-convert-to-llvm --reconcile-unrealized-casts | FileCheck %s

// CHECK-DAG: llvm.func @malloc(i64) -> !llvm.ptr
// CHECK-DAG: llvm.func @erff(f32) -> f32

// CHECK-LABEL: llvm.func @flat
//       CHECK: llvm.cond_br
//       CHECK: llvm.load {{.+}} vector<8xf32>
//       CHECK: llvm.intr.fmuladd
//       CHECK: llvm.store {{.+}} vector<8xf32>
func.func @flat(%m: memref<4x16xf32>, %i: index, %s: f32) {
  %c3 = index.constant 3
  %c = arith.cmpi slt, %i, %c3 : index
  cf.cond_br %c, ^then, ^end
^then:
  %a = vector.load %m[%i, %c3] : memref<4x16xf32>, vector<8xf32>
  %b = vector.broadcast %s : f32 to vector<8xf32>
  %f = vector.fma %a, %b, %b : vector<8xf32>
  %g = vector.shuffle %f, %a [0, 8, 1, 9, 2, 10, 3, 11]
      : vector<8xf32>, vector<8xf32>
  vector.store %g, %m[%i, %c3] : memref<4x16xf32>, vector<8xf32>
  cf.br ^end
^end:
  return
}

// CHECK-LABEL: llvm.func @calls
//       CHECK: llvm.call @flat(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) :
func.func @calls(%m: memref<4x16xf32>, %i: index, %s: f32) {
  call @flat(%m, %i, %s) : (memref<4x16xf32>, index, f32) -> ()
  return
}

// CHECK-LABEL: llvm.func @allocates
//       CHECK: llvm.call @malloc
func.func @allocates(%n: index) -> f32 {
  %m = memref.alloc(%n) : memref<?xf32>
  %c = arith.constant 0 : index
  %v = memref.load %m[%c] : memref<?xf32>
  return %v : f32
}

// CHECK-LABEL: llvm.func @bytes
//       CHECK: %[[BYTE:.+]] = llvm.load {{.+}} : !llvm.ptr -> i8
//       CHECK: %[[BIT:.+]] = llvm.load {{.+}} : !llvm.ptr -> i1
//       CHECK: llvm.zext %[[BIT]] : i1 to i8
//       CHECK: llvm.store %[[BYTE]], {{.+}} : i8, !llvm.ptr
func.func @bytes(%m: memref<4xi1>, %o: memref<4xi8>, %i: index) -> i1 {
  %c1 = arith.constant 1 : index
  %a = memref.load %m[%i] : memref<4xi1>
  %b = memref.load %m[%c1] : memref<4xi1>
  %x = arith.extui %a : i1 to i8
  %y = arith.extui %b : i1 to i8
  memref.store %x, %o[%i] : memref<4xi8>
  memref.store %y, %o[%c1] : memref<4xi8>
  return %b : i1
}

// CHECK-LABEL: llvm.func @bits
//       CHECK: %[[WIDE:.+]] = llvm.zext %{{.+}} : i1 to i8
//       CHECK: llvm.store %[[WIDE]], {{.+}} : i8, !llvm.ptr
//       CHECK: %[[ONE:.+]] = llvm.mlir.constant(1 : i8) : i8
//       CHECK: %[[LOW:.+]] = llvm.and %{{.+}}, %[[ONE]] : i8
//       CHECK: llvm.store %[[LOW]], {{.+}} : i8, !llvm.ptr
func.func @bits(%m: memref<4xi1>, %bit: i1, %byte: i8, %i: index) {
  memref.store %bit, %m[%i] : memref<4xi1>
  %low = arith.trunci %byte : i8 to i1
  memref.store %low, %m[%i] : memref<4xi1>
  return
}

// CHECK-LABEL: llvm.func @math
//       CHECK: llvm.intr.sqrt
//       CHECK: llvm.call @erff
func.func @math(%x: f32) -> f32 {
  %a = math.sqrt %x : f32
  %b = math.erf %a : f32
  return %b : f32
}

// CHECK-LABEL: llvm.func @wide
// CHECK-COUNT-2: llvm.fadd {{.+}} vector<4xf32>
func.func @wide(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %a = arith.addf %x, %x : vector<2x4xf32>
  return %a : vector<2x4xf32>
}

// CHECK-LABEL: llvm.func @mask
//       CHECK: llvm.intr.masked.load
func.func @mask(%m: memref<16xf32>, %n: index, %p: vector<8xf32>)
    -> vector<8xf32> {
  %c = arith.constant 0 : index
  %k = vector.create_mask %n : vector<8xi1>
  %v = vector.maskedload %m[%c], %k, %p
      : memref<16xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  return %v : vector<8xf32>
}

// CHECK-LABEL: llvm.func @slice
//       CHECK: llvm.shufflevector
func.func @slice(%x: vector<8xf32>) -> vector<4xf32> {
  %a = vector.extract_strided_slice %x
      {offsets = [2], sizes = [4], strides = [1]}
      : vector<8xf32> to vector<4xf32>
  return %a : vector<4xf32>
}

// What is read of a descriptor that is made here is what was put there; the
// descriptor stays only for the call that needs it.
// CHECK-LABEL: llvm.func @view(
//  CHECK-SAME: %[[M:[a-z0-9]+]]: !llvm.ptr) -> f32
//   CHECK-NOT: insertvalue
//   CHECK-NOT: extractvalue
//       CHECK: %[[P:.+]] = llvm.getelementptr %[[M]][%{{.+}}]
//   CHECK-NOT: insertvalue
//   CHECK-NOT: extractvalue
//       CHECK: llvm.load
//       CHECK: llvm.return
func.func @view(%m: memref<16xi8>) -> f32 attributes {llvm.bareptr} {
  %c = arith.constant 4 : index
  %v = memref.view %m[%c][] : memref<16xi8> to memref<3xf32>
  %x = memref.load %v[%c] : memref<3xf32>
  return %x : f32
}
