//===- SettleViews.cpp - slices and reshapes with one meaning -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: rewrites views of tensors that MLIR takes for others. A slice that
// drops some dimensions of size 1, and keeps others that are, or turn out to
// be, of size 1 too, is one of full rank and a reshape: where sizes become
// known, canonicalization drops the first ones of size 1, whichever those were,
// and of memrefs dropped dimensions are taken from strides, two of which may be
// the same. A reshape that joins a dimension of size 0 with one of unknown size
// is an empty tensor: bufferization knows that the joined size is 0, which the
// reshape of a memref may not say.
// Legal always: each is what the operation says before sizes are known.
// Profitable always: the alternative is wrong or an error.
// Limits: tensors with an encoding, which a later pass refuses.
// Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace polynest {
#define GEN_PASS_DEF_SETTLEVIEWS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-settle-views"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "settle-views";

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Which dimensions a slice of `sizes` drops to get the shape of `kept`, if it
/// drops some and others are, or may be, of size 1 too.
static std::optional<llvm::SmallDenseSet<unsigned>>
findAmbiguous(ArrayRef<int64_t> sizes, RankedTensorType kept) {
  auto mayBeOne = [](int64_t size) {
    return size == 1 || ShapedType::isDynamic(size);
  };
  int64_t dropped = int64_t(sizes.size()) - kept.getRank();
  if (dropped == 0 || llvm::count_if(sizes, mayBeOne) <= dropped ||
      kept.getEncoding())
    return std::nullopt;
  return computeRankReductionMask(sizes, kept.getShape());
}

/// True if a dimension of size 0 is joined with one of unknown size.
static bool joinsZero(tensor::CollapseShapeOp op) {
  RankedTensorType type = op.getSrcType();
  return !type.getEncoding() &&
         llvm::any_of(op.getReassociationIndices(),
                      [&](const ReassociationIndices &group) {
                        auto has = [&](int64_t size) {
                          return llvm::any_of(group, [&](int64_t d) {
                            return type.getDimSize(d) == size;
                          });
                        };
                        return has(0) && has(ShapedType::kDynamic);
                      });
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Groups of dimensions that become one each: every kept dimension with dropped
/// ones around it.
static SmallVector<ReassociationIndices>
groupsOf(ArrayRef<int64_t> sizes,
         const llvm::SmallDenseSet<unsigned> &dropped) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices leading;
  for (unsigned i = 0; i < sizes.size(); ++i) {
    if (dropped.contains(i) && !groups.empty()) {
      groups.back().push_back(i);
    } else {
      leading.push_back(i);
      if (!dropped.contains(i))
        groups.push_back(std::exchange(leading, {}));
    }
  }
  return groups;
}

/// As a slice of full rank, of which dimensions are dropped then.
static Value settle(OpBuilder &b, tensor::ExtractSliceOp op) {
  auto dropped = findAmbiguous(op.getStaticSizes(), op.getType());
  if (!dropped)
    return {};
  Value full = tensor::ExtractSliceOp::create(
      b, op.getLoc(), op.getSource(), op.getMixedOffsets(), op.getMixedSizes(),
      op.getMixedStrides());
  return tensor::CollapseShapeOp::create(
      b, op.getLoc(), op.getType(), full,
      groupsOf(op.getStaticSizes(), *dropped));
}

static Value settle(OpBuilder &b, tensor::InsertSliceOp op) {
  RankedTensorType type = op.getSourceType();
  auto dropped = findAmbiguous(op.getStaticSizes(), type);
  if (!dropped)
    return {};
  auto fullType =
      RankedTensorType::get(op.getStaticSizes(), type.getElementType());
  Value full = tensor::ExpandShapeOp::create(
      b, op.getLoc(), fullType, op.getSource(),
      groupsOf(op.getStaticSizes(), *dropped), op.getMixedSizes());
  return tensor::InsertSliceOp::create(b, op.getLoc(), full, op.getDest(),
                                       op.getMixedOffsets(), op.getMixedSizes(),
                                       op.getMixedStrides());
}

/// The size of joined dimensions.
static OpFoldResult joinSizes(OpBuilder &b, tensor::CollapseShapeOp op,
                              ArrayRef<int64_t> group) {
  RankedTensorType type = op.getSrcType();
  if (llvm::any_of(group, [&](int64_t d) { return type.getDimSize(d) == 0; }))
    return b.getIndexAttr(0);
  OpFoldResult joined = b.getIndexAttr(1);
  for (int64_t d : group) {
    OpFoldResult size = tensor::getMixedSize(b, op.getLoc(), op.getSrc(), d);
    if (isConstantIntValue(joined, 1))
      joined = size;
    else if (!isConstantIntValue(size, 1))
      joined = arith::MulIOp::create(
                   b, op.getLoc(),
                   getValueOrCreateConstantIndexOp(b, op.getLoc(), joined),
                   getValueOrCreateConstantIndexOp(b, op.getLoc(), size))
                   .getResult();
  }
  return joined;
}

static Value settle(OpBuilder &b, tensor::CollapseShapeOp op) {
  if (!joinsZero(op))
    return {};
  RankedTensorType type = op.getResultType();
  SmallVector<Value> sizes;
  for (auto [d, group] : llvm::enumerate(op.getReassociationIndices()))
    if (type.isDynamicDim(d))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, op.getLoc(),
                                                      joinSizes(b, op, group)));
  return tensor::EmptyOp::create(b, op.getLoc(), type, sizes);
}

static Value settle(OpBuilder &b, Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return settle(b, slice);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return settle(b, slice);
  return settle(b, cast<tensor::CollapseShapeOp>(op));
}

namespace {
struct SettleViewsPass : impl::SettleViewsBase<SettleViewsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation()->walk([&](Operation *op) {
      if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp,
              tensor::CollapseShapeOp>(op))
        work.push_back(op);
    });
    IRRewriter b(&getContext());
    for (Operation *op : work) {
      b.setInsertionPoint(op);
      Value settled = settle(b, op);
      if (!settled) {
        ++numDeclined;
        continue;
      }
      remark(RemarkKind::Applied, op->getLoc(), kPass, "settled")
          << arg("op", op->getName().getStringRef());
      ++numApplied;
      b.replaceOp(op, settled);
    }
  }
};
} // namespace

} // namespace polynest
