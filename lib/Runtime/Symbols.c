/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/Symbols.c: the runtime functions that generated code may call. */
#include "Runtime/Symbols.h"

#include "Runtime/HalfFloat.h"
#include "Runtime/Laps.h"
#include "polynest/runtime.h"

#define SYMBOL(function)                                                       \
  { #function, (void (*)(void))function }

static const pn_rt_symbol_t symbols[] = {
    SYMBOL(pn_parallel_for),     SYMBOL(pn_rt_alloc),   SYMBOL(pn_rt_arena),
    SYMBOL(pn_rt_context_reset), SYMBOL(pn_rt_free),    SYMBOL(pn_rt_lap),
    SYMBOL(pn_rt_region_run),    SYMBOL(__extendhfdf2), SYMBOL(__extendhfsf2),
    SYMBOL(__powidf2),           SYMBOL(__powisf2),     SYMBOL(__truncdfbf2),
    SYMBOL(__truncdfhf2),        SYMBOL(__truncsfbf2),  SYMBOL(__truncsfhf2),
};

const pn_rt_symbol_t *pn_rt_symbols_get(size_t *out_count) {
  *out_count = sizeof symbols / sizeof *symbols;
  return symbols;
}
