//===- MarkStage.cpp - record which stage a module is at ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: sets the module attribute `polynest.stage`.
// Legal always. Profitable: a dump can then re-enter the compiler where it
// left. Limits: none. Cost: constant.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/PassOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace polynest {
#define GEN_PASS_DEF_MARKSTAGE
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-mark-stage"

using namespace mlir;

namespace polynest {
namespace {
struct MarkStagePass : impl::MarkStageBase<MarkStagePass> {
  using MarkStageBase::MarkStageBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkChoice(context, "stage", stage, {"s1", "s2", "s3", "s4", "s5"});
  }

  void runOnOperation() override {
    // MLIR then has nothing to verify, either.
    markAllAnalysesPreserved();
    auto mark = StringAttr::get(&getContext(), stage);
    if (getOperation()->getAttr("polynest.stage") == mark) {
      ++numDeclined;
      return;
    }
    getOperation()->setAttr("polynest.stage", mark);
    ++numApplied;
  }
};
} // namespace
} // namespace polynest
