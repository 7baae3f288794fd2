// Columns of two loops, of which the inner one runs once: the micro-tile and the
// packed columns took that for the loop of all columns, and read and wrote
// elsewhere.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | FileCheck %s

// CHECK-LABEL: func @column
//  CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x200x9xf32>, %{{.+}}: memref<64x40xf32>, %[[R:[a-z0-9]+]]: memref<40x200x9xf32>
//       CHECK: affine.load %[[X]][%{{.+}}, %{{.+}}, 5]
//   CHECK-NOT: affine.load %[[X]][{{.*[^5]}}]
//       CHECK: affine.store %{{.+}}, %[[R]][%{{.+}}, %{{.+}}, 5]
//   CHECK-NOT: affine.store %{{.+}}, %[[R]][{{.*[^5]}}]
//       CHECK: return
func.func @column(%x: memref<64x200x9xf32>, %w: memref<64x40xf32>, %r: memref<40x200x9xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %f = 0 to 40 {
    affine.for %i = 0 to 200 {
      affine.for %j = 5 to 6 {
        %s = affine.for %k = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %x[%k, %i, %j] : memref<64x200x9xf32>
          %1 = affine.load %w[%k, %f] : memref<64x40xf32>
          %2 = arith.mulf %0, %1 : f32
          %3 = arith.addf %a, %2 : f32
          affine.yield %3 : f32
        }
        affine.store %s, %r[%f, %i, %j] : memref<40x200x9xf32>
      }
    }
  }
  return
}
