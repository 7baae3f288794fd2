//===- NarrowConditions.cpp - conditions in as few bits as they need ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a comparison of two sums of indices, such as that of a causal mask, in
// 64 bits becomes one of their difference with a constant, in 32 bits; one of
// widened floats, such as that of a tensor with a number, becomes one of what
// was widened. A minimum or maximum of indices that a loop carries, such as
// that of an argmax, is carried in 32 bits. Legal when: both sides are affine
// in indices, and the difference is known to fit 32 bits, signed comparisons
// and equality alone; or both floats were widened from one type, which changes
// neither order nor NaN, or one is a constant. Between a constant that the
// narrow type does not have and the next below it that it has lies no narrow
// number, so that all but equality compare with that. Profitable: lanes hold
// twice as many numbers, as many as of the f32 that the mask hides; of two sums
// one is left. Limits: indices of loops of unknown length have no range. Cost:
// linear in operations.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/AffineValues.h"
#include "Support/EraseDead.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

namespace polynest {
#define GEN_PASS_DEF_NARROWCONDITIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-narrow-conditions"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "narrow-conditions";

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static bool isSignedOrEquality(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    return true;
  default:
    return false;
  }
}

static bool isOfWideIntegers(arith::CmpIOp test) {
  Type type = test.getLhs().getType();
  return (type.isIndex() || type.isInteger(64)) &&
         isSignedOrEquality(test.getPredicate());
}

/// What an expression adds that no index moves.
static int64_t getOffset(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return 0;
  return getOffset(sum.getLHS()) + getOffset(sum.getRHS());
}

/// What an expression of `values` is in 32 bits, in front of `op`.
static Value emitNarrow(AffineValueBuilder &values, AffineExpr expr,
                        Operation *op) {
  OpBuilder ops(op);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantOp::create(
        ops, op->getLoc(), ops.getI32IntegerAttr(int32_t(constant.getValue())));
  AffineMap map = AffineMap::get(values.getNumDims(), values.getNumSymbols(),
                                 expr, op->getContext());
  SmallVector<Value> operands = values.getOperands();
  canonicalizeMapAndOperands(&map, &operands);
  return arith::IndexCastOp::create(
      ops, op->getLoc(), ops.getI32Type(),
      AffineApplyOp::create(ops, op->getLoc(), map, operands));
}

/// Why the comparison stays, or null once it is replaced.
static const char *narrow(arith::CmpIOp test) {
  AffineValueBuilder builder(test);
  std::optional<AffineExpr> lhs = builder.express(test.getLhs());
  std::optional<AffineExpr> rhs =
      lhs ? builder.express(test.getRhs()) : std::nullopt;
  if (!rhs)
    return "what is compared is not affine in indices";
  // Each side without wrapping, then the difference is that of the integers.
  AffineExpr moves = simplifyAffineExpr(*lhs - *rhs, builder.getNumDims(),
                                        builder.getNumSymbols());
  int64_t offset = getOffset(moves);
  moves = moves - offset;
  if (!builder.rangeOf(*lhs).isBounded() || !builder.rangeOf(*rhs).isBounded())
    return "what is compared has no known bounds";
  if (isa<AffineConstantExpr>(moves) || offset == INT64_MIN ||
      !builder.rangeOf(moves).fits32Bits() ||
      !IntegerRange{-offset, -offset}.fits32Bits())
    return "the difference may need more than 32 bits";
  OpBuilder ops(test);
  Value difference = emitNarrow(builder, moves, test);
  Value bound = arith::ConstantOp::create(
      ops, test.getLoc(), ops.getI32IntegerAttr(int32_t(-offset)));
  test->replaceAllUsesWith(arith::CmpIOp::create(
      ops, test.getLoc(), test.getPredicate(), difference, bound));
  return nullptr;
}

/// The place among what its loop carries of a minimum or maximum in 64 bits.
static std::optional<unsigned> findCarried(Operation *op) {
  auto loop = dyn_cast<AffineForOp>(op->getParentOp());
  if (!loop || !isa<arith::MinSIOp, arith::MaxSIOp>(op) ||
      !op->getResult(0).getType().isInteger(64) || !op->hasOneUse())
    return std::nullopt;
  OpOperand &use = *op->use_begin();
  if (use.getOwner() != loop.getBody()->getTerminator())
    return std::nullopt;
  Value carried = loop.getRegionIterArgs()[use.getOperandNumber()];
  if (!carried.hasOneUse() || *carried.user_begin() != op)
    return std::nullopt;
  return use.getOperandNumber();
}

/// Why a minimum or maximum that a loop carries `at` a place stays, or null
/// once it is replaced.
static const char *narrow(Operation *op, unsigned at) {
  auto loop = cast<AffineForOp>(op->getParentOp());
  BlockArgument carried = loop.getRegionIterArgs()[at];
  Value value = op->getOperand(op->getOperand(0) == carried ? 1 : 0);
  auto choice = value.getDefiningOp<arith::SelectOp>();
  SmallVector<Value, 2> numbers = {value};
  if (choice)
    numbers = {choice.getTrueValue(), choice.getFalseValue()};
  AffineValueBuilder values(op);
  SmallVector<AffineExpr, 2> exprs;
  for (Value number : numbers) {
    std::optional<AffineExpr> expr = values.express(number);
    if (!expr)
      return "what is carried is not affine in indices";
    if (!values.rangeOf(*expr).fits32Bits())
      return "what is carried may need more than 32 bits";
    exprs.push_back(*expr);
  }
  APInt begin;
  bool isMinimum = isa<arith::MinSIOp>(op);
  if (getTripCount(loop).value_or(0) == 0 ||
      !matchPattern(loop.getInits()[at], m_ConstantInt(&begin)) ||
      (isMinimum ? begin.slt(INT32_MIN) : begin.sgt(INT32_MAX)))
    return "the loop may end with what it begins with, in 64 bits";
  int64_t first =
      std::clamp<int64_t>(begin.getSExtValue(), INT32_MIN, INT32_MAX);
  OpBuilder ops(loop);
  Type narrowType = ops.getI32Type();
  loop.getInitsMutable()[at].set(arith::ConstantOp::create(
      ops, loop.getLoc(), ops.getI32IntegerAttr(int32_t(first))));
  carried.setType(narrowType);
  Value narrowed = emitNarrow(values, exprs[0], op);
  ops.setInsertionPoint(op);
  if (choice)
    narrowed =
        arith::SelectOp::create(ops, op->getLoc(), choice.getCondition(),
                                narrowed, emitNarrow(values, exprs[1], op));
  auto kind =
      isMinimum ? arith::AtomicRMWKind::mins : arith::AtomicRMWKind::maxs;
  op->replaceAllUsesWith(ValueRange(
      arith::getReductionOp(kind, ops, op->getLoc(), narrowed, carried)));
  Value result = loop.getResult(at);
  result.setType(narrowType);
  ops.setInsertionPointAfter(loop);
  auto wide =
      arith::ExtSIOp::create(ops, loop.getLoc(), ops.getI64Type(), result);
  result.replaceAllUsesExcept(wide, wide);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// `a PREDICATE b` as `b RESULT a`.
static arith::CmpFPredicate swapSides(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
    return arith::CmpFPredicate::OLT;
  case arith::CmpFPredicate::OGE:
    return arith::CmpFPredicate::OLE;
  case arith::CmpFPredicate::OLT:
    return arith::CmpFPredicate::OGT;
  case arith::CmpFPredicate::OLE:
    return arith::CmpFPredicate::OGE;
  case arith::CmpFPredicate::UGT:
    return arith::CmpFPredicate::ULT;
  case arith::CmpFPredicate::UGE:
    return arith::CmpFPredicate::ULE;
  case arith::CmpFPredicate::ULT:
    return arith::CmpFPredicate::UGT;
  case arith::CmpFPredicate::ULE:
    return arith::CmpFPredicate::UGE;
  default:
    return predicate;
  }
}

/// The comparison with the next narrow number below what is compared with,
/// where that is none itself; none for those that ask for equality.
static std::optional<arith::CmpFPredicate>
compareBelow(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
    return arith::CmpFPredicate::OGT;
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::UGE:
    return arith::CmpFPredicate::UGT;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
    return arith::CmpFPredicate::OLE;
  case arith::CmpFPredicate::ULT:
  case arith::CmpFPredicate::ULE:
    return arith::CmpFPredicate::ULE;
  default:
    return std::nullopt;
  }
}

/// Why the comparison stays, or null once it is replaced.
static const char *narrow(arith::CmpFOp test) {
  Value lhs = test.getLhs(), rhs = test.getRhs();
  arith::CmpFPredicate predicate = test.getPredicate();
  if (!lhs.getDefiningOp<arith::ExtFOp>()) {
    std::swap(lhs, rhs);
    predicate = swapSides(predicate);
  }
  Value narrow = lhs.getDefiningOp<arith::ExtFOp>().getIn();
  auto type = cast<FloatType>(narrow.getType());
  OpBuilder ops(test);
  auto replace = [&](Value other) {
    test->replaceAllUsesWith(
        arith::CmpFOp::create(ops, test.getLoc(), predicate, narrow, other));
  };
  if (auto other = rhs.getDefiningOp<arith::ExtFOp>()) {
    if (other.getIn().getType() != type)
      return "floats were widened from two types";
    replace(other.getIn());
    return nullptr;
  }
  APFloat bound(0.0);
  if (!matchPattern(rhs, m_ConstantFloat(&bound)))
    return "a float is compared with one that was not widened";
  bool isInexact = false;
  bound.convert(type.getFloatSemantics(), APFloat::rmTowardNegative,
                &isInexact);
  if (isInexact && !bound.isNaN()) {
    std::optional<arith::CmpFPredicate> below = compareBelow(predicate);
    if (!below)
      return "asked for equality with what the narrow type does not have";
    predicate = *below;
  }
  replace(arith::ConstantOp::create(ops, test.getLoc(),
                                    FloatAttr::get(type, bound)));
  return nullptr;
}

/// True for a comparison of scalars of which one was widened.
static bool isOfWidened(arith::CmpFOp test) {
  return isa<FloatType>(test.getLhs().getType()) &&
         (test.getLhs().getDefiningOp<arith::ExtFOp>() ||
          test.getRhs().getDefiningOp<arith::ExtFOp>());
}

/// Why `op` stays, or null once it is replaced.
static const char *narrow(Operation *op) {
  if (std::optional<unsigned> at = findCarried(op))
    return narrow(op, *at);
  if (auto floats = dyn_cast<arith::CmpFOp>(op))
    return narrow(floats);
  return narrow(cast<arith::CmpIOp>(op));
}

namespace {
struct NarrowConditionsPass : impl::NarrowConditionsBase<NarrowConditionsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> tests, replaced;
    getOperation().walk([&](Operation *op) {
      if (!op->getParentOfType<AffineForOp>())
        return;
      auto floats = dyn_cast<arith::CmpFOp>(op);
      auto integers = dyn_cast<arith::CmpIOp>(op);
      if ((floats && isOfWidened(floats)) ||
          (integers && isOfWideIntegers(integers)) || findCarried(op))
        tests.push_back(op);
    });
    for (Operation *op : tests) {
      if (const char *why = narrow(op)) {
        remark(RemarkKind::Declined, op->getLoc(), passName, why);
        ++numDeclined;
        continue;
      }
      remark(RemarkKind::Applied, op->getLoc(), passName,
             isa<arith::CmpFOp>(op)
                 ? "floats compared as they were before widening"
                 : "indices compared in 32 bits");
      ++numApplied;
      replaced.push_back(op);
    }
    eraseDead(replaced);
  }
};
} // namespace

} // namespace polynest
