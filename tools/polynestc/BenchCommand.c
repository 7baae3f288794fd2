/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/BenchCommand.c: the subcommand `bench`. */

#include "Commands.h"
#include "FileCommand.h"
#include "Text.h"
#include "polynest/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pn_bench_request {
  pn_input_options_t inputs;
  int64_t threads;
  int64_t repetitions;
  double seconds;
  double flop; /* of one call; 0: counted */
  bool no_peak;
  bool json;
} pn_bench_request_t;

/* Work of one call. */
typedef struct pn_work {
  double flop;
  double bytes; /* inputs and results, each once */
  bool unknown; /* there are operations that could not be counted */
} pn_work_t;

/* What was measured. */
typedef struct pn_bench {
  int64_t *times_ns;
  size_t count;
  int32_t threads;
  pn_work_t work;
  double peak_gflops, peak_gbytes; /* 0: not measured */
} pn_bench_t;

/* Adds up the remarks of polynest-count-work. */
static void on_remark(void *user, const char *pass, pn_remark_kind_t kind,
                      const char *location, const char *const *keys,
                      const char *const *values, size_t count) {
  (void)kind;
  (void)location;
  pn_work_t *work = user;
  if (strcmp(pass, "count-work") != 0)
    return;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(keys[i], "flop") == 0)
      work->flop += strtod(values[i], NULL);
    else if (strcmp(keys[i], "uncounted") == 0)
      work->unknown |= strcmp(values[i], "0") != 0;
  }
}

static int compare_times(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

#define MAX_REPETITIONS 1000000
#define WARM_UP_CALLS 3

/* Calls until the time is over or the repetitions are done; only the calls
 * themselves are timed. Constants are bound before. */
static pn_error_t *time_calls(const pn_entry_t *entry, const pn_call_t *call,
                              const pn_bench_request_t *request, size_t room,
                              pn_bench_t *bench) {
  size_t constants;
  pn_memref_t *inputs = pn_call_views_by_use(entry, call, &constants);
  pn_memref_t *results = pn_array_views(call->results, call->result_count);
  pn_state_t *state;
  pn_error_t *error = pn_state_create(entry, inputs, constants, &state);
  int64_t start = pn_now_ns();
  while (!error && bench->count < room) {
    int64_t before = pn_now_ns();
    if (!request->repetitions && bench->count >= 5 &&
        (double)(before - start) > request->seconds * 1e9)
      break;
    error = pn_state_invoke(state, inputs + constants,
                            call->input_count - constants, results,
                            call->result_count);
    bench->times_ns[bench->count++] = pn_now_ns() - before;
  }
  pn_state_destroy(state);
  free(inputs);
  free(results);
  return error;
}

/* Warms up, measures, and sorts the times. */
static bool measure(const pn_entry_t *entry, pn_call_t *call,
                    const pn_bench_request_t *request, pn_bench_t *bench) {
  for (int i = 0; i < WARM_UP_CALLS; ++i)
    if (!pn_call_run(entry, call))
      return false;
  size_t room =
      request->repetitions ? (size_t)request->repetitions : MAX_REPETITIONS;
  bench->times_ns = pn_alloc_array(room, sizeof(int64_t));
  pn_error_t *error = time_calls(entry, call, request, room, bench);
  if (error)
    (void)pn_report_error(error);
  qsort(bench->times_ns, bench->count, sizeof(int64_t), compare_times);
  return !error;
}

static double count_bytes(const pn_call_t *call) {
  double bytes = 0;
  for (size_t i = 0; i < call->input_count; ++i)
    bytes += (double)call->inputs[i].bytes;
  for (size_t i = 0; i < call->result_count; ++i)
    bytes += (double)call->results[i].bytes;
  return bytes;
}

/* The peaks at the same number of threads. */
static void measure_peaks(pn_bench_t *bench) {
  if (pn_measure_fma(PN_DTYPE_F32, bench->threads, 0.2, &bench->peak_gflops) !=
      PN_ERROR_NONE)
    bench->peak_gflops = 0;
  if (pn_measure_stream(PN_STREAM_TRIAD, false, (size_t)128 << 20,
                        bench->threads, 0.3,
                        &bench->peak_gbytes) != PN_ERROR_NONE)
    bench->peak_gbytes = 0;
}

/* "12.3 GFLOP/s, 34 % of 36.1 (f32 FMA peak)". */
static void print_rate(const char *name, const char *unit, double amount,
                       double ns, double peak, const char *peak_name) {
  double rate = amount / ns;
  printf("%-8s %.4g %s", name, rate, unit);
  if (peak > 0)
    printf(", %.1f %% of %.4g (%s)", 100 * rate / peak, peak, peak_name);
  printf("\n");
}

static void print_text(const pn_bench_t *bench) {
  double least = (double)bench->times_ns[0];
  double median = (double)bench->times_ns[bench->count / 2];
  printf("calls    %zu with %d threads\n", bench->count, (int)bench->threads);
  printf("min      %.3f us\nmedian   %.3f us\n", least * 1e-3, median * 1e-3);
  if (bench->work.flop > 0)
    print_rate("compute", "GFLOP/s", bench->work.flop, least,
               bench->peak_gflops, "f32 FMA peak");
  if (bench->work.unknown)
    printf("         some operations have no fixed count; see --flop\n");
  print_rate("memory", "GB/s", bench->work.bytes, least, bench->peak_gbytes,
             "triad");
}

static void print_json(const pn_bench_t *bench) {
  printf("{\"calls\": %zu, \"threads\": %d, \"min_ns\": %lld, \"median_ns\": "
         "%lld, \"flop\": %.17g, \"flop_known\": %s, \"bytes\": %.17g, "
         "\"peak_gflops\": %.6g, \"peak_gbytes\": %.6g}\n",
         bench->count, (int)bench->threads, (long long)bench->times_ns[0],
         (long long)bench->times_ns[bench->count / 2], bench->work.flop,
         bench->work.unknown ? "false" : "true", bench->work.bytes,
         bench->peak_gflops, bench->peak_gbytes);
}

static pn_exit_t bench_entry(const pn_executable_t *executable,
                             const pn_bench_request_t *request,
                             pn_bench_t *bench) {
  const pn_entry_t *entry = NULL;
  pn_error_t *error =
      pn_executable_find_entry(executable, request->inputs.entry, &entry);
  if (error)
    return pn_report_error(error);
  pn_call_t call = {0};
  bool ok = pn_call_make_inputs(entry, &request->inputs, &call) &&
            pn_call_make_results(entry, 0xff, &call) &&
            measure(entry, &call, request, bench);
  if (ok) {
    bench->threads = pn_thread_count_get();
    bench->work.bytes = count_bytes(&call);
    if (!request->no_peak)
      measure_peaks(bench);
    if (request->json)
      print_json(bench);
    else
      print_text(bench);
  }
  pn_call_destroy(&call);
  return ok ? PN_EXIT_OK : PN_EXIT_FAILURE;
}

static pn_exit_t bench_file(const pn_session_options_t *options, void *user,
                            const char *path) {
  const pn_bench_request_t *request = user;
  if (request->threads &&
      pn_thread_count_set((int32_t)request->threads) != PN_ERROR_NONE)
    return PN_EXIT_FAILURE;
  pn_bench_t bench = {0};
  pn_context_options_t context = PN_CONTEXT_OPTIONS_INIT;
  context.remark_fn = on_remark;
  context.user = &bench.work;
  pn_session_t session;
  pn_executable_t *executable = NULL;
  pn_exit_t code = pn_session_open(options, &context, path, &session);
  if (code == PN_EXIT_OK)
    code = pn_session_compile(&session, &executable);
  if (request->flop > 0)
    bench.work = (pn_work_t){.flop = request->flop};
  if (code == PN_EXIT_OK)
    code = bench_entry(executable, request, &bench);
  free(bench.times_ns);
  pn_executable_release(executable);
  pn_session_close(&session);
  return code;
}

pn_exit_t pn_command_bench(int argc, char **argv) {
  pn_bench_request_t request = {.inputs = PN_INPUT_OPTIONS_INIT,
                                .seconds = 1.0};
  const pn_option_row_t rows[] = {
      {"--threads", PN_OPTION_INTEGER, &request.threads, "N",
       "threads of parallel loops", 1, PN_THREAD_COUNT_MAX},
      {"--repetitions", PN_OPTION_INTEGER, &request.repetitions, "N",
       "number of timed calls", 1, MAX_REPETITIONS},
      {"--seconds", PN_OPTION_REAL, &request.seconds, "S",
       "time to call for, without --repetitions (1)", 0, 0},
      {"--flop", PN_OPTION_REAL, &request.flop, "N",
       "floating-point operations of a call; counted without it", 0, 0},
      {"--no-peak", PN_OPTION_FLAG, &request.no_peak, NULL,
       "do not measure the machine's peaks", 0, 0},
      {"--json", PN_OPTION_FLAG, &request.json, NULL, "print one line of JSON",
       0, 0},
  };
  const pn_file_command_t command = {
      .usage = "polynestc bench FILE [options]",
      .summary = "Times calls of a program after three to warm up, and sets "
                 "the rates beside the\nmeasured peaks of the machine at the "
                 "same number of threads. Memory counts every\ninput and "
                 "result once. Constants are bound before the calls.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .inputs = &request.inputs,
      .run = bench_file,
      .request = &request,
  };
  return pn_file_command_run(&command, argc, argv);
}
