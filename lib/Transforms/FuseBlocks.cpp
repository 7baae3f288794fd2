//===- FuseBlocks.cpp - chains of nests, block by block of common loops ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: nests around contractions that hand each other large private buffers
// and have leading loops in common (the two products and the softmax of
// attention) run together, a block of the last common loop at a time. Each nest
// keeps its own loop over the rows of a block, so that contractions still have
// rows to reuse their operands for; buffers shrink to the rows of one block.
// What is left of a loop that blocks do not divide follows as a block of its
// own. With `iterations`, behind the choice of layouts, a block is one
// iteration of all common loops, such as an image of a batch, through
// convolutions, the fills of padded images and what else uses the buffers.
// Legal when: the common loops are parallel in every nest, and accesses that
// may meet name them so that they meet in equal iterations only: then they meet
// within one block, where order is as before. What stands between the nests may
// move out of the way by the edges of the nest graph. A buffer shrinks if it is
// private and each access names every common loop in an index of its own. One
// takes the place of another that is done with, row by row.
// No operation is reordered within a nest: no value changes.
// Profitable when: a contraction is among the nests, each keeps rows and
// columns for its tiles, rows of what shrinks are reduced, what shrinks does
// not fit one core's cache or a mask hides columns of it but a small block does
// not outgrow it many times, its traffic costs more than that of the operands
// that blocks read more often than nests that stand alone, for which an unknown
// number of rows counts as few and each of which costs more where it comes from
// memory, and there are blocks for a few cores; other sizes that are not known
// are taken for large ones. Iterations: a contraction
// is among the nests and keeps all its rows and columns, the buffers outgrow
// one core's share of the last cache and what one iteration touches of them
// does not, each nest reads much more from the others than it would read again
// of operands, and all cores have iterations to run.
// Limits: loops from 0 by steps of 1, as often in each iteration around them;
// iterations of a known number, and buffers of known sizes.
// Cost: linear in nodes and edges, quadratic in the nests of one chain.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Target/ContractionModel.h"
#include "Transforms/NestMerge.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_FUSEBLOCKS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-fuse-blocks"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "fuse-blocks";

/// Nests of one chain, and rows of one block: enough of them that an operand
/// which a block reads again is reused.
static constexpr unsigned maxMembers = 16;
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

namespace {
/// One core's own cache, what programs get of the last one, who shares it, and
/// the bytes that it gives in the time of one from memory.
struct CacheSizes {
  uint64_t coreBytes, sharedBytes, cores, memoryCost;

  uint64_t coreShare() const { return sharedBytes / cores; }

  /// Cost of moving `bytes` of what has `size` bytes in all, as bytes of the
  /// last cache.
  uint64_t countCost(uint64_t bytes, uint64_t size) const {
    return size <= coreShare() ? bytes : saturatingMultiply(bytes, memoryCost);
  }
};

/// A private buffer, and in which index each common loop stands.
struct SharedBuffer {
  memref::AllocOp alloc;
  SmallVector<unsigned, 4> indexOf;
  /// Bytes that one row of a block takes, and how often they are touched.
  uint64_t rowBytes = 0;
  unsigned touches = 0;
  /// The buffer of the chain whose place it takes, itself where it has its own.
  unsigned place = 0;
};

/// Nests that may run together at `depth` common loops, in program order.
struct Chain {
  SmallVector<NestNode *, 4> nodes;
  SmallVector<Nest, 4> nests;
  unsigned depth = 0;
  SmallVector<SharedBuffer, 4> buffers;
  /// Rows of a block; all of them where the last common loop is not cut, which
  /// one that runs an unknown number of times always is.
  int64_t rows = 1;
  std::optional<int64_t> trips;
  /// A block is one iteration of all common loops, such as an image, in which
  /// nests keep rows and columns of their own.
  bool isIteration = false;

  bool isCut() const { return !isIteration && (!trips || rows < *trips); }
  /// Loops that are merged as they are.
  unsigned outerLoops() const {
    return isIteration || isCut() ? depth : depth - 1;
  }
  /// Loops that products must be able to spare: blocks of rows leave them some
  /// iterations of the last.
  unsigned takenLoops() const { return isIteration ? depth + 1 : depth; }
};
} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// True for loops from 0 by steps of 1 that run the same number of times
/// whenever the nest does.
static bool isPlainLoop(AffineForOp loop, AffineForOp root) {
  return countsFromZero(loop) && loop.getNumIterOperands() == 0 &&
         (getSmallTripCount(loop) || hasPlainTrips(loop, root));
}

/// Not what is to run once, when constants are bound.
static bool canTakePart(const NestNode &node) {
  return !node.isOpaque && !node.touchesAll && node.op->getNumResults() == 0 &&
         !node.band.empty() &&
         isPlainLoop(node.band.front(), node.band.front()) &&
         (node.reads.empty() || !llvm::all_of(node.reads, isConstantInput));
}

/// A buffer that this function makes, once.
static memref::AllocOp getPlainAlloc(Value base) {
  auto alloc = base.getDefiningOp<memref::AllocOp>();
  if (!alloc || !alloc.getType().getLayout().isIdentity() ||
      !getElementBytes(alloc.getType().getElementType()))
    return {};
  bool isKnown = alloc.getType().hasStaticShape()
                     ? getBufferBytes(alloc.getType()).has_value()
                     : isa<func::FuncOp>(alloc->getParentOp());
  return isKnown ? alloc : memref::AllocOp();
}

/// Bytes of the buffer; a size that is not known is taken for a large one.
static uint64_t estimateBytes(MemRefType type) {
  uint64_t bytes = uint64_t(getElementBytes(type.getElementType()).value_or(8));
  for (int64_t size : type.getShape())
    bytes = saturatingMultiply(
        bytes, ShapedType::isDynamic(size) ? dynamicTrips : uint64_t(size));
  return bytes;
}

/// Why the two cannot run together at `depth` loops, or null.
static const char *whyNotTogether(Nest &producer, Nest &consumer,
                                  unsigned depth) {
  if (const char *why = whyAssertionsMove(producer, consumer))
    return why;
  if (countEqualLoops(producer, consumer) < depth)
    return "outer loops differ";
  if (producer.getNumParallel() < depth || consumer.getNumParallel() < depth)
    return "a common loop is not parallel";
  return whyOrderBreaks(producer, consumer, depth);
}

/// The most common loops at which the two may run together, zero for none.
/// Products keep `spare` iterations of loops beyond.
static unsigned findDepth(Nest &producer, Nest &consumer, unsigned spare,
                          const char *&why) {
  unsigned most =
      std::min({countEqualLoops(producer, consumer), producer.getNumParallel(),
                consumer.getNumParallel()});
  why = "outer loops differ";
  for (unsigned depth = most; depth > 0; --depth) {
    if (!llvm::all_of(
            ArrayRef(consumer.band).take_front(depth),
            [&](AffineForOp loop) { return isPlainLoop(loop, consumer.root); }))
      continue;
    if (!producer.keepsTiles(depth + spare) ||
        !consumer.keepsTiles(depth + spare)) {
      why = "a contraction would lose its loops";
      continue;
    }
    const char *reason = whyNotTogether(producer, consumer, depth);
    if (!reason)
      return depth;
    why = reason;
  }
  return 0;
}

/// How each access of the chain names the common loops in the buffer, if all
/// do so alike and nothing else uses it.
static std::optional<SharedBuffer> describeBuffer(memref::AllocOp alloc,
                                                  Chain &chain) {
  SharedBuffer buffer;
  buffer.alloc = alloc;
  buffer.indexOf.assign(chain.depth, ~0u);
  unsigned found = 0;
  for (Nest &nest : chain.nests)
    for (const Access &access : nest.accesses) {
      if (access.base != alloc.getResult())
        continue;
      if (access.memref != access.base || !access.isAffine() ||
          !isa<AffineLoadOp, AffineStoreOp>(access.op))
        return std::nullopt;
      ++found;
      AffineMap map = access.map.getAffineMap();
      for (unsigned l = 0; l != chain.depth; ++l) {
        Value iv = nest.band[l].getInductionVar();
        std::optional<unsigned> at;
        for (unsigned d = 0; d != map.getNumResults(); ++d) {
          auto dim = dyn_cast<AffineDimExpr>(map.getResult(d));
          if (dim && access.map.getOperand(dim.getPosition()) == iv)
            at = d;
        }
        if (!at || (buffer.indexOf[l] != ~0u && buffer.indexOf[l] != *at))
          return std::nullopt;
        buffer.indexOf[l] = *at;
      }
    }
  auto uses = size_t(std::distance(alloc->use_begin(), alloc->use_end()));
  if (found == 0 || uses != found)
    return std::nullopt;
  buffer.touches = found;
  uint64_t bytes = estimateBytes(alloc.getType());
  for (unsigned d : buffer.indexOf)
    bytes /= alloc.getType().isDynamicDim(d)
                 ? int64_t(dynamicTrips)
                 : std::max<int64_t>(1, alloc.getType().getDimSize(d));
  buffer.rowBytes = bytes;
  return buffer;
}

/// True if each loop between `row` and the access stands alone in an index: no
/// two iterations touch one element.
static bool touchesOnce(const Access &access, Block *row) {
  AffineMap map = access.map.getAffineMap();
  for (Operation *op = access.op->getParentOp(); op != row->getParentOp();
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop || llvm::none_of(map.getResults(), [&](AffineExpr result) {
          auto dim = dyn_cast<AffineDimExpr>(result);
          return dim && access.map.getOperand(dim.getPosition()) ==
                            loop.getInductionVar();
        }))
      return false;
  }
  return true;
}

/// True if `later` may take the place of `earlier`: each nest, and within a row
/// each loop, is done with the one before it writes the other, or reads an
/// element of the one just before it writes the same of the other.
static bool mayTakePlace(const SharedBuffer &earlier, const SharedBuffer &later,
                         Chain &chain) {
  memref::AllocOp from = earlier.alloc, to = later.alloc;
  if (from.getType() != to.getType() ||
      !llvm::equal(from.getDynamicSizes(), to.getDynamicSizes()) ||
      earlier.indexOf != later.indexOf)
    return false;
  bool isWritten = false;
  for (Nest &nest : chain.nests) {
    Block *row = nest.bodyAt(chain.depth);
    for (const Access &a : nest.accesses) {
      if (a.base != from.getResult())
        continue;
      // An earlier nest has written the other already.
      if (isWritten)
        return false;
      for (const Access &b : nest.accesses) {
        if (b.base != to.getResult())
          continue;
        Operation *first = row->findAncestorOpInBlock(*a.op);
        Operation *second = row->findAncestorOpInBlock(*b.op);
        if (first != second ? first->isBeforeInBlock(second)
                            : a.op->getBlock() == b.op->getBlock() &&
                                  a.op->isBeforeInBlock(b.op) &&
                                  a.map == b.map && touchesOnce(a, row))
          continue;
        return false;
      }
    }
    isWritten |= llvm::any_of(nest.accesses, [&](const Access &access) {
      return access.base == to.getResult();
    });
  }
  return true;
}

/// Lets buffers take the place of earlier ones.
static void assignPlaces(Chain &chain) {
  for (unsigned i = 0; i < chain.buffers.size(); ++i) {
    chain.buffers[i].place = i;
    for (unsigned place = 0; place < i; ++place) {
      bool fits = true;
      for (unsigned j = place; j < i; ++j)
        fits &= chain.buffers[j].place != place ||
                mayTakePlace(chain.buffers[j], chain.buffers[i], chain);
      if (chain.buffers[place].place == place && fits) {
        chain.buffers[i].place = place;
        break;
      }
    }
  }
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
static SmallVector<SharedRead> findSharedReads(Chain &chain, bool &isKnown) {
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
static bool reducesRows(Chain &chain) {
  for (Nest &nest : chain.nests)
    for (const Access &access : nest.accesses) {
      if (access.isWrite ||
          llvm::none_of(chain.buffers, [&](const SharedBuffer &buffer) {
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

static bool hasContraction(Chain &chain) {
  return llvm::any_of(chain.nests, [](Nest &nest) {
    return nest.getContraction().has_value();
  });
}

/// Bytes of the chain's buffers that the nest touches in one iteration.
static uint64_t countTouched(const Chain &chain, const Nest &nest) {
  uint64_t bytes = 0;
  for (const SharedBuffer &buffer : chain.buffers)
    if (llvm::any_of(nest.accesses, [&](const Access &access) {
          return access.base == memref::AllocOp(buffer.alloc).getResult();
        }))
      bytes = saturatingAdd(bytes, buffer.rowBytes);
  return bytes;
}

/// Why a chain should not run one iteration of its common loops at a time, or
/// null.
static const char *judgeIterations(Chain &chain, const CacheSizes &sizes) {
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
  for (const SharedBuffer &buffer : chain.buffers) {
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

/// Chooses the rows of a block; why the chain should stay apart, or null.
static const char *judgeRows(Chain &chain, const CacheSizes &sizes) {
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
  bool isStatic = llvm::all_of(chain.buffers, [](const SharedBuffer &buffer) {
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

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Has the loop run as often as `change` makes of how often it does.
static void changeTrips(AffineForOp loop,
                        llvm::function_ref<AffineExpr(AffineExpr)> change) {
  AffineMap upper = loop.getUpperBoundMap();
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  loop.setUpperBound(operands,
                     AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                                    change(upper.getResult(0))));
}

/// Computes indices beside what they are used by, so that nothing stands
/// between loops that stand alone in each other.
static void sinkIndices(AffineForOp root) {
  SmallVector<AffineApplyOp> applies;
  root.walk([&](AffineApplyOp apply) { applies.push_back(apply); });
  for (AffineApplyOp apply : applies) {
    Operation *first = nullptr;
    for (Operation *user : apply->getUsers()) {
      if (first && first->getBlock() != user->getBlock()) {
        first = nullptr;
        break;
      }
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    if (first && !isa<AffineForOp>(first))
      apply->moveBefore(first);
  }
}

/// Cuts a loop in blocks: it becomes the loop over full blocks, around a loop
/// over the rows of one.
static void cutLoop(AffineForOp loop, int64_t rows) {
  Block *body = loop.getBody();
  Operation *end = body->getTerminator();
  OpBuilder builder(end);
  auto inner = AffineForOp::create(builder, loop.getLoc(), 0, rows);
  changeTrips(loop, [&](AffineExpr trips) { return trips.floorDiv(rows); });
  inner.getBody()->getOperations().splice(inner.getBody()->begin(),
                                          body->getOperations(), body->begin(),
                                          Block::iterator(inner));
  AffineExpr index =
      builder.getAffineDimExpr(0) * rows + builder.getAffineDimExpr(1);
  Value outer = loop.getInductionVar();
  replaceVariable(outer, inner, AffineMap::get(2, 0, index),
                  {outer, inner.getInductionVar()});
  composeIndices(inner);
  sinkIndices(inner);
}

/// The shape of the rows of one block. Rows that would lie in few sets of a
/// cache, where products read several of them at once, are an odd number of
/// lines apart.
static MemRefType getBlockType(const SharedBuffer &buffer, const Chain &chain) {
  MemRefType type = memref::AllocOp(buffer.alloc).getType();
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    const auto *it = llvm::find(buffer.indexOf, unsigned(d));
    if (it == buffer.indexOf.end())
      shape.push_back(type.getDimSize(d));
    else if (it == std::prev(buffer.indexOf.end()) && !chain.isIteration)
      shape.push_back(chain.isCut() ? chain.rows : type.getDimSize(d));
  }
  if (chain.isIteration)
    return MemRefType::get(shape, type.getElementType(), AffineMap(),
                           type.getMemorySpace());
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  int64_t last = type.getRank() - 1;
  if (bytes && !type.isDynamicDim(last) &&
      !llvm::is_contained(buffer.indexOf, unsigned(last)) &&
      uint64_t(shape.back()) * uint64_t(*bytes) % kAliasedBytes == 0)
    shape.back() = pn_model_row_stride(shape.back(), /*unit=*/1,
                                       int32_t(*bytes), kLineBytes);
  return MemRefType::get(shape, type.getElementType(), AffineMap(),
                         type.getMemorySpace());
}

/// The sizes of the dimensions that it keeps and that are not known.
static SmallVector<Value> getBlockSizes(const SharedBuffer &buffer) {
  memref::AllocOp alloc = buffer.alloc;
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < alloc.getType().getRank(); ++d)
    if (alloc.getType().isDynamicDim(d) &&
        !llvm::is_contained(buffer.indexOf, unsigned(d)))
      sizes.push_back(
          alloc.getDynamicSizes()[alloc.getType().getDynamicDimIndex(d)]);
  return sizes;
}

/// Has the nests in `body` use a buffer of one block.
static void shrinkBuffer(SharedBuffer &buffer, Value small, Block *body,
                         bool isIteration) {
  Builder builder(small.getContext());
  for (Operation *user : llvm::make_early_inc_range(buffer.alloc->getUsers())) {
    auto [map, operands] = getPlace(user);
    // The row takes a new variable, in front of the symbols.
    unsigned dims = map.getNumDims(), added = 0;
    SmallVector<AffineExpr> results;
    for (auto [d, result] : llvm::enumerate(map.getResults())) {
      const auto *it = llvm::find(buffer.indexOf, unsigned(d));
      if (it == buffer.indexOf.end())
        results.push_back(result);
      else if (it == std::prev(buffer.indexOf.end()) && !isIteration) {
        auto rows = cast<AffineForOp>(body->findAncestorOpInBlock(*user));
        operands.insert(operands.begin() + dims, rows.getInductionVar());
        results.push_back(builder.getAffineDimExpr(dims));
        added = 1;
      }
    }
    movePlace(user, small,
              AffineMap::get(dims + added, map.getNumSymbols(), results,
                             builder.getContext()),
              operands);
  }
}

/// Repeats the body of the loop over blocks behind it, for the rows that are
/// left.
static void appendRest(AffineForOp blocks, AffineForOp nest,
                       const Chain &chain) {
  if (chain.trips && *chain.trips % chain.rows == 0)
    return;
  Location loc = blocks.getLoc();
  OpBuilder builder(blocks);
  builder.setInsertionPointAfter(blocks);
  Value index;
  AffineMap left;
  SmallVector<Value> operands(blocks.getUpperBoundOperands());
  if (chain.trips) {
    index =
        arith::ConstantIndexOp::create(builder, loc, *chain.trips / chain.rows);
    left = builder.getConstantAffineMap(*chain.trips % chain.rows);
  } else {
    // The bound of the blocks is a number divided by the rows of one.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(nest);
    AffineMap upper = blocks.getUpperBoundMap();
    index = AffineApplyOp::create(builder, loc, upper, operands);
    auto whole = cast<AffineBinaryOpExpr>(upper.getResult(0)).getLHS();
    left = AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                          whole % chain.rows);
  }
  IRMapping mapping;
  mapping.map(blocks.getInductionVar(), index);
  for (Operation &op : blocks.getBody()->without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    auto rows = dyn_cast<AffineForOp>(copy);
    if (!rows)
      continue;
    rows.setUpperBound(chain.trips ? ValueRange() : ValueRange(operands), left);
    composeIndices(rows);
    sinkIndices(rows);
  }
  if (index.use_empty())
    index.getDefiningOp()->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class BlockFuser {
public:
  BlockFuser(func::FuncOp function, const CacheSizes &sizes, bool isIteration)
      : graph(function), sizes(sizes), isIteration(isIteration) {}
  void run();
  unsigned applied = 0, declined = 0, shrunk = 0;

private:
  Chain growFrom(NestNode *first);
  bool tryAppend(Chain &chain, NestNode *node);
  bool isWorthLinking(const Chain &chain, NestNode *node);
  void appendUsers(Chain &chain, const NestNode *reader);
  void collectBuffers(Chain &chain);
  NestNode *merge(Chain &chain);
  void finish(Chain &chain, NestNode *merged);
  void decline(NestNode *node, const char *why);

  NestGraph graph;
  CacheSizes sizes;
  bool isIteration;
  /// Erased at the end: the graph still names them.
  SmallVector<memref::AllocOp> unused;
};
} // namespace

void BlockFuser::decline(NestNode *node, const char *why) {
  ++declined;
  remark(RemarkKind::Declined, node->op->getLoc(), passName, why);
}

/// True if a node of the chain writes `base`, a buffer that may shrink.
static bool writes(const Chain &chain, Value base) {
  return getPlainAlloc(base) &&
         llvm::any_of(chain.nodes, [&](const NestNode *member) {
           return llvm::is_contained(member->writes, base);
         });
}

/// True if the node reads, from a node of the chain, a buffer that may shrink.
static bool readsFrom(NestGraph &graph, const NestNode *node,
                      const Chain &chain) {
  return llvm::any_of(graph.edgesTo(node->id), [&](const NestEdge &edge) {
    return edge.kind == EdgeKind::Flow && edge.base &&
           getPlainAlloc(edge.base) &&
           llvm::any_of(chain.nodes, [&](const NestNode *member) {
             return member->id == edge.source;
           });
  });
}

bool BlockFuser::tryAppend(Chain &chain, NestNode *node) {
  Nest nest(*node);
  if (chain.nests.size() == 1) {
    const char *why = nullptr;
    chain.depth =
        findDepth(chain.nests.front(), nest, chain.isIteration ? 1 : 0, why);
    if (chain.depth == 0) {
      if (nest.getContraction() || chain.nests.front().getContraction())
        decline(node, why);
      return false;
    }
  } else {
    const char *why = nest.keepsTiles(chain.takenLoops())
                          ? nullptr
                          : "a contraction would lose its loops";
    for (Nest &member : chain.nests)
      if (!why)
        why = whyNotTogether(member, nest, chain.depth);
    if (why) {
      decline(node, why);
      return false;
    }
  }
  chain.nodes.push_back(node);
  chain.nests.push_back(std::move(nest));
  return true;
}

/// True if what the node reads from the chain outgrows one core's cache, and
/// each iteration reads much more of it than it reads again of operands.
bool BlockFuser::isWorthLinking(const Chain &chain, NestNode *node) {
  Nest nest(*node);
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
    else if (writes(chain, access.base))
      linked = saturatingAdd(linked, estimateBytes(type));
  }
  if (linked > sizes.coreBytes &&
      saturatingMultiply(operands, operandShare) <= linked / iterations)
    return true;
  decline(node, "little is handed over beside operands that are read again");
  return false;
}

/// The others that use what `reader` reads from the chain, such as a fill:
/// buffers shrink if all their users are of it.
void BlockFuser::appendUsers(Chain &chain, const NestNode *reader) {
  for (Value base : reader->reads) {
    if (!writes(chain, base))
      continue;
    for (NestNode *user : graph.usersOf(base))
      if (!llvm::is_contained(chain.nodes, user) && canTakePart(*user) &&
          chain.nodes.size() < maxMembers)
        tryAppend(chain, user);
  }
}

/// The nests that read what `first`, or those after it, write.
Chain BlockFuser::growFrom(NestNode *first) {
  Chain chain;
  chain.isIteration = isIteration;
  chain.nodes.push_back(first);
  chain.nests.emplace_back(*first);
  SmallVector<NestNode *> readers;
  for (size_t i = 0; i < chain.nodes.size() && i < maxMembers; ++i) {
    for (const NestEdge &edge : graph.edgesFrom(chain.nodes[i]->id)) {
      NestNode *node = graph.getNode(edge.sink);
      if (edge.kind == EdgeKind::Flow && node && canTakePart(*node) &&
          !llvm::is_contained(chain.nodes, node) &&
          chain.nodes.size() < maxMembers && readsFrom(graph, node, chain) &&
          (!isIteration || isWorthLinking(chain, node)) &&
          tryAppend(chain, node) && isIteration)
        appendUsers(chain, chain.nodes.back());
    }
  }
  if (chain.nests.size() < 2)
    return chain;
  auto order = llvm::to_vector(llvm::seq<size_t>(0, chain.nodes.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return graph.precedes(chain.nodes[a]->id, chain.nodes[b]->id);
  });
  Chain sorted;
  sorted.depth = chain.depth;
  sorted.isIteration = isIteration;
  for (size_t i : order) {
    sorted.nodes.push_back(chain.nodes[i]);
    sorted.nests.push_back(std::move(chain.nests[i]));
  }
  return sorted;
}

void BlockFuser::collectBuffers(Chain &chain) {
  llvm::SmallSetVector<Operation *, 8> allocs;
  for (NestNode *node : chain.nodes)
    for (Value base : node->writes)
      if (memref::AllocOp alloc = getPlainAlloc(base))
        allocs.insert(alloc);
  for (Operation *alloc : allocs)
    if (auto buffer = describeBuffer(cast<memref::AllocOp>(alloc), chain))
      chain.buffers.push_back(*buffer);
  assignPlaces(chain);
}

/// Merges the nests one after the other; stops where one cannot come to stand
/// beside those before. Returns the node that holds them, or null.
NestNode *BlockFuser::merge(Chain &chain) {
  auto cut = [&](NestNode &node) {
    if (!chain.isCut())
      return;
    cutLoop(node.band[chain.depth - 1], chain.rows);
    graph.updateNode(node.id);
  };
  NestNode *merged = chain.nodes.front();
  bool isMerged = false;
  for (NestNode *node : ArrayRef(chain.nodes).drop_front()) {
    std::optional<Move> move = planMove(graph, *merged, *node);
    if (!move) {
      decline(node, "a nest in between depends on both");
      break;
    }
    if (!isMerged)
      cut(*merged);
    cut(*node);
    applyMove(*move, graph, *merged, *node);
    Nest producer(*merged), consumer(*node);
    mergeBodies(producer, consumer, chain.outerLoops());
    merged = graph.fuseNodes(merged->id, node->id, consumer.root);
    isMerged = true;
    ++applied;
  }
  return isMerged ? merged : nullptr;
}

void BlockFuser::run() {
  SmallVector<unsigned> order;
  for (NestNode *node : graph.nodes())
    order.push_back(node->id);
  for (unsigned id : order) {
    NestNode *node = graph.getNode(id);
    if (!node || !canTakePart(*node))
      continue;
    Chain chain = growFrom(node);
    if (chain.nests.size() < 2)
      continue;
    collectBuffers(chain);
    if (const char *why = isIteration ? judgeIterations(chain, sizes)
                                      : judgeRows(chain, sizes)) {
      decline(node, why);
      continue;
    }
    NestNode *merged = merge(chain);
    if (!merged)
      continue;
    remark(RemarkKind::Applied, merged->op->getLoc(), passName,
           isIteration ? "nests run iteration by iteration"
                       : "nests run block by block")
        << arg("nests", chain.nests.size()) << arg("depth", chain.depth)
        << arg("rows", chain.rows);
    finish(chain, merged);
  }
  for (memref::AllocOp alloc : unused)
    alloc.erase();
}

/// Shrinks buffers that only the merged nest uses, and adds the block that is
/// left.
void BlockFuser::finish(Chain &chain, NestNode *merged) {
  Block *body = Nest(*merged).bodyAt(chain.outerLoops());
  SmallVector<Value> places(chain.buffers.size());
  for (SharedBuffer &buffer : chain.buffers) {
    if (!llvm::all_of(buffer.alloc->getUsers(), [&](Operation *user) {
          return body->findAncestorOpInBlock(*user);
        }))
      continue;
    remark(RemarkKind::Applied, buffer.alloc.getLoc(), passName,
           "buffer shrunk to one block")
        << arg("bytes-before",
               getBufferBytes(buffer.alloc.getType()).value_or(0))
        << arg("bytes", getBufferBytes(getBlockType(buffer, chain)).value_or(0))
        << arg("row-bytes", buffer.rowBytes);
    Value &place = places[buffer.place];
    if (!place) {
      OpBuilder builder = OpBuilder::atBlockBegin(body);
      place = memref::AllocOp::create(
          builder, buffer.alloc.getLoc(), getBlockType(buffer, chain),
          getBlockSizes(buffer), buffer.alloc.getAlignmentAttr());
    }
    shrinkBuffer(buffer, place, body, chain.isIteration);
    unused.push_back(buffer.alloc);
    ++shrunk;
  }
  Operation *end = merged->op->getNextNode();
  if (chain.isCut())
    appendRest(cast<AffineForOp>(body->getParentOp()),
               cast<AffineForOp>(merged->op), chain);
  graph.updateNode(merged->id);
  // A rest that stands at the top.
  for (Operation *op = merged->op->getNextNode(); op != end;
       op = op->getNextNode())
    graph.insertNode(op);
}

namespace {
struct FuseBlocksPass : impl::FuseBlocksBase<FuseBlocksPass> {
  using FuseBlocksBase::FuseBlocksBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(checkOption(context, "cache-size-kib", cacheSizeKib, 16,
                           1048576)) ||
        failed(checkOption(context, "shared-size-kib", sharedSizeKib, 0,
                           1073741824)) ||
        failed(checkOption(context, "cores", cores, 1, 65536)))
      return failure();
    return checkOption(context, "memory-cost", memoryCost, 1, 1024);
  }

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    BlockFuser fuser(getOperation(),
                     {uint64_t(cacheSizeKib) * 1024,
                      uint64_t(sharedSizeKib) * 1024, uint64_t(cores),
                      uint64_t(memoryCost)},
                     iterations);
    fuser.run();
    numApplied += fuser.applied;
    numDeclined += fuser.declined;
    numShrunk += fuser.shrunk;
  }
};
} // namespace

} // namespace polynest
