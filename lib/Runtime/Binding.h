/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Binding.h: whose threads run parallel loops, and how many there are.
 *
 * Threads of our own, unless POLYNEST_OPENMP asks for an OpenMP runtime: those
 * wait for every thread of a loop, also for one that does not come because
 * other programs keep its processor. On two busy cores ResNet-18 took 100 ms
 * with ours and 510 with libgomp. An OpenMP runtime that is there says how many
 * threads its host wants. The state is process-wide, decided once and then only
 * read, except that a forked child leaves libgomp. Threads: internally locked.
 */
#ifndef POLYNEST_RUNTIME_BINDING_H
#define POLYNEST_RUNTIME_BINDING_H

#include <stdbool.h>

/* Both libgomp and LLVM's libomp export this entry of the GNU interface. */
typedef void (*pn_gomp_parallel_fn)(void (*body)(void *), void *data,
                                    unsigned threads, unsigned flags);
typedef int (*pn_omp_query_fn)(void);

typedef struct pn_binding {
  const char *name;             /* "libomp", "libgomp" or "threads" */
  pn_gomp_parallel_fn parallel; /* NULL: threads of our own */
  pn_omp_query_fn thread_index;
  pn_omp_query_fn thread_count;
  /* Of an OpenMP runtime in the process, also beside threads of our own; NULL:
   * there is none. */
  pn_omp_query_fn thread_limit; /* omp_get_max_threads */
  pn_omp_query_fn in_parallel;  /* omp_in_parallel */
} pn_binding_t;

/* The binding, decided now if need be; never NULL. */
const pn_binding_t *pn_binding_get(void);

/* The binding if it is decided, or can be without loading a library; else
 * NULL. */
const pn_binding_t *pn_binding_find(void);

/* The binding if it is decided, else NULL. */
const pn_binding_t *pn_binding_peek(void);

/* True in a parallel region of the host's OpenMP runtime: its other threads
 * have the processors. */
bool pn_binding_in_host_region(const pn_binding_t *binding);

#endif /* POLYNEST_RUNTIME_BINDING_H */
