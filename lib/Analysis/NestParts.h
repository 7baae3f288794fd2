// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/NestParts.h: taking a nest apart into loops and what computes
// values.
//
// What recognizers of reductions share. All answers come from the form of the
// code; whether loops may run in another order is asked elsewhere.
#ifndef POLYNEST_ANALYSIS_NESTPARTS_H
#define POLYNEST_ANALYSIS_NESTPARTS_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace polynest {

/// The only loop of a block, or null.
mlir::affine::AffineForOp getOnlyLoop(mlir::Block *block);

/// A loop that alone makes up the body of `loop`, or null.
mlir::affine::AffineForOp getPerfectChild(mlir::affine::AffineForOp loop);

/// True for operations that may be computed again somewhere else as long as no
/// memory changes in between.
bool isReadOnly(mlir::Operation *op);

/// Why the bounds of a loop do not make a rectangle with the others inside
/// `root`, or empty.
llvm::StringRef reasonOfBounds(mlir::affine::AffineForOp loop,
                               mlir::affine::AffineForOp root);

/// The condition that alone makes up the body of `loop`, has one branch and
/// does not change inside `root`; or null.
mlir::affine::AffineIfOp getGuard(mlir::affine::AffineForOp loop,
                                  mlir::affine::AffineForOp root);

/// The values that `op` and what is inside of it use and that come from outside
/// of it, in order of their first use.
llvm::SmallVector<mlir::Value> getOutsideValues(mlir::Operation *op);

/// The hash, and the operation but for its location, operands and results.
llvm::hash_code hashWith(llvm::hash_code hash, mlir::Operation *op);

/// Collects what computes values inside a nest.
class SliceCollector {
public:
  explicit SliceCollector(mlir::affine::AffineForOp root) : root(root) {}

  /// Adds what computes `value`; fails where it is not read-only code or
  /// depends on a carried value.
  llvm::LogicalResult add(mlir::Value value);

  /// Operands before users.
  llvm::SetVector<mlir::Operation *> ops;
  /// Loops whose induction variables are used.
  llvm::SmallPtrSet<mlir::Operation *, 8> loops;

private:
  mlir::affine::AffineForOp root;
};

} // namespace polynest

#endif // POLYNEST_ANALYSIS_NESTPARTS_H
