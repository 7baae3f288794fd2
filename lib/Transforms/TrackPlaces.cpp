//===- TrackPlaces.cpp - the place of an extreme in the loop that finds it ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a loop carries the maximum or minimum of some values, and a later
// one over the same values the first place, or the last, at which they equal
// it, as PyTorch's argmax and max along a dimension become, the first loop
// carries the place too. The value is carried by the same comparison where
// nothing else uses it. Along other axes than the last, where both are combined
// row by row in memory, the nests are one first, with the loop that reduces
// innermost (Transforms/PlaceNests.h); polynest-stream-reductions reads rows as
// they lie again.
// Legal when: both loops run over the same iterations and compute the same
// values, which nothing writes in between; the condition holds for just those
// values that equal the extreme, NaN beside NaN (by its truth table); places
// ascend, and what stands for no place, and what the search begins with, lie
// behind them all; the extreme begins with what no value lies below, so that
// some value equals it if there is any.
// Profitable: always. Values are read once.
// Limits: affine places; innermost loops; maxima and minima that keep NaN.
// Cost: linear in the operations of both loops.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/AffineValues.h"
#include "Analysis/Dependence.h"
#include "Analysis/NestParts.h"
#include "Analysis/Search.h"
#include "Support/EraseDead.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "Transforms/PlaceNests.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace polynest {
#define GEN_PASS_DEF_TRACKPLACES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-track-places"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "track-places";

/// What computes two values is compared through so many operations.
static constexpr unsigned deepestValue = 16;

namespace {
/// The extreme that a loop carries.
struct Extreme {
  AffineForOp loop;
  Reduction reduction;
  bool isMaximum, isSigned, isFloat;

  Value getTotal() const {
    return AffineForOp(loop).getResult(*reduction.iterArg);
  }
};

/// A later loop that finds its place.
struct PlaceLoop {
  AffineForOp loop;
  /// What chooses between a place and `none`, and what combines them.
  arith::SelectOp choice;
  Operation *combiner;
  bool isLast;
  Extreme extreme;
  /// Places over `operands`, those of the variable of `loop` among them.
  AffineMap map;
  SmallVector<Value> operands;
  bool isNarrow;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// The smallest number of an integer type, or for `isHighest` the largest.
static APInt getEnd(Type type, bool isSigned, bool isHighest) {
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (isHighest)
    return isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
  return isSigned ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits);
}

/// True if nothing that is combined lies on the other side of `begin`.
static bool isBeyondAll(Value begin, const Extreme &extreme) {
  APFloat number(0.0);
  APInt integer;
  if (extreme.isFloat)
    return matchPattern(begin, m_ConstantFloat(&number)) &&
           number.isInfinity() && number.isNegative() == extreme.isMaximum;
  return matchPattern(begin, m_ConstantInt(&integer)) &&
         integer == getEnd(begin.getType(), extreme.isSigned,
                           /*isHighest=*/!extreme.isMaximum);
}

/// What combines the value that a loop carries, for the next iteration alone.
static std::optional<Reduction> matchCombiner(AffineForOp loop,
                                              unsigned number) {
  std::optional<Reduction> found = matchScan(loop, number);
  return found && found->combiner->hasOneUse() ? found : std::nullopt;
}

/// The extreme that is a result of a loop.
static std::optional<Extreme> matchExtreme(Value result) {
  auto loop = result.getDefiningOp<AffineForOp>();
  if (!loop)
    return std::nullopt;
  std::optional<Reduction> reduction =
      matchCombiner(loop, cast<OpResult>(result).getResultNumber());
  if (!reduction || !result.getType().isIntOrIndexOrFloat())
    return std::nullopt;
  Operation *op = reduction->combiner;
  if (!isExtreme(op))
    return std::nullopt;
  Extreme extreme;
  extreme.loop = loop;
  extreme.reduction = *reduction;
  extreme.isMaximum =
      isa<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(op);
  extreme.isSigned = !isa<arith::MaxUIOp, arith::MinUIOp>(op);
  extreme.isFloat = isa<FloatType>(result.getType());
  return extreme;
}

/// True if both values are computed alike in the same iteration of two loops.
static bool isSameValue(Value a, AffineForOp loopA, Value b, AffineForOp loopB,
                        unsigned depth = 0) {
  if (a == b)
    return !loopA->isAncestor(a.getParentBlock()->getParentOp());
  if (a == loopA.getInductionVar())
    return b == loopB.getInductionVar();
  Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
  if (!opA || !opB || depth > deepestValue || !isReadOnly(opA) ||
      opA->getNumRegions() || opB->getNumRegions() ||
      cast<OpResult>(a).getResultNumber() !=
          cast<OpResult>(b).getResultNumber() ||
      loopA->isAncestor(opA) != loopB->isAncestor(opB))
    return false;
  // What memory held outside of the loops may have changed in between.
  if (!loopA->isAncestor(opA) && !isMemoryEffectFree(opA))
    return false;
  return OperationEquivalence::isEquivalentTo(
      opA, opB,
      [&](Value x, Value y) {
        return success(isSameValue(x, loopA, y, loopB, depth + 1));
      },
      nullptr, OperationEquivalence::IgnoreLocations);
}

/// True if `value` is there in front of `op`.
static bool isBefore(Value value, Operation *op) {
  Block *block = value.getParentBlock();
  if (!block->getParentOp()->isProperAncestor(op))
    return false;
  Operation *def = value.getDefiningOp();
  Operation *home = block->findAncestorOpInBlock(*op);
  return !def || def->isBeforeInBlock(home);
}

/// True if `number` lies behind all places, as the loop finds them.
static bool liesBehind(Value number, AffineExpr place,
                       AffineValueBuilder &values, const PlaceLoop &found) {
  APInt constant;
  IntegerRange range = values.rangeOf(place);
  if (matchPattern(number, m_ConstantInt(&constant))) {
    if (constant == getEnd(number.getType(), true, !found.isLast))
      return true;
    int64_t value = constant.getSExtValue();
    return range.isBounded() &&
           (found.isLast ? value <= range.low : value >= range.high);
  }
  // The number of iterations, where places are those of a loop from 0.
  AffineForOp loop = found.loop;
  std::optional<AffineExpr> expr = values.express(number);
  std::optional<AffineExpr> begin = values.express(loop.getInductionVar());
  if (found.isLast || !expr || !begin || place != *begin ||
      loop.getUpperBoundMap().getNumResults() != 1)
    return false;
  std::optional<AffineExpr> end =
      values.express(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  return end && *end == *expr;
}

/// Operands of a minimum or maximum of places: the choice and what is carried.
static bool matchChoice(PlaceLoop &found) {
  AffineForOp loop = found.loop;
  std::optional<Reduction> reduction =
      loop.getNumResults() == 1 ? matchCombiner(loop, 0) : std::nullopt;
  if (!reduction || !isa<arith::MinSIOp, arith::MaxSIOp>(reduction->combiner))
    return false;
  found.combiner = reduction->combiner;
  found.isLast = isa<arith::MaxSIOp>(found.combiner);
  found.choice = reduction->value.getDefiningOp<arith::SelectOp>();
  Type type = reduction->value.getType();
  return found.choice && found.choice->getBlock() == loop.getBody() &&
         (type.isIndex() || type.isInteger(64));
}

/// The extremes that a condition compares with: results of loops in front.
static void collectExtremes(Value condition, AffineForOp loop,
                            SmallVectorImpl<Extreme> &extremes,
                            SmallVectorImpl<Value> &others) {
  llvm::SetVector<Value> work;
  work.insert(condition);
  for (unsigned i = 0; i < work.size() && i < 4 * deepestValue; ++i) {
    Value value = work[i];
    Operation *op = value.getDefiningOp();
    if (op && !loop->isAncestor(op)) {
      if (std::optional<Extreme> extreme = matchExtreme(value))
        if (op->getBlock() == loop->getBlock())
          extremes.push_back(*extreme);
      continue;
    }
    if (!op || op->getBlock() != loop.getBody())
      continue;
    others.push_back(value);
    for (Value operand : op->getOperands())
      work.insert(operand);
  }
}

/// True if the condition holds for `value`, which is computed alike in both
/// loops, just where it equals the extreme.
static bool asksFor(Value condition, Value value, const Extreme &extreme) {
  llvm::SmallPtrSet<Operation *, 8> parts;
  std::optional<TruthTable> table =
      getTruthTable(condition, value, extreme.getTotal(), parts);
  if (!table)
    return false;
  auto at = [&](Relation relation) { return (*table)[unsigned(relation)]; };
  Relation worse = extreme.isMaximum ? Relation::Less : Relation::Greater;
  if (at(worse) || !at(Relation::Equal))
    return false;
  // The extreme is NaN if a value is. No number stands beside it otherwise.
  return !extreme.isFloat ||
         (!at(Relation::NanSecond) && at(Relation::NanBoth));
}

/// True if what the later loop loads is as it was for the first one.
static bool readsTheSame(AffineForOp first, AffineForOp second) {
  SmallVector<Access, 8> writes, reads;
  for (Operation *op = first; op != second; op = op->getNextNode())
    collectAccesses(op, writes, /*withIndices=*/false);
  collectAccesses(second, reads, /*withIndices=*/false);
  return llvm::all_of(reads, [&](const Access &read) {
    return read.memref && !read.isWrite && !mayWrite(writes, read.memref);
  });
}

/// Finds the extreme that the choice asks for; null, or why there is none,
/// empty where it asks for no result of a loop.
static const char *findExtreme(PlaceLoop &found) {
  AffineForOp loop = found.loop;
  Value condition = found.choice.getCondition();
  SmallVector<Extreme> extremes;
  SmallVector<Value> values;
  collectExtremes(condition, loop, extremes, values);
  if (extremes.empty())
    return "";
  const char *why = "the condition does not ask for an extreme";
  for (const Extreme &extreme : extremes) {
    if (!haveEqualBounds(extreme.loop, loop, /*rename=*/{})) {
      why = "the loops differ";
      continue;
    }
    for (Value value : values)
      if (value.getType() == extreme.getTotal().getType() &&
          isSameValue(extreme.reduction.value, extreme.loop, value, loop) &&
          asksFor(condition, value, extreme)) {
        found.extreme = extreme;
        return nullptr;
      }
  }
  return why;
}

/// Why the later loop stays, or null; empty where it finds no places.
static const char *match(PlaceLoop &found) {
  AffineForOp loop = found.loop;
  if (!matchChoice(found))
    return "";
  if (const char *why = findExtreme(found))
    return why;
  AffineForOp first = found.extreme.loop;
  if (holdsLoops(first.getBody()) || holdsLoops(loop.getBody()))
    return "a loop holds others";
  if (loop.getLowerBoundMap().getNumResults() != 1)
    return "the loops begin at a maximum";
  if (!isBeyondAll(first.getInits()[*found.extreme.reduction.iterArg],
                   found.extreme))
    return "the extreme may be what it begins with";
  AffineValueBuilder builder(found.combiner);
  std::optional<AffineExpr> place =
      builder.express(found.choice.getTrueValue());
  if (!place)
    return "places are not affine";
  found.operands = builder.getOperands();
  found.map = AffineMap::get(builder.getNumDims(), builder.getNumSymbols(),
                             *place, loop.getContext());
  for (Value operand : found.operands)
    if (operand != loop.getInductionVar() && !isBefore(operand, first))
      return "places depend on what comes later";
  if (!ascends(*place, builder, loop))
    return "places do not ascend";
  if (!liesBehind(found.choice.getFalseValue(), *place, builder, found) ||
      !liesBehind(loop.getInits()[0], *place, builder, found))
    return "what stands for no place may come first";
  if (!readsTheSame(first, loop))
    return "what is read may be written in between";
  found.isNarrow = builder.rangeOf(*place).fits32Bits();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// The place of iteration `iv`.
static Value emitPlace(OpBuilder &builder, Location loc, const PlaceLoop &found,
                       Value iv, Type type) {
  AffineForOp loop = found.loop;
  SmallVector<Value> operands(found.operands);
  for (Value &operand : operands)
    if (operand == loop.getInductionVar())
      operand = iv;
  Value place = getValueOrCreateConstantIndexOp(
      builder, loc,
      makeComposedFoldedAffineApply(builder, loc, found.map,
                                    getAsOpFoldResult(operands)));
  return type.isIndex()
             ? place
             : builder.createOrFold<arith::IndexCastOp>(loc, type, place);
}

/// Whether `value` is taken for the best so far, of equals the last where that
/// is wanted; of NaN likewise, which stands before all numbers.
static Value emitTest(OpBuilder &builder, Location loc, const Extreme &extreme,
                      bool isLast, Value value, Value best) {
  if (!extreme.isFloat) {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate =
        extreme.isMaximum
            ? (extreme.isSigned ? (isLast ? Predicate::sge : Predicate::sgt)
                                : (isLast ? Predicate::uge : Predicate::ugt))
            : (extreme.isSigned ? (isLast ? Predicate::sle : Predicate::slt)
                                : (isLast ? Predicate::ule : Predicate::ult));
    return arith::CmpIOp::create(builder, loc, predicate, value, best);
  }
  using Predicate = arith::CmpFPredicate;
  auto compare = [&](Predicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  if (isLast)
    return arith::OrIOp::create(
        builder, loc,
        compare(extreme.isMaximum ? Predicate::OGE : Predicate::OLE, value,
                best),
        compare(Predicate::UNO, value, value));
  return arith::AndIOp::create(
      builder, loc,
      compare(extreme.isMaximum ? Predicate::UGT : Predicate::ULT, value, best),
      compare(Predicate::ORD, best, best));
}

static void track(const PlaceLoop &found) {
  AffineForOp first = found.extreme.loop, second = found.loop;
  Location loc = second.getLoc();
  IRRewriter rewriter(first->getContext());
  rewriter.setInsertionPoint(first);
  Type wide = second.getResult(0).getType();
  Type type = found.isNarrow ? rewriter.getI32Type() : wide;
  Value begins = getValueOrCreateConstantIndexOp(
      rewriter, loc,
      makeComposedFoldedAffineApply(rewriter, loc, first.getLowerBoundMap(),
                                    getAsOpFoldResult(SmallVector<Value>(
                                        first.getLowerBoundOperands()))));
  const Reduction &reduction = found.extreme.reduction;
  bool isUsed =
      llvm::any_of(found.extreme.getTotal().getUsers(),
                   [&](Operation *user) { return !second->isAncestor(user); });
  auto replaced = cast<AffineForOp>(*first.replaceWithAdditionalYields(
      rewriter, emitPlace(rewriter, loc, found, begins, type),
      /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
        // Those of the new loop, to which the body comes after this.
        Block *body = carried.front().getOwner();
        Value iv = body->getArgument(0);
        Value best = body->getArgument(1 + *reduction.iterArg);
        OpBuilder inside(reduction.combiner);
        Value test = emitTest(inside, loc, found.extreme, found.isLast,
                              reduction.value, best);
        Value place = emitPlace(inside, loc, found, iv, type);
        // Zeros of both signs are equal here, and not to a maximum.
        if (!isUsed || !found.extreme.isFloat)
          reduction.combiner->replaceAllUsesWith(ValueRange(
              arith::SelectOp::create(inside, loc, test, reduction.value, best)
                  .getResult()));
        return SmallVector<Value>{
            arith::SelectOp::create(inside, loc, test, place, carried.front())};
      }));
  rewriter.setInsertionPointAfter(replaced);
  Value place = replaced.getResults().back();
  if (place.getType() != wide) {
    if (wide.isIndex())
      place = arith::IndexCastOp::create(rewriter, loc, wide, place);
    else
      place = arith::ExtSIOp::create(rewriter, loc, wide, place);
  }
  if (getTripCount(replaced).value_or(0) == 0) {
    // Without iterations the search ends with what it began with.
    Value ends = AffineMinOp::create(rewriter, loc, replaced.getUpperBoundMap(),
                                     replaced.getUpperBoundOperands());
    Value runs = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                       begins, ends);
    // Its operands stand in front of the later loop.
    rewriter.setInsertionPoint(second);
    place = arith::SelectOp::create(rewriter, loc, runs, place,
                                    second.getInits()[0]);
  }
  second.getResult(0).replaceAllUsesWith(place);
  second.erase();
  if (reduction.combiner->use_empty())
    reduction.combiner->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct TrackPlacesPass : impl::TrackPlacesBase<TrackPlacesPass> {
  void runOnOperation() override {
    trackAcross();
    SmallVector<AffineForOp> loops;
    getOperation().walk([&](AffineForOp loop) {
      if (loop.getNumResults() == 1)
        loops.push_back(loop);
    });
    for (AffineForOp loop : loops) {
      PlaceLoop found;
      found.loop = loop;
      const char *why = match(found);
      if (why) {
        if (*why) {
          ++numDeclined;
          remark(RemarkKind::Declined, loop.getLoc(), passName, why);
        }
        continue;
      }
      apply(found);
    }
  }

  void apply(const PlaceLoop &found) {
    ++numApplied;
    remark(RemarkKind::Applied, AffineForOp(found.loop).getLoc(), passName,
           "the loop that finds an extreme finds its place")
        << arg("bits", found.isNarrow ? 32 : 64);
    track(found);
  }

  /// Nests that combine rows in memory.
  void trackAcross() {
    SmallVector<AffineForOp> roots;
    for (Block &block : getOperation().getBody())
      llvm::append_range(roots, block.getOps<AffineForOp>());
    DependenceAnalysis dependences;
    for (AffineForOp root : roots) {
      if (getPerfectChild(root) == nullptr)
        continue;
      CarriedPlaces carried = carryPlaces(root, dependences);
      if (!carried.root)
        continue;
      PlaceLoop found;
      found.loop = carried.places;
      if (const char *why = match(found)) {
        ++numDeclined;
        remark(RemarkKind::Declined, root.getLoc(), passName,
               *why ? why : "the condition does not ask for an extreme");
        carried.root.erase();
      } else {
        apply(found);
        for (AffineForOp nest : carried.replaced)
          nest.erase();
      }
      dependences.invalidate();
    }
  }
};
} // namespace

} // namespace polynest
