/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/cache.h: compiled code that is kept from one process to the next.
 *
 * A cache is a directory of entries. Given to a compilation in its options
 * (polynest/compile.h), it gives back what an equal module was compiled to:
 * equal in its operations (names of files and lines do not count), with the
 * same target, options, library and LLVM. In the process, equal modules share
 * one executable while someone holds it. Compilations with a stage callback,
 * and those in a context with a remark callback, never use the cache: what they
 * ask for comes of compiling alone. An entry is used only where a checksum over
 * all of it holds; a damaged one is removed and made anew. Several processes
 * may use one directory, and may die while they do. Where a directory cannot be
 * used, or belongs to another user, everything works without; pn_cache_problem
 * says why. Environment, read where the options leave it open: POLYNEST_CACHE=0
 * turns every cache off; POLYNEST_CACHE_DIR is the directory, in place of
 * $XDG_CACHE_HOME/polynest/code or ~/.cache/polynest/code;
 * POLYNEST_CACHE_SIZE_MIB limits it. Values that are neither are not taken;
 * pn_cache_problem says so.
 * Units: bytes.
 * Ownership: reference counted; executables that came from a cache keep it.
 * Threads: internally locked.
 * Errors: PN_ERROR_ARGUMENT, PN_ERROR_MEMORY.
 * Since: 0.1
 */
#ifndef POLYNEST_CACHE_H
#define POLYNEST_CACHE_H

#include "polynest/executable.h"
#include "polynest/target.h"

PN_EXTERN_C_BEGIN

typedef struct pn_cache pn_cache_t;

/* What a compilation had of a cache. */
typedef enum pn_cache_outcome {
  PN_CACHE_OUTCOME_UNUSED = 0,  /* there was none, or it was not asked */
  PN_CACHE_OUTCOME_MISSING = 1, /* compiled, and kept where that is possible */
  PN_CACHE_OUTCOME_FOUND = 2,   /* from disk */
  PN_CACHE_OUTCOME_SHARED = 3   /* an executable of this process */
} pn_cache_outcome_t;

typedef struct pn_cache_options {
  size_t struct_size;    /* sizeof(pn_cache_options_t) */
  const char *directory; /* NULL: that of the environment */
  /* What all entries may take together; those that were not used for longest
   * go first. 0: that of the environment, else 1 GiB. */
  uint64_t limit_bytes;
  uint64_t reserved;
} pn_cache_options_t;

#define PN_CACHE_OPTIONS_INIT                                                  \
  { sizeof(pn_cache_options_t), NULL, 0, 0 }

/* What the directory holds, and what this cache did so far. */
typedef struct pn_cache_stats {
  size_t struct_size; /* sizeof(pn_cache_stats_t) */
  uint64_t entries;
  uint64_t bytes;
  uint64_t limit_bytes;
  uint64_t shared;  /* found in the process */
  uint64_t found;   /* found on disk */
  uint64_t missing; /* not found */
  uint64_t damaged; /* of these, entries that were there but not sound */
  uint64_t stored;
} pn_cache_stats_t;

PN_STATIC_ASSERT(sizeof(pn_cache_options_t) == 32, "ABI of the options");
PN_STATIC_ASSERT(sizeof(pn_cache_stats_t) == 72, "ABI of the statistics");

/* `options` may be NULL for the defaults. Touches no file. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_cache_create(PN_KEEP const pn_cache_options_t *options,
                PN_GIVE pn_cache_t **out_cache);

PN_EXPORT void pn_cache_retain(PN_KEEP pn_cache_t *cache);

/* Accepts NULL. */
PN_EXPORT void pn_cache_release(PN_TAKE pn_cache_t *cache);

/* "" where the cache is off. */
PN_EXPORT PN_KEEP const char *
pn_cache_directory(PN_KEEP const pn_cache_t *cache);

/* Why nothing can be kept: the first reason met so far, or "". */
PN_EXPORT PN_KEEP const char *pn_cache_problem(PN_KEEP const pn_cache_t *cache);

/* Reads the directory. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_cache_stats_get(PN_KEEP pn_cache_t *cache,
                   PN_KEEP pn_cache_stats_t *out_stats);

/* Removes all entries, and no other file. PN_ERROR_IO. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_cache_clear(PN_KEEP pn_cache_t *cache);

/* Keeps bytes of the caller under a key of any bytes, for callers who know
 * more than the module: a frontend that can tell equal graphs before it makes
 * modules of them. This library and LLVM are part of the key. Returns whether
 * they are kept. */
PN_EXPORT bool pn_cache_store(PN_KEEP pn_cache_t *cache,
                              PN_KEEP const void *key, size_t key_size,
                              PN_KEEP const void *data, size_t size);

/* Hands what is kept under the key to `write`, in one piece; false where
 * nothing is, without a call. */
PN_EXPORT bool pn_cache_find(PN_KEEP pn_cache_t *cache, PN_KEEP const void *key,
                             size_t key_size, pn_write_fn write,
                             PN_KEEP void *user);

/* Where an executable is kept: 64 hexadecimal digits; "" for one that was
 * compiled without a cache. */
PN_EXPORT PN_KEEP const char *
pn_executable_cache_key(PN_KEEP const pn_executable_t *executable);

/* The executable of that key; NULL, without an error, where there is none.
 * `target` is what it was compiled for. PN_ERROR_ARGUMENT where `key` is none,
 * PN_ERROR_TARGET where the host cannot run the target's code. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_cache_find_executable(PN_KEEP pn_cache_t *cache, PN_KEEP const char *key,
                         PN_KEEP const pn_target_t *target,
                         PN_GIVE pn_executable_t **out_executable);

PN_EXTERN_C_END

#endif /* POLYNEST_CACHE_H */
