/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * runtime_test.c: the runtime archive alone.
 *
 * Without arguments it runs everything, and itself once a binding:
 *   --binding NAME LIBRARY   load LIBRARY ("-": none), run the parallel tests,
 *                            expect the binding NAME
 *   --bench                  cost of an empty loop (POLYNEST_OPENMP chooses)
 * Linked with --wrap for the functions that the failure tests interpose.
 */
#include "Runtime/Context.h"
#include "Runtime/Crew.h"
#include "Runtime/Environment.h"
#include "check.h"
#include "polynest/runtime.h"

#include <dlfcn.h>
#include <fenv.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Sanitizers --------------------------------------------------------- */

/* What the OpenMP runtimes do inside themselves is not ours: they are not
 * instrumented, and libomp keeps the bookkeeping of threads that ended. */
PN_EXPORT const char *__lsan_default_suppressions(void);
PN_EXPORT const char *__tsan_default_suppressions(void);
PN_EXPORT const char *__tsan_default_options(void);

const char *__lsan_default_suppressions(void) { return "leak:libomp"; }

const char *__tsan_default_suppressions(void) {
  return "race:libomp\nrace:libgomp";
}

const char *__tsan_default_options(void) { return "die_after_fork=0"; }

/* ---- Interposed functions ----------------------------------------------- */

/* Calls that still succeed before every one fails; negative: none fails. */
static _Atomic int64_t allocations_left = -1;
static _Atomic bool threads_fail;
static _Atomic int64_t clock_shift_ns;

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_mmap(void *base, size_t bytes, int protection, int flags, int file,
                  off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *data);
int __real_clock_gettime(clockid_t clock, struct timespec *out_now);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_mmap(void *base, size_t bytes, int protection, int flags, int file,
                  off_t offset);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *data);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out_now);

static bool allocation_fails(void) {
  if (atomic_load(&allocations_left) < 0)
    return false;
  if (atomic_load(&allocations_left) == 0)
    return true;
  atomic_fetch_sub(&allocations_left, 1);
  return false;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return allocation_fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_mmap(void *base, size_t bytes, int protection, int flags, int file,
                  off_t offset) {
  return allocation_fails()
             ? MAP_FAILED
             : __real_mmap(base, bytes, protection, flags, file, offset);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *data) {
  return atomic_load(&threads_fail)
             ? 11
             : __real_pthread_create(thread, attributes, start, data);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out_now) {
  int result = __real_clock_gettime(clock, out_now);
  out_now->tv_sec += atomic_load(&clock_shift_ns) / 1000000000;
  return result;
}

/* ---- Memrefs ------------------------------------------------------------ */

static char bytes_area[4096] __attribute__((aligned(64)));

static pn_memref_t memref_of(int64_t offset, int32_t rank, const int64_t *sizes,
                             const int64_t *strides) {
  return (pn_memref_t){.data = bytes_area,
                       .offset = offset,
                       .sizes = sizes,
                       .strides = strides,
                       .dtype = PN_DTYPE_F32,
                       .rank = rank};
}

static bool span_is(const pn_memref_t *memref, int64_t lo, int64_t hi) {
  uintptr_t low = 1, high = 2;
  return pn_memref_span(memref, &low, &high) == PN_ERROR_NONE &&
         (int64_t)(low - (uintptr_t)bytes_area) == lo &&
         (int64_t)(high - (uintptr_t)bytes_area) == hi;
}

static void test_memref_count(void) {
  int64_t count = -1;
  const int64_t s34[] = {3, 4}, huge[] = {INT64_MAX, 2};
  const int64_t zero[] = {INT64_MAX, INT64_MAX, 0}, bad[] = {3, -1};
  pn_memref_t m = memref_of(0, 2, s34, NULL);
  CHECK(pn_memref_element_count(&m, &count) == PN_ERROR_NONE && count == 12);
  m = memref_of(0, 0, NULL, NULL);
  CHECK(pn_memref_element_count(&m, &count) == PN_ERROR_NONE && count == 1);
  m = memref_of(0, 2, huge, NULL);
  CHECK(pn_memref_element_count(&m, &count) == PN_ERROR_ARGUMENT && !count);
  m = memref_of(0, 3, zero, NULL);
  CHECK(pn_memref_element_count(&m, &count) == PN_ERROR_NONE && count == 0);
  m = memref_of(0, 2, bad, NULL);
  CHECK(pn_memref_element_count(&m, &count) == PN_ERROR_ARGUMENT);
}

static void test_memref_check(void) {
  const int64_t s2[] = {2}, big[] = {INT64_MAX / 2}, far[] = {INT64_MAX};
  pn_memref_t m = memref_of(0, 1, s2, NULL);
  CHECK(pn_memref_check(&m) == PN_ERROR_NONE);
  CHECK(pn_memref_check(NULL) == PN_ERROR_ARGUMENT);
  m.dtype = PN_DTYPE_INVALID;
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m.dtype = 99;
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(0, 1, NULL, NULL);
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(0, -1, s2, NULL);
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(0, PN_MEMREF_RANK_MAX + 1, s2, NULL);
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(0, 1, big, NULL); /* count fits, bytes do not */
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(0, 1, s2, far);
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(INT64_MAX, 1, s2, NULL);
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(INT64_MIN / 4, 1, s2, NULL); /* below address 0 */
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  m = memref_of(0, 1, s2, NULL);
  m.data = NULL;
  CHECK(pn_memref_check(&m) == PN_ERROR_ARGUMENT);
  const int64_t s0[] = {0};
  m.sizes = s0;
  CHECK(pn_memref_check(&m) == PN_ERROR_NONE);
}

static void test_memref_span(void) {
  const int64_t s34[] = {3, 4}, s34t[] = {1, 3}, s1[] = {1}, s0[] = {0};
  const int64_t back[] = {-4, -1}, mixed[] = {16, -2}, still[] = {0, 0};
  pn_memref_t m = memref_of(0, 2, s34, NULL);
  CHECK(span_is(&m, 0, 48));
  m = memref_of(5, 2, s34, s34t);
  CHECK(span_is(&m, 20, 68));
  m = memref_of(11, 2, s34, back);
  CHECK(span_is(&m, 0, 48));
  m = memref_of(10, 2, s34, mixed); /* 10-6 .. 10+32 */
  CHECK(span_is(&m, 16, 172));
  m = memref_of(7, 2, s34, still);
  CHECK(span_is(&m, 28, 32));
  m = memref_of(3, 0, NULL, NULL);
  CHECK(span_is(&m, 12, 16));
  m = memref_of(3, 1, s1, back);
  CHECK(span_is(&m, 12, 16));
  uintptr_t lo = 1, hi = 2;
  m = memref_of(3, 1, s0, NULL);
  CHECK(pn_memref_span(&m, &lo, &hi) == PN_ERROR_NONE && lo == hi);
  const int32_t types[] = {
      PN_DTYPE_BOOL, PN_DTYPE_I8,  PN_DTYPE_I16, PN_DTYPE_F16,   PN_DTYPE_BF16,
      PN_DTYPE_I32,  PN_DTYPE_F32, PN_DTYPE_I64, PN_DTYPE_INDEX, PN_DTYPE_F64};
  const int64_t widths[] = {1, 1, 2, 2, 2, 4, 4, 8, 8, 8};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    m = memref_of(1, 0, NULL, NULL);
    m.dtype = types[i];
    CHECK(span_is(&m, widths[i], 2 * widths[i]));
  }
}

static void test_memref_overlaps(void) {
  const int64_t s4[] = {4}, s0[] = {0}, s8[] = {8};
  const int64_t two[] = {2}, back[] = {-1};
  pn_memref_t a = memref_of(0, 1, s4, NULL), b = memref_of(4, 1, s4, NULL);
  CHECK(!pn_memref_overlaps(&a, &b) && !pn_memref_overlaps(&b, &a));
  CHECK(pn_memref_overlaps(&a, &a));
  b = memref_of(3, 1, s4, NULL);
  CHECK(pn_memref_overlaps(&a, &b) && pn_memref_overlaps(&b, &a));
  b = memref_of(7, 1, s4, back); /* 4..7 from behind */
  CHECK(!pn_memref_overlaps(&a, &b));
  b = memref_of(6, 1, s4, back); /* 3..6 */
  CHECK(pn_memref_overlaps(&a, &b));
  a = memref_of(0, 1, s4, two); /* 0 2 4 6 against 1 3 5 7: conservative */
  b = memref_of(1, 1, s4, two);
  CHECK(pn_memref_overlaps(&a, &b));
  b = memref_of(2, 1, s0, NULL); /* inside, but empty */
  a = memref_of(0, 1, s8, NULL);
  CHECK(!pn_memref_overlaps(&a, &b) && !pn_memref_overlaps(&b, &a));
  CHECK(!pn_memref_overlaps(&b, &b));
  b = memref_of(2, -1, s0, NULL);
  CHECK(pn_memref_overlaps(&a, &b));
}

static void test_memref_contiguity(void) {
  const int64_t s34[] = {3, 4}, s31[] = {3, 1}, s13[] = {1, 3}, s30[] = {3, 0};
  const int64_t row[] = {4, 1}, column[] = {1, 3}, gap[] = {5, 1};
  const int64_t odd[] = {1, 77}, odd2[] = {77, 1}, back[] = {4, -1};
  pn_memref_t m = memref_of(2, 2, s34, NULL);
  CHECK(pn_memref_is_contiguous(&m));
  m = memref_of(2, 2, s34, row);
  CHECK(pn_memref_is_contiguous(&m));
  m = memref_of(0, 2, s34, column);
  CHECK(!pn_memref_is_contiguous(&m));
  m = memref_of(0, 2, s34, gap);
  CHECK(!pn_memref_is_contiguous(&m));
  m = memref_of(9, 2, s34, back);
  CHECK(!pn_memref_is_contiguous(&m));
  m = memref_of(0, 2, s31, odd);
  CHECK(pn_memref_is_contiguous(&m));
  m = memref_of(0, 2, s13, odd2);
  CHECK(pn_memref_is_contiguous(&m));
  m = memref_of(0, 2, s30, gap);
  CHECK(pn_memref_is_contiguous(&m));
  m = memref_of(0, 0, NULL, NULL);
  CHECK(pn_memref_is_contiguous(&m));
  m = memref_of(0, 99, NULL, NULL);
  CHECK(!pn_memref_is_contiguous(&m));
}

static void test_memref_descriptor(void) {
  struct {
    void *allocated, *aligned;
    int64_t offset, sizes[3], strides[3];
  } d;
  const int64_t s234[] = {2, 3, 4}, strides[] = {-7, 0, 2};
  const int64_t s050[] = {INT64_MAX, INT64_MAX, 0};
  CHECK(pn_memref_descriptor_size(3) == sizeof d);
  CHECK(pn_memref_descriptor_size(0) == 24);
  CHECK(pn_memref_descriptor_size(-1) == 0);
  CHECK(pn_memref_descriptor_size(PN_MEMREF_RANK_MAX + 1) == 0);
  pn_memref_t m = memref_of(5, 3, s234, NULL);
  CHECK(pn_memref_descriptor_fill(&m, &d) == PN_ERROR_NONE);
  CHECK(d.allocated == bytes_area && d.aligned == bytes_area && d.offset == 5);
  CHECK(d.sizes[0] == 2 && d.sizes[1] == 3 && d.sizes[2] == 4);
  CHECK(d.strides[0] == 12 && d.strides[1] == 4 && d.strides[2] == 1);
  m = memref_of(20, 3, s234, strides);
  CHECK(pn_memref_descriptor_fill(&m, &d) == PN_ERROR_NONE);
  CHECK(d.strides[0] == -7 && d.strides[1] == 0 && d.strides[2] == 2);
  m = memref_of(0, 3, s050, NULL);
  CHECK(pn_memref_descriptor_fill(&m, &d) == PN_ERROR_NONE);
  CHECK(d.sizes[0] == INT64_MAX && d.sizes[2] == 0 && d.strides[2] == 1);
  m = memref_of(0, -1, s234, NULL);
  CHECK(pn_memref_descriptor_fill(&m, &d) == PN_ERROR_ARGUMENT);
}

/* ---- Pool and context --------------------------------------------------- */

static pn_pool_stats_t stats_get(void) {
  pn_pool_stats_t stats;
  pn_pool_stats_get(&stats);
  return stats;
}

/* Every size class: alignment, whole block writable, waste within bounds. */
static void test_pool_classes(void) {
  for (size_t bytes = 0; bytes < (size_t)9 << 20;
       bytes += bytes < 5000 ? 1 : bytes / 9 + 1) {
    uint64_t before = stats_get().bytes_used;
    char *block = pn_pool_alloc(bytes);
    uint64_t taken = stats_get().bytes_used - before;
    CHECK(block != NULL);
    CHECK((uintptr_t)block % PN_POOL_ALIGNMENT == 0);
    CHECK(bytes < PN_POOL_HUGE_BYTES ||
          (uintptr_t)block % PN_POOL_HUGE_BYTES == 0);
    CHECK(taken >= bytes);
    CHECK(bytes <= 512 ? taken <= (bytes ? bytes + 63 : 64)
                       : (taken - bytes) * 8 <= bytes);
    memset(block, 0xa5, bytes);
    pn_pool_free(block);
  }
  pn_pool_trim(0);
  CHECK(stats_get().bytes_held == stats_get().bytes_used);
}

static void test_pool_recycles(void) {
  pn_pool_trim(0);
  pn_pool_stats_t before = stats_get();
  char *a = pn_pool_alloc(1000), *b = pn_pool_alloc(1000);
  CHECK(a && b && a != b);
  CHECK(stats_get().misses == before.misses + 2);
  pn_pool_free(a);
  pn_pool_free(b);
  CHECK(stats_get().bytes_used == before.bytes_used);
  CHECK(stats_get().bytes_held == before.bytes_held + 2 * 1024);
  CHECK(pn_pool_alloc(961) == b); /* last in, first out; the same class */
  CHECK(pn_pool_alloc(1024) == a);
  CHECK(stats_get().hits == before.hits + 2);
  pn_pool_free(a);
  pn_pool_free(b);
  pn_pool_free(NULL);
  char *c = pn_pool_alloc(2048); /* another class */
  CHECK(c != a && c != b);
  pn_pool_free(c);
  pn_pool_trim(0);
}

static void test_pool_limits(void) {
  pn_pool_trim(0);
  CHECK(stats_get().bytes_limit > 0);
  CHECK(stats_get().bytes_limit <= UINT64_C(1) << 30);
  uint64_t used = stats_get().bytes_used;
  pn_pool_limit_set(3 * 4096);
  char *blocks[5];
  for (int i = 0; i < 5; ++i)
    blocks[i] = pn_pool_alloc(4096);
  for (int i = 0; i < 5; ++i)
    pn_pool_free(blocks[i]);
  CHECK(stats_get().bytes_held - used == 3 * 4096);
  for (int i = 4; i >= 2; --i) /* 0 and 1, the oldest, were evicted */
    CHECK(pn_pool_alloc(4096) == blocks[i]);
  for (int i = 2; i < 5; ++i)
    pn_pool_free(blocks[i]);
  pn_pool_trim(4096);
  CHECK(stats_get().bytes_held - used == 4096);
  CHECK(pn_pool_alloc(4096) == blocks[4]);
  pn_pool_limit_set(0);
  pn_pool_free(blocks[4]);
  CHECK(stats_get().bytes_held == used);
  pn_pool_limit_set((size_t)1 << 30);
}

static void test_pool_idle(void) {
  pn_pool_trim(0);
  uint64_t used = stats_get().bytes_used;
  char *a = pn_pool_alloc(10000), *b = pn_pool_alloc((size_t)3 << 20);
  pn_pool_free(a);
  atomic_store(&clock_shift_ns, INT64_C(20000000000));
  pn_pool_free(b);
  CHECK(stats_get().bytes_held > used + 3 * 1000000);
  atomic_store(&clock_shift_ns, INT64_C(40000000000));
  pn_pool_free(pn_pool_alloc(64)); /* a is 40 s old, b 20 s */
  CHECK(stats_get().bytes_held - used == ((uint64_t)3 << 20) + 64);
  atomic_store(&clock_shift_ns, 0);
  pn_pool_trim(0);
}

static void test_pool_too_large(void) {
  CHECK(!pn_pool_alloc(SIZE_MAX));
  CHECK(!pn_pool_alloc(((size_t)1 << 46) + 1));
  CHECK(!pn_pool_alloc((size_t)1 << 63));
}

/* Fails the n-th system allocation for n = 0, 1, ..; nothing may be lost. */
static void test_allocation_failures(void) {
  pn_pool_trim(0);
  uint64_t used = stats_get().bytes_used;
  bool complete = false;
  for (int64_t n = 0; n < 20 && !complete; ++n) {
    atomic_store(&allocations_left, n);
    pn_rt_context_t *ctx = pn_rt_context_create();
    void *arena = ctx ? pn_rt_arena(ctx, 1000) : NULL;
    void *grown = ctx ? pn_rt_arena(ctx, 5 << 20) : NULL;
    void *temporary = ctx ? pn_rt_alloc(ctx, 100) : NULL;
    void *large = pn_pool_alloc((size_t)4 << 20);
    complete = ctx && arena && grown && temporary && large;
    CHECK(n > 0 || (!ctx && !large));
    pn_pool_free(large);
    pn_rt_context_destroy(ctx);
    atomic_store(&allocations_left, -1);
    pn_pool_trim(0);
    CHECK(stats_get().bytes_used == used && stats_get().bytes_held == used);
  }
  CHECK(complete);
}

/* A refusal by the system gives cached blocks of other classes back first. */
static void test_pool_trims_before_failing(void) {
  pn_pool_free(pn_pool_alloc(5000));
  atomic_store(&allocations_left, 0);
  CHECK(!pn_pool_alloc(100000));
  atomic_store(&allocations_left, -1);
  CHECK(stats_get().bytes_held == stats_get().bytes_used);
}

static void *pool_thread(void *data) {
  unsigned seed = (unsigned)(uintptr_t)data;
  unsigned char *blocks[16] = {0};
  for (int i = 0; i < 3000; ++i) {
    seed = seed * 1664525u + 1013904223u;
    unsigned slot = seed >> 28;
    if (blocks[slot])
      CHECK(blocks[slot][0] == (unsigned char)slot);
    pn_pool_free(blocks[slot]);
    blocks[slot] = pn_pool_alloc((seed >> 8) % 20000 + 1);
    CHECK(blocks[slot] != NULL);
    blocks[slot][0] = (unsigned char)slot;
    if (i % 500 == 0)
      pn_pool_trim(10000);
  }
  for (int slot = 0; slot < 16; ++slot)
    pn_pool_free(blocks[slot]);
  return NULL;
}

static void test_pool_threads(void) {
  pthread_t threads[4];
  uint64_t used = stats_get().bytes_used;
  for (uintptr_t i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, pool_thread, (void *)(i + 1));
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  CHECK(stats_get().bytes_used == used);
}

static void test_context(void) {
  uint64_t used = stats_get().bytes_used;
  pn_rt_context_t *ctx = pn_rt_context_create();
  char *arena = pn_rt_arena(ctx, 0);
  CHECK(arena && (uintptr_t)arena % 64 == 0);
  arena = pn_rt_arena(ctx, 100000);
  CHECK(arena && (uintptr_t)arena % 64 == 0);
  memset(arena, 1, 100000);
  uint64_t misses = stats_get().misses, hits = stats_get().hits;
  CHECK(pn_rt_arena(ctx, 100000) == arena);
  CHECK(pn_rt_arena(ctx, 5) == arena);
  CHECK(stats_get().misses == misses && stats_get().hits == hits);
  CHECK(!pn_rt_arena(ctx, -1) && !pn_rt_alloc(ctx, -1));
  CHECK(!pn_rt_alloc(NULL, INT64_MIN));
  char *t[5];
  for (int i = 0; i < 5; ++i)
    CHECK((t[i] = pn_rt_alloc(ctx, 300)) && (uintptr_t)t[i] % 64 == 0);
  pn_rt_free(ctx, t[2]); /* middle, newest, oldest */
  pn_rt_free(ctx, t[4]);
  pn_rt_free(ctx, t[0]);
  pn_rt_free(ctx, NULL);
  pn_rt_context_reset(ctx); /* frees 1 and 3 */
  CHECK(stats_get().bytes_used < used + 120000);
  CHECK(pn_rt_arena(ctx, 100000) == arena);
  CHECK(pn_rt_alloc(ctx, 300) != NULL); /* left to destroy */
  char *loose = pn_rt_alloc(NULL, 300);
  pn_rt_context_destroy(ctx);
  pn_rt_free(NULL, loose);
  pn_rt_context_destroy(NULL);
  pn_rt_context_reset(NULL);
  CHECK(!pn_rt_arena(NULL, 64));
  CHECK(stats_get().bytes_used == used);
}

/* Arenas of contexts that rest are those of others; the smallest that fits is,
 * and where none does, a larger one comes in the place of the largest. */
static void test_resting_arenas(void) {
  uint64_t used = stats_get().bytes_used;
  pn_rt_context_t *a = pn_rt_context_create(), *b = pn_rt_context_create();
  pn_rt_context_t *c = pn_rt_context_create();
  int64_t mib = 1 << 20;
  void *small = pn_rt_arena(a, 4 * mib), *large = pn_rt_arena(b, 8 * mib);
  CHECK(small && large && small != large);
  uint64_t both = stats_get().bytes_used;
  pn_rt_context_rest(a);
  pn_rt_context_rest(b);
  pn_rt_context_rest(b); /* has none now */
  CHECK(stats_get().bytes_used == both);
  CHECK(pn_rt_arena(c, 3 * mib) == small);
  CHECK(pn_rt_arena(c, 4 * mib) == small);
  CHECK(pn_rt_arena(a, 5 * mib) == large);
  CHECK(pn_rt_arena(a, 8 * mib) == large);
  memset(large, 1, (size_t)(8 * mib));
  pn_rt_context_rest(c);
  pn_rt_context_rest(a);
  CHECK(pn_rt_arena(b, 9 * mib) != NULL);
  CHECK(stats_get().bytes_used == both + (uint64_t)mib);
  /* Small ones stay with their contexts. */
  void *own = pn_rt_arena(c, 1000);
  pn_rt_context_rest(c);
  CHECK(own && pn_rt_arena(c, 1000) == own);
  /* All of a block may be used. */
  CHECK(pn_rt_arena(c, 1024) == own);
  memset(own, 1, 1024);
  pn_rt_context_rest(NULL);
  pn_rt_context_rest(b);
  pn_rt_context_destroy(a);
  pn_rt_context_destroy(b);
  pn_rt_context_destroy(c);
  CHECK(stats_get().bytes_used == used);
}

/* ---- Thread count ------------------------------------------------------- */

static int32_t count_with(const char *own, const char *openmp) {
  if (own)
    setenv("POLYNEST_NUM_THREADS", own, 1);
  else
    unsetenv("POLYNEST_NUM_THREADS");
  if (openmp)
    setenv("OMP_NUM_THREADS", openmp, 1);
  else
    unsetenv("OMP_NUM_THREADS");
  CHECK(pn_thread_count_set(0) == PN_ERROR_NONE);
  return pn_thread_count_get();
}

static void test_thread_count(void) {
  int32_t machine = count_with(NULL, NULL);
  CHECK(machine >= 1);
  CHECK(count_with(NULL, "3") == 3);
  CHECK(count_with(NULL, "3,2") == 3);
  CHECK(count_with("5", "3") == 5);
  CHECK(count_with(" 5 ", "3") == 5);
  CHECK(count_with("", "3") == 3);
  CHECK(count_with("0", "3") == 3);
  CHECK(count_with("-4", "3") == 3);
  CHECK(count_with("many", "2x") == machine);
  CHECK(count_with("99999999999999999999", NULL) == machine);
  CHECK(count_with("99999", NULL) == PN_THREAD_COUNT_MAX);
  CHECK(count_with("5", "3") == 5);
  CHECK(pn_thread_count_set(7) == PN_ERROR_NONE);
  CHECK(pn_thread_count_get() == 7);
  CHECK(pn_thread_count_set(-1) == PN_ERROR_ARGUMENT);
  CHECK(pn_thread_count_set(PN_THREAD_COUNT_MAX + 1) == PN_ERROR_ARGUMENT);
  CHECK(pn_thread_count_get() == 7);
  CHECK(count_with(NULL, NULL) == machine);
}

static void *other_count(void *user) {
  *(int32_t *)user = pn_thread_count_get();
  return NULL;
}

/* Of one thread, in place of what holds for all. */
static void test_thread_count_override(void) {
  CHECK(pn_thread_count_set(7) == PN_ERROR_NONE);
  CHECK(pn_thread_count_override(3) == 0);
  CHECK(pn_thread_count_get() == 3);
  CHECK(pn_thread_count_override(-1) == -1);
  CHECK(pn_thread_count_override(PN_THREAD_COUNT_MAX + 1) == -1);
  CHECK(pn_thread_count_get() == 3);
  pthread_t thread;
  int32_t count = 0;
  CHECK(pthread_create(&thread, NULL, other_count, &count) == 0);
  CHECK(pthread_join(thread, NULL) == 0 && count == 7);
  CHECK(pn_thread_count_override(PN_THREAD_COUNT_MAX) == 3);
  CHECK(pn_thread_count_override(0) == PN_THREAD_COUNT_MAX);
  CHECK(pn_thread_count_get() == 7);
  CHECK(pn_thread_count_set(0) == PN_ERROR_NONE);
}

/* ---- Loops -------------------------------------------------------------- */

static void pause_us(long us) {
  struct timespec time = {.tv_nsec = us * 1000};
  nanosleep(&time, NULL);
}

#define HIT_COUNT 1000

typedef struct hits {
  _Atomic int32_t visits[HIT_COUNT];
  _Atomic int32_t chunks;
  int64_t base;
} hits_t;

static int32_t hit_kernel(const void *args, int64_t begin, int64_t end) {
  hits_t *hits = *(hits_t *const *)args;
  atomic_fetch_add(&hits->chunks, 1);
  for (int64_t i = begin; i < end; ++i)
    atomic_fetch_add(&hits->visits[i - hits->base], 1);
  return 0;
}

static void hits_check(int64_t base, int64_t count, int64_t grain,
                       int32_t threads) {
  static hits_t hits;
  memset(&hits, 0, sizeof hits);
  hits.base = base;
  hits_t *args = &hits;
  CHECK(pn_parallel_for(hit_kernel, &args, base, base + count, grain) == 0);
  for (int64_t i = 0; i < HIT_COUNT; ++i)
    CHECK(hits.visits[i] == (i < count));
  CHECK(hits.chunks <= threads * PN_JOB_PIECES_MAX);
  CHECK(grain < 1 || count == 0 || hits.chunks <= (count - 1) / grain + 1);
  CHECK(count == 0 || hits.chunks >= 1);
  CHECK(count > grain || hits.chunks <= 1);
}

static void test_loop_covers(void) {
  static const int32_t threads[] = {1, 2, 3, 4, 8, 17};
  static const int64_t counts[] = {0, 1, 2, 3, 7, 16, 999, 1000};
  static const int64_t grains[] = {INT64_MIN, 0, 1, 3, 400, INT64_MAX};
  for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
    CHECK(pn_thread_count_set(threads[t]) == PN_ERROR_NONE);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
      for (size_t g = 0; g < sizeof grains / sizeof *grains; ++g)
        hits_check(c % 2 ? -5 : 3, counts[c], grains[g], threads[t]);
  }
  static hits_t untouched;
  hits_t *args = &untouched;
  CHECK(pn_parallel_for(hit_kernel, &args, 5, 4, 1) == 0);
  CHECK(untouched.chunks == 0);
}

/* Iteration 0 waits for all others but those after it in its piece, which can
 * only be run by a thread that takes pieces of another's part. */
typedef struct helped {
  _Atomic int32_t done;
  int32_t wanted;
} helped_t;

static int32_t helped_kernel(const void *args, int64_t begin, int64_t end) {
  helped_t *helped = *(helped_t *const *)args;
  if (begin == 0)
    for (int i = 0; helped->done < helped->wanted; ++i) {
      if (i == 20000)
        return 8;
      pause_us(1000);
    }
  atomic_fetch_add(&helped->done, (int32_t)(end - begin));
  return 0;
}

static int32_t helped_region(void *data) {
  helped_t *helped = data;
  return pn_parallel_for(helped_kernel, &helped, 0, helped->wanted + 1, 1);
}

static void test_loop_helps(void) {
  CHECK(pn_thread_count_set(2) == PN_ERROR_NONE);
  for (int repeat = 0; repeat < 10; ++repeat) {
    helped_t loop = {.wanted = 15}, region = {.wanted = 15};
    CHECK(helped_region(&loop) == 0 && loop.done == 16);
    CHECK(pn_rt_region_run(helped_region, &region) == 0 && region.done == 16);
  }
}

/* Nobody comes: the leader does all of it and does not wait. Who comes after it
 * finds nothing. */
static void *late_main(void *crew) {
  pn_crew_serve(crew, 1, 0);
  return NULL;
}

static void test_loop_alone(void) {
  static hits_t hits;
  hits_t *args = &hits;
  pn_crew_t crew;
  pn_job_t job;
  pthread_t late;
  pn_crew_init(&crew, false);
  for (int32_t repeat = 1; repeat <= 3; ++repeat) {
    pn_job_init(&job, hit_kernel, &args, 0, HIT_COUNT, 4, 1);
    pn_crew_run(&crew, &job);
    CHECK(pn_job_status(&job) == 0);
    for (int64_t i = 0; i < HIT_COUNT; ++i)
      CHECK(hits.visits[i] == repeat);
  }
  pn_job_init(&job, hit_kernel, &args, 0, HIT_COUNT, 4, 1);
  CHECK(pthread_create(&late, NULL, late_main, &crew) == 0);
  pause_us(20000);
  pn_crew_close(&crew);
  CHECK(pthread_join(late, NULL) == 0);
  CHECK(hits.visits[0] == 3 && hits.visits[HIT_COUNT - 1] == 3);
  pn_crew_destroy(&crew);
}

/* Moves where it may, and may afterwards run where it might before. The system
 * may move it back at once, but not each time. */
static void *leave_main(void *data) {
  cpu_set_t before, after, one;
  bool has_moved = pn_env_processor_count() == 1;
  (void)data;
  if (sched_getaffinity(0, sizeof(before), &before))
    return NULL; /* more processors than such a set names */
  for (int tries = 0; tries < 100 && !has_moved; ++tries) {
    int32_t here = pn_env_processor();
    CHECK(pn_env_leave_processor(here));
    has_moved = pn_env_processor() != here;
  }
  CHECK(has_moved);
  CHECK(!pn_env_leave_processor(-1));
  CHECK(!pn_env_leave_processor(INT32_MAX));
  CHECK(!sched_getaffinity(0, sizeof(after), &after) &&
        CPU_EQUAL(&before, &after));
  CPU_ZERO(&one);
  CPU_SET((size_t)pn_env_processor(), &one);
  CHECK(!sched_setaffinity(0, sizeof(one), &one));
  CHECK(!pn_env_leave_processor(pn_env_processor()));
  CHECK(!sched_getaffinity(0, sizeof(after), &after) &&
        CPU_EQUAL(&one, &after));
  return NULL;
}

static void test_leave_processor(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, leave_main, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static int32_t width_kernel(const void *args, int64_t begin, int64_t end) {
  _Atomic uint64_t *sum = *(_Atomic uint64_t *const *)args;
  atomic_fetch_add(sum, (uint64_t)end - (uint64_t)begin);
  return begin < end ? 0 : 9;
}

static void test_loop_extremes(void) {
  CHECK(pn_thread_count_set(3) == PN_ERROR_NONE);
  _Atomic uint64_t sum = 0, *args = &sum;
  CHECK(!pn_parallel_for(width_kernel, &args, INT64_MIN, INT64_MAX, 1));
  CHECK(sum == UINT64_MAX);
  sum = 0;
  CHECK(!pn_parallel_for(width_kernel, &args, INT64_MIN, INT64_MAX, INT64_MAX));
  CHECK(sum == UINT64_MAX);
}

/* Fails where the bit of the chunk's first eighth is set in the mask. */
static int32_t fail_kernel(const void *args, int64_t begin, int64_t end) {
  int64_t mask = *(const int64_t *)args;
  (void)end;
  return mask >> begin & 1 ? (int32_t)(begin * 10 - 25) : 0;
}

static void test_loop_status(void) {
  CHECK(pn_thread_count_set(4) == PN_ERROR_NONE);
  for (int repeat = 0; repeat < 20; ++repeat)
    for (int64_t mask = 0; mask < 16; ++mask) {
      int32_t status = pn_parallel_for(fail_kernel, &mask, 0, 4, 1);
      int32_t lowest = mask ? __builtin_ctz((unsigned)mask) : 0;
      CHECK(status == (mask ? lowest * 10 - 25 : 0)); /* also negative ones */
    }
  CHECK(pn_thread_count_set(1) == PN_ERROR_NONE);
  int64_t mask = 1;
  CHECK(pn_parallel_for(fail_kernel, &mask, 0, 4, 1) == -25);
}

static int32_t inner_kernel(const void *args, int64_t begin, int64_t end) {
  const pthread_t *outer = args;
  return pthread_equal(*outer, pthread_self()) && begin == 0 && end == 50 ? 0
                                                                          : 4;
}

static int32_t region_inner(void *data) {
  return pn_parallel_for(inner_kernel, data, 0, 50, 1);
}

static int32_t outer_kernel(const void *args, int64_t begin, int64_t end) {
  pthread_t self = pthread_self();
  (void)args;
  for (int64_t i = begin; i < end; ++i)
    if (pn_parallel_for(inner_kernel, &self, 0, 50, 1) ||
        pn_rt_region_run(region_inner, &self))
      return 5;
  return 0;
}

static void test_loop_nested(void) {
  CHECK(pn_thread_count_set(4) == PN_ERROR_NONE);
  for (int repeat = 0; repeat < 50; ++repeat)
    CHECK(pn_parallel_for(outer_kernel, NULL, 0, 16, 1) == 0);
}

static int32_t sum_kernel(const void *args, int64_t begin, int64_t end) {
  _Atomic int64_t *sum = *(_Atomic int64_t *const *)args;
  int64_t part = 0;
  for (int64_t i = begin; i < end; ++i)
    part += i;
  atomic_fetch_add(sum, part);
  return 0;
}

static int64_t sum_to(int64_t count) {
  _Atomic int64_t sum = 0, *args = &sum;
  CHECK(pn_parallel_for(sum_kernel, &args, 0, count, 1) == 0);
  return sum;
}

static int32_t sum_region(void *data) {
  int64_t *total = data;
  for (int i = 0; i < 5; ++i)
    *total += sum_to(100);
  return 11;
}

static void *caller_thread(void *data) {
  (void)data;
  for (int i = 0; i < 100; ++i) {
    int64_t total = 0;
    CHECK(sum_to(1000) == 499500);
    CHECK(pn_rt_region_run(sum_region, &total) == 11 && total == 5 * 4950);
  }
  return NULL;
}

static void test_loop_callers(void) {
  CHECK(pn_thread_count_set(3) == PN_ERROR_NONE);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, caller_thread, NULL);
  caller_thread(NULL);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
}

/* Regions in regions, statuses, pauses that send the workers to sleep, and slow
 * workers that send the leader to sleep. */
static int32_t slow_kernel(const void *args, int64_t begin, int64_t end) {
  (void)args;
  (void)end;
  if (begin)
    pause_us(1000);
  return begin == 2 ? 6 : 0;
}

static int32_t region_body(void *data) {
  int64_t *total = data;
  for (int i = 0; i < 20; ++i) {
    *total += sum_to(1000);
    CHECK(sum_to(2) == 1);
    if (i % 5 == 0)
      pause_us(500);
  }
  CHECK(pn_parallel_for(slow_kernel, NULL, 0, 3, 1) == 6);
  CHECK(pn_parallel_for(outer_kernel, NULL, 0, 16, 1) == 0);
  int64_t inner = 0;
  CHECK(pn_rt_region_run(sum_region, &inner) == 11 && inner == 5 * 4950);
  CHECK(pn_thread_count_set(2) == PN_ERROR_NONE);
  CHECK(sum_to(1000) == 499500);
  return 42;
}

static void test_region(void) {
  static const int32_t threads[] = {1, 2, 3, 8};
  for (int repeat = 0; repeat < 10; ++repeat)
    for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
      CHECK(pn_thread_count_set(threads[t]) == PN_ERROR_NONE);
      int64_t total = 0;
      /* One thread runs chunk 0 of slow_kernel alone: no failure there. */
      if (threads[t] >= 3)
        CHECK(pn_rt_region_run(region_body, &total) == 42 &&
              total == 20 * 499500);
      else
        CHECK(pn_rt_region_run(sum_region, &total) == 11);
    }
}

static int32_t round_kernel(const void *args, int64_t begin, int64_t end) {
  float *thirds = *(float *const *)args;
  volatile float one = 1.0f, three = 3.0f;
  for (int64_t i = begin; i < end; ++i)
    thirds[i] = one / three;
  return 0;
}

static void test_loop_rounding(void) {
  CHECK(pn_thread_count_set(4) == PN_ERROR_NONE);
  float thirds[8], *args = thirds;
  volatile float one = 1.0f, three = 3.0f;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TONEAREST};
  for (int m = 0; m < 3; ++m) {
    fesetround(modes[m]);
    float expected = one / three;
    CHECK(pn_parallel_for(round_kernel, &args, 0, 8, 1) == 0);
    fesetround(FE_TONEAREST);
    for (int i = 0; i < 8; ++i)
      CHECK(thirds[i] == expected);
  }
}

/* A child that does not come back is killed by its alarm. */
static void child_check(void (*body)(void)) {
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);
    atomic_store(&check_failures, 0);
    body();
    _exit(check_result());
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void child_body(void) {
  int64_t total = 0;
  CHECK(pn_thread_count_set(3) == PN_ERROR_NONE);
  for (int i = 0; i < 20; ++i)
    CHECK(sum_to(1000) == 499500);
  CHECK(pn_rt_region_run(sum_region, &total) == 11 && total == 5 * 4950);
  void *block = pn_pool_alloc(100);
  CHECK(block != NULL);
  pn_pool_free(block);
}

static void grandchild_body(void) {
  child_body();
  child_check(child_body);
}

static void test_fork(void) {
  CHECK(pn_thread_count_set(3) == PN_ERROR_NONE);
  CHECK(sum_to(1000) == 499500);
  child_check(grandchild_body);
  CHECK(sum_to(1000) == 499500);
}

/* Forks while other threads are in loops, regions and the pool. */
static _Atomic bool noise_over;

static void *noise_thread(void *data) {
  while (!atomic_load(&noise_over)) {
    int64_t total = 0;
    pn_pool_free(pn_pool_alloc(1000));
    CHECK(pn_rt_region_run(sum_region, &total) == 11);
  }
  return data;
}

static void test_fork_amid_calls(void) {
  pthread_t threads[2];
  atomic_store(&noise_over, false);
  for (int i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, noise_thread, NULL);
  for (int i = 0; i < 5; ++i)
    child_check(child_body);
  atomic_store(&noise_over, true);
  for (int i = 0; i < 2; ++i)
    pthread_join(threads[i], NULL);
}

/* Before anything is bound. */
static void test_fork_first(void) {
  CHECK(!strcmp(pn_parallel_runtime_name(), "unbound"));
  child_check(child_body);
  CHECK(!strcmp(pn_parallel_runtime_name(), "unbound"));
}

static void test_thread_failure(void) {
  atomic_store(&threads_fail, true);
  CHECK(pn_thread_count_set(PN_THREAD_COUNT_MAX) == PN_ERROR_NONE);
  CHECK(sum_to(100000) == INT64_C(4999950000));
  int64_t total = 0;
  CHECK(pn_rt_region_run(sum_region, &total) == 11 && total == 5 * 4950);
  atomic_store(&threads_fail, false);
}

/* ---- Bindings ----------------------------------------------------------- */

static int openmp_visit(struct dl_phdr_info *info, size_t bytes, void *data) {
  int *count = data;
  (void)bytes;
  *count += strstr(info->dlpi_name, "libgomp") != NULL ||
            strstr(info->dlpi_name, "libomp") != NULL;
  return 0;
}

static int openmp_count(void) {
  int count = 0;
  dl_iterate_phdr(openmp_visit, &count);
  return count;
}

/* What the host set holds, unless our own setting says otherwise. */
static void host_count_check(void *library) {
  void (*set)(int) = NULL;
  void *symbol = dlsym(library, "omp_set_num_threads");
  memcpy(&set, &symbol, sizeof set);
  CHECK(set != NULL && pn_thread_count_set(0) == PN_ERROR_NONE);
  set(1);
  CHECK(pn_thread_count_get() == 1);
  set(5);
  CHECK(pn_thread_count_get() == 5);
  CHECK(pn_thread_count_set(2) == PN_ERROR_NONE);
  CHECK(pn_thread_count_get() == 2);
}

/* Calls from inside a region of the host, where no second level of threads is
 * to be had: every chunk is run all the same. */
static void host_region_body(void *data) {
  int64_t total = 0;
  (void)data;
  CHECK(strcmp(pn_parallel_runtime_name(), "threads") ||
        pn_thread_count_get() == 1);
  CHECK(sum_to(1000) == 499500);
  CHECK(pn_rt_region_run(sum_region, &total) == 11 && total == 5 * 4950);
}

static void host_region_check(void *library) {
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = NULL;
  void *symbol = dlsym(library, "GOMP_parallel");
  memcpy(&parallel, &symbol, sizeof parallel);
  CHECK(parallel != NULL && pn_thread_count_set(4) == PN_ERROR_NONE);
  for (int repeat = 0; repeat < 10; ++repeat)
    parallel(host_region_body, NULL, 3, 0);
}

static int binding_main(const char *name, const char *library) {
  void *handle = NULL;
  if (strcmp(library, "-")) {
    handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle != NULL);
  }
  CHECK_RUN(test_fork_first);
  CHECK_RUN(test_loop_covers);
  CHECK(!strcmp(pn_parallel_runtime_name(), name));
  CHECK_RUN(test_loop_helps);
  CHECK_RUN(test_loop_alone);
  CHECK_RUN(test_loop_extremes);
  CHECK_RUN(test_loop_status);
  CHECK_RUN(test_loop_nested);
  CHECK_RUN(test_loop_callers);
  CHECK_RUN(test_region);
  CHECK_RUN(test_loop_rounding);
  CHECK_RUN(test_fork);
  CHECK_RUN(test_fork_amid_calls);
  if (!strcmp(name, "threads"))
    CHECK_RUN(test_thread_failure);
  const char *choice = getenv("POLYNEST_OPENMP");
  if (handle && (!choice || !strcmp(choice, "any"))) {
    CHECK(openmp_count() == 1);
    host_region_check(handle);
    host_count_check(handle);
  }
  printf("binding %s: %s\n", pn_parallel_runtime_name(),
         check_result() ? "FAILED" : "ok");
  return check_result();
}

static void binding_spawn(const char *choice, const char *name,
                          const char *library) {
  printf("-- POLYNEST_OPENMP=%s, loaded %s, expected %s\n",
         choice ? choice : "", library, name);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(300);
    unsetenv("OMP_NUM_THREADS");
    unsetenv("POLYNEST_NUM_THREADS");
    if (choice)
      setenv("POLYNEST_OPENMP", choice, 1);
    else
      unsetenv("POLYNEST_OPENMP");
    execl("/proc/self/exe", "runtime-test", "--binding", name, library,
          (char *)NULL);
    _exit(127);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Where a library of that name was loaded from; false: not installed. The
 * lookup happens in a child, so that this process stays clean. */
static bool library_find(const char *file, char *out_path, size_t bytes) {
  int pipe_ends[2];
  if (pipe(pipe_ends))
    return false;
  pid_t child = fork();
  if (child == 0) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) ||
        write(pipe_ends[1], map->l_name, strlen(map->l_name)) < 1)
      _exit(1);
    _exit(0);
  }
  int status = -1;
  close(pipe_ends[1]);
  ssize_t length = read(pipe_ends[0], out_path, bytes - 1);
  close(pipe_ends[0]);
  out_path[length < 0 ? 0 : length] = 0;
  return waitpid(child, &status, 0) == child && status == 0 && length > 0;
}

static void file_copy(const char *from, const char *to) {
  char buffer[65536];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  size_t count;
  CHECK(in && out);
  while (in && out && (count = fread(buffer, 1, sizeof buffer, in)))
    CHECK(fwrite(buffer, 1, count, out) == count);
  if (in)
    fclose(in);
  if (out)
    fclose(out);
}

/* A bundled copy under a hashed name, as frameworks ship it. */
static void hashed_check(const char *choice, const char *path, const char *file,
                         const char *name) {
  char directory[] = "/tmp/polynest-runtime-XXXXXX", copy[128];
  CHECK(mkdtemp(directory) != NULL);
  snprintf(copy, sizeof copy, "%s/%s", directory, file);
  file_copy(path, copy);
  binding_spawn(choice, name, copy);
  unlink(copy);
  rmdir(directory);
}

static void bindings_check(void) {
  char gomp[4096], omp[4096];
  bool has_gomp = library_find("libgomp.so.1", gomp, sizeof gomp);
  bool has_omp = library_find("libomp.so.5", omp, sizeof omp);
  binding_spawn("none", "threads", "-");
  binding_spawn(NULL, "threads", "-");
  binding_spawn("any",
                has_gomp  ? "libgomp"
                : has_omp ? "libomp"
                          : "threads",
                "-");
  binding_spawn("libgomp", has_gomp ? "libgomp" : "threads", "-");
  binding_spawn("libomp", has_omp ? "libomp" : "threads", "-");
  if (has_gomp) {
    binding_spawn("none", "threads", "libgomp.so.1");
    binding_spawn(NULL, "threads", "libgomp.so.1");
    binding_spawn("any", "libgomp", "libgomp.so.1");
    hashed_check("any", gomp, "libgomp-a34b3233.so.1", "libgomp");
    hashed_check(NULL, gomp, "libgomp-a34b3233.so.1", "threads");
  }
  if (has_omp) {
    binding_spawn(NULL, "threads", "libomp.so.5");
    binding_spawn("any", "libomp", "libomp.so.5");
    hashed_check("any", omp, "libomp-0123abcd.so", "libomp");
  }
  if (has_gomp && has_omp) {
    binding_spawn("libomp", "libomp", "libgomp.so.1");
    binding_spawn("libgomp", "libgomp", "libomp.so.5");
  }
  if (!has_gomp || !has_omp)
    printf("bindings: skipped those of%s%s, not installed\n",
           has_gomp ? "" : " libgomp", has_omp ? "" : " libomp");
}

/* ---- Bench -------------------------------------------------------------- */

#define BENCH_ROUNDS 2000

static int32_t empty_kernel(const void *args, int64_t begin, int64_t end) {
  (void)args;
  (void)begin;
  (void)end;
  return 0;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare_ns(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int32_t loop_times(void *data) {
  int64_t *times = data;
  for (int i = 0; i < BENCH_ROUNDS; ++i) {
    int64_t start = now_ns();
    pn_parallel_for(empty_kernel, NULL, 0, 2, 1);
    times[i] = now_ns() - start;
  }
  return 0;
}

/* 20 us of work of the caller alone between two loops. */
static int32_t spaced_times(void *data) {
  int64_t *times = data;
  for (int i = 0; i < BENCH_ROUNDS; ++i) {
    int64_t start = now_ns();
    while (now_ns() - start < 20000) {
    }
    start = now_ns();
    pn_parallel_for(empty_kernel, NULL, 0, 2, 1);
    times[i] = now_ns() - start;
  }
  return 0;
}

static int32_t nothing(void *data) {
  (void)data;
  return 0;
}

static void bench_print(const char *what, int64_t *times, int count) {
  qsort(times, (size_t)count, sizeof *times, compare_ns);
  printf("%-9s %-38s median %6.2f us, 9 of 10 within %6.2f us\n",
         pn_parallel_runtime_name(), what, (double)times[count / 2] * 1e-3,
         (double)times[count * 9 / 10] * 1e-3);
}

static void bench(void) {
  static int64_t times[BENCH_ROUNDS];
  CHECK(pn_thread_count_set(2) == PN_ERROR_NONE);
  sum_to(2);
  loop_times(times);
  bench_print("loop, back to back", times, BENCH_ROUNDS);
  spaced_times(times);
  bench_print("loop, every 20 us", times, BENCH_ROUNDS);
  pn_rt_region_run(loop_times, times);
  bench_print("loop in a region, back to back", times, BENCH_ROUNDS);
  pn_rt_region_run(spaced_times, times);
  bench_print("loop in a region, every 20 us", times, BENCH_ROUNDS);
  for (int i = 0; i < BENCH_ROUNDS; ++i) {
    int64_t start = now_ns();
    pn_rt_region_run(nothing, NULL);
    times[i] = now_ns() - start;
  }
  bench_print("region without a loop", times, BENCH_ROUNDS);
  for (int i = 0; i < 100; ++i) {
    pause_us(5000);
    int64_t start = now_ns();
    pn_parallel_for(empty_kernel, NULL, 0, 2, 1);
    times[i] = now_ns() - start;
  }
  bench_print("loop after 5 ms of nothing", times, 100);
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--binding"))
    return binding_main(argv[2], argv[3]);
  if (argc == 2 && !strcmp(argv[1], "--bench")) {
    bench();
    return check_result();
  }
  setenv("POLYNEST_OPENMP", "none", 1);
  CHECK_RUN(test_leave_processor);
  CHECK_RUN(test_memref_count);
  CHECK_RUN(test_memref_check);
  CHECK_RUN(test_memref_span);
  CHECK_RUN(test_memref_overlaps);
  CHECK_RUN(test_memref_contiguity);
  CHECK_RUN(test_memref_descriptor);
  CHECK_RUN(test_pool_classes);
  CHECK_RUN(test_pool_recycles);
  CHECK_RUN(test_pool_limits);
  CHECK_RUN(test_pool_idle);
  CHECK_RUN(test_pool_too_large);
  CHECK_RUN(test_allocation_failures);
  CHECK_RUN(test_pool_trims_before_failing);
  CHECK_RUN(test_pool_threads);
  CHECK_RUN(test_context);
  CHECK_RUN(test_resting_arenas);
  CHECK_RUN(test_thread_count);
  CHECK_RUN(test_thread_count_override);
  bindings_check();
  return check_result();
}
