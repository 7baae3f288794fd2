//===- BlockContractions.cpp - pack, block and tile sums of products ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: rewrites a nest that sums products (matrix product, convolution, any
// transposition of either) into blocks: for each block of the result a private
// buffer of accumulators, and for each block of the reduction both operands
// packed in the order in which a micro-kernel of vector FMAs reads them. Packs
// evaluate the operand's whole expression (casts, dequantization, padding), so
// that there is one micro-kernel for each type of accumulator; and one for each
// form of dot product that the target has, whose operands are packed as words
// of a few narrow elements, also for units that multiply tiles of such words.
// What starts the
// sums, and what is done with them, stays scalar code over the block, for the
// vectorizer.
// Legal when: the form is that of Analysis/Contraction.h and no parallel loop
// carries a dependence (loopIsParallel): then no iteration writes what another
// reads or writes, iterations may be interleaved in any way, and operands read
// early, as long as each reads before it stores. The order of accumulation is
// free (numerics (a), (b)).
// Profitable when: both operands are reused, in a row and a column loop of some
// length, by enough arithmetic to pay for the packs; sizes come from
// Target/ContractionModel.h.
// Limits: rectangular bands; accumulators of f32, f64, i32 and i64.
// Cost: operations of the nest, a dependence question for each loop.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/AffineValues.h"
#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Target/ReductionModel.h"
#include "Transforms/ContractionBlocks.h"
#include "Transforms/NestUtils.h"
#include "Transforms/VectorizeUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace polynest {
#define GEN_PASS_DEF_BLOCKCONTRACTIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-block-contractions"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "block-contractions";

//===----------------------------------------------------------------------===//
// Analysis of operands
//===----------------------------------------------------------------------===//

/// What the affine loads of the slice read; none if the place of one is not
/// known.
static std::optional<SmallVector<Access, 2>>
getSliceReads(const ContractionOperand &operand) {
  SmallVector<Access, 2> reads;
  for (Operation *op : operand.slice)
    if (isa<AffineLoadOp>(op))
      collectAccesses(op, reads);
  if (!llvm::all_of(reads, [](const Access &read) { return read.isAffine(); }))
    return std::nullopt;
  return reads;
}

/// Elements between what consecutive iterations of the loop read, if the slice
/// holds one load that moves with it and that is known.
static std::optional<int64_t> getSliceStride(const ContractionOperand &operand,
                                             AffineForOp loop) {
  std::optional<SmallVector<Access, 2>> reads = getSliceReads(operand);
  if (!reads)
    return std::nullopt;
  std::optional<int64_t> found;
  for (const Access &read : *reads) {
    std::optional<int64_t> stride =
        getStridePerUnit(read, loop.getInductionVar());
    if (!stride)
      return std::nullopt;
    if (*stride == 0)
      continue;
    if (found && *found != *stride)
      return std::nullopt;
    found = stride;
  }
  return found ? std::optional(*found * loop.getStepAsInt()) : std::nullopt;
}

/// True if the access is contiguous in the loop but for the ends of runs: the
/// last index is what is left of the loop's variable, others are quotients.
static bool movesInRuns(const Access &access, AffineForOp loop) {
  if (!access.isAffine() || access.map.getNumResults() == 0)
    return false;
  ArrayRef<AffineExpr> indices = access.map.getAffineMap().getResults();
  auto rest = dyn_cast<AffineBinaryOpExpr>(indices.back());
  auto dim = rest && rest.getKind() == AffineExprKind::Mod
                 ? dyn_cast<AffineDimExpr>(rest.getLHS())
                 : AffineDimExpr(nullptr);
  SmallVector<int64_t> strides;
  int64_t offset;
  return dim &&
         access.map.getOperand(dim.getPosition()) == loop.getInductionVar() &&
         succeeded(cast<MemRefType>(access.memref.getType())
                       .getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

/// The parallel loop in which the stores behind the sum are contiguous; null if
/// there is none.
static AffineForOp getContiguousLoop(const Contraction &contraction) {
  AffineForOp found;
  contraction.getBody()->walk([&](AffineStoreOp store) {
    SmallVector<Access, 1> accesses;
    collectAccesses(store, accesses);
    for (AffineForOp loop : contraction.parallelLoops)
      if (accesses.size() == 1 &&
          (getContiguity(accesses[0], loop) == Contiguity::Contiguous ||
           movesInRuns(accesses[0], loop)) &&
          mayRunTwice(loop))
        found = loop;
  });
  return found;
}

/// Puts the side whose loops run contiguously over the result in lanes.
static void chooseSides(Blocking &decision) {
  Contraction &contraction = decision.contraction;
  AffineForOp lane = getContiguousLoop(contraction);
  bool leftIsColumn =
      lane ? llvm::is_contained(contraction.left.loops, lane)
           : llvm::is_contained(contraction.left.loops,
                                contraction.parallelLoops.back());
  decision.leftIsRow = !leftIsColumn;
}

/// Fills in how often the loop runs, or what is known about that.
static void countTrips(CutLoop &cut) {
  AffineForOp loop = cut.loop;
  cut.trips = cut.most = getSmallTripCount(loop);
  if (cut.trips) {
    cut.fewest = cut.divisor = *cut.trips;
    return;
  }
  // A bound that moves with loops around the nest.
  if (!countsFromZero(loop))
    return;
  AffineValueBuilder builder(loop);
  std::optional<AffineExpr> bound =
      builder.express(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  if (!bound)
    return;
  IntegerRange range = builder.rangeOf(*bound);
  if (!range.isBounded() || range.low < 0 || range.high > INT32_MAX)
    return;
  cut.most = range.high;
  cut.fewest = range.low;
  cut.divisor = bound->getLargestKnownDivisor();
}

/// Groups are described by the most that they run.
static pn_model_loops_t describe(ArrayRef<AffineForOp> loops) {
  pn_model_loops_t described = {};
  for (auto [i, loop] : llvm::enumerate(loops))
    if (described.count < PN_MODEL_MAX_LOOPS) {
      CutLoop cut;
      cut.loop = loop;
      countTrips(cut);
      // Inside of others only what is constant is taken whole.
      described.trips[described.count++] =
          (i == 0 ? cut.most : cut.trips).value_or(0);
    }
  return described;
}

/// Counts points of several iterations.
static void countParts(CutLoop &cut, int64_t part) {
  if (part == 1)
    return;
  auto pointsOf = [&](int64_t count) { return llvm::divideCeil(count, part); };
  cut.part = part;
  cut.iterations = cut.trips;
  cut.hasRest = cut.divisor % part != 0;
  if (cut.most)
    cut.most = pointsOf(*cut.most);
  if (cut.trips)
    cut.trips = pointsOf(*cut.trips);
  cut.fewest = pointsOf(cut.fewest);
  cut.divisor = cut.trips ? *cut.trips : cut.hasRest ? 1 : cut.divisor / part;
}

LoopGroup makeGroup(ArrayRef<AffineForOp> loops, const pn_model_block_t *block,
                    int64_t part) {
  LoopGroup group;
  int64_t weight = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    CutLoop cut;
    cut.loop = loops[i];
    countTrips(cut);
    if (i + 1 == loops.size())
      countParts(cut, part);
    if (block && int64_t(i) >= block->level) {
      cut.tile = int64_t(i) == block->level ? block->tile : *cut.trips;
      cut.weight = weight;
      weight *= cut.tile;
    }
    group.loops.insert(group.loops.begin(), cut);
  }
  group.points = weight;
  return group;
}

/// The stride of one point of a block, if the loops in it advance evenly over
/// what the load reads.
static std::optional<int64_t> getPointStep(const LoopGroup &group,
                                           const Access &access) {
  std::optional<int64_t> step;
  for (const CutLoop &cut : llvm::reverse(group.loops)) {
    if (cut.tile == 1)
      continue;
    AffineForOp loop = cut.loop;
    std::optional<int64_t> stride =
        getStridePerUnit(access, loop.getInductionVar());
    if (!stride)
      return std::nullopt;
    int64_t each = *stride * loop.getStepAsInt() * cut.part;
    if (!step)
      step = each / cut.weight;
    if (*step * cut.weight != each)
      return std::nullopt;
  }
  return step;
}

/// Elements from one point of a run to the next, at most: what a cache line
/// holds beside them is in rows nearby, as in windows that advance by a stride.
static constexpr int64_t mostRunStep = 4;

/// Cuts blocks of depth in runs along which `access` advances evenly by a few
/// elements, with loops of constant strides around them.
static bool findRuns(Blocking &decision, const Access &access) {
  bool isRun = true;
  for (CutLoop &cut : llvm::reverse(decision.depth.loops)) {
    AffineForOp loop = cut.loop;
    if (cut.tile == 1)
      continue;
    std::optional<int64_t> stride =
        getStridePerUnit(access, loop.getInductionVar());
    if (!stride || !cut.trips)
      return false;
    int64_t each = *stride * loop.getStepAsInt();
    if (decision.runPoints == 0) {
      if (cut.weight != 1 || each < 1 || each > mostRunStep)
        return false;
      decision.runStep = each;
    }
    isRun &= each == cut.weight * decision.runStep && cut.isEven();
    if (isRun)
      decision.runPoints = cut.weight * cut.tile;
    else if (decision.runPoints == 0)
      return false;
    else
      decision.runLoops.insert(decision.runLoops.begin(), RunLoop{cut, each});
  }
  return decision.runPoints > 0;
}

/// The value that an operation extends as the element says, else null.
static Value getExtended(Value value, const DotElement &element) {
  if (getExtendedElement(value) == element)
    return value.getDefiningOp()->getOperand(0);
  return {};
}

/// The load of what rows multiply, with a dot product of narrow elements; null
/// where it is computed.
static AffineLoadOp getRowLoad(const Blocking &decision) {
  Value value = decision.rowSide().value;
  if (decision.dot)
    value = getExtended(value, decision.dot->row);
  return value ? value.getDefiningOp<AffineLoadOp>() : AffineLoadOp();
}

/// True if rows may be read where they are: a plain load of the accumulator's
/// type, contiguous along a block of the depth or runs of it, or of narrow
/// elements that fill words, contiguous along a block.
static bool readsInPlace(Blocking &decision) {
  AffineLoadOp load = getRowLoad(decision);
  if (!load || !load.getMemRefType().getLayout().isIdentity())
    return false;
  if (decision.dot ? decision.depth.loops.back().hasRest
                   : load.getType() != decision.contraction.getType())
    return false;
  SmallVector<Access, 1> accesses;
  collectAccesses(load, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine())
    return false;
  decision.runPoints = 0;
  decision.runStep = 1;
  decision.runLoops.clear();
  std::optional<int64_t> depth = getPointStep(decision.depth, accesses[0]);
  std::optional<int64_t> rows = getPointStep(decision.rows, accesses[0]);
  if (!(depth && *depth == decision.step()) &&
      (decision.dot || !findRuns(decision, accesses[0])))
    return false;
  int64_t offset;
  SmallVector<int64_t> strides;
  if (failed(load.getMemRefType().getStridesAndOffset(strides, offset)) ||
      llvm::is_contained(strides, ShapedType::kDynamic))
    return false;
  decision.rowLoad = load;
  decision.rowStep = rows;
  return true;
}

/// True if all sizes of the group are constant.
static bool isConstant(const LoopGroup &group) {
  return llvm::all_of(group.loops,
                      [](const CutLoop &cut) { return cut.trips.has_value(); });
}

static bool hasConstantSizes(const Blocking &decision) {
  return isConstant(decision.batch) && isConstant(decision.rows) &&
         isConstant(decision.columns) && isConstant(decision.depth);
}

bool isWhole(const LoopGroup &group) {
  return llvm::all_of(group.loops,
                      [](const CutLoop &cut) { return cut.isWhole(); });
}

/// True if each element is read in one iteration only, as far as the form of
/// the indices tells: no index adds two loops.
static bool readsOnce(const ContractionOperand &operand) {
  return llvm::all_of(operand.slice, [](Operation *op) {
    if (isa<memref::LoadOp>(op) || op->getNumRegions() != 0)
      return false;
    if (!isa<AffineLoadOp>(op))
      return true;
    SmallVector<Access, 1> accesses;
    collectAccesses(op, accesses);
    return accesses.size() == 1 && accesses[0].isAffine() &&
           !addsLoops(accesses[0]);
  });
}

/// True if all that the operand reads is there for any values of its loops,
/// even if the nest does not run.
static bool readsInBounds(const ContractionOperand &operand) {
  return llvm::all_of(operand.slice, [](Operation *op) {
    if (!isa<AffineLoadOp>(op))
      return true;
    SmallVector<Access, 1> accesses;
    collectAccesses(op, accesses);
    return accesses.size() == 1 && isInBounds(accesses[0]);
  });
}

/// True if the most that all loops of the group run is known.
static bool isBounded(const LoopGroup &group) {
  return llvm::all_of(group.loops, [](const CutLoop &cut) {
    return cut.trips || cut.most.value_or(1) > 1;
  });
}

/// Blocks that a group is cut in, where its sizes are constant.
static double countBlocks(const LoopGroup &group) {
  double blocks = 1;
  for (const CutLoop &cut : group.loops)
    blocks *= double(llvm::divideCeil(cut.trips.value_or(1), cut.tile));
  return blocks;
}

/// The most that windows may take which are laid out as a whole, and blocks of
/// rows that this pays for.
static constexpr double mostWindowBytes = 16 << 20, leastWindowUses = 4;

/// True if windows, of which many hold each element, may be laid out as a
/// whole: they are of a small image with rows of less than half a vector, so
/// that to gather them again for each of many blocks of rows takes longer than
/// to read them from memory.
static bool repaysWindows(const Blocking &decision) {
  const pn_model_tile_t &tile = decision.plan.tile;
  if (decision.dot || tile.nr == 0)
    return false;
  double bytes = countPoints(decision.contraction.batchLoops) *
                 countPoints(decision.columnSide().loops) *
                 countPoints(decision.contraction.reductionLoops) *
                 decision.contraction.getType().getIntOrFloatBitWidth() / 8;
  const CutLoop &wide = decision.columns.loops.back();
  return wide.trips && *wide.trips * 2 * tile.vectors <= tile.nr &&
         bytes <= mostWindowBytes &&
         countBlocks(decision.rows) >= leastWindowUses;
}

/// True if the columns may be packed for the whole nest: sizes are constant, or
/// bounded where all that iterations of loops around need is packed once, and
/// what is read early would be read anyway, or is there.
static bool canPackAhead(const Blocking &decision) {
  bool isFixed = isConstant(decision.columns) && isConstant(decision.depth);
  bool isShared = decision.aheadPoint != decision.contraction.root &&
                  isBounded(decision.columns) && isBounded(decision.depth);
  // What is packed for the most that they need would fill up a last word, which
  // the rows fill up with zeros; NaN among it must not meet these. The same
  // goes for the last tile of a block.
  const CutLoop &deep = decision.depth.loops.back();
  if (deep.hasRest && !deep.iterations)
    return false;
  if (decision.matrix && (!isConstant(decision.depth) ||
                          (!isWhole(decision.depth) &&
                           decision.depth.points % decision.matrix->words)))
    return false;
  return isConstant(decision.batch) && (isFixed || isShared) &&
         (decision.sumsParts || readsOnce(decision.columnSide()) ||
          repaysWindows(decision)) &&
         ((isFixed && isConstant(decision.rows)) ||
          readsInBounds(decision.columnSide()));
}

/// The same for rows.
static bool canPackRowsAhead(const Blocking &decision) {
  return isConstant(decision.batch) && isConstant(decision.rows) &&
         isConstant(decision.depth) && readsOnce(decision.rowSide()) &&
         (isConstant(decision.columns) || readsInBounds(decision.rowSide()));
}

/// True if what may be packed ahead may be packed for one block of columns at a
/// time, inside of its loop: nothing else takes all of it.
static bool canPackByColumns(const Blocking &decision) {
  return hasConstantSizes(decision) && decision.imageRanges.empty() &&
         decision.aheadPoint == decision.contraction.root &&
         llvm::none_of(decision.batch.loops,
                       [](const CutLoop &cut) { return cut.isInner; });
}

/// True if the operand may be evaluated for `count` consecutive iterations of
/// the loop at once: operations on elements alone compute it, from loads that
/// advance from element to element, one at least, or stand still.
static bool hasVectorsAlong(const ContractionOperand &operand, AffineForOp loop,
                            int64_t count) {
  bool isContiguous = false;
  for (Operation *op : operand.slice) {
    if (isa<AffineApplyOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
      continue;
    auto load = dyn_cast<AffineLoadOp>(op);
    if (!load) {
      if (!OpTrait::hasElementwiseMappableTraits(op) ||
          op->getNumResults() != 1 ||
          llvm::any_of(op->getOperands(), [](Value value) {
            return !value.getType().isIntOrFloat();
          }))
        return false;
      continue;
    }
    SmallVector<Access, 1> accesses;
    collectAccesses(op, accesses);
    if (accesses.size() != 1 || !accesses[0].isAffine())
      return false;
    if (standsStillInLanes(accesses[0], loop, unsigned(count)))
      continue;
    if (getStride(accesses[0], loop) != 1 || !hasVectorLayout(load.getType()))
      return false;
    isContiguous = true;
  }
  return isContiguous;
}

/// True if a loop may be cut in whole vectors and a rest: a rest begins at one
/// affine place only where full blocks have none.
static bool splitsInVectors(const Blocking &decision, const CutLoop &cut) {
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  return cut.tile >= lanes &&
         (cut.isWhole() || (cut.isEven() && !cut.hasRest) ||
          cut.tile % lanes == 0);
}

/// Lanes in which scales of groups stand still, at least.
static constexpr unsigned fewLanes = 8;

/// True if columns are contiguous along the innermost loop of the depth only:
/// what moves with it, at least, such as weights, not their scales.
static bool liesAlongDepth(const Blocking &decision) {
  const ContractionOperand &side = decision.columnSide();
  AffineForOp deep = decision.depthLoops.back(), wide = side.loops.back();
  std::optional<SmallVector<Access, 2>> reads = getSliceReads(side);
  if (!reads)
    return false;
  bool found = false;
  for (const Access &read : *reads) {
    if (standsStillInLanes(read, deep, fewLanes))
      continue;
    std::optional<int64_t> across = getStride(read, wide);
    if (getStride(read, deep) != 1 || !across || *across == 1)
      return false;
    found = true;
  }
  return found;
}

/// True if vectors of the depth may be evaluated of the operand, which is
/// packed for the whole depth at once or block by block.
static bool hasVectorsOfDepth(const Blocking &decision,
                              const ContractionOperand &operand,
                              bool isPackedWhole) {
  int64_t count =
      decision.plan.tile.nr / decision.plan.tile.vectors * decision.step();
  const CutLoop &deep = decision.depth.loops.back();
  // Where vectors of blocks begin elsewhere than those of the whole loop, they
  // may hold parts of two groups.
  bool isAligned =
      isPackedWhole || deep.isWhole() || deep.tile * deep.part % count == 0;
  return hasVectorsAlong(operand, decision.depthLoops.back(),
                         isAligned ? count : INT32_MAX);
}

/// True if whole squares of vectors may be evaluated along the depth, along
/// which such columns lie, and turned in registers.
static bool shouldTranspose(const Blocking &decision) {
  return liesAlongDepth(decision) &&
         hasVectorsOfDepth(decision, decision.columnSide(),
                           decision.packsAhead) &&
         splitsInVectors(decision, decision.depth.loops.back()) &&
         splitsInVectors(decision, decision.columns.loops.back());
}

/// True if whole vectors may be evaluated along the depth of each row and
/// become words.
static bool canPackRuns(const Blocking &decision) {
  bool isByRow = decision.rowMode == RowMode::PackedByRow ||
                 decision.rowMode == RowMode::Ahead;
  return decision.dot && isByRow &&
         hasVectorsOfDepth(decision, decision.rowSide(),
                           /*isPackedWhole=*/false) &&
         splitsInVectors(decision, decision.depth.loops.back());
}

//===----------------------------------------------------------------------===//
// Dot products of narrow elements
//===----------------------------------------------------------------------===//

namespace {
/// Whole numbers from `low` to `high`.
struct NumberRange {
  int64_t low = 0, high = 0;
};
} // namespace

/// Numbers far below what 64 bits hold, so that sums and products of two are
/// exact.
static constexpr int64_t mostNumber = int64_t(1) << 30;

/// The numbers that an operation may return, from those of its operands as
/// numbers with a sign.
static std::optional<NumberRange> combineRanges(Operation *op, NumberRange a,
                                                NumberRange b) {
  if (isa<arith::AddIOp>(op))
    return NumberRange{a.low + b.low, a.high + b.high};
  if (isa<arith::SubIOp>(op))
    return NumberRange{a.low - b.high, a.high - b.low};
  if (isa<arith::MaxSIOp>(op))
    return NumberRange{std::max(a.low, b.low), std::max(a.high, b.high)};
  if (isa<arith::MinSIOp>(op))
    return NumberRange{std::min(a.low, b.low), std::min(a.high, b.high)};
  if (isa<arith::MulIOp>(op)) {
    const int64_t ends[] = {a.low * b.low, a.low * b.high, a.high * b.low,
                            a.high * b.high};
    return NumberRange{*llvm::min_element(ends), *llvm::max_element(ends)};
  }
  return std::nullopt;
}

/// The numbers that a value may be, taken with a sign, as far as the code that
/// computes it tells; none where they may be large.
static std::optional<NumberRange> getNumberRange(Value value,
                                                 unsigned depth = 0) {
  auto type = dyn_cast<IntegerType>(value.getType());
  if (!type || type.getWidth() > 64 || depth > 6)
    return std::nullopt;
  std::optional<NumberRange> range;
  Operation *op = value.getDefiningOp();
  auto rangeOf = [&](unsigned i) {
    return getNumberRange(op->getOperand(i), depth + 1);
  };
  IntegerAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    APInt number = constant.getValue();
    if (number.getSignificantBits() <= 31)
      range = NumberRange{number.getSExtValue(), number.getSExtValue()};
  } else if (isa_and_nonnull<arith::ExtSIOp>(op)) {
    range = rangeOf(0);
  } else if (isa_and_nonnull<arith::ExtUIOp>(op)) {
    range = rangeOf(0);
    unsigned bits = op->getOperand(0).getType().getIntOrFloatBitWidth();
    if (!range || range->low < 0)
      range = bits <= 16 ? std::optional(NumberRange{0, (1 << bits) - 1})
                         : std::nullopt;
  } else if (isa_and_nonnull<arith::SelectOp>(op)) {
    std::optional<NumberRange> a = rangeOf(1), b = rangeOf(2);
    if (a && b)
      range = NumberRange{std::min(a->low, b->low), std::max(a->high, b->high)};
  } else if (op && op->getNumOperands() == 2 && op->getNumResults() == 1) {
    std::optional<NumberRange> a = rangeOf(0), b = rangeOf(1);
    if (a && b)
      range = combineRanges(op, *a, *b);
  }
  if (range && (range->low < -mostNumber || range->high > mostNumber))
    range = std::nullopt;
  // What does not fit the type wraps around.
  unsigned bits = type.getWidth();
  if (bits > 30)
    return range;
  int64_t most = (int64_t(1) << (bits - 1)) - 1;
  if (range && range->low >= -most - 1 && range->high <= most)
    return range;
  return NumberRange{-most - 1, most};
}

/// True if every value of the operand, or its negative, is an element.
static bool fitsElement(Value value, const DotElement &element, bool negates) {
  if (element.isFloat())
    return bool(getExtended(value, element));
  std::optional<NumberRange> range = getNumberRange(value);
  if (!range)
    return false;
  if (negates)
    range = NumberRange{-range->high, -range->low};
  return element.holds(range->low, range->high);
}

/// Of words of `step` iterations of the loop, how much is not filled up; 0 if
/// that is not known.
static double getFilledShare(AffineForOp loop, int64_t step) {
  CutLoop cut;
  cut.loop = loop;
  countTrips(cut);
  if (cut.divisor % step == 0)
    return 1;
  int64_t trips = cut.most.value_or(1024);
  return double(trips) / double(llvm::alignTo(uint64_t(trips), uint64_t(step)));
}

/// True if such elements hold what both sides multiply, and sums take 32 bits.
static bool fitsElements(const Blocking &decision, const DotElement &row,
                         const DotElement &column) {
  const Contraction &contraction = decision.contraction;
  Type type = contraction.getType();
  return row.isFloat() == isa<FloatType>(type) &&
         type.getIntOrFloatBitWidth() == 32 &&
         fitsElement(decision.rowSide().value, row, /*negates=*/false) &&
         fitsElement(decision.columnSide().value, column,
                     contraction.subtracts);
}

/// How a form holds both operands, if it does: as they are; or, where rows have
/// a sign and the unit wants none, or the other way round, with rows moved by
/// half of all numbers.
static std::optional<DotChoice> fitForm(const Blocking &decision,
                                        const DotForm &form) {
  auto fits = [&](const DotElement &row, const DotElement &column) {
    return fitsElements(decision, row, column);
  };
  const std::pair<DotElement, DotElement> places[] = {{form.left, form.right},
                                                      {form.right, form.left}};
  for (const auto &[row, column] : places)
    if (fits(row, column))
      return DotChoice{row, column, form.step};
  for (const auto &[row, column] : places) {
    bool isSigned = row.kind == DotKind::Signed;
    DotElement other = row;
    other.kind = isSigned ? DotKind::Unsigned : DotKind::Signed;
    int64_t half = int64_t(1) << (row.bits - 1);
    if (!row.isFloat() && fits(other, column))
      return DotChoice{row, column, form.step, isSigned ? -half : half};
  }
  return std::nullopt;
}

/// Chooses the loop whose iterations share words: the innermost, unless another
/// one fills them better.
static void chooseWordLoop(Blocking &decision) {
  decision.depthLoops = decision.contraction.reductionLoops;
  // Another loop innermost may cost contiguous rows.
  constexpr double muchBetter = 1.1;
  auto *best = &decision.depthLoops.back();
  double share = getFilledShare(*best, decision.step()) * muchBetter;
  for (AffineForOp &loop : decision.depthLoops)
    if (getFilledShare(loop, decision.step()) > share) {
      share = getFilledShare(loop, decision.step());
      best = &loop;
    }
  std::rotate(best, best + 1, decision.depthLoops.end());
}

/// Chooses among the target's forms that hold both operands the one with the
/// longest step.
static void chooseDot(Blocking &decision, ArrayRef<DotForm> forms) {
  decision.depthLoops = decision.contraction.reductionLoops;
  decision.dot = std::nullopt;
  for (const DotForm &form : forms) {
    std::optional<DotChoice> choice = fitForm(decision, form);
    bool isBetter =
        choice && (!decision.dot || choice->step > decision.dot->step ||
                   (choice->step == decision.dot->step && !choice->rowOffset &&
                    decision.dot->rowOffset));
    if (isBetter)
      decision.dot = choice;
  }
  if (decision.dot)
    chooseWordLoop(decision);
}

namespace {
/// A matrix unit: what it multiplies, and how it is built.
struct MatrixForm {
  DotForm form;
  TileShape shape;
  int64_t registers = 0, latency = 0;
};
} // namespace

/// Reads FORM:ROWSxCOLUMNSxWORDS:REGISTERS:LATENCY.
static std::optional<MatrixForm> parseMatrixForm(StringRef text) {
  SmallVector<StringRef, 4> words;
  text.split(words, ':');
  MatrixForm matrix;
  if (words.size() != 4 || words[2].getAsInteger(10, matrix.registers) ||
      words[3].getAsInteger(10, matrix.latency) || matrix.registers < 3 ||
      matrix.registers > 256 || matrix.latency < 1 || matrix.latency > 1024)
    return std::nullopt;
  std::optional<DotForm> form = parseDotForm(words[0]);
  std::optional<TileShape> shape = parseTileShape(words[1]);
  if (!form || !shape)
    return std::nullopt;
  matrix.form = *form;
  matrix.shape = *shape;
  return matrix;
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

bool hasKernel(Type type) {
  return type.isF32() || type.isF64() || type.isInteger(32) ||
         type.isInteger(64);
}

/// Why there is no micro-kernel for it, or an empty string.
static StringRef whyNoKernel(const Contraction &contraction) {
  Type type = contraction.getType();
  if (!hasKernel(type))
    return "the accumulator's type has no micro-kernel";
  for (const ContractionOperand *side : {&contraction.left, &contraction.right})
    if (side->value.getType() != type)
      return "an operand's type differs from the accumulator's";
  if (contraction.left.loops.empty() || contraction.right.loops.empty())
    return "no loop reuses one of the operands";
  size_t most = PN_MODEL_MAX_LOOPS;
  if (contraction.parallelLoops.size() > most ||
      contraction.reductionLoops.size() > most)
    return "too many loops";
  return {};
}

static std::string whyIllegal(const Contraction &contraction,
                              DependenceAnalysis &dependences) {
  StringRef why = whyNoKernel(contraction);
  if (!why.empty())
    return why.str();
  return whyNotParallel(contraction.parallelLoops, contraction.root,
                        dependences);
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Fewest iterations of a row or column group that pay for packing, and fewest
/// multiply-adds of one batch.
static constexpr double leastRows = 4, leastBoundRows = 2, leastColumns = 4,
                        leastDepth = 8;
static constexpr double leastProducts = 32768;
/// Fewest where columns do not fill a vector, and loops run in lanes badly.
static constexpr double leastNarrowProducts = 16384;
/// Fewest in one batch where all share what is packed once and for all.
static constexpr double leastBoundProducts = 4096;
/// Cycles of multiply-adds from which a better loop is worth the milliseconds
/// that its compilation takes longer.
static constexpr double longCycles = 2e6;

namespace {
/// What pays for packing, at least.
struct PackLimits {
  double rows = leastRows, products = leastProducts;
};
} // namespace

/// Products are those of all batches that share what is packed.
static StringRef whyNotPack(double rows, double columns, double depth,
                            double products, const PackLimits &least) {
  if (rows < least.rows || columns < leastColumns)
    return "too few iterations reuse an operand";
  if (depth < leastDepth)
    return "the reduction is too short";
  if (products < least.products)
    return "too little arithmetic to pay for packing";
  return {};
}

StringRef whyNotPack(double rows, double columns, double depth) {
  return whyNotPack(rows, columns, depth, rows * columns * depth, {});
}

static StringRef whyNotWorth(const Blocking &decision, int64_t lanes) {
  double rows = countPoints(decision.rowSide().loops);
  double columns = countPoints(decision.columnSide().loops);
  double depth = countPoints(decision.contraction.reductionLoops);
  PackLimits least;
  double products = rows * columns * depth;
  if (isBoundOnce(decision.columnSide().slice)) {
    least.rows = leastBoundRows;
    if (products >= leastBoundProducts)
      products *= countPoints(decision.contraction.batchLoops);
  }
  std::optional<int64_t> across =
      getSmallTripCount(decision.columnSide().loops.back());
  if (across && *across < lanes)
    least.products = leastNarrowProducts;
  return whyNotPack(rows, columns, depth, products, least);
}

/// Loops around the nest, the nearest first, up to anything else.
static SmallVector<AffineForOp> getLoopsAround(AffineForOp root) {
  SmallVector<AffineForOp> loops;
  for (auto loop = dyn_cast<AffineForOp>(root->getParentOp()); loop;
       loop = dyn_cast<AffineForOp>(loop->getParentOp()))
    loops.push_back(loop);
  return loops;
}

/// True if the operand has the same value in every iteration of a loop around
/// the nest: nothing that it uses is made there, and nothing that it reads is
/// written.
static bool standsStillIn(const ContractionOperand &operand, AffineForOp root,
                          AffineForOp loop) {
  SmallVector<Access, 8> accesses;
  collectAccesses(loop, accesses);
  return llvm::all_of(operand.slice, [&](Operation *op) {
    if (!llvm::all_of(op->getOperands(), [&](Value value) {
          Operation *owner = value.getParentBlock()->getParentOp();
          return root->isAncestor(owner) || !loop->isAncestor(owner);
        }))
      return false;
    SmallVector<Access, 1> reads;
    collectAccesses(op, reads);
    return llvm::all_of(reads, [&](const Access &read) {
      return !mayWrite(accesses, read.memref);
    });
  });
}

/// The operation of the entry's own block that the nest stands in, if it stands
/// in loops and branches alone and the operand uses nothing that is made there;
/// else null.
static Operation *findOutermost(const ContractionOperand &operand,
                                AffineForOp root) {
  Operation *point = root;
  while (isa<AffineForOp, AffineIfOp>(point->getParentOp()))
    point = point->getParentOp();
  bool standsAlone = llvm::all_of(operand.slice, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value value) {
      Operation *owner = value.getParentBlock()->getParentOp();
      return root->isAncestor(owner) || !point->isAncestor(owner);
    });
  });
  return standsAlone && isa<func::FuncOp>(point->getParentOp()) ? point
                                                                : nullptr;
}

/// Where the columns may be packed once for all iterations of loops around the
/// nest, as long as iterations are left outside of it for all cores. What is
/// bound once leaves all loops and branches.
static Operation *findAheadPoint(const Blocking &decision, int64_t cores) {
  AffineForOp root = decision.contraction.root;
  SmallVector<AffineForOp> loops = getLoopsAround(root);
  Operation *point = root;
  // What does not run under its condition reads nothing.
  if (decision.contraction.guard)
    return point;
  bool isThere = readsInBounds(decision.columnSide());
  if (isThere && isBoundOnce(decision.columnSide().slice))
    if (Operation *outermost = findOutermost(decision.columnSide(), root))
      return outermost;
  for (size_t i = 0; i != loops.size(); ++i) {
    double outside = countPoints(ArrayRef(loops).drop_front(i + 1));
    // What does not run reads nothing, unless it is there all the same.
    if ((!isThere && getSmallTripCount(loops[i]).value_or(0) < 1) ||
        (i + 1 != loops.size() && outside < double(2 * cores)) ||
        !standsStillIn(decision.columnSide(), root, loops[i]))
      break;
    point = loops[i];
  }
  return point;
}

/// True if what is packed of the columns leaves all loops.
static bool packsOnce(const Contraction &contraction,
                      const ContractionOperand &side) {
  return !contraction.guard && isBoundOnce(side.slice) && readsInBounds(side) &&
         findOutermost(side, contraction.root);
}

/// True if rows are of one loop that runs any number of times, which is known
/// when the nest begins, and panels of columns that are packed once serve any
/// number of them.
static bool mayHaveFewRows(const Blocking &decision) {
  const ContractionOperand &rows = decision.rowSide();
  return rows.loops.size() == 1 && decision.columnSide().loops.size() == 1 &&
         !decision.rows.loops.front().most &&
         hasPlainTrips(rows.loops.front(), decision.contraction.root) &&
         isConstant(decision.columns) && isConstant(decision.depth) &&
         packsOnce(decision.contraction, decision.columnSide()) &&
         canPackAhead(decision);
}

bool multipliesFewRows(AffineForOp root) {
  std::string reason;
  FailureOr<Contraction> form = matchContraction(root, reason);
  if (failed(form) || !whyNoKernel(*form).empty())
    return false;
  Blocking decision;
  decision.contraction = std::move(*form);
  chooseSides(decision);
  const ContractionOperand &side = decision.columnSide();
  if (!isBoundOnce(side.slice) || decision.contraction.guard ||
      !whyNotWorth(decision, /*lanes=*/1).empty())
    return false;
  decision.depthLoops = decision.contraction.reductionLoops;
  decision.batch = makeGroup(decision.contraction.batchLoops, nullptr);
  decision.rows = makeGroup(decision.rowSide().loops, nullptr);
  decision.columns = makeGroup(side.loops, nullptr);
  decision.depth = makeGroup(decision.depthLoops, nullptr);
  if (mayHaveFewRows(decision))
    return true;
  bool leaves = isa<func::FuncOp>(root->getParentOp()) ||
                packsOnce(decision.contraction, side);
  return leaves && hasConstantSizes(decision) && canPackAhead(decision) &&
         countPoints(decision.rowSide().loops) <= PN_MODEL_STREAM_ROWS;
}

/// What options ask for in place of the model's choice.
struct AskedFor {
  pn_model_tiling_t tiling;
  StringRef columns, rows;
  bool skipsPadding = true;

  bool isNothing() const {
    return tiling.mr == 0 && tiling.rows == 0 && tiling.columns == 0 &&
           tiling.depth == 0 && columns == "auto" && rows == "auto";
  }
};

/// Shorter runs of rows in place cost more in loops than a pack; where that is
/// of windows, which hold an element several times, than that.
static constexpr int64_t leastRun = 8, leastSwappedRun = 4;

/// True if rows would be gathered, element by element, for several blocks of
/// columns: flipped weights, of which the gradient of an image is a
/// convolution.
static bool isGathered(const Blocking &decision) {
  const ContractionOperand &side = decision.rowSide();
  std::optional<int64_t> alongRows = getSliceStride(side, side.loops.back());
  std::optional<int64_t> alongDepth =
      getSliceStride(side, decision.depthLoops.back());
  return alongRows && *alongRows != 1 && alongDepth && *alongDepth != 1 &&
         isConstant(decision.columns) && countBlocks(decision.columns) > 1;
}

/// True if rows, which may be read in place, lie in few sets of the first
/// cache.
static bool collide(const Blocking &decision, const pn_model_core_t &core) {
  AffineLoadOp load = decision.rowLoad;
  int64_t bytes =
      getElementBytes(load.getType()).value_or(core.accumulator_bytes);
  return decision.rowStep &&
         pn_model_rows_collide(&core, decision.plan.m.points,
                               std::abs(*decision.rowStep) * bytes);
}

static RowMode chooseRowMode(Blocking &decision, const pn_model_core_t &core) {
  const ContractionOperand &side = decision.rowSide();
  int64_t least = decision.isSwapped ? leastSwappedRun : leastRun;
  bool isInPlace = readsInPlace(decision) &&
                   (decision.runPoints == 0 || decision.runPoints >= least);
  std::optional<int64_t> alongDepth =
      getSliceStride(side, decision.depthLoops.back());
  bool isAlongDepth = alongDepth && *alongDepth == 1;
  // Whole rows are contiguous as they are.
  bool isCopied =
      !isInPlace || !isWhole(decision.depth) || decision.runPoints > 0;
  // Words would be put together anew for each block of columns.
  bool isRepeated = decision.dot ? isAlongDepth && !isWhole(decision.columns)
                                 : isGathered(decision);
  bool repays = isComputedOnce(side.slice) ? isAlongDepth || decision.dot
                                           : !isInPlace && isRepeated;
  // Each panel of a stream meets all rows anew.
  if (decision.plan.streams)
    repays = isCopied = !isInPlace ||
                        decision.plan.tile.mr > PN_MODEL_MAX_PLACES ||
                        collide(decision, core);
  if (isCopied && repays && canPackRowsAhead(decision))
    return RowMode::Ahead;
  // As many as there may be are laid out for each block of columns.
  if (isInPlace && !(decision.mostRows && collide(decision, core)))
    return RowMode::InPlace;
  return isAlongDepth ? RowMode::PackedByRow : RowMode::PackedByDepth;
}

/// The load of columns whose vectors the micro-kernel may read where they are;
/// null where they are computed, or do not fill whole panels.
static AffineLoadOp findColumnLoad(const Blocking &decision) {
  const ContractionOperand &side = decision.columnSide();
  auto load = side.value.getDefiningOp<AffineLoadOp>();
  if (!load || decision.dot || decision.matrix || !decision.panels ||
      decision.mostRows || !decision.imageRanges.empty() ||
      decision.contraction.subtracts || side.loops.size() != 1 ||
      load.getType() != decision.contraction.getType() ||
      !hasVectorLayout(load.getType()) ||
      !isExact(decision.columns, decision.plan.tile.nr))
    return {};
  // Indices that nothing in the nest computes.
  AffineForOp root = decision.contraction.root, wide = side.loops.front();
  for (Value index : load.getMapOperands())
    if (!isAffineForInductionVar(index) &&
        root->isAncestor(index.getParentBlock()->getParentOp()))
      return {};
  SmallVector<Access, 1> accesses;
  collectAccesses(load, accesses);
  SmallVector<int64_t> strides;
  int64_t offset;
  // Along the last dimension, the only one of a vector.
  bool isContiguous =
      accesses.size() == 1 && accesses[0].isAffine() &&
      getStride(accesses[0], wide) == 1 &&
      accesses[0].map.isFunctionOf(load.getMemRefType().getRank() - 1,
                                   wide.getInductionVar()) &&
      succeeded(load.getMemRefType().getStridesAndOffset(strides, offset)) &&
      strides.back() == 1;
  return isContiguous ? load : AffineLoadOp();
}

/// True if a block of the depth of one panel of columns stays in the first
/// cache where they are: from its first row to its last are no more bytes than
/// that holds, so that no set of it gets more lines than it has ways. What is
/// computed once is packed for nothing.
static bool liesInPanels(const Blocking &decision, AffineLoadOp load,
                         const pn_model_core_t &core) {
  SmallVector<Access, 1> accesses;
  collectAccesses(load, accesses);
  std::optional<int64_t> step = getPointStep(decision.depth, accesses[0]);
  double bytes = step
                     ? double(std::abs(*step)) * double(decision.depth.points) *
                           core.accumulator_bytes
                     : 0;
  return step && bytes <= double(core.caches[0].size_kib) * 1024 &&
         !isComputedOnce(decision.columnSide().slice);
}

/// Moves columns in the place of rows, by as much, where rows as they are may
/// be read in place: words of them are then put together nowhere. Sums of rows
/// take whole vectors.
static RowMode chooseMovedSide(Blocking &decision,
                               const pn_model_core_t &core) {
  if (decision.dot && decision.dot->columnOffset)
    decision.dot = decision.dot->withOtherMoved();
  RowMode mode = chooseRowMode(decision, core);
  const pn_model_tile_t &tile = decision.plan.tile;
  if (!decision.dot || !decision.dot->rowOffset ||
      decision.dot->row.kind == decision.dot->column.kind ||
      isComputedOnce(decision.rowSide().slice) ||
      !decision.imageRanges.empty() ||
      !isExact(decision.depth, tile.nr / tile.vectors))
    return mode;
  decision.dot = decision.dot->withOtherMoved();
  if (readsInPlace(decision))
    return RowMode::InPlace;
  decision.dot = decision.dot->withOtherMoved();
  return mode;
}

/// Counts the outermost loops of the depth along which rows advance further
/// than from row to row.
static size_t countFarLoops(const Blocking &decision) {
  const ContractionOperand &side = decision.rowSide();
  std::optional<int64_t> fromRow = getSliceStride(side, side.loops.front());
  return size_t(llvm::find_if(decision.depthLoops,
                              [&](AffineForOp loop) {
                                auto step = getSliceStride(side, loop);
                                return !fromRow || !step ||
                                       std::abs(*step) <= std::abs(*fromRow);
                              }) -
                decision.depthLoops.begin());
}

/// Has the micro-kernel read columns where they are, if they lie in panels that
/// it needs not ask for before.
static void chooseColumnsInPlace(Blocking &decision,
                                 const pn_model_core_t &core,
                                 const AskedFor &asked) {
  decision.columnLoad = {};
  bool isFree = asked.columns == "auto" && decision.depthPart == 0 &&
                decision.panelShare == 0 && decision.panelLead == 0;
  if (!isFree && asked.columns != "never")
    return;
  AffineLoadOp load = findColumnLoad(decision);
  if (!load || (isFree && !liesInPanels(decision, load, core)))
    return;
  decision.columnLoad = load;
  decision.packsAhead = decision.packsByColumns = false;
  decision.panelShare = decision.panelLead = 0;
}

/// Packs as options ask for; returns why that cannot be, or an empty string.
static StringRef packAs(Blocking &decision, const AskedFor &asked) {
  bool isAhead = asked.columns == "ahead" || asked.columns == "columns";
  if (isAhead && !canPackAhead(decision))
    return "its columns cannot be packed ahead";
  if (asked.columns != "auto")
    decision.packsAhead = isAhead;
  if (asked.columns == "never" && !findColumnLoad(decision))
    return "its columns cannot be read in place";
  if (asked.rows == "never" && decision.rowMode != RowMode::InPlace &&
      (decision.matrix || !readsInPlace(decision)))
    return "its rows cannot be read in place";
  if (asked.rows == "never")
    decision.rowMode = RowMode::InPlace;
  if (asked.rows == "block" && (decision.rowMode == RowMode::InPlace ||
                                decision.rowMode == RowMode::Ahead))
    decision.rowMode = RowMode::PackedByRow;
  return {};
}

/// Puts loops of the batch inside of those over blocks of rows along which the
/// rows' operand advances by less than from row to row: groups of channels that
/// lie last share cache lines, and a block of rows stays in the second cache
/// for all of them, beside their packed columns.
static void chooseOrder(Blocking &decision, const pn_model_core_t &core) {
  const ContractionOperand &side = decision.rowSide();
  std::optional<int64_t> fromRow = getSliceStride(side, side.loops.back());
  double bytes = double(core.accumulator_bytes) *
                 countPoints(decision.columnSide().loops) *
                 countPoints(decision.contraction.reductionLoops);
  for (CutLoop &cut : llvm::reverse(decision.batch.loops)) {
    std::optional<int64_t> step = getSliceStride(side, cut.loop);
    bytes *= double(cut.trips.value_or(0));
    cut.isInner = decision.packsAhead && fromRow && step && cut.trips &&
                  std::abs(*step) < std::abs(*fromRow) &&
                  bytes <= double(core.caches[1].size_kib) * 1024 / 2;
    if (!cut.isInner)
      break;
  }
}

//===----------------------------------------------------------------------===//
// Taps of padding
//===----------------------------------------------------------------------===//

/// Rows that are left out are worth tables and a whole block of sums from this
/// share on.
static constexpr double leastLeftOut = 0.04;

/// Dimensions of a padded image and the indices where it may hold more than
/// zeros: a buffer of the function that loads and stores name, and nothing
/// else; what is not zero lies in a box within it. Outside of that are zeros,
/// or what nobody has written and nobody may read.
static SmallVector<ImageRange, 4> findImageRanges(AffineLoadOp load) {
  auto alloc = load.getMemRef().getDefiningOp<memref::AllocOp>();
  if (!alloc || !alloc.getType().hasStaticShape() ||
      !alloc.getType().getLayout().isIdentity())
    return {};
  ArrayRef<int64_t> shape = alloc.getType().getShape();
  SmallVector<std::optional<IndexRange>, 4> box(shape.size());
  for (OpOperand &use : alloc->getUses()) {
    Operation *user = use.getOwner();
    if (isa<AffineReadOpInterface, memref::LoadOp, memref::DeallocOp>(user))
      continue;
    auto store = dyn_cast<AffineWriteOpInterface>(user);
    if (!store || store.getMemRef() != alloc)
      return {};
    Value value = store.getValueToStore();
    if (matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero()))
      continue;
    SmallVector<Access, 1> accesses;
    collectAccesses(user, accesses);
    if (accesses.size() != 1 || !accesses[0].isAffine())
      return {};
    auto ranges = getConstantRange(accesses[0]);
    for (auto [d, range] : llvm::enumerate(ranges)) {
      IndexRange whole = range.value_or(IndexRange{0, shape[d] - 1});
      if (box[d])
        whole = {std::min(whole.min, box[d]->min),
                 std::max(whole.max, box[d]->max)};
      box[d] = whole;
    }
  }
  SmallVector<ImageRange, 4> found;
  for (auto [d, range] : llvm::enumerate(box))
    if (range && range->min <= range->max &&
        (range->min > 0 || range->max < shape[d] - 1))
      found.push_back({unsigned(d), range->min, range->max});
  return found;
}

/// For each iteration of the depth loop that moves a dimension of the image,
/// the share of the iterations of a row loop that read within its range. Empty
/// if other loops move it, too, or if these are not known.
static SmallVector<double> getRowShares(const Blocking &decision,
                                        const Access &access,
                                        const ImageRange &range) {
  SmallVector<int64_t, 8> flat = getCoefficients(access.map, range.dim);
  if (flat.empty())
    return {};
  int64_t first = flat.back();
  // Iterations of row and tap, and how far one moves.
  int64_t trips[] = {1, 1}, steps[] = {0, 0};
  for (auto [i, operand] : llvm::enumerate(access.map.getOperands())) {
    if (flat[i] == 0)
      continue;
    AffineForOp loop = getForInductionVarOwner(operand);
    bool isTap = loop && llvm::is_contained(decision.depthLoops, loop);
    bool isRow = loop && llvm::is_contained(decision.rowSide().loops, loop);
    std::optional<int64_t> count =
        loop ? getSmallTripCount(loop) : std::nullopt;
    if ((!isTap && !isRow) || !count || *count < 1 ||
        !loop.hasConstantLowerBound() || steps[isTap] != 0 ||
        (isTap && loop == decision.depthLoops.back()))
      return {};
    trips[isTap] = *count;
    steps[isTap] = flat[i] * loop.getStepAsInt();
    first += flat[i] * loop.getConstantLowerBound();
  }
  if (steps[0] == 0 || trips[1] > PN_MODEL_MAX_TAPS || trips[0] > INT32_MAX)
    return {};
  SmallVector<double> shares;
  for (int64_t tap = 0; tap < trips[1]; ++tap) {
    int64_t inside = 0;
    for (int64_t row = 0; row < trips[0]; ++row) {
      int64_t index = first + row * steps[0] + tap * steps[1];
      inside += index >= range.low && index <= range.high;
    }
    shares.push_back(double(inside) / double(trips[0]));
  }
  return shares;
}

/// True if the ranges leave out enough; counts how much.
static bool isWorthLeavingOut(Blocking &decision) {
  double inside = 1;
  for (const ImageRange &range : decision.imageRanges)
    inside *= range.inside;
  decision.leftOut = 1 - inside;
  return decision.leftOut >= leastLeftOut;
}

/// Describes the rows that taps of padding leave; true if it is worth it.
static bool findTaps(Blocking &decision, pn_model_contraction_t &shape) {
  AffineLoadOp load = getRowLoad(decision);
  // Words of floating-point numbers are not known to be finite.
  if (!load || (decision.dot && decision.dot->row.isFloat()))
    return false;
  SmallVector<Access, 1> accesses;
  collectAccesses(load, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine())
    return false;
  SmallVector<double> taps{1};
  for (ImageRange &range : findImageRanges(load)) {
    SmallVector<double> shares = getRowShares(decision, accesses[0], range),
                        all;
    if (shares.empty() || taps.size() * shares.size() > PN_MODEL_MAX_TAPS)
      continue;
    for (double outer : taps)
      for (double share : shares)
        all.push_back(outer * share);
    taps = all;
    range.inside = std::accumulate(shares.begin(), shares.end(), 0.0) /
                   double(shares.size());
    decision.imageRanges.push_back(range);
  }
  shape.tap_count = int32_t(taps.size());
  llvm::copy(taps, shape.tap_rows);
  return isWorthLeavingOut(decision);
}

/// Why the blocks as they are may not leave out taps, or an empty string. Rows
/// have to be read in place, all sizes to be constant, and columns to be
/// integers, or such that whether they are finite is found out before the call.
/// Keeps the dimensions of the image that move from block to block of depth,
/// not within one.
static StringRef whyNotLeaveOut(Blocking &decision) {
  const Contraction &contraction = decision.contraction;
  bool isFloat = isa<FloatType>(contraction.getType());
  if (decision.rowMode != RowMode::InPlace || decision.runPoints > 0)
    return "rows are not contiguous along a block of the reduction";
  if (decision.depthPart)
    return "the reduction is cut in parts";
  if (!hasConstantSizes(decision))
    return "a size is not constant";
  if (isFloat &&
      (!decision.packsAhead || !decision.panels || contraction.guard ||
       !isa<func::FuncOp>(decision.aheadPoint->getParentOp()) ||
       !isComputedOnce(decision.columnSide().slice)))
    return "columns are not bound and packed once, and may not be finite";
  SmallVector<Access, 1> accesses;
  collectAccesses(decision.rowLoad, accesses);
  llvm::erase_if(decision.imageRanges, [&](const ImageRange &range) {
    return llvm::any_of(decision.depth.loops, [&](const CutLoop &cut) {
      AffineForOp loop = cut.loop;
      return cut.tile > 1 &&
             accesses[0].map.isFunctionOf(range.dim, loop.getInductionVar());
    });
  });
  return isWorthLeavingOut(decision)
             ? StringRef()
             : StringRef("a block of the reduction holds several taps");
}

/// What is known of the last points of the depth by row, where one loop, in one
/// block, is all of the rows, and one of single elements the depth.
static AffineMap findIdleTail(const Blocking &decision) {
  const CutLoop &rows = decision.rows.onlyLoop();
  AffineForOp loop = rows.loop;
  auto tail = loop->getAttrOfType<AffineMapAttr>(kIdleTail);
  if (!tail || !rows.trips || *rows.trips != decision.rows.points ||
      rows.weight != 1 || decision.depth.loops.size() != 1 ||
      decision.step() != 1 || decision.matrix || decision.runPoints > 0 ||
      decision.depthPart)
    return {};
  return tail.getValue();
}

/// What the code behind the sums reads of buffers that no cache nearby holds,
/// an element for each sum, along the columns: a residual, a gate.
static SmallVector<AffineLoadOp, 2>
findFarOperands(const Blocking &decision, const pn_model_core_t &core) {
  SmallVector<AffineLoadOp, 2> found;
  AffineForOp root = decision.contraction.root;
  for (Operation *op : getCodeBehind(decision.contraction)) {
    auto load = dyn_cast<AffineLoadOp>(op);
    if (!load || !root.isDefinedOutsideOfLoop(load.getMemRef()))
      continue;
    std::optional<uint64_t> bytes = getBufferBytes(load.getMemRefType());
    if (bytes && !pn_model_outgrows_l2(&core, double(*bytes)))
      continue;
    SmallVector<Access, 1> accesses;
    collectAccesses(load, accesses);
    const Access &access = accesses[0];
    bool movesWithRows =
        access.isAffine() &&
        llvm::all_of(decision.rows.loops, [&](const CutLoop &cut) {
          AffineForOp loop = cut.loop;
          return cut.isPlain() ||
                 !isInvariantTo(access, loop.getInductionVar());
        });
    if (movesWithRows &&
        getContiguity(access, decision.columns.onlyLoop().loop) ==
            Contiguity::Contiguous)
      found.push_back(load);
  }
  return found;
}

/// The core as it multiplies such elements, with `matrix` in that unit.
static pn_model_core_t describeCore(const Contraction &contraction,
                                    const ContractionMachine &machine,
                                    const MatrixForm *matrix) {
  pn_model_core_t core = machine.core;
  int32_t bytes = int32_t(contraction.getType().getIntOrFloatBitWidth() / 8);
  core.lanes = core.lanes * 4 / bytes;
  core.element_bytes = core.accumulator_bytes = bytes;
  // A product that is no part of a multiply-add takes a register.
  if (isa<IntegerType>(contraction.getType()))
    --core.vector_registers;
  if (matrix) {
    const TileShape &tile = matrix->shape;
    core.matrix = {int32_t(tile.rows), int32_t(tile.columns),
                   int32_t(tile.words), int32_t(matrix->registers),
                   int32_t(matrix->latency)};
    core.lanes = int32_t(tile.columns);
  }
  return core;
}

/// What the model is told of the loops.
static pn_model_contraction_t describeShape(const Blocking &decision,
                                            const ContractionMachine &machine) {
  const Contraction &contraction = decision.contraction;
  double batch = countPoints(contraction.batchLoops, 16) *
                 countPoints(getLoopsAround(contraction.root), 16);
  pn_model_contraction_t shape = {describe(decision.rowSide().loops),
                                  describe(decision.columnSide().loops),
                                  describe(decision.depthLoops),
                                  int64_t(std::min(batch, double(INT32_MAX))),
                                  machine.cores,
                                  /*packs_ahead=*/false,
                                  isBoundOnce(decision.columnSide().slice),
                                  liesAlongDepth(decision),
                                  int32_t(decision.step()),
                                  /*tap_count=*/0,
                                  /*tap_rows=*/{},
                                  /*n_fewest=*/0,
                                  /*n_step=*/0};
  if (decision.columnSide().loops.size() == 1) {
    CutLoop column;
    column.loop = decision.columnSide().loops.front();
    countTrips(column);
    if (!column.trips && column.most) {
      shape.n_fewest = column.fewest;
      shape.n_step = column.divisor;
    }
  }
  return shape;
}

/// Cuts the loops as the plan says and chooses modes; returns why the options
/// cannot be followed, or an empty string.
static StringRef arrange(Blocking &decision, const pn_model_core_t &core,
                         const pn_model_contraction_t &shape,
                         const AskedFor &asked) {
  Contraction &contraction = decision.contraction;
  decision.rows = makeGroup(decision.rowSide().loops, &decision.plan.m);
  if (decision.mostRows)
    decision.rows.loops.front().most = decision.mostRows;
  decision.columns = makeGroup(decision.columnSide().loops, &decision.plan.n);
  decision.depth =
      makeGroup(decision.depthLoops, &decision.plan.k, decision.step());
  decision.panels = decision.plan.n.inner == 1;
  decision.rowMode =
      decision.matrix ? RowMode::PackedByRow : chooseMovedSide(decision, core);
  decision.packsAhead =
      (!isWhole(decision.rows) || decision.aheadPoint != contraction.root ||
       isComputedOnce(decision.columnSide().slice)) &&
      canPackAhead(decision);
  StringRef why = packAs(decision, asked);
  if (!why.empty())
    return why;
  chooseOrder(decision, core);
  decision.farLoops = countFarLoops(decision);
  decision.transposes = shouldTranspose(decision);
  decision.packsRuns = canPackRuns(decision);
  pn_model_contraction_t packed = shape;
  packed.packs_ahead = decision.packsAhead && asked.columns != "ahead" &&
                       canPackByColumns(decision);
  decision.packsByColumns =
      packed.packs_ahead &&
      (asked.columns == "columns" ||
       pn_model_packs_by_columns(&core, &packed, &decision.plan));
  if (asked.columns == "columns" && !decision.packsByColumns)
    return "its columns cannot be packed by blocks of columns";
  AffineForOp root = contraction.root;
  if (getLoopsAround(root).empty() && canSplitDepth(contraction) &&
      decision.depthLoops.front() == contraction.reductionLoops.front())
    decision.depthPart = pn_model_depth_part(&core, &packed, &decision.plan);
  // A reduction that may be empty leaves the buffer as it is.
  decision.startsEven =
      llvm::all_of(decision.depth.loops,
                   [](const CutLoop &cut) { return cut.fewest > 0; }) &&
      !root->isAncestor(contraction.init.getParentBlock()->getParentOp());
  decision.isLong = decision.plan.fma_cycles *
                        countPoints(contraction.batchLoops) *
                        countPoints(getLoopsAround(contraction.root)) >=
                    longCycles;
  decision.endsByTile = decision.startsEven && decision.panels &&
                        !decision.isSwapped &&
                        (decision.isLong || isWhole(decision.depth));
  if (decision.packsAhead && decision.panels) {
    decision.panelShare = pn_model_panel_share(&core, &shape, &decision.plan);
    decision.panelLead = pn_model_panel_lead(&core, &shape, &decision.plan);
  }
  chooseColumnsInPlace(decision, core, asked);
  if (decision.endsByTile)
    decision.farOperands = findFarOperands(decision, core);
  decision.idleTail = findIdleTail(decision);
  return {};
}

/// Chooses blocks and modes; returns why there are none, or an empty string.
/// `isError` says that options asked for what is not legal. With `matrix` this
/// unit multiplies.
static std::string choose(Blocking &decision, const ContractionMachine &machine,
                          const AskedFor &asked, const MatrixForm *matrix,
                          bool &isError, bool leavesOut = true) {
  Contraction &contraction = decision.contraction;
  pn_model_core_t core = describeCore(contraction, machine, matrix);
  pn_model_contraction_t shape = describeShape(decision, machine);
  decision.imageRanges.clear();
  if (leavesOut)
    decision.whyAllTaps = StringRef();
  if (!leavesOut || !asked.skipsPadding || matrix ||
      !findTaps(decision, shape)) {
    shape.tap_count = 0;
    decision.imageRanges.clear();
  }
  decision.batch = makeGroup(contraction.batchLoops, nullptr);
  decision.rows = makeGroup(decision.rowSide().loops, nullptr);
  decision.columns = makeGroup(decision.columnSide().loops, nullptr);
  decision.depth = makeGroup(decision.depthLoops, nullptr, decision.step());
  decision.aheadPoint = findAheadPoint(decision, machine.cores);
  shape.packs_ahead = asked.columns != "block" && canPackAhead(decision);
  const char *reason = nullptr;
  if (core.lanes < 2 ||
      !pn_model_contraction_plan_as(&core, &shape, &asked.tiling,
                                    &decision.plan, &reason)) {
    isError = reason != nullptr;
    return reason ? reason : "the model has no blocks for it";
  }
  if (matrix)
    decision.matrix = matrix->shape;
  StringRef why = arrange(decision, core, shape, asked);
  if (!why.empty()) {
    isError = true;
    return why.str();
  }
  if (decision.imageRanges.empty())
    return {};
  decision.whyAllTaps = whyNotLeaveOut(decision);
  if (!decision.whyAllTaps.empty())
    return choose(decision, machine, asked, matrix, isError,
                  /*leavesOut=*/false);
  decision.startsEven = decision.endsByTile = false;
  decision.farOperands.clear();
  return {};
}

/// The form of the nest for up to as many rows as one tile has, by the columns
/// that the form for more has packed; none where that is not legal, or columns
/// do not come as a stream.
static std::optional<Blocking> chooseFewRows(const Blocking &decision,
                                             const ContractionMachine &machine,
                                             const AskedFor &asked) {
  Blocking few = decision;
  few.rows = makeGroup(decision.rowSide().loops, nullptr);
  if (!decision.packsAhead || !decision.panels || decision.matrix ||
      !mayHaveFewRows(few))
    return std::nullopt;
  pn_model_core_t core =
      describeCore(decision.contraction, machine, /*matrix=*/nullptr);
  pn_model_contraction_t shape = describeShape(decision, machine);
  shape.packs_ahead = true;
  if (!pn_model_few_rows_plan(&core, &shape, &decision.plan, &few.plan))
    return std::nullopt;
  few.mostRows = few.plan.m.points;
  shape.m.trips[0] = few.mostRows;
  if (!arrange(few, core, shape, asked).empty() || !few.packsAhead)
    return std::nullopt;
  few.depthPart = 0;
  bool packsAlike =
      !few.dot || (few.dot->rowOffset == decision.dot->rowOffset &&
                   few.dot->columnOffset == decision.dot->columnOffset);
  return packsAlike ? std::optional(std::move(few)) : std::nullopt;
}

/// True if columns are gathered as they are packed, one element after another:
/// they lie neither along the lanes nor along the depth.
static bool gathersColumns(const Blocking &decision) {
  AffineForOp wide = decision.columns.loops.back().loop;
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  std::optional<int64_t> step = getSliceStride(decision.columnSide(), wide);
  bool isAlongLanes =
      step && *step == 1 && getSmallTripCount(wide).value_or(lanes) >= lanes;
  return !isAlongLanes && !decision.transposes;
}

/// Cycles of multiply-adds, of the columns' packs and of what puts the sums
/// where they belong; an element on its own takes one.
static double countCycles(const Blocking &decision) {
  double rows = countPoints(decision.rowSide().loops);
  double columns = countPoints(decision.columnSide().loops);
  double depth = countPoints(decision.contraction.reductionLoops);
  double packs = decision.packsAhead
                     ? 1
                     : std::ceil(rows / double(decision.plan.m.points));
  double gathered = gathersColumns(decision) ? columns * depth * packs : 0;
  return decision.plan.fma_cycles + gathered +
         (decision.isSwapped ? rows * columns : 0);
}

/// The decision, or one with the sides swapped where that takes fewer cycles:
/// windows are read where they are, instead of gathered in lanes for each block
/// of rows, as for the gradient of a convolution's weights, and the result is
/// turned.
static Blocking chooseSwapped(Blocking decision,
                              const ContractionMachine &machine,
                              const AskedFor &asked) {
  if (decision.dot || decision.rowMode == RowMode::Ahead ||
      readsOnce(decision.columnSide()) || !gathersColumns(decision) ||
      !hasConstantSizes(decision))
    return decision;
  Blocking other;
  other.contraction = decision.contraction;
  other.leftIsRow = !decision.leftIsRow;
  other.isSwapped = true;
  other.depthLoops = decision.depthLoops;
  bool isError = false;
  std::string why = choose(other, machine, asked, /*matrix=*/nullptr, isError);
  bool isBetter = why.empty() && other.rowMode == RowMode::InPlace &&
                  readsOnce(other.columnSide()) &&
                  countCycles(other) < countCycles(decision);
  return isBetter ? other : decision;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct BlockContractionsPass
    : impl::BlockContractionsBase<BlockContractionsPass> {
  using BlockContractionsBase::BlockContractionsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, int64_t value, int64_t least,
                     int64_t most) {
      return checkOption(context, name, value, least, most);
    };
    if (failed(check("vector-width-bits", vectorWidthBits, 64, 2048)) ||
        failed(check("vector-registers", vectorRegisters, 8, 256)) ||
        failed(check("fma-latency-cycles", fmaLatencyCycles, 1, 64)) ||
        failed(check("fma-ports", fmaPorts, 1, 16)) ||
        failed(check("load-ports", loadPorts, 1, 16)) ||
        failed(check("l1-size-kib", l1SizeKib, 4, 65536)) ||
        failed(check("l2-size-kib", l2SizeKib, 16, 1048576)) ||
        failed(check("cores", cores, 1, 65536)))
      return failure();
    if (failed(checkPowerOfTwo(context, "vector-width-bits", vectorWidthBits)))
      return failure();
    if (failed(readAskedFor(context)) || failed(readForms(context)))
      return failure();
    machine.core = {};
    machine.core.element_bytes = machine.core.accumulator_bytes = 4;
    machine.core.lanes = int32_t(vectorWidthBits / 32);
    machine.core.vector_registers = int32_t(vectorRegisters);
    machine.core.fma_ports = int32_t(fmaPorts);
    machine.core.fma_latency_cycles = int32_t(fmaLatencyCycles);
    machine.core.load_ports = int32_t(loadPorts);
    machine.core.caches[0] = {int32_t(l1SizeKib), 64, 8, 1};
    machine.core.caches[1] = {int32_t(l2SizeKib), 64, 8, 1};
    // Rates play no part in the choice of blocks.
    machine.core.usable_llc_kib = int32_t(l2SizeKib);
    machine.core.l2_bytes_per_cycle = 32;
    machine.core.memory_bytes_per_cycle = 1;
    machine.cores = int32_t(cores);
    machine.lineBytes = kLineBytes;
    return success();
  }

  /// Reads the options that replace the model's choice.
  LogicalResult readAskedFor(MLIRContext *context) {
    auto check = [&](StringRef name, int64_t value, int64_t most) {
      return checkOption(context, name, value, 0, most);
    };
    const int64_t most = 1 << 30;
    if (failed(check("tile-rows", tileRows, 12)) ||
        failed(check("tile-vectors", tileVectors, 4)) ||
        failed(check("block-rows", blockRows, most)) ||
        failed(check("block-columns", blockColumns, most)) ||
        failed(check("block-depth", blockDepth, most)) ||
        failed(checkChoice(context, "pack-columns", packColumns,
                           {"auto", "ahead", "columns", "block", "never"})) ||
        failed(checkChoice(context, "pack-rows", packRows,
                           {"auto", "never", "block"})))
      return failure();
    asked.tiling = {int32_t(tileRows), int32_t(tileVectors), blockRows,
                    blockColumns, blockDepth};
    asked.columns = packColumns.getValue();
    asked.rows = packRows.getValue();
    asked.skipsPadding = skipPadding;
    return success();
  }

  /// Reads the forms of products that the target has.
  LogicalResult readForms(MLIRContext *context) {
    forms.clear();
    for (const std::string &text : dots) {
      std::optional<DotForm> form = parseDotForm(text);
      if (!form)
        return refuseItem(context, "dots", text,
                          "forms such as s16s16x2, u8s8x4 or bf16bf16x2");
      forms.push_back(*form);
    }
    matrices.clear();
    for (const std::string &text : tiles) {
      std::optional<MatrixForm> matrix = parseMatrixForm(text);
      if (!matrix)
        return refuseItem(
            context, "tiles", text,
            "FORM:ROWSxCOLUMNSxWORDS:REGISTERS:LATENCY, a form such as "
            "bf16bf16x2, sizes that are powers of two from 2 to 64, at least 3 "
            "registers and 1 cycle");
      matrices.push_back(*matrix);
    }
    return success();
  }

  void runOnOperation() override {
    if (getOperation().getBody().hasOneBlock())
      mergeRows(getOperation());
    SmallVector<Blocking, 0> decisions;
    DependenceAnalysis dependences;
    numDeclined += takeNests(
        getOperation(), passName,
        [](AffineForOp loop) {
          return loop->hasAttr(kTiled) || loop->hasAttr(kVectorized);
        },
        [&](AffineForOp loop, std::string &reason) {
          Blocking decision;
          auto form = matchContraction(loop, reason);
          if (failed(form))
            return false;
          decision.contraction = std::move(*form);
          reason = decide(decision, dependences);
          if (!reason.empty())
            return false;
          decisions.push_back(std::move(decision));
          return true;
        });
    for (Blocking &decision : decisions) {
      if (decision.depthPart && failed(split(decision)))
        continue;
      std::optional<Blocking> few;
      if (asked.isNothing())
        few = chooseFewRows(decision, machine, asked);
      if (few && failed(version(decision, *few)))
        continue;
      report(decision);
      Value columns = emitBlocks(decision, machine);
      if (!few)
        continue;
      few->packedColumns = columns;
      report(*few);
      emitBlocks(*few, machine);
    }
    numApplied += decisions.size();
  }

  /// Fills in a decision; returns why there is none, or an empty string.
  std::string decide(Blocking &decision, DependenceAnalysis &dependences) {
    for (ArrayRef<AffineForOp> loops :
         {ArrayRef(decision.contraction.parallelLoops),
          ArrayRef(decision.contraction.reductionLoops)})
      for (AffineForOp loop : loops)
        if (getTripCount(loop) == uint64_t(0))
          return "a loop does not run";
    std::string why = whyIllegal(decision.contraction, dependences);
    if (!why.empty())
      return why;
    chooseSides(decision);
    chooseDot(decision, forms);
    unsigned bits = decision.contraction.getType().getIntOrFloatBitWidth();
    why = whyNotWorth(decision, machine.core.lanes * 32 / bits).str();
    if (!why.empty())
      return why;
    bool isError = false;
    why = choose(decision, machine, asked, /*matrix=*/nullptr, isError);
    if (isError) {
      AffineForOp root = decision.contraction.root;
      root.emitError("the blocks asked for are not legal here: ") << why;
      signalPassFailure();
    } else if (why.empty() && asked.isNothing()) {
      decision = chooseSwapped(std::move(decision), machine, asked);
    }
    if (why.empty() && asked.tiling.mr == 0)
      decision = chooseMatrix(std::move(decision));
    return why;
  }

  /// The decision, or one for the matrix unit that needs the fewest cycles,
  /// where there is one that needs fewer.
  Blocking chooseMatrix(Blocking decision) {
    Blocking best = decision;
    for (const MatrixForm &matrix : matrices) {
      if (!fitsElements(decision, matrix.form.left, matrix.form.right))
        continue;
      Blocking other;
      other.contraction = decision.contraction;
      other.leftIsRow = decision.leftIsRow;
      other.dot = DotChoice{matrix.form.left, matrix.form.right,
                            matrix.form.step, /*rowOffset=*/0};
      chooseWordLoop(other);
      bool isError = false;
      std::string why = choose(other, machine, asked, &matrix, isError);
      if (why.empty() && other.plan.fma_cycles < best.plan.fma_cycles)
        best = std::move(other);
    }
    return best;
  }

  /// Cuts the depth in parts and decides anew for these. What comes out is
  /// right in any case.
  LogicalResult split(Blocking &decision) {
    AffineForOp root = decision.contraction.root;
    remark(RemarkKind::Applied, root.getLoc(), passName,
           "depth is summed up in parts")
        << arg("part", decision.depthPart);
    bool packsAhead = decision.packsAhead;
    return decideAnew(decision,
                      splitDepth(decision.contraction, decision.depthPart),
                      /*sumsParts=*/packsAhead);
  }

  LogicalResult decideAnew(Blocking &decision, AffineForOp root,
                           bool sumsParts = false) {
    std::string reason;
    auto form = matchContraction(root, reason);
    if (failed(form))
      return failure();
    decision = Blocking();
    decision.contraction = std::move(*form);
    decision.sumsParts = sumsParts;
    DependenceAnalysis dependences;
    return success(decide(decision, dependences).empty());
  }

  /// Leaves the nest to `few`, under the condition that rows are so few, and
  /// decides anew for a copy of it in the other branch.
  LogicalResult version(Blocking &decision, const Blocking &few) {
    AffineForOp copy = versionOnTrips(
        decision.contraction.root, few.rows.loops.front().loop, few.mostRows);
    return decideAnew(decision, copy);
  }

  void report(const Blocking &decision) {
    const pn_model_contraction_plan_t &plan = decision.plan;
    Location loc = AffineForOp(decision.contraction.root).getLoc();
    remark(RemarkKind::Applied, loc, passName, "contraction blocked")
        << arg("mr", plan.tile.mr) << arg("nr", plan.tile.nr)
        << arg("block-rows", plan.m.points)
        << arg("block-columns", plan.n.points)
        << arg("block-depth", plan.k.points)
        << arg("most-rows", decision.mostRows)
        << arg("rows-in-place", decision.rowMode == RowMode::InPlace)
        << arg("columns-ahead", decision.packsAhead)
        << arg("columns-in-place", bool(decision.columnLoad))
        << arg("by-columns", decision.packsByColumns)
        << arg("panel-share", decision.panelShare)
        << arg("panel-lead", decision.panelLead)
        << arg("far-operands", int64_t(decision.farOperands.size()))
        << arg("transposed", decision.transposes)
        << arg("swapped", decision.isSwapped) << arg("step", decision.step())
        << arg("matrix-unit", decision.matrix.has_value())
        << arg("useful-share", plan.useful_share)
        << arg("fma-cycles", plan.fma_cycles);
    if (!decision.imageRanges.empty())
      remark(RemarkKind::Applied, loc, passName, "taps of padding are left out")
          << arg("share", decision.leftOut);
    else if (!decision.whyAllTaps.empty())
      remark(RemarkKind::Declined, loc, passName,
             ("taps of padding are multiplied: " + decision.whyAllTaps).str());
  }

  ContractionMachine machine;
  AskedFor asked;
  SmallVector<DotForm> forms;
  SmallVector<MatrixForm> matrices;
};
} // namespace

} // namespace polynest
