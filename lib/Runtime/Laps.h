/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Laps.h: times of the nests of one call, for code compiled to take
 * them (pn_compile_options_t, time_nests).
 *
 * Units: nanoseconds of the monotonic clock. The times belong to the call
 * context and live as long as it.
 * Threads: those of the context: one at a time.
 */
#ifndef POLYNEST_RUNTIME_LAPS_H
#define POLYNEST_RUNTIME_LAPS_H

#include "polynest/runtime.h"

PN_EXTERN_C_BEGIN

/* Nests beyond this number are not timed. */
#define PN_LAP_COUNT_MAX (1 << 20)

/* Called by generated code. A negative number begins a call: all times become
 * zero. Else the time since the last lap is added to that of the nest. Where
 * memory is short it is lost. */
void pn_rt_lap(pn_rt_context_t *ctx, int64_t nest);

/* Copies the times of the first `room` nests; returns how many there are. */
size_t pn_rt_laps_get(const pn_rt_context_t *ctx, int64_t *out_ns, size_t room);

PN_EXTERN_C_END

#endif /* POLYNEST_RUNTIME_LAPS_H */
