// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestExpression.cpp: see the header.

#include "Transforms/NestExpression.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/NestParts.h"
#include "Target/ReductionModel.h"
#include "Transforms/ContractionBlocks.h"
#include "Transforms/NestMerge.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

std::optional<NestExpression> matchExpression(NestNode &node) {
  if (node.isOpaque || node.writes.size() != 1 || node.covers.size() != 1 ||
      node.hasAssert || node.touchesAll)
    return std::nullopt;
  NestExpression expression;
  expression.band.assign(node.band.begin(), node.band.end());
  if (llvm::any_of(expression.band, [](AffineForOp loop) {
        return loop.getNumIterOperands() || loop.getStepAsInt() != 1;
      }))
    return std::nullopt;
  for (Operation &op : expression.band.back().getBody()->without_terminator()) {
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      if (expression.store)
        return std::nullopt;
      expression.store = store;
      continue;
    }
    if (op.getNumRegions() || expression.store)
      return std::nullopt;
    if (isa<AffineLoadOp, memref::LoadOp>(op))
      continue;
    if (!isPure(&op))
      return std::nullopt;
    expression.cycles += estimateCycles(&op);
  }
  if (!expression.store || !isPrivateAllocation(expression.store.getMemref()) ||
      !expression.store.getMemref().getDefiningOp<memref::AllocOp>())
    return std::nullopt;
  const Access &write = *llvm::find_if(
      node.accesses, [&](const Access &a) { return a.op == expression.store; });
  // The node covers its buffer, so that each loop sweeps its dimension.
  for (AffineForOp loop : expression.band) {
    unsigned found = ~0u;
    for (auto [d, result] :
         llvm::enumerate(write.map.getAffineMap().getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      if (dim &&
          write.map.getOperand(dim.getPosition()) == loop.getInductionVar())
        found = d;
    }
    if (found == ~0u)
      return std::nullopt;
    expression.dimOf.push_back(found);
    expression.trips =
        saturatingMultiply(expression.trips, estimateTrips(loop));
  }
  return expression;
}

/// The indices of the buffer that a load of it reads, or of it with dimensions
/// joined, over the load's operands; null if they are not known.
static AffineMap getBufferIndices(AffineLoadOp load, Value buffer) {
  AffineMap map = load.getAffineMap();
  if (load.getMemRef() == buffer)
    return map;
  auto view = load.getMemRef().getDefiningOp<memref::CollapseShapeOp>();
  if (!view || view.getSrc() != buffer)
    return {};
  MemRefType type = view.getSrcType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return {};
  SmallVector<AffineExpr> indices(type.getRank(),
                                  getAffineConstantExpr(0, load.getContext()));
  for (auto [r, group] : llvm::enumerate(view.getReassociationIndices())) {
    AffineExpr rest = map.getResult(r);
    // The outermost one takes what the others leave.
    for (int64_t d : llvm::reverse(group)) {
      int64_t size = type.getDimSize(d);
      if (size == 0)
        return {};
      indices[d] = d == group.front() ? rest : rest % size;
      rest = rest.floorDiv(size);
    }
  }
  return simplifyAffineMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                                          indices, load.getContext()));
}

const char *whyNotInline(NestGraph &graph, NestNode &producer,
                         NestNode &consumer, NestExpression &expression,
                         SmallVectorImpl<AffineLoadOp> &loads) {
  Value buffer = expression.store.getMemRef();
  if (graph.writersOf(buffer).size() != 1)
    return "the buffer is written elsewhere too";
  for (const Access &access : consumer.accesses) {
    if (!access.base)
      return "an operation may touch any memory";
    if (access.base != buffer)
      continue;
    auto load = dyn_cast<AffineLoadOp>(access.op);
    if (!load || !access.isAffine() || !getBufferIndices(load, buffer))
      return "a read of the buffer is not a plain load";
    loads.push_back(load);
  }
  if (loads.empty())
    return "the buffer is not read";
  // The producer's inputs must hold their values until the consumer is done.
  for (const NestEdge &edge : graph.edgesFrom(producer.id))
    if ((edge.kind == EdgeKind::Anti || !edge.base) &&
        (edge.sink == consumer.id || graph.precedes(edge.sink, consumer.id)))
      return "an input of the producer is overwritten";
  for (Value read : producer.reads)
    for (Value write : consumer.writes)
      if (mayAlias(read, write))
        return "an input of the producer is overwritten";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operands of products
//===----------------------------------------------------------------------===//

namespace {
/// An element of a product's operand: multiplications that use it, how often it
/// is evaluated for them, and whether it is copied each time, where it would be
/// read in place if it were in a buffer.
struct OperandUse {
  double uses = 1, evaluations = 1;
  bool isCopied = false;
};

/// A store of `sum + product` to where `sum` was loaded from.
struct SummedProduct {
  AffineStoreOp store;
  Operation *product;
};
} // namespace

/// The only thing that the block stores, if it is a sum of products.
static std::optional<SummedProduct> findProduct(Block *block) {
  AffineStoreOp store;
  for (Operation &op : *block) {
    if (op.getNumRegions() != 0 || (isa<AffineStoreOp>(op) && store))
      return std::nullopt;
    if (isa<AffineStoreOp>(op))
      store = cast<AffineStoreOp>(op);
  }
  Operation *sum = store ? store.getValueToStore().getDefiningOp() : nullptr;
  if (!sum || !sum->hasOneUse() || sum->getBlock() != block ||
      !isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(sum))
    return std::nullopt;
  unsigned mostPlaces = isa<arith::SubFOp, arith::SubIOp>(sum) ? 1 : 2;
  for (unsigned place = 0; place < mostPlaces; ++place) {
    auto load = sum->getOperand(place).getDefiningOp<AffineLoadOp>();
    Operation *product = sum->getOperand(1 - place).getDefiningOp();
    if (load && load.getMemRef() == store.getMemRef() &&
        load.getAffineMap() == store.getAffineMap() &&
        llvm::equal(load.getMapOperands(), store.getMapOperands()) && product &&
        product->getBlock() == block && product->hasOneUse() &&
        isa<arith::MulFOp, arith::MulIOp>(product))
      return SummedProduct{store, product};
  }
  return std::nullopt;
}

/// The last parallel loop along which the store is contiguous, or the innermost
/// one: it runs in lanes (polynest-block-contractions).
static AffineForOp findLaneLoop(const Access &store,
                                ArrayRef<AffineForOp> loops) {
  AffineForOp lane = loops.back();
  for (AffineForOp loop : loops)
    if (mayRunTwice(loop) &&
        getContiguity(store, loop) == Contiguity::Contiguous)
      lane = loop;
  return lane;
}

static bool areConstant(ArrayRef<AffineForOp> loops) {
  return llvm::all_of(loops, [](AffineForOp loop) {
    return getSmallTripCount(loop).has_value();
  });
}

/// Rows of the operand in lanes that share one evaluation where it is not
/// packed: in registers, which polynest-stream-reductions and
/// polynest-jam-reductions see to. Rows and columns that share one where it is
/// packed for each block of the other operand.
static constexpr double streamedRows = 8, jammedRows = 4, blockRows = 64,
                        blockColumns = 128;

/// True if an index of what the expression reads, where its buffer is read at
/// `places`, adds dimensions of these.
static bool addsLoopsAt(const Access &read, const NestExpression &expression,
                        AffineMap places) {
  AffineMap map = read.map.getAffineMap();
  SmallVector<AffineExpr> dims(map.getNumDims(),
                               getAffineConstantExpr(0, map.getContext()));
  for (auto [loop, d] : llvm::zip_equal(expression.band, expression.dimOf))
    for (unsigned i = 0; i != dims.size(); ++i)
      if (read.map.getOperand(i) == AffineForOp(loop).getInductionVar())
        dims[i] = places.getResult(d);
  return llvm::any_of(map.getResults(), [&](AffineExpr index) {
    AffineExpr composed = index.replaceDims(dims);
    return llvm::count_if(llvm::seq(places.getNumDims()), [&](unsigned d) {
             return composed.isFunctionOfDim(d);
           }) > 1;
  });
}

/// True if each element of what the expression reads at the load is read in one
/// iteration, as far as the form of the indices tells. Otherwise a pack reads
/// windows, and is not made ahead.
static bool readsOnce(const NestExpression &expression, AffineLoadOp load) {
  AffineStoreOp store = expression.store;
  AffineMap places = getBufferIndices(load, store.getMemRef());
  SmallVector<Access, 4> reads;
  for (Operation &op : *store->getBlock())
    if (isa<AffineLoadOp, memref::LoadOp>(op))
      collectAccesses(&op, reads);
  return llvm::all_of(reads, [&](const Access &read) {
    return read.isAffine() && !addsLoopsAt(read, expression, places);
  });
}

/// How often the passes behind this one have an element of a product's operand
/// evaluated that `load` reads; none if it is no such operand, or one that each
/// multiplication evaluates.
static std::optional<OperandUse> countEvaluations(AffineLoadOp load,
                                                  AffineForOp root) {
  std::optional<SummedProduct> sum = findProduct(load->getBlock());
  SmallVector<AffineForOp, 6> loops = getLoopsAround(load, root);
  if (!sum || loops.empty())
    return std::nullopt;
  SliceCollector sides[] = {SliceCollector(root), SliceCollector(root)};
  for (unsigned i : {0, 1})
    if (failed(sides[i].add(sum->product->getOperand(i))))
      return std::nullopt;
  unsigned place = sides[0].ops.contains(load) ? 0 : 1;
  SliceCollector &mine = sides[place], &other = sides[1 - place];
  SmallVector<Access, 1> reads, writes;
  collectAccesses(load, reads);
  collectAccesses(sum->store, writes);
  if (!mine.ops.contains(load) || other.ops.contains(load) ||
      !hasKernel(sum->store.getValueToStore().getType()) ||
      !writes[0].isAffine() || addsLoops(reads[0]))
    return std::nullopt;
  SmallVector<AffineForOp> parallel, moving, standing, depth;
  for (AffineForOp loop : loops) {
    if (loop.getNumIterOperands())
      return std::nullopt;
    bool moves = !isInvariantTo(reads[0], loop.getInductionVar());
    bool isReduced = isInvariantTo(writes[0], loop.getInductionVar());
    bool isBatch = moves && other.loops.contains(loop);
    if (moves != mine.loops.contains(loop) ||
        (!moves && !other.loops.contains(loop)) || (isReduced && !isBatch))
      return std::nullopt;
    if (isReduced)
      depth.push_back(loop);
    else
      parallel.push_back(loop);
    if (!isReduced && !isBatch)
      (moves ? moving : standing).push_back(loop);
  }
  if (depth.empty() || moving.empty() || standing.empty())
    return std::nullopt;
  bool isColumn = llvm::is_contained(moving, findLaneLoop(writes[0], parallel));
  OperandUse use;
  use.uses = countPoints(standing);
  double own = countPoints(moving);
  double rows = isColumn ? use.uses : own, columns = isColumn ? own : use.uses;
  if (!whyNotPack(rows, columns, countPoints(depth)).empty()) {
    use.evaluations = use.uses;
  } else if (rows <= PN_MODEL_STREAM_ROWS) {
    bool isContiguous = llvm::any_of(moving, [&](AffineForOp loop) {
      return getContiguity(reads[0], loop) == Contiguity::Contiguous;
    });
    use.evaluations =
        std::ceil(use.uses / (isContiguous ? streamedRows : jammedRows));
  } else if (!isColumn) {
    use.evaluations = std::ceil(columns / blockColumns);
    use.isCopied = true;
  } else if (!areConstant(moving) || !areConstant(depth)) {
    use.evaluations = std::ceil(rows / blockRows);
  }
  return use;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Cycles of a multiply-add, of a store and a load, and of both where memory is
/// in between, in those of one operation.
static constexpr double productCycles = 2, nearCycles = 2, farCycles = 16;

/// The same of a byte of memory traffic for each element: a vector of 16 takes
/// 2.3 cycles (28 GB/s at 4 GHz), and an operation 0.6 of one (an exponential,
/// which counts as 20, takes 12).
static constexpr double cyclesOfByte = 4;

/// True if products may evaluate their operands as often as `use` says: what
/// that adds to the work is little, or takes no longer than to write and read
/// the buffer.
static bool repaysEvaluations(const NestExpression &expression,
                              const OperandUse &use,
                              const FusionLimits &limits) {
  AffineStoreOp store = expression.store;
  std::optional<uint64_t> bytes = getBufferBytes(store.getMemRefType());
  auto cycles = double(expression.cycles);
  double again = (use.evaluations - 1) * cycles;
  double moved = bytes && *bytes <= limits.cacheBytes ? nearCycles : farCycles;
  // A pack that takes the place of a buffer is to take less.
  if (use.isCopied)
    return again + use.evaluations * nearCycles <= moved;
  double work = use.uses * productCycles + cycles;
  return again <= double(limits.redundantPercent) / 100 * work + moved;
}

/// How often `load` runs.
static uint64_t countRuns(AffineLoadOp load, Operation *root) {
  SmallVector<Operation *> loops;
  getEnclosingAffineLoops(load, loops, root);
  uint64_t trips = 1;
  for (Operation *loop : loops)
    trips = saturatingMultiply(
        trips, isa<AffineForOp>(loop) ? estimateTrips(cast<AffineForOp>(loop))
                                      : dynamicTrips);
  return trips;
}

/// The loop that a load stands in, if all that loop holds could run in lanes
/// along it.
static AffineForOp getLaneLoop(AffineLoadOp load) {
  auto inner = dyn_cast<AffineForOp>(load->getParentOp());
  return inner && isContiguousIn(inner.getBody(), inner) ? inner
                                                         : AffineForOp();
}

/// True if a load could run in lanes and what stands for it could not: a
/// transposed read is contiguous in the buffer, not in the inputs.
static bool losesLanes(NestExpression &expression,
                       ArrayRef<AffineLoadOp> loads) {
  AffineForOp last = expression.band.back();
  if (!isContiguousIn(last.getBody(), last))
    return false;
  unsigned d = expression.dimOf.back();
  return llvm::any_of(loads, [&](AffineLoadOp load) {
    AffineForOp inner = getLaneLoop(load);
    if (!inner)
      return false;
    AffineMap map =
        getBufferIndices(load, expression.store.getMemRef()).getSubMap({d});
    return !AffineValueMap(map, load.getMapOperands())
                .isFunctionOf(0, inner.getInductionVar());
  });
}

bool outweighsBuffer(NestGraph &graph, NestNode &producer,
                     NestExpression &expression, const FusionLimits &limits) {
  Value buffer = expression.store.getMemRef();
  auto type = cast<MemRefType>(buffer.getType());
  std::optional<uint64_t> bytes = getBufferBytes(type);
  SmallVector<NestNode *> readers = graph.readersOf(buffer);
  AffineForOp last = expression.band.back();
  if (!bytes || *bytes < limits.farBytes || readers.size() < 2 ||
      !isContiguousIn(last.getBody(), last))
    return false;
  for (NestNode *reader : readers) {
    SmallVector<AffineLoadOp> loads;
    if (reader->isOpaque ||
        whyNotInline(graph, producer, *reader, expression, loads) ||
        losesLanes(expression, loads))
      return false;
    uint64_t runs = 0;
    for (AffineLoadOp load : loads) {
      if (!getLaneLoop(load))
        return false;
      runs = saturatingAdd(runs, countRuns(load, reader->op));
    }
    if (runs > expression.trips)
      return false;
  }
  // Lines of the buffer are read before they are written, written, and read by
  // each nest; large inputs are read again.
  uint64_t inputs = 0;
  for (Value read : producer.reads) {
    auto input = dyn_cast<MemRefType>(read.getType());
    std::optional<uint64_t> size = input ? getBufferBytes(input) : std::nullopt;
    if (!size)
      return false;
    if (*size > limits.cacheBytes)
      inputs = saturatingAdd(inputs, *size);
  }
  auto again = double(readers.size() - 1), elements = double(expression.trips);
  double saved =
      (double(readers.size() + 2) * double(*bytes) - again * double(inputs)) /
      elements;
  return again * double(expression.cycles) <= saved * cyclesOfByte;
}

const char *judgeInline(NestGraph &graph, NestExpression &expression,
                        ArrayRef<AffineLoadOp> loads, NestNode &consumer,
                        const FusionLimits &limits,
                        uint64_t &redundantPercent) {
  uint64_t runs = 0;
  for (AffineLoadOp load : loads)
    runs = saturatingAdd(runs, countRuns(load, consumer.op));
  std::optional<OperandUse> use;
  if (expression.cycles != 0 && runs > expression.trips && loads.size() == 1 &&
      readsOnce(expression, loads.front()) &&
      (use = countEvaluations(loads.front(), cast<AffineForOp>(consumer.op))))
    runs = uint64_t(double(expression.trips) * use->evaluations);
  redundantPercent = expression.cycles == 0 || runs <= expression.trips
                         ? 0
                         : saturatingMultiply(runs - expression.trips, 100) /
                               std::max<uint64_t>(expression.trips, 1);
  if (use ? !repaysEvaluations(expression, *use, limits)
          : redundantPercent > limits.redundantPercent)
    return "too much would be computed again";
  if (expression.cycles != 0 &&
      graph.readersOf(expression.store.getMemRef()).size() != 1)
    return "the buffer has other readers";
  unsigned size = std::distance(expression.store->getBlock()->begin(),
                                expression.store->getBlock()->end());
  if (size * loads.size() + countOperations(consumer.op) > limits.operations)
    return "the fused nest would be too large";
  // Reads that were contiguous should stay so if there is much to compute.
  if (expression.cycles < heavyCycles)
    return nullptr;
  return losesLanes(expression, loads) ? "vectors would be lost" : nullptr;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

void inlineExpression(NestExpression &expression,
                      ArrayRef<AffineLoadOp> loads) {
  for (AffineLoadOp load : loads) {
    OpBuilder builder(load);
    IRMapping mapping;
    AffineMap map = getBufferIndices(load, expression.store.getMemRef());
    for (auto [loop, d] : llvm::zip_equal(expression.band, expression.dimOf)) {
      SmallVector<OpFoldResult> operands =
          getAsOpFoldResult(load.getMapOperands());
      mapping.map(loop.getInductionVar(),
                  makeComposedAffineApply(builder, load.getLoc(),
                                          map.getSubMap({d}), operands)
                      .getResult());
    }
    for (Operation &op : expression.store->getBlock()->without_terminator()) {
      if (&op == expression.store)
        break;
      auto read = dyn_cast<AffineLoadOp>(op);
      if (!read) {
        builder.clone(op, mapping);
        continue;
      }
      AffineMap readMap = read.getAffineMap();
      SmallVector<Value> operands;
      for (Value operand : read.getMapOperands())
        operands.push_back(mapping.lookupOrDefault(operand));
      fullyComposeAffineMapAndOperands(&readMap, &operands);
      // Dimensions that were split and joined are one again.
      readMap = simplifyAffineMap(readMap);
      canonicalizeMapAndOperands(&readMap, &operands);
      Value memref = mapping.lookupOrDefault(read.getMemref());
      auto copy = AffineLoadOp::create(builder, read.getLoc(), memref, readMap,
                                       operands);
      copy->setDiscardableAttrs(read->getDiscardableAttrDictionary());
      mapping.map(read.getResult(), copy.getResult());
    }
    load.replaceAllUsesWith(
        mapping.lookupOrDefault(expression.store.getValueToStore()));
    for (AffineForOp loop : expression.band) {
      Value index = mapping.lookup(loop.getInductionVar());
      if (index.use_empty())
        index.getDefiningOp()->erase();
    }
    Operation *view = load.getMemRef().getDefiningOp();
    load.erase();
    if (isa<memref::CollapseShapeOp>(view) && view->use_empty())
      view->erase();
  }
}

} // namespace polynest
