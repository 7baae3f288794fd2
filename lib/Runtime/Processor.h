/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Processor.h: whether this processor has what code was compiled for.
 *
 * Features are those of pn_target_feature_t, by number and by name; a set of
 * them is a bit set. Code that asks must itself run on every processor of the
 * architecture.
 * Threads: no state.
 */
#ifndef POLYNEST_RUNTIME_PROCESSOR_H
#define POLYNEST_RUNTIME_PROCESSOR_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

/* What the processor has and the system lets this process use; asks it for the
 * tile registers of AMX, where the processor has them. */
uint64_t pn_processor_features(void);

/* NULL where all features named in `names`, separated by blanks, are in `have`,
 * else a static text that says which is not. A name that nothing here knows is
 * one that is missing. */
const char *pn_processor_problem(uint64_t have, const char *names, size_t size);

/* The same for the description that compiled code carries: its line "target
 * <name> <features>", and NULL without one. */
const char *pn_description_problem(uint64_t have, const char *description);

PN_EXTERN_C_END

#endif /* POLYNEST_RUNTIME_PROCESSOR_H */
