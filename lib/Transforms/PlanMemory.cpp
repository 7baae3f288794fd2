//===- PlanMemory.cpp - temporaries at planned offsets of one arena -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: gives every static allocation of an entry a place in one arena, a new
// last argument, so that a call makes no allocation; allocations whose lives do
// not overlap share bytes.
// Legal: a buffer lives from the first to the last operation of the entry's
// block that uses it or a view of it. One whose uses cannot all be followed
// (passed on through a loop, a select, a call) lives as long as the entry.
// Those inside a loop that runs its iterations at once are private to an
// iteration: small ones move to the stack, the others share one allocation of
// the loop's body in the same way. Profitable always: first touch of fresh
// pages costs more than most nests. Limits: allocations of dynamic size stay,
// but one takes the memory of another of the same type and sizes that nothing
// uses any more, as the same layers of a model leave them.
// Cost: n log n in allocations, times those alive at once.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace polynest {
#define GEN_PASS_DEF_PLANMEMORY
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-plan-memory"

using namespace mlir;

namespace polynest {

namespace {
struct Buffer {
  memref::AllocOp alloc;
  int64_t bytes;       // rounded up to the alignment
  int64_t first, last; // positions of operations in the entry's block
  int64_t offset = 0;
};
} // namespace

/// The loop around `op` whose iterations run at once, or null.
static Operation *enclosingParallel(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<affine::AffineParallelOp>(parent) &&
        parent->hasAttr("polynest.grain"))
      return parent;
  return nullptr;
}

/// Extends [first, last] by every use of `memref` and its views. Returns false
/// where a use hands the buffer on.
static bool coverUses(Value memref,
                      const DenseMap<Operation *, int64_t> &position,
                      Block *block, int64_t &first, int64_t &last) {
  for (Operation *user : memref.getUsers()) {
    Operation *top = block->findAncestorOpInBlock(*user);
    if (!top)
      return false;
    int64_t at = position.lookup(top);
    first = std::min(first, at);
    last = std::max(last, at);
    if (auto view = dyn_cast<ViewLikeOpInterface>(user)) {
      if (!coverUses(view->getResult(0), position, block, first, last))
        return false;
      continue;
    }
    // Operations that only read or write through the memref.
    bool hasMemrefResult = llvm::any_of(user->getResultTypes(), [](Type type) {
      return isa<BaseMemRefType>(type);
    });
    if (hasMemrefResult || user->hasTrait<OpTrait::IsTerminator>() ||
        isa<CallOpInterface>(user) || user->getNumRegions() > 0)
      return false;
  }
  return true;
}

/// Puts each buffer at the lowest offset where it fits between those alive at
/// the same time; larger ones first. Returns the arena's size.
static int64_t assignOffsets(SmallVectorImpl<Buffer> &buffers) {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::sort(order, [](const Buffer *a, const Buffer *b) {
    return std::tuple(-a->bytes, a->first, a) <
           std::tuple(-b->bytes, b->first, b);
  });
  SmallVector<Buffer *> placed; // by offset
  int64_t total = 0;
  for (Buffer *buffer : order) {
    int64_t offset = 0;
    for (Buffer *other : placed) {
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      if (offset + buffer->bytes <= other->offset)
        break;
      offset = std::max(offset, other->offset + other->bytes);
    }
    buffer->offset = offset;
    total = std::max(total, offset + buffer->bytes);
    placed.insert(llvm::upper_bound(placed, buffer,
                                    [](const Buffer *a, const Buffer *b) {
                                      return a->offset < b->offset;
                                    }),
                  buffer);
  }
  return total;
}

/// What two allocations have in common that are as large as each other,
/// whatever their sizes are.
static SmallVector<const void *> sizesOf(memref::AllocOp alloc) {
  SmallVector<const void *> key = {
      alloc.getType().getAsOpaquePointer(),
      alloc.getAlignmentAttr().getAsOpaquePointer()};
  for (Value size : alloc.getOperands())
    key.push_back(size.getAsOpaquePointer());
  return key;
}

/// Moves a private buffer to the stack.
static void promoteToStack(memref::AllocOp alloc) {
  OpBuilder builder(alloc);
  auto onStack =
      memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType(),
                               builder.getI64IntegerAttr(kBufferAlignment));
  alloc.replaceAllUsesWith(onStack.getResult());
  alloc.erase();
}

namespace {
struct PlanMemoryPass : impl::PlanMemoryBase<PlanMemoryPass> {
  using PlanMemoryBase::PlanMemoryBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkOption(context, "stack-limit-kib", stackLimitKib, 0, 1024);
  }

  void runOnOperation() override {
    func::FuncOp entry = getOperation();
    if (!entry->hasAttr("polynest.entry") || entry.isExternal())
      return;
    // A second run finds the arena of the first.
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (entry.getArgAttr(i, "polynest.arena"))
        return;
    SmallVector<Buffer> buffers, unknown;
    llvm::MapVector<Operation *, SmallVector<Buffer>> byLoop;
    collect(entry, buffers, unknown, byLoop);
    shareUnknown(unknown);
    for (auto &[loop, list] : byLoop)
      placePrivate(cast<affine::AffineParallelOp>(loop), list);
    numApplied += buffers.size();
    if (!buffers.empty())
      place(entry, buffers);
  }

  /// Numbers the operations of a block.
  static DenseMap<Operation *, int64_t> number(Block *block) {
    DenseMap<Operation *, int64_t> position;
    for (Operation &op : *block)
      position.try_emplace(&op, position.size());
    return position;
  }

  void collect(func::FuncOp entry, SmallVectorImpl<Buffer> &buffers,
               SmallVectorImpl<Buffer> &unknown,
               llvm::MapVector<Operation *, SmallVector<Buffer>> &byLoop) {
    Block *block = &entry.getBody().front();
    bool oneBlock = entry.getBody().hasOneBlock();
    DenseMap<Operation *, int64_t> position = number(block);
    int64_t end = position.size();
    entry.walk([&](memref::AllocOp alloc) {
      int64_t bytes = getAlignedBytes(alloc.getType()).value_or(-1);
      Buffer buffer = {alloc, bytes, end, 0};
      if (bytes < 0) {
        if (oneBlock && alloc->getBlock() == block &&
            coverUses(alloc, position, block, buffer.first, buffer.last))
          unknown.push_back(buffer);
        else
          decline(alloc);
        return;
      }
      if (Operation *loop = enclosingParallel(alloc)) {
        byLoop[loop].push_back(buffer);
        return;
      }
      if (!oneBlock ||
          !coverUses(alloc, position, block, buffer.first, buffer.last)) {
        buffer.first = 0;
        buffer.last = end;
      }
      buffers.push_back(buffer);
    });
  }

  void decline(memref::AllocOp alloc) {
    ++numDeclined;
    remark(RemarkKind::Declined, alloc.getLoc(), "plan-memory",
           "the size is not known")
        << arg("bytes", -1);
  }

  /// Puts buffers whose sizes are not known in the place of others that are as
  /// large and are not used any more.
  void shareUnknown(SmallVectorImpl<Buffer> &buffers) {
    SmallVector<Buffer *> order;
    for (Buffer &buffer : buffers)
      order.push_back(&buffer);
    llvm::sort(order, [](const Buffer *a, const Buffer *b) {
      return std::tie(a->first, a) < std::tie(b->first, b);
    });
    std::map<SmallVector<const void *>, SmallVector<Buffer *>> kept;
    for (Buffer *buffer : order) {
      SmallVector<Buffer *> &alike = kept[sizesOf(buffer->alloc)];
      auto free = llvm::find_if(alike, [&](const Buffer *other) {
        return other->last < buffer->first;
      });
      if (free == alike.end()) {
        decline(buffer->alloc);
        alike.push_back(buffer);
        continue;
      }
      ++numApplied;
      remark(RemarkKind::Applied, buffer->alloc.getLoc(), "plan-memory",
             "takes the memory of a buffer of the same sizes");
      (*free)->last = buffer->last;
      buffer->alloc.replaceAllUsesWith((*free)->alloc.getResult());
      buffer->alloc.erase();
    }
  }

  /// Puts the smallest private buffers of a loop on the stack, up to the limit,
  /// and the others at planned offsets of one allocation.
  void placePrivate(affine::AffineParallelOp loop,
                    SmallVectorImpl<Buffer> &list) {
    for (auto [i, buffer] : llvm::enumerate(list))
      buffer.first = int64_t(i);
    llvm::sort(list, [](const Buffer &a, const Buffer &b) {
      return std::tie(a.bytes, a.first) < std::tie(b.bytes, b.first);
    });
    numApplied += list.size();
    int64_t onStack = 0;
    SmallVector<Buffer> large;
    Block *body = loop.getBody();
    DenseMap<Operation *, int64_t> position = number(body);
    for (Buffer &buffer : list) {
      if (onStack + buffer.bytes <= stackLimitKib * 1024) {
        onStack += buffer.bytes;
        promoteToStack(buffer.alloc);
        continue;
      }
      buffer.first = position.size();
      if (!coverUses(buffer.alloc, position, body, buffer.first, buffer.last)) {
        buffer.first = 0;
        buffer.last = position.size();
      }
      large.push_back(buffer);
    }
    // A single one is that allocation already.
    if (large.size() < 2)
      return;
    int64_t total = assignOffsets(large);
    OpBuilder builder = OpBuilder::atBlockBegin(body);
    Value block = memref::AllocOp::create(
        builder, loop.getLoc(), MemRefType::get({total}, builder.getI8Type()),
        ValueRange(), ValueRange(),
        builder.getI64IntegerAttr(kBufferAlignment));
    replaceByViews(large, block);
    remark(RemarkKind::Applied, loop.getLoc(), "plan-memory",
           "private buffers share one allocation")
        << arg("buffers", large.size()) << arg("bytes", total);
  }

  /// Views of `block`, which is at the start of its own, in place of buffers.
  static void replaceByViews(ArrayRef<Buffer> buffers, Value block) {
    OpBuilder builder(block.getContext());
    for (const Buffer &buffer : buffers) {
      // Erasing an allocation below may erase what the builder stood at.
      builder.setInsertionPointAfterValue(block);
      memref::AllocOp alloc = buffer.alloc;
      Location loc = alloc.getLoc();
      Value offset =
          arith::ConstantIndexOp::create(builder, loc, buffer.offset);
      Value view = memref::ViewOp::create(builder, loc, alloc.getType(), block,
                                          offset, ValueRange());
      alloc.replaceAllUsesWith(view);
      alloc.erase();
    }
  }

  void place(func::FuncOp entry, SmallVectorImpl<Buffer> &buffers) {
    int64_t sum = 0;
    for (Buffer &buffer : buffers)
      sum += buffer.bytes;
    int64_t total = assignOffsets(buffers);
    Builder attributes(entry.getContext());
    auto type = MemRefType::get({total}, attributes.getI8Type());
    DictionaryAttr mark = attributes.getDictionaryAttr({NamedAttribute(
        attributes.getStringAttr("polynest.arena"), attributes.getUnitAttr())});
    // Cannot fail: an argument may always be appended.
    (void)entry.insertArgument(entry.getNumArguments(), type, mark,
                               entry.getLoc());
    Value arena = entry.getArguments().back();
    replaceByViews(buffers, arena);
    remark(RemarkKind::Applied, entry.getLoc(), "plan-memory",
           "buffers share one arena")
        << arg("function", entry.getName()) << arg("buffers", buffers.size())
        << arg("arena-bytes", total) << arg("sum-bytes", sum);
  }
};
} // namespace

} // namespace polynest
