//===- SplitReductions.cpp - reduce whole arrays in parts -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a nest that does nothing but carry reductions from its first iteration
// to its last is cut into parts of equal length, each of which reduces into one
// element of a small buffer; the buffer is reduced then, and what makes up no
// whole part comes last. The parts are a parallel loop.
// Legal when: every value the nest carries is a reduction with an associative
// and commutative operation, whose order of accumulation is free (numerics
// (a)), or belongs to a search of a value and its place (Analysis/Search.h),
// and its iterations are independent otherwise. Profitable when: the nest has
// at least `min-operations` operations. A second level of accumulators also
// keeps more digits of long sums. The number of parts depends on the trip count
// alone, never on the number of threads, so that results have the same bits
// with any of them. Limits: constant bounds; nests at the top of the function,
// whose outermost loop carries the values. Cost: linear in nests, times what
// one dependence question costs.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Dependence.h"
#include "Analysis/Search.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "Transforms/VectorizeUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-reductions"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "split-reductions";
/// Left on the loops of a split nest, which a second run skips.
static constexpr llvm::StringLiteral mark = "polynest.split";

/// At least so many parts: enough for the cores of a large machine, and as many
/// accumulators of a second level.
static constexpr int64_t leastParts = 64;
/// Lengths of parts of single elements are whole multiples of this, which is
/// whole vectors of any width times the interleaving of any core.
static constexpr int64_t partUnit = 256;

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

namespace {
/// A nest to cut, and what it carries: a reduction for each value, which says
/// nothing where the value belongs to a search.
struct Decision {
  AffineForOp loop;
  SmallVector<Reduction, 2> reductions;
  SmallVector<Search, 1> searches;
  int64_t part = 0;
};
} // namespace

/// Why the nest cannot be cut into parts, or an empty string.
static std::string whyNotSplit(DependenceAnalysis &dependences,
                               Decision &decision) {
  AffineForOp loop = decision.loop;
  if (!loop.hasConstantBounds() || loop.getStepAsInt() != 1)
    return "the loop's bounds are not constant, or its step is not 1";
  decision.searches = findSearches(loop);
  decision.reductions.resize(loop.getNumResults());
  unsigned count = 2 * decision.searches.size();
  for (const Reduction &reduction : carriedReductions(loop)) {
    if (!reduction.iterArg)
      return "a reduction is carried through memory";
    if (!reduction.combiner)
      return "the loop carries a value that is no reduction";
    decision.reductions[*reduction.iterArg] = reduction;
    ++count;
  }
  if (count != loop.getNumResults())
    return "the loop carries a value that is no reduction";
  for (Value result : loop.getResults())
    if (!MemRefType::isValidElementType(result.getType()) ||
        !result.getType().isIntOrIndexOrFloat())
      return "the loop carries a value that is no scalar";
  std::string reason;
  return dependences.loopIsParallel(loop, &reason, /*ignoreReductions=*/true,
                                    2 * decision.searches.size())
             ? ""
             : reason;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Iterations of one part; zero if parts would be too few.
static int64_t choosePart(AffineForOp loop) {
  int64_t trips = loop.getConstantUpperBound() - loop.getConstantLowerBound();
  int64_t part = std::max<int64_t>(1, trips / leastParts);
  if (!holdsLoops(loop.getBody()))
    part = std::max(partUnit, part / partUnit * partUnit);
  return trips / part >= 2 ? part : 0;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

static void splitReduction(const Decision &decision) {
  AffineForOp loop = decision.loop;
  ArrayRef<Reduction> reductions = decision.reductions;
  int64_t part = decision.part;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  int64_t first = loop.getConstantLowerBound();
  int64_t last = loop.getConstantUpperBound();
  int64_t parts = (last - first) / part;
  AffineExpr dim = builder.getAffineDimExpr(0);
  SmallVector<Value> inits(loop.getInits()), neutrals, buffers;
  for (auto [i, init] : llvm::enumerate(inits)) {
    const Reduction &reduction = reductions[i];
    neutrals.push_back(
        isSearched(decision.searches, i) || isIdempotent(reduction.kind)
            ? init
            : arith::ConstantOp::create(
                  builder, loc, getNeutral(reduction.kind, init.getType()))
                  .getResult());
    buffers.push_back(memref::AllocOp::create(
        builder, loc, MemRefType::get({parts}, init.getType())));
  }
  auto outer = AffineForOp::create(builder, loc, 0, parts);
  outer->setAttr(mark, builder.getUnitAttr());
  {
    OpBuilder inside = OpBuilder::atBlockBegin(outer.getBody());
    Value index = outer.getInductionVar();
    auto copy = cast<AffineForOp>(inside.clone(*loop));
    copy.setLowerBound(index, AffineMap::get(1, 0, dim * part + first));
    copy.setUpperBound(index, AffineMap::get(1, 0, dim * part + first + part));
    for (auto [operand, neutral] :
         llvm::zip_equal(copy.getInitsMutable(), neutrals))
      operand.set(neutral);
    for (auto [value, buffer] : llvm::zip_equal(copy.getResults(), buffers))
      AffineStoreOp::create(inside, loc, value, buffer, index);
  }
  auto combined = AffineForOp::create(
      builder, loc, 0, parts, 1, inits,
      [&](OpBuilder &inside, Location, Value index, ValueRange carried) {
        SmallVector<Value> parts, next(buffers.size());
        for (Value buffer : buffers)
          parts.push_back(AffineLoadOp::create(inside, loc, buffer, index));
        for (const Search &search : decision.searches) {
          Found found = emitNext(inside, loc, search,
                                 {carried[search.value], carried[search.place]},
                                 {parts[search.value], parts[search.place]});
          next[search.value] = found.value;
          next[search.place] = found.place;
        }
        for (auto [i, reduction] : llvm::enumerate(reductions))
          if (!next[i])
            next[i] = arith::getReductionOp(reduction.kind, inside, loc,
                                            carried[i], parts[i]);
        AffineYieldOp::create(inside, loc, next);
      });
  combined->setAttr(mark, builder.getUnitAttr());
  if (first + parts * part == last) {
    loop->replaceAllUsesWith(combined.getResults());
    loop->erase();
    return;
  }
  loop.setConstantLowerBound(first + parts * part);
  loop->setAttr(mark, builder.getUnitAttr());
  for (auto [operand, value] :
       llvm::zip_equal(loop.getInitsMutable(), combined.getResults()))
    operand.set(value);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitReductionsPass : impl::SplitReductionsBase<SplitReductionsPass> {
  using SplitReductionsBase::SplitReductionsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkOption(context, "min-operations", minOperations, 1,
                       int64_t(1) << 40);
  }

  void runOnOperation() override {
    DependenceAnalysis dependences;
    SmallVector<Decision> decisions;
    for (Block &block : getOperation().getBody())
      for (auto loop : block.getOps<AffineForOp>()) {
        if (!loop.getNumResults() || loop->hasAttr(mark))
          continue;
        Decision decision;
        decision.loop = loop;
        std::string why;
        uint64_t operations = estimateCycles(loop);
        if (operations < uint64_t(minOperations))
          why = "the nest is too short";
        else
          why = whyNotSplit(dependences, decision);
        if (why.empty() && !(decision.part = choosePart(loop)))
          why = "too few iterations";
        if (why.empty()) {
          decisions.push_back(decision);
          continue;
        }
        ++numDeclined;
        remark(RemarkKind::Declined, loop.getLoc(), passName, why)
            << arg("operations", operations);
      }
    for (const Decision &decision : decisions) {
      ++numApplied;
      remark(RemarkKind::Applied, AffineForOp(decision.loop).getLoc(), passName,
             "reduced in parts")
          << arg("part", decision.part);
      splitReduction(decision);
    }
  }
};
} // namespace

} // namespace polynest
