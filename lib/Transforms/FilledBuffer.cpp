// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/FilledBuffer.cpp: see the header.

#include "Transforms/FilledBuffer.h"

#include "Analysis/Access.h"
#include "Analysis/SizeOrder.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

std::optional<FilledBuffer> matchFilledBuffer(Value memref) {
  Operation *alloc = memref.getDefiningOp();
  if (!isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(alloc) ||
      !cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return std::nullopt;
  FilledBuffer buffer;
  buffer.memref = memref;
  for (Operation *user : memref.getUsers()) {
    if (isa<AffineLoadOp, memref::LoadOp>(user)) {
      buffer.loads.push_back(user);
      continue;
    }
    auto store = dyn_cast<AffineStoreOp>(user);
    if (!store || buffer.store || store.getValueToStore() == memref)
      return std::nullopt;
    buffer.store = store;
  }
  if (!buffer.store || buffer.loads.empty())
    return std::nullopt;
  buffer.root = dyn_cast_or_null<AffineForOp>(
      alloc->getBlock()->findAncestorOpInBlock(*buffer.store));
  return buffer.root ? std::optional(buffer) : std::nullopt;
}

bool findSweeps(FilledBuffer &buffer) {
  SmallVector<Access, 1> accesses;
  collectAccesses(buffer.store, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine())
    return false;
  buffer.loops = getLoopsAround(buffer.store, buffer.root);
  if (buffer.loops.empty())
    return false;
  AffineValueMap &map = accesses[0].map;
  auto sizes = cast<MemRefType>(buffer.memref.getType()).getShape();
  buffer.dimOf.assign(buffer.loops.size(), ~0u);
  for (unsigned d = 0; d < map.getNumResults(); ++d) {
    AffineExpr index = map.getResult(d);
    if (auto constant = dyn_cast<AffineConstantExpr>(index)) {
      if (constant.getValue() != 0 || sizes[d] != 1)
        return false;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(index);
    const auto *it = llvm::find_if(buffer.loops, [&](AffineForOp loop) {
      return dim && map.getOperand(dim.getPosition()) == loop.getInductionVar();
    });
    if (it == buffer.loops.end() || !sweeps(*it, buffer.memref, d))
      return false;
    unsigned &place = buffer.dimOf[it - buffer.loops.begin()];
    if (place != ~0u)
      return false;
    place = d;
  }
  return !llvm::is_contained(buffer.dimOf, ~0u);
}

bool comesBehind(Operation *op, const FilledBuffer &buffer) {
  Operation *root = buffer.root;
  Operation *place = root->getBlock()->findAncestorOpInBlock(*op);
  return place && place != root && root->isBeforeInBlock(place);
}

void computeAt(const FilledBuffer &buffer, ArrayRef<Operation *> slice,
               AffineLoadOp load) {
  OpBuilder builder(load);
  SmallVector<OpFoldResult> operands = getAsOpFoldResult(load.getMapOperands());
  IRMapping mapping;
  // What comes from outside is there as it is.
  Value stored = AffineStoreOp(buffer.store).getValueToStore();
  if (!AffineForOp(buffer.root).isDefinedOutsideOfLoop(stored))
    for (auto [loop, d] : llvm::zip_equal(buffer.loops, buffer.dimOf))
      mapping.map(AffineForOp(loop).getInductionVar(),
                  getValueOrCreateConstantIndexOp(
                      builder, load.getLoc(),
                      makeComposedFoldedAffineApply(
                          builder, load.getLoc(),
                          load.getAffineMap().getSubMap(d), operands)));
  for (Operation *op : slice)
    builder.clone(*op, mapping);
  load.replaceAllUsesWith(mapping.lookupOrDefault(stored));
  load.erase();
}

} // namespace polynest
