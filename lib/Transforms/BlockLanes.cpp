//===- BlockLanes.cpp - windows of a few lanes at a time ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: in a nest of windows that slide (depthwise convolutions, pooling) whose
// contiguous loop is none of those along which they slide (channels last),
// strip-mines that loop and puts the loop over blocks outside of all the loops
// along which windows slide, behind those of batches. A padded image of all
// lanes becomes one of a block, filled and copied inside of that loop, whose
// columns lie beside each other.
// Legal when: the loops from there to the contiguous one are parallel, have
// constant bounds and stand alone in each other. Of a padded image
// (PaddedImage.h): nothing writes what it is copied from until the nest is
// done, lanes are its last index as they are, and what else moves with loops is
// either read whole or stands still inside of the loop over blocks.
// Profitable when: what one element of each lane reads, the window and its
// weights, exceeds half of the first cache, so that each element loads all of
// it from the second one, while that of a block with the rows of windows of one
// row of results fits the first, and those of its sets in which columns lie
// that are a power of two apart. The largest such block that divides the loop.
// A padded image of a block pays where it is a few times the first cache: its
// elements are copied once either way.
// Limits: one contiguous loop for all accesses; no rest.
// Cost: operations of the nest; a dependence question a loop.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "Transforms/PaddedImage.h"
#include "Transforms/Window.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <numeric>

namespace polynest {
#define GEN_PASS_DEF_BLOCKLANES
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-block-lanes"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "block-lanes";
/// What one element of all lanes may touch of the first cache for weights to
/// stay there from one element to the next.
static constexpr double elementShare = 0.5;
/// Bytes that are as many apart lie in one set of the first cache; how much
/// more than those sets hold a row may touch, since old columns are not needed.
static constexpr int64_t setBytes = 4096;
static constexpr double setSlack = 4;
/// A padded image of a block of lanes should stay in the second cache: that
/// many times the first are not known to, but nearly everywhere do.
static constexpr double imageShare = 4;
/// Vectors or lines of its columns: with a few rows jammed, enough sums to hide
/// the latency of an FMA.
static constexpr int64_t linesOfImage = 2;

namespace {
/// A padded image of which each block of lanes can have one of its own.
struct LaneImage {
  PaddedImage padded;
  /// The indices that stand still within a block.
  SmallVector<bool, 4> isFixed;
  double elementsOfLane;

  double bytesOfLane() const {
    Type type = padded.type().getElementType();
    return elementsOfLane * double(getElementBytes(type).value_or(8));
  }
};

/// The loops of a nest from the outermost along which windows slide to the
/// contiguous one.
struct Decision {
  SmallVector<AffineForOp, 6> loops;
  SmallVector<Access, 8> accesses;
  /// Padded images that are read here alone.
  SmallVector<LaneImage, 1> images;
  /// Bytes for each iteration of the contiguous loop, and those of all: what
  /// one run of it touches, and one run of the loops inside the outermost.
  double elementBytes = 0, rowBytes = 0;
  uint64_t sharedElementBytes = 0, sharedRowBytes = 0;
  int64_t block = 0;

  AffineForOp lanes() const { return loops.back(); }
  bool isImage(Value memref) const {
    return llvm::any_of(images, [&](const LaneImage &image) {
      return image.padded.alloc->getResult(0) == memref;
    });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True if a window slides along `loop`: an index adds it to a loop inside of
/// `lanes`.
static bool hasSlidingWindow(AffineForOp loop, AffineForOp lanes,
                             ArrayRef<Access> accesses) {
  Value iv = loop.getInductionVar();
  for (const Access &access : accesses) {
    AffineValueMap map = access.map;
    for (unsigned d = 0; d < map.getNumResults(); ++d)
      if (map.isFunctionOf(d, iv) &&
          llvm::any_of(map.getOperands(), [&](Value operand) {
            AffineForOp other = getForInductionVarOwner(operand);
            return other && lanes->isProperAncestor(other) &&
                   map.isFunctionOf(d, operand);
          }))
        return true;
  }
  return false;
}

/// True if all accesses stand still or are contiguous along the loop, stores
/// the latter.
static bool isContiguous(AffineForOp loop, ArrayRef<Access> accesses) {
  return llvm::all_of(accesses, [&](const Access &access) {
    std::optional<int64_t> stride = getStride(access, loop);
    return stride && (*stride == 1 || (*stride == 0 && !access.isWrite));
  });
}

/// Finds the loops of the nest of `root` between which blocks would go; false
/// if it has no windows for them.
static bool findLoops(AffineForOp root, DependenceAnalysis &dependences,
                      Decision &decision) {
  bool hasWindow = false;
  SmallVector<AffineForOp, 6> band = getPlainBand(root);
  if (band.empty())
    return false;
  ArrayRef<Access> accesses =
      dependences.accessesOf(root, root->getParentOfType<AffineForOp>());
  if (accesses.empty() || !llvm::all_of(accesses, [](const Access &access) {
        return access.isAffine();
      }))
    return false;
  AffineForOp lanes = band.back();
  if (!isContiguous(lanes, accesses))
    return false;
  lanes->walk([&](AffineForOp inner) {
    hasWindow |= inner != lanes && findWindow(inner, lanes).has_value();
  });
  if (!hasWindow || hasSlidingWindow(lanes, lanes, accesses))
    return false;
  auto first = llvm::find_if(band, [&](AffineForOp loop) {
    return hasSlidingWindow(loop, lanes, accesses);
  });
  if (first == band.end())
    return false;
  decision.accesses.assign(accesses.begin(), accesses.end());
  decision.loops.append(first, band.end());
  return true;
}

/// True if the last index is the variable of `lanes`, and no other moves with
/// it.
static bool endsWithLanes(const AffineValueMap &map, AffineForOp lanes) {
  unsigned last = map.getNumResults() - 1;
  SmallVector<int64_t, 8> flat = getCoefficients(map, last);
  if (flat.empty() || flat.back() != 0)
    return false;
  for (auto [operand, factor] : llvm::zip(map.getOperands(), flat))
    if (factor != (operand == lanes.getInductionVar() ? 1 : 0))
      return false;
  for (unsigned d = 0; d < last; ++d)
    if (map.isFunctionOf(d, lanes.getInductionVar()))
      return false;
  return true;
}

/// True if a loop of the nest carries values, as those of windows do.
static bool hasSums(Operation *nest) {
  return nest
      ->walk([](AffineForOp loop) {
        return loop.getNumIterOperands() != 0 ? WalkResult::interrupt()
                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The image in `alloc`, if each block of lanes can have one of its own.
static std::optional<LaneImage> matchLaneImage(Operation *alloc,
                                               const Decision &decision) {
  AffineForOp outer = decision.loops.front(), lanes = decision.lanes();
  std::optional<PaddedImage> padded = matchPaddedImage(alloc);
  if (!padded || !padded->consumer->isAncestor(outer) || !isSourceKept(*padded))
    return std::nullopt;
  LaneImage image{std::move(*padded), {}, 1};
  // Nests that may be cut as well stay out of this.
  Block *block = alloc->getBlock();
  if (hasSums(image.padded.copyNest) ||
      llvm::any_of(image.padded.fills, [&](AffineStoreOp fill) {
        return hasSums(block->findAncestorOpInBlock(*fill));
      }))
    return std::nullopt;
  MemRefType type = image.padded.type();
  unsigned last = unsigned(type.getRank()) - 1;
  if (image.padded.hasBorder(last) || lanes.getConstantLowerBound() != 0 ||
      type.getDimSize(last) != lanes.getConstantUpperBound())
    return std::nullopt;
  for (auto [read, map] :
       llvm::zip_equal(image.padded.reads, image.padded.maps))
    if (!outer->isAncestor(read) || !endsWithLanes(map, lanes))
      return std::nullopt;
  image.isFixed = findFixedIndices(image.padded, outer);
  for (unsigned d = 0; d < last; ++d)
    if (!image.isFixed[d])
      image.elementsOfLane *= double(type.getDimSize(d));
  // Nothing is copied twice: loops around move what is fixed inside.
  for (Operation *op = outer->getParentOp(); op != alloc->getParentOp();
       op = op->getParentOp()) {
    auto loop = dyn_cast<AffineForOp>(op);
    if (!loop || (getTripCount(loop) != uint64_t(1) &&
                  !movesFixedIndex(image.padded, image.isFixed, loop)))
      return std::nullopt;
  }
  return image;
}

/// Finds the padded images that the nest reads.
static void findImages(Decision &decision) {
  llvm::SmallSetVector<Operation *, 4> buffers;
  for (const Access &access : decision.accesses)
    if (auto alloc = access.memref.getDefiningOp<memref::AllocOp>())
      buffers.insert(alloc);
  for (Operation *alloc : buffers)
    if (std::optional<LaneImage> image = matchLaneImage(alloc, decision))
      decision.images.push_back(std::move(*image));
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// What one run of `loop` touches, for each iteration of `lanes` in `moving`
/// and by what stands still along it in `shared`; false if that is not known.
static bool countBytes(ArrayRef<Access> accesses, AffineForOp loop,
                       AffineForOp lanes, double &moving, uint64_t &shared) {
  SmallVector<Access, 8> along, others;
  for (const Access &access : accesses)
    (isInvariantTo(access, lanes.getInductionVar()) ? others : along)
        .push_back(access);
  std::optional<uint64_t> all = getFootprintBytes(along, loop);
  std::optional<uint64_t> rest = getFootprintBytes(others, loop);
  if (!all || !rest)
    return false;
  moving = double(*all) / double(*getTripCount(lanes));
  shared = *rest;
  return true;
}

/// Iterations that fill a vector and a line of what is widest.
static int64_t countLanes(ArrayRef<Access> accesses, int64_t vectorBytes) {
  int64_t widest = 1;
  for (const Access &access : accesses) {
    auto type = cast<MemRefType>(access.memref.getType());
    widest =
        std::max(widest, getElementBytes(type.getElementType()).value_or(1));
  }
  return std::max<int64_t>(std::max(vectorBytes, kLineBytes) / widest, 1);
}

/// The part of the first cache's sets in which a block of lanes may lie: what
/// is a multiple of some power of two apart, as columns of many channels are,
/// shares sets. Images of a block are none of these.
static double getSetsAtReach(const Decision &decision, int64_t block) {
  AffineForOp outer = decision.loops.front(), lanes = decision.lanes();
  double least = 1;
  for (const Access &access : decision.accesses) {
    if (isInvariantTo(access, lanes.getInductionVar()) ||
        decision.isImage(access.memref))
      continue;
    auto type = cast<MemRefType>(access.memref.getType());
    int64_t bytes = getElementBytes(type.getElementType()).value_or(1);
    uint64_t apart = setBytes;
    for (Operation *op = access.op->getParentOp(); op != outer->getParentOp();
         op = op->getParentOp())
      if (auto loop = dyn_cast<AffineForOp>(op); loop && loop != lanes)
        apart = std::gcd(
            apart, uint64_t(std::abs(
                       getStride(access, loop).value_or(setBytes) * bytes)));
    least = std::min(least, double(block * bytes) / double(apart));
  }
  return least;
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// Makes the image of one block at the builder, and lets the reads take it.
static void emitImage(OpBuilder builder, LaneImage &image, AffineForOp blocks,
                      int64_t block,
                      llvm::SmallPtrSetImpl<Operation *> &reads) {
  PaddedImage &padded = image.padded;
  auto old = cast<memref::AllocOp>(padded.alloc);
  SmallVector<int64_t, 4> sizes;
  SmallVector<Range, 4> whole, copied;
  for (auto [d, size] : llvm::enumerate(padded.type().getShape())) {
    bool isLast = d + 1 == image.isFixed.size();
    sizes.push_back(image.isFixed[d] ? 1 : isLast ? block : size);
    whole.push_back({0, sizes.back()});
    copied.push_back(image.isFixed[d] || isLast ? whole.back() : padded.box[d]);
  }
  MemRefType type = MemRefType::Builder(padded.type()).setShape(sizes);
  Value buffer = memref::AllocOp::create(builder, old.getLoc(), type,
                                         old.getAlignmentAttr());
  // Below and above the box in each dimension, within it in those before.
  for (unsigned d = 0; d < whole.size(); ++d)
    for (Range side :
         {Range{0, copied[d].low}, Range{copied[d].high, whole[d].high}}) {
      if (side.size() == 0)
        continue;
      SmallVector<Range, 4> filled(whole);
      std::copy_n(copied.begin(), d, filled.begin());
      filled[d] = side;
      emitFill(builder, padded, buffer, filled);
    }
  AffineMap place = padded.maps.front().getAffineMap();
  ValueRange from = padded.maps.front().getOperands();
  unsigned dims = place.getNumDims();
  SmallVector<Value> operands(from.take_front(dims));
  operands.push_back(blocks.getInductionVar());
  llvm::append_range(operands, from.drop_front(dims));
  SmallVector<AffineExpr, 4> begin;
  for (auto [index, isFixed] :
       llvm::zip_equal(place.getResults(), image.isFixed))
    begin.push_back(isFixed ? index : builder.getAffineConstantExpr(0));
  begin.back() = builder.getAffineDimExpr(dims);
  emitCopy(builder, padded, buffer, copied,
           AffineMap::get(dims + 1, place.getNumSymbols(), begin,
                          builder.getContext()),
           operands);
  for (auto [read, from] : llvm::zip_equal(padded.reads, padded.maps)) {
    AffineMap map = from.getAffineMap();
    SmallVector<AffineExpr, 4> indices(map.getResults());
    for (auto [index, isFixed] : llvm::zip_equal(indices, image.isFixed))
      if (isFixed)
        index = builder.getAffineConstantExpr(0);
    map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), indices,
                         builder.getContext());
    builder.setInsertionPoint(read);
    auto made = AffineLoadOp::create(builder, read.getLoc(), buffer, map,
                                     from.getOperands());
    read.replaceAllUsesWith(made.getResult());
    read.erase();
    reads.insert(made);
  }
  eraseImage(padded);
}

static void apply(Decision &decision) {
  AffineForOp outer = decision.loops.front(), lanes = decision.lanes();
  Location loc = lanes.getLoc();
  OpBuilder builder(outer);
  auto blocks =
      AffineForOp::create(builder, loc, lanes.getConstantLowerBound(),
                          lanes.getConstantUpperBound(), decision.block);
  outer->moveBefore(blocks.getBody()->getTerminator());
  lanes.setConstantLowerBound(0);
  lanes.setConstantUpperBound(decision.block);
  // The variable of the lanes is theirs.
  llvm::SmallPtrSet<Operation *, 8> kept;
  for (LaneImage &image : decision.images)
    emitImage(OpBuilder(outer), image, blocks, decision.block, kept);
  AffineExpr sum = builder.getAffineDimExpr(0) + builder.getAffineDimExpr(1);
  Value lane = lanes.getInductionVar();
  replaceVariable(lane, lanes, AffineMap::get(2, 0, sum),
                  {blocks.getInductionVar(), lane}, &kept);
  // Erases the sum where all its users have taken it in.
  composeIndices(lanes);
}

namespace {
struct BlockLanesPass : impl::BlockLanesBase<BlockLanesPass> {
  using BlockLanesBase::BlockLanesBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (failed(checkOption(context, "vector-width-bits", vectorWidthBits, 64,
                           16384)) ||
        failed(checkPowerOfTwo(context, "vector-width-bits", vectorWidthBits)))
      return failure();
    return checkOption(context, "l1-size-kib", l1SizeKib, 1, 1 << 20);
  }

  void runOnOperation() override {
    SmallVector<Decision, 0> decisions;
    DependenceAnalysis dependences;
    numDeclined += takeNests(
        getOperation(), passName,
        [](AffineForOp loop) {
          return loop->hasAttr(kVectorized) || loop->hasAttr(kTiled) ||
                 loop->hasAttr(kStreamed);
        },
        [&](AffineForOp loop, std::string &reason) {
          Decision decision;
          if (!findLoops(loop, dependences, decision))
            return false;
          reason = decide(decision, dependences);
          if (!reason.empty())
            return false;
          decisions.push_back(std::move(decision));
          return true;
        });
    for (Decision &decision : decisions) {
      remark(RemarkKind::Applied, decision.lanes().getLoc(), passName,
             "windows slide over a block of lanes at a time")
          << arg("lanes", *getTripCount(decision.lanes()))
          << arg("block", decision.block)
          << arg("row-bytes",
                 int64_t(decision.rowBytes * double(decision.block)) +
                     int64_t(decision.sharedRowBytes))
          << arg("images", decision.images.size());
      apply(decision);
    }
    if (llvm::any_of(decisions, [](const Decision &decision) {
          return !decision.images.empty();
        }))
      dropUnitLoops(getOperation());
    numApplied += decisions.size();
  }

  /// Chooses the block; returns why there is none, or an empty string.
  std::string decide(Decision &decision, DependenceAnalysis &dependences) {
    for (AffineForOp loop : decision.loops)
      if (!loop.hasConstantBounds() || loop.getStepAsInt() != 1)
        return "bounds are not constant";
    AffineForOp lanes = decision.lanes();
    int64_t trips = int64_t(getTripCount(lanes).value_or(0));
    if (trips < 1)
      return "no lanes";
    if (!countBytes(decision.accesses, lanes, lanes, decision.elementBytes,
                    decision.sharedElementBytes) ||
        !countBytes(decision.accesses, decision.loops[1], lanes,
                    decision.rowBytes, decision.sharedRowBytes))
      return "what windows read is not known";
    double size = double(l1SizeKib) * 1024;
    if (decision.elementBytes * double(trips) +
            double(decision.sharedElementBytes) <=
        size * elementShare)
      return "windows of all lanes stay in the first cache";
    findImages(decision);
    decision.block = chooseBlock(decision, trips, size);
    if (decision.block == 0 && !decision.images.empty()) {
      decision.images.clear();
      decision.block = chooseBlock(decision, trips, size);
    }
    if (decision.block == 0)
      return "no block of lanes divides them and fits the first cache";
    return whyNotParallel(decision.loops, decision.loops.front(), dependences);
  }

  /// The largest block that fits, or 0; with images of its own one of two cache
  /// lines, next to which more would only take room.
  int64_t chooseBlock(const Decision &decision, int64_t trips, double size) {
    double imageBytes = 0;
    for (const LaneImage &image : decision.images)
      imageBytes += image.bytesOfLane();
    int64_t found = 0;
    int64_t unit = countLanes(decision.accesses, vectorWidthBits / 8);
    for (int64_t block = unit; block < trips; block += unit) {
      double touched =
          decision.rowBytes * double(block) + double(decision.sharedRowBytes);
      if (trips % block == 0 && touched <= size &&
          imageBytes * double(block) <= imageShare * size &&
          touched <= setSlack * size * getSetsAtReach(decision, block))
        found = block;
      if (!decision.images.empty() && found >= linesOfImage * unit)
        break;
    }
    return found;
  }
};
} // namespace

} // namespace polynest
