/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Call.h: the arguments of one call of an entry, from files or by
 * seed, and its results.
 *
 * Ownership: a call owns its arrays; a zeroed call is empty.
 * What goes wrong is reported, and the functions return false.
 */
#ifndef POLYNESTC_CALL_H
#define POLYNESTC_CALL_H

#include "Array.h"
#include "Options.h"
#include "polynest/executable.h"

/* Values of the options that describe inputs. */
typedef struct pn_input_options {
  const char *entry; /* NULL: the only one */
  pn_text_list_t files;
  pn_text_list_t sizes;
  const char *int_range;
  int64_t seed;
} pn_input_options_t;

#define PN_INPUT_OPTIONS_INIT                                                  \
  { .int_range = "-8:8" }

#define PN_INPUT_ROW_COUNT 5

void pn_input_rows(pn_input_options_t *options,
                   pn_option_row_t rows[PN_INPUT_ROW_COUNT]);

/* Whether the values can be read; reports what cannot. */
bool pn_input_options_check(const pn_input_options_t *options);

void pn_input_options_clear(pn_input_options_t *options);

typedef struct pn_call {
  pn_array_t *inputs;
  size_t input_count;
  pn_array_t *results;
  size_t result_count;
} pn_call_t;

/* Makes the inputs: the first ones from files, the others by seed. */
bool pn_call_make_inputs(const pn_entry_t *entry,
                         const pn_input_options_t *options,
                         pn_call_t *out_call);

/* Copies the inputs of another call. */
void pn_call_copy_inputs(const pn_call_t *from, pn_call_t *out_call);

/* Makes the results, whose bytes are `fill` until the call. */
bool pn_call_make_results(const pn_entry_t *entry, unsigned char fill,
                          pn_call_t *call);

/* Calls the entry, and checks that nothing was written beside the arrays. */
bool pn_call_run(const pn_entry_t *entry, pn_call_t *call);

/* Views of the inputs, constants first as a state wants them, the others in
 * their order behind; the caller frees the array. */
pn_memref_t *pn_call_views_by_use(const pn_entry_t *entry,
                                  const pn_call_t *call,
                                  size_t *out_constant_count);

void pn_call_destroy(pn_call_t *call);

/* "4x?xf32" of a type, "4x7xf32" of an array. */
void pn_print_type(const pn_value_type_t *type);
void pn_print_array_type(const pn_array_t *array);

#endif /* POLYNESTC_CALL_H */
