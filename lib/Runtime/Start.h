/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/Start.h: threads of ours. No state. */
#ifndef POLYNEST_RUNTIME_START_H
#define POLYNEST_RUNTIME_START_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Starts a thread that takes no signals: those of the process are for the
 * threads of its program. */
static inline bool pn_thread_start(void *(*run)(void *), void *data,
                                   pthread_t *out_thread) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  bool failed = pthread_create(out_thread, NULL, run, data) != 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !failed;
}

#endif /* POLYNEST_RUNTIME_START_H */
