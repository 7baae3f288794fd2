/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/HostFacts.c: asks sysfs, sysconf and the scheduler. */

#include "Target/HostFacts.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char cpu_root[] = "/sys/devices/system/cpu";
static const char huge_page_root[] = "/sys/kernel/mm/transparent_hugepage";
static const int max_cpus = 4096;

/* First line of a small file without its end; "" where it cannot be read. */
static void read_line(const char *path, char *line, size_t capacity) {
  line[0] = '\0';
  FILE *stream = fopen(path, "r");
  if (!stream)
    return;
  if (!fgets(line, (int)capacity, stream))
    line[0] = '\0';
  (void)fclose(stream);
  line[strcspn(line, "\n")] = '\0';
}

/* Reads an unsigned decimal number and moves past it; -1 where there is none
 * or it is above INT32_MAX. */
static int64_t take_number(const char **at) {
  if (**at < '0' || **at > '9')
    return -1;
  int64_t value = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) {
    value = value * 10 + (**at - '0');
    if (value > INT32_MAX)
      return -1;
  }
  return value;
}

/* "48K" or "32M" in KiB; 0 where it does not parse. */
static int32_t parse_size_kib(const char *text) {
  int64_t value = take_number(&text);
  if (value < 0)
    return 0;
  if (*text == 'M')
    value *= 1024;
  else if (*text == 'G')
    value *= 1024 * 1024;
  else if (*text != 'K')
    value /= 1024;
  return value <= 1 << 22 ? (int32_t)value : 0;
}

static int32_t parse_int(const char *text) {
  int64_t value = take_number(&text);
  return value < 0 || *text ? 0 : (int32_t)value;
}

/* Reads one range "a" or "a-b"; false where the text is broken. */
static bool take_range(const char **at, int64_t *first, int64_t *last) {
  *first = take_number(at);
  *last = *first;
  if (*first < 0)
    return false;
  if (**at == '-') {
    ++*at;
    *last = take_number(at);
  }
  if (**at == ',')
    ++*at;
  else if (**at)
    return false;
  return *last >= *first;
}

int32_t pn_host_count_cpu_list(const char *list) {
  int64_t count = 0, first, last;
  while (*list) {
    if (!take_range(&list, &first, &last))
      return 0;
    count += last - first + 1;
    if (count > 1 << 20)
      return 0;
  }
  return (int32_t)count;
}

void pn_host_read_sysfs(const char *root, int cpu, pn_host_cache_t out[3]) {
  memset(out, 0, 3 * sizeof(*out));
  for (int index = 0; index < 8; ++index) {
    static const char *const files[] = {"level",
                                        "type",
                                        "size",
                                        "coherency_line_size",
                                        "ways_of_associativity",
                                        "shared_cpu_list"};
    char values[6][256];
    for (int i = 0; i < 6; ++i) {
      char path[512];
      (void)snprintf(path, sizeof(path), "%s/cpu%d/cache/index%d/%s", root, cpu,
                     index, files[i]);
      read_line(path, values[i], sizeof(values[i]));
    }
    int32_t level = parse_int(values[0]);
    if (level < 1 || level > 3 || strcmp(values[1], "Instruction") == 0)
      continue;
    out[level - 1] =
        (pn_host_cache_t){.size_kib = parse_size_kib(values[2]),
                          .line_bytes = parse_int(values[3]),
                          .ways = parse_int(values[4]),
                          .sharing_threads = pn_host_count_cpu_list(values[5])};
  }
}

/*===--- Cores ------------------------------------------------------------===*/

/* A CPU counts as a core where no lower CPU of the mask is its sibling. */
static bool leads_core(const cpu_set_t *mask, size_t mask_bytes, int cpu) {
  char path[128], list[256];
  (void)snprintf(path, sizeof(path), "%s/cpu%d/topology/thread_siblings_list",
                 cpu_root, cpu);
  read_line(path, list, sizeof(list));
  const char *at = list;
  int64_t first, last;
  while (*at && take_range(&at, &first, &last))
    for (int64_t other = first; other <= last && other < cpu; ++other)
      if (CPU_ISSET_S((size_t)other, mask_bytes, mask))
        return false;
  return true;
}

/* Cores and first CPU of the affinity mask. */
static void read_cores(pn_host_facts_t *facts, int *out_first_cpu) {
  *out_first_cpu = 0;
  facts->cores = 1;
  cpu_set_t *mask = CPU_ALLOC((size_t)max_cpus);
  size_t bytes = CPU_ALLOC_SIZE((size_t)max_cpus);
  if (!mask)
    return;
  CPU_ZERO_S(bytes, mask);
  if (sched_getaffinity(0, bytes, mask) == 0) {
    int32_t cores = 0;
    int first = -1;
    for (int cpu = 0; cpu < max_cpus; ++cpu) {
      if (!CPU_ISSET_S((size_t)cpu, bytes, mask))
        continue;
      first = first < 0 ? cpu : first;
      cores += leads_core(mask, bytes, cpu);
    }
    *out_first_cpu = first < 0 ? 0 : first;
    facts->cores = cores > 0 ? cores : 1;
  }
  CPU_FREE(mask);
}

/*===--- Everything -------------------------------------------------------===*/

static int64_t read_huge_page_bytes(void) {
  char path[128], line[128];
  (void)snprintf(path, sizeof(path), "%s/enabled", huge_page_root);
  read_line(path, line, sizeof(line));
  if (!*line || strstr(line, "[never]"))
    return 0;
  (void)snprintf(path, sizeof(path), "%s/hpage_pmd_size", huge_page_root);
  read_line(path, line, sizeof(line));
  return parse_int(line);
}

/* sysconf knows sizes where sysfs is not mounted; sharing stays unknown. */
static void read_sysconf(pn_host_cache_t out[3]) {
  static const int names[3][3] = {
      {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_LINESIZE,
       _SC_LEVEL1_DCACHE_ASSOC},
      {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_LINESIZE,
       _SC_LEVEL2_CACHE_ASSOC},
      {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_LINESIZE,
       _SC_LEVEL3_CACHE_ASSOC}};
  for (int i = 0; i < 3; ++i) {
    long size = sysconf(names[i][0]);
    long line = sysconf(names[i][1]);
    long ways = sysconf(names[i][2]);
    if (size <= 0 || size / 1024 > 1 << 22)
      continue;
    out[i].size_kib = (int32_t)(size / 1024);
    out[i].line_bytes = line > 0 && line <= 4096 ? (int32_t)line : 0;
    out[i].ways = ways > 0 && ways <= 1 << 20 ? (int32_t)ways : 0;
    out[i].sharing_threads = 0;
  }
}

static bool has_caches(const pn_host_cache_t caches[3]) {
  return caches[0].size_kib > 0 && caches[1].size_kib > 0;
}

void pn_host_facts_read(pn_host_facts_t *out_facts) {
  pn_host_facts_t facts = {
      .llvm_cpu = "", .llvm_features = "", .llvm_triple = ""};
  int cpu;
  pn_host_read_cpuid(&facts);
  read_cores(&facts, &cpu);
  pn_host_read_sysfs(cpu_root, cpu, facts.sysfs);
  char path[128], line[256];
  (void)snprintf(path, sizeof(path), "%s/cpu%d/topology/thread_siblings_list",
                 cpu_root, cpu);
  read_line(path, line, sizeof(line));
  facts.threads_per_core = pn_host_count_cpu_list(line);
  if (!has_caches(facts.sysfs) && !has_caches(facts.cpuid)) {
    read_sysconf(facts.sysfs);
    /* A last level whose sharing nobody tells belongs to all cores. */
    facts.sysfs[2].sharing_threads = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
  }
  if (facts.frequency_mhz == 0) {
    (void)snprintf(path, sizeof(path), "%s/cpu%d/cpufreq/base_frequency",
                   cpu_root, cpu);
    read_line(path, line, sizeof(line));
    facts.frequency_mhz = parse_int(line) / 1000;
  }
  facts.page_bytes = (int32_t)sysconf(_SC_PAGESIZE);
  facts.huge_page_bytes = read_huge_page_bytes();
  *out_facts = facts;
}
