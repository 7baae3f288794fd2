// Properties: columns that lie along the reduction are evaluated for a whole vector
// of it and turned in registers, with operands that stand still there, which are
// spread, and whatever is computed from these (@scaled); so are words of narrow
// elements that a constant is taken off (@zero_point), and columns with a scale for
// each group of whole vectors (@groups). Columns of which another operand lies along
// the lanes are evaluated one by one (@both), and so are those whose scale changes
// within a vector (@short_groups, @cut_groups), indices (@indices), and rows of words
// whose elements lie apart (@apart).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=256 dots=s16s16x2}))' | FileCheck %s
// RUN: polynestc run %s --entry scaled --check
// RUN: polynestc run %s --entry zero_point --check
// RUN: polynestc run %s --entry both --check
// RUN: polynestc run %s --entry apart --check
// RUN: polynestc run %s --entry groups --check
// RUN: polynestc run %s --entry short_groups --check
// RUN: polynestc run %s --entry cut_groups --check
// RUN: polynestc run %s --entry indices --check

// The scale's square is the same for all points of a row: one number, spread.
// CHECK-LABEL: func @scaled
//       CHECK: affine.vector_load %{{.+}} : memref<75x133xi8>, vector<8xi8>
//       CHECK: arith.sitofp %{{.+}} : vector<8xi8> to vector<8xf32>
//       CHECK: %[[S:.+]] = affine.load %{{.+}} : memref<75xf32>
//       CHECK: %[[P:.+]] = arith.mulf %[[S]], %[[S]] : f32
//       CHECK: %[[V:.+]] = vector.broadcast %[[P]] : f32 to vector<8xf32>
//       CHECK: arith.mulf %{{.+}}, %[[V]] : vector<8xf32>
//       CHECK: vector.shuffle
//       CHECK: return
func.func @scaled(%x: memref<70x133xf32>, %q: memref<75x133xi8>,
                  %s: memref<75xf32>, %o: memref<70x75xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 133 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<70x133xf32>
        %d = affine.load %q[%j, %k] : memref<75x133xi8>
        %e = arith.sitofp %d : i8 to f32
        %f = affine.load %s[%j] : memref<75xf32>
        %g = arith.mulf %f, %f : f32
        %h = arith.mulf %e, %g : f32
        %m = arith.mulf %c, %h : f32
        %n = arith.subf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xf32>
    }
  }
  return
}

// CHECK-LABEL: func @zero_point
//       CHECK: affine.vector_load %{{.+}} : memref<75x136xi8>, vector<16xi8>
//       CHECK: arith.extui %{{.+}} : vector<16xi8> to vector<16xi32>
//       CHECK: arith.subi %{{.+}} : vector<16xi32>
//       CHECK: vector.shuffle
//       CHECK: return
func.func @zero_point(%x: memref<70x136xi8>, %q: memref<75x136xi8>,
                      %o: memref<70x75xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 136 iter_args(%a = %zero) -> i32 {
        %half = arith.constant 8 : i32
        %c = affine.load %x[%i, %k] : memref<70x136xi8>
        %b = arith.extsi %c : i8 to i32
        %d = affine.load %q[%j, %k] : memref<75x136xi8>
        %e = arith.extui %d : i8 to i32
        %h = arith.subi %e, %half : i32
        %m = arith.muli %b, %h : i32
        %n = arith.addi %a, %m : i32
        affine.yield %n : i32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xi32>
    }
  }
  return
}

// CHECK-LABEL: func @both
//   CHECK-NOT: vector.shuffle
//       CHECK: return
func.func @both(%x: memref<70x133xf32>, %q: memref<75x133xf32>,
                %s: memref<133x75xf32>, %o: memref<70x75xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 133 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<70x133xf32>
        %d = affine.load %q[%j, %k] : memref<75x133xf32>
        %f = affine.load %s[%k, %j] : memref<133x75xf32>
        %h = arith.mulf %d, %f : f32
        %m = arith.mulf %c, %h : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xf32>
    }
  }
  return
}

// CHECK-LABEL: func @apart
//   CHECK-NOT: vector_load %{{.+}} : memref<70x272xi8>
//       CHECK: return
func.func @apart(%x: memref<70x272xi8> {polynest.constant}, %q: memref<75x136xi8>,
                 %o: memref<70x75xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 136 iter_args(%a = %zero) -> i32 {
        %c = affine.load %x[%i, %k * 2] : memref<70x272xi8>
        %b = arith.extsi %c : i8 to i32
        %d = affine.load %q[%j, %k] : memref<75x136xi8>
        %e = arith.extsi %d : i8 to i32
        %m = arith.muli %b, %e : i32
        %n = arith.addi %a, %m : i32
        affine.yield %n : i32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xi32>
    }
  }
  return
}

// CHECK-LABEL: func @groups
//       CHECK: affine.vector_load %{{.+}} : memref<75x140xi8>, vector<8xi8>
//       CHECK: %[[S:.+]] = affine.load %{{.+}} floordiv 32] : memref<75x5xf32>
//       CHECK: vector.broadcast %[[S]] : f32 to vector<8xf32>
//       CHECK: vector.shuffle
//       CHECK: return
func.func @groups(%x: memref<70x140xf32>, %q: memref<75x140xi8>,
                  %s: memref<75x5xf32>,
                 %o: memref<70x75xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 140 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<70x140xf32>
        %d = affine.load %q[%j, %k] : memref<75x140xi8>
        %e = arith.sitofp %d : i8 to f32
        %f = affine.load %s[%j, %k floordiv 32] : memref<75x5xf32>
        %h = arith.mulf %e, %f : f32
        %m = arith.mulf %c, %h : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xf32>
    }
  }
  return
}

// CHECK-LABEL: func @short_groups
//   CHECK-NOT: vector.shuffle
//       CHECK: return
func.func @short_groups(%x: memref<70x132xf32>, %q: memref<75x132xi8>,
                        %s: memref<75x33xf32>,
                        %o: memref<70x75xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 132 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<70x132xf32>
        %d = affine.load %q[%j, %k] : memref<75x132xi8>
        %e = arith.sitofp %d : i8 to f32
        %f = affine.load %s[%j, %k floordiv 4] : memref<75x33xf32>
        %h = arith.mulf %e, %f : f32
        %m = arith.mulf %c, %h : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xf32>
    }
  }
  return
}

// CHECK-LABEL: func @cut_groups
//   CHECK-NOT: vector.shuffle
//       CHECK: return
func.func @cut_groups(%x: memref<70x136xf32>, %q: memref<75x136xi8>,
                      %s: memref<75x12xf32>,
                      %o: memref<70x75xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 136 iter_args(%a = %zero) -> f32 {
        %c = affine.load %x[%i, %k] : memref<70x136xf32>
        %d = affine.load %q[%j, %k] : memref<75x136xi8>
        %e = arith.sitofp %d : i8 to f32
        %f = affine.load %s[%j, %k floordiv 12] : memref<75x12xf32>
        %h = arith.mulf %e, %f : f32
        %m = arith.mulf %c, %h : f32
        %n = arith.addf %a, %m : f32
        affine.yield %n : f32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xf32>
    }
  }
  return
}

// CHECK-LABEL: func @indices
//   CHECK-NOT: vector
//       CHECK: arith.index_cast %{{.+}} : index to i32
//   CHECK-NOT: vector.shuffle
//       CHECK: return
func.func @indices(%x: memref<70x133xi32>, %q: memref<75x133xindex>,
                   %o: memref<70x75xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 70 {
    affine.for %j = 0 to 75 {
      %t = affine.for %k = 0 to 133 iter_args(%a = %zero) -> i32 {
        %c = affine.load %x[%i, %k] : memref<70x133xi32>
        %d = affine.load %q[%j, %k] : memref<75x133xindex>
        %h = arith.index_cast %d : index to i32
        %m = arith.muli %c, %h : i32
        %n = arith.addi %a, %m : i32
        affine.yield %n : i32
      }
      affine.store %t, %o[%i, %j] : memref<70x75xi32>
    }
  }
  return
}
