/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * check.h: the checks of the unit tests.
 *
 * A test is a function without arguments. CHECK reports a condition that does
 * not hold and goes on; CHECK_RUN runs a test and prints "name: ok" or
 * "name: FAILED"; main returns check_result().
 * Threads: CHECK may be used from any thread.
 */
#ifndef POLYNEST_TEST_CHECK_H
#define POLYNEST_TEST_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static _Atomic int check_failures;

static inline void check_that(int holds, const char *text, const char *file,
                              int line) {
  if (holds)
    return;
  atomic_fetch_add(&check_failures, 1);
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
}

static inline void check_run(void (*test)(void), const char *name) {
  int before = atomic_load(&check_failures);
  test();
  printf("%s: %s\n", name,
         atomic_load(&check_failures) == before ? "ok" : "FAILED");
  fflush(stdout);
}

static inline int check_result(void) {
  return atomic_load(&check_failures) != 0;
}

#define CHECK(condition)                                                       \
  check_that(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_RUN(test) check_run(test, #test)

#endif /* POLYNEST_TEST_CHECK_H */
