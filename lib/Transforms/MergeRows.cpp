// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/MergeRows.cpp: see ContractionBlocks.h.

#include "Transforms/ContractionBlocks.h"

#include "Analysis/Sizes.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

namespace {
/// A load or store that both loops move, each in a dimension of its own: the
/// outer one in `dim`, the inner one in the next.
struct RowAccess {
  Operation *op;
  unsigned dim;
};
} // namespace

/// How often a loop from 0 by steps of 1 runs, where that is a constant or a
/// value of the function's own block; else null.
static OpFoldResult getPlainBound(AffineForOp loop) {
  if (!loop.hasConstantLowerBound() || loop.getConstantLowerBound() != 0 ||
      loop.getStepAsInt() != 1 || loop.getNumIterOperands() != 0)
    return {};
  if (loop.hasConstantUpperBound())
    return Builder(loop.getContext())
        .getIndexAttr(loop.getConstantUpperBound());
  AffineMap map = loop.getUpperBoundMap();
  ValueRange operands = loop.getUpperBoundOperands();
  if (map.getNumResults() != 1 || operands.size() != 1 ||
      !isa<AffineDimExpr, AffineSymbolExpr>(map.getResult(0)) ||
      !isa<func::FuncOp>(operands[0].getParentBlock()->getParentOp()))
    return {};
  return operands[0];
}

/// Finds all that the two loops move; false if one loop over all their
/// iterations could not do the same.
static bool collectRows(AffineForOp outer, AffineForOp inner, SizeFacts &facts,
                        SmallVectorImpl<RowAccess> &accesses) {
  OpFoldResult bound = getPlainBound(inner);
  if (!getPlainBound(outer) || !bound || inner.hasConstantUpperBound())
    return false;
  SizeProduct size = facts.of(bound);
  Value row = outer.getInductionVar(), next = inner.getInductionVar();
  llvm::SetVector<Operation *> users(next.user_begin(), next.user_end());
  for (Operation *user : row.getUsers())
    if (!users.contains(user))
      return false;
  for (Operation *user : users) {
    if (!isa<AffineLoadOp, AffineStoreOp>(user))
      return false;
    std::optional<unsigned> at = getOnlyDim(user, row);
    std::optional<unsigned> behind = getOnlyDim(user, next);
    Value memref = getMemRef(user);
    if (!at || !behind || *behind != *at + 1 ||
        !cast<MemRefType>(memref.getType()).getLayout().isIdentity() ||
        outer->isAncestor(memref.getParentBlock()->getParentOp()) ||
        !(facts.of(memref, *behind) == size))
      return false;
    accesses.push_back({user, *at});
  }
  return !accesses.empty();
}

/// Puts one loop in the place of the two.
static AffineForOp merge(AffineForOp outer, AffineForOp inner,
                         ArrayRef<RowAccess> accesses) {
  Location loc = outer.getLoc();
  Operation *top = outer;
  while (!isa<func::FuncOp>(top->getParentOp()))
    top = top->getParentOp();
  OpBuilder builder(top);
  auto valueOf = [&](AffineForOp loop) {
    return getValueOrCreateConstantIndexOp(builder, loc, getPlainBound(loop));
  };
  Value rows = valueOf(outer);
  Value count = arith::MulIOp::create(builder, loc, rows, valueOf(inner));
  builder.setInsertionPoint(outer);
  llvm::MapVector<std::pair<Value, unsigned>, Value> views;
  auto made = AffineForOp::create(
      builder, loc, ValueRange(), builder.getConstantAffineMap(0),
      ValueRange(count), AffineMap::get(0, 1, builder.getAffineSymbolExpr(0)));
  builder.setInsertionPoint(made);
  Block *body = inner.getBody();
  made.getBody()->getOperations().splice(
      made.getBody()->begin(), body->getOperations(), body->begin(),
      Block::iterator(body->getTerminator()));
  for (const RowAccess &access : accesses) {
    auto [map, operands] = getPlace(access.op);
    Value memref = getMemRef(access.op);
    Value &view = views[{memref, access.dim}];
    if (!view)
      view = joinDimensions(builder, loc, memref, access.dim, 2);
    llvm::replace(operands, outer.getInductionVar(), made.getInductionVar());
    SmallVector<AffineExpr> results(map.getResults());
    results.erase(results.begin() + access.dim + 1);
    // The inner loop's variable is in no index any more.
    llvm::replace(operands, inner.getInductionVar(), made.getInductionVar());
    movePlace(access.op, view,
              AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                             map.getContext()),
              operands);
  }
  outer.erase();
  return made;
}

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
      while (true) {
        auto inner = dyn_cast<AffineForOp>(outer.getBody()->front());
        if (!inner || inner->getNextNode() != outer.getBody()->getTerminator())
          break;
        SmallVector<RowAccess> accesses;
        outer = collectRows(outer, inner, facts, accesses)
                    ? merge(outer, inner, accesses)
                    : inner;
      }
  }
}

} // namespace polynest
