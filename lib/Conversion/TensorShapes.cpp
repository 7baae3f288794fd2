// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/TensorShapes.cpp: shapes of tensors that loops carry.

#include "Conversion/TensorShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;

namespace polynest {

/// Longer chains, and deeper nests, count as unknown.
static constexpr unsigned kLongestChain = 1000;
static constexpr unsigned kDeepestNest = 8;

namespace {
/// One size of a tensor: that of dimension `dim` of `base`; the number `base`
/// where `dim` is -1; the constant `dim` where `base` is null.
struct Extent {
  Value base;
  int64_t dim;

  bool operator==(const Extent &other) const {
    return base == other.base && dim == other.dim;
  }
};
} // namespace

/// The operand whose shape the result has by its operation's form; null
/// if there is none.
static Value getShapeSource(OpResult result) {
  if (auto style = dyn_cast<DestinationStyleOpInterface>(result.getOwner()))
    return style.getTiedOpOperand(result)->get();
  if (auto insert = dyn_cast<tensor::InsertOp>(result.getOwner()))
    return insert.getDest();
  return {};
}

/// Where size `d` of `value` comes from, as far as that can be followed.
static Extent extentOf(Value value, int64_t d, unsigned depth = 0) {
  for (unsigned length = 0; length < kLongestChain; ++length) {
    auto type = cast<RankedTensorType>(value.getType());
    if (!type.isDynamicDim(d))
      return {Value(), type.getDimSize(d)};
    auto result = dyn_cast<OpResult>(value);
    if (!result || depth > kDeepestNest)
      break;
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (Value source = getShapeSource(result)) {
      value = source;
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      Value size = cast<Value>(empty.getMixedSizes()[d]);
      auto dim = size.getDefiningOp<tensor::DimOp>();
      if (!dim || !dim.getConstantIndex())
        return {size, -1};
      value = dim.getSource();
      d = *dim.getConstantIndex();
      auto source = dyn_cast<RankedTensorType>(value.getType());
      if (!source || d < 0 || d >= source.getRank())
        return {size, -1};
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Extent then =
          extentOf(branch.thenYield().getOperand(number), d, depth + 1);
      Extent other =
          extentOf(branch.elseYield().getOperand(number), d, depth + 1);
      // What both sides know comes from outside of both.
      return then == other ? then : Extent{value, d};
    } else {
      break;
    }
  }
  return {value, d};
}

/// True if `empty` is made with the sizes of a loop's carried argument, or of
/// the value that the loop starts from: then all iterations have that shape.
/// Static shapes need no such proof.
static bool hasSizesOf(tensor::EmptyOp empty, Value argument) {
  auto carried = dyn_cast<BlockArgument>(argument);
  auto loop = carried ? dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp())
                      : nullptr;
  OpOperand *init = loop ? loop.getTiedLoopInit(carried) : nullptr;
  RankedTensorType type = empty.getType();
  if (!init || type != argument.getType() || type.hasStaticShape())
    return false;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Extent extent = extentOf(empty, d);
    if (!(extent == Extent{argument, d}) &&
        !(extent == extentOf(init->get(), d)))
      return false;
  }
  return true;
}

/// `mayBeNew` says that tensors made anew with its sizes count, too.
static bool keepsShape(Value value, Value argument, bool mayBeNew,
                       unsigned depth) {
  for (unsigned length = 0; length < kLongestChain; ++length) {
    if (value == argument)
      return true;
    auto result = dyn_cast<OpResult>(value);
    if (!result || depth > kDeepestNest)
      return false;
    Operation *op = result.getOwner();
    unsigned number = result.getResultNumber();
    if (Value source = getShapeSource(result)) {
      value = source;
    } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
      return mayBeNew && hasSizesOf(empty, argument);
    } else if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      value = cast.getSource();
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      return keepsShape(branch.thenYield().getOperand(number), argument,
                        mayBeNew, depth + 1) &&
             keepsShape(branch.elseYield().getOperand(number), argument,
                        mayBeNew, depth + 1);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (!keepsShape(loop.getYieldedValues()[number],
                      loop.getRegionIterArg(number), mayBeNew, depth + 1))
        return false;
      value = loop.getInitArgs()[number];
    } else {
      return false;
    }
  }
  return false;
}

bool keepsShape(Value value, Value argument) {
  return keepsShape(value, argument, true, 0);
}

bool overwrites(Value value, Value argument) {
  return keepsShape(value, argument, false, 0);
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

struct DimOfBranch : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
    std::optional<int64_t> d = op.getConstantIndex();
    if (!op.getSource().getDefiningOp<scf::IfOp>() || !type || !d || *d < 0 ||
        *d >= type.getRank() || !type.isDynamicDim(*d))
      return failure();
    Extent extent = extentOf(op.getSource(), *d);
    if (extent.base == op.getSource())
      return failure();
    Location loc = op.getLoc();
    if (!extent.base)
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, extent.dim);
    else if (extent.dim < 0)
      rewriter.replaceOp(op, extent.base);
    else
      rewriter.replaceOp(
          op, tensor::DimOp::create(rewriter, loc, extent.base, extent.dim));
    return success();
  }
};
} // namespace

void populateDimOfLoopPatterns(RewritePatternSet &patterns) {
  patterns.add<DimOfLoop, DimOfBranch>(patterns.getContext());
}

} // namespace polynest
