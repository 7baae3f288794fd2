//===- WidenSums.cpp - sums of half precision in single precision ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a band of loops that carries a sum in f16 or bf16 carries it in f32 and
// rounds it once, behind the loops. Products that only the sum uses are
// multiplied in f32 too, where they are exact.
// Legal when: the loops are a perfect band around straight code in which the
// value that is carried is added to once, and used nowhere else. The result is
// the sum with fewer roundings (numerics (f)): each rounding of the narrow type
// is left out, so that nothing overflows on the way and no terms are lost.
// Profitable always: code generation computes in f32 what is narrower, between
// casts, and contractions have kernels for wide sums only.
// Limits: one carried value a band; sums in memory stay as they are.
// Cost: operations of the bands.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_WIDENSUMS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-widen-sums"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "widen-sums";

namespace {
/// Loops that carry one sum, outermost first, and what adds to it.
struct Sum {
  SmallVector<AffineForOp, 4> band;
  Operation *add = nullptr;
  /// What is added: a product of these two, or the first alone. It may be a sum
  /// that is widened, and another value then.
  OpOperand *left = nullptr, *right = nullptr;
  /// The product, if it goes away.
  Operation *product = nullptr;
  bool subtracts = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// Fills in what the innermost loop of the band adds; why it cannot be widened,
/// or an empty string.
static StringRef matchAddend(Sum &sum) {
  AffineForOp inner = sum.band.back();
  Value carried = inner.getRegionIterArgs()[0];
  Value result = inner.getYieldedValues()[0];
  sum.add = result.getDefiningOp();
  if (!sum.add || sum.add->getBlock() != inner.getBody() ||
      !result.hasOneUse() || !carried.hasOneUse() ||
      *carried.user_begin() != sum.add)
    return "the carried value is no sum";
  if (auto fma = dyn_cast<math::FmaOp>(sum.add)) {
    sum.left = &fma->getOpOperand(0);
    sum.right = &fma->getOpOperand(1);
    return fma.getC() == carried ? "" : "the carried value is no sum";
  }
  sum.subtracts = isa<arith::SubFOp>(sum.add);
  if (!isa<arith::AddFOp, arith::SubFOp>(sum.add) ||
      (sum.subtracts && sum.add->getOperand(0) != carried))
    return "the carried value is no sum";
  sum.left = &sum.add->getOpOperand(sum.add->getOperand(0) == carried ? 1 : 0);
  Value addend = sum.left->get();
  auto product = addend.getDefiningOp<arith::MulFOp>();
  if (product && addend.hasOneUse() && product->getBlock() == inner.getBody()) {
    sum.product = product;
    sum.left = &product->getOpOperand(0);
    sum.right = &product->getOpOperand(1);
  }
  return "";
}

/// Follows the band inwards from its outermost loop; why it is none that can be
/// widened, or an empty string.
static StringRef matchSum(AffineForOp outermost, Sum &sum) {
  AffineForOp loop = outermost;
  while (true) {
    sum.band.push_back(loop);
    auto inner = dyn_cast<AffineForOp>(loop.getBody()->front());
    if (!inner)
      break;
    if (inner->getNextNode() != loop.getBody()->getTerminator() ||
        inner.getNumIterOperands() != 1 ||
        inner.getInits()[0] != loop.getRegionIterArgs()[0] ||
        loop.getYieldedValues()[0] != inner.getResult(0) ||
        !loop.getRegionIterArgs()[0].hasOneUse())
      return "loops are no perfect band";
    loop = inner;
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (op.getNumRegions() != 0)
      return "the innermost loop holds regions";
  return matchAddend(sum);
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

static void widen(Sum &sum) {
  AffineForOp outer = sum.band.front(), inner = sum.band.back();
  OpBuilder builder(outer);
  Location loc = sum.add->getLoc();
  Type narrow = outer.getResult(0).getType(), wide = builder.getF32Type();
  Value carried =
      arith::ExtFOp::create(builder, loc, wide, outer.getInits()[0]);
  IRMapping mapping;
  SmallVector<AffineForOp, 4> made;
  for (AffineForOp loop : sum.band) {
    AffineForOp copy = copyLoop(builder, loop.getLoc(), loop, mapping, carried);
    copy->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    carried = copy.getRegionIterArgs()[0];
    builder.setInsertionPointToEnd(copy.getBody());
    made.push_back(copy);
  }
  for (Operation &op : inner.getBody()->without_terminator())
    if (&op != sum.add && &op != sum.product)
      builder.clone(op, mapping);
  auto extend = [&](OpOperand *operand) -> Value {
    return arith::ExtFOp::create(builder, loc, wide,
                                 mapping.lookupOrDefault(operand->get()));
  };
  if (isa<math::FmaOp>(sum.add)) {
    carried = math::FmaOp::create(builder, loc, extend(sum.left),
                                  extend(sum.right), carried);
  } else {
    Value addend = extend(sum.left);
    if (sum.right)
      addend = arith::MulFOp::create(builder, loc, addend, extend(sum.right));
    carried =
        sum.subtracts
            ? arith::SubFOp::create(builder, loc, carried, addend).getResult()
            : arith::AddFOp::create(builder, loc, carried, addend).getResult();
  }
  for (AffineForOp loop : llvm::reverse(made)) {
    builder.setInsertionPointToEnd(loop.getBody());
    AffineYieldOp::create(builder, loc, carried);
    carried = loop.getResult(0);
  }
  builder.setInsertionPointAfter(made.front());
  Value rounded = arith::TruncFOp::create(builder, loc, narrow, carried);
  outer.getResult(0).replaceAllUsesWith(rounded);
  outer.erase();
}

namespace {
struct WidenSumsPass : impl::WidenSumsBase<WidenSumsPass> {
  using WidenSumsBase::WidenSumsBase;

  void runOnOperation() override {
    SmallVector<Sum> sums;
    getOperation().walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      if (loop.getNumIterOperands() == 0)
        return WalkResult::advance();
      if (loop.getNumIterOperands() != 1 ||
          !isNarrow(loop.getResult(0).getType()))
        return WalkResult::advance();
      Sum sum;
      StringRef reason = matchSum(loop, sum);
      if (reason.empty()) {
        sums.push_back(std::move(sum));
        return WalkResult::skip();
      }
      ++numDeclined;
      remark(RemarkKind::Declined, loop.getLoc(), passName, reason);
      return WalkResult::advance();
    });
    for (Sum &sum : sums) {
      remark(RemarkKind::Applied, sum.band.front().getLoc(), passName,
             "sum carried in f32")
          << arg("loops", sum.band.size());
      widen(sum);
    }
    numApplied += sums.size();
  }
};
} // namespace

} // namespace polynest
