/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/Names.h: what a misspelt name was meant to be.
 *
 * Names are compared up to PN_NAME_MAX characters; longer ones are like none.
 * Also part of polynestc, which else knows the public headers alone.
 * Ownership: the name returned is one of those passed.
 * Threads: pure functions.
 */
#ifndef POLYNEST_SUPPORT_NAMES_H
#define POLYNEST_SUPPORT_NAMES_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

#define PN_NAME_MAX 64

/* The name most like `text`, or NULL where none is near. */
const char *pn_nearest_name(const char *text, const char *const *names,
                            size_t count);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_NAMES_H */
