//===- SplitSums.cpp - long sums in two levels ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes a long loop at the top of a function that carries nothing but
// floating-point sums a loop over blocks around a loop over the elements of a
// block. Each block has sums of its own, which begin at nothing; those of f32
// are added up in f64, those of f64 in f64. What is no whole block is one more
// loop behind the blocks.
// Legal when: each value that the loop carries is used once, as the addend of
// an addition or a multiply-add whose result is carried on: grouping of sums is
// free (docs/architecture.md, Numerics). Iterations keep their order, so that
// nothing else matters.
// Profitable when: the loop has at least `least-elements` iterations, or as
// many as a buffer has in a dimension whose size is not known. The error of a
// sum grows with the additions in a row: of n in lanes of one level n / lanes,
// of two levels block / lanes, whatever n is. Limits: bounds that are constant
// or from 0 to a size, step 1, no loops around: those around a sum are jammed
// (polynest-tile-registers), and its rows are seldom that long. Cost: linear in
// operations of the function.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITSUMS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-sums"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr StringLiteral passName = "split-sums";
/// On a loop over blocks, which is not split again.
static constexpr StringLiteral markName = "polynest.split_sums";

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True if value `i` of those that the loop carries is a sum of f32 or f64.
static bool isSum(AffineForOp loop, unsigned i) {
  BlockArgument sum = loop.getRegionIterArgs()[i];
  if (!sum.getType().isF32() && !sum.getType().isF64())
    return false;
  if (!sum.hasOneUse())
    return false;
  Operation *user = *sum.user_begin();
  bool isAddend = isa<arith::AddFOp>(user) ||
                  (isa<math::FmaOp>(user) && user->getOperand(2) == sum);
  Operation *yield = loop.getBody()->getTerminator();
  return isAddend && user->getBlock() == loop.getBody() &&
         user->getResult(0).hasOneUse() &&
         yield->getOperand(i) == user->getResult(0);
}

/// True if the loop runs from 0 to the size of a buffer, which is not negative.
static bool runsToSize(AffineForOp loop) {
  if (!loop.hasConstantLowerBound() || loop.getConstantLowerBound() != 0)
    return false;
  AffineMap map = loop.getUpperBoundMap();
  return map.getNumResults() == 1 && map.getNumInputs() == 1 &&
         isa<AffineDimExpr, AffineSymbolExpr>(map.getResult(0)) &&
         loop.getUpperBoundOperands()[0].getDefiningOp<memref::DimOp>();
}

static StringRef whyNotSplit(AffineForOp loop) {
  if (loop.getStepAsInt() != 1 ||
      !(loop.hasConstantBounds() || runsToSize(loop)))
    return "bounds are neither constant nor a size";
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
    if (!isSum(loop, i))
      return "a value that the loop carries is no sum of f32 or f64";
  return {};
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Iterations, or nothing where they are a size.
static std::optional<int64_t> getTrips(AffineForOp loop) {
  if (!loop.hasConstantBounds())
    return std::nullopt;
  return loop.getConstantUpperBound() - loop.getConstantLowerBound();
}

/// The size of blocks: near `wanted` and such that nothing is left, if there is
/// one that is a whole number of groups of lanes; else `wanted`.
static int64_t chooseBlock(std::optional<int64_t> trips, int64_t wanted) {
  constexpr int64_t group = 64;
  if (!trips)
    return wanted;
  for (int64_t away = 0; away <= wanted; away += group)
    for (int64_t block : {wanted + away, wanted - away / 2})
      if (block >= group && block % group == 0 && *trips % block == 0)
        return block;
  return wanted;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// The loop over the iterations from `lower` to `upper` with sums that begin at
/// nothing.
static AffineForOp cloneRange(OpBuilder &builder, AffineForOp loop,
                              AffineMap lower, AffineMap upper,
                              ValueRange lowerOperands,
                              ValueRange upperOperands) {
  SmallVector<Value> nothing;
  for (Value init : loop.getInits())
    nothing.push_back(arith::ConstantOp::create(
        builder, loop.getLoc(), builder.getFloatAttr(init.getType(), -0.0)));
  auto copy = AffineForOp::create(
      builder, loop.getLoc(), lowerOperands, lower, upperOperands, upper,
      /*step=*/1, nothing,
      [&](OpBuilder &inside, Location, Value iv, ValueRange sums) {
        IRMapping mapping;
        mapping.map(loop.getInductionVar(), iv);
        mapping.map(loop.getRegionIterArgs(), sums);
        for (Operation &op : *loop.getBody())
          inside.clone(op, mapping);
      });
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  return copy;
}

static Value widen(OpBuilder &builder, Location loc, Value value) {
  if (value.getType().isF64())
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF64Type(), value);
}

/// Adds what one loop over elements has given to the sums so far.
static SmallVector<Value> addTo(OpBuilder &builder, ValueRange sums,
                                AffineForOp part) {
  SmallVector<Value> added;
  for (auto [sum, value] : llvm::zip_equal(sums, part.getResults()))
    added.push_back(arith::AddFOp::create(
        builder, part.getLoc(), sum, widen(builder, part.getLoc(), value)));
  return added;
}

static void split(AffineForOp loop, int64_t block) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  int64_t first = loop.getConstantLowerBound();
  AffineMap end = loop.getUpperBoundMap();
  ValueRange endOperands = loop.getUpperBoundOperands();
  auto makeMap = [&](AffineExpr expr) {
    return AffineMap::get(end.getNumDims(), end.getNumSymbols(), expr);
  };
  AffineExpr blocks = (end.getResult(0) - first).floorDiv(block);
  SmallVector<Value> inits;
  for (Value init : loop.getInits())
    inits.push_back(widen(builder, loc, init));
  AffineExpr start = builder.getAffineDimExpr(0) * block + first;
  auto outer = AffineForOp::create(
      builder, loc, ValueRange(), builder.getConstantAffineMap(0), endOperands,
      makeMap(blocks), /*step=*/1, inits,
      [&](OpBuilder &inside, Location, Value iv, ValueRange sums) {
        AffineForOp inner =
            cloneRange(inside, loop, AffineMap::get(1, 0, start),
                       AffineMap::get(1, 0, start + block), iv, iv);
        AffineYieldOp::create(inside, loc, addTo(inside, sums, inner));
      });
  outer->setAttr(markName, builder.getUnitAttr());
  SmallVector<Value> sums(outer.getResults());
  std::optional<int64_t> trips = getTrips(loop);
  if (!trips || *trips % block) {
    AffineForOp rest =
        cloneRange(builder, loop, makeMap(blocks * block + first), end,
                   endOperands, endOperands);
    sums = addTo(builder, sums, rest);
  }
  for (auto [old, sum] : llvm::zip_equal(loop.getResults(), sums)) {
    if (old.getType() != sum.getType())
      sum = arith::TruncFOp::create(builder, loc, old.getType(), sum);
    old.replaceAllUsesWith(sum);
  }
  loop.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitSumsPass : impl::SplitSumsBase<SplitSumsPass> {
  using SplitSumsBase::SplitSumsBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(
            checkOption(context, "block-elements", blockElements, 64, 1 << 20)))
      return failure();
    return checkOption(context, "least-elements", leastElements,
                       2 * blockElements, 1ll << 40);
  }

  void runOnOperation() override {
    SmallVector<AffineForOp> chosen;
    for (auto loop : getOperation().getOps<AffineForOp>()) {
      if (loop.getNumResults() == 0 || loop->hasAttr(markName))
        continue;
      StringRef why = whyNotSplit(loop);
      std::optional<int64_t> trips = getTrips(loop);
      if (why.empty() && trips && *trips < leastElements)
        why = "the sum is short";
      if (why.empty()) {
        chosen.push_back(loop);
        continue;
      }
      ++numDeclined;
      remark(RemarkKind::Declined, loop.getLoc(), passName, why)
          << arg("least-elements", leastElements.getValue());
    }
    for (AffineForOp loop : chosen) {
      std::optional<int64_t> trips = getTrips(loop);
      int64_t block = chooseBlock(trips, blockElements);
      remark(RemarkKind::Applied, loop.getLoc(), passName, "sum split")
          << arg("block", block) << arg("trips", trips.value_or(-1));
      split(loop, block);
    }
    numApplied += chosen.size();
  }
};
} // namespace

} // namespace polynest
