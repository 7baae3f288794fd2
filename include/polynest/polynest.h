/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/polynest.h: everything.
 *
 * Threads: each header says for its type whether it is immutable, for one
 * thread at a time, or internally locked. There is no global mutable state
 * that a caller could see, but for the thread count of the parallel runtime.
 * Lifetimes: `create` and `destroy` for a single owner, `retain` and `release`
 * where ownership is shared, `get`, `at` and `find` borrow. Children keep their
 * parents alive: any order of destruction is right.
 * Errors: a fallible function returns `pn_error_t *`, NULL for success, and
 * clears its `out_` parameters before it can fail. The library never aborts,
 * exits or prints.
 * Since: 0.1
 */
#ifndef POLYNEST_POLYNEST_H
#define POLYNEST_POLYNEST_H

#include "polynest/base.h"
#include "polynest/cache.h"
#include "polynest/compile.h"
#include "polynest/context.h"
#include "polynest/error.h"
#include "polynest/executable.h"
#include "polynest/module.h"
#include "polynest/passes.h"
#include "polynest/runtime.h"
#include "polynest/state.h"
#include "polynest/target.h"

#endif /* POLYNEST_POLYNEST_H */
