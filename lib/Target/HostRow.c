/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/HostRow.c: decides the row of this machine from what it says.
 *
 * Ports, latencies and rates are not detectable: they come from the nearest
 * known row. Caches come from the system as long as they make sense, and the
 * usable share of the last level is never above what the system reports for
 * one core, because a virtual machine is shown the cache of the whole package.
 */

#include "Target/HostFacts.h"

#include <stdio.h>
#include <string.h>

/*===--- Nearest row ------------------------------------------------------===*/

/* Sources: Intel SDM volume 4 table 2-1, AMD revision guides. Models that have
 * no row of their own stand with the one whose core is closest. */
static const struct model_range {
  const char *vendor;
  int32_t family, first_model, last_model;
  const char *row;
} model_ranges[] = {
    {"AuthenticAMD", 0x17, 0x00, 0xff, "znver3"},
    {"AuthenticAMD", 0x19, 0x00, 0x0f, "znver3"},
    {"AuthenticAMD", 0x19, 0x10, 0x1f, "znver4"},
    {"AuthenticAMD", 0x19, 0x20, 0x5f, "znver3"},
    {"AuthenticAMD", 0x19, 0x60, 0xaf, "znver4"},
    {"AuthenticAMD", 0x1a, 0x00, 0xff, "znver5"},
    {"HygonGenuine", 0x18, 0x00, 0xff, "znver3"},
    {"GenuineIntel", 6, 0x3c, 0x3d, "haswell"}, /* Haswell, Broadwell */
    {"GenuineIntel", 6, 0x3f, 0x3f, "haswell"},
    {"GenuineIntel", 6, 0x45, 0x47, "haswell"},
    {"GenuineIntel", 6, 0x4e, 0x4f, "haswell"}, /* Skylake, Broadwell-EP */
    {"GenuineIntel", 6, 0x55, 0x55, "skylake-avx512"}, /* and Cascade Lake */
    {"GenuineIntel", 6, 0x56, 0x56, "haswell"},
    {"GenuineIntel", 6, 0x5e, 0x5e, "haswell"},
    {"GenuineIntel", 6, 0x6a, 0x6a, "skylake-avx512"}, /* Ice Lake server */
    {"GenuineIntel", 6, 0x6c, 0x6c, "skylake-avx512"},
    {"GenuineIntel", 6, 0x7d, 0x7e, "skylake-avx512"}, /* Ice Lake client */
    {"GenuineIntel", 6, 0x8c, 0x8d, "skylake-avx512"}, /* Tiger Lake */
    {"GenuineIntel", 6, 0x8e, 0x8e, "haswell"},        /* Kaby Lake */
    {"GenuineIntel", 6, 0x8f, 0x8f, "sapphirerapids"},
    {"GenuineIntel", 6, 0x9e, 0x9e, "haswell"},
    {"GenuineIntel", 6, 0xa5, 0xa6, "haswell"},        /* Comet Lake */
    {"GenuineIntel", 6, 0xa7, 0xa7, "skylake-avx512"}, /* Rocket Lake */
    {"GenuineIntel", 6, 0xad, 0xae, "graniterapids"},
    {"GenuineIntel", 6, 0xcf, 0xcf, "sapphirerapids"}}; /* Emerald Rapids */

static bool is_x86(const pn_host_facts_t *facts) {
  return strncmp(facts->llvm_triple, "x86_64", 6) == 0;
}

static bool same_architecture(const pn_host_facts_t *facts,
                              const pn_target_row_t *row) {
  return is_x86(facts) == (strncmp(row->info.llvm_triple, "x86_64", 6) == 0);
}

static bool has(uint64_t features, pn_target_feature_t feature) {
  return (features >> (unsigned)feature) & 1;
}

static const char *row_by_features(const pn_host_facts_t *facts) {
  uint64_t features = pn_host_features(facts->llvm_features);
  if (!is_x86(facts))
    return has(features, PN_TARGET_FEATURE_SVE) ? "neoverse-v1" : "neoverse-n1";
  if (has(features, PN_TARGET_FEATURE_AMX_FP16))
    return "graniterapids";
  if (has(features, PN_TARGET_FEATURE_AMX_INT8))
    return "sapphirerapids";
  return has(features, PN_TARGET_FEATURE_AVX512F) ? "skylake-avx512"
                                                  : "haswell";
}

const pn_target_row_t *pn_host_nearest_row(const pn_host_facts_t *facts,
                                           const char **out_why) {
  const pn_target_row_t *row = NULL;
  for (size_t i = 0; i < sizeof(model_ranges) / sizeof(model_ranges[0]); ++i) {
    const struct model_range *range = &model_ranges[i];
    if (strcmp(range->vendor, facts->vendor) == 0 &&
        range->family == facts->family && facts->model >= range->first_model &&
        facts->model <= range->last_model)
      row = pn_target_find_row(range->row);
  }
  *out_why = "family and model";
  if (row && same_architecture(facts, row))
    return row;
  *out_why = "LLVM name";
  row = pn_target_find_row(facts->llvm_cpu);
  if (row && same_architecture(facts, row))
    return row;
  *out_why = "features";
  return pn_target_find_row(row_by_features(facts));
}

/*===--- Features ---------------------------------------------------------===*/

/* Each of ours needs all of LLVM's named here, separated by blanks. */
static const struct feature_need {
  pn_target_feature_t feature;
  const char *llvm_names;
} feature_needs[] = {
    {PN_TARGET_FEATURE_AVX2, "avx2 fma"},
    {PN_TARGET_FEATURE_F16C, "f16c"},
    {PN_TARGET_FEATURE_AVX512F, "avx2 fma avx512f avx512bw avx512dq avx512vl"},
    {PN_TARGET_FEATURE_AVX512_BF16,
     "avx2 fma avx512f avx512bw avx512dq avx512vl avx512bf16"},
    {PN_TARGET_FEATURE_AVX512_VNNI,
     "avx2 fma avx512f avx512bw avx512dq avx512vl avx512vnni"},
    {PN_TARGET_FEATURE_AVX512_FP16,
     "avx2 fma avx512f avx512bw avx512dq avx512vl avx512fp16"},
    {PN_TARGET_FEATURE_AVX_VNNI, "avx2 fma avxvnni"},
    {PN_TARGET_FEATURE_AMX_BF16, "amx-tile amx-bf16"},
    {PN_TARGET_FEATURE_AMX_INT8, "amx-tile amx-int8"},
    {PN_TARGET_FEATURE_AMX_FP16, "amx-tile amx-fp16"},
    {PN_TARGET_FEATURE_NEON, "neon"},
    {PN_TARGET_FEATURE_NEON_FP16, "neon fullfp16"},
    {PN_TARGET_FEATURE_NEON_DOTPROD, "neon dotprod"},
    {PN_TARGET_FEATURE_ARM_BF16, "neon bf16"},
    {PN_TARGET_FEATURE_ARM_I8MM, "neon i8mm"},
    {PN_TARGET_FEATURE_SVE, "neon sve"}};

/* Whether "+name" stands in a comma-separated list. */
static bool list_has(const char *list, const char *name, size_t length) {
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (at[0] == '+' && strncmp(at + 1, name, length) == 0 &&
        (at[1 + length] == ',' || at[1 + length] == '\0'))
      return true;
  }
  return false;
}

static bool list_has_all(const char *list, const char *names) {
  while (*names) {
    size_t length = strcspn(names, " ");
    if (!list_has(list, names, length))
      return false;
    names += length;
    names += *names == ' ';
  }
  return true;
}

static const uint64_t amx_features =
    (UINT64_C(1) << PN_TARGET_FEATURE_AMX_BF16) |
    (UINT64_C(1) << PN_TARGET_FEATURE_AMX_INT8) |
    (UINT64_C(1) << PN_TARGET_FEATURE_AMX_FP16);

uint64_t pn_host_usable_features(const pn_host_facts_t *facts) {
  uint64_t features = pn_host_features(facts->llvm_features);
  return facts->amx_usable ? features : features & ~amx_features;
}

uint64_t pn_host_features(const char *llvm_features) {
  uint64_t features = 0;
  for (size_t i = 0; i < sizeof(feature_needs) / sizeof(feature_needs[0]); ++i)
    if (list_has_all(llvm_features, feature_needs[i].llvm_names))
      features |= UINT64_C(1) << (unsigned)feature_needs[i].feature;
  return features;
}

/*===--- Vectors ----------------------------------------------------------===*/

/* Narrows the nearest row to what the machine can do: a hypervisor may hide
 * AVX-512 or AVX2. The 256-bit pipes of a core whose 512-bit operations use
 * two of them count twice. */
static void fit_vectors(pn_target_info_t *info) {
  if (strncmp(info->llvm_triple, "x86_64", 6) != 0)
    return;
  int32_t width = 128;
  if (pn_target_info_has(info, PN_TARGET_FEATURE_AVX512F))
    width = 512;
  else if (pn_target_info_has(info, PN_TARGET_FEATURE_AVX2))
    width = 256;
  if (width >= info->vector_bits)
    return;
  if (info->vector_bits == 512 && info->fma_ports == 1) {
    info->fma_ports = 2;
    info->load_ports = 2;
  }
  info->divide_cycles =
      (info->divide_cycles * width + info->vector_bits - 1) / info->vector_bits;
  info->vector_bits = width;
  info->vector_registers = 16;
  info->prefer_vector_width_bits = width;
}

/*===--- Caches -----------------------------------------------------------===*/

static bool divides(int32_t size_kib, int64_t ways, int64_t line_bytes) {
  return ways > 0 && (int64_t)size_kib * 1024 % (ways * line_bytes) == 0;
}

/* Ways that fit the size: as reported, else those of the row, else the most
 * usual power of two. */
static int32_t fit_ways(int32_t size_kib, int32_t line_bytes, int32_t reported,
                        int32_t of_row) {
  if (divides(size_kib, reported, line_bytes))
    return reported;
  if (divides(size_kib, of_row, line_bytes))
    return of_row;
  int32_t ways = 16;
  while (ways > 1 && !divides(size_kib, ways, line_bytes))
    ways /= 2;
  return ways;
}

/* The smaller of two reports of one level; a missing one does not count. */
static const pn_host_cache_t *smaller(const pn_host_cache_t *a,
                                      const pn_host_cache_t *b) {
  if (a->size_kib <= 0)
    return b;
  if (b->size_kib <= 0)
    return a;
  return a->size_kib <= b->size_kib ? a : b;
}

/* One level out of both reports; absent where neither has it. */
static pn_target_cache_t fit_cache(const pn_host_facts_t *facts, int level,
                                   const pn_target_cache_t *of_row,
                                   char *source, size_t capacity) {
  const pn_host_cache_t *sysfs = &facts->sysfs[level];
  const pn_host_cache_t *cpuid = &facts->cpuid[level];
  const pn_host_cache_t *chosen = smaller(sysfs, cpuid);
  (void)snprintf(source, capacity,
                 "sysfs %d KiB for %d threads, CPUID %d KiB for %d",
                 sysfs->size_kib, sysfs->sharing_threads, cpuid->size_kib,
                 cpuid->sharing_threads);
  pn_target_cache_t cache = {0};
  if (chosen->size_kib <= 0)
    return cache;
  int32_t line = chosen->line_bytes;
  if (line < 16 || line > 4096 || (line & (line - 1)) != 0)
    line = of_row->line_bytes ? of_row->line_bytes : 64;
  int32_t threads = facts->threads_per_core > 0 ? facts->threads_per_core : 1;
  int32_t shared = chosen->sharing_threads / threads;
  cache.size_kib = chosen->size_kib;
  cache.line_bytes = line;
  cache.ways = fit_ways(chosen->size_kib, line, chosen->ways, of_row->ways);
  cache.shared_by_cores = shared > 0 ? shared : 1;
  return cache;
}

/* One core's share of the last level: what the system reports, divided by the
 * cores that it says share it, but no more than was measured or, without a
 * measurement, than the share on the chip of the nearest row. */
static void fit_usable(const pn_host_facts_t *facts,
                       const pn_target_row_t *nearest, pn_host_text_t *text,
                       pn_target_info_t *info) {
  int level = pn_target_info_last_level(info);
  const pn_target_cache_t *last = &info->caches[level];
  char *source = text->sources[PN_TARGET_GROUP_USABLE];
  size_t capacity = sizeof(text->sources[0]);
  int32_t reported = last->size_kib / last->shared_by_cores;
  int32_t share = reported;
  if (level < 2) {
    (void)snprintf(source, capacity, "no L3 reported; share of L2");
  } else if (facts->measured_capacity_kib > 0) {
    int32_t measured = facts->measured_capacity_kib / last->shared_by_cores;
    share = measured < reported ? measured : reported;
    (void)snprintf(source, capacity,
                   "least of %d KiB reported a core and %d KiB measured, for "
                   "%d cores",
                   reported, facts->measured_capacity_kib,
                   last->shared_by_cores);
  } else {
    int32_t of_row = nearest->info.usable_llc_kib_per_core;
    share = of_row < reported ? of_row : reported;
    (void)snprintf(source, capacity,
                   "not measured; least of %d KiB reported a core and %d KiB "
                   "a core of %s",
                   reported, of_row, nearest->info.name);
  }
  /* A noisy neighbour during the measurement must not leave nothing. */
  int32_t floor_kib = reported < 256 ? reported : 256;
  share = share > floor_kib ? share : floor_kib;
  info->usable_llc_kib_per_core = share > 0 ? share : 1;
}

static void fit_caches(const pn_host_facts_t *facts,
                       const pn_target_row_t *nearest, pn_host_text_t *text,
                       pn_target_row_t *row) {
  pn_target_info_t *info = &row->info;
  for (int i = 0; i < 3; ++i) {
    char *source = text->sources[PN_TARGET_GROUP_L1 + i];
    info->caches[i] = fit_cache(facts, i, &nearest->info.caches[i], source,
                                sizeof(text->sources[0]));
    row->sources[PN_TARGET_GROUP_L1 + i] = source;
    if (i > 0 && info->caches[i].size_kib > 0 &&
        info->caches[i].shared_by_cores < info->caches[i - 1].shared_by_cores)
      info->caches[i].shared_by_cores = info->caches[i - 1].shared_by_cores;
  }
  if (info->caches[2].size_kib == 0)
    info->l3_bytes_per_cycle = 0;
  else if (info->l3_bytes_per_cycle == 0)
    info->l3_bytes_per_cycle = (info->l2_bytes_per_cycle + 1) / 2;
  fit_usable(facts, nearest, text, info);
  row->sources[PN_TARGET_GROUP_USABLE] = text->sources[PN_TARGET_GROUP_USABLE];
}

/* The caches of the nearest row, for a machine that reports nonsense. */
static void take_caches(const pn_target_row_t *nearest, pn_host_text_t *text,
                        pn_target_row_t *row) {
  memcpy(row->info.caches, nearest->info.caches, sizeof(row->info.caches));
  row->info.l3_bytes_per_cycle = nearest->info.l3_bytes_per_cycle;
  row->info.usable_llc_kib_per_core = nearest->info.usable_llc_kib_per_core;
  for (int i = PN_TARGET_GROUP_L1; i <= PN_TARGET_GROUP_USABLE; ++i) {
    (void)snprintf(text->sources[i], sizeof(text->sources[i]),
                   "of %s; what the system reports makes no sense",
                   nearest->info.name);
    row->sources[i] = text->sources[i];
  }
}

/*===--- Everything -------------------------------------------------------===*/

/* "of znver3 (nearest by family and model)" for groups that were not
 * detected. */
static void set_nearest_sources(const pn_target_row_t *nearest, const char *why,
                                pn_host_text_t *text, pn_target_row_t *row) {
  for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i) {
    (void)snprintf(text->sources[i], sizeof(text->sources[i]),
                   "of %s, nearest by %s", nearest->info.name, why);
    row->sources[i] = text->sources[i];
  }
  (void)snprintf(text->sources[PN_TARGET_GROUP_LLVM], sizeof(text->sources[0]),
                 "LLVM host detection");
  (void)snprintf(text->sources[PN_TARGET_GROUP_CORES], sizeof(text->sources[0]),
                 "affinity mask, sysfs topology");
  (void)snprintf(text->sources[PN_TARGET_GROUP_CLOCK], sizeof(text->sources[0]),
                 "CPUID leaf 0x16, else cpufreq; 0 where neither says");
  (void)snprintf(text->sources[PN_TARGET_GROUP_PAGES], sizeof(text->sources[0]),
                 "sysconf and sysfs; L1 DTLB of %s", nearest->info.name);
}

static void fit_pages(const pn_host_facts_t *facts, pn_target_info_t *info) {
  int32_t page = facts->page_bytes;
  bool sane = page >= 1024 && page <= 1 << 20 && (page & (page - 1)) == 0;
  info->page_bytes = sane ? page : info->page_bytes;
  int64_t huge = facts->huge_page_bytes;
  sane = huge > info->page_bytes && huge <= INT64_C(1) << 36 &&
         (huge & (huge - 1)) == 0;
  info->huge_page_bytes = sane ? huge : 0;
}

static void fit_rates(const pn_host_facts_t *facts, pn_host_text_t *text,
                      pn_target_info_t *info) {
  int32_t mhz = facts->frequency_mhz;
  info->frequency_mhz = mhz > 0 && mhz <= 20000 ? mhz : 0;
  int32_t memory = facts->measured_memory_mib_per_s;
  if (memory <= 0 || memory > 1 << 24)
    return;
  info->memory_mib_per_s = memory;
  char *source = text->sources[PN_TARGET_GROUP_RATES];
  size_t used = strlen(source);
  (void)snprintf(source + used, sizeof(text->sources[0]) - used,
                 "; memory measured");
}

void pn_host_row(const pn_host_facts_t *facts, pn_host_text_t *text,
                 pn_target_row_t *out_row) {
  const char *why;
  const pn_target_row_t *nearest = pn_host_nearest_row(facts, &why);
  pn_target_row_t row = *nearest;
  pn_target_info_t *info = &row.info;
  info->name = "host";
  info->llvm_triple = facts->llvm_triple;
  info->llvm_cpu = facts->llvm_cpu;
  info->llvm_features = facts->llvm_features;
  info->features = pn_host_usable_features(facts);
  /* Palette 1 of AMX is the same on every chip that has it. */
  bool tiles = (info->features & amx_features) != 0;
  info->matrix_rows = tiles ? 16 : 0;
  info->matrix_row_bytes = tiles ? 64 : 0;
  info->matrix_tiles = tiles ? 8 : 0;
  info->cores = facts->cores > 0 && facts->cores <= 1 << 16 ? facts->cores : 1;
  set_nearest_sources(nearest, why, text, &row);
  fit_vectors(info);
  fit_caches(facts, nearest, text, &row);
  fit_pages(facts, info);
  fit_rates(facts, text, info);
  char reason[256];
  if (!pn_target_row_check(&row, reason, sizeof(reason)))
    take_caches(nearest, text, &row);
  *out_row = row;
}
