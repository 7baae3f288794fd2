//===- WeighBranches.cpp - how often loops run, told to LLVM --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives the branch at the head of a loop that counts from a constant in
// constant steps to a constant, or to the least of several values of which one
// is constant, the weights of its trips and of leaving it once.
// Legal always: weights change no value.
// Profitable: without them LLVM takes each loop for some thirty trips, so that
// a short loop behind a kernel counts for more than the kernel's own if it is
// nested deeper: constants of the one stay in registers, and sums of the other
// are spilled in each iteration. Limits: other loops keep LLVM's guess; the
// least of several values is taken for its constant. Cost: linear in blocks.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace polynest {
#define GEN_PASS_DEF_WEIGHBRANCHES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-weigh-branches"

using namespace mlir;

namespace polynest {

/// The constant, or the smallest one of those whose least the value is.
static std::optional<int64_t> getLargest(Value value) {
  auto least = value.getDefiningOp<arith::MinSIOp>();
  if (!least)
    return getConstantIntValue(value);
  std::optional<int64_t> a = getLargest(least.getLhs());
  std::optional<int64_t> b = getLargest(least.getRhs());
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// What the branch of a predecessor hands to an argument of its successor.
static Value getHandedOn(Block *from, Block *to, unsigned argument) {
  auto branch = dyn_cast<cf::BranchOp>(from->getTerminator());
  if (!branch || branch.getDest() != to)
    return {};
  return branch.getDestOperands()[argument];
}

/// How often the loop runs whose head ends in the branch.
static std::optional<int64_t> countTrips(cf::CondBranchOp branch) {
  Block *head = branch->getBlock();
  auto test = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!test || test.getPredicate() != arith::CmpIPredicate::slt)
    return std::nullopt;
  auto index = dyn_cast<BlockArgument>(test.getLhs());
  std::optional<int64_t> end = getLargest(test.getRhs());
  if (!index || index.getOwner() != head || !end)
    return std::nullopt;
  std::optional<int64_t> begin, step;
  for (Block *from : head->getPredecessors()) {
    Value value = getHandedOn(from, head, index.getArgNumber());
    if (!value)
      return std::nullopt;
    auto next = value.getDefiningOp<arith::AddIOp>();
    if (next && next.getLhs() == index)
      step = getConstantIntValue(next.getRhs());
    else
      begin = getConstantIntValue(value);
  }
  if (!begin || !step || *step <= 0 || *end <= *begin)
    return std::nullopt;
  return llvm::divideCeilSigned(*end - *begin, *step);
}

namespace {
struct WeighBranchesPass : impl::WeighBranchesBase<WeighBranchesPass> {
  void runOnOperation() override {
    getOperation().walk([&](cf::CondBranchOp branch) {
      std::optional<int64_t> trips = countTrips(branch);
      if (!trips || branch.getBranchWeights())
        return;
      auto weight = int32_t(std::min<int64_t>(*trips, INT32_MAX));
      branch.setBranchWeights(ArrayRef<int32_t>{weight, 1});
      ++numApplied;
    });
  }
};
} // namespace

} // namespace polynest
