// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/AffineValues.cpp: index arithmetic as affine expressions.

#include "Analysis/AffineValues.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Deeper chains of index arithmetic are left to memref.load; the limit keeps
/// the recursion shallow on hostile input.
static constexpr unsigned kDeepestChain = 64;

bool IntegerRange::fits32Bits() const {
  return low >= INT32_MIN && high <= INT32_MAX;
}

static IntegerRange unknownRange() { return {}; }

static IntegerRange makeRange(__int128 low, __int128 high) {
  if (low <= INT64_MIN || high >= INT64_MAX)
    return unknownRange();
  return {int64_t(low), int64_t(high)};
}

static IntegerRange add(IntegerRange a, IntegerRange b) {
  if (!a.isBounded() || !b.isBounded())
    return unknownRange();
  return makeRange(__int128(a.low) + b.low, __int128(a.high) + b.high);
}

static IntegerRange multiply(IntegerRange a, IntegerRange b) {
  if (!a.isBounded() || !b.isBounded())
    return unknownRange();
  __int128 products[] = {__int128(a.low) * b.low, __int128(a.low) * b.high,
                         __int128(a.high) * b.low, __int128(a.high) * b.high};
  return makeRange(*std::min_element(products, products + 4),
                   *std::max_element(products, products + 4));
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b < 0);
}

IntegerRange rangeOfExpr(AffineExpr expr, unsigned numDims,
                         llvm::function_ref<IntegerRange(unsigned)> leaf) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return makeRange(constant.getValue(), constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return leaf(dim.getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return leaf(numDims + symbol.getPosition());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  IntegerRange lhs = rangeOfExpr(binary.getLHS(), numDims, leaf);
  IntegerRange rhs = rangeOfExpr(binary.getRHS(), numDims, leaf);
  if (expr.getKind() == AffineExprKind::Add)
    return add(lhs, rhs);
  if (expr.getKind() == AffineExprKind::Mul)
    return multiply(lhs, rhs);
  if (!lhs.isBounded() || !rhs.isBounded() || rhs.low != rhs.high ||
      rhs.low <= 0)
    return unknownRange();
  int64_t by = rhs.low;
  if (expr.getKind() == AffineExprKind::Mod) {
    int64_t times = floorDivide(lhs.low, by);
    if (times != floorDivide(lhs.high, by))
      return {0, by - 1};
    return add(lhs, makeRange(-__int128(times) * by, -__int128(times) * by));
  }
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return {floorDivide(lhs.low, by), floorDivide(lhs.high, by)};
  return {-floorDivide(-lhs.low, by), -floorDivide(-lhs.high, by)};
}

/// Union over the results of a bound map for lower bounds (max of results lies
/// at or above each) and upper bounds (min lies at or below each).
static IntegerRange rangeOfIv(AffineForOp loop) {
  IntegerRange range;
  auto boundRange = [](AffineMap map, OperandRange operands, unsigned result) {
    return rangeOfExpr(map.getResult(result), map.getNumDims(),
                       [&](unsigned i) { return rangeOfValue(operands[i]); });
  };
  AffineMap lower = loop.getLowerBoundMap(), upper = loop.getUpperBoundMap();
  for (unsigned i = 0; i < lower.getNumResults(); ++i) {
    IntegerRange r = boundRange(lower, loop.getLowerBoundOperands(), i);
    if (r.isBounded())
      range.low = std::max(range.low, r.low);
  }
  for (unsigned i = 0; i < upper.getNumResults(); ++i) {
    IntegerRange r = boundRange(upper, loop.getUpperBoundOperands(), i);
    if (r.isBounded())
      range.high = std::min(range.high, r.high - 1);
  }
  // A loop that never runs gives an empty range; any value stands for it.
  if (range.isBounded() && range.low > range.high)
    range.high = range.low;
  return range;
}

IntegerRange rangeOfValue(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > 63)
      return unknownRange();
    return makeRange(constant.getSExtValue(), constant.getSExtValue());
  }
  if (isa_and_nonnull<memref::DimOp, tensor::DimOp>(value.getDefiningOp()))
    return kSizeRange;
  if (AffineForOp loop = getForInductionVarOwner(value))
    return rangeOfIv(loop);
  return unknownRange();
}

AffineValueBuilder::AffineValueBuilder(Operation *user)
    : scope(getAffineScope(user)), context(user->getContext()) {}

SmallVector<Value> AffineValueBuilder::getOperands() const {
  SmallVector<Value> operands(dims);
  operands.append(symbols.begin(), symbols.end());
  return operands;
}

IntegerRange AffineValueBuilder::rangeOf(AffineExpr expr) {
  // Expressions are made with symbols numbered apart from dimensions.
  return rangeOfExpr(expr, 0x10000, [&](unsigned i) {
    return rangeOfValue(i < 0x10000 ? dims[i] : symbols[i - 0x10000]);
  });
}

std::optional<AffineExpr> AffineValueBuilder::expressLeaf(Value value) {
  if (!value.getType().isIndex())
    return std::nullopt;
  if (isValidSymbol(value, scope)) {
    symbols.push_back(value);
    return getAffineSymbolExpr(symbols.size() - 1, context);
  }
  if (isValidDim(value, scope)) {
    dims.push_back(value);
    return getAffineDimExpr(dims.size() - 1, context);
  }
  return std::nullopt;
}

/// Division and remainder by a positive constant. Signed forms that round to
/// zero agree with the floor only on operands that are not negative.
std::optional<AffineExpr> AffineValueBuilder::expressDivision(Operation *op) {
  APInt by;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&by)) ||
      !by.isStrictlyPositive() || by.getSignificantBits() > 63)
    return std::nullopt;
  std::optional<AffineExpr> lhs = express(op->getOperand(0));
  if (!lhs)
    return std::nullopt;
  IntegerRange range = rangeOf(*lhs);
  bool anySign = isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
  if (!range.isBounded() || !(anySign || range.isNonNegative()))
    return std::nullopt;
  int64_t divisor = by.getSExtValue();
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return *lhs % divisor;
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return lhs->ceilDiv(divisor);
  return lhs->floorDiv(divisor);
}

std::optional<AffineExpr> AffineValueBuilder::express(AffineMap map,
                                                      ValueRange operands) {
  if (map.getNumResults() != 1)
    return std::nullopt;
  SmallVector<AffineExpr> dimExprs, symbolExprs;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    std::optional<AffineExpr> expr = express(operand);
    if (!expr)
      return std::nullopt;
    (i < map.getNumDims() ? dimExprs : symbolExprs).push_back(*expr);
  }
  AffineExpr result =
      map.getResult(0).replaceDimsAndSymbols(dimExprs, symbolExprs);
  // A symbol may have become a product or divisor that is not affine.
  if (!result.isPureAffine())
    return std::nullopt;
  return result;
}

std::optional<std::pair<AffineExpr, AffineExpr>>
AffineValueBuilder::expressSides(arith::CmpIOp compare) {
  std::optional<AffineExpr> lhs = express(compare.getLhs());
  std::optional<AffineExpr> rhs = express(compare.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  IntegerRange left = rangeOf(*lhs), right = rangeOf(*rhs);
  if (!left.isBounded() || !right.isBounded() ||
      !rangeOf(*lhs - *rhs).isBounded())
    return std::nullopt;
  // Numbers of which none is negative have the same order without a sign.
  if (compare.getPredicate() >= arith::CmpIPredicate::ult &&
      !(left.isNonNegative() && right.isNonNegative()))
    return std::nullopt;
  return std::pair(*lhs, *rhs);
}

std::optional<AffineConstraint>
AffineValueBuilder::expressConstraint(arith::CmpIOp compare, bool isNegated) {
  auto sides = expressSides(compare);
  if (!sides)
    return std::nullopt;
  auto [lhs, rhs] = *sides;
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (isNegated)
    predicate = arith::invertPredicate(predicate);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return AffineConstraint{lhs - rhs, true};
  case arith::CmpIPredicate::ne:
    return std::nullopt;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return AffineConstraint{rhs - lhs - 1, false};
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return AffineConstraint{rhs - lhs, false};
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return AffineConstraint{lhs - rhs - 1, false};
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return AffineConstraint{lhs - rhs, false};
  }
  llvm_unreachable("all predicates are handled");
}

std::optional<bool> AffineValueBuilder::decide(arith::CmpIOp compare) {
  auto sides = expressSides(compare);
  if (!sides)
    return std::nullopt;
  auto known = [](bool always, bool never) -> std::optional<bool> {
    if (always || never)
      return always;
    return std::nullopt;
  };
  auto [low, high] = rangeOf(sides->first - sides->second);
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return known(low == 0 && high == 0, low > 0 || high < 0);
  case arith::CmpIPredicate::ne:
    return known(low > 0 || high < 0, low == 0 && high == 0);
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return known(high < 0, low >= 0);
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return known(high <= 0, low > 0);
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return known(low > 0, high <= 0);
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return known(low >= 0, high < 0);
  }
  llvm_unreachable("all predicates are handled");
}

std::optional<AffineExpr> AffineValueBuilder::expressOperation(Operation *op) {
  if (auto apply = dyn_cast<AffineApplyOp>(op))
    return express(apply.getAffineMap(), apply.getMapOperands());
  if (isa<arith::IndexCastOp>(op))
    return express(op->getOperand(0));
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
          arith::RemUIOp>(op))
    return expressDivision(op);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    std::optional<bool> taken = compare ? decide(compare) : std::nullopt;
    if (!taken)
      return std::nullopt;
    return express(*taken ? select.getTrueValue() : select.getFalseValue());
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  std::optional<AffineExpr> lhs = express(op->getOperand(0));
  std::optional<AffineExpr> rhs = express(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *lhs + *rhs;
  if (isa<arith::SubIOp>(op))
    return *lhs - *rhs;
  if (!isa<AffineConstantExpr>(*lhs) && !isa<AffineConstantExpr>(*rhs))
    return std::nullopt;
  return *lhs * *rhs;
}

std::optional<AffineExpr> AffineValueBuilder::express(Value value) {
  Type type = value.getType();
  if (!type.isIndex() && !type.isInteger(64))
    return std::nullopt;
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return known[value] =
               getAffineConstantExpr(constant.getSExtValue(), context);
  std::optional<AffineExpr> result;
  Operation *op = value.getDefiningOp();
  if (op && depth < kDeepestChain) {
    ++depth;
    result = expressOperation(op);
    --depth;
  }
  if (!result)
    result = expressLeaf(value);
  return known[value] = result;
}

std::optional<AffineIndices> expressIndices(Operation *user,
                                            ValueRange indices) {
  AffineValueBuilder builder(user);
  SmallVector<AffineExpr> results;
  for (Value index : indices) {
    std::optional<AffineExpr> expr = builder.express(index);
    if (!expr)
      return std::nullopt;
    results.push_back(*expr);
  }
  AffineIndices access{AffineMap::get(builder.getNumDims(),
                                      builder.getNumSymbols(), results,
                                      user->getContext()),
                       builder.getOperands()};
  canonicalizeMapAndOperands(&access.map, &access.operands);
  return access;
}

void makeAffine(Operation *op, const AffineIndices &access) {
  OpBuilder builder(op);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto affine = AffineLoadOp::create(builder, op->getLoc(), load.getMemRef(),
                                       access.map, access.operands);
    load.replaceAllUsesWith(affine.getResult());
  } else {
    auto store = cast<memref::StoreOp>(op);
    AffineStoreOp::create(builder, op->getLoc(), store.getValueToStore(),
                          store.getMemRef(), access.map, access.operands);
  }
  op->erase();
}

} // namespace polynest
