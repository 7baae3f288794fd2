// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/FusionCost.cpp: see the header.

#include "Transforms/FusionCost.h"

#include "Analysis/Aliasing.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr uint64_t maxScalarPercent = 25;

const char *judgeFusion(const FusionCost &cost, const FusionLimits &limits) {
  if (!cost.flows &&
      (cost.savedBytes == 0 || cost.savedBytes < cost.smallerBytes / 8))
    return "few data are shared";
  if (cost.scattersWrites)
    return "parts of a result are written one after the other";
  if (cost.writesAcrossRows)
    return "rows would be written across those of the result";
  if (cost.accesses > limits.accesses || cost.operations > limits.operations)
    return "the fused nest would be too large";
  if (cost.splitsContraction)
    return "a contraction keeps its loops";
  if (cost.parallelTrips <
          std::min(limits.parallelTrips, cost.parallelTripsBefore) &&
      cost.workCycles > limits.smallWorkCycles)
    return "too few parallel iterations would be left";
  if (!cost.sliceBytes ? cost.innerLoops > 1
                       : *cost.sliceBytes > limits.cacheBytes)
    return "the data of one merged iteration do not fit the cache";
  if (cost.scalarPercent > maxScalarPercent)
    return "vectors would be lost";
  return nullptr;
}

/// Percent of the merged iteration's cycles that operations take which ran as
/// vectors and would not any more. `statements` is the body without inner
/// loops, `loops` the one with them.
static uint64_t countScalarPercent(Block *statements, AffineForOp loop,
                                   Nest &other, Block *loops,
                                   AffineForOp otherLoop, bool isContraction) {
  if (!isContiguousIn(statements, loop))
    return 0;
  // Along the merged loop everything can run as vectors, windows that move by a
  // few elements too. Contractions are packed: what counts is that they write
  // contiguously.
  bool otherFollows = true;
  for (const Access &access : other.accesses) {
    if (isContraction && !access.isWrite)
      continue;
    std::optional<int64_t> stride = getStride(access, otherLoop);
    otherFollows &=
        stride && (access.isWrite ? *stride == 1
                                  : *stride >= 0 && *stride <= maxLaneStride);
  }
  if (otherFollows)
    return 0;
  uint64_t scalar = estimateCycles(statements);
  uint64_t vector = estimateCycles(loops) / assumedLanes;
  return vector == 0 ? 100 : saturatingMultiply(scalar, 100) / vector;
}

/// Size of a buffer, zero if not known.
static uint64_t bytesOf(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  return type ? getBufferBytes(type).value_or(0) : 0;
}

/// Bytes of the buffers that a nest names.
static uint64_t countBufferBytes(Nest &nest) {
  llvm::SmallDenseSet<Value> counted;
  uint64_t bytes = 0;
  for (const Access &access : nest.accesses)
    if (access.base && counted.insert(access.base).second)
      bytes = saturatingAdd(bytes, bytesOf(access.base));
  return bytes;
}

/// Bytes that flow from one nest to the other, or that both read, or write, in
/// step.
static uint64_t countSavedBytes(Nest &producer, Nest &consumer, unsigned depth,
                                FusionCost &cost) {
  uint64_t bytes = 0;
  SmallVector<Value, 6> from = producer.ivs(depth), to = consumer.ivs(depth);
  llvm::SmallDenseMap<Value, SmallVector<const Access *, 2>> byBase;
  for (const Access &access : producer.accesses)
    byBase[access.base].push_back(&access);
  llvm::SmallDenseSet<Value> counted;
  for (const Access &access : consumer.accesses) {
    auto it = byBase.find(access.base);
    if (it == byBase.end() || !access.isAffine() ||
        counted.contains(access.base))
      continue;
    for (const Access *other : it->second) {
      bool isFlow = other->isWrite != access.isWrite;
      if (!isFlow && !moveAlike(*other, from, access, to))
        continue;
      cost.flows |= isFlow;
      cost.sharesWritesOnly &= other->isWrite && access.isWrite;
      if (counted.insert(access.base).second)
        bytes = saturatingAdd(bytes, bytesOf(access.base));
    }
  }
  return bytes;
}

/// True if nothing is computed: elements move, or are filled in.
static bool onlyMoves(Nest &nest) {
  return !nest.root
              ->walk([](Operation *op) {
                return isa<AffineForOp, AffineLoadOp, AffineStoreOp,
                           AffineApplyOp, AffineYieldOp, arith::ConstantOp>(op)
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// True if contractions inside the outermost `depth` loops lose nothing when
/// what the producer moves is moved for each iteration of those: they are
/// contractions there too, and what else they read, and would pack again, is
/// little beside it. So is a convolution in small groups, of each group. What
/// is bound once is packed once, in layouts that suit it, and stays as it is.
static bool keepsContractions(Nest &producer, Nest &consumer, unsigned depth) {
  if (!onlyMoves(producer) || consumer.getNumParallel() < depth)
    return false;
  llvm::SmallPtrSet<Value, 2> moved;
  for (const Access &access : producer.accesses)
    if (access.isWrite)
      moved.insert(access.memref);
  bool found = false;
  for (AffineForOp loop : consumer.bodyAt(depth)->getOps<AffineForOp>()) {
    Nest inner(loop);
    if (!inner.getContraction())
      continue;
    found = true;
    SmallVector<Access, 4> fromProducer, others;
    for (const Access &access : inner.accesses)
      if (!access.isWrite)
        (moved.contains(access.memref) ? fromProducer : others)
            .push_back(access);
    llvm::erase_if(others, [&](const Access &read) {
      return llvm::any_of(inner.accesses, [&](const Access &access) {
        return access.isWrite && access.memref == read.memref;
      });
    });
    if (llvm::any_of(others, [](const Access &access) {
          return isConstantInput(access.memref);
        }))
      return false;
    std::optional<uint64_t> bytes = getFootprintBytes(fromProducer, loop);
    std::optional<uint64_t> again = getFootprintBytes(others, loop);
    if (!bytes || !again || *again > *bytes / 4)
      return false;
  }
  return found;
}

/// Iterations of parallel loops wherever they stand. Those inside of a loop
/// that reduces, as the channels of a sum over images and places, are made
/// parallel too; a few operations beside such a sum cost it less than to read a
/// buffer, however many cores would have filled that.
static uint64_t countInside(Nest &nest) {
  uint64_t trips = 1;
  for (AffineForOp loop : nest.band)
    if (isPlainlyParallel(loop, nest.accesses))
      trips = saturatingMultiply(trips, estimateTrips(loop));
  return trips;
}

/// True if the merged nest would combine rows, each of which the producer
/// computes, in lanes along them: polynest-stream-reductions has its rows or
/// its columns run at once, however much there is to compute.
static bool streamsRows(Nest &producer, Nest &consumer, unsigned depth) {
  if (depth != producer.band.size() || depth != consumer.band.size())
    return false;
  AffineForOp last = producer.band.back(), merged = consumer.band.back();
  return isPlainlyParallel(merged, consumer.accesses) &&
         isContiguousIn(producer.bodyAt(depth), last) &&
         isContiguousIn(consumer.bodyAt(depth), merged);
}

/// True if the write and the read name the same place in the same iteration of
/// loops that run alike, another one in each.
static bool readsInStep(const Access &write, ArrayRef<AffineForOp> from,
                        const Access &read, ArrayRef<AffineForOp> to) {
  IRMapping rename;
  return runAlike(from, to, rename) && isSamePlace(write, read, rename) &&
         llvm::none_of(to, [&](AffineForOp loop) {
           return isInvariantTo(read, loop.getInductionVar());
         });
}

/// True if the consumer's loops stand alone in each other and read each element
/// in the iteration in which loops of the producer write it. They are fused in
/// their turn, and no row waits in a buffer.
static bool followsInStep(Nest &producer, Nest &consumer) {
  if (holdsLoops(consumer.bodyAt(consumer.band.size())))
    return false;
  bool flows = false;
  for (const Access &write : producer.accesses)
    for (const Access &read : consumer.accesses) {
      if (!write.isWrite || read.isWrite || write.base != read.base)
        continue;
      flows = true;
      if (!readsInStep(write, getLoopsAround(write.op, producer.root), read,
                       consumer.band))
        return false;
    }
  return flows;
}

/// Elements that one iteration may write to as many rows, and from which stride
/// on elements lie in rows of their own (a cache line apart, or more).
static constexpr uint64_t leastAcross = 64;
static constexpr int64_t leastRowStride = 16;

/// True if the consumer would go across rows of its results with each iteration
/// of the merged loop, along which it writes in order alone, and nothing could
/// run in lanes along that loop: the producer reads across it.
static bool writesAcrossRows(Nest &producer, AffineForOp last, Nest &consumer,
                             AffineForOp merged) {
  auto goesAcross = [&](const Access &access) {
    if (!access.isWrite || !access.isAffine() ||
        getStride(access, merged) != int64_t(1))
      return false;
    uint64_t elements = 1;
    SmallVector<AffineForOp, 6> loops = getLoopsAround(access.op, merged);
    for (AffineForOp loop : ArrayRef(loops).drop_front()) {
      std::optional<int64_t> stride = getStride(access, loop);
      if (stride == int64_t(0))
        continue;
      if (stride && std::abs(*stride) < leastRowStride)
        return false;
      elements = saturatingMultiply(elements, estimateTrips(loop));
    }
    return elements >= leastAcross;
  };
  auto readsAcross = [&](const Access &access) {
    std::optional<int64_t> stride = getStride(access, last);
    return !access.isWrite && access.isAffine() &&
           !isPrivateAllocation(access.base) && stride &&
           std::abs(*stride) >= leastRowStride;
  };
  return llvm::any_of(consumer.accesses, goesAcross) &&
         llvm::any_of(producer.accesses, readsAcross);
}

FusionCost measureFusion(Nest &producer, Nest &consumer, unsigned depth,
                         uint64_t cacheBytes) {
  FusionCost cost;
  cost.accesses = producer.accesses.size() + consumer.accesses.size();
  cost.operations = producer.getSize() + consumer.getSize();
  cost.savedBytes = countSavedBytes(producer, consumer, depth, cost);
  if (!cost.flows)
    cost.smallerBytes =
        std::min(countBufferBytes(producer), countBufferBytes(consumer));
  unsigned parallelA = producer.getNumParallel();
  unsigned parallelB = consumer.getNumParallel();
  cost.parallelTrips =
      producer.countTrips(std::min({parallelA, parallelB, depth}));
  cost.parallelTripsBefore =
      std::max(producer.countTrips(parallelA), consumer.countTrips(parallelB));
  cost.workCycles =
      saturatingAdd(producer.getCycles(), consumer.getCycles()) / assumedLanes;

  Block *from = producer.bodyAt(depth), *to = consumer.bodyAt(depth);
  bool loopsA = holdsLoops(from), loopsB = holdsLoops(to);
  if (cost.flows && parallelA >= depth && !loopsA &&
      (estimateCycles(from) < heavyCycles ||
       streamsRows(producer, consumer, depth)))
    cost.parallelTrips = std::max(cost.parallelTrips, countInside(consumer));
  std::optional<unsigned> contractionA = producer.getContraction();
  std::optional<unsigned> contractionB = consumer.getContraction();
  if (contractionB && cost.flows &&
      keepsContractions(producer, consumer, depth))
    contractionB.reset();
  // Tiling needs the loops around the reduction, all parallel, and nothing
  // but straight code beside it.
  if (contractionA)
    cost.splitsContraction |=
        *contractionA != depth || loopsB || parallelB < depth;
  if (contractionB)
    cost.splitsContraction |=
        *contractionB != depth || loopsA || parallelA < depth;
  std::optional<uint64_t> bytesA = 0, bytesB = 0;
  if (loopsA && !contractionA)
    bytesA = getInnerFootprint(from, cost.innerLoops);
  if (loopsB && !contractionB)
    bytesB = getInnerFootprint(to, cost.innerLoops);
  if (bytesA && bytesB) {
    cost.sliceBytes = *bytesA + *bytesB;
    if (*cost.sliceBytes > cacheBytes && *bytesA <= cacheBytes && loopsA &&
        followsInStep(producer, consumer))
      cost.sliceBytes = bytesA;
  } else {
    cost.sliceBytes = std::nullopt;
  }
  AffineForOp last = producer.band[depth - 1],
              merged = consumer.band[depth - 1];
  cost.scattersWrites = cost.sharesWritesOnly && !loopsA && !loopsB;
  if (!loopsA && !loopsB) {
    // Both are innermost: one that does not move contiguously spoils the
    // other, which matters if that one computes functions.
    bool friendlyA = isContiguousIn(from, last);
    bool friendlyB = isContiguousIn(to, merged);
    if (friendlyA != friendlyB &&
        estimateCycles(friendlyA ? from : to) >= heavyCycles)
      cost.scalarPercent = 100;
  } else if (loopsA && loopsB) {
    cost.writesAcrossRows = !contractionA && !contractionB &&
                            writesAcrossRows(producer, last, consumer, merged);
  } else {
    cost.scalarPercent =
        loopsA ? countScalarPercent(to, merged, producer, from, last,
                                    contractionA.has_value())
               : countScalarPercent(from, last, consumer, to, merged,
                                    contractionB.has_value());
  }
  return cost;
}

} // namespace polynest
