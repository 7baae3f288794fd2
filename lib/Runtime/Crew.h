/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Crew.h: hands parallel loops to threads that wait for them.
 *
 * One leader posts a job and starts with chunk 0; member i (1 .. ) starts with
 * chunk i. Who is through with its chunk takes pieces of the others'. The
 * leader waits for members who have begun, never for one who has not: where
 * other programs keep a processor, a thread may take many milliseconds to come.
 * Members spin for a bounded time where the crew is spinning, then sleep. A
 * crew owns no threads: they come from an OpenMP region or from our own team,
 * and must all have left before it is destroyed.
 * Threads: run, close and set_spin by the leader alone; serve by each member.
 */
#ifndef POLYNEST_RUNTIME_CREW_H
#define POLYNEST_RUNTIME_CREW_H

#include "polynest/runtime.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

/* Most pieces of a chunk. A thread that is late or slowed (its processor has
 * other work) holds back the loop by what a piece takes, not by what its chunk
 * takes. */
#define PN_JOB_PIECES_MAX 8

/* A loop cut into `chunks` contiguous parts that differ by at most 1, one for
 * each thread, and each of those into `pieces`, alike. */
typedef struct pn_job {
  pn_kernel_fn kernel;
  const void *args;
  int64_t begin;
  uint64_t total; /* iterations */
  int32_t chunks;
  int32_t pieces;
  uint64_t fp_control; /* of the caller */
  /* Lowest failed piece << 32 | its status; UINT64_MAX: none failed. Pieces are
   * numbered in the order of their iterations. */
  _Atomic uint64_t failure;
  /* Pieces handed out of each chunk, or more; of chunks there are, no more. */
  _Atomic int32_t taken[PN_THREAD_COUNT_MAX];
} pn_job_t;

/* begin < end, 1 <= chunks <= end - begin, grain >= 1: the fewest iterations of
 * a piece where a chunk has several. Reads the caller's floating-point control
 * bits. */
void pn_job_init(pn_job_t *job, pn_kernel_fn kernel, const void *args,
                 int64_t begin, int64_t end, int32_t chunks, int64_t grain);

/* Runs the pieces of a chunk and then of all others that nobody has taken, on
 * this thread, marking it as inside a kernel meanwhile. */
void pn_job_run(pn_job_t *job, int32_t chunk);

/* After every piece has run. */
int32_t pn_job_status(const pn_job_t *job);

/* Whether the calling thread is inside a kernel. */
bool pn_job_in_kernel(void);

typedef struct pn_crew {
  /* Number of the post << 16 | chunks, in one word, so that a member without
   * a chunk need not look at the job, which may be gone by then. */
  alignas(64) _Atomic uint64_t ticket;
  pn_job_t *_Atomic job;
  _Atomic bool spinning;
  /* That the leader posted from; negative where unknown. */
  _Atomic int32_t processor;
  /* Number of the post << 16 | closed << 15 | members inside of the job. */
  alignas(64) _Atomic uint64_t gate;
  alignas(64) pthread_mutex_t lock; /* guards the two conditions */
  pthread_cond_t posted;
  pthread_cond_t finished;
  _Atomic int32_t sleepers;
  _Atomic bool leader_asleep;
} pn_crew_t;

void pn_crew_init(pn_crew_t *crew, bool spinning);
void pn_crew_destroy(pn_crew_t *crew);

void pn_crew_set_spin(pn_crew_t *crew, bool spinning);

/* Member `index` runs its chunks, of jobs posted after `ticket`, until the crew
 * is closed. The first ticket is 0. */
void pn_crew_serve(pn_crew_t *crew, int32_t index, uint64_t ticket);

/* Runs a job of at most members + 1 chunks to its end. */
void pn_crew_run(pn_crew_t *crew, pn_job_t *job);

/* Lets every member return from serve. */
void pn_crew_close(pn_crew_t *crew);

#endif /* POLYNEST_RUNTIME_CREW_H */
