// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/TensorShapes.h: shapes of tensors that loops carry.
#ifndef POLYNEST_CONVERSION_TENSORSHAPES_H
#define POLYNEST_CONVERSION_TENSORSHAPES_H

#include "mlir/IR/PatternMatch.h"

namespace polynest {

/// True if `value` is made from the loop argument `argument` by operations that
/// overwrite it and so keep its shape: destination style, insertions, casts,
/// branches and loops of those.
bool keepsShape(mlir::Value value, mlir::Value argument);

/// True if these operations overwrite the argument itself: `value` then lies in
/// its buffer.
bool overwrites(mlir::Value value, mlir::Value argument);

/// Sizes of what an scf.for carries without changing its shape are sizes of the
/// initial value; those that both sides of an scf.if give are the branch's.
void populateDimOfLoopPatterns(mlir::RewritePatternSet &patterns);

} // namespace polynest

#endif // POLYNEST_CONVERSION_TENSORSHAPES_H
