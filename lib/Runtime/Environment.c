/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/Environment.c: environment variables, processors, memory. */
#include "Runtime/Environment.h"

#include "Runtime/CheckedMath.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

const char *pn_env_string(const char *name) {
  const char *value = getenv(name);
  return value && value[0] ? value : NULL;
}

int32_t pn_env_count(const char *name, int32_t max) {
  const char *value = pn_env_string(name);
  if (!value)
    return 0;
  char *end = NULL;
  errno = 0;
  long number = strtol(value, &end, 10);
  while (*end == ' ' || *end == '\t')
    ++end;
  if (end == value || errno || (*end && *end != ',') || number < 1)
    return 0;
  return number > max ? max : (int32_t)number;
}

/* The processors that the calling thread may run on, for CPU_FREE, or NULL. The
 * kernel refuses a mask smaller than its own, so that machines with more than
 * CPU_SETSIZE processors need a larger one. */
static cpu_set_t *get_processors(size_t *out_bytes) {
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 16; cpus *= 4) {
    cpu_set_t *mask = CPU_ALLOC((size_t)cpus);
    if (!mask)
      return NULL;
    *out_bytes = CPU_ALLOC_SIZE((size_t)cpus);
    if (!sched_getaffinity(0, *out_bytes, mask))
      return mask;
    CPU_FREE(mask);
  }
  return NULL;
}

int32_t pn_env_processor_count(void) {
  size_t bytes;
  cpu_set_t *mask = get_processors(&bytes);
  if (mask) {
    int count = CPU_COUNT_S(bytes, mask);
    CPU_FREE(mask);
    return count < 1 ? 1 : count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : (int32_t)online;
}

int32_t pn_env_processor(void) { return sched_getcpu(); }

bool pn_env_leave_processor(int32_t processor) {
  size_t bytes;
  cpu_set_t *mask = get_processors(&bytes);
  if (!mask)
    return false;
  bool left = false;
  if (processor >= 0 && CPU_ISSET_S((size_t)processor, bytes, mask) &&
      CPU_COUNT_S(bytes, mask) > 1) {
    CPU_CLR_S((size_t)processor, bytes, mask);
    left = !sched_setaffinity(0, bytes, mask);
    CPU_SET_S((size_t)processor, bytes, mask);
    (void)sched_setaffinity(0, bytes, mask);
  }
  CPU_FREE(mask);
  return left;
}

uint64_t pn_env_memory_bytes(void) {
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  size_t bytes = 0;
  if (pages < 1 || page_bytes < 1 ||
      !pn_size_mul((size_t)pages, (size_t)page_bytes, &bytes))
    return 0;
  return bytes;
}
