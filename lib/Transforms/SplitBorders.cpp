//===- SplitBorders.cpp - read the inside of a padded image in place ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: where a private buffer is filled with one value, a box of it is
// overwritten with another buffer's elements, and one nest then reads windows
// of it (a padded image), splits that nest: where all that is read lies in the
// box, it reads the other buffer; the few rows and columns at each border get a
// nest and a padded buffer of their own, as large as what they read, of one
// iteration of the loops around those of rows and columns if there are any
// (but of all where sums of products can be blocked).
// Legal when: the two stores and the reads are all that touches the buffer; the
// box is overwritten under no condition, behind the fill, with elements whose
// buffer nothing writes until the reads are done; each dimension with a border
// is read at a multiple of one loop of the nest and a constant range; the loops
// down to the innermost of those stand alone in each other and carry no
// dependence, so that their iterations may run in any order.
// Profitable when: what the borders read has at most half of the buffer's
// elements, each element is read so few times that moving it counts, and sums
// of products that can be blocked can be so in each border.
// Limits: static shapes; no border in the dimension that is contiguous, which
// is for vector lanes, and no copy that turns the image for them. Cost:
// operations of the nest for each border.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Contraction.h"
#include "Analysis/Dependence.h"
#include "Support/PassOptions.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "Transforms/PaddedImage.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

namespace polynest {
#define GEN_PASS_DEF_SPLITBORDERS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-split-borders"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "split-borders";
/// An element moves through a cache and back in the time of some ten
/// multiply-adds; beside more than this many it does not count.
static constexpr double mostReads = 256;

namespace {
/// Index `step` * variable + [least, most] of one read.
struct WindowIndex {
  int64_t step = 0, least = 0, most = 0;
};

/// A dimension with a border: the loop of the rows, those of its iterations
/// that read nothing of the border, and the index of each read.
struct Border {
  unsigned dim;
  AffineForOp rows;
  Range inside;
  SmallVector<WindowIndex, 4> indices;
};

/// Iterations of the rows of each border, and what they read.
struct Piece {
  SmallVector<Range, 4> rows, reads;
};

struct Decision {
  PaddedImage image;
  /// By depth of their loops.
  SmallVector<Border, 4> borders;
  SmallVector<Piece, 8> pieces;
  /// What the pieces read.
  double borderElements = 0;
  /// The last of the loops around that have an image each, if there are any,
  /// and the dimensions of which such an image has a single index.
  AffineForOp images;
  SmallVector<bool, 4> isFixed;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// How the read at `map` moves along dimension `d` with the outermost of
/// `loops` that moves it; sets `rows` to that or fails where `rows` is another
/// one.
static std::optional<WindowIndex> findWindowIndex(const AffineValueMap &map,
                                                  unsigned d,
                                                  ArrayRef<AffineForOp> loops,
                                                  AffineForOp &rows) {
  SmallVector<int64_t, 8> flat = getCoefficients(map, d);
  if (flat.empty())
    return std::nullopt;
  auto factorOf = [&](Value iv) {
    int64_t sum = 0;
    for (auto [operand, factor] : llvm::zip(map.getOperands(), flat))
      sum += operand == iv ? factor : 0;
    return sum;
  };
  const auto *outermost = llvm::find_if(loops, [&](AffineForOp loop) {
    return factorOf(loop.getInductionVar()) != 0;
  });
  if (outermost == loops.end() || (rows && rows != *outermost))
    return std::nullopt;
  rows = *outermost;
  WindowIndex index;
  index.step = factorOf(rows.getInductionVar());
  index.least = index.most = flat.back();
  for (auto [operand, factor] : llvm::zip(map.getOperands(), flat)) {
    if (factor == 0 || operand == rows.getInductionVar())
      continue;
    std::optional<IndexRange> range = getConstantRange(operand);
    if (!range || range->min > range->max)
      return std::nullopt;
    index.least += factor * (factor > 0 ? range->min : range->max);
    index.most += factor * (factor > 0 ? range->max : range->min);
  }
  return index.step > 0 ? std::optional(index) : std::nullopt;
}

/// The last dimension that has more than one index.
static unsigned getContiguousDim(MemRefType type) {
  unsigned d = type.getRank() - 1;
  while (d > 0 && type.getDimSize(d) == 1)
    --d;
  return d;
}

/// True if one of `loops`, which may run in lanes, reads contiguous elements of
/// the image that are not contiguous in the source.
static bool isTurnedForLanes(const PaddedImage &image,
                             ArrayRef<AffineForOp> loops) {
  unsigned d = getContiguousDim(image.type());
  SmallVector<Access, 1> accesses;
  collectAccesses(image.source, accesses);
  if (!image.loops[d] || getStride(accesses[0], image.loops[d]) == 1)
    return false;
  return llvm::any_of(image.maps, [&](AffineValueMap map) {
    return llvm::any_of(map.getOperands(), [&](Value operand) {
      return map.isFunctionOf(d, operand) &&
             llvm::is_contained(loops, getForInductionVarOwner(operand));
    });
  });
}

/// The border of dimension `d` as the nest reads it; none where it has no
/// inside.
static std::optional<Border> findBorder(const PaddedImage &image, unsigned d,
                                        ArrayRef<AffineForOp> loops) {
  Border border;
  border.dim = d;
  for (const AffineValueMap &map : image.maps) {
    std::optional<WindowIndex> index =
        findWindowIndex(map, d, loops, border.rows);
    if (!index)
      return std::nullopt;
    border.indices.push_back(*index);
  }
  AffineForOp rows = border.rows;
  if (!rows.hasConstantBounds() || rows.getStepAsInt() != 1)
    return std::nullopt;
  border.inside = {rows.getConstantLowerBound(), rows.getConstantUpperBound()};
  for (const WindowIndex &index : border.indices) {
    border.inside.low = std::max(
        border.inside.low,
        llvm::divideCeilSigned(image.box[d].low - index.least, index.step));
    border.inside.high =
        std::min(border.inside.high,
                 llvm::divideFloorSigned(image.box[d].high - 1 - index.most,
                                         index.step) +
                     1);
  }
  return border.inside.size() > 0 ? std::optional(border) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Iterations below and above the inside of each border, within the inside of
/// those before, and the box of the buffer that each reads.
static void listPieces(Decision &decision) {
  MemRefType type = decision.image.type();
  Piece inside;
  for (const Border &border : decision.borders)
    inside.rows.push_back(border.inside);
  auto add = [&](unsigned at, Range rows) {
    if (rows.size() == 0)
      return;
    Piece piece = inside;
    piece.rows[at] = rows;
    for (unsigned i = at + 1; i < piece.rows.size(); ++i) {
      AffineForOp loop = decision.borders[i].rows;
      piece.rows[i] = {loop.getConstantLowerBound(),
                       loop.getConstantUpperBound()};
    }
    for (int64_t size : type.getShape())
      piece.reads.push_back({0, size});
    for (auto [border, range] : llvm::zip_equal(decision.borders, piece.rows)) {
      int64_t size = type.getDimSize(border.dim);
      Range reads{size, 0};
      for (const WindowIndex &index : border.indices) {
        reads.low = std::min(reads.low, index.step * range.low + index.least);
        reads.high = std::max(reads.high,
                              index.step * (range.high - 1) + index.most + 1);
      }
      piece.reads[border.dim] = {std::max<int64_t>(reads.low, 0),
                                 std::min(reads.high, size)};
    }
    decision.pieces.push_back(std::move(piece));
  };
  for (auto [at, border] : llvm::enumerate(decision.borders)) {
    AffineForOp loop = border.rows;
    add(at, {loop.getConstantLowerBound(), border.inside.low});
    add(at, {border.inside.high, loop.getConstantUpperBound()});
  }
}

/// Finds the loops around the rows that have an image each: all of them, none
/// of which would copy anything twice.
static void findImages(Decision &decision, ArrayRef<AffineForOp> loops) {
  const PaddedImage &image = decision.image;
  AffineForOp rows = decision.borders.front().rows;
  ArrayRef<AffineForOp> around =
      loops.take_while([&](AffineForOp loop) { return loop != rows; });
  SmallVector<bool, 4> isFixed = findFixedIndices(image, rows);
  if (around.empty() || llvm::any_of(around, [&](AffineForOp loop) {
        return !movesFixedIndex(image, isFixed, loop) ||
               getTripCount(loop) == uint64_t(1);
      }))
    return;
  decision.images = around.back();
  decision.isFixed = isFixed;
}

static double countElements(const Piece &piece) {
  double elements = 1;
  for (const Range &range : piece.reads)
    elements *= double(range.size());
  return elements;
}

/// Products of a border that are worth a pack, as of any nest; fewer would be
/// left to lanes of whatever lies last.
static constexpr double leastProducts = 16384;

/// The consumer as a sum of products that reuses both of its operands.
static FailureOr<Contraction> matchProduct(const PaddedImage &image) {
  std::string reason;
  FailureOr<Contraction> found = matchContraction(image.consumer, reason);
  if (succeeded(found) &&
      (found->left.loops.empty() || found->right.loops.empty()))
    return failure();
  return found;
}

/// True if a piece has too few products to be blocked.
static bool isTooSmallToBlock(const FailureOr<Contraction> &found,
                              const Decision &decision) {
  if (failed(found))
    return false;
  return llvm::any_of(decision.pieces, [&](const Piece &piece) {
    double products = 1;
    for (ArrayRef<AffineForOp> loops :
         {ArrayRef(found->left.loops), ArrayRef(found->right.loops),
          ArrayRef(found->reductionLoops)})
      for (AffineForOp loop : loops) {
        double trips = double(getSmallTripCount(loop).value_or(1));
        for (auto [border, rows] :
             llvm::zip_equal(decision.borders, piece.rows))
          if (border.rows == loop)
            trips = double(rows.size());
        products *= trips;
      }
    return products < leastProducts;
  });
}

/// How many times each element of the buffer is read, on average.
static double countReads(const PaddedImage &image) {
  double reads = 0;
  for (AffineLoadOp read : image.reads) {
    double times = 1;
    for (Operation *op = read->getParentOp(); op != image.alloc->getParentOp();
         op = op->getParentOp())
      if (auto loop = dyn_cast<AffineForOp>(op))
        times *= double(estimateTrips(loop));
    reads += times;
  }
  return reads / double(image.type().getNumElements());
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

/// A padded buffer of what the piece reads, filled and copied; `mapping` leads
/// to loops of a copy of the consumer.
static Value emitBuffer(OpBuilder builder, const Decision &decision,
                        const Piece &piece, const IRMapping &mapping) {
  const PaddedImage &image = decision.image;
  AffineValueMap place = image.maps.front();
  SmallVector<int64_t, 4> sizes;
  SmallVector<Range, 4> filled, copied;
  SmallVector<AffineExpr, 4> begin;
  for (unsigned d = 0; d < piece.reads.size(); ++d) {
    Range reads = piece.reads[d], box = image.box[d];
    if (decision.isFixed[d]) {
      sizes.push_back(1);
      copied.push_back({0, 1});
      begin.push_back(place.getResult(d));
    } else {
      sizes.push_back(reads.size());
      copied.push_back({std::max(reads.low, box.low) - reads.low,
                        std::min(reads.high, box.high) - reads.low});
      begin.push_back(builder.getAffineConstantExpr(reads.low));
    }
    filled.push_back({0, sizes.back()});
  }
  auto old = cast<memref::AllocOp>(image.alloc);
  MemRefType type = MemRefType::Builder(image.type()).setShape(sizes);
  Value buffer = memref::AllocOp::create(builder, old.getLoc(), type,
                                         old.getAlignmentAttr());
  emitFill(builder, image, buffer, filled);
  if (llvm::any_of(copied,
                   [](const Range &range) { return range.size() == 0; }))
    return buffer;
  SmallVector<Value> operands;
  for (Value operand : place.getOperands())
    operands.push_back(mapping.lookupOrDefault(operand));
  emitCopy(builder, image, buffer, copied,
           AffineMap::get(place.getNumDims(), place.getNumSymbols(), begin,
                          builder.getContext()),
           operands);
  return buffer;
}

static void setRows(AffineForOp loop, Range rows) {
  loop.setConstantLowerBound(rows.low);
  loop.setConstantUpperBound(rows.high);
}

static void apply(Decision &decision) {
  PaddedImage &image = decision.image;
  OpBuilder builder(image.consumer);
  for (const Piece &piece : decision.pieces) {
    IRMapping mapping;
    Value buffer;
    if (!decision.images)
      buffer = emitBuffer(builder, decision, piece, mapping);
    builder.clone(*image.consumer, mapping);
    if (decision.images) {
      auto around =
          cast<AffineForOp>(mapping.lookup(decision.images.getOperation()));
      buffer = emitBuffer(OpBuilder::atBlockBegin(around.getBody()), decision,
                          piece, mapping);
    }
    for (auto [border, rows] : llvm::zip_equal(decision.borders, piece.rows))
      setRows(cast<AffineForOp>(mapping.lookup(border.rows.getOperation())),
              rows);
    for (AffineLoadOp read : image.reads) {
      Operation *copy = mapping.lookup(read.getOperation());
      auto [map, operands] = getPlace(copy);
      SmallVector<AffineExpr, 4> indices;
      for (unsigned d = 0; d < piece.reads.size(); ++d)
        indices.push_back(decision.isFixed[d]
                              ? builder.getAffineConstantExpr(0)
                              : map.getResult(d) - piece.reads[d].low);
      movePlace(copy, buffer,
                AffineMap::get(map.getNumDims(), map.getNumSymbols(), indices,
                               copy->getContext()),
                operands);
    }
  }
  for (const Border &border : decision.borders)
    setRows(border.rows, border.inside);
  for (AffineLoadOp read : image.reads) {
    OpBuilder inside(read);
    read.replaceAllUsesWith(
        loadSource(inside, image, read.getAffineMap(),
                   SmallVector<Value>(read.getMapOperands())));
    read.erase();
  }
  eraseImage(image);
}

namespace {
struct SplitBordersPass : impl::SplitBordersBase<SplitBordersPass> {
  using SplitBordersBase::SplitBordersBase;

  LogicalResult initialize(MLIRContext *context) override {
    return checkOption(context, "least-kib", leastKib, 0, 1 << 20);
  }

  void runOnOperation() override {
    SmallVector<memref::AllocOp> allocs;
    getOperation().walk(
        [&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    bool changed = false;
    for (memref::AllocOp alloc : allocs) {
      std::optional<PaddedImage> image = matchPaddedImage(alloc);
      if (!image)
        continue;
      Decision decision;
      decision.image = std::move(*image);
      std::string reason = whyNot(decision);
      Location loc = decision.image.consumer.getLoc();
      if (!reason.empty()) {
        ++numDeclined;
        remark(RemarkKind::Declined, loc, passName, reason);
        continue;
      }
      ++numApplied;
      remark(RemarkKind::Applied, loc, passName,
             "the inside of a padded image is read in place")
          << arg("borders", decision.pieces.size())
          << arg("elements", decision.image.type().getNumElements())
          << arg("border-elements", int64_t(decision.borderElements));
      apply(decision);
      changed = true;
    }
    if (changed)
      dropUnitLoops(getOperation());
  }

  /// Why the image is copied as a whole; empty if it is split, which fills in
  /// the decision.
  std::string whyNot(Decision &decision) {
    PaddedImage &image = decision.image;
    MemRefType type = image.type();
    std::optional<uint64_t> bytes = getBufferBytes(type);
    if (!bytes || *bytes < uint64_t(leastKib) * 1024)
      return "the buffer is small";
    if (image.hasBorder(getContiguousDim(type)))
      return "lanes would cross a border";
    if (countReads(image) > mostReads)
      return "each element is read many times";
    SmallVector<AffineForOp, 6> loops = getPlainBand(image.consumer);
    if (isTurnedForLanes(image, loops))
      return "the copy turns the image for lanes";
    for (AffineForOp loop : loops)
      for (unsigned d = 0; d < unsigned(type.getRank()); ++d) {
        if (!image.hasBorder(d))
          continue;
        std::optional<Border> border = findBorder(image, d, loops);
        if (!border)
          return "a border has no inside, or is not read by rows";
        if (border->rows == loop)
          decision.borders.push_back(*border);
      }
    unsigned count = 0;
    for (unsigned d = 0; d < unsigned(type.getRank()); ++d)
      count += image.hasBorder(d);
    llvm::SmallPtrSet<Operation *, 4> rows;
    for (const Border &border : decision.borders)
      rows.insert(border.rows);
    if (count == 0 || decision.borders.size() != count || rows.size() != count)
      return "no rows of their own for each border";
    listPieces(decision);
    FailureOr<Contraction> product = matchProduct(image);
    if (isTooSmallToBlock(product, decision))
      return "a border has too few products to be blocked";
    for (const Piece &piece : decision.pieces)
      decision.borderElements += countElements(piece);
    if (2 * decision.borderElements > double(type.getNumElements()))
      return "borders read most of the buffer";
    if (!isSourceKept(image))
      return "what is copied is overwritten";
    DependenceAnalysis dependences;
    std::string reason;
    for (AffineForOp loop : loops) {
      if (!dependences.loopIsParallel(loop, &reason))
        return reason;
      if (loop == decision.borders.back().rows)
        break;
    }
    decision.isFixed.assign(type.getRank(), false);
    // Products want all images in one block.
    if (failed(product))
      findImages(decision, loops);
    return {};
  }
};
} // namespace

} // namespace polynest
