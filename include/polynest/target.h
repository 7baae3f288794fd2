/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/target.h: descriptions of the chips that code is generated for.
 *
 * A target is one row of data. Every field has a unit in its name and belongs
 * to a group that carries a source (manual, measurement, detection). Rows come
 * from the table of known chips, from the machine this process runs on, or
 * from a text file (docs/targets.md gives the format and all fields).
 * Units: KiB, bytes, bits, cycles, MHz, MiB/s as the names say. 0 stands for
 * "absent" or "unknown" only where the field says so.
 * Ownership: a target is reference counted; strings in pn_target_info_t belong
 * to the target and live as long as it does.
 * Errors: PN_ERROR_NOT_FOUND for an unknown name, PN_ERROR_IO for a file that
 * cannot be read, PN_ERROR_PARSE with line and column for text that does not
 * parse, PN_ERROR_TARGET for a row that contradicts itself, PN_ERROR_ARGUMENT
 * for a struct_size or a format we do not know, PN_ERROR_MEMORY.
 * Threads: a target is immutable; retain and release are atomic.
 * Since: 0.1
 */
#ifndef POLYNEST_TARGET_H
#define POLYNEST_TARGET_H

#include "polynest/base.h"
#include "polynest/error.h"

PN_EXTERN_C_BEGIN

typedef struct pn_target pn_target_t;

typedef enum pn_target_kind { PN_TARGET_KIND_CPU = 1 } pn_target_kind_t;

/* Bit numbers in pn_target_info_t.features. Never renumbered. */
typedef enum pn_target_feature {
  PN_TARGET_FEATURE_AVX2 = 0, /* with FMA3 */
  PN_TARGET_FEATURE_F16C = 1,
  PN_TARGET_FEATURE_AVX512F = 2, /* with BW, DQ and VL */
  PN_TARGET_FEATURE_AVX512_BF16 = 3,
  PN_TARGET_FEATURE_AVX512_VNNI = 4,
  PN_TARGET_FEATURE_AVX512_FP16 = 5,
  PN_TARGET_FEATURE_AVX_VNNI = 6,
  PN_TARGET_FEATURE_AMX_BF16 = 7,
  PN_TARGET_FEATURE_AMX_INT8 = 8,
  PN_TARGET_FEATURE_AMX_FP16 = 9,
  PN_TARGET_FEATURE_NEON = 10,
  PN_TARGET_FEATURE_NEON_FP16 = 11,    /* f16 arithmetic */
  PN_TARGET_FEATURE_NEON_DOTPROD = 12, /* sdot, udot */
  PN_TARGET_FEATURE_ARM_BF16 = 13,     /* bfdot, bfmmla */
  PN_TARGET_FEATURE_ARM_I8MM = 14,     /* smmla, usdot */
  PN_TARGET_FEATURE_SVE = 15
} pn_target_feature_t;

/* One cache level as seen by one core. size_kib 0: the level is absent, and
 * then all fields are 0. size_kib * 1024 is ways * line_bytes * sets. */
typedef struct pn_target_cache {
  int32_t size_kib;
  int32_t line_bytes;
  int32_t ways;
  int32_t shared_by_cores;
} pn_target_cache_t;

/* Set struct_size to sizeof(pn_target_info_t) before a call that fills it.
 * Later versions only append fields. */
typedef struct pn_target_info {
  size_t struct_size;
  pn_target_kind_t kind;
  int32_t cores;             /* cores that one program may use */
  const char *name;          /* "znver4", "host", or what a file says */
  const char *llvm_triple;   /* "x86_64-unknown-linux-gnu" */
  const char *llvm_cpu;      /* as -mcpu */
  const char *llvm_features; /* as -mattr; "" = those of llvm_cpu */
  uint64_t features;         /* bit set of pn_target_feature_t */
  pn_target_cache_t caches[3];
  int32_t usable_llc_kib_per_core;  /* one core's share of the last level */
  int32_t vector_bits;              /* width to generate code for */
  int32_t vector_registers;         /* architectural, of that width */
  int32_t prefer_vector_width_bits; /* value of LLVM's function attribute
                                       "prefer-vector-width"; 0: set none */
  int32_t fma_ports;                /* FMAs of vector_bits started a cycle */
  int32_t fma_latency_cycles;       /* through the accumulator operand */
  int32_t load_ports;               /* loads of vector_bits a cycle */
  int32_t store_ports; /* stores of vector_bits a cycle, at least 1 */
  int32_t matrix_rows; /* rows of a matrix register; 0: no matrix unit */
  int32_t matrix_row_bytes;
  int32_t matrix_tiles;  /* matrix registers */
  int32_t frequency_mhz; /* sustained; 0: unknown */
  int32_t page_bytes;
  int32_t l1_dtlb_entries;    /* of page_bytes */
  int64_t huge_page_bytes;    /* 0: none */
  int32_t l2_bytes_per_cycle; /* L2 to L1, one core, sustained */
  int32_t l3_bytes_per_cycle; /* last level to L2, one core; 0: no L3 */
  int32_t memory_mib_per_s;   /* reading, one core alone; 0: unknown */
  int32_t divide_cycles;      /* from one division of vector_bits of f32 to the
                                 next, if the divider has nothing else to do;
                                 0: unknown */
  int32_t row_requests;       /* 1: lines of a next row in memory are best asked
                                 for in each loop along the row before it, of
                                 all operands; 0: in the last, of one, or not
                                 known */
  int32_t reserved;
} pn_target_info_t;

PN_STATIC_ASSERT(sizeof(pn_target_cache_t) == 16, "size of pn_target_cache_t");
#if UINTPTR_MAX == UINT64_MAX
PN_STATIC_ASSERT(sizeof(pn_target_info_t) == 192, "size of pn_target_info_t");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, features) == 48, "features");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, caches) == 56, "caches");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, vector_bits) == 108, "vector_bits");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, matrix_rows) == 136, "matrix_rows");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, huge_page_bytes) == 160,
                 "huge_page_bytes");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, memory_mib_per_s) == 176,
                 "memory_mib_per_s");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, divide_cycles) == 180,
                 "divide_cycles");
PN_STATIC_ASSERT(offsetof(pn_target_info_t, row_requests) == 184,
                 "row_requests");
#endif

/* How create_host learns the usable share of the last level cache. */
typedef enum pn_target_measure {
  PN_TARGET_MEASURE_CACHED = 0, /* use a measurement on disk if there is one */
  PN_TARGET_MEASURE_NOW = 1,    /* measure (under 100 ms) and store */
  PN_TARGET_MEASURE_IGNORE = 2  /* only what system and table say */
} pn_target_measure_t;

/* Reserved must be 0. */
typedef struct pn_target_host_options {
  size_t struct_size;
  pn_target_measure_t measure;
  int32_t reserved;
  const char *cache_directory; /* NULL: $XDG_CACHE_HOME/polynest, else
                                  $HOME/.cache/polynest */
} pn_target_host_options_t;

#define PN_TARGET_HOST_OPTIONS_INIT                                            \
  { sizeof(pn_target_host_options_t), PN_TARGET_MEASURE_CACHED, 0, NULL }

#if UINTPTR_MAX == UINT64_MAX
PN_STATIC_ASSERT(sizeof(pn_target_host_options_t) == 24,
                 "size of pn_target_host_options_t");
PN_STATIC_ASSERT(offsetof(pn_target_host_options_t, cache_directory) == 16,
                 "cache_directory");
#endif

typedef enum pn_target_format {
  PN_TARGET_FORMAT_TABLE = 1, /* for people: fields, values, sources */
  PN_TARGET_FORMAT_FILE = 2   /* a target file that parses to the same row */
} pn_target_format_t;

/* Number of rows in the table of known chips. */
PN_EXPORT size_t pn_target_known_count(void);

/* Name of row `index`, static; NULL past the end. */
PN_EXPORT PN_KEEP const char *pn_target_known_name(size_t index);

/* The machine this process runs on, with PN_TARGET_HOST_OPTIONS_INIT. Never
 * measures. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_create_host(PN_GIVE pn_target_t **out_target);

/* Options may be NULL. A measurement that cannot be made or stored is not an
 * error: the conservative estimate stands in for it. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_create_host_with(PN_KEEP const pn_target_host_options_t *options,
                           PN_GIVE pn_target_t **out_target);

/* "host", "cpu:host", "znver4" or "cpu:znver4". Other names give
 * PN_ERROR_NOT_FOUND, whose message lists the known ones. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_create_by_name(PN_KEEP const char *name,
                         PN_GIVE pn_target_t **out_target);

/* Reads a target file of at most 1 MiB. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_create_from_file(PN_KEEP const char *path,
                           PN_GIVE pn_target_t **out_target);

/* The same from memory; `file_name` stands in diagnostics and may be NULL. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_create_from_text(PN_KEEP const char *text, size_t length,
                           PN_KEEP const char *file_name,
                           PN_GIVE pn_target_t **out_target);

/* Returns its argument. */
PN_EXPORT PN_GIVE pn_target_t *pn_target_retain(PN_KEEP pn_target_t *target);

/* Accepts NULL. */
PN_EXPORT void pn_target_release(PN_TAKE pn_target_t *target);

/* Fills the first out_info->struct_size bytes and clears what lies past the
 * fields we know; struct_size keeps its value. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_get_info(PN_KEEP const pn_target_t *target,
                   PN_KEEP pn_target_info_t *out_info);

/* True where the bit of `feature` is set. */
PN_EXPORT bool pn_target_has_feature(PN_KEEP const pn_target_t *target,
                                     pn_target_feature_t feature);

/* Prints through `write`, in pieces. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_target_print(PN_KEEP const pn_target_t *target, pn_target_format_t format,
                pn_write_fn write, PN_KEEP void *user);

/* Asks the kernel to let this process use the AMX tile registers (once per
 * process, for all later threads). Returns whether they may be used; false on
 * machines without them. Describing the host asks, and so does loading compiled
 * code: a host that is refused has no AMX, and code that needs it is not
 * loaded. */
PN_EXPORT bool pn_target_request_amx(void);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_H */
