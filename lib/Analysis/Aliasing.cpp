// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Aliasing.cpp: which memrefs may share storage.

#include "Analysis/Aliasing.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace polynest {

Value getViewSource(Operation *op) {
  // Release 22 does not count a transpose among the views.
  if (auto transpose = dyn_cast<memref::TransposeOp>(op))
    return transpose.getIn();
  auto view = dyn_cast<ViewLikeOpInterface>(op);
  if (!view || !isa<BaseMemRefType>(view.getViewSource().getType()))
    return {};
  return view.getViewSource();
}

Value getBaseMemref(Value memref) {
  while (Operation *op = memref.getDefiningOp()) {
    Value source = getViewSource(op);
    if (!source)
      break;
    memref = source;
  }
  return memref;
}

/// An argument of the entry block of a function, or null.
static BlockArgument asFunctionArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return {};
  return argument;
}

StorageKind getStorageKind(Value memref) {
  if (Operation *op = memref.getDefiningOp()) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      return StorageKind::Allocation;
    if (isa<memref::GetGlobalOp>(op))
      return StorageKind::Global;
    return StorageKind::Unknown;
  }
  BlockArgument argument = asFunctionArgument(memref);
  if (!argument)
    return StorageKind::Unknown;
  auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  unsigned index = argument.getArgNumber();
  if (function.getArgAttr(index, "polynest.result") ||
      function.getArgAttr(index, "polynest.updated") ||
      function.getArgAttr(index, "polynest.arena") ||
      function.getArgAttr(index, "polynest.state") ||
      function.getArgAttr(index, "llvm.noalias"))
    return StorageKind::DistinctArgument;
  if (function->hasAttr("polynest.entry") &&
      !function.getArgAttr(index, "polynest.mutable"))
    return StorageKind::ReadOnlyArgument;
  return StorageKind::MutableArgument;
}

//===----------------------------------------------------------------------===//
// Byte ranges
//===----------------------------------------------------------------------===//

static std::optional<int64_t> elementBytes(MemRefType type) {
  Type element = type.getElementType();
  if (element.isIndex())
    return 8;
  if (!element.isIntOrFloat())
    return std::nullopt;
  return (int64_t(element.getIntOrFloatBitWidth()) + 7) / 8;
}

/// Bytes from the first to behind the last element, and the byte offset of the
/// first from where the type's layout counts; none unless static.
static std::optional<ByteRange> spanOf(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  std::optional<int64_t> bytes = elementBytes(type);
  if (!bytes || !type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset))
    return std::nullopt;
  int64_t first = offset, last = offset;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (size == 0)
      return ByteRange{0, 0};
    int64_t reach;
    if (ShapedType::isDynamic(stride) ||
        llvm::MulOverflow(size - 1, stride, reach) ||
        llvm::AddOverflow(reach < 0 ? first : last, reach,
                          reach < 0 ? first : last))
      return std::nullopt;
  }
  ByteRange range;
  if (llvm::MulOverflow(first, *bytes, range.begin) ||
      llvm::AddOverflow(last, int64_t(1), last) ||
      llvm::MulOverflow(last, *bytes, range.end))
    return std::nullopt;
  return range;
}

/// The operations by which a static layout's offset stays relative to the same
/// base: all but memref.view, which starts anew at its byte shift.
std::optional<ByteRange> getByteRange(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  std::optional<ByteRange> range = type ? spanOf(type) : std::nullopt;
  if (!range)
    return std::nullopt;
  while (Operation *op = memref.getDefiningOp()) {
    Value source = getViewSource(op);
    if (!source)
      break;
    if (auto cut = dyn_cast<memref::ViewOp>(op)) {
      APInt shift;
      std::optional<ByteRange> outer = getByteRange(source);
      if (!matchPattern(cut.getByteShift(), m_ConstantInt(&shift)) || !outer)
        return std::nullopt;
      int64_t by = shift.getSExtValue();
      if (llvm::AddOverflow(by, outer->begin, by) ||
          llvm::AddOverflow(range->begin, by, range->begin) ||
          llvm::AddOverflow(range->end, by, range->end))
        return std::nullopt;
      return range;
    }
    if (!isa<memref::SubViewOp, memref::CastOp, memref::ReinterpretCastOp,
             memref::ExpandShapeOp, memref::CollapseShapeOp,
             memref::TransposeOp, memref::AssumeAlignmentOp>(op))
      return std::nullopt;
    // A cast may have made a dynamic offset look static; both name the same
    // storage, so that the static form, if true at all, is right.
    memref = source;
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Aliasing
//===----------------------------------------------------------------------===//

bool mayAlias(Value a, Value b) {
  Value baseA = getBaseMemref(a), baseB = getBaseMemref(b);
  if (baseA == baseB) {
    if (a == b)
      return true;
    std::optional<ByteRange> rangeA = getByteRange(a);
    std::optional<ByteRange> rangeB = rangeA ? getByteRange(b) : std::nullopt;
    return !rangeA || !rangeB ||
           (rangeA->begin < rangeB->end && rangeB->begin < rangeA->end);
  }
  StorageKind kindA = getStorageKind(baseA), kindB = getStorageKind(baseB);
  if (kindA > kindB) {
    std::swap(kindA, kindB);
    std::swap(baseA, baseB);
  }
  if (kindB == StorageKind::Unknown) {
    // Nothing but a view can lead to storage that nobody was told of.
    return !isPrivateAllocation(baseA);
  }
  if (kindA == StorageKind::Allocation)
    return false;
  if (kindA == StorageKind::Global)
    // A global is storage of its own, one for each name.
    return kindB == StorageKind::Global &&
           baseA.getDefiningOp<memref::GetGlobalOp>().getName() ==
               baseB.getDefiningOp<memref::GetGlobalOp>().getName();
  return kindB != StorageKind::DistinctArgument;
}

bool isPrivateAllocation(Value memref) {
  Value base = getBaseMemref(memref);
  if (getStorageKind(base) != StorageKind::Allocation)
    return false;
  SmallVector<Value, 4> worklist{base};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (Value source = getViewSource(user)) {
        if (source != value)
          return false;
        for (Value result : user->getResults())
          if (isa<BaseMemRefType>(result.getType()))
            worklist.push_back(result);
        continue;
      }
      // A memref of memrefs could hold this one.
      if (isa<affine::AffineWriteOpInterface, memref::StoreOp>(user) &&
          use.getOperandNumber() == 0)
        return false;
      if (isa<affine::AffineReadOpInterface, affine::AffineWriteOpInterface,
              affine::AffinePrefetchOp, memref::LoadOp, memref::StoreOp,
              memref::CopyOp, memref::DeallocOp, memref::DimOp,
              memref::PrefetchOp, memref::AtomicRMWOp, vector::LoadOp,
              vector::StoreOp, vector::TransferReadOp, vector::TransferWriteOp,
              vector::MaskedLoadOp, vector::MaskedStoreOp, vector::GatherOp,
              vector::ScatterOp, memref::ExtractStridedMetadataOp>(user)) {
        if (auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(user))
          worklist.push_back(metadata.getBaseBuffer());
        continue;
      }
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// True if strides and sizes alone prove that no two index tuples meet: sorted
/// by stride, each one steps over all that the smaller ones reach.
static bool stridesAreInjective(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (size == 0)
      return true;
    if (size == 1)
      continue;
    if (ShapedType::isDynamic(stride) || stride == INT64_MIN)
      return false;
    dims.push_back({std::abs(stride), size});
  }
  llvm::sort(dims);
  int64_t reach = 0;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    auto [stride, size] = dim;
    if (stride <= reach)
      return false;
    if (i + 1 == dims.size())
      return true;
    int64_t span;
    if (ShapedType::isDynamic(size) ||
        llvm::MulOverflow(size - 1, stride, span) ||
        llvm::AddOverflow(reach, span, reach))
      return false;
  }
  return true;
}

bool hasInjectiveLayout(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type)
    return false;
  if (type.getLayout().isIdentity() || stridesAreInjective(type))
    return true;
  Operation *op = memref.getDefiningOp();
  if (!op)
    return false;
  if (auto subview = dyn_cast<memref::SubViewOp>(op)) {
    for (int64_t stride : subview.getStaticStrides())
      if (ShapedType::isDynamic(stride) || stride == 0)
        return false;
    return hasInjectiveLayout(subview.getSource());
  }
  if (isa<memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
          memref::TransposeOp, memref::AssumeAlignmentOp>(op))
    return hasInjectiveLayout(getViewSource(op));
  return false;
}

} // namespace polynest
