// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/LoopIndex.cpp: what an index may be while one loop runs.

#include "Analysis/LoopIndex.h"

#include "Analysis/Access.h"
#include "Analysis/LinearIndex.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Bounds that are tried for one index: enough for a few loops of two bounds
/// each, few enough for every pair of accesses.
static constexpr unsigned mostTries = 64;

namespace {
/// The operands of a map or set, dimensions before symbols.
struct Operands {
  ValueRange values;
  unsigned numDims;
};

/// Finds the ends of sums over the loops inside of one.
class Ends {
public:
  Ends(AffineForOp loop, Operation *op) : loop(loop), op(op) {}

  std::optional<LoopIndex> indexOf(AffineExpr expr, Operands operands);

private:
  bool isInside(Value value) {
    return value != loop.getInductionVar() &&
           loop->isAncestor(value.getParentBlock()->getParentOp());
  }
  bool add(LinearIndex &sum, AffineExpr expr, int64_t factor, Operands operands,
           std::optional<bool> isUpper);
  bool addDivision(LinearIndex &sum, AffineBinaryOpExpr expr, int64_t factor,
                   Operands operands, std::optional<bool> isUpper);
  std::optional<int64_t> endOf(const LinearIndex &sum, bool isUpper);
  std::optional<int64_t> tryBounds(const LinearIndex &sum, bool isUpper);
  Value innermostOf(const LinearIndex &sum);
  bool dropMoving(LinearIndex &sum);
  SmallVector<LinearIndex, 4> boundsOf(Value value, bool isUpper);
  void addLoopBounds(AffineForOp inner, bool isUpper,
                     SmallVectorImpl<LinearIndex> &bounds);
  void addConditions(Value value, bool isUpper,
                     SmallVectorImpl<LinearIndex> &bounds);
  void addCondition(AffineExpr left, bool isEqual, Operands operands,
                    Value value, bool isUpper,
                    SmallVectorImpl<LinearIndex> &bounds);

  AffineForOp loop;
  Operation *op;
  unsigned tries = 0;
  /// What is divided in a bound is not looked into.
  bool isInBound = false;
};
} // namespace

/// Adds `factor` times a quotient or rest: its value, where that is one; with
/// `isUpper`, something that is at least, or at most, as large.
bool Ends::addDivision(LinearIndex &sum, AffineBinaryOpExpr expr,
                       int64_t factor, Operands operands,
                       std::optional<bool> isUpper) {
  auto by = dyn_cast<AffineConstantExpr>(expr.getRHS());
  if (!by || by.getValue() <= 0 || !isUpper)
    return false;
  int64_t divisor = by.getValue();
  bool wantsMost = (factor > 0) == *isUpper;
  bool isRest = expr.getKind() == AffineExprKind::Mod;
  bool isFloor = expr.getKind() == AffineExprKind::FloorDiv;
  // What is divided, if it is a number from a range.
  std::optional<int64_t> low, high;
  LinearIndex least, most;
  if (!isInBound && add(least, expr.getLHS(), 1, operands, /*isUpper=*/false))
    low = endOf(least, /*isUpper=*/false);
  if (low && add(most, expr.getLHS(), 1, operands, /*isUpper=*/true))
    high = endOf(most, /*isUpper=*/true);
  if (low && high) {
    int64_t first = llvm::divideFloorSigned(*low, divisor);
    bool isOne = first == llvm::divideFloorSigned(*high, divisor);
    int64_t end = wantsMost ? *high : *low;
    if (isRest)
      return sum.add(isOne       ? end - first * divisor
                     : wantsMost ? divisor - 1
                                 : 0,
                     factor);
    return sum.add(isFloor ? llvm::divideFloorSigned(end, divisor)
                           : llvm::divideCeilSigned(end, divisor),
                   factor);
  }
  if (isRest)
    return sum.add(wantsMost ? divisor - 1 : 0, factor);
  // c * (e floordiv d) is c / d * e, less a rest of up to d - 1.
  if (factor % divisor != 0)
    return false;
  int64_t scaled = factor / divisor;
  int64_t rest =
      isFloor ? (wantsMost ? 0 : 1 - divisor) : (wantsMost ? divisor - 1 : 0);
  return add(sum, expr.getLHS(), scaled, operands, isUpper) &&
         sum.add(rest, scaled);
}

/// Adds `factor` times the expression; with `isUpper`, something that is at
/// least, or at most, as large. False where it is no such sum.
bool Ends::add(LinearIndex &sum, AffineExpr expr, int64_t factor,
               Operands operands, std::optional<bool> isUpper) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return sum.add(constant.getValue(), factor);
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add)
      return add(sum, binary.getLHS(), factor, operands, isUpper) &&
             add(sum, binary.getRHS(), factor, operands, isUpper);
    if (expr.getKind() != AffineExprKind::Mul)
      return addDivision(sum, binary, factor, operands, isUpper);
    auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
    int64_t product;
    return constant &&
           !llvm::MulOverflow(factor, constant.getValue(), product) &&
           add(sum, binary.getLHS(), product, operands, isUpper);
  }
  auto dim = dyn_cast<AffineDimExpr>(expr);
  Value value =
      operands.values[dim ? dim.getPosition()
                          : operands.numDims +
                                cast<AffineSymbolExpr>(expr).getPosition()];
  return sum.add(value, factor);
}

/// The variable of the sum whose bounds may name the others; null if none moves
/// inside of the loop.
Value Ends::innermostOf(const LinearIndex &sum) {
  Value innermost;
  for (auto [value, factor] : sum.terms) {
    if (!isInside(value))
      continue;
    Operation *owner = value.getParentBlock()->getParentOp();
    if (!innermost ||
        innermost.getParentBlock()->getParentOp()->isProperAncestor(owner))
      innermost = value;
  }
  return innermost;
}

/// The end of a sum whose other terms cancel, over all that happens inside of
/// the loop.
std::optional<int64_t> Ends::endOf(const LinearIndex &sum, bool isUpper) {
  tries = 0;
  return tryBounds(sum, isUpper);
}

std::optional<int64_t> Ends::tryBounds(const LinearIndex &sum, bool isUpper) {
  Value value = innermostOf(sum);
  if (!value)
    return sum.terms.empty() ? std::optional(sum.constant) : std::nullopt;
  int64_t factor = sum.factorOf(value);
  std::optional<int64_t> end;
  for (const LinearIndex &bound : boundsOf(value, (factor > 0) == isUpper)) {
    if (++tries > mostTries)
      break;
    LinearIndex other;
    for (auto [term, scale] : sum.terms)
      if (term != value)
        other.terms.push_back({term, scale});
    other.constant = sum.constant;
    std::optional<int64_t> found =
        other.add(bound, factor) ? tryBounds(other, isUpper) : std::nullopt;
    if (found)
      end = !end      ? *found
            : isUpper ? std::min(*end, *found)
                      : std::max(*end, *found);
  }
  return end;
}

/// What the variable is never above, or never below.
SmallVector<LinearIndex, 4> Ends::boundsOf(Value value, bool isUpper) {
  SmallVector<LinearIndex, 4> bounds;
  if (!isAffineInductionVar(value))
    return bounds;
  llvm::SaveAndRestore inBound(isInBound, true);
  std::optional<IndexRange> range = getConstantRange(value);
  if (range && range->min <= range->max)
    bounds.push_back(isUpper ? range->max : range->min);
  if (AffineForOp inner = getForInductionVarOwner(value))
    addLoopBounds(inner, isUpper, bounds);
  addConditions(value, isUpper, bounds);
  return bounds;
}

void Ends::addLoopBounds(AffineForOp inner, bool isUpper,
                         SmallVectorImpl<LinearIndex> &bounds) {
  AffineMap lower = inner.getLowerBoundMap(), upper = inner.getUpperBoundMap();
  Operands lows{inner.getLowerBoundOperands(), lower.getNumDims()};
  Operands highs{inner.getUpperBoundOperands(), upper.getNumDims()};
  int64_t step = inner.getStepAsInt();
  if (step <= 0)
    return;
  if (!isUpper) {
    for (AffineExpr result : lower.getResults()) {
      LinearIndex begin;
      if (add(begin, result, 1, lows, /*isUpper=*/false))
        bounds.push_back(std::move(begin));
    }
    return;
  }
  AffineValueMap begin(lower, inner.getLowerBoundOperands());
  for (auto [i, result] : llvm::enumerate(upper.getResults())) {
    // The last iteration is a step before an end that is whole steps away.
    int64_t before = 1;
    if (lower.getNumResults() == 1) {
      AffineValueMap end(upper.getSubMap(unsigned(i)),
                         inner.getUpperBoundOperands());
      AffineValueMap span;
      AffineValueMap::difference(end, begin, &span);
      AffineExpr length = span.getResult(0);
      if (length.isMultipleOf(step))
        before = step;
      // Both ends move with others, always as far from each other. A length
      // that is not positive may come from numbers that have overflowed.
      auto constant = dyn_cast<AffineConstantExpr>(length);
      LinearIndex last;
      if (constant && constant.getValue() > 0 &&
          add(last, lower.getResult(0), 1, lows, /*isUpper=*/true) &&
          last.add((constant.getValue() - 1) / step, step)) {
        bounds.push_back(std::move(last));
        continue;
      }
    }
    LinearIndex end;
    if (add(end, result, 1, highs, /*isUpper=*/true) && end.add(before, -1))
      bounds.push_back(std::move(end));
  }
}

/// What conditions around the operation say about the variable.
void Ends::addConditions(Value value, bool isUpper,
                         SmallVectorImpl<LinearIndex> &bounds) {
  Operation *owner = value.getParentBlock()->getParentOp();
  for (Operation *at = op; at != owner && at->getParentOp();
       at = at->getParentOp()) {
    auto branch = dyn_cast<AffineIfOp>(at->getParentOp());
    if (!branch)
      continue;
    bool isThen = at->getParentRegion() == &branch.getThenRegion();
    IntegerSet set = branch.getIntegerSet();
    Operands operands{branch.getOperands(), set.getNumDims()};
    // The other side holds where one of several conditions does not.
    if (!isThen && (set.getNumConstraints() != 1 || set.isEq(0)))
      continue;
    for (unsigned i = 0, e = set.getNumConstraints(); i != e; ++i) {
      AffineExpr left = set.getConstraint(i);
      addCondition(isThen ? left : -left - 1, set.isEq(i), operands, value,
                   isUpper, bounds);
    }
  }
}

/// Bounds of the variable where `left` is at least 0, or 0.
void Ends::addCondition(AffineExpr left, bool isEqual, Operands operands,
                        Value value, bool isUpper,
                        SmallVectorImpl<LinearIndex> &bounds) {
  // What is at least as large is not negative either.
  LinearIndex sum;
  if (!add(sum, left, 1, operands, /*isUpper=*/true))
    return;
  int64_t factor = sum.factorOf(value);
  if (isEqual && (factor > 0) == isUpper) {
    sum = LinearIndex();
    if (!add(sum, left, -1, operands, /*isUpper=*/true))
      return;
    factor = sum.factorOf(value);
  }
  if (factor == 0 || factor == INT64_MIN || (factor > 0) == isUpper)
    return;
  int64_t size = std::abs(factor);
  LinearIndex bound;
  if (size == 1) {
    if (!bound.add(sum, -factor) || !bound.add(value, 1))
      return;
  } else if (sum.terms.size() == 1) {
    bound.constant = isUpper ? llvm::divideFloorSigned(sum.constant, size)
                             : llvm::divideCeilSigned(-sum.constant, size);
  } else {
    return;
  }
  // Loops further in have been replaced, and stay so.
  Operation *owner = value.getParentBlock()->getParentOp();
  if (llvm::all_of(bound.terms, [&](auto &term) {
        return term.first.getParentBlock()->getParentOp()->isProperAncestor(
            owner);
      }))
    bounds.push_back(std::move(bound));
}

/// What is left of a sum that does not move inside of the loop, where loops
/// inside whose ranges are not constant stand where they begin.
bool Ends::dropMoving(LinearIndex &sum) {
  for (unsigned i = 0; i != mostTries; ++i) {
    Value value = innermostOf(sum);
    if (!value)
      return true;
    int64_t factor = sum.factorOf(value);
    if (factor == INT64_MIN || !sum.add(value, -factor))
      return false;
    AffineForOp inner = getForInductionVarOwner(value);
    if (!inner || getConstantRange(value))
      continue;
    AffineMap lower = inner.getLowerBoundMap();
    Operands lows{inner.getLowerBoundOperands(), lower.getNumDims()};
    if (lower.getNumResults() != 1 ||
        !add(sum, lower.getResult(0), factor, lows, std::nullopt))
      return false;
  }
  return false;
}

std::optional<LoopIndex> Ends::indexOf(AffineExpr expr, Operands operands) {
  LinearIndex least, most;
  if (!add(least, expr, 1, operands, /*isUpper=*/false) ||
      !add(most, expr, 1, operands, /*isUpper=*/true))
    return std::nullopt;
  LinearIndex still = most;
  still.constant = 0;
  if (!dropMoving(still))
    return std::nullopt;
  still.constant = 0;
  if (!least.add(still, -1) || !most.add(still, -1))
    return std::nullopt;
  std::optional<int64_t> low = endOf(least, /*isUpper=*/false);
  std::optional<int64_t> high = endOf(most, /*isUpper=*/true);
  if (!low || !high)
    return std::nullopt;
  LoopIndex index;
  index.min = *low;
  index.max = *high;
  for (auto [value, factor] : still.terms)
    if (value == loop.getInductionVar())
      index.factor = factor;
    else
      index.fixed.push_back({value, factor});
  return index;
}

std::optional<LoopIndex> getLoopIndex(AffineExpr expr,
                                      const AffineValueMap &map, Operation *op,
                                      AffineForOp loop) {
  SmallVector<Value> values(map.getOperands());
  return Ends(loop, op).indexOf(expr, {values, map.getNumDims()});
}

} // namespace polynest
