//===- ExpandArith.cpp - arithmetic that LLVM lacks -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: expands ceiling and floor division of integers and the casts to and
// from bf16 into operations that convert-arith-to-llvm knows.
// Legal always. Upstream's arith-expand as a whole is not used: it expands
// maximumf and minimumf into compares that lose the order of -0.0 and +0.0
// (fault B007), while LLVM's own maximum and minimum keep it.
// Profitable: bf16 casts would become library calls that no process has.
// Limits: none. Cost: linear in operations that are expanded.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace polynest {
#define GEN_PASS_DEF_EXPANDARITH
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-expand-arith"

using namespace mlir;

namespace polynest {
namespace {
struct ExpandArithPass : impl::ExpandArithBase<ExpandArithPass> {
  /// True if a pattern would match.
  static bool isExpanded(Operation *op) {
    if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
      return true;
    return isa<arith::ExtFOp, arith::TruncFOp>(op) &&
           (getElementTypeOrSelf(op->getOperand(0)).isBF16() ||
            getElementTypeOrSelf(op->getResult(0)).isBF16());
  }

  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation()->walk([&](Operation *op) {
      if (isExpanded(op))
        found.push_back(op);
    });
    if (found.empty()) {
      ++numDeclined;
      return;
    }
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    bool changed = false;
    GreedyRewriteConfig config;
    config.enableFolding(false);
    config.setScope(&getOperation()->getRegion(0));
    // The rest of the module would be visited in vain.
    if (failed(applyOpPatternsGreedily(found, std::move(patterns), config,
                                       &changed)))
      return signalPassFailure();
    if (changed)
      ++numApplied;
    else
      ++numDeclined;
  }
};
} // namespace
} // namespace polynest
