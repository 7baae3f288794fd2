//===- TrimLoops.cpp - loops over columns that a mask leaves --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: scores that a condition on their indices replaces by -inf (a causal
// mask) leave nothing behind the softmax: where all columns from some place on
// are masked in every row of a block, the loops over columns of the nests that
// make and use the block end there. What the mask decides within the rest is
// done by a nest of its own, over the columns where it decides anything. Sums
// of products say by the row how many terms the mask leaves idle there.
// Legal when: buffers in between are private to the block, every loop that
// reads them sweeps their columns from the first one, at least one column is
// left, and iterations that are left out would change nothing:
//   max(a, -inf) = a
//   a + exp(-inf - m) = a, where m is the maximum of the row: m is NaN or -inf
//     only if each column that is left gives NaN, too
//   a + exp(-inf - m) / s * v = a + 0 * v, s the sum of the row: kept as a sum
//     of 0 * v over what is left out, for v may be NaN or infinite.
// Values are the same, also those of rows that are NaN.
// Profitable when: the bound is below the number of columns in some block.
// Columns in front, which a window hides, are left out likewise, from the block
// on in which all rows have some: the blocks before it run in a loop of their
// own. Limits: one condition of the form column >= linear function of outer
// loops, and one of the form column <= such a function; -inf itself (a mask
// that adds finite numbers, or -inf, hides nothing); where the number of
// columns is not known, it has to be that of the rows, of which whole blocks
// end within it. Cost: operations of blocks that hold such a select.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/AffineValues.h"
#include "Analysis/NestParts.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_TRIMLOOPS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-trim-loops"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "trim-loops";

/// Columns in which the mask decides begin at a multiple of this: whole
/// vectors, and lines of the cache.
static constexpr int64_t columnUnit = 16;
/// Blocks from which on sums over what each leaves out begin with those of the
/// next: one alone reads all that is left out.
static constexpr int64_t leastBlocksOfSums = 4;

namespace {
/// A bound of the columns: a linear function of values from outside of the
/// block.
struct Bound {
  /// Factors of values from outside of the block, and what is added to them.
  SmallVector<std::pair<int64_t, Value>> terms;
  int64_t constant = 0;
  IntegerRange range;
  /// The same as a map.
  AffineMap map;
  SmallVector<Value> operands;
};

/// How often a loop from 0 by steps of 1 runs: a number, or a value.
struct LoopEnd {
  int64_t number = -1;
  Value value;

  bool operator==(const LoopEnd &other) const {
    return number == other.number && value == other.value;
  }
};

/// A select that puts -inf in masked columns of a buffer.
struct Mask {
  AffineStoreOp store;
  arith::SelectOp select;
  /// What columns have that are not masked.
  Value kept;
  AffineForOp column;
  /// From `end` on all rows of the block are masked; before `first` none is by
  /// the same condition, which is the only one where `isOnly`.
  bool hasEnd = false, isOnly = false;
  Bound end, first;
  /// The variable of the nest's loop over rows of which each is masked one
  /// column later than the one before, if that is so.
  Value row;
  /// All rows are masked before this column.
  bool hasStart = false;
  Bound start;
};

/// What masked columns of a buffer, or a value computed from them, hold.
/// `Zero` stands for 0, or NaN where a column that is left holds NaN, too.
enum class Hidden { None, NegativeInfinity, BelowMaximum, Zero, Product };

struct HiddenValue {
  Hidden kind = Hidden::None;
  /// Values with one number are the same in each column.
  unsigned id = 0;
  /// Product: what zero is multiplied by.
  Value factor;
};

struct HiddenBuffer {
  unsigned dim = 0;
  HiddenValue value;
  /// Of each other dimension, how many rows are stored.
  SmallVector<LoopEnd, 4> rows;
};

/// A sum of zeros times `factor` over the columns of `loop`.
struct MaskedProduct {
  AffineForOp loop, root;
  Value factor;
  SmallVector<Operation *> slice;
  /// Loops of the nest that the factor depends on, outermost first.
  SmallVector<AffineForOp> loops;
};
} // namespace

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Collects expressions of which each, where it is not negative, makes the
/// condition `wanted`. Clears `isOnly` if the condition may be so otherwise.
static void collectReasons(Value condition, bool wanted,
                           AffineValueBuilder &builder,
                           SmallVectorImpl<AffineExpr> &reasons, bool &isOnly,
                           unsigned depth = 0) {
  Operation *op = condition.getDefiningOp();
  if (!op || depth > 16) {
    isOnly = false;
    return;
  }
  auto go = [&](Value value, bool want) {
    collectReasons(value, want, builder, reasons, isOnly, depth + 1);
  };
  auto constantOf = [](Value value) -> std::optional<bool> {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)))
      return std::nullopt;
    return constant.getBoolValue();
  };
  if (isa<arith::XOrIOp, arith::AndIOp, arith::OrIOp>(op)) {
    Value value = op->getOperand(0), other = op->getOperand(1);
    if (constantOf(value))
      std::swap(value, other);
    std::optional<bool> constant = constantOf(other);
    if (isa<arith::XOrIOp>(op) && constant)
      return go(value, wanted != *constant);
    bool isAnd = isa<arith::AndIOp>(op);
    if (!isa<arith::XOrIOp>(op) && constant && *constant == isAnd)
      return go(value, wanted);
    // One of the two is enough.
    if (!isa<arith::XOrIOp>(op) && isAnd != wanted) {
      go(value, wanted);
      return go(other, wanted);
    }
    isOnly = false;
    return;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  std::optional<AffineConstraint> constraint =
      compare ? builder.expressConstraint(compare, !wanted) : std::nullopt;
  if (constraint && !constraint->isEquality)
    reasons.push_back(constraint->expr);
  else
    isOnly = false;
}

/// A bound as a map of values.
static void makeMap(Bound &bound, MLIRContext *context) {
  bound.operands.clear();
  AffineExpr expr = getAffineConstantExpr(bound.constant, context);
  for (auto [factor, value] : bound.terms) {
    expr = expr + getAffineDimExpr(bound.operands.size(), context) * factor;
    bound.operands.push_back(value);
  }
  bound.map = AffineMap::get(bound.operands.size(), 0, expr);
  canonicalizeMapAndOperands(&bound.map, &bound.operands);
}

/// The value of `sum` over `terms`, of which those that `nest` moves take their
/// highest or lowest value; none where that is not known.
static std::optional<Bound> makeBound(ArrayRef<std::pair<int64_t, Value>> terms,
                                      int64_t constant, Operation *nest,
                                      bool highest) {
  constexpr int64_t mostValue = int64_t(1) << 48, mostFactor = 1 << 20;
  constexpr __int128 mostSum = __int128(1) << 60;
  Bound bound;
  __int128 sumLow = constant, sumHigh = constant, sum = constant;
  for (auto [factor, value] : terms) {
    if (factor == 0)
      continue;
    IntegerRange range = rangeOfValue(value);
    if (!range.isBounded() || range.low < -mostValue ||
        range.high > mostValue || factor < -mostFactor || factor > mostFactor)
      return std::nullopt;
    __int128 low = __int128(factor) * (factor > 0 ? range.low : range.high);
    __int128 high = __int128(factor) * (factor > 0 ? range.high : range.low);
    if (nest->isAncestor(value.getParentBlock()->getParentOp())) {
      (highest ? low : high) = highest ? high : low;
      sum += low;
    } else {
      bound.terms.push_back({factor, value});
    }
    sumLow += low;
    sumHigh += high;
  }
  if (sumLow < -mostSum || sumHigh > mostSum || sum < -mostSum || sum > mostSum)
    return std::nullopt;
  bound.constant = int64_t(sum);
  bound.range = {int64_t(sumLow), int64_t(sumHigh)};
  makeMap(bound, nest->getContext());
  return bound;
}

/// How often a loop from 0 by steps of 1 runs, if that is a constant or a value
/// as it is.
static std::optional<LoopEnd> getEnd(AffineForOp loop) {
  if (!countsFromZero(loop))
    return std::nullopt;
  if (loop.hasConstantUpperBound())
    return LoopEnd{loop.getConstantUpperBound(), {}};
  AffineMap map = loop.getUpperBoundMap();
  if (map.getNumResults() != 1 || map.getNumInputs() != 1 ||
      !isa<AffineDimExpr, AffineSymbolExpr>(map.getResult(0)))
    return std::nullopt;
  return LoopEnd{-1, loop.getUpperBoundOperands()[0]};
}

/// True if the bound is proven not to lie behind `size`.
static bool isWithin(const Bound &bound, const LoopEnd &size) {
  if (!size.value)
    return bound.range.high <= size.number;
  // Blocks of a loop that runs as often as there are whole ones.
  if (bound.terms.size() != 1)
    return false;
  auto [factor, index] = bound.terms.front();
  AffineForOp loop = getForInductionVarOwner(index);
  if (!loop || loop.getStepAsInt() != 1 ||
      loop.getUpperBoundMap().getNumResults() != 1 ||
      loop.getUpperBoundOperands().size() != 1 ||
      loop.getUpperBoundOperands()[0] != size.value)
    return false;
  auto count =
      dyn_cast<AffineBinaryOpExpr>(loop.getUpperBoundMap().getResult(0));
  auto rows = count && count.getKind() == AffineExprKind::FloorDiv
                  ? dyn_cast<AffineConstantExpr>(count.getRHS())
                  : AffineConstantExpr();
  // factor * (size / rows - 1) + constant <= size
  return rows && isa<AffineDimExpr, AffineSymbolExpr>(count.getLHS()) &&
         factor > 0 && factor <= rows.getValue() && bound.constant <= factor;
}

/// The loop from 0 by steps of 1 that an index stands for.
static AffineForOp getRun(AffineMap map, ValueRange operands, unsigned d) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResult(d));
  AffineForOp loop = dim ? getForInductionVarOwner(operands[dim.getPosition()])
                         : AffineForOp();
  return loop && getEnd(loop) ? loop : AffineForOp();
}

/// The nest directly in `block` around `op`.
static AffineForOp getNest(Block *block, Operation *op) {
  return dyn_cast_or_null<AffineForOp>(block->findAncestorOpInBlock(*op));
}

/// A private buffer with plain accesses only.
static bool isPlainBuffer(Value memref) {
  Operation *op = memref.getDefiningOp();
  if (!isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(op))
    return false;
  auto type = cast<MemRefType>(memref.getType());
  return type.getLayout().isIdentity() &&
         llvm::all_of(memref.getUsers(), [&](Operation *user) {
           auto store = dyn_cast<AffineStoreOp>(user);
           return isa<AffineLoadOp>(user) ||
                  (store && store.getValueToStore() != memref);
         });
}

static bool isNegativeInfinity(Value value) {
  APFloat constant(0.0f);
  return matchPattern(value, m_ConstantFloat(&constant)) &&
         constant.isInfinity() && constant.isNegative();
}

/// The one variable of the nest by which the sum of the terms moves, as far as
/// it does; null if there is no such.
static Value findRow(ArrayRef<std::pair<int64_t, Value>> terms,
                     AffineForOp nest) {
  Value row;
  for (auto [factor, value] : terms) {
    if (factor == 0 || !nest->isAncestor(value.getParentBlock()->getParentOp()))
      continue;
    if (factor != 1 || row || !getForInductionVarOwner(value))
      return {};
    row = value;
  }
  return row;
}

/// Takes what a reason says about columns: where it begins, or ends, to hold.
static void addReason(Mask &mask, AffineForOp nest, ArrayRef<Value> operands,
                      ArrayRef<int64_t> flat) {
  int64_t factor = 0;
  SmallVector<std::pair<int64_t, Value>> before, behind;
  for (auto [value, by] : llvm::zip(operands, flat)) {
    if (value == mask.column.getInductionVar()) {
      factor += by;
      continue;
    }
    before.push_back({by, value});
    behind.push_back({-by, value});
  }
  // The reason is column - bound.
  if (factor == 1 && !mask.hasEnd) {
    auto end = makeBound(behind, -flat.back(), nest, /*highest=*/true);
    auto first = makeBound(behind, -flat.back(), nest, /*highest=*/false);
    if (!end || !first)
      return;
    mask.hasEnd = true;
    mask.end = *end;
    mask.first = *first;
    mask.row = findRow(behind, nest);
  }
  // The reason is bound - column; the first column that may stay is the next.
  if (factor == -1 && !mask.hasStart) {
    auto start = makeBound(before, flat.back() + 1, nest, /*highest=*/false);
    if (!start)
      return;
    mask.hasStart = true;
    mask.start = *start;
  }
}

/// Looks for a mask behind the store; false if there is none.
static bool matchMask(AffineStoreOp store, Mask &mask) {
  mask.store = store;
  mask.select = store.getValueToStore().getDefiningOp<arith::SelectOp>();
  Operation *alloc = store.getMemRef().getDefiningOp();
  if (!mask.select || mask.select->getBlock() != store->getBlock() ||
      !isPlainBuffer(store.getMemRef()) || !isa<memref::AllocOp>(alloc))
    return false;
  bool wanted = isNegativeInfinity(mask.select.getTrueValue());
  if (wanted == isNegativeInfinity(mask.select.getFalseValue()))
    return false;
  mask.kept = wanted ? mask.select.getFalseValue() : mask.select.getTrueValue();
  AffineForOp nest = getNest(alloc->getBlock(), store);
  mask.column = dyn_cast<AffineForOp>(store->getParentOp());
  if (!nest || !mask.column || !getEnd(mask.column))
    return false;
  AffineValueBuilder builder(store);
  SmallVector<AffineExpr> reasons;
  mask.isOnly = true;
  collectReasons(mask.select.getCondition(), wanted, builder, reasons,
                 mask.isOnly);
  mask.isOnly &= reasons.size() == 1;
  SmallVector<Value> operands = builder.getOperands();
  unsigned dims = builder.getNumDims(), symbols = builder.getNumSymbols();
  for (AffineExpr reason : reasons) {
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(reason, dims, symbols, &flat)) ||
        flat.size() != operands.size() + 1)
      continue;
    addReason(mask, nest, operands, flat);
  }
  return mask.hasEnd || mask.hasStart;
}

//===----------------------------------------------------------------------===//
// What masked columns hold
//===----------------------------------------------------------------------===//

namespace {
/// Follows what masked columns hold through the nests of a block.
class MaskAnalysis {
public:
  MaskAnalysis(Mask &mask, Block *block) : mask(mask), block(block) {}

  /// Why the loops over columns cannot be cut short, or null.
  const char *run();

  SmallVector<AffineForOp> columns;
  SmallVector<MaskedProduct> products;
  /// Of each nest the loop over the rows that mask.row counts; null where what
  /// masked columns hold does not stay in its row.
  AffineForOp getRowLoop(AffineForOp nest) const {
    return staysInRow ? rowLoops.lookup(nest) : AffineForOp();
  }

private:
  const char *visitNest(AffineForOp nest);
  const char *visitColumn(AffineForOp column, AffineForOp nest);
  const char *visitStore(AffineStoreOp store, AffineForOp column,
                         AffineForOp nest);
  const char *visitCarried(AffineForOp column, unsigned i, AffineForOp nest);
  void visitOperation(Operation *op, AffineForOp column);
  HiddenValue lookup(Value value) const { return values.lookup(value); }
  AffineForOp getSweep(AffineMap map, ValueRange operands, unsigned d) const;
  std::optional<SmallVector<Value>> getRows(Operation *access, unsigned dim,
                                            AffineForOp nest);
  void followRow(Operation *access, unsigned dim, AffineForOp nest);
  bool isMaximum(Value row, unsigned id) const;
  bool isSum(Value row, unsigned id) const;

  Mask &mask;
  Block *block;
  DenseMap<Value, HiddenBuffer> buffers;
  DenseMap<Value, HiddenValue> values;
  /// Rows whose value is the maximum, or the sum, of columns with a number.
  DenseMap<Value, unsigned> maxima, sums;
  /// Numbers of columns that are exponentials: 0 and above, or NaN.
  llvm::SmallDenseSet<unsigned> exponentials;
  unsigned nextId = 1;
  /// Which of the rows' variables of an access mask.row is.
  std::optional<size_t> rowPlace;
  bool staysInRow = true;
  DenseMap<Operation *, AffineForOp> rowLoops;
};
} // namespace

/// The loop that an index stands for, if it goes over as many columns as the
/// mask is put on.
AffineForOp MaskAnalysis::getSweep(AffineMap map, ValueRange operands,
                                   unsigned d) const {
  AffineForOp loop = getRun(map, operands, d);
  return loop && *getEnd(loop) == *getEnd(mask.column) ? loop : AffineForOp();
}

/// The variables that name the rows of an access, dimension by dimension; none
/// unless each is a loop of the nest of its own.
std::optional<SmallVector<Value>>
MaskAnalysis::getRows(Operation *access, unsigned dim, AffineForOp nest) {
  auto [map, operands] = getPlace(access);
  auto type = cast<MemRefType>(getMemRef(access).getType());
  SmallVector<Value> rows;
  for (unsigned d = 0; d != map.getNumResults(); ++d) {
    if (d == dim)
      continue;
    auto constant = dyn_cast<AffineConstantExpr>(map.getResult(d));
    if (type.getDimSize(d) == 1 && constant && constant.getValue() == 0) {
      rows.push_back({});
      continue;
    }
    AffineForOp loop = getRun(map, operands, d);
    if (!loop || !nest->isAncestor(loop) ||
        llvm::is_contained(rows, loop.getInductionVar()))
      return std::nullopt;
    rows.push_back(loop.getInductionVar());
  }
  return rows;
}

/// Takes note of the loop over rows by which an access names the mask's row.
void MaskAnalysis::followRow(Operation *access, unsigned dim,
                             AffineForOp nest) {
  Operation *alloc = getMemRef(access).getDefiningOp();
  AffineForOp &loop = rowLoops[nest];
  // A buffer of one row is made in it.
  if (alloc->getBlock() != block) {
    staysInRow &= loop && loop->isAncestor(alloc);
    return;
  }
  std::optional<SmallVector<Value>> rows = getRows(access, dim, nest);
  if (!rowPlace && rows && mask.row)
    rowPlace = size_t(llvm::find(*rows, mask.row) - rows->begin());
  AffineForOp own = rows && rowPlace && *rowPlace < rows->size()
                        ? getForInductionVarOwner((*rows)[*rowPlace])
                        : AffineForOp();
  staysInRow &= own && (!loop || loop == own);
  loop = own;
}

/// How many rows the loops over them reach.
static SmallVector<LoopEnd, 4> countRows(ArrayRef<Value> rows) {
  return llvm::map_to_vector<4>(rows, [](Value row) {
    return row ? *getEnd(getForInductionVarOwner(row)) : LoopEnd{1, {}};
  });
}

/// The value that `row` is but where it equals a number for which `isAsked`:
/// there it is another number, for which `isFit`. Null if it is no such select.
static Value seeThroughGuard(Value row, function_ref<bool(Value)> isAsked,
                             function_ref<bool(const APFloat &)> isFit) {
  auto select = row.getDefiningOp<arith::SelectOp>();
  auto compare =
      select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  APFloat other(0.0f);
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OEQ ||
      !isAsked(compare.getRhs()) ||
      !matchPattern(select.getTrueValue(), m_ConstantFloat(&other)) ||
      !isFit(other))
    return {};
  Value compared = compare.getLhs();
  if (auto extended = compared.getDefiningOp<arith::ExtFOp>())
    compared = extended.getIn();
  return compared == select.getFalseValue() ? compared : Value();
}

/// True if the row is the maximum of the columns, or above it.
bool MaskAnalysis::isMaximum(Value row, unsigned id) const {
  auto found = maxima.find(row);
  if (found != maxima.end())
    return found->second == id;
  // Where all columns are -inf, any number is above them.
  Value guarded =
      seeThroughGuard(row, isNegativeInfinity,
                      [](const APFloat &other) { return !other.isNaN(); });
  return guarded && isMaximum(guarded, id);
}

/// True if the row is the sum of the columns, or where that is 0 another
/// number.
bool MaskAnalysis::isSum(Value row, unsigned id) const {
  auto found = sums.find(row);
  if (found != sums.end())
    return found->second == id;
  Value guarded = seeThroughGuard(
      row, [](Value value) { return matchPattern(value, m_AnyZeroFloat()); },
      [](const APFloat &other) { return !other.isZero() && !other.isNaN(); });
  return guarded && isSum(guarded, id);
}

/// What the results of an operation hold in masked columns.
void MaskAnalysis::visitOperation(Operation *op, AffineForOp column) {
  if (op == mask.select) {
    values[op->getResult(0)] = {Hidden::NegativeInfinity, nextId++, {}};
    return;
  }
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  HiddenValue first = lookup(op->getOperand(0));
  auto standsStill = [&](Value value) {
    return !column->isAncestor(value.getParentBlock()->getParentOp());
  };
  if (isa<arith::ExtFOp>(op)) {
    if (first.kind != Hidden::Product)
      values[result] = first;
  } else if (isa<arith::TruncFOp>(op)) {
    // What is rounded may become infinite or zero where it was not.
    if (first.kind == Hidden::NegativeInfinity || first.kind == Hidden::Zero) {
      if (exponentials.contains(first.id))
        exponentials.insert(nextId);
      values[result] = {first.kind, nextId++, {}};
    }
  } else if (isa<arith::SubFOp>(op)) {
    Value row = op->getOperand(1);
    if (first.kind == Hidden::NegativeInfinity && standsStill(row) &&
        isMaximum(row, first.id))
      values[result] = {Hidden::BelowMaximum, 0, {}};
  } else if (isa<math::ExpOp, math::Exp2Op>(op)) {
    if (first.kind == Hidden::BelowMaximum) {
      exponentials.insert(nextId);
      values[result] = {Hidden::Zero, nextId++, {}};
    }
  } else if (isa<arith::DivFOp>(op)) {
    Value row = op->getOperand(1);
    if (first.kind == Hidden::Zero && standsStill(row) && isSum(row, first.id))
      values[result] = {Hidden::Zero, nextId++, {}};
  } else if (isa<arith::MulFOp>(op)) {
    HiddenValue second = lookup(op->getOperand(1));
    if (first.kind == Hidden::Zero && second.kind == Hidden::None)
      values[result] = {Hidden::Product, 0, op->getOperand(1)};
    else if (second.kind == Hidden::Zero && first.kind == Hidden::None)
      values[result] = {Hidden::Product, 0, op->getOperand(0)};
  }
}

const char *MaskAnalysis::visitStore(AffineStoreOp store, AffineForOp column,
                                     AffineForOp nest) {
  HiddenValue value = lookup(store.getValueToStore());
  if (value.kind != Hidden::NegativeInfinity && value.kind != Hidden::Zero)
    return "a loop over columns stores what the mask does not decide";
  Value memref = store.getMemRef();
  Operation *alloc = memref.getDefiningOp();
  if (!isPlainBuffer(memref) ||
      (alloc->getBlock() != block && !nest->isAncestor(alloc)))
    return "masked columns are stored in a buffer that is not private";
  auto [map, operands] = getPlace(store);
  for (unsigned d = 0; d != map.getNumResults(); ++d) {
    if (getSweep(map, operands, d) != column)
      continue;
    auto rows = getRows(store, d, nest);
    if (!rows)
      break;
    // Every row is stored: nothing but the loops over rows stands around.
    for (Operation *op = column->getParentOp();
         op != nest->getParentOp() && op != alloc->getParentOp();
         op = op->getParentOp()) {
      auto loop = dyn_cast<AffineForOp>(op);
      if (!loop || !llvm::is_contained(*rows, loop.getInductionVar()))
        return "masked columns are not stored for all rows";
    }
    // In a row, columns are read before they are stored again.
    for (Operation *user : memref.getUsers())
      if (nest->isAncestor(user) && getRows(user, d, nest) != rows)
        return "rows of masked columns are read out of step";
    followRow(store, d, nest);
    buffers[memref] = {d, value, countRows(*rows)};
    return nullptr;
  }
  return "masked columns are stored out of order";
}

/// What the loop carries stays as it is in masked columns.
const char *MaskAnalysis::visitCarried(AffineForOp column, unsigned i,
                                       AffineForOp nest) {
  static const char *const why = "a loop carries what masked columns change";
  Value carried = column.getRegionIterArgs()[i];
  Operation *op = column.getYieldedValues()[i].getDefiningOp();
  if (!op || op->getNumOperands() != 2 || !carried.hasOneUse() ||
      *carried.user_begin() != op || op->getBlock() != column.getBody() ||
      !op->getResult(0).hasOneUse())
    return why;
  Value added = op->getOperand(op->getOperand(0) == carried ? 1 : 0);
  HiddenValue value = lookup(added);
  Value result = column.getResult(i);
  if (isa<arith::MaximumFOp>(op) && value.kind == Hidden::NegativeInfinity) {
    maxima[result] = value.id;
    return nullptr;
  }
  if (!isa<arith::AddFOp>(op) ||
      !matchPattern(column.getInits()[i], m_PosZeroFloat()))
    return why;
  if (value.kind == Hidden::Zero && exponentials.contains(value.id)) {
    sums[result] = value.id;
    return nullptr;
  }
  if (value.kind != Hidden::Product)
    return why;
  MaskedProduct product;
  product.loop = column;
  product.root = nest;
  product.factor = value.factor;
  products.push_back(product);
  return nullptr;
}

const char *MaskAnalysis::visitColumn(AffineForOp column, AffineForOp nest) {
  columns.push_back(column);
  for (Operation &op : column.getBody()->without_terminator()) {
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      auto found = buffers.find(load.getMemRef());
      if (found == buffers.end())
        continue;
      auto [map, operands] = getPlace(load);
      if (getSweep(map, operands, found->second.dim) != column)
        return "masked columns are read out of order";
      followRow(load, found->second.dim, nest);
      values[load.getResult()] = found->second.value;
      continue;
    }
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      if (const char *why = visitStore(store, column, nest))
        return why;
      continue;
    }
    // Sums that columns are made of.
    if (op.getNumRegions() != 0) {
      WalkResult result = op.walk([&](Operation *inner) {
        bool isFree =
            isa<AffineForOp, AffineYieldOp>(inner) ||
            (isa<AffineLoadOp>(inner) &&
             !buffers.contains(cast<AffineLoadOp>(inner).getMemRef()));
        return isFree || (inner->getNumRegions() == 0 &&
                          isMemoryEffectFree(inner))
                   ? WalkResult::advance()
                   : WalkResult::interrupt();
      });
      if (result.wasInterrupted())
        return "a loop over columns holds other code";
      continue;
    }
    if (!isReadOnly(&op))
      return "a loop over columns holds other code";
    visitOperation(&op, column);
  }
  for (unsigned i = 0; i != column.getNumIterOperands(); ++i)
    if (const char *why = visitCarried(column, i, nest))
      return why;
  return nullptr;
}

/// Visits the loops over columns of a nest, in order.
const char *MaskAnalysis::visitNest(AffineForOp nest) {
  llvm::SetVector<Operation *> found;
  const char *why = nullptr;
  auto collect = [&](Operation *access) {
    if (access == mask.store) {
      found.insert(mask.column);
      return;
    }
    auto known = buffers.find(getMemRef(access));
    if (known == buffers.end() || isa<AffineStoreOp>(access))
      return;
    auto [map, operands] = getPlace(access);
    AffineForOp column = getSweep(map, operands, known->second.dim);
    auto rows = getRows(access, known->second.dim, nest);
    if (!column || !nest->isAncestor(column) || !rows)
      why = "masked columns are read out of order";
    else if (countRows(*rows) != known->second.rows)
      why = "other rows are read than have been stored";
    else
      found.insert(column);
  };
  // Loops of which each reads what one before it has stored come up one by one.
  size_t visited = 0;
  while (true) {
    nest.walk([&](Operation *op) {
      if (isa<AffineLoadOp, AffineStoreOp>(op))
        collect(op);
    });
    if (why || visited == found.size())
      break;
    auto column = cast<AffineForOp>(found[visited]);
    // They run one after the other.
    if (visited != 0 && (found[visited - 1]->getBlock() != column->getBlock() ||
                         !found[visited - 1]->isBeforeInBlock(column)))
      return "loops over columns do not follow each other";
    ++visited;
    if ((why = visitColumn(column, nest)))
      break;
  }
  if (why)
    return why;
  // What touches the buffers is inside of these loops.
  WalkResult result = nest.walk([&](Operation *op) {
    if (!isa<AffineLoadOp, AffineStoreOp>(op) ||
        !buffers.contains(getMemRef(op)))
      return WalkResult::advance();
    return llvm::any_of(
               found,
               [&](Operation *column) { return op->getParentOp() == column; })
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return result.wasInterrupted() ? "masked columns are used in other loops"
                                 : nullptr;
}

const char *MaskAnalysis::run() {
  AffineForOp first = getNest(block, mask.store);
  for (Operation *op = first; op; op = op->getNextNode()) {
    bool touches = op == first;
    op->walk([&](Operation *inner) {
      if (isa<AffineLoadOp, AffineStoreOp>(inner))
        touches |= buffers.contains(getMemRef(inner));
    });
    if (!touches)
      continue;
    auto nest = dyn_cast<AffineForOp>(op);
    if (!nest)
      return "masked columns are used outside of nests";
    if (const char *why = visitNest(nest))
      return why;
  }
  // Earlier nests of the block hold older contents, which end with the store.
  for (MaskedProduct &product : products) {
    SliceCollector slice(product.root);
    if (failed(slice.add(product.factor)))
      return "what masked columns are multiplied by cannot be moved";
    product.slice = slice.ops.takeVector();
    for (Operation *op : product.slice) {
      auto load = dyn_cast<AffineLoadOp>(op);
      if (op == mask.select || (load && buffers.contains(load.getMemRef())))
        return "masked columns are multiplied by others";
    }
    SmallVector<Access, 8> accesses, reads;
    collectAccesses(product.root, accesses);
    for (Operation *op : product.slice)
      collectAccesses(op, reads);
    for (const Access &read : reads)
      if (mayWrite(accesses, read.memref))
        return "what masked columns are multiplied by is written";
    for (Operation *op = product.loop->getParentOp();
         op != product.root->getParentOp(); op = op->getParentOp()) {
      auto loop = dyn_cast<AffineForOp>(op);
      if (!loop || loop.getNumIterOperands() != 0)
        return "masked columns are summed in other code";
      if (!slice.loops.contains(loop))
        continue;
      if (!getEnd(loop))
        return "bounds around a sum of masked columns are not plain";
      product.loops.insert(product.loops.begin(), loop);
    }
    // One sum for all rows.
    for (auto &[memref, buffer] : buffers)
      for (Operation *user : memref.getUsers()) {
        if (!product.loop->isAncestor(user))
          continue;
        auto rows = getRows(user, buffer.dim, product.root);
        for (Value row : *rows)
          if (row && slice.loops.contains(getForInductionVarOwner(row)))
            return "what masked columns are multiplied by differs by row";
      }
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// A loop that runs as often as `loop`.
static AffineForOp copyLoop(OpBuilder &builder, Location loc,
                            AffineForOp loop) {
  return AffineForOp::create(
      builder, loc, ValueRange(), builder.getConstantAffineMap(0),
      loop.getUpperBoundOperands(), loop.getUpperBoundMap());
}

/// A buffer of the product's type, for each iteration of its loops; `blocks`
/// rows of that, if there are any.
static Value makeSums(OpBuilder &builder, MaskedProduct &product,
                      int64_t blocks) {
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  if (blocks > 0)
    shape.push_back(blocks);
  for (AffineForOp loop : product.loops) {
    LoopEnd end = *getEnd(loop);
    shape.push_back(end.value ? ShapedType::kDynamic : end.number);
    if (end.value)
      sizes.push_back(end.value);
  }
  auto type = MemRefType::get(shape, product.loop.getResult(0).getType());
  return memref::AllocOp::create(builder, product.loop.getLoc(), type, sizes,
                                 builder.getI64IntegerAttr(kBufferAlignment));
}

/// Copies the product's loops; adds their variables to `place`, and maps them.
static void copyLoops(OpBuilder &builder, MaskedProduct &product,
                      SmallVectorImpl<Value> &place, IRMapping &mapping) {
  for (AffineForOp loop : product.loops) {
    AffineForOp copy = copyLoop(builder, product.loop.getLoc(), loop);
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    place.push_back(copy.getInductionVar());
    builder.setInsertionPointToStart(copy.getBody());
  }
}

static Value makeZero(OpBuilder &builder, MaskedProduct &product) {
  return arith::ConstantOp::create(
      builder, product.loop.getLoc(),
      builder.getZeroAttr(product.loop.getResult(0).getType()));
}

/// The sum of 0 * factor over the columns from `from` to `to`.
static Value sumZeros(OpBuilder &builder, MaskedProduct &product, Value zero,
                      const Bound &from, const Bound &to, IRMapping &mapping) {
  Location loc = product.loop.getLoc();
  auto sum = AffineForOp::create(builder, loc, from.operands, from.map,
                                 to.operands, to.map, 1, zero);
  OpBuilder inner = OpBuilder::atBlockBegin(sum.getBody());
  mapping.map(product.loop.getInductionVar(), sum.getInductionVar());
  for (Operation *op : product.slice)
    inner.clone(*op, mapping);
  Value factor = mapping.lookupOrDefault(product.factor);
  Value added = arith::MulFOp::create(inner, loc, factor, zero);
  AffineYieldOp::create(
      inner, loc,
      arith::AddFOp::create(inner, loc, sum.getRegionIterArgs()[0], added)
          .getResult());
  return sum.getResult(0);
}

/// The loop over blocks that each leave out the columns from `from` to `to`,
/// if sums over what one leaves out and the next does not may be made once, in
/// front of it: nothing in it moves or writes what they read, and there are
/// many of them. Iterations around it have to be enough for all cores, which
/// blocks are not run on then.
static AffineForOp findBlocks(const MaskedProduct &product, Block *block,
                              const Bound &from, const Bound &to,
                              int64_t cores) {
  auto blocks = dyn_cast<AffineForOp>(block->getParentOp());
  if (!blocks || from.terms.size() != 1 || from.terms[0].first <= 0 ||
      from.terms[0].second != blocks.getInductionVar() ||
      !countsFromZero(blocks) || !blocks.hasConstantUpperBound() ||
      blocks.getNumIterOperands() != 0 ||
      blocks.getConstantUpperBound() < leastBlocksOfSums ||
      !to.map.isSingleConstant() ||
      to.map.getSingleConstantResult() <= from.constant)
    return {};
  SmallVector<AffineForOp> around;
  for (Operation *op = blocks->getParentOp(); !isa<func::FuncOp>(op);
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      return {};
    around.push_back(loop);
  }
  if (!around.empty() && countPoints(around) < double(2 * cores))
    return {};
  auto isFree = [&](Value value) {
    Operation *owner = value.getParentBlock()->getParentOp();
    return product.root->isAncestor(owner) || !blocks->isAncestor(owner);
  };
  auto areFree = [&](auto values) { return llvm::all_of(values, isFree); };
  SmallVector<Access, 8> accesses, reads;
  collectAccesses(blocks, accesses);
  for (Operation *op : product.slice) {
    if (op->getNumRegions() != 0 || !areFree(op->getOperands()))
      return {};
    collectAccesses(op, reads);
  }
  for (AffineForOp loop : product.loops)
    if (!areFree(loop.getUpperBoundOperands()))
      return {};
  for (const Access &read : reads)
    if (mayWrite(accesses, read.memref))
      return {};
  return blocks;
}

namespace {
/// Columns from a number on that grows in steps, which are added up by step.
struct ColumnSteps {
  int64_t first, step;
};
} // namespace

/// Sums of 0 * factor over the columns from each step on, up to `size` columns:
/// made once in front of `blocks`, from the last step on. What lies before the
/// next step is added to the sum of the next.
static Value sumBySteps(MaskedProduct &product, AffineForOp blocks,
                        const ColumnSteps &steps, int64_t size) {
  OpBuilder builder(blocks);
  Location loc = product.loop.getLoc();
  int64_t count = llvm::divideCeilSigned(size - steps.first, steps.step);
  Value sums = makeSums(builder, product, count + 1);
  Value zero = makeZero(builder, product);
  // The place of a sum, of which the first index is a function of the first.
  auto placeOf = [&](AffineExpr step, size_t indices) {
    SmallVector<AffineExpr> results = {step};
    for (size_t d = 1; d < indices; ++d)
      results.push_back(builder.getAffineDimExpr(d));
    return AffineMap::get(indices, 0, results, builder.getContext());
  };
  AffineExpr number = builder.getAffineDimExpr(0);
  auto makeLoop = [&](int64_t trips, SmallVectorImpl<Value> &place,
                      IRMapping &mapping) {
    auto loop = AffineForOp::create(builder, loc, 0, trips);
    builder.setInsertionPointToStart(loop.getBody());
    place.push_back(loop.getInductionVar());
    copyLoops(builder, product, place, mapping);
    return loop;
  };
  // Nothing behind the last one.
  SmallVector<Value> last, place;
  IRMapping none, mapping;
  AffineForOp clear = makeLoop(1, last, none);
  AffineStoreOp::create(builder, loc, zero, sums,
                        placeOf(number + count, last.size()), last);
  builder.setInsertionPointAfter(clear);
  makeLoop(count, place, mapping);
  AffineExpr step = count - 1 - number;
  AffineExpr begin = step * steps.step + steps.first;
  Bound from, to;
  from.operands = to.operands = {place.front()};
  from.map = AffineMap::get(1, 0, begin);
  to.map = AffineMap::get(
      1, 0, {begin + steps.step, builder.getAffineConstantExpr(size)},
      builder.getContext());
  Value sum = sumZeros(builder, product, zero, from, to, mapping);
  Value next = AffineLoadOp::create(builder, loc, sums,
                                    placeOf(step + 1, place.size()), place)
                   .getResult();
  AffineStoreOp::create(builder, loc,
                        arith::AddFOp::create(builder, loc, sum, next), sums,
                        placeOf(step, place.size()), place);
  return sums;
}

/// Rows of so many at a time end their sums where the mask of the last of them
/// begins; tiles of registers have as many, or a part of it.
static constexpr int64_t rowsOfStep = 8;
/// Columns, for each row of a block, up to which that saves enough.
static constexpr int64_t mostColumnsOfRow = 32;

/// The rows of a block, if sums of the product may end a few rows at a time:
/// its loop over rows counts those of the mask, which the blocks move on by
/// whole steps; else 0.
static int64_t countStepRows(const MaskedProduct &product, AffineForOp rows,
                             const Bound &from, int64_t size) {
  std::optional<LoopEnd> end = rows ? getEnd(rows) : std::nullopt;
  if (!end || end->value || !rows->isAncestor(product.loop) ||
      end->number <= rowsOfStep || end->number % rowsOfStep != 0 ||
      from.terms[0].first % rowsOfStep != 0 ||
      // A row whose columns are all masked is NaN in those that are left.
      from.constant - end->number + rowsOfStep < 1 ||
      size > mostColumnsOfRow * end->number)
    return 0;
  return end->number;
}

/// Adds the sum of 0 * factor over the columns from `from` to `to`, which are
/// left out, to the sum of those that stay. Where `blocks` is given, from sums
/// in front of it; then, if `rows` counts the mask's rows, also those over the
/// columns that some rows of the block mask, which are marked as idle there.
static void keepProducts(MaskedProduct &product, const Bound &from,
                         const Bound &to, AffineForOp blocks = {},
                         AffineForOp rows = {}) {
  OpBuilder builder(product.root);
  Location loc = product.loop.getLoc();
  Value sums;
  SmallVector<Value> here;
  SmallVector<AffineExpr> place;
  auto addIndex = [&](Value index) {
    place.push_back(builder.getAffineDimExpr(here.size()));
    here.push_back(index);
  };
  if (blocks) {
    int64_t size = to.map.getSingleConstantResult();
    ColumnSteps steps{from.constant, from.terms[0].first};
    int64_t perBlock = 1, count = countStepRows(product, rows, from, size);
    if (count > 0) {
      perBlock = steps.step / rowsOfStep;
      steps = {from.constant - count + rowsOfStep, rowsOfStep};
    }
    sums = sumBySteps(product, blocks, steps, size);
    addIndex(blocks.getInductionVar());
    if (count > 0) {
      AffineExpr row = builder.getAffineDimExpr(here.size());
      place.back() = place.back() * perBlock + row.floorDiv(rowsOfStep);
      here.push_back(rows.getInductionVar());
      AffineExpr tile = builder.getAffineDimExpr(0).floorDiv(rowsOfStep);
      rows->setAttr(kIdleTail,
                    AffineMapAttr::get(AffineMap::get(
                        1, 0, count - rowsOfStep - tile * rowsOfStep)));
    }
  } else {
    sums = makeSums(builder, product, 0);
    Value zero = makeZero(builder, product);
    IRMapping mapping;
    SmallVector<Value> ivs;
    copyLoops(builder, product, ivs, mapping);
    AffineStoreOp::create(
        builder, loc, sumZeros(builder, product, zero, from, to, mapping), sums,
        builder.getMultiDimIdentityMap(ivs.size()), ivs);
  }
  for (AffineForOp loop : product.loops)
    addIndex(loop.getInductionVar());
  builder.setInsertionPointAfter(product.loop);
  Value kept =
      AffineLoadOp::create(
          builder, loc, sums,
          AffineMap::get(here.size(), 0, place, builder.getContext()), here)
          .getResult();
  auto whole =
      arith::AddFOp::create(builder, loc, product.loop.getResult(0), kept);
  product.loop.getResult(0).replaceAllUsesExcept(whole, whole);
}

/// The bound at which a loop ends.
static Bound getUpper(AffineForOp loop) {
  Bound bound;
  bound.map = loop.getUpperBoundMap();
  bound.operands = loop.getUpperBoundOperands();
  return bound;
}

/// Has a nest of its own put -inf where the mask decides, and the one that
/// stores the columns store what they are without it.
static void splitMask(Mask &mask, Block *block) {
  AffineForOp nest = getNest(block, mask.store);
  OpBuilder builder(block, std::next(Block::iterator(nest)));
  Location loc = mask.select.getLoc();
  SliceCollector slice(nest);
  for (Value operand : mask.select->getOperands())
    if (operand != mask.kept)
      (void)slice.add(operand);
  IRMapping mapping;
  for (AffineForOp loop = nest;;) {
    AffineForOp copy;
    if (loop == mask.column) {
      AffineMap map = mask.first.map;
      map = AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                           map.getResult(0).floorDiv(columnUnit) * columnUnit);
      copy = AffineForOp::create(builder, loc, mask.first.operands, map,
                                 loop.getUpperBoundOperands(),
                                 loop.getUpperBoundMap());
    } else {
      copy = copyLoop(builder, loc, loop);
    }
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    builder.setInsertionPointToStart(copy.getBody());
    if (loop == mask.column)
      break;
    loop =
        cast<AffineForOp>(loop.getBody()->findAncestorOpInBlock(*mask.column));
  }
  auto [map, operands] = getPlace(mask.store);
  for (Value &operand : operands)
    operand = mapping.lookupOrDefault(operand);
  Value memref = mask.store.getMemRef();
  Value kept =
      AffineLoadOp::create(builder, loc, memref, map, operands).getResult();
  for (Operation *op : slice.ops)
    builder.clone(*op, mapping);
  mapping.map(mask.kept, kept);
  Operation *select = builder.clone(*mask.select, mapping);
  AffineStoreOp::create(builder, loc, select->getResult(0), memref, map,
                        operands);
  mask.select.replaceAllUsesWith(mask.kept);
  mask.select.erase();
  for (Operation *op : llvm::reverse(slice.ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// The block loop around the nests, from the block in which columns are left
/// out in front.
struct Front {
  /// Null where the nests are one block.
  AffineForOp blocks;
  int64_t firstBlock = 0;
  /// The first column that stays, as a function of the block.
  int64_t factor = 0, constant = 0;
};

/// How columns in front can be left out; `why` says why not. Some column stays
/// in each block: there are fewer in front than `mask.end`, or than `size`.
static std::optional<Front> planFront(const Mask &mask, Block *block,
                                      const LoopEnd &size, bool trimsEnd,
                                      const char *&why) {
  Front front;
  front.constant = mask.start.constant;
  why = "columns in front do not begin with a block of rows";
  if (mask.start.terms.size() > 1)
    return std::nullopt;
  int64_t growth = 0;
  if (trimsEnd) {
    if (mask.end.terms.size() != mask.start.terms.size() ||
        (!mask.end.terms.empty() &&
         mask.end.terms[0].second != mask.start.terms[0].second))
      return std::nullopt;
    if (!mask.end.terms.empty())
      growth = mask.end.terms[0].first - mask.start.terms[0].first;
  }
  if (!mask.start.terms.empty()) {
    auto [factor, index] = mask.start.terms.front();
    front.blocks = dyn_cast<AffineForOp>(block->getParentOp());
    front.factor = factor;
    if (!front.blocks || front.blocks.getInductionVar() != index ||
        factor <= 0 || !countsFromZero(front.blocks) ||
        front.blocks.getNumIterOperands() != 0 ||
        front.blocks.getUpperBoundMap().getNumResults() != 1)
      return std::nullopt;
  }
  // Whole vectors.
  if (front.factor % columnUnit == 0)
    front.constant -= front.constant % columnUnit +
                      (front.constant % columnUnit < 0 ? columnUnit : 0);
  why = "no column may be left";
  if (trimsEnd ? growth < 0 || mask.end.constant - mask.start.constant < 1
               : size.value || mask.start.range.high >= size.number)
    return std::nullopt;
  why = "the mask hides no column in front";
  if (!front.blocks)
    return front.constant > 0 ? std::optional<Front>(front) : std::nullopt;
  front.firstBlock = std::max<int64_t>(
      0, llvm::divideCeilSigned(1 - front.constant, front.factor));
  if (front.blocks.hasConstantUpperBound() &&
      front.firstBlock >= front.blocks.getConstantUpperBound())
    return std::nullopt;
  return front;
}

/// Has a copy of the loop run the blocks before the first in which columns are
/// left out; the loop counts on from there.
static void splitBlocks(Front &front) {
  AffineForOp loop = front.blocks;
  if (front.firstBlock == 0)
    return;
  OpBuilder builder(loop);
  auto before = cast<AffineForOp>(builder.clone(*loop));
  AffineMap upper = loop.getUpperBoundMap();
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  AffineExpr count = builder.getAffineConstantExpr(front.firstBlock);
  auto setUpper = [&](AffineForOp target, ArrayRef<AffineExpr> results) {
    target.setUpperBound(
        operands, AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                                 results, builder.getContext()));
  };
  // The loop runs further, if its number of blocks is known.
  if (loop.hasConstantUpperBound())
    setUpper(before, {count});
  else
    setUpper(before, {upper.getResult(0), count});
  setUpper(loop, {upper.getResult(0) - count});
  Value index = loop.getInductionVar();
  replaceVariable(
      index, loop,
      AffineMap::get(1, 0, builder.getAffineDimExpr(0) + front.firstBlock),
      index);
  front.constant += front.factor * front.firstBlock;
}

/// The first column that stays.
static Bound getStart(const Front &front, MLIRContext *context) {
  Bound start;
  start.constant = front.constant;
  if (front.blocks)
    start.terms.push_back(
        {front.factor, AffineForOp(front.blocks).getInductionVar()});
  makeMap(start, context);
  return start;
}

/// Has a loop over columns begin at `start`, counted from there.
static void shiftColumns(AffineForOp column, const Bound &start) {
  Builder builder(column.getContext());
  // Operands of `to` and then of `start`, all taken for dimensions.
  auto asDims = [&](const Bound &bound, unsigned first) {
    SmallVector<AffineExpr> dims, symbols;
    for (unsigned i = 0; i < bound.map.getNumInputs(); ++i)
      (i < bound.map.getNumDims() ? dims : symbols)
          .push_back(builder.getAffineDimExpr(first + i));
    return bound.map.getResult(0).replaceDimsAndSymbols(dims, symbols);
  };
  Bound to = getUpper(column);
  SmallVector<Value> operands(to.operands);
  operands.append(start.operands);
  AffineMap map = AffineMap::get(
      operands.size(), 0, asDims(to, 0) - asDims(start, to.operands.size()));
  fullyComposeAffineMapAndOperands(&map, &operands);
  canonicalizeMapAndOperands(&map, &operands);
  column.setUpperBound(operands, map);
  SmallVector<Value> places = {column.getInductionVar()};
  places.append(start.operands);
  AffineExpr index = builder.getAffineDimExpr(0) + asDims(start, 1);
  replaceVariable(column.getInductionVar(), column,
                  AffineMap::get(places.size(), 0, index), places);
}

/// Leaves out the columns in front.
static void trimFront(Front front, MaskAnalysis &analysis, Block *block) {
  splitBlocks(front);
  Bound none, start = getStart(front, block->getParentOp()->getContext());
  makeMap(none, block->getParentOp()->getContext());
  for (MaskedProduct &product : analysis.products)
    keepProducts(product, none, start);
  for (AffineForOp column : analysis.columns)
    shiftColumns(column, start);
  for (Operation &op : llvm::make_early_inc_range(*block))
    if (op.getNumRegions() != 0)
      composeIndices(&op);
}

/// True if the mask may be put on by a nest of its own: the nest stores one
/// column an iteration, and nothing else uses what the mask decides.
static bool canSplit(Mask &mask, Block *block, const LoopEnd &size) {
  if (!mask.isOnly || !mask.hasEnd || !mask.select->hasOneUse() ||
      mask.first.range.low < 0 || mask.first.range.high < columnUnit ||
      !isWithin(mask.first, size))
    return false;
  AffineForOp nest = getNest(block, mask.store);
  SliceCollector slice(nest);
  if (failed(slice.add(mask.select.getCondition())))
    return false;
  for (Operation *op : slice.ops)
    if (!isMemoryEffectFree(op))
      return false;
  for (Operation *user : mask.store.getMemRef().getUsers())
    if (user != mask.store && nest->isAncestor(user))
      return false;
  for (Operation *op = mask.column->getParentOp(); op != nest->getParentOp();
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop || loop.getNumIterOperands() != 0 || !getEnd(loop))
      return false;
  }
  return mask.column.getNumIterOperands() == 0;
}

namespace {
struct TrimLoopsPass : impl::TrimLoopsBase<TrimLoopsPass> {
  using TrimLoopsBase::TrimLoopsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkOption(context, "cores", cores, 1, 65536);
  }

  void runOnOperation() override {
    SmallVector<Mask, 0> masks;
    getOperation().walk([&](AffineStoreOp store) {
      Mask mask;
      if (matchMask(store, mask))
        masks.push_back(mask);
    });
    for (Mask &mask : masks)
      trim(mask);
  }

  void trim(Mask &mask) {
    Block *block = mask.store.getMemRef().getDefiningOp()->getBlock();
    Location loc = mask.select.getLoc();
    // Another mask has changed it.
    std::optional<LoopEnd> size = getEnd(mask.column);
    if (!size || changed.contains(mask.column) ||
        changed.contains(block->getParentOp()))
      return;
    MaskAnalysis analysis(mask, block);
    const char *why = analysis.run(), *whyNotFront = nullptr;
    bool isKnown = !why;
    if (!why && mask.hasEnd && mask.end.range.low < 1)
      why = "no column may be left";
    if (!why && mask.hasEnd && !isWithin(mask.end, *size))
      why = "the bound may lie behind the columns";
    bool hasEnd = !why && mask.hasEnd;
    bool trimsEnd =
        hasEnd && (size->value || mask.end.range.low < size->number);
    bool splits = hasEnd && canSplit(mask, block, *size);
    std::optional<Front> front;
    if (isKnown && mask.hasStart)
      front = planFront(mask, block, *size, trimsEnd, whyNotFront);
    if (!trimsEnd && !splits && !front) {
      if (!why)
        why = mask.hasEnd ? "the mask hides no block" : whyNotFront;
      ++numDeclined;
      remark(RemarkKind::Declined, loc, passName, why);
      return;
    }
    if (trimsEnd) {
      for (MaskedProduct &product : analysis.products) {
        Bound end = getUpper(product.loop);
        keepProducts(product, mask.end, end,
                     findBlocks(product, block, mask.end, end, cores),
                     front ? AffineForOp() : analysis.getRowLoop(product.root));
      }
      for (AffineForOp column : analysis.columns)
        column.setUpperBound(mask.end.operands, mask.end.map);
    }
    if (splits)
      splitMask(mask, block);
    if (front)
      trimFront(*front, analysis, block);
    for (AffineForOp column : analysis.columns)
      changed.insert(column);
    if (front && front->blocks)
      changed.insert(front->blocks);
    remark(RemarkKind::Applied, loc, passName,
           trimsEnd || splits ? "loops end where a mask begins"
                              : "loops begin where a mask ends")
        << arg("loops", trimsEnd || front ? analysis.columns.size() : 0)
        << arg("split", splits) << arg("columns", size->number)
        << arg("least", mask.hasEnd ? mask.end.range.low : 0)
        << arg("front", front.has_value());
    ++numApplied;
  }

  /// Loops that a mask has changed: what was found out about them is old.
  llvm::SmallPtrSet<Operation *, 8> changed;
};
} // namespace

} // namespace polynest
