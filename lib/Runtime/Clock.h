/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/Clock.h: time that only goes on, in nanoseconds. No state. */
#ifndef POLYNEST_RUNTIME_CLOCK_H
#define POLYNEST_RUNTIME_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t pn_clock_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif /* POLYNEST_RUNTIME_CLOCK_H */
