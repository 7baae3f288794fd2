// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/SizeOrder.cpp: see the header.

#include "Analysis/SizeOrder.h"

#include "Analysis/Access.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Deeper chains of numbers, and questions that take more steps, count as
/// unknown.
static constexpr unsigned kDeepestChain = 32;
static constexpr unsigned kMostSteps = 256;
/// Sums of more parts are numbers of their own.
static constexpr size_t kMostTerms = 8;

static SizeSum constantSum(int64_t constant) { return {constant, {}}; }
static SizeSum unknownSum(UnknownSize size) { return {0, {{size, 1}}}; }

std::optional<SizeSum> addTo(const SizeSum &a, const SizeSum &b,
                             int64_t factor) {
  SizeSum sum = a;
  int64_t by;
  if (llvm::MulOverflow(b.constant, factor, by) ||
      llvm::AddOverflow(sum.constant, by, sum.constant))
    return std::nullopt;
  for (const auto &[size, times] : b.terms) {
    if (llvm::MulOverflow(times, factor, by))
      return std::nullopt;
    auto *at = llvm::lower_bound(
        sum.terms, size,
        [](const std::pair<UnknownSize, int64_t> &term,
           const UnknownSize &wanted) { return term.first < wanted; });
    if (at == sum.terms.end() || !(at->first == size))
      at = sum.terms.insert(at, {size, 0});
    if (llvm::AddOverflow(at->second, by, at->second))
      return std::nullopt;
    if (at->second == 0)
      sum.terms.erase(at);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Ranges, of which one end may be known
//===----------------------------------------------------------------------===//

static IntegerRange clampRange(std::optional<__int128> low,
                               std::optional<__int128> high) {
  IntegerRange range;
  if (low && *low > INT64_MIN && *low < INT64_MAX)
    range.low = int64_t(*low);
  if (high && *high > INT64_MIN && *high < INT64_MAX)
    range.high = int64_t(*high);
  return range;
}

static std::optional<__int128> lowOf(IntegerRange range) {
  return range.low == INT64_MIN ? std::nullopt
                                : std::optional<__int128>(range.low);
}

static std::optional<__int128> highOf(IntegerRange range) {
  return range.high == INT64_MAX ? std::nullopt
                                 : std::optional<__int128>(range.high);
}

IntegerRange SizeOrder::rangeOf(const SizeSum &sum) {
  std::optional<__int128> low = sum.constant, high = sum.constant;
  auto add = [](std::optional<__int128> &end, std::optional<__int128> by,
                int64_t factor) {
    if (!end || !by)
      end.reset();
    else
      *end += *by * factor;
  };
  for (const auto &[size, factor] : sum.terms) {
    IntegerRange range = rangeOf(size);
    add(low, factor > 0 ? lowOf(range) : highOf(range), factor);
    add(high, factor > 0 ? highOf(range) : lowOf(range), factor);
  }
  return clampRange(low, high);
}

IntegerRange SizeOrder::rangeOf(const UnknownSize &size) {
  if (size.dim >= 0)
    return kSizeRange;
  if (auto it = ranges.find(size.base); it != ranges.end())
    return it->second;
  IntegerRange range = rangeOfValue(size.base);
  if (depth >= kDeepestChain)
    return range;
  ++depth;
  const Parts made = partsOf(size);
  auto rangesOfSums = llvm::map_to_vector(
      made.sums, [&](const SizeSum &sum) { return rangeOf(sum); });
  switch (made.kind) {
  case Parts::None:
    break;
  case Parts::Least:
  case Parts::Greatest:
  case Parts::OneOf: {
    // Both ends of the extreme one lie at the extremes of all that are known.
    range = rangesOfSums.front();
    for (IntegerRange next : ArrayRef(rangesOfSums).drop_front()) {
      range.low = made.kind == Parts::Greatest ? std::max(range.low, next.low)
                                               : std::min(range.low, next.low);
      range.high = made.kind == Parts::Least ? std::min(range.high, next.high)
                                             : std::max(range.high, next.high);
    }
    break;
  }
  case Parts::Quotient:
    if (auto low = lowOf(rangesOfSums[0]))
      range.low = llvm::divideFloorSigned(int64_t(*low), made.divisor);
    if (auto high = highOf(rangesOfSums[0]))
      range.high = llvm::divideCeilSigned(int64_t(*high), made.divisor);
    break;
  case Parts::Between:
    range = {rangesOfSums[0].low, rangesOfSums[1].high};
    break;
  }
  --depth;
  ranges[size.base] = range;
  return range;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A factor times a number; that number itself where there is one and the
/// product could leave 64 bits, as `self`.
SizeSum SizeOrder::ofProduct(const SizeProduct &product, UnknownSize self) {
  if (product.isConstant())
    return constantSum(product.factor);
  if (product.unknown.size() != 1)
    return unknownSum(self);
  const UnknownSize &size = product.unknown.front();
  SizeSum part = size.dim < 0 ? ofNumber(size.base) : unknownSum(size);
  // Nothing is computed of it that could leave a word.
  if (product.factor == 1)
    return part;
  std::optional<SizeSum> sum = addTo({}, part, product.factor);
  return sum && rangeOf(*sum).isBounded() ? *sum : unknownSum(self);
}

SizeSum SizeOrder::of(OpFoldResult number) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return constantSum(*constant);
  return ofProduct(facts.of(number), {cast<Value>(number), -1});
}

SizeSum SizeOrder::of(Value shaped, int64_t d) {
  return ofProduct(facts.of(shaped, d), {shaped, d});
}

SizeSum SizeOrder::ofNumber(Value number) {
  if (auto it = sums.find(number); it != sums.end())
    return it->second;
  std::optional<SizeSum> sum;
  if (isWide(number.getType()) && depth < kDeepestChain) {
    ++depth;
    sum = computeSum(number);
    --depth;
  }
  if (!sum || sum->terms.size() > kMostTerms)
    sum = unknownSum({number, -1});
  sums[number] = *sum;
  return *sum;
}

/// The sum that the operation computes, or what it always chooses; none for
/// others.
std::optional<SizeSum> SizeOrder::computeSum(Value number) {
  Operation *op = number.getDefiningOp();
  if (!op)
    return std::nullopt;
  std::optional<SizeSum> sum;
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    sum = addTo(of(OpFoldResult(op->getOperand(0))),
                of(OpFoldResult(op->getOperand(1))),
                isa<arith::AddIOp>(op) ? 1 : -1);
  else if (auto apply = dyn_cast<AffineApplyOp>(op))
    sum = ofResult(apply.getAffineMap(), 0, apply.getMapOperands());
  if (sum)
    return rangeOf(*sum).isBounded() ? sum : std::nullopt;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    std::optional<bool> taken = compare ? decide(compare) : std::nullopt;
    if (!taken)
      return std::nullopt;
    return of(
        OpFoldResult(*taken ? select.getTrueValue() : select.getFalseValue()));
  }
  const Parts made = partsOf({number, -1});
  if (made.kind == Parts::Quotient && made.divisor == 1)
    return made.sums[0];
  if (made.kind != Parts::Least && made.kind != Parts::Greatest)
    return std::nullopt;
  bool isLeast = made.kind == Parts::Least;
  for (const SizeSum &candidate : made.sums)
    if (llvm::all_of(made.sums, [&](const SizeSum &other) {
          return isLeast ? isAtMost(candidate, other)
                         : isAtMost(other, candidate);
        }))
      return candidate;
  return std::nullopt;
}

std::optional<SizeSum>
SizeOrder::ofExpression(AffineExpr expr, ValueRange operands, unsigned dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constantSum(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return of(OpFoldResult(operands[dim.getPosition()]));
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return of(OpFoldResult(operands[dims + symbol.getPosition()]));
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<SizeSum> a = ofExpression(binary.getLHS(), operands, dims);
  std::optional<SizeSum> b = ofExpression(binary.getRHS(), operands, dims);
  if (!a || !b)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return addTo(*a, *b, 1);
  if (binary.getKind() == AffineExprKind::Mul && b->isConstant())
    return addTo({}, *a, b->constant);
  return std::nullopt;
}

/// A result of a map; none if it may leave a word.
std::optional<SizeSum> SizeOrder::ofResult(AffineMap map, unsigned number,
                                           ValueRange operands) {
  AffineExpr expr = map.getResult(number);
  std::optional<SizeSum> sum = ofExpression(expr, operands, map.getNumDims());
  if (!sum || isa<AffineDimExpr, AffineSymbolExpr>(expr) ||
      rangeOf(*sum).isBounded())
    return sum;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Numbers that are no sums
//===----------------------------------------------------------------------===//

SizeOrder::Parts SizeOrder::partsOf(const UnknownSize &size) {
  if (size.dim >= 0)
    return {};
  if (auto it = parts.find(size.base); it != parts.end())
    return it->second;
  Parts made;
  if (isWide(size.base.getType()) && depth < kDeepestChain) {
    ++depth;
    made = computeParts(size.base);
    --depth;
  }
  return parts[size.base] = std::move(made);
}

/// The quotient by a positive number, rounded down or up.
SizeOrder::Parts SizeOrder::divide(const SizeSum &sum, int64_t divisor,
                                   bool down) {
  Parts made;
  if (divisor <= 0 || !rangeOf(sum).isBounded())
    return made;
  made.kind = Parts::Quotient;
  made.sums = {sum};
  made.divisor = divisor;
  (down ? made.below : made.above) = divisor - 1;
  return made;
}

SizeOrder::Parts SizeOrder::computeParts(Value number) {
  Parts made;
  auto sumOf = [&](Value value) { return of(OpFoldResult(value)); };
  Operation *op = number.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(number);
    Operation *owner = argument.getOwner()->getParentOp();
    std::optional<SizeSum> first, end;
    if (auto loop = dyn_cast_or_null<scf::ForOp>(owner);
        loop && argument == loop.getInductionVar() && !loop.getUnsignedCmp()) {
      first = sumOf(loop.getLowerBound());
      end = sumOf(loop.getUpperBound());
    } else if (auto nest = dyn_cast_or_null<AffineForOp>(owner);
               nest && argument == nest.getInductionVar()) {
      // It lies between each of several bounds.
      first =
          ofResult(nest.getLowerBoundMap(), 0, nest.getLowerBoundOperands());
      end = ofResult(nest.getUpperBoundMap(), 0, nest.getUpperBoundOperands());
    }
    std::optional<SizeSum> last =
        end ? addTo(*end, constantSum(1), -1) : std::nullopt;
    if (first && last) {
      made.kind = Parts::Between;
      made.sums = {*first, *last};
    }
    return made;
  }
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
    made.kind = isa<arith::MinSIOp>(op) ? Parts::Least : Parts::Greatest;
    made.sums = {sumOf(op->getOperand(0)), sumOf(op->getOperand(1))};
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    made.kind = Parts::OneOf;
    made.sums = {sumOf(select.getTrueValue()), sumOf(select.getFalseValue())};
  } else if (isa<AffineMinOp, AffineMaxOp>(op)) {
    AffineMap map = isa<AffineMinOp>(op) ? cast<AffineMinOp>(op).getMap()
                                         : cast<AffineMaxOp>(op).getMap();
    for (unsigned i = 0; i < map.getNumResults(); ++i) {
      std::optional<SizeSum> sum = ofResult(map, i, op->getOperands());
      if (!sum)
        return {};
      made.sums.push_back(*sum);
    }
    if (!made.sums.empty())
      made.kind = isa<AffineMinOp>(op) ? Parts::Least : Parts::Greatest;
  } else if (auto apply = dyn_cast<AffineApplyOp>(op)) {
    auto binary =
        dyn_cast<AffineBinaryOpExpr>(apply.getAffineMap().getResult(0));
    auto by = binary ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                     : AffineConstantExpr();
    if (!by || (binary.getKind() != AffineExprKind::FloorDiv &&
                binary.getKind() != AffineExprKind::CeilDiv))
      return made;
    std::optional<SizeSum> sum =
        ofExpression(binary.getLHS(), apply.getMapOperands(),
                     apply.getAffineMap().getNumDims());
    if (sum)
      made = divide(*sum, by.getValue(),
                    binary.getKind() == AffineExprKind::FloorDiv);
  } else if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp, arith::DivSIOp,
                 arith::DivUIOp, arith::CeilDivUIOp, arith::RemSIOp,
                 arith::RemUIOp>(op)) {
    std::optional<int64_t> by = getConstantIntValue(op->getOperand(1));
    SizeSum sum = sumOf(op->getOperand(0));
    // Below zero some round up, and some read another number.
    bool isRounded = isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
    if (!by || *by <= 0 || (!isRounded && rangeOf(sum).low < 0))
      return made;
    if (isa<arith::RemSIOp, arith::RemUIOp>(op)) {
      made.kind = Parts::Between;
      made.sums = {constantSum(0), constantSum(*by - 1)};
      return made;
    }
    made = divide(sum, *by, !isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op));
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

/// Takes the number apart in the sum. `isTried` says whether it may be; that
/// parts have to be chosen from only where `mayChoose` says so.
bool SizeOrder::proveByParts(const SizeSum &sum, const UnknownSize &size,
                             int64_t factor, bool mayChoose, bool &isTried) {
  const Parts made = partsOf(size);
  isTried = false;
  std::optional<SizeSum> rest = addTo(sum, unknownSum(size), -factor);
  if (!rest || made.kind == Parts::None)
    return false;
  auto proveWith = [&](const SizeSum &part) {
    std::optional<SizeSum> next = addTo(*rest, part, factor);
    return next && prove(*next);
  };
  bool takesAll = made.kind == Parts::OneOf ||
                  (made.kind == Parts::Least && factor > 0) ||
                  (made.kind == Parts::Greatest && factor < 0);
  isTried = takesAll != mayChoose;
  if (!isTried)
    return false;
  if (takesAll)
    return llvm::all_of(made.sums, proveWith);
  if (made.kind == Parts::Between)
    return proveWith(made.sums[factor > 0 ? 0 : 1]);
  if (made.kind != Parts::Quotient)
    return llvm::any_of(made.sums, proveWith);
  // Integers that are not negative times the divisor are above minus that.
  std::optional<SizeSum> bound = addTo(
      made.sums[0], constantSum(factor > 0 ? -made.below : made.above), 1);
  std::optional<SizeSum> scaled = addTo({}, *rest, made.divisor);
  if (!bound || !scaled)
    return false;
  scaled = addTo(*scaled, *bound, factor);
  if (scaled)
    scaled = addTo(*scaled, constantSum(made.divisor - 1), 1);
  return scaled && prove(*scaled);
}

bool SizeOrder::prove(const SizeSum &sum) {
  if (rangeOf(sum).low >= 0)
    return true;
  if (steps == 0 || sum.terms.size() > kMostTerms)
    return false;
  --steps;
  // What has to hold of all parts first: nothing is lost by that.
  for (bool mayChoose : {false, true})
    for (const auto &[size, factor] : sum.terms) {
      bool isTried;
      if (proveByParts(sum, size, factor, mayChoose, isTried))
        return true;
      if (isTried && !mayChoose)
        return false;
    }
  return false;
}

bool SizeOrder::isNonNegative(const SizeSum &sum) {
  unsigned left = std::exchange(steps, kMostSteps);
  bool isProven = prove(sum);
  steps = left;
  return isProven;
}

bool SizeOrder::isAtMost(const SizeSum &a, const SizeSum &b) {
  std::optional<SizeSum> apart = addTo(b, a, -1);
  return apart && isNonNegative(*apart);
}

bool SizeOrder::areEqual(const SizeSum &a, const SizeSum &b) {
  return a == b || (isAtMost(a, b) && isAtMost(b, a));
}

std::optional<bool> SizeOrder::decide(arith::CmpIOp compare) {
  if (!isWide(compare.getLhs().getType()))
    return std::nullopt;
  SizeSum a = of(OpFoldResult(compare.getLhs()));
  SizeSum b = of(OpFoldResult(compare.getRhs()));
  auto isBelow = [&](const SizeSum &x, const SizeSum &y) {
    std::optional<SizeSum> next = addTo(x, constantSum(1), 1);
    return next && isAtMost(*next, y);
  };
  auto known = [](bool always, auto never) -> std::optional<bool> {
    if (always)
      return true;
    return never() ? std::optional<bool>(false) : std::nullopt;
  };
  arith::CmpIPredicate predicate = compare.getPredicate();
  // Numbers of which none is negative have the same order without a sign.
  if (predicate >= arith::CmpIPredicate::ult &&
      !(isNonNegative(a) && isNonNegative(b)))
    return std::nullopt;
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return known(areEqual(a, b),
                 [&] { return isBelow(a, b) || isBelow(b, a); });
  case arith::CmpIPredicate::ne:
    return known(isBelow(a, b) || isBelow(b, a),
                 [&] { return areEqual(a, b); });
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    std::swap(a, b);
    [[fallthrough]];
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return known(isBelow(a, b), [&] { return isAtMost(b, a); });
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    std::swap(a, b);
    [[fallthrough]];
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return known(isAtMost(a, b), [&] { return isBelow(b, a); });
  }
  llvm_unreachable("all predicates are handled");
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

bool sweeps(AffineForOp loop, Value memref, unsigned d) {
  SizeFacts facts;
  return sweeps(loop, memref, d, facts);
}

bool sweeps(AffineForOp loop, Value memref, unsigned d, SizeFacts &facts) {
  if (!countsFromZero(loop))
    return false;
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(d))
    return loop.hasConstantUpperBound() &&
           loop.getConstantUpperBound() == type.getDimSize(d);
  AffineMap map = loop.getUpperBoundMap();
  if (map.getNumResults() != 1)
    return false;
  std::optional<SizeProduct> product = facts.of(
      map.getResult(0), loop.getUpperBoundOperands(), map.getNumDims());
  if (product && *product == facts.of(memref, d))
    return true;
  SizeOrder order(facts);
  std::optional<SizeSum> end =
      order.ofResult(map, 0, loop.getUpperBoundOperands());
  return end && order.areEqual(*end, order.of(memref, d));
}

} // namespace polynest
