/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Context.c: arena, temporaries and times of one call.
 *
 * Temporaries are kept in a list through their block headers, so that a call
 * that returns early with the status of an assertion leaks none.
 */
#include "Runtime/Clock.h"
#include "Runtime/Laps.h"
#include "Runtime/Pool.h"
#include "polynest/runtime.h"

#include <pthread.h>
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
};

pn_rt_context_t *pn_rt_context_create(void) {
  pn_rt_context_t *ctx = calloc(1, sizeof *ctx);
  if (!ctx)
    return NULL;
  pthread_mutex_init(&ctx->lock, NULL);
  ctx->take = pn_pool_alloc;
  ctx->give = pn_pool_free;
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
}

/* The old arena goes first: both together might not fit. */
void *pn_rt_arena(pn_rt_context_t *ctx, int64_t bytes) {
  if (!ctx || bytes < 0)
    return NULL;
  if (ctx->arena && bytes <= ctx->arena_bytes)
    return ctx->arena;
  ctx->give(ctx->arena);
  ctx->arena = ctx->take((size_t)bytes);
  ctx->arena_bytes = ctx->arena ? bytes : 0;
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
