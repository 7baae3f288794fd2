// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/TensorShapes.cpp: shapes of tensors that loops carry.

#include "Conversion/TensorShapes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace polynest {

/// Longer chains, and deeper nests, count as unknown.
static constexpr unsigned kLongestChain = 1000;
static constexpr unsigned kDeepestNest = 8;

/// True if `empty` is made with the sizes of a loop's carried argument, or of
/// the value that the loop starts from: then all iterations have that shape.
/// Static shapes need no such proof.
static bool hasSizesOf(tensor::EmptyOp empty, Value argument) {
  auto carried = dyn_cast<BlockArgument>(argument);
  auto loop = carried ? dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp())
                      : nullptr;
  OpOperand *init = loop ? loop.getTiedLoopInit(carried) : nullptr;
  if (!init || empty.getType() != argument.getType() ||
      empty.getType().hasStaticShape())
    return false;
  for (auto [d, size] : llvm::enumerate(empty.getMixedSizes())) {
    if (isa<Attribute>(size))
      continue;
    auto dim = cast<Value>(size).getDefiningOp<tensor::DimOp>();
    if (!dim || dim.getConstantIndex() != static_cast<int64_t>(d) ||
        (dim.getSource() != argument && dim.getSource() != init->get()))
      return false;
  }
  return true;
}

static bool keepsShape(Value value, Value argument, unsigned depth) {
  for (unsigned length = 0; length < kLongestChain; ++length) {
    if (value == argument)
      return true;
    auto result = dyn_cast<OpResult>(value);
    if (!result || depth > kDeepestNest)
      return false;
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (auto style = dyn_cast<DestinationStyleOpInterface>(op)) {
      value = style.getTiedOpOperand(result)->get();
    } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
      value = insert.getDest();
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      return hasSizesOf(empty, argument);
    } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      value = cast.getSource();
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      return keepsShape(branch.thenYield().getOperand(number), argument,
                        depth + 1) &&
             keepsShape(branch.elseYield().getOperand(number), argument,
                        depth + 1);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (!keepsShape(loop.getYieldedValues()[number],
                      loop.getRegionIterArg(number), depth + 1))
        return false;
      value = loop.getInitArgs()[number];
    } else {
      return false;
    }
  }
  return false;
}

bool keepsShape(Value value, Value argument) {
  return keepsShape(value, argument, 0);
}

namespace {
struct DimOfLoop : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    auto loop = op.getSource().getDefiningOp<scf::ForOp>();
    if (!loop)
      return failure();
    unsigned number = cast<OpResult>(op.getSource()).getResultNumber();
    if (!keepsShape(loop.getYieldedValues()[number],
                    loop.getRegionIterArg(number)))
      return failure();
    rewriter.modifyOpInPlace(op, [&]() {
      op.getSourceMutable().assign(loop.getInitArgs()[number]);
    });
    return success();
  }
};
} // namespace

void populateDimOfLoopPatterns(RewritePatternSet &patterns) {
  patterns.add<DimOfLoop>(patterns.getContext());
}

} // namespace polynest
