// Properties: where the last terms of sums are idle by the row, micro-tiles end with
// their last row (@idle), also where one is of two such groups (@uneven) and the depth
// has several blocks (@deep).
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=512 vector-registers=32 l1-size-kib=48 l2-size-kib=1024}))' | FileCheck %s
// RUN: polynestc run %s --entry idle --check
// RUN: polynestc run %s --entry uneven --check
// RUN: polynestc run %s --entry deep --check

// Eight rows at a time hold zeros from a column on.
#idle_end = affine_map<(b) -> (b * 16 + 16)>
#idle_lower = affine_map<(b, i) -> (b * 16 + i floordiv 8 * 8 + 8)>
#two = affine_map<(i) -> (8 - i floordiv 8 * 8)>
#uneven_end = affine_map<(b) -> (b * 24 + 24)>
#uneven_lower = affine_map<(b, i) -> (b * 24 + i floordiv 8 * 8 + 8)>
#three = affine_map<(i) -> (16 - i floordiv 8 * 8)>
#deep_end = affine_map<(b) -> (b * 640 + 16)>
#deep_lower = affine_map<(b, i) -> (b * 640 + i floordiv 8 * 8 + 8)>

// The bound of the depth is that of the last row of a tile.
// CHECK-DAG: #[[$IDLE:.+]] = affine_map<(d0, d1) -> (d0 * 16 + 16, d0 * 16 + ((d1 + {{[0-9]+}}) floordiv 8) * 8 + 8)>
// CHECK-LABEL: func @idle
//       CHECK: affine.for %[[R:.+]] = 0 to 16 step
//       CHECK: = affine.for %{{.+}} = 0 to min #[[$IDLE]](%{{.+}}, %[[R]])
//       CHECK: vector.fma
//       CHECK: return
func.func @idle(%x: memref<128x128xf32>, %v: memref<128x32xf32>,
    %o: memref<128x32xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to 8 {
    %p = memref.alloc() : memref<16x128xf32>
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 128 {
        %0 = affine.load %x[%b * 16 + %i, %j] : memref<128x128xf32>
        %l = affine.apply #idle_lower(%b, %i)
        %c = arith.cmpi slt, %j, %l : index
        %1 = arith.select %c, %0, %zero : f32
        affine.store %1, %p[%i, %j] : memref<16x128xf32>
      }
    }
    affine.for %i = 0 to 16 {
      affine.for %n = 0 to 32 {
        %s = affine.for %j = 0 to #idle_end(%b) iter_args(%a = %zero) -> f32 {
          %0 = affine.load %p[%i, %j] : memref<16x128xf32>
          %1 = affine.load %v[%j, %n] : memref<128x32xf32>
          %2 = arith.mulf %0, %1 : f32
          %3 = arith.addf %a, %2 : f32
          affine.yield %3 : f32
        }
        affine.store %s, %o[%b * 16 + %i, %n] : memref<128x32xf32>
      }
    } {polynest.idle_tail = #two}
  }
  return
}

// CHECK-LABEL: func @uneven
//       CHECK: = affine.for %{{.+}} = 0 to min #{{.+}}(%{{.+}}, %{{.+}}) iter_args
//       CHECK: vector.fma
//       CHECK: return
func.func @uneven(%x: memref<120x120xf32>, %v: memref<120x64xf32>,
    %o: memref<120x64xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to 5 {
    %p = memref.alloc() : memref<24x120xf32>
    affine.for %i = 0 to 24 {
      affine.for %j = 0 to 120 {
        %0 = affine.load %x[%b * 24 + %i, %j] : memref<120x120xf32>
        %l = affine.apply #uneven_lower(%b, %i)
        %c = arith.cmpi slt, %j, %l : index
        %1 = arith.select %c, %0, %zero : f32
        affine.store %1, %p[%i, %j] : memref<24x120xf32>
      }
    }
    affine.for %i = 0 to 24 {
      affine.for %n = 0 to 64 {
        %s = affine.for %j = 0 to #uneven_end(%b) iter_args(%a = %zero) -> f32 {
          %0 = affine.load %p[%i, %j] : memref<24x120xf32>
          %1 = affine.load %v[%j, %n] : memref<120x64xf32>
          %2 = arith.mulf %0, %1 : f32
          %3 = arith.addf %a, %2 : f32
          affine.yield %3 : f32
        }
        affine.store %s, %o[%b * 24 + %i, %n] : memref<120x64xf32>
      }
    } {polynest.idle_tail = #three}
  }
  return
}

// The last block of depth may be shorter by all that is idle.
// CHECK-LABEL: func @deep
//       CHECK: = affine.for %{{.+}} = 0 to min #{{.+}}(%{{.+}}, %{{.+}}, %{{.+}}) iter_args
//       CHECK: vector.fma
//       CHECK: return
func.func @deep(%x: memref<48x1296xf32>, %v: memref<1296x32xf32>,
    %o: memref<48x32xf32> {polynest.result}) attributes {polynest.entry} {
  %zero = arith.constant 0.0 : f32
  affine.for %b = 0 to 3 {
    %p = memref.alloc() : memref<16x1296xf32>
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 1296 {
        %0 = affine.load %x[%b * 16 + %i, %j] : memref<48x1296xf32>
        %l = affine.apply #deep_lower(%b, %i)
        %c = arith.cmpi slt, %j, %l : index
        %1 = arith.select %c, %0, %zero : f32
        affine.store %1, %p[%i, %j] : memref<16x1296xf32>
      }
    }
    affine.for %i = 0 to 16 {
      affine.for %n = 0 to 32 {
        %s = affine.for %j = 0 to #deep_end(%b) iter_args(%a = %zero) -> f32 {
          %0 = affine.load %p[%i, %j] : memref<16x1296xf32>
          %1 = affine.load %v[%j, %n] : memref<1296x32xf32>
          %2 = arith.mulf %0, %1 : f32
          %3 = arith.addf %a, %2 : f32
          affine.yield %3 : f32
        }
        affine.store %s, %o[%b * 16 + %i, %n] : memref<48x32xf32>
      }
    } {polynest.idle_tail = #two}
  }
  return
}
