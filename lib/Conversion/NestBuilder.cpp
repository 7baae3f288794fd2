// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/NestBuilder.cpp: loop nests and element accesses.

#include "Conversion/NestBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static bool areAffineOperands(ValueRange values) {
  return llvm::all_of(
      values, [](Value v) { return isValidDim(v) || isValidSymbol(v); });
}

/// True if a loop at `builder`'s insertion point may run to `size`.
static bool isAffineBound(OpBuilder &builder, OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  if (!value)
    return true;
  Region *scope = getAffineScope(builder.getInsertionBlock()->getParentOp());
  return isValidSymbol(value, scope);
}

static AffineForOp buildAffineLoop(OpBuilder &builder, Location loc,
                                   OpFoldResult size) {
  if (auto attr = dyn_cast<Attribute>(size))
    return AffineForOp::create(builder, loc, 0,
                               cast<IntegerAttr>(attr).getInt(), 1);
  AffineMap zero = builder.getConstantAffineMap(0);
  AffineMap symbol = builder.getSymbolIdentityMap();
  return AffineForOp::create(builder, loc, ValueRange(), zero,
                             cast<Value>(size), symbol, 1);
}

bool buildNest(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> sizes,
               llvm::function_ref<void(OpBuilder &, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  bool affine = llvm::all_of(
      sizes, [&](OpFoldResult s) { return isAffineBound(builder, s); });
  SmallVector<Value> ivs;
  if (affine) {
    for (OpFoldResult size : sizes) {
      AffineForOp loop = buildAffineLoop(builder, loc, size);
      ivs.push_back(loop.getInductionVar());
      builder.setInsertionPointToStart(loop.getBody());
    }
    body(builder, ivs);
    return true;
  }
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> bounds;
  for (OpFoldResult size : sizes)
    bounds.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  for (Value bound : bounds) {
    auto loop = scf::ForOp::create(builder, loc, zero, bound, one);
    ivs.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBody());
  }
  body(builder, ivs);
  return false;
}

/// The values of `map` at `ivs`, for an access that is not affine.
static SmallVector<Value> evaluateMap(OpBuilder &builder, Location loc,
                                      AffineMap map, ValueRange ivs) {
  SmallVector<Value> indices;
  SmallVector<OpFoldResult> operands = getAsOpFoldResult(ivs);
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    OpFoldResult index = makeComposedFoldedAffineApply(
        builder, loc, map.getSubMap({i}), operands);
    indices.push_back(getValueOrCreateConstantIndexOp(builder, loc, index));
  }
  return indices;
}

Value loadElement(OpBuilder &builder, Location loc, Value memref, AffineMap map,
                  ValueRange ivs) {
  if (!areAffineOperands(ivs))
    return memref::LoadOp::create(builder, loc, memref,
                                  evaluateMap(builder, loc, map, ivs));
  SmallVector<Value> operands(ivs);
  canonicalizeMapAndOperands(&map, &operands);
  return AffineLoadOp::create(builder, loc, memref, map, operands);
}

void storeElement(OpBuilder &builder, Location loc, Value value, Value memref,
                  AffineMap map, ValueRange ivs) {
  if (!areAffineOperands(ivs)) {
    memref::StoreOp::create(builder, loc, value, memref,
                            evaluateMap(builder, loc, map, ivs));
    return;
  }
  SmallVector<Value> operands(ivs);
  canonicalizeMapAndOperands(&map, &operands);
  AffineStoreOp::create(builder, loc, value, memref, map, operands);
}

/// The size of dimension `dim`, taken from whichever type states it.
static OpFoldResult copySize(OpBuilder &builder, Location loc, Value source,
                             Value target, unsigned dim) {
  for (Value memref : {target, source}) {
    auto type = cast<MemRefType>(memref.getType());
    if (!type.isDynamicDim(dim))
      return builder.getIndexAttr(type.getDimSize(dim));
  }
  return memref::getMixedSize(builder, loc, source, dim);
}

void buildCopyNest(OpBuilder &builder, Location loc, Value source,
                   Value target) {
  unsigned rank = cast<MemRefType>(source.getType()).getRank();
  SmallVector<OpFoldResult> sizes;
  for (unsigned dim = 0; dim < rank; ++dim)
    sizes.push_back(copySize(builder, loc, source, target, dim));
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  buildNest(builder, loc, sizes, [&](OpBuilder &b, ValueRange ivs) {
    Value value = loadElement(b, loc, source, identity, ivs);
    storeElement(b, loc, value, target, identity, ivs);
  });
}

} // namespace polynest
