//===- UnshareNests.cpp - put shared nests back ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: replaces each call of a function that polynest-share-nests made by what
// the function then holds, with the call's buffers for the arguments, and
// removes the functions. Constants become those that the caller begins with.
// Legal always: the function is what the call does. Profitable: what follows
// plans and describes a function by all of its nests.
// Limits: functions of one block, which they are made of.
// Cost: linear in the operations that there are then.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_UNSHARENESTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-unshare-nests"

using namespace mlir;

namespace polynest {

namespace {
/// The constants at the start of a function, each once.
class FirstConstants {
public:
  explicit FirstConstants(func::FuncOp function)
      : start(&function.getBody().front()) {
    for (Operation &op : *start) {
      auto constant = dyn_cast<arith::ConstantOp>(op);
      if (!constant)
        break;
      known.try_emplace(constant.getValue(), constant);
    }
  }

  /// The constant's equal at the start, which is made if there is none.
  Value equalOf(arith::ConstantOp constant) {
    arith::ConstantOp &found = known[constant.getValue()];
    if (!found)
      found = cast<arith::ConstantOp>(
          OpBuilder::atBlockBegin(start).clone(*constant.getOperation()));
    return found;
  }

private:
  Block *start;
  DenseMap<Attribute, arith::ConstantOp> known;
};

struct UnshareNestsPass : impl::UnshareNestsBase<UnshareNestsPass> {
  void runOnOperation() override {
    llvm::StringMap<func::FuncOp> shared;
    SmallVector<func::FuncOp> callers;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(kShared) && isShared(function))
        shared[function.getName()] = function;
      else if (!function.isExternal())
        callers.push_back(function);
    }
    if (shared.empty())
      return;
    for (func::FuncOp function : callers)
      replaceCalls(function, shared);
    for (auto &entry : shared)
      entry.second.erase();
  }

  /// True if the function is of the form that polynest-share-nests makes.
  static bool isShared(func::FuncOp function) {
    return function.isPrivate() && !function.isExternal() &&
           function.getBody().hasOneBlock() && function.getNumResults() == 0 &&
           function.getBody().getOps<func::CallOp>().empty();
  }

  void replaceCalls(func::FuncOp function,
                    const llvm::StringMap<func::FuncOp> &shared) {
    FirstConstants constants(function);
    SmallVector<func::CallOp> calls;
    function.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls)
      if (func::FuncOp callee = shared.lookup(call.getCallee())) {
        replaceCall(call, callee, constants);
        ++numApplied;
      }
  }

  static void replaceCall(func::CallOp call, func::FuncOp callee,
                          FirstConstants &constants) {
    IRMapping map;
    map.map(callee.getArguments(), call.getOperands());
    OpBuilder builder(call);
    for (Operation &op : callee.getBody().front().without_terminator()) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        map.map(constant.getResult(), constants.equalOf(constant));
      else
        builder.clone(op, map);
    }
    call.erase();
  }
};
} // namespace

} // namespace polynest
