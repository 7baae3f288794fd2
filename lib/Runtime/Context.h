/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Context.h: arenas that calls of all programs share.
 *
 * Threads: any, one at a time for each context.
 */
#ifndef POLYNEST_RUNTIME_CONTEXT_H
#define POLYNEST_RUNTIME_CONTEXT_H

#include "polynest/runtime.h"

/* Says that no call uses the context now: where its arena is large, the next
 * call that needs one may get it, of whatever program. */
void pn_rt_context_rest(pn_rt_context_t *ctx);

#endif /* POLYNEST_RUNTIME_CONTEXT_H */
