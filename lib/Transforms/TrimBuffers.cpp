//===- TrimBuffers.cpp - compute only what is read of a buffer ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: (a) a private buffer of which a part of some dimension is never read
// (a slice of a product) is cut to what is read, and so are the loops that fill
// it, and then, in turn, what these read. (b) A private buffer that holds the
// result of a product, of which nests read parts along its rows (a chunk),
// becomes one for each part, filled by nests of their own, so that each reader
// can stand where its part is computed.
// Legal when: every access is an affine one in a nest; the loop that is cut
// stores nothing but that buffer, at an index that is its variable and a
// constant, and has no other effect: iterations that go had none but on
// elements that nobody reads. What such a loop reads of the buffer at the same
// index goes with them; all other reads count. For (b), in addition, each
// filling nest stores nothing else, so that it may run once for each part.
// Profitable when: (a) an eighth of the elements goes; (b) parts are read by
// straight code, are whole lines of a cache and long enough, and the product's
// other operand is read in place, along the reduction: it would be packed for
// each part otherwise.
// Limits: ranges and bounds that are constant, steps of 1.
// Cost: accesses of each private buffer, times its rank.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/LinearIndex.h"
#include "Analysis/NestGraph.h"
#include "Support/Remark.h"
#include "Transforms/NestMerge.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace polynest {
#define GEN_PASS_DEF_TRIMBUFFERS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-trim-buffers"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "trim-buffers";

/// Of so many parts of a dimension one has to go.
static constexpr int64_t leastShare = 8;
/// The fewest bytes of a row for which a product of its own pays, the most
/// parts, and how many nests may stand between the product and its readers.
static constexpr int64_t leastPartBytes = 512;
static constexpr unsigned mostParts = 8, mostSteps = 4;

//===----------------------------------------------------------------------===//
// What is read
//===----------------------------------------------------------------------===//

namespace {
/// A loop that fills a dimension: index = variable + offset.
struct Filler {
  AffineForOp loop;
  int64_t offset;
};

/// All that touches a private buffer, all of it affine accesses in nests.
struct Buffer {
  memref::AllocOp alloc;
  SmallVector<NestNode *, 4> nodes;
  SmallVector<Access, 8> accesses;

  Value getMemref() const { return memref::AllocOp(alloc).getResult(); }
  MemRefType getType() const { return memref::AllocOp(alloc).getType(); }
};
} // namespace

static std::optional<Buffer> findBuffer(NestGraph &graph,
                                        memref::AllocOp alloc) {
  if (!isPrivateAllocation(alloc) || !alloc.getType().getLayout().isIdentity())
    return std::nullopt;
  Buffer buffer{alloc, {}, {}};
  for (Operation *user : alloc->getUsers()) {
    if (!isa<AffineLoadOp, AffineStoreOp>(user))
      return std::nullopt;
    collectAccesses(user, buffer.accesses);
    if (!buffer.accesses.back().isAffine() ||
        buffer.accesses.back().memref != alloc)
      return std::nullopt;
  }
  for (NestNode *node : graph.usersOf(alloc)) {
    if (node->isOpaque || node->touchesAll)
      return std::nullopt;
    buffer.nodes.push_back(node);
  }
  return buffer;
}

/// The loop whose variable, but for a constant, is index `d` of the access.
static std::optional<Filler> findFiller(const Access &access, unsigned d) {
  std::optional<LinearIndex> index = getLinearIndex(access.map, d);
  if (!index || index->terms.size() != 1 || index->terms[0].second != 1)
    return std::nullopt;
  AffineForOp loop = getForInductionVarOwner(index->terms[0].first);
  if (!loop || !loop.hasConstantBounds() || loop.getStepAsInt() != 1 ||
      loop->getNumResults() != 0)
    return std::nullopt;
  return Filler{loop, index->constant};
}

/// True if all that iterations of the loop leave behind is elements of the
/// buffer at their index.
static bool onlyFills(const Filler &filler, Value buffer, unsigned d) {
  WalkResult result = AffineForOp(filler.loop).walk([&](Operation *op) {
    if (auto store = dyn_cast<AffineStoreOp>(op)) {
      SmallVector<Access, 1> accesses;
      collectAccesses(op, accesses);
      std::optional<Filler> other = store.getMemRef() == buffer
                                        ? findFiller(accesses[0], d)
                                        : std::nullopt;
      return other && other->loop == filler.loop &&
                     other->offset == filler.offset
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    }
    bool isPlain = isa<AffineForOp, AffineIfOp, AffineYieldOp, AffineLoadOp,
                       memref::LoadOp>(op) ||
                   (op->getNumRegions() == 0 && isMemoryEffectFree(op));
    return isPlain ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// The loops that fill dimension `d`; empty where something else stores.
static SmallVector<Filler, 4> findFillers(const Buffer &buffer, unsigned d) {
  SmallVector<Filler, 4> fillers;
  for (const Access &access : buffer.accesses) {
    if (!access.isWrite)
      continue;
    std::optional<Filler> filler = findFiller(access, d);
    if (!filler || access.isPartial)
      return {};
    if (llvm::any_of(fillers, [&](const Filler &other) {
          return other.loop == filler->loop;
        }))
      continue;
    if (!onlyFills(*filler, buffer.getMemref(), d))
      return {};
    fillers.push_back(*filler);
  }
  return fillers;
}

/// True if the read moves with a loop that fills what it reads.
static bool readsOwn(const Access &access, unsigned d,
                     ArrayRef<Filler> fillers) {
  std::optional<Filler> own = findFiller(access, d);
  return own && llvm::any_of(fillers, [&](const Filler &filler) {
           return filler.loop == own->loop && filler.offset == own->offset;
         });
}

/// The indices of dimension `d` that are read, those aside that loops read as
/// they fill them; none if that is not known.
static std::optional<IndexRange> getReadRange(const Buffer &buffer, unsigned d,
                                              ArrayRef<Filler> fillers) {
  std::optional<IndexRange> range;
  for (const Access &access : buffer.accesses) {
    if (access.isWrite || readsOwn(access, d, fillers))
      continue;
    std::optional<IndexRange> part = getConstantRange(access)[d];
    if (!part)
      return std::nullopt;
    range = range ? IndexRange{std::min(range->min, part->min),
                               std::max(range->max, part->max)}
                  : *part;
  }
  return range;
}

/// True if each loop still runs when it fills the range alone.
static bool stillRun(ArrayRef<Filler> fillers, IndexRange range) {
  return llvm::all_of(fillers, [&](const Filler &filler) {
    AffineForOp loop = filler.loop;
    return std::max(loop.getConstantLowerBound(), range.min - filler.offset) <
           std::min(loop.getConstantUpperBound(),
                    range.max + 1 - filler.offset);
  });
}

//===----------------------------------------------------------------------===//
// Cutting
//===----------------------------------------------------------------------===//

/// Cuts the loop to what fills the range, from 0 on.
static void cutLoop(const Filler &filler, IndexRange range) {
  AffineForOp loop = filler.loop;
  int64_t begin =
      std::max(loop.getConstantLowerBound(), range.min - filler.offset);
  int64_t end =
      std::min(loop.getConstantUpperBound(), range.max + 1 - filler.offset);
  loop.setConstantLowerBound(0);
  loop.setConstantUpperBound(end - begin);
  if (begin == 0)
    return;
  Value iv = loop.getInductionVar();
  AffineExpr index = getAffineDimExpr(0, loop.getContext());
  replaceVariable(iv, loop, AffineMap::get(1, 0, index + begin), iv);
  composeIndices(loop);
}

/// Replaces the buffer by one that holds the range alone; the graph still names
/// the old one.
static void cutBuffer(Buffer &buffer, unsigned d, IndexRange range) {
  MemRefType type = buffer.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[d] = range.max - range.min + 1;
  OpBuilder builder(buffer.alloc);
  auto cut = memref::AllocOp::create(
      builder, buffer.alloc.getLoc(),
      MemRefType::get(shape, type.getElementType(), AffineMap(),
                      type.getMemorySpace()),
      buffer.alloc.getDynamicSizes(), buffer.alloc.getAlignmentAttr());
  for (Operation *user : llvm::make_early_inc_range(buffer.alloc->getUsers())) {
    auto [map, operands] = getPlace(user);
    SmallVector<AffineExpr> results(map.getResults());
    results[d] = results[d] - range.min;
    movePlace(user, cut,
              AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                             map.getContext()),
              operands);
  }
  buffer.alloc = cut;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// True if what the nest multiplies and does not move with `loop` lies along
/// the reduction, where it is read in place.
static bool readsOtherInPlace(Nest &nest, AffineForOp loop) {
  AffineForOp depth = nest.band.back();
  return llvm::all_of(nest.accesses, [&](const Access &access) {
    if (access.isWrite || isInvariantTo(access, depth.getInductionVar()) ||
        !isInvariantTo(access, loop.getInductionVar()))
      return true;
    return access.isAffine() &&
           getContiguity(access, depth) == Contiguity::Contiguous;
  });
}

/// True if the nests that fill the buffer compute a product, or go point by
/// point on with one.
static bool holdsProduct(NestGraph &graph, const Buffer &buffer, unsigned d,
                         unsigned steps) {
  bool found = false;
  for (NestNode *node : graph.writersOf(buffer.getMemref())) {
    if (node->writes.size() != 1 || node->op->getNumResults())
      return false;
    Nest nest(*node);
    if (std::optional<unsigned> depth = nest.getContraction()) {
      std::optional<Filler> filler;
      for (const Access &access : node->accesses)
        if (access.isWrite)
          filler = findFiller(access, d);
      if (*depth >= nest.band.size() || !filler ||
          !readsOtherInPlace(nest, filler->loop))
        return false;
      found = true;
      continue;
    }
    if (holdsLoops(nest.bodyAt(nest.band.size())))
      return false;
    for (const Access &access : node->accesses) {
      auto alloc = access.base ? access.base.getDefiningOp<memref::AllocOp>()
                               : memref::AllocOp();
      if (access.isWrite || !alloc || alloc.getResult() == buffer.getMemref() ||
          steps == 0 || graph.readersOf(alloc).size() > 2 ||
          alloc.getType().getShape() != buffer.getType().getShape())
        continue;
      std::optional<Buffer> source = findBuffer(graph, alloc);
      found |= source && holdsProduct(graph, *source, d, steps - 1);
    }
  }
  return found;
}

/// The nest that an access stands in.
static NestNode *findNode(NestGraph &graph, Operation *access) {
  return graph.getNode(
      graph.getFunction().front().findAncestorOpInBlock(*access));
}

namespace {
/// Indices that reads of straight code share.
struct Part {
  IndexRange range;
  SmallVector<Operation *, 2> reads;
};
} // namespace

/// The parts of the last dimension that are read; empty where there are not
/// several, or products of their own do not pay.
static SmallVector<Part, 4> findParts(NestGraph &graph, const Buffer &buffer) {
  MemRefType type = buffer.getType();
  std::optional<int64_t> bytes = getElementBytes(type.getElementType());
  if (type.getRank() == 0 || !bytes)
    return {};
  unsigned d = type.getRank() - 1;
  SmallVector<Filler, 4> fillers = findFillers(buffer, d);
  if (fillers.empty())
    return {};
  SmallVector<Part, 4> parts;
  for (const Access &access : buffer.accesses) {
    if (access.isWrite || readsOwn(access, d, fillers))
      continue;
    std::optional<IndexRange> range = getConstantRange(access)[d];
    if (!range)
      return {};
    parts.push_back({*range, {access.op}});
  }
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return a.range.min < b.range.min;
  });
  SmallVector<Part, 4> joined;
  for (Part &part : parts) {
    if (joined.empty() || joined.back().range.max < part.range.min) {
      joined.push_back(std::move(part));
      continue;
    }
    IndexRange &range = joined.back().range;
    range.max = std::max(range.max, part.range.max);
    llvm::append_range(joined.back().reads, part.reads);
  }
  if (joined.size() < 2 || joined.size() > mostParts)
    return {};
  for (const Part &part : joined) {
    int64_t begin = part.range.min * *bytes;
    int64_t size = (part.range.max - part.range.min + 1) * *bytes;
    if (begin % kLineBytes || size % kLineBytes || size < leastPartBytes ||
        !stillRun(fillers, part.range))
      return {};
    for (Operation *read : part.reads) {
      NestNode *node = findNode(graph, read);
      if (llvm::is_contained(node->writes, buffer.getMemref()) ||
          read->getBlock() != AffineForOp(node->band.back()).getBody())
        return {};
      // Loops that reduce (a product that follows) read it where it is.
      Nest nest(*node);
      if (nest.getNumParallel() != nest.band.size())
        return {};
    }
  }
  return holdsProduct(graph, buffer, d, mostSteps) ? joined
                                                   : SmallVector<Part, 4>();
}

/// Fills a buffer of its own for each part but the first. Lists the new ones.
static void splitBuffer(NestGraph &graph, Buffer &buffer, ArrayRef<Part> parts,
                        SmallVectorImpl<memref::AllocOp> &made) {
  SmallVector<NestNode *> writers = graph.writersOf(buffer.getMemref());
  llvm::SmallSetVector<unsigned, 8> changed;
  for (const Part &part : llvm::reverse(parts.drop_front())) {
    OpBuilder builder(buffer.alloc->getContext());
    builder.setInsertionPointAfter(buffer.alloc);
    auto alloc =
        cast<memref::AllocOp>(builder.clone(*buffer.alloc.getOperation()));
    made.push_back(alloc);
    IRMapping mapping;
    mapping.map(buffer.alloc.getResult(), alloc.getResult());
    for (NestNode *writer : writers) {
      builder.setInsertionPointAfter(writer->op);
      graph.insertNode(builder.clone(*writer->op, mapping));
    }
    for (Operation *read : part.reads) {
      read->replaceUsesOfWith(buffer.alloc, alloc);
      changed.insert(findNode(graph, read)->id);
    }
  }
  for (unsigned id : changed)
    graph.updateNode(id);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct TrimBuffersPass : impl::TrimBuffersBase<TrimBuffersPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function.getBody().hasOneBlock())
      return;
    NestGraph graph(function);
    // Last first: what a loop that was cut reads is then cut in its turn.
    llvm::SetVector<Value> work;
    SmallVector<NestNode *> nodes = graph.nodes();
    for (NestNode *node : llvm::reverse(nodes))
      work.insert_range(node->writes);
    for (Value base : work) {
      auto alloc = base.getDefiningOp<memref::AllocOp>();
      if (!alloc)
        continue;
      std::optional<Buffer> buffer = findBuffer(graph, alloc);
      if (!buffer)
        continue;
      SmallVector<Part, 4> parts = findParts(graph, *buffer);
      if (!parts.empty()) {
        remark(RemarkKind::Applied, alloc.getLoc(), passName,
               "each part of a product has a nest of its own")
            << arg("parts", parts.size());
        ++numSplit;
        SmallVector<memref::AllocOp> made;
        splitBuffer(graph, *buffer, parts, made);
        for (memref::AllocOp part : made)
          trim(graph, part);
      }
      trim(graph, alloc);
    }
    for (memref::AllocOp alloc : unused)
      alloc.erase();
    unused.clear();
  }

  /// Cuts all dimensions to what is read.
  void trim(NestGraph &graph, memref::AllocOp alloc) {
    std::optional<Buffer> buffer = findBuffer(graph, alloc);
    for (unsigned d = 0, e = alloc.getType().getRank(); buffer && d != e; ++d) {
      int64_t size = alloc.getType().getDimSize(d);
      if (ShapedType::isDynamic(size))
        continue;
      SmallVector<Filler, 4> fillers = findFillers(*buffer, d);
      if (fillers.empty())
        continue;
      std::optional<IndexRange> range = getReadRange(*buffer, d, fillers);
      if (!range || range->min < 0 || range->max >= size)
        continue;
      int64_t left = range->max - range->min + 1;
      if (left == size)
        continue;
      if ((size - left) * leastShare < size || !stillRun(fillers, *range)) {
        ++numDeclined;
        remark(RemarkKind::Declined, alloc.getLoc(), passName,
               "little of the buffer is not read")
            << arg("size", size) << arg("read", left);
        continue;
      }
      remark(RemarkKind::Applied, alloc.getLoc(), passName,
             "buffer and loops cut to what is read")
          << arg("dimension", d) << arg("size", size) << arg("read", left);
      ++numApplied;
      for (const Filler &filler : fillers)
        cutLoop(filler, *range);
      cutBuffer(*buffer, d, *range);
      for (NestNode *node : buffer->nodes)
        graph.updateNode(node->id);
      unused.push_back(alloc);
      alloc = buffer->alloc;
      buffer = findBuffer(graph, alloc);
    }
  }

  SmallVector<memref::AllocOp> unused;
};
} // namespace

} // namespace polynest
