//===- LowerViews.cpp - views that upstream cannot lower ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: replaces a memref.expand_shape that splits one dimension into several
// dynamic ones by a memref.reinterpret_cast with the same sizes and strides.
// Legal always: the operation states its sizes, and its strides follow.
// Profitable always: expand-strided-metadata of MLIR 22 crashes on such a view
// (it derives sizes and assumes one dynamic a group).
// Limits: runs after the passes that fold views into accesses.
// Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERVIEWS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-views"

using namespace mlir;

namespace polynest {

/// True if some group of dimensions has more than one dynamic size.
static bool hasCrowdedGroup(memref::ExpandShapeOp op) {
  MemRefType type = op.getResultType();
  return llvm::any_of(op.getReassociationIndices(),
                      [&](const ReassociationIndices &group) {
                        return llvm::count_if(group, [&](int64_t dim) {
                                 return type.isDynamicDim(dim);
                               }) > 1;
                      });
}

/// The strides of the result: those of the source, times the sizes further in.
static SmallVector<OpFoldResult> stridesOf(OpBuilder &b,
                                           memref::ExpandShapeOp op,
                                           ValueRange sourceStrides,
                                           ArrayRef<int64_t> known) {
  AffineExpr product = b.getAffineSymbolExpr(0) * b.getAffineSymbolExpr(1);
  AffineMap map = AffineMap::get(0, 2, product);
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(sizes.size());
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    OpFoldResult stride = sourceStrides[i];
    for (int64_t dim : llvm::reverse(group)) {
      // What the type states must be stated the same way.
      if (!ShapedType::isDynamic(known[dim]))
        stride = b.getIndexAttr(known[dim]);
      strides[dim] = stride;
      stride = affine::makeComposedFoldedAffineApply(b, op.getLoc(), map,
                                                     {stride, sizes[dim]});
    }
  }
  return strides;
}

static void lowerExpand(memref::ExpandShapeOp op) {
  OpBuilder b(op);
  auto [known, offset] = op.getResultType().getStridesAndOffset();
  auto metadata =
      memref::ExtractStridedMetadataOp::create(b, op.getLoc(), op.getSrc());
  OpFoldResult start = metadata.getOffset();
  if (!ShapedType::isDynamic(offset))
    start = b.getIndexAttr(offset);
  SmallVector<OpFoldResult> strides =
      stridesOf(b, op, metadata.getStrides(), known);
  auto cast = memref::ReinterpretCastOp::create(
      b, op.getLoc(), op.getResultType(), op.getSrc(), start,
      op.getMixedOutputShape(), strides);
  op.replaceAllUsesWith(cast.getResult());
  op.erase();
}

namespace {
struct LowerViewsPass : impl::LowerViewsBase<LowerViewsPass> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> work;
    getOperation()->walk([&](memref::ExpandShapeOp op) {
      if (hasCrowdedGroup(op))
        work.push_back(op);
      else
        ++numDeclined;
    });
    for (memref::ExpandShapeOp op : work)
      lowerExpand(op);
    numApplied += work.size();
  }
};
} // namespace

} // namespace polynest
