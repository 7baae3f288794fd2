// Fault B115: (i mod 20) floordiv 2 * 2 mod 4 is not i mod 4; 5, 7 and 13 give 0,
// 2 and 0, written with index arithmetic and with affine maps.
// RUN: polynestc run %s --entry arithmetic --print --check | FileCheck %s --check-prefix=R0
// R0: {{^\[}}0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2{{\]$}}
// RUN: polynestc run %s --entry maps --print --check | FileCheck %s --check-prefix=R1
// R1: {{^\[}}0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 2, 2{{\]$}}
// RUN: %npy %t.2.0.npy i8 "4" "10 11 12 13"
// RUN: polynestc run %s --entry access --input %t.2.0.npy --print --check | FileCheck %s --check-prefix=R2
// R2: {{^\[}}10, 10, 12, 12, 10, 10, 12, 12, 10, 10, 12, 12, 10, 10, 12, 12, 10, 10, 12, 12, 10, 10, 12, 12{{\]$}}

#nested = affine_map<(d0) -> ((((d0 mod 20) floordiv 2) * 2) mod 4)>

func.func @arithmetic() -> tensor<24xi64> {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c20 = arith.constant 20 : index
  %r = tensor.generate {
  ^bb0(%i: index):
    %a = arith.remui %i, %c20 : index
    %b = arith.divui %a, %c2 : index
    %c = arith.muli %b, %c2 : index
    %d = arith.remui %c, %c4 : index
    %v = arith.index_cast %d : index to i64
    tensor.yield %v : i64
  } : tensor<24xi64>
  return %r : tensor<24xi64>
}

func.func @maps() -> tensor<24xi64> {
  %r = tensor.generate {
  ^bb0(%i: index):
    %d = affine.apply #nested(%i)
    %v = arith.index_cast %d : index to i64
    tensor.yield %v : i64
  } : tensor<24xi64>
  return %r : tensor<24xi64>
}

func.func @access(%x: tensor<4xi64>) -> tensor<24xi64> {
  %r = tensor.generate {
  ^bb0(%i: index):
    %d = affine.apply #nested(%i)
    %v = tensor.extract %x[%d] : tensor<4xi64>
    tensor.yield %v : i64
  } : tensor<24xi64>
  return %r : tensor<24xi64>
}
