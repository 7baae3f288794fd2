// Properties: pointwise loops interleave vectors, the scalar loop does the rest
// (@axpy); a loop around a reduction runs in lanes, its accumulators become
// vectors and products fuse (@matmul); reductions get several accumulators and
// are folded in halves (@sum, @maximum); the last vector moves back where it may
// (@moved), narrower ones take its place where it may not (@in_place); lower
// bounds and steps (@steps), reversed and strided rows (@reversed, @pairs),
// floordiv and mod of whole vectors (@blocks), indices as data (@iota), gathers
// (@gather), conditions (@uniform_if, @select), narrow types (@narrow) and bounds
// with a minimum (@tile); a second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests,canonicalize,cse))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-vectorize-nests,canonicalize,cse))' | diff %t.once -

// 256 bits hold 8 f32; a small body takes 4 vectors: 32 an iteration.
// CHECK-DAG: #[[$TO32:.+]] = affine_map<()[s0] -> ((s0 floordiv 32) * 32)>
// CHECK-DAG: #[[$FROM32:.+]] = affine_map<()[s0] -> (0, (s0 floordiv 32) * 32)>
// CHECK-DAG: #[[$TO8:.+]] = affine_map<()[s0] -> ((s0 floordiv 8) * 8)>
// CHECK-DAG: #[[$FROM8:.+]] = affine_map<()[s0] -> (0, (s0 floordiv 8) * 8)>

// CHECK-LABEL: func @axpy
//  CHECK-SAME: (%[[X:.+]]: memref<?xf32>, %[[Y:.+]]: memref<?xf32> {{.+}}, %[[N:.+]]: index, %[[A:.+]]: f32)
//       CHECK: affine.for %[[I:.+]] = 0 to #[[$TO32]]()[%[[N]]] step 32 {
//  CHECK-NEXT: affine.vector_load %[[X]][%[[I]]] : memref<?xf32>, vector<8xf32>
//  CHECK-NEXT: affine.vector_load %[[X]][%[[I]] + 8]
//  CHECK-NEXT: affine.vector_load %[[X]][%[[I]] + 16]
//  CHECK-NEXT: affine.vector_load %[[X]][%[[I]] + 24]
// CHECK-COUNT-4: arith.addf %{{.+}} : vector<8xf32>
// CHECK-COUNT-4: affine.vector_store
//       CHECK: } {polynest.vectorized}
//       CHECK: affine.for %[[J:.+]] = max #[[$FROM32]]()[%[[N]]] to #[[$TO8]]()[%[[N]]] step 8 {
//       CHECK: affine.vector_store
//       CHECK: } {polynest.vectorized}
//       CHECK: affine.for %[[K:.+]] = max #[[$FROM8]]()[%[[N]]] to %[[N]] {
//       CHECK: affine.store
//       CHECK: } {polynest.vectorized}
//       CHECK: return
func.func @axpy(%X: memref<?xf32>, %Y: memref<?xf32> {polynest.result},
                %n: index, %a: f32) {
  affine.for %i = 0 to %n {
    %x = affine.load %X[%i] : memref<?xf32>
    %y = affine.load %Y[%i] : memref<?xf32>
    %p = arith.mulf %a, %x : f32
    %s = arith.addf %p, %y : f32
    affine.store %s, %Y[%i] : memref<?xf32>
  }
  return
}

// 67 = 8 * 8 + 3: nine vectors, the ninth moved back by 5; 5 and then 4 of them
// at once, within the 8 that latency 4 times 2 ports asks for.
// CHECK-LABEL: func @matmul
//  CHECK-SAME: (%[[A:.+]]: memref<35x64xf32>, %[[B:.+]]: memref<64x67xf32>, %[[C:.+]]: memref<35x67xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 35 {
//  CHECK-NEXT: %[[R:.+]]:5 = affine.for %[[K:.+]] = 0 to 64 iter_args
//  CHECK-NEXT: %[[S:.+]] = affine.load %[[A]][%[[I]], %[[K]]]
// CHECK-COUNT-5: affine.vector_load %[[B]][%[[K]],
//       CHECK: %[[V:.+]] = vector.broadcast %[[S]] : f32 to vector<8xf32>
// CHECK-COUNT-5: vector.fma %[[V]],
//       CHECK: affine.yield
// CHECK-COUNT-5: affine.vector_store
//       CHECK: :4 = affine.for
//       CHECK: affine.vector_load %[[B]][%{{.+}}, 59]
// CHECK-COUNT-4: vector.fma
//       CHECK: affine.yield
//       CHECK: affine.vector_store %{{.+}}, %[[C]][%[[I]], 40]
//       CHECK: affine.vector_store %{{.+}}, %[[C]][%[[I]], 48]
//       CHECK: affine.vector_store %{{.+}}, %[[C]][%[[I]], 56]
//       CHECK: affine.vector_store %{{.+}}, %[[C]][%[[I]], 59]
//   CHECK-NOT: affine.store
//       CHECK: return
func.func @matmul(%A: memref<35x64xf32>, %B: memref<64x67xf32>,
                  %C: memref<35x67xf32> {polynest.result}) {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 35 {
    affine.for %j = 0 to 67 {
      %r = affine.for %k = 0 to 64 iter_args(%c = %z) -> f32 {
        %a = affine.load %A[%i, %k] : memref<35x64xf32>
        %b = affine.load %B[%k, %j] : memref<64x67xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.yield %s : f32
      }
      %m = arith.maximumf %r, %z : f32
      affine.store %m, %C[%i, %j] : memref<35x67xf32>
    }
  }
  return
}

// Eight accumulators of -0.0, the identity of addition; the initial value comes
// in at the end.
// CHECK-LABEL: func @sum
//  CHECK-SAME: %[[INIT:[a-z0-9]+]]: f32)
//       CHECK: %[[Z:.+]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
//       CHECK: %[[R:.+]]:8 = affine.for %{{.+}} = 0 to 640 step 64 iter_args(%{{.+}} = %[[Z]],
// CHECK-COUNT-8: arith.addf %{{.+}} : vector<8xf32>
//       CHECK: affine.yield
//       CHECK: arith.addf %[[R]]#0, %[[R]]#1 : vector<8xf32>
//       CHECK: vector.shuffle %{{.+}} [0, 1, 2, 3] : vector<8xf32>
//       CHECK: arith.addf %{{.+}} : vector<4xf32>
//       CHECK: arith.addf %{{.+}} : vector<2xf32>
//       CHECK: %[[L:.+]] = vector.extract %{{.+}}[0] : f32 from vector<1xf32>
//       CHECK: arith.addf %[[INIT]], %[[L]] : f32
//       CHECK: return
func.func @sum(%X: memref<640xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 640 iter_args(%s = %init) -> f32 {
    %x = affine.load %X[%i] : memref<640xf32>
    %t = arith.addf %s, %x : f32
    affine.yield %t : f32
  }
  return %r : f32
}

// Idempotent: all lanes start from the initial value, NaN and all.
// CHECK-LABEL: func @maximum
//  CHECK-SAME: %[[INIT:[a-z0-9]+]]: f32)
//       CHECK: %[[Z:.+]] = vector.broadcast %[[INIT]] : f32 to vector<8xf32>
//       CHECK: affine.for {{.+}} iter_args(%{{.+}} = %[[Z]],
//       CHECK: affine.yield
//       CHECK: %[[L:.+]] = vector.extract
//       CHECK: return %[[L]]
func.func @maximum(%X: memref<640xf32>, %init: f32) -> f32 {
  %r = affine.for %i = 0 to 640 iter_args(%s = %init) -> f32 {
    %x = affine.load %X[%i] : memref<640xf32>
    %t = arith.maximumf %x, %s : f32
    affine.yield %t : f32
  }
  return %r : f32
}

// 11 = 8 + 3: the second vector starts at 3.
// CHECK-LABEL: func @moved
//   CHECK-NOT: affine.for
//       CHECK: affine.vector_load %{{.+}}[0] : memref<11xf32>, vector<8xf32>
//       CHECK: affine.vector_load %{{.+}}[3] : memref<11xf32>, vector<8xf32>
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @moved(%X: memref<11xf32>, %Y: memref<11xf32> {polynest.result}) {
  affine.for %i = 0 to 11 {
    %x = affine.load %X[%i] : memref<11xf32>
    %y = arith.negf %x : f32
    affine.store %y, %Y[%i] : memref<11xf32>
  }
  return
}

// 15 = 8 + 4 + 2 + 1.
// CHECK-LABEL: func @in_place
//   CHECK-NOT: affine.for
//       CHECK: affine.vector_load %{{.+}}[0] : memref<15xf32>, vector<8xf32>
//       CHECK: affine.vector_load %{{.+}}[8] : memref<15xf32>, vector<4xf32>
//       CHECK: affine.vector_load %{{.+}}[12] : memref<15xf32>, vector<2xf32>
//       CHECK: affine.load %{{.+}}[14]
//       CHECK: return
func.func @in_place(%X: memref<15xf32>) {
  affine.for %i = 0 to 15 {
    %x = affine.load %X[%i] : memref<15xf32>
    %y = arith.addf %x, %x : f32
    affine.store %y, %X[%i] : memref<15xf32>
  }
  return
}

// 3 to 19 by 2: eight iterations, 2 apart. Loads take two overlapping vectors;
// stores go lane by lane, and touch nothing in between.
// CHECK-LABEL: func @steps
//       CHECK: %[[U:.+]] = affine.vector_load %{{.+}}[3] : memref<19xf32>, vector<8xf32>
//       CHECK: %[[V:.+]] = affine.vector_load %{{.+}}[10] : memref<19xf32>, vector<8xf32>
//       CHECK: vector.shuffle %[[U]], %[[V]] [0, 2, 4, 6, 9, 11, 13, 15]
//   CHECK-NOT: affine.vector_store
// CHECK-COUNT-8: affine.store
//       CHECK: return
func.func @steps(%X: memref<19xf32>, %Y: memref<19xf32> {polynest.result}) {
  affine.for %i = 3 to 19 step 2 {
    %x = affine.load %X[%i] : memref<19xf32>
    %e = math.exp %x : f32
    affine.store %e, %Y[%i] : memref<19xf32>
  }
  return
}

// CHECK-LABEL: func @reversed
//       CHECK: %[[V:.+]] = affine.vector_load %{{.+}}[0] : memref<8xf32>, vector<8xf32>
//       CHECK: %[[R:.+]] = vector.shuffle %[[V]], %[[V]] [7, 6, 5, 4, 3, 2, 1, 0]
//       CHECK: affine.vector_store %[[R]]
//       CHECK: return
func.func @reversed(%X: memref<8xf32>, %Y: memref<8xf32> {polynest.result}) {
  affine.for %i = 0 to 8 {
    %x = affine.load %X[7 - %i] : memref<8xf32>
    affine.store %x, %Y[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @pairs
//       CHECK: affine.vector_load %{{.+}}[%[[I:.+]] * 2]
//       CHECK: affine.vector_load %{{.+}}[%[[I]] * 2 + 7]
//       CHECK: vector.shuffle
//       CHECK: affine.vector_store
//       CHECK: return
func.func @pairs(%X: memref<?xf32>, %Y: memref<?xf32> {polynest.result},
                 %n: index) {
  affine.for %i = 0 to %n {
    %x = affine.load %X[2 * %i] : memref<?xf32>
    %y = affine.load %X[2 * %i + 1] : memref<?xf32>
    %m = arith.maximumf %x, %y : f32
    affine.store %m, %Y[%i] : memref<?xf32>
  }
  return
}

// A row of 16 holds two vectors: in each, the row is uniform and the column
// contiguous.
// CHECK-LABEL: func @blocks
//       CHECK: affine.vector_load %{{.+}}[%{{.+}} floordiv 16, 0] : memref<4x16xf32>, vector<8xf32>
//   CHECK-NOT: affine.load
//       CHECK: return
func.func @blocks(%X: memref<4x16xf32>, %Y: memref<64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %x = affine.load %X[%i floordiv 16, %i mod 16] : memref<4x16xf32>
    affine.store %x, %Y[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func @iota
//   CHECK-DAG: arith.constant dense<[0, 3, 6, 9, 12, 15, 18, 21]> : vector<8xindex>
//       CHECK: arith.index_cast %{{.+}} : vector<8xindex> to vector<8xi32>
//       CHECK: affine.vector_store
//       CHECK: return
func.func @iota(%Y: memref<64xi32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %j = affine.apply affine_map<(d0) -> (3 * d0 + 1)>(%i)
    %x = arith.index_cast %j : index to i32
    affine.store %x, %Y[%i] : memref<64xi32>
  }
  return
}

// CHECK-LABEL: func @gather
//       CHECK: %[[I:.+]] = affine.vector_load %{{.+}} : memref<64xi32>, vector<8xi32>
//       CHECK: vector.extract
//       CHECK: memref.load
//       CHECK: vector.from_elements
//       CHECK: math.exp %{{.+}} : vector<8xf32>
//       CHECK: affine.vector_store
//       CHECK: return
func.func @gather(%X: memref<99xf32>, %P: memref<64xi32>,
                  %Y: memref<64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %p = affine.load %P[%i] : memref<64xi32>
    %q = arith.index_cast %p : i32 to index
    %x = memref.load %X[%q] : memref<99xf32>
    %e = math.exp %x : f32
    affine.store %e, %Y[%i] : memref<64xf32>
  }
  return
}

// CHECK-LABEL: func @uniform_if
//       CHECK: affine.if
//       CHECK: affine.vector_load
//       CHECK: affine.vector_store
//       CHECK: return
func.func @uniform_if(%X: memref<64xf32>, %Y: memref<64xf32> {polynest.result},
                      %n: index) {
  affine.for %i = 0 to 64 {
    affine.if affine_set<()[s0] : (s0 - 1 >= 0)>()[%n] {
      %x = affine.load %X[%i] : memref<64xf32>
      affine.store %x, %Y[%i] : memref<64xf32>
    }
  }
  return
}

// CHECK-LABEL: func @select
//   CHECK-NOT: scf.if
//       CHECK: arith.select %{{.+}} : vector<8xi1>, vector<8xf32>
//       CHECK: return
func.func @select(%X: memref<64xf32>, %Y: memref<64xf32> {polynest.result}) {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    %x = affine.load %X[%i] : memref<64xf32>
    %c = arith.cmpf ogt, %x, %z : f32
    %r = scf.if %c -> f32 {
      %e = math.exp %x : f32
      scf.yield %e : f32
    } else {
      scf.yield %x : f32
    }
    affine.store %r, %Y[%i] : memref<64xf32>
  }
  return
}

// The widest type sets the number of lanes: 256 / 32.
// CHECK-LABEL: func @narrow
//       CHECK: affine.vector_load %{{.+}} : memref<64xi8>, vector<8xi8>
//       CHECK: arith.extsi %{{.+}} : vector<8xi8> to vector<8xi32>
//       CHECK: affine.vector_store %{{.+}} : memref<64xi32>, vector<8xi32>
//       CHECK: return
func.func @narrow(%X: memref<64xi8>, %Y: memref<64xi32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %x = affine.load %X[%i] : memref<64xi8>
    %y = arith.extsi %x : i8 to i32
    affine.store %y, %Y[%i] : memref<64xi32>
  }
  return
}

// A tile of 32 is whole vectors: only the end of the array leaves a rest.
// CHECK-LABEL: func @tile
//       CHECK: affine.for %[[T:.+]] = 0 to %{{.+}} step 32
//       CHECK: affine.for %{{.+}} = #{{.+}}(%[[T]]) to min
//       CHECK: affine.vector_store
//       CHECK: affine.for %{{.+}} = max #{{.+}}(%[[T]])[%{{.+}}] to min
//       CHECK: affine.store
//       CHECK: return
func.func @tile(%X: memref<?xf32>, %Y: memref<?xf32> {polynest.result},
                %n: index) {
  affine.for %t = 0 to %n step 32 {
    affine.for %i = affine_map<(d0) -> (d0)>(%t)
        to min affine_map<(d0)[s0] -> (d0 + 32, s0)>(%t)[%n] {
      %x = affine.load %X[%i] : memref<?xf32>
      %y = arith.negf %x : f32
      affine.store %y, %Y[%i] : memref<?xf32>
    }
  }
  return
}

// Bits are gathered as bytes, never by a vector access: in memory each takes a
// byte, in a vector of i1 a bit.
// CHECK-LABEL: func @mask
//   CHECK-NOT: affine.vector_load %{{.+}} : memref<64xi1>
//       CHECK: affine.load %{{.+}} : memref<64xi1>
//       CHECK: arith.extui %{{.+}} : i1 to i8
//       CHECK: %[[M:.+]] = arith.cmpi ne, %{{.+}} : vector<8xi8>
//       CHECK: arith.select %[[M]]
//       CHECK: return
func.func @mask(%M: memref<64xi1>, %X: memref<64xf32>,
                %Y: memref<64xf32> {polynest.result}) {
  affine.for %i = 0 to 64 {
    %m = affine.load %M[%i] : memref<64xi1>
    %x = affine.load %X[%i] : memref<64xf32>
    %e = math.exp %x : f32
    %r = arith.select %m, %e, %x : f32
    affine.store %r, %Y[%i] : memref<64xf32>
  }
  return
}
