//===- CountWork.cpp - report the floating-point work of a function -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: adds up the floating-point operations of each top-level operation of a
// function, by the trip counts of the loops around them, and reports them as a
// remark. Changes nothing.
// Legal always. Profitable: benchmarks and explanations need the number.
// Limits: an operation in a loop whose trip count is not known is reported as
// uncounted; a function of `math` counts as one operation.
// Cost: linear in operations times depth; nothing where nobody listens.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/Remark.h"
#include "Transforms/WorkCount.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace polynest {
#define GEN_PASS_DEF_COUNTWORK
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-count-work"

using namespace mlir;

namespace polynest {

namespace {
struct CountWorkPass : impl::CountWorkBase<CountWorkPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!remarksWanted(&getContext()))
      return;
    for (Operation &op : getOperation().getOps()) {
      WorkCount work = countWork(&op);
      if (work.flop == 0 && work.uncounted == 0) {
        ++numDeclined;
        continue;
      }
      remark(RemarkKind::Analysis, op.getLoc(), "count-work",
             "floating-point operations of one call")
          << arg("flop", llvm::formatv("{0:f0}", work.flop).str())
          << arg("uncounted", std::to_string(work.uncounted));
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
