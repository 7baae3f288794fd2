//===- FuseBlocks.cpp - chains of nests, block by block of common loops ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: nests around contractions that hand each other large private buffers
// and have leading loops in common (the two products and the softmax of
// attention) run together, a block of the last common loop at a time. Each nest
// keeps its own loop over the rows of a block, so that contractions still have
// rows to reuse their operands for; buffers shrink to the rows of one block.
// What is left of a loop that blocks do not divide follows as a block of its
// own. With `iterations`, behind the choice of layouts, a block is one
// iteration of all common loops, such as an image of a batch, through
// convolutions, the fills of padded images and what else uses the buffers.
// Legal when: the common loops are parallel in every nest, and accesses that
// may meet name them so that they meet in equal iterations only: then they meet
// within one block, where order is as before. What stands between the nests may
// move out of the way by the edges of the nest graph. A buffer shrinks if it is
// private and each access names every common loop in an index of its own. One
// takes the place of another that is done with, row by row.
// No operation is reordered within a nest: no value changes.
// Profitable when: a contraction is among the nests, each keeps rows and
// columns for its tiles, rows of what shrinks are reduced, what shrinks does
// not fit one core's cache or a mask hides columns of it but a small block does
// not outgrow it many times, its traffic costs more than that of the operands
// that blocks read more often than nests that stand alone, for which an unknown
// number of rows counts as few and each of which costs more where it comes from
// memory, and there are blocks for a few cores; other sizes that are not known
// are taken for large ones. Iterations: a contraction
// is among the nests and keeps all its rows and columns, the buffers outgrow
// one core's share of the last cache and what one iteration touches of them
// does not, each nest reads much more from the others than it would read again
// of operands, and all cores have iterations to run.
// Limits: loops from 0 by steps of 1, as often in each iteration around them;
// iterations of a known number, and buffers of known sizes.
// Cost: linear in nodes and edges, quadratic in the nests of one chain.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/ChainBlocks.h"
#include "Transforms/ChainCost.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace polynest {
#define GEN_PASS_DEF_FUSEBLOCKS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-fuse-blocks"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "fuse-blocks";

/// The most nests of one chain.
static constexpr unsigned maxMembers = 16;

namespace {
class BlockFuser {
public:
  BlockFuser(func::FuncOp function, const CacheSizes &sizes, bool isIteration)
      : graph(function), sizes(sizes), isIteration(isIteration) {}
  void run();
  unsigned applied = 0, declined = 0, shrunk = 0;

private:
  NestChain growFrom(NestNode *first);
  bool tryAppend(NestChain &chain, NestNode *node);
  bool isLinked(const NestChain &chain, NestNode *node);
  void appendUsers(NestChain &chain, const NestNode *reader);
  NestNode *merge(NestChain &chain);
  void finish(NestChain &chain, NestNode *merged);
  void decline(NestNode *node, const char *why);

  NestGraph graph;
  CacheSizes sizes;
  bool isIteration;
  /// Erased at the end: the graph still names them.
  SmallVector<memref::AllocOp> unused;
};
} // namespace

void BlockFuser::decline(NestNode *node, const char *why) {
  ++declined;
  remark(RemarkKind::Declined, node->op->getLoc(), passName, why);
}

/// True if the node reads, from a node of the chain, a buffer that may shrink.
static bool readsFrom(NestGraph &graph, const NestNode *node,
                      const NestChain &chain) {
  return llvm::any_of(graph.edgesTo(node->id), [&](const NestEdge &edge) {
    return edge.kind == EdgeKind::Flow && edge.base &&
           getPlainAlloc(edge.base) &&
           llvm::any_of(chain.nodes, [&](const NestNode *member) {
             return member->id == edge.source;
           });
  });
}

bool BlockFuser::tryAppend(NestChain &chain, NestNode *node) {
  Nest nest(*node);
  if (chain.nests.size() == 1) {
    const char *why = nullptr;
    chain.depth =
        findDepth(chain.nests.front(), nest, chain.isIteration ? 1 : 0, why);
    if (chain.depth == 0) {
      if (nest.getContraction() || chain.nests.front().getContraction())
        decline(node, why);
      return false;
    }
  } else {
    const char *why = nest.keepsTiles(chain.takenLoops())
                          ? nullptr
                          : "a contraction would lose its loops";
    for (Nest &member : chain.nests)
      if (!why)
        why = whyNotTogether(member, nest, chain.depth);
    if (why) {
      decline(node, why);
      return false;
    }
  }
  chain.nodes.push_back(node);
  chain.nests.push_back(std::move(nest));
  return true;
}

/// True if it pays to run the node with the chain, by iterations.
bool BlockFuser::isLinked(const NestChain &chain, NestNode *node) {
  if (isWorthLinking(chain, *node, sizes))
    return true;
  decline(node, "little is handed over beside operands that are read again");
  return false;
}

/// The others that use what `reader` reads from the chain, such as a fill:
/// buffers shrink if all their users are of it.
void BlockFuser::appendUsers(NestChain &chain, const NestNode *reader) {
  for (Value base : reader->reads) {
    if (!chain.writes(base))
      continue;
    for (NestNode *user : graph.usersOf(base))
      if (!llvm::is_contained(chain.nodes, user) && canTakePart(*user) &&
          chain.nodes.size() < maxMembers)
        tryAppend(chain, user);
  }
}

/// The nests that read what `first`, or those after it, write.
NestChain BlockFuser::growFrom(NestNode *first) {
  NestChain chain;
  chain.isIteration = isIteration;
  chain.nodes.push_back(first);
  chain.nests.emplace_back(*first);
  for (size_t i = 0; i < chain.nodes.size() && i < maxMembers; ++i) {
    for (const NestEdge &edge : graph.edgesFrom(chain.nodes[i]->id)) {
      NestNode *node = graph.getNode(edge.sink);
      if (edge.kind == EdgeKind::Flow && node && canTakePart(*node) &&
          !llvm::is_contained(chain.nodes, node) &&
          chain.nodes.size() < maxMembers && readsFrom(graph, node, chain) &&
          (!isIteration || isLinked(chain, node)) && tryAppend(chain, node) &&
          isIteration)
        appendUsers(chain, chain.nodes.back());
    }
  }
  if (chain.nests.size() < 2)
    return chain;
  auto order = llvm::to_vector(llvm::seq<size_t>(0, chain.nodes.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return graph.precedes(chain.nodes[a]->id, chain.nodes[b]->id);
  });
  NestChain sorted;
  sorted.depth = chain.depth;
  sorted.isIteration = isIteration;
  for (size_t i : order) {
    sorted.nodes.push_back(chain.nodes[i]);
    sorted.nests.push_back(std::move(chain.nests[i]));
  }
  return sorted;
}

/// Merges the nests one after the other; stops where one cannot come to stand
/// beside those before. Returns the node that holds them, or null.
NestNode *BlockFuser::merge(NestChain &chain) {
  auto cut = [&](NestNode &node) {
    if (!chain.isCut())
      return;
    cutInBlocks(node.band[chain.depth - 1], chain.rows);
    graph.updateNode(node.id);
  };
  NestNode *merged = chain.nodes.front();
  bool isMerged = false;
  for (NestNode *node : ArrayRef(chain.nodes).drop_front()) {
    std::optional<Move> move = planMove(graph, *merged, *node);
    if (!move) {
      decline(node, "a nest in between depends on both");
      break;
    }
    if (!isMerged)
      cut(*merged);
    cut(*node);
    applyMove(*move, graph, *merged, *node);
    Nest producer(*merged), consumer(*node);
    mergeBodies(producer, consumer, chain.outerLoops());
    merged = graph.fuseNodes(merged->id, node->id, consumer.root);
    isMerged = true;
    ++applied;
  }
  return isMerged ? merged : nullptr;
}

void BlockFuser::run() {
  SmallVector<unsigned> order;
  for (NestNode *node : graph.nodes())
    order.push_back(node->id);
  for (unsigned id : order) {
    NestNode *node = graph.getNode(id);
    if (!node || !canTakePart(*node))
      continue;
    NestChain chain = growFrom(node);
    if (chain.nests.size() < 2)
      continue;
    collectBuffers(chain);
    if (const char *why = isIteration ? judgeIterations(chain, sizes)
                                      : judgeRows(chain, sizes)) {
      decline(node, why);
      continue;
    }
    NestNode *merged = merge(chain);
    if (!merged)
      continue;
    remark(RemarkKind::Applied, merged->op->getLoc(), passName,
           isIteration ? "nests run iteration by iteration"
                       : "nests run block by block")
        << arg("nests", chain.nests.size()) << arg("depth", chain.depth)
        << arg("rows", chain.rows);
    finish(chain, merged);
  }
  for (memref::AllocOp alloc : unused)
    alloc.erase();
}

/// Shrinks buffers that only the merged nest uses, and adds the block that is
/// left.
void BlockFuser::finish(NestChain &chain, NestNode *merged) {
  Block *body = Nest(*merged).bodyAt(chain.outerLoops());
  SmallVector<Value> places(chain.buffers.size());
  for (ChainBuffer &buffer : chain.buffers) {
    if (!llvm::all_of(buffer.alloc->getUsers(), [&](Operation *user) {
          return body->findAncestorOpInBlock(*user);
        }))
      continue;
    remark(RemarkKind::Applied, buffer.alloc.getLoc(), passName,
           "buffer shrunk to one block")
        << arg("bytes-before",
               getBufferBytes(buffer.alloc.getType()).value_or(0))
        << arg("bytes", getBufferBytes(getBlockType(buffer, chain)).value_or(0))
        << arg("row-bytes", buffer.rowBytes);
    Value &place = places[buffer.place];
    if (!place) {
      OpBuilder builder = OpBuilder::atBlockBegin(body);
      place = makeBlockBuffer(builder, buffer, chain);
    }
    shrinkBuffer(buffer, place, body, chain.isIteration);
    unused.push_back(buffer.alloc);
    ++shrunk;
  }
  Operation *end = merged->op->getNextNode();
  if (chain.isCut())
    appendRest(cast<AffineForOp>(body->getParentOp()),
               cast<AffineForOp>(merged->op), chain);
  graph.updateNode(merged->id);
  // A rest that stands at the top.
  for (Operation *op = merged->op->getNextNode(); op != end;
       op = op->getNextNode())
    graph.insertNode(op);
}

namespace {
struct FuseBlocksPass : impl::FuseBlocksBase<FuseBlocksPass> {
  using FuseBlocksBase::FuseBlocksBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(checkOption(context, "cache-size-kib", cacheSizeKib, 16,
                           1048576)) ||
        failed(checkOption(context, "shared-size-kib", sharedSizeKib, 0,
                           1073741824)) ||
        failed(checkOption(context, "cores", cores, 1, 65536)))
      return failure();
    return checkOption(context, "memory-cost", memoryCost, 1, 1024);
  }

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    BlockFuser fuser(getOperation(),
                     {uint64_t(cacheSizeKib) * 1024,
                      uint64_t(sharedSizeKib) * 1024, uint64_t(cores),
                      uint64_t(memoryCost)},
                     iterations);
    fuser.run();
    numApplied += fuser.applied;
    numDeclined += fuser.declined;
    numShrunk += fuser.shrunk;
  }
};
} // namespace

} // namespace polynest
