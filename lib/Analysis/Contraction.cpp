// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Contraction.cpp: see the header.

#include "Analysis/Contraction.h"

#include "Analysis/NestParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

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
