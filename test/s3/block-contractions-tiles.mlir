// Properties: operands that a matrix unit multiplies are packed in words and
// multiplied tile by tile (@bytes), both of them from where they lie (@halves);
// what does not fill whole tiles is filled up with zeros, along the depth too
// (@odd); sums of several blocks of depth pass through memory (@deep), those of one
// start in registers, also where their columns are several loops (@columns). What a unit
// does not hold is left to vectors (@mixed, @wide), and so is what vectors do in
// fewer cycles (SLOW). A second run changes nothing.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x16x16:8:52,bf16bf16x2:16x16x16:8:52}))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x16x16:8:52,bf16bf16x2:16x16x16:8:52}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=512 vector-registers=32 dots=u8s8x4 tiles=s8s8x4:16x16x16:8:1024}))' | FileCheck %s --check-prefix=SLOW
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tile-rows=4 tile-vectors=2 tiles=s8s8x4:16x16x16:8:52}))' | FileCheck %s --check-prefix=SLOW
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x2:16x16x16:8:52}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x16:8:52}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x12x16:8:52}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x16x0:8:52}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:128x16x16:8:52}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x16x16:2:52}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{tiles=s8s8x4:16x16x16:8:0}))' 2>&1 | FileCheck %s --check-prefix=FORM

// FORM: option tiles holds '{{.+}}'; it takes FORM:ROWSxCOLUMNSxWORDS:REGISTERS:LATENCY

//  SLOW-NOT: vector<16x16xi32>

// 64 x 64 sums, 32 words: 2 x 2 tiles, two steps.
// CHECK-LABEL: func @bytes
//       CHECK: %[[A:.+]] = memref.alloc() {{.*}} : memref<64x48xi32>
//       CHECK: vector.broadcast %{{.+}} : i32 to vector<16x16xi32>
//       CHECK: affine.for %[[K:.+]] = 0 to 32 step 16 iter_args
//       CHECK: affine.vector_load %{{.+}} : memref<{{.+}}x32xi32>, vector<16x16xi32>
//       CHECK: affine.vector_load %{{.+}} : memref<{{.+}}x32xi32>, vector<16x16xi32>
//       CHECK: affine.vector_load %[[A]][%{{.+}}, %[[K]]] : memref<64x48xi32>, vector<16x16xi32>
//       CHECK: vector.bitcast %{{.+}} : vector<16x16xi32> to vector<16x64xi8>
//       CHECK: vector.shape_cast %{{.+}} : vector<16x64xi8> to vector<16x16x4xi8>
//       CHECK: arith.extsi
// CHECK-COUNT-4: vector.contract {{.+}} : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
//   CHECK-NOT: vector.contract
// CHECK-COUNT-4: affine.vector_store %{{.+}} : memref<32x32xi32>, vector<16x16xi32>
//       CHECK: return
func.func @bytes(%a: memref<64x128xi8>, %b: memref<128x64xi8>,
                 %c: memref<64x64xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x64xi8>
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xi32>
    }
  }
  return
}

// Columns of two loops make up no panels.
// CHECK-LABEL: func @columns
//       CHECK: vector.broadcast %{{.+}} : i32 to vector<16x16xi32>
//   CHECK-NOT: affine.if
//       CHECK: affine.for %{{.+}} = 0 to 32 step 16 iter_args
//       CHECK: vector.contract {{.+}} : vector<16x16x4xi32>, vector<16x16x4xi32> into vector<16x16xi32>
//   CHECK-NOT: affine.if
//       CHECK: return
func.func @columns(%a: memref<64x128xi8>, %b: memref<8x128x8xi8>,
                   %c: memref<64x8x8xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 8 {
      affine.for %l = 0 to 8 {
        %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
          %x = affine.load %a[%i, %k] : memref<64x128xi8>
          %y = affine.load %b[%j, %k, %l] : memref<8x128x8xi8>
          %x1 = arith.extsi %x : i8 to i32
          %y1 = arith.extsi %y : i8 to i32
          %p = arith.muli %x1, %y1 : i32
          %t = arith.addi %s, %p : i32
          affine.yield %t : i32
        }
        affine.store %r, %c[%i, %j, %l] : memref<64x8x8xi32>
      }
    }
  }
  return
}

// Rows lie across the depth, columns along it.
// CHECK-LABEL: func @halves
//       CHECK: affine.for %{{.+}} = 0 to 64 step 16 iter_args
//       CHECK: arith.extf %{{.+}} : vector<16x16x2xbf16> to vector<16x16x2xf32>
//       CHECK: vector.contract {{.+}} : vector<16x16x2xf32>, vector<16x16x2xf32> into vector<16x16xf32>
//       CHECK: return
func.func @halves(%a: memref<128x64xbf16>, %b: memref<64x128xbf16>,
                  %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%k, %i] : memref<128x64xbf16>
        %y = affine.load %b[%j, %k] : memref<64x128xbf16>
        %x1 = arith.extf %x : bf16 to f32
        %y1 = arith.extf %y : bf16 to f32
        %p = arith.mulf %x1, %y1 : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xf32>
    }
  }
  return
}

// 131 steps are 33 words: room for 48, zeros in 33 to 47 of both sides.
// CHECK-LABEL: func @odd
//       CHECK: affine.for %{{.+}} = 33 to 48
//       CHECK: affine.for %{{.+}} = 33 to 48
//       CHECK: affine.for %{{.+}} = 0 to 33 step 16 iter_args
//       CHECK: return
func.func @odd(%a: memref<33x131xi8>, %b: memref<131x40xi8>,
               %c: memref<33x40xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 33 {
    affine.for %j = 0 to 40 {
      %r = affine.for %k = 0 to 131 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<33x131xi8>
        %y = affine.load %b[%k, %j] : memref<131x40xi8>
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<33x40xi32>
    }
  }
  return
}

// 1000 words are 11 blocks of 96 for 32 KiB; the first starts the sums.
// CHECK-LABEL: func @deep
//       CHECK: affine.if
//       CHECK: affine.vector_store %{{.+}} : memref<{{.+}}>, vector<16xi32>
//       CHECK: affine.vector_load %{{.+}} : memref<{{.+}}>, vector<16x16xi32>
//       CHECK: affine.for %{{.+}} = 0 to min {{.+}} step 16 iter_args
//       CHECK: affine.vector_store %{{.+}} : memref<{{.+}}>, vector<16x16xi32>
//       CHECK: return
func.func @deep(%a: memref<64x4000xi8>, %b: memref<4000x64xi8>,
                %c: memref<64x64xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 4000 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x4000xi8>
        %y = affine.load %b[%k, %j] : memref<4000x64xi8>
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xi32>
    }
  }
  return
}

// CHECK-LABEL: func @mixed
//   CHECK-NOT: vector<16x16xi32>
//       CHECK: return
func.func @mixed(%a: memref<64x128xi8>, %b: memref<128x64xi8>,
                 %c: memref<64x64xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x64xi8>
        %x1 = arith.extui %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xi32>
    }
  }
  return
}

// A scale makes them more than bf16.
// CHECK-LABEL: func @wide
//   CHECK-NOT: vector<16x16xf32>
//       CHECK: vector.fma
//       CHECK: return
func.func @wide(%a: memref<64x128xbf16>, %b: memref<128x64xbf16>,
                %c: memref<64x64xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 1.5 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x128xbf16>
        %y = affine.load %b[%k, %j] : memref<128x64xbf16>
        %x1 = arith.extf %x : bf16 to f32
        %x2 = arith.mulf %x1, %scale : f32
        %y1 = arith.extf %y : bf16 to f32
        %p = arith.mulf %x2, %y1 : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x64xf32>
    }
  }
  return
}
