//===- DecomposeTensorOps.cpp - tensor ops into fills, slices, generics ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: rewrites the tensor and linalg operations that bufferization or the
// lowering to nests would do badly, wrongly or not at all, into linalg.fill,
// linalg.generic, slices and reshapes: linalg.map, named operations that divide
// integers, linalg.softmax, pack, unpack and the Winograd transforms;
// tensor.concat, pad, gather, scatter, splat, generate, reshape and bitcast;
// large constants of one value, which would be globals of their full size.
// Legal always: each is the operation's definition. Gather and scatter, whose
// out-of-range indices have no meaning, assert that their indices are in range.
// Profitable: padding with one value is a fill and a copy, which later passes
// fuse or drop, and not a nest with a test an element.
// Refused with an error: complex numbers, unranked and encoded tensors, element
// types with no buffer form, and what of the above has no static decomposition.
// Limits: regions that compute whole tensors per element run as scf loops.
// Cost: linear in operations; a constant number of operations for each.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Conversion/SupportedTypes.h"
#include "Support/Remark.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_DECOMPOSETENSOROPS
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-decompose-tensor-ops"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kPass = "decompose-tensor-ops";

/// Computes one element of a result from its indices.
using ElementFn = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// A named operation prints without its region, in which the guards of integer
/// division stand. As a generic it keeps them.
static bool hidesIntegerDivision(Operation *op) {
  if (!isa<linalg::LinalgOp>(op) ||
      isa<linalg::GenericOp, linalg::ReduceOp, linalg::MapOp>(op))
    return false;
  return op
      ->walk([](Operation *inner) {
        return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
                   arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
                   arith::CeilDivUIOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Constants of one value with more elements than this are filled where they
/// are used; smaller ones may be shapes, whose values other passes read.
static constexpr int64_t kLargestSmallConstant = 64;

/// A constant that would become a global full of one value.
static bool isLargeSplat(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant)
    return false;
  auto elements = dyn_cast<SplatElementsAttr>(constant.getValue());
  return elements && isa<RankedTensorType>(constant.getType()) &&
         elements.getNumElements() > kLargestSmallConstant;
}

static bool isPartOfWork(Operation *op) {
  return isa<linalg::MapOp, linalg::SoftmaxOp, linalg::PackOp, linalg::UnPackOp,
             linalg::WinogradFilterTransformOp,
             linalg::WinogradInputTransformOp,
             linalg::WinogradOutputTransformOp, tensor::ConcatOp, tensor::PadOp,
             tensor::GatherOp, tensor::ScatterOp, tensor::SplatOp,
             tensor::GenerateOp, tensor::ReshapeOp, tensor::BitcastOp,
             bufferization::DeallocTensorOp>(op) ||
         hidesIntegerDivision(op) || isLargeSplat(op);
}

/// True if the region computes scalars only and may stand in a linalg.generic.
static bool computesScalars(Region &region) {
  return !region
              .walk([](Operation *op) {
                return llvm::any_of(op->getResultTypes(),
                                    llvm::IsaPred<TensorType>)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

static Value makeEmpty(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes,
                       RankedTensorType type) {
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  if (empty.getType() == type)
    return empty;
  return tensor::CastOp::create(b, loc, type, empty);
}

/// Sizes of a value of `type` whose dynamic dimensions are `dynamicSizes`.
static SmallVector<OpFoldResult> mixedSizes(OpBuilder &b, RankedTensorType type,
                                            ValueRange dynamicSizes) {
  return getMixedValues(type.getShape(), dynamicSizes, b);
}

/// A linalg.generic that writes every element of `out` with `element`.
static Value buildGeneric(OpBuilder &b, Location loc, Value out,
                          ElementFn element) {
  auto type = cast<RankedTensorType>(out.getType());
  unsigned rank = type.getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, loc, type, ValueRange(), out, b.getMultiDimIdentityMap(rank),
      iterators, [&](OpBuilder &inner, Location at, ValueRange) {
        SmallVector<Value> indices;
        for (unsigned i = 0; i < rank; ++i)
          indices.push_back(linalg::IndexOp::create(inner, at, i));
        Value value = element(inner, at, indices);
        linalg::YieldOp::create(inner, at, value);
      });
  return generic.getResult(0);
}

/// Nested scf.for that carry `out` through and run `body` on it.
static Value
buildLoops(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes, Value out,
           llvm::function_ref<Value(OpBuilder &, ValueRange, Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> bounds, ivs;
  for (OpFoldResult size : sizes)
    bounds.push_back(getValueOrCreateConstantIndexOp(b, loc, size));
  SmallVector<scf::ForOp> loops;
  Value carried = out;
  for (Value bound : bounds) {
    auto loop = scf::ForOp::create(b, loc, zero, bound, one, carried);
    ivs.push_back(loop.getInductionVar());
    carried = loop.getRegionIterArg(0);
    loops.push_back(loop);
    b.setInsertionPointToStart(loop.getBody());
  }
  Value result = body(b, ivs, carried);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, loc, result);
    result = loop.getResult(0);
  }
  return result;
}

/// Writes every element of `out` with `element`: as a generic if `scalar`.
static Value buildElements(OpBuilder &b, Location loc,
                           ArrayRef<OpFoldResult> sizes, Value out, bool scalar,
                           ElementFn element) {
  if (scalar)
    return buildGeneric(b, loc, out, element);
  return buildLoops(
      b, loc, sizes, out, [&](OpBuilder &inner, ValueRange ivs, Value carried) {
        Value value = element(inner, loc, ivs);
        return Value(tensor::InsertOp::create(inner, loc, value, carried, ivs));
      });
}

/// Clones `block` for the arguments `arguments`; returns what it yields.
static Value cloneElementBody(OpBuilder &b, Block &block,
                              ValueRange arguments) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

static Value constantIndex(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

static OpFoldResult applyMap(OpBuilder &b, Location loc, AffineMap map,
                             ArrayRef<OpFoldResult> operands) {
  return affine::makeComposedFoldedAffineApply(b, loc, map, operands);
}

static OpFoldResult maxWithZero(OpBuilder &b, Location loc, OpFoldResult x) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  AffineMap map =
      AffineMap::get(1, 0, {d0, b.getAffineConstantExpr(0)}, b.getContext());
  return affine::makeComposedFoldedAffineMax(b, loc, map, {x});
}

static OpFoldResult minWithZero(OpBuilder &b, Location loc, OpFoldResult x) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  AffineMap map =
      AffineMap::get(1, 0, {d0, b.getAffineConstantExpr(0)}, b.getContext());
  return affine::makeComposedFoldedAffineMin(b, loc, map, {x});
}

//===----------------------------------------------------------------------===//
// tensor.pad
//===----------------------------------------------------------------------===//

/// The part of a pad's source that its result shows, and where. Negative
/// padding cuts the source; with low and high pads l, h and source size s the
/// part begins at max(-l, 0), has max(s + min(l, 0) + min(h, 0), 0) elements,
/// and lies at max(l, 0).
struct Interior {
  SmallVector<OpFoldResult> from, to, sizes;
  /// Nothing of the source is visible, whatever the dynamic sizes are.
  bool empty = false;
  /// Less than the whole source may be visible.
  bool cuts = false;
};

static bool isKnownNonNegative(OpFoldResult x) {
  std::optional<int64_t> constant = getConstantIntValue(x);
  return constant && *constant >= 0;
}

static Interior interiorOf(OpBuilder &b, tensor::PadOp op) {
  Location loc = op.getLoc();
  Interior interior;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1),
             d2 = b.getAffineDimExpr(2);
  SmallVector<OpFoldResult> low = op.getMixedLowPad(),
                            high = op.getMixedHighPad();
  for (unsigned i = 0; i < low.size(); ++i) {
    OpFoldResult size = tensor::getMixedSize(b, loc, op.getSource(), i);
    if (isKnownNonNegative(low[i]) && isKnownNonNegative(high[i])) {
      interior.from.push_back(b.getIndexAttr(0));
      interior.to.push_back(low[i]);
      interior.sizes.push_back(size);
      interior.empty |= isConstantIntValue(size, 0);
      continue;
    }
    interior.cuts = true;
    OpFoldResult cutLow = minWithZero(b, loc, low[i]);
    OpFoldResult cutHigh = minWithZero(b, loc, high[i]);
    interior.from.push_back(
        applyMap(b, loc, AffineMap::get(1, 0, -d0), {cutLow}));
    interior.to.push_back(maxWithZero(b, loc, low[i]));
    OpFoldResult left = applyMap(b, loc, AffineMap::get(3, 0, d0 + d1 + d2),
                                 {size, cutLow, cutHigh});
    interior.sizes.push_back(maxWithZero(b, loc, left));
    interior.empty |= isConstantIntValue(interior.sizes.back(), 0);
  }
  return interior;
}

static SmallVector<OpFoldResult> paddedSizes(OpBuilder &b, tensor::PadOp op) {
  AffineMap sum = AffineMap::get(3, 0,
                                 b.getAffineDimExpr(0) + b.getAffineDimExpr(1) +
                                     b.getAffineDimExpr(2));
  SmallVector<OpFoldResult> low = op.getMixedLowPad(),
                            high = op.getMixedHighPad(), sizes;
  RankedTensorType type = op.getResultType();
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      sizes.push_back(b.getIndexAttr(type.getDimSize(i)));
    else
      sizes.push_back(
          applyMap(b, op.getLoc(), sum,
                   {tensor::getMixedSize(b, op.getLoc(), op.getSource(), i),
                    low[i], high[i]}));
  }
  return sizes;
}

/// One value around a copy of the source.
static Value padWithValue(OpBuilder &b, tensor::PadOp op, Value value,
                          ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  Value empty = makeEmpty(b, loc, sizes, op.getResultType());
  Value filled = linalg::FillOp::create(b, loc, value, empty).getResult(0);
  Interior interior = interiorOf(b, op);
  if (interior.empty)
    return filled;
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  Value part = op.getSource();
  if (interior.cuts)
    part = tensor::ExtractSliceOp::create(b, loc, part, interior.from,
                                          interior.sizes, ones);
  return tensor::InsertSliceOp::create(b, loc, part, filled, interior.to,
                                       interior.sizes, ones);
}

/// Padding computed from the index: one test an element.
static Value padWithRegion(OpBuilder &b, tensor::PadOp op,
                           ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  Value source = op.getSource();
  SmallVector<OpFoldResult> low = op.getMixedLowPad();
  SmallVector<Value> lows, ends;
  for (unsigned i = 0; i < low.size(); ++i) {
    lows.push_back(getValueOrCreateConstantIndexOp(b, loc, low[i]));
    ends.push_back(getValueOrCreateConstantIndexOp(
        b, loc, tensor::getMixedSize(b, loc, source, i)));
  }
  Value zero = constantIndex(b, loc, 0);
  Value empty = makeEmpty(b, loc, sizes, op.getResultType());
  auto element = [&](OpBuilder &inner, Location at, ValueRange ivs) -> Value {
    Value inside = arith::ConstantIntOp::create(inner, at, 1, 1);
    SmallVector<Value> position;
    for (auto [iv, lowPad, end] : llvm::zip(ivs, lows, ends)) {
      Value p = arith::SubIOp::create(inner, at, iv, lowPad);
      Value above =
          arith::CmpIOp::create(inner, at, arith::CmpIPredicate::sge, p, zero);
      Value below =
          arith::CmpIOp::create(inner, at, arith::CmpIPredicate::slt, p, end);
      inside = arith::AndIOp::create(inner, at, inside, above);
      inside = arith::AndIOp::create(inner, at, inside, below);
      position.push_back(p);
    }
    auto branch = scf::IfOp::create(
        inner, at, inside,
        [&](OpBuilder &then, Location l) {
          Value value = tensor::ExtractOp::create(then, l, source, position);
          scf::YieldOp::create(then, l, value);
        },
        [&](OpBuilder &otherwise, Location l) {
          Value value =
              cloneElementBody(otherwise, op.getRegion().front(), ivs);
          scf::YieldOp::create(otherwise, l, value);
        });
    return branch.getResult(0);
  };
  return buildElements(b, loc, sizes, empty, computesScalars(op.getRegion()),
                       element);
}

/// The shape of `pad`'s source, expanded as its only user expands the result;
/// empty where a dimension that is expanded is padded too.
static SmallVector<int64_t> expandedSourceShape(tensor::PadOp pad,
                                                tensor::ExpandShapeOp expand) {
  SmallVector<int64_t> shape(expand.getResultType().getShape());
  RankedTensorType source = pad.getSourceType();
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    bool isPadded =
        pad.getStaticLow()[dim] != 0 || pad.getStaticHigh()[dim] != 0;
    if (group.size() == 1)
      shape[group.front()] = source.getDimSize(dim);
    else if (isPadded)
      return {};
  }
  return shape;
}

/// Pads what is expanded in place of expanding what is padded, as before
/// convolutions in groups: each dimension of the padded buffer is then one loop
/// of what reads it. Static shapes only.
static void padExpanded(IRRewriter &b, tensor::PadOp pad) {
  if (!pad->hasOneUse() || !pad.getConstantPaddingValue() ||
      !pad.getLow().empty() || !pad.getHigh().empty())
    return;
  auto expand = dyn_cast<tensor::ExpandShapeOp>(*pad->user_begin());
  if (!expand || !expand.getResultType().hasStaticShape() ||
      !pad.getSourceType().hasStaticShape())
    return;
  SmallVector<int64_t> shape = expandedSourceShape(pad, expand);
  if (shape.empty())
    return;
  b.setInsertionPoint(pad);
  Value value = pad.getConstantPaddingValue();
  Operation *definition = value.getDefiningOp();
  if (definition && definition->getBlock() == pad.getBody())
    value = b.clone(*definition)->getResult(0);
  SmallVector<OpFoldResult> low(shape.size(), b.getIndexAttr(0)), high(low);
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    if (group.size() != 1)
      continue;
    low[group.front()] = b.getIndexAttr(pad.getStaticLow()[dim]);
    high[group.front()] = b.getIndexAttr(pad.getStaticHigh()[dim]);
  }
  Location loc = pad.getLoc();
  Type element = pad.getSourceType().getElementType();
  Value source = tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, element), pad.getSource(),
      expand.getReassociationIndices());
  Value padded = tensor::PadOp::create(b, loc, expand.getResultType(), source,
                                       low, high, value);
  b.replaceOp(expand, padded);
  b.eraseOp(pad);
}

static Value decomposePad(OpBuilder &b, tensor::PadOp op) {
  SmallVector<OpFoldResult> sizes = paddedSizes(b, op);
  // The block's own constants come first in what is cloned to compute one.
  if (Value value = op.getConstantPaddingValue()) {
    Operation *definition = value.getDefiningOp();
    if (definition && definition->getBlock() == op.getBody())
      value = b.clone(*definition)->getResult(0);
    return padWithValue(b, op, value, sizes);
  }
  return padWithRegion(b, op, sizes);
}

//===----------------------------------------------------------------------===//
// tensor.gather and tensor.scatter
//===----------------------------------------------------------------------===//

/// Reads the coordinates at `batch` of `indices`, checks them against the sizes
/// of `base`, and puts them at `dims` of `position`.
static void readCoordinates(OpBuilder &b, Location loc, Value indices,
                            ValueRange batch, ArrayRef<int64_t> dims,
                            Value base, StringRef message,
                            SmallVectorImpl<Value> &position) {
  Value zero = constantIndex(b, loc, 0);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    SmallVector<Value> at(batch);
    at.push_back(constantIndex(b, loc, i));
    Value index = tensor::ExtractOp::create(b, loc, indices, at);
    if (!index.getType().isIndex())
      index = arith::IndexCastOp::create(b, loc, b.getIndexType(), index);
    Value size = getValueOrCreateConstantIndexOp(
        b, loc, tensor::getMixedSize(b, loc, base, dim));
    Value above =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, index, zero);
    Value below =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, size);
    Value inRange = arith::AndIOp::create(b, loc, above, below);
    cf::AssertOp::create(b, loc, inRange, message);
    position[dim] = index;
  }
}

/// Fills the dimensions of `position` that `dims` leaves out from `slice`,
/// which has the gathered dimensions too (as size 1) if `keepsRank`.
static void placeSlice(ValueRange slice, ArrayRef<int64_t> dims, bool keepsRank,
                       SmallVectorImpl<Value> &position) {
  unsigned next = 0;
  for (unsigned dim = 0; dim < position.size(); ++dim) {
    bool gathered = llvm::is_contained(dims, int64_t(dim));
    if (!gathered)
      position[dim] = slice[next];
    if (!gathered || keepsRank)
      ++next;
  }
}

static Value decomposeGather(OpBuilder &b, tensor::GatherOp op) {
  Location loc = op.getLoc();
  Value source = op.getSource(), indices = op.getIndices();
  RankedTensorType type = op.getResultType();
  unsigned batchRank = op.getIndicesType().getRank() - 1;
  int64_t sourceRank = op.getSourceType().getRank();
  ArrayRef<int64_t> dims = op.getGatherDims();
  bool keepsRank = type.getRank() == int64_t(batchRank) + sourceRank;
  SmallVector<OpFoldResult> sizes;
  for (unsigned i = 0; i < batchRank; ++i)
    sizes.push_back(tensor::getMixedSize(b, loc, indices, i));
  for (int64_t dim = 0; dim < sourceRank; ++dim) {
    if (!llvm::is_contained(dims, dim))
      sizes.push_back(tensor::getMixedSize(b, loc, source, dim));
    else if (keepsRank)
      sizes.push_back(b.getIndexAttr(1));
  }
  Value empty = makeEmpty(b, loc, sizes, type);
  return buildGeneric(
      b, loc, empty, [&](OpBuilder &inner, Location at, ValueRange ivs) {
        SmallVector<Value> position(sourceRank);
        readCoordinates(inner, at, indices, ivs.take_front(batchRank), dims,
                        source, "tensor.gather: index out of range", position);
        placeSlice(ivs.drop_front(batchRank), dims, keepsRank, position);
        return Value(tensor::ExtractOp::create(inner, at, source, position));
      });
}

static Value decomposeScatter(OpBuilder &b, tensor::ScatterOp op) {
  Location loc = op.getLoc();
  Value source = op.getSource(), indices = op.getIndices();
  unsigned batchRank = op.getIndicesType().getRank() - 1;
  int64_t destRank = op.getDestType().getRank();
  ArrayRef<int64_t> dims = op.getScatterDims();
  bool keepsRank =
      op.getSourceType().getRank() == int64_t(batchRank) + destRank;
  // The loops walk the source, whose dimensions are the batch and the slice.
  SmallVector<OpFoldResult> sizes;
  for (int64_t i = 0; i < op.getSourceType().getRank(); ++i)
    sizes.push_back(tensor::getMixedSize(b, loc, source, i));
  return buildLoops(
      b, loc, sizes, op.getDest(),
      [&](OpBuilder &inner, ValueRange ivs, Value carried) {
        SmallVector<Value> position(destRank);
        readCoordinates(inner, loc, indices, ivs.take_front(batchRank), dims,
                        op.getDest(), "tensor.scatter: index out of range",
                        position);
        placeSlice(ivs.drop_front(batchRank), dims, keepsRank, position);
        Value value = tensor::ExtractOp::create(inner, loc, source, ivs);
        return Value(
            tensor::InsertOp::create(inner, loc, value, carried, position));
      });
}

//===----------------------------------------------------------------------===//
// linalg.pack and linalg.unpack
//===----------------------------------------------------------------------===//

/// The place of dimension `dim` among the outer dimensions.
static unsigned outerPlace(ArrayRef<int64_t> outerPerm, unsigned dim) {
  if (outerPerm.empty())
    return dim;
  return llvm::find(outerPerm, int64_t(dim)) - outerPerm.begin();
}

static Value decomposePack(OpBuilder &b, linalg::PackOp op) {
  Location loc = op.getLoc();
  Value source = op.getSource();
  unsigned rank = cast<RankedTensorType>(source.getType()).getRank();
  ArrayRef<int64_t> innerDims = op.getInnerDimsPos(),
                    perm = op.getOuterDimsPerm();
  SmallVector<Value> tiles, ends;
  for (OpFoldResult tile : op.getMixedTiles())
    tiles.push_back(getValueOrCreateConstantIndexOp(b, loc, tile));
  for (int64_t dim : innerDims)
    ends.push_back(getValueOrCreateConstantIndexOp(
        b, loc, tensor::getMixedSize(b, loc, source, dim)));
  Value padding = op.getPaddingValue();
  return buildGeneric(
      b, loc, op.getDest(),
      [&](OpBuilder &inner, Location at, ValueRange ivs) -> Value {
        SmallVector<Value> position;
        for (unsigned dim = 0; dim < rank; ++dim)
          position.push_back(ivs[outerPlace(perm, dim)]);
        Value inside;
        for (auto [i, dim] : llvm::enumerate(innerDims)) {
          Value first =
              arith::MulIOp::create(inner, at, position[dim], tiles[i]);
          position[dim] =
              arith::AddIOp::create(inner, at, first, ivs[rank + i]);
          Value below = arith::CmpIOp::create(
              inner, at, arith::CmpIPredicate::slt, position[dim], ends[i]);
          inside =
              inside
                  ? arith::AndIOp::create(inner, at, inside, below).getResult()
                  : below;
        }
        if (!padding || !inside)
          return tensor::ExtractOp::create(inner, at, source, position);
        auto branch = scf::IfOp::create(
            inner, at, inside,
            [&](OpBuilder &then, Location l) {
              Value value =
                  tensor::ExtractOp::create(then, l, source, position);
              scf::YieldOp::create(then, l, value);
            },
            [&](OpBuilder &otherwise, Location l) {
              scf::YieldOp::create(otherwise, l, padding);
            });
        return branch.getResult(0);
      });
}

static Value decomposeUnPack(OpBuilder &b, linalg::UnPackOp op) {
  Location loc = op.getLoc();
  Value source = op.getSource();
  unsigned rank = cast<RankedTensorType>(op.getDest().getType()).getRank();
  ArrayRef<int64_t> innerDims = op.getInnerDimsPos(),
                    perm = op.getOuterDimsPerm();
  Value one = constantIndex(b, loc, 1);
  SmallVector<Value> tiles;
  for (OpFoldResult tile : op.getMixedTiles()) {
    Value size = getValueOrCreateConstantIndexOp(b, loc, tile);
    // A tile of size 0 holds nothing, but must not divide.
    if (!getConstantIntValue(tile))
      size = arith::MaxUIOp::create(b, loc, size, one);
    tiles.push_back(size);
  }
  return buildGeneric(
      b, loc, op.getDest(), [&](OpBuilder &inner, Location at, ValueRange ivs) {
        SmallVector<Value> position(rank + innerDims.size());
        for (unsigned dim = 0; dim < rank; ++dim)
          position[outerPlace(perm, dim)] = ivs[dim];
        for (auto [i, dim] : llvm::enumerate(innerDims)) {
          position[outerPlace(perm, dim)] =
              arith::DivUIOp::create(inner, at, ivs[dim], tiles[i]);
          position[rank + i] =
              arith::RemUIOp::create(inner, at, ivs[dim], tiles[i]);
        }
        return Value(tensor::ExtractOp::create(inner, at, source, position));
      });
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

static Value decomposeSplat(OpBuilder &b, tensor::SplatOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  Value empty = makeEmpty(b, op.getLoc(),
                          mixedSizes(b, type, op.getDynamicSizes()), type);
  return linalg::FillOp::create(b, op.getLoc(), op.getInput(), empty)
      .getResult(0);
}

static Value decomposeConstant(OpBuilder &b, arith::ConstantOp op) {
  Location loc = op.getLoc();
  auto elements = cast<SplatElementsAttr>(op.getValue());
  Value value =
      arith::ConstantOp::create(b, loc, elements.getSplatValue<TypedAttr>());
  Value empty = tensor::EmptyOp::create(b, loc, elements.getType().getShape(),
                                        elements.getElementType());
  return linalg::FillOp::create(b, loc, value, empty).getResult(0);
}

static Value decomposeGenerate(OpBuilder &b, tensor::GenerateOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<OpFoldResult> sizes = mixedSizes(b, type, op.getDynamicExtents());
  Value empty = makeEmpty(b, op.getLoc(), sizes, type);
  return buildElements(
      b, op.getLoc(), sizes, empty, computesScalars(op.getBody()),
      [&](OpBuilder &inner, Location, ValueRange ivs) {
        return cloneElementBody(inner, op.getBody().front(), ivs);
      });
}

/// As one dimension, then as the result's: both reshapes are views.
static Value decomposeReshape(OpBuilder &b, tensor::ReshapeOp op) {
  Location loc = op.getLoc();
  Value flat = op.getSource();
  auto sourceType = cast<RankedTensorType>(flat.getType());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto allDims = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  int64_t count =
      type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic;
  Type element = type.getElementType();
  if (sourceType.getRank() == 0)
    flat = tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get({1}, element), flat,
        SmallVector<ReassociationIndices>());
  else if (sourceType.getRank() > 1)
    flat = tensor::CollapseShapeOp::create(b, loc, flat,
                                           allDims(sourceType.getRank()));
  auto flatType = RankedTensorType::get({count}, element);
  if (flat.getType() != flatType)
    flat = tensor::CastOp::create(b, loc, flatType, flat);
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, loc, type, flat,
                                           SmallVector<ReassociationIndices>());
  if (type.getRank() == 1)
    return flat;
  SmallVector<OpFoldResult> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i)) {
      sizes.push_back(b.getIndexAttr(type.getDimSize(i)));
      continue;
    }
    Value size = tensor::ExtractOp::create(b, loc, op.getShape(),
                                           constantIndex(b, loc, i));
    if (!size.getType().isIndex())
      size = arith::IndexCastOp::create(b, loc, b.getIndexType(), size);
    sizes.push_back(size);
  }
  return tensor::ExpandShapeOp::create(b, loc, type, flat,
                                       allDims(type.getRank()), sizes);
}

static Value decomposeBitcast(OpBuilder &b, tensor::BitcastOp op) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  Value source = op.getSource();
  Value empty = makeEmpty(b, loc, tensor::getMixedSizes(b, loc, source), type);
  return buildGeneric(
      b, loc, empty, [&](OpBuilder &inner, Location at, ValueRange ivs) {
        Value value = tensor::ExtractOp::create(inner, at, source, ivs);
        return Value(
            arith::BitcastOp::create(inner, at, type.getElementType(), value));
      });
}

/// True if what is put together has no elements whatever its dimension `dim`.
static bool isEmptyAcross(tensor::ConcatOp concat) {
  auto isEmpty = [&](Type type) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    return llvm::is_contained(shape.take_front(concat.getDim()), 0) ||
           llvm::is_contained(shape.drop_front(concat.getDim() + 1), 0);
  };
  return isEmpty(concat.getType()) ||
         llvm::any_of(concat.getInputs().getTypes(), isEmpty);
}

/// The values of an operation's results by upstream's own decomposition.
static FailureOr<SmallVector<Value>> decomposeUpstream(IRRewriter &b,
                                                       Operation *op) {
  if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    // Slices of no elements at the end of a tensor do not verify.
    ReifiedRankedShapedTypeDims sizes;
    if (isEmptyAcross(concat) && succeeded(concat.reifyResultShapes(b, sizes)))
      return SmallVector<Value>{makeEmpty(
          b, op->getLoc(), sizes[0], cast<RankedTensorType>(concat.getType()))};
    SmallVector<Value> parts =
        llvm::filter_to_vector(concat.getInputs(), [&](Value part) {
          auto type = cast<RankedTensorType>(part.getType());
          return type.getDimSize(concat.getDim()) != 0;
        });
    if (parts.empty()) {
      Value first = concat.getInputs().front();
      if (first.getType() != concat.getType())
        first =
            tensor::CastOp::create(b, op->getLoc(), concat.getType(), first);
      return SmallVector<Value>{first};
    }
    b.modifyOpInPlace(concat, [&]() { concat->setOperands(parts); });
    return concat.decomposeOperation(b);
  }
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    return softmax.decomposeOperation(b);
  return failure();
}

/// Rewrites by upstream functions that replace the operation themselves.
static FailureOr<Operation *> replaceUpstream(IRRewriter &b, Operation *op) {
  if (auto filter = dyn_cast<linalg::WinogradFilterTransformOp>(op))
    return linalg::decomposeWinogradFilterTransformOp(b, filter);
  if (auto input = dyn_cast<linalg::WinogradInputTransformOp>(op))
    return linalg::decomposeWinogradInputTransformOp(b, input);
  if (auto output = dyn_cast<linalg::WinogradOutputTransformOp>(op))
    return linalg::decomposeWinogradOutputTransformOp(b, output);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(b, linalgOp);
    if (failed(generic))
      return failure();
    return generic->getOperation();
  }
  return failure();
}

static Value decomposeOurs(OpBuilder &b, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](tensor::PadOp pad) { return decomposePad(b, pad); })
      .Case([&](tensor::GatherOp o) { return decomposeGather(b, o); })
      .Case([&](tensor::ScatterOp o) { return decomposeScatter(b, o); })
      .Case([&](arith::ConstantOp o) { return decomposeConstant(b, o); })
      .Case([&](tensor::SplatOp o) { return decomposeSplat(b, o); })
      .Case([&](tensor::GenerateOp o) { return decomposeGenerate(b, o); })
      .Case([&](tensor::ReshapeOp o) { return decomposeReshape(b, o); })
      .Case([&](tensor::BitcastOp o) { return decomposeBitcast(b, o); })
      .Case([&](linalg::PackOp o) { return decomposePack(b, o); })
      .Case([&](linalg::UnPackOp o) { return decomposeUnPack(b, o); })
      .Default([](Operation *) { return Value(); });
}

static LogicalResult decompose(Operation *op) {
  IRRewriter b(op->getContext());
  b.setInsertionPoint(op);
  if (isa<bufferization::DeallocTensorOp>(op)) {
    // Buffers belong to the arena; nothing frees them one by one.
    op->erase();
    return success();
  }
  if (Value value = decomposeOurs(b, op)) {
    b.replaceOp(op, value);
    return success();
  }
  if (isa<tensor::ConcatOp, linalg::SoftmaxOp>(op)) {
    FailureOr<SmallVector<Value>> values = decomposeUpstream(b, op);
    if (failed(values))
      return failure();
    b.replaceOp(op, *values);
    return success();
  }
  return replaceUpstream(b, op);
}

namespace {
struct DecomposeTensorOpsPass
    : impl::DecomposeTensorOpsBase<DecomposeTensorOpsPass> {
  void runOnOperation() override {
    if (failed(checkTypes(getOperation())))
      return signalPassFailure();
    SmallVector<tensor::PadOp> pads;
    getOperation()->walk([&](tensor::PadOp pad) { pads.push_back(pad); });
    IRRewriter rewriter(&getContext());
    for (tensor::PadOp pad : pads)
      padExpanded(rewriter, pad);
    SmallVector<Operation *> work;
    getOperation()->walk([&](Operation *op) {
      if (!isPartOfWork(op))
        return;
      // The same operations on memrefs belong to the next stage.
      if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
        ++numDeclined;
      else
        work.push_back(op);
    });
    if (failed(decomposeAll(work)))
      return signalPassFailure();
  }

  LogicalResult decomposeAll(ArrayRef<Operation *> work) {
    for (Operation *op : work) {
      StringRef name = op->getName().getStringRef();
      Location loc = op->getLoc();
      if (failed(decompose(op)))
        return emitError(loc)
               << "'" << name << "' has no decomposition for these operands";
      ++numApplied;
      remark(RemarkKind::Applied, loc, kPass, "decomposed") << arg("op", name);
    }
    return success();
  }
};
} // namespace

} // namespace polynest
