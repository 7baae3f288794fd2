// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/ReductionNest.cpp: see the header.

#include "Analysis/ReductionNest.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/Dependence.h"
#include "Analysis/NestParts.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// The operand of the combiner that holds the accumulator; none if the
/// accumulator is combined more than once or used elsewhere.
static std::optional<unsigned> findPlace(const Reduction &reduction,
                                         Value accumulator) {
  Operation *combiner = reduction.combiner;
  if (!combiner || combiner->getNumOperands() != 2 || !accumulator.hasOneUse())
    return std::nullopt;
  for (unsigned place = 0; place < 2; ++place)
    if (combiner->getOperand(place) == accumulator &&
        combiner->getOperand(1 - place) == reduction.value)
      return place;
  return std::nullopt;
}

/// True if the loop holds read-only code besides the loop `inner`.
static bool holdsOnlyReads(AffineForOp loop, AffineForOp inner) {
  return llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
    return &op == inner.getOperation() || isReadOnly(&op);
  });
}

/// Collects the band of loops that carry the accumulators. Fails where values
/// do not go straight through it.
static LogicalResult matchCarriedBand(AffineForOp outermost,
                                      ReductionNest &nest) {
  AffineForOp loop = outermost;
  unsigned count = outermost.getNumIterOperands();
  while (true) {
    nest.reductionLoops.push_back(loop);
    AffineForOp inner = getOnlyLoop(loop.getBody());
    if (!holdsOnlyReads(loop, inner))
      return failure();
    if (!inner)
      break;
    if (inner.getNumIterOperands() != count)
      return failure();
    for (unsigned i = 0; i < count; ++i)
      if (inner.getInits()[i] != loop.getRegionIterArgs()[i] ||
          !loop.getRegionIterArgs()[i].hasOneUse() ||
          loop.getYieldedValues()[i] != inner.getResult(i) ||
          !inner.getResult(i).hasOneUse())
        return failure();
    loop = inner;
  }
  if (nest.reductionLoops.size() == 1)
    nest.searches = findSearches(loop);
  SmallVector<Reduction, 2> reductions = carriedReductions(loop);
  for (unsigned i = 0; i < count; ++i) {
    Accumulator accumulator{arith::AtomicRMWKind::assign,
                            nullptr,
                            0,
                            Value(),
                            outermost.getInits()[i],
                            outermost.getResult(i)};
    for (const Search &search : nest.searches)
      if (i == search.value || i == search.place)
        accumulator.value = i == search.value ? search.candidate : search.index;
    for (const Reduction &reduction : reductions) {
      if (accumulator.value || reduction.iterArg != i)
        continue;
      std::optional<unsigned> place =
          findPlace(reduction, loop.getRegionIterArgs()[i]);
      if (!place)
        return failure();
      accumulator.kind = reduction.kind;
      accumulator.combiner = reduction.combiner;
      accumulator.place = *place;
      accumulator.value = reduction.value;
    }
    if (!accumulator.value)
      return failure();
    nest.accumulators.push_back(accumulator);
  }
  return success();
}

/// Collects the code around the band of a carried reduction.
static StringRef collectAround(Block *body, ReductionNest &nest) {
  Operation *band = nest.reductionLoops.front();
  SliceCollector before(nest.root);
  SmallVector<Operation *> behind;
  for (Operation &op : *body) {
    if (&op == band || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (op.isBeforeInBlock(band)) {
      if (!isReadOnly(&op))
        return "code before the reduction has effects";
      continue;
    }
    if (!isReadOnly(&op) && !isa<AffineStoreOp, memref::StoreOp>(op))
      return "code behind the reduction has effects other than stores";
    // What it uses of the code before is computed again.
    WalkResult result = op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && def->getBlock() == body && def != band &&
            def->isBeforeInBlock(band) && failed(before.add(operand)))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return "code behind the reduction uses code that cannot be moved";
    behind.push_back(&op);
  }
  nest.finish.append(before.ops.begin(), before.ops.end());
  llvm::append_range(nest.finish, behind);
  return {};
}

/// True if nothing but `load` and `store` may touch what they do.
static bool standsAlone(const Access &load, const Access &store,
                        ArrayRef<Access> accesses) {
  return llvm::all_of(accesses, [&](const Access &other) {
    return other.op == load.op || other.op == store.op ||
           (other.memref && !mayAlias(other.memref, store.memref));
  });
}

/// True if what the body reads behind `store` may be what that wrote.
static bool isReadBehind(const Access &store, ArrayRef<Access> accesses) {
  Block *body = store.op->getBlock();
  return llvm::any_of(accesses, [&](const Access &read) {
    if (read.isWrite || (read.memref && !mayAlias(read.memref, store.memref)))
      return false;
    Operation *reads = body->findAncestorOpInBlock(*read.op);
    return !reads || !reads->isBeforeInBlock(store.op);
  });
}

/// Matches all stores of a body without loops that carry values.
static StringRef matchInMemory(ArrayRef<AffineForOp> loops, Block *body,
                               ReductionNest &nest) {
  SmallVector<Access, 8> accesses;
  collectAccesses(nest.root, accesses);
  llvm::SmallPtrSet<Operation *, 4> moving;
  for (const Access &store : accesses) {
    if (!store.isWrite)
      continue;
    auto op = dyn_cast<AffineStoreOp>(store.op);
    if (!op || op->getBlock() != body || !store.isAffine())
      return "a store is not part of a reduction";
    llvm::SmallPtrSet<Operation *, 4> movesStore;
    for (AffineForOp loop : loops)
      if (!isInvariantTo(store, loop.getInductionVar()))
        movesStore.insert(loop);
    if (movesStore.size() == loops.size()) {
      if (isReadBehind(store, accesses))
        return "what is stored is read again";
      nest.stores.push_back(op);
      continue;
    }
    Operation *combiner = op.getValueToStore().getDefiningOp();
    const Access *load = nullptr;
    for (const Access &access : accesses)
      if (!access.isWrite && access.isAffine() &&
          isa<AffineLoadOp>(access.op) && access.memref == store.memref &&
          access.map == store.map && access.op->getBlock() == body &&
          combiner && llvm::is_contained(access.op->getUsers(), combiner))
        load = &access;
    if (!load || !standsAlone(*load, store, accesses))
      return "a store is not part of a reduction";
    if (!nest.accumulators.empty() && movesStore != moving)
      return "reductions of one nest run over different loops";
    moving = movesStore;
    // The innermost loop that does not move it tells how it is combined.
    for (AffineForOp loop : llvm::reverse(loops)) {
      if (moving.contains(loop))
        continue;
      for (const Reduction &reduction : carriedReductions(loop, accesses)) {
        if (reduction.store != store.op || reduction.load != load->op ||
            !combiner->getResult(0).hasOneUse())
          continue;
        Value accumulator = load->op->getResult(0);
        if (std::optional<unsigned> place = findPlace(reduction, accumulator))
          nest.accumulators.push_back({reduction.kind, reduction.combiner,
                                       *place, reduction.value, accumulator,
                                       combiner->getResult(0)});
      }
      break;
    }
    if (nest.accumulators.empty() ||
        nest.accumulators.back().combiner != combiner)
      return "a store is not part of a reduction";
    nest.finish.push_back(op);
  }
  if (nest.accumulators.empty())
    return "nothing is stored";
  for (AffineForOp loop : loops)
    (moving.contains(loop) ? nest.parallelLoops : nest.reductionLoops)
        .push_back(loop);
  for (Operation &op : body->without_terminator())
    if (!isReadOnly(&op) && !isa<AffineStoreOp>(op))
      return "code has effects other than stores";
  nest.inMemory = true;
  return {};
}

/// Fills in the slices, and checks all bounds.
static StringRef collectSlices(ReductionNest &nest) {
  for (ArrayRef<AffineForOp> loops :
       {ArrayRef(nest.parallelLoops), ArrayRef(nest.reductionLoops)})
    for (AffineForOp loop : loops) {
      StringRef why = reasonOfBounds(loop, nest.root);
      if (!why.empty())
        return why;
    }
  SliceCollector init(nest.root), values(nest.root);
  for (const Accumulator &accumulator : nest.accumulators)
    if (failed(init.add(accumulator.init)))
      return "an initial value is computed by code that cannot be moved";
  for (const Accumulator &accumulator : nest.accumulators)
    if (failed(values.add(accumulator.value)))
      return "a value is computed by code that cannot be moved";
  for (AffineStoreOp store : nest.stores) {
    if (failed(values.add(store.getValueToStore())))
      return "a stored value is computed by code that cannot be moved";
    for (Value operand : store.getMapOperands())
      if (failed(values.add(operand)))
        return "a place is computed by code that cannot be moved";
  }
  for (const Accumulator &accumulator : nest.accumulators)
    if (nest.inMemory && values.ops.contains(accumulator.init.getDefiningOp()))
      return "a value depends on an accumulator";
  nest.initSlice = llvm::to_vector_of<Operation *, 4>(init.ops);
  nest.slice = llvm::to_vector_of<Operation *, 8>(values.ops);
  return {};
}

FailureOr<ReductionNest> matchReductionNest(AffineForOp root,
                                            std::string &reason) {
  reason.clear();
  ReductionNest nest;
  nest.root = root;
  SmallVector<AffineForOp, 6> loops;
  AffineForOp loop = root;
  while (true) {
    if (loop.getNumIterOperands() != 0)
      return failure();
    loops.push_back(loop);
    AffineForOp inner = getPerfectChild(loop);
    if (!inner || inner.getNumIterOperands() != 0)
      break;
    loop = inner;
  }
  nest.guard = getGuard(loop, root);
  Block *body = nest.guard ? nest.guard.getThenBlock() : loop.getBody();
  StringRef why;
  if (AffineForOp band = getOnlyLoop(body)) {
    if (band.getNumIterOperands() == 0 || failed(matchCarriedBand(band, nest)))
      return failure();
    nest.parallelLoops.assign(loops.begin(), loops.end());
    why = collectAround(body, nest);
  } else {
    bool holdsLoop = false;
    root.walk([&](AffineForOp inner) {
      holdsLoop |= !llvm::is_contained(loops, inner);
    });
    // A nest whose stores are moved by all loops is no reduction.
    if (holdsLoop || !matchInMemory(loops, body, nest).empty() ||
        nest.reductionLoops.empty() || nest.parallelLoops.empty())
      return failure();
  }
  if (why.empty())
    why = collectSlices(nest);
  if (why.empty())
    return nest;
  reason = why.str();
  return failure();
}

} // namespace polynest
