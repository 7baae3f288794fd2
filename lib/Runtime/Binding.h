/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Binding.h: finds the OpenMP runtime of the process.
 *
 * The state is process-wide, because the point of it is that a process has one
 * set of worker threads. It is decided once and then only read, except that a
 * forked child leaves libgomp.
 * Threads: internally locked.
 */
#ifndef POLYNEST_RUNTIME_BINDING_H
#define POLYNEST_RUNTIME_BINDING_H

/* Both libgomp and LLVM's libomp export this entry of the GNU interface. */
typedef void (*pn_gomp_parallel_fn)(void (*body)(void *), void *data,
                                    unsigned threads, unsigned flags);
typedef int (*pn_omp_query_fn)(void);

typedef struct pn_binding {
  const char *name;             /* "libomp", "libgomp" or "threads" */
  pn_gomp_parallel_fn parallel; /* NULL: threads of our own */
  pn_omp_query_fn thread_index;
  pn_omp_query_fn thread_count;
  pn_omp_query_fn thread_limit; /* omp_get_max_threads */
} pn_binding_t;

/* The binding, decided now if need be; never NULL. */
const pn_binding_t *pn_binding_get(void);

/* The binding if it is decided, or can be without loading a library; else
 * NULL. */
const pn_binding_t *pn_binding_find(void);

/* The binding if it is decided, else NULL. */
const pn_binding_t *pn_binding_peek(void);

#endif /* POLYNEST_RUNTIME_BINDING_H */
