// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Passes.td: the passes of S3, affine nests to affine nests.

#ifndef POLYNEST_TRANSFORMS_PASSES
#define POLYNEST_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

#endif // POLYNEST_TRANSFORMS_PASSES
