// Properties: columns that lie in rows of which the first cache holds a block of the
// depth are read where they are, by vectors (@whole, of several panels; @cut, of two
// blocks of the depth; @moved, in a loop and at an offset): nothing is packed. They are
// packed where they do not fill panels (@narrow), rows lie further apart (@far), lie
// along the depth (@turned), are computed (@computed), taken off (@difference), of
// another type (@cast) or bound once, where a pack costs nothing (@bound). What is asked
// for is done if it is legal. A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-columns=block}))' | FileCheck %s --check-prefix=BLOCK
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{pack-columns=never}))' 2>&1 | FileCheck %s --check-prefix=NEVER

// NEVER: error: the blocks asked for are not legal here: its columns cannot be read in place

// 256 rows of 32 numbers are 32 KiB.
// CHECK-LABEL: func @whole
//  CHECK-SAME: %{{.+}}: memref<96x256xf32>, %[[B:.+]]: memref<256x32xf32>
//   CHECK-NOT: x16xf32> {
//       CHECK: affine.for %[[J:.+]] = 0 to 32 step 16 {
//       CHECK: affine.for %[[K:.+]] = 0 to 256 {{.*}}iter_args
//       CHECK: affine.vector_load %[[B]][%[[K]], %[[J]]] : memref<256x32xf32>, vector<8xf32>
//  CHECK-NEXT: affine.vector_load %[[B]][%[[K]], %[[J]] + 8] : memref<256x32xf32>, vector<8xf32>
//       CHECK: vector.fma
//       CHECK: return
// BLOCK-LABEL: func @whole
//       BLOCK: %[[P:.+]] = memref.alloc() {{.+}} : memref<2x256x16xf32>
//       BLOCK: affine.vector_load %[[P]]
//       BLOCK: return
func.func @whole(%a: memref<96x256xf32>, %b: memref<256x32xf32>,
                 %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 256 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x256xf32>
        %y = affine.load %b[%k, %j] : memref<256x32xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @cut
//  CHECK-SAME: %{{.+}}: memref<48x500xf32>, %[[B:.+]]: memref<500x32xf32>
//       CHECK: affine.for %[[KB:.+]] = 0 to 2 {
//       CHECK: affine.for %[[K:.+]] = 0 to {{.*}}iter_args
//       CHECK: affine.vector_load %[[B]][%[[KB]] * {{[0-9]+}} + %[[K]], %{{.+}}] : memref<500x32xf32>
//       CHECK: return
func.func @cut(%a: memref<48x500xf32>, %b: memref<500x32xf32>,
               %c: memref<48x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 500 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<48x500xf32>
        %y = affine.load %b[%k, %j] : memref<500x32xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<48x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @moved
//  CHECK-SAME: %{{.+}}: memref<8x96x64xf64>, %[[B:.+]]: memref<8x70x48xf64>,
//       CHECK: affine.for %[[H:.+]] = 0 to 8 {
//       CHECK: affine.for %[[J:.+]] = 0 to 32 step
//       CHECK: affine.for %[[K:.+]] = 0 to 64 iter_args
//       CHECK: affine.vector_load %[[B]][%[[H]], %[[K]] + 5, %[[J]] + 9] : memref<8x70x48xf64>
//       CHECK: return
func.func @moved(%a: memref<8x96x64xf64>, %b: memref<8x70x48xf64>,
                 %c: memref<8x96x32xf64> {polynest.result}) {
  %zero = arith.constant 0.0 : f64
  affine.for %h = 0 to 8 {
    affine.for %i = 0 to 96 {
      affine.for %j = 3 to 35 {
        %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> f64 {
          %x = affine.load %a[%h, %i, %k] : memref<8x96x64xf64>
          %y = affine.load %b[%h, %k + 5, %j + 6] : memref<8x70x48xf64>
          %p = arith.mulf %x, %y : f64
          %t = arith.addf %s, %p : f64
          affine.yield %t : f64
        }
        affine.store %r, %c[%h, %i, %j - 3] : memref<8x96x32xf64>
      }
    }
  }
  return
}

// CHECK-LABEL: func @narrow
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<{{.+}}xf32>
//       CHECK: affine.vector_load %[[P]]
//       CHECK: return
func.func @narrow(%a: memref<96x128xf32>, %b: memref<128x30xf32>,
                  %c: memref<96x30xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 30 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x128xf32>
        %y = affine.load %b[%k, %j] : memref<128x30xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x30xf32>
    }
  }
  return
}

// 256 rows of 33 numbers are more than 32 KiB.
// CHECK-LABEL: func @far
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<{{.+}}xf32>
//       CHECK: affine.vector_load %[[P]]
//       CHECK: return
func.func @far(%a: memref<96x256xf32>, %b: memref<256x33xf32>,
               %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 256 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x256xf32>
        %y = affine.load %b[%k, %j] : memref<256x33xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @turned
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<{{.+}}xf32>
//       CHECK: affine.vector_load %[[P]]
//       CHECK: return
func.func @turned(%a: memref<96x128xf32>, %b: memref<32x128xf32>,
                  %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x128xf32>
        %y = affine.load %b[%j, %k] : memref<32x128xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @computed
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<{{.+}}xf32>
//       CHECK: affine.vector_load %[[P]]
//       CHECK: return
func.func @computed(%a: memref<96x128xf32>, %b: memref<128x32xf32>,
                    %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x128xf32>
        %z = affine.load %b[%k, %j] : memref<128x32xf32>
        %y = arith.maximumf %z, %zero : f32
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @difference
//       CHECK: arith.negf
//       CHECK: return
func.func @difference(%a: memref<96x128xf32>, %b: memref<128x32xf32>,
                      %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x128xf32>
        %y = affine.load %b[%k, %j] : memref<128x32xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.subf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @cast
//       CHECK: arith.extf
//       CHECK: affine.store %{{.+}} : memref<{{.+}}xf32>
//       CHECK: return
func.func @cast(%a: memref<96x128xf32>, %b: memref<128x32xf16>,
                %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x128xf32>
        %z = affine.load %b[%k, %j] : memref<128x32xf16>
        %y = arith.extf %z : f16 to f32
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}

// CHECK-LABEL: func @bound
//       CHECK: %[[P:.+]] = memref.alloc() {{.+}} : memref<{{.+}}xf32>
//       CHECK: affine.vector_load %[[P]]
//       CHECK: return
func.func @bound(%a: memref<96x128xf32>,
                 %b: memref<128x32xf32> {polynest.constant},
                 %c: memref<96x32xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<96x128xf32>
        %y = affine.load %b[%k, %j] : memref<128x32xf32>
        %p = arith.mulf %x, %y : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<96x32xf32>
    }
  }
  return
}
