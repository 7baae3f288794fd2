// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Passes.h: declarations and registration of this library's passes.
#ifndef POLYNEST_TRANSFORMS_PASSES_H
#define POLYNEST_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace polynest {

#define GEN_PASS_DECL
#include "Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Transforms/Passes.h.inc"

} // namespace polynest

#endif // POLYNEST_TRANSFORMS_PASSES_H
