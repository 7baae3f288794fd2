// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Aliasing.cpp: which memrefs may share storage.

#include "Analysis/Aliasing.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace polynest {

Value getBaseMemref(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    auto view = dyn_cast<ViewLikeOpInterface>(op);
    if (!view)
      break;
    memref = view.getViewSource();
  }
  return memref;
}

/// An argument of the entry block of a function, or null.
static BlockArgument asFunctionArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return {};
  return argument;
}

static bool isAllocation(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa<memref::AllocOp, memref::AllocaOp>(op);
}

/// An argument that the entry contract promises to overlap nothing else.
static bool isDistinctArgument(BlockArgument argument) {
  auto function =
      cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  return function.getArgAttr(index, "polynest.result") ||
         function.getArgAttr(index, "polynest.arena") ||
         function.getArgAttr(index, "llvm.noalias");
}

bool mayAlias(Value a, Value b) {
  a = getBaseMemref(a);
  b = getBaseMemref(b);
  if (a == b)
    return true;
  BlockArgument argA = asFunctionArgument(a), argB = asFunctionArgument(b);
  if (isAllocation(a) && (isAllocation(b) || argB))
    return false;
  if (isAllocation(b) && argA)
    return false;
  // A global is storage of its own.
  bool globalA = a.getDefiningOp<memref::GetGlobalOp>() != nullptr;
  bool globalB = b.getDefiningOp<memref::GetGlobalOp>() != nullptr;
  if ((globalA && (isAllocation(b) || argB)) ||
      (globalB && (isAllocation(a) || argA)))
    return false;
  if (globalA && globalB)
    return a.getDefiningOp<memref::GetGlobalOp>().getName() ==
           b.getDefiningOp<memref::GetGlobalOp>().getName();
  if (argA && argB)
    return !isDistinctArgument(argA) && !isDistinctArgument(argB);
  return true;
}

} // namespace polynest
