//===- LinearizeAccesses.cpp - one index an access, constants last --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: replaces affine accesses of memrefs with static strides by accesses of
// one dimension. The index is a sum with the terms of outer loops first and the
// constant last, so that accesses which differ by a constant share the rest,
// and what an inner loop does not change leaves it as a whole. Quotients and
// remainders of numbers that are not negative become the unsigned ones.
// Legal: the sum is taken modulo 2^64, where order does not matter; "no signed
// wrap" is claimed only where the ranges of all terms say so.
// Profitable always: row by row, LLVM multiplies each index by its stride again
// and its loop strength reduction has to find out what was known here, which is
// a fifth of the code generator's time for a product of matrices.
// Limits: static shape and strides, offset 0, or one dimension; vectors of one
// dimension. Others go to lower-affine as they are.
// Cost: linear in accesses.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/AffineValues.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace polynest {
#define GEN_PASS_DEF_LINEARIZEACCESSES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-linearize-accesses"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// A value, or an expression that is no sum, times a constant.
struct Term {
  Value value;
  AffineExpr expr;
  int64_t factor;
  /// Loops and other operations around.
  unsigned depth;
};

struct Sum {
  /// Those of outer loops first.
  SmallVector<Term, 4> terms;
  int64_t constant = 0;
};

/// Ends included; empty if not known.
using Range = std::optional<std::pair<__int128, __int128>>;
} // namespace

static unsigned depthOf(Value value) {
  unsigned depth = 0;
  for (Operation *op = value.getParentBlock()->getParentOp(); op;
       op = op->getParentOp())
    ++depth;
  return depth;
}

static unsigned depthOf(AffineExpr expr, const AffineValueMap &map) {
  unsigned depth = 0;
  for (unsigned i = 0, e = map.getNumOperands(); i != e; ++i) {
    bool isUsed = i < map.getNumDims()
                      ? expr.isFunctionOfDim(i)
                      : expr.isFunctionOfSymbol(i - map.getNumDims());
    if (isUsed)
      depth = std::max(depth, depthOf(map.getOperand(i)));
  }
  return depth;
}

/// Adds a term, or to the factor of an equal one; false where that overflows.
static bool addTerm(Sum &sum, const Term &term) {
  for (Term &other : sum.terms)
    if (other.value == term.value && other.expr == term.expr)
      return !llvm::AddOverflow(other.factor, term.factor, other.factor);
  auto *at = llvm::find_if(
      sum.terms, [&](const Term &other) { return other.depth > term.depth; });
  sum.terms.insert(at, term);
  return true;
}

/// Adds `factor` times the expression; false where a constant overflows.
static bool collect(AffineExpr expr, int64_t factor, const AffineValueMap &map,
                    Sum &sum) {
  auto addConstant = [&](int64_t constant) {
    int64_t scaled;
    return !llvm::MulOverflow(constant, factor, scaled) &&
           !llvm::AddOverflow(sum.constant, scaled, sum.constant);
  };
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return addConstant(constant.getValue());
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    if (expr.getKind() == AffineExprKind::Add)
      return collect(binary.getLHS(), factor, map, sum) &&
             collect(binary.getRHS(), factor, map, sum);
    auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (expr.getKind() == AffineExprKind::Mul && by)
      return !llvm::MulOverflow(factor, by.getValue(), factor) &&
             collect(binary.getLHS(), factor, map, sum);
    return addTerm(sum, {Value(), expr, factor, depthOf(expr, map)});
  }
  auto dim = dyn_cast<AffineDimExpr>(expr);
  Value value = map.getOperand(
      dim ? dim.getPosition()
          : map.getNumDims() + cast<AffineSymbolExpr>(expr).getPosition());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return addConstant(constant.getSExtValue());
  return addTerm(sum, {value, {}, factor, depthOf(value)});
}

static Range rangeOf(const Sum &sum, const AffineValueMap &map);

/// The sum that is divided, if `expr` is a quotient or remainder by a positive
/// constant of a number that is never negative.
static std::optional<Sum> getDividend(AffineExpr expr,
                                      const AffineValueMap &map) {
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  Sum sum;
  if ((expr.getKind() != AffineExprKind::FloorDiv &&
       expr.getKind() != AffineExprKind::Mod) ||
      !by || by.getValue() <= 0 || !collect(binary.getLHS(), 1, map, sum))
    return std::nullopt;
  Range range = rangeOf(sum, map);
  return range && range->first >= 0 ? std::optional(std::move(sum))
                                    : std::nullopt;
}

static Range rangeOf(const Term &term, const AffineValueMap &map) {
  if (term.value) {
    IntegerRange range = rangeOfValue(term.value);
    return range.isBounded() ? Range({range.low, range.high}) : std::nullopt;
  }
  auto binary = cast<AffineBinaryOpExpr>(term.expr);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!by || by.getValue() <= 0)
    return std::nullopt;
  if (term.expr.getKind() == AffineExprKind::Mod)
    return Range({0, by.getValue() - 1});
  std::optional<Sum> dividend = getDividend(term.expr, map);
  Range range = dividend ? rangeOf(*dividend, map) : std::nullopt;
  return range ? Range({range->first / by.getValue(),
                        range->second / by.getValue()})
               : std::nullopt;
}

/// Of the sum, and so of each part of it: the largest magnitude of each term
/// counts. None above 2^62.
static Range rangeOf(const Sum &sum, const AffineValueMap &map) {
  __int128 low = sum.constant, high = sum.constant, most = 0;
  auto magnitude = [](__int128 value) { return value < 0 ? -value : value; };
  most += magnitude(sum.constant);
  for (const Term &term : sum.terms) {
    Range range = rangeOf(term, map);
    if (!range)
      return std::nullopt;
    __int128 a = range->first * term.factor, b = range->second * term.factor;
    low += std::min(a, b);
    high += std::max(a, b);
    most += std::max(magnitude(a), magnitude(b));
    if (most > (__int128(1) << 62))
      return std::nullopt;
  }
  return Range({low, high});
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Already one dimension, of any size.
static bool isFlat(MemRefType type) {
  return type.getRank() == 1 && type.getLayout().isIdentity();
}

/// Elements from the first to the last; none for a memref of dynamic size.
static std::optional<int64_t> getSpan(MemRefType type,
                                      ArrayRef<int64_t> strides) {
  if (!type.hasStaticShape())
    return std::nullopt;
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  int64_t span = 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    int64_t reach;
    if (llvm::MulOverflow(size - 1, stride, reach) ||
        llvm::AddOverflow(span, reach, span))
      return std::nullopt;
  }
  return span;
}

/// Strides of a memref that one index can address, or nothing.
static std::optional<SmallVector<int64_t>> getStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (isFlat(type))
    return SmallVector<int64_t>{1};
  // A dynamic stride is a negative number, too.
  if (type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) || offset != 0 ||
      llvm::any_of(strides, [](int64_t stride) { return stride < 0; }) ||
      !getSpan(type, strides))
    return std::nullopt;
  return strides;
}

namespace {
/// What an access is replaced by.
struct Plan {
  Operation *op;
  Value memref;
  AffineValueMap map;
  Sum sum;
};

class Linearizer {
public:
  explicit Linearizer(func::FuncOp function) : builder(function) {}

  /// The memref in one dimension; made once, where it is defined.
  Value flatten(Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    if (isFlat(type))
      return memref;
    auto [it, isNew] = flat.try_emplace(memref);
    if (!isNew)
      return it->second;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(memref);
    int64_t span = *getSpan(type, *getStrides(type));
    auto flatType =
        MemRefType::get({span}, type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace());
    it->second = memref::ReinterpretCastOp::create(
        builder, memref.getLoc(), flatType, memref, 0, {span}, {1});
    return it->second;
  }

  Value emit(const Sum &sum, const AffineValueMap &map, Location loc) {
    auto flags = rangeOf(sum, map) ? arith::IntegerOverflowFlags::nsw
                                   : arith::IntegerOverflowFlags::none;
    Value total;
    auto add = [&](Value value) {
      total = total ? arith::AddIOp::create(builder, loc, total, value, flags)
                    : value;
    };
    for (const Term &term : sum.terms) {
      if (term.factor == 0)
        continue;
      Value value = term.value ? term.value : emit(term.expr, map, loc);
      if (term.factor != 1)
        value = arith::MulIOp::create(builder, loc, value,
                                      constant(term.factor, loc), flags);
      add(value);
    }
    if (sum.constant != 0 || !total)
      add(constant(sum.constant, loc));
    return total;
  }

  OpBuilder builder;

private:
  Value constant(int64_t value, Location loc) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// An expression that is no sum.
  Value emit(AffineExpr expr, const AffineValueMap &map, Location loc) {
    std::optional<Sum> dividend = getDividend(expr, map);
    if (!dividend) {
      AffineMap apply =
          AffineMap::get(map.getNumDims(), map.getNumSymbols(), expr);
      SmallVector<Value> operands(map.getOperands());
      canonicalizeMapAndOperands(&apply, &operands);
      return AffineApplyOp::create(builder, loc, apply, operands);
    }
    Value value = emit(*dividend, map, loc);
    Value by = constant(
        cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(expr).getRHS())
            .getValue(),
        loc);
    if (expr.getKind() == AffineExprKind::Mod)
      return arith::RemUIOp::create(builder, loc, value, by);
    return arith::DivUIOp::create(builder, loc, value, by);
  }

  DenseMap<Value, Value> flat;
};
} // namespace

template <typename Access>
static std::optional<Plan> makePlan(Access access) {
  auto strides = getStrides(access.getMemRefType());
  if (!strides)
    return std::nullopt;
  Plan plan{access, access.getMemRef(), {}, {}};
  AffineMap map = access.getAffineMap();
  SmallVector<Value> operands(access.getMapOperands());
  fullyComposeAffineMapAndOperands(&map, &operands);
  plan.map.reset(map, operands);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), *strides))
    if (!collect(expr, stride, plan.map, plan.sum))
      return std::nullopt;
  return plan;
}

/// True for one element, or a run of them along the last dimension.
static bool isRun(Type type, MemRefType memref) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector == memref.getElementType())
    return true;
  auto strides = getStrides(memref);
  return vector.getRank() == 1 && strides && strides->back() == 1;
}

static std::optional<Plan> makePlan(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Plan>>(op)
      .Case<AffineLoadOp, AffineStoreOp>(
          [](auto access) { return makePlan(access); })
      .Case<AffineVectorLoadOp, AffineVectorStoreOp>(
          [](auto access) -> std::optional<Plan> {
            if (!isRun(access.getVectorType(), access.getMemRefType()))
              return std::nullopt;
            return makePlan(access);
          })
      .Default([](Operation *) { return std::nullopt; });
}

static void apply(const Plan &plan, Linearizer &linearizer) {
  OpBuilder &builder = linearizer.builder;
  Location loc = plan.op->getLoc();
  Value memref = linearizer.flatten(plan.memref);
  builder.setInsertionPoint(plan.op);
  Value index = linearizer.emit(plan.sum, plan.map, loc);
  if (isa<AffineLoadOp>(plan.op))
    plan.op->replaceAllUsesWith(
        memref::LoadOp::create(builder, loc, memref, index));
  else if (auto store = dyn_cast<AffineStoreOp>(plan.op))
    memref::StoreOp::create(builder, loc, store.getValueToStore(), memref,
                            index);
  else if (auto load = dyn_cast<AffineVectorLoadOp>(plan.op))
    plan.op->replaceAllUsesWith(vector::LoadOp::create(
        builder, loc, load.getVectorType(), memref, index));
  else
    vector::StoreOp::create(
        builder, loc, cast<AffineVectorStoreOp>(plan.op).getValueToStore(),
        memref, index);
  plan.op->erase();
}

namespace {
struct LinearizeAccessesPass
    : impl::LinearizeAccessesBase<LinearizeAccessesPass> {
  void runOnOperation() override {
    SmallVector<Plan, 0> plans;
    unsigned declined = 0;
    getOperation().walk([&](Operation *op) {
      if (!isa<AffineReadOpInterface, AffineWriteOpInterface>(op))
        return;
      if (std::optional<Plan> plan = makePlan(op))
        plans.push_back(std::move(*plan));
      else
        ++declined;
    });
    Linearizer linearizer(getOperation());
    for (const Plan &plan : plans)
      apply(plan, linearizer);
    numApplied += plans.size();
    numDeclined += declined;
    if (declined)
      remark(RemarkKind::Declined, getOperation().getLoc(),
             "linearize-accesses", "strides are not known")
          << arg("accesses", declined);
  }
};
} // namespace

} // namespace polynest
