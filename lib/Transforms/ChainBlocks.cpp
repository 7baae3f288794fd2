// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/ChainBlocks.cpp: see the header.

#include "Transforms/ChainBlocks.h"

#include "Target/ContractionModel.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// Has the loop run as often as `change` makes of how often it does.
static void changeTrips(AffineForOp loop,
                        llvm::function_ref<AffineExpr(AffineExpr)> change) {
  AffineMap upper = loop.getUpperBoundMap();
  SmallVector<Value> operands(loop.getUpperBoundOperands());
  loop.setUpperBound(operands,
                     AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                                    change(upper.getResult(0))));
}

/// Computes indices beside what they are used by, so that nothing stands
/// between loops that stand alone in each other.
static void sinkIndices(AffineForOp root) {
  SmallVector<AffineApplyOp> applies;
  root.walk([&](AffineApplyOp apply) { applies.push_back(apply); });
  for (AffineApplyOp apply : applies) {
    Operation *first = nullptr;
    for (Operation *user : apply->getUsers()) {
      if (first && first->getBlock() != user->getBlock()) {
        first = nullptr;
        break;
      }
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    if (first && !isa<AffineForOp>(first))
      apply->moveBefore(first);
  }
}

void cutInBlocks(AffineForOp loop, int64_t rows) {
  Block *body = loop.getBody();
  Operation *end = body->getTerminator();
  OpBuilder builder(end);
  auto inner = AffineForOp::create(builder, loop.getLoc(), 0, rows);
  changeTrips(loop, [&](AffineExpr trips) { return trips.floorDiv(rows); });
  inner.getBody()->getOperations().splice(inner.getBody()->begin(),
                                          body->getOperations(), body->begin(),
                                          Block::iterator(inner));
  AffineExpr index =
      builder.getAffineDimExpr(0) * rows + builder.getAffineDimExpr(1);
  Value outer = loop.getInductionVar();
  replaceVariable(outer, inner, AffineMap::get(2, 0, index),
                  {outer, inner.getInductionVar()});
  composeIndices(inner);
  sinkIndices(inner);
}

MemRefType getBlockType(const ChainBuffer &buffer, const NestChain &chain) {
  MemRefType type = memref::AllocOp(buffer.alloc).getType();
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    const auto *it = llvm::find(buffer.indexOf, unsigned(d));
    if (it == buffer.indexOf.end())
      shape.push_back(type.getDimSize(d));
    else if (it == std::prev(buffer.indexOf.end()) && !chain.isIteration)
      shape.push_back(chain.isCut() ? chain.rows : type.getDimSize(d));
  }
  if (chain.isIteration)
    return MemRefType::get(shape, type.getElementType(), AffineMap(),
                           type.getMemorySpace());
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  int64_t last = type.getRank() - 1;
  if (bytes && !type.isDynamicDim(last) &&
      !llvm::is_contained(buffer.indexOf, unsigned(last)) &&
      uint64_t(shape.back()) * uint64_t(*bytes) % kAliasedBytes == 0)
    shape.back() = pn_model_row_stride(shape.back(), /*unit=*/1,
                                       int32_t(*bytes), kLineBytes);
  return MemRefType::get(shape, type.getElementType(), AffineMap(),
                         type.getMemorySpace());
}

/// The sizes of the dimensions that it keeps and that are not known.
static SmallVector<Value> getBlockSizes(const ChainBuffer &buffer) {
  memref::AllocOp alloc = buffer.alloc;
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < alloc.getType().getRank(); ++d)
    if (alloc.getType().isDynamicDim(d) &&
        !llvm::is_contained(buffer.indexOf, unsigned(d)))
      sizes.push_back(
          alloc.getDynamicSizes()[alloc.getType().getDynamicDimIndex(d)]);
  return sizes;
}

Value makeBlockBuffer(OpBuilder &builder, const ChainBuffer &buffer,
                      const NestChain &chain) {
  memref::AllocOp alloc = buffer.alloc;
  return memref::AllocOp::create(
      builder, alloc.getLoc(), getBlockType(buffer, chain),
      getBlockSizes(buffer), alloc.getAlignmentAttr());
}

void shrinkBuffer(ChainBuffer &buffer, Value small, Block *body,
                  bool isIteration) {
  Builder builder(small.getContext());
  for (Operation *user : llvm::make_early_inc_range(buffer.alloc->getUsers())) {
    auto [map, operands] = getPlace(user);
    // The row takes a new variable, in front of the symbols.
    unsigned dims = map.getNumDims(), added = 0;
    SmallVector<AffineExpr> results;
    for (auto [d, result] : llvm::enumerate(map.getResults())) {
      const auto *it = llvm::find(buffer.indexOf, unsigned(d));
      if (it == buffer.indexOf.end())
        results.push_back(result);
      else if (it == std::prev(buffer.indexOf.end()) && !isIteration) {
        auto rows = cast<AffineForOp>(body->findAncestorOpInBlock(*user));
        operands.insert(operands.begin() + dims, rows.getInductionVar());
        results.push_back(builder.getAffineDimExpr(dims));
        added = 1;
      }
    }
    movePlace(user, small,
              AffineMap::get(dims + added, map.getNumSymbols(), results,
                             builder.getContext()),
              operands);
  }
}

void appendRest(AffineForOp blocks, AffineForOp nest, const NestChain &chain) {
  if (chain.trips && *chain.trips % chain.rows == 0)
    return;
  Location loc = blocks.getLoc();
  OpBuilder builder(blocks);
  builder.setInsertionPointAfter(blocks);
  Value index;
  AffineMap left;
  SmallVector<Value> operands(blocks.getUpperBoundOperands());
  if (chain.trips) {
    index =
        arith::ConstantIndexOp::create(builder, loc, *chain.trips / chain.rows);
    left = builder.getConstantAffineMap(*chain.trips % chain.rows);
  } else {
    // The bound of the blocks is a number divided by the rows of one.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(nest);
    AffineMap upper = blocks.getUpperBoundMap();
    index = AffineApplyOp::create(builder, loc, upper, operands);
    auto whole = cast<AffineBinaryOpExpr>(upper.getResult(0)).getLHS();
    left = AffineMap::get(upper.getNumDims(), upper.getNumSymbols(),
                          whole % chain.rows);
  }
  IRMapping mapping;
  mapping.map(blocks.getInductionVar(), index);
  for (Operation &op : blocks.getBody()->without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    auto rows = dyn_cast<AffineForOp>(copy);
    if (!rows)
      continue;
    rows.setUpperBound(chain.trips ? ValueRange() : ValueRange(operands), left);
    composeIndices(rows);
    sinkIndices(rows);
  }
  if (index.use_empty())
    index.getDefiningOp()->erase();
}

} // namespace polynest
