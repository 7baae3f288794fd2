//===- JamReductions.cpp - rows that are reduced share loads and streams --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where each row of a large operand is reduced along itself (a matrix
// times a vector or a few of them, weights of a linear layer times a small
// batch, sums of rows), takes several rows at a time, and several of the other
// operand's: one loop carries the sums of all pairs, so that what is loaded
// serves several of them and memory is read in several streams at once. The
// loop stays scalar for the vectorizer.
// Legal when: the form is that of Analysis/ReductionNest.h and no parallel loop
// carries a dependence (loopIsParallel): then iterations may be interleaved in
// any way, as long as each reads before it stores.
// Profitable when: loads are contiguous along the innermost reduction loop or
// stand still there, at least for 16 iterations (scales of groups), the large
// operand does not stay in L2, and at most 16 rows of the other one use it; how
// many rows share, Target/ReductionModel.h says. Where the number of rows is
// not known, a condition chooses between this form and the nest as it was.
// Limits: rectangular loops; affine loads; rows of at least 128 elements.
// Cost: operations of the nest times the pairs, a dependence question for each
// loop.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Dependence.h"
#include "Analysis/ReductionNest.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Target/ReductionModel.h"
#include "Transforms/ContractionBlocks.h"
#include "Transforms/NestUtils.h"
#include "Transforms/VectorizeUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"

namespace polynest {
#define GEN_PASS_DEF_JAMREDUCTIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-jam-reductions"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "jam-reductions";
static constexpr llvm::StringLiteral kMark = "polynest.jammed";

namespace {
struct Decision {
  ReductionNest nest;
  /// Parallel loops that move the large operand, and the others.
  SmallVector<AffineForOp, 4> columns, rows;
  int64_t bytes = 0;
  int64_t jamColumns = 1, jamRows = 1;
  /// The row loop whose number of iterations is not known; the jammed form then
  /// stands for up to `mostRows` of them, and a copy of the nest for more.
  AffineForOp unknownRows;
  int64_t mostRows = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// The parallel loops that move the access.
static SmallVector<AffineForOp, 4> getMovingLoops(const Access &access,
                                                  const ReductionNest &nest) {
  SmallVector<AffineForOp, 4> loops;
  for (AffineForOp loop : nest.parallelLoops)
    if (!isInvariantTo(access, loop.getInductionVar()))
      loops.push_back(loop);
  return loops;
}

/// Lanes that groups of the reduction are to fill, each of which has a scale:
/// what stands still in as many is loaded once for them.
static constexpr unsigned mostLanes = 16;

/// Finds the large operand and the loops that move it; empty, or why there is
/// none.
static StringRef sortLoops(Decision &decision) {
  ReductionNest &nest = decision.nest;
  if (!nest.stores.empty())
    return "elements are stored besides";
  if (!nest.searches.empty())
    return "places are found besides";
  AffineForOp last = nest.reductionLoops.back();
  SmallVector<Access, 8> loads;
  for (Operation *op : nest.slice)
    collectAccesses(op, loads);
  double most = 0;
  for (const Access &load : loads) {
    if (!load.isAffine() || !isa<AffineLoadOp>(load.op))
      return "a load is not affine";
    if (standsStillInLanes(load, last, mostLanes))
      continue;
    if (getContiguity(load, last) != Contiguity::Contiguous)
      return "an operand is not contiguous along the reduction";
    SmallVector<AffineForOp, 4> moving = getMovingLoops(load, nest);
    // A number that is not known may be small: beside a known one it is.
    double points = countPoints(moving, PN_MODEL_STREAM_ROWS);
    if (moving.empty() || points <= most)
      continue;
    most = points;
    decision.columns = moving;
    decision.bytes = int64_t(std::min(
        1e15, countPoints(moving) * countPoints(nest.reductionLoops) *
                  double(getElementBytes(cast<AffineLoadOp>(load.op).getType())
                             .value_or(8))));
  }
  if (decision.columns.empty())
    return "no operand has rows along the reduction";
  for (AffineForOp loop : nest.parallelLoops)
    if (!llvm::is_contained(decision.columns, loop))
      decision.rows.push_back(loop);
  return {};
}

/// Shortest rows for which folding the lanes of each sum does not matter.
static constexpr int64_t leastLength = 128;

static StringRef whyNotWorth(Decision &decision, int64_t l2Bytes) {
  std::optional<FewRows> few =
      countFewRows(decision.rows, decision.nest.root, PN_MODEL_STREAM_ROWS);
  if (!few)
    return "many rows use the operand again";
  decision.unknownRows = few->unknown;
  decision.mostRows = few->mostUnknown;
  if (!decision.rows.empty() && multipliesFewRows(decision.nest.root))
    return "the operand is bound once and packed before the call";
  if (getSmallTripCount(decision.nest.reductionLoops.back())
          .value_or(leastLength) < leastLength)
    return "rows are too short";
  if (decision.bytes <= l2Bytes)
    return "the operand stays in L2";
  return {};
}

/// Asks the model; false where one pair is best.
static bool choose(Decision &decision, const pn_model_core_t &core) {
  std::optional<int64_t> columns = getSmallTripCount(decision.columns.back());
  int64_t rows =
      decision.rows.empty()
          ? 1
          : getSmallTripCount(decision.rows.back()).value_or(decision.mostRows);
  int32_t jamRows, jamColumns;
  if (!pn_model_jam(&core, rows, columns.value_or(0),
                    int32_t(decision.nest.accumulators.size()), &jamRows,
                    &jamColumns))
    return false;
  decision.jamRows = jamRows;
  decision.jamColumns = jamColumns;
  return jamRows * jamColumns > 1;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

namespace {
/// Writes the jammed form of one nest.
class Emitter {
public:
  explicit Emitter(Decision &decision)
      : decision(decision), nest(decision.nest), builder(nest.root),
        loc(nest.root.getLoc()) {}

  void emit();

private:
  AffineForOp makeLoop(AffineForOp like, AffineMap lower, ValueRange lows,
                       AffineMap upper, int64_t step, ValueRange carried = {});
  void openTiles(AffineForOp loop, int64_t jam,
                 function_ref<void(Value, int64_t)> emitTile);
  void emitTile(Value column, int64_t columns, Value row, int64_t rows);
  void emitBand(ArrayRef<AffineForOp> loops, SmallVectorImpl<Value> &sums);
  void cloneShared(ArrayRef<Operation *> ops);
  bool dependsOn(Operation *op, AffineForOp loop);

  Decision &decision;
  ReductionNest &nest;
  OpBuilder builder;
  Location loc;
  /// A mapping for each pair of the open tile, rows innermost.
  SmallVector<IRMapping> maps;
  int64_t tileRows = 1;
  /// What depends on the innermost column and row loop.
  llvm::SmallPtrSet<Operation *, 8> withColumn, withRow;
};
} // namespace

/// A loop over the range of `like` or a part of it.
AffineForOp Emitter::makeLoop(AffineForOp like, AffineMap lower,
                              ValueRange lows, AffineMap upper, int64_t step,
                              ValueRange carried) {
  auto loop =
      AffineForOp::create(builder, loc, lows, lower,
                          like.getUpperBoundOperands(), upper, step, carried);
  loop->setAttr(kMark, builder.getUnitAttr());
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  return loop;
}

/// Runs `emitTile` in a loop over whole tiles of `jam` iterations, and for what
/// is left.
void Emitter::openTiles(AffineForOp loop, int64_t jam,
                        function_ref<void(Value, int64_t)> emitTile) {
  int64_t step = loop.getStepAsInt();
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  ValueRange lows = loop.getLowerBoundOperands();
  std::optional<int64_t> trips = getSmallTripCount(loop);
  bool splits = lower.isSingleConstant();
  if (!splits || (trips && *trips < jam))
    jam = splits ? *trips : 1;
  AffineMap covered = upper;
  if (splits) {
    int64_t start = lower.getSingleConstantResult();
    AffineExpr count = (upper.getResult(0) - start).ceilDiv(step);
    covered = simplifyAffineMap(AffineMap::get(
        upper.getNumDims(), upper.getNumSymbols(),
        count.floorDiv(jam) * (jam * step) + start, builder.getContext()));
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    AffineForOp tiles = makeLoop(loop, lower, lows, covered, jam * step);
    emitTile(tiles.getInductionVar(), jam);
  }
  if (jam == 1 || (trips && *trips % jam == 0))
    return;
  OpBuilder::InsertionGuard guard(builder);
  if (trips) {
    Value start = arith::ConstantIndexOp::create(
        builder, loc,
        lower.getSingleConstantResult() + (*trips - *trips % jam) * step);
    emitTile(start, *trips % jam);
    return;
  }
  // From where tiles end, but not from before the loop.
  AffineMap from = AffineMap::get(covered.getNumDims(), covered.getNumSymbols(),
                                  {lower.getResult(0), covered.getResult(0)},
                                  builder.getContext());
  AffineForOp rest =
      makeLoop(loop, from, loop.getUpperBoundOperands(), upper, step);
  emitTile(rest.getInductionVar(), 1);
}

/// Copies code for all pairs, once for those in which it computes the same.
void Emitter::cloneShared(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    for (auto [i, map] : llvm::enumerate(maps)) {
      size_t column = withColumn.contains(op) ? i / tileRows : 0;
      size_t row = withRow.contains(op) ? i % tileRows : 0;
      size_t home = column * tileRows + row;
      if (home == i) {
        builder.clone(*op, map);
        continue;
      }
      for (Value result : op->getResults())
        map.map(result, maps[home].lookup(result));
    }
}

/// The reduction loops, carrying `sums`, which become the totals.
void Emitter::emitBand(ArrayRef<AffineForOp> loops,
                       SmallVectorImpl<Value> &sums) {
  if (loops.empty()) {
    cloneShared(nest.slice);
    for (size_t i = 0; i < sums.size(); ++i) {
      const Accumulator &accumulator =
          nest.accumulators[i % nest.accumulators.size()];
      IRMapping map = maps[i / nest.accumulators.size()];
      map.map(accumulator.combiner->getOperand(accumulator.place), sums[i]);
      sums[i] = builder.clone(*accumulator.combiner, map)->getResult(0);
    }
    return;
  }
  OpBuilder::InsertionGuard guard(builder);
  AffineForOp like = loops.front();
  AffineForOp loop =
      makeLoop(like, like.getLowerBoundMap(), like.getLowerBoundOperands(),
               like.getUpperBoundMap(), like.getStepAsInt(), sums);
  loop->setAttr(kTiled, builder.getUnitAttr());
  for (IRMapping &map : maps)
    map.map(like.getInductionVar(), loop.getInductionVar());
  SmallVector<Value> inside(loop.getRegionIterArgs().begin(),
                            loop.getRegionIterArgs().end());
  emitBand(loops.drop_front(), inside);
  AffineYieldOp::create(builder, loc, inside);
  sums.assign(loop.result_begin(), loop.result_end());
}

void Emitter::emitTile(Value column, int64_t columns, Value row, int64_t rows) {
  IRMapping outer = maps.front();
  maps.clear();
  tileRows = rows;
  auto place = [&](AffineForOp loop, Value start, int64_t number) {
    OpFoldResult iv = makeComposedFoldedAffineApply(
        builder, loc,
        AffineMap::get(
            1, 0, builder.getAffineDimExpr(0) + number * loop.getStepAsInt()),
        {OpFoldResult(start)});
    return getValueOrCreateConstantIndexOp(builder, loc, iv);
  };
  SmallVector<Value> columnIvs, rowIvs;
  for (int64_t c = 0; c < columns; ++c)
    columnIvs.push_back(place(decision.columns.back(), column, c));
  for (int64_t r = 0; row && r < rows; ++r)
    rowIvs.push_back(place(decision.rows.back(), row, r));
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      maps.push_back(outer);
      AffineForOp last = decision.columns.back();
      maps.back().map(last.getInductionVar(), columnIvs[c]);
      if (row) {
        last = decision.rows.back();
        maps.back().map(last.getInductionVar(), rowIvs[r]);
      }
    }
  SmallVector<Value> sums;
  for (IRMapping &map : maps) {
    for (Operation *op : nest.initSlice)
      builder.clone(*op, map);
    for (const Accumulator &accumulator : nest.accumulators)
      sums.push_back(map.lookupOrDefault(accumulator.init));
  }
  emitBand(nest.reductionLoops, sums);
  for (auto [i, map] : llvm::enumerate(maps)) {
    for (auto [n, accumulator] : llvm::enumerate(nest.accumulators))
      map.map(accumulator.total, sums[i * nest.accumulators.size() + n]);
    for (Operation *op : nest.finish)
      builder.clone(*op, map);
  }
  maps.assign(1, outer);
}

/// True if the operation uses the loop's variable, or a value that does.
bool Emitter::dependsOn(Operation *op, AffineForOp loop) {
  auto &known = loop == decision.columns.back() ? withColumn : withRow;
  return op
      ->walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(),
                            [&](Value operand) {
                              return operand == loop.getInductionVar() ||
                                     (operand.getDefiningOp() &&
                                      known.contains(operand.getDefiningOp()));
                            })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void Emitter::emit() {
  for (Operation *op : nest.slice) {
    if (dependsOn(op, decision.columns.back()))
      withColumn.insert(op);
    if (!decision.rows.empty() && dependsOn(op, decision.rows.back()))
      withRow.insert(op);
  }
  if (AffineIfOp guard = nest.guard) {
    auto around =
        AffineIfOp::create(builder, loc, guard.getIntegerSet(),
                           guard.getOperands(), /*withElseRegion=*/false);
    builder.setInsertionPoint(around.getThenBlock()->getTerminator());
  }
  maps.resize(1);
  auto openWhole = [&](AffineForOp loop) {
    AffineForOp made =
        makeLoop(loop, loop.getLowerBoundMap(), loop.getLowerBoundOperands(),
                 loop.getUpperBoundMap(), loop.getStepAsInt());
    maps.front().map(loop.getInductionVar(), made.getInductionVar());
  };
  for (AffineForOp loop : ArrayRef(decision.columns).drop_back())
    openWhole(loop);
  openTiles(decision.columns.back(), decision.jamColumns,
            [&](Value column, int64_t columns) {
              if (decision.rows.empty()) {
                emitTile(column, columns, Value(), 1);
                return;
              }
              for (AffineForOp loop : ArrayRef(decision.rows).drop_back())
                openWhole(loop);
              openTiles(decision.rows.back(), decision.jamRows,
                        [&](Value row, int64_t rows) {
                          emitTile(column, columns, row, rows);
                        });
            });
  nest.root.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct JamReductionsPass : impl::JamReductionsBase<JamReductionsPass> {
  using JamReductionsBase::JamReductionsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, int64_t value, int64_t least,
                     int64_t most) {
      return checkOption(context, name, value, least, most);
    };
    if (failed(check("vector-registers", vectorRegisters, 8, 256)) ||
        failed(check("l2-size-kib", l2SizeKib, 16, 1048576)))
      return failure();
    core = {};
    core.vector_registers = int32_t(vectorRegisters);
    return success();
  }

  void runOnOperation() override {
    SmallVector<Decision, 0> decisions;
    DependenceAnalysis dependences;
    numDeclined += takeNests(
        getOperation(), passName,
        [](AffineForOp loop) {
          return loop->hasAttr(kMark) || loop->hasAttr(kStreamed) ||
                 loop->hasAttr(kManyRows);
        },
        [&](AffineForOp loop, std::string &reason) {
          Decision decision;
          auto form = matchReductionNest(loop, reason);
          if (failed(form))
            return false;
          decision.nest = std::move(*form);
          reason = decide(decision, dependences);
          if (!reason.empty())
            return false;
          decisions.push_back(std::move(decision));
          return true;
        });
    for (Decision &decision : decisions) {
      AffineForOp root = decision.nest.root;
      remark(RemarkKind::Applied, root.getLoc(), passName,
             "rows are reduced together")
          << arg("rows", decision.jamRows)
          << arg("columns", decision.jamColumns)
          << arg("most-rows", decision.mostRows);
      if (decision.unknownRows)
        versionOnTrips(root, decision.unknownRows, decision.mostRows)
            ->setAttr(kManyRows, UnitAttr::get(&getContext()));
      Emitter(decision).emit();
    }
    numApplied += decisions.size();
  }

  /// Fills in a decision; returns why there is none, or an empty string. Asks
  /// for dependences last, since that costs most.
  std::string decide(Decision &decision, DependenceAnalysis &dependences) {
    StringRef why = sortLoops(decision);
    if (why.empty())
      why = whyNotWorth(decision, int64_t(l2SizeKib) * 1024);
    if (why.empty() && !choose(decision, core))
      why = "too few rows";
    if (!why.empty())
      return why.str();
    return whyNotParallel(decision.nest.parallelLoops, decision.nest.root,
                          dependences);
  }

  pn_model_core_t core;
};
} // namespace

} // namespace polynest
