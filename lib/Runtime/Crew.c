/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Crew.c: hands parallel loops to threads that wait for them.
 *
 * Sleeping without lost wake-ups is Dekker's argument on both sides: a sleeper
 * announces itself and then looks at the word it waits for; a waker writes the
 * word and then looks for sleepers. Both pairs are sequentially consistent, so
 * at least one of the two sees the other; the lock covers the gap between the
 * sleeper's look and its sleep.
 */
#include "Runtime/Crew.h"

#include "Runtime/Clock.h"
#include "Runtime/Environment.h"
#include "Runtime/FpState.h"

#include <sched.h>

#define TICKET_CHUNK_BITS 16
#define TICKET_CHUNK_MASK ((UINT64_C(1) << TICKET_CHUNK_BITS) - 1)
#define TICKET_CLOSED TICKET_CHUNK_MASK

#define GATE_CLOSED (UINT64_C(1) << 15)
#define GATE_INSIDE_MASK (GATE_CLOSED - 1)

PN_STATIC_ASSERT(PN_THREAD_COUNT_MAX < TICKET_CLOSED,
                 "chunk counts fit into a ticket beside the closing mark");
PN_STATIC_ASSERT(PN_THREAD_COUNT_MAX < GATE_INSIDE_MASK,
                 "members fit into a gate beside the closing mark");

/* How long to wait awake: first busy, then giving the processor away between
 * looks. A sleeping thread takes 5 to 50 us to come back, so that a wait of
 * that order is the most that can pay off. */
#define SPIN_BUSY_NS 20000
#define SPIN_YIELD_NS 80000
/* Looks between two readings of the clock (20 to 50 ns each). */
#define SPIN_BATCH 32

static _Thread_local bool in_kernel;

#if defined(__x86_64__) || defined(__i386__)
static inline void processor_relax(void) { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
static inline void processor_relax(void) {
  __asm__ volatile("isb" : : : "memory");
}
#else
static inline void processor_relax(void) {}
#endif

/* Where part i of `parts` begins in a run of so many iterations: parts differ
 * by at most 1, the longer ones first. */
static uint64_t part_begin(uint64_t total, uint64_t parts, uint64_t i) {
  uint64_t longer = total % parts;
  return i * (total / parts) + (i < longer ? i : longer);
}

void pn_job_init(pn_job_t *job, pn_kernel_fn kernel, const void *args,
                 int64_t begin, int64_t end, int32_t chunks, int64_t grain) {
  /* The unsigned difference is exact where end - begin overflows. */
  uint64_t total = (uint64_t)end - (uint64_t)begin;
  uint64_t pieces = total / (uint64_t)chunks / (uint64_t)grain;
  if (pieces > PN_JOB_PIECES_MAX)
    pieces = PN_JOB_PIECES_MAX;
  job->kernel = kernel;
  job->args = args;
  job->begin = begin;
  job->total = total;
  job->chunks = chunks;
  job->pieces = chunks == 1 || pieces == 0 ? 1 : (int32_t)pieces;
  job->fp_control = pn_fp_control_get();
  atomic_init(&job->failure, UINT64_MAX);
  for (int32_t i = 0; i < chunks; ++i)
    atomic_init(&job->taken[i], 0);
}

static void job_run_piece(pn_job_t *job, int32_t chunk, int32_t piece) {
  uint64_t chunks = (uint64_t)job->chunks, pieces = (uint64_t)job->pieces;
  uint64_t from = part_begin(job->total, chunks, (uint64_t)chunk);
  uint64_t length = part_begin(job->total, chunks, (uint64_t)chunk + 1) - from;
  uint64_t first = (uint64_t)job->begin + from;
  uint64_t last = first + part_begin(length, pieces, (uint64_t)piece + 1);
  first += part_begin(length, pieces, (uint64_t)piece);
  int32_t status = job->kernel(job->args, (int64_t)first, (int64_t)last);
  if (!status)
    return;
  uint64_t number = (uint64_t)chunk * pieces + (uint64_t)piece;
  uint64_t mine = number << 32 | (uint32_t)status;
  uint64_t lowest = atomic_load(&job->failure);
  while (mine < lowest &&
         !atomic_compare_exchange_weak(&job->failure, &lowest, mine)) {
  }
}

/* False where all pieces of the chunk are taken. Looks before it writes, as
 * every thread comes by every chunk in the end. */
static bool job_take_piece(pn_job_t *job, int32_t chunk, int32_t *out_piece) {
  _Atomic int32_t *taken = &job->taken[chunk];
  if (atomic_load_explicit(taken, memory_order_relaxed) >= job->pieces)
    return false;
  *out_piece = atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
  return *out_piece < job->pieces;
}

void pn_job_run(pn_job_t *job, int32_t chunk) {
  uint64_t fp_control = pn_fp_control_get();
  bool nested = in_kernel;
  in_kernel = true;
  pn_fp_control_set(job->fp_control);
  for (int32_t passed = 0; passed < job->chunks; ++passed) {
    int32_t piece;
    while (job_take_piece(job, chunk, &piece))
      job_run_piece(job, chunk, piece);
    chunk = chunk + 1 < job->chunks ? chunk + 1 : 0;
  }
  pn_fp_control_set(fp_control);
  in_kernel = nested;
}

int32_t pn_job_status(const pn_job_t *job) {
  uint64_t failure = atomic_load(&job->failure);
  return failure == UINT64_MAX ? 0 : (int32_t)(uint32_t)failure;
}

bool pn_job_in_kernel(void) { return in_kernel; }

void pn_crew_init(pn_crew_t *crew, bool spinning) {
  atomic_init(&crew->ticket, 0);
  atomic_init(&crew->job, NULL);
  atomic_init(&crew->spinning, spinning);
  atomic_init(&crew->processor, -1);
  atomic_init(&crew->gate, GATE_CLOSED);
  pthread_mutex_init(&crew->lock, NULL);
  pthread_cond_init(&crew->posted, NULL);
  pthread_cond_init(&crew->finished, NULL);
  atomic_init(&crew->sleepers, 0);
  atomic_init(&crew->leader_asleep, false);
}

void pn_crew_destroy(pn_crew_t *crew) {
  pthread_cond_destroy(&crew->finished);
  pthread_cond_destroy(&crew->posted);
  pthread_mutex_destroy(&crew->lock);
}

void pn_crew_set_spin(pn_crew_t *crew, bool spinning) {
  atomic_store(&crew->spinning, spinning);
}

/* Pauses between two looks; false when it is time to sleep. *start is 0 at the
 * first call. */
static bool spin_pause(int64_t *start, uint32_t *count) {
  if (++*count % SPIN_BATCH) {
    processor_relax();
    return true;
  }
  int64_t now = pn_clock_ns();
  if (!*start)
    *start = now;
  if (now - *start < SPIN_BUSY_NS)
    return true;
  sched_yield();
  return now - *start < SPIN_BUSY_NS + SPIN_YIELD_NS;
}

static uint64_t ticket_sleep(pn_crew_t *crew, uint64_t seen) {
  pthread_mutex_lock(&crew->lock);
  atomic_fetch_add(&crew->sleepers, 1);
  uint64_t ticket;
  while ((ticket = atomic_load(&crew->ticket)) == seen)
    pthread_cond_wait(&crew->posted, &crew->lock);
  atomic_fetch_sub(&crew->sleepers, 1);
  pthread_mutex_unlock(&crew->lock);
  return ticket;
}

static uint64_t ticket_wait(pn_crew_t *crew, uint64_t seen) {
  int64_t start = 0;
  uint32_t count = 0;
  do {
    uint64_t ticket = atomic_load_explicit(&crew->ticket, memory_order_acquire);
    if (ticket != seen)
      return ticket;
  } while (atomic_load_explicit(&crew->spinning, memory_order_relaxed) &&
           spin_pause(&start, &count));
  return ticket_sleep(crew, seen);
}

static void ticket_post(pn_crew_t *crew, uint64_t chunks) {
  uint64_t number = (atomic_load(&crew->ticket) >> TICKET_CHUNK_BITS) + 1;
  atomic_store(&crew->ticket, number << TICKET_CHUNK_BITS | chunks);
  if (!atomic_load(&crew->sleepers))
    return;
  pthread_mutex_lock(&crew->lock);
  pthread_cond_broadcast(&crew->posted);
  pthread_mutex_unlock(&crew->lock);
}

/* False where the job of that number is over, and may be gone. */
static bool gate_enter(pn_crew_t *crew, uint64_t number) {
  uint64_t gate = atomic_load(&crew->gate);
  do {
    if (gate >> TICKET_CHUNK_BITS != number || gate & GATE_CLOSED)
      return false;
  } while (!atomic_compare_exchange_weak(&crew->gate, &gate, gate + 1));
  return true;
}

/* The last member out wakes the leader. */
static void gate_leave(pn_crew_t *crew) {
  uint64_t before = atomic_fetch_sub(&crew->gate, 1);
  if ((before & GATE_INSIDE_MASK) != 1 || !atomic_load(&crew->leader_asleep))
    return;
  pthread_mutex_lock(&crew->lock);
  pthread_cond_signal(&crew->finished);
  pthread_mutex_unlock(&crew->lock);
}

static bool gate_is_empty(pn_crew_t *crew) {
  return !(atomic_load(&crew->gate) & GATE_INSIDE_MASK);
}

/* Lets nobody in any more and waits for those inside. The leader is inside a
 * call, so that it may spin in any case. */
static void gate_close(pn_crew_t *crew) {
  int64_t start = 0;
  uint32_t count = 0;
  atomic_fetch_or(&crew->gate, GATE_CLOSED);
  do {
    if (gate_is_empty(crew))
      return;
  } while (spin_pause(&start, &count));
  pthread_mutex_lock(&crew->lock);
  atomic_store(&crew->leader_asleep, true);
  while (!gate_is_empty(crew))
    pthread_cond_wait(&crew->finished, &crew->lock);
  atomic_store(&crew->leader_asleep, false);
  pthread_mutex_unlock(&crew->lock);
}

/* A member that the system has put on the leader's processor would run only
 * while that waits, which Linux was seen to leave so for seconds with another
 * processor idle: neither thread has slept for long enough to be moved. */
static void leave_leader(pn_crew_t *crew) {
  int32_t processor =
      atomic_load_explicit(&crew->processor, memory_order_relaxed);
  if (processor == pn_env_processor() &&
      atomic_load_explicit(&crew->spinning, memory_order_relaxed))
    (void)pn_env_leave_processor(processor);
}

void pn_crew_serve(pn_crew_t *crew, int32_t index, uint64_t ticket) {
  for (;;) {
    ticket = ticket_wait(crew, ticket);
    uint64_t chunks = ticket & TICKET_CHUNK_MASK;
    if (chunks == TICKET_CLOSED)
      return;
    if ((uint64_t)index >= chunks)
      continue;
    leave_leader(crew);
    if (!gate_enter(crew, ticket >> TICKET_CHUNK_BITS))
      continue;
    pn_job_run(atomic_load(&crew->job), index);
    gate_leave(crew);
  }
}

void pn_crew_run(pn_crew_t *crew, pn_job_t *job) {
  atomic_store(&crew->job, job);
  atomic_store_explicit(&crew->processor, pn_env_processor(),
                        memory_order_relaxed);
  uint64_t number = (atomic_load(&crew->ticket) >> TICKET_CHUNK_BITS) + 1;
  atomic_store(&crew->gate, number << TICKET_CHUNK_BITS);
  ticket_post(crew, (uint64_t)job->chunks);
  pn_job_run(job, 0);
  gate_close(crew);
}

void pn_crew_close(pn_crew_t *crew) { ticket_post(crew, TICKET_CLOSED); }
