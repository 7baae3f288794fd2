// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestMerge.cpp: see the header.

#include "Transforms/NestMerge.h"

#include "Analysis/Aliasing.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

Nest::Nest(AffineForOp root) : root(root), band(getPerfectBand(root)) {
  collectAccesses(root, accesses);
}

Nest::Nest(const NestNode &node)
    : root(cast<AffineForOp>(node.op)), band(node.band),
      accesses(node.accesses) {}

SmallVector<Value, 6> Nest::ivs(unsigned depth) {
  SmallVector<Value, 6> list;
  for (unsigned i = 0; i != depth; ++i)
    list.push_back(band[i].getInductionVar());
  return list;
}

unsigned Nest::getSize() {
  if (!size)
    size = countOperations(root);
  return *size;
}

uint64_t Nest::getCycles() {
  if (!cycles)
    cycles = estimateCycles(root);
  return *cycles;
}

unsigned Nest::getNumParallel() {
  if (!numParallel) {
    numParallel = 0;
    while (*numParallel < band.size() &&
           isPlainlyParallel(band[*numParallel], accesses))
      ++*numParallel;
  }
  return *numParallel;
}

uint64_t Nest::countTrips(unsigned depth) {
  uint64_t product = 1;
  for (unsigned i = 0; i != depth; ++i)
    product = saturatingMultiply(product, estimateTrips(band[i]));
  return product;
}

std::optional<Nest::TileLoops> Nest::findTileLoops(Nest &nest) {
  std::optional<TileLoops> found;
  // By loop that reduces: for each read, where it stands still.
  nest.root->walk([&](AffineForOp loop) {
    if (!mayRunTwice(loop))
      return;
    SmallVector<Operation *> loops;
    getEnclosingAffineLoops(loop, loops, nest.root);
    unsigned level = loops.size();
    Value iv = loop.getInductionVar();
    for (const Access &write : nest.accesses) {
      if (!write.isWrite || !write.isAffine() || !isInvariantTo(write, iv))
        continue;
      // A reduction carried in registers stores behind the loop.
      bool isAround = loop->isAncestor(write.op);
      if (!isAround && !(loop.getNumIterOperands() &&
                         loop->getParentOp()->isAncestor(write.op)))
        continue;
      SmallVector<std::pair<Value, unsigned>> moving;
      for (auto [place, op] : llvm::enumerate(loops)) {
        auto outer = cast<AffineForOp>(op);
        if (mayRunTwice(outer) &&
            !isInvariantTo(write, outer.getInductionVar()))
          moving.emplace_back(outer.getInductionVar(), place);
      }
      SmallVector<SmallVector<bool, 6>, 4> still;
      for (const Access &read : nest.accesses) {
        if (read.isWrite || !read.isAffine() || read.memref == write.memref ||
            !loop->isAncestor(read.op) || isInvariantTo(read, iv))
          continue;
        still.emplace_back();
        for (auto [value, place] : moving)
          still.back().push_back(isInvariantTo(read, value));
      }
      std::optional<unsigned> most;
      for (ArrayRef<bool> x : still)
        for (ArrayRef<bool> y : still) {
          std::optional<unsigned> onlyX, onlyY;
          for (auto [a, b, loop] : llvm::zip_equal(x, y, moving)) {
            if (a && !b)
              onlyX = loop.second;
            if (b && !a)
              onlyY = loop.second;
          }
          if (onlyX && onlyY)
            most = std::max(most.value_or(0), std::min(*onlyX, *onlyY) + 1);
        }
      if (most)
        found = found ? TileLoops{std::min(found->depth, level),
                                  std::min(found->most, *most)}
                      : TileLoops{level, *most};
    }
  });
  return found;
}

const std::optional<Nest::TileLoops> &Nest::getTileLoops() {
  if (!tileLoops)
    tileLoops = findTileLoops(*this);
  return *tileLoops;
}

std::optional<unsigned> Nest::getContraction() {
  const std::optional<TileLoops> &found = getTileLoops();
  return found ? std::optional(found->depth) : std::nullopt;
}

bool Nest::keepsTiles(unsigned depth) {
  const std::optional<TileLoops> &found = getTileLoops();
  return !found || depth <= found->most;
}

bool isContiguousIn(Block *block, AffineForOp loop) {
  for (Operation &op : *block) {
    SmallVector<Access, 2> accesses;
    if (op.getNumRegions() == 0)
      collectAccesses(&op, accesses);
    for (const Access &access : accesses) {
      Contiguity contiguity = getContiguity(access, loop);
      if (contiguity != Contiguity::Contiguous &&
          contiguity != Contiguity::Invariant)
        return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

unsigned countEqualLoops(Nest &a, Nest &b) {
  IRMapping rename;
  unsigned depth = 0;
  for (auto [x, y] : llvm::zip(a.band, b.band)) {
    if (x.getNumIterOperands() || y.getNumIterOperands() ||
        !haveEqualBounds(x, y, rename))
      break;
    rename.map(x.getInductionVar(), y.getInductionVar());
    ++depth;
  }
  return depth;
}

bool runAlike(ArrayRef<AffineForOp> a, ArrayRef<AffineForOp> b,
              IRMapping &rename) {
  if (a.size() != b.size())
    return false;
  for (auto loops : llvm::zip_equal(a, b)) {
    auto [x, y] = std::tuple<AffineForOp, AffineForOp>(loops);
    if (!haveEqualBounds(x, y, rename))
      return false;
    rename.map(x.getInductionVar(), y.getInductionVar());
  }
  return true;
}

bool isSamePlace(const Access &a, const Access &b, const IRMapping &rename) {
  return a.isAffine() && b.isAffine() && a.memref == b.memref &&
         a.map.getAffineMap() == b.map.getAffineMap() &&
         llvm::all_of_zip(
             a.map.getOperands(), b.map.getOperands(),
             [&](Value x, Value y) { return rename.lookupOrDefault(x) == y; });
}

const char *whyOrderBreaks(Nest &producer, Nest &consumer, unsigned depth) {
  llvm::DenseMap<Value, SmallVector<const Access *, 4>> byBase;
  bool writesAny = false;
  for (const Access &access : producer.accesses) {
    if (!access.base)
      return "an operation may touch any memory";
    byBase[access.base].push_back(&access);
    writesAny |= access.isWrite;
  }
  SmallVector<Value, 6> from = producer.ivs(depth), to = consumer.ivs(depth);
  // Bases other than the access's own are compared once each.
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
  for (const Access &access : consumer.accesses) {
    if (!access.base)
      return "an operation may touch any memory";
    if (!access.isWrite && !writesAny)
      continue;
    if (seen.insert({access.base, unsigned(access.isWrite)}).second)
      for (auto &[base, list] : byBase)
        if (base != access.base && mayAlias(base, access.base) &&
            llvm::any_of(list, [&](const Access *other) {
              return other->isWrite || access.isWrite;
            }))
          return "different memrefs may share storage";
    auto it = byBase.find(access.base);
    if (it == byBase.end())
      continue;
    for (const Access *other : it->second)
      if ((other->isWrite || access.isWrite) &&
          !meetOnlyInStep(*other, from, producer.root, access, to,
                          consumer.root))
        return "an element is not touched in the same iteration of both";
  }
  return nullptr;
}

bool hasAssertion(Operation *op) {
  return op->walk([](cf::AssertOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

const char *whyAssertionsMove(Nest &producer, Nest &consumer) {
  auto hasIndirect = [](Nest &nest) {
    return llvm::any_of(
        nest.accesses, [](const Access &access) { return !access.isAffine(); });
  };
  bool first = hasAssertion(producer.root);
  bool second = hasAssertion(consumer.root);
  if ((first && second) || (first && hasIndirect(consumer)) ||
      (second && hasIndirect(producer)))
    return "assertions would fail in another order";
  return nullptr;
}

bool collectOperands(Operation *op, Operation *point,
                     llvm::SetVector<Operation *> &list) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  for (Value value : values) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != point->getBlock() ||
        def->isBeforeInBlock(point) || list.contains(def))
      continue;
    if (def == point || def->getNumRegions() != 0 || list.size() > 64 ||
        !(isMemoryEffectFree(def) || isa<memref::AllocOp>(def)) ||
        !collectOperands(def, point, list))
      return false;
    list.insert(def);
  }
  return true;
}

std::optional<Move> planMove(NestGraph &graph, NestNode &producer,
                             NestNode &consumer) {
  if (producer.op->getNumResults())
    return std::nullopt;
  Move move;
  // What the consumer waits for between the two, transitively.
  SmallVector<unsigned> worklist{consumer.id};
  llvm::DenseSet<unsigned> before;
  bool canMoveUp = true;
  while (canMoveUp && !worklist.empty()) {
    unsigned id = worklist.pop_back_val();
    for (const NestEdge &edge : graph.edgesTo(id)) {
      if (edge.source == producer.id) {
        canMoveUp &= id == consumer.id;
        continue;
      }
      if (graph.precedes(edge.source, producer.id) ||
          !before.insert(edge.source).second)
        continue;
      canMoveUp &= before.size() <= maxMovedNodes;
      worklist.push_back(edge.source);
    }
  }
  bool canMoveDown =
      llvm::none_of(graph.edgesFrom(producer.id), [&](const NestEdge &edge) {
        return edge.sink != consumer.id &&
               graph.precedes(edge.sink, consumer.id);
      });
  // Prefer what moves nothing else.
  if (canMoveDown && (!canMoveUp || !before.empty())) {
    move.consumerMoves = false;
    return move;
  }
  if (!canMoveUp)
    return std::nullopt;
  SmallVector<unsigned> ordered(before.begin(), before.end());
  llvm::sort(ordered,
             [&](unsigned a, unsigned b) { return graph.precedes(a, b); });
  bool canHoist = true;
  for (unsigned id : ordered) {
    Operation *op = graph.getNode(id)->op;
    canHoist &= collectOperands(op, producer.op, move.hoisted);
    move.hoisted.insert(op);
  }
  canHoist =
      canHoist && collectOperands(consumer.op, producer.op, move.hoisted);
  if (canHoist)
    return move;
  if (!canMoveDown)
    return std::nullopt;
  move.hoisted.clear();
  move.consumerMoves = false;
  return move;
}

void applyMove(const Move &move, NestGraph &graph, NestNode &producer,
               NestNode &consumer) {
  for (Operation *op : move.hoisted) {
    if (NestNode *node = graph.getNode(op))
      graph.moveNodeBefore(node->id, producer.id);
    else
      moveWithinBlock(op, producer.op);
  }
  if (move.consumerMoves)
    graph.moveNodeBefore(consumer.id, producer.id);
}

Operation *mergeBodies(Nest &producer, Nest &consumer, unsigned depth) {
  Block *from = producer.bodyAt(depth), *to = consumer.bodyAt(depth);
  for (unsigned i = 0; i != depth; ++i)
    producer.band[i].getInductionVar().replaceAllUsesWith(
        consumer.band[i].getInductionVar());
  Operation *first = &to->front();
  to->getOperations().splice(to->begin(), from->getOperations(), from->begin(),
                             std::prev(from->end()));
  return first;
}

} // namespace polynest
