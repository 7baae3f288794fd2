/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * small_calls.c: what a call through the C API costs beyond its work.
 *
 * Adds two arrays of 16 elements, through pn_entry_invoke with its argument
 * block made once, and through the function that a library would export
 * (`f_packed`), loaded from one: the work itself. Prints nanoseconds a call of
 * both, the median and the least of 301 runs of 1000 calls.
 */
#include "bench.h"

#include <dlfcn.h>
#include <unistd.h>

static const char text[] =
    "func.func @f(%a: tensor<16xf32>, %b: tensor<16xf32>)\n"
    "    -> tensor<16xf32> {\n"
    "  %r = arith.addf %a, %b : tensor<16xf32>\n"
    "  return %r : tensor<16xf32>\n"
    "}\n";

enum { RUNS = 301, CALLS = 1000, SIZE = 16 };

static float a[SIZE], b[SIZE], r[SIZE];
static const int64_t sizes[1] = {SIZE};

static int compare(const void *left, const void *right) {
  double x = *(const double *)left, y = *(const double *)right;
  return x < y ? -1 : x > y;
}

static void print_times(const char *name, double *times) {
  qsort(times, RUNS, sizeof(*times), compare);
  const double scale = 1e9 / (double)CALLS;
  printf("%-16s %7.1f ns %7.1f ns\n", name, times[RUNS / 2] * scale,
         times[0] * scale);
}

static void time_invoke(const pn_entry_t *entry) {
  const pn_memref_t inputs[2] = {
      {.data = a, .sizes = sizes, .dtype = PN_DTYPE_F32, .rank = 1},
      {.data = b, .sizes = sizes, .dtype = PN_DTYPE_F32, .rank = 1}};
  const pn_memref_t result = {
      .data = r, .sizes = sizes, .dtype = PN_DTYPE_F32, .rank = 1};
  static double times[RUNS];
  for (int i = 0; i < RUNS; ++i) {
    double start = seconds_now();
    for (int j = 0; j < CALLS; ++j)
      check(pn_entry_invoke(entry, inputs, 2, &result, 1));
    times[i] = seconds_now() - start;
  }
  print_times("pn_entry_invoke", times);
}

/* Calls the code itself, through a library written to `path`. */
static void time_code(pn_module_t *module, const pn_target_t *target,
                      const char *path) {
  check(pn_compile_to_library(module, target, NULL, path, NULL));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *address = library ? dlsym(library, "f_packed") : NULL;
  (void)unlink(path);
  if (!address) {
    (void)fprintf(stderr, "error: %s has no f_packed\n", path);
    exit(1);
  }
  int32_t (*code)(pn_rt_context_t *, void *, void **);
  memcpy(&code, &address, sizeof(code));
  struct {
    void *allocated, *aligned;
    int64_t offset, size, stride;
  } views[3] = {{a, a, 0, SIZE, 1}, {b, b, 0, SIZE, 1}, {r, r, 0, SIZE, 1}};
  void *arguments[3] = {&views[0], &views[1], &views[2]};
  pn_rt_context_t *context = pn_rt_context_create();
  static double times[RUNS];
  for (int i = 0; i < RUNS; ++i) {
    double start = seconds_now();
    for (int j = 0; j < CALLS; ++j)
      if (code(context, NULL, arguments))
        exit(1);
    times[i] = seconds_now() - start;
  }
  pn_rt_context_destroy(context);
  (void)dlclose(library);
  print_times("code itself", times);
}

int main(void) {
  for (int i = 0; i < SIZE; ++i) {
    a[i] = (float)i;
    b[i] = (float)(3 * i);
  }
  pn_context_t *context;
  pn_module_t *module;
  pn_target_t *target;
  pn_executable_t *executable;
  const pn_entry_t *entry;
  char path[] = "/tmp/polynest-small-calls.XXXXXX";
  int fd = mkstemp(path);
  if (fd >= 0)
    (void)close(fd);
  check(pn_context_create(NULL, &context));
  check(pn_module_parse(context, text, strlen(text), "small", 0, &module));
  check(pn_target_create_host(&target));
  check(pn_compile_to_executable(module, target, NULL, NULL, &executable));
  check(pn_executable_find_entry(executable, NULL, &entry));
  time_code(module, target, path);
  time_invoke(entry);
  int wrong = 0;
  for (int i = 0; i < SIZE; ++i)
    wrong += r[i] != a[i] + b[i];
  pn_executable_release(executable);
  pn_target_release(target);
  pn_module_destroy(module);
  pn_context_release(context);
  return wrong != 0;
}
