//===- FenceStreams.cpp - order non-temporal stores -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: calls an intrinsic, the target's store fence, before every return of a
// function that has non-temporal stores.
// Legal always: a fence changes no value.
// Profitable always: such stores of x86 are not ordered by the atomics with
// which threads hand over (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 3, "Strengthening or weakening the memory-ordering
// model"), so that without it another thread could read what was there before.
// Limits: a function that hands its stores over by other means than returning
// would need more; none does. Cost: linear in operations.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/PassOptions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace polynest {
#define GEN_PASS_DEF_FENCESTREAMS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-fence-streams"

using namespace mlir;

namespace polynest {

static bool hasStreams(LLVM::LLVMFuncOp function) {
  return function
      .walk([](LLVM::StoreOp store) {
        return store.getNontemporal() ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct FenceStreamsPass : impl::FenceStreamsBase<FenceStreamsPass> {
  using FenceStreamsBase::FenceStreamsBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (intrinsic.empty() || StringRef(intrinsic).starts_with("llvm."))
      return success();
    return refuseOption(context, "intrinsic", intrinsic,
                        "empty or begin with 'llvm.'");
  }

  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    if (intrinsic.empty() || function.isExternal() || !hasStreams(function))
      return;
    function.walk([&](LLVM::ReturnOp op) {
      OpBuilder builder(op);
      LLVM::CallIntrinsicOp::create(
          builder, op.getLoc(), builder.getStringAttr(intrinsic), ValueRange());
    });
    ++numApplied;
  }
};
} // namespace

} // namespace polynest
