// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/WorkCount.h: how much floating-point work an operation is.
#ifndef POLYNEST_TRANSFORMS_WORKCOUNT_H
#define POLYNEST_TRANSFORMS_WORKCOUNT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace polynest {

struct WorkCount {
  /// Floating-point operations of one execution.
  double flop = 0;
  /// Operations that could not be counted: a loop around them runs an unknown
  /// number of times.
  int64_t uncounted = 0;
};

/// Floating-point operations of one execution of `op` itself: 2 for an FMA, 1
/// for a function of `math`, each lane of a vector counts; 0 for all others.
double countOwnWork(mlir::Operation *op);

/// Sums the work inside of `root` over the iterations of the loops there. Where
/// the bounds of an inner loop depend on an outer one (tiles, triangles), some
/// iterations of the outer one stand for all if they form a line, else each is
/// looked at, but for those whose inner bounds are equal: they are counted
/// once. Of two branches the one with more work counts.
WorkCount countWork(mlir::Operation *root);

/// The same for anything else that an operation without regions does: `own`
/// says how much. `values` are those of arguments, where they are known.
WorkCount countWork(mlir::Operation *root,
                    llvm::function_ref<double(mlir::Operation *)> own,
                    llvm::DenseMap<mlir::Value, int64_t> values =
                        llvm::DenseMap<mlir::Value, int64_t>());

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_WORKCOUNT_H
