/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Call.c: the arguments of one call of an entry. */

#include "Call.h"

#include "Npy.h"
#include "Report.h"
#include "Text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of dynamic dimensions unless told otherwise: odd, and no multiple of a
 * vector width. */
#define DEFAULT_SIZE 7

void pn_input_rows(pn_input_options_t *options,
                   pn_option_row_t rows[PN_INPUT_ROW_COUNT]) {
  const pn_option_row_t all[PN_INPUT_ROW_COUNT] = {
      {"--entry", PN_OPTION_TEXT, &options->entry, "NAME",
       "function to call; needed where there are several", 0, 0},
      {"--input", PN_OPTION_LIST, &options->files, "FILE",
       "a .npy file for the next input; inputs without one get\n"
       "values by seed",
       0, 0},
      {"--size", PN_OPTION_LIST, &options->sizes, "[I.D=]N",
       "size of dimension D of input I, or of every dynamic\n"
       "dimension (7)",
       0, 0},
      {"--int-range", PN_OPTION_TEXT, &options->int_range, "LOW:HIGH",
       "values of integer inputs (-8:8); indices need a range\n"
       "within what they index",
       0, 0},
      {"--seed", PN_OPTION_INTEGER, &options->seed, "N",
       "seed of the values (0)", INT64_MIN, INT64_MAX},
  };
  memcpy(rows, all, sizeof(all));
}

void pn_input_options_clear(pn_input_options_t *options) {
  pn_text_list_clear(&options->files);
  pn_text_list_clear(&options->sizes);
}

static void print_sizes(const int64_t *sizes, int32_t rank, pn_dtype_t dtype) {
  for (int32_t d = 0; d < rank; ++d) {
    if (sizes[d] == PN_DYNAMIC)
      printf("?x");
    else
      printf("%" PRId64 "x", sizes[d]);
  }
  printf("%s", pn_dtype_name(dtype));
}

void pn_print_type(const pn_value_type_t *type) {
  print_sizes(type->sizes, type->rank, type->dtype);
}

void pn_print_array_type(const pn_array_t *array) {
  print_sizes(array->sizes, array->rank, array->dtype);
}

/* ------------------------------------------------------------------------ */
/* Inputs                                                                   */
/* ------------------------------------------------------------------------ */

static bool wrong_size(const char *text) {
  pn_report("error",
            "option --size has value '%s'; it must be N or I.D=N with "
            "input I, dimension D and size N, all 0 or more",
            text);
  return false;
}

/* Reads "N" (input and dimension -1) or "I.D=N". */
static bool read_size(const char *text, int64_t *input, int64_t *dim,
                      int64_t *size) {
  *input = *dim = -1;
  const char *equals = strchr(text, '=');
  if (!equals)
    return pn_read_integer(text, size) && *size >= 0;
  char *end;
  *input = strtoll(text, &end, 10);
  if (*end != '.' || end == text || *input < 0)
    return false;
  const char *start = end + 1;
  *dim = strtoll(start, &end, 10);
  return end == equals && end != start && *dim >= 0 &&
         pn_read_integer(equals + 1, size) && *size >= 0;
}

/* Sets dynamic sizes of input `index`, by the options in order, which were
 * checked. */
static void choose_sizes(const pn_input_options_t *options, size_t index,
                         const pn_value_type_t *type, int64_t *sizes) {
  for (int32_t d = 0; d < type->rank; ++d)
    sizes[d] = type->sizes[d] == PN_DYNAMIC ? DEFAULT_SIZE : type->sizes[d];
  for (size_t i = 0; i < options->sizes.count; ++i) {
    int64_t input, dim, size;
    if (!read_size(options->sizes.items[i], &input, &dim, &size))
      continue;
    for (int32_t d = 0; d < type->rank; ++d)
      if (type->sizes[d] == PN_DYNAMIC &&
          (input < 0 || (input == (int64_t)index && dim == d)))
        sizes[d] = size;
  }
}

/* Checks that what the options name is there, and dynamic. */
static bool check_sizes(const pn_entry_t *entry,
                        const pn_input_options_t *options) {
  for (size_t i = 0; i < options->sizes.count; ++i) {
    const char *text = options->sizes.items[i];
    int64_t input, dim, size;
    pn_value_type_t type;
    if (!read_size(text, &input, &dim, &size))
      return wrong_size(text);
    if (input < 0)
      continue;
    if (!pn_entry_input_type(entry, (size_t)input, &type)) {
      pn_report("error", "option --size %s: entry '%s' has %zu inputs", text,
                pn_entry_name(entry), pn_entry_input_count(entry));
      return false;
    }
    if (dim >= type.rank) {
      pn_report("error", "option --size %s: input %" PRId64 " has rank %d",
                text, input, (int)type.rank);
      return false;
    }
    if (type.sizes[dim] != PN_DYNAMIC && type.sizes[dim] != size) {
      pn_report("error",
                "option --size %s: that size is %" PRId64 " in the program",
                text, type.sizes[dim]);
      return false;
    }
  }
  return true;
}

static bool read_range(const char *text, int64_t *low, int64_t *high) {
  char *end;
  *low = strtoll(text, &end, 10);
  if (end != text && *end == ':' && pn_read_integer(end + 1, high) &&
      *low <= *high)
    return true;
  pn_report("error", "option --int-range has value '%s'; it must be LOW:HIGH",
            text);
  return false;
}

static bool make_input(const pn_entry_t *entry, size_t index,
                       const pn_input_options_t *options, int64_t low,
                       int64_t high, pn_array_t *out_array) {
  pn_value_type_t type;
  if (!pn_entry_input_type(entry, index, &type))
    return false;
  if (index < options->files.count)
    return pn_npy_read(options->files.items[index], type.dtype, out_array);
  int64_t sizes[PN_MEMREF_RANK_MAX];
  choose_sizes(options, index, &type, sizes);
  if (!pn_array_create(type.dtype, type.rank, sizes, 0, out_array)) {
    pn_report("note", "this is input %zu of entry '%s'", index,
              pn_entry_name(entry));
    return false;
  }
  pn_array_randomize(out_array, (uint64_t)options->seed, index, low, high);
  return true;
}

bool pn_call_make_inputs(const pn_entry_t *entry,
                         const pn_input_options_t *options,
                         pn_call_t *out_call) {
  *out_call = (pn_call_t){.input_count = pn_entry_input_count(entry)};
  out_call->inputs = pn_alloc_array(out_call->input_count, sizeof(pn_array_t));
  int64_t low, high;
  if (!read_range(options->int_range, &low, &high) ||
      !check_sizes(entry, options))
    return false;
  if (options->files.count > out_call->input_count) {
    pn_report("error", "entry '%s' takes %zu inputs, but %zu files are given",
              pn_entry_name(entry), out_call->input_count,
              options->files.count);
    return false;
  }
  for (size_t i = 0; i < out_call->input_count; ++i)
    if (!make_input(entry, i, options, low, high, &out_call->inputs[i]))
      return false;
  return true;
}

bool pn_input_options_check(const pn_input_options_t *options) {
  int64_t input, dim, size, low, high;
  for (size_t i = 0; i < options->sizes.count; ++i)
    if (!read_size(options->sizes.items[i], &input, &dim, &size))
      return wrong_size(options->sizes.items[i]);
  return read_range(options->int_range, &low, &high);
}

void pn_call_copy_inputs(const pn_call_t *from, pn_call_t *out_call) {
  *out_call = (pn_call_t){.input_count = from->input_count};
  out_call->inputs = pn_alloc_array(from->input_count, sizeof(pn_array_t));
  for (size_t i = 0; i < from->input_count; ++i)
    pn_array_clone(&from->inputs[i], &out_call->inputs[i]);
}

/* ------------------------------------------------------------------------ */
/* Results and the call                                                     */
/* ------------------------------------------------------------------------ */

static bool report(pn_error_t *error) {
  if (error)
    (void)pn_report_error(error);
  return !error;
}

bool pn_call_make_results(const pn_entry_t *entry, unsigned char fill,
                          pn_call_t *call) {
  call->result_count = pn_entry_result_count(entry);
  call->results = pn_alloc_array(call->result_count, sizeof(pn_array_t));
  size_t ranks = 0;
  pn_value_type_t type;
  for (size_t i = 0; i < call->result_count; ++i)
    if (pn_entry_result_type(entry, i, &type))
      ranks += (size_t)type.rank;
  int64_t *sizes = pn_alloc_array(ranks, sizeof(*sizes));
  pn_memref_t *inputs = pn_array_views(call->inputs, call->input_count);
  bool ok =
      report(pn_entry_result_sizes(entry, inputs, call->input_count, sizes));
  const int64_t *at = sizes;
  for (size_t i = 0; ok && i < call->result_count; ++i) {
    ok = pn_entry_result_type(entry, i, &type) &&
         pn_array_create(type.dtype, type.rank, at, fill, &call->results[i]);
    if (!ok)
      pn_report("note", "this is result %zu of entry '%s'", i,
                pn_entry_name(entry));
    at += type.rank;
  }
  free(inputs);
  free(sizes);
  return ok;
}

static bool check_guards(const pn_array_t *arrays, size_t count,
                         const char *role) {
  bool ok = true;
  for (size_t i = 0; i < count; ++i) {
    if (pn_array_guards_intact(&arrays[i]))
      continue;
    pn_report("error", "the program wrote outside of %s %zu", role, i);
    ok = false;
  }
  return ok;
}

bool pn_call_run(const pn_entry_t *entry, pn_call_t *call) {
  pn_memref_t *inputs = pn_array_views(call->inputs, call->input_count);
  pn_memref_t *results = pn_array_views(call->results, call->result_count);
  bool ok = report(pn_entry_invoke(entry, inputs, call->input_count, results,
                                   call->result_count));
  free(inputs);
  free(results);
  ok = check_guards(call->inputs, call->input_count, "input") && ok;
  return check_guards(call->results, call->result_count, "result") && ok;
}

pn_memref_t *pn_call_views_by_use(const pn_entry_t *entry,
                                  const pn_call_t *call,
                                  size_t *out_constant_count) {
  pn_memref_t *given = pn_array_views(call->inputs, call->input_count);
  pn_memref_t *views = pn_array_views(call->inputs, call->input_count);
  size_t at = 0;
  for (int others = 0; others < 2; ++others) {
    for (size_t i = 0; i < call->input_count; ++i)
      if (pn_entry_input_is_constant(entry, i) == !others)
        views[at++] = given[i];
    if (!others)
      *out_constant_count = at;
  }
  free(given);
  return views;
}

void pn_call_destroy(pn_call_t *call) {
  for (size_t i = 0; call->inputs && i < call->input_count; ++i)
    pn_array_destroy(&call->inputs[i]);
  for (size_t i = 0; call->results && i < call->result_count; ++i)
    pn_array_destroy(&call->results[i]);
  free(call->inputs);
  free(call->results);
  *call = (pn_call_t){0};
}
