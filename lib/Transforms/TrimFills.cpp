//===- TrimFills.cpp - fill only what is not overwritten ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: a nest that fills a private buffer or a result with one value, most of
// which one of the next nests overwrites, fills the rest alone: of a padded
// image its border, in one nest for each side that has one.
// Legal when: the nest stores the value to each element once and does nothing
// else; what touches the buffer next, in the same block, are nests that store
// to it and read nothing of it, one of them to each element of a box whose
// bounds are known in front, under no condition. Elements of the box are then
// written before they are read, the others as before. (Where
// polynest-split-borders has made several nests of one, that of the inside has
// the largest box.) Profitable when: the border takes at most half of the cache
// lines, and all of the buffer some KiB. Limits: boxes of constant bounds; in a
// dimension of dynamic size, all of it, by a loop with the bounds of the
// fill's, or from a constant up to where a loop from 0 ends. Where that is
// known only when it runs, the border counts as small. One box for each fill,
// that which leaves least to fill. Cost: operations behind each fill until the
// buffer is read.
//===----------------------------------------------------------------------===//

#include "Transforms/Passes.h"

#include "Analysis/Access.h"
#include "Analysis/Aliasing.h"
#include "Analysis/LinearIndex.h"
#include "Support/Remark.h"
#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"

namespace polynest {
#define GEN_PASS_DEF_TRIMFILLS
#include "Transforms/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-trim-fills"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

static constexpr llvm::StringLiteral passName = "trim-fills";
/// Smaller buffers are filled as fast as one can ask for less.
static constexpr int64_t leastBytes = 8192;
/// How many operations behind a fill are looked at.
static constexpr unsigned mostLookedAt = 64;

namespace {
/// A nest that stores one value to each element of a buffer. Loop i sweeps
/// dimension dimOf[i].
struct Fill {
  SmallVector<AffineForOp, 6> loops;
  SmallVector<unsigned, 6> dimOf;
  AffineStoreOp store;
  MemRefType type;
};

/// The indices of one dimension that are overwritten: those from `low` up to
/// `high`, or up to the end of `loop` and `low` more where that is not known.
struct Side {
  bool isWhole = false;
  int64_t low = 0, high = 0;
  AffineForOp loop = {};
};

struct Decision {
  Fill fill;
  /// For each loop of the fill.
  SmallVector<Side, 6> box;
};
} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// True for memory whose accesses are all seen here: what the entry allocates
/// and keeps, and its results, which overlap nothing else.
static bool isOwn(Value memref) {
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return func && func.getArgAttr(argument.getArgNumber(), "polynest.result");
  }
  return isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(
             memref.getDefiningOp()) &&
         isPrivateAllocation(memref);
}

static std::optional<Fill> matchFill(AffineForOp root) {
  Fill fill;
  fill.loops = getPerfectBand(root);
  AffineForOp inner = fill.loops.back();
  fill.store = dyn_cast<AffineStoreOp>(inner.getBody()->front());
  if (!fill.store || inner.getNumIterOperands() != 0 ||
      fill.store->getNextNode() != inner.getBody()->getTerminator() ||
      !root.isDefinedOutsideOfLoop(fill.store.getValueToStore()))
    return std::nullopt;
  MemRefType type = fill.type = fill.store.getMemRefType();
  SmallVector<Access, 1> accesses;
  collectAccesses(fill.store, accesses);
  if (!isOwn(fill.store.getMemRef()) || !type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrFloat() || accesses.size() != 1 ||
      !accesses[0].isAffine() || accesses[0].isPartial)
    return std::nullopt;
  const AffineValueMap &map = accesses[0].map;
  fill.dimOf.assign(fill.loops.size(), type.getRank());
  for (unsigned d = 0; d < type.getRank(); ++d) {
    if (auto constant =
            dyn_cast<AffineConstantExpr>(map.getAffineMap().getResult(d))) {
      if (constant.getValue() != 0 || type.getDimSize(d) != 1)
        return std::nullopt;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(map.getAffineMap().getResult(d));
    AffineForOp loop =
        dim ? getForInductionVarOwner(map.getOperand(dim.getPosition()))
            : AffineForOp();
    auto place = llvm::find(fill.loops, loop);
    if (!loop || place == fill.loops.end())
      return std::nullopt;
    unsigned &dimOf = fill.dimOf[place - fill.loops.begin()];
    if (dimOf != type.getRank())
      return std::nullopt;
    dimOf = d;
    if (!countsFromZero(loop))
      return std::nullopt;
    if (!type.isDynamicDim(d) &&
        (!loop.hasConstantUpperBound() ||
         loop.getConstantUpperBound() != type.getDimSize(d)))
      return std::nullopt;
  }
  return llvm::is_contained(fill.dimOf, type.getRank()) ? std::nullopt
                                                        : std::optional(fill);
}

/// What touches the memref next behind `op` in its block: the nest and its
/// accesses of it; null where it is no nest.
static AffineForOp findNextNest(Operation *op, Value memref,
                                SmallVectorImpl<Access> &accesses) {
  op = op->getNextNode();
  for (unsigned n = 0; op && n < mostLookedAt; ++n, op = op->getNextNode()) {
    accesses.clear();
    collectAccesses(op, accesses);
    llvm::erase_if(accesses, [&](const Access &access) {
      return access.memref && !mayAlias(access.memref, memref);
    });
    if (!accesses.empty())
      return dyn_cast<AffineForOp>(op);
  }
  return {};
}

/// The indices that an index `constant`, or the loop's variable and `offset`,
/// runs through; none where they are not all those between two constants.
static std::optional<Side> getSide(AffineForOp loop, int64_t offset) {
  if (!loop)
    return Side{false, offset, offset + 1};
  if (!loop.hasConstantBounds() || loop.getStepAsInt() != 1)
    return std::nullopt;
  return Side{false, loop.getConstantLowerBound() + offset,
              loop.getConstantUpperBound() + offset};
}

/// The same in a dimension of unknown size: the loop's end, which is there in
/// front of the fill, says where they end. What is left of a fill ends at the
/// lesser of two places: it is left as it is.
static std::optional<Side> getOpenSide(AffineForOp loop, int64_t offset,
                                       AffineForOp root, AffineForOp fillLoop) {
  if (!loop || !countsFromZero(loop) || offset < 0 ||
      loop.getUpperBoundMap().getNumResults() != 1 ||
      fillLoop.getUpperBoundMap().getNumResults() != 1)
    return std::nullopt;
  DominanceInfo dominance(root->getParentOp());
  for (Value operand : loop.getUpperBoundOperands())
    if (!dominance.properlyDominates(operand, root))
      return std::nullopt;
  return Side{false, offset, 0, loop};
}

/// A result that is a variable and a constant, or a constant alone.
static bool splitIndex(const AffineValueMap &map, unsigned result,
                       AffineForOp &loop, int64_t &offset) {
  std::optional<LinearIndex> index = getLinearIndex(map, result);
  if (!index)
    return false;
  offset = index->constant;
  if (index->isConstant())
    return true;
  auto [value, factor] = index->terms.front();
  loop = getForInductionVarOwner(value);
  return loop && factor == 1 && index->terms.size() == 1;
}

/// The box that a store of `nest` overwrites in any case, for each loop of the
/// fill; empty if there is none.
static SmallVector<Side, 6> findBox(const Fill &fill, AffineForOp nest,
                                    const Access &access) {
  MemRefType type = cast<MemRefType>(access.memref.getType());
  SmallVector<Side, 6> box(fill.loops.size());
  llvm::SmallDenseSet<Operation *, 4> unbounded, seen;
  for (auto [i, d] : llvm::enumerate(fill.dimOf)) {
    AffineForOp loop, fillLoop = fill.loops[i];
    int64_t offset;
    if (!splitIndex(access.map, d, loop, offset) ||
        (loop && (!nest->isAncestor(loop) || !seen.insert(loop).second)))
      return {};
    if (loop && offset == 0 && haveEqualBounds(loop, fillLoop, IRMapping())) {
      box[i].isWhole = true;
      unbounded.insert(loop);
      continue;
    }
    if (type.isDynamicDim(d)) {
      std::optional<Side> side =
          getOpenSide(loop, offset, fill.loops.front(), fillLoop);
      if (!side)
        return {};
      box[i] = *side;
      unbounded.insert(loop);
      continue;
    }
    std::optional<Side> side = getSide(loop, offset);
    if (!side)
      return {};
    side->low = std::max<int64_t>(side->low, 0);
    side->high = std::min(side->high, type.getDimSize(d));
    if (side->low >= side->high)
      return {};
    side->isWhole = side->low == 0 && side->high == type.getDimSize(d);
    box[i] = *side;
  }
  // Nothing but loops that run stands around the store.
  SmallVector<AffineForOp, 6> around = getLoopsAround(access.op, nest);
  auto mayStandStill = [&](AffineForOp loop) {
    return !unbounded.contains(loop) && getTripCount(loop).value_or(0) == 0;
  };
  if (around.empty() || llvm::any_of(around, mayStandStill))
    return {};
  return box;
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Cache lines of a part of the buffer, by the number of indices of each
/// dimension, for each index of dynamic ones.
static double countLines(ArrayRef<int64_t> counts, ArrayRef<int64_t> sizes,
                         double elementBytes) {
  double run = elementBytes, runs = 1;
  bool isContiguous = true;
  for (unsigned d = counts.size(); d-- > 0;) {
    (isContiguous ? run : runs) *= double(counts[d]);
    isContiguous &= counts[d] == sizes[d];
  }
  return runs * std::max(1.0, run / kLineBytes);
}

/// Sizes, those that are not known as 1.
static SmallVector<int64_t> getKnownSizes(MemRefType type) {
  return llvm::map_to_vector(type.getShape(), [](int64_t size) {
    return ShapedType::isDynamic(size) ? 1 : size;
  });
}

/// Cache lines of what a box leaves to fill; behind the end of a loop that is
/// not known, as much as in front of it.
static double countBorder(const Fill &fill, ArrayRef<Side> box) {
  SmallVector<int64_t> sizes = getKnownSizes(fill.type), counts(sizes);
  double bytes = *getElementBytes(fill.type.getElementType()), border = 0;
  for (auto [side, d] : llvm::zip_equal(box, fill.dimOf)) {
    if (side.isWhole)
      continue;
    for (int64_t count :
         {side.low, side.loop ? side.low : sizes[d] - side.high}) {
      counts[d] = count;
      border += count ? countLines(counts, sizes, bytes) : 0;
    }
    counts[d] = side.loop ? 1 : side.high - side.low;
  }
  return border;
}

static bool isWorthIt(const Decision &decision) {
  // How much is left is not known, but that it is less.
  if (llvm::any_of(decision.box,
                   [](const Side &side) { return bool(side.loop); }))
    return true;
  MemRefType type = decision.fill.type;
  SmallVector<int64_t> sizes = getKnownSizes(type);
  double bytes = *getElementBytes(type.getElementType()), all = bytes;
  for (int64_t size : sizes)
    all *= double(size);
  return all >= leastBytes && 2 * countBorder(decision.fill, decision.box) <=
                                  countLines(sizes, sizes, bytes);
}

//===----------------------------------------------------------------------===//
// Transform
//===----------------------------------------------------------------------===//

namespace {
/// Both ends of a part of a dimension, in affine form.
struct Bound {
  AffineMap map;
  SmallVector<Value> operands;
};
} // namespace

static Bound getConstantBound(int64_t value, MLIRContext *context) {
  return {AffineMap::getConstantMap(value, context), {}};
}

/// Where a side that a loop ends ends.
static Bound getEnd(const Side &side) {
  AffineForOp loop = side.loop;
  AffineMap map = loop.getUpperBoundMap();
  return {AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                         map.getResult(0) + side.low),
          SmallVector<Value>(loop.getUpperBoundOperands())};
}

/// Both bounds: the greater where they begin a part, the lesser where they end
/// one.
static Bound join(const Bound &a, const Bound &b) {
  unsigned dims = a.map.getNumDims(), symbols = a.map.getNumSymbols();
  AffineMap other = b.map.shiftDims(dims).shiftSymbols(symbols);
  SmallVector<AffineExpr> results(a.map.getResults());
  llvm::append_range(results, other.getResults());
  ArrayRef<Value> first(a.operands), second(b.operands);
  SmallVector<Value> operands(first.take_front(dims));
  llvm::append_range(operands, second.take_front(b.map.getNumDims()));
  llvm::append_range(operands, first.drop_front(dims));
  llvm::append_range(operands, second.drop_front(b.map.getNumDims()));
  AffineMap map =
      AffineMap::get(dims + b.map.getNumDims(), symbols + b.map.getNumSymbols(),
                     results, a.map.getContext());
  canonicalizeMapAndOperands(&map, &operands);
  return {map, operands};
}

/// One nest for what lies below and above the box in each dimension, within the
/// box in those before. Where a loop that ends a side does not run, what lies
/// above begins at 0, or below its beginning: all is filled, some of it twice.
static void fillBorder(const Decision &decision) {
  AffineForOp root = decision.fill.loops.front();
  OpBuilder builder(root);
  MLIRContext *context = root.getContext();
  MemRefType type = decision.fill.type;
  auto constant = [&](int64_t value) {
    return getConstantBound(value, context);
  };
  auto getAll = [&](unsigned i) -> Bound {
    AffineForOp loop = decision.fill.loops[i];
    return {loop.getUpperBoundMap(),
            SmallVector<Value>(loop.getUpperBoundOperands())};
  };
  auto emit = [&](unsigned at, const Bound &low, const Bound &high) {
    auto copy = cast<AffineForOp>(builder.clone(*root));
    SmallVector<AffineForOp, 6> loops = getPerfectBand(copy);
    auto set = [&](unsigned i, const Bound &from, const Bound &to) {
      loops[i].setLowerBound(from.operands, from.map);
      loops[i].setUpperBound(to.operands, to.map);
    };
    for (unsigned i = 0; i < at; ++i)
      if (const Side &side = decision.box[i]; !side.isWhole)
        set(i, constant(side.low),
            side.loop ? join(getEnd(side), getAll(i)) : constant(side.high));
    set(at, low, high);
  };
  for (auto [i, side] : llvm::enumerate(decision.box)) {
    if (side.isWhole)
      continue;
    Bound all = getAll(i);
    if (side.low > 0)
      emit(i, constant(0),
           side.loop ? join(all, constant(side.low)) : constant(side.low));
    if (side.loop)
      emit(i, join(getEnd(side), constant(0)), all);
    else if (int64_t size = type.getDimSize(decision.fill.dimOf[i]);
             side.high < size)
      emit(i, constant(side.high), constant(size));
  }
  root.erase();
}

namespace {
struct TrimFillsPass : impl::TrimFillsBase<TrimFillsPass> {
  using TrimFillsBase::TrimFillsBase;

  void runOnOperation() override {
    SmallVector<Decision, 0> decisions;
    getOperation().walk<WalkOrder::PreOrder>([&](AffineForOp loop) {
      std::optional<Fill> fill = matchFill(loop);
      if (!fill)
        return;
      if (std::optional<Decision> decision = decide(*fill))
        decisions.push_back(std::move(*decision));
    });
    for (const Decision &decision : decisions)
      fillBorder(decision);
    numApplied += decisions.size();
  }

  /// What to do with a fill, if anything.
  std::optional<Decision> decide(const Fill &fill) {
    AffineForOp root = fill.loops.front();
    Value memref = AffineStoreOp(fill.store).getMemRef();
    auto decline = [&](StringRef reason) {
      ++numDeclined;
      remark(RemarkKind::Declined, root.getLoc(), passName, reason);
      return std::nullopt;
    };
    Decision decision{fill, {}};
    SmallVector<Access, 4> accesses;
    auto isStore = [&](const Access &access) {
      return access.memref == memref && isa<AffineStoreOp>(access.op) &&
             access.isAffine() && !access.isPartial;
    };
    AffineForOp next = findNextNest(root, memref, accesses);
    if (!next)
      return std::nullopt;
    if (!llvm::all_of(accesses, isStore))
      return decline("the next nest does more than store to the buffer");
    for (; next && llvm::all_of(accesses, isStore);
         next = findNextNest(next, memref, accesses))
      for (const Access &access : accesses) {
        SmallVector<Side, 6> box = findBox(fill, next, access);
        if (!box.empty() &&
            (decision.box.empty() ||
             countBorder(fill, box) < countBorder(fill, decision.box)))
          decision.box = std::move(box);
      }
    if (decision.box.empty())
      return decline("the next nests overwrite no box of known bounds");
    if (!isWorthIt(decision))
      return decline("filling all of the buffer is as fast");
    remark(RemarkKind::Applied, root.getLoc(), passName,
           "only what is not overwritten is filled")
        << arg("elements",
               fill.type.hasStaticShape() ? fill.type.getNumElements() : 0)
        << arg("sides", llvm::count_if(decision.box, [](const Side &side) {
                 return !side.isWhole;
               }));
    return decision;
  }
};
} // namespace

} // namespace polynest
