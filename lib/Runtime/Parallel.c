/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Parallel.c: parallel loops, regions and the thread count.
 *
 * Cost in us of an empty loop over two threads, median, with -O2 on a virtual
 * machine with two Zen 3 cores. Measured by `POLYNEST_OPENMP=... chrt -f 1
 * runtime-test --bench` ("back to back", "in a region, back to back", "region
 * without a loop", "after 5 ms of nothing"):
 *
 *                  loop   loop in a region   region   loop, workers asleep
 *   own threads    0.26         0.19          0.04           16
 *   libgomp        0.71         0.18          0.67            3.0
 *   libomp         1.05         0.25          0.74           20
 *
 * libgomp's workers still spin after 5 ms. A loop of ours is over as soon as
 * the leader has run what nobody else has begun.
 */
#include "Runtime/Binding.h"
#include "Runtime/Crew.h"
#include "Runtime/Environment.h"
#include "Runtime/Fork.h"
#include "Runtime/Sanitizer.h"
#include "Runtime/Start.h"
#include "polynest/runtime.h"

/* ---- Thread count ------------------------------------------------------- */

/* Process-wide settings, 0 where not (yet) known. Racing readers of the
 * environment find the same values, so that plain atomics are enough. */
static _Atomic int32_t count_set;
static _Atomic int32_t count_own_env;
static _Atomic int32_t count_omp_env;
static _Atomic int32_t count_processors;

/* -1 in a cached environment count: read, and not there. */
static int32_t cached_env_count(_Atomic int32_t *cache, const char *name) {
  int32_t count = atomic_load_explicit(cache, memory_order_relaxed);
  if (count)
    return count;
  count = pn_env_count(name, PN_THREAD_COUNT_MAX);
  if (!count)
    count = -1;
  atomic_store(cache, count);
  return count;
}

static int32_t processor_count(void) {
  int32_t count = atomic_load_explicit(&count_processors, memory_order_relaxed);
  if (count)
    return count;
  count = pn_env_processor_count();
  atomic_store(&count_processors, count);
  return count;
}

static int32_t count_clamp(int32_t count) {
  if (count < 1)
    return 1;
  return count > PN_THREAD_COUNT_MAX ? PN_THREAD_COUNT_MAX : count;
}

/* Of the calling thread; 0 for nothing. */
static _Thread_local int32_t count_here;

int32_t pn_thread_count_override(int32_t count) {
  int32_t before = count_here;
  if (count < 0 || count > PN_THREAD_COUNT_MAX)
    return -1;
  count_here = count;
  return before;
}

static int32_t count_for(const pn_binding_t *binding) {
  /* As the binding, that runtime itself knows what is left. */
  if (pn_binding_in_host_region(binding))
    return 1;
  if (count_here)
    return count_here;
  int32_t count = atomic_load_explicit(&count_set, memory_order_relaxed);
  if (count > 0)
    return count;
  count = cached_env_count(&count_own_env, "POLYNEST_NUM_THREADS");
  if (count > 0)
    return count;
  if (binding && binding->thread_limit)
    return count_clamp(binding->thread_limit());
  count = cached_env_count(&count_omp_env, "OMP_NUM_THREADS");
  return count > 0 ? count : count_clamp(processor_count());
}

pn_error_code_t pn_thread_count_set(int32_t count) {
  if (count < 0 || count > PN_THREAD_COUNT_MAX)
    return PN_ERROR_ARGUMENT;
  if (count == 0) {
    atomic_store(&count_own_env, 0);
    atomic_store(&count_omp_env, 0);
    atomic_store(&count_processors, 0);
  }
  atomic_store(&count_set, count);
  return PN_ERROR_NONE;
}

int32_t pn_thread_count_get(void) { return count_for(pn_binding_find()); }

const char *pn_parallel_runtime_name(void) {
  const pn_binding_t *binding = pn_binding_peek();
  return binding ? binding->name : "unbound";
}

/* ---- Our own team ------------------------------------------------------- */

/* Process-wide: the threads of last resort. `owner` is held by the caller that
 * uses them; whoever finds it taken runs serially. */
typedef struct pn_team {
  pthread_mutex_t owner;
  pn_crew_t crew;
  bool ready; /* crew is initialized */
  int32_t members;
  pthread_t threads[PN_THREAD_COUNT_MAX];
} pn_team_t;

static pn_team_t team = {.owner = PTHREAD_MUTEX_INITIALIZER};

/* Any ticket posted before this thread was born has too few chunks to name it,
 * so that 0 is the right place to start from. */
static void *member_main(void *data) {
  pn_crew_serve(&team.crew, (int32_t)(intptr_t)data, 0);
  return NULL;
}

static bool member_start(int32_t index, pthread_t *out_thread) {
  return pn_thread_start(member_main, (void *)(intptr_t)index, out_thread);
}

/* More threads than processors: who spins keeps another from working. */
static bool may_spin(int32_t threads) { return threads <= processor_count(); }

/* Under owner. Returns the threads there are, the caller included: fewer than
 * wanted where the system refuses more. */
static int32_t team_grow(int32_t wanted) {
  if (!team.ready) {
    pn_crew_init(&team.crew, false);
    team.ready = true;
  }
  pn_crew_set_spin(&team.crew, may_spin(wanted));
  while (team.members + 1 < wanted &&
         member_start(team.members + 1, &team.threads[team.members]))
    ++team.members;
  return team.members + 1 < wanted ? team.members + 1 : wanted;
}

/* The threads run code of this library, which may be about to be unloaded. A
 * team in use at this point means that the process is ending under a running
 * call: it is left alone. */
__attribute__((destructor)) static void team_stop(void) {
  if (pthread_mutex_trylock(&team.owner))
    return;
  int32_t members = team.members;
  team.members = 0;
  if (members)
    pn_crew_close(&team.crew);
  for (int32_t i = 0; i < members; ++i)
    pthread_join(team.threads[i], NULL);
  if (team.ready)
    pn_crew_destroy(&team.crew);
  team.ready = false;
  pthread_mutex_unlock(&team.owner);
}

/* ---- Loops -------------------------------------------------------------- */

/* The crew of the open region, on the thread that leads it. */
static _Thread_local pn_crew_t *region_crew;
static _Thread_local int32_t region_threads;

/* In a forked child the threads are gone, and with them the region that the
 * forking thread was leading. */
static void parallel_fork_child(void) {
  pthread_mutex_init(&team.owner, NULL);
  team.ready = false;
  team.members = 0;
  region_crew = NULL;
  region_threads = 0;
}

__attribute__((constructor)) static void parallel_fork_register(void) {
  (void)pn_fork_handlers_register(NULL, NULL, parallel_fork_child);
}

static int32_t chunk_count(int64_t begin, int64_t end, int64_t grain,
                           int32_t threads) {
  uint64_t total = (uint64_t)end - (uint64_t)begin;
  uint64_t chunks = (total - 1) / (uint64_t)grain + 1;
  return chunks < (uint64_t)threads ? (int32_t)chunks : threads;
}

typedef struct pn_openmp_loop {
  const pn_binding_t *binding;
  pn_job_t *job;
} pn_openmp_loop_t;

/* The runtime may grant fewer threads than asked for, inside a region of the
 * host or under a limit: those that are there run all pieces. */
static void openmp_loop_body(void *data) {
  const pn_openmp_loop_t *loop = data;
  pn_tsan_acquire(data);
  pn_job_run(loop->job, loop->binding->thread_index());
  pn_tsan_release(data);
}

static void openmp_loop_run(const pn_binding_t *binding, pn_job_t *job) {
  pn_openmp_loop_t loop = {.binding = binding, .job = job};
  pn_tsan_release(&loop);
  binding->parallel(openmp_loop_body, &loop, (unsigned)job->chunks, 0);
  pn_tsan_acquire(&loop);
}

static void team_loop_run(pn_job_t *job) {
  if (pthread_mutex_trylock(&team.owner)) {
    pn_job_run(job, 0);
    return;
  }
  if (team_grow(job->chunks) < job->chunks)
    pn_job_run(job, 0);
  else
    pn_crew_run(&team.crew, job);
  pthread_mutex_unlock(&team.owner);
}

int32_t pn_parallel_for(pn_kernel_fn kernel, const void *args, int64_t begin,
                        int64_t end, int64_t grain) {
  if (begin >= end)
    return 0;
  if (grain < 1)
    grain = 1;
  int32_t chunks = 1;
  const pn_binding_t *binding = NULL;
  if (!pn_job_in_kernel() && chunk_count(begin, end, grain, 2) > 1) {
    binding = region_crew ? NULL : pn_binding_get();
    chunks = chunk_count(begin, end, grain,
                         region_crew ? region_threads : count_for(binding));
  }
  pn_job_t job;
  pn_job_init(&job, kernel, args, begin, end, chunks, grain);
  if (chunks == 1)
    pn_job_run(&job, 0);
  else if (region_crew)
    pn_crew_run(region_crew, &job);
  else if (binding->parallel)
    openmp_loop_run(binding, &job);
  else
    team_loop_run(&job);
  return pn_job_status(&job);
}

/* ---- Regions ------------------------------------------------------------ */

typedef struct pn_region {
  pn_rt_region_fn fn;
  void *data;
  int32_t status;
  const pn_binding_t *binding;
  pn_crew_t crew;
} pn_region_t;

static int32_t region_lead(pn_crew_t *crew, int32_t threads, pn_rt_region_fn fn,
                           void *data) {
  region_crew = crew;
  region_threads = threads;
  int32_t status = fn(data);
  region_crew = NULL;
  region_threads = 0;
  return status;
}

static void openmp_region_body(void *data) {
  pn_region_t *region = data;
  pn_tsan_acquire(data);
  int32_t index = region->binding->thread_index();
  if (index) {
    pn_crew_serve(&region->crew, index, 0);
  } else {
    region->status = region_lead(&region->crew, region->binding->thread_count(),
                                 region->fn, region->data);
    pn_crew_close(&region->crew);
  }
  pn_tsan_release(data);
}

static int32_t openmp_region_run(const pn_binding_t *binding, int32_t threads,
                                 pn_rt_region_fn fn, void *data) {
  pn_region_t region = {.fn = fn, .data = data, .binding = binding};
  pn_crew_init(&region.crew, may_spin(threads));
  pn_tsan_release(&region);
  binding->parallel(openmp_region_body, &region, (unsigned)threads, 0);
  pn_tsan_acquire(&region);
  pn_crew_destroy(&region.crew);
  return region.status;
}

static int32_t team_region_run(int32_t threads, pn_rt_region_fn fn,
                               void *data) {
  if (pthread_mutex_trylock(&team.owner))
    return fn(data);
  threads = team_grow(threads);
  int32_t status = region_lead(&team.crew, threads, fn, data);
  pthread_mutex_unlock(&team.owner);
  return status;
}

int32_t pn_rt_region_run(pn_rt_region_fn fn, void *data) {
  if (pn_job_in_kernel() || region_crew)
    return fn(data);
  const pn_binding_t *binding = pn_binding_get();
  int32_t threads = count_for(binding);
  if (threads < 2)
    return fn(data);
  if (binding->parallel)
    return openmp_region_run(binding, threads, fn, data);
  return team_region_run(threads, fn, data);
}
