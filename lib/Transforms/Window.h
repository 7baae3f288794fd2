// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Window.h: reductions over windows that slide, from their accesses.
//
// A window slides where a reduction reads an index r * a + t * b: t, the taps,
// is one of few iterations of a reduction loop, r, the rows, one of a loop
// around the reduction, and some rows and taps meet.
#ifndef POLYNEST_TRANSFORMS_WINDOW_H
#define POLYNEST_TRANSFORMS_WINDOW_H

#include "Target/WindowModel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"

#include <optional>

namespace polynest {

struct Window {
  /// Innermost and outermost loop that carry the reduction's values, through a
  /// perfect band.
  mlir::affine::AffineForOp inner, outer;
  mlir::affine::AffineForOp rows, taps;
  /// For the model: what one iteration of both does.
  pn_model_window_t numbers = {};
};

/// The window of the reduction whose innermost loop is `inner`, with the rows
/// and taps that share most, of equals the innermost; none if there is none.
/// `lanes`, if not null, is a loop that is to run in vector lanes: no loop of
/// rows.
std::optional<Window> findWindow(mlir::affine::AffineForOp inner,
                                 mlir::affine::AffineForOp lanes = {});

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_WINDOW_H
