/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Pool.c: recycles blocks, so that a result is written to memory that
 * has been touched before.
 *
 * First touch of a fresh page costs 3.5 us a 4 KiB page on the virtual machines
 * measured: 30 ms for 32 MiB, 5 to 6 ms with huge pages, 4 ms when touched
 * before. Size classes are multiples of 64 up to 512 bytes, then eight a
 * doubling, so that a class is at most 1/8 larger than the request. Every
 * cached block is in two lists: its class (last in, first out: the warmest
 * comes first) and the age list, whose far end is evicted.
 */
#include "Runtime/Pool.h"

#include "Runtime/CheckedMath.h"
#include "Runtime/Environment.h"
#include "Runtime/Fork.h"
#include "Runtime/Sanitizer.h"
#include "polynest/runtime.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define BLOCK_USED UINT32_C(0x706e7573)
#define BLOCK_CACHED UINT32_C(0x706e6361)

#define CLASS_SMALL_BITS 9 /* up to 512 bytes: steps of 64 */
#define CLASS_SMALL_COUNT 8
#define CLASS_STEP_BITS 3 /* eight steps a doubling */
#define CLASS_MAX_BITS 46 /* 64 TiB */
#define CLASS_COUNT                                                            \
  (CLASS_SMALL_COUNT + ((CLASS_MAX_BITS - CLASS_SMALL_BITS) << CLASS_STEP_BITS))

#define LIMIT_DEFAULT (UINT64_C(1) << 30)
#define LIMIT_MEMORY_SHARE 8
#define LIMIT_UNSET UINT64_MAX
#define IDLE_NS INT64_C(30000000000)

/* The page before the data of a mapped block; its last 64 bytes are the
 * header. A multiple of every page size of the supported systems. */
#define MAP_HEAD_BYTES 65536

/* Process-wide, guarded by lock: results outlive the executables that made
 * them. */
typedef struct pn_pool {
  pthread_mutex_t lock;
  pn_block_t *classes[CLASS_COUNT];
  pn_block_t *youngest;
  pn_block_t *oldest;
  uint64_t bytes_cached;
  uint64_t bytes_used;
  uint64_t bytes_limit;
  uint64_t hits;
  uint64_t misses;
} pn_pool_t;

static pn_pool_t pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
                         .bytes_limit = LIMIT_UNSET};

/* ---- Size classes ------------------------------------------------------- */

/* CLASS_COUNT where the size is beyond all classes. */
static uint32_t class_find(size_t bytes) {
  if (bytes <= (size_t)1 << CLASS_SMALL_BITS)
    return bytes ? (uint32_t)((bytes - 1) / PN_POOL_ALIGNMENT) : 0;
  if (bytes > (size_t)1 << CLASS_MAX_BITS)
    return CLASS_COUNT;
  uint32_t bits = 63 - (uint32_t)__builtin_clzll(bytes - 1);
  uint32_t step =
      (uint32_t)((bytes - 1 - ((size_t)1 << bits)) >> (bits - CLASS_STEP_BITS));
  return CLASS_SMALL_COUNT + ((bits - CLASS_SMALL_BITS) << CLASS_STEP_BITS) +
         step;
}

static size_t class_bytes(uint32_t size_class) {
  if (size_class < CLASS_SMALL_COUNT)
    return ((size_t)size_class + 1) * PN_POOL_ALIGNMENT;
  uint32_t above = size_class - CLASS_SMALL_COUNT;
  uint32_t bits = CLASS_SMALL_BITS + (above >> CLASS_STEP_BITS);
  size_t step = (above & ((1u << CLASS_STEP_BITS) - 1)) + 1;
  return ((size_t)1 << bits) + (step << (bits - CLASS_STEP_BITS));
}

/* ---- System ------------------------------------------------------------- */

/* Maps head and data so that the data begins on a huge page, and gives the rest
 * of the mapping back. Huge pages are a wish: a refusal does not matter. */
static void *huge_map(size_t bytes) {
  size_t wanted = 0;
  if (!pn_size_add(bytes, PN_POOL_HUGE_BYTES + MAP_HEAD_BYTES, &wanted))
    return NULL;
  char *base = mmap(NULL, wanted, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return NULL;
  uintptr_t first = (uintptr_t)base + MAP_HEAD_BYTES;
  size_t skip = (size_t)(-first & (PN_POOL_HUGE_BYTES - 1));
  char *data = base + MAP_HEAD_BYTES + skip;
  if (skip)
    (void)munmap(base, skip);
  if (skip < PN_POOL_HUGE_BYTES)
    (void)munmap(data + bytes, PN_POOL_HUGE_BYTES - skip);
  (void)madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

static pn_block_t *block_create(uint32_t size_class) {
  size_t bytes = class_bytes(size_class);
  pn_block_t *block;
  if (bytes >= PN_POOL_HUGE_BYTES) {
    void *data = huge_map(bytes);
    block = data ? pn_block_of(data) : NULL;
  } else {
    block = aligned_alloc(PN_POOL_ALIGNMENT, sizeof(pn_block_t) + bytes);
  }
  if (block)
    *block = (pn_block_t){.size_class = size_class};
  return block;
}

static void block_destroy(pn_block_t *block) {
  size_t bytes = class_bytes(block->size_class);
  char *data = pn_block_data(block);
  pn_asan_unpoison(data, bytes);
  if (bytes >= PN_POOL_HUGE_BYTES)
    (void)munmap(data - MAP_HEAD_BYTES, MAP_HEAD_BYTES + bytes);
  else
    free(block);
}

/* A chain through `next`; outside the lock, because unmapping is slow. */
static void chain_destroy(pn_block_t *chain) {
  while (chain) {
    pn_block_t *next = chain->next;
    block_destroy(chain);
    chain = next;
  }
}

static int64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Lists, under the lock ---------------------------------------------- */

static void cache_insert(pn_block_t *block) {
  pn_block_t **head = &pool.classes[block->size_class];
  block->previous = NULL;
  block->next = *head;
  if (*head)
    (*head)->previous = block;
  *head = block;
  block->younger = NULL;
  block->older = pool.youngest;
  if (pool.youngest)
    pool.youngest->younger = block;
  else
    pool.oldest = block;
  pool.youngest = block;
  pool.bytes_cached += class_bytes(block->size_class);
}

static void cache_remove(pn_block_t *block) {
  if (block->previous)
    block->previous->next = block->next;
  else
    pool.classes[block->size_class] = block->next;
  if (block->next)
    block->next->previous = block->previous;
  if (block->younger)
    block->younger->older = block->older;
  else
    pool.youngest = block->older;
  if (block->older)
    block->older->younger = block->younger;
  else
    pool.oldest = block->younger;
  pool.bytes_cached -= class_bytes(block->size_class);
}

/* Takes the oldest blocks out until `keep_bytes` are cached and none of the
 * rest was idle before `idle_before_ns`. Returns them as a chain. */
static pn_block_t *cache_evict(uint64_t keep_bytes, int64_t idle_before_ns) {
  pn_block_t *chain = NULL;
  while (pool.oldest && (pool.bytes_cached > keep_bytes ||
                         pool.oldest->idle_since_ns < idle_before_ns)) {
    pn_block_t *block = pool.oldest;
    cache_remove(block);
    block->next = chain;
    chain = block;
  }
  return chain;
}

static uint64_t limit_get(void) {
  if (pool.bytes_limit != LIMIT_UNSET)
    return pool.bytes_limit;
  uint64_t share = pn_env_memory_bytes() / LIMIT_MEMORY_SHARE;
  pool.bytes_limit = share && share < LIMIT_DEFAULT ? share : LIMIT_DEFAULT;
  return pool.bytes_limit;
}

/* ---- Public ------------------------------------------------------------- */

/* Marks a block as handed out; the sanitizer sees the bytes asked for alone. */
static void *block_hand_out(pn_block_t *block, size_t bytes) {
  char *data = pn_block_data(block);
  size_t all = class_bytes(block->size_class);
  block->state = BLOCK_USED;
  block->next = block->previous = NULL;
  pn_asan_unpoison(data, bytes);
  pn_asan_poison(data + bytes, all - bytes);
  return data;
}

static pn_block_t *block_create_fresh(uint32_t size_class) {
  pn_block_t *block = block_create(size_class);
  if (block)
    return block;
  pn_pool_trim(0);
  return block_create(size_class);
}

void *pn_pool_alloc(size_t bytes) {
  uint32_t size_class = class_find(bytes);
  if (size_class == CLASS_COUNT)
    return NULL;
  uint64_t all = class_bytes(size_class);
  pthread_mutex_lock(&pool.lock);
  pn_block_t *block = pool.classes[size_class];
  if (block)
    cache_remove(block);
  pool.hits += block != NULL;
  pool.misses += block == NULL;
  pool.bytes_used += all;
  pthread_mutex_unlock(&pool.lock);
  if (!block)
    block = block_create_fresh(size_class);
  if (block)
    return block_hand_out(block, bytes);
  pthread_mutex_lock(&pool.lock);
  pool.bytes_used -= all;
  pthread_mutex_unlock(&pool.lock);
  return NULL;
}

void pn_pool_free(void *data) {
  if (!data)
    return;
  pn_block_t *block = pn_block_of(data);
  assert(block->state == BLOCK_USED && "freed twice, or not of the pool");
  if (block->state != BLOCK_USED)
    return;
  size_t all = class_bytes(block->size_class);
  block->state = BLOCK_CACHED;
  block->idle_since_ns = clock_ns();
  pn_asan_poison(data, all);
  /* Idle blocks leave here and not in alloc, where a job that comes by once a
   * minute would lose the blocks that it is about to ask for. */
  pthread_mutex_lock(&pool.lock);
  pool.bytes_used -= all;
  cache_insert(block);
  pn_block_t *chain = cache_evict(limit_get(), block->idle_since_ns - IDLE_NS);
  pthread_mutex_unlock(&pool.lock);
  chain_destroy(chain);
}

size_t pn_pool_block_bytes(void *data) {
  return class_bytes(pn_block_of(data)->size_class);
}

void pn_pool_discard(void *data) {
  if (!data)
    return;
  pn_block_t *block = pn_block_of(data);
  assert(block->state == BLOCK_USED && "freed twice, or not of the pool");
  pthread_mutex_lock(&pool.lock);
  pool.bytes_used -= class_bytes(block->size_class);
  pthread_mutex_unlock(&pool.lock);
  block_destroy(block);
}

void pn_pool_trim(size_t keep_bytes) {
  pthread_mutex_lock(&pool.lock);
  pn_block_t *chain = cache_evict(keep_bytes, INT64_MIN);
  pthread_mutex_unlock(&pool.lock);
  chain_destroy(chain);
}

void pn_pool_limit_set(size_t bytes) {
  pthread_mutex_lock(&pool.lock);
  pool.bytes_limit = bytes;
  pn_block_t *chain = cache_evict(bytes, INT64_MIN);
  pthread_mutex_unlock(&pool.lock);
  chain_destroy(chain);
}

void pn_pool_stats_get(pn_pool_stats_t *out_stats) {
  if (!out_stats)
    return;
  pthread_mutex_lock(&pool.lock);
  *out_stats =
      (pn_pool_stats_t){.bytes_used = pool.bytes_used,
                        .bytes_held = pool.bytes_used + pool.bytes_cached,
                        .bytes_limit = limit_get(),
                        .hits = pool.hits,
                        .misses = pool.misses};
  pthread_mutex_unlock(&pool.lock);
}

/* ---- Fork and unload ---------------------------------------------------- */

static void pool_lock(void) { pthread_mutex_lock(&pool.lock); }

static void pool_unlock(void) { pthread_mutex_unlock(&pool.lock); }

__attribute__((constructor)) static void pool_fork_register(void) {
  (void)pn_fork_handlers_register(pool_lock, pool_unlock, pool_unlock);
}

/* Cached blocks would be lost with the library; blocks in use stay valid. */
__attribute__((destructor)) static void pool_unload(void) { pn_pool_trim(0); }
