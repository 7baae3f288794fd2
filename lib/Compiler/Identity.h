/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Identity.h: which builds of the library and of LLVM these are. */
#ifndef POLYNEST_COMPILER_IDENTITY_H
#define POLYNEST_COMPILER_IDENTITY_H

#include "Support/Buffer.h"

PN_EXTERN_C_BEGIN

/* Appends what tells these builds of the library and of LLVM from all others;
 * false where that cannot be known. Versions alone would not do: they stay the
 * same while a compiler is worked on. */
bool pn_identity_append(pn_buffer_t *buffer);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_IDENTITY_H */
