/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pipeline/Pipeline.c: the pass pipelines of the five stages, as text. */

#include "Pipeline/Pipeline.h"

#include "Support/Error.h"
#include "Target/CostModel.h"

#include <inttypes.h>
#include <string.h>

/* What options of a pass depend on. */
typedef struct pn_pipeline_env {
  const pn_target_info_t *target;
  const pn_compile_options_t *options;
} pn_pipeline_env_t;

/* One pass of a stage. */
typedef struct pn_pass_row {
  const char *flag;
  /* Anchor: NULL for the module, else the nested operation's name. */
  const char *anchor;
  /* Options as text, or NULL. */
  const char *fixed_options;
  /* Appends further options; NULL for none. */
  void (*print_options)(pn_buffer_t *buffer, const pn_pipeline_env_t *env);
  /* An optimization: left out at PN_OPT_PLAIN, and may be disabled by name. */
  bool is_optimization;
} pn_pass_row_t;

#define ON_FUNC "func.func"

static void print_vector_options(pn_buffer_t *buffer,
                                 const pn_pipeline_env_t *env) {
  const pn_target_info_t *target = env->target;
  pn_buffer_printf(buffer,
                   "vector-width-bits=%d vector-registers=%d "
                   "fma-latency-cycles=%d fma-ports=%d",
                   target->vector_bits, target->vector_registers,
                   target->fma_latency_cycles, target->fma_ports);
}

/* Size of the cache that one core has for itself, in KiB. */
static int32_t private_cache_kib(const pn_target_info_t *target) {
  int32_t l2 = target->caches[1].size_kib;
  return l2 > 0 && target->caches[1].shared_by_cores <= 2
             ? l2
             : target->caches[0].size_kib;
}

static void print_fusion_options(pn_buffer_t *buffer,
                                 const pn_pipeline_env_t *env) {
  pn_buffer_printf(buffer, "cache-size-kib=%d", private_cache_kib(env->target));
}

static void print_parallel_options(pn_buffer_t *buffer,
                                   const pn_pipeline_env_t *env) {
  int32_t frequency = env->target->frequency_mhz;
  pn_buffer_printf(buffer, "cache-size-kib=%d", private_cache_kib(env->target));
  if (frequency > 0)
    pn_buffer_printf(buffer, " frequency-mhz=%d", frequency);
}

static void print_register_options(pn_buffer_t *buffer,
                                   const pn_pipeline_env_t *env) {
  const pn_target_info_t *target = env->target;
  pn_buffer_printf(buffer,
                   "vector-registers=%d fma-latency-cycles=%d fma-ports=%d "
                   "load-ports=%d",
                   target->vector_registers, target->fma_latency_cycles,
                   target->fma_ports, target->load_ports);
}

/* One core's share of a cache, in KiB. */
static int32_t cache_share_kib(const pn_target_cache_t *cache) {
  return cache->shared_by_cores > 1 ? cache->size_kib / cache->shared_by_cores
                                    : cache->size_kib;
}

static void print_contraction_options(pn_buffer_t *buffer,
                                      const pn_pipeline_env_t *env) {
  const pn_target_info_t *target = env->target;
  pn_buffer_printf(buffer,
                   "vector-width-bits=%d vector-registers=%d "
                   "fma-latency-cycles=%d fma-ports=%d load-ports=%d "
                   "l1-size-kib=%d l2-size-kib=%d cores=%d",
                   target->vector_bits, target->vector_registers,
                   target->fma_latency_cycles, target->fma_ports,
                   target->load_ports, cache_share_kib(&target->caches[0]),
                   cache_share_kib(&target->caches[1]), target->cores);
}

static void print_reduction_options(pn_buffer_t *buffer,
                                    const pn_pipeline_env_t *env) {
  const pn_target_info_t *target = env->target;
  pn_buffer_printf(buffer,
                   "vector-width-bits=%d vector-registers=%d fma-ports=%d "
                   "load-ports=%d l1-size-kib=%d l2-size-kib=%d",
                   target->vector_bits, target->vector_registers,
                   target->fma_ports, target->load_ports,
                   cache_share_kib(&target->caches[0]),
                   cache_share_kib(&target->caches[1]));
}

static void print_jam_options(pn_buffer_t *buffer,
                              const pn_pipeline_env_t *env) {
  const pn_target_info_t *target = env->target;
  pn_buffer_printf(buffer, "vector-registers=%d l2-size-kib=%d",
                   target->vector_registers,
                   cache_share_kib(&target->caches[1]));
}

static void print_stream_options(pn_buffer_t *buffer,
                                 const pn_pipeline_env_t *env) {
  pn_buffer_printf(buffer, "threshold-kib=%" PRId64,
                   pn_model_stream_threshold_kib(env->target));
}

static void print_fence_options(pn_buffer_t *buffer,
                                const pn_pipeline_env_t *env) {
  pn_buffer_printf(buffer, "intrinsic=%s",
                   pn_model_stream_fence_name(env->target));
}

static const pn_pass_row_t s1_rows[] = {
    {.flag = "polynest-lower-tm-tensor"},
    /* Arithmetic on whole tensors becomes linalg first, so that the guards
     * need no constants of dynamic shape. */
    {.flag = "convert-elementwise-to-linalg"},
    {.flag = "polynest-guard-integer-division"},
    {.flag = "inline"},
    {.flag = "symbol-dce"},
    {.flag = "polynest-decompose-tensor-ops"},
    {.flag = "canonicalize"},
    {.flag = "cse"},
    {.flag = "polynest-anchor-loop-buffers"},
    {.flag = "polynest-convert-entries"},
    {.flag = "canonicalize"},
    {.flag = "cse"},
    {.flag = "polynest-split-inits"},
    {.flag = "eliminate-empty-tensors"},
    {.flag = "one-shot-bufferize",
     .fixed_options = "allow-return-allocs-from-loops=true"},
    {.flag = "polynest-order-copies", .anchor = ON_FUNC},
    {.flag = "canonicalize"},
    {.flag = "cse"},
};

static const pn_pass_row_t s2_rows[] = {
    {.flag = "polynest-lower-linalg"},
    {.flag = "polynest-raise-scf"},
    {.flag = "canonicalize"},
    {.flag = "cse"},
    {.flag = "polynest-count-work", .anchor = ON_FUNC},
};

static const pn_pass_row_t s3_rows[] = {
    {.flag = "polynest-fold-views", .anchor = ON_FUNC, .is_optimization = true},
    {.flag = "polynest-eliminate-buffers",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-fuse-nests",
     .anchor = ON_FUNC,
     .print_options = print_fusion_options,
     .is_optimization = true},
    {.flag = "polynest-replace-scalars",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-eliminate-buffers",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-stream-reductions",
     .anchor = ON_FUNC,
     .print_options = print_reduction_options,
     .is_optimization = true},
    {.flag = "polynest-jam-reductions",
     .anchor = ON_FUNC,
     .print_options = print_jam_options,
     .is_optimization = true},
    {.flag = "polynest-assign-layouts",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-block-contractions",
     .anchor = ON_FUNC,
     .print_options = print_contraction_options,
     .is_optimization = true},
    {.flag = "polynest-split-constants", .is_optimization = true},
    {.flag = "polynest-split-sums", .anchor = ON_FUNC, .is_optimization = true},
    {.flag = "polynest-split-reductions",
     .anchor = ON_FUNC,
     .is_optimization = true},
    {.flag = "polynest-vectorize-nests",
     .anchor = ON_FUNC,
     .print_options = print_vector_options,
     .is_optimization = true},
    {.flag = "polynest-tile-registers",
     .anchor = ON_FUNC,
     .print_options = print_register_options,
     .is_optimization = true},
    {.flag = "canonicalize"},
    {.flag = "cse"},
    {.flag = "polynest-parallelize-nests",
     .anchor = ON_FUNC,
     .print_options = print_parallel_options,
     .is_optimization = true},
    {.flag = "polynest-stream-stores",
     .anchor = ON_FUNC,
     .print_options = print_stream_options,
     .is_optimization = true},
    {.flag = "polynest-plan-memory", .anchor = ON_FUNC},
    /* S4 canonicalizes what is then left. */
    {.flag = "cse"},
};

static const pn_pass_row_t s4_rows[] = {
    {.flag = "polynest-outline-kernels"},
    {.flag = "polynest-hoist-allocas", .anchor = ON_FUNC},
    {.flag = "polynest-lower-views"},
    {.flag = "expand-strided-metadata"},
    {.flag = "lower-affine"},
    {.flag = "scf-parallel-for-to-nested-fors", .anchor = ON_FUNC},
    {.flag = "canonicalize"},
    {.flag = "cse"},
};

static const pn_pass_row_t s5_rows[] = {
    {.flag = "polynest-describe-entries"},
    {.flag = "polynest-lower-math"},
    {.flag = "convert-scf-to-cf"},
    {.flag = "polynest-lower-asserts"},
    {.flag = "arith-emulate-unsupported-floats",
     .fixed_options = "source-types=bf16 target-type=f32"},
    {.flag = "polynest-expand-arith"},
    {.flag = "convert-math-to-llvm"},
    {.flag = "convert-math-to-libm"},
    {.flag = "convert-vector-to-llvm"},
    {.flag = "finalize-memref-to-llvm",
     .fixed_options = "use-generic-functions=false"},
    {.flag = "convert-arith-to-llvm"},
    {.flag = "convert-index-to-llvm"},
    {.flag = "convert-cf-to-llvm"},
    {.flag = "convert-func-to-llvm"},
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

/* Calls `visit` for each name of a list separated by commas or semicolons;
 * stops where it returns false. */
static bool for_each_name(const char *list,
                          bool (*visit)(void *user, const char *name,
                                        size_t size),
                          void *user) {
  while (list && *list) {
    size_t size = strcspn(list, ",;");
    if (size && !visit(user, list, size))
      return false;
    list += size;
    list += *list ? 1 : 0;
  }
  return true;
}

static bool differs_from(void *flag, const char *name, size_t size) {
  const char *other = flag;
  return strlen(other) != size || memcmp(other, name, size) != 0;
}

static bool is_disabled(const pn_compile_options_t *options, const char *flag) {
  return !for_each_name(options->disabled_passes, differs_from, (void *)flag);
}

static bool is_known_optimization(void *unused, const char *name, size_t size) {
  (void)unused;
  for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); ++s)
    for (size_t i = 0; i < stages[s].count; ++i)
      if (stages[s].rows[i].is_optimization &&
          !differs_from((void *)stages[s].rows[i].flag, name, size))
        return true;
  return false;
}

static void append_row(const pn_pass_row_t *row, const pn_pipeline_env_t *env,
                       pn_buffer_t *buffer) {
  if (row->anchor)
    pn_buffer_printf(buffer, "%s(", row->anchor);
  pn_buffer_append_text(buffer, row->flag);
  if (row->fixed_options || row->print_options) {
    pn_buffer_append_text(buffer, "{");
    if (row->fixed_options)
      pn_buffer_append_text(buffer, row->fixed_options);
    if (row->print_options) {
      if (row->fixed_options)
        pn_buffer_append_text(buffer, " ");
      row->print_options(buffer, env);
    }
    pn_buffer_append_text(buffer, "}");
  }
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
  if (!for_each_name(options->disabled_passes, is_known_optimization, NULL))
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "disabled passes '%s' name a pass that is not an optimization of s3",
        options->disabled_passes);
  const pn_pipeline_env_t env = {target, options};
  /* Any text may come in at any stage, so this stands even without
   * verification: what follows divides by steps. */
  pn_buffer_append_text(buffer, "polynest-verify-stage{stage=any},");
  for (size_t i = 0; i < stages[stage].count; ++i) {
    const pn_pass_row_t *row = &stages[stage].rows[i];
    if (row->is_optimization &&
        (options->opt_level == PN_OPT_PLAIN || is_disabled(options, row->flag)))
      continue;
    append_row(row, &env, buffer);
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
