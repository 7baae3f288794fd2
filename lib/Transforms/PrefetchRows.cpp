//===- PrefetchRows.cpp - ask for the next row while this one is computed -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a nest goes over each row of an operand several times, and one of
// the later times reads it again, that loop asks for the same places of the
// next row (`affine.prefetch`). A loop that computes functions of what nobody
// has read before asks for what lies a page ahead. A loop along a row that data
// choose asks for one that they choose later (`memref.prefetch`), whose number
// is computed beforehand. A loop that reads one line of each of many rows, as
// transposes do, asks for the line after next of each. Legal always: nothing is
// read but numbers of rows, none behind the last; an address past the end is no
// fault. Profitable when: the operand comes from beyond the core's own caches
// and a row stays there; where data choose, each row begins a stream that
// nobody foresees. The first time over a row runs at the speed of memory, and
// while the others compute memory stands still: prefetchers of the hardware see
// no stream, and how far they would go is less than a row. Loops that compute
// functions are long enough to hide the reading; where there is none, the last
// loop hides some of it, if it goes on by half a line at least. Two operands
// at once take longer without functions (on a Zen 5 LayerNorm of a sum 5.4 ms
// for 5.0, in a cache 77 us for 66), but where a loop stores them to a buffer
// meanwhile. That is for processors on which requests hold up what runs beside
// them. Where `row-requests` says that they do not, all loops along such a row
// of operands that no cache holds ask for the next one, also of two operands
// and of what they do not read themselves, and pages of the row behind it are
// asked for in front of them: what has not come when one loop has asked is on
// its way while the next ones run (64 MiB on a Zen 4, pages of 4 KiB, by hand:
// RMSNorm 4.9 ms with requests in the last loop, 4.7 in both, 4.4 with pages;
// LayerNorm of a sum 11.2 without, with pages 9.1, with lines in one loop of
// three, too, 9.4, in two 8.8, in all 8.3).
// Where all is read once, prefetchers of the hardware stop at the end of each
// page, and behind it the loop would wait for an address and its first lines;
// without functions they are as fast as memory, and asking took longer, but
// where a loop only reduces what it reads: one place of each page of a row 16
// KiB ahead, asked for in front of the loop, has addresses looked up meanwhile
// (sum of 64 MiB in pages of 4 KiB on a Zen 4: 2.3 ms for 3.6; asking for all
// lines 3.1). Limits: rows whose distance is constant; two operands a loop;
// numbers of rows that loads and arithmetic make. Cost: operations of the
// nests.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace polynest {
#define GEN_PASS_DEF_PREFETCHROWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-prefetch-rows"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "prefetch-rows";

static constexpr size_t mostOperands = 2;
/// How far ahead of itself a loop asks: prefetchers of the hardware stop there,
/// and see no stream in what is read so far apart.
static constexpr int64_t pageBytes = 4096;
/// Lines of the shortest row worth the number of the next that data choose.
static constexpr int64_t leastLines = 8;
/// Lines ahead to ask for where one line of each row is read.
static constexpr int64_t linesAcross = 2;
/// What is on its way from memory while a row of these bytes, or a few shorter
/// ones, are read.
static constexpr uint64_t bytesAhead = 4096;
/// Pages that are asked for at once in front of a row, and the bytes ahead of
/// them: addresses of so many are looked up while the row is read.
static constexpr uint64_t mostPages = 16, pagesAheadBytes = 4 * 4096;
/// Operations that such a number may take.
static constexpr size_t mostOperations = 16;

namespace {
/// The reads of one operand in a loop, one a cache line. Without `rows` it asks
/// for what it reads a page later.
struct Ahead {
  AffineForOp rows, loop;
  Value memref;
  /// Where all loops along a row ask, the one that does; `reads` are then the
  /// first of what an iteration of `loop` reads in a run.
  AffineForOp asking;
  /// Of `rows`, from that which asks to that which reads.
  int64_t iterations = 1;
  /// Where only pages of the row are asked for, in front of the loop: how many.
  int64_t pages = 0;
  SmallVector<Access, 2> reads;
  uint64_t rowBytes = 0, bytes = 0;
};

/// The reads of rows that data choose, in a loop along them.
struct Chosen {
  AffineForOp rows, loop;
  SmallVector<vector::LoadOp, 4> reads;
  /// The number of the row, and what computes it, in order.
  Value number;
  SmallVector<Operation *> slice;
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

/// True if `earlier` ends where `loop` begins: what the first leaves of a row.
static bool isRest(AffineForOp loop, AffineForOp earlier) {
  return loop.hasConstantLowerBound() && earlier.hasConstantUpperBound() &&
         earlier.getConstantUpperBound() <= loop.getConstantLowerBound();
}

/// True if an earlier loop reads the same places in rows of the operand.
static bool isReadAgain(const Access &read, AffineForOp rows, AffineForOp along,
                        ArrayRef<AffineForOp> earlier) {
  for (AffineForOp loop : earlier) {
    if (isRest(along, loop))
      continue;
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
  return !loop.getBody()->getOps<AffinePrefetchOp>().empty() ||
         !loop.getBody()->getOps<memref::PrefetchOp>().empty();
}

/// True if pages are asked for in front of the loop.
static bool followsAsks(AffineForOp loop) {
  return isa_and_nonnull<AffinePrefetchOp>(loop->getPrevNode());
}

/// Of reads whose places differ by constants, those `gapBytes` apart.
static void keepApart(Ahead &ahead, int64_t gapBytes) {
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
            (isLast ? std::abs(difference.getValue()) * bytes >= gapBytes
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

/// What `loop` reads, operand by operand, of operands that nothing inside of
/// `around` writes: the reads that `measure` adds to the extent, where `pays`.
static SmallVector<Ahead, 0>
findOperands(AffineForOp loop, AffineForOp around,
             function_ref<bool(const Access &, Ahead &)> measure,
             function_ref<bool(const Ahead &)> pays) {
  SmallVector<Ahead, 0> found;
  if (asksAlready(loop) || loop.getStepAsInt() <= 0)
    return found;
  SmallVector<Access, 8> accesses;
  collectAccesses(around, accesses);
  llvm::MapVector<Value, Ahead> byMemref;
  for (const Access &access : accesses) {
    if (access.isWrite || !access.isAffine() || !loop->isAncestor(access.op))
      continue;
    auto [entry, isNew] = byMemref.try_emplace(access.memref);
    Ahead &ahead = entry->second;
    if (measure(access, ahead)) {
      ahead.loop = loop;
      ahead.memref = access.memref;
      ahead.reads.push_back(access);
    } else if (isNew) {
      byMemref.pop_back();
    }
  }
  for (auto &[memref, ahead] : byMemref) {
    if (found.size() == mostOperands)
      break;
    if (mayWrite(accesses, memref))
      continue;
    keepApart(ahead, kLineBytes);
    if (pays(ahead))
      found.push_back(std::move(ahead));
  }
  return found;
}

/// True, with the numbers in `ahead`, if `access` goes on by `leastBytes` in
/// `loop` and is elsewhere in the next iteration of `rows`.
static bool measureRow(const Access &access, AffineForOp rows, AffineForOp loop,
                       int64_t leastBytes, Ahead &ahead) {
  std::optional<int64_t> within = getAdvance(access, loop);
  std::optional<int64_t> next = getAdvance(access, rows);
  if (!within || !next || *within < leastBytes || *next == 0)
    return false;
  ahead.rows = rows;
  ahead.rowBytes = saturatingMultiply(*within, estimateTrips(loop));
  ahead.bytes = saturatingMultiply(std::abs(*next), estimateTrips(rows));
  return true;
}

/// What `loop`, inside of `rows` and behind the loops `earlier`, should ask
/// for if its iterations go on by `leastBytes`.
static SmallVector<Ahead, 0> findAhead(AffineForOp rows, AffineForOp loop,
                                       ArrayRef<AffineForOp> earlier,
                                       uint64_t cacheBytes,
                                       int64_t leastBytes) {
  auto measure = [&](const Access &access, Ahead &ahead) {
    return measureRow(access, rows, loop, leastBytes, ahead);
  };
  // The next row comes in beside this one and what is computed from it.
  return findOperands(loop, rows, measure, [&](const Ahead &ahead) {
    return ahead.bytes > cacheBytes && ahead.rowBytes <= cacheBytes / 4 &&
           isReadAgain(ahead.reads.front(), rows, loop, earlier);
  });
}

/// What `loop` reads across rows, a line of each, which the next iteration of
/// `rows` reads on from there.
static SmallVector<Ahead, 0> findAcross(AffineForOp rows, AffineForOp loop,
                                        uint64_t cacheBytes) {
  if (rows.getStepAsInt() <= 0)
    return {};
  auto measure = [&](const Access &access, Ahead &ahead) {
    std::optional<int64_t> within = getAdvance(access, loop);
    std::optional<int64_t> next = getAdvance(access, rows);
    if (!within || !next || std::abs(*within) < pageBytes || *next <= 0 ||
        *next > kLineBytes)
      return false;
    ahead.rows = rows;
    ahead.iterations = linesAcross;
    ahead.rowBytes += saturatingMultiply(kLineBytes, estimateTrips(loop));
    ahead.bytes = saturatingMultiply(std::abs(*within), estimateTrips(loop));
    return true;
  };
  // What the last level of caches holds comes soon enough.
  return findOperands(loop, rows, measure, [&](const Ahead &ahead) {
    auto type = cast<MemRefType>(ahead.memref.getType());
    uint64_t bytes = getBufferBytes(type).value_or(ahead.bytes);
    return bytes > 4 * cacheBytes && ahead.rowBytes <= cacheBytes / 4;
  });
}

//===----------------------------------------------------------------------===//
// What is read once
//===----------------------------------------------------------------------===//

/// True if `loop`, whose iterations read `bytes` each, and those around it go
/// on to what lies pages ahead.
static bool isLongRun(const Access &access, AffineForOp loop, uint64_t bytes) {
  for (uint64_t run = bytes; loop && run < uint64_t(4 * pageBytes);
       loop = dyn_cast<AffineForOp>(loop->getParentOp())) {
    int64_t advance = getAdvance(access, loop).value_or(0);
    // Gaps are no longer than what is read between them.
    if (advance <= 0 || uint64_t(advance) > 2 * run)
      return false;
    run = saturatingMultiply(uint64_t(advance), estimateTrips(loop));
    if (run >= uint64_t(4 * pageBytes))
      return true;
  }
  return false;
}

/// Bytes from the first to the last that loops around `access` read.
static uint64_t getExtent(const Access &access, AffineForOp loop) {
  uint64_t extent = 0;
  for (; loop; loop = dyn_cast<AffineForOp>(loop->getParentOp()))
    extent = std::max(
        extent,
        saturatingMultiply(std::abs(getAdvance(access, loop).value_or(0)),
                           estimateTrips(loop)));
  return extent;
}

/// True if the loop reduces what a later loop along the same rows waits for.
static bool reducesRows(AffineForOp loop, AffineForOp rows) {
  return rows && loop.getNumIterOperands() != 0 &&
         llvm::any_of(
             rows.getBody()->getOps<AffineForOp>(), [&](AffineForOp later) {
               return loop->isBeforeInBlock(later) && !isRest(later, loop);
             });
}

/// The operands that `loop`, an innermost one, reads from one end to the other
/// and computes functions of, if they are larger than `cacheBytes`, or reduces
/// for later loops, if they are no smaller than `memoryBytes`.
static SmallVector<Ahead, 0> findStreams(AffineForOp loop, uint64_t cacheBytes,
                                         uint64_t memoryBytes) {
  auto rows = dyn_cast<AffineForOp>(loop->getParentOp());
  bool isHeavy = computesFunctions(loop);
  if (holdsLoops(loop.getBody()) ||
      !(isHeavy || (memoryBytes != 0 && reducesRows(loop, rows))))
    return {};
  auto measure = [&](const Access &access, Ahead &ahead) {
    auto type = cast<MemRefType>(access.memref.getType());
    int64_t advance = getAdvance(access, loop).value_or(0);
    if (type.getRank() == 0 || !type.getLayout().isIdentity() ||
        advance < kLineBytes / 2)
      return false;
    ahead.rowBytes = saturatingMultiply(uint64_t(advance), estimateTrips(loop));
    ahead.bytes = getExtent(access, loop);
    return true;
  };
  SmallVector<Ahead, 0> found =
      findOperands(loop, rows ? rows : loop, measure, [&](const Ahead &ahead) {
        return ahead.bytes > cacheBytes &&
               (isHeavy || ahead.bytes >= memoryBytes) &&
               isLongRun(ahead.reads.front(), loop,
                         ahead.reads.size() * kLineBytes);
      });
  // Two operands at once take longer, but where stores come between.
  bool stores =
      llvm::any_of(*loop.getBody(), llvm::IsaPred<AffineVectorStoreOp>);
  if (!isHeavy && !stores && found.size() > 1)
    found.clear();
  return found;
}

/// True, with the numbers in `ahead`, if what `access` reads in `loop` are rows
/// of whole pages that follow on each other in memory.
static bool measurePages(const Access &access, AffineForOp rows,
                         AffineForOp loop, Ahead &ahead) {
  auto type = cast<MemRefType>(access.memref.getType());
  int64_t advance = getAdvance(access, loop).value_or(0);
  int64_t next = getAdvance(access, rows).value_or(0);
  uint64_t bytes = saturatingMultiply(uint64_t(std::max<int64_t>(advance, 0)),
                                      estimateTrips(loop));
  if (type.getRank() == 0 || !type.getLayout().isIdentity() || next <= 0 ||
      !loop.hasConstantLowerBound() || advance < kLineBytes / 2 ||
      bytes != uint64_t(next) || bytes < uint64_t(pageBytes) ||
      bytes > mostPages * pageBytes)
    return false;
  ahead.rows = rows;
  ahead.iterations = int64_t(llvm::divideCeil(pagesAheadBytes, bytes));
  ahead.pages = int64_t(bytes / pageBytes);
  ahead.rowBytes = bytes;
  // Blocks of rows may be numbered by loops that bound this one.
  ahead.bytes = getBufferBytes(type).value_or(getExtent(access, loop));
  return true;
}

/// What `loop`, an innermost one that only reduces, reads of rows that follow
/// on each other in memory, if it is no smaller than `memoryBytes`: one place a
/// page of a later row.
static SmallVector<Ahead, 0> findPages(AffineForOp loop, uint64_t memoryBytes) {
  auto rows = dyn_cast<AffineForOp>(loop->getParentOp());
  if (!rows || memoryBytes == 0 || holdsLoops(loop.getBody()) ||
      loop.getNumIterOperands() == 0 || computesFunctions(loop) ||
      rows.getStepAsInt() <= 0 || reducesRows(loop, rows))
    return {};
  return findOperands(
      loop, rows,
      [&](const Access &access, Ahead &ahead) {
        return measurePages(access, rows, loop, ahead);
      },
      [&](const Ahead &ahead) { return ahead.bytes >= memoryBytes; });
}

/// How much the index of `loop` grows from one line that it reads to the next,
/// 0 if that is no whole number.
static int64_t getIndicesOfLine(const Access &read, AffineForOp loop) {
  int64_t bytes = getAdvance(read, loop).value_or(0) / loop.getStepAsInt();
  return bytes > 0 && kLineBytes % bytes == 0 ? kLineBytes / bytes : 0;
}

/// True if both loops go over the same indices, but for the last few.
static bool runAlong(AffineForOp a, AffineForOp b) {
  if (!a.hasConstantBounds() || !b.hasConstantBounds() ||
      a.getConstantLowerBound() != b.getConstantLowerBound())
    return false;
  return std::abs(a.getConstantUpperBound() - b.getConstantUpperBound()) <
         std::max(a.getStepAsInt(), b.getStepAsInt());
}

/// What `loops`, all that run along the same rows, should ask for, each of
/// them, if none computes functions and what they read is no smaller than
/// `memoryBytes`: lines of the next row, and pages of the one behind it.
static SmallVector<Ahead, 0> findInAll(AffineForOp rows,
                                       ArrayRef<AffineForOp> loops,
                                       uint64_t cacheBytes,
                                       uint64_t memoryBytes) {
  SmallVector<Ahead, 0> found;
  if (memoryBytes == 0 || rows.getStepAsInt() <= 0 ||
      llvm::any_of(loops, [](AffineForOp loop) {
        return computesFunctions(loop) || asksAlready(loop) ||
               followsAsks(loop) || loop.getStepAsInt() <= 0;
      }))
    return found;
  auto pays = [&](const Ahead &ahead) {
    return ahead.bytes >= memoryBytes && ahead.rowBytes <= cacheBytes / 4;
  };
  llvm::SmallPtrSet<Value, 4> seen;
  for (AffineForOp loop : loops) {
    SmallVector<AffineForOp> asking = llvm::filter_to_vector(
        loops, [&](AffineForOp other) { return runAlong(loop, other); });
    if (asking.size() < 2)
      continue;
    auto measure = [&](const Access &access, Ahead &ahead) {
      return measureRow(access, rows, loop, kLineBytes / 2, ahead) &&
             getIndicesOfLine(access, loop) != 0;
    };
    for (Ahead &ahead : findOperands(loop, rows, measure, pays)) {
      if (seen.size() == mostOperands || !seen.insert(ahead.memref).second)
        continue;
      Ahead pages;
      if (measurePages(ahead.reads.front(), rows, loop, pages)) {
        pages.loop = loop;
        pages.memref = ahead.memref;
        pages.reads = ahead.reads;
        ++pages.iterations;
        found.push_back(std::move(pages));
      }
      keepApart(ahead, *getAdvance(ahead.reads.front(), loop));
      for (AffineForOp other : asking) {
        found.push_back(ahead);
        found.back().asking = other;
      }
    }
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Rows that data choose
//===----------------------------------------------------------------------===//

/// Collects what computes `value` in an iteration of `rows`, whichever that of
/// the loop along the row is. False if that has effects or is too much.
static bool collectSlice(Value value, Chosen &chosen, ArrayRef<Access> accesses,
                         llvm::SetVector<Operation *> &slice) {
  if (value == chosen.rows.getInductionVar() ||
      !chosen.rows->isAncestor(value.getParentBlock()->getParentOp()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || slice.size() == mostOperations)
    return false;
  if (slice.contains(op))
    return true;
  auto load = dyn_cast<AffineLoadOp>(op);
  if (load ? mayWrite(accesses, load.getMemRef())
           : !isPure(op) || isa<AffineMinOp, AffineMaxOp>(op))
    return false;
  if (!llvm::all_of(op->getOperands(), [&](Value operand) {
        return collectSlice(operand, chosen, accesses, slice);
      }))
    return false;
  slice.insert(op);
  return true;
}

/// The rows that data choose which `loop`, inside of `rows`, reads along.
static std::optional<Chosen> findChosen(AffineForOp rows, AffineForOp loop,
                                        uint64_t cacheBytes) {
  Chosen chosen;
  chosen.rows = rows;
  chosen.loop = loop;
  bool hasLast = rows.hasConstantBounds()
                     ? rows.getStepAsInt() > 0
                     : rows.getStepAsInt() == 1 &&
                           rows.getUpperBoundMap().getNumResults() == 1;
  if (loop.getBody()->getOps<vector::LoadOp>().empty() || asksAlready(loop) ||
      loop.getStepAsInt() <= 0 || !hasLast ||
      getTripCount(loop).value_or(0) == 0)
    return std::nullopt;
  SmallVector<Access, 8> accesses;
  collectAccesses(rows, accesses);
  llvm::SetVector<Operation *> slice;
  for (auto load : loop.getBody()->getOps<vector::LoadOp>()) {
    MemRefType type = load.getMemRefType();
    std::optional<uint64_t> bytes = getBufferBytes(type);
    std::optional<int64_t> element = getElementBytes(type.getElementType());
    Value number = load.getIndices().front();
    auto along = getAffineValue(load.getIndices().back());
    if (!bytes || *bytes <= cacheBytes || !element || type.getRank() != 2 ||
        (chosen.number && number != chosen.number) || !along ||
        !llvm::is_contained(along->getOperands(), loop.getInductionVar()) ||
        mayWrite(accesses, load.getBase()))
      continue;
    if (!chosen.number && (!collectSlice(number, chosen, accesses, slice) ||
                           llvm::none_of(slice, [](Operation *op) {
                             return isa<AffineLoadOp>(op);
                           })))
      return std::nullopt;
    chosen.number = number;
    chosen.bytes = *bytes;
    chosen.rowBytes = saturatingMultiply(
        uint64_t(loop.getStepAsInt() * *element), estimateTrips(loop));
    chosen.reads.push_back(load);
  }
  if (chosen.reads.empty() || chosen.rowBytes > cacheBytes / 4 ||
      chosen.rowBytes < uint64_t(leastLines * kLineBytes))
    return std::nullopt;
  chosen.slice = slice.takeVector();
  return chosen;
}

/// How many rows ahead to ask for one.
static int64_t getRowsAhead(uint64_t rowBytes) {
  return int64_t(std::max<uint64_t>(bytesAhead / rowBytes, 1));
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Elements of a page of what is read.
static int64_t getPageElements(Ahead &ahead) {
  auto type = cast<MemRefType>(ahead.memref.getType());
  return pageBytes / getElementBytes(type.getElementType()).value_or(pageBytes);
}

/// The place of `read` with `place` of a variable instead of the variable.
static AffineMap
placeInstead(const Access &read, AffineMap map, Value variable,
             llvm::function_ref<AffineExpr(AffineExpr variable)> place) {
  for (unsigned d = 0; d < map.getNumDims(); ++d)
    if (read.map.getOperand(d) == variable) {
      AffineExpr dim = getAffineDimExpr(d, map.getContext());
      map = map.replace(dim, place(dim), map.getNumDims(), map.getNumSymbols());
    }
  return map;
}

/// The place of `read` in the later row.
static AffineMap moveToRow(const Access &read, Ahead &ahead) {
  int64_t distance = ahead.iterations * ahead.rows.getStepAsInt();
  return placeInstead(read, read.map.getAffineMap(),
                      ahead.rows.getInductionVar(),
                      [&](AffineExpr row) { return row + distance; });
}

/// Into the second level: the first holds what is computed with.
static void askFor(OpBuilder &builder, Location loc, Value memref,
                   AffineMap map, ArrayRef<Value> operands) {
  AffinePrefetchOp::create(builder, loc, memref, map, operands,
                           /*isWrite=*/false, /*localityHint=*/2,
                           /*isDataCache=*/true);
}

/// One place a page of a later row, in front of the loop along it.
static void applyPages(Ahead &ahead) {
  OpBuilder builder(ahead.loop);
  const Access &read = ahead.reads.front();
  int64_t page = getPageElements(ahead);
  int64_t first = ahead.loop.getConstantLowerBound();
  int64_t stride = getStride(read, ahead.loop).value_or(1);
  int64_t step = ahead.loop.getStepAsInt();
  for (int64_t i = 0; i < ahead.pages; ++i) {
    SmallVector<Value> operands(read.map.getOperands());
    AffineMap map = placeInstead(read, moveToRow(read, ahead),
                                 ahead.loop.getInductionVar(), [&](AffineExpr) {
                                   return builder.getAffineConstantExpr(
                                       first + i * page / stride * step);
                                 });
    canonicalizeMapAndOperands(&map, &operands);
    askFor(builder, read.op->getLoc(), ahead.memref, map, operands);
  }
}

/// Each line of the later row that an iteration of `asking` stands for.
static void applyInOther(Ahead &ahead) {
  AffineForOp asking = ahead.asking;
  OpBuilder builder = OpBuilder::atBlockBegin(asking.getBody());
  for (const Access &read : ahead.reads) {
    int64_t indices = getIndicesOfLine(read, ahead.loop);
    SmallVector<Value> operands(read.map.getOperands());
    llvm::replace(operands, Value(ahead.loop.getInductionVar()),
                  Value(asking.getInductionVar()));
    for (int64_t i = 0; i < asking.getStepAsInt(); i += indices)
      askFor(builder, read.op->getLoc(), ahead.memref,
             placeInstead(read, moveToRow(read, ahead),
                          ahead.loop.getInductionVar(),
                          [&](AffineExpr index) { return index + i; }),
             operands);
  }
}

static void apply(Ahead &ahead) {
  if (ahead.pages != 0)
    return applyPages(ahead);
  if (ahead.asking)
    return applyInOther(ahead);
  OpBuilder builder = OpBuilder::atBlockBegin(ahead.loop.getBody());
  int64_t page = getPageElements(ahead);
  for (const Access &read : ahead.reads) {
    AffineMap map = read.map.getAffineMap();
    if (!ahead.rows) {
      unsigned last = map.getNumResults() - 1;
      SmallVector<AffineExpr> places(map.getResults());
      places[last] = places[last] + page;
      map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), places,
                           builder.getContext());
    } else {
      map = moveToRow(read, ahead);
    }
    askFor(builder, read.op->getLoc(), ahead.memref, map,
           llvm::to_vector(read.map.getOperands()));
  }
}

/// Computes the number of the row `iterations` ahead, or of the last.
static Value buildNumber(OpBuilder &builder, Chosen &chosen,
                         int64_t iterations) {
  AffineForOp rows = chosen.rows;
  int64_t step = rows.getStepAsInt();
  Location loc = chosen.loop.getLoc();
  AffineMap upper = rows.getUpperBoundMap();
  ValueRange bounds = rows.getUpperBoundOperands();
  unsigned dims = upper.getNumDims();
  SmallVector<Value> operands(bounds.take_front(dims));
  operands.push_back(rows.getInductionVar());
  llvm::append_range(operands, bounds.drop_front(dims));
  AffineExpr row = builder.getAffineDimExpr(dims);
  // Rows are a number of steps from the first, which is known, or one apart.
  AffineExpr last = upper.getResult(0) - 1;
  if (rows.hasConstantBounds())
    last = builder.getAffineConstantExpr(
        rows.getConstantLowerBound() + int64_t(estimateTrips(rows) - 1) * step);
  IRMapping mapping;
  mapping.map(
      rows.getInductionVar(),
      AffineMinOp::create(builder, loc,
                          AffineMap::get(dims + 1, upper.getNumSymbols(),
                                         {row + iterations * step, last},
                                         builder.getContext()),
                          operands)
          .getResult());
  // The next row is no variable of a loop that affine operations could take.
  auto expand = [&](AffineMap map, ValueRange from) {
    SmallVector<Value> operands;
    for (Value operand : from)
      operands.push_back(mapping.lookupOrDefault(operand));
    return *expandAffineMap(builder, loc, map, operands);
  };
  for (Operation *op : chosen.slice) {
    if (auto load = dyn_cast<AffineLoadOp>(op))
      mapping.map(load.getResult(),
                  memref::LoadOp::create(
                      builder, loc, load.getMemRef(),
                      expand(load.getAffineMap(), load.getMapOperands()))
                      .getResult());
    else if (auto index = dyn_cast<AffineApplyOp>(op))
      mapping.map(index.getResult(),
                  expand(index.getAffineMap(), index.getMapOperands()).front());
    else
      builder.clone(*op, mapping);
  }
  return mapping.lookup(chosen.number);
}

/// Asks for a row that a later iteration reads, and for the beginning of the
/// one as far behind it, whose address is translated meanwhile.
static void apply(Chosen &chosen) {
  OpBuilder builder(chosen.loop);
  auto ask = [&](vector::LoadOp read, Value number, Value column) {
    memref::PrefetchOp::create(builder, read.getLoc(), read.getBase(),
                               ValueRange{number, column},
                               /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  };
  int64_t ahead = getRowsAhead(chosen.rowBytes);
  Value number = buildNumber(builder, chosen, ahead);
  Value next = buildNumber(builder, chosen, 2 * ahead);
  ask(chosen.reads.front(), next,
      arith::ConstantIndexOp::create(builder, chosen.loop.getLoc(), 0));
  for (vector::LoadOp read : chosen.reads) {
    builder.setInsertionPoint(read);
    ask(read, number, read.getIndices().back());
  }
}

namespace {
struct PrefetchRowsPass : impl::PrefetchRowsBase<PrefetchRowsPass> {
  using PrefetchRowsBase::PrefetchRowsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return success(
        succeeded(checkUnsigned(context, "cache-size-kib", cacheSizeKib, 16,
                                UINT64_C(1) << 20)) &&
        succeeded(checkUnsigned(context, "threshold-kib", thresholdKib, 0,
                                UINT64_C(1) << 32)) &&
        succeeded(checkUnsigned(context, "row-requests", rowRequests, 0, 1)));
  }

  /// What the loops inside of `rows` should ask for.
  SmallVector<Ahead, 0> findAllAhead(AffineForOp rows) {
    SmallVector<AffineForOp> loops;
    for (auto loop : rows.getBody()->getOps<AffineForOp>())
      if (!holdsLoops(loop.getBody()))
        loops.push_back(loop);
    SmallVector<Ahead, 0> found;
    if (rowRequests != 0)
      found = findInAll(rows, loops, uint64_t(cacheSizeKib) * 1024,
                        uint64_t(thresholdKib) * 1024);
    if (!found.empty())
      return found;
    auto find = [&](size_t i, int64_t leastBytes) {
      return findAhead(rows, loops[i], ArrayRef(loops).take_front(i),
                       uint64_t(cacheSizeKib) * 1024, leastBytes);
    };
    for (size_t i = 1; i < loops.size(); ++i)
      if (computesFunctions(loops[i]))
        llvm::append_range(found, find(i, 1));
    // Where no loop computes functions, the last one that reads a row again.
    if (llvm::none_of(loops, asksAlready))
      for (size_t i = loops.size(); found.empty() && i-- > 1;)
        found = find(i, kLineBytes / 2);
    if (found.size() > 1 && llvm::none_of(loops, computesFunctions))
      found.clear();
    numDeclined += loops.size() > 1 && found.empty();
    return found;
  }

  void runOnOperation() override {
    SmallVector<Ahead, 0> decisions;
    SmallVector<Chosen, 0> choices;
    uint64_t cacheBytes = uint64_t(cacheSizeKib) * 1024;
    auto addStreams = [&](AffineForOp loop) {
      uint64_t memoryBytes = uint64_t(thresholdKib) * 1024;
      SmallVector<Ahead, 0> found = findStreams(loop, cacheBytes, memoryBytes);
      if (found.empty() && !asksAlready(loop) && !followsAsks(loop))
        found = findPages(loop, memoryBytes);
      llvm::append_range(decisions, found);
    };
    getOperation().walk([&](AffineForOp rows) {
      SmallVector<Ahead, 0> found = findAllAhead(rows);
      auto loops = rows.getBody()->getOps<AffineForOp>();
      if (found.empty() && llvm::none_of(loops, asksAlready))
        llvm::for_each(loops, addStreams);
      if (!isa<AffineForOp>(rows->getParentOp()))
        addStreams(rows);
      llvm::append_range(decisions, found);
      for (AffineForOp loop : loops)
        if (!holdsLoops(loop.getBody()))
          llvm::append_range(decisions, findAcross(rows, loop, cacheBytes));
      for (AffineForOp loop : loops)
        if (std::optional<Chosen> chosen = findChosen(rows, loop, cacheBytes))
          choices.push_back(std::move(*chosen));
    });
    for (Chosen &chosen : choices) {
      remark(RemarkKind::Applied, chosen.loop.getLoc(), passName,
             "row that data choose later asked for")
          << arg("ahead", getRowsAhead(chosen.rowBytes))
          << arg("row-bytes", chosen.rowBytes) << arg("bytes", chosen.bytes)
          << arg("lines", chosen.reads.size());
      apply(chosen);
    }
    for (Ahead &ahead : decisions) {
      remark(RemarkKind::Applied, ahead.loop.getLoc(), passName,
             ahead.pages != 0        ? "pages of a later row asked for"
             : !ahead.rows           ? "next page asked for"
             : ahead.iterations == 1 ? "next row asked for"
                                     : "next lines of rows asked for")
          << arg("row-bytes", ahead.rowBytes) << arg("bytes", ahead.bytes)
          << arg("lines", ahead.reads.size());
      apply(ahead);
    }
    numApplied += decisions.size() + choices.size();
  }
};
} // namespace

} // namespace polynest
