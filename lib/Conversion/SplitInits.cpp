//===- SplitInits.cpp - one initial value for each use --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every operation that overwrites a tensor its own `linalg.fill`
// and `tensor.empty`, where common subexpression elimination has left one for
// many; and an empty tensor instead of a filled one, or of one of its own
// operands, where the operation writes every element and reads none. Uses of an
// input that is never written see it as a tensor each for itself.
// Legal: all are pure on tensors. An operation writes every element if its
// output map is a permutation of its loops: then no loop of size zero can leave
// the initial value in place.
// Profitable always: a shared initial value must be kept, so bufferization
// would copy it for each use but the last; filling again costs half of a copy.
// Arithmetic on whole tensors has an operand as its initial value, so that all
// of a chain overwrites one buffer; and bufferization compares each read of a
// buffer with each write, for each operation anew: a chain of 500 took it 20 s.
// It also looks at all uses of a tensor for each.
// Limits: fills of other fills are split one level at a time. In loops and
// branches, where a tensor that is overwritten may be carried, operands stay.
// Cost: linear in uses.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITINITS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-inits"

using namespace mlir;

namespace polynest {

/// The empty tensor that an operation of linalg computes `value` in; null where
/// there is none.
static tensor::EmptyOp getEmptyBelow(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto op = result ? dyn_cast<linalg::LinalgOp>(result.getOwner())
                   : linalg::LinalgOp();
  return op ? op.getDpsInitOperand(result.getResultNumber())
                  ->get()
                  .getDefiningOp<tensor::EmptyOp>()
            : tensor::EmptyOp();
}

/// True if `op` stands in a function itself and reads its initial value as
/// another operand.
static bool overwritesOperand(linalg::LinalgOp op, Value init) {
  return isa<FunctionOpInterface>(op->getParentOp()) &&
         llvm::is_contained(op.getDpsInputs(), init);
}

/// Replaces initial values that `op` overwrites without a look.
static unsigned dropUnreadInits(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || isa<linalg::FillOp>(op))
    return 0;
  unsigned dropped = 0;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Value value = init.get();
    tensor::EmptyOp empty = getEmptyBelow(value);
    bool isFilled = empty && value.getDefiningOp<linalg::FillOp>();
    if ((!isFilled && !overwritesOperand(op, value)) ||
        op.payloadUsesValueFromOperand(&init) ||
        !op.getMatchingIndexingMap(&init).isPermutation())
      continue;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<OpFoldResult> sizes =
        empty ? empty.getMixedSizes()
              : tensor::getMixedSizes(builder, loc, value);
    init.set(
        tensor::EmptyOp::create(builder, loc, sizes, type.getElementType()));
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
    SmallVector<bufferization::ToTensorOp> inputs;
    getOperation()->walk([&](bufferization::ToTensorOp input) {
      if (!input.getWritable() && !input->use_empty() && !input->hasOneUse())
        inputs.push_back(input);
    });
    for (bufferization::ToTensorOp input : inputs)
      numApplied += splitUses(input);
  }
};
} // namespace

} // namespace polynest
