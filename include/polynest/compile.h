/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/compile.h: from a module to a later stage, a file or an executable.
 *
 * The stages (docs/architecture.md):
 *   input  tensors                s3  optimized affine nests
 *   s1     ops on buffers         s4  scf and calls of outlined kernels
 *   s2     affine loop nests      s5  the LLVM dialect
 * A module that already is at a later stage starts there.
 * Threads: one thread at a time for a module; different modules at once.
 * compile_to_executable starts up to 15 threads, no more than there are other
 * processors that the caller may run on and none in a parallel region of
 * OpenMP, which end before it returns, and one that touches memory for bound
 * constants; that one may go on until the first state is made, or the
 * executable is released.
 * Errors: PN_ERROR_UNSUPPORTED and PN_ERROR_VERIFY with a location,
 * PN_ERROR_PASS, PN_ERROR_ARGUMENT (bad options), PN_ERROR_TARGET,
 * PN_ERROR_IO, PN_ERROR_LINK, PN_ERROR_MEMORY, PN_ERROR_INTERNAL.
 * Since: 0.1
 */
#ifndef POLYNEST_COMPILE_H
#define POLYNEST_COMPILE_H

#include "polynest/cache.h"
#include "polynest/executable.h"
#include "polynest/module.h"
#include "polynest/target.h"

PN_EXTERN_C_BEGIN

typedef enum pn_stage {
  PN_STAGE_INPUT = 0,
  PN_STAGE_S1 = 1,
  PN_STAGE_S2 = 2,
  PN_STAGE_S3 = 3,
  PN_STAGE_S4 = 4,
  PN_STAGE_S5 = 5
} pn_stage_t;

typedef enum pn_opt_level {
  PN_OPT_PLAIN = 0,   /* S3 changes nothing: the reference for --check */
  PN_OPT_DEFAULT = 1, /* everything */
} pn_opt_level_t;

typedef enum pn_numerics {
  PN_NUMERICS_DEFAULT = 0, /* (a) to (e) of docs/architecture.md, Numerics */
  PN_NUMERICS_STRICT = 1   /* (a) and (b) alone */
} pn_numerics_t;

/* Called after each stage with the module as it stands, for dumps. */
typedef void (*pn_stage_fn)(void *user, pn_stage_t stage,
                            const pn_module_t *module);

typedef struct pn_compile_options {
  size_t struct_size; /* sizeof(pn_compile_options_t) */
  pn_opt_level_t opt_level;
  pn_numerics_t numerics;
  /* Check each stage's form on its output; costs a few percent. */
  bool verify_stages;
  /* Have calls take the time of each nest (pn_executable_nest_times). */
  bool time_nests;
  uint8_t reserved[6];
  /* Comma-separated S3 passes to leave out, for finding a guilty pass, with or
   * without their prefix ("polynest-vectorize-nests,fuse-nests"); NULL for
   * none. An unknown name is PN_ERROR_ARGUMENT; the message lists all. */
  const char *disabled_passes;
  /* May be NULL. */
  pn_stage_fn stage_fn;
  void *user;
  /* Where pn_compile_to_executable looks first; NULL for nowhere. Borrowed. */
  pn_cache_t *cache;
} pn_compile_options_t;

#define PN_COMPILE_OPTIONS_INIT                                                \
  {                                                                            \
    sizeof(pn_compile_options_t), PN_OPT_DEFAULT, PN_NUMERICS_DEFAULT, true,   \
        false, {0}, NULL, NULL, NULL, NULL                                     \
  }

/* Wall time of each step of one compilation, in nanoseconds. */
typedef struct pn_compile_timing {
  size_t struct_size;   /* sizeof(pn_compile_timing_t) */
  int64_t stage_ns[6];  /* by pn_stage_t; [0] is parsing of a file */
  int64_t translate_ns; /* LLVM dialect to LLVM IR */
  int64_t optimize_ns;  /* LLVM's optimizer */
  int64_t codegen_ns;   /* LLVM's code generator */
  int64_t link_ns;      /* JIT linking or the system linker */
  int64_t cache_ns;     /* making the key, looking up and keeping */
  int64_t total_ns;
  pn_cache_outcome_t cache_outcome; /* what was found has no other times */
  int32_t reserved;
} pn_compile_timing_t;

PN_STATIC_ASSERT(sizeof(pn_compile_options_t) == 56, "ABI of the options");
PN_STATIC_ASSERT(sizeof(pn_compile_timing_t) == 112, "ABI of the timing");

/* Prints the pipeline text of a stage ("builtin.module(...)") for a target and
 * options; the single source of what the stage does. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_pipeline_print(pn_stage_t stage, PN_KEEP const pn_target_t *target,
                  PN_KEEP const pn_compile_options_t *options,
                  pn_write_fn write, PN_KEEP void *user);

/* The stage whose form the module has: the latest whose verifier accepts it. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_module_stage(PN_KEEP const pn_module_t *module, pn_stage_t *out_stage);

/* Brings the module, in place, to `stage`. On error the module is unusable and
 * can only be destroyed. `options` and `out_timing` may be NULL. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_compile_to_stage(PN_KEEP pn_module_t *module, pn_stage_t stage,
                    PN_KEEP const pn_target_t *target,
                    PN_KEEP const pn_compile_options_t *options,
                    PN_KEEP pn_compile_timing_t *out_timing);

/* Compiles (a copy of) the module to code in memory, or takes that of an equal
 * module from the cache of the options, which may be an executable that others
 * hold too. The target must be one whose code the host can run. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_compile_to_executable(PN_KEEP const pn_module_t *module,
                         PN_KEEP const pn_target_t *target,
                         PN_KEEP const pn_compile_options_t *options,
                         PN_KEEP pn_compile_timing_t *out_timing,
                         PN_GIVE pn_executable_t **out_executable);

/* Compiles (a copy of) the module to assembler text, in a file. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *pn_compile_to_assembly(
    PN_KEEP const pn_module_t *module, PN_KEEP const pn_target_t *target,
    PN_KEEP const pn_compile_options_t *options, PN_KEEP const char *path);

/* Compiles (a copy of) the module to a relocatable object file. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *pn_compile_to_object(
    PN_KEEP const pn_module_t *module, PN_KEEP const pn_target_t *target,
    PN_KEEP const pn_compile_options_t *options, PN_KEEP const char *path);

/* Compiles to a self-contained shared library (needs libc and libm alone) and,
 * where `header_path` is not NULL, a C header with one typed prototype per
 * entry. Files appear whole or not at all. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *pn_compile_to_library(
    PN_KEEP const pn_module_t *module, PN_KEEP const pn_target_t *target,
    PN_KEEP const pn_compile_options_t *options,
    PN_KEEP const char *library_path, PN_KEEP const char *header_path);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILE_H */
