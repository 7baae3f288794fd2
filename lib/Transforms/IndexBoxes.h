// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/IndexBoxes.h: boxes of indices whose bounds need not be constant.
//
// Answers are proofs, as those on the bounds are (Analysis/LinearIndex.h).
#ifndef POLYNEST_TRANSFORMS_INDEXBOXES_H
#define POLYNEST_TRANSFORMS_INDEXBOXES_H

#include "Analysis/LinearIndex.h"

namespace polynest {

/// Indices [low, high) of one dimension; none of them where high < low.
struct IndexSide {
  LinearIndex low, high;
};
using IndexBox = llvm::SmallVector<IndexSide, 4>;

/// The number of indices of a side, and of a box, where that is constant.
std::optional<int64_t> getExtent(const IndexSide &side);
std::optional<int64_t> getVolume(const IndexBox &box);
bool areDisjoint(const IndexBox &a, const IndexBox &b);
bool isInside(const IndexBox &inner, const IndexBox &outer);
/// The smallest box around both.
std::optional<IndexBox> joinBoxes(const IndexBox &a, const IndexBox &b);
/// Appends boxes that make up what of `a` is not in `b`; false if that is not
/// known.
bool subtractBox(const IndexBox &a, const IndexBox &b,
                 llvm::SmallVectorImpl<IndexBox> &rest);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_INDEXBOXES_H
