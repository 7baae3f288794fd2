// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/AlignLoops.h: a nest in the loops of the nest that it reads from.
//
// What is done with a product may run over its result in another order, or over
// parts of its rows and columns (batch and row, head and column of a head), so
// that the two nests have no loops in common. Each part is a quotient or a rest
// of the product's own loop: in these loops it stores where it did before.
#ifndef POLYNEST_TRANSFORMS_ALIGNLOOPS_H
#define POLYNEST_TRANSFORMS_ALIGNLOOPS_H

#include "Transforms/NestMerge.h"

namespace polynest {

/// Why `consumer` cannot run, or should not, in the outermost `depth` loops of
/// `producer`, or null, and then `aligned` is the nest that does, right before
/// the consumer, which stays. Where its loops run alike already, there is none.
const char *alignLoops(Nest &producer, Nest &consumer, unsigned depth,
                       mlir::affine::AffineForOp &aligned);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_ALIGNLOOPS_H
