//===- FoldViews.cpp - views into access maps -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: rewrites affine accesses of a view into accesses of what it is a view
// of, so that chains of slices, reshapes and transposes end as one access map.
// Legal: the view maps each index to one index of its source by an affine map
// with constant or symbolic coefficients. Folded: subview, expand_shape,
// collapse_shape whose groups have at most one size other than 1 or whose inner
// sizes are known, cast, transpose. Others are left alone.
// Profitable: an access of the source is seen by dependence tests and fusion; a
// collapse_shape of several sizes is left, since its floordiv and mod would
// hide that the view is contiguous.
// Limits: reinterpret_cast is never folded.
// Cost: linear in accesses times the depth of their view chains.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Aliasing.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

namespace polynest {
#define GEN_PASS_DEF_FOLDVIEWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-fold-views"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {
namespace {
/// How a view's index becomes one of its source: one expression a source
/// dimension, over d0.. = the view's index and s0.. = `symbols`.
struct IndexMap {
  SmallVector<AffineExpr> exprs;
  SmallVector<Value> symbols;
};
} // namespace

/// A value or constant as an expression; fails where it is no valid symbol.
static FailureOr<AffineExpr> asExpr(OpFoldResult value, MLIRContext *context,
                                    SmallVectorImpl<Value> &symbols) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  Value dynamic = cast<Value>(value);
  if (!isValidSymbol(dynamic))
    return failure();
  symbols.push_back(dynamic);
  return getAffineSymbolExpr(symbols.size() - 1, context);
}

static FailureOr<IndexMap> mapOf(memref::SubViewOp view) {
  IndexMap map;
  MLIRContext *context = view.getContext();
  // Not SubViewOp::getDroppedDims, which reads past its buffers for some views
  // of several sizes 1. Which of those are dropped makes no difference.
  std::optional<llvm::SmallDenseSet<unsigned>> dropped =
      computeRankReductionMask(view.getStaticSizes(),
                               view.getType().getShape());
  if (!dropped)
    return failure();
  unsigned next = 0;
  for (auto [d, offset, stride] :
       llvm::enumerate(view.getMixedOffsets(), view.getMixedStrides())) {
    FailureOr<AffineExpr> base = asExpr(offset, context, map.symbols);
    FailureOr<AffineExpr> step = asExpr(stride, context, map.symbols);
    if (failed(base) || failed(step))
      return failure();
    AffineExpr expr = *base;
    if (!dropped->contains(d)) {
      // A symbolic stride times an index is not affine.
      AffineExpr index = getAffineDimExpr(next++, context);
      if (!isa<AffineConstantExpr>(*step))
        return failure();
      expr = expr + index * *step;
    }
    map.exprs.push_back(expr);
  }
  return map;
}

/// In groups of several sizes that are not 1, all of these but the first are
/// constants.
static FailureOr<IndexMap> mapOf(memref::ExpandShapeOp view) {
  IndexMap map;
  MLIRContext *context = view.getContext();
  auto type = cast<MemRefType>(view.getResult().getType());
  for (const ReassociationIndices &group : view.getReassociationIndices()) {
    AffineExpr expr;
    for (int64_t d : group) {
      if (type.getDimSize(d) == 1)
        continue;
      if (expr && type.isDynamicDim(d))
        return failure();
      AffineExpr index = getAffineDimExpr(d, context);
      expr = expr ? expr * type.getDimSize(d) + index : index;
    }
    map.exprs.push_back(expr ? expr : getAffineConstantExpr(0, context));
  }
  return map;
}

/// Only groups with at most one size that is not 1.
static FailureOr<IndexMap> mapOf(memref::CollapseShapeOp view) {
  IndexMap map;
  MLIRContext *context = view.getContext();
  auto type = view.getSrcType();
  // A collapse to rank 0 has no groups: all its sizes are 1.
  map.exprs.assign(type.getRank(), getAffineConstantExpr(0, context));
  for (auto [r, group] : llvm::enumerate(view.getReassociationIndices())) {
    bool used = false;
    for (int64_t d : group) {
      bool unit = type.getDimSize(d) == 1;
      if (!unit && used)
        return failure();
      used |= !unit;
      if (!unit)
        map.exprs[d] = getAffineDimExpr(r, context);
    }
  }
  return map;
}

static FailureOr<IndexMap> mapOf(memref::CastOp view) {
  auto source = dyn_cast<MemRefType>(view.getSource().getType());
  if (!source || !isa<MemRefType>(view.getType()))
    return failure();
  IndexMap map;
  for (int64_t d = 0; d < source.getRank(); ++d)
    map.exprs.push_back(getAffineDimExpr(d, view.getContext()));
  return map;
}

static FailureOr<IndexMap> mapOf(memref::TransposeOp view) {
  IndexMap map;
  AffineMap permutation = view.getPermutation();
  map.exprs.resize(permutation.getNumResults());
  // Result dimension r shows source dimension permutation(r).
  for (unsigned r = 0; r < permutation.getNumResults(); ++r)
    map.exprs[permutation.getDimPosition(r)] =
        getAffineDimExpr(r, view.getContext());
  return map;
}

static FailureOr<IndexMap> mapOfView(Operation *op) {
  return llvm::TypeSwitch<Operation *, FailureOr<IndexMap>>(op)
      .Case<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
            memref::CastOp, memref::TransposeOp>(
          [](auto view) { return mapOf(view); })
      .Default([](Operation *) { return failure(); });
}

/// Follows the access through as many views as fold. Returns false if none
/// does. `operands` holds dims, then symbols of `map`.
static bool compose(Value &memref, AffineMap &map,
                    SmallVectorImpl<Value> &operands) {
  bool changed = false;
  while (Operation *op = memref.getDefiningOp()) {
    FailureOr<IndexMap> view = mapOfView(op);
    if (failed(view))
      break;
    auto outer = AffineMap::get(map.getNumResults(), view->symbols.size(),
                                view->exprs, op->getContext());
    AffineMap composed = outer.compose(map);
    // Order of symbols in the result: the outer map's first.
    SmallVector<Value> next(operands.begin(),
                            operands.begin() + map.getNumDims());
    next.append(view->symbols.begin(), view->symbols.end());
    next.append(operands.begin() + map.getNumDims(), operands.end());
    map = composed;
    operands = std::move(next);
    memref = getViewSource(op);
    changed = true;
  }
  if (changed) {
    map = simplifyAffineMap(map);
    canonicalizeMapAndOperands(&map, &operands);
    fullyComposeAffineMapAndOperands(&map, &operands);
    canonicalizeMapAndOperands(&map, &operands);
  }
  return changed;
}

/// Rewrites one access; returns whether it changed.
static bool foldAccess(Operation *op) {
  OpBuilder builder(op);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<AffineLoadOp, AffineVectorLoadOp>([&](auto load) {
        Value memref = load.getMemRef();
        AffineMap map = load.getAffineMap();
        SmallVector<Value> operands(load.getMapOperands());
        if (!compose(memref, map, operands))
          return false;
        using Op = decltype(load);
        Operation *folded;
        if constexpr (std::is_same_v<Op, AffineLoadOp>)
          folded = Op::create(builder, load.getLoc(), memref, map, operands);
        else
          folded = Op::create(builder, load.getLoc(), load.getVectorType(),
                              memref, map, operands);
        load->replaceAllUsesWith(folded);
        load.erase();
        return true;
      })
      .Case<AffineStoreOp, AffineVectorStoreOp>([&](auto store) {
        Value memref = store.getMemRef();
        AffineMap map = store.getAffineMap();
        SmallVector<Value> operands(store.getMapOperands());
        if (!compose(memref, map, operands))
          return false;
        using Op = decltype(store);
        Op::create(builder, store.getLoc(), store.getValueToStore(), memref,
                   map, operands);
        store.erase();
        return true;
      })
      .Default([](Operation *) { return false; });
}

/// A vector access moves along the view's last dimension; it may only be
/// folded where that is the last dimension of the source with stride 1.
static bool keepsLastDimension(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    if (!isa<memref::CastOp>(op) && succeeded(mapOfView(op)))
      return false;
    if (!isa<memref::CastOp>(op))
      return true;
    memref = getViewSource(op);
  }
  return true;
}

namespace {
struct FoldViewsPass : impl::FoldViewsBase<FoldViewsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> accesses, views;
    getOperation()->walk([&](Operation *op) {
      if (isa<AffineLoadOp, AffineStoreOp>(op))
        accesses.push_back(op);
      else if (auto load = dyn_cast<AffineVectorLoadOp>(op);
               load && keepsLastDimension(load.getMemRef()))
        accesses.push_back(op);
      else if (auto store = dyn_cast<AffineVectorStoreOp>(op);
               store && keepsLastDimension(store.getMemRef()))
        accesses.push_back(op);
      else if (getViewSource(op))
        views.push_back(op);
    });
    for (Operation *op : accesses)
      numApplied += foldAccess(op) ? 1 : 0;
    for (Operation *op : llvm::reverse(views)) {
      if (op->use_empty() && isMemoryEffectFree(op)) {
        op->erase();
        continue;
      }
      ++numDeclined;
      remark(RemarkKind::Declined, op->getLoc(), "fold-views",
             "the view is still used")
          << arg("operation", op->getName().getStringRef());
    }
  }
};
} // namespace

} // namespace polynest
