// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Contraction.cpp: see the header.

#include "Analysis/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// The only loop of a block, or null.
static AffineForOp getOnlyLoop(Block *block) {
  AffineForOp only;
  for (Operation &op : *block)
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      if (only)
        return {};
      only = loop;
    }
  return only;
}

/// A loop that alone makes up the body of `loop`, or null.
static AffineForOp getPerfectChild(AffineForOp loop) {
  auto inner = dyn_cast<AffineForOp>(loop.getBody()->front());
  return inner && inner->getNextNode() == loop.getBody()->getTerminator()
             ? inner
             : AffineForOp();
}

/// True for operations that may be computed again somewhere else as long as no
/// memory changes in between.
static bool isReadOnly(Operation *op) {
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

namespace {
/// Collects what computes values inside a nest.
class SliceCollector {
public:
  explicit SliceCollector(AffineForOp root) : root(root) {}

  /// Adds what computes `value`; fails where it is not read-only code or
  /// depends on a carried value.
  LogicalResult add(Value value);

  llvm::SetVector<Operation *> ops;
  /// Loops whose induction variables are used.
  llvm::SmallPtrSet<Operation *, 8> loops;

private:
  AffineForOp root;
};
} // namespace

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

/// Splits the sum of the innermost reduction loop in its parts.
static LogicalResult matchSum(AffineForOp loop, Contraction &contraction) {
  Value carried = loop.getRegionIterArgs()[0];
  Value result = loop.getBody()->getTerminator()->getOperand(0);
  Operation *sum = result.getDefiningOp();
  if (!sum || sum->getBlock() != loop.getBody() || !result.hasOneUse() ||
      !carried.hasOneUse() || *carried.user_begin() != sum)
    return failure();
  if (auto fma = dyn_cast<math::FmaOp>(sum)) {
    contraction.left.value = fma.getA();
    contraction.right.value = fma.getB();
    return success(fma.getC() == carried);
  }
  bool subtracts = isa<arith::SubFOp, arith::SubIOp>(sum);
  if (!subtracts && !isa<arith::AddFOp, arith::AddIOp>(sum))
    return failure();
  if (subtracts && sum->getOperand(0) != carried)
    return failure();
  Value addend = sum->getOperand(sum->getOperand(0) == carried ? 1 : 0);
  Operation *product = addend.getDefiningOp();
  if (!product || !isa<arith::MulFOp, arith::MulIOp>(product) ||
      !addend.hasOneUse() || product->getBlock() != loop.getBody())
    return failure();
  contraction.subtracts = subtracts;
  contraction.left.value = product->getOperand(0);
  contraction.right.value = product->getOperand(1);
  return success();
}

/// Collects the band of reduction loops; fails where there is none.
static LogicalResult matchReductionBand(AffineForOp outermost,
                                        Contraction &contraction) {
  AffineForOp loop = outermost;
  while (true) {
    if (loop.getNumIterOperands() != 1)
      return failure();
    contraction.reductionLoops.push_back(loop);
    AffineForOp inner = getOnlyLoop(loop.getBody());
    if (!inner)
      return matchSum(loop, contraction);
    if (inner.getNumIterOperands() != 1 ||
        inner.getInits()[0] != loop.getRegionIterArgs()[0] ||
        loop.getBody()->getTerminator()->getOperand(0) != inner.getResult(0) ||
        !inner.getResult(0).hasOneUse() ||
        !loop.getRegionIterArgs()[0].hasOneUse())
      return failure();
    loop = inner;
  }
}

/// Why the bounds of a loop do not make a rectangle with the others, or empty.
static StringRef reasonOfBounds(AffineForOp loop, AffineForOp root) {
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

/// Collects the slices of both operands and sorts the loops by them.
static StringRef sortLoops(Contraction &contraction) {
  SliceCollector left(contraction.root), right(contraction.root);
  if (failed(left.add(contraction.left.value)) ||
      failed(right.add(contraction.right.value)))
    return "an operand is computed by code that cannot be moved";
  for (AffineForOp loop : contraction.reductionLoops)
    if (!left.loops.contains(loop) || !right.loops.contains(loop))
      return "a reduction loop does not move both operands";
  for (AffineForOp loop : contraction.parallelLoops) {
    bool movesLeft = left.loops.contains(loop);
    bool movesRight = right.loops.contains(loop);
    (movesLeft == movesRight ? contraction.batchLoops
     : movesLeft             ? contraction.left.loops
                             : contraction.right.loops)
        .push_back(loop);
  }
  contraction.left.slice = left.ops.takeVector();
  contraction.right.slice = right.ops.takeVector();
  return {};
}

/// Looks at the code around the sum.
static StringRef collectAround(Contraction &contraction) {
  Operation *sum = contraction.reductionLoops.front();
  SliceCollector init(contraction.root);
  if (failed(init.add(contraction.init)))
    return "the initial value is computed by code that cannot be moved";
  contraction.initSlice = init.ops.takeVector();
  SliceCollector before(contraction.root);
  for (Operation &op : *contraction.getBody()) {
    if (&op == sum)
      continue;
    if (op.isBeforeInBlock(sum)) {
      if (!isReadOnly(&op))
        return "code before the sum has effects";
      continue;
    }
    if (op.getNumRegions() != 0 && !isReadOnly(&op))
      return "code behind the sum holds regions";
    if (op.getNumRegions() == 0 && !isReadOnly(&op) &&
        !isa<AffineStoreOp, memref::StoreOp>(op) &&
        !op.hasTrait<OpTrait::IsTerminator>())
      return "code behind the sum has effects other than stores";
    // What it uses of the code before the sum is computed again.
    WalkResult result = op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && def->getBlock() == contraction.getBody() && def != sum &&
            def->isBeforeInBlock(sum) && failed(before.add(operand)))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return "code behind the sum uses code that cannot be moved";
  }
  contraction.epilogueSlice = before.ops.takeVector();
  return {};
}

/// The condition that alone makes up the body of `loop`, has one branch and
/// does not change inside `root`; or null.
static AffineIfOp getGuard(AffineForOp loop, AffineForOp root) {
  auto guard = dyn_cast<AffineIfOp>(loop.getBody()->front());
  if (!guard || guard->getNextNode() != loop.getBody()->getTerminator() ||
      guard.hasElse() || guard.getNumResults() != 0 ||
      llvm::any_of(guard.getOperands(), [&](Value operand) {
        return root->isAncestor(operand.getParentBlock()->getParentOp());
      }))
    return {};
  return guard;
}

FailureOr<Contraction> matchContraction(AffineForOp root, std::string &reason) {
  reason.clear();
  Contraction contraction;
  contraction.root = root;
  AffineForOp loop = root;
  while (true) {
    if (loop.getNumIterOperands() != 0)
      return failure();
    contraction.parallelLoops.push_back(loop);
    AffineForOp inner = getPerfectChild(loop);
    if (!inner || inner.getNumIterOperands() != 0)
      break;
    loop = inner;
  }
  contraction.guard = getGuard(loop, root);
  contraction.body =
      contraction.guard ? contraction.guard.getThenBlock() : loop.getBody();
  AffineForOp outermost = getOnlyLoop(contraction.body);
  if (!outermost || failed(matchReductionBand(outermost, contraction)))
    return failure();
  contraction.init = outermost.getInits()[0];
  StringRef why;
  for (AffineForOp part : contraction.parallelLoops)
    if (why.empty())
      why = reasonOfBounds(part, root);
  for (AffineForOp part : contraction.reductionLoops)
    if (why.empty())
      why = reasonOfBounds(part, root);
  if (why.empty())
    why = sortLoops(contraction);
  if (why.empty())
    why = collectAround(contraction);
  if (why.empty())
    return contraction;
  reason = why.str();
  return failure();
}

} // namespace polynest
