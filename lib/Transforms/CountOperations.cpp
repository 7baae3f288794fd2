//===- CountOperations.cpp - report the arithmetic of a call --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: adds up the floating-point instructions of one call of each entry, by
// the lanes of 32 bits that they fill, and reports them as a remark: an FMA is
// one, a function is what it has become. Changes nothing.
// Legal always. Profitable: what arithmetic alone would take is one of the
// limits that a measured time is compared with.
// Limits: kernels whose range is constant; what runs in a loop whose trip count
// is not known is reported as uncounted.
// Cost: linear in operations times depth; nothing where nobody listens.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/Remark.h"
#include "Transforms/WorkCount.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseMap.h"

namespace polynest {
#define GEN_PASS_DEF_COUNTOPERATIONS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-count-operations"

using namespace mlir;

namespace polynest {

/// The lanes of 32 bits that one floating-point instruction fills.
static double countLanes(Operation *op) {
  double work = countOwnWork(op);
  if (work == 0)
    return 0;
  if (isa<math::FmaOp, vector::FMAOp>(op))
    work /= 2;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  return work * std::max(1.0, element.getIntOrFloatBitWidth() / 32.0);
}

/// Of a call of a kernel, for the range that it names.
static WorkCount countCall(func::CallOp call, func::FuncOp kernel) {
  llvm::DenseMap<Value, int64_t> values;
  for (auto [argument, operand] :
       llvm::zip_equal(kernel.getArguments(), call.getOperands()))
    if (std::optional<int64_t> value = getConstantIntValue(operand))
      values[argument] = *value;
  return countWork(kernel, countLanes, std::move(values));
}

/// Of one call of an entry, with the kernels that it calls.
static WorkCount countEntry(func::FuncOp entry,
                            SymbolTableCollection &symbols) {
  llvm::DenseMap<Operation *, WorkCount> kernels;
  WorkCount sum = countWork(entry, [&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    auto kernel = call ? symbols.lookupNearestSymbolFrom<func::FuncOp>(
                             call, call.getCalleeAttr())
                       : func::FuncOp();
    if (!kernel)
      return countLanes(op);
    auto [it, isNew] = kernels.try_emplace(op);
    if (isNew)
      it->second = countCall(call, kernel);
    return it->second.flop;
  });
  for (const auto &[call, work] : kernels)
    sum.uncounted += work.uncounted;
  return sum;
}

namespace {
struct CountOperationsPass : impl::CountOperationsBase<CountOperationsPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!remarksWanted(&getContext()))
      return;
    SymbolTableCollection symbols;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal() || !function->hasAttr("polynest.entry") ||
          function->hasAttr("polynest.init")) {
        ++numDeclined;
        continue;
      }
      WorkCount work = countEntry(function, symbols);
      remark(RemarkKind::Analysis, function.getLoc(), "count-operations",
             "floating-point instructions of one call")
          << arg("entry", function.getName())
          << arg("lanes", llvm::formatv("{0:f0}", work.flop).str())
          << arg("uncounted", std::to_string(work.uncounted));
      ++numApplied;
    }
  }
};
} // namespace

} // namespace polynest
