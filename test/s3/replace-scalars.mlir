// Properties: a location is carried through one reduction loop and its initial
// value forwarded (@matmul); through three, under one guard, since they may not
// run and nothing says that the location exists then (@conv); two locations at
// once (@maximum_and_sum); a view of distinct constant offset does not disturb
// (@neighbour); vectors too (@vector); values are forwarded into loops and out
// of blocks, and dead stores go (@forward, @dead); what two loops in each other
// carry twice they carry once, also where a loop that runs once fills in the
// first value (@twice), with other values between (@between) and changed in
// turn (@in_turn); a second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-replace-scalars))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-replace-scalars))' | diff %t.once -

// CHECK-DAG: #[[$GUARD:.+]] = affine_set<(){{.+}} : (s0 - 1 >= 0, s1 - 1 >= 0, s2 - 1 >= 0)>

// CHECK-LABEL: func @matmul
//  CHECK-SAME: (%{{.+}}, %{{.+}}, %[[C:.+]]: memref<8x12xf32>
//       CHECK: %[[Z:.+]] = arith.constant 0.0
//       CHECK: affine.for %[[I:.+]] = 0 to 8
//  CHECK-NEXT: affine.for %[[J:.+]] = 0 to 12
//  CHECK-NEXT: %[[R:.+]] = affine.for %{{.+}} = 0 to 16 iter_args(%[[X:.+]] = %[[Z]])
//   CHECK-NOT: %[[C]]
//       CHECK: %[[S:.+]] = arith.addf %[[X]]
//  CHECK-NEXT: affine.yield %[[S]]
//       CHECK: affine.store %[[R]], %[[C]][%[[I]], %[[J]]]
//       CHECK: return
func.func @matmul(%A: memref<8x16xf32>, %B: memref<16x12xf32>,
                  %C: memref<8x12xf32> {polynest.result}) {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 12 {
      affine.store %z, %C[%i, %j] : memref<8x12xf32>
      affine.for %k = 0 to 16 {
        %a = affine.load %A[%i, %k] : memref<8x16xf32>
        %b = affine.load %B[%k, %j] : memref<16x12xf32>
        %c = affine.load %C[%i, %j] : memref<8x12xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<8x12xf32>
      }
    }
  }
  return
}

// CHECK-LABEL: func @conv
//  CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x?xf32> {polynest.result}
//       CHECK: affine.for %[[I:.+]] =
//  CHECK-NEXT: affine.for %[[J:.+]] =
//  CHECK-NEXT: affine.if #[[$GUARD]]
//  CHECK-NEXT: %[[INIT:.+]] = affine.load %[[C]][%[[I]], %[[J]]]
//  CHECK-NEXT: %[[R0:.+]] = affine.for {{.+}} iter_args(%[[X0:.+]] = %[[INIT]])
//  CHECK-NEXT: %[[R1:.+]] = affine.for {{.+}} iter_args(%[[X1:.+]] = %[[X0]])
//  CHECK-NEXT: %[[R2:.+]] = affine.for {{.+}} iter_args(%[[X2:.+]] = %[[X1]])
//       CHECK: %[[S:.+]] = arith.addf %[[X2]]
//  CHECK-NEXT: affine.yield %[[S]]
//       CHECK: affine.yield %[[R2]]
//       CHECK: affine.yield %[[R1]]
//       CHECK: affine.store %[[R0]], %[[C]][%[[I]], %[[J]]]
//       CHECK: return
func.func @conv(%A: memref<?x?x?xf32>, %W: memref<?x?x?xf32>,
                %C: memref<?x?xf32> {polynest.result}, %n: index, %m: index,
                %r: index, %s: index, %t: index) {
  affine.for %i = 0 to %n {
    affine.for %j = 0 to %m {
      affine.for %k = 0 to %r {
        affine.for %l = 0 to %s {
          affine.for %q = 0 to %t {
            %a = affine.load %A[%i + %k, %j + %l, %q] : memref<?x?x?xf32>
            %b = affine.load %W[%k, %l, %q] : memref<?x?x?xf32>
            %c = affine.load %C[%i, %j] : memref<?x?xf32>
            %p = arith.mulf %a, %b : f32
            %d = arith.addf %c, %p : f32
            affine.store %d, %C[%i, %j] : memref<?x?xf32>
          }
        }
      }
    }
  }
  return
}

// The location is stored beside the loop, so it exists: no guard.
// CHECK-LABEL: func @maximum_and_sum
//   CHECK-NOT: affine.if
//       CHECK: %{{.+}}:2 = affine.for {{.+}} iter_args
//   CHECK-NOT: affine.store
//       CHECK: affine.yield
//       CHECK: affine.store
//       CHECK: affine.store
//       CHECK: return
func.func @maximum_and_sum(%A: memref<?xf32>, %M: memref<f32> {polynest.result},
                           %S: memref<f32> {polynest.result}, %n: index,
                           %init: f32) {
  affine.store %init, %M[] : memref<f32>
  affine.store %init, %S[] : memref<f32>
  affine.for %i = 0 to %n {
    %a = affine.load %A[%i] : memref<?xf32>
    %m = affine.load %M[] : memref<f32>
    %m1 = arith.maximumf %m, %a : f32
    affine.store %m1, %M[] : memref<f32>
    %s = affine.load %S[] : memref<f32>
    %s1 = arith.addf %s, %a : f32
    affine.store %s1, %S[] : memref<f32>
  }
  return
}

// Both locations are carried: [2 i] and [2 i + 1] differ by a constant.
// CHECK-LABEL: func @neighbour
//       CHECK: affine.for
//       CHECK: %{{.+}}:2 = affine.for
//   CHECK-NOT: affine.store
//       CHECK: affine.yield
//       CHECK: affine.store
//       CHECK: affine.store
//       CHECK: return
func.func @neighbour(%A: memref<16xf32>, %x: f32) {
  affine.for %i = 0 to 8 {
    affine.for %k = 0 to 4 {
      %a = affine.load %A[2 * %i] : memref<16xf32>
      %s = arith.addf %a, %x : f32
      affine.store %s, %A[2 * %i] : memref<16xf32>
      %b = affine.load %A[2 * %i + 1] : memref<16xf32>
      %t = arith.mulf %b, %x : f32
      affine.store %t, %A[2 * %i + 1] : memref<16xf32>
    }
  }
  return
}

// CHECK-LABEL: func @vector
//       CHECK: %[[L:.+]] = affine.vector_load
//       CHECK: affine.for {{.+}} iter_args(%{{.+}} = %[[L]]) -> (vector<8xf32>)
//   CHECK-NOT: affine.vector_store
//       CHECK: affine.yield
//       CHECK: affine.vector_store
//       CHECK: return
func.func @vector(%A: memref<64xf32>, %x: vector<8xf32>) {
  affine.for %k = 0 to 4 {
    %a = affine.vector_load %A[8] : memref<64xf32>, vector<8xf32>
    %s = arith.addf %a, %x : vector<8xf32>
    affine.vector_store %s, %A[8] : memref<64xf32>, vector<8xf32>
  }
  return
}

// The first store is overwritten unread; the loads inside the loop, which may
// not run, take the value of the second.
// CHECK-LABEL: func @forward
//  CHECK-SAME: (%[[A:.+]]: memref<f32>, %{{.+}}: memref<?xf32> {polynest.result}, %{{.+}}: index, %[[X:.+]]: f32, %[[Y:.+]]: f32)
//  CHECK-NEXT: affine.store %[[X]], %[[A]][]
//  CHECK-NEXT: affine.for
//  CHECK-NEXT: arith.addf %[[X]], %[[X]]
//       CHECK: return
func.func @forward(%A: memref<f32>, %B: memref<?xf32> {polynest.result},
                   %n: index, %x: f32, %y: f32) {
  affine.store %y, %A[] : memref<f32>
  affine.store %x, %A[] : memref<f32>
  affine.for %i = 0 to %n {
    %a = affine.load %A[] : memref<f32>
    %b = affine.load %A[] : memref<f32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %B[%i] : memref<?xf32>
  }
  return
}

// A store of what was just loaded goes; so does the load's second copy.
// CHECK-LABEL: func @dead
//       CHECK: affine.for
//  CHECK-NEXT: %[[L:.+]] = affine.load
//  CHECK-NEXT: %[[S:.+]] = arith.addf %[[L]], %[[L]]
//  CHECK-NEXT: affine.store %[[S]]
//  CHECK-NEXT: }
//       CHECK: return
func.func @dead(%A: memref<8xf32>, %B: memref<8xf32> {polynest.result}) {
  affine.for %i = 0 to 8 {
    %a = affine.load %A[%i] : memref<8xf32>
    affine.store %a, %A[%i] : memref<8xf32>
    %b = affine.load %A[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %B[%i] : memref<8xf32>
  }
  return
}

// CHECK-LABEL: func @twice
//  CHECK-SAME: (%[[A:.+]]: memref<7x9xf32>, %[[R:.+]]: memref<f32> {{.+}}, %[[S:.+]]: memref<1x1xf32>
//       CHECK: %[[Z:.+]] = arith.constant 0.0
//   CHECK-NOT: affine.store
//       CHECK: %[[O:.+]] = affine.for %[[I:.+]] = 0 to 7 iter_args(%[[X:.+]] = %[[Z]]) -> (f32)
//  CHECK-NEXT: %[[N:.+]] = affine.for %[[J:.+]] = 0 to 9 iter_args(%[[Y:.+]] = %[[X]]) -> (f32)
//  CHECK-NEXT: %[[L:.+]] = affine.load %[[A]][%[[I]], %[[J]]]
//  CHECK-NEXT: %[[T:.+]] = arith.addf %[[L]], %[[Y]]
//  CHECK-NEXT: affine.yield %[[T]]
//       CHECK: affine.yield %[[N]]
//   CHECK-DAG: affine.store %[[O]], %[[R]][]
//   CHECK-DAG: affine.store %[[O]], %[[S]][0, 0]
//       CHECK: return
func.func @twice(%A: memref<7x9xf32>, %R: memref<f32> {polynest.result},
                 %S: memref<1x1xf32> {polynest.result}) {
  %z = arith.constant 0.0 : f32
  affine.store %z, %R[] : memref<f32>
  affine.for %i = 0 to 1 {
    affine.store %z, %S[%i, 0] : memref<1x1xf32>
  }
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to 9 {
      %a = affine.load %A[%i, %j] : memref<7x9xf32>
      %r = affine.load %R[] : memref<f32>
      %r1 = arith.addf %a, %r : f32
      affine.store %r1, %R[] : memref<f32>
      %b = affine.load %A[%i, %j] : memref<7x9xf32>
      %s = affine.load %S[0, 0] : memref<1x1xf32>
      %s1 = arith.addf %b, %s : f32
      affine.store %s1, %S[0, 0] : memref<1x1xf32>
    }
  }
  return
}

// CHECK-LABEL: func @between
//       CHECK: %[[O:.+]]:2 = affine.for %{{.+}} = 0 to %{{.+}} iter_args(%[[S:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}}) -> (f32, f32)
//       CHECK: %[[Q:.+]] = arith.mulf %{{.+}}, %{{.+}}
//       CHECK: %[[T:.+]] = arith.addf %[[S]], %[[Q]]
//       CHECK: %[[U:.+]] = arith.maximumf %[[P]], %[[Q]]
//   CHECK-NOT: arith
//       CHECK: affine.yield %[[T]], %[[U]]
//       CHECK: return %[[O]]#0, %[[O]]#1, %[[O]]#0
func.func @between(%A: memref<?xf32>, %n: index) -> (f32, f32, f32) {
  %z = arith.constant 0.0 : f32
  %z2 = arith.constant 0.0 : f32
  %m = arith.constant 1.0 : f32
  %r:3 = affine.for %i = 0 to %n iter_args(%x = %z, %y = %m, %w = %z2) -> (f32, f32, f32) {
    %a = affine.load %A[%i] : memref<?xf32>
    %p = arith.mulf %a, %a : f32
    %q = arith.mulf %a, %a : f32
    %x1 = arith.addf %x, %p : f32
    %y1 = arith.maximumf %y, %p : f32
    %w1 = arith.addf %w, %q : f32
    affine.yield %x1, %y1, %w1 : f32, f32, f32
  }
  return %r#0, %r#1, %r#2 : f32, f32, f32
}

// Each is computed from the other: the same, if they were before.
// CHECK-LABEL: func @in_turn
//       CHECK: %[[O:.+]] = affine.for %{{.+}} = 0 to %{{.+}} iter_args(%[[S:.+]] = %{{.+}}) -> (f32)
//       CHECK: %[[T:.+]] = arith.addf %[[S]], %{{.+}}
//  CHECK-NEXT: affine.yield %[[T]]
//       CHECK: return %[[O]], %[[O]]
func.func @in_turn(%A: memref<?xf32>, %n: index, %z: f32) -> (f32, f32) {
  %r:2 = affine.for %i = 0 to %n iter_args(%x = %z, %y = %z) -> (f32, f32) {
    %a = affine.load %A[%i] : memref<?xf32>
    %x1 = arith.addf %y, %a : f32
    %y1 = arith.addf %x, %a : f32
    affine.yield %x1, %y1 : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}
