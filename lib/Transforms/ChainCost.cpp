// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ChainCost.cpp: see the header.

#include "Transforms/ChainCost.h"

#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Rows of one block: enough of them that an operand which a block reads again
/// is reused.
static constexpr int64_t leastRows = 32, mostRows = 128;
/// The most where a mask hides columns: a block computes, of what it hides, as
/// many columns as the block has rows, half of them for nothing. Tiles of 4 and
/// 8 rows divide it, and it most lengths.
static constexpr int64_t mostMaskedRows = 32;
/// Up to so many blocks, shorter ones that leave nothing are better than code
/// for what is left.
static constexpr int64_t mostEvenBlocks = 3;
/// Blocks end at multiples of it, where they can: what follows rows in the
/// columns (a mask) then ends with whole vectors.
static constexpr int64_t rowUnit = 16;
/// Where the smallest block takes more caches than these, its rows come from
/// memory as they did before. Rows of scores are read that soon again that some
/// are worth it.
static constexpr uint64_t mostOverflow = 16;
/// Buffers of which so many fit the cache stay as they are.
static constexpr uint64_t fewestBuffers = 4;
/// Merged iterations that may run at once.
static constexpr uint64_t leastIterations = 4;
/// How much longer the last of them may keep some cores without work.
static constexpr double mostIdle = 1.25;
/// One of which more fit one core's cache is too little to begin each nest for.
static constexpr uint64_t fewestIterations = 16;
/// How much more than of its operands each iteration of a nest reads from other
/// nests: large weights are better read for many images at once. ConvNeXt-T at
/// batch 8 took 1.04 of the time where half was enough.
static constexpr uint64_t operandShare = 4;

uint64_t CacheSizes::countCost(uint64_t bytes, uint64_t size) const {
  return size <= coreShare() ? bytes : saturatingMultiply(bytes, memoryCost);
}

namespace {
/// An operand that the last common loop does not move: each block reads it.
struct SharedRead {
  /// Bytes of it that one iteration of the loops around reads.
  uint64_t bytes = 0;
  /// Iterations of those loops that read the same.
  uint64_t repeats = 1;
};
} // namespace

/// What each block reads again, by operand. Clears `isKnown` if sizes are
/// guesses.
static SmallVector<SharedRead> findSharedReads(NestChain &chain,
                                               bool &isKnown) {
  llvm::SmallMapVector<Value, SharedRead, 8> found;
  for (Nest &nest : chain.nests)
    for (const Access &access : nest.accesses) {
      auto type = dyn_cast<MemRefType>(access.memref.getType());
      // What an iteration makes for itself is no operand.
      Operation *def = access.memref.getDefiningOp();
      if (access.isWrite || !access.isAffine() || !type ||
          (def && nest.root->isAncestor(def)) ||
          !isInvariantTo(access, nest.band[chain.depth - 1].getInductionVar()))
        continue;
      SharedRead read;
      read.bytes = type.getLayout().isIdentity() || type.hasStaticShape()
                       ? estimateBytes(type)
                       : UINT64_MAX / 2;
      for (unsigned l = 0; l + 1 < chain.depth; ++l) {
        uint64_t trips = std::max<uint64_t>(1, estimateTrips(nest.band[l]));
        if (isInvariantTo(access, nest.band[l].getInductionVar()))
          read.repeats = saturatingMultiply(read.repeats, trips);
        else
          read.bytes /= trips;
      }
      isKnown &= type.hasStaticShape();
      SharedRead &most = found[access.base];
      if (read.bytes > most.bytes)
        most = read;
    }
  return llvm::map_to_vector(found, [](auto &entry) { return entry.second; });
}

/// Bytes that blocks read beyond what nests that stand alone would: those read
/// their columns for each block of rows, too, but join rows of several loops.
static uint64_t countReadsAgain(ArrayRef<SharedRead> reads, uint64_t outer,
                                uint64_t trips, uint64_t blocks) {
  uint64_t again = 0;
  for (const SharedRead &read : reads) {
    uint64_t slices = outer / read.repeats;
    uint64_t merged = saturatingMultiply(outer, blocks);
    uint64_t alone = saturatingMultiply(
        slices, llvm::divideCeil(saturatingMultiply(read.repeats, trips),
                                 uint64_t(mostRows)));
    again = saturatingAdd(
        again,
        saturatingMultiply(read.bytes, merged - std::min(merged, alone)));
  }
  return again;
}

/// True if a nest sums up, or reduces otherwise, along rows of a buffer that
/// shrinks. Where all are read element by element, or by windows, they may as
/// well be computed where they are read, or lie as suits the contraction that
/// writes them.
static bool reducesRows(NestChain &chain) {
  for (Nest &nest : chain.nests)
    for (const Access &access : nest.accesses) {
      if (access.isWrite ||
          llvm::none_of(chain.buffers, [&](const ChainBuffer &buffer) {
            return Value(memref::AllocOp(buffer.alloc).getResult()) ==
                   access.base;
          }))
        continue;
      AffineMap map = access.map.getAffineMap();
      for (AffineExpr result : map.getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(result);
        AffineForOp loop = dim ? getForInductionVarOwner(
                                     access.map.getOperand(dim.getPosition()))
                               : AffineForOp();
        if (loop && nest.root->isAncestor(loop) && mayRunTwice(loop) &&
            !isPlainlyParallel(loop, nest.accesses))
          return true;
      }
    }
  return false;
}

/// True if the value is computed from indices alone, of which one satisfies
/// each of `wanted`.
static bool
isOfIndices(Value value,
            ArrayRef<llvm::function_ref<bool(AffineForOp)>> wanted) {
  constexpr size_t mostValues = 64;
  llvm::SmallSetVector<Value, 16> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values.size() > mostValues)
      return false;
    if (getForInductionVarOwner(values[i]) || isValidSymbol(values[i]))
      continue;
    Operation *op = values[i].getDefiningOp();
    if (!op || !isa<AffineDialect, arith::ArithDialect>(op->getDialect()) ||
        !isMemoryEffectFree(op) || op->getNumRegions() != 0)
      return false;
    values.insert(op->operand_begin(), op->operand_end());
  }
  return llvm::all_of(wanted, [&](auto is) {
    return llvm::any_of(values, [&](Value index) {
      AffineForOp loop = getForInductionVarOwner(index);
      return loop && is(loop);
    });
  });
}

/// True if a condition on the row and the column puts -inf in columns:
/// polynest-trim-loops leaves out those that a whole block hides.
static bool hidesColumns(Nest &nest, unsigned depth) {
  AffineForOp rows = nest.band[depth - 1];
  auto isRows = [&](AffineForOp loop) { return loop == rows; };
  auto isColumns = [&](AffineForOp loop) {
    return rows->isProperAncestor(loop);
  };
  WalkResult result = rows.walk([&](arith::SelectOp select) {
    bool hides = matchPattern(select.getTrueValue(), m_NegInfFloat()) ||
                 matchPattern(select.getFalseValue(), m_NegInfFloat());
    return hides && isOfIndices(select.getCondition(), {isRows, isColumns})
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static bool hasContraction(NestChain &chain) {
  return llvm::any_of(chain.nests, [](Nest &nest) {
    return nest.getContraction().has_value();
  });
}

/// Bytes of the chain's buffers that the nest touches in one iteration.
static uint64_t countTouched(const NestChain &chain, const Nest &nest) {
  uint64_t bytes = 0;
  for (const ChainBuffer &buffer : chain.buffers)
    if (llvm::any_of(nest.accesses, [&](const Access &access) {
          return access.base == memref::AllocOp(buffer.alloc).getResult();
        }))
      bytes = saturatingAdd(bytes, buffer.rowBytes);
  return bytes;
}

const char *judgeIterations(NestChain &chain, const CacheSizes &sizes) {
  if (!hasContraction(chain))
    return "no contraction is among the nests";
  uint64_t rowBytes = 0, most = 0, iterations = 1;
  for (AffineForOp loop :
       ArrayRef(chain.nests.front().band).take_front(chain.depth)) {
    std::optional<uint64_t> trips = getTripCount(loop);
    if (!trips)
      return "an unknown number of iterations may be few";
    iterations = saturatingMultiply(iterations, *trips);
  }
  for (const ChainBuffer &buffer : chain.buffers) {
    if (!memref::AllocOp(buffer.alloc).getType().hasStaticShape())
      return "the size of a buffer is not known";
    rowBytes = saturatingAdd(rowBytes, buffer.rowBytes);
  }
  for (const Nest &nest : chain.nests)
    most = std::max(most, countTouched(chain, nest));
  if (rowBytes == 0)
    return "no buffer would shrink";
  if (saturatingMultiply(rowBytes, iterations) <= sizes.coreShare())
    return "the buffers fit one core's share of the last cache";
  uint64_t rounds = llvm::divideCeil(iterations, sizes.cores);
  if (iterations < leastIterations ||
      double(rounds * sizes.cores) > mostIdle * double(iterations))
    return "too few parallel iterations would be left";
  if (most < sizes.coreBytes / fewestIterations)
    return "one iteration takes little of one core's cache";
  if (most > sizes.coreShare())
    return "one iteration outgrows the caches, too";
  bool isKnown = true;
  uint64_t operands = 0;
  for (const SharedRead &read : findSharedReads(chain, isKnown))
    operands = saturatingAdd(operands, read.bytes);
  if (operands > saturatingMultiply(rowBytes, 2))
    return "operands read by each iteration are larger than the buffers";
  return nullptr;
}

const char *judgeRows(NestChain &chain, const CacheSizes &sizes) {
  uint64_t cacheBytes = sizes.coreBytes;
  if (!hasContraction(chain))
    return "no contraction is among the nests";
  uint64_t rowBytes = 0, rowTraffic = 0;
  for (auto [i, buffer] : llvm::enumerate(chain.buffers)) {
    if (buffer.place == i)
      rowBytes = saturatingAdd(rowBytes, buffer.rowBytes);
    rowTraffic = saturatingAdd(
        rowTraffic, saturatingMultiply(buffer.rowBytes, buffer.touches));
  }
  if (rowBytes == 0)
    return "no buffer would shrink";
  if (!reducesRows(chain))
    return "no nest reduces along rows of what would shrink";
  Nest &first = chain.nests.front();
  uint64_t outer = first.countTrips(chain.depth - 1);
  chain.trips = getSmallTripCount(first.band[chain.depth - 1]);
  int64_t trips = chain.trips.value_or(int64_t(dynamicTrips));
  uint64_t whole =
      saturatingMultiply(saturatingMultiply(rowBytes, uint64_t(trips)), outer);
  bool isMasked = llvm::any_of(
      chain.nests, [&](Nest &nest) { return hidesColumns(nest, chain.depth); });
  int64_t limit = isMasked ? mostMaskedRows : mostRows;
  // Short blocks, which are many, where more would fit.
  bool fits = whole <= cacheBytes;
  if (whole <= cacheBytes / fewestBuffers &&
      (!isMasked || trips * 2 <= limit * 3))
    return "the buffers take little of one core's cache";
  // What blocks read again stays in the cache beside their rows, if it can.
  bool isKnown = true;
  SmallVector<SharedRead> reads = findSharedReads(chain, isKnown);
  uint64_t shared = 0;
  for (const SharedRead &read : reads)
    shared = saturatingAdd(shared, read.bytes);
  uint64_t share = shared <= cacheBytes / 2 ? cacheBytes / 4 : cacheBytes / 2;
  int64_t most = fits && !isMasked
                     ? leastRows
                     : std::clamp(int64_t(share / rowBytes), leastRows, limit);
  // Blocks of about equal size; a loop that is hardly longer than one stays.
  int64_t blocks =
      trips * 2 <= most * 3 ? 1 : int64_t(llvm::divideCeil(trips, most));
  if (!chain.trips) {
    // What is left of an unknown number is one block less, at most.
    chain.rows = std::max(leastRows, most / rowUnit * rowUnit);
  } else {
    chain.rows = int64_t(llvm::divideCeil(trips, blocks));
    if (blocks > 1)
      chain.rows = std::min(trips, int64_t(llvm::alignTo(chain.rows, rowUnit)));
    int64_t even = chain.rows;
    while (even > leastRows && trips % even != 0)
      even -= rowUnit;
    if (blocks <= mostEvenBlocks && even > 0 && trips % even == 0 &&
        even * 3 >= chain.rows * 2)
      chain.rows = even;
  }
  if (!chain.isCut() && chain.depth == 1)
    return "the common loop is as short as a block";
  if (saturatingMultiply(outer, uint64_t(blocks)) < leastIterations)
    return "too few parallel iterations would be left";
  // Buffers grow with the product of two sizes: where one is not known, that is
  // what counts. Rows of an unknown number may be few, and nests that stand
  // alone join those of several loops.
  auto fewest = uint64_t(chain.trips ? trips : leastRows);
  auto pieces = uint64_t(chain.trips ? blocks : 1);
  uint64_t traffic =
      saturatingMultiply(saturatingMultiply(rowTraffic, fewest), outer);
  uint64_t again = countReadsAgain(reads, outer, fewest, pieces);
  // Half of that is behind the multiplications of a block, and blocks do not
  // read what a mask hides of them, half again.
  again /= isMasked ? 4 : 2;
  // Buffers of unknown size may be small.
  bool isStatic = llvm::all_of(chain.buffers, [](const ChainBuffer &buffer) {
    return memref::AllocOp(buffer.alloc).getType().hasStaticShape();
  });
  if (isKnown && sizes.countCost(again, shared) >
                     sizes.countCost(traffic, isStatic ? whole : 0))
    return "operands read by each block are larger than the buffers";
  if (saturatingMultiply(rowBytes, uint64_t(leastRows)) / mostOverflow >
      cacheBytes)
    return "a small block outgrows the caches, too";
  return nullptr;
}

bool isWorthLinking(const NestChain &chain, const NestNode &node,
                    const CacheSizes &sizes) {
  Nest nest(node);
  unsigned depth = std::max(chain.depth, 1u);
  if (nest.band.size() < depth)
    return false;
  uint64_t iterations = std::max<uint64_t>(1, nest.countTrips(depth));
  Value last = nest.band[depth - 1].getInductionVar();
  uint64_t linked = 0, operands = 0;
  llvm::SmallPtrSet<Value, 8> seen;
  for (const Access &access : nest.accesses) {
    auto type = dyn_cast<MemRefType>(access.base.getType());
    if (access.isWrite || !access.isAffine() || !type ||
        !seen.insert(access.base).second)
      continue;
    if (isInvariantTo(access, last))
      operands = saturatingAdd(operands, estimateBytes(type));
    else if (chain.writes(access.base))
      linked = saturatingAdd(linked, estimateBytes(type));
  }
  return linked > sizes.coreBytes &&
         saturatingMultiply(operands, operandShare) <= linked / iterations;
}

} // namespace polynest
