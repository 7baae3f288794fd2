//===- ParallelizeNests.cpp - outer loops to marked parallel loops --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: makes the outermost parallel loop of a nest an affine.parallel of one
// dimension and step 1 with the attribute polynest.grain, the least number of
// iterations worth handing to another core. Where the outer loop has few
// iterations, it is merged with parallel loops perfectly nested in it; the
// index is taken apart once an iteration, outside of all inner loops. Inside
// a sequential loop its inner loops are looked at.
// Legal when: the loop carries no dependence and no value
// (DependenceAnalysis::loopIsParallel). Reductions are never split.
// Profitable when: the whole loop is at least `min-work-ns` long, by the larger
// of its arithmetic and its memory traffic; the grain is half of that.
// Limits: bounds with several results only at the top of the function; loops
// with step other than 1 are counted from zero.
// Cost: linear in nests, times what one dependence question costs.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Target/CostModel.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace polynest {
#define GEN_PASS_DEF_PARALLELIZENESTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-parallelize-nests"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "parallelize-nests";
static constexpr llvm::StringLiteral grainName = "polynest.grain";

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// Why the loop cannot become a parallel one, or an empty string. `around` is
/// as in accessesOf.
static std::string whyNotParallel(DependenceAnalysis &dependences,
                                  AffineForOp loop, AffineForOp around) {
  if (loop.getNumResults())
    return "the loop carries values";
  if (loop.getLowerBoundMap().getNumResults() != 1 ||
      loop.getUpperBoundMap().getNumResults() != 1)
    return "a bound is a minimum or maximum";
  if (isPlainlyParallel(loop, dependences.accessesOf(loop, around)))
    return "";
  std::string reason;
  return dependences.loopIsParallel(loop, &reason) ? "" : reason;
}

/// The loop that alone makes up the body of `loop`, if its bounds are constant
/// and it has loops inside that go on running as they are.
static AffineForOp getMergeable(AffineForOp loop) {
  auto inner = dyn_cast<AffineForOp>(loop.getBody()->front());
  if (!inner || inner->getNextNode() != loop.getBody()->getTerminator() ||
      !inner.hasConstantBounds() || inner.getNumResults() ||
      inner.getStepAsInt() <= 0 || !holdsLoops(inner.getBody()))
    return {};
  return inner;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

namespace {
struct Limits {
  double minWorkNs;
  int32_t frequencyMhz;
  uint64_t collapseBelow;
  uint64_t cacheBytes;
};

struct Work {
  uint64_t iterations = 0;
  double cyclesPerIteration = 0;
  std::optional<uint64_t> bytes;
};
} // namespace

/// Bytes a cycle and core from memory and from cache, low on purpose: a nest
/// that is taken for longer than it is costs a hand-over, the other mistake a
/// core that idles.
static constexpr double memoryBytesPerCycle = 3.4, cacheBytesPerCycle = 16;

static Work measure(AffineForOp loop, ArrayRef<Access> accesses,
                    const Limits &limits) {
  Work work;
  work.iterations = estimateTrips(loop);
  if (work.iterations == 0)
    return work;
  work.bytes = getFootprintBytes(accesses, loop);
  double compute = double(estimateCycles(loop)) / vectorsPerCycle;
  double memory = 0;
  if (work.bytes)
    memory = double(*work.bytes) / (*work.bytes > limits.cacheBytes
                                        ? memoryBytesPerCycle
                                        : cacheBytesPerCycle);
  work.cyclesPerIteration = std::max(compute, memory) / work.iterations;
  return work;
}

/// Iterations worth handing over; zero if the loop is too short.
static int64_t chooseGrain(const Work &work, const Limits &limits) {
  double cyclesPerNs = limits.frequencyMhz / 1000.0;
  if (work.iterations < 2 || work.cyclesPerIteration * work.iterations <
                                 limits.minWorkNs * cyclesPerNs)
    return 0;
  int64_t grain = pn_model_parallel_grain(
      int64_t(std::min<uint64_t>(work.iterations, INT64_MAX)),
      std::max(work.cyclesPerIteration, 1e-3), limits.frequencyMhz,
      // Without a least amount of work, chunks of any size are worth it.
      std::max(limits.minWorkNs / 2, 1e-3));
  return uint64_t(grain) >= work.iterations ? 0 : std::max<int64_t>(grain, 1);
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

namespace {
struct Decision {
  /// Loops merged into one, outermost first.
  SmallVector<AffineForOp, 3> loops;
  int64_t grain;
};
} // namespace

/// The number of iterations of a loop, as a map over its bounds' operands.
static std::pair<AffineMap, SmallVector<Value>> getTripMap(AffineForOp loop) {
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  unsigned dims = lower.getNumDims(), symbols = lower.getNumSymbols();
  AffineExpr high = upper.getResult(0)
                        .shiftDims(upper.getNumDims(), dims)
                        .shiftSymbols(upper.getNumSymbols(), symbols);
  AffineExpr count = (high - lower.getResult(0)).ceilDiv(loop.getStepAsInt());
  AffineMap map = AffineMap::get(dims + upper.getNumDims(),
                                 symbols + upper.getNumSymbols(), count);
  ValueRange lows = loop.getLowerBoundOperands();
  ValueRange highs = loop.getUpperBoundOperands();
  SmallVector<Value> operands(lows.take_front(dims));
  llvm::append_range(operands, highs.take_front(upper.getNumDims()));
  llvm::append_range(operands, lows.drop_front(dims));
  llvm::append_range(operands, highs.drop_front(upper.getNumDims()));
  canonicalizeMapAndOperands(&map, &operands);
  return {map, operands};
}

/// Replaces the loops by one parallel loop.
static void parallelize(const Decision &decision) {
  AffineForOp outer = decision.loops.front(), inner = decision.loops.back();
  OpBuilder builder(outer);
  Location loc = outer.getLoc();
  MLIRContext *context = outer.getContext();
  AffineMap lower = outer.getLowerBoundMap(), upper = outer.getUpperBoundMap();
  SmallVector<Value> lows(outer.getLowerBoundOperands());
  SmallVector<Value> highs(outer.getUpperBoundOperands());
  bool counts = decision.loops.size() > 1 || outer.getStepAsInt() != 1;
  if (counts) {
    std::tie(upper, highs) = getTripMap(outer);
    lower = builder.getConstantAffineMap(0);
    lows.clear();
    int64_t product = 1;
    for (AffineForOp loop : ArrayRef(decision.loops).drop_front())
      product *= *getTripCount(loop);
    upper = AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                           upper.getResult(0) * product);
  }
  auto parallel = AffineParallelOp::create(
      builder, loc, TypeRange(), ArrayRef<arith::AtomicRMWKind>(), lower, lows,
      upper, highs, ArrayRef<int64_t>(1));
  parallel->setAttr(grainName, builder.getI64IntegerAttr(decision.grain));
  Block *body = parallel.getBody();
  builder.setInsertionPointToStart(body);
  Value index = parallel.getIVs().front();
  // Innermost first: what is left of the count is the outer loops'.
  AffineExpr rest = getAffineDimExpr(0, context);
  for (AffineForOp loop : llvm::reverse(decision.loops)) {
    Value iv = index;
    if (counts) {
      AffineExpr count = rest;
      if (loop != outer) {
        int64_t trips = *getTripCount(loop);
        count = rest % trips;
        rest = rest.floorDiv(trips);
      }
      AffineMap start = loop.getLowerBoundMap();
      SmallVector<Value> operands{index};
      llvm::append_range(operands, loop.getLowerBoundOperands());
      AffineExpr value = start.getResult(0).shiftDims(start.getNumDims(), 1) +
                         count * loop.getStepAsInt();
      AffineMap map =
          AffineMap::get(1 + start.getNumDims(), start.getNumSymbols(), value);
      iv = AffineApplyOp::create(builder, loc, map, operands);
    }
    loop.getInductionVar().replaceAllUsesWith(iv);
  }
  Block *from = inner.getBody();
  body->getOperations().splice(std::prev(body->end()), from->getOperations(),
                               from->begin(), std::prev(from->end()));
  outer.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class Parallelizer {
public:
  explicit Parallelizer(const Limits &limits) : limits(limits) {}

  /// Decides for each nest of the block, and looks into what stays sequential.
  /// `around` is the loop around it that was asked about last.
  void collect(Block *block, AffineForOp around = {}) {
    for (Operation &op : *block) {
      if (isa<AffineParallelOp>(op))
        continue;
      auto loop = dyn_cast<AffineForOp>(op);
      if (loop && (loop.getStepAsInt() <= 0 || decide(loop, around)))
        continue;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          collect(&inner, loop ? loop : around);
    }
  }

  SmallVector<Decision> decisions;
  unsigned applied = 0, declined = 0;
  DependenceAnalysis dependences;

private:
  /// True if there is nothing left to do inside the loop.
  bool decide(AffineForOp loop, AffineForOp around) {
    ArrayRef<Access> accesses = dependences.accessesOf(loop, around);
    Work work = measure(loop, accesses, limits);
    double cyclesPerNs = limits.frequencyMhz / 1000.0;
    if (work.cyclesPerIteration * work.iterations <
        limits.minWorkNs * cyclesPerNs) {
      // What is inside is shorter still.
      decline(loop, "the nest is too short", work);
      return true;
    }
    std::string why = whyNotParallel(dependences, loop, around);
    if (!why.empty()) {
      decline(loop, why, work);
      return false;
    }
    Decision decision{{loop}, 0};
    while (work.iterations < limits.collapseBelow) {
      AffineForOp inner = getMergeable(decision.loops.back());
      if (!inner || *getTripCount(inner) == 0 ||
          !whyNotParallel(dependences, inner, loop).empty())
        break;
      decision.loops.push_back(inner);
      uint64_t trips = *getTripCount(inner);
      work.iterations = saturatingMultiply(work.iterations, trips);
      work.cyclesPerIteration /= trips;
    }
    decision.grain = chooseGrain(work, limits);
    if (decision.grain == 0) {
      decline(loop, "too few iterations", work);
      return false;
    }
    remark(RemarkKind::Applied, loop.getLoc(), passName, "loop made parallel")
        << arg("grain", decision.grain) << arg("iterations", work.iterations)
        << arg("cycles-per-iteration", work.cyclesPerIteration)
        << arg("merged-loops", decision.loops.size());
    ++applied;
    decisions.push_back(decision);
    return true;
  }

  void decline(AffineForOp loop, StringRef why, const Work &work) {
    ++declined;
    remark(RemarkKind::Declined, loop.getLoc(), passName, why)
        << arg("iterations", work.iterations)
        << arg("cycles-per-iteration", work.cyclesPerIteration);
  }

  Limits limits;
};
} // namespace

namespace {
struct ParallelizeNestsPass : impl::ParallelizeNestsBase<ParallelizeNestsPass> {
  using ParallelizeNestsBase::ParallelizeNestsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, uint64_t value, uint64_t least,
                     uint64_t most) {
      return succeeded(checkUnsigned(context, name, value, least, most));
    };
    return success(check("min-work-ns", minWorkNs, 0, 1000000000) &&
                   check("frequency-mhz", frequencyMhz, 1, 100000) &&
                   check("collapse-below", collapseBelow, 0, 65536) &&
                   check("cache-size-kib", cacheSizeKib, 0, 1u << 20));
  }

  void runOnOperation() override {
    Limits limits{double(minWorkNs), int32_t(frequencyMhz), collapseBelow,
                  uint64_t(cacheSizeKib) * 1024};
    Parallelizer parallelizer(limits);
    for (Block &block : getOperation().getBody())
      parallelizer.collect(&block);
    if (unsigned questions = parallelizer.dependences.countQuestions())
      remark(RemarkKind::Analysis, getOperation().getLoc(), passName,
             "dependences took the solver")
          << arg("questions", questions);
    for (const Decision &decision : parallelizer.decisions)
      parallelize(decision);
    numApplied += parallelizer.applied;
    numDeclined += parallelizer.declined;
  }
};
} // namespace

} // namespace polynest
