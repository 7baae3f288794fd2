/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/HostFacts.h: what the machine says of itself, and the row made of it.
 *
 * Reading and deciding are apart: pn_host_facts_read asks the machine,
 * pn_host_row decides and is a pure function, tested with absurd facts.
 * Units in the names. 0 and "" mean that the machine did not say.
 * Threads: no state; pn_host_measure runs on the calling thread.
 */
#ifndef POLYNEST_TARGET_HOSTFACTS_H
#define POLYNEST_TARGET_HOSTFACTS_H

#include "Target/Row.h"

PN_EXTERN_C_BEGIN

typedef struct pn_host_cache {
  int32_t size_kib;
  int32_t line_bytes;
  int32_t ways;
  int32_t sharing_threads;
} pn_host_cache_t;

typedef struct pn_host_facts {
  char vendor[16]; /* CPUID vendor; "" on Arm */
  char brand[64];
  int32_t family, model; /* CPUID; 0 on Arm */
  const char *llvm_cpu;
  const char *llvm_features;
  const char *llvm_triple;
  pn_host_cache_t sysfs[3];
  pn_host_cache_t cpuid[3];
  int32_t threads_per_core;
  int32_t cores; /* distinct cores in the affinity mask */
  int32_t frequency_mhz;
  int32_t page_bytes;
  int64_t huge_page_bytes;
  bool amx_usable;               /* the kernel grants tile registers */
  int32_t measured_capacity_kib; /* of the last level, for one busy core */
  int32_t measured_memory_mib_per_s;
} pn_host_facts_t;

/* Texts that the sources of a host row point to. */
typedef struct pn_host_text {
  char sources[PN_TARGET_GROUP_COUNT][192];
} pn_host_text_t;

/* Everything but the LLVM strings and the measurement. */
void pn_host_facts_read(pn_host_facts_t *out_facts);

/* Caches of one CPU below a directory laid out as /sys/devices/system/cpu.
 * Levels that are missing or unreadable stay 0. */
void pn_host_read_sysfs(const char *root, int cpu, pn_host_cache_t out[3]);

/* Number of CPUs in a list such as "0-3,8"; 0 where it does not parse. */
int32_t pn_host_count_cpu_list(const char *list);

/* CPUID: vendor, brand, family, model, caches, frequency. Clears everything
 * on other architectures. */
void pn_host_read_cpuid(pn_host_facts_t *facts);

/* The known row that stands for what cannot be detected; never NULL. *out_why
 * is a static text: "family and model", "LLVM name" or "features". */
const pn_target_row_t *pn_host_nearest_row(const pn_host_facts_t *facts,
                                           const char **out_why);

/* Bits of pn_target_feature_t out of an LLVM feature string. */
uint64_t pn_host_features(const char *llvm_features);

/* The same as far as this process may use them. */
uint64_t pn_host_usable_features(const pn_host_facts_t *facts);

/* PN_ERROR_TARGET unless code for the target runs on this machine. Asks the
 * processor alone and reads no files, as it is part of each compilation. */
PN_MUST_USE pn_error_t *pn_host_check_target(const pn_target_info_t *target);

/* A row that passes pn_target_row_check whatever the facts say, as long as
 * the LLVM strings are those of a known architecture. */
void pn_host_row(const pn_host_facts_t *facts, pn_host_text_t *text,
                 pn_target_row_t *out_row);

/*===--- Measured capacity ------------------------------------------------===*/

/* One point of a curve: mean latency of dependent random loads. */
typedef struct pn_host_point {
  int32_t size_kib;
  double latency_ns;
} pn_host_point_t;

/* Capacity of the last level from a curve of rising sizes, all above L2; the
 * L2's share is taken out first: at size S a part L2/S of the loads hits L2.
 * The capacity is the last size before two points in a row whose remaining
 * latency exceeds the least one by 30 % and by 20 ns: misses of the TLB raise
 * it slowly and by less, memory is 50 ns and more behind the last level.
 * Unknown (0) where the first point is behind the knee already. Without a knee
 * it is the largest size, or 0 where even the least latency is above 90 ns,
 * which is memory on every known chip. */
int32_t pn_host_capacity_from_curve(const pn_host_point_t *points, size_t count,
                                    int32_t l2_kib, double l2_latency_ns);

/* Measures for at most 100 ms on a block of at most 64 MiB. False where memory
 * is short or the curve says nothing. Memory rate is rounded down to a power
 * of two, 0 where the block did not leave the cache. */
bool pn_host_measure(int32_t l2_kib, int32_t *out_capacity_kib,
                     int32_t *out_memory_mib_per_s);

/*===--- Measurement on disk ----------------------------------------------===*/

/* Names the processor, its caches and this format. */
uint64_t pn_host_cache_key(const pn_host_facts_t *facts);

/* Writes the path of the file into `path`; false where there is no directory
 * to be found or the path is too long. directory NULL: the user's. */
bool pn_host_cache_path(const char *directory, uint64_t key, char *path,
                        size_t capacity);

/* False, with nothing filled, for a missing, damaged or foreign file. */
bool pn_host_cache_load(const char *path, uint64_t key,
                        int32_t *out_capacity_kib,
                        int32_t *out_memory_mib_per_s);

/* Makes the directory, writes beside the file and renames. */
bool pn_host_cache_store(const char *path, uint64_t key, int32_t capacity_kib,
                         int32_t memory_mib_per_s);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_HOSTFACTS_H */
