// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/MaskedSums.cpp: see the header.

#include "Transforms/MaskedSums.h"

#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Blocks from which on sums over what each leaves out begin with those of the
/// next: one alone reads all that is left out.
static constexpr int64_t leastBlocksOfSums = 4;

/// A buffer of the product's type, for each iteration of its loops; `blocks`
/// rows of that, if there are any.
static Value makeSums(OpBuilder &builder, MaskedProduct &product,
                      int64_t blocks) {
  SmallVector<int64_t> shape;
  SmallVector<Value> sizes;
  if (blocks > 0)
    shape.push_back(blocks);
  for (AffineForOp loop : product.loops) {
    LoopEnd end = *getEnd(loop);
    shape.push_back(end.value ? ShapedType::kDynamic : end.number);
    if (end.value)
      sizes.push_back(end.value);
  }
  auto type = MemRefType::get(shape, product.loop.getResult(0).getType());
  return memref::AllocOp::create(builder, product.loop.getLoc(), type, sizes,
                                 builder.getI64IntegerAttr(kBufferAlignment));
}

/// Copies the product's loops; adds their variables to `place`, and maps them.
static void copyLoops(OpBuilder &builder, MaskedProduct &product,
                      SmallVectorImpl<Value> &place, IRMapping &mapping) {
  for (AffineForOp loop : product.loops) {
    AffineForOp copy = copyLoop(builder, product.loop.getLoc(), loop, mapping);
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    place.push_back(copy.getInductionVar());
    builder.setInsertionPointToStart(copy.getBody());
  }
}

static Value makeZero(OpBuilder &builder, MaskedProduct &product) {
  return arith::ConstantOp::create(
      builder, product.loop.getLoc(),
      builder.getZeroAttr(product.loop.getResult(0).getType()));
}

/// The sum of 0 * factor over the columns from `from` to `to`.
static Value sumZeros(OpBuilder &builder, MaskedProduct &product, Value zero,
                      const ColumnBound &from, const ColumnBound &to,
                      IRMapping &mapping) {
  Location loc = product.loop.getLoc();
  auto sum = AffineForOp::create(builder, loc, from.operands, from.map,
                                 to.operands, to.map, 1, zero);
  OpBuilder inner = OpBuilder::atBlockBegin(sum.getBody());
  mapping.map(product.loop.getInductionVar(), sum.getInductionVar());
  for (Operation *op : product.slice)
    inner.clone(*op, mapping);
  Value factor = mapping.lookupOrDefault(product.factor);
  Value added = arith::MulFOp::create(inner, loc, factor, zero);
  AffineYieldOp::create(
      inner, loc,
      arith::AddFOp::create(inner, loc, sum.getRegionIterArgs()[0], added)
          .getResult());
  return sum.getResult(0);
}

AffineForOp findBlocks(const MaskedProduct &product, Block *block,
                       const ColumnBound &from, const ColumnBound &to,
                       int64_t cores) {
  auto blocks = dyn_cast<AffineForOp>(block->getParentOp());
  if (!blocks || from.terms.size() != 1 || from.terms[0].first <= 0 ||
      from.terms[0].second != blocks.getInductionVar() ||
      !countsFromZero(blocks) || !blocks.hasConstantUpperBound() ||
      blocks.getNumIterOperands() != 0 ||
      blocks.getConstantUpperBound() < leastBlocksOfSums ||
      !to.map.isSingleConstant() ||
      to.map.getSingleConstantResult() <= from.constant)
    return {};
  SmallVector<AffineForOp> around;
  for (Operation *op = blocks->getParentOp(); !isa<func::FuncOp>(op);
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      return {};
    around.push_back(loop);
  }
  if (!around.empty() && countPoints(around) < double(2 * cores))
    return {};
  auto isFree = [&](Value value) {
    Operation *owner = value.getParentBlock()->getParentOp();
    return product.root->isAncestor(owner) || !blocks->isAncestor(owner);
  };
  auto areFree = [&](auto values) { return llvm::all_of(values, isFree); };
  SmallVector<Access, 8> accesses, reads;
  collectAccesses(blocks, accesses);
  for (Operation *op : product.slice) {
    if (op->getNumRegions() != 0 || !areFree(op->getOperands()))
      return {};
    collectAccesses(op, reads);
  }
  for (AffineForOp loop : product.loops)
    if (!areFree(loop.getUpperBoundOperands()))
      return {};
  for (const Access &read : reads)
    if (mayWrite(accesses, read.memref))
      return {};
  return blocks;
}

namespace {
/// Columns from a number on that grows in steps, which are added up by step.
struct ColumnSteps {
  int64_t first, step;
};
} // namespace

/// Sums of 0 * factor over the columns from each step on, up to `size` columns:
/// made once in front of `blocks`, from the last step on. What lies before the
/// next step is added to the sum of the next.
static Value sumBySteps(MaskedProduct &product, AffineForOp blocks,
                        const ColumnSteps &steps, int64_t size) {
  OpBuilder builder(blocks);
  Location loc = product.loop.getLoc();
  int64_t count = llvm::divideCeilSigned(size - steps.first, steps.step);
  Value sums = makeSums(builder, product, count + 1);
  Value zero = makeZero(builder, product);
  // The place of a sum, of which the first index is a function of the first.
  auto placeOf = [&](AffineExpr step, size_t indices) {
    SmallVector<AffineExpr> results = {step};
    for (size_t d = 1; d < indices; ++d)
      results.push_back(builder.getAffineDimExpr(d));
    return AffineMap::get(indices, 0, results, builder.getContext());
  };
  AffineExpr number = builder.getAffineDimExpr(0);
  auto makeLoop = [&](int64_t trips, SmallVectorImpl<Value> &place,
                      IRMapping &mapping) {
    auto loop = AffineForOp::create(builder, loc, 0, trips);
    builder.setInsertionPointToStart(loop.getBody());
    place.push_back(loop.getInductionVar());
    copyLoops(builder, product, place, mapping);
    return loop;
  };
  // Nothing behind the last one.
  SmallVector<Value> last, place;
  IRMapping none, mapping;
  AffineForOp clear = makeLoop(1, last, none);
  AffineStoreOp::create(builder, loc, zero, sums,
                        placeOf(number + count, last.size()), last);
  builder.setInsertionPointAfter(clear);
  makeLoop(count, place, mapping);
  AffineExpr step = count - 1 - number;
  AffineExpr begin = step * steps.step + steps.first;
  ColumnBound from, to;
  from.operands = to.operands = {place.front()};
  from.map = AffineMap::get(1, 0, begin);
  to.map = AffineMap::get(
      1, 0, {begin + steps.step, builder.getAffineConstantExpr(size)},
      builder.getContext());
  Value sum = sumZeros(builder, product, zero, from, to, mapping);
  Value next = AffineLoadOp::create(builder, loc, sums,
                                    placeOf(step + 1, place.size()), place)
                   .getResult();
  AffineStoreOp::create(builder, loc,
                        arith::AddFOp::create(builder, loc, sum, next), sums,
                        placeOf(step, place.size()), place);
  return sums;
}

/// Rows of so many at a time end their sums where the mask of the last of them
/// begins; tiles of registers have as many, or a part of it.
static constexpr int64_t rowsOfStep = 8;
/// Columns, for each row of a block, up to which that saves enough.
static constexpr int64_t mostColumnsOfRow = 32;

/// The rows of a block, if sums of the product may end a few rows at a time:
/// its loop over rows counts those of the mask, which the blocks move on by
/// whole steps; else 0.
static int64_t countStepRows(const MaskedProduct &product, AffineForOp rows,
                             const ColumnBound &from, int64_t size) {
  std::optional<LoopEnd> end = rows ? getEnd(rows) : std::nullopt;
  if (!end || end->value || !rows->isAncestor(product.loop) ||
      end->number <= rowsOfStep || end->number % rowsOfStep != 0 ||
      from.terms[0].first % rowsOfStep != 0 ||
      // A row whose columns are all masked is NaN in those that are left.
      from.constant - end->number + rowsOfStep < 1 ||
      size > mostColumnsOfRow * end->number)
    return 0;
  return end->number;
}

void keepProducts(MaskedProduct &product, const ColumnBound &from,
                  const ColumnBound &to, AffineForOp blocks, AffineForOp rows) {
  OpBuilder builder(product.root);
  Location loc = product.loop.getLoc();
  Value sums;
  SmallVector<Value> here;
  SmallVector<AffineExpr> place;
  auto addIndex = [&](Value index) {
    place.push_back(builder.getAffineDimExpr(here.size()));
    here.push_back(index);
  };
  if (blocks) {
    int64_t size = to.map.getSingleConstantResult();
    ColumnSteps steps{from.constant, from.terms[0].first};
    int64_t perBlock = 1, count = countStepRows(product, rows, from, size);
    if (count > 0) {
      perBlock = steps.step / rowsOfStep;
      steps = {from.constant - count + rowsOfStep, rowsOfStep};
    }
    sums = sumBySteps(product, blocks, steps, size);
    addIndex(blocks.getInductionVar());
    if (count > 0) {
      AffineExpr row = builder.getAffineDimExpr(here.size());
      place.back() = place.back() * perBlock + row.floorDiv(rowsOfStep);
      here.push_back(rows.getInductionVar());
      AffineExpr tile = builder.getAffineDimExpr(0).floorDiv(rowsOfStep);
      rows->setAttr(kIdleTail,
                    AffineMapAttr::get(AffineMap::get(
                        1, 0, count - rowsOfStep - tile * rowsOfStep)));
    }
  } else {
    sums = makeSums(builder, product, 0);
    Value zero = makeZero(builder, product);
    IRMapping mapping;
    SmallVector<Value> ivs;
    copyLoops(builder, product, ivs, mapping);
    AffineStoreOp::create(
        builder, loc, sumZeros(builder, product, zero, from, to, mapping), sums,
        builder.getMultiDimIdentityMap(ivs.size()), ivs);
  }
  for (AffineForOp loop : product.loops)
    addIndex(loop.getInductionVar());
  builder.setInsertionPointAfter(product.loop);
  Value kept =
      AffineLoadOp::create(
          builder, loc, sums,
          AffineMap::get(here.size(), 0, place, builder.getContext()), here)
          .getResult();
  auto whole =
      arith::AddFOp::create(builder, loc, product.loop.getResult(0), kept);
  product.loop.getResult(0).replaceAllUsesExcept(whole, whole);
}

} // namespace polynest
