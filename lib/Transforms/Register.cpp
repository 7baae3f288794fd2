// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms/Register.cpp: the passes of this library, registered from C.

#include "Support/Registration.h"
#include "Transforms/Passes.h"

void pn_transforms_register_passes(void) {
  polynest::registerTransformsPasses();
}
