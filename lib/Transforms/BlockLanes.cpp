//===- BlockLanes.cpp - windows of a few lanes at a time ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in a nest of windows that slide (depthwise convolutions, pooling) whose
// contiguous loop is none of those along which they slide (channels last),
// strip-mines that loop and puts the loop over blocks outside of all the loops
// along which windows slide, behind those of batches.
// Legal when: the loops from there to the contiguous one are parallel, have
// constant bounds and stand alone in each other.
// Profitable when: what one element of each lane reads, the window and its
// weights, exceeds half of the first cache, so that each element loads all of
// it from the second one, while that of a block with the rows of windows of one
// row of results fits the first, and those of its sets in which columns lie
// that are a power of two apart. The largest such block that divides the loop.
// Limits: one contiguous loop for all accesses; no rest.
// Cost: operations of the nest; a dependence question a loop.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Dependence.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "Transforms/Window.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <numeric>

namespace polynest {
#define GEN_PASS_DEF_BLOCKLANES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-block-lanes"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "block-lanes";
/// Bytes of a cache line, nearly everywhere: what blocks should not share.
static constexpr int64_t lineBytes = 64;
/// What one element of all lanes may touch of the first cache for weights to
/// stay there from one element to the next.
static constexpr double elementShare = 0.5;
/// Bytes that are as many apart lie in one set of the first cache; how much
/// more than those sets hold a row may touch, since old columns are not needed.
static constexpr int64_t setBytes = 4096;
static constexpr double setSlack = 4;

namespace {
/// The loops of a nest from the outermost along which windows slide to the
/// contiguous one.
struct Decision {
  SmallVector<AffineForOp, 6> loops;
  SmallVector<Access, 8> accesses;
  /// Bytes for each iteration of the contiguous loop, and those of all: what
  /// one run of it touches, and one run of the loops inside the outermost.
  double elementBytes = 0, rowBytes = 0;
  uint64_t sharedElementBytes = 0, sharedRowBytes = 0;
  int64_t block = 0;

  AffineForOp lanes() const { return loops.back(); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True if a window slides along `loop`: an index adds it to a loop inside of
/// `lanes`.
static bool hasSlidingWindow(AffineForOp loop, AffineForOp lanes,
                             ArrayRef<Access> accesses) {
  Value iv = loop.getInductionVar();
  for (const Access &access : accesses) {
    AffineValueMap map = access.map;
    for (unsigned d = 0; d < map.getNumResults(); ++d)
      if (map.isFunctionOf(d, iv) &&
          llvm::any_of(map.getOperands(), [&](Value operand) {
            AffineForOp other = getForInductionVarOwner(operand);
            return other && lanes->isProperAncestor(other) &&
                   map.isFunctionOf(d, operand);
          }))
        return true;
  }
  return false;
}

/// True if all accesses stand still or are contiguous along the loop, stores
/// the latter.
static bool isContiguous(AffineForOp loop, ArrayRef<Access> accesses) {
  return llvm::all_of(accesses, [&](const Access &access) {
    std::optional<int64_t> stride = getStride(access, loop);
    return stride && (*stride == 1 || (*stride == 0 && !access.isWrite));
  });
}

/// Finds the loops of the nest of `root` between which blocks would go; false
/// if it has no windows for them.
static bool findLoops(AffineForOp root, Decision &decision) {
  bool hasWindow = false;
  SmallVector<AffineForOp, 6> band = getPlainBand(root);
  if (band.empty())
    return false;
  collectAccesses(root, decision.accesses);
  if (decision.accesses.empty() ||
      !llvm::all_of(decision.accesses,
                    [](const Access &access) { return access.isAffine(); }))
    return false;
  AffineForOp lanes = band.back();
  if (!isContiguous(lanes, decision.accesses))
    return false;
  lanes->walk([&](AffineForOp inner) {
    hasWindow |= inner != lanes && findWindow(inner, lanes).has_value();
  });
  if (!hasWindow || hasSlidingWindow(lanes, lanes, decision.accesses))
    return false;
  auto first = llvm::find_if(band, [&](AffineForOp loop) {
    return hasSlidingWindow(loop, lanes, decision.accesses);
  });
  if (first == band.end())
    return false;
  decision.loops.append(first, band.end());
  return true;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// What one run of `loop` touches, for each iteration of `lanes` in `moving`
/// and by what stands still along it in `shared`; false if that is not known.
static bool countBytes(ArrayRef<Access> accesses, AffineForOp loop,
                       AffineForOp lanes, double &moving, uint64_t &shared) {
  SmallVector<Access, 8> along, others;
  for (const Access &access : accesses)
    (isInvariantTo(access, lanes.getInductionVar()) ? others : along)
        .push_back(access);
  std::optional<uint64_t> all = getFootprintBytes(along, loop);
  std::optional<uint64_t> rest = getFootprintBytes(others, loop);
  if (!all || !rest)
    return false;
  moving = double(*all) / double(*getTripCount(lanes));
  shared = *rest;
  return true;
}

/// Iterations that fill a vector and a line of what is widest.
static int64_t countLanes(ArrayRef<Access> accesses, int64_t vectorBytes) {
  int64_t widest = 1;
  for (const Access &access : accesses) {
    auto type = cast<MemRefType>(access.memref.getType());
    widest =
        std::max(widest, getElementBytes(type.getElementType()).value_or(1));
  }
  return std::max<int64_t>(std::max(vectorBytes, lineBytes) / widest, 1);
}

/// The part of the first cache's sets in which a block of lanes may lie: what
/// is a multiple of some power of two apart, as columns of many channels are,
/// shares sets.
static double getSetsAtReach(ArrayRef<Access> accesses, AffineForOp outer,
                             AffineForOp lanes, int64_t block) {
  double least = 1;
  for (const Access &access : accesses) {
    if (isInvariantTo(access, lanes.getInductionVar()))
      continue;
    auto type = cast<MemRefType>(access.memref.getType());
    int64_t bytes = getElementBytes(type.getElementType()).value_or(1);
    uint64_t apart = setBytes;
    for (Operation *op = access.op->getParentOp(); op != outer->getParentOp();
         op = op->getParentOp())
      if (auto loop = dyn_cast<AffineForOp>(op); loop && loop != lanes)
        apart = std::gcd(
            apart, uint64_t(std::abs(
                       getStride(access, loop).value_or(setBytes) * bytes)));
    least = std::min(least, double(block * bytes) / double(apart));
  }
  return least;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

static void apply(Decision &decision) {
  AffineForOp outer = decision.loops.front(), lanes = decision.lanes();
  Location loc = lanes.getLoc();
  OpBuilder builder(outer);
  auto blocks =
      AffineForOp::create(builder, loc, lanes.getConstantLowerBound(),
                          lanes.getConstantUpperBound(), decision.block);
  outer->moveBefore(blocks.getBody()->getTerminator());
  lanes.setConstantLowerBound(0);
  lanes.setConstantUpperBound(decision.block);
  builder.setInsertionPointToStart(lanes.getBody());
  AffineExpr sum = builder.getAffineDimExpr(0) + builder.getAffineDimExpr(1);
  auto index = AffineApplyOp::create(
      builder, loc, AffineMap::get(2, 0, sum),
      ValueRange{blocks.getInductionVar(), lanes.getInductionVar()});
  lanes.getInductionVar().replaceAllUsesExcept(index, index);
  // Erases the sum where all its users have taken it in.
  composeIndices(lanes);
}

namespace {
struct BlockLanesPass : impl::BlockLanesBase<BlockLanesPass> {
  using BlockLanesBase::BlockLanesBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(checkOption(context, "vector-width-bits", vectorWidthBits, 64,
                           16384)) ||
        failed(checkPowerOfTwo(context, "vector-width-bits", vectorWidthBits)))
      return failure();
    return checkOption(context, "l1-size-kib", l1SizeKib, 1, 1 << 20);
  }

  void runOnOperation() override {
    SmallVector<Decision, 0> decisions;
    DependenceAnalysis dependences;
    numDeclined += takeNests(
        getOperation(), passName,
        [](AffineForOp loop) {
          return loop->hasAttr(kVectorized) || loop->hasAttr(kTiled) ||
                 loop->hasAttr(kStreamed);
        },
        [&](AffineForOp loop, std::string &reason) {
          Decision decision;
          if (!findLoops(loop, decision))
            return false;
          reason = decide(decision, dependences);
          if (!reason.empty())
            return false;
          decisions.push_back(std::move(decision));
          return true;
        });
    for (Decision &decision : decisions) {
      remark(RemarkKind::Applied, decision.lanes().getLoc(), passName,
             "windows slide over a block of lanes at a time")
          << arg("lanes", *getTripCount(decision.lanes()))
          << arg("block", decision.block)
          << arg("row-bytes",
                 int64_t(decision.rowBytes * double(decision.block)) +
                     int64_t(decision.sharedRowBytes));
      apply(decision);
    }
    numApplied += decisions.size();
  }

  /// Chooses the block; returns why there is none, or an empty string.
  std::string decide(Decision &decision, DependenceAnalysis &dependences) {
    for (AffineForOp loop : decision.loops)
      if (!loop.hasConstantBounds() || loop.getStepAsInt() != 1)
        return "bounds are not constant";
    AffineForOp lanes = decision.lanes();
    int64_t trips = int64_t(getTripCount(lanes).value_or(0));
    if (trips < 1)
      return "no lanes";
    if (!countBytes(decision.accesses, lanes, lanes, decision.elementBytes,
                    decision.sharedElementBytes) ||
        !countBytes(decision.accesses, decision.loops[1], lanes,
                    decision.rowBytes, decision.sharedRowBytes))
      return "what windows read is not known";
    double size = double(l1SizeKib) * 1024;
    if (decision.elementBytes * double(trips) +
            double(decision.sharedElementBytes) <=
        size * elementShare)
      return "windows of all lanes stay in the first cache";
    int64_t unit = countLanes(decision.accesses, vectorWidthBits / 8);
    for (int64_t block = unit; block < trips; block += unit) {
      double touched =
          decision.rowBytes * double(block) + double(decision.sharedRowBytes);
      if (trips % block == 0 && touched <= size &&
          touched <= setSlack * size *
                         getSetsAtReach(decision.accesses,
                                        decision.loops.front(), lanes, block))
        decision.block = block;
    }
    if (decision.block == 0)
      return "no block of lanes divides them and fits the first cache";
    return whyNotParallel(decision.loops, decision.loops.front(), dependences);
  }
};
} // namespace

} // namespace polynest
