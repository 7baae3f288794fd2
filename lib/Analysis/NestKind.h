// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/NestKind.h: what a nest is, from its access patterns alone.
#ifndef POLYNEST_ANALYSIS_NESTKIND_H
#define POLYNEST_ANALYSIS_NESTKIND_H

#include "Analysis/Access.h"

namespace polynest {

enum class NestKind {
  Pointwise, ///< every access moves with every loop, one element each
  Broadcast, ///< as pointwise, but some read stands still in a loop
  Reduction, ///< some loop carries a reduction; not a matmul
  Matmul,    ///< product of two reads, summed: C[..] += A[..] * B[..], where
             ///< A, B and C each stand still in some loop
  Stencil,   ///< writes move with every loop; one memref is read at several
             ///< constant offsets
  Misc       ///< anything else
};

/// Kind of the nest rooted at `root`; a hint, never a proof of legality.
NestKind classifyNest(mlir::affine::AffineForOp root,
                      llvm::ArrayRef<Access> accesses);

/// "pointwise", ..., as in the attribute polynest.kind.
llvm::StringRef nestKindName(NestKind kind);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_NESTKIND_H
