//===- SimplifySizes.cpp - what is computed of sizes, as what it is -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: frontends that do not know sizes compute where slices begin and end
// with minima, maxima and selections that clamp them. Those that always are one
// of their operands become it, as do comparisons of sizes that are always true
// or false; sums become the shortest that they are, such as the size of a
// dimension: slices of all of it disappear, and sizes that are the same are
// seen to be. Legal when: it is proven, by sizes that are not negative and how
// the numbers are computed (Analysis/SizeOrder); numbers that could leave 64
// bits are left. Profitable always: what is left takes fewer operations.
// Limits: numbers of the types index and i64; sums of one number and a
// constant. Cost: linear in operations on such numbers, times a bounded number
// of steps.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/SizeOrder.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace polynest {
#define GEN_PASS_DEF_SIMPLIFYSIZES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-simplify-sizes"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "simplify-sizes";

namespace {
/// What an operation's result always is: a truth, one of its operands, or a
/// number and a constant.
struct Decision {
  Operation *op;
  std::optional<bool> truth;
  Value operand;
  SizeSum sum;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isNumber(Operation *op) {
  return op->getNumResults() == 1 && isWide(op->getResult(0).getType()) &&
         isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::SelectOp, affine::AffineApplyOp, affine::AffineMinOp,
             affine::AffineMaxOp>(op);
}

static bool isDim(Value value, const UnknownSize &size) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<tensor::DimOp, memref::DimOp>(op) &&
         op->getOperand(0) == size.base &&
         getConstantIntValue(op->getOperand(1)) == size.dim;
}

/// True if the operation is the sum as it would be made.
static bool isShortest(Operation *op, const SizeSum &sum) {
  if (sum.isConstant())
    return false;
  const UnknownSize &size = sum.terms.front().first;
  if (sum.constant == 0)
    return size.dim < 0 && size.base == op->getResult(0);
  auto isSource = [&](Value value) {
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      value = cast.getIn();
    return size.dim < 0 ? value == size.base : isDim(value, size);
  };
  return isa<arith::AddIOp>(op) &&
         getConstantIntValue(op->getOperand(1)) == sum.constant &&
         isSource(op->getOperand(0));
}

static std::optional<Decision> decide(Operation *op, SizeOrder &order) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    std::optional<bool> truth = order.decide(compare);
    return truth ? std::optional<Decision>({op, truth, {}, {}}) : std::nullopt;
  }
  if (!isNumber(op))
    return std::nullopt;
  SizeSum sum = order.of(OpFoldResult(op->getResult(0)));
  bool isShort = sum.isConstant() ||
                 (sum.terms.size() == 1 && sum.terms.front().second == 1);
  if (isShort)
    return isShortest(op, sum)
               ? std::nullopt
               : std::optional<Decision>({op, std::nullopt, {}, sum});
  if (isa<arith::MinSIOp, arith::MaxSIOp, arith::SelectOp>(op))
    for (Value operand : op->getOperands().take_back(2))
      if (order.of(OpFoldResult(operand)) == sum)
        return Decision{op, std::nullopt, operand, sum};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

static Value makeDim(OpBuilder &builder, Location loc, Value shaped,
                     int64_t d) {
  if (isa<TensorType>(shaped.getType()))
    return tensor::DimOp::create(builder, loc, shaped, d);
  return memref::DimOp::create(builder, loc, shaped, d);
}

/// Makes the result in front of the operation. `replaced` has what took the
/// place of those before it.
static Value makeResult(const Decision &decision,
                        const DenseMap<Value, Value> &replaced) {
  auto inPlaceOf = [&](Value value) {
    for (auto it = replaced.find(value); it != replaced.end();
         it = replaced.find(value))
      value = it->second;
    return value;
  };
  OpBuilder builder(decision.op);
  Location loc = decision.op->getLoc();
  Type type = decision.op->getResult(0).getType();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  };
  if (decision.truth)
    return arith::ConstantIntOp::create(builder, loc, *decision.truth, 1);
  if (decision.operand)
    return inPlaceOf(decision.operand);
  if (decision.sum.isConstant())
    return constant(decision.sum.constant);
  const UnknownSize &size = decision.sum.terms.front().first;
  Value number =
      size.dim < 0 ? size.base : makeDim(builder, loc, size.base, size.dim);
  number =
      getValueOrCreateCastToIndexLike(builder, loc, type, inPlaceOf(number));
  if (decision.sum.constant == 0)
    return number;
  return arith::AddIOp::create(builder, loc, number,
                               constant(decision.sum.constant));
}

namespace {
struct SimplifySizesPass : impl::SimplifySizesBase<SimplifySizesPass> {
  void runOnOperation() override {
    SizeFacts facts;
    SizeOrder order(facts);
    SmallVector<Decision> decisions;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      std::optional<Decision> decision = decide(op, order);
      if (decision)
        decisions.push_back(std::move(*decision));
      else if (isNumber(op) || isa<arith::CmpIOp>(op))
        ++numDeclined;
    });
    DenseMap<Value, Value> replaced;
    for (const Decision &decision : decisions) {
      Value result = decision.op->getResult(0);
      Value made = makeResult(decision, replaced);
      remark(RemarkKind::Applied, result.getLoc(), kPass, "is always the same")
          << arg("op", decision.op->getName().getStringRef());
      result.replaceAllUsesWith(made);
      replaced[result] = made;
      ++numApplied;
    }
    for (const Decision &decision : llvm::reverse(decisions))
      if (decision.op->use_empty())
        decision.op->erase();
  }
};
} // namespace

} // namespace polynest
