//===- NarrowConditions.cpp - conditions on indices in 32 bits ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a comparison of two sums of indices, such as that of a causal mask, in
// 64 bits becomes one of their difference with a constant, in 32 bits.
// Legal when: both sides are affine in indices, and the difference is known to
// fit 32 bits. Signed comparisons and equality alone.
// Profitable: lanes hold twice as many numbers, as many as of the f32 that the
// mask hides; of two sums one is left. Limits: indices of loops of unknown
// length have no range. Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/AffineValues.h"
#include "Support/EraseDead.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace polynest {
#define GEN_PASS_DEF_NARROWCONDITIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-narrow-conditions"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "narrow-conditions";

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

static bool fits(IntegerRange range) {
  return range.low >= INT32_MIN && range.high <= INT32_MAX;
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
      !fits(builder.rangeOf(moves)) || !fits({-offset, -offset}))
    return "the difference may need more than 32 bits";
  AffineMap map = AffineMap::get(builder.getNumDims(), builder.getNumSymbols(),
                                 moves, test.getContext());
  SmallVector<Value> operands = builder.getOperands();
  canonicalizeMapAndOperands(&map, &operands);
  OpBuilder ops(test);
  Type narrowType = ops.getI32Type();
  Value difference = arith::IndexCastOp::create(
      ops, test.getLoc(), narrowType,
      AffineApplyOp::create(ops, test.getLoc(), map, operands));
  Value bound = arith::ConstantOp::create(
      ops, test.getLoc(), ops.getI32IntegerAttr(int32_t(-offset)));
  test->replaceAllUsesWith(arith::CmpIOp::create(
      ops, test.getLoc(), test.getPredicate(), difference, bound));
  return nullptr;
}

namespace {
struct NarrowConditionsPass : impl::NarrowConditionsBase<NarrowConditionsPass> {
  void runOnOperation() override {
    SmallVector<arith::CmpIOp> tests;
    getOperation().walk([&](arith::CmpIOp test) {
      Type type = test.getLhs().getType();
      if (test->getParentOfType<AffineForOp>() &&
          (type.isIndex() || type.isInteger(64)) &&
          isSignedOrEquality(test.getPredicate()))
        tests.push_back(test);
    });
    SmallVector<Operation *> replaced;
    for (arith::CmpIOp test : tests) {
      if (const char *why = narrow(test)) {
        remark(RemarkKind::Declined, test.getLoc(), passName, why);
        ++numDeclined;
        continue;
      }
      remark(RemarkKind::Applied, test.getLoc(), passName,
             "indices compared in 32 bits");
      ++numApplied;
      replaced.push_back(test);
    }
    eraseDead(replaced);
  }
};
} // namespace

} // namespace polynest
