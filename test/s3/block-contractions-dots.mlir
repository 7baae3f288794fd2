// Properties: numbers that fit narrow elements are packed as words of two or
// four, which the micro-kernel takes at once: pairs of 16 bits (@bytes), four
// bytes where the signs are those of the unit (@mixed), with columns moved by 128
// where they are not and rows are read where they are (@bytes), else with rows moved,
// once for several blocks of columns (@many), and pairs of bf16 (@halves), rows of which are read
// where they are; the last word of an odd depth is filled up with zeros (@odd); a
// zero point is taken off in the pack (@zero_point); the loop whose iterations
// share words is the one that fills them (@window). What does not fit, or may not,
// stays wide: a number of 32 bits (@wide), a scale in front (@scaled), a zero point
// that is not known (@unknown_zero_point). Forms that are none are refused.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{dots=s16s16x2}))' > %t.once
// RUN: FileCheck %s --check-prefixes=CHECK,PAIRS < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-block-contractions{dots=s16s16x2}))' | diff %t.once -
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{vector-width-bits=512 vector-registers=32 dots=u8s8x4,s16s16x2,bf16bf16x2}))' | FileCheck %s --check-prefixes=CHECK,FOURS
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{dots=s16u8x2}))' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-block-contractions{dots=s8s8x2}))' 2>&1 | FileCheck %s --check-prefix=FORM

// FORM: option dots holds '{{.+}}'; it takes forms such as s16s16x2

// 128 steps are 64 words of two, or 32 of four; one panel more or less of them lies
// beside. Rows become words along the depth, 16 at once, or are read in place, where
// columns are moved by 128: what that adds to the sums of a row is summed up once, two
// vectors of 64 elements, and taken off what they start from.
// CHECK-LABEL: func @bytes
//       PAIRS: arith.trunci %{{.+}} : vector<16xi32> to vector<16xi16>
//  PAIRS-NEXT: vector.bitcast %{{.+}} : vector<16xi16> to vector<8xi32>
//       PAIRS: affine.for %{{.+}} = 0 to 64 iter_args
//       PAIRS: arith.extsi %{{.+}} : vector<8x2xi16> to vector<8x2xi32>
//       PAIRS: vector.contract {{.+}} : vector<8x2xi32>, vector<8x2xi32> into vector<8xi32>
//   PAIRS-NOT: arith.muli
//   FOURS-NOT: polynest.packed = "rows
//       FOURS: %[[SUMS:.+]] = memref.alloc() {{.+}} : memref<64xi32>
//       FOURS: arith.addi %{{.+}}, %c128
//       FOURS: %[[MOVED:.+]] = arith.constant dense<-2139062144> : vector<16xi32>
//       FOURS: affine.for %[[I:.+]] = 0 to 64 step 8
//       FOURS: %[[ROWS:.+]]:8 = affine.for %{{.+}} = 0 to 32 step 16 iter_args
//       FOURS: vector.load %{{.+}} : memref<8192xi8>, vector<64xi8>
//       FOURS: arith.extsi %{{.+}} : vector<16x4xi8> to vector<16x4xi32>
//       FOURS: vector.bitcast %[[MOVED]]
//       FOURS: arith.extui %{{.+}} : vector<16x4xi8> to vector<16x4xi32>
//       FOURS: %[[LAST:.+]] = vector.reduction <add>, %[[ROWS]]#7
//  FOURS-NEXT: affine.store %[[LAST]], %[[SUMS]][%[[I]] + 7]
//       FOURS: affine.for %[[J:.+]] = 0 to 64 step 8
//       FOURS: affine.load %[[SUMS]][%[[J]] + 7]
//       FOURS: %[[START:.+]] = arith.subi %{{.+}} : vector<16xi32>
//       FOURS: affine.for %{{.+}} = 0 to 32 iter_args({{.+}} = %[[START]],
//       FOURS: arith.extsi %{{.+}} : vector<16x4xi8> to vector<16x4xi32>
//       FOURS: arith.extui %{{.+}} : vector<16x4xi8> to vector<16x4xi32>
//       FOURS: vector.contract {{.+}} : vector<16x4xi32>, vector<16x4xi32> into vector<16xi32>
//   FOURS-NOT: arith.subi
//       CHECK: return
func.func @bytes(%a: memref<64x128xi8>, %b: memref<128x48xi8>,
                  %c: memref<64x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x48xi8>
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}

// Rows that serve several blocks of columns become words once, whole vectors of
// 16 words: 300 steps are 75, no whole vectors, so that rows are moved. What 128 adds
// to all of them is summed up once for each panel of columns, which two tiles of 8
// rows share.
// CHECK-LABEL: func @many
//       FOURS: %[[ROWS:.+]] = memref.alloc() {{.+}}polynest.packed = "rows once for the nest: they are put into words of narrow elements"
//       FOURS: affine.for %[[I:.+]] = 0 to 64 {
//       FOURS: affine.for %[[K:.+]] = 0 to 64 step 16 {
//  FOURS-NEXT: affine.vector_load %{{.+}}[%[[I]], %[[K]] * 4] : memref<64x300xi8>, vector<64xi8>
//       FOURS: arith.constant dense<128> : vector<64xi32>
//       FOURS: affine.vector_store %{{.+}}, %[[ROWS]][%[[I]], %[[K]]]
//       FOURS: affine.for %[[K:.+]] = 64 to 75 {
//       FOURS: affine.store %{{.+}}, %[[ROWS]][%[[I]], %[[K]]]
//       FOURS: %[[MOVED:.+]] = arith.constant dense<-2139062144> : vector<16xi32>
//       FOURS: affine.for %{{.+}} = 0 to 75 iter_args
//       FOURS: vector.bitcast %[[MOVED]]
//       FOURS: %[[START:.+]] = arith.subi {{.+}}#0 : vector<16xi32>
//       FOURS: affine.for %{{.+}} = 0 to 8 step 4
//       FOURS: affine.for %{{.+}} = 0 to 75 iter_args(%{{.+}} = %[[START]],
//       FOURS: arith.extui %{{.+}} : vector<16x4xi8> to vector<16x4xi32>
//   FOURS-NOT: arith.subi
//       CHECK: return
func.func @many(%a: memref<64x300xi8>, %b: memref<300x4096xi8>,
                %c: memref<64x4096xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 4096 {
      %r = affine.for %k = 0 to 300 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x300xi8>
        %y = affine.load %b[%k, %j] : memref<300x4096xi8>
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x4096xi32>
    }
  }
  return
}

// Rows without a sign are read where they are: four bytes fill a word.
// CHECK-LABEL: func @mixed
//       PAIRS: vector.contract {{.+}} : vector<8x2xi32>
//       FOURS: affine.for %{{.+}} = 0 to 32 iter_args
//       FOURS: vector.load %{{.+}} : memref<8192xi8>, vector<4xi8>
//  FOURS-NEXT: vector.bitcast %{{.+}} : vector<4xi8> to vector<1xi32>
//   FOURS-NOT: arith.subi
//       CHECK: return
func.func @mixed(%a: memref<64x128xi8>, %b: memref<128x48xi8>,
                  %c: memref<64x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x48xi8>
        %x1 = arith.extui %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}

// CHECK-LABEL: func @halves
//       PAIRS: vector.fma
//       FOURS: vector.load %{{.+}} : memref<8192xbf16>, vector<2xbf16>
//       FOURS: arith.extf %{{.+}} : vector<16x2xbf16> to vector<16x2xf32>
//       FOURS: vector.contract {{.+}} : vector<16x2xf32>, vector<16x2xf32> into vector<16xf32>
//       CHECK: return
func.func @halves(%a: memref<64x128xbf16>, %b: memref<128x48xbf16>,
                  %c: memref<64x48xf32> {polynest.result}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x128xbf16>
        %y = affine.load %b[%k, %j] : memref<128x48xbf16>
        %x1 = arith.extf %x : bf16 to f32
        %y1 = arith.extf %y : bf16 to f32
        %p = arith.mulf %x1, %y1 : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xf32>
    }
  }
  return
}

// 127 steps are 63 words and one with a single step, which is masked alone.
// CHECK-LABEL: func @odd
//       PAIRS: affine.for %{{.+}} = 63 to 64
//       PAIRS: %[[Y:.+]] = arith.extsi
//       PAIRS: %[[W:.+]] = arith.andi %[[Y]], %{{.+}} : i32
//  PAIRS-NEXT: affine.store %[[W]]
//       PAIRS: vector.contract
//       CHECK: return
func.func @odd(%a: memref<64x127xi8>, %b: memref<127x48xi8>,
                  %c: memref<64x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 127 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x127xi8>
        %y = affine.load %b[%k, %j] : memref<127x48xi8>
        %x1 = arith.extsi %x : i8 to i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}

// Numbers from -3 to 252 fit 16 bits, and no 8.
// CHECK-LABEL: func @zero_point
//       CHECK: vector.contract {{.+}}x2xi32> into
//       CHECK: return
func.func @zero_point(%a: memref<64x128xi8>, %b: memref<128x48xi8>,
                  %c: memref<64x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x48xi8>
        %x1 = arith.extui %x : i8 to i32
        %x2 = arith.subi %x1, %c3 : i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x2, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}

// 64 channels fill words of two, windows of 3 would not.
// CHECK-LABEL: func @window
//       PAIRS: affine.load %{{.+}}[%{{.+}} * 2 + {{.+}}] : memref<64x34xi8>
//       PAIRS: vector.contract
//       CHECK: return
func.func @window(%a: memref<64x34xi8>, %b: memref<48x64x3xi8>,
                  %c: memref<48x32xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 48 {
    affine.for %j = 0 to 32 {
      %r = affine.for %k = 0 to 64 iter_args(%s = %zero) -> i32 {
        %q = affine.for %l = 0 to 3 iter_args(%u = %s) -> i32 {
          %x = affine.load %a[%k, %j + %l] : memref<64x34xi8>
          %y = affine.load %b[%i, %k, %l] : memref<48x64x3xi8>
          %x1 = arith.extsi %x : i8 to i32
          %y1 = arith.extsi %y : i8 to i32
          %p = arith.muli %x1, %y1 : i32
          %t = arith.addi %u, %p : i32
          affine.yield %t : i32
        }
        affine.yield %q : i32
      }
      affine.store %r, %c[%i, %j] : memref<48x32xi32>
    }
  }
  return
}

// CHECK-LABEL: func @wide
//   CHECK-NOT: vector.contract
//       CHECK: arith.muli
//       CHECK: return
func.func @wide(%a: memref<64x128xi8>, %b: memref<128x48xi32>,
                  %c: memref<64x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x48xi32>
        %x1 = arith.extsi %x : i8 to i32
        %p = arith.muli %x1, %y : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}

// CHECK-LABEL: func @unknown_zero_point
//   CHECK-NOT: vector.contract
//       CHECK: return
func.func @unknown_zero_point(%a: memref<64x128xi8>, %b: memref<128x48xi8>,
                  %c: memref<64x48xi32> {polynest.result}, %z: i32) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi8>
        %y = affine.load %b[%k, %j] : memref<128x48xi8>
        %x1 = arith.extui %x : i8 to i32
        %x2 = arith.subi %x1, %z : i32
        %y1 = arith.extsi %y : i8 to i32
        %p = arith.muli %x2, %y1 : i32
        %t = arith.addi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}

// CHECK-LABEL: func @scaled
//   CHECK-NOT: vector.contract
//       CHECK: vector.fma
//       CHECK: return
func.func @scaled(%a: memref<64x128xbf16>, %b: memref<128x48xbf16>,
                  %c: memref<64x48xf32> {polynest.result}, %f: f32) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> f32 {
        %x = affine.load %a[%i, %k] : memref<64x128xbf16>
        %y = affine.load %b[%k, %j] : memref<128x48xbf16>
        %x1 = arith.extf %x : bf16 to f32
        %x2 = arith.mulf %x1, %f : f32
        %y1 = arith.extf %y : bf16 to f32
        %p = arith.mulf %x2, %y1 : f32
        %t = arith.addf %s, %p : f32
        affine.yield %t : f32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xf32>
    }
  }
  return
}

// 32768 does not fit 16 bits with a sign: the columns, which take the sign of a
// difference, may be -32768.
// CHECK-LABEL: func @difference
//   CHECK-NOT: vector.contract
//       CHECK: return
func.func @difference(%a: memref<64x128xi16>, %b: memref<128x48xi16>,
                  %c: memref<64x48xi32> {polynest.result}) {
  %zero = arith.constant 0 : i32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 48 {
      %r = affine.for %k = 0 to 128 iter_args(%s = %zero) -> i32 {
        %x = affine.load %a[%i, %k] : memref<64x128xi16>
        %y = affine.load %b[%k, %j] : memref<128x48xi16>
        %x1 = arith.extsi %x : i16 to i32
        %y1 = arith.extsi %y : i16 to i32
        %p = arith.muli %x1, %y1 : i32
        %t = arith.subi %s, %p : i32
        affine.yield %t : i32
      }
      affine.store %r, %c[%i, %j] : memref<64x48xi32>
    }
  }
  return
}
