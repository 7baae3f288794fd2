/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/state.h: an entry with its constants bound.
 *
 * A program may mark inputs as constant (`polynest.constant` on the argument):
 * weights, tables. A state binds them once: what depends on them alone (packed
 * weights, folded scales) is computed when it is created, and calls pass the
 * other inputs only.
 * Ownership: a state keeps its executable alive. It borrows the memory of those
 * constants that calls still read (pn_state_reads_constant), until it is
 * destroyed; the memory of the others may go after pn_state_create.
 * Threads: a state is immutable; calls through it may overlap.
 * Since: 0.1
 */
#ifndef POLYNEST_STATE_H
#define POLYNEST_STATE_H

#include "polynest/executable.h"

PN_EXTERN_C_BEGIN

typedef struct pn_state pn_state_t;

/* Binds the entry's constant inputs, given in their order. Whoever changes
 * their contents makes another state. PN_ERROR_SIGNATURE where they do not fit,
 * PN_ERROR_MEMORY, PN_ERROR_ARGUMENT. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_state_create(PN_KEEP const pn_entry_t *entry,
                PN_KEEP const pn_memref_t *constants, size_t constant_count,
                PN_GIVE pn_state_t **out_state);

/* Accepts NULL. No call through it may be running. */
PN_EXPORT void pn_state_destroy(PN_TAKE pn_state_t *state);

/* Whether calls read the memory of constant `index` (counted among the
 * constants); false for an index out of range. */
PN_EXPORT bool pn_state_reads_constant(PN_KEEP const pn_state_t *state,
                                       size_t index);

/* Calls the entry with its inputs that are not constant, in their order. Errors
 * as those of pn_entry_invoke. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_state_invoke(PN_KEEP const pn_state_t *state,
                PN_KEEP const pn_memref_t *inputs, size_t input_count,
                PN_KEEP const pn_memref_t *results, size_t result_count);

PN_EXTERN_C_END

#endif /* POLYNEST_STATE_H */
