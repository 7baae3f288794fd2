/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/RunCommand.c: the subcommand `run`. */

#include "Check.h"
#include "Commands.h"
#include "Compare.h"
#include "FileCommand.h"
#include "Npy.h"
#include "Text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What to do with the results, and how to get them. */
typedef struct pn_run_request {
  pn_input_options_t inputs;
  const char *save_dir;
  const char *stage;
  int64_t threads;
  int64_t reduction_length;
  bool cache;
  bool check;
  bool print;
} pn_run_request_t;

/* ------------------------------------------------------------------------ */
/* Printing and saving                                                      */
/* ------------------------------------------------------------------------ */

/* Prints dimension d of the array, whose first element there is *at. */
static void print_values(const pn_array_t *array, int32_t d, int64_t *at) {
  if (d == array->rank) {
    pn_print_element(array->dtype, pn_array_at(array, (*at)++));
    return;
  }
  printf("[");
  for (int64_t i = 0; i < array->sizes[d]; ++i) {
    if (i > 0 && d + 1 < array->rank)
      printf(",\n%*s", (int)d + 1, "");
    else if (i > 0)
      printf(", ");
    print_values(array, d + 1, at);
  }
  printf("]");
}

/* Least, largest and mean value of a result in one line. */
static void print_summary(const pn_array_t *array) {
  double low = (double)INFINITY, high = -(double)INFINITY, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < array->count; ++i) {
    double value = pn_element_real(array->dtype, pn_array_at(array, i));
    if (isnan(value)) {
      ++nans;
      continue;
    }
    low = fmin(low, value);
    high = fmax(high, value);
    sum += value;
  }
  int64_t count = array->count - nans;
  if (count > 0)
    printf(" min %.6g max %.6g mean %.6g", low, high, sum / (double)count);
  if (nans > 0)
    printf(" nan %" PRId64, nans);
  printf("\n");
}

static void print_result(const pn_array_t *array, size_t index, bool values) {
  printf("result %zu: ", index);
  pn_print_array_type(array);
  if (!values) {
    print_summary(array);
    return;
  }
  int64_t at = 0;
  printf(" =\n");
  print_values(array, 0, &at);
  printf("\n");
}

static bool save_results(const pn_call_t *call, const char *dir) {
  if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
    pn_report("error", "cannot make the folder '%s': %s", dir, strerror(errno));
    return false;
  }
  bool ok = true;
  for (size_t i = 0; ok && i < call->result_count; ++i) {
    pn_text_t path = {0};
    pn_text_printf(&path, "%s/result%zu.npy", dir, i);
    ok = pn_npy_write(pn_text_get(&path), &call->results[i]);
    pn_text_clear(&path);
  }
  return ok;
}

/* ------------------------------------------------------------------------ */
/* The subcommand                                                           */
/* ------------------------------------------------------------------------ */

/* Runs the program once and prints or saves what it gives. */
static pn_exit_t run_once(pn_session_t *session,
                          const pn_run_request_t *request) {
  pn_executable_t *executable = NULL;
  const pn_entry_t *entry = NULL;
  pn_call_t call = {0};
  pn_exit_t code = pn_session_compile(session, &executable);
  if (code == PN_EXIT_OK) {
    pn_error_t *error =
        pn_executable_find_entry(executable, request->inputs.entry, &entry);
    code = error ? pn_report_error(error) : PN_EXIT_OK;
  }
  if (code == PN_EXIT_OK) {
    bool ok = pn_call_make_inputs(entry, &request->inputs, &call) &&
              pn_call_make_results(entry, 0xff, &call) &&
              pn_call_run(entry, &call);
    for (size_t i = 0; ok && i < call.result_count; ++i)
      print_result(&call.results[i], i, request->print);
    if (ok && request->save_dir)
      ok = save_results(&call, request->save_dir);
    code = ok ? PN_EXIT_OK : PN_EXIT_FAILURE;
  }
  pn_call_destroy(&call);
  pn_executable_release(executable);
  return code;
}

static pn_exit_t run_checked(pn_session_t *session,
                             const pn_run_request_t *request) {
  pn_check_t check = {.inputs = &request->inputs,
                      .reduction_length = (double)request->reduction_length,
                      .stage = PN_STAGE_INPUT};
  if (request->stage && !pn_read_stage(request->stage, &check.stage))
    return PN_EXIT_USAGE;
  pn_exit_t code = pn_check_open(session, &check);
  if (code == PN_EXIT_OK)
    code = pn_check_options(session, &session->options, &check);
  if (code == PN_EXIT_OK) {
    pn_call_t *call = &check.got;
    for (size_t i = 0; i < call->result_count; ++i)
      print_result(&call->results[i], i, request->print);
    if (request->save_dir && !save_results(call, request->save_dir))
      code = PN_EXIT_FAILURE;
    printf("check: %zu results agree, the worst at %.3g of its bound\n",
           call->result_count, check.worst);
  }
  pn_check_close(&check);
  return code;
}

/* Looks code up, and keeps it. */
static pn_exit_t run_cached(pn_session_t *session,
                            const pn_run_request_t *request) {
  pn_error_t *error = pn_cache_create(NULL, &session->options.cache);
  pn_exit_t code = error ? pn_report_error(error) : run_once(session, request);
  pn_cache_release(session->options.cache);
  return code;
}

static pn_exit_t run(const pn_session_options_t *options, void *user,
                     const char *path) {
  const pn_run_request_t *request = user;
  /* These show what compiling does; code that is there is not compiled. */
  if (request->cache &&
      (request->check || request->stage || options->dump_dir)) {
    pn_report("error", "--cache does not go with %s",
              request->check   ? "--check"
              : request->stage ? "--stage"
                               : "--dump-dir");
    return PN_EXIT_USAGE;
  }
  if (request->threads &&
      pn_thread_count_set((int32_t)request->threads) != PN_ERROR_NONE)
    return PN_EXIT_FAILURE;
  pn_session_t session;
  pn_exit_t code = pn_session_open(options, NULL, path, &session);
  if (code == PN_EXIT_OK && request->check)
    code = run_checked(&session, request);
  else if (code == PN_EXIT_OK) {
    pn_stage_t stage = PN_STAGE_INPUT;
    if (request->stage && !pn_read_stage(request->stage, &stage))
      code = PN_EXIT_USAGE;
    else if (request->stage)
      code = pn_session_feed_back(&session, stage);
    if (code == PN_EXIT_OK)
      code = request->cache ? run_cached(&session, request)
                            : run_once(&session, request);
  }
  pn_session_close(&session);
  return code;
}

pn_exit_t pn_command_run(int argc, char **argv) {
  pn_run_request_t request = {.inputs = PN_INPUT_OPTIONS_INIT};
  const pn_option_row_t rows[] = {
      {"--print", PN_OPTION_FLAG, &request.print, NULL,
       "print all values of the results", 0, 0},
      {"--save", PN_OPTION_TEXT, &request.save_dir, "DIR",
       "write the results to DIR/resultN.npy", 0, 0},
      {"--check", PN_OPTION_FLAG, &request.check, NULL,
       "also run the plainly lowered program on the same inputs;\n"
       "exit with 1 where results differ",
       0, 0},
      {"--reduction", PN_OPTION_INTEGER, &request.reduction_length, "N",
       "with --check: length of the reductions, for the bound on\n"
       "differences; guessed from the sizes without it",
       1, INT64_C(1) << 50},
      {"--stage", PN_OPTION_TEXT, &request.stage, "sN",
       "print the module at this stage and go on from the text", 0, 0},
      {"--threads", PN_OPTION_INTEGER, &request.threads, "N",
       "threads of parallel loops", 1, PN_THREAD_COUNT_MAX},
      {"--cache", PN_OPTION_FLAG, &request.cache, NULL,
       "take code that was compiled before, and keep it; not with\n"
       "--check, --stage and --dump-dir; see 'polynestc cache'",
       0, 0},
  };
  const pn_file_command_t command = {
      .usage = "polynestc run FILE [options]",
      .summary = "Compiles a program, which may be at any stage, in memory and "
                 "calls one of its\nfunctions once. Prints a summary of each "
                 "result.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .inputs = &request.inputs,
      .run = run,
      .request = &request,
  };
  return pn_file_command_run(&command, argc, argv);
}
