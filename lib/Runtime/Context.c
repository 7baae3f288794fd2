/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Context.c: arena, temporaries and times of one call.
 *
 * Temporaries are kept in a list through their block headers, so that a call
 * that returns early with the status of an assertion leaks none.
 *
 * Large arenas rest between calls where calls of all programs find them: of a
 * forward and a backward pass, or of the parts of a model, only one runs at a
 * time.
 */
#include "Runtime/Context.h"

#include "Runtime/Clock.h"
#include "Runtime/Fork.h"
#include "Runtime/Laps.h"
#include "Runtime/Pool.h"
#include "Runtime/Sanitizer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pn_rt_context {
  void *arena;
  int64_t arena_bytes;
  pthread_mutex_t lock; /* guards live */
  pn_block_t *live;
  int64_t *laps; /* nanoseconds by nest */
  size_t lap_count, lap_capacity;
  int64_t lap_start;
  /* The pool of who made the context, which also gives back what is left: code
   * of a library that is called with it has a runtime, and a pool, of its own.
   */
  void *(*take)(size_t bytes);
  void (*give)(void *data);
  /* The same for arenas, which may be larger than asked for. */
  void *(*take_arena)(size_t bytes, int64_t *out_bytes);
  bool may_rest; /* the arena, which is one of take_arena */
};

/* ---- Arenas that rest --------------------------------------------------- */

#define REST_COUNT_MAX 64

/* Process-wide, guarded by lock; no more than there are contexts. */
static struct {
  pthread_mutex_t lock;
  size_t context_count;
  size_t count;
  void *arenas[REST_COUNT_MAX];
} rest = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock: takes out the smallest arena of so many bytes. Where there is
 * none, the largest of the others is taken out to be discarded. */
static void *rest_find(size_t bytes, void **out_discarded) {
  size_t best = REST_COUNT_MAX, best_bytes = 0;
  for (size_t i = 0; i < rest.count; ++i) {
    size_t have = pn_pool_block_bytes(rest.arenas[i]);
    bool fits = have >= bytes, best_fits = best_bytes >= bytes;
    if (best == REST_COUNT_MAX || (fits && !best_fits) ||
        (fits == best_fits && (fits ? have < best_bytes : have > best_bytes))) {
      best = i;
      best_bytes = have;
    }
  }
  if (best == REST_COUNT_MAX)
    return NULL;
  void *found = rest.arenas[best];
  rest.arenas[best] = rest.arenas[--rest.count];
  if (best_bytes >= bytes)
    return found;
  *out_discarded = found;
  return NULL;
}

static void *rest_take(size_t bytes, int64_t *out_bytes) {
  void *found = NULL, *discarded = NULL;
  if (bytes >= PN_POOL_HUGE_BYTES) {
    pthread_mutex_lock(&rest.lock);
    found = rest_find(bytes, &discarded);
    pthread_mutex_unlock(&rest.lock);
    /* It goes first: both together might not fit. */
    pn_pool_discard(discarded);
  }
  if (!found)
    found = pn_pool_alloc(bytes);
  *out_bytes = found ? (int64_t)pn_pool_block_bytes(found) : 0;
  /* The pool shows the sanitizer no more than it was asked for. */
  pn_asan_unpoison(found, (size_t)*out_bytes);
  return found;
}

void pn_rt_context_rest(pn_rt_context_t *ctx) {
  if (!ctx || !ctx->may_rest || ctx->arena_bytes < (int64_t)PN_POOL_HUGE_BYTES)
    return;
  pthread_mutex_lock(&rest.lock);
  if (rest.count < REST_COUNT_MAX) {
    rest.arenas[rest.count++] = ctx->arena;
    ctx->arena = NULL;
    ctx->arena_bytes = 0;
  }
  pthread_mutex_unlock(&rest.lock);
}

/* Counts a context that was made, or has gone. */
static void rest_count(bool made) {
  void *discarded = NULL;
  pthread_mutex_lock(&rest.lock);
  rest.context_count += made ? 1 : (size_t)-1;
  if (rest.count > rest.context_count)
    (void)rest_find(SIZE_MAX, &discarded);
  pthread_mutex_unlock(&rest.lock);
  pn_pool_discard(discarded);
}

static void rest_lock(void) { pthread_mutex_lock(&rest.lock); }

static void rest_unlock(void) { pthread_mutex_unlock(&rest.lock); }

__attribute__((constructor)) static void rest_fork_register(void) {
  (void)pn_fork_handlers_register(rest_lock, rest_unlock, rest_unlock);
}

__attribute__((destructor)) static void rest_unload(void) {
  while (rest.count)
    pn_pool_discard(rest.arenas[--rest.count]);
}

/* ---- Contexts ----------------------------------------------------------- */

pn_rt_context_t *pn_rt_context_create(void) {
  pn_rt_context_t *ctx = calloc(1, sizeof *ctx);
  if (!ctx)
    return NULL;
  pthread_mutex_init(&ctx->lock, NULL);
  ctx->take = pn_pool_alloc;
  ctx->give = pn_pool_free;
  ctx->take_arena = rest_take;
  rest_count(true);
  return ctx;
}

void pn_rt_context_reset(pn_rt_context_t *ctx) {
  if (!ctx)
    return;
  pthread_mutex_lock(&ctx->lock);
  pn_block_t *chain = ctx->live;
  ctx->live = NULL;
  pthread_mutex_unlock(&ctx->lock);
  while (chain) {
    pn_block_t *next = chain->next;
    ctx->give(pn_block_data(chain));
    chain = next;
  }
}

void pn_rt_context_destroy(pn_rt_context_t *ctx) {
  if (!ctx)
    return;
  pn_rt_context_reset(ctx);
  ctx->give(ctx->arena);
  free(ctx->laps);
  pthread_mutex_destroy(&ctx->lock);
  free(ctx);
  rest_count(false);
}

/* The old arena goes first: both together might not fit. */
void *pn_rt_arena(pn_rt_context_t *ctx, int64_t bytes) {
  if (!ctx || bytes < 0)
    return NULL;
  if (ctx->arena && bytes <= ctx->arena_bytes)
    return ctx->arena;
  ctx->give(ctx->arena);
  ctx->arena = ctx->take_arena((size_t)bytes, &ctx->arena_bytes);
  ctx->may_rest = true;
  return ctx->arena;
}

void *pn_rt_alloc(pn_rt_context_t *ctx, int64_t bytes) {
  if (bytes < 0)
    return NULL;
  if (!ctx)
    return pn_pool_alloc((size_t)bytes);
  void *data = ctx->take((size_t)bytes);
  if (!data)
    return NULL;
  pn_block_t *block = pn_block_of(data);
  pthread_mutex_lock(&ctx->lock);
  block->next = ctx->live;
  if (ctx->live)
    ctx->live->previous = block;
  ctx->live = block;
  pthread_mutex_unlock(&ctx->lock);
  return data;
}

void pn_rt_free(pn_rt_context_t *ctx, void *data) {
  if (!data)
    return;
  if (!ctx) {
    pn_pool_free(data);
    return;
  }
  pn_block_t *block = pn_block_of(data);
  pthread_mutex_lock(&ctx->lock);
  if (block->next)
    block->next->previous = block->previous;
  if (block->previous)
    block->previous->next = block->next;
  else if (ctx->live == block)
    ctx->live = block->next;
  pthread_mutex_unlock(&ctx->lock);
  ctx->give(data);
}

/* Makes room for `count` times, zero where new. */
static bool reserve_laps(pn_rt_context_t *ctx, size_t count) {
  if (count > ctx->lap_capacity) {
    size_t capacity = ctx->lap_capacity ? ctx->lap_capacity : 64;
    while (capacity < count)
      capacity += capacity;
    int64_t *laps = calloc(capacity, sizeof *laps);
    if (!laps)
      return false;
    if (ctx->lap_count)
      memcpy(laps, ctx->laps, ctx->lap_count * sizeof *laps);
    free(ctx->laps);
    ctx->laps = laps;
    ctx->lap_capacity = capacity;
  }
  for (; ctx->lap_count < count; ++ctx->lap_count)
    ctx->laps[ctx->lap_count] = 0;
  return true;
}

/* The clock is read twice, so that what happens here is in no nest's time. */
void pn_rt_lap(pn_rt_context_t *ctx, int64_t nest) {
  if (!ctx)
    return;
  int64_t now = pn_clock_ns();
  if (nest < 0)
    ctx->lap_count = 0;
  else if (nest < PN_LAP_COUNT_MAX && reserve_laps(ctx, (size_t)nest + 1))
    ctx->laps[nest] += now - ctx->lap_start;
  ctx->lap_start = pn_clock_ns();
}

size_t pn_rt_laps_get(const pn_rt_context_t *ctx, int64_t *out_ns,
                      size_t room) {
  for (size_t i = 0; i < room && i < ctx->lap_count; ++i)
    out_ns[i] = ctx->laps[i];
  return ctx->lap_count;
}
