//===- LowerLinalg.cpp - linalg on memrefs and memref.copy to nests -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: replaces every structured linalg operation on memrefs, and every
// memref.copy, by one perfect loop nest whose accesses are the operation's
// indexing maps. The body is the operation's region: no arithmetic is changed,
// so NaN, signed zero and wrap-around come out as the region says.
// Legal always: linalg defines an operation on memrefs as this nest; it reads
// all operands of one iteration before it writes, and the iterations' order is
// the lexicographic one but for parallel loops around a reduction, which are in
// the order in which the result lies in memory: their order is free, and loops
// of other operations on the same arrays then line up with them. memref.copy
// leaves overlap undefined; here source and target that may overlap partly go
// through a temporary, so that the source is read before it is written.
// Profitable always: nests are the form that all later passes work on.
// Limits: loops are affine if every size is a constant or a valid symbol, else
// scf.for. Unranked copies and operations on tensors are declined.
// Cost: linear in the number of operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Aliasing.h"
#include "Conversion/NestBuilder.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERLINALG
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-linalg"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "lower-linalg";

/// Why this operation cannot become a nest, or an empty string.
static StringRef whyNotStructured(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return "operands are tensors";
  if (!op.getShapesToLoopsMap() && op.getNumLoops() != 0)
    return "loop bounds do not follow from the operands";
  return "";
}

static StringRef whyNotCopy(memref::CopyOp op) {
  if (!isa<MemRefType>(op.getSource().getType()) ||
      !isa<MemRefType>(op.getTarget().getType()))
    return "operands are unranked";
  return "";
}

/// How a copy may be carried out.
enum class CopyForm { Direct, Nothing, ThroughTemporary };

/// Slices of one memref: equal, disjoint, or not known.
static CopyForm formOfSlices(memref::SubViewOp source,
                             memref::SubViewOp target) {
  MLIRContext *context = source.getContext();
  HyperrectangularSlice a(source), b(target);
  FailureOr<bool> equal =
      ValueBoundsConstraintSet::areEquivalentSlices(context, a, b);
  if (succeeded(equal) && *equal)
    return CopyForm::Nothing;
  FailureOr<bool> overlap =
      ValueBoundsConstraintSet::areOverlappingSlices(context, a, b);
  if (succeeded(overlap) && !*overlap)
    return CopyForm::Direct;
  return CopyForm::ThroughTemporary;
}

static CopyForm formOfCopy(memref::CopyOp op) {
  Value source = op.getSource(), target = op.getTarget();
  if (source == target)
    return CopyForm::Nothing;
  if (!mayAlias(source, target))
    return CopyForm::Direct;
  auto sourceView = source.getDefiningOp<memref::SubViewOp>();
  auto targetView = target.getDefiningOp<memref::SubViewOp>();
  if (sourceView && targetView &&
      sourceView.getSource() == targetView.getSource() &&
      computeRankReductionMask(sourceView.getStaticSizes(),
                               sourceView.getType().getShape()) ==
          computeRankReductionMask(targetView.getStaticSizes(),
                                   targetView.getType().getShape()))
    return formOfSlices(sourceView, targetView);
  return CopyForm::ThroughTemporary;
}

/// The size of loop `dim`: a constant if any operand states it, else the size
/// of the first operand dimension that the loop walks alone.
static OpFoldResult loopSize(OpBuilder &builder, linalg::LinalgOp op,
                             unsigned dim) {
  AffineExpr loop = builder.getAffineDimExpr(dim);
  OpOperand *operandOfLoop = nullptr;
  unsigned dimOfOperand = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (expr != loop)
        continue;
      if (!type.isDynamicDim(i))
        return builder.getIndexAttr(type.getDimSize(i));
      if (operandOfLoop)
        continue;
      operandOfLoop = &operand;
      dimOfOperand = i;
    }
  }
  assert(operandOfLoop && "verified: the indexing maps are invertible");
  return memref::getMixedSize(builder, op.getLoc(), operandOfLoop->get(),
                              dimOfOperand);
}

/// An affine operation of the body may use an index as a symbol, which it is in
/// the body; an induction variable is a dimension.
static void demoteSymbols(Operation *op) {
  if (!isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(op))
    return;
  auto map = cast<AffineMapAttr>(op->getAttr("map")).getValue();
  SmallVector<AffineExpr> symbols;
  SmallVector<Value> dimOperands(
      op->getOperands().take_front(map.getNumDims()));
  SmallVector<Value> symbolOperands;
  for (Value operand : op->getOperands().drop_front(map.getNumDims())) {
    if (affine::isValidSymbol(operand)) {
      symbols.push_back(
          getAffineSymbolExpr(symbolOperands.size(), op->getContext()));
      symbolOperands.push_back(operand);
    } else {
      symbols.push_back(getAffineDimExpr(dimOperands.size(), op->getContext()));
      dimOperands.push_back(operand);
    }
  }
  if (dimOperands.size() == map.getNumDims())
    return;
  AffineMap demoted = map.replaceDimsAndSymbols({}, symbols, dimOperands.size(),
                                                symbolOperands.size());
  op->setAttr("map", AffineMapAttr::get(demoted));
  dimOperands.append(symbolOperands);
  op->setOperands(dimOperands);
}

/// Clones the region's body for the iteration `ivs`; returns what it yields.
static SmallVector<Value> cloneBody(OpBuilder &builder, linalg::LinalgOp op,
                                    ValueRange ivs, IRMapping &mapping) {
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), ivs[index.getDim()]);
      continue;
    }
    builder.clone(inner, mapping)->walk(demoteSymbols);
  }
  SmallVector<Value> yielded;
  for (Value value : op.getBlock()->getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

static void buildIteration(OpBuilder &builder, linalg::LinalgOp op,
                           ValueRange ivs) {
  Location loc = op.getLoc();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    Value value = operand.get();
    if (isa<MemRefType>(value.getType()))
      value = loadElement(builder, loc, value,
                          op.getMatchingIndexingMap(&operand), ivs);
    mapping.map(argument, value);
  }
  SmallVector<Value> yielded = cloneBody(builder, op, ivs, mapping);
  for (auto [i, value] : llvm::enumerate(yielded)) {
    OpOperand *out = op.getDpsInitOperand(i);
    // An element that is yielded as it came needs no store.
    if (op.getBlock()->getTerminator()->getOperand(i) ==
        op.getMatchingBlockArgument(out))
      continue;
    storeElement(builder, loc, value, out->get(),
                 op.getMatchingIndexingMap(out), ivs);
  }
}

/// The loops in the order in which they are nested. Parallel loops of an
/// operation that reduces stand in the order of the result's dimensions where
/// each of them is one, as in a depthwise convolution with channels first,
/// whose definition names the image's loops before the channel's.
static SmallVector<unsigned> orderLoops(linalg::LinalgOp op) {
  auto order = llvm::to_vector(llvm::seq<unsigned>(op.getNumLoops()));
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  if (op.getNumReductionLoops() == 0 ||
      parallel.size() + op.getNumReductionLoops() != order.size())
    return order;
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (OpOperand &operand : op.getDpsInitsMutable())
    if (op.getMatchingIndexingMap(&operand) != result)
      return order;
  if (!result.isProjectedPermutation() ||
      result.getNumResults() != parallel.size())
    return order;
  for (auto [position, expr] : llvm::enumerate(result.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    if (!llvm::is_contained(parallel, dim))
      return llvm::to_vector(llvm::seq<unsigned>(op.getNumLoops()));
    order[parallel[position]] = dim;
  }
  return order;
}

static void lowerStructured(linalg::LinalgOp op) {
  OpBuilder builder(op);
  SmallVector<unsigned> order = orderLoops(op);
  SmallVector<OpFoldResult> sizes;
  for (unsigned dim : order)
    sizes.push_back(loopSize(builder, op, dim));
  auto buildBody = [&](OpBuilder &b, ValueRange nested) {
    SmallVector<Value> ivs(nested.size());
    for (auto [dim, iv] : llvm::zip_equal(order, nested))
      ivs[dim] = iv;
    buildIteration(b, op, ivs);
  };
  bool affine = buildNest(builder, op.getLoc(), sizes, buildBody);
  remark(RemarkKind::Applied, op.getLoc(), kPass, "lowered to a nest")
      << arg("op", op->getName().getStringRef())
      << arg("loops", int64_t(sizes.size()))
      << arg("form", affine ? "affine" : "scf");
  op->erase();
}

static void lowerCopy(memref::CopyOp op, CopyForm form) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value source = op.getSource(), target = op.getTarget();
  if (form == CopyForm::ThroughTemporary) {
    auto type = cast<MemRefType>(source.getType());
    auto plain =
        MemRefType::get(type.getShape(), type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace());
    SmallVector<Value> dynamicSizes;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim))
        dynamicSizes.push_back(
            memref::DimOp::create(builder, loc, source, dim));
    Value temporary =
        memref::AllocOp::create(builder, loc, plain, dynamicSizes);
    buildCopyNest(builder, loc, source, temporary);
    source = temporary;
    remark(RemarkKind::Analysis, loc, kPass,
           "copy between views that may overlap takes a temporary");
  }
  if (form != CopyForm::Nothing)
    buildCopyNest(builder, loc, source, target);
  op.erase();
}

static void decline(Operation *op, StringRef reason) {
  remark(RemarkKind::Declined, op->getLoc(), kPass, reason)
      << arg("op", op->getName().getStringRef());
}

namespace {
struct LowerLinalgPass : impl::LowerLinalgBase<LowerLinalgPass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> structured;
    SmallVector<std::pair<memref::CopyOp, CopyForm>> copies;
    getOperation()->walk([&](Operation *op) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      auto copy = dyn_cast<memref::CopyOp>(op);
      if (!linalgOp && !copy)
        return;
      StringRef reason =
          linalgOp ? whyNotStructured(linalgOp) : whyNotCopy(copy);
      if (!reason.empty()) {
        decline(op, reason);
        ++numDeclined;
      } else if (linalgOp) {
        structured.push_back(linalgOp);
      } else {
        copies.emplace_back(copy, formOfCopy(copy));
      }
    });
    for (linalg::LinalgOp op : structured)
      lowerStructured(op);
    for (auto [op, form] : copies)
      lowerCopy(op, form);
    numApplied += structured.size() + copies.size();
  }
};
} // namespace

} // namespace polynest
