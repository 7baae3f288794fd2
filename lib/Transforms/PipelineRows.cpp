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

/// A loop over rows whose body is cut where a row waits for the next one.
struct RowNest {
  /// An affine.for, or an affine.parallel of one dimension.
  Operation *rows = nullptr;
  Value row;
  int64_t begin = 0, trips = 0;
  /// What the body holds, in order: buffers, what is done for the next row,
  /// what for this one, and what waits, which begins with `last`.
  SmallVector<Operation *> buffers, ahead, early, late;
  /// The loops that `lead`, of `ahead`, and `last` run in; null without them.
  AffineForOp host, lead, heavy, last;
  /// What the others use of `ahead`, and `late` of all others.
  Handed led, carried;
  /// How many rows further on the host asks for what the lead reads.
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

/// What `users` have of operations in front of `first`, buffers aside.
static Handed findHanded(const RowNest &nest, SmallVector<Operation *> users,
                         Operation *first) {
  Handed handed;
  Block *body = first->getBlock();
  while (!users.empty())
    users.pop_back_val()->walk([&](Operation *user) {
      for (Value value : user->getOperands()) {
        Operation *def = value.getDefiningOp();
        if (!def || def->getBlock() != body || !def->isBeforeInBlock(first) ||
            llvm::is_contained(nest.buffers, def))
          continue;
        if (!isa<AffineApplyOp>(def))
          handed.values.insert(value);
        else if (handed.indices.insert(def))
          users.push_back(def);
      }
    });
  return handed;
}

/// Cuts the body before `last`, or leaves it whole.
static void cut(RowNest &nest, AffineForOp heavy, AffineForOp last) {
  nest.heavy = heavy;
  nest.last = last;
  nest.buffers.clear();
  nest.early.clear();
  nest.late.clear();
  nest.carried = Handed();
  for (Operation &op : nest.row.getParentBlock()->without_terminator()) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      nest.buffers.push_back(&op);
    else if (!nest.late.empty() || (last && &op == last.getOperation()))
      nest.late.push_back(&op);
    else
      nest.early.push_back(&op);
  }
  if (last)
    nest.carried = findHanded(nest, nest.late, last);
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

/// Cuts off what leads to `host`, behind the loop `lead`: all in front of the
/// next loop, but for what is left of that loop, and of what writes.
static void cutAhead(RowNest &nest, AffineForOp lead, AffineForOp host) {
  nest.lead = lead;
  nest.host = host;
  auto *end = llvm::find_if(nest.early, [&](Operation *op) {
    auto loop = dyn_cast<AffineForOp>(op);
    return !onlyReads(op) ||
           (loop && loop != lead &&
            loop.getLowerBoundMap() == lead.getLowerBoundMap());
  });
  nest.ahead.assign(nest.early.begin(), end);
  nest.early.erase(nest.early.begin(), end);
  SmallVector<Operation *> users(nest.early);
  llvm::append_range(users, nest.late);
  nest.led = findHanded(nest, users, nest.early.front());
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

/// Why a row may not hand that on, or share its buffers with the next, or null.
static const char *whyNotHanded(const RowNest &nest, const Handed &handed) {
  if (llvm::any_of(handed.values, [](Value value) {
        Type type = getElementTypeOrSelf(value.getType());
        return isa<BaseMemRefType>(value.getType()) || !type.isIntOrFloat();
      }))
    return "a row hands on more than numbers";
  if (llvm::any_of(nest.buffers,
                   [](Operation *op) { return op->getNumOperands() != 0; }))
    return "the size of a buffer is not known";
  return nullptr;
}

/// Why the rest of a row may not run with the next one, or null.
static const char *whyNotLater(const RowNest &nest) {
  if (const char *why = whyNotHanded(nest, nest.carried))
    return why;
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

/// Why the first loop of a row may not run with the row before, or null.
static const char *whyNotAhead(const RowNest &nest) {
  if (const char *why = whyNotHanded(nest, nest.led))
    return why;
  SmallVector<Access, 0> reads, others;
  for (Operation *op : nest.ahead)
    collectAccesses(op, reads);
  for (Operation *op : nest.early)
    collectAccesses(op, others);
  for (Operation *op : nest.late)
    collectAccesses(op, others);
  for (const Access &other : others) {
    if (!other.memref)
      return "what an operation touches is not known";
    if (other.isWrite && llvm::any_of(reads, [&](const Access &read) {
          return mayAlias(read.memref, other.memref);
        }))
      return "a row writes what the first loop of the next one reads";
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

/// Chooses what runs ahead, once it is known what waits. As `choose`.
static bool chooseAhead(RowNest &nest, const char *&why) {
  SmallVector<AffineForOp> loops(
      nest.row.getParentBlock()->getOps<AffineForOp>());
  if (loops.empty() || llvm::any_of(loops, [](AffineForOp loop) {
        return holdsLoops(loop.getBody());
      }))
    return false;
  AffineForOp lead = loops.front();
  if (computesFunctions(lead) || !onlyReads(lead) ||
      saturatingMultiply(getBytesRead(lead), estimateTrips(lead)) < leastBytes)
    return false;
  AffineForOp host = nest.heavy;
  for (AffineForOp loop : ArrayRef(loops).drop_front())
    if (!host && computesFunctions(loop))
      host = loop;
  if (!host || !haveEqualBounds(lead, host, IRMapping()) ||
      lead.getNumIterOperands() + host.getNumIterOperands() > mostCarried)
    return false;
  cutAhead(nest, lead, host);
  why = !llvm::is_contained(nest.ahead, lead.getOperation())
            ? "a row writes before its first loop"
        : nest.trips < countBlocks(nest) * leastRows ? "the rows are too few"
                                                     : whyNotAhead(nest);
  if (!why) {
    nest.rowsAhead = getRowsAhead(nest, lead);
    return true;
  }
  nest.early.insert(nest.early.begin(), nest.ahead.begin(), nest.ahead.end());
  nest.ahead.clear();
  nest.led = Handed();
  nest.lead = nest.host = nullptr;
  return false;
}

/// Chooses the loops of what waits. False where there are none, with the reason
/// where they would be there but may not, or do not pay.
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
  cut(nest, nullptr, nullptr);
  return false;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// What is known of a row besides its buffers: its number, the numbers it was
/// handed, and indices.
static IRMapping mapRow(OpBuilder &builder, const RowNest &nest,
                        const IRMapping &outer, Value row, const Handed &handed,
                        ValueRange values) {
  IRMapping mapping(outer);
  mapping.map(nest.row, row);
  mapping.map(handed.values.getArrayRef(), values);
  Value variable = nest.row;
  for (Operation &op : variable.getParentBlock()->without_terminator())
    if (handed.indices.contains(&op))
      builder.clone(op, mapping);
  return mapping;
}

static SmallVector<Value> lookUp(ValueRange values, const IRMapping &mapping) {
  return llvm::map_to_vector(
      values, [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// A loop along a row, and what is known of that row.
struct Part {
  AffineForOp loop;
  IRMapping *mapping;
};

/// Runs loops along several rows in one: of each iteration one after the other.
static void runJointly(OpBuilder &builder, AffineForOp host,
                       ArrayRef<Part> parts) {
  SmallVector<Value> values;
  IRMapping *row = nullptr;
  for (auto [loop, mapping] : parts) {
    llvm::append_range(values, lookUp(AffineForOp(loop).getInits(), *mapping));
    if (loop == host)
      row = mapping;
  }
  auto joint = AffineForOp::create(
      builder, host.getLoc(), lookUp(host.getLowerBoundOperands(), *row),
      host.getLowerBoundMap(), lookUp(host.getUpperBoundOperands(), *row),
      host.getUpperBoundMap(), host.getStepAsInt(), values,
      [](OpBuilder &, Location, Value, ValueRange) {});
  joint->setDiscardableAttrs(host->getDiscardableAttrDictionary());
  OpBuilder inner = OpBuilder::atBlockBegin(joint.getBody());
  values.clear();
  for (auto [part, mapping] : parts) {
    AffineForOp loop = part;
    unsigned first = values.size(), count = loop.getNumIterOperands();
    mapping->map(loop.getInductionVar(), joint.getInductionVar());
    mapping->map(loop.getRegionIterArgs(),
                 joint.getRegionIterArgs().slice(first, count));
    mapping->map(loop.getResults(), joint.getResults().slice(first, count));
    for (Operation &op : loop.getBody()->without_terminator())
      inner.clone(op, *mapping);
    llvm::append_range(
        values,
        lookUp(loop.getBody()->getTerminator()->getOperands(), *mapping));
  }
  AffineYieldOp::create(inner, host.getLoc(), values);
}

/// Runs a row, which `mapping` knows, with the rest of the one before it and
/// what leads to the next one, each null if there is none.
static void runRow(OpBuilder &builder, const RowNest &nest, IRMapping &mapping,
                   IRMapping *before, IRMapping *next) {
  AffineForOp lead = nest.lead, heavy = nest.heavy, joint = nest.host;
  auto *behind = nest.ahead.begin();
  if (next)
    for (; *behind != lead; ++behind)
      builder.clone(**behind, *next);
  for (Operation *op : nest.early) {
    bool stores = before && op == heavy;
    bool leads = next && op == joint;
    if (!stores && !leads) {
      builder.clone(*op, mapping);
      continue;
    }
    SmallVector<Part, 3> parts;
    if (stores)
      parts.push_back({nest.last, before});
    parts.push_back({cast<AffineForOp>(op), &mapping});
    if (leads)
      parts.push_back({lead, next});
    runJointly(builder, cast<AffineForOp>(op), parts);
    if (stores)
      for (Operation *rest : ArrayRef(nest.late).drop_front())
        builder.clone(*rest, *before);
    if (leads)
      for (++behind; behind != nest.ahead.end(); ++behind)
        builder.clone(**behind, *next);
  }
}

/// Lets the host ask for what the lead reads as many rows later as there are
/// between the two.
static void askFurther(const RowNest &nest) {
  AffineForOp host = nest.host;
  SmallVector<Access, 8> reads;
  collectAccesses(nest.lead, reads);
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
  if (nest.lead)
    askFurther(nest);
  IRMapping outer;
  for (Operation *op : nest.buffers)
    builder.clone(*op, outer);
  // What rows hand on: of what leads to one, then what its rest needs.
  ArrayRef<Value> ledValues = nest.led.values.getArrayRef();
  ArrayRef<Value> carriedValues = nest.carried.values.getArrayRef();
  SmallVector<Value> led, carried;
  // A row, with the rest of `previous` and what leads to `following`.
  auto run = [&](OpBuilder &at, Value row, Value previous, Value following) {
    IRMapping before, next(outer);
    if (previous)
      before = mapRow(at, nest, outer, previous, nest.carried, carried);
    IRMapping mapping = mapRow(at, nest, outer, row, nest.led, led);
    if (following)
      next.map(nest.row, following);
    runRow(at, nest, mapping, previous ? &before : nullptr,
           following ? &next : nullptr);
    led = following ? lookUp(ledValues, next) : SmallVector<Value>();
    carried = lookUp(carriedValues, mapping);
  };
  if (nest.lead) {
    IRMapping first(outer);
    first.map(nest.row, valueOf(begin));
    for (Operation *op : nest.ahead)
      builder.clone(*op, first);
    led = lookUp(ledValues, first);
  }
  if (nest.last)
    run(builder, valueOf(begin), Value(),
        nest.lead ? valueOf(begin + 1) : Value());
  SmallVector<Value> handed(led);
  llvm::append_range(handed, carried);
  auto rows = AffineForOp::create(
      builder, loc, operands, mapOf(nest.last ? begin + 1 : begin), operands,
      mapOf(nest.lead ? end - 1 : end), 1, handed,
      [](OpBuilder &, Location, Value, ValueRange) {});
  auto takeHanded = [&](ValueRange values) {
    led.assign(values.begin(), values.begin() + ledValues.size());
    carried.assign(values.begin() + led.size(), values.end());
  };
  {
    OpBuilder inner = OpBuilder::atBlockBegin(rows.getBody());
    Value row = rows.getInductionVar();
    auto rowAt = [&](int64_t distance) -> Value {
      return AffineApplyOp::create(
          inner, loc,
          AffineMap::get(1, 0, inner.getAffineDimExpr(0) + distance), row);
    };
    takeHanded(rows.getRegionIterArgs());
    run(inner, row, nest.last ? rowAt(-1) : Value(),
        nest.lead ? rowAt(1) : Value());
    handed.assign(led);
    llvm::append_range(handed, carried);
    AffineYieldOp::create(inner, loc, handed);
  }
  takeHanded(rows.getResults());
  if (nest.lead)
    run(builder, valueOf(end - 1), nest.last ? valueOf(end - 2) : Value(),
        Value());
  if (nest.last) {
    IRMapping rest =
        mapRow(builder, nest, outer, valueOf(end - 1), nest.carried, carried);
    for (Operation *op : nest.late)
      builder.clone(*op, rest);
  }
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
      const char *why = nullptr, *whyAhead = nullptr;
      bool waits = choose(nest, why);
      if (waits || chooseAhead(nest, whyAhead)) {
        decisions.push_back(std::move(nest));
      } else if (why || (why = whyAhead)) {
        ++numDeclined;
        remark(RemarkKind::Declined, op->getLoc(), passName, why)
            << arg("rows", nest.trips);
      }
    });
    for (const RowNest &nest : decisions) {
      if (nest.last)
        remark(RemarkKind::Applied, nest.rows->getLoc(), passName,
               "rows stored while the next are computed")
            << arg("rows", nest.trips) << arg("blocks", countBlocks(nest))
            << arg("carried", nest.carried.values.size());
      if (nest.lead)
        remark(RemarkKind::Applied, nest.rows->getLoc(), passName,
               "rows begun while those before are computed")
            << arg("rows", nest.trips) << arg("blocks", countBlocks(nest))
            << arg("carried", nest.led.values.size())
            << arg("ahead", nest.rowsAhead);
      apply(nest);
    }
    numApplied += decisions.size();
  }
};
} // namespace

} // namespace polynest
