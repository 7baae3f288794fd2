//===- NestGraph.cpp - the nests of a function ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Analysis/NestGraph.h"

#include "Analysis/Aliasing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// What a node is
//===----------------------------------------------------------------------===//

/// True if accesses of `extent` elements at `factor` times the variable of
/// `loop` leave no gap between 0 and the size of dimension `dim` of `memref`.
static bool loopCoversDim(AffineForOp loop, Value memref, unsigned dim,
                          int64_t factor, int64_t extent) {
  int64_t stride;
  if (!loop.hasConstantLowerBound() || loop.getConstantLowerBound() != 0 ||
      factor <= 0 || loop.getStepAsInt() <= 0 ||
      llvm::MulOverflow(factor, loop.getStepAsInt(), stride) || stride > extent)
    return false;
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim)) {
    if (!loop.hasConstantUpperBound())
      return false;
    int64_t last = loop.getConstantUpperBound() - 1;
    if (last < 0)
      return type.getDimSize(dim) == 0;
    last -= last % loop.getStepAsInt();
    int64_t end;
    return !llvm::MulOverflow(last, factor, end) &&
           !llvm::AddOverflow(end, extent, end) && end >= type.getDimSize(dim);
  }
  if (factor != 1)
    return false;
  AffineMap upper = loop.getUpperBoundMap();
  if (upper.getNumResults() != 1 || upper.getNumInputs() != 1 ||
      !isa<AffineDimExpr, AffineSymbolExpr>(upper.getResult(0)))
    return false;
  Value size = loop.getUpperBoundOperands()[0];
  if (auto dimOp = size.getDefiningOp<memref::DimOp>()) {
    std::optional<int64_t> index = dimOp.getConstantIndex();
    if (dimOp.getSource() == memref && index && *index == dim)
      return true;
  }
  auto alloc = memref.getDefiningOp<memref::AllocOp>();
  return alloc && alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)] == size;
}

/// True if the access, a write inside `root`, surely writes every element of
/// its base whenever `root` runs.
static bool coversBase(const Access &access, Operation *root) {
  if (!access.isWrite || !access.isAffine() || access.isPartial ||
      access.memref != access.base)
    return false;
  for (Operation *at = access.op; at != root;) {
    at = at->getParentOp();
    if (!isa<AffineForOp>(at))
      return false;
  }
  auto type = cast<MemRefType>(access.memref.getType());
  AffineMap map = access.map.getAffineMap();
  SmallPtrSet<Operation *, 4> used;
  for (unsigned d = 0, e = map.getNumResults(); d != e; ++d) {
    AffineExpr result = map.getResult(d);
    int64_t extent = access.extent[d];
    if (auto constant = dyn_cast<AffineConstantExpr>(result)) {
      if (type.isDynamicDim(d) || constant.getValue() != 0 ||
          extent < type.getDimSize(d))
        return false;
      continue;
    }
    int64_t factor = 1;
    if (auto product = dyn_cast<AffineBinaryOpExpr>(result))
      if (auto by = dyn_cast<AffineConstantExpr>(product.getRHS());
          by && result.getKind() == AffineExprKind::Mul) {
        factor = by.getValue();
        result = product.getLHS();
      }
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim)
      return false;
    AffineForOp loop =
        getForInductionVarOwner(access.map.getOperand(dim.getPosition()));
    if (!loop || !root->isAncestor(loop) || !used.insert(loop).second ||
        !loopCoversDim(loop, access.memref, d, factor, extent))
      return false;
  }
  // Any other loop around must be known to run.
  for (Operation *at = access.op; at != root;) {
    at = at->getParentOp();
    if (used.contains(at))
      continue;
    std::optional<uint64_t> trips = getTripCount(cast<AffineForOp>(at));
    if (!trips || *trips == 0)
      return false;
  }
  return true;
}

/// Floating-point operations that one execution of `op` counts for.
static uint64_t flopsOf(Operation *op) {
  if (op->getNumResults() != 1)
    return 0;
  Type type = op->getResult(0).getType();
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return 0;
  uint64_t lanes = 1;
  if (auto vector = dyn_cast<VectorType>(type))
    lanes = vector.getNumElements();
  if (isa<vector::FMAOp, math::FmaOp>(op))
    return 2 * lanes;
  if (auto reduction = dyn_cast<vector::ReductionOp>(op))
    return reduction.getSourceVectorType().getNumElements();
  if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op))
    return reduction.getSourceVectorType().getNumElements();
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          arith::RemFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp>(op))
    return lanes;
  if (isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return lanes;
  return 0;
}

/// Sums flops over a region; none where a loop's trip count is not constant
/// and there is anything to multiply with it.
static std::optional<uint64_t> countFlops(Operation *op) {
  uint64_t total = flopsOf(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block) {
        std::optional<uint64_t> part = countFlops(&inner);
        if (!part || __builtin_add_overflow(total, *part, &total))
          return std::nullopt;
      }
  if (total == 0 || op->getNumRegions() == 0)
    return total;
  std::optional<uint64_t> trips;
  if (auto loop = dyn_cast<AffineForOp>(op)) {
    trips = getTripCount(loop);
  } else if (auto loop = dyn_cast<AffineParallelOp>(op)) {
    if (auto counts = getTripCounts(loop)) {
      trips = 1;
      for (uint64_t count : *counts)
        if (__builtin_mul_overflow(*trips, count, &*trips))
          return std::nullopt;
    }
  } else if (isa<AffineIfOp, scf::IfOp>(op)) {
    trips = 1;
  }
  uint64_t product;
  if (!trips || __builtin_mul_overflow(total, *trips, &product))
    return std::nullopt;
  return product;
}

void NestGraph::describe(NestNode &node) {
  Operation *op = node.op;
  node.band.clear();
  node.tripCounts.clear();
  node.accesses.clear();
  node.reads.clear();
  node.writes.clear();
  node.covers.clear();
  node.isOpaque = !isa<AffineForOp>(op);
  node.touchesAll = node.hasIndirect = node.hasAssert = false;
  collectAccesses(op, node.accesses);
  auto addOnce = [](auto &list, Value value) {
    if (!llvm::is_contained(list, value))
      list.push_back(value);
  };
  for (const Access &access : node.accesses) {
    if (access.isIndirect)
      node.hasIndirect = true;
    Value base = access.base;
    StorageKind storage = base ? getStorageKind(base) : StorageKind::Unknown;
    if (storage == StorageKind::Unknown) {
      node.touchesAll = true;
      continue;
    }
    // Allocated inside the node: nobody else's concern.
    if (op->isAncestor(base.getParentRegion()->getParentOp()))
      continue;
    addOnce(access.isWrite ? node.writes : node.reads, access.base);
    if (coversBase(access, op))
      addOnce(node.covers, access.base);
  }
  op->walk([&](cf::AssertOp) { node.hasAssert = true; });
  if (auto root = dyn_cast<AffineForOp>(op)) {
    node.band = getPerfectBand(root);
    for (AffineForOp loop : node.band)
      node.tripCounts.push_back(getTripCount(loop));
  }
}

NestKind NestNode::getKind() const {
  auto root = dyn_cast<AffineForOp>(op);
  return root ? classifyNest(root, accesses) : NestKind::Misc;
}

std::optional<uint64_t> NestNode::getFootprint() const {
  return getFootprintBytes(accesses, op);
}

std::optional<uint64_t> NestNode::getFlops() const { return countFlops(op); }

//===----------------------------------------------------------------------===//
// Alias classes and lists
//===----------------------------------------------------------------------===//

/// The value that stands for all bases which may overlap `base`: the base
/// itself, one value a global symbol, or the first plain argument for all plain
/// arguments together.
Value NestGraph::classOf(Value base) {
  switch (getStorageKind(base)) {
  case StorageKind::Global:
    return globalKeys
        .try_emplace(
            base.getDefiningOp<memref::GetGlobalOp>().getNameAttr().getAttr(),
            base)
        .first->second;
  case StorageKind::ReadOnlyArgument:
  case StorageKind::MutableArgument:
    for (BlockArgument argument : function.getArguments()) {
      StorageKind kind = getStorageKind(argument);
      if (isa<BaseMemRefType>(argument.getType()) &&
          (kind == StorageKind::ReadOnlyArgument ||
           kind == StorageKind::MutableArgument))
        return argument;
    }
    return base;
  case StorageKind::Allocation:
  case StorageKind::DistinctArgument:
  case StorageKind::Unknown:
    return base;
  }
  llvm_unreachable("all kinds are handled");
}

bool NestGraph::isPrivate(Value base) {
  auto [it, isNew] = privateBases.try_emplace(base, false);
  if (isNew)
    it->second = isPrivateAllocation(base);
  return it->second;
}

bool NestGraph::touchesShared(const NestNode &node) {
  auto shared = [&](Value base) { return !isPrivate(base); };
  return node.touchesAll || llvm::any_of(node.reads, shared) ||
         llvm::any_of(node.writes, shared);
}

/// Every base of a class is one base, but for the plain arguments.
bool NestGraph::coversClass(const NestNode &node, Value key) {
  if (!llvm::is_contained(node.covers, key))
    return false;
  StorageKind kind = getStorageKind(key);
  return kind != StorageKind::ReadOnlyArgument &&
         kind != StorageKind::MutableArgument;
}

bool NestGraph::before(const NestNode &a, const NestNode &b) const {
  return a.op != b.op && a.op->isBeforeInBlock(b.op);
}

/// Place of the first listed node that is not before `node`.
size_t NestGraph::placeIn(ArrayRef<unsigned> list, const NestNode &node) const {
  return llvm::lower_bound(list, node.id,
                           [&](unsigned other, unsigned) {
                             return before(*byId[other], node);
                           }) -
         list.begin();
}

void NestGraph::insertInOrder(SmallVectorImpl<unsigned> &list, unsigned id) {
  // Nodes come in order when the graph is built.
  if (list.empty() || before(*byId[list.back()], *byId[id]))
    list.push_back(id);
  else
    list.insert(list.begin() + placeIn(list, *byId[id]), id);
}

void NestGraph::enlist(NestNode &node) {
  auto add = [&](ArrayRef<Value> bases, auto member) {
    SmallVector<Value, 4> keys;
    for (Value base : bases)
      if (!llvm::is_contained(keys, classOf(base)))
        keys.push_back(classOf(base));
    for (Value key : keys)
      insertInOrder(classes[key].*member, node.id);
  };
  add(node.reads, &BaseClass::readers);
  add(node.writes, &BaseClass::writers);
  if (node.touchesAll)
    insertInOrder(barriers, node.id);
  if (node.hasAssert)
    insertInOrder(asserts, node.id);
}

void NestGraph::delist(NestNode &node) {
  // By value: the node may have moved already.
  for (ArrayRef<Value> bases :
       {ArrayRef<Value>(node.reads), ArrayRef<Value>(node.writes)})
    for (Value base : bases) {
      BaseClass &list = classes[classOf(base)];
      llvm::erase(list.readers, node.id);
      llvm::erase(list.writers, node.id);
    }
  llvm::erase(barriers, node.id);
  llvm::erase(asserts, node.id);
}

NestNode *NestGraph::addNode(Operation *op, unsigned id) {
  auto node = std::make_unique<NestNode>();
  node->id = id;
  node->op = op;
  describe(*node);
  if (node->accesses.empty() && !node->hasAssert)
    return nullptr;
  if (id == byId.size())
    byId.emplace_back();
  byId[id] = std::move(node);
  idOf[op] = id;
  enlist(*byId[id]);
  return byId[id].get();
}

NestGraph::NestGraph(Operation *root) : function(cast<func::FuncOp>(root)) {
  if (function.isExternal())
    return;
  for (Operation &op : function.getBody().front())
    addNode(&op, byId.size());
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

SmallVector<NestNode *> NestGraph::nodes() {
  SmallVector<NestNode *> result;
  if (function.isExternal())
    return result;
  for (Operation &op : function.getBody().front())
    if (NestNode *node = getNode(&op))
      result.push_back(node);
  return result;
}

NestNode *NestGraph::getNode(unsigned id) {
  return id < byId.size() ? byId[id].get() : nullptr;
}

NestNode *NestGraph::getNode(Operation *op) {
  auto it = idOf.find(op);
  return it == idOf.end() ? nullptr : byId[it->second].get();
}

bool NestGraph::precedes(unsigned a, unsigned b) {
  return before(*byId[a], *byId[b]);
}

const NestNode *NestGraph::barrierBefore(const NestNode &node) const {
  size_t place = placeIn(barriers, node);
  return place == 0 ? nullptr : byId[barriers[place - 1]].get();
}

const NestNode *NestGraph::barrierAfter(const NestNode &node) const {
  size_t place = placeIn(barriers, node);
  if (place < barriers.size() && barriers[place] == node.id)
    ++place;
  return place == barriers.size() ? nullptr : byId[barriers[place]].get();
}

SmallVector<NestNode *> NestGraph::writersOf(Value base) {
  SmallVector<NestNode *> result;
  for (unsigned id : classes[classOf(base)].writers)
    if (llvm::is_contained(byId[id]->writes, base))
      result.push_back(byId[id].get());
  return result;
}

SmallVector<NestNode *> NestGraph::readersOf(Value base) {
  SmallVector<NestNode *> result;
  for (unsigned id : classes[classOf(base)].readers)
    if (llvm::is_contained(byId[id]->reads, base))
      result.push_back(byId[id].get());
  return result;
}

SmallVector<NestNode *> NestGraph::usersOf(Value base) {
  SmallVector<NestNode *> result = readersOf(base);
  result.append(writersOf(base));
  if (!isPrivate(base))
    for (unsigned id : barriers)
      result.push_back(byId[id].get());
  llvm::sort(result, [&](NestNode *a, NestNode *b) { return before(*a, *b); });
  result.erase(llvm::unique(result), result.end());
  return result;
}

/// The base of `bases` that belongs to a class.
static Value pickBase(ArrayRef<Value> bases,
                      llvm::function_ref<Value(Value)> classOf, Value key) {
  for (Value base : bases)
    if (classOf(base) == key)
      return base;
  return key;
}

SmallVector<NestEdge> NestGraph::edgesTo(unsigned id) {
  SmallVector<NestEdge> edges;
  NestNode &node = *byId[id];
  auto keyOf = [&](Value base) { return classOf(base); };
  const NestNode *barrier = barrierBefore(node);
  // Whether an earlier node comes before the barrier, which then stands for it.
  auto isCut = [&](unsigned other, Value key) {
    return barrier && !isPrivate(key) && before(*byId[other], *barrier);
  };
  SmallVector<Value, 4> done;
  for (Value base : node.reads) {
    Value key = classOf(base);
    if (llvm::is_contained(done, key))
      continue;
    done.push_back(key);
    ArrayRef<unsigned> writers = classes[key].writers;
    unsigned pending = 0;
    for (size_t i = placeIn(writers, node); i-- > 0;) {
      if (isCut(writers[i], key))
        break;
      edges.push_back({writers[i], id, base, EdgeKind::Flow});
      if (coversClass(*byId[writers[i]], key) || ++pending == maxPendingWriters)
        break;
    }
  }
  done.clear();
  for (Value base : node.writes) {
    Value key = classOf(base);
    if (llvm::is_contained(done, key))
      continue;
    done.push_back(key);
    ArrayRef<unsigned> writers = classes[key].writers;
    size_t mine = placeIn(writers, node);
    unsigned pending = 0;
    for (size_t i = mine; i-- > 0;) {
      if (isCut(writers[i], key))
        break;
      edges.push_back({writers[i], id, base, EdgeKind::Output});
      if (coversClass(*byId[writers[i]], key) || ++pending == maxPendingWriters)
        break;
    }
    // Readers before the last writer are ordered through it.
    ArrayRef<unsigned> readers = classes[key].readers;
    for (size_t i = placeIn(readers, node); i-- > 0;) {
      if (isCut(readers[i], key) ||
          (mine > 0 && before(*byId[readers[i]], *byId[writers[mine - 1]])))
        break;
      edges.push_back({readers[i], id,
                       pickBase(byId[readers[i]]->reads, keyOf, key),
                       EdgeKind::Anti});
    }
  }
  if (node.touchesAll) {
    // Everything shared since the last barrier, the barrier included.
    for (Operation *op = node.op->getPrevNode(); op; op = op->getPrevNode()) {
      NestNode *other = getNode(op);
      if (!other || !touchesShared(*other))
        continue;
      edges.push_back({other->id, id, Value(), EdgeKind::Flow});
      if (other->touchesAll)
        break;
    }
  } else if (barrier && touchesShared(node)) {
    edges.push_back({barrier->id, id, Value(), EdgeKind::Flow});
  }
  if (node.hasIndirect && !node.touchesAll)
    if (size_t place = placeIn(asserts, node))
      // One assertion stands for all before it: they keep their order.
      edges.push_back({asserts[place - 1], id, Value(), EdgeKind::Flow});
  if (node.hasAssert)
    if (size_t place = placeIn(asserts, node))
      edges.push_back({asserts[place - 1], id, Value(), EdgeKind::Output});
  SmallVector<std::pair<unsigned, NestEdge>> numbered;
  for (auto [i, edge] : llvm::enumerate(edges))
    numbered.push_back({i, edge});
  llvm::sort(numbered, [&](const auto &a, const auto &b) {
    if (a.second.source != b.second.source)
      return before(*byId[a.second.source], *byId[b.second.source]);
    return a.first < b.first;
  });
  return llvm::map_to_vector(numbered,
                             [](const auto &entry) { return entry.second; });
}

SmallVector<NestEdge> NestGraph::edgesFrom(unsigned id) {
  // The sinks are found by the mirrored walk, their edges by asking them: the
  // two directions then cannot disagree.
  SmallVector<unsigned, 8> sinks;
  NestNode &node = *byId[id];
  auto addSink = [&](unsigned sink) {
    if (sink != id && !llvm::is_contained(sinks, sink))
      sinks.push_back(sink);
  };
  const NestNode *barrier = barrierAfter(node);
  auto isCut = [&](unsigned other, Value key) {
    return barrier && !isPrivate(key) && before(*barrier, *byId[other]);
  };
  auto after = [&](ArrayRef<unsigned> list) {
    size_t place = placeIn(list, node);
    return place < list.size() && list[place] == id ? place + 1 : place;
  };
  SmallVector<Value, 4> bases(node.reads);
  bases.append(node.writes);
  for (Value base : bases) {
    Value key = classOf(base);
    ArrayRef<unsigned> writers = classes[key].writers;
    ArrayRef<unsigned> readers = classes[key].readers;
    bool isWriter = llvm::is_contained(node.writes, base);
    // The writer up to which (inclusive) this node is visible.
    size_t first = after(writers), last = first;
    if (isWriter) {
      unsigned pending = 1;
      while (last < writers.size() && !coversClass(*byId[writers[last]], key) &&
             pending++ < maxPendingWriters)
        ++last;
      for (size_t i = after(readers); i < readers.size(); ++i) {
        // A covering writer that reads as well still sees this node.
        if (last < writers.size() && readers[i] != writers[last] &&
            before(*byId[writers[last]], *byId[readers[i]]))
          break;
        if (isCut(readers[i], key))
          break;
        addSink(readers[i]);
      }
    }
    for (size_t i = first; i <= last && i < writers.size(); ++i)
      if (!isCut(writers[i], key))
        addSink(writers[i]);
  }
  if (node.touchesAll) {
    for (Operation *op = node.op->getNextNode(); op; op = op->getNextNode()) {
      NestNode *other = getNode(op);
      if (!other)
        continue;
      addSink(other->id);
      if (other->touchesAll)
        break;
    }
  } else if (barrier) {
    addSink(barrier->id);
  }
  if (node.hasAssert) {
    size_t next = after(asserts);
    const NestNode *end =
        next < asserts.size() ? byId[asserts[next]].get() : nullptr;
    for (Operation *op = node.op->getNextNode(); op; op = op->getNextNode()) {
      NestNode *other = getNode(op);
      if (!other)
        continue;
      if (other->hasIndirect || other == end)
        addSink(other->id);
      if (other == end)
        break;
    }
  }
  llvm::sort(sinks, [&](unsigned a, unsigned b) { return precedes(a, b); });
  SmallVector<NestEdge> edges;
  for (unsigned sink : sinks)
    for (const NestEdge &edge : edgesTo(sink))
      if (edge.source == id)
        edges.push_back(edge);
  return edges;
}

//===----------------------------------------------------------------------===//
// Mutators
//===----------------------------------------------------------------------===//

static void forgetNode(NestNode &node, DenseMap<Operation *, unsigned> &idOf) {
  idOf.erase(node.op);
}

void NestGraph::eraseNode(unsigned id) {
  NestNode &node = *byId[id];
  delist(node);
  forgetNode(node, idOf);
  Operation *op = node.op;
  byId[id].reset();
  op->erase();
}

void NestGraph::updateNode(unsigned id) {
  NestNode &node = *byId[id];
  Operation *op = node.op;
  delist(node);
  privateBases.clear();
  describe(node);
  if (node.accesses.empty() && !node.hasAssert) {
    idOf.erase(op);
    byId[id].reset();
    return;
  }
  enlist(node);
}

NestNode *NestGraph::insertNode(Operation *op) {
  privateBases.clear();
  return addNode(op, byId.size());
}

void NestGraph::replaceNode(unsigned id, Operation *op) {
  NestNode &node = *byId[id];
  delist(node);
  forgetNode(node, idOf);
  Operation *old = node.op;
  byId[id].reset();
  if (old != op)
    old->erase();
  privateBases.clear();
  addNode(op, id);
}

NestNode *NestGraph::fuseNodes(unsigned producer, unsigned consumer,
                               Operation *fused) {
  for (unsigned id : {producer, consumer}) {
    NestNode &node = *byId[id];
    delist(node);
    forgetNode(node, idOf);
    Operation *old = node.op;
    byId[id].reset();
    if (old != fused)
      old->erase();
  }
  return insertNode(fused);
}

void NestGraph::moveNodeBefore(unsigned id, unsigned other) {
  NestNode &node = *byId[id];
  delist(node);
  // Operation::moveBefore would make the block number all operations anew.
  Operation *place = byId[other]->op;
  node.op->remove();
  place->getBlock()->getOperations().insert(Block::iterator(place), node.op);
  enlist(node);
}

//===----------------------------------------------------------------------===//
// Verification and printing
//===----------------------------------------------------------------------===//

static StringRef edgeKindName(EdgeKind kind) {
  switch (kind) {
  case EdgeKind::Flow:
    return "flow";
  case EdgeKind::Anti:
    return "anti";
  case EdgeKind::Output:
    return "output";
  }
  llvm_unreachable("all kinds are handled");
}

static void printNode(const NestNode &node, raw_ostream &os) {
  os << (node.isOpaque ? "opaque " : "nest ") << node.op->getName()
     << " kind=" << nestKindName(node.getKind());
  os << " trips=[";
  llvm::interleave(
      node.tripCounts, os,
      [&](std::optional<uint64_t> trips) {
        if (trips)
          os << *trips;
        else
          os << '?';
      },
      ",");
  os << "] accesses=" << node.accesses.size() << " reads=" << node.reads.size()
     << " writes=" << node.writes.size() << " covers=" << node.covers.size();
  auto printCount = [&](StringRef name, std::optional<uint64_t> count) {
    os << ' ' << name << '=';
    if (count)
      os << *count;
    else
      os << '?';
  };
  printCount("bytes", node.getFootprint());
  printCount("flops", node.getFlops());
  if (node.touchesAll)
    os << " touches-all";
  if (node.hasAssert)
    os << " assert";
}

/// Numbers nodes by place, so that graphs with different ids print the same.
static std::string toText(NestGraph &graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  DenseMap<unsigned, unsigned> place;
  SmallVector<NestNode *> nodes = graph.nodes();
  for (auto [i, node] : llvm::enumerate(nodes))
    place[node->id] = i;
  for (NestNode *node : nodes) {
    os << "node " << place[node->id] << ": ";
    printNode(*node, os);
    os << '\n';
    for (const NestEdge &edge : graph.edgesFrom(node->id)) {
      os << "  " << edgeKindName(edge.kind) << " -> " << place[edge.sink]
         << " through ";
      if (edge.base)
        edge.base.printAsOperand(os, OpPrintingFlags());
      else
        os << "memory";
      os << '\n';
    }
  }
  return text;
}

void NestGraph::print(raw_ostream &os) { os << toText(*this); }

LogicalResult NestGraph::verify(std::string *why) {
  auto fail = [&](const Twine &text) {
    if (why)
      *why = text.str();
    return failure();
  };
  NestGraph fresh(function);
  SmallVector<NestNode *> mine = nodes(), theirs = fresh.nodes();
  if (mine.size() != theirs.size())
    return fail("the graph has " + Twine(mine.size()) +
                " nodes, the function " + Twine(theirs.size()));
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(mine, theirs))) {
    auto [a, b] = pair;
    std::string textA, textB;
    llvm::raw_string_ostream osA(textA), osB(textB);
    printNode(*a, osA);
    printNode(*b, osB);
    if (a->op != b->op || textA != textB || a->reads != b->reads ||
        a->writes != b->writes || a->covers != b->covers || a->band != b->band)
      return fail("node " + Twine(i) + " is '" + textA + "', should be '" +
                  textB + "'");
    auto edgesOf = [](NestGraph &graph, NestNode *node) {
      SmallVector<std::tuple<Operation *, void *, unsigned>> list;
      for (const NestEdge &edge : graph.edgesTo(node->id))
        list.push_back({graph.getNode(edge.source)->op,
                        edge.base ? edge.base.getAsOpaquePointer() : nullptr,
                        unsigned(edge.kind)});
      return list;
    };
    if (edgesOf(*this, a) != edgesOf(fresh, b))
      return fail("edges to node " + Twine(i) + " differ");
  }
  return success();
}

} // namespace polynest
