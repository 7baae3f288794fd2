// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/MaskedSums.h: sums of zeros over columns that are left out.
#ifndef POLYNEST_TRANSFORMS_MASKEDSUMS_H
#define POLYNEST_TRANSFORMS_MASKEDSUMS_H

#include "Transforms/MaskAnalysis.h"

namespace polynest {

/// The loop over blocks that each leave out the columns from `from` to `to`,
/// if sums over what one leaves out and the next does not may be made once, in
/// front of it: nothing in it moves or writes what they read, and there are
/// many of them. Iterations around it have to be enough for all cores, which
/// blocks are not run on then.
mlir::affine::AffineForOp findBlocks(const MaskedProduct &product,
                                     mlir::Block *block,
                                     const ColumnBound &from,
                                     const ColumnBound &to, int64_t cores);

/// Adds the sum of 0 * factor over the columns from `from` to `to`, which are
/// left out, to the sum of those that stay. Where `blocks` is given, from sums
/// in front of it; then, if `rows` counts the mask's rows, also those over the
/// columns that some rows of the block mask, which are marked as idle there.
void keepProducts(MaskedProduct &product, const ColumnBound &from,
                  const ColumnBound &to, mlir::affine::AffineForOp blocks = {},
                  mlir::affine::AffineForOp rows = {});

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_MASKEDSUMS_H
