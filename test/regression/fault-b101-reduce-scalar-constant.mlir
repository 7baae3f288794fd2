// Fault B101: a reduction over no dimensions of an i16 constant of rank 0.
// RUN: polynestc run %s --entry reduce --print --check | FileCheck %s --check-prefix=R0
// R0: {{^}}-7

func.func @reduce() -> tensor<i16> {
  %x = arith.constant dense<-7> : tensor<i16>
  %zero = arith.constant 0 : i16
  %e = tensor.empty() : tensor<i16>
  %f = linalg.fill ins(%zero : i16) outs(%e : tensor<i16>) -> tensor<i16>
  %r = linalg.reduce ins(%x : tensor<i16>) outs(%f : tensor<i16>)
      dimensions = []
    (%a: i16, %b: i16) {
      %s = arith.addi %a, %b : i16
      linalg.yield %s : i16
    }
  return %r : tensor<i16>
}
