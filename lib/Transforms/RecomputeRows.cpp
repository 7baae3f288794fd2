//===- RecomputeRows.cpp - compute rows again rather than keep them -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a row that a loop over rows keeps in a buffer of its own, such as the
// sum of two operands or the difference to the mean, is computed again from
// what it was computed from, in place of each load; the buffer goes away.
// Legal when: one store fills the whole buffer before every load; the value
// comes from pure operations, and from affine loads of memory that nothing
// from there to the end of the body writes.
// Profitable when: the body reads what the row is computed from there for the
// first time, and computing takes no more than the store and the loads of the
// buffer, the store taken for four operations. Where a row comes from memory,
// stores between its loads keep it from coming as fast as it could (LayerNorm
// of a sum, rows of 16 KiB, one thread: 6.5 ms with the buffer, 5.0 without;
// rows of 4 KiB 6.3 and 4.8; in a cache 2 to 5 % less). A later loop's stores
// do no harm: computing the difference to the mean again took up to 7 % longer.
// Limits: affine loads and stores; loops from 0 by steps of 1 that sweep the
// dimension.
// Cost: accesses of the bodies of loops with such buffers.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/NestParts.h"
#include "Support/Remark.h"
#include "Transforms/FilledBuffer.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace polynest {
#define GEN_PASS_DEF_RECOMPUTEROWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-recompute-rows"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "recompute-rows";

/// Operations that a store of the row is worth.
static constexpr uint64_t cyclesOfStore = 4;

/// True for arithmetic on narrow floats, which is widened and rounded around
/// each operation, and for such conversions.
static bool converts(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp>(op) ||
         (!isa<AffineLoadOp>(op) &&
          llvm::any_of(op->getResultTypes(), [](Type type) {
            return isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32;
          }));
}

/// A buffer that a loop's body makes and one store fills, read by affine.load
/// alone.
static std::optional<FilledBuffer> matchRow(Operation *alloc) {
  if (!isa_and_nonnull<AffineForOp>(alloc->getParentOp()))
    return std::nullopt;
  std::optional<FilledBuffer> filled = matchFilledBuffer(alloc->getResult(0));
  return filled && llvm::all_of(filled->loads, llvm::IsaPred<AffineLoadOp>)
             ? filled
             : std::nullopt;
}

/// True if what the slice loads is the same up to the end of the body.
static bool loadsStay(FilledBuffer &filled, ArrayRef<Operation *> slice) {
  SmallVector<Access, 0> accesses;
  Block *body = filled.root->getBlock();
  for (Operation &op :
       llvm::make_range(filled.root->getIterator(), body->end()))
    collectAccesses(&op, accesses, /*withIndices=*/false);
  llvm::erase_if(accesses, [&](const Access &access) {
    return access.op == filled.store.getOperation();
  });
  return llvm::all_of(slice, [&](Operation *op) {
    auto load = dyn_cast<AffineLoadOp>(op);
    return !load || !mayWrite(accesses, load.getMemRef());
  });
}

/// True if the slice loads what no earlier operation of the body touches.
static bool loadsFirst(FilledBuffer &filled, ArrayRef<Operation *> slice) {
  SmallVector<Access, 0> accesses;
  Block *body = filled.root->getBlock();
  for (Operation &op :
       llvm::make_range(body->begin(), filled.root->getIterator()))
    collectAccesses(&op, accesses, /*withIndices=*/false);
  return llvm::any_of(slice, [&](Operation *op) {
    auto load = dyn_cast<AffineLoadOp>(op);
    return load && llvm::none_of(accesses, [&](const Access &access) {
             return access.memref == load.getMemRef();
           });
  });
}

/// Why the row stays in its buffer, or null.
static const char *whyNot(FilledBuffer &filled, ArrayRef<Operation *> slice) {
  if (!llvm::all_of(slice, [](Operation *op) {
        return isa<AffineLoadOp>(op) ||
               (op->getNumRegions() == 0 && isPure(op));
      }))
    return "an element cannot be computed again";
  if (!findSweeps(filled))
    return "one nest does not fill all of the buffer";
  if (!llvm::all_of(filled.loads,
                    [&](Operation *load) { return comesBehind(load, filled); }))
    return "the buffer is read before it is full";
  uint64_t cycles = 0, reads = filled.loads.size();
  for (Operation *op : slice)
    if (!isa<AffineApplyOp>(op))
      cycles = saturatingAdd(cycles,
                             converts(op) ? cyclesOfStore : estimateCycles(op));
  if (saturatingMultiply(reads, cycles) > cyclesOfStore + reads)
    return "elements take more to compute than to keep";
  if (!loadsFirst(filled, slice))
    return "elements come from what was read before";
  if (!loadsStay(filled, slice))
    return "what elements are computed from is written";
  return nullptr;
}

namespace {
struct RecomputeRowsPass : impl::RecomputeRowsBase<RecomputeRowsPass> {
  using RecomputeRowsBase::RecomputeRowsBase;

  void runOnOperation() override {
    SmallVector<Operation *> allocs;
    getOperation().walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        allocs.push_back(op);
    });
    llvm::SmallSetVector<Operation *, 4> changed;
    // From the end: a row that is computed from another reads that one then.
    for (Operation *alloc : llvm::reverse(allocs)) {
      std::optional<FilledBuffer> filled = matchRow(alloc);
      if (!filled)
        continue;
      SliceCollector slice(filled->root);
      const char *why = failed(slice.add(filled->store.getValueToStore()))
                            ? "an element cannot be computed again"
                            : whyNot(*filled, slice.ops.getArrayRef());
      if (why) {
        ++numDeclined;
        remark(RemarkKind::Declined, alloc->getLoc(), passName, why);
        continue;
      }
      remark(RemarkKind::Applied, alloc->getLoc(), passName,
             "rows computed again where they are read")
          << arg("loads", filled->loads.size())
          << arg("operations", slice.ops.size());
      for (Operation *load : filled->loads)
        computeAt(*filled, slice.ops.getArrayRef(), cast<AffineLoadOp>(load));
      filled->store.erase();
      changed.insert(alloc->getParentOp());
      alloc->erase();
      if (isOpTriviallyDead(filled->root))
        filled->root.erase();
      ++numApplied;
    }
    for (Operation *rows : changed)
      composeIndices(rows);
  }
};
} // namespace

} // namespace polynest
