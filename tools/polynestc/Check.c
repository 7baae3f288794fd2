/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Check.c: the optimized program against the plain one. */

#include "Check.h"

#include "Compare.h"
#include "Text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Bytes of results before a call: they differ between the two programs, so that
 * an element that one of them never writes shows. */
#define PLAIN_FILL 0xff
#define CHECKED_FILL 0xa5

/* Compiles the session's module and calls its entry on copies of check->start,
 * which is made first where it is empty. */
static pn_exit_t compile_and_run(pn_session_t *session, pn_check_t *check,
                                 unsigned char fill, pn_call_t *call) {
  pn_executable_t *executable = NULL;
  const pn_entry_t *entry = NULL;
  pn_exit_t code = pn_session_compile(session, &executable);
  if (code == PN_EXIT_OK) {
    pn_error_t *error =
        pn_executable_find_entry(executable, check->inputs->entry, &entry);
    code = error ? pn_report_error(error) : PN_EXIT_OK;
  }
  bool ok = code == PN_EXIT_OK;
  if (ok && !check->start.inputs)
    ok = pn_call_make_inputs(entry, check->inputs, &check->start);
  if (ok) {
    pn_call_copy_inputs(&check->start, call);
    ok = pn_call_make_results(entry, fill, call) && pn_call_run(entry, call);
  }
  pn_executable_release(executable);
  return ok ? PN_EXIT_OK : code != PN_EXIT_OK ? code : PN_EXIT_FAILURE;
}

pn_exit_t pn_check_open(pn_session_t *session, pn_check_t *check) {
  pn_compile_options_t kept = session->options;
  bool kept_timing = session->want_timing;
  session->want_timing = false;
  session->options.opt_level = PN_OPT_PLAIN;
  session->options.stage_fn = NULL;
  session->options.disabled_passes = NULL;
  pn_exit_t code = compile_and_run(session, check, PLAIN_FILL, &check->want);
  session->options = kept;
  session->want_timing = kept_timing;
  return code;
}

/* "[1, 3]", or nothing for a scalar. */
static void append_place(const pn_array_t *array, int64_t element,
                         pn_text_t *text) {
  int64_t index[PN_MEMREF_RANK_MAX];
  if (array->rank == 0)
    return;
  pn_array_index(array, element, index);
  for (int32_t d = 0; d < array->rank; ++d)
    pn_text_printf(text, "%s%" PRId64, d ? ", " : " at [", index[d]);
  pn_text_printf(text, "]");
}

/* The sign of a NaN says nothing. */
static void print_number(double value, char *text, size_t room) {
  if (isnan(value))
    (void)snprintf(text, room, "nan");
  else
    (void)snprintf(text, room, "%.9g", value);
}

static void report_difference(const pn_array_t *array, const char *role,
                              size_t index, const pn_difference_t *difference,
                              double length) {
  pn_text_t place = {0};
  append_place(array, difference->first, &place);
  char want[40], got[40];
  print_number(difference->want, want, sizeof(want));
  print_number(difference->got, got, sizeof(got));
  pn_report("difference", "%s %zu differs first%s: plain %s, optimized %s",
            role, index, pn_text_get(&place), want, got);
  double off = fabs(difference->want - difference->got);
  if (pn_dtype_is_real(array->dtype) && isfinite(off))
    pn_report("note",
              "they differ by %.3g; the bound is %.3g for %s and reductions of "
              "length %.0f",
              off, difference->bound, pn_dtype_name(array->dtype), length);
  pn_report("note", "%" PRId64 " of %" PRId64 " elements differ",
            difference->count, array->count);
  pn_text_clear(&place);
}

/* Compares arrays of both programs; returns whether they agree. */
static bool compare_all(pn_check_t *check, const pn_array_t *want,
                        const pn_array_t *got, size_t count, const char *role) {
  for (size_t i = 0; i < count; ++i) {
    double length =
        check->reduction_length > 0
            ? check->reduction_length
            : pn_guess_reduction_length(check->start.inputs,
                                        check->start.input_count, &want[i]);
    pn_difference_t difference = pn_array_compare(&want[i], &got[i], length);
    check->worst = fmax(check->worst, difference.scale);
    if (difference.count == 0)
      continue;
    if (!check->quiet)
      report_difference(&want[i], role, i, &difference, length);
    return false;
  }
  return true;
}

pn_exit_t pn_check_options(pn_session_t *session,
                           const pn_compile_options_t *options,
                           pn_check_t *check) {
  pn_compile_options_t kept = session->options;
  session->options = *options;
  pn_call_destroy(&check->got);
  check->worst = 0;
  check->differs = false;
  pn_exit_t code = PN_EXIT_OK;
  if (check->stage != PN_STAGE_INPUT)
    code = pn_session_feed_back(session, check->stage);
  if (code == PN_EXIT_OK)
    code = compile_and_run(session, check, CHECKED_FILL, &check->got);
  session->options = kept;
  if (code != PN_EXIT_OK)
    return code;
  /* Inputs are compared too, as the program may write them. */
  bool same = compare_all(check, check->want.results, check->got.results,
                          check->got.result_count, "result") &&
              compare_all(check, check->want.inputs, check->got.inputs,
                          check->got.input_count, "input");
  check->differs = !same;
  return same ? PN_EXIT_OK : PN_EXIT_FAILURE;
}

void pn_check_close(pn_check_t *check) {
  pn_call_destroy(&check->start);
  pn_call_destroy(&check->want);
  pn_call_destroy(&check->got);
}
