// Properties: left with a remark are masks behind which no column may be left
// (@none), whose bound may lie behind the columns (@behind), scores that others see
// (@sum), columns above another number than their maximum (@other), columns in
// another order (@reversed), a factor that differs by row (@by_row), a factor that
// the nest writes (@written), a mask that hides no block (@few), as many columns as
// is not known to be enough (@unrelated), and a window behind the columns (@far). Finite numbers
// (@finite), masks in memory (@bytes) and results (@result) are no such masks.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-trim-loops))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --implicit-check-not=Missed < %t.remarks

// CHECK-LABEL: func @none
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="no column may be left"
func.func @none(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i - 32)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @behind
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="the bound may lie behind the columns"
func.func @behind(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i + 8)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @sum
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="a loop carries what masked columns change"
func.func @sum(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.addf %0, %a : f32
          affine.yield %1 : f32
        }
        affine.store %m, %o[%ib * 32 + %i, 0] : memref<64x8xf32>
      }
  }
  return
}

// CHECK-LABEL: func @other
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="a loop over columns stores what the mask does not decide"
func.func @other(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %zero : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @reversed
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="masked columns are read out of order"
func.func @reversed(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, 63 - %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @by_row
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="what masked columns are multiplied by differs by row"
func.func @by_row(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %i mod 8] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @written
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="what masked columns are multiplied by is written"
func.func @written(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %o[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @few
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="the mask hides no block"
func.func @few(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 0 + i + 32)>(%ib, %i)
          %c = arith.cmpi sle, %j, %r : index
          %w = affine.apply affine_map<(b, i) -> (b * 0 + i - 20)>(%ib, %i)
          %d = arith.cmpi sge, %j, %w : index
          %1 = arith.andi %c, %d : i1
          %2 = arith.select %1, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @finite
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
func.func @finite(%x: memref<64x64xf32>, %v: memref<64x8xf32>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %least = arith.constant -3.0e38 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %1 = arith.cmpi sgt, %j, %r : index
          %2 = arith.select %1, %least, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// CHECK-LABEL: func @bytes
//       CHECK: affine.for %{{.+}} = 0 to 64 {
//       CHECK: arith.select
func.func @bytes(%x: memref<64x64xf32>, %v: memref<64x8xf32>, %b: memref<64x64xi1>,
                  %o: memref<64x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 2 {
    %s = memref.alloc() : memref<32x64xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 64 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<64x64xf32>
          %1 = affine.load %b[%ib * 32 + %i, %j] : memref<64x64xi1>
          %2 = arith.select %1, %low, %0 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 64 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x64xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 64 {
          %0 = affine.load %s[%i, %j] : memref<32x64xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x64xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 64 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x64xf32>
            %1 = affine.load %v[%j, %e] : memref<64x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<64x8xf32>
        }
      }
  }
  return
}

// Rows and columns are two numbers.
// CHECK-LABEL: func @unrelated
//       CHECK: affine.for %{{.+}} = 0 to %{{.+}} {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="the bound may lie behind the columns"
func.func @unrelated(%x: memref<?x?xf32>, %v: memref<?x8xf32>,
                  %o: memref<?x8xf32> {polynest.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to affine_map<()[n] -> (n floordiv 32)>()[%rows] {
    %s = memref.alloc(%n) : memref<32x?xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to %n {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<?x?xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %c = arith.cmpi sle, %j, %r : index
          %2 = arith.select %c, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x?xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to %n iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to %n iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x?xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to %n {
          %0 = affine.load %s[%i, %j] : memref<32x?xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x?xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to %n iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x?xf32>
            %1 = affine.load %v[%j, %e] : memref<?x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<?x8xf32>
        }
      }
  }
  return
}

// The last block has no column left: it begins at 96 + 60 > 128.
// CHECK-LABEL: func @far
//       CHECK: affine.for %{{.+}} = 0 to 128 {
//       CHECK: arith.select
//      REMARK: [Missed] trim-loops
// REMARK-SAME: reason="no column may be left"
func.func @far(%x: memref<128x128xf32>, %v: memref<128x8xf32>,
                  %o: memref<128x8xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  affine.for %ib = 0 to 4 {
    %s = memref.alloc() : memref<32x128xf32>
      affine.for %i = 0 to 32 {
        affine.for %j = 0 to 128 {
          %0 = affine.load %x[%ib * 32 + %i, %j] : memref<128x128xf32>
          %r = affine.apply affine_map<(b, i) -> (b * 32 + i)>(%ib, %i)
          %w = affine.apply affine_map<(b, i) -> (b * 32 + i + 60)>(%ib, %i)
          %d = arith.cmpi sge, %j, %w : index
          %1 = arith.andi %d, %d : i1
          %2 = arith.select %1, %0, %low : f32
          affine.store %2, %s[%i, %j] : memref<32x128xf32>
        }
      }
      affine.for %i = 0 to 32 {
        %m = affine.for %j = 0 to 128 iter_args(%a = %low) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x128xf32>
          %1 = arith.maximumf %0, %a : f32
          affine.yield %1 : f32
        }
        %t = affine.for %j = 0 to 128 iter_args(%a = %zero) -> f32 {
          %0 = affine.load %s[%i, %j] : memref<32x128xf32>
          %1 = arith.subf %0, %m : f32
          %2 = math.exp %1 : f32
          affine.store %2, %s[%i, %j] : memref<32x128xf32>
          %3 = arith.addf %2, %a : f32
          affine.yield %3 : f32
        }
        affine.for %j = 0 to 128 {
          %0 = affine.load %s[%i, %j] : memref<32x128xf32>
          %1 = arith.divf %0, %t : f32
          affine.store %1, %s[%i, %j] : memref<32x128xf32>
        }
      }
      affine.for %i = 0 to 32 {
        affine.for %e = 0 to 8 {
          %p = affine.for %j = 0 to 128 iter_args(%a = %zero) -> f32 {
            %0 = affine.load %s[%i, %j] : memref<32x128xf32>
            %1 = affine.load %v[%j, %e] : memref<128x8xf32>
            %2 = arith.mulf %0, %1 : f32
            %3 = arith.addf %a, %2 : f32
            affine.yield %3 : f32
          }
          affine.store %p, %o[%ib * 32 + %i, %e] : memref<128x8xf32>
        }
      }
  }
  return
}
