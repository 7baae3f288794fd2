//===- RecomputeIndices.cpp - what indices alone decide -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: loads of a private buffer whose elements are computed from their own
// indices alone (a range of numbers, a causal mask) are replaced by that
// computation; the buffer and what filled it go away. Indirect accesses whose
// indices then follow from those of loops become affine ones, and assertions
// that always hold go away.
// Legal when: one store fills the whole buffer, in a nest that runs before
// every load, and stores a value that nothing but the store's indices and
// values from outside of the nest decide, through operations without effects.
// An access becomes affine where its indices are known to lie in the memref:
// what an assertion guards must not run before it.
// Profitable when: it is a condition of a few cheap operations, none of them a
// division or a function, which passes behind see in place of a byte; or one
// operation, no more than a load.
// Limits: buffers with affine loads and stores; loops from 0 by steps of 1 that
// sweep the dimension; indices in dimensions of unknown size stay.
// Cost: linear in uses of buffers, times the operations that compute an
// element; in accesses, times the length of their index arithmetic.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/AffineValues.h"
#include "Analysis/NestParts.h"
#include "Support/EraseDead.h"
#include "Support/Remark.h"
#include "Transforms/FilledBuffer.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace polynest {
#define GEN_PASS_DEF_RECOMPUTEINDICES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-recompute-indices"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "recompute-indices";

/// Operations that an element may take, besides casts: a condition is worth
/// more than the byte that it saves, as passes see through it; another element
/// is loaded in one.
static constexpr int64_t mostOfCondition = 8, mostOfOther = 1;

namespace {
/// A buffer whose elements follow from their indices, and what computes the
/// stored value inside the nest, operands before users.
struct IndexBuffer {
  FilledBuffer filled;
  SmallVector<Operation *> slice;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// One that is allocated by memref.alloc and read by affine.load alone.
static std::optional<FilledBuffer> matchBuffer(memref::AllocOp alloc) {
  std::optional<FilledBuffer> filled = matchFilledBuffer(alloc);
  return filled && llvm::all_of(filled->loads, llvm::IsaPred<AffineLoadOp>)
             ? filled
             : std::nullopt;
}

static bool isCheap(Operation *op) {
  return isa<AffineApplyOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::CmpIOp,
             arith::MinSIOp, arith::MaxSIOp, arith::SelectOp,
             arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::SIToFPOp, arith::NegFOp, arith::AddFOp,
             arith::SubFOp, arith::MulFOp>(op);
}

/// Finds what computes the stored value; false if that reads memory or carries
/// values.
static bool followsFromIndices(IndexBuffer &buffer) {
  SliceCollector slice(buffer.filled.root);
  if (failed(slice.add(buffer.filled.store.getValueToStore())))
    return false;
  buffer.slice = slice.ops.takeVector();
  return llvm::all_of(buffer.slice, [](Operation *op) {
    return op->getNumRegions() == 0 && isMemoryEffectFree(op);
  });
}

/// Why the buffer stays, or null.
static const char *whyNot(IndexBuffer &buffer) {
  if (!findSweeps(buffer.filled))
    return "one nest does not fill all of the buffer";
  auto isCast = [](Operation *op) {
    return isa<AffineApplyOp, arith::IndexCastOp>(op);
  };
  auto type = cast<MemRefType>(buffer.filled.memref.getType());
  int64_t most =
      type.getElementType().isInteger(1) ? mostOfCondition : mostOfOther;
  if (int64_t(buffer.slice.size()) - llvm::count_if(buffer.slice, isCast) >
          most ||
      !llvm::all_of(buffer.slice, isCheap))
    return "elements take much to compute";
  if (!llvm::all_of(buffer.filled.loads, [&](Operation *load) {
        return comesBehind(load, buffer.filled);
      }))
    return "the buffer is read before it is full";
  return nullptr;
}

/// True if the assertion always holds.
static bool alwaysHolds(cf::AssertOp op) {
  auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
  return compare && AffineValueBuilder(op).decide(compare).value_or(false);
}

static bool liesInside(const AffineIndices &access, MemRefType type) {
  return llvm::all_of(llvm::enumerate(type.getShape()), [&](auto dim) {
    IntegerRange range = rangeOfExpr(
        access.map.getResult(dim.index()), access.map.getNumDims(),
        [&](unsigned i) { return rangeOfValue(access.operands[i]); });
    return range.isNonNegative() && range.isBounded() &&
           !ShapedType::isDynamic(dim.value()) && range.high < dim.value();
  });
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

namespace {
struct RecomputeIndicesPass : impl::RecomputeIndicesBase<RecomputeIndicesPass> {
  using RecomputeIndicesBase::RecomputeIndicesBase;

  void runOnOperation() override {
    recomputeBuffers();
    eraseAssertions();
    makeAccessesAffine();
  }

  void recomputeBuffers() {
    // Buffers that others are computed from come first.
    llvm::SetVector<Operation *> allocs;
    getOperation().walk<WalkOrder::PreOrder>([&](AffineStoreOp store) {
      if (auto alloc = store.getMemRef().getDefiningOp<memref::AllocOp>())
        allocs.insert(alloc);
    });
    for (Operation *op : allocs) {
      auto alloc = cast<memref::AllocOp>(op);
      std::optional<FilledBuffer> filled = matchBuffer(alloc);
      if (!filled)
        continue;
      IndexBuffer buffer{*filled, {}};
      if (!followsFromIndices(buffer))
        continue;
      if (const char *why = whyNot(buffer)) {
        ++numDeclined;
        remark(RemarkKind::Declined, alloc.getLoc(), passName, why);
        continue;
      }
      remark(RemarkKind::Applied, alloc.getLoc(), passName,
             "elements computed where they are read")
          << arg("loads", buffer.filled.loads.size())
          << arg("operations", buffer.slice.size());
      for (Operation *load : buffer.filled.loads)
        computeAt(buffer.filled, buffer.slice, cast<AffineLoadOp>(load));
      buffer.filled.store.erase();
      alloc.erase();
      if (isOpTriviallyDead(buffer.filled.root))
        buffer.filled.root.erase();
      ++numApplied;
    }
  }

  void eraseAssertions() {
    SmallVector<cf::AssertOp> asserts;
    getOperation().walk([&](cf::AssertOp op) {
      if (alwaysHolds(op))
        asserts.push_back(op);
    });
    for (cf::AssertOp op : asserts) {
      remark(RemarkKind::Applied, op.getLoc(), passName,
             "the assertion always holds");
      Operation *compare = op.getArg().getDefiningOp();
      op.erase();
      eraseDead(compare);
      ++numHeld;
    }
  }

  void makeAccessesAffine() {
    SmallVector<std::pair<Operation *, AffineIndices>> affine;
    getOperation().walk([&](Operation *op) {
      auto load = dyn_cast<memref::LoadOp>(op);
      auto store = dyn_cast<memref::StoreOp>(op);
      if (!load && !store)
        return;
      std::optional<AffineIndices> access =
          expressIndices(op, load ? load.getIndices() : store.getIndices());
      if (!access)
        return;
      if (liesInside(*access,
                     load ? load.getMemRefType() : store.getMemRefType())) {
        affine.emplace_back(op, *access);
        return;
      }
      ++numDeclined;
      remark(RemarkKind::Declined, op->getLoc(), passName,
             "indices are not known to lie inside");
    });
    for (auto &[op, access] : affine) {
      remark(RemarkKind::Applied, op->getLoc(), passName,
             "loops decide what is accessed");
      SmallVector<Operation *> indices;
      for (Value operand : op->getOperands())
        if (operand.getType().isIndex())
          if (Operation *index = operand.getDefiningOp())
            indices.push_back(index);
      makeAffine(op, access);
      eraseDead(indices);
      ++numAffine;
    }
  }
};
} // namespace

} // namespace polynest
