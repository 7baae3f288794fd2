//===- GuardIntegerDivision.cpp - give integer division defined results ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: replaces the divisor of every integer division and remainder by 1 where
// the operation would trap or be undefined, and selects the defined result:
// x / 0 = 0, x rem 0 = 0, INT_MIN / -1 = INT_MIN, INT_MIN rem -1 = 0.
// Legal always: on all other operands the result is unchanged.
// Profitable always: it is a matter of correctness. A division by a constant
// other than 0 and -1 is left alone.
// Limits: `index` division is treated as 64 bits wide, as the targets are.
// Cost: linear in the number of operations; up to five cheap ones a division.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/Remark.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace polynest {
#define GEN_PASS_DEF_GUARDINTEGERDIVISION
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-guard-integer-division"

using namespace mlir;

namespace polynest {

static bool isSignedDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp>(op);
}

static bool isDivision(Operation *op) {
  return isSignedDivision(op) ||
         isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

/// True if the divisor is a constant (or splat) with which nothing can trap.
static bool hasSafeConstantDivisor(Operation *op) {
  APInt divisor;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    return false;
  return !divisor.isZero() && !(isSignedDivision(op) && divisor.isAllOnes());
}

/// True if the divisor is the select that a first run of this pass made.
static bool isGuarded(Operation *op) {
  auto select = op->getOperand(1).getDefiningOp<arith::SelectOp>();
  return select && select->hasAttr("polynest.guard");
}

static Value makeConstant(OpBuilder &builder, Location loc, Type type,
                          const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = IntegerAttr::get(element, value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = DenseElementsAttr::get(shaped, value);
  return arith::ConstantOp::create(builder, loc, type, attribute);
}

static unsigned bitWidthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// Wraps one division. Quotients of a zero divisor are 0; with divisor -1 the
/// quotient is the wrapped negation, which every form of rounding agrees on.
static void guard(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  Type type = lhs.getType();
  unsigned width = bitWidthOf(type);
  Value zero = makeConstant(builder, loc, type, APInt(width, 0));
  Value one = makeConstant(builder, loc, type, APInt(width, 1));
  Value isZero =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rhs, zero);
  Value unsafe = isZero;
  Value isMinusOne;
  if (isSignedDivision(op)) {
    Value minusOne = makeConstant(builder, loc, type, APInt::getAllOnes(width));
    isMinusOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       rhs, minusOne);
    unsafe = arith::OrIOp::create(builder, loc, isZero, isMinusOne);
  }
  auto divisor = arith::SelectOp::create(builder, loc, unsafe, one, rhs);
  divisor->setAttr("polynest.guard", builder.getUnitAttr());
  op->setOperand(1, divisor);
  builder.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  bool remainder = isa<arith::RemSIOp, arith::RemUIOp>(op);
  // x rem 1 is 0, the defined result for both unsafe divisors.
  if (remainder)
    return;
  SmallPtrSet<Operation *, 4> mine;
  Value guarded = result;
  if (isMinusOne) {
    auto negated = arith::SubIOp::create(builder, loc, zero, lhs);
    auto select =
        arith::SelectOp::create(builder, loc, isMinusOne, negated, guarded);
    mine.insert(select);
    guarded = select;
  }
  auto select = arith::SelectOp::create(builder, loc, isZero, zero, guarded);
  mine.insert(select);
  result.replaceAllUsesExcept(select, mine);
}

namespace {
struct GuardIntegerDivisionPass
    : impl::GuardIntegerDivisionBase<GuardIntegerDivisionPass> {
  void runOnOperation() override {
    SmallVector<Operation *> divisions;
    getOperation()->walk([&](Operation *op) {
      if (!isDivision(op))
        return;
      if (hasSafeConstantDivisor(op) || isGuarded(op))
        ++numDeclined;
      else
        divisions.push_back(op);
    });
    if (divisions.empty())
      markAllAnalysesPreserved();
    for (Operation *op : divisions)
      guard(op);
    numApplied += divisions.size();
  }
};
} // namespace

} // namespace polynest
