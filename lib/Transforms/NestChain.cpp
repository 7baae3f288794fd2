// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestChain.cpp: see the header.

#include "Transforms/NestChain.h"

#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// True for loops from 0 by steps of 1 that run the same number of times
/// whenever the nest does.
static bool isPlainLoop(AffineForOp loop, AffineForOp root) {
  return countsFromZero(loop) && loop.getNumIterOperands() == 0 &&
         (getSmallTripCount(loop) || hasPlainTrips(loop, root));
}

bool canTakePart(const NestNode &node) {
  return !node.isOpaque && !node.touchesAll && node.op->getNumResults() == 0 &&
         !node.band.empty() &&
         isPlainLoop(node.band.front(), node.band.front()) &&
         (node.reads.empty() || !llvm::all_of(node.reads, isConstantInput));
}

memref::AllocOp getPlainAlloc(Value base) {
  auto alloc = base.getDefiningOp<memref::AllocOp>();
  if (!alloc || !alloc.getType().getLayout().isIdentity() ||
      !getElementBytes(alloc.getType().getElementType()))
    return {};
  bool isKnown = alloc.getType().hasStaticShape()
                     ? getBufferBytes(alloc.getType()).has_value()
                     : isa<func::FuncOp>(alloc->getParentOp());
  return isKnown ? alloc : memref::AllocOp();
}

bool NestChain::writes(Value base) const {
  return getPlainAlloc(base) && llvm::any_of(nodes, [&](const NestNode *node) {
           return llvm::is_contained(node->writes, base);
         });
}

uint64_t estimateBytes(MemRefType type) {
  uint64_t bytes = uint64_t(getElementBytes(type.getElementType()).value_or(8));
  for (int64_t size : type.getShape())
    bytes = saturatingMultiply(
        bytes, ShapedType::isDynamic(size) ? dynamicTrips : uint64_t(size));
  return bytes;
}

const char *whyNotTogether(Nest &producer, Nest &consumer, unsigned depth) {
  if (const char *why = whyAssertionsMove(producer, consumer))
    return why;
  if (countEqualLoops(producer, consumer) < depth)
    return "outer loops differ";
  if (producer.getNumParallel() < depth || consumer.getNumParallel() < depth)
    return "a common loop is not parallel";
  return whyOrderBreaks(producer, consumer, depth);
}

unsigned findDepth(Nest &producer, Nest &consumer, unsigned spare,
                   const char *&why) {
  unsigned most =
      std::min({countEqualLoops(producer, consumer), producer.getNumParallel(),
                consumer.getNumParallel()});
  why = "outer loops differ";
  for (unsigned depth = most; depth > 0; --depth) {
    if (!llvm::all_of(
            ArrayRef(consumer.band).take_front(depth),
            [&](AffineForOp loop) { return isPlainLoop(loop, consumer.root); }))
      continue;
    if (!producer.keepsTiles(depth + spare) ||
        !consumer.keepsTiles(depth + spare)) {
      why = "a contraction would lose its loops";
      continue;
    }
    const char *reason = whyNotTogether(producer, consumer, depth);
    if (!reason)
      return depth;
    why = reason;
  }
  return 0;
}

/// How each access of the chain names the common loops in the buffer, if all
/// do so alike and nothing else uses it.
static std::optional<ChainBuffer> describeBuffer(memref::AllocOp alloc,
                                                 NestChain &chain) {
  ChainBuffer buffer;
  buffer.alloc = alloc;
  buffer.indexOf.assign(chain.depth, ~0u);
  unsigned found = 0;
  for (Nest &nest : chain.nests)
    for (const Access &access : nest.accesses) {
      if (access.base != alloc.getResult())
        continue;
      if (access.memref != access.base || !access.isAffine() ||
          !isa<AffineLoadOp, AffineStoreOp>(access.op))
        return std::nullopt;
      ++found;
      AffineMap map = access.map.getAffineMap();
      for (unsigned l = 0; l != chain.depth; ++l) {
        Value iv = nest.band[l].getInductionVar();
        std::optional<unsigned> at;
        for (unsigned d = 0; d != map.getNumResults(); ++d) {
          auto dim = dyn_cast<AffineDimExpr>(map.getResult(d));
          if (dim && access.map.getOperand(dim.getPosition()) == iv)
            at = d;
        }
        if (!at || (buffer.indexOf[l] != ~0u && buffer.indexOf[l] != *at))
          return std::nullopt;
        buffer.indexOf[l] = *at;
      }
    }
  auto uses = size_t(std::distance(alloc->use_begin(), alloc->use_end()));
  if (found == 0 || uses != found)
    return std::nullopt;
  buffer.touches = found;
  uint64_t bytes = estimateBytes(alloc.getType());
  for (unsigned d : buffer.indexOf)
    bytes /= alloc.getType().isDynamicDim(d)
                 ? int64_t(dynamicTrips)
                 : std::max<int64_t>(1, alloc.getType().getDimSize(d));
  buffer.rowBytes = bytes;
  return buffer;
}

/// True if each loop between `row` and the access stands alone in an index: no
/// two iterations touch one element.
static bool touchesOnce(const Access &access, Block *row) {
  AffineMap map = access.map.getAffineMap();
  for (Operation *op = access.op->getParentOp(); op != row->getParentOp();
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop || llvm::none_of(map.getResults(), [&](AffineExpr result) {
          auto dim = dyn_cast<AffineDimExpr>(result);
          return dim && access.map.getOperand(dim.getPosition()) ==
                            loop.getInductionVar();
        }))
      return false;
  }
  return true;
}

/// True if `later` may take the place of `earlier`: each nest, and within a row
/// each loop, is done with the one before it writes the other, or reads an
/// element of the one just before it writes the same of the other.
static bool mayTakePlace(const ChainBuffer &earlier, const ChainBuffer &later,
                         NestChain &chain) {
  memref::AllocOp from = earlier.alloc, to = later.alloc;
  if (from.getType() != to.getType() ||
      !llvm::equal(from.getDynamicSizes(), to.getDynamicSizes()) ||
      earlier.indexOf != later.indexOf)
    return false;
  bool isWritten = false;
  for (Nest &nest : chain.nests) {
    Block *row = nest.bodyAt(chain.depth);
    for (const Access &a : nest.accesses) {
      if (a.base != from.getResult())
        continue;
      // An earlier nest has written the other already.
      if (isWritten)
        return false;
      for (const Access &b : nest.accesses) {
        if (b.base != to.getResult())
          continue;
        Operation *first = row->findAncestorOpInBlock(*a.op);
        Operation *second = row->findAncestorOpInBlock(*b.op);
        if (first != second ? first->isBeforeInBlock(second)
                            : a.op->getBlock() == b.op->getBlock() &&
                                  a.op->isBeforeInBlock(b.op) &&
                                  a.map == b.map && touchesOnce(a, row))
          continue;
        return false;
      }
    }
    isWritten |= llvm::any_of(nest.accesses, [&](const Access &access) {
      return access.base == to.getResult();
    });
  }
  return true;
}

/// Lets buffers take the place of earlier ones.
static void assignPlaces(NestChain &chain) {
  for (unsigned i = 0; i < chain.buffers.size(); ++i) {
    chain.buffers[i].place = i;
    for (unsigned place = 0; place < i; ++place) {
      bool fits = true;
      for (unsigned j = place; j < i; ++j)
        fits &= chain.buffers[j].place != place ||
                mayTakePlace(chain.buffers[j], chain.buffers[i], chain);
      if (chain.buffers[place].place == place && fits) {
        chain.buffers[i].place = place;
        break;
      }
    }
  }
}

void collectBuffers(NestChain &chain) {
  llvm::SmallSetVector<Operation *, 8> allocs;
  for (NestNode *node : chain.nodes)
    for (Value base : node->writes)
      if (memref::AllocOp alloc = getPlainAlloc(base))
        allocs.insert(alloc);
  for (Operation *alloc : allocs)
    if (auto buffer = describeBuffer(cast<memref::AllocOp>(alloc), chain))
      chain.buffers.push_back(*buffer);
  assignPlaces(chain);
}

} // namespace polynest
