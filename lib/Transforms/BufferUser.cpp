// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/BufferUser.cpp: see the header.

#include "Transforms/BufferUser.h"

#include "Transforms/NestUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::affine;

namespace polynest {

/// The range of a loop whose bounds are linear in values from outside of the
/// nest.
static std::optional<IndexSide> getRange(AffineForOp loop, AffineForOp root) {
  auto getBound = [&](AffineMap map,
                      ValueRange operands) -> std::optional<LinearIndex> {
    SmallVector<Value> composed(operands);
    fullyComposeAffineMapAndOperands(&map, &composed);
    canonicalizeMapAndOperands(&map, &composed);
    if (map.getNumResults() != 1 || llvm::any_of(composed, [&](Value value) {
          return !root.isDefinedOutsideOfLoop(value);
        }))
      return std::nullopt;
    return getLinearIndex(map.getResult(0), map.getNumDims(), composed);
  };
  std::optional<LinearIndex> low =
      getBound(loop.getLowerBoundMap(), loop.getLowerBoundOperands());
  std::optional<LinearIndex> high =
      getBound(loop.getUpperBoundMap(), loop.getUpperBoundOperands());
  if (!low || !high)
    return std::nullopt;
  return IndexSide{*low, *high};
}

/// The indices that an index takes, at most; `isWhole` says that it takes all
/// of these. None if a number overflows.
static std::optional<IndexSide> getSide(const NestIndex &index,
                                        const IndexBox &ranges, bool &isWhole) {
  LinearIndex low = index.fixed, high = index.fixed;
  SmallVector<std::pair<int64_t, std::optional<int64_t>>, 2> moving;
  for (auto [loop, factor] : index.moving) {
    const IndexSide &range = ranges[loop];
    std::optional<LinearIndex> last = addIndex(range.high, 1, -1);
    std::optional<LinearIndex> toLow, toHigh;
    if (last) {
      toLow = addIndex(low, factor > 0 ? range.low : *last, factor);
      toHigh = addIndex(high, factor > 0 ? *last : range.low, factor);
    }
    if (!toLow || !toHigh)
      return std::nullopt;
    low = *toLow;
    high = *toHigh;
    std::optional<int64_t> extent = getExtent(range);
    if (extent != 1)
      moving.emplace_back(std::abs(factor), extent);
  }
  std::optional<LinearIndex> end = addIndex(high, 1);
  if (!end)
    return std::nullopt;
  // Each loop moves by what those that move by less sweep together.
  llvm::sort(moving, llvm::less_first());
  isWhole = true;
  int64_t swept = 1;
  for (auto [i, loop] : llvm::enumerate(moving)) {
    isWhole &= loop.first == swept;
    if (i + 1 == moving.size())
      break;
    if (!loop.second || llvm::MulOverflow(swept, *loop.second, swept))
      isWhole = false;
  }
  return IndexSide{low, *end};
}

static std::optional<IndexBox> getBox(const NestAccess &access,
                                      const IndexBox &ranges, bool &isWhole) {
  IndexBox box;
  isWhole = true;
  for (const NestIndex &index : access.indices) {
    bool isWholeSide;
    std::optional<IndexSide> side = getSide(index, ranges, isWholeSide);
    if (!side)
      return std::nullopt;
    box.push_back(*side);
    isWhole &= isWholeSide;
  }
  return box;
}

static std::optional<NestAccess> describeAccess(const BufferUser &user,
                                                const Access &access) {
  NestAccess result{access.op, access.isWrite, {}, {}, false};
  AffineForOp root = user.nest.root;
  llvm::SmallDenseSet<unsigned, 8> used;
  bool isInjective = true;
  for (unsigned d = 0, e = access.map.getNumResults(); d != e; ++d) {
    std::optional<LinearIndex> linear = getLinearIndex(access.map, d);
    if (!linear)
      return std::nullopt;
    NestIndex index;
    index.fixed.constant = linear->constant;
    for (auto [value, factor] : linear->terms) {
      if (root.isDefinedOutsideOfLoop(value)) {
        index.fixed.terms.emplace_back(value, factor);
        continue;
      }
      const auto *place =
          llvm::find(user.loops, getForInductionVarOwner(value));
      if (place == user.loops.end())
        return std::nullopt;
      unsigned number = place - user.loops.begin();
      index.moving.emplace_back(number, factor);
      isInjective &= used.insert(number).second;
    }
    result.indices.push_back(std::move(index));
  }
  bool isWhole;
  std::optional<IndexBox> box = getBox(result, user.ranges, isWhole);
  if (!box)
    return std::nullopt;
  result.box = std::move(*box);
  // Nothing but loops that run stands around an exact store.
  SmallVector<AffineForOp, 6> around = getLoopsAround(access.op, root);
  result.isExact =
      access.isWrite && !access.isPartial && isWhole && isInjective &&
      !around.empty() && llvm::all_of(around, [&](AffineForOp loop) {
        unsigned number = llvm::find(user.loops, loop) - user.loops.begin();
        return number < user.loops.size() && user.isPlain[number] &&
               (used.contains(number) || getTripCount(loop).value_or(0) != 0);
      });
  return result;
}

std::optional<BufferUser> describeUser(AffineForOp root, Value buffer) {
  std::optional<BufferUser> user(std::in_place, root);
  if (root.getNumResults())
    return std::nullopt;
  append_range(user->loops, user->nest.band);
  SmallVector<const Access *, 4> accesses;
  for (const Access &access : user->nest.accesses) {
    if (!access.base)
      return std::nullopt;
    if (access.base != buffer)
      continue;
    if (access.memref != buffer || !access.isAffine() ||
        !isa<AffineLoadOp, AffineStoreOp>(access.op))
      return std::nullopt;
    accesses.push_back(&access);
    SmallVector<Operation *> around;
    getEnclosingAffineLoops(access.op, around, root);
    for (Operation *op : around) {
      auto loop = dyn_cast<AffineForOp>(op);
      if (!loop)
        return std::nullopt;
      if (!llvm::is_contained(user->loops, loop))
        user->loops.push_back(loop);
    }
  }
  for (AffineForOp loop : user->loops) {
    std::optional<IndexSide> range = getRange(loop, root);
    user->isPlain.push_back(range && loop.getStepAsInt() == 1);
    if (!range) {
      std::optional<IndexRange> constant =
          getConstantRange(loop.getInductionVar());
      if (!constant || constant->max == INT64_MAX)
        return std::nullopt;
      range = IndexSide{constant->min, constant->max + 1};
    }
    user->ranges.push_back(*range);
  }
  for (const Access *access : accesses) {
    std::optional<NestAccess> described = describeAccess(*user, *access);
    if (!described)
      return std::nullopt;
    user->accesses.push_back(std::move(*described));
  }
  unsigned depth = user->nest.band.size();
  unsigned parallel = user->nest.getNumParallel();
  bool asserts = hasAssertion(root);
  while (user->numCuttable < parallel && user->isPlain[user->numCuttable])
    ++user->numCuttable;
  user->isPointwise =
      parallel == depth && !holdsLoops(user->nest.bodyAt(depth)) && !asserts;
  if (asserts || (!user->isPointwise && user->nest.getContraction()))
    user->numCuttable = 0;
  return user;
}

/// Cuts the ranges down to those where the index is in `target`, which is all
/// inside of what it takes. Appends nothing and returns false where loops
/// cannot be cut so.
static bool cutIndex(const BufferUser &user, const IndexBox &ranges,
                     const NestIndex &index, const IndexSide &target,
                     SmallVectorImpl<IndexBox> &cut) {
  bool isWhole;
  std::optional<IndexSide> side = getSide(index, ranges, isWhole);
  if (!side || !isWhole)
    return false;
  if (isSameNumber(side->low, target.low) &&
      isSameNumber(side->high, target.high)) {
    cut.push_back(ranges);
    return true;
  }
  // The loop that moves farthest, but for those that run once.
  std::optional<unsigned> farthest;
  unsigned count = 0;
  int64_t factor = 0;
  for (auto [loop, step] : index.moving) {
    if (getExtent(ranges[loop]) == 1)
      continue;
    ++count;
    if (std::abs(step) > std::abs(factor)) {
      farthest = loop;
      factor = step;
    }
  }
  if (!farthest || *farthest >= user.numCuttable)
    return false;
  const IndexSide &range = ranges[*farthest];
  auto push = [&](const LinearIndex &low, const LinearIndex &high) {
    cut.push_back(ranges);
    cut.back()[*farthest] = {low, high};
  };
  std::optional<LinearIndex> below = addIndex(target.low, side->low, -1);
  std::optional<LinearIndex> above = addIndex(side->high, target.high, -1);
  if (!below || !above)
    return false;
  if (count == 1) {
    if (factor < 0)
      std::swap(below, above);
    std::optional<LinearIndex> low = addIndex(range.low, *below);
    std::optional<LinearIndex> high = addIndex(range.high, *above, -1);
    if (!low || !high)
      return false;
    push(*low, *high);
    return true;
  }
  // Rows of the others: what is left of the first, whole ones, and of the last.
  std::optional<int64_t> extent = getExtent(*side);
  if (factor < 0 || !below->isConstant() || !above->isConstant() || !extent)
    return false;
  int64_t first = below->constant, end = *extent - above->constant;
  auto inRow = [&](int64_t row, int64_t low, int64_t high) {
    IndexBox one = ranges;
    std::optional<LinearIndex> begin = addIndex(range.low, row);
    std::optional<LinearIndex> next = addIndex(range.low, row + 1);
    std::optional<LinearIndex> from = addIndex(side->low, low);
    std::optional<LinearIndex> to = addIndex(side->low, high);
    if (!begin || !next || !from || !to)
      return false;
    one[*farthest] = {*begin, *next};
    return cutIndex(user, one, index, {*from, *to}, cut);
  };
  int64_t firstRow = first / factor, lastRow = end / factor;
  if (firstRow == lastRow)
    return inRow(firstRow, first, end);
  if (first % factor) {
    if (!inRow(firstRow, first, (firstRow + 1) * factor))
      return false;
    ++firstRow;
  }
  if (end % factor && !inRow(lastRow, lastRow * factor, end))
    return false;
  if (firstRow < lastRow) {
    std::optional<LinearIndex> low = addIndex(range.low, firstRow);
    std::optional<LinearIndex> high = addIndex(range.low, lastRow);
    if (!low || !high)
      return false;
    push(*low, *high);
  }
  return true;
}

bool findIterations(const BufferUser &user, const IndexBox &ranges,
                    const NestAccess &access, const IndexBox &box,
                    SmallVectorImpl<IndexBox> &result) {
  SmallVector<IndexBox, 4> current{ranges};
  for (auto [index, part] : llvm::zip_equal(access.indices, box)) {
    SmallVector<IndexBox, 4> next;
    for (const IndexBox &piece : current) {
      bool isWhole;
      std::optional<IndexSide> side = getSide(index, piece, isWhole);
      if (!side)
        return false;
      if (isAtMost(part.high, side->low) || isAtMost(side->high, part.low))
        continue;
      bool keepsLow = isAtMost(part.low, side->low);
      bool keepsHigh = isAtMost(side->high, part.high);
      if (keepsLow && keepsHigh) {
        next.push_back(piece);
        continue;
      }
      if ((!keepsLow && !isAtMost(side->low, part.low)) ||
          (!keepsHigh && !isAtMost(part.high, side->high)) ||
          !cutIndex(user, piece, index,
                    {keepsLow ? side->low : part.low,
                     keepsHigh ? side->high : part.high},
                    next))
        return false;
    }
    current = std::move(next);
  }
  append_range(result, current);
  return true;
}

} // namespace polynest
