// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/CoalesceLoops.h: one loop in the place of two.
#ifndef POLYNEST_TRANSFORMS_COALESCELOOPS_H
#define POLYNEST_TRANSFORMS_COALESCELOOPS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace polynest {

class SizeFacts;

/// Puts one loop in the place of `outer` and the loop right inside of it, if
/// what both move are places of loads and stores that one loop over all their
/// iterations, in their order, moves by the same amount each time. Returns it,
/// or null where nothing was changed. `facts` compare sizes that are not known.
mlir::affine::AffineForOp coalesceLoops(mlir::affine::AffineForOp outer,
                                        SizeFacts &facts);

/// The only loop in the body of `outer`, where there is nothing else and it
/// hands on what `outer` carries; null if there is none.
mlir::affine::AffineForOp getOnlyLoop(mlir::affine::AffineForOp outer);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_COALESCELOOPS_H
