// Properties: sums of zeros times what each block leaves out begin with those of
// the next, made in front of the blocks, where iterations for all cores stay
// outside (@heads) and no block writes what is summed up (@written); the option
// has a range.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=1}))' | FileCheck %s --check-prefixes=CHECK,FEW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=2}))' | FileCheck %s --check-prefixes=CHECK,MANY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=0}))' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=65537}))' 2>&1 | FileCheck %s --check-prefix=LARGE

//     ZERO: option cores has value 0; it must be 1 to 65536
// NEGATIVE: option cores has value -1; it must be 1 to 65536
//    LARGE: option cores has value 65537; it must be 1 to 65536

// Blocks end at columns 16, 32, 48 and 64: three sums, of 16 columns each, of
// which the blocks add up 3, 2, 1 and none. Three heads are enough for one core.
// CHECK-DAG: #[[$END:.+]] = affine_map<(d0) -> (d0 * 16 + 16)>
//   FEW-DAG: #[[$NEXT:.+]] = affine_map<(d0) -> (d0 * 16 + 32, 64)>
//   FEW-DAG: #[[$SAME:.+]] = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func @heads
//       CHECK: affine.for %{{.+}} = 0 to 3 {
//    FEW-NEXT: %[[SUMS:.+]] = memref.alloc() {{.*}} : memref<3x8xf32>
//         FEW: affine.for %[[T:.+]] = 0 to 3 {
//    FEW-NEXT: affine.for %[[E:.+]] = 0 to 8 {
//         FEW: %[[R:.+]] = affine.for %[[J:.+]] = #[[$END]](%[[T]]) to min #[[$NEXT]](%[[T]]) iter_args
//    FEW-NEXT: affine.load %{{.+}}[%[[J]], %[[E]]] : memref<64x8xf32>
//         FEW: affine.store %[[R]], %[[SUMS]][%[[T]], %[[E]]]
//       CHECK: affine.for %[[IB:.+]] = 0 to 4 {
//       CHECK: arith.divf
//       CHECK: memref.alloc() {{.*}} : memref<8xf32>
//       CHECK: affine.for %[[F:.+]] = 0 to 8 {
//         FEW: affine.for %[[U:.+]] = #[[$SAME]](%[[IB]]) to 3 iter_args
//    FEW-NEXT: affine.load %[[SUMS]][%[[U]], %[[F]]]
//        MANY: affine.for %[[J:.+]] = #[[$END]](%[[IB]]) to 64 iter_args
//   MANY-NEXT: affine.load %{{.+}}[%[[J]], %[[F]]] : memref<64x8xf32>
//       CHECK: return
func.func @heads(%x: memref<3x64x64xf32>, %v: memref<64x8xf32>,
                %o: memref<3x64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %h = 0 to 3 {
    affine.for %ib = 0 to 4 {
      %s = memref.alloc() : memref<16x64xf32>
      affine.for %i = 0 to 16 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%h, %ib * 16 + %i, %j] : memref<3x64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 16 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<16x64xf32>
        }
      }
      affine.for %i = 0 to 16 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<16x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<16x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<16x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<16x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<16x64xf32>
        }
      }
      affine.for %i = 0 to 16 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<16x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%h, %ib * 16 + %i, %e] : memref<3x64x8xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @written
//       CHECK: affine.for %{{.+}} = 0 to 3 {
//  CHECK-NEXT: affine.for %[[IB:.+]] = 0 to 4 {
//       CHECK: affine.for %{{.+}} = #[[$END]](%[[IB]]) to 64 iter_args
//       CHECK: return
func.func @written(%x: memref<3x64x64xf32>, %v: memref<64x8xf32> {polynest.mutable},
                %o: memref<3x64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %h = 0 to 3 {
    affine.for %ib = 0 to 4 {
      %s = memref.alloc() : memref<16x64xf32>
      affine.for %e = 0 to 8 {
        affine.store %zero, %v[%ib * 16, %e] : memref<64x8xf32>
      }
      affine.for %i = 0 to 16 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%h, %ib * 16 + %i, %j] : memref<3x64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 16 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<16x64xf32>
        }
      }
      affine.for %i = 0 to 16 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<16x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<16x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<16x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<16x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<16x64xf32>
        }
      }
      affine.for %i = 0 to 16 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<16x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%h, %ib * 16 + %i, %e] : memref<3x64x8xf32>
        }
      }
    }
  }
  return
}
