//===- StreamReductions.cpp - reductions that read their operand in rows --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: rewrites a nest that combines the rows of a large operand into one row
// of sums, or a few (column sums, vector times matrix, products of few rows),
// so that the operand is read once, in long runs: a run of columns keeps its
// sums in a buffer in L1, rows of the operand pass over it a few at a time, and
// rows of the result share what is loaded. Where there are few runs, the
// reduction is cut in parts with sums of their own, which are combined in
// order. Loops over columns and the few rows stay scalar code for the
// vectorizer.
// Elements that the nest stores besides, such as the exponentials of a softmax
// over its first axis, are stored as they are computed.
// Legal when: the form is that of Analysis/ReductionNest.h and no parallel loop
// carries a dependence (loopIsParallel): then code of different columns and
// rows may be interleaved in any way. Where elements are stored, nor does a
// reduction loop but by the sums. Values are combined in another order and
// grouping (numerics (a)), products summed there are fused (numerics (b)).
// Profitable when: a load that moves with the reduction is contiguous along a
// parallel loop, no load and no stored element is strided there, and at most 16
// rows share it; sizes come from Target/ReductionModel.h.
// Where the number of rows is not known, a condition chooses between this form
// and the nest as it was.
// Limits: rectangular loops; affine loads; at most 16 rows.
// Cost: operations of the nest times the unrolling, a dependence question for
// each loop.
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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"

namespace polynest {
#define GEN_PASS_DEF_STREAMREDUCTIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-stream-reductions"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "stream-reductions";

namespace {
struct Decision {
  ReductionNest nest;
  /// Of the parallel loops, those that move the operand, the contiguous one
  /// last, and those that use it again.
  SmallVector<AffineForOp, 4> columns, rows;
  /// How many of the column loops stand outside of contiguous runs.
  unsigned apart = 0;
  /// Position of the first reduction loop that may run twice.
  unsigned outer = 0;
  int64_t streamBytes = 0;
  SmallVector<AffineLoadOp, 2> streams;
  bool multiplies = false;
  /// The row loop whose number of iterations is not known; this form then
  /// stands for up to `mostRows` of them, and a copy of the nest for more.
  AffineForOp unknownRows;
  int64_t mostRows = 0;
  pn_model_reduction_plan_t plan;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static std::string whyIllegal(const ReductionNest &nest,
                              DependenceAnalysis &dependences) {
  if (nest.parallelLoops.size() + nest.reductionLoops.size() >
      PN_MODEL_MAX_LOOPS)
    return "too many loops";
  for (const Accumulator &accumulator : nest.accumulators) {
    Type type = accumulator.getType();
    if (!type.isIntOrFloat() || !hasVectorLayout(type))
      return "sums of this type have no vectors";
  }
  for (ArrayRef<AffineForOp> loops :
       {ArrayRef(nest.parallelLoops), ArrayRef(nest.reductionLoops)})
    for (AffineForOp loop : loops)
      if (getSmallTripCount(loop) == int64_t(0))
        return "a loop does not run";
  std::string why = whyNotParallel(nest.parallelLoops, nest.root, dependences);
  if (nest.stores.empty())
    return why;
  // Loops that reduce are to carry nothing but the sums.
  for (AffineForOp loop : nest.reductionLoops)
    if (why.empty())
      dependences.loopIsParallel(loop, &why, /*ignoreReductions=*/true);
  return why;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

static bool moves(const Access &access, AffineForOp loop) {
  return !isInvariantTo(access, loop.getInductionVar());
}

static bool movesWithAny(const Access &access, ArrayRef<AffineForOp> loops) {
  return llvm::any_of(loops,
                      [&](AffineForOp loop) { return moves(access, loop); });
}

/// The product that the accumulator adds, if it may be fused with the sum.
static Operation *getProduct(const Accumulator &accumulator) {
  Type type = accumulator.getType();
  auto product = accumulator.value.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() &&
                 isa_and_nonnull<arith::AddFOp>(accumulator.combiner) &&
                 (type.isF32() || type.isF64())
             ? product.getOperation()
             : nullptr;
}

/// How many column loops, from the outermost one, do not go on where those
/// inside them stop.
static unsigned countApart(const Decision &decision) {
  int64_t run = 1;
  for (unsigned i = decision.columns.size(); i-- > 0;) {
    AffineForOp loop = decision.columns[i];
    for (AffineLoadOp load : decision.streams) {
      SmallVector<Access, 1> accesses;
      collectAccesses(load, accesses);
      if (getStride(accesses.front(), loop) != run)
        return i + 1;
    }
    std::optional<int64_t> trips = getSmallTripCount(loop);
    if (!trips)
      return i;
    run *= *trips;
  }
  return 0;
}

/// Sorts the loops by how the loads move; empty, or why it is not worth it.
static StringRef sortLoops(Decision &decision) {
  ReductionNest &nest = decision.nest;
  SmallVector<Access, 8> loads;
  for (Operation *op : nest.slice)
    collectAccesses(op, loads);
  // The longest one: operands of a product may be contiguous along two.
  AffineForOp lane;
  for (const Access &load : loads) {
    if (!load.isAffine() || !isa<AffineLoadOp>(load.op))
      return "a load is not affine";
    if (movesWithAny(load, nest.reductionLoops))
      for (AffineForOp loop : nest.parallelLoops)
        if (getContiguity(load, loop) == Contiguity::Contiguous &&
            (!lane || estimateTrips(loop) >= estimateTrips(lane)))
          lane = loop;
  }
  if (!lane)
    return "no operand is contiguous along a parallel loop";
  for (AffineStoreOp op : nest.stores) {
    SmallVector<Access, 1> stores;
    collectAccesses(op, stores);
    if (getContiguity(stores.front(), lane) != Contiguity::Contiguous)
      return "what is stored is strided along the columns";
    decision.streamBytes += getElementBytes(op.getMemRefType()).value_or(8);
  }
  llvm::SmallPtrSet<Operation *, 4> moving;
  for (const Access &load : loads) {
    Contiguity form = getContiguity(load, lane);
    if (form == Contiguity::Invariant) {
      decision.multiplies |= movesWithAny(load, nest.reductionLoops);
      continue;
    }
    if (form != Contiguity::Contiguous)
      return "an operand is strided along the columns";
    if (addsLoops(load))
      return "windows of an operand overlap";
    if (!movesWithAny(load, nest.reductionLoops))
      continue;
    decision.streams.push_back(cast<AffineLoadOp>(load.op));
    decision.streamBytes +=
        getElementBytes(cast<AffineLoadOp>(load.op).getType()).value_or(8);
    for (AffineForOp loop : nest.parallelLoops)
      if (moves(load, loop))
        moving.insert(loop);
  }
  for (AffineForOp loop : nest.parallelLoops)
    if (loop != lane)
      (moving.contains(loop) ? decision.columns : decision.rows)
          .push_back(loop);
  decision.columns.push_back(lane);
  decision.apart = countApart(decision);
  return {};
}

/// Fewest columns that fill lanes, and fewest iterations that are worth a
/// buffer: sums carried in registers read as many rows side by side, which
/// prefetchers follow up to some number, or L1 makes good for.
static constexpr int64_t leastColumns = 4;
static constexpr int64_t leastDepth = 8, leastCarriedDepth = 64;

static StringRef whyNotWorth(Decision &decision, int64_t l1Bytes,
                             int64_t l2Bytes) {
  std::optional<FewRows> few =
      countFewRows(decision.rows, decision.nest.root, PN_MODEL_STREAM_ROWS);
  if (!few)
    return "many rows use the operand again";
  decision.unknownRows = few->unknown;
  decision.mostRows = few->mostUnknown;
  if (!decision.rows.empty() && multipliesFewRows(decision.nest.root))
    return "the operand is bound once and packed before the call";
  if (getSmallTripCount(decision.columns.back()).value_or(leastColumns) <
      leastColumns)
    return "too few columns";
  double depth = 1;
  for (AffineForOp loop : decision.nest.reductionLoops)
    depth *= double(getMostTrips(loop).value_or(dynamicTrips));
  if (depth < double(decision.nest.inMemory ? leastDepth : leastCarriedDepth))
    return "the reduction is too short";
  double bytes =
      depth * countPoints(decision.columns) * double(decision.streamBytes);
  if (!decision.nest.inMemory && bytes <= double(l1Bytes))
    return "the operand stays in L1";
  // Two forms take twice as long to compile.
  if (decision.unknownRows && bytes <= double(l2Bytes))
    return "many rows may use the operand again";
  return {};
}

/// Asks the model; false where it has no plan.
static bool choose(Decision &decision, const pn_model_core_t &core) {
  ReductionNest &nest = decision.nest;
  pn_model_reduction_t reduction = {};
  reduction.rows = 1;
  for (AffineForOp loop : decision.rows)
    reduction.rows *= getSmallTripCount(loop).value_or(decision.mostRows);
  reduction.rows_vary = bool(decision.unknownRows);
  auto multiply = [](int64_t a, std::optional<int64_t> b) -> int64_t {
    if (a == 0 || !b)
      return 0;
    return *b > INT32_MAX / a ? INT32_MAX : a * *b;
  };
  ArrayRef<AffineForOp> columns = decision.columns;
  reduction.batch = 1;
  for (AffineForOp loop : columns.take_front(decision.apart))
    reduction.batch = multiply(reduction.batch, getSmallTripCount(loop));
  for (AffineForOp loop : columns.drop_front(decision.apart))
    reduction.columns.trips[reduction.columns.count++] =
        getSmallTripCount(loop).value_or(0);
  while (decision.outer + 1 < nest.reductionLoops.size() &&
         getSmallTripCount(nest.reductionLoops[decision.outer]) == int64_t(1))
    ++decision.outer;
  reduction.outer_depth =
      getSmallTripCount(nest.reductionLoops[decision.outer]).value_or(0);
  reduction.inner_depth = 1;
  for (AffineForOp loop :
       ArrayRef(nest.reductionLoops).drop_front(decision.outer + 1))
    reduction.inner_depth =
        multiply(reduction.inner_depth, getSmallTripCount(loop));
  reduction.stream_bytes =
      int32_t(std::min<int64_t>(decision.streamBytes, 4096));
  for (const Accumulator &accumulator : nest.accumulators)
    reduction.sum_bytes +=
        int32_t(accumulator.getType().getIntOrFloatBitWidth() / 8);
  reduction.multiplies = decision.multiplies;
  reduction.stores = !nest.stores.empty();
  if (!pn_model_reduction_plan(&core, &reduction, &decision.plan))
    return false;
  decision.plan.columns.level += int32_t(decision.apart);
  return true;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

namespace {
/// An affine expression over values.
struct Position {
  AffineExpr expr;
  SmallVector<Value, 3> operands;
};

/// Writes the streamed form of one nest.
class Emitter {
public:
  Emitter(Decision &decision)
      : decision(decision), nest(decision.nest), plan(decision.plan),
        builder(decision.nest.root), loc(nest.root.getLoc()) {}

  void emit();

private:
  // Loops, and where they stand.
  Position constant(int64_t value);
  Position add(const Position &a, const Position &b, int64_t scale = 1);
  Position tripsOf(AffineForOp loop);
  AffineForOp makeLoop(AffineMap lower, ValueRange lowerOperands,
                       AffineMap upper, ValueRange upperOperands,
                       int64_t step = 1);
  Value openTo(const Position &end, int64_t step = 1);
  void openWhole(AffineForOp loop);
  void openBlocks();
  std::pair<AffineMap, SmallVector<Value>>
  runOf(AffineForOp loop, const Position &start, int64_t tile);
  void openPoints();
  void openRows();
  Value ivOf(AffineForOp loop, const Position &position);
  IRMapping mapIvs(ArrayRef<AffineForOp> loops);

  // Sums.
  void makeBuffers();
  std::pair<AffineMap, SmallVector<Value>> placeOfSum();
  Value loadSum(unsigned i);
  void storeSum(unsigned i, Value value);
  Value identity(const Accumulator &accumulator);
  Value combine(const Accumulator &accumulator, Value sum,
                ArrayRef<IRMapping> values);
  Found search(const Search &search, ArrayRef<IRMapping> values);

  void emitInit();
  void emitDepth();
  void emitSplitDepth(AffineForOp loop);
  void emitInnerDepth(ArrayRef<AffineForOp> loops);
  void emitLast(AffineForOp loop);
  void emitGroup(int64_t count);
  void emitAllRows(int64_t count);
  void emitUnknownRows(int64_t count);
  void prefetch(int64_t count);
  void emitRows(int64_t count, int64_t jam);
  void emitFinish();
  void finishFrom(ArrayRef<Value> totals);
  void classify();
  void clone(ArrayRef<Operation *> ops, IRMapping &mapping);

  Decision &decision;
  ReductionNest &nest;
  pn_model_reduction_plan_t &plan;
  OpBuilder builder;
  Location loc;
  /// Iterations of a loop, where they are not constant.
  DenseMap<Operation *, Value> tripValues;
  /// The iteration of each open loop, and that of it within a block.
  DenseMap<Operation *, Position> positions, points;
  SmallVector<Value, 2> buffers;
  Value part, chunk;
  /// What computes induction variables; most end up composed into accesses.
  SmallVector<Operation *> ivs;
  /// What an iteration computes and stores.
  SmallVector<Operation *> work;
  llvm::SmallPtrSet<Operation *, 8> withRows, withColumns, fused;
};
} // namespace

Position Emitter::constant(int64_t value) {
  return {builder.getAffineConstantExpr(value), {}};
}

Position Emitter::add(const Position &a, const Position &b, int64_t scale) {
  Position sum = a;
  sum.expr =
      sum.expr + b.expr.shiftDims(b.operands.size(), a.operands.size()) * scale;
  llvm::append_range(sum.operands, b.operands);
  return sum;
}

static Position positionOf(Value value) {
  return {getAffineDimExpr(0, value.getContext()), {value}};
}

/// How many iterations the loop has. Computed in front of the nest where that
/// is not constant.
Position Emitter::tripsOf(AffineForOp loop) {
  if (std::optional<int64_t> trips = getSmallTripCount(loop))
    return constant(*trips);
  Value &value = tripValues[loop];
  if (value)
    return positionOf(value);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(nest.root);
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  unsigned dims = lower.getNumDims(), symbols = lower.getNumSymbols();
  AffineExpr high = upper.getResult(0)
                        .shiftDims(upper.getNumDims(), dims)
                        .shiftSymbols(upper.getNumSymbols(), symbols);
  AffineExpr count = (high - lower.getResult(0)).ceilDiv(loop.getStepAsInt());
  ValueRange lows = loop.getLowerBoundOperands();
  ValueRange highs = loop.getUpperBoundOperands();
  SmallVector<Value> operands(lows.take_front(dims));
  llvm::append_range(operands, highs.take_front(upper.getNumDims()));
  llvm::append_range(operands, lows.drop_front(dims));
  llvm::append_range(operands, highs.drop_front(upper.getNumDims()));
  value = makeComposedAffineApply(
      builder, loc,
      AffineMap::get(dims + upper.getNumDims(), symbols + upper.getNumSymbols(),
                     count),
      getAsOpFoldResult(operands));
  return positionOf(value);
}

AffineForOp Emitter::makeLoop(AffineMap lower, ValueRange lowerOperands,
                              AffineMap upper, ValueRange upperOperands,
                              int64_t step) {
  SmallVector<Value> lows(lowerOperands), highs(upperOperands);
  fullyComposeAffineMapAndOperands(&lower, &lows);
  canonicalizeMapAndOperands(&lower, &lows);
  fullyComposeAffineMapAndOperands(&upper, &highs);
  canonicalizeMapAndOperands(&upper, &highs);
  auto loop =
      AffineForOp::create(builder, loc, lows, lower, highs, upper, step);
  loop->setAttr(kStreamed, builder.getUnitAttr());
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  return loop;
}

/// Opens a loop from 0.
Value Emitter::openTo(const Position &end, int64_t step) {
  return makeLoop(builder.getConstantAffineMap(0), {},
                  AffineMap::get(end.operands.size(), 0, end.expr),
                  end.operands, step)
      .getInductionVar();
}

void Emitter::openWhole(AffineForOp loop) {
  positions[loop] = getSmallTripCount(loop) == int64_t(1)
                        ? constant(0)
                        : positionOf(openTo(tripsOf(loop)));
}

/// Opens the loops over runs of columns.
void Emitter::openBlocks() {
  for (auto [i, loop] : llvm::enumerate(decision.columns)) {
    if (int32_t(i) < plan.columns.level) {
      openWhole(loop);
    } else if (int32_t(i) == plan.columns.level) {
      Position trips = tripsOf(loop);
      if (getSmallTripCount(loop).value_or(INT64_MAX) <= plan.columns.tile) {
        positions[loop] = constant(0);
        continue;
      }
      trips.expr = trips.expr.ceilDiv(plan.columns.tile);
      Position block = positionOf(openTo(trips));
      block.expr = block.expr * plan.columns.tile;
      positions[loop] = block;
    } else {
      positions[loop] = constant(0);
    }
  }
}

/// How many columns the open run has of the loop, from `start` on and not more
/// than `tile`, which divides full runs.
std::pair<AffineMap, SmallVector<Value>>
Emitter::runOf(AffineForOp loop, const Position &start, int64_t tile) {
  std::optional<int64_t> trips = getSmallTripCount(loop);
  Position rest = add(tripsOf(loop), start, -1);
  SmallVector<AffineExpr, 2> ends{builder.getAffineConstantExpr(tile)};
  if (!trips || *trips % tile != 0)
    ends.push_back(rest.expr);
  else
    rest.operands.clear();
  return {AffineMap::get(rest.operands.size(), 0, ends, builder.getContext()),
          SmallVector<Value>(rest.operands.begin(), rest.operands.end())};
}

/// Opens the loops over the columns of a run, or of the open chunk of it.
void Emitter::openPoints() {
  AffineMap zero = builder.getConstantAffineMap(0);
  for (auto [i, loop] : llvm::enumerate(decision.columns)) {
    if (int32_t(i) < plan.columns.level)
      continue;
    std::optional<int64_t> trips = getSmallTripCount(loop);
    if (trips == int64_t(1)) {
      points[loop] = constant(0);
      continue;
    }
    Position start = positions[loop];
    int64_t tile =
        int32_t(i) == plan.columns.level ? plan.columns.tile : *trips;
    bool isChunk = chunk && loop == decision.columns.back();
    if (isChunk) {
      start = add(start, positionOf(chunk));
      tile = plan.chunk;
    }
    auto [upper, operands] = runOf(loop, start, tile);
    points[loop] =
        positionOf(makeLoop(zero, {}, upper, operands).getInductionVar());
    if (isChunk)
      points[loop] = add(positionOf(chunk), points[loop]);
  }
}

void Emitter::openRows() {
  for (AffineForOp loop : decision.rows)
    openWhole(loop);
}

/// The original induction variable: lower + step * position.
Value Emitter::ivOf(AffineForOp loop, const Position &position) {
  AffineMap lower = loop.getLowerBoundMap();
  ValueRange lows = loop.getLowerBoundOperands();
  unsigned dims = lower.getNumDims();
  SmallVector<Value> operands(lows.take_front(dims));
  llvm::append_range(operands, position.operands);
  llvm::append_range(operands, lows.drop_front(dims));
  AffineExpr value = lower.getResult(0) +
                     position.expr.shiftDims(position.operands.size(), dims) *
                         loop.getStepAsInt();
  OpFoldResult result = makeComposedFoldedAffineApply(
      builder, loc,
      AffineMap::get(dims + position.operands.size(), lower.getNumSymbols(),
                     value),
      getAsOpFoldResult(operands));
  Value iv = getValueOrCreateConstantIndexOp(builder, loc, result);
  if (Operation *made = iv.getDefiningOp())
    ivs.push_back(made);
  return iv;
}

/// The variables of loops that are open.
IRMapping Emitter::mapIvs(ArrayRef<AffineForOp> loops) {
  IRMapping mapping;
  for (AffineForOp loop : loops) {
    auto found = positions.find(loop);
    if (found == positions.end())
      continue;
    Position position = found->second;
    auto point = points.find(loop);
    if (point != points.end())
      position = add(position, point->second);
    mapping.map(loop.getInductionVar(), ivOf(loop, position));
  }
  return mapping;
}

void Emitter::clone(ArrayRef<Operation *> ops, IRMapping &mapping) {
  for (Operation *op : ops)
    builder.clone(*op, mapping);
}

/// A buffer for each accumulator: the sums of a run, or, in parts, all of them
/// for each part.
void Emitter::makeBuffers() {
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  auto addSize = [&](const Position &size) {
    if (auto number = dyn_cast<AffineConstantExpr>(size.expr)) {
      shape.push_back(number.getValue());
      return;
    }
    shape.push_back(ShapedType::kDynamic);
    OpFoldResult value = makeComposedFoldedAffineApply(
        builder, loc, AffineMap::get(size.operands.size(), 0, size.expr),
        getAsOpFoldResult(llvm::to_vector_of<Value>(size.operands)));
    sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, value));
  };
  if (plan.part) {
    Position parts = tripsOf(nest.reductionLoops[decision.outer]);
    parts.expr = parts.expr.ceilDiv(plan.part);
    addSize(parts);
  }
  for (AffineForOp loop : decision.rows)
    addSize(loop == decision.unknownRows ? constant(decision.mostRows)
                                         : tripsOf(loop));
  for (auto [i, loop] : llvm::enumerate(decision.columns)) {
    bool isTile = !plan.part && int32_t(i) == plan.columns.level;
    if (plan.part || int32_t(i) > plan.columns.level || isTile)
      addSize(isTile ? constant(plan.columns.tile) : tripsOf(loop));
  }
  for (const Accumulator &accumulator : nest.accumulators) {
    // Rows a power of two apart would all lie in one set of the caches.
    SmallVector<int64_t> padded(shape);
    int32_t bytes = int32_t(accumulator.getType().getIntOrFloatBitWidth() / 8);
    if (!decision.rows.empty() && !ShapedType::isDynamic(padded.back()))
      padded.back() =
          pn_model_row_stride(padded.back(), /*unit=*/1, bytes, kLineBytes);
    buffers.push_back(memref::AllocOp::create(
        builder, loc, MemRefType::get(padded, accumulator.getType()), sizes,
        ValueRange(), builder.getI64IntegerAttr(kBufferAlignment)));
  }
}

/// Where the sums of the open row and column lie in their buffer.
std::pair<AffineMap, SmallVector<Value>> Emitter::placeOfSum() {
  SmallVector<AffineExpr> place;
  SmallVector<Value> operands;
  auto addPlace = [&](const Position &position) {
    place.push_back(
        position.expr.shiftDims(position.operands.size(), operands.size()));
    llvm::append_range(operands, position.operands);
  };
  if (plan.part)
    addPlace(positionOf(part));
  for (AffineForOp loop : decision.rows)
    addPlace(positions[loop]);
  for (auto [i, loop] : llvm::enumerate(decision.columns)) {
    auto point = points.find(loop);
    if (plan.part)
      addPlace(point == points.end() ? positions[loop]
                                     : add(positions[loop], point->second));
    else if (int32_t(i) >= plan.columns.level)
      addPlace(point->second);
  }
  AffineMap map =
      AffineMap::get(operands.size(), 0, place, builder.getContext());
  fullyComposeAffineMapAndOperands(&map, &operands);
  canonicalizeMapAndOperands(&map, &operands);
  return {map, operands};
}

Value Emitter::loadSum(unsigned i) {
  auto [map, operands] = placeOfSum();
  return AffineLoadOp::create(builder, loc, buffers[i], map, operands);
}

void Emitter::storeSum(unsigned i, Value value) {
  auto [map, operands] = placeOfSum();
  AffineStoreOp::create(builder, loc, value, buffers[i], map, operands);
}

/// What changes nothing when combined, or null for operations that may combine
/// a value twice: their parts start like the whole. For sums -0.0, since +0.0
/// would turn a sum of -0.0 alone into +0.0.
Value Emitter::identity(const Accumulator &accumulator) {
  using Kind = arith::AtomicRMWKind;
  Type type = accumulator.getType();
  TypedAttr value;
  switch (accumulator.kind) {
  case Kind::addf:
    value = builder.getFloatAttr(type, -0.0);
    break;
  case Kind::mulf:
    value = builder.getFloatAttr(type, 1.0);
    break;
  case Kind::addi:
  case Kind::xori:
    value = builder.getIntegerAttr(type, 0);
    break;
  case Kind::muli:
    value = builder.getIntegerAttr(type, 1);
    break;
  default:
    return {};
  }
  return arith::ConstantOp::create(builder, loc, value);
}

/// Combines a group of values with a sum: pairwise, so that a sum waits for one
/// operation a group only. Products are fused with what they are added to; few
/// columns do not hide a long chain of those either.
Value Emitter::combine(const Accumulator &accumulator, Value sum,
                       ArrayRef<IRMapping> values) {
  SmallVector<Value, 8> parts;
  if (Operation *product = getProduct(accumulator)) {
    auto multiplyAdd = [&](const IRMapping &mapping, Value addend) {
      Value left = mapping.lookupOrDefault(product->getOperand(0));
      Value right = mapping.lookupOrDefault(product->getOperand(1));
      return math::FmaOp::create(builder, loc, left, right, addend).getResult();
    };
    std::optional<int64_t> columns = getSmallTripCount(decision.columns.back());
    if (columns && *columns < 64 && values.size() > 1) {
      for (size_t i = 0; i < values.size(); i += 2) {
        Value left = values[i].lookupOrDefault(product->getOperand(0));
        Value right = values[i].lookupOrDefault(product->getOperand(1));
        Value first = arith::MulFOp::create(builder, loc, left, right);
        parts.push_back(
            i + 1 < values.size() ? multiplyAdd(values[i + 1], first) : first);
      }
    } else {
      for (const IRMapping &mapping : values)
        sum = multiplyAdd(mapping, sum);
      return sum;
    }
  } else {
    for (const IRMapping &mapping : values)
      parts.push_back(mapping.lookupOrDefault(accumulator.value));
  }
  while (parts.size() > 1) {
    SmallVector<Value, 8> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(arith::getReductionOp(accumulator.kind, builder, loc,
                                           parts[i], parts[i + 1]));
    if (parts.size() % 2)
      next.push_back(parts.back());
    parts = next;
  }
  IRMapping mapping;
  mapping.map(accumulator.combiner->getOperand(accumulator.place), sum);
  mapping.map(accumulator.combiner->getOperand(1 - accumulator.place),
              parts.front());
  return builder.clone(*accumulator.combiner, mapping)->getResult(0);
}

/// What is found in a group of values: halves are searched apart, and of equals
/// the one that is in front is in front.
Found Emitter::search(const Search &search, ArrayRef<IRMapping> values) {
  if (values.size() == 1)
    return {values.front().lookupOrDefault(search.candidate),
            values.front().lookupOrDefault(search.index)};
  size_t half = llvm::PowerOf2Ceil(values.size()) / 2;
  Found first = this->search(search, values.take_front(half));
  Found second = this->search(search, values.drop_front(half));
  return emitNext(builder, loc, search, first, second);
}

void Emitter::emitInit() {
  OpBuilder::InsertionGuard guard(builder);
  openRows();
  openPoints();
  IRMapping mapping = mapIvs(nest.parallelLoops);
  SmallVector<Value> starts;
  bool needsInit = !plan.part;
  for (const Accumulator &accumulator : nest.accumulators) {
    starts.push_back(plan.part ? identity(accumulator) : Value());
    needsInit |= !starts.back();
  }
  if (needsInit)
    clone(nest.initSlice, mapping);
  for (auto [i, accumulator] : llvm::enumerate(nest.accumulators))
    storeSum(i,
             starts[i] ? starts[i] : mapping.lookupOrDefault(accumulator.init));
}

/// Sorts the code of the nest by what it depends on.
void Emitter::classify() {
  auto isVariableOf = [](Value value, ArrayRef<AffineForOp> loops) {
    return llvm::any_of(loops, [&](AffineForOp loop) {
      return value == loop.getInductionVar();
    });
  };
  llvm::append_range(work, nest.slice);
  llvm::append_range(work, nest.stores);
  for (Operation *op : work)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (isVariableOf(operand, decision.rows) ||
            (def && withRows.contains(def)))
          withRows.insert(op);
        if (isVariableOf(operand, decision.columns) ||
            (def && withColumns.contains(def)))
          withColumns.insert(op);
      }
    });
  for (const Accumulator &accumulator : nest.accumulators)
    if (Operation *product = getProduct(accumulator))
      fused.insert(product);
}

/// Combines `count` iterations of the innermost reduction loop, from the open
/// one on, for `jam` rows from the open one on.
void Emitter::emitRows(int64_t count, int64_t jam) {
  OpBuilder::InsertionGuard guard(builder);
  AffineForOp last = nest.reductionLoops.back();
  AffineForOp row =
      decision.rows.empty() ? AffineForOp() : decision.rows.back();
  Position depth = positions[last];
  Position firstRow = row ? positions[row] : Position();
  // A mapping for each iteration, and for each row of it.
  SmallVector<IRMapping> shared;
  SmallVector<SmallVector<IRMapping>> own(jam);
  auto cloneThose = [&](bool ofColumns) {
    for (int64_t u = 0; u < count; ++u)
      for (Operation *op : work) {
        if (withColumns.contains(op) != ofColumns || fused.contains(op))
          continue;
        if (withRows.contains(op)) {
          for (int64_t r = 0; r < jam; ++r)
            builder.clone(*op, own[r][u]);
          continue;
        }
        Operation *copy = builder.clone(*op, shared[u]);
        for (int64_t r = 0; r < jam; ++r)
          for (auto [from, to] :
               llvm::zip_equal(op->getResults(), copy->getResults()))
            own[r][u].map(from, to);
      }
  };
  for (int64_t u = 0; u < count; ++u) {
    positions[last] = add(depth, constant(u));
    shared.push_back(mapIvs(nest.reductionLoops));
    for (int64_t r = 0; r < jam; ++r) {
      IRMapping mapping = shared.back();
      for (AffineForOp loop : decision.rows) {
        Position position = positions[loop];
        if (loop == row)
          position = add(firstRow, constant(r));
        mapping.map(loop.getInductionVar(), ivOf(loop, position));
      }
      own[r].push_back(mapping);
    }
  }
  positions[last] = depth;
  cloneThose(/*ofColumns=*/false);
  openPoints();
  IRMapping columns = mapIvs(decision.columns);
  for (AffineForOp loop : decision.columns) {
    Value iv = columns.lookup(loop.getInductionVar());
    for (int64_t u = 0; u < count; ++u) {
      shared[u].map(loop.getInductionVar(), iv);
      for (int64_t r = 0; r < jam; ++r)
        own[r][u].map(loop.getInductionVar(), iv);
    }
  }
  if (plan.prefetch)
    prefetch(count);
  cloneThose(/*ofColumns=*/true);
  size_t numSums = nest.accumulators.size();
  SmallVector<Value> sums(jam * numSums);
  for (int64_t r = 0; r < jam; ++r) {
    if (row)
      positions[row] = add(firstRow, constant(r));
    for (auto [i, accumulator] : llvm::enumerate(nest.accumulators))
      if (accumulator.combiner)
        sums[r * numSums + i] = combine(accumulator, loadSum(i), own[r]);
    for (const Search &search : nest.searches) {
      Found found = emitNext(builder, loc, search,
                             {loadSum(search.value), loadSum(search.place)},
                             this->search(search, own[r]));
      sums[r * numSums + search.value] = found.value;
      sums[r * numSums + search.place] = found.place;
    }
  }
  for (int64_t r = 0; r < jam; ++r) {
    if (row)
      positions[row] = add(firstRow, constant(r));
    for (unsigned i = 0; i < numSums; ++i)
      storeSum(i, sums[r * numSums + i]);
  }
  for (AffineForOp loop : decision.columns)
    points.erase(loop);
  if (row)
    positions[row] = firstRow;
}

/// Asks for what the open columns need of the group of `count` iterations
/// behind the open one. While rows of the result take turns on a run, memory
/// would stand still and prefetchers see no stream; so each turn asks for its
/// share.
void Emitter::prefetch(int64_t count) {
  AffineForOp last = nest.reductionLoops.back(), row = decision.rows.back();
  Position depth = positions[last], turn = positions[row];
  int64_t turns = llvm::divideCeil(
      getSmallTripCount(row).value_or(decision.mostRows), plan.jam);
  turn.expr = (turn.expr.floorDiv(plan.jam) * count).floorDiv(turns);
  for (int64_t u = 0; u * turns < count; ++u) {
    positions[last] = add(add(depth, turn), constant(count + u));
    IRMapping mapping = mapIvs(nest.parallelLoops);
    for (AffineForOp loop : nest.reductionLoops)
      mapping.map(loop.getInductionVar(), ivOf(loop, positions[loop]));
    for (Operation *op : nest.slice)
      if (isa<AffineApplyOp>(op))
        builder.clone(*op, mapping);
    for (AffineLoadOp load : decision.streams) {
      auto operands =
          llvm::map_to_vector(load.getMapOperands(), [&](Value value) {
            return mapping.lookupOrDefault(value);
          });
      AffinePrefetchOp::create(builder, loc, load.getMemRef(),
                               load.getAffineMap(), operands,
                               /*isWrite=*/false, /*localityHint=*/2,
                               /*isDataCache=*/true);
    }
  }
  positions[last] = depth;
}

/// The same for rows of which the number is not known.
void Emitter::emitUnknownRows(int64_t count) {
  AffineForOp row = decision.rows.back();
  Position trips = tripsOf(row), covered = trips;
  covered.expr = trips.expr.floorDiv(plan.jam) * plan.jam;
  {
    OpBuilder::InsertionGuard guard(builder);
    positions[row] = positionOf(openTo(covered, plan.jam));
    emitRows(count, plan.jam);
  }
  if (plan.jam == 1)
    return;
  OpBuilder::InsertionGuard guard(builder);
  positions[row] = positionOf(
      makeLoop(AffineMap::get(covered.operands.size(), 0, covered.expr),
               covered.operands,
               AffineMap::get(trips.operands.size(), 0, trips.expr),
               trips.operands)
          .getInductionVar());
  emitRows(count, 1);
}

/// The same for all rows.
void Emitter::emitAllRows(int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  if (decision.rows.empty()) {
    emitRows(count, 1);
    return;
  }
  for (AffineForOp loop : ArrayRef(decision.rows).drop_back())
    openWhole(loop);
  AffineForOp row = decision.rows.back();
  if (row == decision.unknownRows) {
    emitUnknownRows(count);
    return;
  }
  int64_t trips = *getSmallTripCount(row);
  int64_t jam = std::min<int64_t>(plan.jam, trips);
  int64_t covered = trips - trips % jam;
  {
    OpBuilder::InsertionGuard inner(builder);
    positions[row] = covered == jam
                         ? constant(0)
                         : positionOf(openTo(constant(covered), jam));
    emitRows(count, jam);
  }
  if (covered == trips)
    return;
  positions[row] = constant(covered);
  emitRows(count, trips - covered);
}

/// The same chunk by chunk, where sums of a whole run do not stay in L1.
void Emitter::emitGroup(int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  if (plan.chunk) {
    AffineForOp lane = decision.columns.back();
    bool isTile = plan.columns.level + 1 == int32_t(decision.columns.size());
    auto [upper, operands] =
        runOf(lane, positions[lane],
              isTile ? plan.columns.tile : *getSmallTripCount(lane));
    chunk = makeLoop(builder.getConstantAffineMap(0), {}, upper, operands,
                     plan.chunk)
                .getInductionVar();
  }
  emitAllRows(count);
  chunk = {};
}

/// The innermost reduction loop, whole.
void Emitter::emitLast(AffineForOp loop) {
  int64_t unroll = plan.unroll;
  if (std::optional<int64_t> trips = getSmallTripCount(loop)) {
    unroll = std::min(unroll, *trips);
    int64_t covered = *trips - *trips % unroll;
    {
      OpBuilder::InsertionGuard guard(builder);
      positions[loop] = covered == unroll
                            ? constant(0)
                            : positionOf(openTo(constant(covered), unroll));
      emitGroup(unroll);
    }
    if (covered == *trips)
      return;
    positions[loop] = constant(covered);
    emitGroup(*trips - covered);
    return;
  }
  Position trips = tripsOf(loop);
  Position covered = trips;
  covered.expr = trips.expr.floorDiv(unroll) * unroll;
  {
    OpBuilder::InsertionGuard guard(builder);
    positions[loop] = positionOf(openTo(covered, unroll));
    emitGroup(unroll);
  }
  // From where groups end, but not from below 0.
  OpBuilder::InsertionGuard guard(builder);
  AffineMap lower = AffineMap::get(
      covered.operands.size(), 0,
      {builder.getAffineConstantExpr(0), covered.expr}, builder.getContext());
  positions[loop] =
      positionOf(makeLoop(lower, covered.operands,
                          AffineMap::get(trips.operands.size(), 0, trips.expr),
                          trips.operands)
                     .getInductionVar());
  emitGroup(1);
}

void Emitter::emitInnerDepth(ArrayRef<AffineForOp> loops) {
  OpBuilder::InsertionGuard guard(builder);
  for (AffineForOp loop : loops.drop_back())
    openWhole(loop);
  emitLast(loops.back());
}

/// The iterations of the outermost reduction loop that the open part has, of
/// that loop and those inside.
void Emitter::emitSplitDepth(AffineForOp loop) {
  ArrayRef<AffineForOp> inside =
      ArrayRef(nest.reductionLoops).drop_front(decision.outer + 1);
  Position trips = tripsOf(loop);
  Position start = positionOf(part);
  start.expr = start.expr * plan.part;
  Position rest = add(trips, start, -1);
  MLIRContext *context = builder.getContext();
  AffineExpr size = builder.getAffineConstantExpr(plan.part);
  std::optional<int64_t> count = getSmallTripCount(loop);
  bool isEven = count && *count % plan.part == 0;
  auto endsAt = [&](AffineExpr end) {
    SmallVector<AffineExpr, 2> ends{size};
    if (!isEven)
      ends.push_back(end);
    return AffineMap::get(rest.operands.size(), 0, ends, context);
  };
  if (!inside.empty()) {
    OpBuilder::InsertionGuard guard(builder);
    AffineForOp part = makeLoop(builder.getConstantAffineMap(0), {},
                                endsAt(rest.expr), rest.operands);
    positions[loop] = add(start, positionOf(part.getInductionVar()));
    emitInnerDepth(inside);
    return;
  }
  int64_t unroll = plan.unroll;
  {
    OpBuilder::InsertionGuard guard(builder);
    AffineForOp groups = makeLoop(builder.getConstantAffineMap(0), {},
                                  endsAt(rest.expr.floorDiv(unroll) * unroll),
                                  rest.operands, unroll);
    positions[loop] = add(start, positionOf(groups.getInductionVar()));
    emitGroup(unroll);
  }
  if (count && *count % unroll == 0)
    return;
  // What does not fill a group belongs to the last part: from where all groups
  // end, but not from before this part.
  Position covered = trips;
  covered.expr = trips.expr.floorDiv(unroll) * unroll;
  Position from = add(covered, start), to = add(trips, start);
  unsigned dims = trips.operands.size();
  AffineExpr own = getAffineDimExpr(dims, context) * plan.part;
  OpBuilder::InsertionGuard guard(builder);
  AffineForOp single = makeLoop(
      AffineMap::get(dims + 1, 0, {own, covered.expr}, context), from.operands,
      AffineMap::get(dims + 1, 0, {own + plan.part, trips.expr}, context),
      to.operands);
  positions[loop] = positionOf(single.getInductionVar());
  emitGroup(1);
}

void Emitter::emitDepth() {
  OpBuilder::InsertionGuard guard(builder);
  for (AffineForOp loop :
       ArrayRef(nest.reductionLoops).take_front(decision.outer))
    positions[loop] = constant(0);
  AffineForOp outer = nest.reductionLoops[decision.outer];
  if (plan.part)
    emitSplitDepth(outer);
  else
    emitInnerDepth(ArrayRef(nest.reductionLoops).drop_front(decision.outer));
  for (AffineForOp loop : nest.reductionLoops)
    positions.erase(loop);
}

/// The code behind the reduction, for the open row and column.
void Emitter::finishFrom(ArrayRef<Value> totals) {
  IRMapping mapping = mapIvs(nest.parallelLoops);
  for (auto [accumulator, total] : llvm::zip_equal(nest.accumulators, totals))
    mapping.map(accumulator.total, total);
  clone(nest.finish, mapping);
}

void Emitter::emitFinish() {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> totals;
  if (!plan.part) {
    openRows();
    openPoints();
    for (unsigned i = 0; i < nest.accumulators.size(); ++i)
      totals.push_back(loadSum(i));
    finishFrom(totals);
    return;
  }
  points.clear();
  openRows();
  for (AffineForOp loop : decision.columns)
    openWhole(loop);
  IRMapping mapping = mapIvs(nest.parallelLoops);
  clone(nest.initSlice, mapping);
  SmallVector<Value> inits;
  for (const Accumulator &accumulator : nest.accumulators)
    inits.push_back(mapping.lookupOrDefault(accumulator.init));
  Position parts = tripsOf(nest.reductionLoops[decision.outer]);
  parts.expr = parts.expr.ceilDiv(plan.part);
  AffineMap upper = AffineMap::get(parts.operands.size(), 0, parts.expr);
  auto operands = llvm::to_vector_of<Value>(parts.operands);
  fullyComposeAffineMapAndOperands(&upper, &operands);
  canonicalizeMapAndOperands(&upper, &operands);
  auto loop = AffineForOp::create(
      builder, loc, ValueRange(), builder.getConstantAffineMap(0), operands,
      upper, 1, inits,
      [&](OpBuilder &inner, Location, Value iv, ValueRange sums) {
        OpBuilder::InsertionGuard inside(builder);
        builder.setInsertionPointToEnd(inner.getInsertionBlock());
        part = iv;
        SmallVector<Value> next(nest.accumulators.size());
        for (auto [i, accumulator] : llvm::enumerate(nest.accumulators))
          if (accumulator.combiner)
            next[i] = arith::getReductionOp(accumulator.kind, builder, loc,
                                            sums[i], loadSum(i));
        for (const Search &search : nest.searches) {
          Found found = emitNext(
              builder, loc, search, {sums[search.value], sums[search.place]},
              {loadSum(search.value), loadSum(search.place)});
          next[search.value] = found.value;
          next[search.place] = found.place;
        }
        AffineYieldOp::create(builder, loc, next);
      });
  loop->setAttr(kStreamed, builder.getUnitAttr());
  finishFrom(llvm::to_vector_of<Value>(loop.getResults()));
}

void Emitter::emit() {
  classify();
  if (AffineIfOp guard = nest.guard) {
    auto around =
        AffineIfOp::create(builder, loc, guard.getIntegerSet(),
                           guard.getOperands(), /*withElseRegion=*/false);
    builder.setInsertionPoint(around.getThenBlock()->getTerminator());
  }
  if (plan.part) {
    makeBuffers();
    OpBuilder::InsertionGuard guard(builder);
    Position parts = tripsOf(nest.reductionLoops[decision.outer]);
    parts.expr = parts.expr.ceilDiv(plan.part);
    part = openTo(parts);
    openBlocks();
    emitInit();
    points.clear();
    emitDepth();
  } else {
    openBlocks();
    makeBuffers();
    emitInit();
    points.clear();
    emitDepth();
  }
  emitFinish();
  nest.root.erase();
  for (Operation *made : llvm::reverse(ivs))
    if (isOpTriviallyDead(made))
      made->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct StreamReductionsPass : impl::StreamReductionsBase<StreamReductionsPass> {
  using StreamReductionsBase::StreamReductionsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto check = [&](StringRef name, int64_t value, int64_t least,
                     int64_t most) {
      return checkOption(context, name, value, least, most);
    };
    if (failed(check("vector-width-bits", vectorWidthBits, 64, 2048)) ||
        failed(check("vector-registers", vectorRegisters, 8, 256)) ||
        failed(check("fma-ports", fmaPorts, 1, 16)) ||
        failed(check("load-ports", loadPorts, 1, 16)) ||
        failed(check("l1-size-kib", l1SizeKib, 4, 65536)) ||
        failed(check("l2-size-kib", l2SizeKib, 16, 1048576)))
      return failure();
    if (failed(checkPowerOfTwo(context, "vector-width-bits", vectorWidthBits)))
      return failure();
    core = {};
    core.lanes = int32_t(vectorWidthBits / 32);
    core.vector_registers = int32_t(vectorRegisters);
    core.fma_ports = int32_t(fmaPorts);
    core.load_ports = int32_t(loadPorts);
    core.caches[0] = {int32_t(l1SizeKib), 64, 8, 1};
    core.caches[1] = {int32_t(l2SizeKib), 64, 8, 1};
    return success();
  }

  void runOnOperation() override {
    SmallVector<Decision, 0> decisions;
    DependenceAnalysis dependences;
    numDeclined += takeNests(
        getOperation(), passName,
        [](AffineForOp loop) {
          return loop->hasAttr(kStreamed) || loop->hasAttr(kManyRows);
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
      report(decision);
      if (decision.unknownRows)
        versionOnTrips(decision.nest.root, decision.unknownRows,
                       decision.mostRows)
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
      why = whyNotWorth(decision, int64_t(l1SizeKib) * 1024,
                        int64_t(l2SizeKib) * 1024);
    if (!why.empty())
      return why.str();
    std::string illegal = whyIllegal(decision.nest, dependences);
    if (!illegal.empty())
      return illegal;
    return choose(decision, core) ? "" : "the model has no plan for it";
  }

  void report(const Decision &decision) {
    AffineForOp root = decision.nest.root;
    remark(RemarkKind::Applied, root.getLoc(), passName,
           "reduction reads its operand row by row")
        << arg("unroll", decision.plan.unroll) << arg("jam", decision.plan.jam)
        << arg("columns", decision.plan.columns.points)
        << arg("chunk", decision.plan.chunk) << arg("part", decision.plan.part);
  }

  pn_model_core_t core;
};
} // namespace

} // namespace polynest
