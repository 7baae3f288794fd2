/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/Fields.c: the fields of a row, their ranges, and the rules between
 * them. */

#include "Target/Row.h"

#include "Target/CostModel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OFFSET(member) offsetof(pn_target_info_t, member)
#define I32(key, unit, group, member, min, max, required)                      \
  {                                                                            \
    key, unit, PN_TARGET_FIELD_I32, PN_TARGET_GROUP_##group, OFFSET(member),   \
        min, max, required                                                     \
  }
#define STRING(key, group, member, required)                                   \
  {                                                                            \
    key, "", PN_TARGET_FIELD_STRING, PN_TARGET_GROUP_##group, OFFSET(member),  \
        0, 0, required                                                         \
  }
#define CACHE(level, index, group, required)                                   \
  I32(level "_size_kib", "KiB", group, caches[index].size_kib, 0, 1 << 22,     \
      required),                                                               \
      I32(level "_line_bytes", "bytes", group, caches[index].line_bytes, 0,    \
          4096, required),                                                     \
      I32(level "_ways", "", group, caches[index].ways, 0, 1 << 20, required), \
      I32(level "_shared_by_cores", "cores", group,                            \
          caches[index].shared_by_cores, 0, 1 << 16, required)

static const pn_target_field_t fields[] = {
    STRING("name", LLVM, name, true),
    STRING("llvm_triple", LLVM, llvm_triple, true),
    STRING("llvm_cpu", LLVM, llvm_cpu, true),
    STRING("llvm_features", LLVM, llvm_features, false),
    {"features", "", PN_TARGET_FIELD_FEATURES, PN_TARGET_GROUP_LLVM,
     OFFSET(features), 0, 0, true},
    I32("cores", "cores", CORES, cores, 1, 1 << 16, true),
    CACHE("l1", 0, L1, true),
    CACHE("l2", 1, L2, true),
    CACHE("l3", 2, L3, false),
    I32("usable_llc_kib_per_core", "KiB", USABLE, usable_llc_kib_per_core, 1,
        1 << 22, true),
    I32("vector_bits", "bits", VECTOR, vector_bits, 64, 2048, true),
    I32("vector_registers", "", VECTOR, vector_registers, 8, 256, true),
    I32("prefer_vector_width_bits", "bits", VECTOR, prefer_vector_width_bits, 0,
        2048, false),
    I32("fma_ports", "a cycle", FMA, fma_ports, 1, 16, true),
    I32("fma_latency_cycles", "cycles", FMA, fma_latency_cycles, 1, 64, true),
    I32("divide_cycles", "cycles", FMA, divide_cycles, 0, 256, false),
    I32("load_ports", "a cycle", PORTS, load_ports, 1, 16, true),
    I32("store_ports", "a cycle", PORTS, store_ports, 1, 16, true),
    I32("matrix_rows", "", MATRIX, matrix_rows, 0, 1024, false),
    I32("matrix_row_bytes", "bytes", MATRIX, matrix_row_bytes, 0, 4096, false),
    I32("matrix_tiles", "", MATRIX, matrix_tiles, 0, 256, false),
    I32("frequency_mhz", "MHz", CLOCK, frequency_mhz, 0, 20000, false),
    I32("page_bytes", "bytes", PAGES, page_bytes, 1024, 1 << 20, true),
    I32("l1_dtlb_entries", "", PAGES, l1_dtlb_entries, 1, 1 << 16, true),
    {"huge_page_bytes", "bytes", PN_TARGET_FIELD_I64, PN_TARGET_GROUP_PAGES,
     OFFSET(huge_page_bytes), 0, INT64_C(1) << 36, false},
    I32("l2_bytes_per_cycle", "bytes", RATES, l2_bytes_per_cycle, 1, 1024,
        true),
    I32("l3_bytes_per_cycle", "bytes", RATES, l3_bytes_per_cycle, 0, 1024,
        false),
    I32("memory_mib_per_s", "MiB/s", RATES, memory_mib_per_s, 0, 1 << 24,
        false),
    I32("row_requests", "", RATES, row_requests, 0, 1, false)};

static const char *const group_names[PN_TARGET_GROUP_COUNT] = {
    "llvm", "cores", "l1",     "l2",    "l3",    "usable", "vector",
    "fma",  "ports", "matrix", "clock", "pages", "rates"};

static const char *const feature_names[] = {
    "avx2",         "f16c",        "avx512f",  "avx512-bf16",
    "avx512-vnni",  "avx512-fp16", "avx-vnni", "amx-bf16",
    "amx-int8",     "amx-fp16",    "neon",     "neon-fp16",
    "neon-dotprod", "arm-bf16",    "arm-i8mm", "sve"};

size_t pn_target_field_count(void) {
  return sizeof(fields) / sizeof(fields[0]);
}

const pn_target_field_t *pn_target_field(size_t index) {
  return index < pn_target_field_count() ? &fields[index] : NULL;
}

const char *pn_target_group_name(pn_target_group_t group) {
  return group_names[group];
}

int64_t pn_target_field_get(const pn_target_info_t *info,
                            const pn_target_field_t *field) {
  const char *at = (const char *)info + field->offset;
  if (field->type == PN_TARGET_FIELD_I32) {
    int32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
  }
  int64_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}

void pn_target_field_set(pn_target_info_t *info, const pn_target_field_t *field,
                         int64_t value) {
  char *at = (char *)info + field->offset;
  if (field->type == PN_TARGET_FIELD_I32) {
    int32_t narrow = (int32_t)value;
    memcpy(at, &narrow, sizeof(narrow));
    return;
  }
  memcpy(at, &value, sizeof(value));
}

const char *pn_target_field_get_string(const pn_target_info_t *info,
                                       const pn_target_field_t *field) {
  const char *value;
  memcpy(&value, (const char *)info + field->offset, sizeof(value));
  return value ? value : "";
}

void pn_target_field_set_string(pn_target_info_t *info,
                                const pn_target_field_t *field,
                                const char *value) {
  memcpy((char *)info + field->offset, &value, sizeof(value));
}

size_t pn_target_feature_count(void) {
  return sizeof(feature_names) / sizeof(feature_names[0]);
}

const char *pn_target_feature_name(size_t index) {
  return index < pn_target_feature_count() ? feature_names[index] : NULL;
}

int pn_target_info_last_level(const pn_target_info_t *info) {
  int level = 2;
  while (level > 0 && info->caches[level].size_kib == 0)
    --level;
  return level;
}

/*===--- Rules ------------------------------------------------------------===*/

/* Where a check writes its reason. */
typedef struct reason {
  char *text;
  size_t capacity;
} reason_t;

/* Always returns false, so that a rule can end in `return refuse(...)`. */
__attribute__((format(printf, 2, 3))) static bool
refuse(reason_t *reason, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(reason->text, reason->capacity, format, args);
  va_end(args);
  return false;
}

static bool is_power_of_two(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool check_ranges(const pn_target_info_t *info, reason_t *reason) {
  for (size_t i = 0; i < pn_target_field_count(); ++i) {
    const pn_target_field_t *field = &fields[i];
    if (field->type == PN_TARGET_FIELD_STRING) {
      if (field->required && !*pn_target_field_get_string(info, field))
        return refuse(reason, "%s is empty", field->key);
      continue;
    }
    if (field->type == PN_TARGET_FIELD_FEATURES)
      continue;
    int64_t value = pn_target_field_get(info, field);
    if (value < field->min || value > field->max)
      return refuse(reason, "%s is %lld, allowed are %lld to %lld", field->key,
                    (long long)value, (long long)field->min,
                    (long long)field->max);
  }
  return true;
}

/* The name is used in file names and on command lines. */
static bool check_name(const pn_target_info_t *info, reason_t *reason) {
  size_t length = strlen(info->name);
  if (length > 64)
    return refuse(reason, "name has %zu characters, allowed are 64", length);
  for (size_t i = 0; i < length; ++i) {
    char c = info->name[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                 (c >= '0' && c <= '9') || strchr("-_.+", c) != NULL;
    if (!plain)
      return refuse(reason,
                    "name '%s' may only have letters, digits, '-', '_', "
                    "'.' and '+'",
                    info->name);
  }
  return true;
}

static bool check_cache(const pn_target_info_t *info, int level,
                        reason_t *reason) {
  const pn_target_cache_t *cache = &info->caches[level];
  int number = level + 1;
  if (cache->size_kib == 0) {
    if (level < 2)
      return refuse(reason, "l%d_size_kib is 0; levels 1 and 2 must be there",
                    number);
    if (cache->line_bytes || cache->ways || cache->shared_by_cores)
      return refuse(reason, "l3_size_kib is 0 but another l3 field is not");
    return true;
  }
  if (!is_power_of_two(cache->line_bytes) || cache->line_bytes < 16)
    return refuse(reason,
                  "l%d_line_bytes is %d; it must be a power of two of 16 or "
                  "more",
                  number, cache->line_bytes);
  if (cache->ways < 1 || cache->shared_by_cores < 1)
    return refuse(reason, "l%d_ways and l%d_shared_by_cores must be positive",
                  number, number);
  int64_t bytes = (int64_t)cache->size_kib * 1024;
  int64_t set_bytes = (int64_t)cache->ways * cache->line_bytes;
  if (bytes % set_bytes != 0)
    return refuse(reason,
                  "l%d_size_kib %d is no multiple of %d ways times %d bytes",
                  number, cache->size_kib, cache->ways, cache->line_bytes);
  return true;
}

/* A level further out is never smaller, never has shorter lines, and is never
 * shared by fewer cores. */
static bool check_cache_order(const pn_target_info_t *info, reason_t *reason) {
  int last = pn_target_info_last_level(info);
  for (int i = 1; i <= last; ++i) {
    const pn_target_cache_t *inner = &info->caches[i - 1];
    const pn_target_cache_t *outer = &info->caches[i];
    if (outer->size_kib < inner->size_kib)
      return refuse(reason, "l%d_size_kib %d is smaller than l%d_size_kib %d",
                    i + 1, outer->size_kib, i, inner->size_kib);
    if (outer->line_bytes < inner->line_bytes)
      return refuse(reason, "l%d_line_bytes %d is below l%d_line_bytes %d",
                    i + 1, outer->line_bytes, i, inner->line_bytes);
    if (outer->shared_by_cores < inner->shared_by_cores)
      return refuse(reason,
                    "l%d is shared by %d cores, fewer than the %d of l%d",
                    i + 1, outer->shared_by_cores, inner->shared_by_cores, i);
  }
  if (info->usable_llc_kib_per_core > info->caches[last].size_kib)
    return refuse(reason, "usable_llc_kib_per_core %d exceeds l%d_size_kib %d",
                  info->usable_llc_kib_per_core, last + 1,
                  info->caches[last].size_kib);
  if ((info->caches[2].size_kib == 0) != (info->l3_bytes_per_cycle == 0))
    return refuse(reason,
                  "l3_bytes_per_cycle is %d with an l3_size_kib of %d; either "
                  "both or none are 0",
                  info->l3_bytes_per_cycle, info->caches[2].size_kib);
  return true;
}

static bool check_vectors(const pn_target_info_t *info, reason_t *reason) {
  if (!is_power_of_two(info->vector_bits))
    return refuse(reason, "vector_bits is %d; it must be a power of two",
                  info->vector_bits);
  int32_t prefer = info->prefer_vector_width_bits;
  if (prefer != 0 && (!is_power_of_two(prefer) || prefer < info->vector_bits))
    return refuse(reason,
                  "prefer_vector_width_bits is %d; it must be 0 or a power of "
                  "two not below vector_bits %d",
                  prefer, info->vector_bits);
  if (starts_with(info->llvm_triple, "x86_64") && info->vector_bits >= 256 &&
      !pn_target_info_has(info, info->vector_bits == 256
                                    ? PN_TARGET_FEATURE_AVX2
                                    : PN_TARGET_FEATURE_AVX512F))
    return refuse(reason, "vector_bits %d on x86-64 needs the feature %s",
                  info->vector_bits,
                  info->vector_bits == 256 ? "avx2" : "avx512f");
  return true;
}

/* One feature that makes no sense without another. */
static const struct implication {
  pn_target_feature_t feature, needs;
} implications[] = {{PN_TARGET_FEATURE_AVX512F, PN_TARGET_FEATURE_AVX2},
                    {PN_TARGET_FEATURE_AVX512_BF16, PN_TARGET_FEATURE_AVX512F},
                    {PN_TARGET_FEATURE_AVX512_VNNI, PN_TARGET_FEATURE_AVX512F},
                    {PN_TARGET_FEATURE_AVX512_FP16, PN_TARGET_FEATURE_AVX512F},
                    {PN_TARGET_FEATURE_AVX_VNNI, PN_TARGET_FEATURE_AVX2},
                    {PN_TARGET_FEATURE_NEON_FP16, PN_TARGET_FEATURE_NEON},
                    {PN_TARGET_FEATURE_NEON_DOTPROD, PN_TARGET_FEATURE_NEON},
                    {PN_TARGET_FEATURE_ARM_BF16, PN_TARGET_FEATURE_NEON},
                    {PN_TARGET_FEATURE_ARM_I8MM, PN_TARGET_FEATURE_NEON},
                    {PN_TARGET_FEATURE_SVE, PN_TARGET_FEATURE_NEON}};

#define FEATURE_BIT(name) (UINT64_C(1) << PN_TARGET_FEATURE_##name)
static const uint64_t amx_mask =
    FEATURE_BIT(AMX_BF16) | FEATURE_BIT(AMX_INT8) | FEATURE_BIT(AMX_FP16);
static const uint64_t arm_mask =
    FEATURE_BIT(NEON) | FEATURE_BIT(NEON_FP16) | FEATURE_BIT(NEON_DOTPROD) |
    FEATURE_BIT(ARM_BF16) | FEATURE_BIT(ARM_I8MM) | FEATURE_BIT(SVE);

static bool check_features(const pn_target_info_t *info, reason_t *reason) {
  uint64_t known = (UINT64_C(1) << pn_target_feature_count()) - 1;
  if (info->features & ~known)
    return refuse(reason, "features has unknown bits 0x%llx",
                  (unsigned long long)(info->features & ~known));
  for (size_t i = 0; i < sizeof(implications) / sizeof(implications[0]); ++i)
    if (pn_target_info_has(info, implications[i].feature) &&
        !pn_target_info_has(info, implications[i].needs))
      return refuse(reason, "feature %s needs %s",
                    feature_names[implications[i].feature],
                    feature_names[implications[i].needs]);
  bool arm = starts_with(info->llvm_triple, "aarch64") ||
             starts_with(info->llvm_triple, "arm64");
  bool x86 = starts_with(info->llvm_triple, "x86_64");
  if ((x86 && (info->features & arm_mask)) ||
      (arm && (info->features & ~arm_mask)))
    return refuse(reason, "features name another architecture than '%s'",
                  info->llvm_triple);
  bool all = info->matrix_rows > 0 && info->matrix_row_bytes > 0 &&
             info->matrix_tiles > 0;
  bool any = info->matrix_rows > 0 || info->matrix_row_bytes > 0 ||
             info->matrix_tiles > 0;
  if (any != all)
    return refuse(reason,
                  "matrix_rows %d, matrix_row_bytes %d and "
                  "matrix_tiles %d must all be 0 or all positive",
                  info->matrix_rows, info->matrix_row_bytes,
                  info->matrix_tiles);
  if ((info->features & amx_mask) && !all)
    return refuse(reason, "an amx feature needs matrix_rows, matrix_row_bytes "
                          "and matrix_tiles");
  return true;
}

static bool check_pages(const pn_target_info_t *info, reason_t *reason) {
  if (!is_power_of_two(info->page_bytes))
    return refuse(reason, "page_bytes is %d; it must be a power of two",
                  info->page_bytes);
  int64_t huge = info->huge_page_bytes;
  if (huge != 0 && (!is_power_of_two(huge) || huge <= info->page_bytes))
    return refuse(reason,
                  "huge_page_bytes is %lld; it must be 0 or a power of "
                  "two above page_bytes %d",
                  (long long)huge, info->page_bytes);
  return true;
}

/* The models must find a register tile and a blocking whose working sets fit.
 */
static bool check_models(const pn_target_info_t *info, reason_t *reason) {
  pn_model_core_t core = pn_model_core_from_target(info, 4);
  pn_model_tile_t tile;
  if (!pn_model_register_tile(&core, 0, 0, &tile))
    return refuse(reason, "%d vector registers hold no register tile",
                  info->vector_registers);
  pn_model_blocking_t blocking;
  if (!pn_model_blocking_low2016(&core, &tile, &blocking))
    return refuse(reason,
                  "l1 with %d KiB and %d ways, l2 with %d KiB: no blocking of "
                  "a %d x %d register tile fits",
                  info->caches[0].size_kib, info->caches[0].ways,
                  info->caches[1].size_kib, tile.mr, tile.nr);
  return true;
}

bool pn_target_row_check(const pn_target_row_t *row, char *text,
                         size_t capacity) {
  reason_t reason = {text, capacity};
  const pn_target_info_t *info = &row->info;
  if (info->kind != PN_TARGET_KIND_CPU)
    return refuse(&reason, "kind is %d, only cpu (1) is known",
                  (int)info->kind);
  if (!check_ranges(info, &reason) || !check_name(info, &reason))
    return false;
  for (int level = 0; level < 3; ++level)
    if (!check_cache(info, level, &reason))
      return false;
  return check_cache_order(info, &reason) && check_vectors(info, &reason) &&
         check_features(info, &reason) && check_pages(info, &reason) &&
         check_models(info, &reason);
}
