//===- CountWork.cpp - report the floating-point work of a function -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: adds up the floating-point operations of each top-level operation of a
// function, by the trip counts of the loops around them, and reports them as a
// remark. Changes nothing.
// Legal always. Profitable: benchmarks and explanations need the number.
// Limits: an operation in a loop whose trip count is not a constant is reported
// as uncounted; a function of `math` counts as one operation.
// Cost: linear in operations times depth; nothing where nobody listens.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/Remark.h"
#include "mlir/Dialect/Affine/Analysis/LoopAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace polynest {
#define GEN_PASS_DEF_COUNTWORK
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-count-work"

using namespace mlir;

namespace polynest {

/// Floating-point operations of one execution of `op`, 0 for all others.
static double operationsOf(Operation *op) {
  bool counts =
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp>(op);
  bool isFma = isa<math::FmaOp, vector::FMAOp>(op);
  if (!counts && !isFma)
    counts = op->getDialect() && op->getDialect()->getNamespace() ==
                                     math::MathDialect::getDialectNamespace();
  if (!counts && !isFma)
    return 0;
  // Integer operations of math are none.
  Type type = op->getOperand(0).getType();
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return 0;
  auto vector = dyn_cast<VectorType>(type);
  double lanes = vector ? static_cast<double>(vector.getNumElements()) : 1;
  return isFma ? 2 * lanes : lanes;
}

/// Iterations of a loop, 1 for other operations; none where not a constant.
static std::optional<double> tripCountOf(Operation *op) {
  if (auto loop = dyn_cast<affine::AffineForOp>(op)) {
    // The parser lets a step of zero through; such a loop never ends.
    if (loop.getStepAsInt() <= 0)
      return std::nullopt;
    if (auto count = affine::getConstantTripCount(loop))
      return static_cast<double>(*count);
    return std::nullopt;
  }
  if (auto loop = dyn_cast<affine::AffineParallelOp>(op)) {
    auto ranges = loop.getConstantRanges();
    if (!ranges ||
        llvm::any_of(loop.getSteps(), [](int64_t step) { return step <= 0; }))
      return std::nullopt;
    double count = 1;
    for (auto [range, step] : llvm::zip(*ranges, loop.getSteps()))
      count *= static_cast<double>(
          llvm::divideCeil(static_cast<uint64_t>(std::max<int64_t>(range, 0)),
                           static_cast<uint64_t>(step)));
    return count;
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    if (auto count = loop.getStaticTripCount();
        count && count->getBitWidth() <= 64)
      return static_cast<double>(count->getSExtValue());
    return std::nullopt;
  }
  return 1;
}

/// Adds what `op` does when it runs `times` times; `times` none is unknown.
static void countWork(Operation *op, std::optional<double> times, double &flop,
                      int64_t &uncounted) {
  if (double own = operationsOf(op)) {
    if (times)
      flop += own * *times;
    else
      ++uncounted;
  }
  if (op->getNumRegions() == 0)
    return;
  std::optional<double> trips = tripCountOf(op);
  std::optional<double> inside;
  if (times && trips)
    inside = *times * *trips;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      countWork(&inner, inside, flop, uncounted);
}

namespace {
struct CountWorkPass : impl::CountWorkBase<CountWorkPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!remarksWanted(&getContext()))
      return;
    for (Operation &op : getOperation().getOps()) {
      double flop = 0;
      int64_t uncounted = 0;
      countWork(&op, 1, flop, uncounted);
      if (flop == 0 && uncounted == 0) {
        ++numDeclined;
        continue;
      }
      remark(RemarkKind::Analysis, op.getLoc(), "count-work",
             "floating-point operations of one call")
          << arg("flop", llvm::formatv("{0:f0}", flop).str())
          << arg("uncounted", std::to_string(uncounted));
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
