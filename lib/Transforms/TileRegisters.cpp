//===- TileRegisters.cpp - unroll-and-jam into a register tile ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: unrolls one or two loops around a reduction and jams the copies into
// one reduction loop that carries all their accumulators, so that what the
// reduction loads serves several of them.
// Legal when: each unrolled loop carries no dependence (loopIsParallel), so
// that its iterations may be interleaved in any way; loops inside have bounds
// that do not use it; it has no iter_args.
// Profitable when: the model's cycles for one multiply-add, the larger of
// arithmetic and load port use, fall. The tile must fit the registers, and
// accumulators should cover the latency of the multiply-add units. All that the
// unrolled loops hold is copied: a body that is long already overlaps its
// iterations without, and copies of it would not fit the instruction cache. Two
// rows of which functions are computed have to stay in the first-level cache.
// Limits: static lower bounds and one upper bound; what does not fill a tile
// runs in a copy of the original loop.
// Cost: operations of the reduction times the tile; candidates times 64.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/JamLoops.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace polynest {
#define GEN_PASS_DEF_TILEREGISTERS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-tile-registers"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

namespace {
/// What the model knows of one core.
struct RegisterMachine {
  int64_t registers, fmaLatency, fmaPorts, loadPorts;
  /// Operations that an unrolled body may have.
  int64_t maxOperations;
};

/// One innermost reduction loop and what its body does in one iteration.
struct Kernel {
  AffineForOp inner; // carries accumulators, holds no loop
  AffineForOp outer; // outermost loop that carries them too
  int64_t accumulators = 0;
  int64_t operations = 0; // arithmetic that combines into accumulators
  SmallVector<Access, 0> loads;
};

/// What rows may touch that functions are computed of side by side: first-level
/// caches hold 32 KiB or more.
static constexpr uint64_t mostRowBytes = 32768;

/// A choice: loops to unroll, outermost first, with their factors.
struct Tile {
  SmallVector<AffineForOp, 2> loops;
  SmallVector<int64_t, 2> factors;
  double cyclesPerOperation = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Collection
//===----------------------------------------------------------------------===//

static bool isArithmetic(Operation *op) {
  Dialect *dialect = op->getDialect();
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(dialect) ||
         isa<vector::FMAOp>(op);
}

/// Fills in the reduction of an innermost loop; fails where it is none.
static FailureOr<Kernel> collectReduction(AffineForOp loop) {
  Kernel reduction;
  reduction.inner = loop;
  if (loop.getNumIterOperands() == 0)
    return failure();
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.getNumRegions() > 0)
      return failure();
    if (isArithmetic(&op))
      ++reduction.operations;
  }
  SmallVector<Access, 8> accesses;
  collectAccesses(loop, accesses);
  for (Access &access : accesses) {
    // Stores inside the reduction would have to stay in order.
    if (access.isWrite || !access.isAffine())
      return failure();
    reduction.loads.push_back(access);
  }
  reduction.accumulators = loop.getNumIterOperands();
  reduction.outer = outermostCarrier(loop);
  if (reduction.operations == 0 || reduction.loads.empty())
    return failure();
  return reduction;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Trip count, or `unknown` where it is not constant.
static int64_t tripCountOr(AffineForOp loop, int64_t unknown) {
  std::optional<uint64_t> trip = getTripCount(loop);
  return trip ? static_cast<int64_t>(*trip) : unknown;
}

/// Share of iterations of `loop` that run in full tiles.
static double coveredShare(AffineForOp loop, int64_t factor) {
  int64_t trip = tripCountOr(loop, 1 << 20);
  return trip == 0 ? 1.0
                   : static_cast<double>(trip - trip % factor) /
                         static_cast<double>(trip);
}

/// Cycles for one operation of the reduction when `loops` are unrolled by
/// `factors`: the larger of arithmetic and load port use, with accumulators
/// too few to cover the latency counted as waiting. Negative if the tile does
/// not fit the registers.
static double costOf(const Kernel &reduction, ArrayRef<AffineForOp> loops,
                     ArrayRef<int64_t> factors,
                     const RegisterMachine &machine) {
  int64_t copies = 1;
  for (int64_t factor : factors)
    copies *= factor;
  int64_t accumulators = reduction.accumulators * copies;
  int64_t loads = 0, heldOperands = 0;
  for (const Access &load : reduction.loads) {
    int64_t times = 1;
    for (auto [loop, factor] : llvm::zip(loops, factors))
      if (!isInvariantTo(load,
                         const_cast<AffineForOp &>(loop).getInductionVar()))
        times *= factor;
    loads += times;
    // A load that serves several accumulators sits in a register meanwhile.
    if (times < copies)
      heldOperands = heldOperands == 0 ? times : std::min(heldOperands, times);
  }
  // One side of the products is held, the other comes through one register.
  if (accumulators + heldOperands + 1 > machine.registers)
    return -1;
  double operations = static_cast<double>(reduction.operations * copies);
  double arithmetic = operations / static_cast<double>(machine.fmaPorts);
  double waiting = static_cast<double>(machine.fmaLatency) *
                   static_cast<double>(reduction.operations) /
                   static_cast<double>(reduction.accumulators);
  double loading =
      static_cast<double>(loads) / static_cast<double>(machine.loadPorts);
  return std::max({arithmetic, waiting, loading}) / operations;
}

/// Cost with the part that runs outside full tiles at the cost of no tile.
static double costWithRemainder(const Kernel &reduction,
                                ArrayRef<AffineForOp> loops,
                                ArrayRef<int64_t> factors,
                                const RegisterMachine &machine,
                                double untiled) {
  double tiled = costOf(reduction, loops, factors, machine);
  if (tiled < 0)
    return -1;
  double covered = 1;
  for (auto [loop, factor] : llvm::zip(loops, factors))
    covered *= coveredShare(loop, factor);
  return covered * tiled + (1 - covered) * untiled;
}

static constexpr int64_t kMaxFactor = 8;

/// The best tile over all pairs of candidates; without loops if none pays.
static Tile chooseTile(const Kernel &reduction,
                       ArrayRef<AffineForOp> candidates,
                       const RegisterMachine &machine) {
  Tile best;
  double untiled = costOf(reduction, {}, {}, machine);
  best.cyclesPerOperation = untiled;
  llvm::SmallDenseMap<Operation *, int64_t> sizes; // of bodies
  for (AffineForOp loop : candidates)
    sizes[loop] = int64_t(countOperations(loop)) - 1;
  auto consider = [&](ArrayRef<AffineForOp> loops, ArrayRef<int64_t> factors) {
    // What stands around an inner loop is copied with the outer one alone.
    int64_t size = 0, gained = 0;
    for (size_t i = loops.size(); i-- > 0;) {
      size = (sizes[loops[i]] + gained) * factors[i];
      gained = size - sizes[loops[i]];
    }
    if (size > machine.maxOperations)
      return;
    for (auto [loop, factor] : llvm::zip(loops, factors))
      if (tripCountOr(loop, 1 << 20) < factor)
        return;
    double cost =
        costWithRemainder(reduction, loops, factors, machine, untiled);
    // A larger tile must earn its code size.
    if (cost < 0 || cost > best.cyclesPerOperation * 0.98)
      return;
    best.loops.assign(loops.begin(), loops.end());
    best.factors.assign(factors.begin(), factors.end());
    best.cyclesPerOperation = cost;
  };
  for (size_t a = 0; a < candidates.size(); ++a) {
    for (int64_t f = 2; f <= kMaxFactor; ++f)
      consider({candidates[a]}, {f});
    for (size_t b = a + 1; b < candidates.size(); ++b)
      for (int64_t f = 2; f <= kMaxFactor; ++f)
        for (int64_t g = 2; g <= kMaxFactor; ++g)
          consider({candidates[a], candidates[b]}, {f, g});
  }
  return best;
}

/// Bytes that the loops along a row touch: of each buffer what any of them
/// does.
static uint64_t countRowBytes(AffineForOp rows) {
  llvm::SmallMapVector<Value, uint64_t, 4> bytes;
  for (auto loop : rows.getBody()->getOps<AffineForOp>()) {
    llvm::SmallMapVector<Value, SmallVector<Access, 0>, 4> touched;
    SmallVector<Access, 0> accesses;
    collectAccesses(loop, accesses);
    for (Access &access : accesses)
      touched[access.base].push_back(std::move(access));
    for (auto &[base, ofBase] : touched)
      bytes[base] = std::max(
          bytes[base], getFootprintBytes(ofBase, loop).value_or(mostRowBytes));
  }
  uint64_t sum = 0;
  for (auto [base, size] : bytes)
    sum = saturatingAdd(sum, size);
  return sum;
}

namespace {
struct TileRegistersPass : impl::TileRegistersBase<TileRegistersPass> {
  using TileRegistersBase::TileRegistersBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, int64_t value, int64_t most) {
      return checkOption(context, name, value, 1, most);
    };
    return success(
        succeeded(check("vector-registers", vectorRegisters, 128)) &&
        succeeded(check("fma-latency-cycles", fmaLatencyCycles, 64)) &&
        succeeded(check("fma-ports", fmaPorts, 16)) &&
        succeeded(check("load-ports", loadPorts, 16)) &&
        succeeded(check("max-operations", maxOperations, 1 << 20)));
  }

  void runOnOperation() override {
    SmallVector<AffineForOp> nests;
    getOperation().walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      nests.push_back(loop);
      return WalkResult::skip();
    });
    for (AffineForOp nest : nests)
      tileNest(nest);
  }

  /// True if a first run has tiled something in the nest.
  static bool isTiled(AffineForOp nest) {
    return nest
        ->walk([](AffineForOp loop) {
          return loop->hasAttr(kTiled) ? WalkResult::interrupt()
                                       : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// The deepest reduction of a nest: the one that runs most often.
  static FailureOr<Kernel> findReduction(AffineForOp nest) {
    FailureOr<Kernel> found = failure();
    unsigned deepest = 0;
    nest.walk([&](AffineForOp loop) {
      FailureOr<Kernel> reduction = collectReduction(loop);
      unsigned depth = getNestingDepth(loop);
      if (failed(reduction) || (succeeded(found) && depth <= deepest))
        return;
      found = std::move(reduction);
      deepest = depth;
    });
    return found;
  }

  /// Loops around the reduction whose form allows unrolling, outermost first.
  static SmallVector<AffineForOp> findCandidates(const Kernel &reduction,
                                                 std::string &reason) {
    SmallVector<AffineForOp> candidates;
    reason = "no loop around the reduction";
    AffineForOp outer = reduction.outer;
    for (Operation *parent = outer->getParentOp();
         auto around = dyn_cast_or_null<AffineForOp>(parent);
         parent = parent->getParentOp()) {
      reason = whyNotJammed(around);
      if (around == outer->getParentOp() &&
          findFunctionsBehind(reduction.inner) &&
          countRowBytes(around) > mostRowBytes / 2)
        reason = "two rows are too large for the first-level cache";
      if (!reason.empty())
        break;
      candidates.push_back(around);
    }
    std::reverse(candidates.begin(), candidates.end());
    return candidates;
  }

  /// Chooses a tile and asks whether its loops carry dependences; a loop that
  /// does is no candidate for the next choice. Only chosen loops are asked
  /// about, since the question costs more than the choice.
  static Tile chooseLegalTile(const Kernel &reduction,
                              SmallVector<AffineForOp> &candidates,
                              const RegisterMachine &machine,
                              std::string &reason) {
    DependenceAnalysis dependences;
    SmallPtrSet<Operation *, 4> known;
    while (true) {
      Tile tile = chooseTile(reduction, candidates, machine);
      auto *illegal = llvm::find_if(tile.loops, [&](AffineForOp loop) {
        return known.insert(loop).second &&
               !dependences.loopIsParallel(loop, &reason);
      });
      if (illegal == tile.loops.end())
        return tile;
      candidates.erase(llvm::find(candidates, *illegal));
    }
  }

  void tileNest(AffineForOp nest) {
    FailureOr<Kernel> reduction = findReduction(nest);
    if (failed(reduction) || isTiled(nest))
      return;
    RegisterMachine machine = {vectorRegisters, fmaLatencyCycles, fmaPorts,
                               loadPorts, maxOperations};
    std::string reason;
    SmallVector<AffineForOp> candidates = findCandidates(*reduction, reason);
    Tile tile = chooseLegalTile(*reduction, candidates, machine, reason);
    Location loc = reduction->inner.getLoc();
    if (tile.loops.empty()) {
      ++numDeclined;
      remark(RemarkKind::Declined, loc, "tile-registers",
             candidates.empty() ? StringRef(reason)
                                : StringRef("no tile is faster"))
          << arg("candidates", candidates.size())
          << arg("cycles-per-operation", tile.cyclesPerOperation);
      return;
    }
    ++numApplied;
    auto applied = remark(RemarkKind::Applied, loc, "tile-registers",
                          "unrolled and jammed");
    for (int64_t factor : tile.factors)
      applied << arg("factor", factor);
    applied << arg("cycles-per-operation", tile.cyclesPerOperation);
    // The inner loop first: the outer one then copies the jammed body.
    for (size_t i = tile.loops.size(); i-- > 0;)
      (void)unrollAndJam(tile.loops[i], tile.factors[i]);
  }
};
} // namespace

} // namespace polynest
