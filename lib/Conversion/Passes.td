// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/Passes.td: passes that take one stage's form to the next.

#ifndef POLYNEST_CONVERSION_PASSES
#define POLYNEST_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def GuardIntegerDivision : Pass<"polynest-guard-integer-division"> {
  let summary = "Give integer division and remainder defined results";
  let description = [{
    Rewrites `arith.divsi`, `divui`, `remsi`, `remui`, `floordivsi`,
    `ceildivsi` and `ceildivui` so that no operand can raise a signal or be
    undefined: x / 0 is 0, x rem 0 is 0, and INT_MIN / -1 wraps to INT_MIN
    (remainder 0). The divisor is replaced by 1 where it would trap, and the
    result selected. Divisions by a constant other than 0 and -1 stay.
    It is the first pass of S1, before any canonicalization may use the
    undefined cases. Idempotent: a guarded division's divisor is a select
    that excludes the undefined cases.

    Before: `%q = arith.divsi %a, %b : i32`
    After:  a division of selected operands and a select on `%b == 0`.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numApplied", "num-applied", "Divisions guarded">,
    Statistic<"numDeclined", "num-declined",
              "Divisions left alone since their divisor is safe">
  ];
}

#endif // POLYNEST_CONVERSION_PASSES
