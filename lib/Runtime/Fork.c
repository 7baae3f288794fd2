/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/Fork.c: fork handlers that leave with the library that has them. */

#include "Runtime/Fork.h"

/* Of the C library's binary interface (Linux Standard Base Core, 5.0), which
 * has no header for them. */
int __register_atfork(void (*prepare)(void), void (*parent)(void),
                      void (*child)(void), void *library);
void __cxa_finalize(void *library);

/* Its address stands for this library. */
static char identity;

int pn_fork_handlers_register(void (*prepare)(void), void (*parent)(void),
                              void (*child)(void)) {
  return __register_atfork(prepare, parent, child, &identity);
}

__attribute__((destructor)) static void fork_handlers_unregister(void) {
  __cxa_finalize(&identity);
}
