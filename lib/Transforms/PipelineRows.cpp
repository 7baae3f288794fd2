//===- PipelineRows.cpp - run parts of a row with those of the next -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a loop over rows whose body ends with a loop that streams the row of a
// result (the quotients of a softmax) and computes functions in an earlier one
// (the exponentials) is pipelined by software: the last loop of a row runs
// inside of that earlier one of the next row, element by element before what it
// does there. Where the first loop of a row reduces an operand (the maximum),
// it runs inside of the one with functions of the row before. Rows run in
// blocks, which may be shared by cores; the first loop of a block's first row
// goes ahead, the last loop of its last row follows, and numbers that a row
// hands on (a maximum, a sum) are carried by the loop over rows. Legal when:
// what runs ahead only reads, and nothing in the body writes that; what waits
// writes nothing that the rest of the body touches, and reads what the rest
// does not write, or a buffer of the row that only the earlier loop and what
// stands behind it write: there what an iteration writes is read in the same
// one at the earliest, so that one buffer is enough for both rows (modulo
// scheduling of one stage: Rau, "Iterative modulo scheduling", 1994, without a
// register of its own for each iteration in flight). Profitable when: a loop
// that waits for memory, because it streams or because it is the first to read
// a row, runs with one that computes functions: memory would stand still while
// functions are computed, and arithmetic while rows are read and stored. Not
// all three at once: softmax took 2.7 to 4.3 ms so, by where its pages lay, and
// 2.7 to 2.9 with the maximum in a loop of its own. Where
// the two that wait would run with each other, as in a row that is scaled by
// its norm, it takes longer. What the joint loop asks memory for is as many
// rows further on as 16 KiB hold: a page ahead comes too late (softmax 2.8
// ms, 2.1 with 16 KiB, 4.9 without). What the loops carry stays in registers:
// where a sum went to the stack in each iteration, rows took up to twice as
// long to come. Limits: constant bounds of the loop over rows; so many of them
// that the first of each block does not count; rows long enough for the loops
// to wait; loops that run together have equal bounds, and all that is behind
// the last one comes along. Cost: linear in the operations of the nest, times
// the pairs of its accesses; the code of a row stands there two or three times.
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
#include "mlir/Interfaces/SideEffectInterfaces.h"
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
/// How far ahead of what it reads a loop asks: a few pages, because prefetchers
/// of the hardware start anew in each.
static constexpr uint64_t bytesAhead = 16384;
/// Values that two loops carry together: beside what functions take, registers
/// hold no more.
static constexpr unsigned mostCarried = 8;

namespace {
/// What operations of a row use of earlier ones: numbers, and operations that
/// make indices.
struct Handed {
  llvm::SmallSetVector<Value, 4> values;
  llvm::SmallSetVector<Operation *, 4> indices;
};

/// A loop over rows whose body is cut in two: the second part of a row runs
/// with the first part of the next one.
struct RowNest {
  /// An affine.for, or an affine.parallel of one dimension.
  Operation *rows = nullptr;
  Value row;
  int64_t begin = 0, trips = 0;
  /// What the body holds, in order: buffers and the two parts.
  SmallVector<Operation *> buffers, first, second;
  /// The loop of each part that runs with that of the other.
  AffineForOp inFirst, inSecond;
  /// What the second part uses of the first.
  Handed handed;
  /// True if the first part leads to functions of the second, which asks memory
  /// for what the first reads so many rows further on; else the second stores
  /// what functions of the first gave.
  bool leads = false;
  int64_t rowsAhead = 0;
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

/// Cuts the body before `at`.
static void cut(RowNest &nest, AffineForOp inFirst, AffineForOp inSecond,
                Operation *at) {
  nest.inFirst = inFirst;
  nest.inSecond = inSecond;
  nest.buffers.clear();
  nest.first.clear();
  nest.second.clear();
  nest.handed = Handed();
  Block *body = at->getBlock();
  for (Operation &op : body->without_terminator())
    (isa<memref::AllocOp, memref::AllocaOp>(op) ? nest.buffers
     : op.isBeforeInBlock(at)                   ? nest.first
                                                : nest.second)
        .push_back(&op);
  SmallVector<Operation *> users(nest.second);
  while (!users.empty())
    users.pop_back_val()->walk([&](Operation *user) {
      for (Value value : user->getOperands()) {
        Operation *def = value.getDefiningOp();
        if (!def || def->getBlock() != body || !def->isBeforeInBlock(at) ||
            llvm::is_contained(nest.buffers, def))
          continue;
        if (!isa<AffineApplyOp>(def))
          nest.handed.values.insert(value);
        else if (nest.handed.indices.insert(def))
          users.push_back(def);
      }
    });
}

/// True for what reads, computes or repeats that.
static bool onlyReads(Operation *op) {
  return !op->walk([](Operation *inner) {
              if (isPure(inner) ||
                  hasSingleEffect<MemoryEffects::Read>(inner) ||
                  isa<AffineForOp, AffineIfOp, AffinePrefetchOp>(inner) ||
                  inner->hasTrait<OpTrait::IsTerminator>())
                return WalkResult::advance();
              return WalkResult::interrupt();
            }).wasInterrupted();
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

/// True if what `read`, of the second part, touches is written by `write`, of
/// the first, no earlier once that runs with the next row.
static bool readsInTime(const Access &read, const Access &write,
                        const RowNest &nest) {
  AffineForOp heavy = nest.inFirst, last = nest.inSecond;
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

/// Why the second part of a row may not run with the first of the next, or
/// null.
static const char *whyNot(const RowNest &nest) {
  if (llvm::any_of(nest.handed.values, [](Value value) {
        Type type = getElementTypeOrSelf(value.getType());
        return isa<BaseMemRefType>(value.getType()) || !type.isIntOrFloat();
      }))
    return "a row hands on more than numbers";
  // Rows share them.
  if (llvm::any_of(nest.buffers,
                   [](Operation *op) { return op->getNumOperands() != 0; }))
    return "the size of a buffer is not known";
  SmallVector<Access, 0> first, second;
  for (Operation *op : nest.first)
    collectAccesses(op, first);
  for (Operation *op : nest.second)
    collectAccesses(op, second);
  auto isUnknown = [](const Access &access) { return !access.memref; };
  if (llvm::any_of(first, isUnknown) || llvm::any_of(second, isUnknown))
    return "what an operation touches is not known";
  for (const Access &later : second)
    for (const Access &next : first) {
      if (!(later.isWrite || next.isWrite) ||
          !mayAlias(later.memref, next.memref))
        continue;
      if (later.isWrite)
        return nest.leads
                   ? "a row writes what the first loop of the next one reads"
                   : "the next row touches what the last loop writes";
      if (!readsInTime(later, next, nest))
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

/// Bytes that an iteration of `loop` reads in vectors.
static uint64_t getBytesRead(AffineForOp loop) {
  uint64_t bytes = 0;
  for (auto load : loop.getBody()->getOps<AffineVectorLoadOp>())
    bytes += uint64_t(getElementBytes(load.getVectorType()).value_or(0));
  return bytes;
}

/// How many rows hold what is asked for ahead of the first read of `loop`.
static int64_t getRowsAhead(const RowNest &nest, AffineForOp loop) {
  SmallVector<Access, 8> reads;
  collectAccesses(loop, reads);
  auto type = cast<MemRefType>(reads.front().memref.getType());
  uint64_t bytes = saturatingMultiply(
      uint64_t(std::abs(getStridePerUnit(reads.front(), nest.row).value_or(0))),
      uint64_t(getElementBytes(type.getElementType()).value_or(0)));
  return bytes == 0 ? 1 : std::max<int64_t>(1, int64_t(bytesAhead / bytes));
}

/// Why the rows that are cut stay as they are, or null.
static const char *judge(const RowNest &nest) {
  return nest.trips < countBlocks(nest) * leastRows ? "the rows are too few"
                                                    : whyNot(nest);
}

/// Cuts rows that stream what functions gave. False where there are none, with
/// the reason where they would be there but may not, or do not pay.
static bool chooseStores(RowNest &nest, ArrayRef<AffineForOp> loops,
                         const char *&why) {
  for (auto [i, heavy] : llvm::enumerate(loops)) {
    if (!computesFunctions(heavy))
      continue;
    for (AffineForOp last : loops.drop_front(i + 1)) {
      if (!isStreaming(last) || !haveEqualBounds(heavy, last, IRMapping()))
        continue;
      cut(nest, heavy, last, last);
      why = judge(nest);
      if (!why)
        return true;
    }
  }
  return false;
}

/// Cuts rows that lead to functions, behind all of what the first loop is for:
/// in front of the next loop, but for what is left of that one, and of what
/// writes. As `chooseStores`.
static bool chooseLeads(RowNest &nest, ArrayRef<AffineForOp> loops,
                        const char *&why) {
  if (loops.empty() || llvm::any_of(loops, [](AffineForOp loop) {
        return holdsLoops(loop.getBody());
      }))
    return false;
  AffineForOp lead = loops.front();
  if (computesFunctions(lead) || !onlyReads(lead) ||
      saturatingMultiply(getBytesRead(lead), estimateTrips(lead)) < leastBytes)
    return false;
  const auto *host = llvm::find_if(loops.drop_front(), computesFunctions);
  if (host == loops.end() || !haveEqualBounds(lead, *host, IRMapping()) ||
      lead.getNumIterOperands() + AffineForOp(*host).getNumIterOperands() >
          mostCarried)
    return false;
  auto at = llvm::find_if(*lead->getBlock(), [&](Operation &op) {
    auto loop = dyn_cast<AffineForOp>(op);
    return !isa<memref::AllocOp, memref::AllocaOp>(op) &&
           (!onlyReads(&op) ||
            (loop && loop != lead &&
             loop.getLowerBoundMap() == lead.getLowerBoundMap()));
  });
  cut(nest, lead, *host, &*at);
  nest.leads = true;
  nest.rowsAhead = getRowsAhead(nest, lead);
  why = llvm::is_contained(nest.first, lead.getOperation())
            ? judge(nest)
            : "a row writes before its first loop";
  return !why;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// The second part of a row: the numbers it was handed, and its indices.
static IRMapping mapSecond(OpBuilder &builder, const RowNest &nest,
                           const IRMapping &outer, Value row,
                           ValueRange handed) {
  IRMapping mapping(outer);
  mapping.map(nest.row, row);
  mapping.map(nest.handed.values.getArrayRef(), handed);
  for (Operation *op : nest.first)
    if (nest.handed.indices.contains(op))
      builder.clone(*op, mapping);
  return mapping;
}

/// Runs the loops of the two parts in one: of each iteration the second part
/// comes first.
static void runJointly(OpBuilder &builder, const RowNest &nest,
                       IRMapping &first, IRMapping &second) {
  AffineForOp host = nest.leads ? nest.inSecond : nest.inFirst;
  const IRMapping &row = nest.leads ? second : first;
  std::pair<AffineForOp, IRMapping *> parts[] = {{nest.inSecond, &second},
                                                 {nest.inFirst, &first}};
  SmallVector<Value> values;
  for (auto [loop, mapping] : parts)
    llvm::append_range(values, lookUp(*mapping, loop.getInits()));
  AffineForOp joint =
      copyLoop(builder, host.getLoc(), host, row, values, leaveEmpty);
  joint->setDiscardableAttrs(host->getDiscardableAttrDictionary());
  OpBuilder inner = OpBuilder::atBlockBegin(joint.getBody());
  values.clear();
  for (auto [loop, mapping] : parts) {
    unsigned begin = values.size(), count = loop.getNumIterOperands();
    mapping->map(loop.getInductionVar(), joint.getInductionVar());
    mapping->map(loop.getRegionIterArgs(),
                 joint.getRegionIterArgs().slice(begin, count));
    mapping->map(loop.getResults(), joint.getResults().slice(begin, count));
    for (Operation &op : loop.getBody()->without_terminator())
      inner.clone(op, *mapping);
    llvm::append_range(
        values,
        lookUp(*mapping, loop.getBody()->getTerminator()->getOperands()));
  }
  AffineYieldOp::create(inner, host.getLoc(), values);
}

/// Runs the second part of a row with the first of the next. Behind the joint
/// loop a part that stores reads buffers before they are written for the next
/// row; one that leads only reads.
static void runBoth(OpBuilder &builder, const RowNest &nest, IRMapping &first,
                    IRMapping &second) {
  auto clone = [&](ArrayRef<Operation *> ops, IRMapping &mapping) {
    for (Operation *op : ops)
      builder.clone(*op, mapping);
  };
  auto split = [](ArrayRef<Operation *> part, AffineForOp loop) {
    size_t at = size_t(llvm::find(part, loop.getOperation()) - part.begin());
    return std::pair(part.take_front(at), part.drop_front(at + 1));
  };
  auto [beforeFirst, behindFirst] = split(nest.first, nest.inFirst);
  auto [beforeSecond, behindSecond] = split(nest.second, nest.inSecond);
  clone(beforeFirst, first);
  clone(beforeSecond, second);
  runJointly(builder, nest, first, second);
  if (nest.leads)
    clone(behindFirst, first);
  clone(behindSecond, second);
  if (!nest.leads)
    clone(behindFirst, first);
}

/// Lets the second part ask for what the first reads as many rows later as
/// there are between the two.
static void askFurther(const RowNest &nest) {
  AffineForOp host = nest.inSecond;
  SmallVector<Access, 8> reads;
  collectAccesses(nest.inFirst, reads);
  for (auto ask : host.getBody()->getOps<AffinePrefetchOp>()) {
    if (llvm::none_of(reads, [&](const Access &read) {
          return read.memref == ask.getMemref();
        }))
      continue;
    AffineMap map = ask.getAffineMap();
    for (auto [d, operand] : llvm::enumerate(ask.getMapOperands()))
      if (operand == nest.row && d < map.getNumDims()) {
        AffineExpr dim = getAffineDimExpr(d, map.getContext());
        map = map.replace(dim, dim + nest.rowsAhead, map.getNumDims(),
                          map.getNumSymbols());
      }
    ask.setMap(map);
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
  if (nest.leads)
    askFurther(nest);
  IRMapping outer;
  for (Operation *op : nest.buffers)
    builder.clone(*op, outer);
  IRMapping ahead(outer);
  ahead.map(nest.row, valueOf(begin));
  for (Operation *op : nest.first)
    builder.clone(*op, ahead);
  ArrayRef<Value> values = nest.handed.values.getArrayRef();
  // The loop counts rows whose functions it computes.
  int64_t shift = nest.leads ? 1 : 0;
  auto rows = AffineForOp::create(
      builder, loc, operands, mapOf(begin + 1 - shift), operands,
      mapOf(end - shift), 1, lookUp(ahead, values), leaveEmpty);
  {
    OpBuilder inner = OpBuilder::atBlockBegin(rows.getBody());
    Value row = rows.getInductionVar();
    Value other = AffineApplyOp::create(
        inner, loc,
        AffineMap::get(1, 0, inner.getAffineDimExpr(0) + (2 * shift - 1)), row);
    IRMapping first(outer);
    first.map(nest.row, nest.leads ? other : row);
    IRMapping second = mapSecond(inner, nest, outer, nest.leads ? row : other,
                                 rows.getRegionIterArgs());
    runBoth(inner, nest, first, second);
    AffineYieldOp::create(inner, loc, lookUp(first, values));
  }
  IRMapping last =
      mapSecond(builder, nest, outer, valueOf(end - 1), rows.getResults());
  for (Operation *op : nest.second)
    builder.clone(*op, last);
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
      SmallVector<AffineForOp> loops(
          nest.row.getParentBlock()->getOps<AffineForOp>());
      const char *why = nullptr, *whyLeads = nullptr;
      if (chooseStores(nest, loops, why) ||
          chooseLeads(nest, loops, whyLeads)) {
        decisions.push_back(std::move(nest));
      } else if (why || (why = whyLeads)) {
        ++numDeclined;
        remark(RemarkKind::Declined, op->getLoc(), passName, why)
            << arg("rows", nest.trips);
      }
    });
    for (const RowNest &nest : decisions) {
      auto said =
          remark(RemarkKind::Applied, nest.rows->getLoc(), passName,
                 nest.leads ? "rows begun while those before are computed"
                            : "rows stored while the next are computed");
      said << arg("rows", nest.trips) << arg("blocks", countBlocks(nest))
           << arg("carried", nest.handed.values.size());
      if (nest.leads)
        said << arg("ahead", nest.rowsAhead);
      apply(nest);
    }
    numApplied += decisions.size();
  }
};
} // namespace

} // namespace polynest
