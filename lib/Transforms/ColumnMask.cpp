// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ColumnMask.cpp: see the header.

#include "Transforms/ColumnMask.h"

#include "Analysis/Access.h"
#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

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

void makeMap(ColumnBound &bound, MLIRContext *context) {
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
static std::optional<ColumnBound>
makeBound(ArrayRef<std::pair<int64_t, Value>> terms, int64_t constant,
          Operation *nest, bool highest) {
  constexpr int64_t mostValue = int64_t(1) << 48, mostFactor = 1 << 20;
  constexpr __int128 mostSum = __int128(1) << 60;
  ColumnBound bound;
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

std::optional<LoopEnd> getEnd(AffineForOp loop) {
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

bool isWithin(const ColumnBound &bound, const LoopEnd &size) {
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

AffineForOp getNest(Block *block, Operation *op) {
  return dyn_cast_or_null<AffineForOp>(block->findAncestorOpInBlock(*op));
}

bool isPlainBuffer(Value memref) {
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

bool isNegativeInfinity(Value value) {
  return matchPattern(value, m_NegInfFloat());
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
static void addReason(ColumnMask &mask, AffineForOp nest,
                      ArrayRef<Value> operands, ArrayRef<int64_t> flat) {
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

bool matchMask(AffineStoreOp store, ColumnMask &mask) {
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

} // namespace polynest
