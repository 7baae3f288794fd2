//===- LowerAsserts.cpp - assertions to status returns --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: entries and kernels return a status; a failed assertion returns the
// number of its message, and callers of kernels hand the status on.
// Legal always: an assertion that fails ends the call, and the contract of an
// entry leaves results unspecified then.
// Profitable always: the alternative, abort, would end the user's process.
// Limits: needs flat control flow. Iterations of a kernel's other chunks may
// still run after one has failed.
// Cost: linear in operations; one compare and branch an assertion.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace polynest {
#define GEN_PASS_DEF_LOWERASSERTS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-lower-asserts"

using namespace mlir;

namespace polynest {

static bool hasStatus(func::FuncOp function) {
  return function->hasAttr("polynest.entry") ||
         function->hasAttr("polynest.kernel");
}

static Value statusConstant(OpBuilder &builder, Location loc, int64_t status) {
  return arith::ConstantIntOp::create(builder, loc, status, 32);
}

/// Makes the function return an i32, 0 at every return it has.
static void addStatusResult(func::FuncOp function) {
  Builder builder(function.getContext());
  SmallVector<func::ReturnOp> returns;
  function.walk([&](func::ReturnOp op) { returns.push_back(op); });
  for (func::ReturnOp op : returns) {
    OpBuilder at(op);
    op->setOperands(ValueRange(statusConstant(at, op.getLoc(), 0)));
  }
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           builder.getI32Type()));
}

/// Splits the block at `op` so that it goes on only where `ok` holds; else the
/// function returns what `makeStatus` builds.
static void returnUnless(Operation *op, Value ok,
                         function_ref<Value(OpBuilder &)> makeStatus) {
  Block *head = op->getBlock();
  Block *next = head->splitBlock(op);
  OpBuilder builder(op->getContext());
  Block *fail =
      builder.createBlock(head->getParent(), head->getParent()->end());
  func::ReturnOp::create(builder, op->getLoc(), makeStatus(builder));
  builder.setInsertionPointToEnd(head);
  cf::CondBranchOp::create(builder, op->getLoc(), ok, next, fail);
}

static void lowerAssert(cf::AssertOp op, int64_t status) {
  Location loc = op.getLoc();
  returnUnless(op, op.getArg(), [&](OpBuilder &builder) {
    return statusConstant(builder, loc, status);
  });
  op.erase();
}

/// Replaces a call of a kernel by one that yields a status, and checks it.
static void checkCall(func::CallOp call) {
  OpBuilder builder(call);
  Location loc = call.getLoc();
  auto withStatus =
      func::CallOp::create(builder, loc, call.getCallee(),
                           TypeRange(builder.getI32Type()), call.getOperands());
  withStatus->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  Value status = withStatus.getResult(0);
  Value ok = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   status, statusConstant(builder, loc, 0));
  returnUnless(call, ok, [&](OpBuilder &) { return status; });
  call.erase();
}

namespace {
struct LowerAssertsPass : impl::LowerAssertsBase<LowerAssertsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Attribute> messages;
    llvm::StringMap<int64_t> numbers;
    // A message has one number however often it stands in the program.
    auto numberOf = [&](StringRef message) {
      auto [it, added] = numbers.try_emplace(message, messages.size() + 1);
      if (added)
        messages.push_back(StringAttr::get(&getContext(), message));
      return it->second;
    };
    SymbolTable symbols(module);
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (!hasStatus(function) || function.getNumResults() != 0) {
        ++numDeclined;
        continue;
      }
      addStatusResult(function);
      SmallVector<Operation *> work;
      function.walk([&](Operation *op) {
        if (isa<cf::AssertOp, func::CallOp>(op))
          work.push_back(op);
      });
      for (Operation *op : work) {
        if (!isa<func::FuncOp>(op->getParentOp())) {
          op->emitOpError("must not be nested in structured control flow");
          return signalPassFailure();
        }
        if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
          lowerAssert(assertion, numberOf(assertion.getMsg()));
          ++numApplied;
          continue;
        }
        auto call = cast<func::CallOp>(op);
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (callee && callee->hasAttr("polynest.kernel") &&
            call.getNumResults() == 0)
          checkCall(call);
      }
    }
    module->setAttr("polynest.asserts",
                    ArrayAttr::get(&getContext(), messages));
  }
};
} // namespace

} // namespace polynest
