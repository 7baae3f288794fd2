/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pipeline/Pipeline.c: the pass pipelines of the five stages, as text. */

#include "Pipeline/Pipeline.h"

#include "Support/Error.h"
#include "Support/Names.h"
#include "Target/CostModel.h"
#include "Target/DotUnits.h"
#include "Target/Permutes.h"
#include "Target/Row.h"

#include <inttypes.h>
#include <string.h>

/* Numbers of a target that passes take as options, in the order in which they
 * are printed. */
typedef enum pn_number {
  NUMBER_VECTOR_WIDTH,
  NUMBER_VECTOR_REGISTERS,
  NUMBER_FMA_LATENCY,
  NUMBER_FMA_PORTS,
  NUMBER_DIVIDE,
  NUMBER_LOAD_PORTS,
  NUMBER_L1_SIZE,
  NUMBER_L2_SIZE,
  NUMBER_CORES,
  NUMBER_CACHE_SIZE,
  NUMBER_FREQUENCY,
  NUMBER_STREAM_THRESHOLD,
  NUMBER_SHARED_SIZE,
  NUMBER_MEMORY_COST,
  NUMBER_ROW_REQUESTS,
  NUMBER_COUNT
} pn_number_t;

static const char *const number_options[NUMBER_COUNT] = {
    [NUMBER_VECTOR_WIDTH] = "vector-width-bits",
    [NUMBER_VECTOR_REGISTERS] = "vector-registers",
    [NUMBER_FMA_LATENCY] = "fma-latency-cycles",
    [NUMBER_FMA_PORTS] = "fma-ports",
    [NUMBER_DIVIDE] = "divide-cycles",
    [NUMBER_LOAD_PORTS] = "load-ports",
    [NUMBER_L1_SIZE] = "l1-size-kib",
    [NUMBER_L2_SIZE] = "l2-size-kib",
    [NUMBER_CORES] = "cores",
    [NUMBER_CACHE_SIZE] = "cache-size-kib",
    [NUMBER_FREQUENCY] = "frequency-mhz",
    [NUMBER_STREAM_THRESHOLD] = "threshold-kib",
    [NUMBER_SHARED_SIZE] = "shared-size-kib",
    [NUMBER_MEMORY_COST] = "memory-cost",
    [NUMBER_ROW_REQUESTS] = "row-requests",
};

#define TAKES(number) (1u << (NUMBER_##number))
#define TAKES_FMA_UNITS                                                        \
  (TAKES(VECTOR_REGISTERS) | TAKES(FMA_LATENCY) | TAKES(FMA_PORTS))

/* One pass of a stage. */
typedef struct pn_pass_row {
  const char *flag;
  /* Anchor: NULL for the module, else the nested operation's name. */
  const char *anchor;
  /* Options as text, or NULL. */
  const char *fixed_options;
  /* Set of the target's numbers, as TAKES() names them. */
  unsigned numbers;
  /* Appends further options behind those that stand from `begin` on; NULL for
   * none. */
  void (*print_options)(pn_buffer_t *buffer, size_t begin,
                        const pn_target_info_t *target,
                        const pn_compile_options_t *options);
  /* An optimization: left out at PN_OPT_PLAIN, and may be disabled by name. */
  bool is_optimization;
  /* Changes values in ways that PN_NUMERICS_STRICT does not allow. */
  bool is_relaxed;
} pn_pass_row_t;

#define ON_FUNC "func.func"

/* One core's share of a cache, in KiB. */
static int32_t cache_share_kib(const pn_target_cache_t *cache) {
  return cache->shared_by_cores > 1 ? cache->size_kib / cache->shared_by_cores
                                    : cache->size_kib;
}

/* Size of the cache that one core has for itself, in KiB. */
static int32_t private_cache_kib(const pn_target_info_t *target) {
  int32_t l2 = target->caches[1].size_kib;
  return l2 > 0 && target->caches[1].shared_by_cores <= 2
             ? l2
             : target->caches[0].size_kib;
}

/* Negative where it is not known: the pass then keeps its own. */
static int64_t number_of(const pn_target_info_t *target, pn_number_t number) {
  switch (number) {
  case NUMBER_VECTOR_WIDTH:
    return target->vector_bits;
  case NUMBER_VECTOR_REGISTERS:
    return target->vector_registers;
  case NUMBER_FMA_LATENCY:
    return target->fma_latency_cycles;
  case NUMBER_FMA_PORTS:
    return target->fma_ports;
  case NUMBER_DIVIDE:
    return target->divide_cycles;
  case NUMBER_LOAD_PORTS:
    return target->load_ports;
  case NUMBER_L1_SIZE:
    return cache_share_kib(&target->caches[0]);
  case NUMBER_L2_SIZE:
    return cache_share_kib(&target->caches[1]);
  case NUMBER_CORES:
    return target->cores;
  case NUMBER_CACHE_SIZE:
    return private_cache_kib(target);
  case NUMBER_FREQUENCY:
    return target->frequency_mhz > 0 ? target->frequency_mhz : -1;
  case NUMBER_STREAM_THRESHOLD:
    return pn_model_stream_threshold_kib(target);
  case NUMBER_SHARED_SIZE:
    return (int64_t)target->usable_llc_kib_per_core * target->cores;
  case NUMBER_MEMORY_COST:
    return pn_model_memory_cost(target);
  case NUMBER_ROW_REQUESTS:
    return target->row_requests;
  case NUMBER_COUNT:
    break;
  }
  return -1;
}

/* Parts an option from those that stand from `begin` on. */
static void begin_option(pn_buffer_t *buffer, size_t begin) {
  if (buffer->size > begin)
    pn_buffer_append_text(buffer, " ");
}

static void print_fence_options(pn_buffer_t *buffer, size_t begin,
                                const pn_target_info_t *target,
                                const pn_compile_options_t *options) {
  (void)options;
  begin_option(buffer, begin);
  pn_buffer_printf(buffer, "intrinsic=%s", pn_model_stream_fence_name(target));
}

static void print_target_options(pn_buffer_t *buffer, size_t begin,
                                 const pn_target_info_t *target,
                                 const pn_compile_options_t *options) {
  (void)options;
  begin_option(buffer, begin);
  pn_buffer_printf(buffer, "target=%s", target->name);
  const char *before = " features=";
  for (size_t i = 0; i < pn_target_feature_count(); ++i) {
    if (!(target->features >> i & 1))
      continue;
    pn_buffer_printf(buffer, "%s%s", before, pn_target_feature_name(i));
    before = ",";
  }
}

static void print_timing_options(pn_buffer_t *buffer, size_t begin,
                                 const pn_target_info_t *target,
                                 const pn_compile_options_t *options) {
  (void)target;
  if (!options->time_nests)
    return;
  begin_option(buffer, begin);
  pn_buffer_append_text(buffer, "number=true");
}

/* The forms of dot products that the target has units for, each once. */
static void print_dot_forms(pn_buffer_t *buffer, size_t begin,
                            const pn_target_info_t *target,
                            const pn_compile_options_t *options) {
  const pn_dot_unit_t *unit;
  const char *last = NULL;
  for (size_t i = 0; (unit = pn_dot_unit_get(target, i)) != NULL; ++i) {
    bool is_new = !last || strcmp(last, unit->form) != 0;
    if (!is_new || (!unit->is_exact && options->numerics == PN_NUMERICS_STRICT))
      continue;
    if (!last)
      begin_option(buffer, begin);
    pn_buffer_printf(buffer, "%s%s", last ? "," : "dots=", unit->form);
    last = unit->form;
  }
}

/* The forms of dot products and of products of tiles. */
static void print_forms(pn_buffer_t *buffer, size_t begin,
                        const pn_target_info_t *target,
                        const pn_compile_options_t *options) {
  print_dot_forms(buffer, begin, target, options);
  pn_matrix_unit_t unit;
  bool is_first = true;
  for (size_t i = 0; pn_matrix_unit_get(target, i, &unit); ++i) {
    if (!unit.is_exact && options->numerics == PN_NUMERICS_STRICT)
      continue;
    if (is_first)
      begin_option(buffer, begin);
    pn_buffer_printf(buffer, "%s%s:%dx%dx%d:%d:%d", is_first ? "tiles=" : ",",
                     unit.form, (int)unit.rows, (int)unit.columns,
                     (int)unit.words, (int)unit.registers,
                     (int)unit.latency_cycles);
    is_first = false;
  }
}

/* The matrix units themselves. */
static void print_matrix_units(pn_buffer_t *buffer, size_t begin,
                               const pn_target_info_t *target,
                               const pn_compile_options_t *options) {
  (void)options;
  pn_matrix_unit_t unit;
  for (size_t i = 0; pn_matrix_unit_get(target, i, &unit); ++i) {
    if (i == 0)
      begin_option(buffer, begin);
    pn_buffer_printf(buffer, "%s%s:%dx%dx%d:%s", i ? "," : "units=", unit.form,
                     (int)unit.rows, (int)unit.columns, (int)unit.words,
                     unit.intrinsic);
  }
}

/* The units themselves. */
static void print_dot_units(pn_buffer_t *buffer, size_t begin,
                            const pn_target_info_t *target,
                            const pn_compile_options_t *options) {
  (void)options;
  const pn_dot_unit_t *unit;
  for (size_t i = 0; (unit = pn_dot_unit_get(target, i)) != NULL; ++i) {
    if (i == 0)
      begin_option(buffer, begin);
    pn_buffer_printf(buffer, "%s%s:%d:%s:%s", i ? "," : "units=", unit->form,
                     (int)unit->bits, unit->adds_up ? "add" : "sum",
                     unit->intrinsic);
  }
}

/* The instructions that look numbers up in a register. */
static void print_permutes(pn_buffer_t *buffer, size_t begin,
                           const pn_target_info_t *target,
                           const pn_compile_options_t *options) {
  (void)options;
  const pn_permute_t *permute;
  for (size_t i = 0; (permute = pn_permute_get(target, i)) != NULL; ++i) {
    if (i == 0)
      begin_option(buffer, begin);
    pn_buffer_printf(buffer, "%s%d:%s",
                     i ? "," : "permutes=", (int)permute->bits,
                     permute->intrinsic);
  }
}

/* Arm's minima and maxima are those of IEEE 754-2019. */
static void print_extremes(pn_buffer_t *buffer, size_t begin,
                           const pn_target_info_t *target,
                           const pn_compile_options_t *options) {
  (void)options;
  if (!pn_target_info_has(target, PN_TARGET_FEATURE_NEON))
    return;
  begin_option(buffer, begin);
  pn_buffer_printf(buffer, "exact-extremes=true");
}

/* Nests have no branches between blocks that could be simplified. */
#define NO_BLOCKS "region-simplify=disabled"

static const pn_pass_row_t s1_rows[] = {
    {.flag = "polynest-lower-tm-tensor"},
    /* Arithmetic on whole tensors becomes linalg first, so that the guards
     * need no constants of dynamic shape. */
    {.flag = "convert-elementwise-to-linalg"},
    {.flag = "polynest-guard-integer-division"},
    /* Before "inline", which folds sizes of what it inlines. */
    {.flag = "polynest-settle-views"},
    {.flag = "inline"},
    {.flag = "symbol-dce"},
    {.flag = "polynest-match-reshapes", .anchor = ON_FUNC},
    {.flag = "polynest-expand-reshapes"},
    {.flag = "polynest-decompose-tensor-ops"},
    {.flag = "polynest-settle-views"},
    {.flag = "polynest-simplify-sizes", .anchor = ON_FUNC},
    {.flag = "canonicalize"},
    {.flag = "cse"},
    {.flag = "polynest-anchor-loop-buffers"},
    {.flag = "polynest-convert-entries"},
    {.flag = "canonicalize"},
    {.flag = "cse"},
    {.flag = "polynest-settle-views"},
    {.flag = "polynest-split-inits"},
    {.flag = "eliminate-empty-tensors"},
    {.flag = "one-shot-bufferize",
     .fixed_options = "allow-return-allocs-from-loops=true"},
    {.flag = "polynest-order-copies", .anchor = ON_FUNC},
    {.flag = "canonicalize"},
    {.flag = "cse"},
};

static const pn_pass_row_t s2_rows[] = {
    {.flag = "polynest-check-sizes"},
    {.flag = "polynest-lower-linalg"},
    {.flag = "polynest-raise-scf"},
    {.flag = "canonicalize", .fixed_options = NO_BLOCKS},
    {.flag = "cse"},
    {.flag = "polynest-count-work", .anchor = ON_FUNC},
    {.flag = "polynest-describe-nests",
     .anchor = ON_FUNC,
     .fixed_options = "form=plain"},
};

static const pn_pass_row_t s3_rows[] = {
    {.flag = "polynest-unify-sizes", .is_optimization = true},
    {.flag = "polynest-fold-views", .anchor = ON_FUNC, .is_optimization = true},
    {.flag = "polynest-eliminate-buffers", .is_optimization = true},
    {.flag = "polynest-trim-buffers",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-recompute-indices",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-split-buffers",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-eliminate-buffers", .is_optimization = true},
    {.flag = "polynest-fuse-nests",
     .anchor = ON_FUNC,
     .numbers = TAKES(CACHE_SIZE) | TAKES(STREAM_THRESHOLD),
     .is_optimization = true},
    {.flag = "polynest-replace-scalars",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-recompute-elements",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-eliminate-buffers", .is_optimization = true},
    {.flag = "polynest-narrow-buffers",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-eliminate-buffers", .is_optimization = true},
    {.flag = "polynest-widen-sums",
     .anchor = ON_FUNC,
     .is_optimization = true,
     .is_relaxed = true},
    {.flag = "polynest-track-places",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-fuse-blocks",
     .anchor = ON_FUNC,
     .numbers = TAKES(CACHE_SIZE) | TAKES(SHARED_SIZE) | TAKES(CORES) |
                TAKES(MEMORY_COST),
     .is_optimization = true},
    {.flag = "polynest-trim-loops",
     .anchor = ON_FUNC,
     .numbers = TAKES(CORES),
     .is_optimization = true},
    {.flag = "polynest-block-statistics",
     .anchor = ON_FUNC,
     .numbers = TAKES(CACHE_SIZE),
     .is_optimization = true},
    {.flag = "polynest-stream-reductions",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_WIDTH) | TAKES(VECTOR_REGISTERS) |
                TAKES(FMA_PORTS) | TAKES(LOAD_PORTS) | TAKES(L1_SIZE) |
                TAKES(L2_SIZE),
     .is_optimization = true},
    {.flag = "polynest-jam-reductions",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_REGISTERS) | TAKES(L2_SIZE),
     .is_optimization = true},
    {.flag = "polynest-assign-layouts",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-split-borders",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-trim-fills", .anchor = ON_FUNC, .is_optimization = true},
    {.flag = "polynest-fuse-blocks",
     .anchor = ON_FUNC,
     .fixed_options = "iterations=true",
     .numbers = TAKES(CACHE_SIZE) | TAKES(SHARED_SIZE) | TAKES(CORES),
     .is_optimization = true},
    {.flag = "polynest-block-contractions",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_WIDTH) | TAKES_FMA_UNITS | TAKES(LOAD_PORTS) |
                TAKES(L1_SIZE) | TAKES(L2_SIZE) | TAKES(CORES),
     .print_options = print_forms,
     .is_optimization = true},
    {.flag = "polynest-coalesce-loops",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-split-constants", .is_optimization = true},
    {.flag = "polynest-split-sums", .anchor = ON_FUNC, .is_optimization = true},
    {.flag = "polynest-split-reductions",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-narrow-conditions",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-recompute-rows",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-group-rows", .anchor = ON_FUNC, .is_optimization = true},
    {.flag = "polynest-block-lanes",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_WIDTH) | TAKES(L1_SIZE),
     .is_optimization = true},
    {.flag = "polynest-share-nests", .is_optimization = true},
    {.flag = "polynest-vectorize-nests",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_WIDTH) | TAKES_FMA_UNITS | TAKES(STREAM_THRESHOLD),
     .is_optimization = true},
    {.flag = "polynest-tile-windows",
     .anchor = ON_FUNC,
     .numbers = TAKES_FMA_UNITS | TAKES(LOAD_PORTS),
     .is_optimization = true},
    {.flag = "polynest-tile-registers",
     .anchor = ON_FUNC,
     .numbers = TAKES_FMA_UNITS | TAKES(LOAD_PORTS),
     .is_optimization = true},
    {.flag = "canonicalize", .fixed_options = NO_BLOCKS " top-down=false"},
    {.flag = "cse"},
    {.flag = "polynest-prefetch-rows",
     .anchor = ON_FUNC,
     .numbers =
         TAKES(CACHE_SIZE) | TAKES(STREAM_THRESHOLD) | TAKES(ROW_REQUESTS),
     .is_optimization = true},
    {.flag = "polynest-parallelize-nests",
     .anchor = ON_FUNC,
     .numbers = TAKES(CACHE_SIZE) | TAKES(FREQUENCY),
     .is_optimization = true},
    {.flag = "polynest-unshare-nests"},
    {.flag = "polynest-stream-stores",
     .anchor = ON_FUNC,
     .numbers = TAKES(STREAM_THRESHOLD),
     .is_optimization = true},
    {.flag = "polynest-pipeline-rows",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-describe-nests",
     .anchor = ON_FUNC,
     .fixed_options = "form=final",
     .print_options = print_timing_options},
    {.flag = "polynest-plan-memory", .anchor = ON_FUNC},
    /* S4 canonicalizes what is then left. */
    {.flag = "cse"},
};

static const pn_pass_row_t s4_rows[] = {
    {.flag = "polynest-outline-kernels"},
    {.flag = "polynest-hoist-allocas", .anchor = ON_FUNC},
    {.flag = "polynest-lower-views"},
    {.flag = "expand-strided-metadata"},
    {.flag = "polynest-linearize-accesses", .anchor = ON_FUNC},
    {.flag = "lower-affine"},
    {.flag = "scf-parallel-for-to-nested-fors", .anchor = ON_FUNC},
    /* What a second round would do is to gather constants. */
    {.flag = "canonicalize", .fixed_options = NO_BLOCKS " max-iterations=1"},
    {.flag = "cse"},
};

static const pn_pass_row_t s5_rows[] = {
    {.flag = "polynest-describe-entries",
     .print_options = print_target_options},
    {.flag = "polynest-defer-nans",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_REGISTERS),
     .print_options = print_extremes,
     .is_optimization = true},
    {.flag = "polynest-invert-divisors",
     .anchor = ON_FUNC,
     .numbers = TAKES(VECTOR_WIDTH) | TAKES(FMA_PORTS) | TAKES(DIVIDE),
     .is_optimization = true},
    {.flag = "polynest-lower-math", .print_options = print_permutes},
    {.flag = "polynest-lower-tiles",
     .anchor = ON_FUNC,
     .print_options = print_matrix_units},
    {.flag = "polynest-lower-dots", .print_options = print_dot_units},
    {.flag = "polynest-count-operations"},
    {.flag = "convert-scf-to-cf"},
    {.flag = "polynest-weigh-branches",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-lower-asserts"},
    {.flag = "arith-emulate-unsupported-floats",
     .fixed_options = "source-types=bf16 target-type=f32"},
    {.flag = "polynest-expand-arith"},
    {.flag = "polynest-convert-to-llvm"},
    {.flag = "reconcile-unrealized-casts"},
    /* LLVM folds what is left of descriptors, the same way. */
    {.flag = "cse"},
    {.flag = "polynest-fence-streams",
     .anchor = "llvm.func",
     .print_options = print_fence_options},
    {.flag = "polynest-lower-entries"},
};

#define ROWS(table) table, sizeof(table) / sizeof((table)[0])

static const struct {
  const pn_pass_row_t *rows;
  size_t count;
} stages[] = {
    [PN_STAGE_INPUT] = {NULL, 0},    [PN_STAGE_S1] = {ROWS(s1_rows)},
    [PN_STAGE_S2] = {ROWS(s2_rows)}, [PN_STAGE_S3] = {ROWS(s3_rows)},
    [PN_STAGE_S4] = {ROWS(s4_rows)}, [PN_STAGE_S5] = {ROWS(s5_rows)},
};

/* A part of a list of names. */
typedef struct pn_name {
  const char *data;
  size_t size;
} pn_name_t;

/* Calls `visit` for each name of a list separated by commas or semicolons;
 * stops where it returns false. */
static bool for_each_name(const char *list,
                          bool (*visit)(void *user, pn_name_t name),
                          void *user) {
  while (list && *list) {
    size_t size = strcspn(list, ",;");
    if (size && !visit(user, (pn_name_t){list, size}))
      return false;
    list += size;
    list += *list ? 1 : 0;
  }
  return true;
}

/* The flag without what all of ours begin with. */
static const char *short_name(const char *flag) {
  static const char prefix[] = "polynest-";
  size_t size = sizeof(prefix) - 1;
  return strncmp(flag, prefix, size) == 0 ? flag + size : flag;
}

static bool is_text(pn_name_t name, const char *text) {
  return strlen(text) == name.size && memcmp(text, name.data, name.size) == 0;
}

/* Passes are named by their flags, or by these without the prefix. */
static bool differs_from(void *flag, pn_name_t name) {
  return !is_text(name, flag) && !is_text(name, short_name(flag));
}

static bool is_disabled(const pn_compile_options_t *options, const char *flag) {
  return !for_each_name(options->disabled_passes, differs_from, (void *)flag);
}

#define OPTIMIZATIONS_MAX 64

/* The flags of all optimizations, each once, in the order of the stages. */
static size_t list_optimizations(const char *flags[OPTIMIZATIONS_MAX]) {
  size_t count = 0;
  for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); ++s)
    for (size_t i = 0; i < stages[s].count; ++i) {
      const pn_pass_row_t *row = &stages[s].rows[i];
      bool is_new = row->is_optimization && count < OPTIMIZATIONS_MAX;
      for (size_t j = 0; is_new && j < count; ++j)
        is_new = strcmp(flags[j], row->flag) != 0;
      if (is_new)
        flags[count++] = row->flag;
    }
  return count;
}

static bool is_known_optimization(void *out_unknown, pn_name_t name) {
  const char *flags[OPTIMIZATIONS_MAX];
  size_t count = list_optimizations(flags);
  for (size_t i = 0; i < count; ++i)
    if (!differs_from((void *)flags[i], name))
      return true;
  *(pn_name_t *)out_unknown = name;
  return false;
}

/* Says which passes there are, and which of them may have been meant. */
static pn_error_t *unknown_optimization(pn_name_t name) {
  const char *names[OPTIMIZATIONS_MAX];
  size_t count = list_optimizations(names);
  char text[PN_NAME_MAX + 1];
  size_t size = name.size < PN_NAME_MAX ? name.size : PN_NAME_MAX;
  memcpy(text, name.data, size);
  text[size] = '\0';
  for (size_t i = 0; i < count; ++i)
    names[i] = short_name(names[i]);
  const char *nearest = pn_nearest_name(short_name(text), names, count);
  pn_buffer_t message = {0};
  pn_buffer_printf(&message, "'%s' is no pass that can be disabled; ", text);
  if (nearest)
    pn_buffer_printf(&message, "did you mean '%s'? ", nearest);
  pn_buffer_append_text(&message, "known are ");
  for (size_t i = 0; i < count; ++i)
    pn_buffer_printf(&message, "%s%s", i ? ", " : "", names[i]);
  pn_error_t *error =
      message.failed
          ? pn_error_create(PN_ERROR_MEMORY, "out of memory")
          : pn_error_create(PN_ERROR_ARGUMENT, "%s", pn_buffer_text(&message));
  pn_buffer_clear(&message);
  return error;
}

static void append_options(const pn_pass_row_t *row,
                           const pn_target_info_t *target,
                           const pn_compile_options_t *options,
                           pn_buffer_t *buffer) {
  if (!row->fixed_options && !row->numbers && !row->print_options)
    return;
  size_t before = buffer->size;
  pn_buffer_append_text(buffer, "{");
  size_t begin = buffer->size;
  if (row->fixed_options)
    pn_buffer_append_text(buffer, row->fixed_options);
  for (int i = 0; i < NUMBER_COUNT; ++i) {
    int64_t value =
        row->numbers & (1u << i) ? number_of(target, (pn_number_t)i) : -1;
    if (value < 0)
      continue;
    begin_option(buffer, begin);
    pn_buffer_printf(buffer, "%s=%" PRId64, number_options[i], value);
  }
  if (row->print_options)
    row->print_options(buffer, begin, target, options);
  if (buffer->size == begin)
    buffer->size = before;
  else
    pn_buffer_append_text(buffer, "}");
}

static void append_row(const pn_pass_row_t *row, const pn_target_info_t *target,
                       const pn_compile_options_t *options,
                       pn_buffer_t *buffer) {
  if (row->anchor)
    pn_buffer_printf(buffer, "%s(", row->anchor);
  pn_buffer_append_text(buffer, row->flag);
  append_options(row, target, options, buffer);
  if (row->anchor)
    pn_buffer_append_text(buffer, ")");
}

pn_error_t *pn_pipeline_append(pn_stage_t stage, const pn_target_info_t *target,
                               const pn_compile_options_t *options,
                               pn_buffer_t *buffer) {
  if (stage < PN_STAGE_S1 || stage > PN_STAGE_S5)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "stage %d is out of range; stages are 1 to 5",
                           (int)stage);
  pn_name_t unknown;
  if (!for_each_name(options->disabled_passes, is_known_optimization, &unknown))
    return unknown_optimization(unknown);
  /* Any text may come in at any stage, so this stands even without
   * verification: what follows divides by steps. */
  pn_buffer_append_text(buffer, "polynest-verify-stage{stage=any},");
  for (size_t i = 0; i < stages[stage].count; ++i) {
    const pn_pass_row_t *row = &stages[stage].rows[i];
    if (row->is_optimization &&
        (options->opt_level == PN_OPT_PLAIN || is_disabled(options, row->flag)))
      continue;
    if (row->is_relaxed && options->numerics == PN_NUMERICS_STRICT)
      continue;
    append_row(row, target, options, buffer);
    pn_buffer_append_text(buffer, ",");
  }
  if (options->verify_stages)
    pn_buffer_printf(buffer, "polynest-verify-stage{stage=s%d},", (int)stage);
  pn_buffer_printf(buffer, "polynest-mark-stage{stage=s%d}", (int)stage);
  if (buffer->failed)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  return NULL;
}

pn_error_t *pn_pipeline_print(pn_stage_t stage, const pn_target_t *target,
                              const pn_compile_options_t *options,
                              pn_write_fn write, void *user) {
  if (!target || !write)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "target and write must not be null");
  pn_compile_options_t read;
  pn_error_t *error = pn_compile_options_read(options, &read);
  if (error)
    return error;
  pn_target_info_t info = {.struct_size = sizeof(info)};
  error = pn_target_get_info(target, &info);
  if (error)
    return error;
  pn_buffer_t buffer = {0};
  pn_buffer_append_text(&buffer, "builtin.module(");
  error = pn_pipeline_append(stage, &info, &read, &buffer);
  pn_buffer_append_text(&buffer, ")");
  if (!error && buffer.failed)
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  if (!error)
    write(user, pn_buffer_text(&buffer), buffer.size);
  pn_buffer_clear(&buffer);
  return error;
}
