//===- OrderCopies.cpp - copies to results in an order that is right ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: reorders the `memref.copy` to results, and to inputs that results
// update, that stand at the end of an entry, so that each copy out of such a
// buffer comes before the copy that overwrites it; where buffers trade places,
// one goes through a temporary.
// Why: a result's buffer holds earlier values until the result is copied there.
// These copies are `bufferization.materialize_in_destination` on memrefs until
// one-shot bufferization, which does not see them as writes of tensors, hence
// no conflict with a value that lives in the buffer and is another result.
// Legal: the copies are the last effects of the function; between them stand
// pure operations and stores of scalar results only. A source that is no view
// of an argument or of an allocation may be anything, so it is read early.
// Profitable always: nothing is added unless buffers trade places.
// Cost: quadratic in the copies at the end, of which there is one a result.
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace polynest {
#define GEN_PASS_DEF_ORDERCOPIES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-order-copies"

using namespace mlir;

namespace polynest {

/// The memref that `value` is a view of.
static Value baseOf(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// True for a result, and for an input that one updates: nothing of the program
/// itself, which has tensors in their place, copies to them.
static bool isResult(Value value, func::FuncOp function) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.getBody().front())
    return false;
  unsigned index = argument.getArgNumber();
  return function.getArgAttr(index, "polynest.result") ||
         function.getArgAttr(index, "polynest.updated");
}

/// True if `copy` may read what a copy to `target` overwrites.
static bool mayRead(memref::CopyOp copy, Value target) {
  Value base = baseOf(copy.getSource());
  if (isa<BlockArgument>(base) || base.getDefiningOp<memref::AllocOp>())
    return base == target;
  return true;
}

/// The copies to whole results after which nothing else has an effect, in
/// order.
static SmallVector<memref::CopyOp> collectCopies(func::FuncOp function) {
  SmallVector<memref::CopyOp> copies;
  Operation *terminator = function.getBody().front().getTerminator();
  for (Operation *op = terminator->getPrevNode(); op; op = op->getPrevNode()) {
    auto copy = dyn_cast<memref::CopyOp>(op);
    // Of a buffer to itself: an input that was updated where it is.
    if (copy && copy.getSource() == copy.getTarget())
      continue;
    if (copy && isResult(copy.getTarget(), function)) {
      copies.push_back(copy);
      continue;
    }
    auto store = dyn_cast<memref::StoreOp>(op);
    if (!isPure(op) && !(store && isResult(store.getMemRef(), function)))
      break;
  }
  std::reverse(copies.begin(), copies.end());
  return copies;
}

/// True if another pending copy reads what `copy` overwrites.
static bool isBlocked(memref::CopyOp copy, ArrayRef<memref::CopyOp> pending) {
  return llvm::any_of(pending, [&](memref::CopyOp other) {
    return other != copy && mayRead(other, copy.getTarget());
  });
}

/// The order to run them in. The sources of those in `saved` are put into
/// temporaries before the first one.
struct Order {
  SmallVector<memref::CopyOp> copies;
  SmallVector<memref::CopyOp> saved;
};

static Order chooseOrder(SmallVector<memref::CopyOp> pending) {
  Order order;
  while (!pending.empty()) {
    auto *next = llvm::find_if(pending, [&](memref::CopyOp copy) {
      SmallVector<memref::CopyOp> unsaved =
          llvm::filter_to_vector(pending, [&](memref::CopyOp other) {
            return !llvm::is_contained(order.saved, other);
          });
      return !isBlocked(copy, unsaved);
    });
    if (next == pending.end()) {
      // Every one is blocked: free what the first one would overwrite.
      next = pending.begin();
      for (memref::CopyOp other : pending)
        if (other != *next && mayRead(other, next->getTarget()) &&
            !llvm::is_contained(order.saved, other))
          order.saved.push_back(other);
    }
    order.copies.push_back(*next);
    pending.erase(next);
  }
  return order;
}

/// Reads the source of `copy` into a temporary at `builder`.
static void saveSource(memref::CopyOp copy, OpBuilder &builder) {
  Location loc = copy.getLoc();
  auto type = cast<MemRefType>(copy.getSource().getType());
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(memref::DimOp::create(builder, loc, copy.getSource(), d));
  Value temporary = memref::AllocOp::create(
      builder, loc, MemRefType::get(type.getShape(), type.getElementType()),
      sizes, builder.getI64IntegerAttr(64));
  memref::CopyOp::create(builder, loc, copy.getSource(), temporary);
  copy.getSourceMutable().assign(temporary);
}

static void applyOrder(const Order &order, Operation *terminator) {
  for (memref::CopyOp copy : order.copies)
    copy->moveBefore(terminator);
  if (order.saved.empty())
    return;
  OpBuilder builder(order.copies.front());
  for (memref::CopyOp copy : order.saved)
    saveSource(copy, builder);
}

namespace {
struct OrderCopiesPass : impl::OrderCopiesBase<OrderCopiesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    SmallVector<memref::CopyOp> copies = collectCopies(function);
    Order order = chooseOrder(copies);
    if (order.copies == copies && order.saved.empty()) {
      ++numDeclined;
      markAllAnalysesPreserved();
      return;
    }
    ++numApplied;
    applyOrder(order, function.getBody().front().getTerminator());
  }
};
} // namespace

} // namespace polynest
