//===- FuseNests.cpp - run producers and consumers in one nest ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: (a) merges the outermost `depth` loops of two nests of one block, the
// producer's body first, at the largest depth that is legal and pays, then does
// the same with the loops that came together inside; stored values go to loads
// of the same place through registers. (b) Where loops do not line up
// (transposed, sliced or broadcast reads) puts the producer's expression in
// place of the consumer's loads; behind a product, puts the consumer in the
// product's loops (Transforms/AlignLoops.h). (c) Shrinks buffers that live
// within one iteration of the merged loops to what one iteration touches.
// Legal when: (a) every two accesses that may meet, one of them a write, name
// the merged loops' variables in such a way that meeting means equal variables
// (then order within an iteration is the order of before, and no loop that was
// parallel stops being so), and what stands between the two nests may move out
// of the way by the edges of the nest graph. (b) The buffer is private, written
// once, by the producer, wholly; nothing writes what the producer reads until
// the consumer is done. (c) All accesses of a private buffer agree in the
// indices that drop, and these pin all loops around.
// No value changes: no operation is reordered within an element, and rounding
// at casts stays.
// Profitable when the numbers of `judgeFusion` say so: parallel iterations
// kept, contiguous inner loops kept, contractions keep their loops, one
// iteration's data fit the cache (the producer's, where the consumer reads them
// in step), recomputation within `max-redundant-compute-percent`. An operand of
// a product is evaluated as often as passes behind pack it, or use it for
// several rows at once; that may be the same part of the product's work, and
// what a buffer takes. A buffer that goes to memory, whatever reads it, is
// computed by each nest that does where that takes less (`outweighsBuffer`).
// Nests that only read the same wait until later ones have been looked at, if
// these could take in what one of them writes, and could not from both
// together, and that moves more bytes than are read once instead of twice.
// Limits: merged loops have equal bounds and steps; nests with results and
// merged loops with iter_args are left alone; accesses through different views
// of one base are not compared.
// Cost: linear in nodes plus edges, for bounded sizes of fused nests.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/Dependence.h"
#include "Analysis/NestGraph.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/AlignLoops.h"
#include "Transforms/FusionCost.h"
#include "Transforms/NestExpression.h"
#include "Transforms/NestMerge.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace polynest {
#define GEN_PASS_DEF_FUSENESTS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-fuse-nests"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "fuse-nests";

/// How far back partners are looked for: bounds that keep the pass linear.
static constexpr unsigned maxCandidates = 8, maxKnown = 64, maxWaiting = 32;

/// By asking for each operation in between.
static std::optional<Move> planMove(DependenceAnalysis &dependences,
                                    AffineForOp producer,
                                    AffineForOp consumer) {
  if (producer->getNumResults())
    return std::nullopt;
  // Backwards, so that what an operation waits for follows it in the list.
  SmallVector<Operation *> before;
  bool canMoveUp = true, canMoveDown = true;
  for (Operation *op = consumer->getPrevNode(); op != producer;
       op = op->getPrevNode()) {
    if (op->getNumRegions() == 0 &&
        (isMemoryEffectFree(op) || isa<memref::AllocOp, memref::AllocaOp>(op)))
      continue;
    canMoveDown = canMoveDown && dependences.reorderIsLegal(producer, op);
    if (!canMoveUp)
      continue;
    bool stays = dependences.reorderIsLegal(op, consumer) &&
                 llvm::all_of(before, [&](Operation *other) {
                   return dependences.reorderIsLegal(op, other);
                 });
    if (stays)
      continue;
    before.push_back(op);
    canMoveUp = before.size() <= maxMovedNodes &&
                dependences.reorderIsLegal(producer, op);
  }
  Move move;
  for (Operation *op : llvm::reverse(before)) {
    canMoveUp = canMoveUp && collectOperands(op, producer, move.hoisted);
    move.hoisted.insert(op);
  }
  if (canMoveUp && collectOperands(consumer, producer, move.hoisted))
    return move;
  if (!canMoveDown)
    return std::nullopt;
  move.hoisted.clear();
  move.consumerMoves = false;
  return move;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Within one block, gives loads the value that their place was stored or
/// loaded with last.
static void forwardValues(Block *block) {
  struct Known {
    Access access;
    Value value;
  };
  SmallVector<Known, 16> known;
  auto forget = [&](const Access &write) {
    llvm::erase_if(known, [&](const Known &entry) {
      return !write.memref || mayAlias(entry.access.memref, write.memref);
    });
  };
  auto learn = [&](const Access &access, Value value) {
    if (known.size() < maxKnown)
      known.push_back({access, value});
  };
  for (Operation &op : llvm::make_early_inc_range(*block)) {
    SmallVector<Access, 4> accesses;
    collectAccesses(&op, accesses);
    if (accesses.empty())
      continue;
    if (auto load = dyn_cast<AffineLoadOp>(op)) {
      if (!accesses[0].isAffine())
        continue;
      const auto *it = llvm::find_if(known, [&](const Known &entry) {
        return entry.access.memref == accesses[0].memref &&
               entry.access.map == accesses[0].map;
      });
      if (it == known.end()) {
        learn(accesses[0], load.getResult());
        continue;
      }
      load.replaceAllUsesWith(it->value);
      load.erase();
      continue;
    }
    for (const Access &access : accesses)
      if (access.isWrite)
        forget(access);
    if (auto store = dyn_cast<AffineStoreOp>(op))
      if (accesses[0].isAffine())
        learn(accesses[0], store.getValueToStore());
  }
}

/// Erases the stores to buffers that nothing but stores inside `root` names,
/// and lists the buffers. They are erased at the end: the graph still names
/// them.
static void eraseUnread(const llvm::SmallDenseSet<Value> &buffers,
                        Operation *root,
                        SmallVectorImpl<memref::AllocOp> &unused) {
  for (Value buffer : buffers) {
    auto alloc = buffer.getDefiningOp<memref::AllocOp>();
    // Without uses it is listed already.
    if (!alloc || alloc->use_empty() ||
        !llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
          auto store = dyn_cast<AffineStoreOp>(use.getOwner());
          return store && store.getMemref() == buffer &&
                 store.getValueToStore() != buffer && root->isAncestor(store);
        }))
      continue;
    for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
      user->erase();
    unused.push_back(alloc);
  }
}

//===----------------------------------------------------------------------===//
// Shrinking
//===----------------------------------------------------------------------===//

namespace {
/// A buffer that lives within one iteration of the loops around `block`.
struct Shrink {
  memref::AllocOp alloc;
  Block *block;
  SmallVector<unsigned> kept;
  MemRefType type;
  uint64_t bytes;
};
} // namespace

/// The innermost block that holds all operations that use `value`.
static Block *getCommonBlock(Value value) {
  Block *common = nullptr;
  for (Operation *user : value.getUsers()) {
    if (!common)
      common = user->getBlock();
    while (common && !common->findAncestorOpInBlock(*user)) {
      Operation *parent = common->getParentOp();
      common = parent ? parent->getBlock() : nullptr;
    }
  }
  return common;
}

static std::optional<Shrink> planShrink(memref::AllocOp alloc) {
  auto type = alloc.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      alloc->use_empty())
    return std::nullopt;
  Block *block = getCommonBlock(alloc);
  SmallVector<AffineForOp> loops;
  for (Operation *op = block ? block->getParentOp() : nullptr;
       op && op != alloc->getParentOp(); op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop)
      return std::nullopt;
    loops.push_back(loop);
  }
  if (loops.empty() || block == alloc->getBlock())
    return std::nullopt;
  // Views and anything but plain accesses keep the buffer as it is.
  SmallVector<Access, 8> accesses;
  for (OpOperand &use : alloc->getUses()) {
    if (!isa<AffineLoadOp, AffineStoreOp>(use.getOwner()))
      return std::nullopt;
    collectAccesses(use.getOwner(), accesses);
  }
  if (!llvm::all_of(accesses,
                    [](const Access &access) { return access.isAffine(); }))
    return std::nullopt;
  Shrink shrink{alloc, block, {}, type, 0};
  llvm::SmallDenseSet<Value> pinned;
  SmallVector<int64_t> shape;
  for (unsigned d = 0, e = type.getRank(); d != e; ++d) {
    bool drops = llvm::all_of(accesses, [&](const Access &access) {
      return isSameIndex(access, accesses.front(), d, block);
    });
    if (!drops) {
      shrink.kept.push_back(d);
      shape.push_back(type.getDimSize(d));
      continue;
    }
    if (Value iv = getOnlyVariable(accesses.front(), d))
      pinned.insert(iv);
  }
  if (shrink.kept.size() == size_t(type.getRank()) ||
      !llvm::all_of(loops, [&](AffineForOp loop) {
        return pinned.contains(loop.getInductionVar()) || !mayRunTwice(loop);
      }))
    return std::nullopt;
  shrink.type = MemRefType::get(shape, type.getElementType(), AffineMap(),
                                type.getMemorySpace());
  std::optional<uint64_t> bytes = getBufferBytes(shrink.type);
  if (!bytes)
    return std::nullopt;
  shrink.bytes = *bytes;
  return shrink;
}

static void applyShrink(Shrink &shrink, bool onStack) {
  OpBuilder builder = OpBuilder::atBlockBegin(shrink.block);
  Location loc = shrink.alloc.getLoc();
  IntegerAttr alignment = shrink.alloc.getAlignmentAttr();
  Value small;
  if (onStack)
    small = memref::AllocaOp::create(builder, loc, shrink.type, alignment);
  else
    small = memref::AllocOp::create(builder, loc, shrink.type, alignment);
  for (Operation *user : llvm::make_early_inc_range(shrink.alloc->getUsers())) {
    auto [map, operands] = getPlace(user);
    movePlace(user, small, map.getSubMap(shrink.kept), operands);
  }
  shrink.alloc.erase();
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

namespace {
struct Counters {
  unsigned applied = 0, declined = 0, inlined = 0, erased = 0, shrunk = 0;
};

class NestFuser {
public:
  NestFuser(func::FuncOp function, const FusionLimits &limits)
      : function(function), limits(limits) {}
  void run();
  Counters counters;

private:
  /// The largest depth at which the two may be merged with profit; zero if
  /// there is none, `why` then says what stood in the way of the best one.
  unsigned chooseDepth(Nest &producer, Nest &consumer, FusionCost &cost,
                       const char *&why);
  /// Merges, forwards values, and fuses the loops that came together. Returns
  /// what is left of the consumer; the producer is an empty band.
  void merge(Nest &producer, Nest &consumer, unsigned depth);
  /// Fuses loops of a block with earlier ones; those before `end` have been
  /// tried with each other, and so have the others.
  void fuseInside(Block *block, Operation *end);
  void fuseBlock(Block *block);
  bool tryInside(AffineForOp partner, AffineForOp loop);
  void findBound(NestGraph &graph);
  void fuseTopLevel(NestGraph &graph);
  void fuseInOrder(NestGraph &graph);
  bool fuseWithAny(NestGraph &graph, unsigned consumerId, unsigned &fusedId);
  /// Whether a later reader can take in what the nest writes, and, if so, could
  /// not once the nest is fused with `other`.
  enum class Taking { None, Always, Alone };
  Taking askReader(NestGraph &graph, NestNode &nest, NestNode &other,
                   NestNode &reader, std::optional<NestExpression> &expression);
  /// Bytes that the nest writes and others read again only because it is fused
  /// with `other`; of readers behind both.
  uint64_t countStranded(NestGraph &graph, NestNode &nest, NestNode &other,
                         std::optional<NestExpression> &expression);
  bool tryInline(NestGraph &graph, NestNode &producer, NestNode &consumer,
                 NestExpression &expression);
  /// Has each reader of a large buffer compute it, if that pays.
  bool tryRecompute(NestGraph &graph, NestNode &producer, NestNode &consumer,
                    NestExpression &expression);
  void inlineAt(NestGraph &graph, NestNode &producer, NestNode &consumer,
                NestExpression &expression, ArrayRef<AffineLoadOp> loads);
  /// Puts the consumer in the loops of a contraction that it reads the result
  /// of, where the two can then be merged.
  bool tryAlign(NestGraph &graph, unsigned producerId, unsigned consumerId);
  /// Does so with all nests, when each is all that stands in its own loops.
  void alignTopLevel(NestGraph &graph);
  void shrinkBuffers();
  Nest &nestOf(const NestNode &node);
  void decline(Operation *producer, Operation *consumer, const char *why);

  func::FuncOp function;
  FusionLimits limits;
  DependenceAnalysis dependences;
  /// Last nests that read, or wrote to, a base, for siblings.
  llvm::DenseMap<Value, SmallVector<unsigned, 2>> lastReaders, lastWriters;
  llvm::DenseSet<std::pair<unsigned, unsigned>> refused;
  /// Readers have their chance at what nests write before these are fused
  /// because they read the same; some nests were left apart for that.
  bool readersWait = true, hasWaited = false;
  /// Nests that go away, as all readers of what they write compute it.
  llvm::DenseSet<unsigned> vanishing;
  /// Nests that constant inputs alone decide: they leave the call, see
  /// polynest-split-constants.
  llvm::DenseSet<unsigned> bound;
  SmallVector<memref::AllocOp> unused;
  /// By the node's id, which a merged nest does not keep.
  llvm::DenseMap<unsigned, std::unique_ptr<Nest>> nests;
};
} // namespace

Nest &NestFuser::nestOf(const NestNode &node) {
  std::unique_ptr<Nest> &nest = nests[node.id];
  if (!nest)
    nest = std::make_unique<Nest>(node);
  return *nest;
}

void NestFuser::decline(Operation *producer, Operation *consumer,
                        const char *why) {
  ++counters.declined;
  if (!remarksWanted(function.getContext()))
    return;
  std::string place;
  llvm::raw_string_ostream os(place);
  producer->getLoc().print(os);
  remark(RemarkKind::Declined, consumer->getLoc(), passName, why)
      << arg("producer", place);
}

unsigned NestFuser::chooseDepth(Nest &producer, Nest &consumer,
                                FusionCost &cost, const char *&why) {
  unsigned most = countEqualLoops(producer, consumer);
  if (most == 0) {
    why = "outermost loops differ";
    return 0;
  }
  if ((why = whyAssertionsMove(producer, consumer)))
    return 0;
  const char *first = nullptr;
  for (unsigned depth = most; depth > 0; --depth) {
    why = whyOrderBreaks(producer, consumer, depth);
    if (!why) {
      cost = measureFusion(producer, consumer, depth, limits.cacheBytes);
      why = judgeFusion(cost, limits);
    }
    if (!why)
      return depth;
    // The reason at the largest legal depth tells most.
    first = why;
  }
  why = first;
  return 0;
}

void NestFuser::merge(Nest &producer, Nest &consumer, unsigned depth) {
  Block *body = consumer.bodyAt(depth);
  llvm::SmallDenseSet<Value> written, shared;
  for (const Access &access : producer.accesses)
    if (access.isWrite)
      written.insert(access.memref);
  for (const Access &access : consumer.accesses)
    if (!access.isWrite && written.contains(access.memref))
      shared.insert(access.memref);
  Operation *end = mergeBodies(producer, consumer, depth);
  dependences.invalidate();
  // Inner loops first, while it is known which came from where.
  fuseInside(body, end);
  forwardValues(body);
  eraseUnread(shared, consumer.root, unused);
}

void NestFuser::fuseInside(Block *block, Operation *end) {
  auto isCandidate = [](Operation &op) {
    auto loop = dyn_cast<AffineForOp>(op);
    return loop && loop.getStepAsInt() > 0;
  };
  SmallVector<AffineForOp> earlier, loops;
  for (Operation &op : llvm::make_range(block->begin(), Block::iterator(end)))
    if (isCandidate(op))
      earlier.push_back(cast<AffineForOp>(op));
  for (Operation &op : llvm::make_range(Block::iterator(end), block->end()))
    if (isCandidate(op))
      loops.push_back(cast<AffineForOp>(op));
  for (AffineForOp loop : loops) {
    bool merged = false;
    unsigned tried = 0;
    for (unsigned i = earlier.size(); i-- > 0 && tried < maxCandidates;
         ++tried) {
      if (!tryInside(earlier[i], loop))
        continue;
      earlier.erase(earlier.begin() + i);
      merged = true;
    }
    if (!merged)
      continue;
    // In program order: a loop that went up stands before others.
    auto *place = llvm::find_if(earlier, [&](AffineForOp other) {
      return loop->isBeforeInBlock(other);
    });
    earlier.insert(place, loop);
  }
}

bool NestFuser::tryInside(AffineForOp partner, AffineForOp loop) {
  Nest producer(partner), consumer(loop);
  FusionCost cost;
  const char *why = nullptr;
  unsigned depth = chooseDepth(producer, consumer, cost, why);
  if (depth == 0)
    return false;
  std::optional<Move> move = planMove(dependences, partner, loop);
  if (!move)
    return false;
  remark(RemarkKind::Applied, loop.getLoc(), passName, "inner loops fused")
      << arg("depth", depth) << arg("saved-bytes", cost.savedBytes);
  ++counters.applied;
  for (Operation *op : move->hoisted)
    moveWithinBlock(op, partner);
  if (move->consumerMoves)
    moveWithinBlock(loop, partner);
  merge(producer, consumer, depth);
  partner.erase();
  dependences.invalidate();
  return true;
}

void NestFuser::fuseBlock(Block *block) {
  SmallVector<AffineForOp> earlier;
  for (AffineForOp loop : llvm::to_vector(block->getOps<AffineForOp>())) {
    if (loop.getStepAsInt() <= 0)
      continue;
    unsigned tried = 0;
    for (unsigned i = earlier.size(); i-- > 0 && tried < maxCandidates; ++tried)
      if (tryInside(earlier[i], loop))
        earlier.erase(earlier.begin() + i);
    auto *place = llvm::find_if(earlier, [&](AffineForOp other) {
      return loop->isBeforeInBlock(other);
    });
    earlier.insert(place, loop);
  }
}

bool NestFuser::tryInline(NestGraph &graph, NestNode &producer,
                          NestNode &consumer, NestExpression &expression) {
  SmallVector<AffineLoadOp> loads;
  uint64_t redundantPercent = 0;
  const char *why = whyNotInline(graph, producer, consumer, expression, loads);
  if (!why)
    why = judgeInline(graph, expression, loads, consumer, limits,
                      redundantPercent);
  if (why) {
    decline(producer.op, consumer.op, why);
    return false;
  }
  remark(RemarkKind::Applied, consumer.op->getLoc(), passName,
         "producer's expression put in place of loads")
      << arg("loads", loads.size())
      << arg("redundant-percent", redundantPercent);
  inlineAt(graph, producer, consumer, expression, loads);
  return true;
}

bool NestFuser::tryRecompute(NestGraph &graph, NestNode &producer,
                             NestNode &consumer, NestExpression &expression) {
  SmallVector<AffineLoadOp> loads;
  if (!outweighsBuffer(graph, producer, expression, limits) ||
      whyNotInline(graph, producer, consumer, expression, loads))
    return false;
  remark(RemarkKind::Applied, consumer.op->getLoc(), passName,
         "each reader of a large buffer computes it")
      << arg("loads", loads.size()) << arg("cycles", expression.cycles);
  vanishing.insert(producer.id);
  inlineAt(graph, producer, consumer, expression, loads);
  return true;
}

void NestFuser::inlineAt(NestGraph &graph, NestNode &producer,
                         NestNode &consumer, NestExpression &expression,
                         ArrayRef<AffineLoadOp> loads) {
  ++counters.inlined;
  Value buffer = expression.store.getMemRef();
  inlineExpression(expression, loads);
  dependences.invalidate();
  graph.updateNode(consumer.id);
  nests.erase(consumer.id);
  if (llvm::hasSingleElement(buffer.getUses())) {
    nests.erase(producer.id);
    graph.eraseNode(producer.id);
    unused.push_back(buffer.getDefiningOp<memref::AllocOp>());
  }
}

bool NestFuser::tryAlign(NestGraph &graph, unsigned producerId,
                         unsigned consumerId) {
  NestNode &producer = *graph.getNode(producerId),
           &consumer = *graph.getNode(consumerId);
  Nest &theirs = nestOf(producer), &mine = nestOf(consumer);
  std::optional<unsigned> depth = theirs.getContraction();
  bool flows = llvm::any_of(consumer.reads, [&](Value base) {
    return llvm::is_contained(producer.writes, base);
  });
  if (!depth || !flows || mine.getContraction() ||
      !planMove(graph, producer, consumer))
    return false;
  // Operands of a product stay with it: rows are computed, and columns packed,
  // block by block (polynest-fuse-blocks).
  for (Value base : consumer.writes)
    for (NestNode *reader : graph.readersOf(base))
      if (reader->id != consumerId && !reader->isOpaque &&
          nestOf(*reader).getContraction()) {
        decline(producer.op, consumer.op, "a product reads what is stored");
        return false;
      }
  AffineForOp aligned;
  const char *why = alignLoops(theirs, mine, *depth, aligned);
  if (!why && !aligned)
    return false;
  FusionCost cost;
  if (!why) {
    Nest nest(aligned);
    if (chooseDepth(theirs, nest, cost, why) == *depth)
      why = nullptr;
    else
      aligned.erase();
  }
  if (why) {
    decline(producer.op, consumer.op, why);
    return false;
  }
  remark(RemarkKind::Applied, consumer.op->getLoc(), passName,
         "nest put in the loops of a product")
      << arg("depth", *depth);
  dependences.invalidate();
  nests.erase(consumerId);
  graph.replaceNode(consumerId, aligned);
  refused.erase({producerId, consumerId});
  return true;
}

/// The nodes and other operations of the block that `op` has to follow.
static SmallVector<Operation *> getPredecessors(NestGraph &graph,
                                                Operation *op) {
  SmallVector<Operation *> list;
  if (NestNode *node = graph.getNode(op))
    for (const NestEdge &edge : graph.edgesTo(node->id))
      list.push_back(graph.getNode(edge.source)->op);
  op->walk([&](Operation *user) {
    for (Value operand : user->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (source->getBlock() == op->getBlock())
          list.push_back(source);
  });
  return list;
}

/// How a nest waits for another one that stands before it, next to `with`:
/// through something else, that would then stand in between, or for itself.
enum class Waiting { None, Itself, Between };

/// What is not found soon is taken not to be there.
static Waiting getWaiting(NestGraph &graph, NestNode &nest, NestNode &other,
                          NestNode &with) {
  llvm::SetVector<Operation *> waiting;
  auto add = [&](Operation *op) {
    for (Operation *source : getPredecessors(graph, op))
      if (source != with.op && !source->isBeforeInBlock(other.op))
        waiting.insert(source);
  };
  add(nest.op);
  bool isNext = waiting.remove(other.op);
  for (unsigned i = 0; i < waiting.size() && i < maxWaiting; ++i) {
    add(waiting[i]);
    if (waiting.contains(other.op))
      return Waiting::Between;
  }
  return isNext ? Waiting::Itself : Waiting::None;
}

NestFuser::Taking
NestFuser::askReader(NestGraph &graph, NestNode &nest, NestNode &other,
                     NestNode &reader,
                     std::optional<NestExpression> &expression) {
  if (reader.isOpaque || reader.id == nest.id || reader.id == other.id ||
      !graph.precedes(nest.id, reader.id) ||
      !graph.precedes(other.id, reader.id) ||
      bound.contains(nest.id) != bound.contains(reader.id))
    return Taking::None;
  FusionCost cost;
  const char *why = nullptr;
  if (chooseDepth(nestOf(nest), nestOf(reader), cost, why) &&
      planMove(graph, nest, reader)) {
    Waiting waiting = getWaiting(graph, reader, other, nest);
    bool canJoin = waiting == Waiting::None ||
                   (waiting == Waiting::Itself &&
                    chooseDepth(nestOf(other), nestOf(reader), cost, why) != 0);
    return canJoin ? Taking::Always : Taking::Alone;
  }
  // Two nests together are no expression.
  SmallVector<AffineLoadOp> loads;
  uint64_t redundantPercent = 0;
  if (expression && !whyNotInline(graph, nest, reader, *expression, loads) &&
      (!judgeInline(graph, *expression, loads, reader, limits,
                    redundantPercent) ||
       outweighsBuffer(graph, nest, *expression, limits)))
    return Taking::Alone;
  return Taking::None;
}

uint64_t NestFuser::countStranded(NestGraph &graph, NestNode &nest,
                                  NestNode &other,
                                  std::optional<NestExpression> &expression) {
  uint64_t bytes = 0;
  for (Value base : nest.writes) {
    auto alloc = base.getDefiningOp<memref::AllocOp>();
    SmallVector<NestNode *> readers = graph.readersOf(base);
    if (!alloc || !isPrivateAllocation(alloc) ||
        readers.size() > maxCandidates || graph.writersOf(base).size() > 1)
      continue;
    bool isTaken = true, isStranded = false;
    for (NestNode *reader : readers) {
      Taking taking = askReader(graph, nest, other, *reader, expression);
      isTaken &= taking != Taking::None;
      isStranded |= taking == Taking::Alone;
      if (!isTaken)
        break;
    }
    if (isTaken && isStranded)
      bytes = saturatingAdd(
          bytes,
          saturatingMultiply(getBufferBytes(alloc.getType()).value_or(0), 2));
  }
  return bytes;
}

bool NestFuser::fuseWithAny(NestGraph &graph, unsigned consumerId,
                            unsigned &fusedId) {
  // Producers first, the nearest first, then readers of the same data and
  // writers of other parts of a result.
  SmallVector<unsigned, maxCandidates> candidates;
  auto add = [&](unsigned id) {
    NestNode *node = graph.getNode(id);
    if (node && !node->isOpaque && id != consumerId &&
        candidates.size() < maxCandidates && graph.precedes(id, consumerId) &&
        !refused.contains({id, consumerId}) &&
        !llvm::is_contained(candidates, id))
      candidates.push_back(id);
  };
  SmallVector<NestEdge> edges = graph.edgesTo(consumerId);
  for (const NestEdge &edge : llvm::reverse(edges))
    if (edge.base && edge.kind == EdgeKind::Flow)
      add(edge.source);
  auto addSiblings = [&](ArrayRef<Value> bases, auto &last) {
    for (Value base : bases)
      if (auto it = last.find(base); it != last.end())
        for (unsigned id : llvm::reverse(it->second))
          if (!vanishing.contains(id))
            add(id);
  };
  addSiblings(graph.getNode(consumerId)->reads, lastReaders);
  addSiblings(graph.getNode(consumerId)->writes, lastWriters);
  if (candidates.empty())
    return false;

  for (unsigned id : candidates) {
    bool isBound = bound.contains(id);
    if (isBound != bound.contains(consumerId)) {
      decline(graph.getNode(id)->op, graph.getNode(consumerId)->op,
              "one of the two runs once, when constants are bound");
      refused.insert({id, consumerId});
      continue;
    }
    NestNode &producer = *graph.getNode(id),
             &consumer = *graph.getNode(consumerId);
    std::optional<NestExpression> expression = matchExpression(producer);
    if (expression && tryRecompute(graph, producer, consumer, *expression)) {
      fusedId = consumer.id;
      return true;
    }
    FusionCost cost;
    const char *why = nullptr;
    Nest &theirs = nestOf(producer), &mine = nestOf(consumer);
    unsigned depth = chooseDepth(theirs, mine, cost, why);
    bool isFull =
        depth && depth == theirs.band.size() && depth == mine.band.size();
    if (!isFull && expression &&
        tryInline(graph, producer, consumer, *expression)) {
      fusedId = consumer.id;
      return true;
    }
    std::optional<Move> move;
    if (depth && !(move = planMove(graph, producer, consumer)))
      why = "a nest in between depends on both";
    if (!move) {
      decline(producer.op, consumer.op, why);
      refused.insert({id, consumer.id});
      continue;
    }
    if (readersWait && !cost.flows) {
      std::optional<NestExpression> own = matchExpression(consumer);
      uint64_t stranded =
          saturatingAdd(countStranded(graph, producer, consumer, expression),
                        countStranded(graph, consumer, producer, own));
      if (stranded > cost.savedBytes) {
        decline(producer.op, consumer.op,
                "readers of what both write have their chance first");
        hasWaited = true;
        continue;
      }
    }
    remark(RemarkKind::Applied, consumer.op->getLoc(), passName, "nests fused")
        << arg("depth", depth) << arg("saved-bytes", cost.savedBytes)
        << arg("parallel-trips", cost.parallelTrips)
        << arg("slice-bytes", cost.sliceBytes.value_or(0))
        << arg("scalar-percent", cost.scalarPercent);
    ++counters.applied;
    applyMove(*move, graph, producer, consumer);
    merge(theirs, mine, depth);
    AffineForOp fused = mine.root;
    NestNode *node = graph.fuseNodes(id, consumerId, fused);
    fusedId = node ? node->id : ~0u;
    if (node && isBound)
      bound.insert(node->id);
    // Nothing is left that touches memory.
    if (!node)
      fused.erase();
    nests.erase(id);
    nests.erase(consumerId);
    return true;
  }
  return false;
}

/// Finds the nests that read constant inputs and what such nests write, and
/// nothing else, and write no more than they read.
void NestFuser::findBound(NestGraph &graph) {
  SmallVector<NestNode *> nodes = graph.nodes();
  llvm::DenseMap<Value, uint64_t> boundBytes;
  // Producers come first: what a later nest adds to a buffer is found when the
  // buffer's writers are counted.
  for (NestNode *node : nodes) {
    if (node->isOpaque || node->touchesAll || node->hasAssert)
      continue;
    uint64_t read = 0, written = 0;
    bool isBound = !node->writes.empty();
    for (Value base : node->reads) {
      auto type = cast<MemRefType>(base.getType());
      if (isConstantInput(base))
        read += getBufferBytes(type).value_or(0);
      else if (auto it = boundBytes.find(base); it != boundBytes.end())
        read += it->second;
      else
        isBound &= llvm::is_contained(node->writes, base);
    }
    for (Value base : node->writes) {
      auto alloc = base.getDefiningOp<memref::AllocOp>();
      isBound &= alloc && graph.writersOf(base).size() == 1;
      if (alloc)
        written += getBufferBytes(alloc.getType()).value_or(UINT64_MAX / 4);
    }
    if (!isBound || read == 0 || written > read)
      continue;
    bound.insert(node->id);
    for (Value base : node->writes)
      boundBytes[base] =
          getBufferBytes(cast<MemRefType>(base.getType())).value();
  }
}

/// The nests in program order, by id: the node goes when a nest is merged.
static SmallVector<unsigned> getNestIds(NestGraph &graph) {
  SmallVector<unsigned> ids;
  for (NestNode *node : graph.nodes())
    if (!node->isOpaque)
      ids.push_back(node->id);
  return ids;
}

void NestFuser::fuseInOrder(NestGraph &graph) {
  lastReaders.clear();
  lastWriters.clear();
  for (unsigned id : getNestIds(graph)) {
    NestNode *node = graph.getNode(id);
    while (node && fuseWithAny(graph, id, id))
      node = graph.getNode(id);
    if (!node)
      continue;
    auto remember = [&](ArrayRef<Value> bases, auto &last) {
      for (Value base : bases) {
        SmallVector<unsigned, 2> &list = last[base];
        llvm::erase_if(list, [&](unsigned other) {
          return other == id || !graph.getNode(other);
        });
        list.push_back(id);
        if (list.size() > 2)
          list.erase(list.begin());
      }
    };
    remember(node->reads, lastReaders);
    remember(node->writes, lastWriters);
  }
}

void NestFuser::fuseTopLevel(NestGraph &graph) {
  findBound(graph);
  fuseInOrder(graph);
  // Now they have had it.
  readersWait = false;
  if (hasWaited)
    fuseInOrder(graph);
}

void NestFuser::alignTopLevel(NestGraph &graph) {
  for (unsigned id : getNestIds(graph)) {
    if (!graph.getNode(id))
      continue;
    SmallVector<unsigned, 4> producers;
    for (const NestEdge &edge : graph.edgesTo(id))
      if (edge.base && edge.kind == EdgeKind::Flow &&
          !graph.getNode(edge.source)->isOpaque &&
          bound.contains(edge.source) == bound.contains(id))
        producers.push_back(edge.source);
    bool isAligned = llvm::any_of(producers, [&](unsigned producer) {
      return tryAlign(graph, producer, id);
    });
    while (isAligned && graph.getNode(id) && fuseWithAny(graph, id, id))
      ;
  }
}

void NestFuser::shrinkBuffers() {
  SmallVector<memref::AllocOp> allocs(
      function.getBody().front().getOps<memref::AllocOp>());
  llvm::DenseMap<Operation *, uint64_t> stackBytes, otherBytes;
  for (memref::AllocOp alloc : allocs) {
    std::optional<Shrink> shrink = planShrink(alloc);
    if (!shrink)
      continue;
    Operation *root =
        alloc->getBlock()->findAncestorOpInBlock(*shrink->block->getParentOp());
    bool onStack = stackBytes[root] + shrink->bytes <= limits.stackBytes;
    uint64_t &used = (onStack ? stackBytes : otherBytes)[root];
    if (!onStack && used + shrink->bytes > limits.cacheBytes) {
      ++counters.declined;
      remark(RemarkKind::Declined, alloc.getLoc(), passName,
             "buffer of one iteration does not fit the cache")
          << arg("bytes", shrink->bytes);
      continue;
    }
    used += shrink->bytes;
    remark(RemarkKind::Applied, alloc.getLoc(), passName, "buffer shrunk")
        << arg("bytes", shrink->bytes)
        << arg("bytes-before", getBufferBytes(alloc.getType()).value_or(0))
        << arg("on-stack", onStack);
    applyShrink(*shrink, onStack);
    ++counters.shrunk;
  }
}

void NestFuser::run() {
  dropUnitLoops(function);
  for (Block &block : function.getBody())
    for (Operation &op : block)
      if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
        op.walk([&](Block *inner) {
          if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(inner->getParentOp()))
            fuseBlock(inner);
        });
  NestGraph graph(function);
  fuseTopLevel(graph);
  alignTopLevel(graph);
  for (memref::AllocOp alloc : unused)
    alloc.erase();
  counters.erased = unused.size();
  shrinkBuffers();
}

namespace {
struct FuseNestsPass : impl::FuseNestsBase<FuseNestsPass> {
  using FuseNestsBase::FuseNestsBase;

  LogicalResult initialize(MLIRContext *context) override {
    auto isWithin = [&](StringRef option, uint64_t value, uint64_t most) {
      return succeeded(checkUnsigned(context, option, value, 0, most));
    };
    return success(isWithin("max-redundant-compute-percent",
                            maxRedundantComputePercent, 10000) &&
                   isWithin("cache-size-kib", cacheSizeKib, 1u << 20) &&
                   isWithin("threshold-kib", thresholdKib, 1u << 30) &&
                   isWithin("stack-limit-kib", stackLimitKib, 1024) &&
                   isWithin("min-parallel-trips", minParallelTrips, 1u << 20) &&
                   isWithin("max-fused-accesses", maxFusedAccesses, 4096) &&
                   isWithin("max-fused-operations", maxFusedOperations, 65536));
  }

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    FusionLimits limits{maxRedundantComputePercent,
                        uint64_t(cacheSizeKib) * 1024,
                        uint64_t(thresholdKib) * 1024,
                        uint64_t(stackLimitKib) * 1024,
                        minParallelTrips,
                        /*smallWorkCycles=*/60000,
                        maxFusedAccesses,
                        maxFusedOperations};
    NestFuser fuser(getOperation(), limits);
    fuser.run();
    numApplied += fuser.counters.applied;
    numDeclined += fuser.counters.declined;
    numInlined += fuser.counters.inlined;
    numErased += fuser.counters.erased;
    numShrunk += fuser.counters.shrunk;
  }
};
} // namespace

} // namespace polynest
