// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/IndexBoxes.cpp: see the header.

#include "Transforms/IndexBoxes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace polynest {

std::optional<int64_t> getExtent(const IndexSide &side) {
  std::optional<LinearIndex> extent = addIndex(side.high, side.low, -1);
  if (!extent || !extent->isConstant())
    return std::nullopt;
  return std::max<int64_t>(extent->constant, 0);
}

std::optional<int64_t> getVolume(const IndexBox &box) {
  int64_t volume = 1;
  for (const IndexSide &side : box) {
    std::optional<int64_t> extent = getExtent(side);
    if (!extent || llvm::MulOverflow(volume, *extent, volume))
      return std::nullopt;
  }
  return volume;
}

bool areDisjoint(const IndexBox &a, const IndexBox &b) {
  return llvm::any_of(llvm::zip_equal(a, b), [](const auto &sides) {
    const auto &[x, y] = sides;
    return isAtMost(x.high, y.low) || isAtMost(y.high, x.low) ||
           isAtMost(x.high, x.low) || isAtMost(y.high, y.low);
  });
}

bool isInside(const IndexBox &inner, const IndexBox &outer) {
  return llvm::all_of(llvm::zip_equal(inner, outer), [](const auto &sides) {
    const auto &[x, y] = sides;
    return isAtMost(y.low, x.low) && isAtMost(x.high, y.high);
  });
}

std::optional<IndexBox> joinBoxes(const IndexBox &a, const IndexBox &b) {
  IndexBox joined;
  for (const auto &[x, y] : llvm::zip_equal(a, b)) {
    bool lowX = isAtMost(x.low, y.low), highX = isAtMost(y.high, x.high);
    if ((!lowX && !isAtMost(y.low, x.low)) ||
        (!highX && !isAtMost(x.high, y.high)))
      return std::nullopt;
    joined.push_back({lowX ? x.low : y.low, highX ? x.high : y.high});
  }
  return joined;
}

bool subtractBox(const IndexBox &a, const IndexBox &b,
                 SmallVectorImpl<IndexBox> &rest) {
  if (areDisjoint(a, b)) {
    rest.push_back(a);
    return true;
  }
  // What lies below and above in each dimension, within `b` in those before.
  IndexBox inside = a;
  for (auto [d, side] : llvm::enumerate(b)) {
    if (!isAtMost(side.low, side.high))
      return false;
    if (!isAtMost(side.low, inside[d].low)) {
      if (!isAtMost(inside[d].low, side.low) ||
          !isAtMost(side.low, inside[d].high))
        return false;
      rest.push_back(inside);
      rest.back()[d].high = side.low;
      inside[d].low = side.low;
    }
    if (!isAtMost(inside[d].high, side.high)) {
      if (!isAtMost(side.high, inside[d].high) ||
          !isAtMost(inside[d].low, side.high))
        return false;
      rest.push_back(inside);
      rest.back()[d].low = side.high;
      inside[d].high = side.high;
    }
  }
  return true;
}

} // namespace polynest
