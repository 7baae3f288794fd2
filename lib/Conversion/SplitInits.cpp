//===- SplitInits.cpp - one initial value for each use --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every operation that overwrites a tensor its own `linalg.fill`
// and `tensor.empty`, where common subexpression elimination has left one for
// many; and an empty tensor instead of a filled one where the operation writes
// every element and reads none.
// Legal: both are pure on tensors. An operation writes every element if its
// output map is a permutation of its loops: then no loop of size zero can leave
// the initial value in place.
// Profitable always: a shared initial value must be kept, so bufferization
// would copy it for each use but the last; filling again costs half of a copy.
// Limits: fills of other fills are split one level at a time.
// Cost: linear in uses.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITINITS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-inits"

using namespace mlir;

namespace polynest {

/// Replaces initial values that `op` overwrites without a look.
static unsigned dropUnreadInits(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || isa<linalg::FillOp>(op))
    return 0;
  unsigned dropped = 0;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    auto fill = init.get().getDefiningOp<linalg::FillOp>();
    auto empty =
        fill ? fill.getDpsInitOperand(0)->get().getDefiningOp<tensor::EmptyOp>()
             : tensor::EmptyOp();
    if (!empty || op.payloadUsesValueFromOperand(&init) ||
        !op.getMatchingIndexingMap(&init).isPermutation())
      continue;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(init.get().getType());
    init.set(tensor::EmptyOp::create(builder, loc, empty.getMixedSizes(),
                                     type.getElementType()));
    ++dropped;
  }
  return dropped;
}

/// A fill of tensors, whose result may be made again for each use.
static bool isSharedFill(linalg::FillOp fill) {
  return fill.hasPureTensorSemantics() && !fill->hasOneUse() &&
         !fill->use_empty();
}

/// Gives each use of `op`'s result but the first a copy of the operation.
static unsigned splitUses(Operation *op) {
  unsigned copies = 0;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  for (OpOperand &use :
       llvm::make_early_inc_range(llvm::drop_begin(op->getUses()))) {
    use.set(builder.clone(*op)->getResult(0));
    ++copies;
  }
  return copies;
}

namespace {
struct SplitInitsPass : impl::SplitInitsBase<SplitInitsPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [&](linalg::LinalgOp op) { numApplied += dropUnreadInits(op); });
    SmallVector<linalg::FillOp> fills;
    getOperation()->walk([&](linalg::FillOp fill) {
      if (isSharedFill(fill))
        fills.push_back(fill);
      else
        ++numDeclined;
    });
    for (linalg::FillOp fill : fills)
      numApplied += splitUses(fill);
    SmallVector<tensor::EmptyOp> empties;
    getOperation()->walk([&](tensor::EmptyOp empty) {
      if (!empty->use_empty() && !empty->hasOneUse())
        empties.push_back(empty);
    });
    for (tensor::EmptyOp empty : empties)
      numApplied += splitUses(empty);
  }
};
} // namespace

} // namespace polynest
