/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/Paths.h: what paths name.
 *
 * Also part of polynestc, which else knows the public headers alone.
 * Threads: no state.
 */
#ifndef POLYNEST_SUPPORT_PATHS_H
#define POLYNEST_SUPPORT_PATHS_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

/* True if both paths name one regular file that is there, or are equal and name
 * none. */
bool pn_path_is_same(const char *a, const char *b);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_PATHS_H */
