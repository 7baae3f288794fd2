//===- EmitContraction.cpp - the blocked form of a sum of products --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: writes what polynest-block-contractions has decided: packs, loops over
// blocks, the micro-kernel, and the code before and behind the sums. Blocks and
// points of a loop are open while code inside them is written; the original
// code is cloned with the induction variables that follow.
// Legal when: see BlockContractions.cpp.
// Cost: operations that are written.
//===----------------------------------------------------------------------===//

#include "Transforms/ContractionBlocks.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Transforms/NestUtils.h"
#include "Transforms/VectorizeUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Rows of the source that are packed together.
static constexpr int64_t packedRows = 8;
/// Steps of the reduction in one iteration of the micro-kernel; most of them
/// where rows in place are contiguous along short runs.
static constexpr int64_t depthUnroll = 4, mostOfRun = 8;
/// Fewest rows of a micro-tile of which a last one may have fewer.
static constexpr int64_t leastSplitRows = 4;

namespace {
/// Bounds of a loop that starts at 0.
struct Bounds {
  AffineMap map;
  SmallVector<Value, 4> operands;
};

/// Writes the blocked form of one contraction.
class Emitter {
public:
  Emitter(Blocking &decision, const ContractionMachine &machine)
      : decision(decision), machine(machine),
        builder(decision.contraction.root),
        loc(decision.contraction.root.getLoc()),
        type(decision.contraction.getType()),
        packedType(decision.dot ? builder.getI32Type() : type) {}

  Value emit();

private:
  /// A place in a buffer, over operands that it adds.
  using PlaceOf = function_ref<AffineMap(SmallVectorImpl<Value> &)>;

  // Loops.
  void materializeTrips(LoopGroup &group);
  Bounds boundsOf(const CutLoop &cut, int64_t scale, bool isFull = false);
  Bounds fullEnd(const CutLoop &cut);
  void forWords(function_ref<void()> body);
  Bounds pointsOf(const LoopGroup &group);
  AffineForOp makeLoop(const Bounds &bounds, int64_t step = 1,
                       ValueRange carried = {}, const Bounds *lower = nullptr);
  void openBlocks(const LoopGroup &group);
  void closeBlocks(const LoopGroup &group);
  void openPoints(ArrayRef<CutLoop> loops);
  Value ivOf(const CutLoop &cut);
  AffineExpr pointExpr(const LoopGroup &group,
                       SmallVectorImpl<Value> &operands);
  IRMapping mapIvs(ArrayRef<const LoopGroup *> groups);

  // Accesses.
  Value cloneOperand(const ContractionOperand &operand, IRMapping &mapping);
  void cloneInto(ArrayRef<Operation *> ops, IRMapping &mapping);
  void cloneOne(Operation *op, IRMapping &mapping);
  Value makeBuffer(ArrayRef<int64_t> shape, Type elements);
  Value makePacked(ArrayRef<int64_t> shape, const std::string &why);
  void clearAlong(Value buffer, function_ref<AffineForOp(size_t)> openLoop);
  void clearBetween(Value buffer, unsigned along, const Bounds &first,
                    const Bounds &last);
  void clearRest(Value buffer, unsigned d, const LoopGroup &group, int64_t unit,
                 bool countsUnits = false);
  void clearPadding(Value buffer, unsigned d, const LoopGroup &group,
                    int64_t unit);
  bool holdsNest() const { return isAhead && !decision.packsByColumns; }
  void clearPackedColumns(Value buffer);
  int64_t depthRoom(int64_t points);
  void clearDepthRoom(Value buffer, unsigned d, int64_t points);
  void clearDepthRest(Value buffer, unsigned d);
  void clearBox(Value buffer, ArrayRef<std::pair<int64_t, int64_t>> box);
  void pack(Value buffer, const ContractionOperand &operand,
            const LoopGroup &outer, const LoopGroup &inner);
  void storePacked(Value buffer, const ContractionOperand &operand,
                   const LoopGroup &outer, const LoopGroup &inner);
  void storeRow(Value buffer, const LoopGroup &rows, PlaceOf placeOf);
  void packRuns(Value buffer, const LoopGroup &rows, PlaceOf placeOf);
  void packRowRuns(Value buffer);
  Value evaluate(const ContractionOperand &operand,
                 ArrayRef<const LoopGroup *> groups);
  Value evaluateVector(const ContractionOperand &operand,
                       ArrayRef<const LoopGroup *> groups, int64_t count);
  Value narrowBits(Value value, bool isColumn);
  Value partOfWord(Value value, bool isColumn, int64_t part);
  Value wordsOf(Value value, bool isColumn);
  Value inCountedWord(int64_t part, function_ref<Value()> compute);
  void packTransposed(Value buffer, const LoopGroup &depth);
  void packSquare(Value buffer, const LoopGroup &depth, Value column,
                  Value row);
  Bounds wholeVectors(Bounds bounds);
  bool isWholeVectors(const CutLoop &cut);
  Bounds vectorsEnd(const CutLoop &cut);
  Value packAhead(int64_t columnStride);
  void packRowsAhead(int64_t depthStride);
  AffineMap placeAhead(SmallVectorImpl<Value> &operands);
  void addPackedShape(SmallVectorImpl<int64_t> &shape, int64_t depth,
                      int64_t columnStride);
  void openFew(const CutLoop &cut, Value few);
  void forColumns(const CutLoop *deep, Value few, function_ref<void()> body);
  void closePoints();
  void finishPlace(SmallVectorImpl<AffineExpr> &place, AffineExpr depth,
                   AffineExpr column, AffineExpr panel = {},
                   AffineExpr lane = {});
  void addPlace(SmallVectorImpl<AffineExpr> &place,
                SmallVectorImpl<Value> &operands);
  AffineMap openSums(ArrayRef<Operation *> slice, IRMapping &mapping,
                     SmallVectorImpl<Value> &operands, size_t together = 1);
  void emitInit(Value block);
  void joinAccesses();
  unsigned addKernelPlace(SmallVectorImpl<AffineExpr> &place,
                          SmallVectorImpl<Value> &operands);
  Value nextPanel(Value columns, Value row, Value column);
  bool hasUnknownRows() const;
  std::optional<Bounds> beginRest(int64_t most);
  Value openTiles(const Bounds &bounds, int64_t step,
                  const Bounds *lower = nullptr);
  Value spreadOffset(int64_t offset, int64_t lanes);
  void startMovedRows(Value columns, Value column);
  void sumUpRows();
  void emitTileKernel(Value block, Value tileSums, Value rows, Value columns);
  void startTiles(Value block, Value row, Value column);
  void emitKernel(Value block, Value tileSums, Value rows, Value columns);
  void emitMicroTile(Value block, Value tileSums, Value rows, Value columns,
                     Value row, Value column);
  Value columnVector(Value columns, ArrayRef<AffineExpr> place,
                     ValueRange operands, int64_t step, int64_t vector);
  void emitEpilogue(Value block);
  void cloneEpilogue(Value block, AffineMap place, ValueRange operands,
                     IRMapping &mapping);
  void emitTileEpilogue(Value block, Value row, Value column);
  bool copiesRows(const Bounds &columns) const;
  void emitTileLoops(Value block, Value row, Value column,
                     const Bounds &columns);
  void askForOperands(Value row, Value column);
  Bounds restOf(const LoopGroup &group, Value begin, int64_t most);
  Bounds depthOf(Value row);
  Value rowElement(Value rows, Value rowOrigin, int64_t row, Value k,
                   int64_t next, Value address);
  Value rowAddress(Value rowOrigin, int64_t row);
  std::pair<AffineMap, SmallVector<Value>> rowBase();
  Value rowBegin();
  void openPoint(const LoopGroup &group, Value point);
  void storeRowPlace(AffineExpr at, ValueRange operands);
  void fillRowTable();
  void sumUpZeros(Value columns);
  Value readsInside();
  void fillInsideRows();
  void clearSpareRow(Value block);
  Value multiplyAdd(Value a, Value b, Value sum);
  Value negate(Value value);
  Value add(Value a, Value b);
  std::pair<IntegerSet, SmallVector<Value>> isFirstDepth();
  std::pair<IntegerSet, SmallVector<Value>> isLastDepth();
  void changeUnlessFirst(MutableArrayRef<Value> values,
                         function_ref<void(MutableArrayRef<Value>)> change);
  Value spreadStart(VectorType spread);
  AffineIfOp openOtherDepths();

  /// Composes and simplifies.
  std::pair<AffineMap, SmallVector<Value, 4>> compose(AffineMap map,
                                                      ValueRange operands);

  Blocking &decision;
  const ContractionMachine &machine;
  OpBuilder builder;
  Location loc;
  Type type;
  /// Of packed operands: the same, or words of narrow elements.
  Type packedType;
  /// Which words of the depth are open, where the last one is not filled up,
  /// and which of its iterations.
  enum class Words { All, Full, Last } words = Words::All;
  int64_t openPart = 0;
  /// Rows of the open micro-tile: the last one may have fewer than others.
  int64_t openRows = 1;
  /// What the sums of rows that were moved start from in the open columns.
  SmallVector<Value> movedStarts;
  /// What columns that were moved add to each row of the block, in the open
  /// block of depth.
  Value movedSums;
  /// Rows in place or ahead, as one row of elements.
  Value flatRows;
  /// Where rows in place begin, unless one even distance apart.
  Value rowTable;
  /// With taps left out: where in the block of sums each row of the table lies,
  /// how many rows there are, and the sum of the products of all columns with
  /// zero, NaN where some are not finite.
  Value placeTable, rowsInside, zeroSum;
  /// The shape of rows packed ahead.
  SmallVector<int64_t> aheadShape;
  /// The columns are packed for all of the depth, not for the open block of it;
  /// and, unless by columns, for the whole nest.
  bool isAhead = false;
  /// Panel and lane of the open column.
  Value openPanel, openLane;
  /// Induction variables that were made; most end up composed into accesses.
  SmallVector<AffineApplyOp> applies;
  /// Number of the block and of the point in it, for loops that are open.
  DenseMap<Operation *, Value> blockOf, pointOf;
  /// Accesses behind the sums that take the indices of several loops as one:
  /// the memref with these dimensions joined, and the first of them.
  struct Joined {
    Value memref;
    unsigned first;
  };
  DenseMap<Operation *, Joined> joined;
  /// How many loops, the innermost ones of a block of sums, these are.
  unsigned joinedLoops = 1;
};
} // namespace

/// Marks a loop of a micro-kernel as one that is to stay as it is.
static void markKernel(AffineForOp loop) {
  auto unit = UnitAttr::get(loop.getContext());
  loop->setAttr(kVectorized, unit);
  loop->setAttr(kTiled, unit);
}

/// All elements as one row.
static Value flatten(OpBuilder &builder, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() <= 1)
    return memref;
  ReassociationIndices all =
      llvm::to_vector(llvm::seq<int64_t>(type.getRank()));
  return memref::CollapseShapeOp::create(builder, loc, memref,
                                         ArrayRef<ReassociationIndices>{all});
}

/// How many points the blocks of a group hold: a full one and the last one.
/// Empty if that is not known.
static SmallVector<int64_t, 2> getBlockPoints(const LoopGroup &group) {
  for (const CutLoop &cut : group.loops)
    if (!cut.isPlain() && !(cut.trips && cut.isWhole()) && !cut.isEven()) {
      if (!cut.trips)
        return {};
      return {group.points, *cut.trips % cut.tile * cut.weight};
    }
  return {group.points};
}

bool isExact(const LoopGroup &group, int64_t unit) {
  if (group.points % unit != 0)
    return false;
  SmallVector<int64_t, 2> points = getBlockPoints(group);
  if (!points.empty())
    return points.back() % unit == 0;
  for (const CutLoop &cut : group.loops)
    if (!cut.isPlain() && !cut.trips)
      return cut.divisor * cut.weight % unit == 0;
  return false;
}

/// How many points are left behind the last whole unit of a block, where that
/// is the same number in all blocks that are not whole units.
static std::optional<int64_t> getRest(const LoopGroup &group, int64_t unit) {
  std::optional<int64_t> rest;
  for (int64_t count : getBlockPoints(group))
    if (count % unit != 0) {
      if (rest && *rest != count % unit)
        return std::nullopt;
      rest = count % unit;
    }
  return rest;
}

/// True if some block of the group may hold a whole unit.
static bool mayHold(const LoopGroup &group, int64_t unit) {
  SmallVector<int64_t, 2> points = getBlockPoints(group);
  return points.empty() ||
         llvm::any_of(points, [&](int64_t count) { return count >= unit; });
}

/// The group with loops that run as often as they ever do.
static LoopGroup atMost(const LoopGroup &group) {
  LoopGroup most = group;
  for (CutLoop &cut : most.loops)
    if (!cut.trips) {
      cut.trips = cut.most;
      cut.fewest = cut.divisor = cut.most.value_or(0);
    }
  return most;
}

std::pair<AffineMap, SmallVector<Value, 4>>
Emitter::compose(AffineMap map, ValueRange operands) {
  SmallVector<Value> values(operands);
  fullyComposeAffineMapAndOperands(&map, &values);
  canonicalizeMapAndOperands(&map, &values);
  map = simplifyAffineMap(map);
  return {map, SmallVector<Value, 4>(values.begin(), values.end())};
}

/// Computes trip counts that are not constant in front of the nest.
void Emitter::materializeTrips(LoopGroup &group) {
  for (CutLoop &cut : group.loops) {
    if (cut.trips)
      continue;
    AffineMap lower = cut.loop.getLowerBoundMap();
    AffineMap upper = cut.loop.getUpperBoundMap();
    AffineExpr high =
        upper.getResult(0)
            .shiftDims(upper.getNumDims(), lower.getNumDims())
            .shiftSymbols(upper.getNumSymbols(), lower.getNumSymbols());
    AffineExpr count =
        (high - lower.getResult(0)).ceilDiv(cut.loop.getStepAsInt());
    unsigned dims = lower.getNumDims() + upper.getNumDims();
    unsigned symbols = lower.getNumSymbols() + upper.getNumSymbols();
    ValueRange lows = cut.loop.getLowerBoundOperands();
    ValueRange highs = cut.loop.getUpperBoundOperands();
    SmallVector<Value> operands(lows.take_front(lower.getNumDims()));
    llvm::append_range(operands, highs.take_front(upper.getNumDims()));
    llvm::append_range(operands, lows.drop_front(lower.getNumDims()));
    llvm::append_range(operands, highs.drop_front(upper.getNumDims()));
    auto countOf = [&](AffineExpr expr) {
      return makeComposedAffineApply(builder, loc,
                                     AffineMap::get(dims, symbols, expr),
                                     getAsOpFoldResult(operands));
    };
    cut.tripValue = countOf(count.ceilDiv(cut.part));
    if (cut.hasRest)
      cut.iterationValue = countOf(count);
  }
}

/// Where the words of the block end that hold all their iterations; in any but
/// the last block at or behind its end.
Bounds Emitter::fullEnd(const CutLoop &cut) {
  Bounds end;
  AffineExpr full =
      builder.getAffineConstantExpr(cut.iterations.value_or(0) / cut.part);
  if (!cut.iterations) {
    full = builder.getAffineDimExpr(0).floorDiv(cut.part);
    end.operands.push_back(cut.iterationValue);
  }
  if (Value block = blockOf.lookup(cut.loop)) {
    full = full - builder.getAffineDimExpr(end.operands.size()) * cut.tile;
    end.operands.push_back(block);
  }
  std::tie(end.map, end.operands) =
      compose(AffineMap::get(end.operands.size(), 0, full), end.operands);
  return end;
}

/// How many points of the loop its block holds, times `scale`; of words, if
/// asked to, those that hold all their iterations.
Bounds Emitter::boundsOf(const CutLoop &cut, int64_t scale, bool isFull) {
  MLIRContext *context = builder.getContext();
  Bounds bounds;
  Value block = blockOf.lookup(cut.loop);
  if (isFull && cut.hasRest) {
    Bounds end = fullEnd(cut);
    SmallVector<AffineExpr> results{end.map.getResult(0) * scale};
    if (block)
      results.push_back(builder.getAffineConstantExpr(cut.tile * scale));
    bounds.map = AffineMap::get(end.map.getNumDims(), end.map.getNumSymbols(),
                                results, context);
    bounds.operands = end.operands;
    return bounds;
  }
  if (!block && !cut.trips) {
    std::tie(bounds.map, bounds.operands) =
        compose(AffineMap::get(1, 0, builder.getAffineDimExpr(0) * scale),
                cut.tripValue);
    return bounds;
  }
  if (!block || cut.isEven()) {
    bounds.map = builder.getConstantAffineMap(cut.tile * scale);
    return bounds;
  }
  AffineExpr total = builder.getAffineConstantExpr(cut.trips.value_or(0));
  bounds.operands.push_back(block);
  if (!cut.trips) {
    total = builder.getAffineDimExpr(1);
    bounds.operands.push_back(cut.tripValue);
  }
  AffineExpr rest = (total - builder.getAffineDimExpr(0) * cut.tile) * scale;
  bounds.map = AffineMap::get(
      bounds.operands.size(), 0,
      {builder.getAffineConstantExpr(cut.tile * scale), rest}, context);
  std::tie(bounds.map, bounds.operands) = compose(bounds.map, bounds.operands);
  return bounds;
}

/// How many points the group's block holds.
Bounds Emitter::pointsOf(const LoopGroup &group) {
  for (const CutLoop &cut : group.loops)
    if (!cut.isPlain() && !(cut.trips && cut.isWhole()))
      return boundsOf(cut, cut.weight);
  Bounds bounds;
  bounds.map = builder.getConstantAffineMap(group.points);
  return bounds;
}

/// Opens a loop, from 0 without `lower`; the builder goes inside.
AffineForOp Emitter::makeLoop(const Bounds &bounds, int64_t step,
                              ValueRange carried, const Bounds *lower) {
  auto loop = AffineForOp::create(
      builder, loc, lower ? ValueRange(lower->operands) : ValueRange(),
      lower ? lower->map : builder.getConstantAffineMap(0), bounds.operands,
      bounds.map, step, carried);
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  return loop;
}

/// Opens the loops over blocks of a group.
void Emitter::openBlocks(const LoopGroup &group) {
  for (const CutLoop &cut : group.loops) {
    if (cut.isWhole())
      continue;
    Bounds bounds;
    if (cut.trips) {
      bounds.map =
          builder.getConstantAffineMap(llvm::divideCeil(*cut.trips, cut.tile));
    } else {
      std::tie(bounds.map, bounds.operands) = compose(
          AffineMap::get(1, 0, builder.getAffineDimExpr(0).ceilDiv(cut.tile)),
          cut.tripValue);
    }
    blockOf[cut.loop] = makeLoop(bounds).getInductionVar();
  }
}

void Emitter::closeBlocks(const LoopGroup &group) {
  for (const CutLoop &cut : group.loops)
    blockOf.erase(cut.loop);
}

/// Opens the loops over the points of a block.
void Emitter::openPoints(ArrayRef<CutLoop> loops) {
  for (const CutLoop &cut : loops) {
    if (cut.isPlain())
      continue;
    if (cut.hasRest && words == Words::Last) {
      Bounds begin = fullEnd(cut);
      pointOf[cut.loop] =
          makeLoop(boundsOf(cut, 1), 1, {}, &begin).getInductionVar();
    } else if (!(cut.trips && *cut.trips == 1)) {
      bool isFull = words == Words::Full;
      pointOf[cut.loop] = makeLoop(boundsOf(cut, 1, isFull)).getInductionVar();
    }
  }
}

/// Runs `body`, which opens the points of the depth: where its last word is not
/// filled up, for the words before, and for it.
void Emitter::forWords(function_ref<void()> body) {
  const CutLoop &deep = decision.depth.loops.back();
  if (!deep.hasRest) {
    body();
    return;
  }
  if (!deep.iterations || *deep.iterations >= deep.part) {
    words = Words::Full;
    body();
  }
  words = Words::Last;
  body();
  words = Words::All;
}

/// The value of the original induction variable: lower + step * position.
Value Emitter::ivOf(const CutLoop &cut) {
  AffineForOp loop = cut.loop;
  AffineMap lower = loop.getLowerBoundMap();
  SmallVector<Value> dims, operands(loop.getLowerBoundOperands());
  AffineExpr position = builder.getAffineConstantExpr(0);
  unsigned first = lower.getNumDims();
  if (Value block = blockOf.lookup(loop)) {
    position =
        position + builder.getAffineDimExpr(first + dims.size()) * cut.tile;
    dims.push_back(block);
  }
  if (Value point = pointOf.lookup(loop)) {
    position = position + builder.getAffineDimExpr(first + dims.size());
    dims.push_back(point);
  }
  operands.insert(operands.begin() + first, dims.begin(), dims.end());
  if (cut.part > 1)
    position = position * cut.part + openPart;
  AffineExpr value = lower.getResult(0) + position * loop.getStepAsInt();
  auto apply = AffineApplyOp::create(
      builder, loc,
      AffineMap::get(first + dims.size(), lower.getNumSymbols(), value),
      operands);
  applies.push_back(apply);
  return apply;
}

IRMapping Emitter::mapIvs(ArrayRef<const LoopGroup *> groups) {
  IRMapping mapping;
  for (const LoopGroup *group : groups)
    for (const CutLoop &cut : group->loops) {
      AffineForOp loop = cut.loop;
      mapping.map(loop.getInductionVar(), ivOf(cut));
    }
  return mapping;
}

/// The number of the open point within its block, over `operands`.
AffineExpr Emitter::pointExpr(const LoopGroup &group,
                              SmallVectorImpl<Value> &operands) {
  AffineExpr expr = builder.getAffineConstantExpr(0);
  for (const CutLoop &cut : group.loops)
    if (Value point = pointOf.lookup(cut.loop)) {
      expr = expr + builder.getAffineDimExpr(operands.size()) * cut.weight;
      operands.push_back(point);
    }
  return expr;
}

/// The map with `count` results from `first` on, indices of dimensions that
/// follow each other without gaps, as one.
static AffineMap joinResults(AffineMap map, MemRefType type, unsigned first,
                             unsigned count) {
  AffineExpr index = getAffineConstantExpr(0, map.getContext());
  SmallVector<AffineExpr> results;
  for (auto [d, result] : llvm::enumerate(map.getResults())) {
    if (d < first || d >= first + count) {
      results.push_back(result);
      continue;
    }
    index = d == first ? result : index * type.getDimSize(d) + result;
    if (d == first + count - 1)
      results.push_back(index);
  }
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        map.getContext());
}

void Emitter::cloneOne(Operation *op, IRMapping &mapping) {
  if (!isa<AffineLoadOp, AffineStoreOp>(op)) {
    builder.clone(*op, mapping);
    return;
  }
  auto [place, indices] = getPlace(op);
  Value memref = mapping.lookupOrDefault(getMemRef(op));
  if (auto it = joined.find(op); it != joined.end()) {
    auto type = cast<MemRefType>(memref.getType());
    place = joinResults(place, type, it->second.first, joinedLoops);
    memref = it->second.memref;
  }
  auto [map, operands] = compose(place, lookUp(mapping, indices));
  if (auto load = dyn_cast<AffineLoadOp>(op))
    mapping.map(load.getResult(), AffineLoadOp::create(builder, load.getLoc(),
                                                       memref, map, operands)
                                      .getResult());
  else
    AffineStoreOp::create(
        builder, op->getLoc(),
        mapping.lookupOrDefault(cast<AffineStoreOp>(op).getValueToStore()),
        memref, map, operands);
}

void Emitter::cloneInto(ArrayRef<Operation *> ops, IRMapping &mapping) {
  for (Operation *op : ops)
    cloneOne(op, mapping);
}

Value Emitter::cloneOperand(const ContractionOperand &operand,
                            IRMapping &mapping) {
  cloneInto(operand.slice, mapping);
  return mapping.lookupOrDefault(operand.value);
}

Value Emitter::makeBuffer(ArrayRef<int64_t> shape, Type elements) {
  return memref::AllocOp::create(builder, loc, MemRefType::get(shape, elements),
                                 ValueRange(), ValueRange(),
                                 builder.getI64IntegerAttr(kBufferAlignment));
}

/// What is packed of the columns, and why.
static std::string describeColumns(const Blocking &decision) {
  std::string text = "columns ";
  text += decision.packsByColumns ? "once for all blocks of rows: "
          : decision.packsAhead   ? "once for the nest: "
                                  : "block by block: ";
  if (decision.dot)
    text += "lanes take words of narrow elements";
  else if (decision.transposes)
    text += "they lie along the reduction, lanes run across";
  else if (decision.panels)
    text += "lanes take panels, contiguous along the reduction";
  else
    text += "lanes take rows of several loops";
  return text;
}

/// The same for rows that are not read where they are.
static std::string describeRows(const Blocking &decision) {
  std::string text = "rows ";
  text += decision.rowMode == RowMode::Ahead ? "once for the nest: "
                                             : "block by block: ";
  auto load = decision.rowSide().value.getDefiningOp<AffineLoadOp>();
  if (decision.dot)
    text += "they are put into words of narrow elements";
  else if (!load)
    text += "they are computed as they are packed";
  else if (decision.rowMode == RowMode::Ahead)
    text += "each block of the reduction is to be contiguous";
  else
    text += "they are not contiguous along the reduction";
  return text;
}

/// A buffer for packed elements.
Value Emitter::makePacked(ArrayRef<int64_t> shape, const std::string &why) {
  Value buffer = makeBuffer(shape, packedType);
  buffer.getDefiningOp()->setAttr(kPacked, builder.getStringAttr(why));
  return buffer;
}

/// A value, or a vector of values, as the bits of narrow elements of one side
/// and possibly more above them.
Value Emitter::narrowBits(Value value, bool isColumn) {
  const DotElement &element =
      isColumn ? decision.dot->column : decision.dot->row;
  bool negates = decision.contraction.subtracts && isColumn;
  auto like = [&](Type type, int64_t number) -> Value {
    Attribute scalar =
        builder.getIntegerAttr(getElementTypeOrSelf(type), number);
    auto vector = dyn_cast<VectorType>(type);
    auto attribute =
        vector ? cast<TypedAttr>(DenseElementsAttr::get(vector, scalar))
               : cast<TypedAttr>(scalar);
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  if (element.isFloat()) {
    Value narrow = value.getDefiningOp<arith::ExtFOp>().getIn();
    Type bits = builder.getIntegerType(element.bits);
    if (auto vector = dyn_cast<VectorType>(narrow.getType()))
      bits = vector.clone(bits);
    value = arith::BitcastOp::create(builder, loc, bits, narrow);
    if (negates) // The sign is the highest bit.
      value = arith::XOrIOp::create(
          builder, loc, value, like(bits, -(int64_t(1) << (element.bits - 1))));
    return value;
  }
  if (negates)
    value = negate(value);
  int64_t offset =
      isColumn ? decision.dot->columnOffset : decision.dot->rowOffset;
  if (offset)
    value = arith::AddIOp::create(builder, loc, value,
                                  like(value.getType(), offset));
  return value;
}

/// The narrow element that a value holds, at its place in a word.
Value Emitter::partOfWord(Value value, bool isColumn, int64_t part) {
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(packedType, number));
  };
  unsigned bits = decision.dot->row.bits;
  value = narrowBits(value, isColumn);
  if (value.getType() != packedType)
    value = arith::ExtUIOp::create(builder, loc, packedType, value);
  else if (part + 1 < decision.step()) // What shifts to the top needs no mask.
    value = arith::AndIOp::create(builder, loc, value,
                                  constant((int64_t(1) << bits) - 1));
  if (part == 0)
    return value;
  return arith::ShLIOp::create(builder, loc, value, constant(part * bits));
}

/// A vector of values as one of words, `step` values each.
Value Emitter::wordsOf(Value value, bool isColumn) {
  int64_t count = cast<VectorType>(value.getType()).getNumElements();
  auto bits =
      VectorType::get({count}, builder.getIntegerType(decision.dot->row.bits));
  value = narrowBits(value, isColumn);
  if (value.getType() != bits)
    value = arith::TruncIOp::create(builder, loc, bits, value);
  return vector::BitCastOp::create(
      builder, loc, VectorType::get({count / decision.step()}, packedType),
      value);
}

/// Computes a part of the open word if the depth has that iteration, else 0.
Value Emitter::inCountedWord(int64_t part, function_ref<Value()> compute) {
  const CutLoop &deep = decision.depth.loops.back();
  SmallVector<Value> operands{deep.iterationValue};
  AffineExpr left = builder.getAffineDimExpr(0) - part - 1;
  auto subtract = [&](Value value, int64_t factor) {
    if (!value)
      return;
    left = left - builder.getAffineDimExpr(operands.size()) * factor;
    operands.push_back(value);
  };
  subtract(blockOf.lookup(deep.loop), deep.tile * deep.part);
  subtract(pointOf.lookup(deep.loop), deep.part);
  IntegerSet set = IntegerSet::get(operands.size(), 0, left, false);
  canonicalizeSetAndOperands(&set, &operands);
  OpBuilder::InsertionGuard guard(builder);
  auto branch = AffineIfOp::create(builder, loc, packedType, set, operands,
                                   /*withElseRegion=*/true);
  builder.setInsertionPointToEnd(branch.getThenBlock());
  AffineYieldOp::create(builder, loc, compute());
  builder.setInsertionPointToEnd(branch.getElseBlock());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(packedType));
  AffineYieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

/// Evaluates an operand at the open point, as it is packed.
Value Emitter::evaluate(const ContractionOperand &operand,
                        ArrayRef<const LoopGroup *> groups) {
  bool isColumn = &operand == &decision.columnSide();
  // The side that is always packed takes the sign.
  bool negates = decision.contraction.subtracts && isColumn;
  if (!decision.dot) {
    IRMapping mapping = mapIvs(groups);
    Value value = cloneOperand(operand, mapping);
    return negates ? negate(value) : value;
  }
  const CutLoop &deep = decision.depth.loops.back();
  Value word;
  for (int64_t part = 0; part < decision.step(); ++part) {
    bool mayLack = words == Words::Last && part > 0;
    if (mayLack && deep.iterations && *deep.iterations % deep.part <= part)
      break;
    openPart = part;
    auto compute = [&]() -> Value {
      IRMapping mapping = mapIvs(groups);
      Value value = cloneOperand(operand, mapping);
      return partOfWord(value, isColumn, part);
    };
    Value shifted =
        mayLack && !deep.iterations ? inCountedWord(part, compute) : compute();
    word = word ? arith::OrIOp::create(builder, loc, word, shifted).getResult()
                : shifted;
  }
  openPart = 0;
  return word;
}

/// Puts zeros where the loops run that are opened for a buffer's dimensions.
void Emitter::clearAlong(Value buffer,
                         function_ref<AffineForOp(size_t)> openLoop) {
  OpBuilder::InsertionGuard guard(builder);
  auto bufferType = cast<MemRefType>(buffer.getType());
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(bufferType.getElementType()));
  SmallVector<Value> place;
  for (int64_t d = 0; d < bufferType.getRank(); ++d)
    place.push_back(openLoop(d).getInductionVar());
  AffineStoreOp::create(builder, loc, zero, buffer,
                        builder.getMultiDimIdentityMap(place.size()), place);
}

/// Puts zeros in a box of a buffer.
void Emitter::clearBox(Value buffer,
                       ArrayRef<std::pair<int64_t, int64_t>> box) {
  clearAlong(buffer, [&](size_t d) {
    Bounds first{builder.getConstantAffineMap(box[d].first), {}};
    Bounds last{builder.getConstantAffineMap(box[d].second), {}};
    return makeLoop(last, 1, {}, &first);
  });
}

/// Puts zeros from one bound to the other, in dimension `along` of a buffer.
void Emitter::clearBetween(Value buffer, unsigned along, const Bounds &first,
                           const Bounds &last) {
  ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
  clearAlong(buffer, [&](size_t d) {
    Bounds all{builder.getConstantAffineMap(shape[d]), {}};
    return d == along ? makeLoop(last, 1, {}, &first) : makeLoop(all);
  });
}

/// Puts zeros behind the points of the open block, in dimension `d` of a buffer
/// that is still to be filled: up to a whole unit, no further than the room for
/// a full block. Where the dimension counts units, in the last one unless it is
/// full.
void Emitter::clearRest(Value buffer, unsigned d, const LoopGroup &group,
                        int64_t unit, bool countsUnits) {
  Bounds first = pointsOf(group), last = first;
  SmallVector<AffineExpr> begins{builder.getAffineConstantExpr(0)}, ends;
  for (AffineExpr result : first.map.getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(result);
    // Full blocks leave nothing: where others end is at or behind their end.
    if (!constant || constant.getValue() % unit != 0)
      begins.push_back(countsUnits ? result.floorDiv(unit) : result);
    AffineExpr end = result.ceilDiv(unit);
    ends.push_back(countsUnits ? end : end * unit);
  }
  // The least of several is none of a loop's lower bounds.
  if (begins.size() > 2)
    begins.truncate(1);
  auto mapOf = [&](ArrayRef<AffineExpr> results) {
    return simplifyAffineMap(AffineMap::get(last.map.getNumDims(),
                                            last.map.getNumSymbols(), results,
                                            builder.getContext()));
  };
  first.map = mapOf(begins);
  last.map = mapOf(ends);
  clearBetween(buffer, d, first, last);
}

/// Puts zeros where no point of the group lies in dimension `d` of a buffer
/// that is rounded up to whole units: lanes that the micro-kernel computes and
/// nobody reads. What happens to lie there could be slow to multiply.
void Emitter::clearPadding(Value buffer, unsigned d, const LoopGroup &group,
                           int64_t unit) {
  SmallVector<int64_t, 2> points = getBlockPoints(group);
  if (points.empty() && !isExact(group, unit))
    clearRest(buffer, d, group, unit);
  SmallVector<std::pair<int64_t, int64_t>> box;
  for (int64_t size : cast<MemRefType>(buffer.getType()).getShape())
    box.push_back({0, size});
  for (int64_t count : points) {
    if (count % unit == 0)
      continue;
    box[d] = {count / unit * unit, llvm::alignTo(count, unit)};
    clearBox(buffer, box);
  }
}

/// The same for packed columns.
void Emitter::clearPackedColumns(Value buffer) {
  int64_t nr = decision.plan.tile.nr;
  auto shape = cast<MemRefType>(buffer.getType()).getShape();
  SmallVector<int64_t, 2> points = getBlockPoints(decision.columns);
  SmallVector<std::pair<int64_t, int64_t>> box;
  for (int64_t size : shape)
    box.push_back({0, size});
  // Ahead of all blocks none is open.
  if (holdsNest() && points.empty() && !isExact(decision.columns, nr))
    return clearBox(buffer, box);
  if (!decision.panels)
    return clearPadding(buffer, shape.size() - 1, decision.columns, nr);
  size_t panel = shape.size() - 3;
  if (points.empty() && !isExact(decision.columns, nr))
    clearRest(buffer, panel, decision.columns, nr, /*countsUnits=*/true);
  for (auto [i, count] : llvm::enumerate(points)) {
    // The second count is that of the last block.
    if (holdsNest() && i == 1)
      box[panel - 1].first = shape[panel - 1] - 1;
    if (count % nr == 0)
      continue;
    box[panel] = {count / nr, count / nr + 1};
    clearBox(buffer, box);
  }
}

/// Points of depth that a packed block has room for.
int64_t Emitter::depthRoom(int64_t points) {
  return decision.matrix
             ? int64_t(llvm::alignTo(points, decision.matrix->words))
             : points;
}

/// Puts zeros behind `points` points of depth, in dimension `d` of packed
/// operands of tiles.
void Emitter::clearDepthRoom(Value buffer, unsigned d, int64_t points) {
  int64_t end = depthRoom(points);
  if (end == points)
    return;
  SmallVector<std::pair<int64_t, int64_t>> box;
  for (int64_t size : cast<MemRefType>(buffer.getType()).getShape())
    box.push_back({0, size});
  box[d] = {points, end};
  clearBox(buffer, box);
}

/// The same behind the points of the open block, where it may have fewer than
/// others: up to a whole tile, no further than the room for a full block.
void Emitter::clearDepthRest(Value buffer, unsigned d) {
  Bounds count = pointsOf(decision.depth);
  if (!decision.matrix || isExact(decision.depth, decision.matrix->words) ||
      count.map.isSingleConstant())
    return;
  unsigned dims = count.map.getNumDims(), symbols = count.map.getNumSymbols();
  int64_t words = decision.matrix->words;
  Bounds first = count, last = count;
  // In full blocks what is left is at or behind their end.
  first.map = count.map.getSubMap({count.map.getNumResults() - 1});
  SmallVector<AffineExpr> ends =
      llvm::map_to_vector(count.map.getResults(), [&](AffineExpr expr) {
        return expr.ceilDiv(words) * words;
      });
  last.map = simplifyAffineMap(
      AffineMap::get(dims, symbols, ends, builder.getContext()));
  clearBetween(buffer, d, first, last);
}

/// Evaluates an operand over a block, into rows of `outer` points and columns
/// of `inner` points.
void Emitter::pack(Value buffer, const ContractionOperand &operand,
                   const LoopGroup &outer, const LoopGroup &inner) {
  forWords([&] {
    OpBuilder::InsertionGuard guard(builder);
    openPoints(outer.loops);
    if (&operand == &decision.columnSide()) {
      forColumns(nullptr, Value(),
                 [&] { storePacked(buffer, operand, outer, inner); });
    } else {
      openPoints(inner.loops);
      storePacked(buffer, operand, outer, inner);
    }
    closePoints();
  });
}

/// Evaluates an operand at the open point.
void Emitter::storePacked(Value buffer, const ContractionOperand &operand,
                          const LoopGroup &outer, const LoopGroup &inner) {
  Value value = evaluate(operand, {&decision.batch, &outer, &inner});
  SmallVector<Value> operands;
  SmallVector<AffineExpr> place;
  if (&operand == &decision.columnSide()) {
    addPlace(place, operands);
    AffineExpr row = pointExpr(outer, operands);
    AffineExpr panel, lane;
    if (openPanel) {
      panel = builder.getAffineDimExpr(operands.size());
      lane = builder.getAffineDimExpr(operands.size() + 1);
      operands.append({openPanel, openLane});
    }
    AffineExpr column = pointExpr(inner, operands);
    finishPlace(place, row, column, panel, lane);
  } else {
    place.push_back(pointExpr(outer, operands));
    place.push_back(pointExpr(inner, operands));
  }
  auto [map, used] =
      compose(AffineMap::get(operands.size(), 0, place, builder.getContext()),
              operands);
  AffineStoreOp::create(builder, loc, value, buffer, map, used);
}

/// The leading indices of packed columns: with those packed for the whole nest,
/// where the open blocks of batch and columns lie.
void Emitter::addPlace(SmallVectorImpl<AffineExpr> &place,
                       SmallVectorImpl<Value> &operands) {
  if (!holdsNest())
    return;
  for (const LoopGroup *group : {&decision.batch, &decision.columns})
    for (const CutLoop &cut : group->loops)
      if (Value block = blockOf.lookup(cut.loop)) {
        place.push_back(builder.getAffineDimExpr(operands.size()));
        operands.push_back(block);
      }
}

/// The last indices of packed columns: panel, depth, lane, or depth, column.
void Emitter::finishPlace(SmallVectorImpl<AffineExpr> &place, AffineExpr depth,
                          AffineExpr column, AffineExpr panel,
                          AffineExpr lane) {
  int64_t nr = decision.plan.tile.nr;
  if (!decision.panels) {
    place.append({depth, column});
    return;
  }
  place.append(
      {panel ? panel : column.floorDiv(nr), depth, lane ? lane : column % nr});
}

/// Opens `packedRows` points of a loop from `few` on.
void Emitter::openFew(const CutLoop &cut, Value few) {
  AffineExpr begin = builder.getAffineDimExpr(0);
  SmallVector<AffineExpr> counts{builder.getAffineConstantExpr(packedRows)};
  int64_t count = cut.hasRest ? *cut.iterations / cut.part : *cut.trips;
  if (count % packedRows != 0)
    counts.push_back(count - begin);
  Bounds bounds;
  std::tie(bounds.map, bounds.operands) =
      compose(AffineMap::get(1, 0, counts, builder.getContext()), few);
  auto point = AffineApplyOp::create(
      builder, loc, AffineMap::get(2, 0, begin + builder.getAffineDimExpr(1)),
      ValueRange{few, makeLoop(bounds).getInductionVar()});
  applies.push_back(point);
  pointOf[cut.loop] = point;
}

/// Runs `body` in loops over the columns of a block, panel by panel; in each,
/// if asked to, over a few points of a loop of the depth. Whole panels have a
/// constant number of columns, and with it whole vectors.
void Emitter::forColumns(const CutLoop *deep, Value few,
                         function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  if (!decision.panels) {
    if (deep)
      openFew(*deep, few);
    openPoints(decision.columns.loops);
    body();
    return;
  }
  int64_t nr = decision.plan.tile.nr;
  const CutLoop &wide = decision.columns.onlyLoop();
  Bounds count = pointsOf(decision.columns), panels = count, rest = count;
  unsigned dims = count.map.getNumDims(), symbols = count.map.getNumSymbols();
  AffineExpr begin = builder.getAffineDimExpr(dims) * nr;
  SmallVector<AffineExpr> panelCounts, fits;
  SmallVector<AffineExpr> lanes{builder.getAffineConstantExpr(nr)};
  for (AffineExpr result : count.map.getResults()) {
    panelCounts.push_back(result.ceilDiv(nr));
    lanes.push_back(result - begin);
    fits.push_back(result - begin - nr);
  }
  panels.map = AffineMap::get(dims, symbols, panelCounts, builder.getContext());
  openPanel = makeLoop(panels).getInductionVar();
  auto runLanes = [&](const Bounds &bounds) {
    OpBuilder::InsertionGuard inner(builder);
    if (deep)
      openFew(*deep, few);
    openLane = makeLoop(bounds).getInductionVar();
    auto point =
        AffineApplyOp::create(builder, loc,
                              AffineMap::get(2, 0,
                                             builder.getAffineDimExpr(0) * nr +
                                                 builder.getAffineDimExpr(1)),
                              ValueRange{openPanel, openLane});
    applies.push_back(point);
    pointOf[wide.loop] = point;
    body();
  };
  Bounds full{builder.getConstantAffineMap(nr), {}};
  std::optional<int64_t> left = getRest(decision.columns, nr);
  if (isExact(decision.columns, nr)) {
    runLanes(full);
    return;
  }
  if (left && !mayHold(decision.columns, nr)) {
    runLanes(Bounds{builder.getConstantAffineMap(*left), {}});
    return;
  }
  SmallVector<Value> operands = llvm::to_vector_of<Value>(count.operands);
  operands.insert(operands.begin() + dims, openPanel);
  std::tie(rest.map, rest.operands) = compose(
      AffineMap::get(dims + 1, symbols, lanes, builder.getContext()), operands);
  if (left)
    rest = Bounds{builder.getConstantAffineMap(*left), {}};
  auto isFull =
      AffineIfOp::create(builder, loc,
                         IntegerSet::get(dims + 1, symbols, fits,
                                         SmallVector<bool>(fits.size(), false)),
                         operands, /*withElseRegion=*/true);
  builder.setInsertionPoint(isFull.getThenBlock()->getTerminator());
  runLanes(full);
  builder.setInsertionPoint(isFull.getElseBlock()->getTerminator());
  runLanes(rest);
}

void Emitter::closePoints() {
  pointOf.clear();
  openPanel = openLane = {};
}

/// The shape of packed columns behind the indices of blocks.
void Emitter::addPackedShape(SmallVectorImpl<int64_t> &shape, int64_t depth,
                             int64_t columnStride) {
  int64_t nr = decision.plan.tile.nr;
  if (!decision.panels)
    shape.append({depth, columnStride});
  else
    shape.append(
        {int64_t(llvm::divideCeil(decision.columns.points, nr)), depth, nr});
}

/// Packs the columns of the whole nest in front of it, or of a loop around it:
/// as many as there ever are. Where blocks of columns are open, of these.
Value Emitter::packAhead(int64_t columnStride) {
  isAhead = true;
  LoopGroup columns = decision.columns;
  decision.columns = atMost(columns);
  pn_model_block_t all = {};
  all.tile = *decision.depth.loops.front().most;
  LoopGroup depth =
      atMost(makeGroup(decision.depthLoops, &all, decision.step()));
  SmallVector<int64_t> shape;
  auto bytes = int64_t(packedType.getIntOrFloatBitWidth() / 8);
  auto openAll = [&](const LoopGroup &group) {
    if (holdsNest())
      openBlocks(group);
  };
  auto closeAll = [&](const LoopGroup &group) {
    if (holdsNest())
      closeBlocks(group);
  };
  for (const LoopGroup *group : {&decision.batch, &decision.columns})
    for (const CutLoop &cut : group->loops)
      if (holdsNest() && !cut.isWhole())
        shape.push_back(llvm::divideCeil(*cut.trips, cut.tile));
  addPackedShape(shape, depthRoom(depth.points), columnStride);
  // A row of the source fills one row of every panel: they should not all lie
  // in one set of the caches.
  if (decision.panels)
    if (shape.back() * shape[shape.size() - 2] * bytes % kAliasedBytes == 0)
      ++shape[shape.size() - 2];
  OpBuilder::InsertionGuard guard(builder);
  // In front of the nest is where the builder stands, under its condition.
  if (decision.aheadPoint != decision.contraction.root)
    builder.setInsertionPoint(decision.aheadPoint);
  Value buffer = makePacked(shape, describeColumns(decision));
  clearPackedColumns(buffer);
  clearDepthRoom(buffer, shape.size() - 2, depth.points);
  openAll(decision.batch);
  if (decision.transposes) {
    openAll(decision.columns);
    packTransposed(buffer, depth);
  } else {
    // Along each row of the source, as it lies in memory. Where a panel has no
    // more than a line of it, a few rows together: there is much to write to a
    // panel before the next.
    bool isByRow = decision.panels && shape.back() * bytes > machine.lineBytes;
    auto store = [&] {
      storePacked(buffer, decision.columnSide(), depth, decision.columns);
    };
    const CutLoop &deep = depth.loops.back();
    forWords([&] {
      OpBuilder::InsertionGuard inner(builder);
      openPoints(ArrayRef(depth.loops).drop_back());
      if (words == Words::Last) {
        openPoints(deep);
        openAll(decision.columns);
        forColumns(nullptr, Value(), store);
      } else {
        Value few =
            makeLoop(boundsOf(deep, 1, words == Words::Full), packedRows)
                .getInductionVar();
        if (isByRow)
          openFew(deep, few);
        openAll(decision.columns);
        forColumns(isByRow ? nullptr : &deep, few, store);
      }
      closePoints();
      closeAll(decision.columns);
    });
  }
  closeAll(decision.batch);
  closeAll(decision.columns);
  decision.columns = columns;
  return buffer;
}

/// The place of the open point in rows packed ahead: blocks of batch and depth,
/// row, depth in the block.
AffineMap Emitter::placeAhead(SmallVectorImpl<Value> &operands) {
  SmallVector<AffineExpr> place;
  auto dimOf = [&](Value value) {
    operands.push_back(value);
    return builder.getAffineDimExpr(operands.size() - 1);
  };
  for (const LoopGroup *group : {&decision.batch, &decision.depth})
    for (const CutLoop &cut : group->loops)
      if (Value block = blockOf.lookup(cut.loop))
        place.push_back(dimOf(block));
      else if (!cut.isWhole())
        place.push_back(builder.getAffineConstantExpr(0));
  AffineExpr row = builder.getAffineConstantExpr(0);
  int64_t weight = 1;
  for (const CutLoop &cut : llvm::reverse(decision.rows.loops)) {
    if (Value block = blockOf.lookup(cut.loop))
      row = row + dimOf(block) * (cut.tile * weight);
    if (Value point = pointOf.lookup(cut.loop))
      row = row + dimOf(point) * weight;
    weight *= *cut.trips;
  }
  place.push_back(row);
  place.push_back(pointExpr(decision.depth, operands));
  return AffineMap::get(operands.size(), 0, place, builder.getContext());
}

/// Lays out the rows of the whole nest in front of it, each block of depth
/// contiguous.
void Emitter::packRowsAhead(int64_t depthStride) {
  pn_model_block_t all = {};
  all.tile = *getSmallTripCount(decision.rowSide().loops.front());
  LoopGroup rows = makeGroup(decision.rowSide().loops, &all);
  for (const LoopGroup *group : {&decision.batch, &decision.depth})
    for (const CutLoop &cut : group->loops)
      if (!cut.isWhole())
        aheadShape.push_back(llvm::divideCeil(*cut.trips, cut.tile));
  // Rows that the last micro-tile reads past the end are there, and zero.
  int64_t past = isExact(decision.rows, decision.plan.tile.mr)
                     ? 0
                     : decision.plan.tile.mr - 1;
  aheadShape.append({rows.points + past, depthStride});
  Value buffer = makePacked(aheadShape, describeRows(decision));
  if (past) {
    SmallVector<std::pair<int64_t, int64_t>> box;
    for (int64_t size : aheadShape)
      box.push_back({0, size});
    box[box.size() - 2].first = rows.points;
    clearBox(buffer, box);
  }
  auto placeOf = [&](SmallVectorImpl<Value> &operands) {
    return placeAhead(operands);
  };
  auto packRows = [&](size_t outside, function_ref<void()> packDepth) {
    OpBuilder::InsertionGuard guard(builder);
    openBlocks(decision.batch);
    // Loops of the depth that take longer steps than those of rows run outside:
    // a cache line of the source is read at once.
    if (outside > 0) {
      openBlocks(decision.depth);
      openPoints(ArrayRef(decision.depth.loops).take_front(outside));
    }
    openPoints(rows.loops);
    if (outside == 0)
      openBlocks(decision.depth);
    packDepth();
    closePoints();
    closeBlocks(decision.batch);
    closeBlocks(decision.depth);
  };
  if (decision.packsRuns)
    packRows(0, [&] { packRuns(buffer, rows, placeOf); });
  else
    forWords([&] {
      packRows(decision.farLoops, [&] {
        openPoints(
            ArrayRef(decision.depth.loops).drop_front(decision.farLoops));
        storeRow(buffer, rows, placeOf);
      });
    });
  flatRows = flatten(builder, loc, buffer);
  decision.rowStep = depthStride;
}

/// Packs columns that lie along the depth in memory: squares of vectors are
/// turned in registers, the rest goes element by element.
void Emitter::packTransposed(Value buffer, const LoopGroup &depth) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  const CutLoop &deep = depth.loops.back();
  const CutLoop &wide = decision.columns.loops.back();
  openPoints(ArrayRef(depth.loops).drop_back());
  openPoints(ArrayRef(decision.columns.loops).drop_back());
  {
    OpBuilder::InsertionGuard inner(builder);
    AffineForOp columns = makeLoop(wholeVectors(boundsOf(wide, 1)), lanes);
    AffineForOp rows = makeLoop(wholeVectors(boundsOf(deep, 1, true)), lanes);
    columns->setAttr(kVectorized, builder.getUnitAttr());
    rows->setAttr(kVectorized, builder.getUnitAttr());
    packSquare(buffer, depth, columns.getInductionVar(),
               rows.getInductionVar());
  }
  auto packRest = [&](const Bounds &columns, const Bounds *firstColumn,
                      const Bounds &rows, const Bounds *firstRow) {
    OpBuilder::InsertionGuard inner(builder);
    pointOf[wide.loop] =
        makeLoop(columns, 1, {}, firstColumn).getInductionVar();
    pointOf[deep.loop] = makeLoop(rows, 1, {}, firstRow).getInductionVar();
    storePacked(buffer, decision.columnSide(), depth, decision.columns);
  };
  Bounds rows = boundsOf(deep, 1, true), columns = boundsOf(wide, 1);
  if (!isWholeVectors(deep)) {
    Bounds first = vectorsEnd(deep);
    packRest(columns, nullptr, rows, &first);
  }
  if (deep.hasRest) {
    Bounds end = fullEnd(deep);
    words = Words::Last;
    packRest(columns, nullptr, boundsOf(deep, 1), &end);
    words = Words::All;
  }
  if (!isWholeVectors(wide)) {
    Bounds first = vectorsEnd(wide);
    packRest(columns, &first, wholeVectors(rows), nullptr);
  }
  closePoints();
}

/// True if every block of the loop is whole vectors of full words.
bool Emitter::isWholeVectors(const CutLoop &cut) {
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  return !cut.hasRest && cut.tile % lanes == 0 && cut.divisor % lanes == 0;
}

/// Where whole vectors of full words end; in full blocks of an uneven loop at
/// or behind the end.
Bounds Emitter::vectorsEnd(const CutLoop &cut) {
  Bounds end = wholeVectors(cut.hasRest ? fullEnd(cut) : boundsOf(cut, 1));
  end.map = end.map.getSubMap({end.map.getNumResults() - 1});
  return end;
}

/// The bounds in whole vectors.
Bounds Emitter::wholeVectors(Bounds bounds) {
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  SmallVector<AffineExpr> results =
      llvm::map_to_vector(bounds.map.getResults(), [&](AffineExpr expr) {
        return expr.floorDiv(lanes) * lanes;
      });
  bounds.map = simplifyAffineMap(AffineMap::get(bounds.map.getNumDims(),
                                                bounds.map.getNumSymbols(),
                                                results, builder.getContext()));
  return bounds;
}

/// Evaluates an operand at `count` points along the depth from the open one on,
/// as it is packed.
Value Emitter::evaluateVector(const ContractionOperand &operand,
                              ArrayRef<const LoopGroup *> groups,
                              int64_t count) {
  int64_t elements = count * decision.step();
  AffineForOp deep = decision.depth.loops.back().loop;
  IRMapping mapping = mapIvs(groups);
  auto spread = [&](Type type) { return VectorType::get({elements}, type); };
  for (Operation *op : operand.slice) {
    auto load = dyn_cast<AffineLoadOp>(op);
    if (!load) {
      SmallVector<Value> values = lookUp(mapping, op->getOperands());
      bool isVector = llvm::any_of(
          values, [](Value value) { return isa<VectorType>(value.getType()); });
      // The same for all points is computed once.
      if (isVector)
        for (auto [from, value] : llvm::zip_equal(op->getOperands(), values))
          if (!isa<VectorType>(value.getType()))
            mapping.map(from, vector::BroadcastOp::create(
                                  builder, loc, spread(value.getType()), value)
                                  .getResult());
      Operation *copy = builder.clone(*op, mapping);
      if (isVector)
        copy->getResult(0).setType(spread(copy->getResult(0).getType()));
      continue;
    }
    auto [map, operands] =
        compose(load.getAffineMap(), lookUp(mapping, load.getMapOperands()));
    SmallVector<Access, 1> accesses;
    collectAccesses(load, accesses);
    bool standsStill =
        standsStillInLanes(accesses[0], deep, unsigned(elements));
    Value copy =
        standsStill
            ? AffineLoadOp::create(builder, loc, load.getMemRef(), map,
                                   operands)
                  .getResult()
            : AffineVectorLoadOp::create(builder, loc, spread(load.getType()),
                                         load.getMemRef(), map, operands)
                  .getResult();
    mapping.map(load.getResult(), copy);
  }
  Value value = mapping.lookupOrDefault(operand.value);
  bool isColumn = &operand == &decision.columnSide();
  if (decision.dot)
    return wordsOf(value, isColumn);
  bool negates = decision.contraction.subtracts && isColumn;
  return negates ? negate(value) : value;
}

/// Evaluates rows at the open point, to where `placeOf` says.
void Emitter::storeRow(Value buffer, const LoopGroup &rows, PlaceOf placeOf) {
  Value value =
      evaluate(decision.rowSide(), {&decision.batch, &rows, &decision.depth});
  SmallVector<Value> operands;
  AffineMap place = placeOf(operands);
  auto [map, used] = compose(place, operands);
  AffineStoreOp::create(builder, loc, value, buffer, map, used);
}

/// Packs rows that lie along the depth in memory as words, in the open rows and
/// to where `placeOf` says: whole vectors of them at once, the rest one by one.
void Emitter::packRuns(Value buffer, const LoopGroup &rows, PlaceOf placeOf) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  const LoopGroup &depth = decision.depth;
  const CutLoop &deep = depth.loops.back();
  openPoints(ArrayRef(depth.loops).drop_back());
  Bounds full = boundsOf(deep, 1, true), vectors = wholeVectors(full);
  {
    OpBuilder::InsertionGuard inner(builder);
    AffineForOp loop = makeLoop(vectors, lanes);
    loop->setAttr(kVectorized, builder.getUnitAttr());
    pointOf[deep.loop] = loop.getInductionVar();
    Value value = evaluateVector(decision.rowSide(),
                                 {&decision.batch, &rows, &depth}, lanes);
    SmallVector<Value> operands;
    AffineMap place = placeOf(operands);
    auto [map, used] = compose(place, operands);
    AffineVectorStoreOp::create(builder, loc, value, buffer, map, used);
  }
  auto packOne = [&](const Bounds &first, const Bounds &end) {
    OpBuilder::InsertionGuard inner(builder);
    AffineForOp loop = makeLoop(end, 1, {}, &first);
    loop->setAttr(kVectorized, builder.getUnitAttr());
    pointOf[deep.loop] = loop.getInductionVar();
    storeRow(buffer, rows, placeOf);
  };
  if (!isWholeVectors(deep))
    packOne(vectorsEnd(deep), full);
  if (deep.hasRest) {
    words = Words::Last;
    packOne(fullEnd(deep), boundsOf(deep, 1));
    words = Words::All;
  }
  closePoints();
}

/// The same for the open block.
void Emitter::packRowRuns(Value buffer) {
  OpBuilder::InsertionGuard guard(builder);
  openPoints(decision.rows.loops);
  packRuns(buffer, decision.rows, [&](SmallVectorImpl<Value> &operands) {
    AffineExpr row = pointExpr(decision.rows, operands);
    AffineExpr column = pointExpr(decision.depth, operands);
    return AffineMap::get(operands.size(), 0, {row, column},
                          builder.getContext());
  });
}

/// Loads one vector along the depth for each of `lanes` columns, turns the
/// square in registers and stores one vector along the columns for each depth.
void Emitter::packSquare(Value buffer, const LoopGroup &depth, Value column,
                         Value row) {
  int64_t lanes = decision.plan.tile.nr / decision.plan.tile.vectors;
  const CutLoop &deep = depth.loops.back();
  const CutLoop &wide = decision.columns.loops.back();
  AffineExpr first = builder.getAffineDimExpr(0);
  pointOf[deep.loop] = row;
  SmallVector<Value> vectors;
  for (int64_t i = 0; i < lanes; ++i) {
    auto shifted = AffineApplyOp::create(
        builder, loc, AffineMap::get(1, 0, first + i), ValueRange{column});
    applies.push_back(shifted);
    pointOf[wide.loop] = shifted;
    vectors.push_back(
        evaluateVector(decision.columnSide(),
                       {&decision.batch, &depth, &decision.columns}, lanes));
  }
  // Halves of ever larger blocks change places.
  for (int64_t half = 1; half < lanes; half *= 2)
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & half)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        bool isUpper = lane & half;
        low.push_back(isUpper ? lanes + lane - half : lane);
        high.push_back(isUpper ? lanes + lane : lane + half);
      }
      Value a = vectors[i], b = vectors[i + half];
      vectors[i] = vector::ShuffleOp::create(builder, loc, a, b, low);
      vectors[i + half] = vector::ShuffleOp::create(builder, loc, a, b, high);
    }
  pointOf[wide.loop] = column;
  SmallVector<Value> operands;
  SmallVector<AffineExpr> place;
  addPlace(place, operands);
  AffineExpr depthExpr = pointExpr(depth, operands);
  finishPlace(place, depthExpr, pointExpr(decision.columns, operands));
  for (int64_t i = 0; i < lanes; ++i) {
    SmallVector<AffineExpr> at(place);
    at[at.size() - 2] = at[at.size() - 2] + i;
    AffineVectorStoreOp::create(
        builder, loc, vectors[i], buffer,
        AffineMap::get(operands.size(), 0, at, builder.getContext()), operands);
  }
}

/// Opens the loops over one block of sums, those along which the result is
/// contiguous inside, and clones `slice` into them; returns where the sum of
/// the point lies in the block. The last `together` loops are one: its index is
/// that of the innermost, beyond its end.
AffineMap Emitter::openSums(ArrayRef<Operation *> slice, IRMapping &mapping,
                            SmallVectorImpl<Value> &operands, size_t together) {
  const LoopGroup *groups[] = {&decision.rows, &decision.columns};
  if (decision.isSwapped)
    std::swap(groups[0], groups[1]);
  ArrayRef<CutLoop> inner = groups[1]->loops;
  openPoints(groups[0]->loops);
  if (together > 1) {
    openPoints(inner.drop_back(together));
    LoopGroup last{llvm::to_vector<4>(inner.take_back(together)), 1};
    last.points = last.loops.front().tile * last.loops.front().weight;
    pointOf[inner.back().loop] = makeLoop(pointsOf(last)).getInductionVar();
  } else {
    openPoints(inner);
  }
  mapping = mapIvs({&decision.batch, &decision.rows, &decision.columns});
  cloneInto(slice, mapping);
  AffineExpr row = pointExpr(decision.rows, operands);
  AffineExpr column = pointExpr(decision.columns, operands);
  return AffineMap::get(operands.size(), 0, {row, column},
                        builder.getContext());
}

/// Puts what the sums start from in the block of accumulators.
void Emitter::emitInit(Value block) {
  OpBuilder::InsertionGuard guard(builder);
  IRMapping mapping;
  SmallVector<Value> operands;
  AffineMap place = openSums(decision.contraction.initSlice, mapping, operands);
  AffineStoreOp::create(builder, loc,
                        mapping.lookupOrDefault(decision.contraction.init),
                        block, place, operands);
  closePoints();
}

/// Clones the code behind the sums for the open point.
void Emitter::cloneEpilogue(Value block, AffineMap place, ValueRange operands,
                            IRMapping &mapping) {
  mapping.map(
      decision.contraction.getSum(),
      AffineLoadOp::create(builder, loc, block, place, operands).getResult());
  Operation *sum = decision.contraction.reductionLoops.front();
  for (Operation *op = sum->getNextNode();
       !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
    cloneOne(op, mapping);
}

SmallVector<Operation *> getCodeBehind(const Contraction &contraction) {
  auto code = llvm::to_vector_of<Operation *>(contraction.epilogueSlice);
  Operation *sum = contraction.reductionLoops.front();
  for (Operation *op = sum->getNextNode();
       !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
    code.push_back(op);
  return code;
}

/// The first of the dimensions that the loops index, one each, next to each
/// other and all of all but the first; none where they do not.
static std::optional<unsigned> findJoined(Operation *access,
                                          ArrayRef<CutLoop> loops) {
  auto type = cast<MemRefType>(getMemRef(access).getType());
  std::optional<unsigned> first;
  for (auto [i, cut] : llvm::enumerate(loops)) {
    AffineForOp loop = cut.loop;
    std::optional<unsigned> d = getOnlyDim(access, loop.getInductionVar());
    if (!d)
      return std::nullopt;
    if (i == 0)
      first = d;
    else if (*d != *first + i || type.getDimSize(*d) != *cut.trips)
      return std::nullopt;
  }
  return first;
}

/// True if nothing but accesses at exactly the loops' indices depends on them,
/// so that these may be joined; fills in how.
static bool
canJoin(const Contraction &contraction, ArrayRef<CutLoop> loops,
        SmallVectorImpl<std::pair<Operation *, unsigned>> &accesses) {
  int64_t weight = 1;
  for (const CutLoop &cut : llvm::reverse(loops)) {
    AffineForOp loop = cut.loop;
    if (!cut.trips || *cut.trips < 2 || cut.part > 1 || cut.weight != weight ||
        !countsFromZero(loop) ||
        (loop != loops.front().loop && cut.tile != *cut.trips))
      return false;
    weight *= *cut.trips;
  }
  auto isIndex = [&](Value value) {
    return llvm::any_of(loops, [&](const CutLoop &cut) {
      return value == AffineForOp(cut.loop).getInductionVar();
    });
  };
  auto join = [&](Operation *access) {
    Value memref = getMemRef(access);
    auto type = cast<MemRefType>(memref.getType());
    AffineForOp root = contraction.root;
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
        !root.isDefinedOutsideOfLoop(memref))
      return false;
    std::optional<unsigned> first = findJoined(access, loops);
    if (first)
      accesses.push_back({access, *first});
    return first.has_value();
  };
  accesses.clear();
  for (Operation *op : getCodeBehind(contraction)) {
    bool isApart = !op->walk([&](Operation *inner) {
                        return llvm::any_of(inner->getOperands(), isIndex)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      }).wasInterrupted();
    if (!isApart && !(isa<AffineLoadOp, AffineStoreOp>(op) && join(op)))
      return false;
  }
  // What the sums start from would be the same buffer under another name.
  return !accesses.empty() &&
         llvm::all_of(contraction.initSlice, [&](Operation *op) {
           auto load = dyn_cast<AffineLoadOp>(op);
           return !load || llvm::none_of(accesses, [&](const auto &access) {
             return getBaseMemref(getMemRef(access.first)) ==
                    getBaseMemref(load.getMemRef());
           });
         });
}

/// True if one loop takes fewer vectors than the last of several: it runs a
/// constant number of times or in whole vectors, or the last one is shorter.
static bool repaysJoining(ArrayRef<CutLoop> loops, int64_t lanes) {
  const CutLoop &first = loops.front();
  return first.isWhole() || *loops.back().trips < lanes ||
         (first.tile * first.weight % lanes == 0 &&
          *first.trips % first.tile * first.weight % lanes == 0);
}

/// Joins the dimensions that as many of the innermost loops of a block of sums
/// as possible index in the code behind the sums: short rows of a small image
/// or kernel are stored as one long one.
void Emitter::joinAccesses() {
  SmallVector<std::pair<Operation *, unsigned>> accesses;
  ArrayRef<CutLoop> loops = decision.columns.loops;
  const pn_model_tile_t &tile = decision.plan.tile;
  while (loops.size() > 1 && !(canJoin(decision.contraction, loops, accesses) &&
                               repaysJoining(loops, tile.nr / tile.vectors)))
    loops = loops.drop_front();
  if (loops.size() < 2)
    return;
  joinedLoops = loops.size();
  llvm::MapVector<std::pair<Value, unsigned>, Value> views;
  for (auto [op, first] : accesses) {
    Value memref = getMemRef(op);
    Value &view = views[{memref, first}];
    if (!view)
      view = joinDimensions(builder, loc, memref, first, joinedLoops);
    joined[op] = {view, first};
  }
}

/// Runs the code behind the sums over the block.
void Emitter::emitEpilogue(Value block) {
  OpBuilder::InsertionGuard guard(builder);
  IRMapping mapping;
  SmallVector<Value> operands;
  AffineMap place = openSums(decision.contraction.epilogueSlice, mapping,
                             operands, joinedLoops);
  cloneEpilogue(block, place, operands, mapping);
  closePoints();
}

/// How many points of the group's block are left from `begin` on, at most
/// `most`.
Bounds Emitter::restOf(const LoopGroup &group, Value begin, int64_t most) {
  Bounds count = pointsOf(group), rest;
  unsigned dims = count.map.getNumDims();
  SmallVector<AffineExpr> results{builder.getAffineConstantExpr(most)};
  if (!isExact(group, most))
    for (AffineExpr result : count.map.getResults())
      results.push_back(result - builder.getAffineDimExpr(dims));
  SmallVector<Value> operands = llvm::to_vector_of<Value>(count.operands);
  operands.insert(operands.begin() + dims, begin);
  std::tie(rest.map, rest.operands) =
      compose(AffineMap::get(dims + 1, count.map.getNumSymbols(), results,
                             builder.getContext()),
              operands);
  return rest;
}

/// How many points of the open block of depth add anything in the micro-tile
/// that begins at `row`.
Bounds Emitter::depthOf(Value row) {
  Bounds bounds = pointsOf(decision.depth);
  if (!decision.idleTail)
    return bounds;
  const CutLoop &cut = decision.depth.loops.front();
  unsigned dims = bounds.map.getNumDims();
  SmallVector<Value> operands = llvm::to_vector_of<Value>(bounds.operands);
  SmallVector<Value> added = {row};
  auto add = [&](Value value) {
    added.push_back(value);
    return builder.getAffineDimExpr(dims + added.size() - 1);
  };
  AffineExpr last = builder.getAffineDimExpr(dims) + openRows - 1;
  AffineExpr rest = cut.trips ? builder.getAffineConstantExpr(*cut.trips)
                              : add(cut.tripValue);
  if (Value block = blockOf.lookup(cut.loop))
    rest = rest - add(block) * cut.tile;
  SmallVector<AffineExpr> results(bounds.map.getResults());
  results.push_back(rest - decision.idleTail.getResult(0).replaceDims({last}));
  operands.insert(operands.begin() + dims, added.begin(), added.end());
  std::tie(bounds.map, bounds.operands) =
      compose(AffineMap::get(dims + added.size(), bounds.map.getNumSymbols(),
                             results, builder.getContext()),
              operands);
  return bounds;
}

/// Opens one point of a block by its number.
void Emitter::openPoint(const LoopGroup &group, Value point) {
  bool isOutermost = true;
  for (const CutLoop &cut : group.loops) {
    if (cut.isPlain())
      continue;
    AffineExpr at = builder.getAffineDimExpr(0).floorDiv(cut.weight);
    if (!isOutermost)
      at = at % cut.tile;
    isOutermost = false;
    if (cut.tile == 1)
      continue;
    auto apply = AffineApplyOp::create(builder, loc, AffineMap::get(1, 0, at),
                                       ValueRange{point});
    applies.push_back(apply);
    pointOf[cut.loop] = apply;
  }
}

/// Operations behind a sum that are worth a copy for each row of a tile.
static constexpr int64_t mostCopied = 8;

/// True if the code behind the sums is better copied for each row of a
/// micro-tile: whole vectors of all rows, which never leave the registers then,
/// where it is little, and the sums are short or of a length that moves.
bool Emitter::copiesRows(const Bounds &columns) const {
  if (!isExact(decision.rows, openRows) || !columns.map.isSingleConstant() ||
      columns.map.getSingleConstantResult() != decision.plan.tile.nr)
    return false;
  int64_t depth = 1;
  for (const CutLoop &cut : decision.depth.loops) {
    if (!cut.most)
      return false;
    depth *= cut.trips.value_or(1);
  }
  if (depth > PN_MODEL_SHORT_DEPTH)
    return false;
  int64_t count = 0;
  for (Operation *op : getCodeBehind(decision.contraction)) {
    if (op->getNumRegions() != 0 || isa<math::MathDialect>(op->getDialect()))
      return false;
    count += !isa<AffineApplyOp>(op);
  }
  return count <= mostCopied;
}

/// The code behind the sums over one micro-tile.
void Emitter::emitTileLoops(Value block, Value row, Value column,
                            const Bounds &columns) {
  AffineExpr begin = builder.getAffineDimExpr(0);
  AffineExpr step = builder.getAffineDimExpr(1);
  auto apply = [&](AffineExpr expr, ValueRange operands) {
    auto op = AffineApplyOp::create(
        builder, loc, AffineMap::get(operands.size(), 0, expr), operands);
    applies.push_back(op);
    return op.getResult();
  };
  bool copies = copiesRows(columns);
  for (int64_t r = 0; r < (copies ? openRows : 1); ++r) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> place;
    SmallVector<AffineExpr> at;
    if (copies) {
      openPoint(decision.rows, apply(begin + r, row));
      at = {builder.getAffineConstantExpr(r), begin};
    } else {
      Value i =
          makeLoop(restOf(decision.rows, row, openRows)).getInductionVar();
      place.push_back(i);
      openPoint(decision.rows, apply(begin + step, {row, i}));
      at = {begin, step};
    }
    Value j = makeLoop(columns).getInductionVar();
    place.push_back(j);
    pointOf[decision.columns.onlyLoop().loop] =
        apply(begin + step, {column, j});
    IRMapping mapping =
        mapIvs({&decision.batch, &decision.rows, &decision.columns});
    cloneInto(decision.contraction.epilogueSlice, mapping);
    cloneEpilogue(block,
                  AffineMap::get(place.size(), 0, at, builder.getContext()),
                  place, mapping);
    closePoints();
  }
}

/// Asks for what the code behind the sums of the micro-tile will read from far
/// away, while its last products are summed up.
void Emitter::askForOperands(Value row, Value column) {
  if (decision.farOperands.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  if (!isWhole(decision.depth)) {
    auto [set, operands] = isLastDepth();
    auto branch = AffineIfOp::create(builder, loc, set, operands,
                                     /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.getThenBlock()->getTerminator());
  }
  auto apply = [&](Value from, int64_t by) {
    auto op = AffineApplyOp::create(
        builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0) + by),
        from);
    applies.push_back(op);
    return op.getResult();
  };
  // Elements in a line of each operand, which may be of another type.
  auto lines = llvm::map_to_vector(
      decision.farOperands, [&](AffineLoadOp load) -> int64_t {
        int64_t bytes = getElementBytes(load.getType()).value_or(1);
        return std::max<int64_t>(machine.lineBytes / bytes, 1);
      });
  int64_t shortest = *llvm::min_element(lines);
  for (int64_t r = 0; r < openRows; ++r) {
    openPoint(decision.rows, apply(row, r));
    for (int64_t j = 0; j < decision.plan.tile.nr; j += shortest) {
      pointOf[decision.columns.onlyLoop().loop] = apply(column, j);
      IRMapping mapping =
          mapIvs({&decision.batch, &decision.rows, &decision.columns});
      for (auto [load, line] : llvm::zip_equal(decision.farOperands, lines)) {
        if (j % line != 0)
          continue;
        auto [map, operands] = compose(load.getAffineMap(),
                                       lookUp(mapping, load.getMapOperands()));
        AffinePrefetchOp::create(builder, loc, load.getMemRef(), map, operands,
                                 /*isWrite=*/false, /*localityHint=*/3,
                                 /*isDataCache=*/true);
      }
    }
    closePoints();
  }
}

/// Runs the code behind the sums over the micro-tile that has just been summed
/// up.
void Emitter::emitTileEpilogue(Value block, Value row, Value column) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t nr = decision.plan.tile.nr;
  Bounds full{builder.getConstantAffineMap(nr), {}};
  if (isExact(decision.columns, nr)) {
    emitTileLoops(block, row, column, full);
    return;
  }
  // A number of columns that is constant takes no loops for what is left over.
  Bounds rest = restOf(decision.columns, column, nr);
  if (std::optional<int64_t> left = getRest(decision.columns, nr))
    rest = Bounds{builder.getConstantAffineMap(*left), {}};
  if (!mayHold(decision.columns, nr)) {
    emitTileLoops(block, row, column, rest);
    return;
  }
  // Whole micro-tiles have whole vectors.
  Bounds count = pointsOf(decision.columns);
  unsigned dims = count.map.getNumDims();
  SmallVector<AffineExpr> fits;
  for (AffineExpr result : count.map.getResults())
    fits.push_back(result - builder.getAffineDimExpr(dims) - nr);
  SmallVector<Value> operands = llvm::to_vector_of<Value>(count.operands);
  operands.insert(operands.begin() + dims, column);
  auto isFull = AffineIfOp::create(
      builder, loc,
      IntegerSet::get(dims + 1, count.map.getNumSymbols(), fits,
                      SmallVector<bool>(fits.size(), false)),
      operands, /*withElseRegion=*/true);
  builder.setInsertionPoint(isFull.getThenBlock()->getTerminator());
  emitTileLoops(block, row, column, full);
  builder.setInsertionPoint(isFull.getElseBlock()->getTerminator());
  emitTileLoops(block, row, column, rest);
}

/// Where the open row begins among all elements, at depth 0 of the block.
std::pair<AffineMap, SmallVector<Value>> Emitter::rowBase() {
  SmallVector<Value> operands;
  SmallVector<int64_t> strides;
  AffineMap map;
  if (decision.rowMode == RowMode::InPlace) {
    AffineLoadOp load = decision.rowLoad;
    IRMapping mapping =
        mapIvs({&decision.batch, &decision.rows, &decision.depth});
    operands = lookUp(mapping, load.getMapOperands());
    map = load.getAffineMap();
    int64_t offset;
    (void)load.getMemRefType().getStridesAndOffset(strides, offset);
  } else {
    map = placeAhead(operands);
    strides = computeStrides(aheadShape);
  }
  AffineExpr base = builder.getAffineConstantExpr(0);
  for (auto [index, stride] : llvm::zip_equal(map.getResults(), strides))
    base = base + index * stride;
  return {AffineMap::get(map.getNumDims(), map.getNumSymbols(), base),
          operands};
}

/// Where row `row` of the micro-tile begins among all elements, at depth 0 of
/// the block.
Value Emitter::rowAddress(Value rowOrigin, int64_t row) {
  AffineExpr at = builder.getAffineDimExpr(0) + row;
  if (rowTable)
    return AffineLoadOp::create(builder, loc, rowTable,
                                AffineMap::get(1, 0, at),
                                ValueRange{rowOrigin});
  auto [base, operands] = rowBase();
  unsigned dims = base.getNumDims();
  AffineExpr address =
      base.getResult(0) +
      (builder.getAffineDimExpr(dims) + row) * *decision.rowStep;
  operands.insert(operands.begin() + dims, rowOrigin);
  auto [map, used] = compose(
      AffineMap::get(dims + 1, base.getNumSymbols(), address), operands);
  return AffineApplyOp::create(builder, loc, map, used);
}

/// The same, computed.
Value Emitter::rowBegin() {
  auto [base, values] = rowBase();
  auto [map, used] = compose(base, values);
  return AffineApplyOp::create(builder, loc, map, used);
}

/// Writes down where the open row begins.
void Emitter::storeRowPlace(AffineExpr at, ValueRange operands) {
  Value address = rowBegin();
  AffineStoreOp::create(builder, loc, address, rowTable,
                        AffineMap::get(operands.size(), 0, at), operands);
}

/// Writes down where each row of the block begins; rows past the end are the
/// last one again.
void Emitter::fillRowTable() {
  Bounds first{builder.getConstantAffineMap(0), {}}, last = first;
  last.map = builder.getConstantAffineMap(
      cast<MemRefType>(rowTable.getType()).getDimSize(0));
  Bounds count = pointsOf(decision.rows);
  if (count.map.isSingleConstant()) {
    // The loops of a whole block count without divisions.
    OpBuilder::InsertionGuard guard(builder);
    openPoints(decision.rows.loops);
    for (const CutLoop &cut : decision.rows.loops)
      if (Value point = pointOf.lookup(cut.loop))
        getForInductionVarOwner(point)->setAttr(kVectorized,
                                                builder.getUnitAttr());
    SmallVector<Value> operands;
    AffineExpr at = pointExpr(decision.rows, operands);
    storeRowPlace(at, operands);
    pointOf.clear();
    first = count;
    if (first.map == last.map)
      return;
  }
  OpBuilder::InsertionGuard guard(builder);
  AffineForOp loop = makeLoop(last, 1, {}, &first);
  loop->setAttr(kVectorized, builder.getUnitAttr());
  unsigned dims = count.map.getNumDims();
  SmallVector<AffineExpr> results;
  if (!count.map.isSingleConstant())
    results.push_back(builder.getAffineDimExpr(dims));
  if (!isExact(decision.rows, decision.plan.tile.mr))
    for (AffineExpr result : count.map.getResults())
      results.push_back(result - 1);
  SmallVector<Value> operands = llvm::to_vector_of<Value>(count.operands);
  operands.insert(operands.begin() + dims, loop.getInductionVar());
  auto [map, used] = compose(AffineMap::get(dims + 1, count.map.getNumSymbols(),
                                            results, builder.getContext()),
                             operands);
  Value point = AffineMinOp::create(builder, loc, map, used);
  openPoint(decision.rows, point);
  storeRowPlace(builder.getAffineDimExpr(0), loop.getInductionVar());
  pointOf.clear();
}

/// Sums up the products of all packed columns with zero: NaN where one of them
/// is not finite.
void Emitter::sumUpZeros(Value columns) {
  OpBuilder::InsertionGuard guard(builder);
  if (decision.aheadPoint != decision.contraction.root)
    builder.setInsertionPoint(decision.aheadPoint);
  const pn_model_tile_t &tile = decision.plan.tile;
  int64_t lanes = tile.nr / tile.vectors;
  auto vectorType = VectorType::get({lanes}, type);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  zeroSum = makeBuffer({1}, type);
  AffineMap first = builder.getConstantAffineMap(0);
  Value start =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  AffineStoreOp::create(builder, loc, start, zeroSum, first, ValueRange());
  openBlocks(decision.batch);
  openBlocks(decision.columns);
  int64_t points = 1;
  for (const CutLoop &cut : decision.depth.loops)
    points *= *cut.trips;
  Bounds depth{builder.getConstantAffineMap(points), {}};
  SmallVector<Value> sums(size_t(tile.vectors), zero);
  AffineForOp overColumns = makeLoop(pointsOf(decision.columns), tile.nr, sums);
  AffineForOp overDepth = makeLoop(depth, 1, overColumns.getRegionIterArgs());
  markKernel(overColumns);
  markKernel(overDepth);
  SmallVector<AffineExpr> place;
  SmallVector<Value> operands;
  unsigned position = addKernelPlace(place, operands);
  operands.push_back(overDepth.getInductionVar());
  operands.push_back(overColumns.getInductionVar());
  for (int64_t v = 0; v < tile.vectors; ++v) {
    SmallVector<AffineExpr> at(place);
    at.back() = at.back() + v * lanes;
    Value column = AffineVectorLoadOp::create(
        builder, loc, vectorType, columns,
        AffineMap::get(position + 2, 0, at, builder.getContext()), operands);
    sums[size_t(v)] = vector::FMAOp::create(
        builder, loc, column, zero, overDepth.getRegionIterArgs()[size_t(v)]);
  }
  AffineYieldOp::create(builder, loc, sums);
  builder.setInsertionPointToEnd(overColumns.getBody());
  AffineYieldOp::create(builder, loc, overDepth.getResults());
  builder.setInsertionPointAfter(overColumns);
  Value sum = AffineLoadOp::create(builder, loc, zeroSum, first, ValueRange());
  for (Value part : overColumns.getResults())
    sum = arith::AddFOp::create(
        builder, loc, sum,
        vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD,
                                    part));
  AffineStoreOp::create(builder, loc, sum, zeroSum, first, ValueRange());
  closeBlocks(decision.batch);
  closeBlocks(decision.columns);
}

/// True where the open row reads elements in the block of depth that may not be
/// zero.
Value Emitter::readsInside() {
  AffineLoadOp load = decision.rowLoad;
  IRMapping mapping =
      mapIvs({&decision.batch, &decision.rows, &decision.depth});
  SmallVector<Value> mapped = lookUp(mapping, load.getMapOperands());
  Value all;
  for (const ImageRange &range : decision.imageRanges) {
    AffineMap map = load.getAffineMap();
    auto [place, operands] =
        compose(AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                               map.getResult(range.dim) - range.low),
                mapped);
    Value index = AffineApplyOp::create(builder, loc, place, operands);
    // Without sign, what is below is above.
    Value isInside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ule, index,
        arith::ConstantIndexOp::create(builder, loc, range.high - range.low));
    all = all ? arith::AndIOp::create(builder, loc, all, isInside).getResult()
              : isInside;
  }
  return all;
}

/// Writes down where each row of the block begins that reads more than zeros in
/// the block of depth, or all of them where the zeros count, and its place in
/// the block of sums. Rows that fill up the last micro-tile are the last one
/// again, and their sums go to a row that nobody reads.
void Emitter::fillInsideRows() {
  OpBuilder::InsertionGuard guard(builder);
  Value keeps;
  if (zeroSum) {
    Value sum = AffineLoadOp::create(
        builder, loc, zeroSum, builder.getConstantAffineMap(0), ValueRange());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    keeps = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, sum,
                                  zero);
  }
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  // The number of rows so far, and where the last one begins.
  SmallVector<Value> carried{constant(0), constant(0)};
  SmallVector<AffineForOp> loops;
  for (const CutLoop &cut : decision.rows.loops) {
    if (cut.isPlain() || (cut.trips && *cut.trips == 1))
      continue;
    loops.push_back(makeLoop(boundsOf(cut, 1), 1, carried));
    loops.back()->setAttr(kVectorized, builder.getUnitAttr());
    pointOf[cut.loop] = loops.back().getInductionVar();
    carried.assign(loops.back().getRegionIterArgs().begin(),
                   loops.back().getRegionIterArgs().end());
  }
  Value address = rowBegin();
  SmallVector<Value> operands;
  AffineExpr at = pointExpr(decision.rows, operands);
  Value place = AffineApplyOp::create(
      builder, loc, AffineMap::get(operands.size(), 0, at), operands);
  memref::StoreOp::create(builder, loc, address, rowTable, carried[0]);
  memref::StoreOp::create(builder, loc, place, placeTable, carried[0]);
  Value isInside = readsInside();
  if (keeps)
    isInside = arith::OrIOp::create(builder, loc, isInside, keeps);
  Value more = arith::AddIOp::create(builder, loc, carried[0], constant(1));
  carried[0] =
      arith::SelectOp::create(builder, loc, isInside, more, carried[0]);
  carried[1] =
      arith::SelectOp::create(builder, loc, isInside, address, carried[1]);
  pointOf.clear();
  for (AffineForOp loop : llvm::reverse(loops)) {
    AffineYieldOp::create(builder, loc, carried);
    carried.assign(loop.getResults().begin(), loop.getResults().end());
    builder.setInsertionPointAfter(loop);
  }
  rowsInside = carried[0];
  int64_t spare = llvm::alignTo(decision.rows.points, decision.plan.tile.mr);
  AffineForOp fill = makeLoop(
      Bounds{builder.getConstantAffineMap(decision.plan.tile.mr - 1), {}});
  fill->setAttr(kVectorized, builder.getUnitAttr());
  Value next =
      arith::AddIOp::create(builder, loc, rowsInside, fill.getInductionVar());
  memref::StoreOp::create(builder, loc, carried[1], rowTable, next);
  memref::StoreOp::create(builder, loc, constant(spare), placeTable, next);
}

/// Puts zeros in the row of the block that takes what nobody reads.
void Emitter::clearSpareRow(Value block) {
  auto shape = cast<MemRefType>(block.getType()).getShape();
  clearBox(block, {{shape[0] - 1, shape[0]}, {0, shape[1]}});
}

/// The element of a row at depth `k` of the block, `next` further.
Value Emitter::rowElement(Value rows, Value rowOrigin, int64_t row, Value k,
                          int64_t next, Value address) {
  AffineExpr first = builder.getAffineDimExpr(0);
  AffineExpr second = builder.getAffineDimExpr(1);
  MLIRContext *context = builder.getContext();
  switch (decision.rowMode) {
  case RowMode::InPlace:
  case RowMode::Ahead: {
    bool isNarrow = decision.dot && decision.rowMode == RowMode::InPlace;
    int64_t scale = isNarrow ? decision.step() : 1;
    auto constant = [&](int64_t number) {
      return arith::ConstantIndexOp::create(builder, loc, number);
    };
    if (isNarrow)
      k = arith::MulIOp::create(builder, loc, k, constant(scale));
    Value index = arith::AddIOp::create(builder, loc, address, k);
    int64_t further = next * (isNarrow ? scale : decision.runStep);
    if (next)
      index = arith::AddIOp::create(builder, loc, index, constant(further));
    if (!isNarrow)
      return memref::LoadOp::create(builder, loc, flatRows, index);
    Type element = cast<MemRefType>(flatRows.getType()).getElementType();
    Value group = vector::LoadOp::create(
        builder, loc, VectorType::get({scale}, element), flatRows, index);
    Value word = vector::BitCastOp::create(
        builder, loc, VectorType::get({1}, packedType), group);
    return vector::ExtractOp::create(builder, loc, word, 0);
  }
  case RowMode::PackedByRow:
    return AffineLoadOp::create(
        builder, loc, rows,
        AffineMap::get(2, 0, {first + row, second + next}, context),
        ValueRange{rowOrigin, k});
  case RowMode::PackedByDepth:
    return AffineLoadOp::create(
        builder, loc, rows,
        AffineMap::get(2, 0, {second + next, first + row}, context),
        ValueRange{rowOrigin, k});
  }
  return {};
}

Value Emitter::negate(Value value) {
  if (isa<FloatType>(type))
    return arith::NegFOp::create(builder, loc, value);
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::SubIOp::create(builder, loc, zero, value);
}

Value Emitter::add(Value a, Value b) {
  if (isa<FloatType>(type))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value Emitter::multiplyAdd(Value a, Value b, Value sum) {
  if (decision.dot)
    return multiplyWords(builder, loc, a, decision.dot->row, b,
                         decision.dot->column, decision.step(), sum);
  if (isa<FloatType>(type))
    return vector::FMAOp::create(builder, loc, a, b, sum);
  return add(sum, arith::MulIOp::create(builder, loc, a, b));
}

/// A condition that holds in the last block of depth.
std::pair<IntegerSet, SmallVector<Value>> Emitter::isLastDepth() {
  SmallVector<AffineExpr> isLast;
  SmallVector<Value> operands;
  for (const CutLoop &cut : decision.depth.loops)
    if (Value open = blockOf.lookup(cut.loop)) {
      AffineExpr block = builder.getAffineDimExpr(operands.size());
      operands.push_back(open);
      AffineExpr trips = builder.getAffineConstantExpr(cut.trips.value_or(0));
      if (!cut.trips) {
        trips = builder.getAffineDimExpr(operands.size());
        operands.push_back(cut.tripValue);
      }
      isLast.push_back(block - trips.ceilDiv(cut.tile) + 1);
    }
  IntegerSet set = IntegerSet::get(operands.size(), 0, isLast,
                                   SmallVector<bool>(isLast.size(), true));
  canonicalizeSetAndOperands(&set, &operands);
  return {set, operands};
}

/// A branch for the last block of depth, where there are several; the builder
/// goes to the other side.
AffineIfOp Emitter::openOtherDepths() {
  auto [set, operands] = isLastDepth();
  auto branch = AffineIfOp::create(builder, loc, set, operands,
                                   /*withElseRegion=*/true);
  builder.setInsertionPoint(branch.getElseBlock()->getTerminator());
  return branch;
}

/// A condition that holds in the first block of depth.
std::pair<IntegerSet, SmallVector<Value>> Emitter::isFirstDepth() {
  SmallVector<AffineExpr> isFirst;
  SmallVector<Value> operands;
  for (const CutLoop &cut : decision.depth.loops)
    if (Value open = blockOf.lookup(cut.loop)) {
      isFirst.push_back(builder.getAffineDimExpr(operands.size()));
      operands.push_back(open);
    }
  IntegerSet set = IntegerSet::get(operands.size(), 0, isFirst,
                                   SmallVector<bool>(isFirst.size(), true));
  canonicalizeSetAndOperands(&set, &operands);
  return {set, operands};
}

/// In all blocks of depth but the first has `change` put others in the place of
/// the values.
void Emitter::changeUnlessFirst(
    MutableArrayRef<Value> values,
    function_ref<void(MutableArrayRef<Value>)> change) {
  auto [set, operands] = isFirstDepth();
  auto branch = AffineIfOp::create(builder, loc, ValueRange(values).getTypes(),
                                   set, operands, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.getThenBlock());
  AffineYieldOp::create(builder, loc, values);
  builder.setInsertionPointToEnd(branch.getElseBlock());
  change(values);
  AffineYieldOp::create(builder, loc, values);
  llvm::copy(branch.getResults(), values.begin());
}

/// What the sums of the open block of depth start from: what all start from in
/// the first, else nothing, the zero that leaves all numbers as they are.
Value Emitter::spreadStart(VectorType spread) {
  TypedAttr nothing = builder.getZeroAttr(type);
  if (auto real = dyn_cast<FloatType>(type))
    nothing = builder.getFloatAttr(
        real, APFloat::getZero(real.getFloatSemantics(), /*Negative=*/true));
  Value init = decision.contraction.init;
  bool isZero =
      matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
  Value start = init;
  if (!decision.startsEven || (!isZero && !isWhole(decision.depth))) {
    Value other = arith::ConstantOp::create(builder, loc, nothing);
    if (decision.startsEven)
      changeUnlessFirst(start, [&](MutableArrayRef<Value> values) {
        values.front() = other;
      });
    else
      start = other;
  }
  return vector::BroadcastOp::create(builder, loc, spread, start);
}

/// Where a micro-kernel finds packed columns: leading indices, then depth and
/// column, of which the two operands behind `operands` are counted; returns the
/// position of the first.
unsigned Emitter::addKernelPlace(SmallVectorImpl<AffineExpr> &place,
                                 SmallVectorImpl<Value> &operands) {
  addPlace(place, operands);
  AffineExpr depthBase = builder.getAffineConstantExpr(0);
  if (isAhead) {
    int64_t weight = 1;
    for (const CutLoop &cut : llvm::reverse(decision.depth.loops)) {
      if (Value open = blockOf.lookup(cut.loop)) {
        depthBase = depthBase + builder.getAffineDimExpr(operands.size()) *
                                    (cut.tile * weight);
        operands.push_back(open);
      }
      weight *= *cut.most;
    }
  }
  unsigned position = operands.size();
  AffineExpr column = builder.getAffineDimExpr(position + 1);
  finishPlace(place, depthBase + builder.getAffineDimExpr(position), column,
              column.floorDiv(decision.plan.tile.nr),
              builder.getAffineConstantExpr(0));
  return position;
}

/// Where in the next panel of packed columns the open tile of rows begins to
/// ask for it, in elements behind the beginning of the open panel. The next one
/// is that of the block of columns, or, behind its last, the first one at the
/// next block of depth, or of the next columns. Empty where nothing is asked
/// for.
Value Emitter::nextPanel(Value columns, Value row, Value column) {
  if (decision.panelShare == 0)
    return {};
  const pn_model_tile_t &tile = decision.plan.tile;
  ArrayRef<int64_t> shape = cast<MemRefType>(columns.getType()).getShape();
  int64_t panel = shape[shape.size() - 2] * tile.nr;
  int64_t allPanels = shape[shape.size() - 3] * panel;
  // The next block of columns lies behind this one, or the next one of rows
  // takes the same panels.
  int64_t behind = holdsNest() ? allPanels : 0;
  int64_t block = decision.depth.points * tile.nr;
  SmallVector<Value> operands{column, row};
  // Number of the open block of depth; where the last one begins.
  AffineExpr depth = builder.getAffineConstantExpr(0);
  int64_t depthBlocks = 1, lastBase = 0;
  for (const CutLoop &cut : decision.depth.loops)
    if (Value open = blockOf.lookup(cut.loop)) {
      int64_t count = llvm::divideCeil(*cut.most, cut.tile);
      depth = depth * count + builder.getAffineDimExpr(operands.size());
      operands.push_back(open);
      depthBlocks *= count;
    }
  int64_t weight = 1;
  for (const CutLoop &cut : llvm::reverse(decision.depth.loops)) {
    if (blockOf.lookup(cut.loop))
      lastBase += (llvm::divideCeil(*cut.most, cut.tile) - 1) * cut.tile *
                  weight * tile.nr;
    weight *= *cut.most;
  }
  AffineExpr isLast = (builder.getAffineDimExpr(0) + tile.nr)
                          .floorDiv(shape[shape.size() - 3] * tile.nr);
  AffineExpr isLastOfAll =
      (isLast + (depth + 1).floorDiv(depthBlocks)).floorDiv(2);
  AffineExpr part = builder.getAffineDimExpr(1).floorDiv(tile.mr);
  // Where the number of tiles is not known, few ask for all of the panel, and
  // those behind them for it again.
  if (hasUnknownRows())
    part = part % llvm::divideCeil(tile.nr, decision.panelShare);
  AffineExpr begin = part * (decision.depth.points * decision.panelShare);
  AffineExpr place = begin + panel + isLast * (block - allPanels) +
                     isLastOfAll * (behind - lastBase - block);
  return AffineApplyOp::create(
      builder, loc, AffineMap::get(operands.size(), 0, place), operands);
}

/// Opens a loop over the tiles of a block, one of a micro-kernel unless the
/// code behind the sums is in it, which is still to be vectorized; returns the
/// first column or row of one.
Value Emitter::openTiles(const Bounds &bounds, int64_t step,
                         const Bounds *lower) {
  AffineForOp loop = makeLoop(bounds, step, {}, lower);
  if (!decision.endsByTile)
    markKernel(loop);
  return loop.getInductionVar();
}

bool Emitter::hasUnknownRows() const {
  return llvm::any_of(decision.rows.loops,
                      [](const CutLoop &cut) { return !cut.trips; });
}

/// Where in a block the tile begins that has `most` rows or fewer, if there
/// is one; else at its end or behind. None where that is not to be told by one
/// index.
std::optional<Bounds> Emitter::beginRest(int64_t most) {
  int64_t mr = decision.plan.tile.mr;
  Bounds count = pointsOf(decision.rows);
  AffineExpr rest;
  for (AffineExpr result : count.map.getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(result);
    // Full blocks have none.
    if (constant && constant.getValue() % mr == 0)
      continue;
    if (constant || rest)
      return std::nullopt;
    rest = result;
  }
  if (!rest)
    return std::nullopt;
  AffineExpr begin = (rest - most).ceilDiv(mr) * mr;
  count.map = AffineMap::get(count.map.getNumDims(), count.map.getNumSymbols(),
                             {builder.getAffineConstantExpr(0), begin},
                             builder.getContext());
  return count;
}

/// Updates the block of accumulators by one block of depth, tile by tile of a
/// matrix unit: `mr` by `nr` of them stay in its registers. Both operands are
/// filled up with zeros to whole tiles.
void Emitter::emitTileKernel(Value block, Value tileSums, Value rows,
                             Value columns) {
  OpBuilder::InsertionGuard guard(builder);
  MLIRContext *context = builder.getContext();
  const pn_model_tile_t &tile = decision.plan.tile;
  const TileShape &shape = *decision.matrix;
  int64_t down = tile.mr / shape.rows, across = tile.vectors;
  auto sumType = VectorType::get({shape.rows, shape.columns}, type);
  Value column = openTiles(pointsOf(decision.columns), tile.nr);
  Value row = openTiles(pointsOf(decision.rows), tile.mr);
  SmallVector<AffineExpr> columnPlace;
  SmallVector<Value> columnOperands;
  unsigned position = addKernelPlace(columnPlace, columnOperands);
  AffineExpr first = builder.getAffineDimExpr(0);
  AffineExpr second = builder.getAffineDimExpr(1);
  auto placeAt = [&](int64_t i, int64_t j) {
    return AffineMap::get(2, 0, {first + i, second + j}, context);
  };
  // The only block of depth starts from one value, in registers.
  bool isHeld = block && !(decision.startsEven && isWhole(decision.depth));
  if (isHeld && decision.startsEven)
    startTiles(block, row, column);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < down; ++i)
    for (int64_t j = 0; j < across; ++j) {
      Value start;
      if (isHeld)
        start = AffineVectorLoadOp::create(
            builder, loc, sumType, block,
            placeAt(i * shape.rows, j * shape.columns),
            ValueRange{row, column});
      else
        start = vector::BroadcastOp::create(builder, loc, sumType,
                                            decision.contraction.init);
      sums.push_back(start);
    }
  askForOperands(row, column);
  {
    OpBuilder::InsertionGuard inner(builder);
    AffineForOp overDepth =
        makeLoop(pointsOf(decision.depth), shape.words, sums);
    markKernel(overDepth);
    Value k = overDepth.getInductionVar();
    columnOperands.append({k, column});
    SmallVector<Value> updated(overDepth.getRegionIterArgs());
    SmallVector<Value> right;
    for (int64_t j = 0; j < across; ++j) {
      SmallVector<AffineExpr> at(columnPlace);
      at.back() = at.back() + j * shape.columns;
      right.push_back(AffineVectorLoadOp::create(
          builder, loc,
          VectorType::get({shape.words, shape.columns}, packedType), columns,
          AffineMap::get(position + 2, 0, at, context), columnOperands));
    }
    for (int64_t i = 0; i < down; ++i) {
      Value left = AffineVectorLoadOp::create(
          builder, loc, VectorType::get({shape.rows, shape.words}, packedType),
          rows, placeAt(i * shape.rows, 0), ValueRange{row, k});
      for (int64_t j = 0; j < across; ++j) {
        Value &sum = updated[i * across + j];
        sum = multiplyTiles(builder, loc, left, decision.dot->row, right[j],
                            decision.dot->column, decision.step(), sum);
      }
    }
    AffineYieldOp::create(builder, loc, updated);
    sums.assign(overDepth.getResults().begin(), overDepth.getResults().end());
  }
  auto store = [&](Value buffer, AffineMap from, ValueRange operands) {
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j) {
        AffineMap place =
            AffineMap::get(from.getNumDims(), 0,
                           {from.getResult(0) + i * shape.rows,
                            from.getResult(1) + j * shape.columns},
                           context);
        AffineVectorStoreOp::create(builder, loc, sums[i * across + j], buffer,
                                    place, operands);
      }
  };
  if (!decision.endsByTile) {
    store(block, placeAt(0, 0), ValueRange{row, column});
    return;
  }
  if (block) {
    AffineIfOp branch = openOtherDepths();
    store(block, placeAt(0, 0), ValueRange{row, column});
    builder.setInsertionPoint(branch.getThenBlock()->getTerminator());
  }
  AffineExpr zero = builder.getAffineConstantExpr(0);
  store(tileSums, AffineMap::get(0, 0, {zero, zero}, context), ValueRange());
  emitTileEpilogue(tileSums, row, column);
}

/// Puts what the sums start from in the place of the open tiles, in the first
/// block of depth.
void Emitter::startTiles(Value block, Value row, Value column) {
  OpBuilder::InsertionGuard guard(builder);
  const pn_model_tile_t &tile = decision.plan.tile;
  auto [set, operands] = isFirstDepth();
  auto branch = AffineIfOp::create(builder, loc, set, operands,
                                   /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.getThenBlock()->getTerminator());
  int64_t lanes = decision.matrix->columns;
  Value start = vector::BroadcastOp::create(
      builder, loc, VectorType::get({lanes}, type), decision.contraction.init);
  Bounds count{builder.getConstantAffineMap(tile.mr), {}};
  AffineForOp loop = makeLoop(count);
  loop->setAttr(kVectorized, builder.getUnitAttr());
  AffineExpr i = builder.getAffineDimExpr(0), by = builder.getAffineDimExpr(1);
  AffineExpr j = builder.getAffineDimExpr(2);
  for (int64_t v = 0; v < tile.vectors; ++v)
    AffineVectorStoreOp::create(
        builder, loc, start, block,
        AffineMap::get(3, 0, {i + by, j + v * lanes}, builder.getContext()),
        ValueRange{row, loop.getInductionVar(), column});
}

/// A vector of words that hold what the elements of one side were moved by.
Value Emitter::spreadOffset(int64_t offset, int64_t lanes) {
  unsigned bits = decision.dot->row.bits;
  uint64_t mask = (uint64_t(1) << bits) - 1;
  Attribute word = builder.getIntegerAttr(
      packedType, APInt::getSplat(32, APInt(bits, uint64_t(offset) & mask)));
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, packedType), word));
}

/// Sums up what columns that were moved add to each row of the block, once for
/// all of its columns.
void Emitter::sumUpRows() {
  OpBuilder::InsertionGuard guard(builder);
  const pn_model_tile_t &tile = decision.plan.tile;
  int64_t lanes = tile.nr / tile.vectors, step = decision.step();
  auto words = VectorType::get({lanes}, packedType);
  auto elements = VectorType::get(
      {lanes * step}, cast<MemRefType>(flatRows.getType()).getElementType());
  Value moved = spreadOffset(decision.dot->columnOffset, lanes);
  Value row = openTiles(pointsOf(decision.rows), tile.mr);
  SmallVector<Value> sums(
      size_t(tile.mr),
      arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(VectorType::get({lanes}, type))));
  SmallVector<Value> addresses;
  for (int64_t r = 0; r < tile.mr; ++r)
    addresses.push_back(rowAddress(row, r));
  AffineForOp loop = makeLoop(pointsOf(decision.depth), lanes, sums);
  markKernel(loop);
  Value k =
      arith::MulIOp::create(builder, loc, loop.getInductionVar(),
                            arith::ConstantIndexOp::create(builder, loc, step));
  SmallVector<Value> updated(loop.getRegionIterArgs());
  for (auto [sum, address] : llvm::zip_equal(updated, addresses)) {
    Value index = arith::AddIOp::create(builder, loc, address, k);
    Value run = vector::LoadOp::create(builder, loc, elements, flatRows, index);
    sum = multiplyAdd(vector::BitCastOp::create(builder, loc, words, run),
                      moved, sum);
  }
  AffineYieldOp::create(builder, loc, updated);
  builder.setInsertionPointAfter(loop);
  for (auto [r, sum] : llvm::enumerate(loop.getResults()))
    AffineStoreOp::create(builder, loc,
                          vector::ReductionOp::create(
                              builder, loc, vector::CombiningKind::ADD, sum),
                          movedSums,
                          AffineMap::get(1, 0, builder.getAffineDimExpr(0) + r),
                          ValueRange{row});
}

/// Takes what rows that were moved to numbers without a sign add to each of the
/// open columns off what their sums start from, once for all tiles of rows.
void Emitter::startMovedRows(Value columns, Value column) {
  if (!decision.dot || !decision.dot->rowOffset)
    return;
  const pn_model_tile_t &tile = decision.plan.tile;
  int64_t lanes = tile.nr / tile.vectors;
  auto packedVector = VectorType::get({lanes}, packedType);
  movedStarts.assign(size_t(tile.vectors),
                     spreadStart(VectorType::get({lanes}, type)));
  Value moved = spreadOffset(decision.dot->rowOffset, lanes);
  // Sums of their own for a few steps: one would wait for the last.
  int64_t unroll = isExact(decision.depth, depthUnroll) ? depthUnroll : 1;
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(VectorType::get({lanes}, type)));
  SmallVector<Value> sums(size_t(unroll) * movedStarts.size(), zero);
  SmallVector<Value> operands;
  SmallVector<AffineExpr> place;
  unsigned position = addKernelPlace(place, operands);
  AffineForOp loop = makeLoop(pointsOf(decision.depth), unroll, sums);
  markKernel(loop);
  operands.append({loop.getInductionVar(), column});
  SmallVector<Value> updated(loop.getRegionIterArgs());
  for (auto [i, sum] : llvm::enumerate(updated)) {
    SmallVector<AffineExpr> at(place);
    at[at.size() - 2] = at[at.size() - 2] + int64_t(i) / tile.vectors;
    at.back() = at.back() + int64_t(i) % tile.vectors * lanes;
    Value lanesOfB = AffineVectorLoadOp::create(
        builder, loc, packedVector, columns,
        AffineMap::get(position + 2, 0, at, builder.getContext()), operands);
    sum = multiplyAdd(moved, lanesOfB, sum);
  }
  AffineYieldOp::create(builder, loc, updated);
  builder.setInsertionPointAfter(loop);
  for (auto [i, sum] : llvm::enumerate(loop.getResults())) {
    Value &start = movedStarts[i % movedStarts.size()];
    start = arith::SubIOp::create(builder, loc, start, sum);
  }
}

/// Updates the block of accumulators by one block of depth. Where the number of
/// rows is not known, those behind the last whole tile have a micro-kernel of
/// fewer rows: the other would take up to three times as long.
void Emitter::emitKernel(Value block, Value tileSums, Value rows,
                         Value columns) {
  OpBuilder::InsertionGuard guard(builder);
  const pn_model_tile_t &tile = decision.plan.tile;
  int64_t fewRows = 0, most = 0;
  std::optional<Bounds> begin;
  if (hasUnknownRows() && !isExact(decision.rows, tile.mr) &&
      tile.mr >= leastSplitRows)
    fewRows = decision.plan.streams ? llvm::divideCeil(tile.mr, 2)
                                    : pn_model_rest_rows(&machine.core, &tile);
  if (fewRows) {
    most = (tile.mr - 1) / fewRows * fewRows;
    begin = beginRest(most);
  }
  Value column = openTiles(pointsOf(decision.columns), tile.nr);
  startMovedRows(columns, column);
  auto emitRows = [&](const Bounds &bounds, int64_t count,
                      const Bounds *lower = nullptr) {
    OpBuilder::InsertionGuard inner(builder);
    Value row = openTiles(bounds, count, lower);
    openRows = count;
    emitMicroTile(block, tileSums, rows, columns, row, column);
  };
  Bounds all = pointsOf(decision.rows), whole = all;
  if (!begin) {
    emitRows(all, tile.mr);
    return;
  }
  SmallVector<AffineExpr> results;
  for (AffineExpr result : all.map.getResults())
    results.push_back(result - most);
  whole.map = AffineMap::get(all.map.getNumDims(), all.map.getNumSymbols(),
                             results, builder.getContext());
  emitRows(whole, tile.mr);
  emitRows(all, fewRows, &*begin);
}

/// A vector of the columns of a micro-tile: where they are packed at `place`
/// over `operands`, of which the last two are the point of depth and the first
/// column; `step` points and `vector` vectors on.
Value Emitter::columnVector(Value columns, ArrayRef<AffineExpr> place,
                            ValueRange operands, int64_t step, int64_t vector) {
  const pn_model_tile_t &tile = decision.plan.tile;
  int64_t lanes = tile.nr / tile.vectors;
  auto load = [&](Value memref, AffineMap map, ValueRange at) {
    return AffineVectorLoadOp::create(builder, loc,
                                      VectorType::get({lanes}, packedType),
                                      memref, map, at)
        .getResult();
  };
  if (!decision.columnLoad) {
    SmallVector<AffineExpr> at(place);
    at[at.size() - 2] = at[at.size() - 2] + step;
    at.back() = at.back() + vector * lanes;
    return load(columns,
                AffineMap::get(operands.size(), 0, at, builder.getContext()),
                operands);
  }
  auto move = [&](Value point, int64_t by) {
    auto apply = AffineApplyOp::create(
        builder, loc, AffineMap::get(1, 0, builder.getAffineDimExpr(0) + by),
        ValueRange{point});
    applies.push_back(apply);
    return apply.getResult();
  };
  openPoint(decision.depth, move(operands[operands.size() - 2], step));
  openPoint(decision.columns, move(operands.back(), vector * lanes));
  IRMapping mapping =
      mapIvs({&decision.batch, &decision.depth, &decision.columns});
  auto [map, used] =
      compose(decision.columnLoad.getAffineMap(),
              lookUp(mapping, decision.columnLoad.getMapOperands()));
  closePoints();
  return load(decision.columnLoad.getMemRef(), map, used);
}

/// Updates one micro-tile of `openRows` rows by one block of depth.
void Emitter::emitMicroTile(Value block, Value tileSums, Value rows,
                            Value columns, Value row, Value column) {
  OpBuilder::InsertionGuard guard(builder);
  const pn_model_tile_t &tile = decision.plan.tile;
  int64_t lanes = tile.nr / tile.vectors;
  auto vectorType = VectorType::get({lanes}, type);
  auto packedVector = VectorType::get({lanes}, packedType);
  MLIRContext *context = builder.getContext();
  SmallVector<Value> places;
  if (rowsInside) {
    Value isThere = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, row, rowsInside);
    auto branch = scf::IfOp::create(builder, loc, isThere,
                                    /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (int64_t r = 0; r < openRows; ++r)
      places.push_back(AffineLoadOp::create(
          builder, loc, placeTable,
          AffineMap::get(1, 0, builder.getAffineDimExpr(0) + r),
          ValueRange{row}));
  }
  // What the sums of a tile's rows start from, a vector of columns each.
  SmallVector<Value> starts = movedStarts;
  if (starts.empty())
    starts.assign(size_t(tile.vectors), spreadStart(vectorType));
  AffineExpr first = builder.getAffineDimExpr(0);
  AffineExpr second = builder.getAffineDimExpr(1);
  auto placeOf = [&](int64_t r, int64_t v) {
    return AffineMap::get(2, 0, {first + r, second + v * lanes}, context);
  };
  // Sums start anew in each block of depth: those that the buffer holds are
  // added behind, where no multiply-add waits for them.
  SmallVector<Value> sums;
  for (int64_t r = 0; r < openRows; ++r) {
    Value moved;
    if (movedSums)
      moved = vector::BroadcastOp::create(
          builder, loc, vectorType,
          AffineLoadOp::create(builder, loc, movedSums,
                               AffineMap::get(1, 0, first + r),
                               ValueRange{row}));
    for (Value start : starts)
      sums.push_back(
          moved ? arith::SubIOp::create(builder, loc, start, moved).getResult()
                : start);
  }
  auto store = [&](Value buffer, auto placeIn) {
    for (int64_t r = 0; r < openRows; ++r)
      for (int64_t v = 0; v < tile.vectors; ++v)
        AffineVectorStoreOp::create(builder, loc, sums[r * tile.vectors + v],
                                    buffer, placeIn(r, v),
                                    ValueRange{row, column});
  };
  SmallVector<Value> columnOperands;
  SmallVector<AffineExpr> columnPlace;
  unsigned kPosition = addKernelPlace(columnPlace, columnOperands);
  SmallVector<Value> addresses(openRows);
  if (flatRows)
    for (int64_t r = 0; r < openRows; ++r)
      addresses[r] = rowAddress(row, r);
  Value next = nextPanel(columns, row, column);
  askForOperands(row, column);
  {
    OpBuilder::InsertionGuard inner(builder);
    // Fewer instructions for each multiply-add: what two threads of one core
    // share. Sums of integers in several steps would be regrouped by the code
    // generator, and take more registers than there are; those of four bytes
    // are added up by the unit.
    bool unrolls = decision.isLong &&
                   (isa<FloatType>(type) || decision.step() == 4) &&
                   isExact(decision.depth, depthUnroll);
    int64_t unroll = unrolls ? depthUnroll : 1;
    bool inRuns =
        decision.rowMode == RowMode::InPlace && decision.runPoints > 0;
    SmallVector<AffineForOp, 4> loops;
    ValueRange carried = sums;
    auto open = [&](const Bounds &bounds, int64_t step) {
      loops.push_back(makeLoop(bounds, step, carried));
      markKernel(loops.back());
      carried = loops.back().getRegionIterArgs();
    };
    if (inRuns) {
      for (const RunLoop &run : decision.runLoops)
        open(boundsOf(run.cut, 1), 1);
      unroll = 1;
      for (int64_t u = 2; u <= mostOfRun; ++u)
        if (decision.runPoints % u == 0)
          unroll = u;
      open(Bounds{builder.getConstantAffineMap(decision.runPoints), {}},
           unroll);
    } else {
      open(depthOf(row), unroll);
    }
    AffineForOp overDepth = loops.back();
    // The point of depth, and how far it is from the beginning of a row.
    Value k = overDepth.getInductionVar(), far = k;
    if (inRuns && (!decision.runLoops.empty() || decision.runStep != 1)) {
      unsigned count = decision.runLoops.size();
      AffineExpr point = builder.getAffineDimExpr(count);
      AffineExpr element = point * decision.runStep;
      SmallVector<Value> ivs;
      for (auto [i, run] : llvm::enumerate(decision.runLoops)) {
        ivs.push_back(loops[i].getInductionVar());
        point = point + builder.getAffineDimExpr(i) * run.cut.weight;
        element = element + builder.getAffineDimExpr(i) * run.step;
      }
      ivs.push_back(k);
      k = AffineApplyOp::create(builder, loc,
                                AffineMap::get(count + 1, 0, point), ivs);
      far = AffineApplyOp::create(builder, loc,
                                  AffineMap::get(count + 1, 0, element), ivs);
    }
    columnOperands.push_back(k);
    columnOperands.push_back(column);
    SmallVector<Value> updated(overDepth.getRegionIterArgs());
    int64_t line = machine.lineBytes * 8 / packedType.getIntOrFloatBitWidth();
    int64_t lead = decision.panelLead;
    int64_t share = lead ? tile.nr : decision.panelShare;
    int64_t lines = next || lead ? llvm::divideCeil(share * unroll, line) : 0;
    int64_t asked = 0;
    for (int64_t u = 0; u < unroll; ++u) {
      // Spread over the steps: a core waits for few lines at once.
      for (; asked * unroll < (u + 1) * lines; ++asked) {
        SmallVector<AffineExpr> at(columnPlace);
        SmallVector<Value> operands(columnOperands);
        AffineExpr point = builder.getAffineDimExpr(kPosition);
        AffineExpr from = point * share + asked * line + lead;
        at[at.size() - 2] = at[at.size() - 2] - point;
        if (next) {
          operands.push_back(next);
          from = from + builder.getAffineDimExpr(kPosition + 2);
        }
        at.back() = from;
        auto place = AffineMap::get(operands.size(), 0, at, context);
        AffinePrefetchOp::create(builder, loc, columns,
                                 simplifyAffineMap(place), operands,
                                 /*isWrite=*/false, /*localityHint=*/3,
                                 /*isDataCache=*/true);
      }
      SmallVector<Value> lanesOfB;
      for (int64_t v = 0; v < tile.vectors; ++v)
        lanesOfB.push_back(
            columnVector(columns, columnPlace, columnOperands, u, v));
      for (int64_t r = 0; r < openRows; ++r) {
        Value element = rowElement(rows, row, r, far, u, addresses[r]);
        Value spread =
            vector::BroadcastOp::create(builder, loc, packedVector, element);
        for (int64_t v = 0; v < tile.vectors; ++v) {
          Value &sum = updated[r * tile.vectors + v];
          sum = multiplyAdd(spread, lanesOfB[v], sum);
        }
      }
    }
    AffineYieldOp::create(builder, loc, updated);
    for (size_t i = loops.size() - 1; i-- > 0;) {
      builder.setInsertionPointToEnd(loops[i].getBody());
      AffineYieldOp::create(builder, loc, loops[i + 1].getResults());
    }
    sums.assign(loops.front().getResults().begin(),
                loops.front().getResults().end());
  }
  if (rowsInside) {
    for (auto [i, sum] : llvm::enumerate(sums)) {
      int64_t v = int64_t(i) % tile.vectors;
      Value at = v == 0 ? column
                        : arith::AddIOp::create(builder, loc, column,
                                                arith::ConstantIndexOp::create(
                                                    builder, loc, v * lanes))
                              .getResult();
      SmallVector<Value, 2> place{places[i / size_t(tile.vectors)], at};
      Value held =
          vector::LoadOp::create(builder, loc, vectorType, block, place);
      vector::StoreOp::create(builder, loc, add(held, sum), block, place);
    }
    return;
  }
  auto addHeld = [&](MutableArrayRef<Value> to) {
    for (auto [i, sum] : llvm::enumerate(to)) {
      Value held = AffineVectorLoadOp::create(
          builder, loc, vectorType, block,
          placeOf(int64_t(i) / tile.vectors, int64_t(i) % tile.vectors),
          ValueRange{row, column});
      sum = add(held, sum);
    }
  };
  if (!decision.startsEven)
    addHeld(sums);
  else if (block && !isWhole(decision.depth))
    changeUnlessFirst(sums, addHeld);
  if (!decision.endsByTile) {
    store(block, placeOf);
    return;
  }
  if (block) {
    AffineIfOp branch = openOtherDepths();
    store(block, placeOf);
    builder.setInsertionPoint(branch.getThenBlock()->getTerminator());
  }
  store(tileSums, [&](int64_t r, int64_t v) {
    return AffineMap::get(2, 0,
                          {builder.getAffineConstantExpr(r),
                           builder.getAffineConstantExpr(v * lanes)},
                          context);
  });
  emitTileEpilogue(tileSums, row, column);
}

Value Emitter::emit() {
  for (LoopGroup *group :
       {&decision.batch, &decision.rows, &decision.columns, &decision.depth})
    materializeTrips(*group);
  if (!decision.endsByTile && !decision.isSwapped)
    joinAccesses();
  const pn_model_tile_t &tile = decision.plan.tile;
  openRows = tile.mr;
  int32_t bytes = int32_t(type.getIntOrFloatBitWidth() / 8);
  auto strideOf = [&](int64_t points, int64_t unit) {
    return pn_model_row_stride(points, unit, bytes, machine.lineBytes);
  };
  int64_t rowCount = llvm::alignTo(decision.rows.points, tile.mr);
  int64_t columnStride = strideOf(decision.columns.points, tile.nr);
  int64_t depthStride = strideOf(depthRoom(decision.depth.points), 1);
  if (decision.rowMode == RowMode::InPlace)
    flatRows = flatten(builder, loc, decision.rowLoad.getMemRef());
  if (AffineIfOp guard = decision.contraction.guard) {
    auto around =
        AffineIfOp::create(builder, loc, guard.getIntegerSet(),
                           guard.getOperands(), /*withElseRegion=*/false);
    builder.setInsertionPoint(around.getThenBlock()->getTerminator());
  }
  Value columns = decision.packedColumns;
  isAhead = bool(columns);
  if (!columns && decision.packsAhead && !decision.packsByColumns)
    columns = packAhead(columnStride);
  if (decision.rowMode == RowMode::Ahead)
    packRowsAhead(depthStride);
  bool skips = !decision.imageRanges.empty();
  if (skips && isa<FloatType>(type))
    sumUpZeros(columns);
  LoopGroup outer, inner;
  for (const CutLoop &cut : decision.batch.loops)
    (cut.isInner ? inner : outer).loops.push_back(cut);
  openBlocks(outer);
  openBlocks(decision.columns);
  if (decision.packsByColumns)
    columns = packAhead(columnStride);
  openBlocks(decision.rows);
  openBlocks(inner);
  Value block, tileSums;
  if (!decision.endsByTile || !isWhole(decision.depth))
    block = makeBuffer({rowCount + (skips ? 1 : 0), columnStride}, type);
  if (decision.endsByTile)
    tileSums = makeBuffer({tile.mr, tile.nr}, type);
  if (!columns && !decision.columnLoad) {
    SmallVector<int64_t> shape;
    addPackedShape(shape, depthRoom(decision.depth.points), columnStride);
    columns = makePacked(shape, describeColumns(decision));
    clearPackedColumns(columns);
    clearDepthRoom(columns, shape.size() - 2, decision.depth.points);
  }
  Value rows;
  if (decision.rowMode == RowMode::PackedByRow) {
    rows = makePacked({rowCount, depthStride}, describeRows(decision));
    clearPadding(rows, 0, decision.rows, tile.mr);
    clearDepthRoom(rows, 1, decision.depth.points);
  }
  auto makeTable = [&](int64_t count) {
    return makeBuffer({count}, builder.getIndexType());
  };
  if (skips) {
    rowTable = makeTable(rowCount + tile.mr);
    placeTable = makeTable(rowCount + tile.mr);
    clearSpareRow(block);
  } else if (decision.rowMode == RowMode::InPlace &&
             !(decision.rowStep && isExact(decision.rows, tile.mr)))
    rowTable = makeTable(rowCount);
  if (decision.dot && decision.dot->columnOffset)
    movedSums = makeBuffer({rowCount}, type);
  if (decision.rowMode == RowMode::PackedByDepth) {
    rows = makePacked(
        {decision.depth.points, strideOf(decision.rows.points, tile.mr)},
        describeRows(decision));
    clearPadding(rows, 1, decision.rows, tile.mr);
  }
  if (!decision.startsEven) {
    clearPadding(block, 0, decision.rows, tile.mr);
    clearPadding(block, 1, decision.columns, tile.nr);
    emitInit(block);
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    openBlocks(decision.depth);
    bool isReady = isAhead || decision.columnLoad;
    if (!isReady && decision.transposes)
      packTransposed(columns, decision.depth);
    else if (!isReady)
      pack(columns, decision.columnSide(), decision.depth, decision.columns);
    if (decision.packsRuns && decision.rowMode == RowMode::PackedByRow)
      packRowRuns(rows);
    else if (decision.rowMode == RowMode::PackedByRow)
      pack(rows, decision.rowSide(), decision.rows, decision.depth);
    if (decision.rowMode == RowMode::PackedByDepth)
      pack(rows, decision.rowSide(), decision.depth, decision.rows);
    if (skips)
      fillInsideRows();
    else if (rowTable)
      fillRowTable();
    if (movedSums)
      sumUpRows();
    if (decision.matrix) {
      if (!isAhead)
        clearDepthRest(columns,
                       cast<MemRefType>(columns.getType()).getRank() - 2);
      clearDepthRest(rows, 1);
      emitTileKernel(block, tileSums, rows, columns);
    } else {
      emitKernel(block, tileSums, rows, columns);
    }
  }
  closeBlocks(decision.depth);
  if (!decision.endsByTile)
    emitEpilogue(block);
  for (AffineApplyOp apply : llvm::reverse(applies))
    if (apply->use_empty())
      apply->erase();
  decision.contraction.root->erase();
  return holdsNest() ? columns : Value();
}

Value emitBlocks(Blocking &blocking, const ContractionMachine &machine) {
  return Emitter(blocking, machine).emit();
}

} // namespace polynest
