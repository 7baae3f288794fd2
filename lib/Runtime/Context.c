/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Context.c: arena and temporaries of one call.
 *
 * Temporaries are kept in a list through their block headers, so that a call
 * that returns early with the status of an assertion leaks none.
 */
#include "Runtime/Pool.h"
#include "polynest/runtime.h"

#include <pthread.h>
#include <stdlib.h>

struct pn_rt_context {
  void *arena;
  int64_t arena_bytes;
  pthread_mutex_t lock; /* guards live */
  pn_block_t *live;
};

pn_rt_context_t *pn_rt_context_create(void) {
  pn_rt_context_t *ctx = calloc(1, sizeof *ctx);
  if (ctx)
    pthread_mutex_init(&ctx->lock, NULL);
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
    pn_pool_free(pn_block_data(chain));
    chain = next;
  }
}

void pn_rt_context_destroy(pn_rt_context_t *ctx) {
  if (!ctx)
    return;
  pn_rt_context_reset(ctx);
  pn_pool_free(ctx->arena);
  pthread_mutex_destroy(&ctx->lock);
  free(ctx);
}

/* The old arena goes first: both together might not fit. */
void *pn_rt_arena(pn_rt_context_t *ctx, int64_t bytes) {
  if (!ctx || bytes < 0)
    return NULL;
  if (ctx->arena && bytes <= ctx->arena_bytes)
    return ctx->arena;
  pn_pool_free(ctx->arena);
  ctx->arena = pn_pool_alloc((size_t)bytes);
  ctx->arena_bytes = ctx->arena ? bytes : 0;
  return ctx->arena;
}

void *pn_rt_alloc(pn_rt_context_t *ctx, int64_t bytes) {
  void *data = bytes < 0 ? NULL : pn_pool_alloc((size_t)bytes);
  if (!data || !ctx)
    return data;
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
  if (ctx) {
    pn_block_t *block = pn_block_of(data);
    pthread_mutex_lock(&ctx->lock);
    if (block->next)
      block->next->previous = block->previous;
    if (block->previous)
      block->previous->next = block->next;
    else if (ctx->live == block)
      ctx->live = block->next;
    pthread_mutex_unlock(&ctx->lock);
  }
  pn_pool_free(data);
}
