/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Touch.c: memory of the pool that another thread touches meanwhile.
 */

#include "Compiler/Touch.h"

#include "Runtime/Environment.h"
#include "Runtime/Start.h"
#include "polynest/runtime.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* A thread is started and ends in some 0.1 ms, in which so much is touched. */
#define TOUCH_BYTES_MIN ((size_t)4 << 20)
/* Of the smallest pages. */
#define PAGE_BYTES 4096

struct pn_touch {
  volatile char *block;
  size_t bytes;
  atomic_bool is_cancelled;
  pthread_t thread;
  pid_t process; /* a forked child has the memory, but not the thread */
};

static void *touch_all(void *data) {
  pn_touch_t *touch = data;
  for (size_t at = 0; at < touch->bytes && !touch->is_cancelled;
       at += PAGE_BYTES)
    touch->block[at] = 0;
  return NULL;
}

pn_touch_t *pn_touch_start(size_t bytes) {
  if (bytes < TOUCH_BYTES_MIN || pn_env_processor_count() < 2)
    return NULL;
  pn_touch_t *touch = calloc(1, sizeof(*touch));
  void *block = touch ? pn_pool_alloc(bytes) : NULL;
  if (!block) {
    free(touch);
    return NULL;
  }
  touch->block = block;
  touch->bytes = bytes;
  touch->process = getpid();
  if (pn_thread_start(touch_all, touch, &touch->thread))
    return touch;
  pn_pool_free(block);
  free(touch);
  return NULL;
}

size_t pn_touch_bytes(const pn_touch_t *touch) { return touch->bytes; }

void *pn_touch_take(pn_touch_t *touch) {
  if (touch->process == getpid())
    (void)pthread_join(touch->thread, NULL);
  void *block = (void *)(uintptr_t)touch->block;
  free(touch);
  return block;
}

void pn_touch_cancel(pn_touch_t *touch) {
  if (!touch)
    return;
  touch->is_cancelled = true;
  pn_pool_free(pn_touch_take(touch));
}
