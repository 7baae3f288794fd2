// Properties: sums of f16 and bf16 are carried in f32 through all their loops,
// with exact products, and rounded once (@product, @fma, @difference); a product
// that is used elsewhere keeps its rounding (@shared); sums of sums take those
// as they are rounded (@sums); a second run changes nothing. As a whole, products
// of matrices in bf16 are then blocked, except with strict numerics.
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-widen-sums))' > %t.once
// RUN: FileCheck %s < %t.once
// RUN: polynest-opt %t.once --pass-pipeline='builtin.module(func.func(polynest-widen-sums))' | diff %t.once -
// RUN: polynestc compile %s --stage s3 --target haswell | FileCheck %s --check-prefix=BLOCKED
// RUN: polynestc compile %s --stage s3 --target haswell --numerics strict | FileCheck %s --check-prefix=STRICT
// RUN: polynestc run %s --entry sums --check --reduction 15
// RUN: polynestc run %s --entry matmul --check
// RUN: polynestc run %s --entry matmul --check --numerics strict

// CHECK-LABEL: func @product
//       CHECK: %[[Z:.+]] = arith.extf %{{.+}} : bf16 to f32
//  CHECK-NEXT: %[[S:.+]] = affine.for %{{.+}} = 0 to 3 iter_args(%[[A:.+]] = %[[Z]]) -> (f32)
//  CHECK-NEXT: %[[T:.+]] = affine.for %{{.+}} = 0 to 5 iter_args(%[[B:.+]] = %[[A]]) -> (f32)
//  CHECK-NEXT: %[[X:.+]] = affine.load
//  CHECK-NEXT: %[[Y:.+]] = affine.load
//  CHECK-NEXT: %[[XW:.+]] = arith.extf %[[X]]
//  CHECK-NEXT: %[[YW:.+]] = arith.extf %[[Y]]
//  CHECK-NEXT: %[[P:.+]] = arith.mulf %[[XW]], %[[YW]] : f32
//  CHECK-NEXT: %[[N:.+]] = arith.addf %[[B]], %[[P]] : f32
//  CHECK-NEXT: affine.yield %[[N]] : f32
//       CHECK: affine.yield %[[T]] : f32
//       CHECK: %[[R:.+]] = arith.truncf %[[S]] : f32 to bf16
//  CHECK-NEXT: affine.store %[[R]]
func.func @product(%x: memref<3x5xbf16>, %y: memref<3x5xbf16>,
                   %r: memref<bf16> {polynest.result}) {
  %z = arith.constant 0.0 : bf16
  %s = affine.for %i = 0 to 3 iter_args(%a = %z) -> bf16 {
    %t = affine.for %j = 0 to 5 iter_args(%b = %a) -> bf16 {
      %0 = affine.load %x[%i, %j] : memref<3x5xbf16>
      %1 = affine.load %y[%i, %j] : memref<3x5xbf16>
      %2 = arith.mulf %0, %1 : bf16
      %3 = arith.addf %b, %2 : bf16
      affine.yield %3 : bf16
    }
    affine.yield %t : bf16
  }
  affine.store %s, %r[] : memref<bf16>
  return
}

// CHECK-LABEL: func @fma
//       CHECK: math.fma %{{.+}}, %{{.+}}, %{{.+}} : f32
//       CHECK: arith.truncf %{{.+}} : f32 to f16
func.func @fma(%x: memref<5xf16>, %r: memref<f16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = math.fma %0, %0, %a : f16
    affine.yield %1 : f16
  }
  affine.store %s, %r[] : memref<f16>
  return
}

// CHECK-LABEL: func @difference
//       CHECK: arith.subf %{{.+}}, %{{.+}} : f32
//       CHECK: arith.truncf
func.func @difference(%x: memref<5xf16>, %r: memref<f16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.subf %a, %0 : f16
    affine.yield %1 : f16
  }
  affine.store %s, %r[] : memref<f16>
  return
}

// CHECK-LABEL: func @shared
//       CHECK: %[[P:.+]] = arith.mulf %{{.+}}, %{{.+}} : f16
//       CHECK: affine.store %[[P]]
//       CHECK: %[[W:.+]] = arith.extf %[[P]]
//       CHECK: arith.addf %{{.+}}, %[[W]] : f32
func.func @shared(%x: memref<5xf16>, %y: memref<5xf16>,
                  %r: memref<f16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.mulf %0, %0 : f16
    affine.store %1, %y[%i] : memref<5xf16>
    %2 = arith.addf %1, %a : f16
    affine.yield %2 : f16
  }
  affine.store %s, %r[] : memref<f16>
  return
}

// CHECK-LABEL: func @sums
//       CHECK: arith.addf %{{.+}}, %{{.+}} : f32
//       CHECK: %[[S:.+]] = arith.truncf %{{.+}} : f32 to f16
//       CHECK: %[[W:.+]] = arith.extf %[[S]] : f16 to f32
//  CHECK-NEXT: %[[N:.+]] = arith.addf %{{.+}}, %[[W]] : f32
//  CHECK-NEXT: affine.yield %[[N]] : f32
//       CHECK: %[[T:.+]] = arith.truncf %{{.+}} : f32 to f16
//       CHECK: %[[V:.+]] = arith.extf %[[T]] : f16 to f32
//       CHECK: arith.mulf %[[V]], %{{.+}} : f32
func.func @sums(%x: memref<5xf16>, %r: memref<f16> {polynest.result}) {
  %z = arith.constant 1.0 : f16
  %s = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.addf %a, %0 : f16
    affine.yield %1 : f16
  }
  %t = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %1 = arith.addf %a, %s : f16
    affine.yield %1 : f16
  }
  %u = affine.for %i = 0 to 5 iter_args(%a = %z) -> f16 {
    %0 = affine.load %x[%i] : memref<5xf16>
    %1 = arith.mulf %t, %0 : f16
    %2 = arith.addf %a, %1 : f16
    affine.yield %2 : f16
  }
  affine.store %u, %r[] : memref<f16>
  return
}

// BLOCKED-LABEL: func @matmul
//       BLOCKED: vector.fma {{.+}} : vector<8xf32>
//       BLOCKED: return
//  STRICT-LABEL: func @matmul
//    STRICT-NOT: xf32>
//        STRICT: return
func.func @matmul(%a: tensor<33x65xbf16>, %b: tensor<65x47xbf16>)
    -> tensor<33x47xbf16> {
  %z = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<33x47xbf16>
  %i = linalg.fill ins(%z : bf16) outs(%e : tensor<33x47xbf16>) -> tensor<33x47xbf16>
  %r = linalg.matmul ins(%a, %b : tensor<33x65xbf16>, tensor<65x47xbf16>)
    outs(%i : tensor<33x47xbf16>) -> tensor<33x47xbf16>
  return %r : tensor<33x47xbf16>
}
