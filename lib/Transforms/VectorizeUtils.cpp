//===- VectorizeUtils.cpp - the mechanics of vectorizing one loop ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Transforms/VectorizeUtils.h"

#include "Analysis/Aliasing.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/Analysis/Utils.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// `expr` with the variable replaced by what it is at lane 0.
static AffineExpr atLaneZero(AffineExpr expr, unsigned position,
                             const LaneLattice &lattice) {
  MLIRContext *context = expr.getContext();
  AffineExpr chunk = getAffineDimExpr(position, context) *
                         (lattice.step * int64_t(lattice.width)) +
                     *lattice.start;
  return expr.replace(getAffineDimExpr(position, context), chunk);
}

std::optional<int64_t> getLaneDelta(AffineExpr expr, unsigned position,
                                    const LaneLattice &lattice) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
  case AffineExprKind::SymbolId:
    return 0;
  case AffineExprKind::DimId:
    return cast<AffineDimExpr>(expr).getPosition() == position ? lattice.step
                                                               : 0;
  case AffineExprKind::Add:
  case AffineExprKind::Mul:
  case AffineExprKind::Mod:
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto left = getLaneDelta(binary.getLHS(), position, lattice);
  auto right = getLaneDelta(binary.getRHS(), position, lattice);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *left + *right;
  if (*left == 0 && *right == 0)
    return 0;
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!factor)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul)
    return *left * factor.getValue();
  // With lane 0 at a multiple of left * width and the divisor such a multiple,
  // the lanes stay within one period.
  int64_t span = *left * int64_t(lattice.width);
  if (*left <= 0 || !lattice.start || factor.getValue() <= 0 ||
      factor.getValue() % span != 0 ||
      !atLaneZero(binary.getLHS(), position, lattice).isMultipleOf(span))
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return 0;
  if (expr.getKind() == AffineExprKind::Mod)
    return left;
  return std::nullopt;
}

/// Bits of an integer or an index, which has 64.
static unsigned getElementBits(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

bool hasVectorLayout(Type elementType) {
  if (elementType.isIndex())
    return true;
  if (!elementType.isIntOrFloat())
    return false;
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static AffineValueMap compose(AffineMap map, ValueRange range) {
  SmallVector<Value, 8> operands(range);
  fullyComposeAffineMapAndOperands(&map, &operands);
  canonicalizeMapAndOperands(&map, &operands);
  return AffineValueMap(map, operands);
}

AffineValueMap getIndexMap(Operation *access) {
  if (auto load = dyn_cast<AffineLoadOp>(access))
    return compose(load.getAffineMap(), load.getMapOperands());
  if (auto prefetch = dyn_cast<AffinePrefetchOp>(access))
    return compose(prefetch.getAffineMap(), prefetch.getMapOperands());
  auto store = cast<AffineStoreOp>(access);
  return compose(store.getAffineMap(), store.getMapOperands());
}

AffineValueMap getValueMap(Operation *op) {
  return TypeSwitch<Operation *, AffineValueMap>(op)
      .Case<AffineApplyOp>([](AffineApplyOp apply) {
        return compose(apply.getAffineMap(), apply.getMapOperands());
      })
      .Case<AffineMinOp, AffineMaxOp>([](auto minmax) {
        return compose(minmax.getAffineMap(), minmax.getMapOperands());
      });
}

static MemRefType getAccessedType(Operation *access) {
  if (auto load = dyn_cast<AffineLoadOp>(access))
    return load.getMemRefType();
  return cast<AffineStoreOp>(access).getMemRefType();
}

/// Position of `iv` among the dimensions of the map, if it is there.
static std::optional<unsigned> findDim(const AffineValueMap &map, Value iv) {
  for (unsigned d = 0, e = map.getNumDims(); d < e; ++d)
    if (map.getOperand(d) == iv)
      return d;
  return std::nullopt;
}

bool standsStillInLanes(const Access &access, AffineForOp loop,
                        unsigned width) {
  Value iv = loop.getInductionVar();
  if (!access.isAffine())
    return false;
  if (isInvariantTo(access, iv))
    return true;
  std::optional<unsigned> position = findDim(access.map, iv);
  if (!position || !loop.hasConstantLowerBound())
    return false;
  LaneLattice lattice{loop.getStepAsInt(), width, loop.getConstantLowerBound()};
  return llvm::all_of(access.map.getAffineMap().getResults(),
                      [&](AffineExpr index) {
                        return getLaneDelta(index, *position, lattice) == 0;
                      });
}

/// The indices with each variable but that of the lanes as the multiple of its
/// step that it is.
static AffineMap scaleSteps(const AffineValueMap &map, Value iv) {
  AffineMap indices = map.getAffineMap();
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0, e = map.getNumDims(); d < e; ++d) {
    dims.push_back(getAffineDimExpr(d, indices.getContext()));
    AffineForOp loop = getForInductionVarOwner(map.getOperand(d));
    if (loop && map.getOperand(d) != iv && loop.getStepAsInt() > 1 &&
        loop.hasConstantLowerBound() &&
        loop.getConstantLowerBound() % loop.getStepAsInt() == 0)
      dims.back() = dims.back() * loop.getStepAsInt();
  }
  return indices.replaceDimsAndSymbols(dims, {}, indices.getNumDims(),
                                       indices.getNumSymbols());
}

LaneAccess classifyLanes(Operation *access, Value iv,
                         const LaneLattice &lattice) {
  AffineValueMap map = getIndexMap(access);
  std::optional<unsigned> position = findDim(map, iv);
  if (!position)
    return {LaneForm::Uniform, 0};
  AffineMap indices = scaleSteps(map, iv);
  unsigned rank = map.getNumResults();
  for (unsigned d = 0; d < rank; ++d) {
    auto delta = getLaneDelta(indices.getResult(d), *position, lattice);
    if (!delta)
      return {};
    if (d + 1 < rank) {
      // Vector accesses move along the last dimension only.
      if (*delta != 0)
        return {};
      continue;
    }
    if (*delta == 0)
      return {LaneForm::Uniform, 0};
    MemRefType type = getAccessedType(access);
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!hasVectorLayout(type.getElementType()) ||
        failed(type.getStridesAndOffset(strides, offset)) ||
        strides.back() != 1)
      return {};
    if (*delta == 1)
      return {LaneForm::Contiguous, 1};
    if (*delta == -1)
      return {LaneForm::Reversed, -1};
    if (*delta >= 2 && *delta <= maxLaneStride && isa<AffineLoadOp>(access))
      return {LaneForm::Strided, *delta};
  }
  return {};
}

/// What an index computed by affine or integer operations gains from one lane
/// to the next; none if that differs between lanes or is not known. Sums wrap
/// around at the width of an index, as addresses do.
static std::optional<int64_t> getIndexDelta(Value index, Value iv,
                                            const LaneFacts &facts,
                                            const LaneLattice &lattice) {
  if (!facts.isVarying(index))
    return 0;
  if (index == iv)
    return lattice.step;
  auto of = [&](Value value) {
    return getIndexDelta(value, iv, facts, lattice);
  };
  Operation *op = index.getDefiningOp();
  if (auto apply = dyn_cast_or_null<AffineApplyOp>(op)) {
    AffineValueMap map = getValueMap(apply);
    std::optional<unsigned> position = findDim(map, iv);
    for (Value operand : map.getOperands())
      if (operand != iv && facts.isVarying(operand))
        return std::nullopt;
    if (!position)
      return std::nullopt;
    return getLaneDelta(map.getResult(0), *position, lattice);
  }
  if (auto add = dyn_cast_or_null<arith::AddIOp>(op)) {
    std::optional<int64_t> left = of(add.getLhs()), right = of(add.getRhs());
    if (left && right && getElementBits(index.getType()) == 64)
      return *left + *right;
    return std::nullopt;
  }
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
    if (getElementBits(cast.getIn().getType()) == 64 &&
        getElementBits(cast.getType()) == 64)
      return of(cast.getIn());
  return std::nullopt;
}

/// True if lane l of what the indices name lies l elements after lane 0.
static bool areInOneRow(MemRefType type, OperandRange indices, Value iv,
                        const LaneFacts &facts, const LaneLattice &lattice) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (indices.empty() || !hasVectorLayout(type.getElementType()) ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  for (Value index : indices.drop_back())
    if (facts.isVarying(index))
      return false;
  return getIndexDelta(indices.back(), iv, facts, lattice) == 1;
}

LaneAccess classifyLanes(memref::LoadOp load, Value iv, const LaneFacts &facts,
                         const LaneLattice &lattice) {
  if (!areInOneRow(load.getMemRefType(), load.getIndices(), iv, facts, lattice))
    return {};
  return {LaneForm::Contiguous, 1};
}

bool isRowOfLanes(memref::StoreOp store, Value iv, const LaneFacts &facts) {
  LaneLattice anywhere;
  anywhere.step = getForInductionVarOwner(iv).getStepAsInt();
  if (!areInOneRow(store.getMemRefType(), store.getIndices(), iv, facts,
                   anywhere))
    return false;
  Value last = store.getIndices().back();
  auto apply = last.getDefiningOp<AffineApplyOp>();
  return last == iv ||
         (apply && !getCoefficients(getValueMap(apply), 0).empty());
}

//===----------------------------------------------------------------------===//
// Squares
//===----------------------------------------------------------------------===//

/// True if the access is contiguous along the loop, an element each iteration.
static bool movesAlongRow(Operation *access, AffineForOp loop) {
  MemRefType type = getAccessedType(access);
  AffineValueMap map = getIndexMap(access);
  std::optional<unsigned> position = findDim(map, loop.getInductionVar());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!position || !hasVectorLayout(type.getElementType()) ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  unsigned last = map.getNumResults() - 1;
  for (unsigned d = 0; d <= last; ++d)
    if (getLaneDelta(map.getResult(d), *position, LaneLattice()) != (d == last))
      return false;
  return true;
}

/// The accesses of an innermost loop that squares can be made of.
static SmallVector<Operation *, 4> squareAccesses(AffineForOp loop, Value iv,
                                                  const LaneFacts &facts) {
  SmallVector<Operation *, 4> found;
  if (loop.getStepAsInt() != 1 ||
      loop.getLowerBoundMap().getNumResults() != 1 ||
      loop.getUpperBoundMap().getNumResults() != 1)
    return found;
  for (Operation &op : loop.getBody()->without_terminator())
    if (op.getNumRegions() ||
        (!isa<AffineLoadOp, AffineStoreOp, memref::LoadOp>(op) &&
         !isMemoryEffectFree(&op)))
      return found;
  SmallVector<Access, 4> accesses;
  collectAccesses(loop, accesses);
  for (const Access &access : accesses)
    if (!access.memref)
      return found;
  auto meets = [&](Operation *op, Value memref, bool isStore) {
    return llvm::any_of(accesses, [&](const Access &other) {
      return other.op != op && (isStore || other.isWrite) &&
             mayAlias(other.memref, memref);
    });
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto load = dyn_cast<AffineLoadOp>(op);
    auto store = dyn_cast<AffineStoreOp>(op);
    if (!load && !store)
      continue;
    Value memref = load ? load.getMemRef() : store.getMemRef();
    if (classifyLanes(&op, iv, LaneLattice()).form == LaneForm::Separate &&
        movesAlongRow(&op, loop) && !meets(&op, memref, bool(store)) &&
        (store || facts.isVarying(load.getResult())))
      found.push_back(&op);
  }
  return found;
}

void findSquares(AffineForOp loop, LaneFacts &facts) {
  loop->walk([&](AffineForOp inner) {
    if (inner == loop)
      return;
    SmallVector<Operation *, 4> found =
        squareAccesses(inner, loop.getInductionVar(), facts);
    if (!found.empty())
      facts.squares[inner] = found;
  });
}

static unsigned getLanes(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

using Pick = function_ref<int64_t(int64_t)>;

/// `lanes` lanes of a vector and, from their number of lanes on, a second one.
static Value pickLanes(OpBuilder &builder, Location loc, Value a, Value b,
                       int64_t lanes, Pick pick) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.push_back(pick(lane));
  return vector::ShuffleOp::create(builder, loc, a, b, order);
}

/// Lanes [first, first + count) of a vector.
static Value takeLanes(OpBuilder &builder, Location loc, Value vector,
                       int64_t first, int64_t count) {
  return pickLanes(builder, loc, vector, vector, count,
                   [&](int64_t lane) { return first + lane; });
}

/// Lanes of a square that units turn within 128 bits of a vector.
static int64_t getPart(Value vector, int64_t most) {
  Type element = cast<VectorType>(vector.getType()).getElementType();
  return std::min(most,
                  std::max<int64_t>(1, 128 / int64_t(getElementBits(element))));
}

/// Turns the squares of `part` vectors and as many lanes. Units interleave two
/// registers within each 128 bits, so that runs of `run` lanes alternate. The
/// vectors of each group of `part` are in bit-reversed order then: vector v
/// holds the column whose bits are those of v reversed.
static void turnParts(OpBuilder &builder, Location loc,
                      MutableArrayRef<Value> vectors, int64_t part) {
  int64_t lanes = getLanes(vectors.front()), count = vectors.size();
  for (int64_t run = 1; run < part; run *= 2) {
    SmallVector<Value> next(vectors.size());
    for (int64_t v = 0; v < count; ++v) {
      if (v & run)
        continue;
      Value a = vectors[v], b = vectors[v + run];
      for (int64_t upper = 0; upper < 2; ++upper)
        next[v + upper * run] =
            pickLanes(builder, loc, a, b, lanes, [&](int64_t lane) {
              int64_t base = lane - lane % part, at = lane % part;
              int64_t block = at / run, inBlock = at % run;
              int64_t from =
                  base + upper * (part / 2) + (block / 2) * run + inBlock;
              return block % 2 ? lanes + from : from;
            });
    }
    llvm::copy(next, vectors.begin());
  }
}

/// Puts vectors that turnParts has turned into their order.
static void orderParts(MutableArrayRef<Value> vectors, int64_t part) {
  if (part <= 2)
    return;
  SmallVector<Value> ordered(vectors.size());
  unsigned bits = llvm::Log2_64(uint64_t(part));
  for (int64_t v = 0, count = vectors.size(); v < count; ++v) {
    int64_t low = v % part, column = v - low;
    for (unsigned bit = 0; bit < bits; ++bit)
      column += ((low >> bit) & 1) << (bits - 1 - bit);
    ordered[column] = vectors[v];
  }
  llvm::copy(ordered, vectors.begin());
}

void turnSquare(OpBuilder &builder, Location loc,
                MutableArrayRef<Value> vectors) {
  int64_t lanes = getLanes(vectors.front());
  int64_t part = getPart(vectors.front(), lanes);
  turnParts(builder, loc, vectors, part);
  // Halves wider than 128 bits change places whole.
  for (int64_t run = part; run < lanes; run *= 2) {
    SmallVector<Value> next(vectors.size());
    for (int64_t v = 0; v < lanes; ++v) {
      if (v & run)
        continue;
      for (int64_t upper = 0; upper < 2; ++upper)
        next[v + upper * run] =
            pickLanes(builder, loc, vectors[v], vectors[v + run], lanes,
                      [&](int64_t lane) {
                        // Runs `upper`, then `upper` of the other one.
                        bool isSecond = lane & run;
                        int64_t from = (lane & ~run) + upper * run;
                        return isSecond ? lanes + from : from;
                      });
    }
    llvm::copy(next, vectors.begin());
  }
  orderParts(vectors, part);
}

/// Turns two squares side by side, rows of twice as many lanes as there are
/// rows: what turns parts turns those of both at once. Rows are of up to four
/// parts.
static SmallVector<Value> turnTwoSquares(OpBuilder &builder, Location loc,
                                         ArrayRef<Value> given) {
  SmallVector<Value> rows(given);
  int64_t width = rows.size(), part = getPart(rows.front(), width);
  turnParts(builder, loc, rows, part);
  orderParts(rows, part);
  SmallVector<Value> columns(2 * width);
  for (int64_t p = 0; p < width / part; ++p)
    for (int64_t j = 0; j < part; ++j) {
      Value two = rows[j];
      if (part < width)
        // Parts 2 p of both, then parts 2 p + 1.
        two = pickLanes(builder, loc, rows[j], rows[part + j], 2 * width,
                        [&](int64_t lane) {
                          int64_t at = lane / part;
                          int64_t from = (2 * p + at / 2) * part + lane % part;
                          return at % 2 ? 2 * width + from : from;
                        });
      for (int64_t half = 0; half < 2; ++half)
        columns[(2 * p + half) * part + j] =
            takeLanes(builder, loc, two, half * width, width);
    }
  return columns;
}

/// What turnTwoSquares has turned, as it was.
static SmallVector<Value> turnTwoSquaresBack(OpBuilder &builder, Location loc,
                                             ArrayRef<Value> columns) {
  int64_t width = columns.size() / 2, part = getPart(columns.front(), width);
  auto two = [&](int64_t p, int64_t j) {
    return pickLanes(builder, loc, columns[2 * p * part + j],
                     columns[(2 * p + 1) * part + j], 2 * width,
                     [](int64_t lane) { return lane; });
  };
  SmallVector<Value> rows(width);
  for (int64_t j = 0; j < part; ++j) {
    Value first = two(0, j);
    if (part == width) {
      rows[j] = first;
      continue;
    }
    Value second = two(1, j);
    for (int64_t g = 0; g < 2; ++g)
      rows[g * part + j] =
          pickLanes(builder, loc, first, second, 2 * width, [&](int64_t lane) {
            int64_t at = lane / part;
            int64_t from = (2 * (at % 2) + g) * part + lane % part;
            return at < 2 ? from : 2 * width + from;
          });
  }
  turnParts(builder, loc, rows, part);
  orderParts(rows, part);
  return rows;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {
/// The bounds of a loop over one list of operands.
struct Bounds {
  AffineExpr lower;
  SmallVector<AffineExpr> upper;
  unsigned numDims, numSymbols;
  SmallVector<Value> operands;
};
} // namespace

static Bounds getBounds(AffineForOp loop) {
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  auto lowerOperands = loop.getLowerBoundOperands();
  auto upperOperands = loop.getUpperBoundOperands();
  Bounds bounds;
  bounds.numDims = lower.getNumDims() + upper.getNumDims();
  bounds.numSymbols = lower.getNumSymbols() + upper.getNumSymbols();
  bounds.lower = lower.getResult(0);
  for (AffineExpr result : upper.getResults())
    bounds.upper.push_back(
        result.shiftDims(upper.getNumDims(), lower.getNumDims())
            .shiftSymbols(upper.getNumSymbols(), lower.getNumSymbols()));
  llvm::append_range(bounds.operands,
                     lowerOperands.take_front(lower.getNumDims()));
  llvm::append_range(bounds.operands,
                     upperOperands.take_front(upper.getNumDims()));
  llvm::append_range(bounds.operands,
                     lowerOperands.drop_front(lower.getNumDims()));
  llvm::append_range(bounds.operands,
                     upperOperands.drop_front(upper.getNumDims()));
  return bounds;
}

/// A map of the given results over the bounds' operands, composed.
static AffineValueMap makeBound(const Bounds &bounds,
                                ArrayRef<AffineExpr> results) {
  AffineMap map = AffineMap::get(bounds.numDims, bounds.numSymbols, results,
                                 bounds.lower.getContext());
  return compose(map, bounds.operands);
}

std::optional<TripInfo> getTripInfo(AffineForOp loop) {
  if (loop.getLowerBoundMap().getNumResults() != 1 || loop.getStepAsInt() <= 0)
    return std::nullopt;
  Bounds bounds = getBounds(loop);
  TripInfo trip;
  int64_t step = loop.getStepAsInt();
  auto constant = [](const AffineValueMap &map) -> std::optional<int64_t> {
    if (auto expr =
            dyn_cast<AffineConstantExpr>(map.getAffineMap().getResult(0)))
      return expr.getValue();
    return std::nullopt;
  };
  trip.start = constant(makeBound(bounds, bounds.lower));
  bool isExact = true;
  for (AffineExpr upper : bounds.upper) {
    AffineValueMap map = makeBound(bounds, upper - bounds.lower);
    if (std::optional<int64_t> distance = constant(map)) {
      int64_t trips = *distance <= 0 ? 0 : (*distance - 1) / step + 1;
      trip.most = trip.most ? std::min(*trip.most, trips) : trips;
      trip.divisors.push_back(trips);
      continue;
    }
    isExact = false;
    // What no step divides ends with a step of its own.
    int64_t divisor = map.getResult(0).getLargestKnownDivisor();
    trip.divisors.push_back(divisor % step == 0 ? divisor / step : 1);
  }
  // No memory has so many elements, and rounded up to whole vectors the bound
  // might leave 64 bits.
  constexpr int64_t kFarthest = int64_t(1) << 47;
  if (step > kFarthest || (isExact && *trip.most > kFarthest / step))
    return std::nullopt;
  if (isExact)
    trip.exact = trip.most;
  return trip;
}

std::optional<unsigned> findOpenBound(const TripInfo &trip, int64_t chunk) {
  for (auto [index, divisor] : llvm::enumerate(trip.divisors))
    if (divisor % chunk != 0)
      return index;
  return std::nullopt;
}

bool canSplitAt(const TripInfo &trip, int64_t chunk) {
  if (trip.exact)
    return true;
  // The boundary is the least of one expression for each upper bound. Those
  // that are whole chunks away need no boundary: past them nothing runs.
  return llvm::count_if(trip.divisors, [&](int64_t divisor) {
           return divisor % chunk != 0;
         }) <= 1;
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

bool isIdempotent(arith::AtomicRMWKind kind) {
  switch (kind) {
  case arith::AtomicRMWKind::andi:
  case arith::AtomicRMWKind::maximumf:
  case arith::AtomicRMWKind::maxnumf:
  case arith::AtomicRMWKind::maxs:
  case arith::AtomicRMWKind::maxu:
  case arith::AtomicRMWKind::minimumf:
  case arith::AtomicRMWKind::minnumf:
  case arith::AtomicRMWKind::mins:
  case arith::AtomicRMWKind::minu:
  case arith::AtomicRMWKind::ori:
    return true;
  default:
    return false;
  }
}

static Value makeSplat(OpBuilder &builder, Location loc, VectorType type,
                       TypedAttr value) {
  return arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(DenseElementsAttr::get(type, value)));
}

TypedAttr getNeutral(arith::AtomicRMWKind kind, Type element) {
  if (auto floating = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    return FloatAttr::get(element, kind == arith::AtomicRMWKind::mulf
                                       ? APFloat::getOne(semantics)
                                       : APFloat::getZero(semantics, true));
  }
  return IntegerAttr::get(element, kind == arith::AtomicRMWKind::muli);
}

/// Accumulators for `kind` that change nothing.
static Value makeIdentity(OpBuilder &builder, Location loc,
                          arith::AtomicRMWKind kind, VectorType type) {
  return makeSplat(builder, loc, type, getNeutral(kind, type.getElementType()));
}

/// A vector of separate scalars. Bits go through bytes: backends build vectors
/// of bytes well, and vectors of bits by shifting masks about.
static Value gatherLanes(OpBuilder &builder, Location loc, VectorType type,
                         SmallVector<Value> lanes) {
  if (!type.getElementType().isInteger(1))
    return vector::FromElementsOp::create(builder, loc, type, lanes);
  Type byte = builder.getI8Type();
  for (Value &lane : lanes)
    lane = arith::ExtUIOp::create(builder, loc, byte, lane);
  auto bytes = VectorType::get(type.getShape(), byte);
  Value vector = vector::FromElementsOp::create(builder, loc, bytes, lanes);
  Value zero = makeSplat(builder, loc, bytes, builder.getI8IntegerAttr(0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, vector,
                               zero);
}

/// The scalars of a vector, bits again through bytes.
static SmallVector<Value> scatterLanes(OpBuilder &builder, Location loc,
                                       Value vector) {
  auto type = cast<VectorType>(vector.getType());
  bool isBits = type.getElementType().isInteger(1);
  if (isBits)
    vector = arith::ExtUIOp::create(
        builder, loc, VectorType::get(type.getShape(), builder.getI8Type()),
        vector);
  SmallVector<Value> lanes;
  for (int64_t l = 0, e = type.getNumElements(); l < e; ++l) {
    Value lane = vector::ExtractOp::create(builder, loc, vector, l);
    if (isBits)
      lane = arith::TruncIOp::create(builder, loc, builder.getI1Type(), lane);
    lanes.push_back(lane);
  }
  return lanes;
}

/// Folds the vector in halves until it has `width` lanes. One sum of integers
/// is left to the code generator: of halves that get narrower LLVM 22 adds up
/// too few where their elements are products of bytes (`vpdpbusd`).
static Value narrow(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind,
                    Value vector, unsigned width) {
  if (kind == arith::AtomicRMWKind::addi && width == 1 &&
      getLanes(vector) > 1) {
    Value sum = vector::ReductionOp::create(builder, loc,
                                            vector::CombiningKind::ADD, vector);
    return vector::BroadcastOp::create(
        builder, loc, VectorType::get({1}, sum.getType()), sum);
  }
  while (getLanes(vector) > width) {
    unsigned half = getLanes(vector) / 2;
    Value low = takeLanes(builder, loc, vector, 0, half);
    Value high = takeLanes(builder, loc, vector, half, half);
    vector = arith::getReductionOp(kind, builder, loc, low, high);
  }
  return vector;
}

/// Folds the vectors of searches in halves until they have `width` lanes.
static void narrowSearches(OpBuilder &builder, Location loc,
                           const LaneFacts &facts,
                           MutableArrayRef<Value> vectors, unsigned width) {
  for (const Search &search : facts.searches) {
    Value &value = vectors[search.value], &place = vectors[search.place];
    while (value && getLanes(value) > width) {
      unsigned half = getLanes(value) / 2;
      auto take = [&](unsigned first) -> Found {
        return {takeLanes(builder, loc, value, first, half),
                takeLanes(builder, loc, place, first, half)};
      };
      Found low = take(0), high = take(half);
      Found found = emitChoice(builder, loc, search, low, high);
      value = found.value;
      place = found.place;
    }
  }
}

/// Folds as many vectors as a power of two, of floats, together: each keeps
/// half of its lanes where two become one, and then all fold their own. A
/// fourth of the instructions that four vectors take one by one.
static SmallVector<Value> narrowTogether(OpBuilder &builder, Location loc,
                                         arith::AtomicRMWKind kind,
                                         ArrayRef<Value> vectors) {
  SmallVector<Value> open(vectors);
  int64_t width = getLanes(open.front()), own = width;
  // Of each run of `own` lanes `count` from its lane `first` on.
  auto pick = [&](Value a, Value b, int64_t first, int64_t count) {
    return pickLanes(builder, loc, a, b, width, [&](int64_t lane) {
      return lane / count * own + (first + lane % count) % own;
    });
  };
  for (; open.size() > 1; own /= 2) {
    SmallVector<Value> next;
    for (size_t i = 0; i < open.size(); i += 2) {
      Value low = pick(open[i], open[i + 1], 0, own / 2);
      Value high = pick(open[i], open[i + 1], own / 2, own / 2);
      next.push_back(arith::getReductionOp(kind, builder, loc, low, high));
    }
    open = next;
  }
  Value all = open.front();
  for (int64_t half = own / 2; half > 0; half /= 2)
    all = arith::getReductionOp(kind, builder, loc, all,
                                pick(all, all, half, own));
  SmallVector<Value> results;
  for (size_t i = 0; i < vectors.size(); ++i)
    results.push_back(
        vector::ExtractOp::create(builder, loc, all, int64_t(i) * own));
  return results;
}

/// Each lane of the vector combined with all lanes before it, in as many steps
/// as their number has bits: the second of two runs of lanes takes in the last
/// lane of the first, and the first what changes nothing.
static Value combineSoFar(OpBuilder &builder, Location loc,
                          arith::AtomicRMWKind kind, Value vector) {
  int64_t lanes = getLanes(vector);
  for (int64_t run = 1; run < lanes; run *= 2) {
    Value idle = isIdempotent(kind)
                     ? vector
                     : makeIdentity(builder, loc, kind,
                                    cast<VectorType>(vector.getType()));
    Value before =
        pickLanes(builder, loc, vector, idle, lanes, [&](int64_t lane) {
          return lane & run ? lane / run * run - 1 : lanes + lane;
        });
    vector = arith::getReductionOp(kind, builder, loc, before, vector);
  }
  return vector;
}

//===----------------------------------------------------------------------===//
// One stage
//===----------------------------------------------------------------------===//

namespace {
using Values = SmallVector<Value, 4>;

/// Writes the body of one stage.
class StageEmitter {
public:
  StageEmitter(const VectorPlan &plan, const VectorStage &stage)
      : facts(plan.facts), oldIv(plan.loop->getRegion(0).getArgument(0)),
        width(stage.width), interleave(stage.interleave),
        vectorBits(plan.vectorBits),
        shift(stage.shift), lattice{AffineForOp(plan.loop).getStepAsInt(),
                                    stage.width,
                                    // A vector moved back is off the lattice.
                                    stage.shift ||
                                            stage.kind == VectorStage::MovedBack
                                        ? std::nullopt
                                        : plan.trip.start} {}

  /// The body of the loop for lanes that start at `iv`; gives what is yielded.
  SmallVector<Value> emitBody(OpBuilder &builder, AffineForOp loop, Value iv,
                              ValueRange accumulators);

private:
  VectorType vectorOf(Type element) const {
    return VectorType::get(int64_t(width), element);
  }
  /// Iterations between lane 0 and the given lane of vector `u`.
  int64_t laneOffset(unsigned u, unsigned lane = 0) const {
    int64_t iteration = int64_t(u) * width + lane;
    return (u + 1 == interleave ? iteration - shift : iteration) * lattice.step;
  }
  Value scalarOf(Value value) const { return scalars.lookupOrDefault(value); }
  Values vectorsOf(OpBuilder &builder, Location loc, Value value);
  Values lanesOfIndex(OpBuilder &builder, Location loc, AffineValueMap map,
                      Operation *op);
  SmallVector<Value> expand(OpBuilder &builder, Location loc, ValueRange values,
                            ValueRange pattern);
  void bindExpanded(ValueRange olds, ValueRange news);
  std::pair<AffineMap, SmallVector<Value>> shifted(const AffineValueMap &map,
                                                   int64_t offset) const;

  void emitBlock(OpBuilder &builder, Block &block);
  void emitOp(OpBuilder &builder, Operation *op);
  void emitLoad(OpBuilder &builder, AffineLoadOp load);
  void emitStore(OpBuilder &builder, AffineStoreOp store);
  void emitPrefetch(OpBuilder &builder, AffinePrefetchOp prefetch);
  Value firstIndex(OpBuilder &builder, Location loc, Value index, unsigned u);
  void emitIndirectLoad(OpBuilder &builder, memref::LoadOp load);
  void emitIndirectStore(OpBuilder &builder, memref::StoreOp store);
  void emitAssert(OpBuilder &builder, cf::AssertOp op);
  void emitLoop(OpBuilder &builder, AffineForOp loop);
  void emitPlainLoop(OpBuilder &builder, AffineForOp loop, AffineMap lower,
                     ValueRange lowerOperands, AffineMap upper,
                     ValueRange upperOperands, ValueRange inits);
  void emitSquareLoop(OpBuilder &builder, AffineForOp loop,
                      ArrayRef<Operation *> squares);
  unsigned chooseSteps(AffineForOp loop, ArrayRef<Operation *> accesses) const;
  void loadSquares(OpBuilder &builder, AffineLoadOp load);
  void storeSquares(OpBuilder &builder, AffineStoreOp store);
  void emitIf(OpBuilder &builder, Operation *op);
  void emitSelects(OpBuilder &builder, scf::IfOp op);
  void emitFma(OpBuilder &builder, Operation *sum, Operation *product);
  void emitScan(OpBuilder &builder, Operation *op);
  void emitElementwise(OpBuilder &builder, Operation *op);

  const LaneFacts &facts;
  Value oldIv;
  unsigned width, interleave, vectorBits;
  int64_t shift;
  LaneLattice lattice;
  IRMapping scalars;
  DenseMap<Value, Values> vectors;
  /// What scans hand to the next iteration, by combiner, in all lanes.
  DenseMap<Operation *, Value> soFar;
  /// Inside a loop of squares: what each of its accesses moves, by interleaved
  /// vector and iteration, and the iteration that is written now.
  struct Square {
    SmallVector<SmallVector<Value>, 4> parts;
  };
  llvm::MapVector<Operation *, Square> squares;
  unsigned squareStep = 0, squareSteps = 0;
};
} // namespace

/// The map with the vectorized variable moved on by `offset`, and the new
/// values of its operands.
std::pair<AffineMap, SmallVector<Value>>
StageEmitter::shifted(const AffineValueMap &map, int64_t offset) const {
  AffineMap affineMap = map.getAffineMap();
  if (std::optional<unsigned> position = findDim(map, oldIv)) {
    AffineExpr dim = getAffineDimExpr(*position, affineMap.getContext());
    affineMap = affineMap.replace(dim, dim + offset, affineMap.getNumDims(),
                                  affineMap.getNumSymbols());
  }
  SmallVector<Value> operands;
  for (Value operand : map.getOperands())
    operands.push_back(scalarOf(operand));
  return {affineMap, operands};
}

/// Vectors of an index that affine operations compute from the variable.
Values StageEmitter::lanesOfIndex(OpBuilder &builder, Location loc,
                                  AffineValueMap map, Operation *op) {
  auto scalarAt = [&](int64_t offset) -> Value {
    auto [moved, operands] = shifted(map, offset);
    if (isa_and_nonnull<AffineMinOp>(op))
      return AffineMinOp::create(builder, loc, moved, operands);
    if (isa_and_nonnull<AffineMaxOp>(op))
      return AffineMaxOp::create(builder, loc, moved, operands);
    return AffineApplyOp::create(builder, loc, moved, operands);
  };
  std::optional<int64_t> delta;
  if (map.getNumResults() == 1)
    if (std::optional<unsigned> position = findDim(map, oldIv))
      delta = getLaneDelta(map.getResult(0), *position, lattice);
  VectorType type = vectorOf(builder.getIndexType());
  Values result;
  for (unsigned u = 0; u < interleave; ++u) {
    if (!delta) {
      SmallVector<Value> lanes;
      for (unsigned l = 0; l < width; ++l)
        lanes.push_back(scalarAt(laneOffset(u, l)));
      result.push_back(
          vector::FromElementsOp::create(builder, loc, type, lanes));
      continue;
    }
    Value base = vector::BroadcastOp::create(builder, loc, type,
                                             scalarAt(laneOffset(u)));
    SmallVector<APInt> steps;
    for (unsigned l = 0; l < width; ++l)
      steps.push_back(APInt(64, uint64_t(*delta * int64_t(l))));
    Value step = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(DenseElementsAttr::get(type, steps)));
    result.push_back(arith::AddIOp::create(builder, loc, base, step));
  }
  return result;
}

Values StageEmitter::vectorsOf(OpBuilder &builder, Location loc, Value value) {
  auto known = vectors.find(value);
  if (known != vectors.end())
    return known->second;
  if (facts.isVarying(value)) {
    Operation *op = value.getDefiningOp();
    if (op)
      return lanesOfIndex(builder, loc, getValueMap(op), op);
    AffineMap identity = builder.getMultiDimIdentityMap(1);
    return lanesOfIndex(builder, loc, AffineValueMap(identity, value), nullptr);
  }
  Value splat = vector::BroadcastOp::create(
      builder, loc, vectorOf(value.getType()), scalarOf(value));
  return Values(interleave, splat);
}

/// The new forms of `values`, each one scalar or all its vectors according to
/// whether the old value in `pattern` varies.
SmallVector<Value> StageEmitter::expand(OpBuilder &builder, Location loc,
                                        ValueRange values, ValueRange pattern) {
  SmallVector<Value> result;
  for (auto [value, model] : llvm::zip_equal(values, pattern)) {
    if (facts.isVarying(model))
      llvm::append_range(result, vectorsOf(builder, loc, value));
    else
      result.push_back(scalarOf(value));
  }
  return result;
}

void StageEmitter::bindExpanded(ValueRange olds, ValueRange news) {
  unsigned next = 0;
  for (Value old : olds) {
    if (!facts.isVarying(old)) {
      scalars.map(old, news[next++]);
      continue;
    }
    Values &entry = vectors[old];
    entry.clear();
    for (unsigned u = 0; u < interleave; ++u)
      entry.push_back(news[next++]);
  }
}

void StageEmitter::emitLoad(OpBuilder &builder, AffineLoadOp load) {
  Location loc = load.getLoc();
  LaneAccess lanes = classifyLanes(load, oldIv, lattice);
  AffineValueMap map = getIndexMap(load);
  Value memref = scalarOf(load.getMemRef());
  auto scalarAt = [&](int64_t offset) -> Value {
    auto [moved, operands] = shifted(map, offset);
    return AffineLoadOp::create(builder, loc, memref, moved, operands);
  };
  if (!facts.isVarying(load.getResult())) {
    scalars.map(load.getResult(), scalarAt(0));
    return;
  }
  if (auto square = squares.find(load); square != squares.end()) {
    if (squareStep == 0)
      loadSquares(builder, load);
    Values step;
    for (const SmallVector<Value> &part : square->second.parts)
      step.push_back(part[squareStep]);
    vectors[load.getResult()] = step;
    return;
  }
  VectorType type = vectorOf(load.getType());
  // `more` elements along the row after those of lane 0.
  auto vectorAt = [&](unsigned u, int64_t more) -> Value {
    auto [moved, operands] = shifted(map, laneOffset(u));
    SmallVector<AffineExpr> results(moved.getResults());
    results.back() = results.back() + more;
    moved = AffineMap::get(moved.getNumDims(), moved.getNumSymbols(), results,
                           builder.getContext());
    return AffineVectorLoadOp::create(builder, loc, type, memref, moved,
                                      operands);
  };
  int64_t last = int64_t(width) - 1;
  Values result;
  for (unsigned u = 0; u < interleave; ++u) {
    switch (lanes.form) {
    case LaneForm::Uniform:
      // Uniform over one vector only (a floordiv of the variable).
      result.push_back(vector::BroadcastOp::create(builder, loc, type,
                                                   scalarAt(laneOffset(u))));
      break;
    case LaneForm::Contiguous:
      result.push_back(vectorAt(u, 0));
      break;
    case LaneForm::Reversed: {
      Value vector = vectorAt(u, -last);
      SmallVector<int64_t> order;
      for (int64_t l = last; l >= 0; --l)
        order.push_back(l);
      result.push_back(
          vector::ShuffleOp::create(builder, loc, vector, vector, order));
      break;
    }
    case LaneForm::Strided: {
      // One load for each `width` elements of the row, none further on than to
      // end at the last lane's element: nothing past it is read.
      Value sum = vectorAt(u, 0);
      for (int64_t q = 1; q < lanes.stride; ++q) {
        int64_t begin = std::min(q * int64_t(width), (lanes.stride - 1) * last);
        Value part = vectorAt(u, begin);
        SmallVector<int64_t> order;
        for (int64_t l = 0; l <= last; ++l) {
          int64_t at = l * lanes.stride;
          int64_t home = std::min(at / int64_t(width), lanes.stride - 1);
          if (home == q)
            order.push_back(int64_t(width) + at - begin);
          else
            // The first shuffle gathers from the row itself; later ones keep
            // what was gathered, and lanes still to come take anything.
            order.push_back(q == 1 && home == 0 ? at : l);
        }
        sum = vector::ShuffleOp::create(builder, loc, sum, part, order);
      }
      result.push_back(sum);
      break;
    }
    case LaneForm::Separate: {
      SmallVector<Value> elements;
      for (unsigned l = 0; l < width; ++l)
        elements.push_back(scalarAt(laneOffset(u, l)));
      result.push_back(gatherLanes(builder, loc, type, elements));
      break;
    }
    }
  }
  vectors[load.getResult()] = result;
}

void StageEmitter::emitStore(OpBuilder &builder, AffineStoreOp store) {
  Location loc = store.getLoc();
  LaneAccess lanes = classifyLanes(store, oldIv, lattice);
  AffineValueMap map = getIndexMap(store);
  Value memref = scalarOf(store.getMemRef());
  Values values = vectorsOf(builder, loc, store.getValueToStore());
  if (auto square = squares.find(store); square != squares.end()) {
    square->second.parts.resize(interleave);
    for (auto [part, value] : llvm::zip_equal(square->second.parts, values))
      part.push_back(value);
    return;
  }
  int64_t last = int64_t(width) - 1;
  for (unsigned u = 0; u < interleave; ++u) {
    if (lanes.form == LaneForm::Contiguous ||
        lanes.form == LaneForm::Reversed) {
      Value vector = values[u];
      int64_t lane = 0;
      if (lanes.form == LaneForm::Reversed) {
        SmallVector<int64_t> order;
        for (int64_t l = last; l >= 0; --l)
          order.push_back(l);
        vector = vector::ShuffleOp::create(builder, loc, vector, vector, order);
        lane = last;
      }
      auto [moved, operands] = shifted(map, laneOffset(u, lane));
      AffineVectorStoreOp::create(builder, loc, vector, memref, moved,
                                  operands);
      continue;
    }
    for (auto [l, element] :
         llvm::enumerate(scatterLanes(builder, loc, values[u]))) {
      auto [moved, operands] = shifted(map, laneOffset(u, l));
      AffineStoreOp::create(builder, loc, element, memref, moved, operands);
    }
  }
}

/// For the first lane of each vector.
void StageEmitter::emitPrefetch(OpBuilder &builder, AffinePrefetchOp prefetch) {
  AffineValueMap map = getIndexMap(prefetch);
  for (unsigned u = 0; u < interleave; ++u) {
    auto [moved, operands] = shifted(map, laneOffset(u));
    AffinePrefetchOp::create(builder, prefetch.getLoc(),
                             scalarOf(prefetch.getMemref()), moved, operands,
                             prefetch.getIsWrite(), prefetch.getLocalityHint(),
                             prefetch.getIsDataCache());
  }
}

/// An index, the variable or an affine operation, in the first lane of vector
/// `u`.
Value StageEmitter::firstIndex(OpBuilder &builder, Location loc, Value index,
                               unsigned u) {
  AffineValueMap map =
      index == oldIv ? AffineValueMap(builder.getMultiDimIdentityMap(1), index)
                     : getValueMap(index.getDefiningOp());
  auto [moved, operands] = shifted(map, laneOffset(u));
  return AffineApplyOp::create(builder, loc, moved, operands);
}

void StageEmitter::emitIndirectLoad(OpBuilder &builder, memref::LoadOp load) {
  Location loc = load.getLoc();
  LaneAccess form = classifyLanes(load, oldIv, facts, lattice);
  bool isContiguous = form.form == LaneForm::Contiguous;
  // Of a contiguous access lane 0 is enough, and mostly affine.
  auto isPlain = [&](Value index) {
    return index == oldIv ||
           isa_and_nonnull<AffineApplyOp>(index.getDefiningOp());
  };
  SmallVector<Values> indices;
  for (Value index : load.getIndices())
    indices.push_back(facts.isVarying(index) &&
                              !(isContiguous && isPlain(index))
                          ? vectorsOf(builder, loc, index)
                          : Values());
  Values result;
  Value memref = scalarOf(load.getMemRef());
  for (unsigned u = 0; u < interleave; ++u) {
    auto indicesOf = [&](unsigned l) {
      SmallVector<Value> at;
      for (auto [old, lanes] : llvm::zip_equal(load.getIndices(), indices)) {
        if (!lanes.empty())
          at.push_back(
              vector::ExtractOp::create(builder, loc, lanes[u], int64_t(l)));
        else
          at.push_back(facts.isVarying(old) ? firstIndex(builder, loc, old, u)
                                            : scalarOf(old));
      }
      return at;
    };
    if (isContiguous) {
      result.push_back(vector::LoadOp::create(
          builder, loc, vectorOf(load.getType()), memref, indicesOf(0)));
      continue;
    }
    SmallVector<Value> elements;
    for (unsigned l = 0; l < width; ++l)
      elements.push_back(
          memref::LoadOp::create(builder, loc, memref, indicesOf(l)));
    result.push_back(
        gatherLanes(builder, loc, vectorOf(load.getType()), elements));
  }
  vectors[load.getResult()] = result;
}

/// A part of a row, see isRowOfLanes.
void StageEmitter::emitIndirectStore(OpBuilder &builder,
                                     memref::StoreOp store) {
  Location loc = store.getLoc();
  Values values = vectorsOf(builder, loc, store.getValueToStore());
  for (unsigned u = 0; u < interleave; ++u) {
    SmallVector<Value> at;
    for (Value index : store.getIndices().drop_back())
      at.push_back(scalarOf(index));
    at.push_back(firstIndex(builder, loc, store.getIndices().back(), u));
    vector::StoreOp::create(builder, loc, values[u],
                            scalarOf(store.getMemRef()), at);
  }
}

/// An assertion on what differs between lanes holds if it does in all of them.
/// It stands before what any lane does next, as before.
void StageEmitter::emitAssert(OpBuilder &builder, cf::AssertOp op) {
  Location loc = op.getLoc();
  Values parts = vectorsOf(builder, loc, op.getArg());
  Value all = parts.front();
  for (Value part : ArrayRef<Value>(parts).drop_front())
    all = arith::AndIOp::create(builder, loc, all, part);
  Value holds = vector::ReductionOp::create(builder, loc,
                                            vector::CombiningKind::AND, all);
  cf::AssertOp::create(builder, loc, holds, op.getMsgAttr());
}

/// The loop with other bounds; they and `inits` are new values.
void StageEmitter::emitPlainLoop(OpBuilder &builder, AffineForOp loop,
                                 AffineMap lower, ValueRange lowerOperands,
                                 AffineMap upper, ValueRange upperOperands,
                                 ValueRange inits) {
  Location loc = loop.getLoc();
  auto newLoop = AffineForOp::create(
      builder, loc, lowerOperands, lower, upperOperands, upper,
      loop.getStepAsInt(), inits,
      [&](OpBuilder &inner, Location, Value iv, ValueRange arguments) {
        scalars.map(loop.getInductionVar(), iv);
        bindExpanded(loop.getRegionIterArgs(), arguments);
        emitBlock(inner, *loop.getBody());
        AffineYieldOp::create(inner, loc,
                              expand(inner, loc, loop.getYieldedValues(),
                                     loop.getRegionIterArgs()));
      });
  bindExpanded(loop.getResults(), newLoop.getResults());
}

void StageEmitter::emitLoop(OpBuilder &builder, AffineForOp loop) {
  auto mapped = [&](ValueRange values) {
    SmallVector<Value> result;
    for (Value value : values)
      result.push_back(scalarOf(value));
    return result;
  };
  auto found = facts.squares.find(loop);
  if (found != facts.squares.end() && width <= maxSquareLanes)
    return emitSquareLoop(builder, loop, found->second);
  SmallVector<Value> inits =
      expand(builder, loop.getLoc(), loop.getInits(), loop.getRegionIterArgs());
  emitPlainLoop(builder, loop, loop.getLowerBoundMap(),
                mapped(loop.getLowerBoundOperands()), loop.getUpperBoundMap(),
                mapped(loop.getUpperBoundOperands()), inits);
}

/// Iterations of a loop of squares at once: as many as there are lanes, or
/// twice that where a row of so many elements is still one vector. Rows are
/// then read and written in longer pieces, whole lines where vectors are lines,
/// and turned by half as many instructions.
unsigned StageEmitter::chooseSteps(AffineForOp loop,
                                   ArrayRef<Operation *> accesses) const {
  unsigned twice = 2 * width;
  std::optional<uint64_t> trips = getTripCount(loop);
  // What is left after them goes one by one.
  constexpr unsigned leastRounds = 16;
  if (interleave != 1 || twice > maxSquareLanes || !trips ||
      (*trips % twice != *trips % width && *trips < leastRounds * twice))
    return width;
  for (Operation *access : accesses) {
    unsigned bits = getElementBits(getAccessedType(access).getElementType());
    // turnTwoSquares takes rows of four parts.
    if (twice * bits > std::min(vectorBits, 512u))
      return width;
  }
  return twice;
}

/// Rows of all lanes from the current iteration on, turned.
void StageEmitter::loadSquares(OpBuilder &builder, AffineLoadOp load) {
  AffineValueMap map = getIndexMap(load);
  Square &square = squares[load];
  for (unsigned u = 0; u < interleave; ++u) {
    SmallVector<Value> rows;
    for (unsigned l = 0; l < width; ++l) {
      auto [moved, operands] = shifted(map, laneOffset(u, l));
      rows.push_back(AffineVectorLoadOp::create(
          builder, load.getLoc(),
          VectorType::get(int64_t(squareSteps), load.getType()),
          scalarOf(load.getMemRef()), moved, operands));
    }
    if (squareSteps == width)
      turnSquare(builder, load.getLoc(), rows);
    else
      rows = turnTwoSquares(builder, load.getLoc(), rows);
    square.parts.push_back(rows);
  }
}

/// What all iterations had for the store, turned, as rows of all lanes from the
/// first iteration on.
void StageEmitter::storeSquares(OpBuilder &builder, AffineStoreOp store) {
  AffineValueMap map = getIndexMap(store);
  for (auto [u, rows] : llvm::enumerate(squares[store].parts)) {
    if (squareSteps == width)
      turnSquare(builder, store.getLoc(), rows);
    else
      rows = turnTwoSquaresBack(builder, store.getLoc(), rows);
    for (unsigned l = 0; l < width; ++l) {
      auto [moved, operands] = shifted(map, laneOffset(u, l));
      AffineVectorStoreOp::create(builder, store.getLoc(), rows[l],
                                  scalarOf(store.getMemRef()), moved, operands);
    }
  }
}

/// Several iterations at once while there are as many, each in its order; the
/// accesses in `accesses` are made once for all of them.
void StageEmitter::emitSquareLoop(OpBuilder &builder, AffineForOp loop,
                                  ArrayRef<Operation *> accesses) {
  Location loc = loop.getLoc();
  Bounds bounds = getBounds(loop);
  int64_t steps = chooseSteps(loop, accesses);
  AffineExpr span = bounds.upper.front() - bounds.lower;
  AffineExpr end = bounds.lower + span.floorDiv(steps) * steps;
  AffineValueMap first = makeBound(bounds, bounds.lower);
  AffineValueMap middle = makeBound(bounds, end);
  AffineValueMap last = makeBound(bounds, bounds.upper.front());
  // A loop that ends before it begins has no rest either.
  std::optional<uint64_t> trips = getTripCount(loop);
  AffineValueMap rest = trips ? middle : makeBound(bounds, {bounds.lower, end});
  auto operandsOf = [&](const AffineValueMap &bound) {
    SmallVector<Value> result;
    for (Value value : bound.getOperands())
      result.push_back(scalarOf(value));
    return result;
  };
  SmallVector<Value> inits =
      expand(builder, loc, loop.getInits(), loop.getRegionIterArgs());
  auto turned = AffineForOp::create(
      builder, loc, operandsOf(first), first.getAffineMap(), operandsOf(middle),
      middle.getAffineMap(), steps, inits,
      [&](OpBuilder &inner, Location, Value iv, ValueRange arguments) {
        AffineExpr dim = inner.getAffineDimExpr(0);
        SmallVector<Value> carried(arguments);
        for (Operation *access : accesses)
          if (classifyLanes(access, oldIv, lattice).form == LaneForm::Separate)
            squares[access].parts.clear();
        squareSteps = steps;
        for (squareStep = 0; squareStep < steps; ++squareStep) {
          Value at = iv;
          if (squareStep > 0)
            at = AffineApplyOp::create(
                inner, loc, AffineMap::get(1, 0, dim + squareStep), iv);
          scalars.map(loop.getInductionVar(), at);
          bindExpanded(loop.getRegionIterArgs(), carried);
          emitBlock(inner, *loop.getBody());
          carried = expand(inner, loc, loop.getYieldedValues(),
                           loop.getRegionIterArgs());
        }
        scalars.map(loop.getInductionVar(), iv);
        for (Operation *access : accesses)
          if (auto store = dyn_cast<AffineStoreOp>(access))
            if (squares.contains(store))
              storeSquares(inner, store);
        squares.clear();
        AffineYieldOp::create(inner, loc, carried);
      });
  SmallVector<Value> carried(turned.getResults());
  bindExpanded(loop.getResults(), carried);
  // Erases the loop.
  if (inits.empty() && getTripCount(turned) == 1)
    (void)promoteIfSingleIteration(turned);
  if (trips && *trips % uint64_t(steps) == 0)
    return;
  emitPlainLoop(builder, loop, rest.getAffineMap(), operandsOf(rest),
                last.getAffineMap(), operandsOf(last), carried);
}

/// An affine.if or scf.if whose condition is the same in all lanes.
void StageEmitter::emitIf(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  SmallVector<Type> types;
  for (Value result : op->getResults()) {
    if (facts.isVarying(result))
      types.append(interleave, vectorOf(result.getType()));
    else
      types.push_back(result.getType());
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalarOf(operand));
  OperationState state(loc, op->getName(), operands, types, op->getAttrs());
  for (unsigned r = 0, e = op->getNumRegions(); r < e; ++r)
    state.addRegion();
  Operation *newOp = builder.create(state);
  for (auto [oldRegion, newRegion] :
       llvm::zip_equal(op->getRegions(), newOp->getRegions())) {
    if (oldRegion.empty())
      continue;
    Block *block = new Block();
    newRegion.push_back(block);
    OpBuilder inner = OpBuilder::atBlockBegin(block);
    emitBlock(inner, oldRegion.front());
    Operation *yield = oldRegion.front().getTerminator();
    SmallVector<Value> yielded =
        expand(inner, loc, yield->getOperands(), op->getResults());
    if (isa<scf::IfOp>(op))
      scf::YieldOp::create(inner, loc, yielded);
    else
      AffineYieldOp::create(inner, loc, yielded);
  }
  bindExpanded(op->getResults(), newOp->getResults());
}

/// An scf.if whose condition varies: both sides are free of effects and run.
void StageEmitter::emitSelects(OpBuilder &builder, scf::IfOp op) {
  Location loc = op.getLoc();
  Values condition = vectorsOf(builder, loc, op.getCondition());
  emitBlock(builder, *op.thenBlock());
  emitBlock(builder, *op.elseBlock());
  for (auto [result, yes, no] :
       llvm::zip_equal(op.getResults(), op.thenYield().getOperands(),
                       op.elseYield().getOperands())) {
    Values yesVectors = vectorsOf(builder, loc, yes);
    Values noVectors = vectorsOf(builder, loc, no);
    Values selected;
    for (unsigned u = 0; u < interleave; ++u)
      selected.push_back(arith::SelectOp::create(builder, loc, condition[u],
                                                 yesVectors[u], noVectors[u]));
    vectors[result] = selected;
  }
}

void StageEmitter::emitFma(OpBuilder &builder, Operation *sum,
                           Operation *product) {
  Location loc = sum->getLoc();
  Value addend = sum->getOperand(0).getDefiningOp() == product
                     ? sum->getOperand(1)
                     : sum->getOperand(0);
  Values left = vectorsOf(builder, loc, product->getOperand(0));
  Values right = vectorsOf(builder, loc, product->getOperand(1));
  Values accumulators = vectorsOf(builder, loc, addend);
  Values result;
  for (unsigned u = 0; u < interleave; ++u)
    result.push_back(vector::FMAOp::create(builder, loc, left[u], right[u],
                                           accumulators[u]));
  vectors[sum->getResult(0)] = result;
}

/// Each vector's lanes are combined by themselves first, so that a vector waits
/// for the one before it during one operation.
void StageEmitter::emitScan(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  const Reduction &scan = *llvm::find_if(
      facts.reductions, [&](const Reduction &r) { return r.combiner == op; });
  Value carried = AffineForOp(cast<AffineForOp>(op->getParentOp()))
                      .getRegionIterArgs()[*scan.iterArg];
  // All of its vectors are the same.
  Value before = vectorsOf(builder, loc, carried).front();
  Values parts;
  for (Value part : vectorsOf(builder, loc, scan.value))
    parts.push_back(combineSoFar(builder, loc, scan.kind, part));
  Values result;
  for (Value part : parts) {
    Value all = pickLanes(builder, loc, part, part, width,
                          [&](int64_t) { return int64_t(width) - 1; });
    result.push_back(
        arith::getReductionOp(scan.kind, builder, loc, before, part));
    before = arith::getReductionOp(scan.kind, builder, loc, before, all);
  }
  vectors[op->getResult(0)] = result;
  soFar[op] = before;
}

void StageEmitter::emitElementwise(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  SmallVector<Values> operands;
  for (Value operand : op->getOperands())
    operands.push_back(vectorsOf(builder, loc, operand));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(vectorOf(type));
  SmallVector<Values> results(op->getNumResults());
  for (unsigned u = 0; u < interleave; ++u) {
    SmallVector<Value> lane;
    for (const Values &values : operands)
      lane.push_back(values[u]);
    OperationState state(loc, op->getName(), lane, types, op->getAttrs());
    Operation *newOp = builder.create(state);
    for (auto [values, value] : llvm::zip_equal(results, newOp->getResults()))
      values.push_back(value);
  }
  for (auto [old, values] : llvm::zip_equal(op->getResults(), results))
    vectors[old] = values;
}

void StageEmitter::emitOp(OpBuilder &builder, Operation *op) {
  if (facts.fusedProducts.contains(op))
    return;
  if (auto load = dyn_cast<AffineLoadOp>(op))
    return emitLoad(builder, load);
  if (auto store = dyn_cast<AffineStoreOp>(op))
    return emitStore(builder, store);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return emitIndirectStore(builder, store);
  if (auto prefetch = dyn_cast<AffinePrefetchOp>(op))
    return emitPrefetch(builder, prefetch);
  if (auto loop = dyn_cast<AffineForOp>(op))
    return emitLoop(builder, loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    if (facts.isVarying(branch.getCondition()))
      return emitSelects(builder, branch);
  if (isa<AffineIfOp, scf::IfOp>(op))
    return emitIf(builder, op);
  if (auto assertion = dyn_cast<cf::AssertOp>(op))
    if (facts.isVarying(assertion.getArg()))
      return emitAssert(builder, assertion);
  bool isVarying = llvm::any_of(
      op->getResults(), [&](Value value) { return facts.isVarying(value); });
  if (!isVarying) {
    builder.clone(*op, scalars);
    return;
  }
  // Computed where used: most are indices of accesses that were composed.
  if (isa<AffineApplyOp, AffineMinOp, AffineMaxOp>(op))
    return;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return emitIndirectLoad(builder, load);
  if (Operation *product = facts.products.lookup(op))
    return emitFma(builder, op, product);
  if (facts.scans.contains(op))
    return emitScan(builder, op);
  emitElementwise(builder, op);
}

void StageEmitter::emitBlock(OpBuilder &builder, Block &block) {
  for (Operation &op : block.without_terminator())
    emitOp(builder, &op);
}

SmallVector<Value> StageEmitter::emitBody(OpBuilder &builder, AffineForOp loop,
                                          Value iv, ValueRange accumulators) {
  scalars.map(loop.getInductionVar(), iv);
  bindExpanded(loop.getRegionIterArgs(), accumulators);
  emitBlock(builder, *loop.getBody());
  SmallVector<Value> results =
      expand(builder, loop.getLoc(), loop.getYieldedValues(),
             loop.getRegionIterArgs());
  for (const Reduction &reduction : facts.reductions)
    if (Value all = soFar.lookup(reduction.combiner))
      std::fill_n(results.begin() + *reduction.iterArg * interleave, interleave,
                  all);
  return results;
}

//===----------------------------------------------------------------------===//
// All stages
//===----------------------------------------------------------------------===//

namespace {
/// Bounds of one stage.
struct StageBounds {
  AffineValueMap lower, upper;
};
} // namespace

/// Bounds of stage `index`. Stage k covers whole chunks of width * interleave
/// iterations from where the stage before it stopped.
static StageBounds getStageBounds(const VectorPlan &plan, unsigned index) {
  AffineForOp loop = plan.loop;
  const VectorStage &stage = plan.stages[index];
  Bounds bounds = getBounds(loop);
  int64_t step = loop.getStepAsInt();
  if (plan.trip.exact) {
    int64_t chunk = int64_t(stage.width) * stage.interleave;
    AffineExpr begin = bounds.lower + stage.begin * step;
    AffineExpr end = bounds.lower + (stage.begin + stage.count * chunk) * step;
    return {makeBound(bounds, begin), makeBound(bounds, end)};
  }
  auto endOf = [&](AffineExpr upper, int64_t chunk) {
    AffineExpr trips = (upper - bounds.lower).ceilDiv(step);
    return bounds.lower + trips.floorDiv(chunk) * (chunk * step);
  };
  SmallVector<AffineExpr, 4> lower{bounds.lower}, upper;
  int64_t chunk = int64_t(stage.width) * stage.interleave;
  if (stage.kind == VectorStage::MovedBack) {
    // Runs once or not at all: each upper bound is past the lower one exactly
    // if its condition holds.
    unsigned open = *findOpenBound(plan.trip, stage.width);
    AffineExpr trips = (bounds.upper[open] - bounds.lower).ceilDiv(step);
    AffineExpr begin = bounds.lower + (trips - stage.width) * step;
    upper = {begin + 1, begin + trips - stage.width + 1,
             begin + trips % int64_t(stage.width)};
    for (auto [bound, expr] : llvm::enumerate(bounds.upper))
      if (bound != open)
        upper.push_back(begin + (expr - bounds.lower).ceilDiv(step) - trips +
                        1);
    return {makeBound(bounds, begin), makeBound(bounds, upper)};
  }
  bool isFirst = index == 0;
  if (stage.kind == VectorStage::Short) {
    // Empty unless there are fewer iterations than the wide vector has lanes.
    const VectorStage &moved =
        *llvm::find_if(plan.stages, [](const VectorStage &s) {
          return s.kind == VectorStage::MovedBack;
        });
    unsigned open = *findOpenBound(plan.trip, moved.width);
    AffineExpr trips = (bounds.upper[open] - bounds.lower).ceilDiv(step);
    upper.push_back(bounds.lower +
                    (-trips + moved.width) * (int64_t(moved.width) * step));
    isFirst = plan.stages[index - 1].kind == VectorStage::MovedBack;
  }
  if (!isFirst) {
    const VectorStage &before = plan.stages[index - 1];
    int64_t past = int64_t(before.width) * before.interleave;
    if (std::optional<unsigned> open = findOpenBound(plan.trip, past))
      lower.push_back(endOf(bounds.upper[*open], past));
    else
      // Nothing is left where every bound is a whole number of chunks away.
      lower = {bounds.upper.front()};
  }
  for (AffineExpr expr : bounds.upper)
    upper.push_back(chunk == 1 ? expr : endOf(expr, chunk));
  return {makeBound(bounds, lower), makeBound(bounds, upper)};
}

static void mark(AffineForOp loop) {
  loop->setAttr(kVectorized, UnitAttr::get(loop.getContext()));
}

/// True if the reductions of a loop are alike, of floats, and two or four.
static bool foldTogether(const VectorPlan &plan, ArrayRef<Value> vectors) {
  if ((vectors.size() != 2 && vectors.size() != 4) ||
      !plan.facts.searches.empty() || llvm::is_contained(vectors, Value()))
    return false;
  auto type = cast<VectorType>(vectors.front().getType());
  return isa<FloatType>(type.getElementType()) &&
         size_t(type.getNumElements()) > vectors.size() &&
         llvm::all_of(vectors,
                      [&](Value other) { return other.getType() == type; }) &&
         llvm::all_of(plan.facts.reductions, [&](const auto &reduction) {
           return reduction.kind == plan.facts.reductions.front().kind;
         });
}

/// Combines neighbours, then what they gave, always in the same order.
template <typename T>
static T foldPairwise(SmallVector<T> parts, function_ref<T(T, T)> combine) {
  while (parts.size() > 1) {
    SmallVector<T> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(combine(parts[i], parts[i + 1]));
    if (parts.size() % 2)
      next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts.front();
}

void vectorizeLoop(const VectorPlan &plan) {
  AffineForOp loop = plan.loop;
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  SmallVector<Value> scalars(loop.getInits());
  // One vector a reduction while stages are wide; null before the first.
  SmallVector<Value> wide(scalars.size());
  const LaneFacts &facts = plan.facts;
  // Lanes of which each began as the loop does hold all that it would.
  auto beginAlike = [&](const Reduction &reduction) {
    return isSearched(facts.searches, *reduction.iterArg) ||
           isIdempotent(reduction.kind);
  };
  auto finish = [&]() {
    SmallVector<Value> lanes;
    narrowSearches(builder, loc, facts, wide, 1);
    if (foldTogether(plan, wide))
      lanes = narrowTogether(builder, loc, plan.facts.reductions.front().kind,
                             wide);
    for (auto [index, reduction] : llvm::enumerate(plan.facts.reductions)) {
      Value &vector = wide[index], &scalar = scalars[index];
      if (!vector)
        continue;
      Value lane =
          !lanes.empty()
              ? lanes[index]
              : vector::ExtractOp::create(
                    builder, loc,
                    narrow(builder, loc, reduction.kind, vector, 1), int64_t(0))
                    .getResult();
      scalar = beginAlike(reduction)
                   ? lane
                   : arith::getReductionOp(reduction.kind, builder, loc, scalar,
                                           lane);
      vector = {};
    }
  };
  SmallVector<AffineForOp> made;
  for (unsigned index = 0, e = plan.stages.size(); index < e; ++index) {
    const VectorStage &stage = plan.stages[index];
    StageBounds bounds = getStageBounds(plan, index);
    auto lowerOperands = bounds.lower.getOperands();
    auto upperOperands = bounds.upper.getOperands();
    if (stage.width == 1) {
      finish();
      auto rest = cast<AffineForOp>(builder.clone(*loop));
      rest.setLowerBound(lowerOperands, bounds.lower.getAffineMap());
      rest.setUpperBound(upperOperands, bounds.upper.getAffineMap());
      for (auto [operand, value] :
           llvm::zip_equal(rest.getInitsMutable(), scalars))
        operand.set(value);
      scalars.assign(rest.result_begin(), rest.result_end());
      made.push_back(rest);
      continue;
    }
    narrowSearches(builder, loc, facts, wide, stage.width);
    SmallVector<Value> inits;
    for (auto [reduction, vector, scalar] :
         llvm::zip_equal(plan.facts.reductions, wide, scalars)) {
      auto type = VectorType::get(int64_t(stage.width), scalar.getType());
      bool isScan = plan.facts.scans.contains(reduction.combiner);
      Value neutral =
          beginAlike(reduction) || isScan
              ? vector::BroadcastOp::create(builder, loc, type, scalar)
                    .getResult()
              : makeIdentity(builder, loc, reduction.kind, type);
      inits.push_back(
          vector ? narrow(builder, loc, reduction.kind, vector, stage.width)
                 : neutral);
      inits.append(stage.interleave - 1, neutral);
    }
    StageEmitter emitter(plan, stage);
    int64_t chunk = int64_t(stage.width) * stage.interleave;
    auto newLoop = AffineForOp::create(
        builder, loc, lowerOperands, bounds.lower.getAffineMap(), upperOperands,
        bounds.upper.getAffineMap(), chunk * loop.getStepAsInt(), inits,
        [&](OpBuilder &inner, Location, Value iv, ValueRange arguments) {
          AffineYieldOp::create(inner, loc,
                                emitter.emitBody(inner, loop, iv, arguments));
        });
    made.push_back(newLoop);
    auto partsOf = [&](unsigned r) {
      return newLoop.getResults().slice(r * stage.interleave, stage.interleave);
    };
    for (unsigned r = 0; r < wide.size(); ++r) {
      if (facts.scans.contains(facts.reductions[r].combiner))
        scalars[r] = vector::ExtractOp::create(builder, loc, partsOf(r).front(),
                                               int64_t(0));
      else if (!isSearched(facts.searches, r))
        wide[r] = foldPairwise<Value>(
            llvm::to_vector_of<Value>(partsOf(r)), [&](Value a, Value b) {
              return arith::getReductionOp(facts.reductions[r].kind, builder,
                                           loc, a, b);
            });
    }
    for (const Search &search : facts.searches) {
      SmallVector<Found> parts;
      for (auto [value, place] :
           llvm::zip_equal(partsOf(search.value), partsOf(search.place)))
        parts.push_back({value, place});
      Found found = foldPairwise<Found>(parts, [&](Found a, Found b) {
        return emitChoice(builder, loc, search, a, b);
      });
      wide[search.value] = found.value;
      wide[search.place] = found.place;
    }
  }
  finish();
  loop->replaceAllUsesWith(scalars);
  loop->erase();
  for (AffineForOp stage : made) {
    mark(stage);
    (void)promoteIfSingleIteration(stage);
  }
}

} // namespace polynest
