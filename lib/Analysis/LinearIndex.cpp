// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/LinearIndex.cpp: see the header.

#include "Analysis/LinearIndex.h"

#include "Analysis/AffineValues.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static bool addScaled(int64_t &sum, int64_t number, int64_t factor) {
  int64_t product;
  return !llvm::MulOverflow(number, factor, product) &&
         !llvm::AddOverflow(sum, product, sum);
}

int64_t LinearIndex::factorOf(Value value) const {
  for (auto [other, factor] : terms)
    if (other == value)
      return factor;
  return 0;
}

bool LinearIndex::add(int64_t number, int64_t factor) {
  return addScaled(constant, number, factor);
}

bool LinearIndex::add(Value value, int64_t factor) {
  auto *it = llvm::find_if(
      terms, [&](const auto &term) { return term.first == value; });
  if (it == terms.end()) {
    if (factor != 0)
      terms.emplace_back(value, factor);
    return true;
  }
  if (!addScaled(it->second, factor, 1))
    return false;
  if (it->second == 0)
    terms.erase(it);
  return true;
}

bool LinearIndex::add(const LinearIndex &other, int64_t factor) {
  return add(other.constant, factor) &&
         llvm::all_of(other.terms, [&](const auto &term) {
           int64_t product;
           return !llvm::MulOverflow(term.second, factor, product) &&
                  add(term.first, product);
         });
}

/// Adds so many times the expression; false if it is not linear or a number
/// overflows.
static bool addExpr(LinearIndex &sum, AffineExpr expr, int64_t factor,
                    unsigned numDims, ValueRange operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return sum.add(constant.getValue(), factor);
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return sum.add(operands[dim.getPosition()], factor);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return sum.add(operands[numDims + symbol.getPosition()], factor);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (binary.getKind() == AffineExprKind::Add)
    return addExpr(sum, binary.getLHS(), factor, numDims, operands) &&
           addExpr(sum, binary.getRHS(), factor, numDims, operands);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  int64_t product;
  return binary.getKind() == AffineExprKind::Mul && constant &&
         !llvm::MulOverflow(factor, constant.getValue(), product) &&
         addExpr(sum, binary.getLHS(), product, numDims, operands);
}

std::optional<LinearIndex> getLinearIndex(AffineExpr expr, unsigned numDims,
                                          ValueRange operands) {
  LinearIndex index;
  if (!addExpr(index, expr, 1, numDims, operands))
    return std::nullopt;
  return index;
}

std::optional<LinearIndex> getLinearIndex(const AffineValueMap &map,
                                          unsigned result) {
  return getLinearIndex(map.getAffineMap().getResult(result), map.getNumDims(),
                        map.getOperands());
}

std::optional<LinearIndex> addIndex(const LinearIndex &a, const LinearIndex &b,
                                    int64_t factor) {
  LinearIndex sum = a;
  if (!sum.add(b, factor))
    return std::nullopt;
  return sum;
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

} // namespace polynest
