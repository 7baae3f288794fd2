// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/MergeRows.cpp: see ContractionBlocks.h.

#include "Transforms/ContractionBlocks.h"

#include "Analysis/Sizes.h"
#include "Transforms/CoalesceLoops.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

void mergeRows(func::FuncOp function) {
  SizeFacts facts;
  SmallVector<Operation *> tops;
  for (Operation &top : function.getBody().front())
    tops.push_back(&top);
  for (Operation *top : tops) {
    if (auto assertion = dyn_cast<cf::AssertOp>(top)) {
      facts.assume(assertion);
      continue;
    }
    SmallVector<AffineForOp> roots;
    top->walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      if (loop->hasAttr(kTiled) || loop->hasAttr(kVectorized))
        return WalkResult::skip();
      std::string reason;
      if (failed(matchContraction(loop, reason)))
        return WalkResult::advance();
      roots.push_back(loop);
      return WalkResult::skip();
    });
    for (AffineForOp outer : roots)
      while (AffineForOp inner = getOnlyLoop(outer)) {
        AffineForOp joint = inner.hasConstantUpperBound()
                                ? AffineForOp()
                                : coalesceLoops(outer, facts);
        outer = joint ? joint : inner;
      }
  }
}

} // namespace polynest
