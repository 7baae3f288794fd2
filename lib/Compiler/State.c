/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/State.c: an entry with its constants bound. */

#include "polynest/state.h"

#include "Compiler/Executable.h"
#include "Support/Error.h"

#include <stdlib.h>
#include <string.h>

struct pn_state {
  const pn_entry_t *entry;
  void *block; /* what init filled, from the pool; NULL where nothing is */
  size_t count;
  pn_bound_t *constants;
  int64_t *numbers; /* sizes and strides of the constants */
};

static const pn_signature_value_t *
next_constant(const pn_signature_entry_t *signature, size_t *input) {
  while (!signature->values[*input].is_constant)
    ++*input;
  return &signature->values[(*input)++];
}

/* True if calls look at nothing of the constant, its sizes included. */
static bool is_forgotten(const pn_signature_value_t *value) {
  for (int32_t d = 0; d < value->type.rank; ++d)
    if (value->type.sizes[d] == PN_DYNAMIC)
      return false;
  return !value->is_read && !value->is_scalar;
}

/* The constant in the layout that the entry wants, with sizes and strides of
 * its own in `numbers`. */
static pn_error_t *bind_constant(const pn_signature_value_t *value,
                                 const pn_memref_t *given, int64_t *numbers,
                                 pn_bound_t *bound) {
  size_t rank = (size_t)given->rank;
  int64_t *strides = numbers + rank;
  pn_error_t *error =
      pn_argument_bind(&value->type, given, strides, true, bound);
  if (error)
    return error;
  if (rank)
    memcpy(numbers, given->sizes, rank * sizeof(int64_t));
  if (bound->memref.strides && bound->memref.strides != strides)
    memcpy(strides, bound->memref.strides, rank * sizeof(int64_t));
  bound->memref.sizes = numbers;
  if (bound->memref.strides)
    bound->memref.strides = strides;
  return NULL;
}

/* Forgets the memory of a constant that calls do not read: it becomes a view
 * without elements, which overlaps nothing. */
static void forget(pn_state_t *state, size_t i) {
  pn_bound_t *bound = &state->constants[i];
  pn_pool_free(bound->copy);
  bound->copy = NULL;
  bound->memref.data = state->block;
  bound->memref.offset = 0;
  for (int32_t d = 0; d < bound->memref.rank; ++d)
    ((int64_t *)bound->memref.sizes)[d] = 0;
}

static pn_error_t *bind_all(pn_state_t *state, const pn_memref_t *given) {
  const pn_signature_entry_t *signature = pn_entry_signature(state->entry);
  size_t numbers = 0, input = 0;
  for (size_t i = 0; i < state->count; ++i) {
    const pn_signature_value_t *value = next_constant(signature, &input);
    pn_error_t *error =
        pn_argument_check(&given[i], &value->type, "input", input - 1);
    if (error)
      return error;
    numbers += 2 * (size_t)given[i].rank;
  }
  state->constants = calloc(state->count + 1, sizeof(*state->constants));
  state->numbers = calloc(numbers + 1, sizeof(*state->numbers));
  if (!state->constants || !state->numbers)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  int64_t *at = state->numbers;
  input = 0;
  for (size_t i = 0; i < state->count; ++i) {
    const pn_signature_value_t *value = next_constant(signature, &input);
    pn_error_t *error =
        bind_constant(value, &given[i], at, &state->constants[i]);
    if (error)
      return error;
    at += 2 * (size_t)given[i].rank;
  }
  return NULL;
}

/* Computes what depends on the constants alone. */
static pn_error_t *fill(pn_state_t *state) {
  const pn_signature_entry_t *signature = pn_entry_signature(state->entry);
  if (!signature->state_bytes)
    return NULL;
  state->block = pn_entry_state_alloc(state->entry);
  pn_memref_t *views = calloc(state->count + 1, sizeof(*views));
  pn_error_t *error = NULL;
  if (!state->block || !views)
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  for (size_t i = 0; !error && i < state->count; ++i)
    views[i] = state->constants[i].memref;
  if (!error)
    error = pn_entry_fill_state(state->entry, views, state->block);
  free(views);
  if (error)
    return error;
  size_t input = 0;
  for (size_t i = 0; i < state->count; ++i)
    if (is_forgotten(next_constant(signature, &input)))
      forget(state, i);
  return NULL;
}

pn_error_t *pn_state_create(const pn_entry_t *entry,
                            const pn_memref_t *constants, size_t constant_count,
                            pn_state_t **out_state) {
  if (!out_state)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_state must not be null");
  *out_state = NULL;
  if (!entry || (constant_count && !constants))
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "entry and constants must not be null");
  const pn_signature_entry_t *signature = pn_entry_signature(entry);
  if (constant_count != signature->constant_count)
    return pn_error_create(
        PN_ERROR_SIGNATURE, "entry '%s' has %zu constants, not %zu",
        signature->name, signature->constant_count, constant_count);
  pn_state_t *state = calloc(1, sizeof(*state));
  if (!state)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  pn_executable_retain(pn_entry_executable(entry));
  state->entry = entry;
  state->count = constant_count;
  pn_error_t *error = bind_all(state, constants);
  if (!error)
    error = fill(state);
  if (error) {
    pn_state_destroy(state);
    return error;
  }
  *out_state = state;
  return NULL;
}

void pn_state_destroy(pn_state_t *state) {
  if (!state)
    return;
  for (size_t i = 0; state->constants && i < state->count; ++i)
    pn_pool_free(state->constants[i].copy);
  pn_pool_free(state->block);
  free(state->constants);
  free(state->numbers);
  pn_executable_release(pn_entry_executable(state->entry));
  free(state);
}

bool pn_state_reads_constant(const pn_state_t *state, size_t index) {
  if (!state || index >= state->count)
    return false;
  /* A copy in another layout is ours, and so is what stands for a forgotten
   * constant. */
  const pn_bound_t *bound = &state->constants[index];
  return !bound->copy && (!state->block || bound->memref.data != state->block);
}

#define SMALL_INPUTS 64

pn_error_t *pn_state_invoke(const pn_state_t *state, const pn_memref_t *inputs,
                            size_t input_count, const pn_memref_t *results,
                            size_t result_count) {
  if (!state)
    return pn_error_create(PN_ERROR_ARGUMENT, "state must not be null");
  const pn_signature_entry_t *signature = pn_entry_signature(state->entry);
  size_t total = signature->input_count, expected = total - state->count;
  if (input_count != expected)
    return pn_error_create(PN_ERROR_SIGNATURE,
                           "entry '%s' takes %zu inputs beside its constants, "
                           "not %zu",
                           signature->name, expected, input_count);
  if (input_count && !inputs)
    return pn_error_create(PN_ERROR_ARGUMENT, "inputs must not be null");
  pn_memref_t small[SMALL_INPUTS];
  pn_memref_t *all =
      total <= SMALL_INPUTS ? small : calloc(total, sizeof(*all));
  if (!all)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  for (size_t i = 0, constant = 0, other = 0; i < total; ++i)
    all[i] = signature->values[i].is_constant
                 ? state->constants[constant++].memref
                 : inputs[other++];
  pn_error_t *error = pn_entry_invoke_bound(state->entry, state->block, all,
                                            results, result_count);
  if (all != small)
    free(all);
  return error;
}
