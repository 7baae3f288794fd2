//===- PrefetchRows.cpp - ask for the next row while this one is computed -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a nest goes over each row of an operand several times, and one of
// the later times reads it again, that loop asks for the same places of the
// next row (`affine.prefetch`). Legal always: nothing is read; an address past
// the end is no fault. Profitable when: the operand comes from beyond the
// core's own caches and a row stays there. The first time over a row runs at
// the speed of memory, and while the others compute memory stands still:
// prefetchers of the hardware see no stream, and how far they would go is less
// than a row. Loops that compute functions are long enough to hide the reading;
// where there is none, the last loop hides some of it, if it goes on by half a
// line at least. What later loops read out of a buffer is not asked for: two
// operands at once took longer. Limits: rows whose distance is constant; two
// operands a loop.
// Cost: operations of the nests.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace polynest {
#define GEN_PASS_DEF_PREFETCHROWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-prefetch-rows"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "prefetch-rows";

static constexpr int64_t lineBytes = 64;
static constexpr size_t mostOperands = 2;

namespace {
/// The reads of one operand in a loop, one a cache line.
struct Ahead {
  AffineForOp rows, loop;
  Value memref;
  SmallVector<Access, 2> reads;
  uint64_t rowBytes = 0, bytes = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Bytes between what consecutive iterations read; none if not known.
static std::optional<int64_t> getAdvance(const Access &access,
                                         AffineForOp loop) {
  auto type = cast<MemRefType>(access.memref.getType());
  std::optional<int64_t> elements = getStride(access, loop);
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  int64_t product;
  if (!elements || !bytes || llvm::MulOverflow(*elements, *bytes, product))
    return std::nullopt;
  return product;
}

/// True if an earlier loop reads the same rows of the operand.
static bool isReadAgain(const Access &read, AffineForOp rows,
                        ArrayRef<AffineForOp> earlier) {
  for (AffineForOp loop : earlier) {
    SmallVector<Access, 8> accesses;
    collectAccesses(loop, accesses);
    for (const Access &other : accesses)
      if (!other.isWrite && other.isAffine() && other.memref == read.memref &&
          getAdvance(other, rows) == getAdvance(read, rows))
        return true;
  }
  return false;
}

static bool asksAlready(AffineForOp loop) {
  return !loop.getBody()->getOps<AffinePrefetchOp>().empty();
}

/// What `loop`, inside of `rows` and behind the loops `earlier`, should ask
/// for if its iterations take `leastCycles` and go on by `leastBytes`.
static SmallVector<Ahead, 0>
findAhead(AffineForOp rows, AffineForOp loop, ArrayRef<AffineForOp> earlier,
          uint64_t cacheBytes, uint64_t leastCycles, int64_t leastBytes) {
  SmallVector<Ahead, 0> found;
  if (asksAlready(loop) || loop.getStepAsInt() <= 0 ||
      estimateCycles(loop.getBody()) < leastCycles)
    return found;
  SmallVector<Access, 8> accesses, all;
  collectAccesses(loop, accesses);
  collectAccesses(rows, all);
  llvm::MapVector<Value, Ahead> byMemref;
  for (const Access &access : accesses) {
    if (access.isWrite || !access.isAffine())
      continue;
    std::optional<int64_t> within = getAdvance(access, loop);
    std::optional<int64_t> next = getAdvance(access, rows);
    if (!within || !next || *within < leastBytes || *next == 0)
      continue;
    Ahead &ahead = byMemref[access.memref];
    ahead.rows = rows;
    ahead.loop = loop;
    ahead.memref = access.memref;
    ahead.rowBytes = saturatingMultiply(*within, estimateTrips(loop));
    ahead.bytes = saturatingMultiply(std::abs(*next), estimateTrips(rows));
    ahead.reads.push_back(access);
  }
  for (auto &entry : byMemref) {
    Ahead &ahead = entry.second;
    bool isWritten = llvm::any_of(all, [&](const Access &access) {
      return access.isWrite &&
             (!access.memref || mayAlias(access.memref, ahead.memref));
    });
    // The next row comes in beside this one and what is computed from it.
    if (!isWritten && ahead.bytes > cacheBytes &&
        ahead.rowBytes <= cacheBytes / 4 &&
        isReadAgain(ahead.reads.front(), rows, earlier) &&
        found.size() < mostOperands)
      found.push_back(std::move(ahead));
  }
  return found;
}

/// Of reads whose places differ by constants, those in lines of their own.
static void keepOneALine(Ahead &ahead) {
  SmallVector<Access, 2> kept;
  auto type = cast<MemRefType>(ahead.memref.getType());
  int64_t bytes = getElementBytes(type.getElementType()).value_or(1);
  for (const Access &read : ahead.reads) {
    bool isNear = llvm::any_of(kept, [&](const Access &other) {
      if (other.map.getAffineMap().getNumDims() !=
              read.map.getAffineMap().getNumDims() ||
          other.map.getOperands() != read.map.getOperands())
        return false;
      for (auto [d, pair] : llvm::enumerate(
               llvm::zip_equal(other.map.getAffineMap().getResults(),
                               read.map.getAffineMap().getResults()))) {
        auto [a, b] = pair;
        auto difference = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
            b - a, read.map.getNumDims(), read.map.getNumSymbols()));
        bool isLast = d + 1 == read.map.getNumResults();
        if (!difference ||
            (isLast ? std::abs(difference.getValue()) * bytes >= lineBytes
                    : difference.getValue() != 0))
          return false;
      }
      return true;
    });
    if (!isNear)
      kept.push_back(read);
  }
  ahead.reads = std::move(kept);
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

static void apply(Ahead &ahead) {
  OpBuilder builder = OpBuilder::atBlockBegin(ahead.loop.getBody());
  for (const Access &read : ahead.reads) {
    AffineMap map = read.map.getAffineMap();
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (read.map.getOperand(d) == ahead.rows.getInductionVar()) {
        AffineExpr dim = builder.getAffineDimExpr(d);
        map = map.replace(dim, dim + ahead.rows.getStepAsInt(),
                          map.getNumDims(), map.getNumSymbols());
      }
    // Into the second level: the first holds what is computed with.
    AffinePrefetchOp::create(builder, read.op->getLoc(), ahead.memref, map,
                             read.map.getOperands(), /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
  }
}

namespace {
struct PrefetchRowsPass : impl::PrefetchRowsBase<PrefetchRowsPass> {
  using PrefetchRowsBase::PrefetchRowsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkUnsigned(context, "cache-size-kib", cacheSizeKib, 16,
                         UINT64_C(1) << 20);
  }

  /// What the loops inside of `rows` should ask for.
  SmallVector<Ahead, 0> findAllAhead(AffineForOp rows) {
    SmallVector<AffineForOp> loops;
    for (auto loop : rows.getBody()->getOps<AffineForOp>())
      if (!holdsLoops(loop.getBody()))
        loops.push_back(loop);
    auto find = [&](size_t i, uint64_t leastCycles, int64_t leastBytes) {
      return findAhead(rows, loops[i], ArrayRef(loops).take_front(i),
                       uint64_t(cacheSizeKib) * 1024, leastCycles, leastBytes);
    };
    SmallVector<Ahead, 0> found;
    for (size_t i = 1; i < loops.size(); ++i)
      llvm::append_range(found, find(i, heavyCycles, 1));
    // Where no loop computes functions, the last one that reads a row again.
    if (llvm::none_of(loops, asksAlready))
      for (size_t i = loops.size(); found.empty() && i-- > 1;)
        found = find(i, 0, lineBytes / 2);
    numDeclined += loops.size() > 1 && found.empty();
    return found;
  }

  void runOnOperation() override {
    SmallVector<Ahead, 0> decisions;
    getOperation().walk([&](AffineForOp rows) {
      llvm::append_range(decisions, findAllAhead(rows));
    });
    for (Ahead &ahead : decisions) {
      keepOneALine(ahead);
      remark(RemarkKind::Applied, ahead.loop.getLoc(), passName,
             "next row asked for")
          << arg("row-bytes", ahead.rowBytes) << arg("bytes", ahead.bytes)
          << arg("lines", ahead.reads.size());
      apply(ahead);
    }
    numApplied += decisions.size();
  }
};
} // namespace

} // namespace polynest
