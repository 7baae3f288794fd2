/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Environment.h: the only door to environment variables, and what the
 * system says about processors and memory.
 *
 * Nothing is cached here; callers decide when they ask.
 * Threads: as safe as getenv: not while another thread changes the environment.
 */
#ifndef POLYNEST_RUNTIME_ENVIRONMENT_H
#define POLYNEST_RUNTIME_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value of a variable, borrowed from the environment; NULL where it is unset or
 * empty. */
const char *pn_env_string(const char *name);

/* The leading positive integer of a variable, at most `max`. A comma may
 * follow (OMP_NUM_THREADS=4,2 lists one count a nesting level). 0 where it is
 * unset or does not read as such a number. */
int32_t pn_env_count(const char *name, int32_t max);

/* Processors that the calling thread may run on, at least 1. */
int32_t pn_env_processor_count(void);

/* The processor that the calling thread runs on; negative where unknown. */
int32_t pn_env_processor(void);

/* Moves the calling thread to another processor than that one, of those that it
 * may run on, which stay what they are; false where there is none. Takes some
 * system calls and a move. */
bool pn_env_leave_processor(int32_t processor);

/* Bytes of physical memory; 0 where unknown. */
uint64_t pn_env_memory_bytes(void);

#endif /* POLYNEST_RUNTIME_ENVIRONMENT_H */
