// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/PaddedImage.cpp: see the header.

#include "Transforms/PaddedImage.h"

#include "Analysis/Access.h"
#include "Transforms/NestUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// True if the value is there before `nest` begins.
static bool isOutside(Value value, Operation *nest) {
  return !nest->isAncestor(value.getParentBlock()->getParentOp());
}

/// What the store of the copy overwrites; false if that is no box.
static bool findBox(PaddedImage &image) {
  SmallVector<Access, 1> accesses;
  collectAccesses(image.copy, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine() || accesses[0].isPartial)
    return false;
  SmallVector<AffineForOp, 6> around =
      getLoopsAround(image.copy, image.copyNest);
  for (AffineForOp loop : around)
    if (!loop.hasConstantBounds() || loop.getStepAsInt() != 1 ||
        loop.getNumIterOperands() != 0 || getTripCount(loop).value_or(0) == 0)
      return false;
  const AffineValueMap &map = accesses[0].map;
  for (unsigned d = 0; d < map.getNumResults(); ++d) {
    SmallVector<int64_t, 8> flat = getCoefficients(map, d);
    if (flat.empty())
      return false;
    AffineForOp loop;
    for (auto [operand, factor] : llvm::zip(map.getOperands(), flat)) {
      if (factor == 0)
        continue;
      AffineForOp owner = getForInductionVarOwner(operand);
      if (factor != 1 || loop || !llvm::is_contained(around, owner) ||
          llvm::is_contained(image.loops, owner))
        return false;
      loop = owner;
    }
    int64_t offset = flat.back();
    image.loops.push_back(loop);
    image.offsets.push_back(offset);
    image.box.push_back(loop ? Range{loop.getConstantLowerBound() + offset,
                                     loop.getConstantUpperBound() + offset}
                             : Range{offset, offset + 1});
  }
  return !around.empty();
}

/// What the copy loads; false where that does not follow from its loops.
static bool findSource(PaddedImage &image) {
  SmallVector<Access, 1> accesses;
  collectAccesses(image.source, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine() || accesses[0].isPartial)
    return false;
  AffineValueMap &map = accesses[0].map;
  image.sourceMap = map.getAffineMap();
  image.sourceOperands.assign(map.getOperands().begin(),
                              map.getOperands().end());
  return llvm::all_of(image.sourceOperands, [&](Value operand) {
    AffineForOp loop = getForInductionVarOwner(operand);
    return (loop && llvm::is_contained(image.loops, loop)) ||
           isOutside(operand, image.copyNest);
  });
}

/// True if each element is filled before it is overwritten: the nests stand one
/// behind the other, also within loops around both that sweep one dimension.
static bool isFilledBefore(const PaddedImage &image, AffineStoreOp fill,
                           Operation *fillNest) {
  if (fillNest != image.copyNest)
    return fillNest->isBeforeInBlock(image.copyNest);
  SmallVector<Access, 1> accesses;
  collectAccesses(fill, accesses);
  if (accesses.size() != 1 || !accesses[0].isAffine())
    return false;
  Operation *common = fillNest;
  while (true) {
    auto loop = dyn_cast<AffineForOp>(common);
    if (!loop)
      return false;
    const AffineValueMap &map = accesses[0].map;
    const auto *place = llvm::find(image.loops, loop);
    bool isSwept = false;
    if (place != image.loops.end()) {
      unsigned d = place - image.loops.begin();
      auto dim = dyn_cast<AffineDimExpr>(map.getAffineMap().getResult(d));
      isSwept = dim && image.offsets[d] == 0 &&
                map.getOperand(dim.getPosition()) == loop.getInductionVar();
    }
    if (!isSwept && getTripCount(loop) != uint64_t(1))
      return false;
    Operation *first = loop.getBody()->findAncestorOpInBlock(*fill);
    Operation *second =
        loop.getBody()->findAncestorOpInBlock(*AffineStoreOp(image.copy));
    if (first != second)
      return first->isBeforeInBlock(second);
    common = first;
  }
}

bool isSourceKept(const PaddedImage &image) {
  Value memref = AffineLoadOp(image.source).getMemRef();
  SmallVector<Access, 8> accesses;
  for (Operation *op = image.copyNest;; op = op->getNextNode()) {
    accesses.clear();
    collectAccesses(op, accesses);
    if (mayWrite(accesses, memref))
      return false;
    if (op == image.consumer)
      return true;
  }
}

/// True if the two are one constant, or one value.
static bool isSameValue(Value a, Value b) {
  Attribute first, second;
  return a == b || (matchPattern(a, m_Constant(&first)) &&
                    matchPattern(b, m_Constant(&second)) && first == second);
}

/// Where the reads are; false if that is not known.
static bool findMaps(PaddedImage &image) {
  SmallVector<Access, 4> accesses;
  for (AffineLoadOp read : image.reads)
    collectAccesses(read, accesses);
  for (const Access &access : accesses) {
    if (!access.isAffine())
      return false;
    image.maps.push_back(access.map);
  }
  return true;
}

/// Sorts the uses of the buffer; false if there are others.
static bool findUses(PaddedImage &image) {
  SmallVector<AffineStoreOp, 4> stores;
  for (Operation *user : image.alloc->getUsers()) {
    if (auto load = dyn_cast<AffineLoadOp>(user)) {
      image.reads.push_back(load);
      continue;
    }
    auto store = dyn_cast<AffineStoreOp>(user);
    if (!store || store.getValueToStore() == image.alloc->getResult(0))
      return false;
    stores.push_back(store);
  }
  for (AffineStoreOp store : stores) {
    auto load = store.getValueToStore().getDefiningOp<AffineLoadOp>();
    if (load && load->getBlock() == store->getBlock() && !image.copy) {
      image.copy = store;
      image.source = load;
    } else {
      image.fills.push_back(store);
    }
  }
  return image.copy && !image.fills.empty() && !image.reads.empty();
}

std::optional<PaddedImage> matchPaddedImage(Operation *alloc) {
  PaddedImage image;
  image.alloc = alloc;
  MemRefType type = image.type();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      type.getRank() == 0 || !findUses(image))
    return std::nullopt;
  Block *block = alloc->getBlock();
  auto nestOf = [&](Operation *op) {
    return block->findAncestorOpInBlock(*op);
  };
  image.copyNest = nestOf(image.copy);
  image.consumer = dyn_cast_or_null<AffineForOp>(nestOf(image.reads.front()));
  if (!image.copyNest || !image.consumer ||
      !isOutside(image.source.getMemRef(), image.copyNest) ||
      !image.copyNest->isBeforeInBlock(image.consumer))
    return std::nullopt;
  for (AffineLoadOp read : image.reads)
    if (nestOf(read) != image.consumer)
      return std::nullopt;
  if (!findBox(image) || !findSource(image) || !findMaps(image))
    return std::nullopt;
  for (AffineStoreOp fill : image.fills) {
    Operation *nest = nestOf(fill);
    if (!nest || !isOutside(fill.getValueToStore(), nest) ||
        !isSameValue(fill.getValueToStore(), image.padding()) ||
        !isFilledBefore(image, fill, nest))
      return std::nullopt;
  }
  return image;
}

/// A loop over each range, at the builder, which is left in the innermost;
/// gives their variables.
static SmallVector<Value, 4> emitLoops(OpBuilder &builder, Location loc,
                                       ArrayRef<Range> ranges) {
  SmallVector<Value, 4> ivs;
  for (const Range &range : ranges) {
    auto loop = AffineForOp::create(builder, loc, range.low, range.high);
    ivs.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  return ivs;
}

Value loadSource(OpBuilder &builder, const PaddedImage &image,
                 AffineMap indices, ValueRange operands) {
  AffineLoadOp source = image.source;
  unsigned dims = indices.getNumDims(), symbols = indices.getNumSymbols();
  SmallVector<Value> values(operands.take_front(dims)),
      last(operands.drop_front(dims));
  SmallVector<AffineExpr> newDims, newSymbols;
  for (unsigned i = 0; i < image.sourceOperands.size(); ++i) {
    Value operand = image.sourceOperands[i];
    const auto *place = llvm::find_if(image.loops, [&](AffineForOp loop) {
      return loop && loop.getInductionVar() == operand;
    });
    bool isDim = i < image.sourceMap.getNumDims();
    AffineExpr index;
    if (place != image.loops.end()) {
      unsigned d = place - image.loops.begin();
      index = indices.getResult(d) - image.offsets[d];
    } else if (isDim) {
      index = builder.getAffineDimExpr(dims++);
      values.push_back(operand);
    } else {
      index = builder.getAffineSymbolExpr(symbols++);
      last.push_back(operand);
    }
    (isDim ? newDims : newSymbols).push_back(index);
  }
  values.append(last);
  AffineMap map =
      image.sourceMap.replaceDimsAndSymbols(newDims, newSymbols, dims, symbols);
  fullyComposeAffineMapAndOperands(&map, &values);
  canonicalizeMapAndOperands(&map, &values);
  return AffineLoadOp::create(builder, source.getLoc(), source.getMemRef(), map,
                              values);
}

SmallVector<bool, 4> findFixedIndices(const PaddedImage &image,
                                      AffineForOp loop) {
  AffineValueMap first = image.maps.front();
  SmallVector<bool, 4> isFixed;
  for (unsigned d = 0; d < image.box.size(); ++d) {
    bool isAlike = llvm::all_of(image.maps, [&](AffineValueMap map) {
      return map.getResult(d) == first.getResult(d) &&
             llvm::equal(map.getOperands(), first.getOperands());
    });
    bool isMoving = llvm::any_of(first.getOperands(), [&](Value operand) {
      return first.isFunctionOf(d, operand) && !isOutside(operand, loop);
    });
    isFixed.push_back(!image.hasBorder(d) && isAlike && !isMoving);
  }
  return isFixed;
}

bool movesFixedIndex(const PaddedImage &image, ArrayRef<bool> isFixed,
                     AffineForOp loop) {
  AffineValueMap first = image.maps.front();
  return llvm::any_of(llvm::seq<unsigned>(0, isFixed.size()), [&](unsigned d) {
    return isFixed[d] && first.isFunctionOf(d, loop.getInductionVar());
  });
}

void emitFill(OpBuilder builder, const PaddedImage &image, Value buffer,
              ArrayRef<Range> filled) {
  Location loc = AffineStoreOp(image.fills.front()).getLoc();
  SmallVector<Value, 4> ivs = emitLoops(builder, loc, filled);
  AffineStoreOp::create(builder, loc, image.padding(), buffer, ivs);
}

void emitCopy(OpBuilder builder, const PaddedImage &image, Value buffer,
              ArrayRef<Range> copied, AffineMap begin, ValueRange operands) {
  AffineStoreOp copy = image.copy;
  Location loc = copy.getLoc();
  SmallVector<Value, 4> ivs = emitLoops(builder, loc, copied);
  // The variables of these loops stand behind the dimensions of `begin`.
  unsigned dims = begin.getNumDims();
  SmallVector<Value> values(operands.take_front(dims));
  llvm::append_range(values, ivs);
  llvm::append_range(values, operands.drop_front(dims));
  SmallVector<AffineExpr, 4> indices;
  for (auto [d, index] : llvm::enumerate(begin.getResults()))
    indices.push_back(index +
                      (copied[d].size() == 1
                           ? builder.getAffineConstantExpr(copied[d].low)
                           : builder.getAffineDimExpr(dims + d)));
  AffineMap map = AffineMap::get(dims + ivs.size(), begin.getNumSymbols(),
                                 indices, builder.getContext());
  Value element = loadSource(builder, image, map, values);
  AffineStoreOp::create(builder, loc, element, buffer, ivs);
}

/// Removes an operation, and then the loops around it that do nothing more.
static void eraseWithLoops(Operation *op) {
  while (true) {
    Operation *parent = op->getParentOp();
    op->erase();
    auto loop = dyn_cast<AffineForOp>(parent);
    if (!loop || loop.getNumResults() != 0)
      return;
    SmallVector<Operation *, 8> left;
    for (Operation &other : loop.getBody()->without_terminator())
      left.push_back(&other);
    for (Operation *other : llvm::reverse(left))
      if (other->use_empty() && other->getNumRegions() == 0 &&
          (isa<AffineLoadOp>(other) || isMemoryEffectFree(other)))
        other->erase();
    if (!loop.getBody()->without_terminator().empty())
      return;
    op = loop;
  }
}

void eraseImage(PaddedImage &image) {
  eraseWithLoops(image.copy);
  for (AffineStoreOp fill : image.fills)
    eraseWithLoops(fill);
  image.alloc->erase();
}

} // namespace polynest
