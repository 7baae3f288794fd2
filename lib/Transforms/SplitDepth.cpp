//===- SplitDepth.cpp - parts of a long reduction with sums of their own --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: cuts the outermost reduction loop of a contraction in parts of equal
// length. A nest in front sums up each part, in a loop over parts that may run
// at once; the nest itself adds up the sums of the parts in their order, and
// what no part has.
// Legal when: the contraction's parallel loops carry no dependence and the
// order of accumulation is free: see BlockContractions.cpp.
// Limits: constant sizes, no condition around the code.
// Cost: operations of the nest.
//===----------------------------------------------------------------------===//

#include "Transforms/ContractionBlocks.h"

#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static bool isPlain(AffineForOp loop) {
  return getSmallTripCount(loop) && loop.hasConstantLowerBound();
}

bool canSplitDepth(const Contraction &contraction) {
  return !contraction.guard &&
         llvm::all_of(contraction.parallelLoops, isPlain) &&
         llvm::all_of(contraction.reductionLoops, isPlain);
}

/// Opens a loop from 0; the builder goes inside.
static AffineForOp openLoop(OpBuilder &builder, Location loc, int64_t trips,
                            ValueRange carried = {}) {
  auto loop = AffineForOp::create(builder, loc, 0, trips, 1, carried);
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  return loop;
}

/// The variable of the original loop: lower + step * position.
static void mapTo(OpBuilder &builder, AffineForOp loop, AffineExpr position,
                  ValueRange operands, IRMapping &mapping) {
  AffineMap map = AffineMap::get(operands.size(), 0,
                                 position * loop.getStepAsInt() +
                                     loop.getConstantLowerBound());
  mapping.map(
      loop.getInductionVar(),
      AffineApplyOp::create(builder, loop.getLoc(), map, operands).getResult());
}

/// Clones with the indices of loads composed.
static void cloneOne(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  auto load = dyn_cast<AffineLoadOp>(builder.clone(*op, mapping));
  if (!load)
    return;
  AffineMap map = load.getAffineMap();
  SmallVector<Value> operands(load.getMapOperands());
  fullyComposeAffineMapAndOperands(&map, &operands);
  canonicalizeMapAndOperands(&map, &operands);
  auto composed = AffineLoadOp::create(builder, load.getLoc(), load.getMemRef(),
                                       map, operands);
  mapping.map(op->getResult(0), composed.getResult());
  load.erase();
}

/// What a part starts from: changes nothing, not even the sign of a zero.
static Value makeNeutral(OpBuilder &builder, Location loc, Type type) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, -0.0));
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

static Value combine(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

/// One step of the sum of a part.
static Value addProduct(OpBuilder &builder, Location loc,
                        const Contraction &contraction, Value sum,
                        IRMapping &mapping) {
  for (const ContractionOperand *side : {&contraction.left, &contraction.right})
    for (Operation *op : side->slice)
      cloneOne(builder, op, mapping);
  Value a = mapping.lookupOrDefault(contraction.left.value);
  Value b = mapping.lookupOrDefault(contraction.right.value);
  if (!isa<FloatType>(sum.getType())) {
    Value product = arith::MulIOp::create(builder, loc, a, b);
    if (contraction.subtracts)
      return arith::SubIOp::create(builder, loc, sum, product);
    return arith::AddIOp::create(builder, loc, sum, product);
  }
  Value product = arith::MulFOp::create(builder, loc, a, b);
  if (contraction.subtracts)
    return arith::SubFOp::create(builder, loc, sum, product);
  return arith::AddFOp::create(builder, loc, sum, product);
}

/// The sums of all parts, in front of the nest; returns its outermost loop.
static AffineForOp emitParts(const Contraction &contraction, int64_t parts,
                             int64_t part, Value sums) {
  AffineForOp root = contraction.root;
  OpBuilder builder(root);
  Location loc = root.getLoc();
  Value carried = makeNeutral(builder, loc, contraction.getType());
  AffineForOp partLoop = openLoop(builder, loc, parts);
  SmallVector<Value> place{partLoop.getInductionVar()};
  for (AffineForOp loop : contraction.parallelLoops)
    place.push_back(
        openLoop(builder, loc, *getSmallTripCount(loop)).getInductionVar());
  OpBuilder inner = builder;
  SmallVector<AffineForOp> opened;
  for (auto [i, loop] : llvm::enumerate(contraction.reductionLoops)) {
    int64_t trips = i == 0 ? part : *getSmallTripCount(loop);
    opened.push_back(openLoop(inner, loc, trips, carried));
    carried = opened.back().getRegionIterArgs()[0];
  }
  // Inside of all loops, so that they are perfectly nested.
  IRMapping mapping;
  AffineExpr first = inner.getAffineDimExpr(0);
  AffineExpr second = inner.getAffineDimExpr(1);
  for (auto [loop, iv] :
       llvm::zip_equal(contraction.parallelLoops, ArrayRef(place).drop_front()))
    mapTo(inner, loop, first, iv, mapping);
  for (auto [i, loop] : llvm::enumerate(contraction.reductionLoops)) {
    Value iv = opened[i].getInductionVar();
    if (i == 0)
      mapTo(inner, loop, first * part + second,
            {partLoop.getInductionVar(), iv}, mapping);
    else
      mapTo(inner, loop, first, iv, mapping);
  }
  Value sum = addProduct(inner, loc, contraction, carried, mapping);
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*opened.back().getBody())))
    if (isa<AffineApplyOp>(op) && op.use_empty())
      op.erase();
  for (AffineForOp loop : llvm::reverse(opened)) {
    inner.setInsertionPointToEnd(loop.getBody());
    AffineYieldOp::create(inner, loc, sum);
    sum = loop.getResult(0);
  }
  AffineStoreOp::create(builder, loc, sum, sums,
                        builder.getMultiDimIdentityMap(place.size()), place);
  return partLoop;
}

/// Has the nest add up the sums of the parts, and what no part has.
static void addUpParts(const Contraction &contraction, int64_t parts,
                       int64_t part, Value sums) {
  AffineForOp outer = contraction.reductionLoops.front();
  OpBuilder builder(outer);
  Location loc = outer.getLoc();
  auto overParts = AffineForOp::create(builder, loc, 0, parts, 1,
                                       ValueRange{contraction.init});
  OpBuilder inner = OpBuilder::atBlockEnd(overParts.getBody());
  SmallVector<AffineExpr> place{builder.getAffineDimExpr(0)};
  SmallVector<Value> operands{overParts.getInductionVar()};
  for (AffineForOp loop : contraction.parallelLoops) {
    place.push_back((builder.getAffineDimExpr(operands.size()) -
                     loop.getConstantLowerBound())
                        .floorDiv(loop.getStepAsInt()));
    operands.push_back(loop.getInductionVar());
  }
  Value held = AffineLoadOp::create(
      inner, loc, sums,
      AffineMap::get(operands.size(), 0, place, builder.getContext()),
      operands);
  AffineYieldOp::create(
      inner, loc, combine(inner, loc, overParts.getRegionIterArgs()[0], held));
  Value total = overParts.getResult(0);
  if (parts * part == *getSmallTripCount(outer)) {
    outer.getResult(0).replaceAllUsesWith(total);
    outer.erase();
    return;
  }
  outer.setConstantLowerBound(outer.getConstantLowerBound() +
                              parts * part * outer.getStepAsInt());
  outer.getInitsMutable()[0].set(total);
}

AffineForOp splitDepth(const Contraction &contraction, int64_t part) {
  AffineForOp root = contraction.root;
  AffineForOp outer = contraction.reductionLoops.front();
  int64_t parts = *getSmallTripCount(outer) / part;
  SmallVector<int64_t> shape{parts};
  for (AffineForOp loop : contraction.parallelLoops)
    shape.push_back(*getSmallTripCount(loop));
  OpBuilder builder(root);
  Value sums = memref::AllocOp::create(
      builder, root.getLoc(), MemRefType::get(shape, contraction.getType()),
      ValueRange(), ValueRange(), builder.getI64IntegerAttr(kBufferAlignment));
  AffineForOp made = emitParts(contraction, parts, part, sums);
  addUpParts(contraction, parts, part, sums);
  return made;
}

} // namespace polynest
