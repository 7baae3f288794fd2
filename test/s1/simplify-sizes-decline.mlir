// Properties: numbers of a program may be below zero (@number) and sums of them leave 64
// bits (@wraps), as sizes do times large constants (@large); a minimum that either operand
// may be stays (@either), and so do quotients that round the other way (@rounds).
// RUN: polynest-opt %s -o %t.plain
// RUN: polynest-opt %s --pass-pipeline='builtin.module(func.func(polynest-simplify-sizes))' | diff %t.plain -

func.func @number(%n: index) -> (index, i1) {
  %c0 = arith.constant 0 : index
  %a = arith.maxsi %n, %c0 : index
  %b = arith.cmpi slt, %n, %c0 : index
  return %a, %b : index, i1
}

// What is above n wraps around where n is the largest number.
func.func @wraps(%n: index) -> (index, i1) {
  %c1 = arith.constant 1 : index
  %more = arith.addi %n, %c1 : index
  %a = arith.maxsi %n, %more : index
  %b = arith.cmpi slt, %n, %more : index
  return %a, %b : index, i1
}

// 2^48 * 2^20 leaves 64 bits.
func.func @large(%x: tensor<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %c = arith.constant 1048576 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.muli %n, %c : index
  %a = arith.maxsi %m, %c0 : index
  return %a : index
}

func.func @either(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (index, index, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = tensor.dim %y, %c0 : tensor<?xf32>
  %a = arith.minsi %n, %m : index
  %b = arith.minsi %n, %c1 : index
  %c = arith.cmpi sge, %a, %n : index
  return %a, %b, %c : index, index, i1
}

// (n + 2) floordiv 2 is above n where n is 0 or 1.
func.func @rounds(%x: tensor<?xf32>, %k: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %more = arith.addi %n, %c2 : index
  %half = arith.floordivsi %more, %c2 : index
  %a = arith.minsi %half, %n : index
  // Rounds up below zero.
  %part = arith.divsi %k, %c2 : index
  %floor = arith.floordivsi %k, %c2 : index
  %b = arith.minsi %part, %floor : index
  return %a, %b : index, index
}
