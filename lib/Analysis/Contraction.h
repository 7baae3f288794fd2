// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/Contraction.h: nests that sum products, from their accesses alone.
//
// A contraction is a perfect band of loops without carried values around
//     straight-line code; a band of reduction loops that carry one value x,
//     x = x + f(..) * g(..) or x - f(..) * g(..); straight-line code
// possibly all under one condition that no loop of the nest changes,
// where f and g are any expressions of loads and loops. A parallel loop on
// which only f depends is a row loop, only g a column loop, else a batch loop.
// The form is recognized; whether its loops may run in another order is the
// caller's to ask (DependenceAnalysis::loopIsParallel).
#ifndef POLYNEST_ANALYSIS_CONTRACTION_H
#define POLYNEST_ANALYSIS_CONTRACTION_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace polynest {

/// One operand of the product.
struct ContractionOperand {
  mlir::Value value;
  /// What computes it inside the nest, operands before users: loads, and
  /// operations without effects.
  llvm::SmallVector<mlir::Operation *, 8> slice;
  /// Parallel loops that it alone depends on, outermost first.
  llvm::SmallVector<mlir::affine::AffineForOp, 4> loops;
};

struct Contraction {
  mlir::affine::AffineForOp root;
  /// All loops of both bands, outermost first.
  llvm::SmallVector<mlir::affine::AffineForOp, 6> parallelLoops;
  llvm::SmallVector<mlir::affine::AffineForOp, 4> reductionLoops;
  /// Parallel loops on which both operands depend, or none.
  llvm::SmallVector<mlir::affine::AffineForOp, 4> batchLoops;
  ContractionOperand left, right;
  /// The value is subtracted.
  bool subtracts = false;
  /// What the sum starts from, and what computes it inside the nest.
  mlir::Value init;
  llvm::SmallVector<mlir::Operation *, 8> initSlice;
  /// What computes the values of the code before the sum that the code behind
  /// it uses.
  llvm::SmallVector<mlir::Operation *, 8> epilogueSlice;

  mlir::Type getType() const { return init.getType(); }
  /// The sum, as the code behind it sees it.
  mlir::Value getSum() const {
    return mlir::affine::AffineForOp(reductionLoops.front()).getResult(0);
  }
  /// The condition around the code in the innermost loop, or null: it stands
  /// still in the nest and has no other branch.
  mlir::affine::AffineIfOp guard;
  /// The block that holds that code.
  mlir::Block *body = nullptr;
  mlir::Block *getBody() const { return body; }
};

/// Recognizes the contraction whose outermost loop is `root`. Otherwise fails;
/// `reason` then says why, or is empty where there is no sum of products.
mlir::FailureOr<Contraction> matchContraction(mlir::affine::AffineForOp root,
                                              std::string &reason);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_CONTRACTION_H
