// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion/Register.cpp: the passes of this library, registered from C.

#include "Conversion/Passes.h"
#include "Support/Registration.h"

void pn_conversion_register_passes(void) {
  polynest::registerConversionPasses();
}
