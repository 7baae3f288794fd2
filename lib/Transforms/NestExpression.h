// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/NestExpression.h: what a nest computes, where another reads it.
//
// A nest that writes each element of one private buffer from a pure expression
// of reads may have that expression put in the place of another nest's loads.
// polynest-fuse-nests asks here whether that is legal, whether it pays, and has
// it done.
#ifndef POLYNEST_TRANSFORMS_NESTEXPRESSION_H
#define POLYNEST_TRANSFORMS_NESTEXPRESSION_H

#include "Analysis/NestGraph.h"
#include "Transforms/FusionCost.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

#include <optional>

namespace polynest {

/// A nest that computes each element of one private buffer from a pure
/// expression of reads.
struct NestExpression {
  mlir::affine::AffineStoreOp store;
  llvm::SmallVector<mlir::affine::AffineForOp, 6> band;
  /// Position in the store's map of each loop of the band.
  llvm::SmallVector<unsigned, 6> dimOf;
  uint64_t trips = 1;
  /// Cycles of arithmetic; zero for a copy or a constant.
  uint64_t cycles = 0;
};

std::optional<NestExpression> matchExpression(NestNode &node);

/// Why the expression cannot stand for the consumer's loads, or null. Collects
/// the loads, of the buffer itself or of it with dimensions joined.
const char *
whyNotInline(NestGraph &graph, NestNode &producer, NestNode &consumer,
             NestExpression &expression,
             llvm::SmallVectorImpl<mlir::affine::AffineLoadOp> &loads);

/// Why putting the expression in place of loads does not pay, or null.
/// `redundantPercent` is how much of it is computed again; where the loads are
/// operands of products, which are packed or used for several rows at once, as
/// often as that happens. Buffers larger than the cache are written to memory
/// and read from there.
const char *judgeInline(NestGraph &graph, NestExpression &expression,
                        llvm::ArrayRef<mlir::affine::AffineLoadOp> loads,
                        NestNode &consumer, const FusionLimits &limits,
                        uint64_t &redundantPercent);

/// True if each nest that reads the producer's buffer, of several, is to
/// compute the expression where it reads an element, once: the buffer goes to
/// memory, and that takes longer.
bool outweighsBuffer(NestGraph &graph, NestNode &producer,
                     NestExpression &expression, const FusionLimits &limits);

/// Computes the expression at the place of each load.
void inlineExpression(NestExpression &expression,
                      llvm::ArrayRef<mlir::affine::AffineLoadOp> loads);

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_NESTEXPRESSION_H
