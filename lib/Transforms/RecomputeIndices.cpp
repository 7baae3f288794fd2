//===- RecomputeIndices.cpp - what indices alone decide -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: loads of a private buffer whose elements are computed from their own
// indices alone (a range of numbers, a causal mask) are replaced by that
// computation; the buffer and what filled it go away.
// Legal when: one store fills the whole buffer, in a nest that runs before
// every load, and stores a value that nothing but the store's indices and
// values from outside of the nest decide, through operations without effects.
// Profitable when: it is a condition of a few cheap operations, none of them a
// division or a function, which passes behind see in place of a byte; or one
// operation, no more than a load.
// Limits: affine loads and stores; loops from 0 by steps of 1 that sweep the
// dimension.
// Cost: linear in uses of buffers, times the operations that compute an
// element.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/NestParts.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace polynest {
#define GEN_PASS_DEF_RECOMPUTEINDICES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-recompute-indices"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "recompute-indices";

/// Operations that an element may take, besides casts: a condition is worth
/// more than the byte that it saves, as passes see through it; another element
/// is loaded in one.
static constexpr int64_t mostOfCondition = 8, mostOfOther = 1;

namespace {
/// A buffer whose elements follow from their indices.
struct IndexBuffer {
  memref::AllocOp alloc;
  AffineStoreOp store;
  SmallVector<AffineLoadOp> loads;
  /// The nest, beside the allocation, that fills it.
  AffineForOp root;
  /// What computes the stored value inside the nest, operands before users.
  SmallVector<Operation *> slice;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Sorts the uses; false if there are others than one store and loads.
static bool collectUses(IndexBuffer &buffer) {
  for (Operation *user : buffer.alloc->getUsers()) {
    if (auto load = dyn_cast<AffineLoadOp>(user)) {
      buffer.loads.push_back(load);
      continue;
    }
    auto store = dyn_cast<AffineStoreOp>(user);
    if (!store || buffer.store ||
        store.getValueToStore() == buffer.alloc.getResult())
      return false;
    buffer.store = store;
  }
  return buffer.store && !buffer.loads.empty();
}

/// True if the loop runs from 0 by steps of 1 to the size of the dimension.
static bool sweeps(AffineForOp loop, memref::AllocOp alloc, unsigned d) {
  if (!loop.hasConstantLowerBound() || loop.getConstantLowerBound() != 0 ||
      loop.getStepAsInt() != 1)
    return false;
  MemRefType type = alloc.getType();
  if (!type.isDynamicDim(d))
    return loop.hasConstantUpperBound() &&
           loop.getConstantUpperBound() == type.getDimSize(d);
  AffineMap upper = loop.getUpperBoundMap();
  return upper.getNumResults() == 1 && upper.getNumInputs() == 1 &&
         isa<AffineDimExpr, AffineSymbolExpr>(upper.getResult(0)) &&
         loop.getUpperBoundOperands()[0] ==
             alloc.getDynamicSizes()[type.getDynamicDimIndex(d)];
}

/// True if the store reaches every element: each index is the variable of a
/// loop of its own, and nothing but these loops stands around it.
static bool fillsAll(IndexBuffer &buffer) {
  AffineStoreOp store = buffer.store;
  AffineMap map = store.getAffineMap();
  llvm::SmallPtrSet<Operation *, 4> named;
  for (auto [d, result] : llvm::enumerate(map.getResults())) {
    if (auto constant = dyn_cast<AffineConstantExpr>(result)) {
      if (constant.getValue() != 0 || buffer.alloc.getType().getDimSize(d) != 1)
        return false;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(result);
    AffineForOp loop =
        dim ? getForInductionVarOwner(store.getMapOperands()[dim.getPosition()])
            : AffineForOp();
    if (!loop || !buffer.root->isAncestor(loop) ||
        !sweeps(loop, buffer.alloc, d) || !named.insert(loop).second)
      return false;
  }
  for (Operation *op = store->getParentOp(); op != buffer.root->getParentOp();
       op = op->getParentOp())
    if (!named.contains(op))
      return false;
  return true;
}

static bool isCheap(Operation *op) {
  return isa<AffineApplyOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::CmpIOp,
             arith::MinSIOp, arith::MaxSIOp, arith::SelectOp,
             arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::SIToFPOp, arith::NegFOp, arith::AddFOp,
             arith::SubFOp, arith::MulFOp>(op);
}

/// Finds the nest that stores and what computes the value; false if that reads
/// memory or carries values.
static bool followsFromIndices(IndexBuffer &buffer) {
  Block *home = buffer.alloc->getBlock();
  buffer.root =
      dyn_cast_or_null<AffineForOp>(home->findAncestorOpInBlock(*buffer.store));
  if (!buffer.root)
    return false;
  SliceCollector slice(buffer.root);
  if (failed(slice.add(buffer.store.getValueToStore())))
    return false;
  buffer.slice = slice.ops.takeVector();
  return llvm::all_of(buffer.slice, [](Operation *op) {
    return op->getNumRegions() == 0 && isMemoryEffectFree(op);
  });
}

/// Why the buffer stays, or null.
static const char *whyNot(IndexBuffer &buffer) {
  Block *home = buffer.alloc->getBlock();
  if (!fillsAll(buffer))
    return "one nest does not fill all of the buffer";
  auto isCast = [](Operation *op) {
    return isa<AffineApplyOp, arith::IndexCastOp>(op);
  };
  int64_t most = buffer.alloc.getType().getElementType().isInteger(1)
                     ? mostOfCondition
                     : mostOfOther;
  if (int64_t(buffer.slice.size()) - llvm::count_if(buffer.slice, isCast) >
          most ||
      !llvm::all_of(buffer.slice, isCheap))
    return "elements take much to compute";
  for (AffineLoadOp load : buffer.loads) {
    Operation *reader = home->findAncestorOpInBlock(*load);
    if (!reader || !buffer.root->isBeforeInBlock(reader))
      return "the buffer is read before it is full";
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Computes the element that `load` reads in front of it.
static void recompute(IndexBuffer &buffer, AffineLoadOp load) {
  OpBuilder builder(load);
  AffineMap stored = buffer.store.getAffineMap();
  SmallVector<OpFoldResult> operands = getAsOpFoldResult(load.getMapOperands());
  IRMapping mapping;
  for (auto [d, result] : llvm::enumerate(stored.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(result);
        dim && !buffer.slice.empty())
      mapping.map(
          buffer.store.getMapOperands()[dim.getPosition()],
          getValueOrCreateConstantIndexOp(
              builder, load.getLoc(),
              makeComposedFoldedAffineApply(
                  builder, load.getLoc(),
                  load.getAffineMap().getSubMap(unsigned(d)), operands)));
  for (Operation *op : buffer.slice)
    builder.clone(*op, mapping);
  load.replaceAllUsesWith(
      mapping.lookupOrDefault(buffer.store.getValueToStore()));
  load.erase();
}

namespace {
struct RecomputeIndicesPass : impl::RecomputeIndicesBase<RecomputeIndicesPass> {
  using RecomputeIndicesBase::RecomputeIndicesBase;

  void runOnOperation() override {
    // Buffers that others are computed from come first.
    llvm::SetVector<Operation *> allocs;
    getOperation().walk<WalkOrder::PreOrder>([&](AffineStoreOp store) {
      if (auto alloc = store.getMemRef().getDefiningOp<memref::AllocOp>())
        allocs.insert(alloc);
    });
    for (Operation *op : allocs) {
      IndexBuffer buffer;
      buffer.alloc = cast<memref::AllocOp>(op);
      memref::AllocOp alloc = buffer.alloc;
      if (!collectUses(buffer) || !followsFromIndices(buffer))
        continue;
      if (const char *why = whyNot(buffer)) {
        ++numDeclined;
        remark(RemarkKind::Declined, alloc.getLoc(), passName, why);
        continue;
      }
      remark(RemarkKind::Applied, alloc.getLoc(), passName,
             "elements computed where they are read")
          << arg("loads", buffer.loads.size())
          << arg("operations", buffer.slice.size());
      for (AffineLoadOp load : buffer.loads)
        recompute(buffer, load);
      buffer.store.erase();
      alloc.erase();
      if (isOpTriviallyDead(buffer.root))
        buffer.root.erase();
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
