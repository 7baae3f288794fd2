//===- HoistAllocas.cpp - private buffers to the start of their function --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: moves memref.alloca of static size out of loops and branches to the
// start of the function; in kernels also memref.alloc whose sizes are constant
// or arguments: once for its range of iterations.
// Legal when: nothing but accesses and views in the same region name the
// buffer, so that it does not outlive an iteration; what an iteration reads, it
// has written. Loops run one iteration at a time: those that do not are kernels
// already, each call with a frame of its own.
// Profitable always: the stack pointer moved in a loop comes back only when the
// function returns, and rows enough overflow the stack; a buffer in the entry
// block is a fixed place of the frame. What is allocated in a loop would live
// as long as the call: once for each iteration.
// Limits: buffers inside memref.alloca_scope stay. Cost: linear in uses.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Support/Remark.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace polynest {
#define GEN_PASS_DEF_HOISTALLOCAS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-hoist-allocas"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "hoist-allocas";

/// True if some operation may hand the buffer to later iterations.
static bool mayEscape(Value buffer) {
  SmallVector<Value, 4> names{buffer};
  while (!names.empty())
    for (OpOperand &use : names.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user->hasTrait<OpTrait::IsTerminator>())
        return true;
      if (isa<ViewLikeOpInterface>(user)) {
        llvm::append_range(names, user->getResults());
        continue;
      }
      // A result could be the buffer again, as that of a select.
      if (llvm::any_of(user->getResultTypes(), llvm::IsaPred<BaseMemRefType>))
        return true;
      // A memref of memrefs would hold it.
      if (isa<memref::StoreOp>(user) && use.getOperandNumber() == 0)
        return true;
    }
  return false;
}

namespace {
struct HoistAllocasPass : impl::HoistAllocasBase<HoistAllocasPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    hoistAllocations(function);
    Block *entry = &function.getBody().front();
    SmallVector<memref::AllocaOp> allocas;
    function.walk([&](memref::AllocaOp alloca) {
      if (alloca->getBlock() == entry)
        return;
      auto scope = alloca->getParentOfType<memref::AllocaScopeOp>();
      if (!scope && alloca->getNumOperands() == 0 &&
          !mayEscape(alloca.getResult())) {
        allocas.push_back(alloca);
        return;
      }
      ++numDeclined;
      remark(RemarkKind::Declined, alloca.getLoc(), kPass,
             "the size is dynamic or the buffer may outlive an iteration");
    });
    for (memref::AllocaOp alloca : llvm::reverse(allocas))
      alloca->moveBefore(entry, entry->begin());
    numApplied += allocas.size();
    if (!allocas.empty())
      remark(RemarkKind::Applied, function.getLoc(), kPass,
             "stack buffers moved to the start of the function")
          << arg("buffers", int64_t(allocas.size()));
  }

  /// Allocations of a kernel; sizes that are not constant are its arguments.
  void hoistAllocations(func::FuncOp function) {
    if (!function->hasAttr("polynest.kernel") ||
        !function.getBody().hasOneBlock())
      return;
    Block *entry = &function.getBody().front();
    auto isArgument = [&](Value size) {
      auto argument = dyn_cast<BlockArgument>(size);
      return argument && argument.getOwner() == entry;
    };
    SmallVector<memref::AllocOp> allocs;
    function.walk([&](memref::AllocOp alloc) {
      if (alloc->getBlock() != entry &&
          llvm::all_of(alloc->getOperands(), isArgument) &&
          !mayEscape(alloc.getResult()))
        allocs.push_back(alloc);
    });
    for (memref::AllocOp alloc : llvm::reverse(allocs))
      alloc->moveBefore(entry, entry->begin());
    numApplied += allocs.size();
  }
};
} // namespace

} // namespace polynest
