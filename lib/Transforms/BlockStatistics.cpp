//===- BlockStatistics.cpp - statistics and their uses block by block -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: nests one behind the other that share a parallel loop, and read large
// arrays again, as the training form of batch-norm reads its channels, run
// block by block of that loop, which becomes the outermost one: what a block's
// first nest reads from memory, and what nests hand on, the next ones find in
// the cache. Buffers that only one block needs at a time get its size. Legal
// when: no nest carries a dependence along the loop, and what two of them touch
// and one writes they touch in the same iteration of it alone. Profitable when:
// a nest reduces along other loops to what a later one uses (other nests
// polynest-fuse-nests brings together), what is touched by several nests does
// not stay in the cache as a whole, and does for a block (batch-norm of 32 x 64
// channels of 56 x 56, one thread of a Zen 4: 2.7 ms for 3.6). A block has long
// pieces of memory: columns that are contiguous are left to
// polynest-stream-reductions, because rows in pieces of 512 bytes come in much
// more slowly than whole ones, and lie in few sets of the caches (softmax of
// 1024 x 4096 over the first axis: 4.1 ms in blocks of 128 columns for 3.0,
// maxima of 4096 x 4096 along it 11.5 for 6.7). Limits: constant bounds from 0
// by steps of 1; affine accesses of static arrays; large arrays are touched
// once by a nest, so that products stay. Cost: pairs of accesses of
// neighbouring nests, a dependence question a loop.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/LoopUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace polynest {
#define GEN_PASS_DEF_BLOCKSTATISTICS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-block-statistics"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "block-statistics";

/// Bytes for each iteration of the common loop from which on an array is large.
static constexpr uint64_t leastBytes = 256;
/// Bytes of a piece of memory that a block has to itself, at least.
static constexpr uint64_t leastPiece = 1024;
/// Blocks there have to be: cores share them.
static constexpr int64_t leastBlocks = 8;
/// Nests that are looked at from one on, each beside all others.
static constexpr size_t mostMembers = 16;
/// What a block touches at least, if there are iterations enough.
static constexpr uint64_t bytesOfBlock = 32768;

namespace {
/// A nest and its loop that all of them share.
struct Member {
  AffineForOp nest, loop;
  /// Those that the dependence analysis keeps.
  ArrayRef<Access> accesses;
};

/// Neighbouring nests that run block by block.
struct Run {
  SmallVector<Member, 8> members;
  int64_t trips = 0, width = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// The number of iterations of a loop from 0 by steps of 1, or 0.
static int64_t getPlainTrips(AffineForOp loop) {
  return countsFromZero(loop) && loop.hasConstantUpperBound()
             ? std::max<int64_t>(0, loop.getConstantUpperBound())
             : 0;
}

/// True for what may stand in front of all nests instead of between them.
static bool canMove(Operation *op) {
  return op->getNumRegions() == 0 &&
         (isa<memref::AllocOp>(op) || isMemoryEffectFree(op));
}

/// The nest as a member by the accesses in it; none if some are not plain.
static std::optional<Member> makeMember(Operation *op,
                                        DependenceAnalysis &dependences) {
  auto nest = dyn_cast<AffineForOp>(op);
  if (!nest || nest.getNumResults())
    return std::nullopt;
  Member member{nest, {}, dependences.accessesOf(nest)};
  bool isPlain = llvm::all_of(member.accesses, [](const Access &access) {
    return isa<AffineLoadOp, AffineStoreOp>(access.op) && access.isAffine() &&
           getBufferBytes(cast<MemRefType>(access.memref.getType()));
  });
  return isPlain ? std::optional(member) : std::nullopt;
}

/// True if two nests touch what either writes in the same iterations of their
/// loops alone.
static bool runInStep(const Member &a, const Member &b) {
  Value ivA = AffineForOp(a.loop).getInductionVar();
  Value ivB = AffineForOp(b.loop).getInductionVar();
  for (const Access &x : a.accesses)
    for (const Access &y : b.accesses)
      if ((x.isWrite || y.isWrite) &&
          !meetOnlyInStep(x, ivA, a.nest, y, ivB, b.nest))
        return false;
  return true;
}

/// The loop of the nest that has so many iterations and along which it may run
/// in blocks beside the members; null if none has.
static AffineForOp findLoop(Member &member, const Run &run,
                            DependenceAnalysis &dependences) {
  for (AffineForOp loop : getPlainBand(member.nest)) {
    if (getPlainTrips(loop) != run.trips)
      continue;
    member.loop = loop;
    if (llvm::all_of(
            run.members,
            [&](const Member &other) { return runInStep(other, member); }) &&
        whyNotParallel(loop, member.nest, dependences).empty())
      return loop;
  }
  return {};
}

/// The nests from `first` on that run in blocks of the loop `common`.
static Run collectRun(const Member &first, AffineForOp common,
                      DependenceAnalysis &dependences) {
  Run run;
  run.trips = getPlainTrips(common);
  run.members.push_back(first);
  run.members.back().loop = common;
  Operation *op = AffineForOp(first.nest)->getNextNode();
  for (; op && run.members.size() < mostMembers; op = op->getNextNode()) {
    if (canMove(op))
      continue;
    std::optional<Member> member = makeMember(op, dependences);
    if (!member || !findLoop(*member, run, dependences))
      break;
    run.members.push_back(*member);
  }
  return run;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Bytes of an array for each iteration of the common loop.
static uint64_t bytesPerIteration(Value memref, const Run &run) {
  return *getBufferBytes(cast<MemRefType>(memref.getType())) /
         uint64_t(run.trips);
}

static bool isLarge(const Access &access, const Run &run) {
  return bytesPerIteration(access.memref, run) >= leastBytes;
}

/// True if each large array is touched once in all iterations of the nest.
static bool streams(const Member &member, const Run &run) {
  return llvm::all_of(member.accesses, [&](const Access &access) {
    if (!isLarge(access, run))
      return true;
    SmallVector<Operation *, 6> loops;
    getEnclosingAffineLoops(access.op, loops, member.nest);
    return !addsLoops(access) && llvm::all_of(loops, [&](Operation *loop) {
      auto around = dyn_cast<AffineForOp>(loop);
      return around && !isInvariantTo(access, around.getInductionVar());
    });
  });
}

/// Large arrays that several members touch.
static llvm::MapVector<Value, unsigned> findShared(const Run &run) {
  llvm::MapVector<Value, unsigned> touched;
  for (const Member &member : run.members) {
    llvm::SmallPtrSet<Value, 4> own;
    for (const Access &access : member.accesses)
      if (isLarge(access, run) && own.insert(access.memref).second)
        ++touched[access.memref];
  }
  touched.remove_if([](auto &entry) { return entry.second < 2; });
  return touched;
}

/// True if a member touches large arrays, but none that others do.
static bool standsAlone(const Member &member, const Run &run,
                        const llvm::MapVector<Value, unsigned> &shared) {
  bool touches = false;
  for (const Access &access : member.accesses) {
    if (shared.contains(access.memref))
      return false;
    touches |= isLarge(access, run);
  }
  return touches;
}

/// True if a member reads a large shared array and writes small ones that a
/// later one that touches a large shared one reads.
static bool handsOnStatistics(const Run &run,
                              const llvm::MapVector<Value, unsigned> &shared) {
  llvm::SmallPtrSet<Value, 8> statistics;
  for (const Member &member : run.members) {
    bool touches = llvm::any_of(member.accesses, [&](const Access &access) {
      return shared.contains(access.memref);
    });
    bool uses = llvm::any_of(member.accesses, [&](const Access &access) {
      return !access.isWrite && statistics.contains(access.memref);
    });
    if (touches && uses)
      return true;
    for (const Access &access : member.accesses)
      if (access.isWrite && !isLarge(access, run) && (touches || uses))
        statistics.insert(access.memref);
  }
  return false;
}

/// Bytes that a block has side by side of each large array, at least.
static uint64_t findPiece(const Run &run) {
  uint64_t least = UINT64_MAX;
  for (const Member &member : run.members)
    for (const Access &access : member.accesses) {
      if (!isLarge(access, run))
        continue;
      std::optional<int64_t> stride = getStride(access, member.loop);
      Type element = cast<MemRefType>(access.memref.getType()).getElementType();
      uint64_t bytes = getElementBytes(element).value_or(0);
      least = std::min(least, uint64_t(std::abs(stride.value_or(0))) * bytes *
                                  uint64_t(run.width));
    }
  return least;
}

/// Fills in the width of a block; null, or why there is none, empty where no
/// nest hands on statistics.
static const char *chooseWidth(Run &run, uint64_t cacheBytes) {
  llvm::MapVector<Value, unsigned> shared = findShared(run);
  while (!run.members.empty() && standsAlone(run.members.back(), run, shared))
    run.members.pop_back();
  while (!run.members.empty() && standsAlone(run.members.front(), run, shared))
    run.members.erase(run.members.begin());
  if (run.members.size() < 2 || !handsOnStatistics(run, shared))
    return "";
  if (!llvm::all_of(run.members,
                    [&](const Member &member) { return streams(member, run); }))
    return "a large array is read again by one nest";
  uint64_t bytes = 0;
  for (auto &[memref, count] : shared)
    bytes += bytesPerIteration(memref, run);
  if (bytes * uint64_t(run.trips) <= cacheBytes)
    return "all stays in the cache";
  int64_t most = std::min(int64_t(cacheBytes / bytes), run.trips / leastBlocks);
  if (most < 1)
    return "a block does not stay in the cache, or there are few";
  run.width = std::clamp<int64_t>(int64_t(bytesOfBlock / bytes), 1, most);
  if (findPiece(run) < leastPiece)
    return "a block would be made of short pieces of memory";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// The dimension of a buffer that the common loop alone indexes in all of its
/// accesses, which all stand in the members; none for any other.
static std::optional<unsigned> findOwnDim(memref::AllocOp alloc,
                                          const Run &run) {
  MemRefType type = alloc.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return std::nullopt;
  std::optional<unsigned> dim;
  for (Operation *user : alloc->getUsers()) {
    auto member = llvm::find_if(run.members, [&](const Member &member) {
      return AffineForOp(member.nest)->isAncestor(user);
    });
    auto store = dyn_cast<AffineStoreOp>(user);
    if (member == run.members.end() ||
        !isa<AffineLoadOp, AffineStoreOp>(user) ||
        (store && store.getValueToStore() == alloc.getResult()))
      return std::nullopt;
    std::optional<unsigned> own =
        getOnlyDim(user, AffineForOp(member->loop).getInductionVar());
    if (!own || (dim && dim != own) || type.getDimSize(*own) != run.trips)
      return std::nullopt;
    dim = own;
  }
  return dim;
}

/// Lets the loop of a member run over a block, whose first iteration is
/// `begin`; accesses in `own` stay in their block.
static void runInBlock(Member &member, const Run &run, Value begin,
                       const llvm::SmallPtrSetImpl<Operation *> &own) {
  AffineForOp loop = member.loop;
  MLIRContext *context = loop.getContext();
  AffineExpr first = getAffineDimExpr(0, context);
  AffineExpr second = getAffineDimExpr(1, context);
  SmallVector<AffineExpr, 2> ends{getAffineConstantExpr(run.width, context)};
  if (run.trips % run.width)
    ends.push_back(run.trips - first);
  SmallVector<Value> operands{begin};
  AffineMap upper = AffineMap::get(1, 0, ends, context);
  canonicalizeMapAndOperands(&upper, &operands);
  loop.setUpperBound(operands, upper);
  Value iv = loop.getInductionVar();
  replaceVariable(iv, loop, AffineMap::get(2, 0, first + second), {begin, iv},
                  &own);
  (void)promoteIfSingleIteration(loop);
}

static void block(Run &run) {
  AffineForOp first = run.members.front().nest;
  Operation *last = AffineForOp(run.members.back().nest);
  SmallVector<Operation *> between;
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (canMove(op))
      between.push_back(op);
  for (Operation *op : between)
    op->moveBefore(first);
  OpBuilder builder(first);
  Location loc = first.getLoc();
  auto blocks = AffineForOp::create(builder, loc, 0, run.trips, run.width);
  builder.setInsertionPoint(blocks.getBody()->getTerminator());
  llvm::SmallPtrSet<Operation *, 16> own;
  llvm::SetVector<Value> touched;
  for (const Member &member : run.members)
    for (const Access &access : member.accesses)
      touched.insert(access.memref);
  for (Value memref : touched) {
    auto alloc = memref.getDefiningOp<memref::AllocOp>();
    std::optional<unsigned> dim = alloc ? findOwnDim(alloc, run) : std::nullopt;
    if (!dim)
      continue;
    SmallVector<int64_t> shape(alloc.getType().getShape());
    shape[*dim] = run.width;
    auto buffer = memref::AllocOp::create(
        builder, alloc.getLoc(),
        MemRefType::get(shape, alloc.getType().getElementType()),
        builder.getI64IntegerAttr(kBufferAlignment));
    own.insert(alloc->user_begin(), alloc->user_end());
    alloc.replaceAllUsesWith(buffer.getResult());
    alloc.erase();
  }
  for (Member &member : run.members) {
    member.nest->moveBefore(blocks.getBody()->getTerminator());
    runInBlock(member, run, blocks.getInductionVar(), own);
  }
  composeIndices(blocks);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct BlockStatisticsPass : impl::BlockStatisticsBase<BlockStatisticsPass> {
  using BlockStatisticsBase::BlockStatisticsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkOption(context, "cache-size-kib", cacheSizeKib, 1, 1048576);
  }

  void runOnOperation() override {
    DependenceAnalysis dependences;
    for (Block &body : getOperation().getBody()) {
      Operation *op = body.empty() ? nullptr : &body.front();
      while (op)
        op = visit(op, dependences);
    }
  }

  /// Where to go on behind what begins with `op`.
  Operation *visit(Operation *op, DependenceAnalysis &dependences) {
    std::optional<Member> member = makeMember(op, dependences);
    if (!member)
      return op->getNextNode();
    const char *why = nullptr;
    for (AffineForOp loop : getPlainBand(member->nest)) {
      if (getPlainTrips(loop) < leastBlocks ||
          !whyNotParallel(loop, member->nest, dependences).empty())
        continue;
      Run run = collectRun(*member, loop, dependences);
      if (run.members.size() < 2)
        continue;
      why = chooseWidth(run, uint64_t(cacheSizeKib) * 1024);
      if (why)
        continue;
      remark(RemarkKind::Applied, op->getLoc(), passName,
             "nests run block by block")
          << arg("nests", run.members.size()) << arg("width", run.width);
      ++numApplied;
      Operation *next = AffineForOp(run.members.back().nest)->getNextNode();
      block(run);
      dependences.invalidate();
      return next;
    }
    if (why && *why) {
      ++numDeclined;
      remark(RemarkKind::Declined, op->getLoc(), passName, why);
    }
    return op->getNextNode();
  }
};
} // namespace

} // namespace polynest
