// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/PlaceNests.cpp: see the header.

#include "Transforms/PlaceNests.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/ReductionNest.h"
#include "Transforms/NestMerge.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// How far in front of a nest what belongs to it may stand.
static constexpr unsigned farthestOperation = 32;

namespace {
/// A nest with one reduction in memory, along one loop that is not innermost.
struct MemoryReduction {
  ReductionNest nest;
  Access store;
  /// What fills the memory before, and with what.
  AffineForOp fill;
  Value init;

  const Accumulator &accumulator() const { return nest.accumulators.front(); }
  AffineForOp reductionLoop() const { return nest.reductionLoops.front(); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// The reduction that the nest is, if it is one as above.
static std::optional<MemoryReduction> matchReduction(AffineForOp root) {
  std::string reason;
  FailureOr<ReductionNest> nest = matchReductionNest(root, reason);
  if (failed(nest) || !nest->inMemory || nest->guard ||
      nest->accumulators.size() != 1 || !nest->stores.empty() ||
      nest->reductionLoops.size() != 1 || nest->finish.size() != 1)
    return std::nullopt;
  SmallVector<Access, 1> stores;
  collectAccesses(nest->finish.front(), stores);
  // Its place is computed from loops alone.
  for (Value operand : stores.front().op->getOperands().drop_front(2))
    if (Operation *op = operand.getDefiningOp(); op && root->isAncestor(op))
      return std::nullopt;
  MemoryReduction reduction;
  reduction.nest = std::move(*nest);
  reduction.store = stores.front();
  return reduction;
}

/// Finds the nest that stores a constant to all that the reduction combines
/// into, after which nothing touches that.
static bool findFill(MemoryReduction &reduction) {
  Operation *op = reduction.nest.root->getPrevNode();
  for (unsigned i = 0; op && i < farthestOperation;
       ++i, op = op->getPrevNode()) {
    if (op->getNumRegions() == 0 &&
        (isMemoryEffectFree(op) || isa<memref::AllocOp>(op)))
      continue;
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      return false;
    SmallVector<Access, 4> accesses;
    collectAccesses(loop, accesses);
    if (llvm::none_of(accesses, [&](const Access &access) {
          return !access.memref ||
                 mayAlias(access.memref, reduction.store.memref);
        }))
      continue;
    SmallVector<AffineForOp, 6> band = getPlainBand(loop);
    IRMapping rename;
    auto store = accesses.size() == 1
                     ? dyn_cast<AffineStoreOp>(accesses.front().op)
                     : AffineStoreOp();
    if (!store || store->getBlock() != band.back().getBody() ||
        !runAlike(band, reduction.nest.parallelLoops, rename) ||
        !isSamePlace(accesses.front(), reduction.store, rename) ||
        !matchPattern(store.getValueToStore(), m_Constant()) ||
        loop->isAncestor(store.getValueToStore().getDefiningOp()))
      return false;
    reduction.fill = loop;
    reduction.init = store.getValueToStore();
    return true;
  }
  return false;
}

static bool combinesPlaces(const MemoryReduction &reduction) {
  using Kind = arith::AtomicRMWKind;
  const Accumulator &accumulator = reduction.accumulator();
  return (accumulator.kind == Kind::mins || accumulator.kind == Kind::maxs) &&
         accumulator.value.getDefiningOp<arith::SelectOp>();
}

bool isExtreme(Operation *op) {
  return isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp,
             arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(op);
}

/// The nest in front of the one of places that combines an extreme which that
/// reads.
static std::optional<MemoryReduction>
findExtremes(const MemoryReduction &places) {
  llvm::SmallPtrSet<Value, 4> read;
  for (Operation *op : places.nest.slice)
    if (auto load = dyn_cast<AffineLoadOp>(op))
      read.insert(load.getMemRef());
  Operation *op = AffineForOp(places.nest.root)->getPrevNode();
  for (unsigned i = 0; op && i < farthestOperation;
       ++i, op = op->getPrevNode()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      continue;
    SmallVector<Access, 4> accesses;
    collectAccesses(loop, accesses);
    if (llvm::none_of(accesses, [&](const Access &access) {
          return access.isWrite && read.contains(access.memref);
        }))
      continue;
    std::optional<MemoryReduction> found = matchReduction(loop);
    if (found && isExtreme(found->accumulator().combiner))
      return found;
    return std::nullopt;
  }
  return std::nullopt;
}

/// True if each row of extremes may be combined just before its places are:
/// those read the row's own extreme and nothing else that the first nest
/// writes, and write nothing that it touches. Lists those reads.
static bool mayRunByRows(const MemoryReduction &extremes,
                         const MemoryReduction &places, const IRMapping &rename,
                         DependenceAnalysis &dependences,
                         SmallVectorImpl<AffineLoadOp> &totals) {
  AffineForOp first = extremes.nest.root, second = places.nest.root;
  for (const Access &access : dependences.accessesOf(second)) {
    if (!access.memref || !mayAlias(access.memref, extremes.store.memref))
      continue;
    auto load = dyn_cast<AffineLoadOp>(access.op);
    if (!load || !isSamePlace(extremes.store, access, rename))
      return false;
    totals.push_back(load);
  }
  for (const Access &access : dependences.accessesOf(first))
    if (!access.memref || mayAlias(access.memref, places.store.memref))
      return false;
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode())
    if (!dependences.reorderIsLegal(first, op))
      return false;
  return whyNotParallel(extremes.nest.parallelLoops, first, dependences)
             .empty() &&
         whyNotParallel(places.nest.parallelLoops, second, dependences).empty();
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// Writes the reduction of one row in front of the end of the block, with what
/// `mapping` has in the place of what the nest computes.
static AffineForOp carry(OpBuilder &builder, const MemoryReduction &reduction,
                         IRMapping mapping) {
  AffineForOp from = reduction.reductionLoop();
  const Accumulator &accumulator = reduction.accumulator();
  AffineForOp loop =
      copyLoop(builder, from.getLoc(), from, mapping, reduction.init);
  IRMapping inside = mapping;
  inside.map(from.getInductionVar(), loop.getInductionVar());
  inside.map(accumulator.init, loop.getRegionIterArgs().front());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    for (Operation *op : reduction.nest.slice)
      if (op->getNumResults() != 1 || !inside.contains(op->getResult(0)))
        builder.clone(*op, inside);
    Operation *next = builder.clone(*accumulator.combiner, inside);
    AffineYieldOp::create(builder, from.getLoc(), next->getResults());
  }
  mapping.map(accumulator.total, loop.getResult(0));
  builder.clone(*reduction.store.op, mapping);
  return loop;
}

CarriedPlaces carryPlaces(AffineForOp root, DependenceAnalysis &dependences) {
  std::optional<MemoryReduction> places = matchReduction(root);
  if (!places || !combinesPlaces(*places))
    return {};
  std::optional<MemoryReduction> extremes = findExtremes(*places);
  IRMapping rename;
  SmallVector<AffineLoadOp> totals;
  if (!extremes ||
      !runAlike(extremes->nest.parallelLoops, places->nest.parallelLoops,
                rename) ||
      !runAlike(extremes->nest.reductionLoops, places->nest.reductionLoops,
                rename) ||
      !findFill(*extremes) || !findFill(*places) ||
      !mayRunByRows(*extremes, *places, rename, dependences, totals))
    return {};
  CarriedPlaces carried;
  OpBuilder builder(root);
  IRMapping first, second;
  for (auto loops : llvm::zip_equal(extremes->nest.parallelLoops,
                                    places->nest.parallelLoops)) {
    auto [a, b] = std::tuple<AffineForOp, AffineForOp>(loops);
    AffineForOp loop = copyLoop(builder, b.getLoc(), b, second);
    first.map(a.getInductionVar(), loop.getInductionVar());
    second.map(b.getInductionVar(), loop.getInductionVar());
    if (!carried.root)
      carried.root = loop;
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  }
  AffineForOp values = carry(builder, *extremes, first);
  for (AffineLoadOp total : totals)
    second.map(total.getResult(), values.getResult(0));
  carried.places = carry(builder, *places, second);
  carried.replaced = {extremes->nest.root, places->nest.root, extremes->fill,
                      places->fill};
  return carried;
}

} // namespace polynest
