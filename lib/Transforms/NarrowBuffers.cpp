//===- NarrowBuffers.cpp - values kept in the type they were rounded to ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a buffer of a wide type in which only values extended from one narrow
// type are stored keeps them in that type; they are extended where they are
// loaded. Programs that compute in half precision with sums in f32, such as
// PyTorch's under autocast, and products of bytes in i32 have such buffers.
// Legal when: the buffer is private and reached by affine loads and stores
// alone, and every store stores an extension (arith.extf, arith.extsi or
// arith.extui, the same in all) of a value of the same type, or a constant that
// is one. Extending again gives the same bits.
// Profitable when: elements are loaded about as often as they are stored (no
// more loops around a load than the buffer has dimensions), or the load is an
// operand of a contraction whose other operand is narrow as well: those are
// packed once, and units for dot products of narrow elements take them.
// Anything else, such as windows that slide, would extend again and again.
// Limits: buffers behind views stay.
// Cost: accesses, times chains of contractions that depend on each other.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Aliasing.h"
#include "Analysis/Contraction.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_NARROWBUFFERS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-narrow-buffers"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "narrow-buffers";

namespace {
/// A buffer and all that reaches it.
struct Buffer {
  /// Stores, and the narrow constant that each stores; null where it stores an
  /// extension, whose operand changes as other buffers do.
  SmallVector<std::pair<AffineStoreOp, Attribute>, 2> stores;
  SmallVector<AffineLoadOp, 2> loads;
  /// How stored values are extended, and from what.
  OperationName extension;
  Type narrow;
};

using Buffers = llvm::MapVector<Operation *, Buffer>;
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isExtension(Operation *op) {
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op);
}

/// The constant of type `narrow` that `extension` makes `value`; null if there
/// is none.
static Attribute narrowConstant(Value value, OperationName extension,
                                Type narrow) {
  Attribute attribute;
  if (!matchPattern(value, m_Constant(&attribute)))
    return {};
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    bool loses = false;
    APFloat exact = number.getValue();
    if (exact.isNaN())
      return {};
    exact.convert(cast<FloatType>(narrow).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &loses);
    return loses ? Attribute() : FloatAttr::get(narrow, exact);
  }
  auto number = dyn_cast<IntegerAttr>(attribute);
  if (!number)
    return {};
  unsigned width = narrow.getIntOrFloatBitWidth();
  bool fits = extension.getStringRef() == arith::ExtSIOp::getOperationName()
                  ? number.getValue().isSignedIntN(width)
                  : number.getValue().isIntN(width);
  return fits ? IntegerAttr::get(narrow, number.getValue().trunc(width))
              : Attribute();
}

/// What stores and loads the buffer; why it has to stay, or an empty string.
/// Buffers in which nothing is extended are none to speak of: no reason and no
/// stores.
static StringRef collect(memref::AllocOp alloc, std::optional<Buffer> &found) {
  Operation *first = nullptr;
  for (Operation *user : alloc->getUsers())
    if (auto store = dyn_cast<AffineStoreOp>(user))
      if (Operation *value = store.getValueToStore().getDefiningOp();
          isExtension(value))
        first = value;
  if (!first)
    return "";
  Buffer buffer{{}, {}, first->getName(), first->getOperand(0).getType()};
  for (Operation *user : alloc->getUsers()) {
    if (auto load = dyn_cast<AffineLoadOp>(user)) {
      buffer.loads.push_back(load);
      continue;
    }
    if (isa<memref::DeallocOp>(user))
      continue;
    auto store = dyn_cast<AffineStoreOp>(user);
    if (!store)
      return "it is reached by other operations";
    Value value = store.getValueToStore();
    Operation *op = value.getDefiningOp();
    if (isExtension(op) && op->getName() == buffer.extension &&
        op->getOperand(0).getType() == buffer.narrow)
      buffer.stores.push_back({store, Attribute()});
    else if (Attribute constant =
                 narrowConstant(value, buffer.extension, buffer.narrow))
      buffer.stores.push_back({store, constant});
    else
      return "other values are stored too";
  }
  found = std::move(buffer);
  return "";
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Loops around `op` that run more than once, and the outermost of all; those
/// around the allocation make a new buffer each time.
static unsigned countLoops(Operation *op, Operation *alloc,
                           AffineForOp &outermost) {
  unsigned count = 0;
  for (Operation *parent = op->getParentOp();
       parent && !parent->isProperAncestor(alloc);
       parent = parent->getParentOp())
    if (auto loop = dyn_cast<AffineForOp>(parent)) {
      outermost = loop;
      count += mayRunTwice(loop);
    }
  return count;
}

/// True if the operand's value is extended, or loaded from a buffer of
/// `buffers` without a change.
static bool isNarrow(const ContractionOperand &operand,
                     const Buffers &buffers) {
  Operation *value = operand.value.getDefiningOp();
  if (isExtension(value))
    return true;
  auto load = dyn_cast_if_present<AffineLoadOp>(value);
  return load && buffers.contains(load.getMemRef().getDefiningOp());
}

/// True if the load is read often enough only by what packs it.
static bool isWorth(AffineLoadOp load, const Buffers &buffers) {
  AffineForOp outermost;
  Operation *alloc = load.getMemRef().getDefiningOp();
  unsigned loops = countLoops(load, alloc, outermost);
  if (loops <= unsigned(load.getMemRefType().getRank()))
    return true;
  std::string reason;
  FailureOr<Contraction> contraction = matchContraction(outermost, reason);
  if (failed(contraction) || !isNarrow(contraction->left, buffers) ||
      !isNarrow(contraction->right, buffers))
    return false;
  Value value = load.getResult();
  return contraction->left.value == value || contraction->right.value == value;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

static void narrow(memref::AllocOp alloc, Buffer &buffer) {
  OpBuilder builder(alloc);
  auto wide = cast<MemRefType>(alloc.getType());
  auto type = MemRefType::get(wide.getShape(), buffer.narrow, wide.getLayout(),
                              wide.getMemorySpace());
  auto made = memref::AllocOp::create(builder, alloc.getLoc(), type,
                                      alloc.getDynamicSizes(),
                                      alloc.getAlignmentAttr());
  made->setDiscardableAttrs(llvm::to_vector(alloc->getDiscardableAttrs()));
  for (auto [store, constant] : buffer.stores) {
    Operation *extension = store.getValueToStore().getDefiningOp();
    builder.setInsertionPoint(store);
    Value value = constant
                      ? arith::ConstantOp::create(builder, store.getLoc(),
                                                  cast<TypedAttr>(constant))
                      : extension->getOperand(0);
    AffineStoreOp::create(builder, store.getLoc(), value, made,
                          store.getAffineMap(), store.getMapOperands());
    store.erase();
    if (extension->use_empty())
      extension->erase();
  }
  for (AffineLoadOp load : buffer.loads) {
    builder.setInsertionPoint(load);
    Value value =
        AffineLoadOp::create(builder, load.getLoc(), made, load.getAffineMap(),
                             load.getMapOperands());
    // What is rounded at once need not be extended.
    for (Operation *user : llvm::make_early_inc_range(load->getUsers()))
      if (isa<arith::TruncFOp, arith::TruncIOp>(user) &&
          user->getResult(0).getType() == buffer.narrow) {
        user->getResult(0).replaceAllUsesWith(value);
        user->erase();
      }
    if (!load->use_empty())
      load.replaceAllUsesWith(builder
                                  .create(load.getLoc(),
                                          buffer.extension.getIdentifier(),
                                          value, load.getType())
                                  ->getResult(0));
    load.erase();
  }
  alloc->replaceAllUsesWith(made); // what deallocates it
  alloc.erase();
}

namespace {
struct NarrowBuffersPass : impl::NarrowBuffersBase<NarrowBuffersPass> {
  using NarrowBuffersBase::NarrowBuffersBase;

  void runOnOperation() override {
    // What is narrow may make others narrow, or narrower.
    while (narrowAll())
      ;
  }

  /// Narrows what can be; false, with remarks, if that is nothing.
  bool narrowAll() {
    Buffers buffers;
    SmallVector<std::pair<Operation *, StringRef>> declined;
    getOperation().walk([&](memref::AllocOp alloc) {
      if (!isPrivateAllocation(alloc))
        return;
      std::optional<Buffer> found;
      StringRef reason = collect(alloc, found);
      if (found)
        buffers.insert({alloc, std::move(*found)});
      else if (!reason.empty())
        declined.push_back({alloc, reason});
    });
    // A contraction wants both of its operands narrow: one that stays may keep
    // another.
    while (true) {
      SmallPtrSet<Operation *, 4> left;
      for (auto &[op, buffer] : buffers)
        if (!llvm::all_of(buffer.loads, [&](AffineLoadOp load) {
              return isWorth(load, buffers);
            }))
          left.insert(op);
      if (left.empty())
        break;
      buffers.remove_if([&](auto &entry) {
        if (!left.contains(entry.first))
          return false;
        declined.push_back(
            {entry.first, "elements would be extended many times"});
        return true;
      });
    }
    if (buffers.empty()) {
      numDeclined += declined.size();
      for (auto [op, reason] : declined)
        remark(RemarkKind::Declined, op->getLoc(), passName, reason);
      return false;
    }
    for (auto &[op, buffer] : buffers) {
      remark(RemarkKind::Applied, op->getLoc(), passName, "kept narrow")
          << arg("type", buffer.narrow) << arg("loads", buffer.loads.size());
      narrow(cast<memref::AllocOp>(op), buffer);
    }
    numApplied += buffers.size();
    return true;
  }
};
} // namespace

} // namespace polynest
