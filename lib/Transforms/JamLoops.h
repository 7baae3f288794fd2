// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/JamLoops.h: unroll a loop and jam the copies of what it holds.
#ifndef POLYNEST_TRANSFORMS_JAMLOOPS_H
#define POLYNEST_TRANSFORMS_JAMLOOPS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"

#include <string>
#include <utility>

namespace polynest {

/// The outermost loop to which the accumulators of `inner` are passed on
/// through loops that hold nothing else that carries values.
mlir::affine::AffineForOp outermostCarrier(mlir::affine::AffineForOp inner);

/// Why the loop's form forbids unrolling and jamming; empty if it does not.
std::string whyNotJammed(mlir::affine::AffineForOp loop);

/// Unrolls `loop`, whose form allows it, by `factor`: each loop inside becomes
/// one that carries the values of all copies, those of copy u in a row behind
/// those of copy u - 1. Gives that loop and the one of the iterations that are
/// left over: null where there are none, or where one was left, without a loop.
/// Both are marked as tiled.
std::pair<mlir::affine::AffineForOp, mlir::affine::AffineForOp>
unrollAndJam(mlir::affine::AffineForOp loop, int64_t factor);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_JAMLOOPS_H
