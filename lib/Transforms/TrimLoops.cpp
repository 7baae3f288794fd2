//===- TrimLoops.cpp - loops over columns that a mask leaves --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: scores that a condition on their indices replaces by -inf (a causal
// mask) leave nothing behind the softmax: where all columns from some place on
// are masked in every row of a block, the loops over columns of the nests that
// make and use the block end there. What the mask decides within the rest is
// done by a nest of its own, over the columns where it decides anything. Sums
// of products say by the row how many terms the mask leaves idle there.
// Legal when: buffers in between are private to the block, every loop that
// reads them sweeps their columns from the first one, at least one column is
// left, and iterations that are left out would change nothing:
//   max(a, -inf) = a
//   a + exp(-inf - m) = a, where m is the maximum of the row: m is NaN or -inf
//     only if each column that is left gives NaN, too
//   a + exp(-inf - m) / s * v = a + 0 * v, s the sum of the row: kept as a sum
//     of 0 * v over what is left out, for v may be NaN or infinite.
// Values are the same, also those of rows that are NaN.
// Profitable when: the bound is below the number of columns in some block.
// Columns in front, which a window hides, are left out likewise, from the block
// on in which all rows have some: the blocks before it run in a loop of their
// own. Limits: one condition of the form column >= linear function of outer
// loops, and one of the form column <= such a function; -inf itself (a mask
// that adds finite numbers, or -inf, hides nothing); where the number of
// columns is not known, it has to be that of the rows, of which whole blocks
// end within it. Cost: operations of blocks that hold such a select.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/NestParts.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/MaskedSums.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace polynest {
#define GEN_PASS_DEF_TRIMLOOPS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-trim-loops"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "trim-loops";

/// Columns in which the mask decides begin at a multiple of this: whole
/// vectors, and lines of the cache.
static constexpr int64_t columnUnit = 16;

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// The bound at which a loop ends.
static ColumnBound getUpper(AffineForOp loop) {
  ColumnBound bound;
  bound.map = loop.getUpperBoundMap();
  bound.operands = loop.getUpperBoundOperands();
  return bound;
}

/// Has a nest of its own put -inf where the mask decides, and the one that
/// stores the columns store what they are without it.
static void splitMask(ColumnMask &mask, Block *block) {
  AffineForOp nest = getNest(block, mask.store);
  OpBuilder builder(block, std::next(Block::iterator(nest)));
  Location loc = mask.select.getLoc();
  SliceCollector slice(nest);
  for (Value operand : mask.select->getOperands())
    if (operand != mask.kept)
      (void)slice.add(operand);
  IRMapping mapping;
  for (AffineForOp loop = nest;;) {
    AffineForOp copy;
    if (loop == mask.column) {
      AffineMap map = mask.first.map;
      map = AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                           map.getResult(0).floorDiv(columnUnit) * columnUnit);
      copy = AffineForOp::create(builder, loc, mask.first.operands, map,
                                 loop.getUpperBoundOperands(),
                                 loop.getUpperBoundMap());
    } else {
      copy = copyLoop(builder, loc, loop, mapping);
    }
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    builder.setInsertionPointToStart(copy.getBody());
    if (loop == mask.column)
      break;
    loop =
        cast<AffineForOp>(loop.getBody()->findAncestorOpInBlock(*mask.column));
  }
  auto [map, operands] = getPlace(mask.store);
  for (Value &operand : operands)
    operand = mapping.lookupOrDefault(operand);
  Value memref = mask.store.getMemRef();
  Value kept =
      AffineLoadOp::create(builder, loc, memref, map, operands).getResult();
  for (Operation *op : slice.ops)
    builder.clone(*op, mapping);
  mapping.map(mask.kept, kept);
  Operation *select = builder.clone(*mask.select, mapping);
  AffineStoreOp::create(builder, loc, select->getResult(0), memref, map,
                        operands);
  mask.select.replaceAllUsesWith(mask.kept);
  mask.select.erase();
  for (Operation *op : llvm::reverse(slice.ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// The block loop around the nests, from the block in which columns are left
/// out in front.
struct Front {
  /// Null where the nests are one block.
  AffineForOp blocks;
  int64_t firstBlock = 0;
  /// The first column that stays, as a function of the block.
  int64_t factor = 0, constant = 0;
};

/// How columns in front can be left out; `why` says why not. Some column stays
/// in each block: there are fewer in front than `mask.end`, or than `size`.
static std::optional<Front> planFront(const ColumnMask &mask, Block *block,
                                      const LoopEnd &size, bool trimsEnd,
                                      const char *&why) {
  Front front;
  front.constant = mask.start.constant;
  why = "columns in front do not begin with a block of rows";
  if (mask.start.terms.size() > 1)
    return std::nullopt;
  int64_t growth = 0;
  if (trimsEnd) {
    if (mask.end.terms.size() != mask.start.terms.size() ||
        (!mask.end.terms.empty() &&
         mask.end.terms[0].second != mask.start.terms[0].second))
      return std::nullopt;
    if (!mask.end.terms.empty())
      growth = mask.end.terms[0].first - mask.start.terms[0].first;
  }
  if (!mask.start.terms.empty()) {
    auto [factor, index] = mask.start.terms.front();
    front.blocks = dyn_cast<AffineForOp>(block->getParentOp());
    front.factor = factor;
    if (!front.blocks || front.blocks.getInductionVar() != index ||
        factor <= 0 || !countsFromZero(front.blocks) ||
        front.blocks.getNumIterOperands() != 0 ||
        front.blocks.getUpperBoundMap().getNumResults() != 1)
      return std::nullopt;
  }
  // Whole vectors.
  if (front.factor % columnUnit == 0)
    front.constant -= front.constant % columnUnit +
                      (front.constant % columnUnit < 0 ? columnUnit : 0);
  why = "no column may be left";
  if (trimsEnd ? growth < 0 || mask.end.constant - mask.start.constant < 1
               : size.value || mask.start.range.high >= size.number)
    return std::nullopt;
  why = "the mask hides no column in front";
  if (!front.blocks)
    return front.constant > 0 ? std::optional<Front>(front) : std::nullopt;
  front.firstBlock = std::max<int64_t>(
      0, llvm::divideCeilSigned(1 - front.constant, front.factor));
  if (front.blocks.hasConstantUpperBound() &&
      front.firstBlock >= front.blocks.getConstantUpperBound())
    return std::nullopt;
  return front;
}

/// Has a copy of the loop run the blocks before the first in which columns are
/// left out; the loop counts on from there.
static void splitBlocks(Front &front) {
  AffineForOp loop = front.blocks;
  if (front.firstBlock == 0)
    return;
  OpBuilder builder(loop);
  auto before = cast<AffineForOp>(builder.clone(*loop));
  AffineMap upper = loop.getUpperBoundMap();
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  AffineExpr count = builder.getAffineConstantExpr(front.firstBlock);
  auto setUpper = [&](AffineForOp target, ArrayRef<AffineExpr> results) {
    target.setUpperBound(
        operands, AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                                 results, builder.getContext()));
  };
  // The loop runs further, if its number of blocks is known.
  if (loop.hasConstantUpperBound())
    setUpper(before, {count});
  else
    setUpper(before, {upper.getResult(0), count});
  setUpper(loop, {upper.getResult(0) - count});
  Value index = loop.getInductionVar();
  replaceVariable(
      index, loop,
      AffineMap::get(1, 0, builder.getAffineDimExpr(0) + front.firstBlock),
      index);
  front.constant += front.factor * front.firstBlock;
}

/// The first column that stays.
static ColumnBound getStart(const Front &front, MLIRContext *context) {
  ColumnBound start;
  start.constant = front.constant;
  if (front.blocks)
    start.terms.push_back(
        {front.factor, AffineForOp(front.blocks).getInductionVar()});
  makeMap(start, context);
  return start;
}

/// Has a loop over columns begin at `start`, counted from there.
static void shiftColumns(AffineForOp column, const ColumnBound &start) {
  Builder builder(column.getContext());
  // Operands of `to` and then of `start`, all taken for dimensions.
  auto asDims = [&](const ColumnBound &bound, unsigned first) {
    SmallVector<AffineExpr> dims, symbols;
    for (unsigned i = 0; i < bound.map.getNumInputs(); ++i)
      (i < bound.map.getNumDims() ? dims : symbols)
          .push_back(builder.getAffineDimExpr(first + i));
    return bound.map.getResult(0).replaceDimsAndSymbols(dims, symbols);
  };
  ColumnBound to = getUpper(column);
  SmallVector<Value> operands(to.operands);
  operands.append(start.operands);
  AffineMap map = AffineMap::get(
      operands.size(), 0, asDims(to, 0) - asDims(start, to.operands.size()));
  fullyComposeAffineMapAndOperands(&map, &operands);
  canonicalizeMapAndOperands(&map, &operands);
  column.setUpperBound(operands, map);
  SmallVector<Value> places = {column.getInductionVar()};
  places.append(start.operands);
  AffineExpr index = builder.getAffineDimExpr(0) + asDims(start, 1);
  replaceVariable(column.getInductionVar(), column,
                  AffineMap::get(places.size(), 0, index), places);
}

/// Leaves out the columns in front.
static void trimFront(Front front, MaskAnalysis &analysis, Block *block) {
  splitBlocks(front);
  ColumnBound none, start = getStart(front, block->getParentOp()->getContext());
  makeMap(none, block->getParentOp()->getContext());
  for (MaskedProduct &product : analysis.products)
    keepProducts(product, none, start);
  for (AffineForOp column : analysis.columns)
    shiftColumns(column, start);
  for (Operation &op : llvm::make_early_inc_range(*block))
    if (op.getNumRegions() != 0)
      composeIndices(&op);
}

/// True if the mask may be put on by a nest of its own: the nest stores one
/// column an iteration, and nothing else uses what the mask decides.
static bool canSplit(ColumnMask &mask, Block *block, const LoopEnd &size) {
  if (!mask.isOnly || !mask.hasEnd || !mask.select->hasOneUse() ||
      mask.first.range.low < 0 || mask.first.range.high < columnUnit ||
      !isWithin(mask.first, size))
    return false;
  AffineForOp nest = getNest(block, mask.store);
  SliceCollector slice(nest);
  if (failed(slice.add(mask.select.getCondition())))
    return false;
  for (Operation *op : slice.ops)
    if (!isMemoryEffectFree(op))
      return false;
  for (Operation *user : mask.store.getMemRef().getUsers())
    if (user != mask.store && nest->isAncestor(user))
      return false;
  for (Operation *op = mask.column->getParentOp(); op != nest->getParentOp();
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop || loop.getNumIterOperands() != 0 || !getEnd(loop))
      return false;
  }
  return mask.column.getNumIterOperands() == 0;
}

namespace {
struct TrimLoopsPass : impl::TrimLoopsBase<TrimLoopsPass> {
  using TrimLoopsBase::TrimLoopsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkOption(context, "cores", cores, 1, 65536);
  }

  void runOnOperation() override {
    SmallVector<ColumnMask, 0> masks;
    getOperation().walk([&](AffineStoreOp store) {
      ColumnMask mask;
      if (matchMask(store, mask))
        masks.push_back(mask);
    });
    for (ColumnMask &mask : masks)
      trim(mask);
  }

  void trim(ColumnMask &mask) {
    Block *block = mask.store.getMemRef().getDefiningOp()->getBlock();
    Location loc = mask.select.getLoc();
    // Another mask has changed it.
    std::optional<LoopEnd> size = getEnd(mask.column);
    if (!size || changed.contains(mask.column) ||
        changed.contains(block->getParentOp()))
      return;
    MaskAnalysis analysis(mask, block);
    const char *why = analysis.run(), *whyNotFront = nullptr;
    bool isKnown = !why;
    if (!why && mask.hasEnd && mask.end.range.low < 1)
      why = "no column may be left";
    if (!why && mask.hasEnd && !isWithin(mask.end, *size))
      why = "the bound may lie behind the columns";
    bool hasEnd = !why && mask.hasEnd;
    bool trimsEnd =
        hasEnd && (size->value || mask.end.range.low < size->number);
    bool splits = hasEnd && canSplit(mask, block, *size);
    std::optional<Front> front;
    if (isKnown && mask.hasStart)
      front = planFront(mask, block, *size, trimsEnd, whyNotFront);
    if (!trimsEnd && !splits && !front) {
      if (!why)
        why = mask.hasEnd ? "the mask hides no block" : whyNotFront;
      ++numDeclined;
      remark(RemarkKind::Declined, loc, passName, why);
      return;
    }
    if (trimsEnd) {
      for (MaskedProduct &product : analysis.products) {
        ColumnBound end = getUpper(product.loop);
        keepProducts(product, mask.end, end,
                     findBlocks(product, block, mask.end, end, cores),
                     front ? AffineForOp() : analysis.getRowLoop(product.root));
      }
      for (AffineForOp column : analysis.columns)
        column.setUpperBound(mask.end.operands, mask.end.map);
    }
    if (splits)
      splitMask(mask, block);
    if (front)
      trimFront(*front, analysis, block);
    for (AffineForOp column : analysis.columns)
      changed.insert(column);
    if (front && front->blocks)
      changed.insert(front->blocks);
    remark(RemarkKind::Applied, loc, passName,
           trimsEnd || splits ? "loops end where a mask begins"
                              : "loops begin where a mask ends")
        << arg("loops", trimsEnd || front ? analysis.columns.size() : 0)
        << arg("split", splits) << arg("columns", size->number)
        << arg("least", mask.hasEnd ? mask.end.range.low : 0)
        << arg("front", front.has_value());
    ++numApplied;
  }

  /// Loops that a mask has changed: what was found out about them is old.
  llvm::SmallPtrSet<Operation *, 8> changed;
};
} // namespace

} // namespace polynest
