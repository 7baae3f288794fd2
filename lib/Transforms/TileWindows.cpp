//===- TileWindows.cpp - rows of a sliding window in one register tile ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a reduction runs over windows that slide (depthwise convolutions,
// pooling), unrolls and jams a few rows and unrolls the loop over the window's
// taps along which it slides, so that an input that belongs to several rows is
// loaded once. Sums are updated input by input, which keeps few values alive.
// Legal when: the loop of rows carries no dependence (loopIsParallel) and its
// form allows jamming; the reduction is a band of loops around straight code
// without stores in which each carried value depends on itself alone. The taps
// may be outside of other loops of the reduction and are then moved into them:
// the order of accumulation is free (numerics (a)); every other order of
// operations stays.
// Profitable when: pn_model_window_tile (Target/WindowModel.h) has a tile.
// Limits: one loop of rows a reduction; up to 8 taps and 8 rows; rows that fill
// no tile make one of their own where their number is known.
// Cost: operations of the reduction times rows times taps.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/JamLoops.h"
#include "Transforms/NestUtils.h"
#include "Transforms/Window.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_TILEWINDOWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-tile-windows"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "tile-windows";
/// On loops over taps that are to be unrolled, while rows are jammed.
static constexpr llvm::StringLiteral kTaps = "polynest.taps";

namespace {
/// A loop of rows and the reductions inside whose windows slide along it.
struct Decision {
  AffineForOp rows;
  SmallVector<Window, 2> windows;
  pn_model_window_tile_t tile = {};
};
} // namespace

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// The smallest tile that all windows of the loop want; false if one wants
/// none.
static bool chooseTile(Decision &decision, const pn_model_core_t &core) {
  for (const Window &window : decision.windows) {
    pn_model_window_tile_t tile;
    if (!pn_model_window_tile(&core, &window.numbers, &tile))
      return false;
    if (decision.tile.rows == 0 || tile.rows < decision.tile.rows)
      decision.tile = tile;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// How deep the loop of an induction variable is nested; other values first.
static unsigned depthOf(Value value) {
  AffineForOp loop = getForInductionVarOwner(value);
  return loop ? getNestingDepth(loop) + 1 : 0;
}

/// An index map in a form that two loads of one place share: composed, with its
/// dimensions in the order of their loops.
static void normalizeIndex(AffineMap &map, SmallVectorImpl<Value> &operands) {
  SmallVector<Value> values(operands.begin(), operands.end());
  fullyComposeAffineMapAndOperands(&map, &values);
  canonicalizeMapAndOperands(&map, &values);
  unsigned dims = map.getNumDims();
  auto order = llvm::to_vector(llvm::seq<unsigned>(dims));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    unsigned depthOfA = depthOf(values[a]), depthOfB = depthOf(values[b]);
    return depthOfA != depthOfB ? depthOfA < depthOfB : a < b;
  });
  SmallVector<AffineExpr> renamed(dims);
  operands.clear();
  for (auto [position, dim] : llvm::enumerate(order)) {
    renamed[dim] = getAffineDimExpr(position, map.getContext());
    operands.push_back(values[dim]);
  }
  SmallVector<AffineExpr> symbols;
  for (unsigned s = 0; s < map.getNumSymbols(); ++s)
    symbols.push_back(getAffineSymbolExpr(s, map.getContext()));
  operands.append(values.begin() + dims, values.end());
  map = map.replaceDimsAndSymbols(renamed, symbols, dims, map.getNumSymbols());
}

namespace {
/// Writes the straight code of a reduction for all its taps.
class TapEmitter {
public:
  TapEmitter(OpBuilder &builder, AffineForOp inner,
             MutableArrayRef<IRMapping> taps)
      : builder(builder), inner(inner), taps(taps) {}

  /// The value that carried value `position` has after tap `tap`.
  Value emitSum(unsigned position, unsigned tap) {
    return emit(inner.getYieldedValues()[position], tap);
  }

private:
  Value emit(Value value, unsigned tap) {
    if (Value done = taps[tap].lookupOrNull(value))
      return done;
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != inner.getBody())
      return value;
    for (Value operand : def->getOperands())
      (void)emit(operand, tap);
    if (auto load = dyn_cast<AffineLoadOp>(def))
      taps[tap].map(load.getResult(), emitLoad(load, tap));
    else if (auto load = dyn_cast<AffineVectorLoadOp>(def))
      taps[tap].map(load.getResult(), emitLoad(load, tap));
    else
      builder.clone(*def, taps[tap]);
    return taps[tap].lookup(value);
  }

  /// A load that another tap or row has made is not made again: nothing is
  /// stored in between.
  template <typename Load>
  Value emitLoad(Load load, unsigned tap) {
    SmallVector<Value> operands;
    for (Value operand : load.getMapOperands())
      operands.push_back(taps[tap].lookupOrDefault(operand));
    AffineMap map = load.getAffineMap();
    normalizeIndex(map, operands);
    for (Operation *other : loads) {
      auto same = dyn_cast<Load>(other);
      if (same && same.getMemRef() == load.getMemRef() &&
          same.getType() == load.getType() && same.getAffineMap() == map &&
          llvm::equal(same.getMapOperands(), operands))
        return same.getResult();
    }
    auto made = cast<Load>(builder.clone(*load));
    made->setOperands(1, made->getNumOperands() - 1, operands);
    made->setAttr(Load::getMapAttrStrName(), AffineMapAttr::get(map));
    loads.push_back(made);
    return made.getResult();
  }

  OpBuilder &builder;
  AffineForOp inner;
  MutableArrayRef<IRMapping> taps;
  SmallVector<Operation *> loads;
};
} // namespace

/// The loop over taps and those of the reduction inside it.
static SmallVector<AffineForOp, 4> getBandFrom(AffineForOp taps) {
  SmallVector<AffineForOp, 4> band{taps};
  while (auto inside = dyn_cast<AffineForOp>(band.back().getBody()->front()))
    band.push_back(inside);
  return band;
}

/// Order in which the sums of a tile are updated: vector by vector, input by
/// input. From position among all sums to tap.
static SmallVector<std::pair<unsigned, unsigned>>
orderUpdates(unsigned sums, unsigned rows, const pn_model_window_t &window) {
  unsigned each = sums / rows;
  SmallVector<std::pair<int64_t, std::pair<unsigned, unsigned>>> inputs;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned tap = 0; tap < unsigned(window.taps); ++tap)
      inputs.push_back(
          {row * window.row_step + tap * window.tap_step, {row, tap}});
  llvm::sort(inputs);
  SmallVector<std::pair<unsigned, unsigned>> order;
  for (unsigned vector = 0; vector < each; ++vector)
    for (const auto &[place, which] : inputs)
      order.push_back({which.first * each + vector, which.second});
  return order;
}

/// Unrolls the loop over taps inside of the loops within it.
static void unrollTaps(AffineForOp taps, unsigned rows,
                       const pn_model_window_t &window) {
  SmallVector<AffineForOp, 4> band = getBandFrom(taps);
  AffineForOp inner = band.back();
  Location loc = taps.getLoc();
  OpBuilder builder(taps);
  int64_t first = taps.getConstantLowerBound(), step = taps.getStepAsInt();
  SmallVector<IRMapping> maps(window.taps);
  for (auto [tap, map] : llvm::enumerate(maps))
    map.map(taps.getInductionVar(),
            arith::ConstantIndexOp::create(builder, loc,
                                           first + int64_t(tap) * step)
                .getResult());
  SmallVector<Value> sums(taps.getInits());
  SmallVector<AffineForOp, 4> made;
  for (AffineForOp loop : llvm::drop_begin(band)) {
    AffineForOp copy = copyLoop(builder, loop.getLoc(), loop, {}, sums);
    copy->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
    for (IRMapping &map : maps)
      map.map(loop.getInductionVar(), copy.getInductionVar());
    sums.assign(copy.getRegionIterArgs().begin(),
                copy.getRegionIterArgs().end());
    builder.setInsertionPointToEnd(copy.getBody());
    made.push_back(copy);
  }
  TapEmitter emitter(builder, inner, maps);
  for (auto [sum, tap] : orderUpdates(sums.size(), rows, window)) {
    maps[tap].map(inner.getRegionIterArgs()[sum], sums[sum]);
    sums[sum] = emitter.emitSum(sum, tap);
  }
  for (AffineForOp loop : llvm::reverse(made)) {
    builder.setInsertionPointToEnd(loop.getBody());
    AffineYieldOp::create(builder, loc, sums);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  }
  taps->replaceAllUsesWith(sums);
  taps.erase();
}

/// Unrolls all loops over taps inside `loop`, which holds `rows` rows.
static void unrollAllTaps(AffineForOp loop, unsigned rows,
                          const pn_model_window_t &window) {
  SmallVector<AffineForOp, 2> found;
  loop->walk([&](AffineForOp taps) {
    if (taps->hasAttr(kTaps))
      found.push_back(taps);
  });
  for (AffineForOp taps : found)
    unrollTaps(taps, rows, window);
}

static void apply(Decision &decision) {
  const pn_model_window_t window = decision.windows.front().numbers;
  for (Window &each : decision.windows)
    each.taps->setAttr(kTaps, UnitAttr::get(each.taps.getContext()));
  std::optional<uint64_t> trips = getTripCount(decision.rows);
  int64_t factor = decision.tile.rows;
  auto [tiled, rest] = unrollAndJam(decision.rows, factor);
  unrollAllTaps(tiled, unsigned(factor), window);
  if (!rest)
    return;
  int64_t left = trips ? int64_t(*trips) % factor : 1;
  if (left > 1) {
    auto [last, none] = unrollAndJam(rest, left);
    assert(!none && "the rest is one tile");
    rest = last;
  }
  unrollAllTaps(rest, unsigned(left), window);
}

namespace {
struct TileWindowsPass : impl::TileWindowsBase<TileWindowsPass> {
  using TileWindowsBase::TileWindowsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, int64_t value, int64_t most) {
      return checkOption(context, name, value, 1, most);
    };
    if (failed(check("vector-registers", vectorRegisters, 128)) ||
        failed(check("fma-latency-cycles", fmaLatencyCycles, 64)) ||
        failed(check("fma-ports", fmaPorts, 16)) ||
        failed(check("load-ports", loadPorts, 16)))
      return failure();
    core = {};
    core.vector_registers = int32_t(vectorRegisters);
    core.fma_latency_cycles = int32_t(fmaLatencyCycles);
    core.fma_ports = int32_t(fmaPorts);
    core.load_ports = int32_t(loadPorts);
    return success();
  }

  void runOnOperation() override {
    // By loop of rows, in the order in which their first windows stand.
    llvm::MapVector<Operation *, Decision> found;
    getOperation()->walk([&](AffineForOp loop) {
      for (Operation *around = loop; around; around = around->getParentOp())
        if (around->hasAttr(kTiled))
          return;
      std::optional<Window> window = findWindow(loop);
      if (!window)
        return;
      Decision &decision = found[window->rows];
      decision.rows = window->rows;
      decision.windows.push_back(*window);
    });
    DependenceAnalysis dependences;
    SmallVector<Decision> decisions;
    for (auto &[rows, decision] : found) {
      std::string reason = whyNot(decision, dependences);
      if (reason.empty()) {
        decisions.push_back(std::move(decision));
        continue;
      }
      ++numDeclined;
      remark(RemarkKind::Declined, rows->getLoc(), passName, reason);
    }
    for (Decision &decision : decisions) {
      ++numApplied;
      remark(RemarkKind::Applied, decision.rows.getLoc(), passName,
             "rows share the inputs of their windows")
          << arg("rows", decision.tile.rows)
          << arg("taps", decision.windows.front().numbers.taps)
          << arg("reductions", decision.windows.size())
          << arg("loads", decision.tile.loads)
          << arg("cycles", decision.tile.cycles_per_group);
      apply(decision);
    }
  }

  /// Why the rows are left alone; empty if a tile was chosen.
  std::string whyNot(Decision &decision, DependenceAnalysis &dependences) {
    std::string reason = whyNotJammed(decision.rows);
    if (!reason.empty())
      return reason;
    // Another reduction inside would be jammed with them.
    const pn_model_window_t &first = decision.windows.front().numbers;
    for (const Window &window : decision.windows)
      if (window.numbers.taps != first.taps ||
          window.numbers.row_step != first.row_step ||
          window.numbers.tap_step != first.tap_step)
        return "windows of one loop differ";
    size_t inner = 0;
    bool isNested = false;
    decision.rows->walk([&](AffineForOp loop) {
      isNested |= loop->hasAttr(kTiled);
      inner += loop.getNumIterOperands() != 0 &&
               !isa<AffineForOp>(loop.getBody()->front());
    });
    if (isNested)
      return "a loop inside is tiled";
    if (inner != decision.windows.size())
      return "not all reductions inside slide";
    if (!chooseTile(decision, core))
      return "no tile is faster";
    if (!dependences.loopIsParallel(decision.rows, &reason))
      return reason;
    return {};
  }

  pn_model_core_t core;
};
} // namespace

} // namespace polynest
