/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * bandwidth.c: pointwise programs and a reduction against the memory's limit.
 *
 * For buffers of 512 MiB (or argv[1] MiB), at 1 thread and at all: the time of
 * a call, and its limit: compulsory bytes over the best rate, in this run, of a
 * hand-written loop with the same ratio of reads to writes, with and without
 * non-temporal stores. Three warm-up calls; the median of several rounds, in
 * each of which program and loop take turns: 0.2 seconds each, at least three
 * times, of which the fastest counts, for the one as for the other.
 */
#include "bench.h"
#include "polynest/measure.h"

enum { ROUNDS = 7, WARM_UP = 3 };
#define ROUND_SECONDS 0.2

typedef struct bench_case {
  const char *name;
  pn_stream_t stream; /* the loop with the same ratio of reads to writes */
  int inputs;
  bool is_reduction;
  const char *body; /* of the linalg.generic */
} bench_case_t;

static const bench_case_t cases[] = {
    {"copy and scale", PN_STREAM_COPY, 1, false,
     "%k = arith.constant 1.5 : f32\n"
     "%r = arith.mulf %a, %k : f32\n"},
    {"multiply and add", PN_STREAM_TRIAD, 2, false,
     "%k = arith.constant 1.5 : f32\n"
     "%p = arith.mulf %a, %k : f32\n"
     "%r = arith.addf %p, %b : f32\n"},
    {"sum", PN_STREAM_READ, 1, true, "%r = arith.addf %o, %a : f32\n"},
};

/* The program's text; rows of 16384 so that a reduction leaves one value each.
 */
static void print_program(const bench_case_t *c, int64_t rows, char *text,
                          size_t size) {
  char full[64], reduced[64], ins[256], args[256], maps[256];
  (void)snprintf(full, sizeof(full), "tensor<%lldx16384xf32>", (long long)rows);
  (void)snprintf(reduced, sizeof(reduced), "tensor<%lldxf32>", (long long)rows);
  const char *result = c->is_reduction ? reduced : full;
  const char *second = c->inputs > 1 ? ", %y" : "";
  (void)snprintf(ins, sizeof(ins), "%%x%s : %s%s%s", second, full,
                 c->inputs > 1 ? ", " : "", c->inputs > 1 ? full : "");
  (void)snprintf(args, sizeof(args), "%%x: %s%s%s", full,
                 c->inputs > 1 ? ", %y: " : "", c->inputs > 1 ? full : "");
  (void)snprintf(maps, sizeof(maps), "affine_map<(i,j)->(i,j)>, %s%s",
                 c->inputs > 1 ? "affine_map<(i,j)->(i,j)>, " : "",
                 c->is_reduction ? "affine_map<(i,j)->(i)>"
                                 : "affine_map<(i,j)->(i,j)>");
  (void)snprintf(
      text, size,
      "func.func @f(%s) -> %s {\n"
      "%%z = arith.constant 0.0 : f32\n"
      "%%e = tensor.empty() : %s\n"
      "%%i = linalg.fill ins(%%z : f32) outs(%%e : %s) -> %s\n"
      "%%t = linalg.generic {indexing_maps = [%s], iterator_types = "
      "[\"parallel\", \"%s\"]} ins(%s) outs(%%i : %s) {\n"
      "^bb0(%%a: f32%s, %%o: f32):\n%slinalg.yield %%r : f32\n} -> %s\n"
      "return %%t : %s\n}\n",
      args, result, result, result, result, maps,
      c->is_reduction ? "reduction" : "parallel", ins, result,
      c->inputs > 1 ? ", %b: f32" : "", c->body, result, result);
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *values) {
  qsort(values, ROUNDS, sizeof(*values), compare_doubles);
  return values[ROUNDS / 2];
}

/* Seconds of the fastest of the calls that a round makes, as many as
 * pn_measure_stream makes of the loop. */
static double call_seconds(const pn_entry_t *entry, const bench_case_t *c,
                           const pn_memref_t *inputs, pn_memref_t *result) {
  double begin = seconds_now(), last = begin, best = 0;
  for (int call = 0; call < 3 || last - begin < ROUND_SECONDS; ++call) {
    double start = last;
    check(pn_entry_invoke(entry, inputs, (size_t)c->inputs, result, 1));
    last = seconds_now();
    if (!call || last - start < best)
      best = last - start;
  }
  return best;
}

/* Best rate of the hand-written loop now, in bytes a second. */
static double loop_rate(const bench_case_t *c, size_t bytes, int32_t threads) {
  double best = 0;
  for (int nontemporal = 0; nontemporal < 2; ++nontemporal) {
    double rate = 0;
    if (pn_measure_stream(c->stream, nontemporal != 0, bytes, threads,
                          ROUND_SECONDS, &rate) == PN_ERROR_NONE &&
        rate > best)
      best = rate;
  }
  return best * 1e9;
}

static void run_case(pn_context_t *context, const pn_target_t *target,
                     const bench_case_t *c, size_t bytes, int32_t threads) {
  int64_t rows = (int64_t)(bytes / 65536);
  char text[4096];
  print_program(c, rows, text, sizeof(text));
  pn_module_t *module;
  pn_executable_t *executable;
  const pn_entry_t *entry;
  check(pn_module_parse(context, text, strlen(text), c->name, 0, &module));
  check(pn_compile_to_executable(module, target, NULL, NULL, &executable));
  check(pn_executable_find_entry(executable, NULL, &entry));
  const int64_t sizes[] = {rows, 16384};
  size_t result_bytes = c->is_reduction ? (size_t)rows * 4 : bytes;
  pn_memref_t inputs[2], result;
  for (int i = 0; i < c->inputs; ++i) {
    float *data = pn_pool_alloc(bytes);
    for (size_t k = 0; k < bytes / 4; ++k)
      data[k] = (float)(k % 1021) * 0.001f;
    inputs[i] = (pn_memref_t){data, 0, sizes, NULL, PN_DTYPE_F32, 2};
  }
  result =
      (pn_memref_t){pn_pool_alloc(result_bytes), 0, sizes, NULL, PN_DTYPE_F32,
                    c->is_reduction ? 1 : 2};
  if (pn_thread_count_set(threads) != PN_ERROR_NONE)
    exit(1);
  double times[ROUNDS], limits[ROUNDS];
  double moved = (double)bytes * c->inputs + (double)result_bytes;
  for (int i = 0; i < WARM_UP; ++i)
    check(pn_entry_invoke(entry, inputs, (size_t)c->inputs, &result, 1));
  for (int round = 0; round < ROUNDS; ++round) {
    times[round] = call_seconds(entry, c, inputs, &result);
    limits[round] = moved / loop_rate(c, bytes, threads);
  }
  double time = median(times), limit = median(limits);
  (void)printf("| %s | %d | %.1f | %.1f | %.2f | %.1f |\n", c->name,
               (int)threads, 1e3 * time, 1e3 * limit, time / limit,
               1e-9 * moved / time);
  for (int i = 0; i < c->inputs; ++i)
    pn_pool_free(inputs[i].data);
  pn_pool_free(result.data);
  pn_pool_trim(0);
  pn_executable_release(executable);
  pn_module_destroy(module);
}

int main(int argc, char **argv) {
  size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
  pn_context_t *context;
  pn_target_t *target;
  check(pn_context_create(NULL, &context));
  check(pn_target_create_host(&target));
  int32_t all = pn_thread_count_get();
  (void)printf("buffers of %zu MiB, median of %d\n\n"
               "| program | threads | ms | limit ms | ratio | GB/s |\n"
               "|---|---|---|---|---|---|\n",
               mib, ROUNDS);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i)
    for (int32_t threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1)
      run_case(context, target, &cases[i], mib << 20, threads);
  pn_target_release(target);
  pn_context_release(context);
  return 0;
}
