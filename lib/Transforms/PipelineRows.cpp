//===- PipelineRows.cpp - store a row while the next one is computed ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a loop over rows whose body ends with a loop that streams the row of a
// result (the quotients of a softmax) and computes functions in an earlier one
// (the exponentials) is pipelined by software: the last loop of a row runs
// inside of that earlier one of the next row, element by element before what it
// does there. Rows run in blocks, which may be shared by cores; the first row
// of a block goes ahead, the last loop of its last row follows, and the numbers
// that a row hands to its last loop (a sum) are carried by the loop over rows.
// Legal when: what moves writes nothing that the rest of the body touches, and
// reads what the rest does not write, or a buffer of the row that only the
// earlier loop and what stands behind it write: there what an iteration writes
// is read in the same one at the earliest, so that one buffer is enough for
// both rows (modulo scheduling of one stage: Rau, "Iterative modulo
// scheduling", 1994, without a register of its own for each iteration in
// flight). Profitable when: the last loop streams, for which memory stands
// still while functions are computed and arithmetic while rows are stored.
// Where the earlier loop does no more than read a row, writing it there takes
// longer than one after the other. Limits: constant bounds of the loop over
// rows; so many of them that the first of each block does not count; rows long
// enough for the loops to wait; the two loops have equal bounds, and all that
// is behind the last one comes along. Cost: linear in the operations of the
// nest, times the pairs of its accesses; the code of a row stands there twice.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace polynest {
#define GEN_PASS_DEF_PIPELINEROWS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-pipeline-rows"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "pipeline-rows";
static constexpr llvm::StringLiteral grainName = "polynest.grain";

/// What a loop that streams writes at least: shorter ones, of two rows at a
/// time, overlap as they are.
static constexpr uint64_t leastBytes = 4096;
/// Blocks of a parallel loop, so that cores have enough of them, and the rows
/// of one: more gain nothing, fewer leave too many first ones.
static constexpr int64_t leastBlocks = 64, mostRows = 64, leastRows = 4;

namespace {
/// A loop over rows whose body is cut where a row waits for the next one.
struct RowNest {
  /// An affine.for, or an affine.parallel of one dimension.
  Operation *rows = nullptr;
  Value row;
  int64_t begin = 0, trips = 0;
  /// What the body holds, in order: buffers, what is done at once, and what
  /// waits, which begins with `last`.
  SmallVector<Operation *> buffers, early, late;
  /// The loop that `last` runs in.
  AffineForOp heavy, last;
  /// What `late` uses of `early`: numbers, and operations that make indices.
  llvm::SmallSetVector<Value, 4> carried;
  llvm::SmallSetVector<Operation *, 4> indices;
};
} // namespace

//===----------------------------------------------------------------------===//
// Form
//===----------------------------------------------------------------------===//

/// The loop over rows, with nothing cut yet; false for what has another form.
static bool matchRows(Operation *op, RowNest &nest) {
  nest.rows = op;
  if (auto loop = dyn_cast<AffineForOp>(op)) {
    std::optional<int64_t> trips = getSmallTripCount(loop);
    if (!trips || !loop.hasConstantLowerBound() || loop.getStepAsInt() != 1 ||
        loop.getNumIterOperands() != 0)
      return false;
    nest.row = loop.getInductionVar();
    nest.begin = loop.getConstantLowerBound();
    nest.trips = *trips;
    return true;
  }
  auto loop = cast<AffineParallelOp>(op);
  std::optional<SmallVector<uint64_t, 4>> trips = getTripCounts(loop);
  if (!trips || loop.getNumDims() != 1 || loop.getNumResults() != 0 ||
      loop.getSteps()[0] != 1 || trips->front() > INT32_MAX ||
      !loop.getLowerBoundMap(0).isSingleConstant())
    return false;
  nest.row = loop.getIVs().front();
  nest.begin = loop.getLowerBoundMap(0).getSingleConstantResult();
  nest.trips = int64_t(trips->front());
  return true;
}

/// True for a loop that writes a row past the caches and little else.
static bool isStreaming(AffineForOp loop) {
  if (holdsLoops(loop.getBody()) || loop.getNumResults() != 0 ||
      computesFunctions(loop))
    return false;
  uint64_t bytes = 0;
  for (auto store : loop.getBody()->getOps<vector::StoreOp>())
    if (store.getNontemporal())
      bytes += uint64_t(getElementBytes(store.getVectorType()).value_or(0));
  return saturatingMultiply(bytes, estimateTrips(loop)) >= leastBytes;
}

/// Cuts the body before `last`.
static void cut(RowNest &nest, AffineForOp heavy, AffineForOp last) {
  nest.heavy = heavy;
  nest.last = last;
  nest.buffers.clear();
  nest.early.clear();
  nest.late.clear();
  Block *body = last->getBlock();
  for (Operation &op : body->without_terminator()) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      nest.buffers.push_back(&op);
    else if (!nest.late.empty() || &op == last.getOperation())
      nest.late.push_back(&op);
    else
      nest.early.push_back(&op);
  }
  nest.carried.clear();
  nest.indices.clear();
  SmallVector<Operation *> users(nest.late);
  while (!users.empty())
    users.pop_back_val()->walk([&](Operation *user) {
      for (Value value : user->getOperands()) {
        Operation *def = value.getDefiningOp();
        if (!def || def->getBlock() != body ||
            !def->isBeforeInBlock(last.getOperation()) ||
            llvm::is_contained(nest.buffers, def))
          continue;
        if (!isa<AffineApplyOp>(def))
          nest.carried.insert(value);
        else if (nest.indices.insert(def))
          users.push_back(def);
      }
    });
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True if the two, each in one of two loops with equal bounds, only touch a
/// common element in iterations with the same number.
static bool meetInStep(const Access &a, AffineForOp loopA, const Access &b,
                       AffineForOp loopB) {
  for (unsigned d = 0, e = a.map.getNumResults(); d != e; ++d) {
    SmallVector<int64_t, 8> partsA = getCoefficients(a.map, d);
    SmallVector<int64_t, 8> partsB = getCoefficients(b.map, d);
    if (partsA.empty() || partsB.empty())
      continue;
    int64_t stepA = 0, stepB = 0;
    llvm::SmallMapVector<Value, int64_t, 4> apart;
    for (auto [operand, part] : llvm::zip(a.map.getOperands(), partsA))
      (operand == loopA.getInductionVar() ? stepA : apart[operand]) += part;
    for (auto [operand, part] : llvm::zip(b.map.getOperands(), partsB))
      (operand == loopB.getInductionVar() ? stepB : apart[operand]) -= part;
    int64_t first = std::min(partsA.back(), partsB.back());
    int64_t end =
        std::max(partsA.back() + a.extent[d], partsB.back() + b.extent[d]);
    if (stepA == -stepB &&
        llvm::all_of(apart, [](auto entry) { return entry.second == 0; }) &&
        end - first <= std::abs(stepA) * loopA.getStepAsInt())
      return true;
  }
  return false;
}

/// True if what `read`, of a row's last loop or behind it, touches is written
/// by `write` no earlier once that runs with the next row.
static bool readsInTime(const Access &read, const Access &write,
                        const RowNest &nest) {
  AffineForOp heavy = nest.heavy, last = nest.last;
  Operation *made = write.memref.getDefiningOp();
  if (read.memref != write.memref || !llvm::is_contained(nest.buffers, made) ||
      !read.isAffine() || !write.isAffine() || !isInvariantTo(read, nest.row) ||
      !isInvariantTo(write, nest.row))
    return false;
  if (!heavy->isAncestor(write.op)) {
    // Behind that loop, where what moves has read already, or in front of it.
    Operation *top = heavy->getBlock()->findAncestorOpInBlock(*write.op);
    return heavy->isBeforeInBlock(top);
  }
  return haveDisjointRanges(read, write) ||
         (last->isAncestor(read.op) && meetInStep(read, last, write, heavy));
}

/// Why the rest of a row may not run with the next one, or null.
static const char *whyNotLater(const RowNest &nest) {
  if (llvm::any_of(nest.carried, [](Value value) {
        Type type = getElementTypeOrSelf(value.getType());
        return isa<BaseMemRefType>(value.getType()) || !type.isIntOrFloat();
      }))
    return "a row hands on more than numbers";
  // Rows share them.
  if (llvm::any_of(nest.buffers,
                   [](Operation *op) { return op->getNumOperands() != 0; }))
    return "the size of a buffer is not known";
  SmallVector<Access, 0> early, late;
  for (Operation *op : nest.early)
    collectAccesses(op, early);
  for (Operation *op : nest.late)
    collectAccesses(op, late);
  auto isUnknown = [](const Access &access) { return !access.memref; };
  if (llvm::any_of(early, isUnknown) || llvm::any_of(late, isUnknown))
    return "what an operation touches is not known";
  for (const Access &later : late)
    for (const Access &other : early) {
      if (!(later.isWrite || other.isWrite) ||
          !mayAlias(later.memref, other.memref))
        continue;
      if (later.isWrite)
        return "the next row touches what the last loop writes";
      if (!readsInTime(later, other, nest))
        return "the next row writes what the last loop reads";
    }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Blocks of the rows: one where no cores share them.
static int64_t countBlocks(const RowNest &nest) {
  if (isa<AffineForOp>(nest.rows))
    return 1;
  return std::max(leastBlocks,
                  int64_t(llvm::divideCeil(uint64_t(nest.trips), mostRows)));
}

/// Chooses the loops. False where there are none, with the reason where they
/// would be there but may not, or do not pay.
static bool choose(RowNest &nest, const char *&why) {
  SmallVector<AffineForOp> loops(
      nest.row.getParentBlock()->getOps<AffineForOp>());
  for (auto [i, heavy] : llvm::enumerate(loops)) {
    if (!computesFunctions(heavy))
      continue;
    for (AffineForOp last : ArrayRef(loops).drop_front(i + 1)) {
      if (!isStreaming(last) || !haveEqualBounds(heavy, last, IRMapping()))
        continue;
      cut(nest, heavy, last);
      why = nest.trips < countBlocks(nest) * leastRows ? "the rows are too few"
                                                       : whyNotLater(nest);
      if (!why)
        return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// The rest of one row: the numbers it was handed, and its indices.
static IRMapping mapRest(OpBuilder &builder, const RowNest &nest,
                         const IRMapping &outer, Value row,
                         ValueRange carried) {
  IRMapping mapping(outer);
  mapping.map(nest.row, row);
  mapping.map(nest.carried.getArrayRef(), carried);
  for (Operation *op : nest.early)
    if (nest.indices.contains(op))
      builder.clone(*op, mapping);
  return mapping;
}

/// Runs a row, with the rest of the one before it.
static void runRow(OpBuilder &builder, const RowNest &nest, IRMapping &mapping,
                   IRMapping &before) {
  AffineForOp heavy = nest.heavy, last = nest.last;
  for (Operation *op : nest.early) {
    Operation *copy = builder.clone(*op, mapping);
    if (op != heavy)
      continue;
    auto joint = cast<AffineForOp>(copy);
    OpBuilder inner = OpBuilder::atBlockBegin(joint.getBody());
    before.map(last.getInductionVar(), joint.getInductionVar());
    for (Operation &step : last.getBody()->without_terminator())
      inner.clone(step, before);
    for (Operation *rest : ArrayRef(nest.late).drop_front())
      builder.clone(*rest, before);
  }
}

static void apply(const RowNest &nest) {
  OpBuilder builder(nest.rows);
  Location loc = nest.rows->getLoc();
  int64_t blocks = countBlocks(nest);
  SmallVector<Value> operands;
  AffineExpr block = builder.getAffineConstantExpr(0);
  if (auto loop = dyn_cast<AffineParallelOp>(nest.rows)) {
    auto outer = AffineParallelOp::create(
        builder, loc, TypeRange(), ArrayRef<arith::AtomicRMWKind>(), blocks);
    outer->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    if (auto grain = loop->getAttrOfType<IntegerAttr>(grainName))
      outer->setAttr(grainName, builder.getI64IntegerAttr(std::max<int64_t>(
                                    1, grain.getInt() * blocks / nest.trips)));
    operands.push_back(outer.getIVs().front());
    block = builder.getAffineDimExpr(0);
    builder.setInsertionPointToStart(outer.getBody());
  }
  unsigned dims = operands.size();
  auto mapOf = [&](AffineExpr expr) { return AffineMap::get(dims, 0, expr); };
  auto valueOf = [&](AffineExpr expr) -> Value {
    return AffineApplyOp::create(builder, loc, mapOf(expr), operands);
  };
  AffineExpr rowsBefore = block * nest.trips;
  AffineExpr begin = rowsBefore.floorDiv(blocks) + nest.begin;
  AffineExpr end = (rowsBefore + nest.trips).floorDiv(blocks) + nest.begin;
  IRMapping outer;
  for (Operation *op : nest.buffers)
    builder.clone(*op, outer);
  IRMapping first(outer);
  first.map(nest.row, valueOf(begin));
  SmallVector<Value> handed;
  for (Operation *op : nest.early)
    builder.clone(*op, first);
  for (Value value : nest.carried)
    handed.push_back(first.lookup(value));
  auto rows = AffineForOp::create(
      builder, loc, operands, mapOf(begin + 1), operands, mapOf(end), 1, handed,
      [](OpBuilder &, Location, Value, ValueRange) {});
  {
    OpBuilder inner = OpBuilder::atBlockBegin(rows.getBody());
    Value row = rows.getInductionVar();
    Value previous = AffineApplyOp::create(
        inner, loc, AffineMap::get(1, 0, inner.getAffineDimExpr(0) - 1), row);
    IRMapping mapping(outer);
    mapping.map(nest.row, row);
    IRMapping before =
        mapRest(inner, nest, outer, previous, rows.getRegionIterArgs());
    runRow(inner, nest, mapping, before);
    handed.clear();
    for (Value value : nest.carried)
      handed.push_back(mapping.lookup(value));
    AffineYieldOp::create(inner, loc, handed);
  }
  IRMapping rest =
      mapRest(builder, nest, outer, valueOf(end - 1), rows.getResults());
  for (Operation *op : nest.late)
    builder.clone(*op, rest);
  nest.rows->erase();
}

namespace {
struct PipelineRowsPass : impl::PipelineRowsBase<PipelineRowsPass> {
  using PipelineRowsBase::PipelineRowsBase;

  void runOnOperation() override {
    SmallVector<RowNest, 0> decisions;
    getOperation().walk([&](Operation *op) {
      RowNest nest;
      if (!isa<AffineForOp, AffineParallelOp>(op) || !matchRows(op, nest) ||
          llvm::any_of(decisions, [&](const RowNest &other) {
            return op->isAncestor(other.rows);
          }))
        return;
      const char *why = nullptr;
      if (choose(nest, why)) {
        decisions.push_back(std::move(nest));
      } else if (why) {
        ++numDeclined;
        remark(RemarkKind::Declined, op->getLoc(), passName, why)
            << arg("rows", nest.trips);
      }
    });
    for (const RowNest &nest : decisions) {
      remark(RemarkKind::Applied, nest.rows->getLoc(), passName,
             "rows stored while the next are computed")
          << arg("rows", nest.trips) << arg("blocks", countBlocks(nest))
          << arg("carried", nest.carried.size());
      apply(nest);
    }
    numApplied += decisions.size();
  }
};
} // namespace

} // namespace polynest
