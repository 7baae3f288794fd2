// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/IndexBoxes.cpp: see the header.

#include "Transforms/IndexBoxes.h"

#include "Analysis/AffineValues.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace polynest {

std::optional<LinearIndex> addIndex(const LinearIndex &a, const LinearIndex &b,
                                    int64_t factor) {
  LinearIndex sum = a;
  auto add = [&](int64_t &to, int64_t value) {
    int64_t product;
    return !llvm::MulOverflow(value, factor, product) &&
           !llvm::AddOverflow(to, product, to);
  };
  if (!add(sum.constant, b.constant))
    return std::nullopt;
  for (auto [value, count] : b.terms) {
    auto *it = llvm::find_if(sum.terms, [&, value = value](const auto &term) {
      return term.first == value;
    });
    if (it == sum.terms.end()) {
      sum.terms.emplace_back(value, 0);
      it = std::prev(sum.terms.end());
    }
    if (!add(it->second, count))
      return std::nullopt;
    if (it->second == 0)
      sum.terms.erase(it);
  }
  return sum;
}

std::optional<LinearIndex> getLinearIndex(AffineExpr expr, unsigned numDims,
                                          ValueRange operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LinearIndex(constant.getValue());
  auto ofOperand = [&](unsigned position) {
    LinearIndex index;
    index.terms.emplace_back(operands[position], 1);
    return index;
  };
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ofOperand(dim.getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return ofOperand(numDims + symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool isProduct = binary.getKind() == AffineExprKind::Mul;
  if (!isProduct ? binary.getKind() != AffineExprKind::Add : !factor)
    return std::nullopt;
  std::optional<LinearIndex> lhs =
      getLinearIndex(binary.getLHS(), numDims, operands);
  if (!lhs)
    return std::nullopt;
  if (isProduct)
    return addIndex(LinearIndex(), *lhs, factor.getValue());
  std::optional<LinearIndex> rhs =
      getLinearIndex(binary.getRHS(), numDims, operands);
  return rhs ? addIndex(*lhs, *rhs) : std::nullopt;
}

bool isAtMost(const LinearIndex &a, const LinearIndex &b) {
  std::optional<LinearIndex> difference = addIndex(b, a, -1);
  if (!difference)
    return false;
  int64_t least = difference->constant;
  for (auto [value, count] : difference->terms) {
    IntegerRange range = rangeOfValue(value);
    int64_t end = count > 0 ? range.low : range.high, product;
    if (end == (count > 0 ? INT64_MIN : INT64_MAX) ||
        llvm::MulOverflow(end, count, product) ||
        llvm::AddOverflow(least, product, least))
      return false;
  }
  return least >= 0;
}

bool isSameNumber(const LinearIndex &a, const LinearIndex &b) {
  std::optional<LinearIndex> difference = addIndex(a, b, -1);
  return difference && difference->isConstant() && difference->constant == 0;
}

AffineExpr getIndexExpr(const LinearIndex &index,
                        SmallVectorImpl<Value> &operands, unsigned &numSymbols,
                        MLIRContext *context) {
  AffineExpr expr = getAffineConstantExpr(index.constant, context);
  for (auto [value, count] : index.terms) {
    expr = expr + getAffineSymbolExpr(numSymbols++, context) * count;
    operands.push_back(value);
  }
  return expr;
}

std::optional<int64_t> getExtent(const IndexSide &side) {
  std::optional<LinearIndex> extent = addIndex(side.high, side.low, -1);
  if (!extent || !extent->isConstant())
    return std::nullopt;
  return std::max<int64_t>(extent->constant, 0);
}

std::optional<int64_t> getVolume(const IndexBox &box) {
  int64_t volume = 1;
  for (const IndexSide &side : box) {
    std::optional<int64_t> extent = getExtent(side);
    if (!extent || llvm::MulOverflow(volume, *extent, volume))
      return std::nullopt;
  }
  return volume;
}

bool areDisjoint(const IndexBox &a, const IndexBox &b) {
  return llvm::any_of(llvm::zip_equal(a, b), [](const auto &sides) {
    const auto &[x, y] = sides;
    return isAtMost(x.high, y.low) || isAtMost(y.high, x.low) ||
           isAtMost(x.high, x.low) || isAtMost(y.high, y.low);
  });
}

bool isInside(const IndexBox &inner, const IndexBox &outer) {
  return llvm::all_of(llvm::zip_equal(inner, outer), [](const auto &sides) {
    const auto &[x, y] = sides;
    return isAtMost(y.low, x.low) && isAtMost(x.high, y.high);
  });
}

std::optional<IndexBox> joinBoxes(const IndexBox &a, const IndexBox &b) {
  IndexBox joined;
  for (const auto &[x, y] : llvm::zip_equal(a, b)) {
    bool lowX = isAtMost(x.low, y.low), highX = isAtMost(y.high, x.high);
    if ((!lowX && !isAtMost(y.low, x.low)) ||
        (!highX && !isAtMost(x.high, y.high)))
      return std::nullopt;
    joined.push_back({lowX ? x.low : y.low, highX ? x.high : y.high});
  }
  return joined;
}

bool subtractBox(const IndexBox &a, const IndexBox &b,
                 SmallVectorImpl<IndexBox> &rest) {
  if (areDisjoint(a, b)) {
    rest.push_back(a);
    return true;
  }
  // What lies below and above in each dimension, within `b` in those before.
  IndexBox inside = a;
  for (auto [d, side] : llvm::enumerate(b)) {
    if (!isAtMost(side.low, side.high))
      return false;
    if (!isAtMost(side.low, inside[d].low)) {
      if (!isAtMost(inside[d].low, side.low) ||
          !isAtMost(side.low, inside[d].high))
        return false;
      rest.push_back(inside);
      rest.back()[d].high = side.low;
      inside[d].low = side.low;
    }
    if (!isAtMost(inside[d].high, side.high)) {
      if (!isAtMost(side.high, inside[d].high) ||
          !isAtMost(inside[d].low, side.high))
        return false;
      rest.push_back(inside);
      rest.back()[d].low = side.high;
      inside[d].high = side.high;
    }
  }
  return true;
}

} // namespace polynest
