// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/NestParts.cpp: see the header.

#include "Analysis/NestParts.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

AffineForOp getOnlyLoop(Block *block) {
  AffineForOp only;
  for (Operation &op : *block)
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      if (only)
        return {};
      only = loop;
    }
  return only;
}

AffineForOp getPerfectChild(AffineForOp loop) {
  auto inner = dyn_cast<AffineForOp>(loop.getBody()->front());
  return inner && inner->getNextNode() == loop.getBody()->getTerminator()
             ? inner
             : AffineForOp();
}

bool isReadOnly(Operation *op) {
  if (isa<AffineLoadOp, memref::LoadOp>(op))
    return true;
  if (isa<AffineIfOp, scf::IfOp>(op))
    return llvm::all_of(op->getRegions(), [](Region &region) {
      return llvm::all_of(region.getOps(), [](Operation &inner) {
        return inner.hasTrait<OpTrait::IsTerminator>() || isReadOnly(&inner);
      });
    });
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

SmallVector<Value> getOutsideValues(Operation *op) {
  llvm::SetVector<Value> values;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        values.insert(operand);
  });
  return values.takeVector();
}

llvm::hash_code hashWith(llvm::hash_code hash, Operation *op) {
  return llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                      op, OperationEquivalence::ignoreHashValue,
                                      OperationEquivalence::ignoreHashValue,
                                      OperationEquivalence::IgnoreLocations));
}

LogicalResult SliceCollector::add(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (!root->isAncestor(owner))
      return success();
    auto loop = dyn_cast<AffineForOp>(owner);
    if (!loop || argument != loop.getInductionVar())
      return failure();
    loops.insert(loop);
    return success();
  }
  Operation *op = value.getDefiningOp();
  if (!root->isAncestor(op) || ops.contains(op))
    return success();
  if (!isReadOnly(op))
    return failure();
  // Also what operations nested in it use from outside of it.
  LogicalResult result = success();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *home = operand.getParentBlock()->getParentOp();
      if (!op->isAncestor(home) && failed(add(operand)))
        result = failure();
    }
  });
  ops.insert(op);
  return result;
}

StringRef reasonOfBounds(AffineForOp loop, AffineForOp root) {
  if (loop.getStepAsInt() <= 0)
    return "a loop has step 0";
  if (loop.getLowerBoundMap().getNumResults() != 1 ||
      loop.getUpperBoundMap().getNumResults() != 1)
    return "a bound is a minimum or maximum";
  auto isInside = [&](Value operand) {
    return root->isAncestor(operand.getParentBlock()->getParentOp());
  };
  if (llvm::any_of(loop.getLowerBoundOperands(), isInside) ||
      llvm::any_of(loop.getUpperBoundOperands(), isInside))
    return "the bounds of a loop depend on another";
  return {};
}

AffineIfOp getGuard(AffineForOp loop, AffineForOp root) {
  auto guard = dyn_cast<AffineIfOp>(loop.getBody()->front());
  if (!guard || guard->getNextNode() != loop.getBody()->getTerminator() ||
      guard.hasElse() || guard.getNumResults() != 0 ||
      llvm::any_of(guard.getOperands(), [&](Value operand) {
        return root->isAncestor(operand.getParentBlock()->getParentOp());
      }))
    return {};
  return guard;
}

} // namespace polynest
