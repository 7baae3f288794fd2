//===- CoalesceLoops.cpp - one loop in the place of two -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: two loops, one right inside of the other, that go over a block of
// memory in order, such as the rows and columns of an image with channels
// first, become one loop. Accesses whose dimensions they move one each go
// through a view that joins the two (`memref.collapse_shape`).
// Legal when: both run from 0 by steps of 1, the inner one as often for each
// iteration of the outer one; values that are carried pass through both; in
// each place that either moves, the outer one moves as far as all iterations of
// the inner one. Iterations keep their order. Profitable when: the inner loop
// is short: 7 iterations fill half a vector, 14 most of one, and each end of a
// loop costs as much as some vectors. Limits: constant numbers of iterations;
// loops whose variables nothing but affine loads and stores uses. Cost: linear
// in the accesses of the nest, times its depth.
//===----------------------------------------------------------------------===//

#include "Transforms/CoalesceLoops.h"
#include "Transforms/Passes.h"

#include "Analysis/Sizes.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace polynest {
#define GEN_PASS_DEF_COALESCELOOPS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-coalesce-loops"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "coalesce-loops";

/// Loops of more iterations are long enough.
static constexpr int64_t mostTrips = 512;

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

namespace {
/// A load or store that the two loops move: in dimension `dim` by the outer one
/// and in the next by the inner one, or by both in the dimensions themselves.
struct Move {
  Operation *op;
  std::optional<unsigned> dim;
};
} // namespace

/// How often a loop from 0 by steps of 1 runs, where that is a constant or a
/// value of the function's own block; else null.
static OpFoldResult getPlainBound(AffineForOp loop) {
  if (!countsFromZero(loop))
    return {};
  if (loop.hasConstantUpperBound())
    return Builder(loop.getContext())
        .getIndexAttr(std::max<int64_t>(loop.getConstantUpperBound(), 0));
  AffineMap map = loop.getUpperBoundMap();
  ValueRange operands = loop.getUpperBoundOperands();
  if (map.getNumResults() != 1 || operands.size() != 1 ||
      !isa<AffineDimExpr, AffineSymbolExpr>(map.getResult(0)) ||
      !isa<func::FuncOp>(operands[0].getParentBlock()->getParentOp()))
    return {};
  return operands[0];
}

AffineForOp getOnlyLoop(AffineForOp outer) {
  Block *body = outer.getBody();
  auto inner = dyn_cast<AffineForOp>(body->front());
  if (!inner || inner->getNextNode() != body->getTerminator() ||
      !llvm::equal(inner.getInits(), outer.getRegionIterArgs()) ||
      !llvm::equal(body->getTerminator()->getOperands(), inner.getResults()) ||
      llvm::any_of(outer.getRegionIterArgs(),
                   [](Value carried) { return !carried.hasOneUse(); }))
    return {};
  return inner;
}

/// The index with another expression in the place of each operand's.
static AffineExpr
substitute(AffineExpr index, AffineMap map, ArrayRef<Value> operands,
           function_ref<AffineExpr(Value operand, AffineExpr expr)> with) {
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(operands))
    if (i < map.getNumDims())
      dims.push_back(
          with(operand, getAffineDimExpr(unsigned(i), map.getContext())));
    else
      symbols.push_back(
          with(operand, getAffineSymbolExpr(unsigned(i) - map.getNumDims(),
                                            map.getContext())));
  return index.replaceDimsAndSymbols(dims, symbols);
}

/// By how much an index moves with the operand in each step; none if that
/// changes.
static std::optional<int64_t> getStep(AffineMap map, unsigned result,
                                      ArrayRef<Value> operands, Value iv) {
  AffineExpr from = map.getResult(result);
  AffineExpr to =
      substitute(from, map, operands, [&](Value operand, AffineExpr expr) {
        return operand == iv ? expr + 1 : expr;
      });
  auto step = dyn_cast<AffineConstantExpr>(
      simplifyAffineExpr(to - from, map.getNumDims(), map.getNumSymbols()));
  return step ? std::optional(step.getValue()) : std::nullopt;
}

/// True if the operand alone is the index.
static bool isVariable(AffineMap map, unsigned result, ArrayRef<Value> operands,
                       Value iv) {
  AffineExpr expr = map.getResult(result);
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()] == iv;
  auto symbol = dyn_cast<AffineSymbolExpr>(expr);
  return symbol && operands[map.getNumDims() + symbol.getPosition()] == iv;
}

/// How the two loops move an access; none if one loop could not do the same.
static std::optional<Move> matchMove(Operation *op, AffineForOp outer,
                                     AffineForOp inner, SizeFacts &facts) {
  Value row = outer.getInductionVar(), next = inner.getInductionVar();
  Value memref = getMemRef(op);
  auto [map, operands] = getPlace(op);
  // The variable itself may be stored, too.
  for (Value iv : {row, next})
    if (llvm::count(op->getOperands(), iv) != llvm::count(operands, iv))
      return std::nullopt;
  OpFoldResult bound = getPlainBound(inner);
  std::optional<int64_t> trips = getConstantIntValue(bound);
  Move move{op, std::nullopt};
  for (unsigned d = 0; d < map.getNumResults(); ++d) {
    std::optional<int64_t> byRow = getStep(map, d, operands, row);
    std::optional<int64_t> byNext = getStep(map, d, operands, next);
    int64_t all;
    if (!byRow || !byNext)
      return std::nullopt;
    if (trips && !llvm::MulOverflow(*byNext, *trips, all) && *byRow == all)
      continue;
    if (!trips && *byRow == 0 && *byNext == 0)
      continue;
    unsigned last = d + 1;
    if (*byRow != 1 || *byNext != 0 || move.dim ||
        last == map.getNumResults() || !isVariable(map, last, operands, next) ||
        !(trips || isVariable(map, d, operands, row)) ||
        !cast<MemRefType>(memref.getType()).getLayout().isIdentity() ||
        outer->isAncestor(memref.getParentBlock()->getParentOp()) ||
        !(facts.of(memref, last) == facts.of(bound)))
      return std::nullopt;
    move.dim = d++;
  }
  return move;
}

/// Finds all that the two loops move; false if one loop over all their
/// iterations could not do the same.
static bool collectMoves(AffineForOp outer, AffineForOp inner, SizeFacts &facts,
                         SmallVectorImpl<Move> &moves) {
  OpFoldResult rows = getPlainBound(outer), bound = getPlainBound(inner);
  if (!rows || !bound)
    return false;
  std::optional<int64_t> a = getConstantIntValue(rows);
  std::optional<int64_t> b = getConstantIntValue(bound);
  int64_t all;
  if (a && b && (llvm::MulOverflow(*a, *b, all) || all > INT32_MAX))
    return false;
  llvm::SetVector<Operation *> users;
  for (AffineForOp loop : {outer, inner})
    users.insert(loop.getInductionVar().user_begin(),
                 loop.getInductionVar().user_end());
  for (Operation *user : users) {
    if (!isa<AffineLoadOp, AffineStoreOp>(user))
      return false;
    std::optional<Move> move = matchMove(user, outer, inner, facts);
    if (!move)
      return false;
    moves.push_back(*move);
  }
  return !moves.empty();
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// The view at `op` that joins the dimension with the next, made once for all.
static Value getJoined(OpBuilder &builder, Operation *op, Value memref,
                       unsigned dim) {
  size_t rank = size_t(cast<MemRefType>(memref.getType()).getRank());
  Block *home = memref.getParentBlock();
  for (Operation *user : memref.getUsers()) {
    auto view = dyn_cast<memref::CollapseShapeOp>(user);
    if (!view || view->getBlock() != home ||
        !view->isBeforeInBlock(home->findAncestorOpInBlock(*op)))
      continue;
    auto groups = view.getReassociationIndices();
    if (groups.size() == rank - 1 && groups[dim].size() == 2)
      return view;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(memref);
  return joinDimensions(builder, memref.getLoc(), memref, dim, 2);
}

/// A bound as a value of the function's own block.
static Value getBound(OpBuilder &builder, AffineForOp loop) {
  return getValueOrCreateConstantIndexOp(builder, loop.getLoc(),
                                         getPlainBound(loop));
}

static AffineForOp createJoint(OpBuilder &builder, AffineForOp outer,
                               AffineForOp inner) {
  Location loc = outer.getLoc();
  std::optional<int64_t> a = getConstantIntValue(getPlainBound(outer));
  std::optional<int64_t> b = getConstantIntValue(getPlainBound(inner));
  if (a && b)
    return AffineForOp::create(builder, loc, 0, *a * *b, 1, outer.getInits());
  Operation *top = outer;
  while (!isa<func::FuncOp>(top->getParentOp()))
    top = top->getParentOp();
  OpBuilder above(top);
  Value count = arith::MulIOp::create(above, loc, getBound(above, outer),
                                      getBound(above, inner));
  return AffineForOp::create(
      builder, loc, ValueRange(), builder.getConstantAffineMap(0),
      ValueRange(count), AffineMap::get(0, 1, builder.getAffineSymbolExpr(0)),
      1, outer.getInits());
}

/// Has the access follow the variable of the joint loop.
static void follow(OpBuilder &builder, const Move &move, Value row, Value next,
                   Value joint, std::optional<int64_t> trips) {
  auto [map, operands] = getPlace(move.op);
  Value memref = getMemRef(move.op);
  SmallVector<AffineExpr> results(map.getResults());
  for (auto [d, index] : llvm::enumerate(results)) {
    // Of what both move steps of the inner loop alone count.
    AffineExpr added =
        substitute(index, map, operands, [&](Value operand, AffineExpr expr) {
          return operand == row ? builder.getAffineConstantExpr(0) : expr;
        });
    if (move.dim != d)
      index = added;
    else if (trips) // The row and what is added to it, in elements.
      index = simplifyAffineExpr(index - added + added * *trips,
                                 map.getNumDims(), map.getNumSymbols());
  }
  if (move.dim) {
    results.erase(results.begin() + *move.dim + 1);
    memref = getJoined(builder, move.op, memref, *move.dim);
  }
  llvm::replace(operands, row, joint);
  llvm::replace(operands, next, joint);
  movePlace(move.op, memref,
            AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                           map.getContext()),
            operands);
}

AffineForOp coalesceLoops(AffineForOp outer, SizeFacts &facts) {
  AffineForOp inner = getOnlyLoop(outer);
  SmallVector<Move> moves;
  if (!inner || !collectMoves(outer, inner, facts, moves))
    return {};
  OpBuilder builder(outer);
  AffineForOp joint = createJoint(builder, outer, inner);
  joint->setDiscardableAttrs(outer->getDiscardableAttrDictionary());
  std::optional<int64_t> trips = getConstantIntValue(getPlainBound(inner));
  for (const Move &move : moves)
    follow(builder, move, outer.getInductionVar(), inner.getInductionVar(),
           joint.getInductionVar(), trips);
  Block *from = inner.getBody(), *to = joint.getBody();
  Operation *yield = from->getTerminator();
  to->getOperations().splice(to->begin(), from->getOperations(), from->begin(),
                             Block::iterator(yield));
  if (joint.getNumIterOperands() != 0) {
    builder.setInsertionPointToEnd(to);
    AffineYieldOp::create(builder, yield->getLoc(), yield->getOperands());
  }
  for (auto [carried, ours] :
       llvm::zip_equal(inner.getRegionIterArgs(), joint.getRegionIterArgs()))
    carried.replaceAllUsesWith(ours);
  outer.replaceAllUsesWith(joint.getResults());
  outer.erase();
  return joint;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// A buffer that nothing but one view of it uses is made as what it is seen as.
static void reshapeBuffers(func::FuncOp function) {
  SmallVector<memref::CollapseShapeOp> views;
  function.walk([&](memref::CollapseShapeOp view) {
    if (isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(
            view.getSrc().getDefiningOp()) &&
        view.getSrc().hasOneUse() && view.getType().hasStaticShape())
      views.push_back(view);
  });
  for (memref::CollapseShapeOp view : views) {
    Operation *alloc = view.getSrc().getDefiningOp();
    alloc->getResult(0).setType(view.getType());
    view.replaceAllUsesWith(alloc->getResult(0));
    view.erase();
  }
}

/// True for loops that stay as they are: done, or with a meaning of their own.
static bool isFixed(AffineForOp loop) {
  return llvm::any_of(
      ArrayRef<StringRef>{kVectorized, kTiled, kStreamed, kIdleTail, kManyRows},
      [&](StringRef name) { return loop->hasAttr(name); });
}

namespace {
struct CoalesceLoopsPass : impl::CoalesceLoopsBase<CoalesceLoopsPass> {
  using CoalesceLoopsBase::CoalesceLoopsBase;

  void runOnOperation() override {
    SmallVector<AffineForOp> loops;
    // Inner ones first, but none of what is done.
    getOperation().walk([&](AffineForOp loop) {
      for (Operation *op = loop; op; op = op->getParentOp())
        if (auto around = dyn_cast<AffineForOp>(op); around && isFixed(around))
          return;
      loops.push_back(loop);
    });
    SizeFacts facts;
    bool changed = false;
    for (AffineForOp outer : loops) {
      AffineForOp inner = getOnlyLoop(outer);
      if (!inner || isFixed(inner))
        continue;
      std::optional<uint64_t> trips = getTripCount(inner);
      if (!trips || !getTripCount(outer) || *trips == 0 ||
          *trips >= uint64_t(mostTrips))
        continue;
      Location loc = outer.getLoc();
      AffineForOp joint = coalesceLoops(outer, facts);
      if (!joint) {
        ++numDeclined;
        remark(RemarkKind::Declined, loc, passName,
               "something moves otherwise than in order");
        continue;
      }
      remark(RemarkKind::Applied, loc, passName, "two loops made one")
          << arg("inner", *trips)
          << arg("trips", getTripCount(joint).value_or(0));
      ++numApplied;
      changed = true;
    }
    if (changed)
      reshapeBuffers(getOperation());
  }
};
} // namespace

} // namespace polynest
