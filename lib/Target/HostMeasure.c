/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/HostMeasure.c: how much of the last level one core really gets.
 *
 * Dependent loads at random lines of blocks of rising size; each block is read
 * through once before, so that what can stay in a cache is there. The address
 * comes from a multiplicative generator and the loaded value (always zero) is
 * added to its state: a chain without a permutation to build first.
 */

#include "Target/HostFacts.h"

#include <math.h>
#include <sys/mman.h>
#include <time.h>

#define LINE_BYTES 64
#define MAX_POINTS 20
static const size_t block_bytes = (size_t)64 << 20;
static const size_t step_bytes = (size_t)2 << 20;
static const int64_t touch_budget_ns = 35000000;
static const int64_t total_budget_ns = 65000000;
static const int chain_loads = 2500;
static const double knee_ratio = 1.3;
static const double knee_rise_ns = 20;
static const double slowest_cache_ns = 90;

static int64_t now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Writes the block step by step, so that first touch, which is dear on virtual
 * machines, cannot exceed its budget. Returns the touched part. */
static size_t touch(volatile uint64_t *block, int64_t start) {
  size_t touched = 0;
  while (touched < block_bytes && now_ns() - start < touch_budget_ns) {
    for (size_t i = 0; i < step_bytes; i += 4096)
      block[(touched + i) / sizeof(*block)] = 0;
    touched += step_bytes;
  }
  return touched;
}

/* Reads every line once; returns the nanoseconds. */
static int64_t read_through(const volatile uint64_t *block, size_t bytes) {
  int64_t start = now_ns();
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes / sizeof(*block);
       i += LINE_BYTES / sizeof(*block))
    sum += block[i];
  int64_t time = now_ns() - start;
  return time + (int64_t)(sum & 1); /* the sum is zero, but stays computed */
}

/* Mean latency of one chain of loads. */
static double chase(const volatile uint64_t *block, size_t bytes) {
  uint64_t lines = bytes / LINE_BYTES, state = 0x9e3779b97f4a7c15u;
  int64_t start = now_ns();
  for (int i = 0; i < chain_loads; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t line = (state >> 32) * lines >> 32;
    state += block[line * (LINE_BYTES / sizeof(*block))];
  }
  int64_t time = now_ns() - start + (int64_t)(state == 0);
  return (double)time / chain_loads;
}

/* The lesser of two chains: other load on the core only adds time. */
static double latency(const volatile uint64_t *block, size_t bytes) {
  (void)read_through(block, bytes);
  double first = chase(block, bytes), second = chase(block, bytes);
  return first < second ? first : second;
}

/* Latency of the loads that missed L2. */
static double beyond_l2(const pn_host_point_t *point, int32_t l2_kib,
                        double l2_latency_ns) {
  double share = (double)l2_kib / point->size_kib;
  return (point->latency_ns - share * l2_latency_ns) / (1 - share);
}

int32_t pn_host_capacity_from_curve(const pn_host_point_t *points, size_t count,
                                    int32_t l2_kib, double l2_latency_ns) {
  if (count < 3 || l2_kib < 1 || points[0].size_kib <= l2_kib)
    return 0;
  double least = beyond_l2(&points[0], l2_kib, l2_latency_ns);
  for (size_t i = 1; i < count; ++i)
    least = fmin(least, beyond_l2(&points[i], l2_kib, l2_latency_ns));
  if (!(least > 0))
    return 0;
  double limit = fmax(knee_ratio * least, least + knee_rise_ns);
  for (size_t i = 0; i < count; ++i) {
    bool last = i + 1 == count;
    bool slow = beyond_l2(&points[i], l2_kib, l2_latency_ns) > limit;
    bool next =
        !last && beyond_l2(&points[i + 1], l2_kib, l2_latency_ns) > limit;
    /* A single slow point is a disturbance, unless it is the last one. */
    if (slow && (next || last))
      return i == 0 ? 0 : points[i - 1].size_kib;
  }
  return least > slowest_cache_ns ? 0 : points[count - 1].size_kib;
}

static int32_t round_to_power_of_two(double value) {
  int32_t result = 1;
  while (result < 1 << 24 && 2.0 * result <= value)
    result *= 2;
  return result;
}

/* Sizes 2, 3, 4, 6, 8, 12, ... times L2. */
static int32_t size_of_point(size_t index, int32_t l2_kib) {
  int32_t power = 2 << (index / 2);
  return l2_kib * (index % 2 ? power + power / 2 : power);
}

/* One pass over the sizes, as far as touched and timely; each point keeps its
 * least latency. Stops behind a clear knee, to save time for another pass. */
static size_t sweep(const volatile uint64_t *block, size_t touched,
                    int32_t l2_kib, int64_t start, pn_host_point_t *points,
                    size_t known) {
  double least = 0;
  int slow = 0;
  size_t i = 0;
  for (; i < MAX_POINTS && slow < 2; ++i) {
    int32_t kib = size_of_point(i, l2_kib);
    if ((size_t)kib * 1024 > touched || now_ns() - start > total_budget_ns)
      break;
    double now = latency(block, (size_t)kib * 1024);
    if (i >= known || now < points[i].latency_ns)
      points[i] = (pn_host_point_t){kib, now};
    least = i == 0 || now < least ? now : least;
    slow = now > 2 * least ? slow + 1 : 0;
  }
  return i > known ? i : known;
}

bool pn_host_measure(int32_t l2_kib, int32_t *out_capacity_kib,
                     int32_t *out_memory_mib_per_s) {
  *out_capacity_kib = 0;
  *out_memory_mib_per_s = 0;
  if (l2_kib < 32 || l2_kib > 1 << 16)
    return false;
  int64_t start = now_ns();
  void *map = mmap(NULL, block_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED)
    return false;
  (void)madvise(map, block_bytes, MADV_HUGEPAGE);
  size_t touched = touch(map, start);
  double l2_latency_ns = INFINITY;
  pn_host_point_t points[MAX_POINTS];
  size_t count = 0;
  for (int i = 0; i < 3; ++i) {
    double now = latency(map, (size_t)l2_kib * 1024 / 2);
    l2_latency_ns = fmin(l2_latency_ns, now);
    count = sweep(map, touched, l2_kib, start, points, count);
  }
  *out_capacity_kib =
      pn_host_capacity_from_curve(points, count, l2_kib, l2_latency_ns);
  int64_t touched_kib = (int64_t)(touched / 1024);
  if (*out_capacity_kib > 0 && touched_kib >= 2 * *out_capacity_kib) {
    int64_t time = read_through(map, touched);
    double mib_per_s = (double)touched / 1048576 * 1e9 / (double)(time + 1);
    *out_memory_mib_per_s = round_to_power_of_two(mib_per_s);
  }
  (void)munmap(map, block_bytes);
  return *out_capacity_kib > 0;
}
