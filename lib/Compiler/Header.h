/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Header.h: the C header of an ahead-of-time library. */
#ifndef POLYNEST_COMPILER_HEADER_H
#define POLYNEST_COMPILER_HEADER_H

#include "Compiler/Signature.h"
#include "Support/Buffer.h"

PN_EXTERN_C_BEGIN

/* Appends a self-contained header: descriptor types, one typed prototype per
 * entry, the runtime functions it needs. `path` gives the include guard. */
void pn_header_append(const pn_signature_t *signature, const char *path,
                      pn_buffer_t *buffer);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_HEADER_H */
