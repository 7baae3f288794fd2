/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Fork.h: fork handlers that leave with the library that has them.
 *
 * pthread_atfork unregisters its handlers when a library is unloaded only with
 * the help of a start file that compilers link and a bare linker does not; in
 * an ahead-of-time library they would stay, and the next fork would call code
 * that is gone.
 * Threads: any.
 */
#ifndef POLYNEST_RUNTIME_FORK_H
#define POLYNEST_RUNTIME_FORK_H

/* As pthread_atfork; unregistered when this library is unloaded. Returns 0, or
 * ENOMEM. */
int pn_fork_handlers_register(void (*prepare)(void), void (*parent)(void),
                              void (*child)(void));

#endif /* POLYNEST_RUNTIME_FORK_H */
