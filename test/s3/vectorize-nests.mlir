// Properties: pointwise loops interleave vectors, the scalar loop does the rest
// (@axpy); a loop around a reduction runs in lanes, its accumulators become
// vectors and products fuse (@matmul); reductions get several accumulators and
// are folded in halves (@sum, @maximum), several together (@two_sums); the last vector moves back where it may
// (@moved), narrower ones take its place where it may not (@in_place); lower
// bounds and steps (@steps), reversed and strided rows (@reversed, @pairs),
// floordiv and mod of whole vectors (@blocks), indices as data (@iota), gathers
// (@gather), conditions (@uniform_if, @select), narrow types (@narrow) and bounds
// with a minimum (@tile); rows that data choose (@gather_rows, @scatter_rows), assertions
// (@assert_lanes) and squares turned in registers (@turned); no rest where bounds
// are multiples of so many vectors (@whole), or of fewer (@fewer); what was combined
// so far in lanes (@sums_so_far, of rows that no cache holds: @sums_near, @sums_far);
// functions of two rows by two vectors, those of one by four (@functions); a second run changes nothing.
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

// A row that data choose and a column that runs, of which data may choose where
// it begins: whole vectors.
// CHECK-LABEL: func @gather_rows
//       CHECK: affine.for %[[J:.+]] = 0 to 64 step 32
//       CHECK: cf.assert
//       CHECK: vector.load %{{.+}}[%[[Q:.+]], %[[J]]] : memref<99x70xf32>, vector<8xf32>
//       CHECK: vector.load %{{.+}}[%[[Q]], %{{.+}}] : memref<99x70xf32>, vector<8xf32>
//   CHECK-NOT: memref.load
//       CHECK: affine.vector_store
//       CHECK: return
func.func @gather_rows(%X: memref<99x70xf32>, %P: memref<9xindex>,
                       %Y: memref<9x64xf32> {polynest.result}) {
  %c99 = arith.constant 99 : index
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 64 {
      %p = affine.load %P[%i] : memref<9xindex>
      %ok = arith.cmpi ult, %p, %c99 : index
      cf.assert %ok, "index out of range"
      %x = memref.load %X[%p, %j] : memref<99x70xf32>
      affine.store %x, %Y[%i, %j] : memref<9x64xf32>
    }
  }
  return
}

// Sums into rows that data choose, from their third column on: whole vectors of
// columns, and what is left of a row once, since a sum may not be repeated.
// CHECK-LABEL: func @scatter_rows
//       CHECK: affine.for %[[J:.+]] = 0 to 64 step 32
//       CHECK: cf.assert
//       CHECK: vector.load %{{.+}}[%[[P:.+]], %[[J0:.+]]] : memref<99x70xf32>, vector<8xf32>
//       CHECK: vector.load %{{.+}}[%[[P]], %[[J1:.+]]] : memref<99x70xf32>, vector<8xf32>
//       CHECK: vector.load %{{.+}}[%[[P]], %[[J2:.+]]] : memref<99x70xf32>, vector<8xf32>
//       CHECK: vector.load %{{.+}}[%[[P]], %[[J3:.+]]] : memref<99x70xf32>, vector<8xf32>
//       CHECK: vector.store %{{.+}}, %{{.+}}[%[[P]], %[[J0]]] : memref<99x70xf32>, vector<8xf32>
//  CHECK-NEXT: vector.store %{{.+}}, %{{.+}}[%[[P]], %[[J1]]] : memref<99x70xf32>, vector<8xf32>
//  CHECK-NEXT: vector.store %{{.+}}, %{{.+}}[%[[P]], %[[J2]]] : memref<99x70xf32>, vector<8xf32>
//  CHECK-NEXT: vector.store %{{.+}}, %{{.+}}[%[[P]], %[[J3]]] : memref<99x70xf32>, vector<8xf32>
//       CHECK: vector.store %{{.+}}, %{{.+}}[%{{.+}}, %c66] : memref<99x70xf32>, vector<2xf32>
//       CHECK: memref.store %{{.+}}, %{{.+}}[%{{.+}}, %c68] : memref<99x70xf32>
//       CHECK: return
func.func @scatter_rows(%X: memref<9x67xf32>, %P: memref<9xindex>,
                        %Y: memref<99x70xf32> {polynest.result}) {
  %c99 = arith.constant 99 : index
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 67 {
      %p = affine.load %P[%i] : memref<9xindex>
      %ok = arith.cmpi ult, %p, %c99 : index
      cf.assert %ok, "index out of range"
      %x = affine.load %X[%i, %j] : memref<9x67xf32>
      %k = affine.apply affine_map<(d0) -> (d0 + 2)>(%j)
      %y = memref.load %Y[%p, %k] : memref<99x70xf32>
      %s = arith.addf %x, %y : f32
      memref.store %s, %Y[%p, %k] : memref<99x70xf32>
    }
  }
  return
}

// CHECK-LABEL: func @gather_begin
//       CHECK: affine.for %[[J:.+]] = 0 to 8
//       CHECK: %[[P:.+]] = affine.load
//       CHECK: vector.load %{{.+}}[%{{.+}}] : memref<99xf32>, vector<8xf32>
//   CHECK-NOT: memref.load
//       CHECK: return
func.func @gather_begin(%X: memref<99xf32>, %P: memref<8xindex>,
                        %Y: memref<8x64xf32> {polynest.result}) {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 64 {
      %p = affine.load %P[%i] : memref<8xindex>
      %q = arith.addi %p, %j : index
      %x = memref.load %X[%q] : memref<99xf32>
      affine.store %x, %Y[%i, %j] : memref<8x64xf32>
    }
  }
  return
}

// Every second column, a column for each lane, columns that count in 32 bits,
// and rows that are not contiguous: lane by lane.
// CHECK-LABEL: func @gather_apart
//   CHECK-NOT: vector.load %{{.+}}[%{{.+}}, %{{.+}}] : memref<9x
//       CHECK: return
func.func @gather_apart(%X: memref<9x130xf32>, %P: memref<9x64xindex>,
                        %S: memref<9x64xf32, strided<[128, 2]>>,
                        %N: memref<9xi32>,
                        %Y: memref<9x64xf32> {polynest.result}) {
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 64 {
      %p = affine.load %P[%i, 0] : memref<9x64xindex>
      %k = affine.apply affine_map<(d0) -> (2 * d0)>(%j)
      %x = memref.load %X[%p, %k] : memref<9x130xf32>
      %q = affine.load %P[%i, %j] : memref<9x64xindex>
      %s = arith.addi %q, %j : index
      %y = memref.load %X[%p, %s] : memref<9x130xf32>
      %z = memref.load %S[%p, %j] : memref<9x64xf32, strided<[128, 2]>>
      %n = affine.load %N[%i] : memref<9xi32>
      %j32 = arith.index_cast %j : index to i32
      %m = arith.addi %n, %j32 : i32
      %mi = arith.index_cast %m : i32 to index
      %w = memref.load %X[%p, %mi] : memref<9x130xf32>
      %a = arith.addf %x, %y : f32
      %b = arith.addf %a, %z : f32
      %c = arith.addf %b, %w : f32
      %d = math.exp %c : f32
      affine.store %d, %Y[%i, %j] : memref<9x64xf32>
    }
  }
  return
}

// An assertion on each lane: all of them, before anything is read there.
// CHECK-LABEL: func @assert_lanes
//       CHECK: %[[OK:.+]] = arith.cmpi ult, %{{.+}} : vector<4xindex>
//       CHECK: %[[TWO:.+]] = arith.andi %[[OK]], %{{.+}} : vector<4xi1>
//       CHECK: %[[THREE:.+]] = arith.andi %[[TWO]], %{{.+}}
//       CHECK: %[[FOUR:.+]] = arith.andi %[[THREE]], %{{.+}}
//       CHECK: %[[ALL:.+]] = vector.reduction <and>, %[[FOUR]] : vector<4xi1> into i1
//       CHECK: cf.assert %[[ALL]], "index out of range"
//       CHECK: memref.load
//       CHECK: return
func.func @assert_lanes(%X: memref<99xf64>, %P: memref<64xindex>,
                        %Y: memref<64xf64> {polynest.result}) {
  %c99 = arith.constant 99 : index
  affine.for %i = 0 to 64 {
    %p = affine.load %P[%i] : memref<64xindex>
    %ok = arith.cmpi ult, %p, %c99 : index
    cf.assert %ok, "index out of range"
    %x = memref.load %X[%p] : memref<99xf64>
    %e = math.exp %x : f64
    affine.store %e, %Y[%i] : memref<64xf64>
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

// Rows of 8 lanes are loaded and turned: interleaved twice within 128 bits, then
// halves change places. Two vectors an iteration fill a line of the result.
// CHECK-LABEL: func @turned
//       CHECK: affine.for %[[I:.+]] = 0 to 32 step 16
//       CHECK: affine.for %[[J:.+]] = 0 to 40 step 8
//       CHECK: %[[R0:.+]] = affine.vector_load %{{.+}}[%[[I]], %[[J]]] : memref<32x40xf32>, vector<8xf32>
//       CHECK: %[[R1:.+]] = affine.vector_load %{{.+}}[%[[I]] + 1, %[[J]]] : memref<32x40xf32>, vector<8xf32>
//       CHECK: affine.vector_load %{{.+}}[%[[I]] + 7, %[[J]]]
//       CHECK: vector.shuffle %[[R0]], %[[R1]] [0, 8, 1, 9, 4, 12, 5, 13]
//       CHECK: vector.shuffle %[[R0]], %[[R1]] [2, 10, 3, 11, 6, 14, 7, 15]
//       CHECK: vector.shuffle %{{.+}} [0, 1, 8, 9, 4, 5, 12, 13]
//       CHECK: %[[C0:.+]] = vector.shuffle %{{.+}} [0, 1, 2, 3, 8, 9, 10, 11]
//  CHECK-NEXT: %[[C4:.+]] = vector.shuffle %{{.+}} [4, 5, 6, 7, 12, 13, 14, 15]
//  CHECK-NEXT: %[[C2:.+]] = vector.shuffle
//  CHECK-NEXT: %[[C6:.+]] = vector.shuffle
//  CHECK-NEXT: %[[C1:.+]] = vector.shuffle
//  CHECK-NEXT: %[[C5:.+]] = vector.shuffle
//  CHECK-NEXT: %[[C3:.+]] = vector.shuffle
//  CHECK-NEXT: %[[C7:.+]] = vector.shuffle
//       CHECK: affine.vector_load %{{.+}}[%[[I]] + 8, %[[J]]]
//       CHECK: arith.addf %[[C0]],
//       CHECK: arith.addf %[[C1]],
//       CHECK: arith.addf %[[C2]],
//       CHECK: arith.addf %[[C3]],
//       CHECK: arith.addf %[[C4]],
//       CHECK: arith.addf %[[C5]],
//       CHECK: arith.addf %[[C6]],
//       CHECK: arith.addf %[[C7]],
//   CHECK-NOT: affine.load
//       CHECK: affine.vector_store %{{.+}}[%[[J]] + 7, %[[I]] + 8] : memref<40x32xf32>, vector<8xf32>
//       CHECK: return
func.func @turned(%X: memref<32x40xf32>, %Y: memref<40x32xf32>,
                  %Z: memref<40x32xf32> {polynest.result}) {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 40 {
      %x = affine.load %X[%i, %j] : memref<32x40xf32>
      %y = affine.load %Y[%j, %i] : memref<40x32xf32>
      %s = arith.addf %x, %y : f32
      affine.store %s, %Z[%j, %i] : memref<40x32xf32>
    }
  }
  return
}

// Sums along rows, rows in lanes: eight iterations in order between turning what
// is loaded and what is stored. 3 columns are left over. Nothing moves along the
// lanes, so one vector of rows is enough.
// CHECK-LABEL: func @turned_scan
//       CHECK: affine.for %[[I:.+]] = 0 to 16 step 8
//       CHECK: %[[S:.+]] = affine.for %[[J:.+]] = 0 to 40 step 8 iter_args(%[[A:.+]] = %{{.+}}) -> (vector<8xf32>)
//       CHECK: affine.vector_load %{{.+}}[%[[I]], %[[J]]] : memref<16x43xf32>, vector<8xf32>
//       CHECK: %[[S0:.+]] = arith.addf %[[A]], %{{.+}} : vector<8xf32>
//       CHECK: %[[S1:.+]] = arith.addf %[[S0]], %{{.+}} : vector<8xf32>
//       CHECK: vector.shuffle %[[S0]], %[[S1]]
//       CHECK: affine.vector_store %{{.+}}[%[[I]] + 7, %[[J]]] : memref<16x43xf32>, vector<8xf32>
//       CHECK: affine.for %[[J:.+]] = 40 to 43 iter_args(%{{.+}} = %[[S]])
//       CHECK: affine.load %{{.+}}[%[[I]] + 7, %[[J]]]
//       CHECK: affine.store %{{.+}}[%[[I]] + 7, %[[J]]]
//       CHECK: return
func.func @turned_scan(%X: memref<16x43xf32>,
                       %Y: memref<16x43xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 43 iter_args(%a = %zero) -> f32 {
      %x = affine.load %X[%i, %j] : memref<16x43xf32>
      %s = arith.addf %a, %x : f32
      affine.store %s, %Y[%i, %j] : memref<16x43xf32>
      affine.yield %s : f32
    }
  }
  return
}

// Many rows are turned a line of them at a time, along all of the lanes, in which
// the result goes on; what is left of them in a nest behind.
// CHECK-LABEL: func @turned_blocks
//       CHECK: affine.for %[[B:.+]] = 0 to #{{.+}}()[%[[N:.+]]] step 16
//  CHECK-NEXT:   affine.for %[[I:.+]] = 0 to 32 step 16
//  CHECK-NEXT:     affine.for %{{.+}} = #{{.+}}(%[[B]]) to #{{.+}}(%[[B]]) step 8
//       CHECK: affine.for %[[I:.+]] = 0 to 32 step 16
//       CHECK:   affine.for %{{.+}} = #{{.+}}()[%[[N]]] to #{{.+}}()[%[[N]]] step 8
//       CHECK:   affine.for %{{.+}} = max #{{.+}}()[%[[N]]] to %[[N]]
//       CHECK: return
func.func @turned_blocks(%X: memref<32x?xf32>,
                         %Z: memref<?x32xf32> {polynest.result}) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %X, %c1 : memref<32x?xf32>
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to %n {
      %x = affine.load %X[%i, %j] : memref<32x?xf32>
      %s = math.exp %x : f32
      affine.store %s, %Z[%j, %i] : memref<?x32xf32>
    }
  }
  return
}

// A loop that begins behind its end runs no more often for having a rest.
// CHECK-LABEL: func @turned_none
//       CHECK: affine.for %[[B:.+]] = 0 to 2
//       CHECK: affine.for %{{.+}} = #[[$FROM:.+]](%[[B]]) to 15 step 8
//       CHECK: affine.for %{{.+}} = #[[$FROM]](%[[B]]) to 16 {
//       CHECK: return
func.func @turned_none(%X: memref<32x48xf32>,
                       %Z: memref<48x32xf32> {polynest.result}) {
  affine.for %b = 0 to 2 {
    affine.for %i = 0 to 32 {
      affine.for %j = affine_map<(d0) -> (d0 * -16 + 31)>(%b) to 16 {
        %x = affine.load %X[%i, %j + 16 * %b] : memref<32x48xf32>
        affine.store %x, %Z[%j + 16 * %b, %i] : memref<48x32xf32>
      }
    }
  }
  return
}

// 600 rows: 37 blocks of 16, and 8 rows.
// CHECK-LABEL: func @turned_rest
//       CHECK: affine.for %{{.+}} = 0 to 592 step 16
//       CHECK: affine.for %{{.+}} = 0 to 32 step 16
//       CHECK: affine.for %{{.+}} = 0 to 32 step 16
//       CHECK:   affine.vector_load %{{.+}}[%{{.+}}, 592]
//       CHECK: return
func.func @turned_rest(%X: memref<32x600xf32>,
                       %Z: memref<600x32xf32> {polynest.result}) {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 600 {
      %x = affine.load %X[%i, %j] : memref<32x600xf32>
      %s = math.exp %x : f32
      affine.store %s, %Z[%j, %i] : memref<600x32xf32>
    }
  }
  return
}

// Long rows of the result in blocks: 1536 lanes three times 512 (2 KiB), 1100
// without a divisor near that, and a number that is not known.
// CHECK-LABEL: func @turned_lanes
//       CHECK: affine.for %[[L:.+]] = 0 to 1536 step 512
//  CHECK-NEXT:   affine.for %[[B:.+]] = 0 to 256 step 16
//  CHECK-NEXT:     affine.for %{{.+}} = #{{.+}}(%[[L]]) to #{{.+}}(%[[L]]) step 16
//  CHECK-NEXT:       affine.for %{{.+}} = #{{.+}}(%[[B]]) to #{{.+}}(%[[B]]) step 8
//       CHECK: affine.for %[[L:.+]] = 0 to 1100 step 512
//  CHECK-NEXT:   affine.for %[[B:.+]] = 0 to 256 step 16
//  CHECK-NEXT:     affine.for %{{.+}} = #{{.+}}(%[[L]]) to min #{{.+}}(%[[L]]) step 16
//       CHECK: affine.for %[[L:.+]] = 0 to %{{.+}} step 512
//  CHECK-NEXT:   affine.for %[[B:.+]] = 0 to 256 step 16
//  CHECK-NEXT:     affine.for %{{.+}} = #{{.+}}(%[[L]]) to min #{{.+}}(%[[L]])[%{{.+}}] step 16
//       CHECK: return
func.func @turned_lanes(%X: memref<1536x256xf32>, %Y: memref<?x256xf32>,
                        %U: memref<256x1536xf32> {polynest.result},
                        %V: memref<256x1100xf32> {polynest.result},
                        %W: memref<256x?xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %Y, %c0 : memref<?x256xf32>
  affine.for %i = 0 to 1536 {
    affine.for %j = 0 to 256 {
      %x = affine.load %X[%i, %j] : memref<1536x256xf32>
      %s = arith.negf %x : f32
      affine.store %s, %U[%j, %i] : memref<256x1536xf32>
    }
  }
  affine.for %i = 0 to 1100 {
    affine.for %j = 0 to 256 {
      %x = affine.load %X[%i, %j] : memref<1536x256xf32>
      %s = arith.negf %x : f32
      affine.store %s, %V[%j, %i] : memref<256x1100xf32>
    }
  }
  affine.for %i = 0 to %n {
    affine.for %j = 0 to 256 {
      %x = affine.load %Y[%i, %j] : memref<?x256xf32>
      %s = arith.negf %x : f32
      affine.store %s, %W[%j, %i] : memref<256x?xf32>
    }
  }
  return
}

// Lanes that go down the result: its rows 512 elements at a time.
// CHECK-LABEL: func @turned_down
//       CHECK: affine.for %[[B:.+]] = 0 to 1536 step 512
//  CHECK-NEXT:   affine.for %{{.+}} = 0 to 256 step
//  CHECK-NEXT:     affine.for %{{.+}} = #{{.+}}(%[[B]]) to #{{.+}}(%[[B]]) step 8
// Short rows of the other array, of 64 elements, are kept: 32 KiB or 128 of them.
//       CHECK: affine.for %[[B:.+]] = 0 to 1536 step 128
//  CHECK-NEXT:   affine.for %{{.+}} = 0 to 64 step
//       CHECK: return
func.func @turned_down(%X: memref<1536x256xf32>, %Y: memref<1536x64xf32>,
                       %Z: memref<256x1536xf32> {polynest.result},
                       %W: memref<64x1536xf32> {polynest.result}) {
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 1536 {
      %x = affine.load %X[%j, %i] : memref<1536x256xf32>
      affine.store %x, %Z[%i, %j] : memref<256x1536xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 1536 {
      %x = affine.load %Y[%j, %i] : memref<1536x64xf32>
      affine.store %x, %W[%i, %j] : memref<64x1536xf32>
    }
  }
  return
}

// Along the rows of two arrays one is turned, not two along those of the third:
// the loops trade places.
// CHECK-LABEL: func @turned_less
//       CHECK: affine.for %[[I:.+]] = 0 to 48 step 16
//       CHECK:   affine.for %[[J:.+]] = 0 to 32 step 8
//       CHECK:     affine.vector_load %arg0[%[[J]], %[[I]]] : memref<32x48xf32>, vector<8xf32>
//       CHECK:     affine.vector_load %arg1[%[[I]], %[[J]]] : memref<48x32xf32>, vector<8xf32>
//       CHECK:     affine.vector_store %{{.+}}[%[[J]] + 7, %[[I]] + 8] : memref<32x48xf32>, vector<8xf32>
//   CHECK-NOT:     vector.shuffle
//       CHECK: return
func.func @turned_less(%X: memref<32x48xf32>, %Y: memref<48x32xf32>,
                       %Z: memref<32x48xf32> {polynest.result}) {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 48 {
      %x = affine.load %X[%i, %j] : memref<32x48xf32>
      %y = affine.load %Y[%j, %i] : memref<48x32xf32>
      %s = arith.addf %x, %y : f32
      affine.store %s, %Z[%i, %j] : memref<32x48xf32>
    }
  }
  return
}

// No squares of what the body also stores (in place), of what an assertion
// guards, or of loops that step over elements.
// CHECK-LABEL: func @not_turned
//       CHECK: affine.for %{{.+}} = 1 to 40 iter_args
//   CHECK-NOT: affine.vector_{{.+}} : memref<32x40xf32>
//       CHECK: affine.for %{{.+}} = 0 to 40 iter_args
//   CHECK-NOT: affine.vector_{{.+}} : memref<32x40xf32>
//       CHECK: affine.for %{{.+}} = 0 to 40 step 2 iter_args
//   CHECK-NOT: affine.vector_{{.+}} : memref<32x40xf32>
//       CHECK: return
func.func @not_turned(%X: memref<32x40xf32> {polynest.mutable}, %n: index,
                      %A: memref<32x40xf32>,
                      %Z: memref<32x40xf32> {polynest.result}) {
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 32 {
    affine.for %j = 1 to 40 iter_args(%a = %zero) -> f32 {
      %x = affine.load %X[%i, %j - 1] : memref<32x40xf32>
      %e = math.exp %x : f32
      %s = arith.mulf %a, %e : f32
      affine.store %s, %X[%i, %j] : memref<32x40xf32>
      affine.yield %s : f32
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 40 iter_args(%a = %zero) -> f32 {
      %ok = arith.cmpi slt, %n, %c40 : index
      cf.assert %ok, "too many"
      %x = affine.load %A[%i, %j] : memref<32x40xf32>
      %e = math.exp %x : f32
      %s = arith.mulf %a, %e : f32
      affine.store %s, %Z[%i, %j] : memref<32x40xf32>
      affine.yield %s : f32
    }
  }
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 40 step 2 iter_args(%a = %zero) -> f32 {
      %x = affine.load %A[%i, %j] : memref<32x40xf32>
      %e = math.exp %x : f32
      %s = arith.mulf %a, %e : f32
      affine.store %s, %Z[%i, %j] : memref<32x40xf32>
      affine.yield %s : f32
    }
  }
  return
}

// An exp takes 15 cycles, in which a sum need not wait for the one before: two
// accumulators would do, ceil(4 * 2 / (15 / 2)), and not eight; four, as four
// exponentials take turns.
// CHECK-LABEL: func @sum_of_exp
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 32 iter_args
//       CHECK: return
func.func @sum_of_exp(%X: memref<1024xf32>,
                      %Y: memref<1xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 1024 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[%i] : memref<1024xf32>
    %e = math.exp %x : f32
    %s = arith.addf %a, %e : f32
    affine.yield %s : f32
  }
  affine.store %r, %Y[0] : memref<1xf32>
  return
}

// Of 15 operations and more one vector would be enough; three functions take
// turns. 128 vectors are 42 groups of three, and two.
// CHECK-LABEL: func @long_function
//       CHECK: affine.for %{{.+}} = 0 to 1008 step 24
//       CHECK: math.tanh
//       CHECK: math.tanh
//       CHECK: math.tanh
//   CHECK-NOT: math.tanh
//       CHECK: affine.vector_store
//       CHECK: return
func.func @long_function(%X: memref<1024xf32>, %Y: memref<1024xf32> {polynest.result}) {
  affine.for %i = 0 to 1024 {
    %x = affine.load %X[%i] : memref<1024xf32>
    %0 = arith.mulf %x, %x : f32
    %1 = arith.mulf %0, %x : f32
    %2 = arith.addf %1, %x : f32
    %3 = arith.mulf %2, %2 : f32
    %4 = arith.addf %3, %x : f32
    %5 = arith.mulf %4, %4 : f32
    %6 = arith.addf %5, %x : f32
    %7 = arith.mulf %6, %6 : f32
    %8 = arith.addf %7, %x : f32
    %9 = arith.mulf %8, %8 : f32
    %10 = arith.addf %9, %x : f32
    %11 = arith.mulf %10, %10 : f32
    %12 = math.tanh %11 : f32
    affine.store %12, %Y[%i] : memref<1024xf32>
  }
  return
}

// Each row ends after a multiple of 32 columns: four vectors leave nothing, and
// eight, which would hide the latency of the sums, would leave four.
// CHECK-LABEL: func @fewer
//       CHECK: affine.for %[[I:.+]] = 0 to 16 {
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}(%[[I]]) step 32 iter_args(
// CHECK-COUNT-4: arith.maximumf %{{.+}} : vector<8xf32>
//   CHECK-NOT: affine.for
//       CHECK: affine.store
func.func @fewer(%X: memref<16x512xf32>, %Y: memref<16xf32> {polynest.result}) {
  %low = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to 16 {
    %r = affine.for %j = 0 to affine_map<(d0) -> (d0 * 32 + 32)>(%i) iter_args(%a = %low) -> f32 {
      %x = affine.load %X[%i, %j] : memref<16x512xf32>
      %m = arith.maximumf %x, %a : f32
      affine.yield %m : f32
    }
    affine.store %r, %Y[%i] : memref<16xf32>
  }
  return
}

// CHECK-LABEL: func @whole
//       CHECK: affine.for %[[I:.+]] = 0 to 16 {
//       CHECK: affine.for %{{.+}} = 0 to #{{.+}}(%[[I]]) step 32 {
// CHECK-COUNT-4: affine.vector_store
//   CHECK-NOT: affine.for
//       CHECK: return
func.func @whole(%X: memref<16x512xf32>, %Y: memref<16x512xf32> {polynest.result}) {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to affine_map<(d0) -> (d0 * 32 + 32)>(%i) {
      %x = affine.load %X[%i, %j] : memref<16x512xf32>
      %y = arith.addf %x, %x : f32
      affine.store %y, %Y[%i, %j] : memref<16x512xf32>
    }
  }
  return
}

// Halves of both rows meet in one vector: lanes 0 and 4 hold the sums.
// CHECK-LABEL: func @two_sums
//       CHECK: %[[R:.+]]:8 = affine.for %{{.+}} = 0 to 64 step 32 iter_args(
//       CHECK: %[[A0:.+]] = arith.addf %[[R]]#2, %[[R]]#3
//  CHECK-NEXT: %[[A:.+]] = arith.addf %{{.+}}, %[[A0]]
//       CHECK: %[[B0:.+]] = arith.addf %[[R]]#6, %[[R]]#7
//  CHECK-NEXT: %[[B:.+]] = arith.addf %{{.+}}, %[[B0]]
//  CHECK-NEXT: %[[L:.+]] = vector.shuffle %[[A]], %[[B]] [0, 1, 2, 3, 8, 9, 10, 11]
//  CHECK-NEXT: %[[H:.+]] = vector.shuffle %[[A]], %[[B]] [4, 5, 6, 7, 12, 13, 14, 15]
//  CHECK-NEXT: %[[S:.+]] = arith.addf %[[L]], %[[H]]
//  CHECK-NEXT: %[[S2:.+]] = vector.shuffle %[[S]], %[[S]] [2, 3, 0, 1, 6, 7, 4, 5]
//  CHECK-NEXT: %[[T:.+]] = arith.addf %[[S]], %[[S2]]
//  CHECK-NEXT: %[[T2:.+]] = vector.shuffle %[[T]], %[[T]] [1, 2, 3, 0, 5, 6, 7, 4]
//  CHECK-NEXT: %[[U:.+]] = arith.addf %[[T]], %[[T2]]
//  CHECK-NEXT: vector.extract %[[U]][0]
//  CHECK-NEXT: vector.extract %[[U]][4]
//       CHECK: return
func.func @two_sums(%X: memref<2x64xf32>, %Y: memref<2xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %r:2 = affine.for %j = 0 to 64 iter_args(%a = %zero, %b = %zero) -> (f32, f32) {
    %x = affine.load %X[0, %j] : memref<2x64xf32>
    %y = affine.load %X[1, %j] : memref<2x64xf32>
    %s = arith.addf %x, %a : f32
    %t = arith.addf %y, %b : f32
    affine.yield %s, %t : f32, f32
  }
  affine.store %r#0, %Y[0] : memref<2xf32>
  affine.store %r#1, %Y[1] : memref<2xf32>
  return
}

// Runs of 1, 2 and 4 lanes hand their last to the run behind them; what came
// before all of the vector is added to all lanes, and to the last one for the next
// vector. 67 = 8 * 8 + 3: the rest goes on from one of the lanes.
// CHECK-LABEL: func @sums_so_far
//  CHECK-SAME: (%[[X:.+]]: memref<67xf32>, %[[Y:.+]]: memref<67xf32> {{.+}}, %[[A:.+]]: f32)
//       CHECK: %[[N:.+]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
//       CHECK: %[[B:.+]] = vector.broadcast %[[A]] : f32 to vector<8xf32>
//       CHECK: %[[V:.+]] = affine.vector_load %[[X]][0]
//       CHECK: %[[P1:.+]] = vector.shuffle %[[V]], %[[N]] [8, 0, 10, 2, 12, 4, 14, 6]
//  CHECK-NEXT: %[[S1:.+]] = arith.addf %[[P1]], %[[V]]
//  CHECK-NEXT: %[[P2:.+]] = vector.shuffle %[[S1]], %[[N]] [8, 9, 1, 1, 12, 13, 5, 5]
//  CHECK-NEXT: %[[S2:.+]] = arith.addf %[[P2]], %[[S1]]
//  CHECK-NEXT: %[[P3:.+]] = vector.shuffle %[[S2]], %[[N]] [8, 9, 10, 11, 3, 3, 3, 3]
//  CHECK-NEXT: %[[S3:.+]] = arith.addf %[[P3]], %[[S2]]
//       CHECK: %[[L:.+]] = vector.shuffle %[[S3]], %[[S3]] [7, 7, 7, 7, 7, 7, 7, 7]
//  CHECK-NEXT: %[[R:.+]] = arith.addf %[[B]], %[[S3]]
//  CHECK-NEXT: %[[C:.+]] = arith.addf %[[B]], %[[L]]
//       CHECK: affine.vector_store %[[R]], %[[Y]][0]
//       CHECK: vector.extract %{{.+}}[0] : f32 from vector<8xf32>
//       CHECK: affine.store %{{.+}}, %[[Y]][66]
//       CHECK: return
func.func @sums_so_far(%X: memref<67xf32>, %Y: memref<67xf32> {polynest.result},
                       %x: f32) {
  affine.for %i = 0 to 67 iter_args(%s = %x) -> f32 {
    %a = affine.load %X[%i] : memref<67xf32>
    %t = arith.addf %s, %a : f32
    affine.store %t, %Y[%i] : memref<67xf32>
    affine.yield %t : f32
  }
  return
}

// Rows that caches hold are turned: lanes stand in eight of them.
// CHECK-LABEL: func @sums_near
//       CHECK: affine.for %[[I:.+]] = 0 to 64 step 8
//       CHECK:   affine.vector_load %{{.+}}[%[[I]] + 7, %{{.+}}]
//       CHECK: return
func.func @sums_near(%X: memref<64x64xf32>, %Y: memref<64x64xf32> {polynest.result},
                     %x: f32) {
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 iter_args(%s = %x) -> f32 {
      %a = affine.load %X[%i, %j] : memref<64x64xf32>
      %t = arith.addf %s, %a : f32
      affine.store %t, %Y[%i, %j] : memref<64x64xf32>
      affine.yield %t : f32
    }
  }
  return
}

// CHECK-LABEL: func @sums_far
//       CHECK: affine.for %[[I:.+]] = 0 to 4096 {
//  CHECK-NEXT:   vector.broadcast
//       CHECK:   affine.vector_load %{{.+}}[%[[I]], %{{.+}}]
//       CHECK: return
func.func @sums_far(%X: memref<4096x4096xf32>, %Y: memref<4096x4096xf32> {polynest.result},
                    %x: f32) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 iter_args(%s = %x) -> f32 {
      %a = affine.load %X[%i, %j] : memref<4096x4096xf32>
      %t = arith.addf %s, %a : f32
      affine.store %t, %Y[%i, %j] : memref<4096x4096xf32>
      affine.yield %t : f32
    }
  }
  return
}

// Eight sums hide the latency of an FMA; before a loop with functions, four.
// CHECK-LABEL: func @leads
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 32 iter_args
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 32 iter_args
//       CHECK: affine.for %{{.+}} = 0 to 1024 step 64 iter_args
func.func @leads(%a: memref<8x1024xf32>, %c: memref<8x2xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %m = affine.for %j = 0 to 1024 iter_args(%s = %least) -> f32 {
      %l = affine.load %a[%i, %j] : memref<8x1024xf32>
      %0 = arith.maximumf %s, %l : f32
      affine.yield %0 : f32
    }
    %r = affine.for %j = 0 to 1024 iter_args(%s = %zero) -> f32 {
      %l = affine.load %a[%i, %j] : memref<8x1024xf32>
      %d = arith.subf %l, %m : f32
      %e = math.exp %d : f32
      %0 = arith.addf %s, %e : f32
      affine.yield %0 : f32
    }
    %n = affine.for %j = 0 to 1024 iter_args(%s = %least) -> f32 {
      %l = affine.load %a[%i, %j] : memref<8x1024xf32>
      %0 = arith.maximumf %s, %l : f32
      affine.yield %0 : f32
    }
    affine.store %r, %c[%i, 0] : memref<8x2xf32>
    affine.store %n, %c[%i, 1] : memref<8x2xf32>
  }
  return
}

// Four exponentials side by side: of one row by four vectors, of two by two.
// CHECK-LABEL: func @functions
//       CHECK: affine.for %{{.+}} = 0 to 64 step 32 iter_args
// CHECK-COUNT-4: math.exp %{{.+}} : vector<8xf32>
//   CHECK-NOT: math.exp
//       CHECK: } {polynest.vectorized}
//       CHECK: affine.for %{{.+}} = 0 to 64 step 16 iter_args
// CHECK-COUNT-4: math.exp %{{.+}} : vector<8xf32>
//   CHECK-NOT: math.exp
//       CHECK: } {polynest.vectorized}
//       CHECK: return
func.func @functions(%X: memref<2x64xf32>, %Y: memref<3xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %s = affine.for %i = 0 to 64 iter_args(%a = %zero) -> f32 {
    %x = affine.load %X[0, %i] : memref<2x64xf32>
    %e = math.exp %x : f32
    %t = arith.addf %a, %e : f32
    affine.yield %t : f32
  }
  affine.store %s, %Y[0] : memref<3xf32>
  %u:2 = affine.for %i = 0 to 64 iter_args(%a = %zero, %b = %zero)
      -> (f32, f32) {
    %x = affine.load %X[0, %i] : memref<2x64xf32>
    %y = affine.load %X[1, %i] : memref<2x64xf32>
    %e = math.exp %x : f32
    %f = math.exp %y : f32
    %t = arith.addf %a, %e : f32
    %v = arith.addf %b, %f : f32
    affine.yield %t, %v : f32, f32
  }
  affine.store %u#0, %Y[1] : memref<3xf32>
  affine.store %u#1, %Y[2] : memref<3xf32>
  return
}
