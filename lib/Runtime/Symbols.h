/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Symbols.h: the runtime functions that generated code may call, for a
 * linker that works in memory and must not search the process.
 *
 * Threads: immutable.
 */
#ifndef POLYNEST_RUNTIME_SYMBOLS_H
#define POLYNEST_RUNTIME_SYMBOLS_H

#include <stddef.h>

typedef struct pn_rt_symbol {
  const char *name;
  void (*address)(void);
} pn_rt_symbol_t;

/* Static storage, out_count entries. */
const pn_rt_symbol_t *pn_rt_symbols_get(size_t *out_count);

#endif /* POLYNEST_RUNTIME_SYMBOLS_H */
