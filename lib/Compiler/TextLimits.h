/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiler/TextLimits.h: what MLIR's parser and printer cannot survive.
 *
 * Both recurse into nested brackets, long affine expressions and aliases of
 * aliases, and exhaust the stack where these go deep; aliases that name each
 * other twice unfold to exponential size. No program needs any of it. Some
 * operations of linalg store a list of integers that could not be read.
 */
#ifndef POLYNEST_COMPILER_TEXTLIMITS_H
#define POLYNEST_COMPILER_TEXTLIMITS_H

#include "polynest/error.h"

PN_EXTERN_C_BEGIN

/* Looks through a text once. PN_ERROR_PARSE, with the place, where a limit is
 * exceeded; PN_ERROR_MEMORY. */
PN_MUST_USE pn_error_t *pn_text_check_limits(const char *name, const char *data,
                                             size_t size);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_TEXTLIMITS_H */
