// Properties: sums of zeros times what is left out begin with those of what comes
// later, made in front of the blocks, where iterations for all cores stay outside
// (@heads) and no block writes what is summed up (@written). They are made for each
// few rows then, and the loop over rows says how many terms are idle: not where the
// first rows would keep no column (@shifted), nor where rows change places on the way
// (@turned). The option has a range.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=1}))' | FileCheck %s --check-prefixes=CHECK,FEW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=2}))' | FileCheck %s --check-prefixes=CHECK,MANY
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=0}))' 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=-1}))' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops{cores=65537}))' 2>&1 | FileCheck %s --check-prefix=LARGE

//     ZERO: option cores has value 0; it must be 1 to 65536
// NEGATIVE: option cores has value -1; it must be 1 to 65536
//    LARGE: option cores has value 65537; it must be 1 to 65536

// Rows end at columns 8, 16, ... and 64: seven sums, of 8 columns each and of what
// follows, and none behind the last. Three heads are enough for one core.
// CHECK-DAG: #[[$END:.+]] = affine_map<(d0) -> (d0 * 16 + 16)>
//   FEW-DAG: #[[$FROM:.+]] = affine_map<(d0) -> ((-d0 + 6) * 8 + 8)>
//   FEW-DAG: #[[$TO:.+]] = affine_map<(d0) -> ((-d0 + 6) * 8 + 16, 64)>
//   FEW-DAG: #[[$IDLE:.+]] = affine_map<(d0) -> ((d0 floordiv 8) * -8 + 8)>
// CHECK-LABEL: func @heads
//       CHECK: affine.for %{{.+}} = 0 to 3 {
//    FEW-NEXT: %[[SUMS:.+]] = memref.alloc() {{.*}} : memref<8x8xf32>
//         FEW: affine.for %[[L:.+]] = 0 to 1 {
//         FEW: affine.store %{{.+}}, %[[SUMS]][%[[L]] + 7, %{{.+}}]
//         FEW: affine.for %[[T:.+]] = 0 to 7 {
//    FEW-NEXT: affine.for %[[E:.+]] = 0 to 8 {
//    FEW-NEXT: %[[R:.+]] = affine.for %[[J:.+]] = #[[$FROM]](%[[T]]) to min #[[$TO]](%[[T]]) iter_args
//    FEW-NEXT: affine.load %{{.+}}[%[[J]], %[[E]]] : memref<64x8xf32>
//         FEW: %[[N:.+]] = affine.load %[[SUMS]][-%[[T]] + 7, %[[E]]]
//    FEW-NEXT: %[[W:.+]] = arith.addf %[[R]], %[[N]]
//    FEW-NEXT: affine.store %[[W]], %[[SUMS]][-%[[T]] + 6, %[[E]]]
//       CHECK: affine.for %[[IB:.+]] = 0 to 4 {
//       CHECK: arith.divf
//        MANY: memref.alloc() {{.*}} : memref<8xf32>
//        MANY: affine.for %[[F:.+]] = 0 to 8 {
//        MANY: affine.for %[[J:.+]] = #[[$END]](%[[IB]]) to 64 iter_args
//   MANY-NEXT: affine.load %{{.+}}[%[[J]], %[[F]]] : memref<64x8xf32>
//       CHECK: affine.for %[[I:.+]] = 0 to 16 {
//       CHECK: affine.for %[[G:.+]] = 0 to 8 {
//       CHECK: affine.for %{{.+}} = 0 to #[[$END]](%[[IB]]) iter_args
//         FEW: affine.load %[[SUMS]][%[[IB]] * 2 + %[[I]] floordiv 8, %[[G]]]
//         FEW: {polynest.idle_tail = #[[$IDLE]]}
//    MANY-NOT: idle_tail
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

// The first eight rows would keep no column: sums are made for blocks, which begin to
// leave out columns at 8, 24, 40 and 56.
// CHECK-LABEL: func @shifted
//         FEW: memref.alloc() {{.*}} : memref<5x8xf32>
//   CHECK-NOT: idle_tail
//       CHECK: return
func.func @shifted(%x: memref<3x64x64xf32>, %v: memref<64x8xf32>,
                %o: memref<3x64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %h = 0 to 3 {
    affine.for %ib = 0 to 4 {
      %s = memref.alloc() : memref<16x64xf32>
      affine.for %i = 0 to 16 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%h, %ib * 16 + %i, %j] : memref<3x64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 16 + i - 8)>(%ib, %i)
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

// Rows of the mask are columns of the buffer that the product reads.
// CHECK-LABEL: func @turned
//         FEW: memref.alloc() {{.*}} : memref<4x8xf32>
//   CHECK-NOT: idle_tail
//       CHECK: return
func.func @turned(%x: memref<3x64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<3x4x16x16x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %h = 0 to 3 {
    affine.for %ib = 0 to 4 {
      %s = memref.alloc() : memref<16x16x64xf32>
      %t = memref.alloc() : memref<16x16x64xf32>
      affine.for %g = 0 to 16 {
        affine.for %i = 0 to 16 {
          affine.for %j = 0 to 64 {
            %0 = affine.load %x[%h, %ib * 16 + %i, %j] : memref<3x64x64xf32>
            %r = affine.apply affine_map<(b, i) -> (b * 16 + i)>(%ib, %i)
            %1 = arith.cmpi sgt, %j, %r : index
            %2 = arith.select %1, %low, %0 : f32
            affine.store %2, %s[%g, %i, %j] : memref<16x16x64xf32>
          }
        }
      }
      affine.for %g = 0 to 16 {
        affine.for %i = 0 to 16 {
          %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
            %0 = affine.load %s[%g, %i, %j] : memref<16x16x64xf32>
            %1 = arith.maximumf %0, %a : f32
            affine.yield %1 : f32
          }
          affine.for %j = 0 to 64 {
            %0 = affine.load %s[%g, %i, %j] : memref<16x16x64xf32>
            %1 = arith.subf %0, %m : f32
            %2 = math.exp %1 : f32
            affine.store %2, %t[%i, %g, %j] : memref<16x16x64xf32>
          }
        }
      }
      affine.for %g = 0 to 16 {
        affine.for %i = 0 to 16 {
          affine.for %e = 0 to 8 {
            %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
              %0 = affine.load %t[%g, %i, %j] : memref<16x16x64xf32>
              %1 = affine.load %v[%j, %e] : memref<64x8xf32>
              %2 = arith.mulf %0, %1 : f32
              %3 = arith.addf %a, %2 : f32
              affine.yield %3 : f32
            }
            affine.store %p, %o[%h, %ib, %g, %i, %e] : memref<3x4x16x16x8xf32>
          }
        }
      }
    }
  }
  return
}
