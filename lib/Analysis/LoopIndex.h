// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Analysis/LoopIndex.h: what an index may be while one loop runs.
#ifndef POLYNEST_ANALYSIS_LOOPINDEX_H
#define POLYNEST_ANALYSIS_LOOPINDEX_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/IR/AffineValueMap.h"

#include <optional>

namespace polynest {

/// `factor` times the variable of a loop, plus a number from `min` to `max`,
/// which loops inside decide, plus terms that stand still.
struct LoopIndex {
  int64_t factor = 0, min = 0, max = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4> fixed;
};

/// Takes an index of an operation inside of `loop` apart; none where that is
/// not known. Bounds of loops inside, and conditions around the operation, are
/// put in the place of variables, innermost first, so that those that move with
/// each other cancel: j + jj stays below n where jj ends at n - j.
std::optional<LoopIndex> getLoopIndex(mlir::AffineExpr expr,
                                      const mlir::affine::AffineValueMap &map,
                                      mlir::Operation *op,
                                      mlir::affine::AffineForOp loop);

} // namespace polynest

#endif // POLYNEST_ANALYSIS_LOOPINDEX_H
