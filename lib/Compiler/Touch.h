/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiler/Touch.h: memory of the pool that another thread touches meanwhile.
 *
 * The system makes pages when they are touched first, which takes as long as to
 * fill them, and on virtual machines whose host has to find them ten times as
 * long: 2 s a GiB. For what constants are packed into, that goes on while code
 * is still being made.
 * Ownership: whoever started it takes the block, once. A forked child may.
 */
#ifndef POLYNEST_COMPILER_TOUCH_H
#define POLYNEST_COMPILER_TOUCH_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

typedef struct pn_touch pn_touch_t;

/* Begins to touch a block of that many bytes. NULL where that is not worth a
 * thread, or there is no memory, thread or other processor to be had. */
PN_GIVE pn_touch_t *pn_touch_start(size_t bytes);

size_t pn_touch_bytes(const pn_touch_t *touch);

/* Waits for the thread; the block is the caller's, for pn_pool_free. */
PN_GIVE void *pn_touch_take(PN_TAKE pn_touch_t *touch);

/* Gives the block back, without waiting for all of it; accepts NULL. */
void pn_touch_cancel(PN_TAKE pn_touch_t *touch);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_TOUCH_H */
