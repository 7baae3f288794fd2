// Properties: with `iterations`, nests that hand each other images of a batch run
// image by image, with what else writes them: of @residual 14 x 14 padded ones of 32
// channels (25088 bytes) and 12 x 12 (18432 bytes), 8 of them 348160 bytes, more
// than the 65536 that a core gets of 128 KiB. What nests write beside stays as it is
// (@kept: 8 of 18432 bytes). Of 16 cores, 8 images would leave half without work.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{iterations=true cache-size-kib=16 shared-size-kib=128 cores=2}))' --remarks-filter='.*' 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cache-size-kib=16}))' | FileCheck %s --check-prefix=ROWS
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{iterations=true cache-size-kib=16 shared-size-kib=1024 cores=16}))' --remarks-filter='.*' 2>&1 | FileCheck %s --check-prefixes=ROWS,IDLE
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{shared-size-kib=-1}))' 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-fuse-blocks{cores=0}))' 2>&1 | FileCheck %s --check-prefix=CORES
// SHARED: option shared-size-kib has value -1; it must be 0 to 1073741824
// CORES: option cores has value 0; it must be 1 to 65536

// IDLE: too few parallel iterations would be left

// ROWS-LABEL: func @residual
//       ROWS: memref.alloc() : memref<8x14x14x32xf32>

// CHECK-LABEL: func @residual
//  CHECK-SAME: %[[X:.+]]: memref<8x12x12x16xf32>, %{{.+}}: memref<16x32xf32>, %{{.+}}: memref<3x3x32xf32>, %{{.+}}: memref<32x16xf32>, %[[R:[a-z0-9]+]]:
//   CHECK-NOT: memref<8x14x14x32xf32>
//       CHECK: affine.for %[[N:.+]] = 0 to 8 {
//       CHECK: %[[D:.+]] = memref.alloc() : memref<12x12x32xf32>
//       CHECK: %[[P:.+]] = memref.alloc() : memref<14x14x32xf32>
//       CHECK: affine.for %[[Y:.+]] = 0 to 14 {
//       CHECK: affine.store %{{.+}}, %[[P]][%[[Y]], %{{.+}}, %{{.+}}]
//       CHECK: affine.for %[[Y:.+]] = 0 to 12 {
//       CHECK: affine.load %[[X]][%[[N]], %[[Y]],
//       CHECK: affine.store %{{.+}}, %[[P]][%[[Y]] + 1, %{{.+}} + 1, %{{.+}}]
//       CHECK: affine.for %[[Y:.+]] = 0 to 12 {
//       CHECK: affine.load %[[P]][%[[Y]] + %{{.+}}, %{{.+}} + %{{.+}}, %{{.+}}]
//       CHECK: affine.store %{{.+}}, %[[D]][%[[Y]], %{{.+}}, %{{.+}}]
//       CHECK: affine.for %[[Y:.+]] = 0 to 12 {
//       CHECK: affine.load %[[D]][%[[Y]],
//       CHECK: affine.load %[[X]][%[[N]], %[[Y]],
//       CHECK: affine.store %{{.+}}, %[[R]][%[[N]], %[[Y]],
//   CHECK-NOT: affine.for
//       CHECK: return
//      REMARK: [Passed] fuse-blocks
// REMARK-SAME: depth=1, nests=4, reason="nests run iteration by iteration", rows=1
//      REMARK: bytes=25088, bytes-before=200704, reason="buffer shrunk to one block"
//      REMARK: bytes=18432, bytes-before=147456, reason="buffer shrunk to one block"
func.func @residual(%x: memref<8x12x12x16xf32>, %a: memref<16x32xf32>,
                    %b: memref<3x3x32xf32>, %c: memref<32x16xf32>,
                    %r: memref<8x12x12x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<8x14x14x32xf32>
  %d = memref.alloc() : memref<8x12x12x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 14 {
      affine.for %z = 0 to 14 {
        affine.for %k = 0 to 32 {
          affine.store %zero, %p[%n, %y, %z, %k] : memref<8x14x14x32xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 12 {
      affine.for %z = 0 to 12 {
        affine.for %k = 0 to 32 {
          %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
            %u = affine.load %x[%n, %y, %z, %i] : memref<8x12x12x16xf32>
            %v = affine.load %a[%i, %k] : memref<16x32xf32>
            %m = arith.mulf %u, %v : f32
            %w = arith.addf %t, %m : f32
            affine.yield %w : f32
          }
          affine.store %s, %p[%n, %y + 1, %z + 1, %k] : memref<8x14x14x32xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 12 {
      affine.for %z = 0 to 12 {
        affine.for %k = 0 to 32 {
          %s = affine.for %i = 0 to 3 iter_args(%t = %zero) -> f32 {
            %q = affine.for %j = 0 to 3 iter_args(%h = %t) -> f32 {
              %u = affine.load %p[%n, %y + %i, %z + %j, %k] : memref<8x14x14x32xf32>
              %v = affine.load %b[%i, %j, %k] : memref<3x3x32xf32>
              %m = arith.mulf %u, %v : f32
              %w = arith.addf %h, %m : f32
              affine.yield %w : f32
            }
            affine.yield %q : f32
          }
          affine.store %s, %d[%n, %y, %z, %k] : memref<8x12x12x32xf32>
        }
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 12 {
      affine.for %z = 0 to 12 {
        affine.for %k = 0 to 16 {
          %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
            %u = affine.load %d[%n, %y, %z, %i] : memref<8x12x12x32xf32>
            %v = affine.load %c[%i, %k] : memref<32x16xf32>
            %m = arith.mulf %u, %v : f32
            %w = arith.addf %t, %m : f32
            affine.yield %w : f32
          }
          %u = affine.load %x[%n, %y, %z, %k] : memref<8x12x12x16xf32>
          %w = arith.addf %s, %u : f32
          affine.store %w, %r[%n, %y, %z, %k] : memref<8x12x12x16xf32>
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func @kept
//  CHECK-SAME: %{{.+}}: memref<8x144x16xf32>, %{{.+}}: memref<16x32xf32>, %{{.+}}: memref<32x16xf32>, %[[Q:.+]]: memref<8x144x32xf32> {{.+}}, %[[R:[a-z0-9]+]]:
//       CHECK: affine.for %[[N:.+]] = 0 to 8 {
//       CHECK: memref.alloc() : memref<144x32xf32>
//       CHECK: affine.store %{{.+}}, %[[Q]][%[[N]],
//       CHECK: affine.store %{{.+}}, %[[R]][%[[N]],
//       CHECK: return
func.func @kept(%x: memref<8x144x16xf32>, %a: memref<16x32xf32>, %c: memref<32x16xf32>,
                %q: memref<8x144x32xf32> {polynest.result},
                %r: memref<8x144x16xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %d = memref.alloc() : memref<8x144x32xf32>
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 32 {
        %s = affine.for %i = 0 to 16 iter_args(%t = %zero) -> f32 {
          %u = affine.load %x[%n, %y, %i] : memref<8x144x16xf32>
          %v = affine.load %a[%i, %k] : memref<16x32xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %d[%n, %y, %k] : memref<8x144x32xf32>
        affine.store %s, %q[%n, %y, %k] : memref<8x144x32xf32>
      }
    }
  }
  affine.for %n = 0 to 8 {
    affine.for %y = 0 to 144 {
      affine.for %k = 0 to 16 {
        %s = affine.for %i = 0 to 32 iter_args(%t = %zero) -> f32 {
          %u = affine.load %d[%n, %y, %i] : memref<8x144x32xf32>
          %v = affine.load %c[%i, %k] : memref<32x16xf32>
          %m = arith.mulf %u, %v : f32
          %w = arith.addf %t, %m : f32
          affine.yield %w : f32
        }
        affine.store %s, %r[%n, %y, %k] : memref<8x144x16xf32>
      }
    }
  }
  return
}
