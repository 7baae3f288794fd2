/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiler/Cache.h: executables out of a cache and into it.
 *
 * Threads: as polynest/cache.h.
 */
#ifndef POLYNEST_COMPILER_CACHE_H
#define POLYNEST_COMPILER_CACHE_H

#include "Compiler/CacheFiles.h"
#include "Compiler/Codegen.h"
#include "polynest/cache.h"

#include <stdatomic.h>

PN_EXTERN_C_BEGIN

/* Whether to ask the cache at all; NULL is none. */
bool pn_cache_is_on(const pn_cache_t *cache);

/* The key of what the module becomes: its operations in generic form, without
 * locations; the pipelines of all stages, which hold all options and numbers of
 * the target that passes see; what LLVM is told; which library and LLVM this
 * is. PN_ERROR_MEMORY, or what the pipelines refuse. */
PN_MUST_USE pn_error_t *pn_cache_key_of(const pn_cache_t *cache,
                                        const pn_module_t *module,
                                        const pn_target_info_t *target,
                                        const pn_compile_options_t *options,
                                        pn_cache_key_t *out_key);

/* An executable of the key, in the process or else on disk; NULL where there is
 * none. What is found and does not link counts as none. */
pn_executable_t *pn_cache_load(pn_cache_t *cache, const pn_cache_key_t *key,
                               const pn_target_info_t *target,
                               pn_cache_outcome_t *out_outcome);

/* The objects as bytes of an entry. */
void pn_cache_pack(const pn_objects_t *objects, pn_buffer_t *bytes);

/* Keeps the bytes that the executable was linked from. Returns it, or one of
 * the same key that another thread made meanwhile, in its place. */
pn_executable_t *pn_cache_keep(pn_cache_t *cache, const pn_cache_key_t *key,
                               const pn_buffer_t *bytes,
                               pn_executable_t *executable);

/* Tells the context's callback, the first time, why nothing can be kept. */
void pn_cache_report(pn_cache_t *cache, pn_context_t *context);

/* Gives up one of the executable's references; true if it was the last. No one
 * finds it in the cache from then on. */
bool pn_cache_drop(pn_cache_t *cache, const pn_executable_t *executable,
                   atomic_size_t *references);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_CACHE_H */
