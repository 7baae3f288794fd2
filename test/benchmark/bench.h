/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* bench.h: what the benchmarks of the C API share. */
#ifndef POLYNEST_BENCHMARK_BENCH_H
#define POLYNEST_BENCHMARK_BENCH_H

#include "polynest/polynest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ends the program with a message where there is an error. */
static inline void check(pn_error_t *error) {
  if (!error)
    return;
  (void)fprintf(stderr, "error: %s\n", pn_error_message(error));
  pn_error_destroy(error);
  exit(1);
}

static inline double seconds_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif /* POLYNEST_BENCHMARK_BENCH_H */
