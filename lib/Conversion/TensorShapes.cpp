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
