// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/JamLoops.cpp: see the header.

#include "Transforms/JamLoops.h"

#include "Analysis/Access.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

AffineForOp outermostCarrier(AffineForOp inner) {
  AffineForOp loop = inner;
  while (auto parent = dyn_cast<AffineForOp>(loop->getParentOp())) {
    if (parent.getNumIterOperands() != loop.getNumIterOperands() ||
        parent.getNumIterOperands() == 0)
      break;
    loop = parent;
  }
  return loop;
}

/// True if a loop inside `loop` has bounds that may move with it: they use its
/// induction variable, or a value that an operation inside computes.
static bool hasDependentBounds(AffineForOp loop) {
  auto moves = [&](Value operand) {
    if (operand == loop.getInductionVar())
      return true;
    Operation *def = operand.getDefiningOp();
    return def && loop->isAncestor(def);
  };
  return loop.getBody()
      ->walk([&](AffineForOp inner) {
        return llvm::any_of(inner.getLowerBoundOperands(), moves) ||
                       llvm::any_of(inner.getUpperBoundOperands(), moves)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

std::string whyNotJammed(AffineForOp loop) {
  if (loop.getNumIterOperands() != 0)
    return "the loop carries values";
  if (!loop.hasConstantLowerBound() ||
      loop.getUpperBoundMap().getNumResults() != 1)
    return "the loop's bounds are not simple";
  if (hasDependentBounds(loop))
    return "a loop inside has bounds that depend on it";
  return {};
}

static void jamBlock(Block *from, OpBuilder &builder,
                     MutableArrayRef<IRMapping> maps);

/// One loop in place of as many as there are maps, carrying all their values.
static void jamLoop(AffineForOp loop, OpBuilder &builder,
                    MutableArrayRef<IRMapping> maps) {
  SmallVector<Value> inits;
  for (IRMapping &map : maps)
    llvm::append_range(inits, lookUp(map, loop.getInits()));
  AffineForOp jammed =
      copyLoop(builder, loop.getLoc(), loop, maps[0], inits, leaveEmpty);
  jammed->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
  unsigned count = loop.getNumIterOperands();
  for (auto [u, map] : llvm::enumerate(maps)) {
    map.map(loop.getInductionVar(), jammed.getInductionVar());
    for (unsigned i = 0; i < count; ++i) {
      map.map(loop.getRegionIterArgs()[i],
              jammed.getRegionIterArgs()[u * count + i]);
      map.map(loop.getResult(i), jammed.getResult(u * count + i));
    }
  }
  OpBuilder inside = OpBuilder::atBlockEnd(jammed.getBody());
  jamBlock(loop.getBody(), inside, maps);
  SmallVector<Value> yields;
  for (IRMapping &map : maps)
    llvm::append_range(
        yields, lookUp(map, loop.getBody()->getTerminator()->getOperands()));
  AffineYieldOp::create(inside, loop.getLoc(), yields);
}

/// Copies the block's operations once for each map, loops jammed.
static void jamBlock(Block *from, OpBuilder &builder,
                     MutableArrayRef<IRMapping> maps) {
  for (Operation &op : from->without_terminator()) {
    if (auto loop = dyn_cast<AffineForOp>(op)) {
      jamLoop(loop, builder, maps);
      continue;
    }
    for (IRMapping &map : maps)
      builder.clone(op, map);
  }
}

/// Upper bound of the part of `loop` that full tiles cover.
static AffineMap coveredUpperBound(AffineForOp loop, int64_t factor) {
  int64_t lower = loop.getConstantLowerBound();
  int64_t tile = loop.getStepAsInt() * factor;
  AffineMap upper = loop.getUpperBoundMap();
  AffineExpr span = upper.getResult(0) - lower;
  // Iterations start below the upper bound, so that whole tiles are those of
  // ceil(span / step) / factor; for step 1 that is span / factor.
  AffineExpr trips = span.ceilDiv(loop.getStepAsInt());
  AffineExpr covered = trips.floorDiv(factor) * tile + lower;
  return simplifyAffineMap(AffineMap::get(
      upper.getNumDims(), upper.getNumSymbols(), covered, loop.getContext()));
}

std::pair<AffineForOp, AffineForOp> unrollAndJam(AffineForOp loop,
                                                 int64_t factor) {
  OpBuilder builder(loop);
  AffineMap covered = coveredUpperBound(loop, factor);
  std::optional<uint64_t> trip = getTripCount(loop);
  bool hasRest = !trip || *trip % static_cast<uint64_t>(factor) != 0;
  int64_t step = loop.getStepAsInt();
  auto tiled = AffineForOp::create(
      builder, loop.getLoc(), ValueRange(),
      builder.getConstantAffineMap(loop.getConstantLowerBound()),
      loop.getUpperBoundOperands(), covered, step * factor);
  tiled->setDiscardableAttrs(llvm::to_vector(loop->getDiscardableAttrs()));
  tiled->setAttr(kTiled, builder.getUnitAttr());
  OpBuilder inside = OpBuilder::atBlockTerminator(tiled.getBody());
  SmallVector<IRMapping> maps(factor);
  for (auto [u, map] : llvm::enumerate(maps)) {
    Value iv = tiled.getInductionVar();
    if (u > 0)
      iv = AffineApplyOp::create(
          inside, loop.getLoc(),
          AffineMap::get(1, 0,
                         builder.getAffineDimExpr(0) +
                             static_cast<int64_t>(u) * step),
          iv);
    map.map(loop.getInductionVar(), iv);
  }
  jamBlock(loop.getBody(), inside, maps);
  if (!hasRest) {
    loop.erase();
    return {tiled, AffineForOp()};
  }
  // The lower bound of the rest is where full tiles end. Its operands are
  // copied: setting them moves the storage that the loop's own range points to.
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  loop.setLowerBound(operands, getRestBegin(loop, covered));
  loop->setAttr(kTiled, builder.getUnitAttr());
  // A single iteration needs no loop; the loops inside take over the mark.
  if (trip && *trip % static_cast<uint64_t>(factor) == 1) {
    for (auto inner : loop.getBody()->getOps<AffineForOp>())
      inner->setAttr(kTiled, builder.getUnitAttr());
    (void)promoteIfSingleIteration(loop);
    return {tiled, AffineForOp()};
  }
  return {tiled, loop};
}

} // namespace polynest
