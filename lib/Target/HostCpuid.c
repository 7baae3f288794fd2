/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/HostCpuid.c: CPUID and the tile permission on x86-64, nothing
 * elsewhere. */

#include "Target/HostFacts.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux, Documentation/arch/x86/xstate.rst. */
#define ARCH_GET_XCOMP_SUPP 0x1021
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

typedef struct registers {
  unsigned eax, ebx, ecx, edx;
} registers_t;

static bool query(unsigned leaf, unsigned subleaf, registers_t *r) {
  return __get_cpuid_count(leaf, subleaf, &r->eax, &r->ebx, &r->ecx, &r->edx) !=
         0;
}

static void read_names(pn_host_facts_t *facts) {
  registers_t r;
  if (query(0, 0, &r)) {
    memcpy(facts->vendor, &r.ebx, 4);
    memcpy(facts->vendor + 4, &r.edx, 4);
    memcpy(facts->vendor + 8, &r.ecx, 4);
  }
  for (unsigned i = 0; i < 3; ++i)
    if (query(0x80000002u + i, 0, &r))
      memcpy(facts->brand + 16 * i, &r, 16);
}

/* Family and model with their extended parts (both vendors' rule). */
static void read_family(pn_host_facts_t *facts) {
  registers_t r;
  if (!query(1, 0, &r))
    return;
  unsigned family = (r.eax >> 8) & 0xf, model = (r.eax >> 4) & 0xf;
  if (family == 6 || family == 15)
    model |= ((r.eax >> 16) & 0xf) << 4;
  if (family == 15)
    family += (r.eax >> 20) & 0xff;
  facts->family = (int32_t)family;
  facts->model = (int32_t)model;
}

/* Leaf 4 (Intel) and 0x8000001D (AMD) have the same layout. */
static void read_caches(pn_host_facts_t *facts, unsigned leaf) {
  for (unsigned i = 0; i < 8; ++i) {
    registers_t r;
    if (!query(leaf, i, &r) || (r.eax & 0x1f) == 0)
      return;
    unsigned type = r.eax & 0x1f, level = (r.eax >> 5) & 7;
    if (type == 2 || level < 1 || level > 3)
      continue;
    uint64_t line = (r.ebx & 0xfff) + 1;
    uint64_t partitions = ((r.ebx >> 12) & 0x3ff) + 1;
    uint64_t ways = (r.ebx >> 22) + 1;
    uint64_t bytes = line * partitions * ways * ((uint64_t)r.ecx + 1);
    if (bytes / 1024 > 1 << 22)
      continue;
    facts->cpuid[level - 1] = (pn_host_cache_t){
        .size_kib = (int32_t)(bytes / 1024),
        .line_bytes = (int32_t)line,
        .ways = (int32_t)ways,
        .sharing_threads = (int32_t)((r.eax >> 14) & 0xfff) + 1};
  }
}

void pn_host_read_cpuid(pn_host_facts_t *facts) {
  registers_t r;
  read_names(facts);
  read_family(facts);
  bool amd = strcmp(facts->vendor, "GenuineIntel") != 0;
  read_caches(facts, amd ? 0x8000001du : 4);
  /* The base frequency of leaf 0x16 is in MHz, 0 where not told. */
  if (query(0x16, 0, &r))
    facts->frequency_mhz = (int32_t)(r.eax & 0xffff);
  unsigned long supported = 0;
  /* The kernel refuses where an alternate signal stack is too small, or a
   * filter of system calls stands before it. */
  facts->amx_usable =
      syscall(SYS_arch_prctl, ARCH_GET_XCOMP_SUPP, &supported) == 0 &&
      (supported >> XFEATURE_XTILEDATA & 1) != 0 && pn_target_request_amx();
}

bool pn_target_request_amx(void) {
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

#else

void pn_host_read_cpuid(pn_host_facts_t *facts) { (void)facts; }

bool pn_target_request_amx(void) { return false; }

#endif
