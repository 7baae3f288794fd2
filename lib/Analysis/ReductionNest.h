// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/ReductionNest.h: nests that reduce, whichever loop is innermost.
//
// A nest of rectangular loops and straight-line code that combines values into
// accumulators, one set for each iteration of its parallel loops, in one of two
// forms:
//     carried    parallel loops; code; reduction loops that carry the
//                accumulators; code
//     in memory  loops of both kinds in any order around  S[..] = S[..] op v,
//                for one S or several, and around stores that all loops move
// Accumulators are combined once an iteration, each with an operation that is
// associative and commutative, or are the value and the place of a search
// (Analysis/Search.h), which one loop carries. The form is recognized; whether
// the parallel loops are parallel, and whether iterations may store in another
// order, is the caller's to ask (DependenceAnalysis).
#ifndef POLYNEST_ANALYSIS_REDUCTIONNEST_H
#define POLYNEST_ANALYSIS_REDUCTIONNEST_H

#include "Analysis/Search.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace polynest {

struct Accumulator {
  mlir::arith::AtomicRMWKind kind;
  /// What combines, and which of its operands holds the accumulator; null for
  /// the value and the place of a search.
  mlir::Operation *combiner;
  unsigned place;
  /// The value combined.
  mlir::Value value;
  /// What it starts from, and the value that `finish` uses for the total.
  mlir::Value init, total;

  mlir::Type getType() const { return init.getType(); }
};

struct ReductionNest {
  mlir::affine::AffineForOp root;
  /// Outermost first.
  llvm::SmallVector<mlir::affine::AffineForOp, 4> parallelLoops;
  llvm::SmallVector<mlir::affine::AffineForOp, 4> reductionLoops;
  llvm::SmallVector<Accumulator, 2> accumulators;
  /// Their values and places are accumulators of these numbers.
  llvm::SmallVector<Search, 1> searches;
  /// The condition around the code in the innermost parallel loop, or null.
  mlir::affine::AffineIfOp guard;
  /// Reductions are carried through memory.
  bool inMemory = false;
  /// What computes the combined and the stored values, read-only, operands
  /// before users.
  llvm::SmallVector<mlir::Operation *, 8> slice;
  /// What each iteration stores besides, in order; no accumulator is among it.
  llvm::SmallVector<mlir::affine::AffineStoreOp, 2> stores;
  /// The same for the initial values.
  llvm::SmallVector<mlir::Operation *, 4> initSlice;
  /// What is done with the totals, in order: read-only code and stores.
  llvm::SmallVector<mlir::Operation *, 8> finish;
};

/// Recognizes the reduction whose outermost loop is `root`. Otherwise fails;
/// `reason` then says why, or is empty where there is no reduction.
mlir::FailureOr<ReductionNest>
matchReductionNest(mlir::affine::AffineForOp root, std::string &reason);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_REDUCTIONNEST_H
