/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Pool.h: layout of pool blocks, for the parts of the runtime that keep
 * lists of blocks in use.
 *
 * A block is one header of 64 bytes directly before the data. While a block is
 * in use its `next` and `previous` belong to whoever holds it.
 * Threads: as the owner of the block decides.
 */
#ifndef POLYNEST_RUNTIME_POOL_H
#define POLYNEST_RUNTIME_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct pn_block {
  uint32_t state; /* of Pool.c: in use or cached */
  uint32_t size_class;
  struct pn_block *next; /* cached: of the same size class */
  struct pn_block *previous;
  struct pn_block *younger; /* cached: in order of return */
  struct pn_block *older;
  int64_t idle_since_ns;
  uint64_t reserved[2];
} pn_block_t;

_Static_assert(sizeof(pn_block_t) == 64,
               "data keeps its alignment behind the header");

static inline pn_block_t *pn_block_of(void *data) {
  return (pn_block_t *)data - 1;
}
static inline void *pn_block_data(pn_block_t *block) { return block + 1; }

/* Bytes of the block that data of the pool lies in. */
size_t pn_pool_block_bytes(void *data);

/* Gives data of the pool back to the system at once; accepts NULL. */
void pn_pool_discard(void *data);

#endif /* POLYNEST_RUNTIME_POOL_H */
