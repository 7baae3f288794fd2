// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/Passes.h: declarations and registration of this library's passes.
#ifndef POLYNEST_CONVERSION_PASSES_H
#define POLYNEST_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace polynest {

#define GEN_PASS_DECL
#include "Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "Conversion/Passes.h.inc"

} // namespace polynest

#endif // POLYNEST_CONVERSION_PASSES_H
