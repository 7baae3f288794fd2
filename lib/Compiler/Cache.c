/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Cache.c: compiled code that is kept between processes. */

#include "Compiler/Cache.h"

#include "Compiler/Executable.h"
#include "Compiler/Identity.h"
#include "Compiler/Jit.h"
#include "Pipeline/Pipeline.h"
#include "Runtime/Environment.h"
#include "Target/HostFacts.h"
#include "mlir-c/Support.h"
#include "llvm-c/Core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_MIB 1024

/* An executable that somebody holds. */
typedef struct pn_shared {
  pn_cache_key_t key;
  pn_executable_t *executable; /* not counted */
} pn_shared_t;

struct pn_cache {
  atomic_size_t references;
  bool is_off;
  char *directory; /* "" where none can be told */
  uint64_t limit_bytes;
  pn_buffer_t identity;
  pthread_mutex_t lock; /* of what follows */
  pn_shared_t *shared;
  size_t shared_count, shared_capacity;
  char *_Atomic problem; /* set once */
  atomic_bool is_reported;
  atomic_ullong shared_finds, disk_finds, missing, damaged, stored;
};

/* ------------------------------------------------------------------------ */
/* Creation                                                                 */
/* ------------------------------------------------------------------------ */

/* Takes over the text as the problem, unless there is one. */
static void set_problem(pn_cache_t *cache, pn_buffer_t *reason) {
  char *none = NULL;
  if (reason->data &&
      !atomic_compare_exchange_strong(&cache->problem, &none, reason->data))
    free(reason->data);
  *reason = (pn_buffer_t){0};
}

/* $XDG_CACHE_HOME/polynest/code or ~/.cache/polynest/code. The XDG Base
 * Directory Specification has relative paths ignored. */
static void append_default_directory(pn_buffer_t *path) {
  const char *cache = pn_env_string("XDG_CACHE_HOME");
  const char *home = pn_env_string("HOME");
  if (cache && *cache == '/')
    pn_buffer_printf(path, "%s/polynest/code", cache);
  else if (home && *home == '/')
    pn_buffer_printf(path, "%s/.cache/polynest/code", home);
}

static pn_error_t *out_of_memory(void) {
  return pn_error_create(PN_ERROR_MEMORY, "out of memory");
}

/* Settles where the entries are and how many bytes they may take. */
static pn_error_t *configure(pn_cache_t *cache,
                             const pn_cache_options_t *options) {
  const char *given = options->directory ? options->directory
                                         : pn_env_string("POLYNEST_CACHE_DIR");
  const char *word = pn_env_string("POLYNEST_CACHE");
  cache->is_off = word && strcmp(word, "0") == 0;
  pn_buffer_t path = {0}, reason = {0};
  if (given)
    pn_buffer_append_text(&path, given);
  else
    append_default_directory(&path);
  if (!path.size && !path.failed)
    pn_buffer_append_text(&reason, "there is no place for a cache: neither "
                                   "XDG_CACHE_HOME nor HOME is set");
  else if (!cache->is_off && !pn_identity_append(&cache->identity))
    pn_buffer_append_text(&reason, "the build of the library is not known");
  const char *size = pn_env_string("POLYNEST_CACHE_SIZE_MIB");
  int32_t mib = pn_env_count("POLYNEST_CACHE_SIZE_MIB", INT32_MAX);
  if (size && !mib && !options->limit_bytes && !reason.size)
    pn_buffer_printf(&reason,
                     "POLYNEST_CACHE_SIZE_MIB is '%s', not a number of MiB "
                     "above 0; %d is taken",
                     size, DEFAULT_LIMIT_MIB);
  if (word && !cache->is_off && strcmp(word, "1") != 0 && !reason.size)
    pn_buffer_printf(
        &reason, "POLYNEST_CACHE is '%s', neither 0 nor 1; 1 is taken", word);
  cache->limit_bytes = options->limit_bytes
                           ? options->limit_bytes
                           : (uint64_t)(mib ? mib : DEFAULT_LIMIT_MIB) << 20;
  cache->directory = strdup(cache->is_off ? "" : pn_buffer_text(&path));
  bool failed = path.failed || reason.failed || cache->identity.failed ||
                !cache->directory;
  set_problem(cache, &reason);
  pn_buffer_clear(&path);
  return failed ? out_of_memory() : NULL;
}

pn_error_t *pn_cache_create(const pn_cache_options_t *options,
                            pn_cache_t **out_cache) {
  if (!out_cache)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_cache must not be null");
  *out_cache = NULL;
  const pn_cache_options_t defaults = PN_CACHE_OPTIONS_INIT;
  options = options ? options : &defaults;
  if (options->struct_size != sizeof(*options))
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "struct_size %zu of the cache options is not the expected %zu",
        options->struct_size, sizeof(*options));
  if (options->reserved != 0)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "reserved fields of the options must be zero");
  if (options->directory && !*options->directory)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "the directory of a cache must not be empty");
  pn_cache_t *cache = calloc(1, sizeof(*cache));
  if (!cache || pthread_mutex_init(&cache->lock, NULL) != 0) {
    free(cache);
    return out_of_memory();
  }
  atomic_init(&cache->references, 1);
  pn_error_t *error = configure(cache, options);
  if (error) {
    pn_cache_release(cache);
    return error;
  }
  *out_cache = cache;
  return NULL;
}

void pn_cache_retain(pn_cache_t *cache) {
  if (cache)
    atomic_fetch_add(&cache->references, 1);
}

void pn_cache_release(pn_cache_t *cache) {
  if (!cache || atomic_fetch_sub(&cache->references, 1) != 1)
    return;
  (void)pthread_mutex_destroy(&cache->lock);
  pn_buffer_clear(&cache->identity);
  free(cache->directory);
  free(cache->shared);
  free(atomic_load(&cache->problem));
  free(cache);
}

/* ------------------------------------------------------------------------ */
/* What it is and did                                                       */
/* ------------------------------------------------------------------------ */

bool pn_cache_is_on(const pn_cache_t *cache) { return cache && !cache->is_off; }

/* Whether entries can be named and have a place. */
static bool has_files(const pn_cache_t *cache) {
  return !cache->is_off && *cache->directory && cache->identity.size;
}

const char *pn_cache_directory(const pn_cache_t *cache) {
  return cache ? cache->directory : "";
}

const char *pn_cache_problem(const pn_cache_t *cache) {
  const char *problem =
      cache ? atomic_load(&((pn_cache_t *)cache)->problem) : NULL;
  return problem ? problem : "";
}

void pn_cache_report(pn_cache_t *cache, pn_context_t *context) {
  const char *problem = pn_cache_problem(cache);
  if (!*problem || atomic_exchange(&cache->is_reported, true))
    return;
  pn_buffer_t text = {0};
  pn_buffer_printf(&text, "compiled code is not kept: %s", problem);
  const pn_diagnostic_t remark = {.severity = PN_SEVERITY_REMARK,
                                  .file = "",
                                  .text = pn_buffer_text(&text)};
  pn_context_report(context, &remark);
  pn_buffer_clear(&text);
}

pn_error_t *pn_cache_stats_get(pn_cache_t *cache, pn_cache_stats_t *out_stats) {
  if (!cache || !out_stats)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "cache and out_stats must not be null");
  if (out_stats->struct_size != sizeof(*out_stats))
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "struct_size %zu of the statistics is not the expected %zu",
        out_stats->struct_size, sizeof(*out_stats));
  *out_stats = (pn_cache_stats_t){
      .struct_size = sizeof(*out_stats),
      .limit_bytes = cache->limit_bytes,
      .shared = atomic_load(&cache->shared_finds),
      .found = atomic_load(&cache->disk_finds),
      .missing = atomic_load(&cache->missing),
      .damaged = atomic_load(&cache->damaged),
      .stored = atomic_load(&cache->stored),
  };
  if (has_files(cache))
    pn_cache_file_count(cache->directory, &out_stats->entries,
                        &out_stats->bytes);
  return NULL;
}

pn_error_t *pn_cache_clear(pn_cache_t *cache) {
  if (!cache)
    return pn_error_create(PN_ERROR_ARGUMENT, "cache must not be null");
  pn_buffer_t reason = {0};
  pn_error_t *error = NULL;
  if (has_files(cache) && !pn_cache_file_clear(cache->directory, &reason))
    error = pn_error_create(PN_ERROR_IO, "%s", pn_buffer_text(&reason));
  pn_buffer_clear(&reason);
  return error;
}

/* ------------------------------------------------------------------------ */
/* Entries                                                                  */
/* ------------------------------------------------------------------------ */

static bool find_file(pn_cache_t *cache, const pn_cache_key_t *key,
                      pn_buffer_t *data) {
  if (!has_files(cache))
    return false;
  pn_buffer_t reason = {0};
  pn_cache_find_t found =
      pn_cache_file_find(cache->directory, key, data, &reason);
  set_problem(cache, &reason);
  if (found == PN_CACHE_FIND_DAMAGED)
    atomic_fetch_add(&cache->damaged, 1);
  return found == PN_CACHE_FIND_FOUND;
}

static bool store_file(pn_cache_t *cache, const pn_cache_key_t *key,
                       const void *data, size_t size) {
  if (!has_files(cache))
    return false;
  pn_buffer_t reason = {0};
  bool stored = pn_cache_file_store(cache->directory, key, data, size,
                                    cache->limit_bytes, &reason);
  set_problem(cache, &reason);
  if (stored)
    atomic_fetch_add(&cache->stored, 1);
  return stored;
}

static void add_sized(pn_sha256_t *hash, const void *data, size_t size) {
  uint64_t number = size;
  pn_sha256_add(hash, &number, sizeof(number));
  pn_sha256_add(hash, data, size);
}

static void add_text(pn_sha256_t *hash, const char *text) {
  add_sized(hash, text, strlen(text));
}

/* Begins a key of one kind of entry, so that kinds never meet. */
static void begin_key(const pn_cache_t *cache, const char *kind,
                      pn_sha256_t *hash) {
  pn_sha256_begin(hash);
  add_text(hash, kind);
  add_sized(hash, pn_buffer_text(&cache->identity), cache->identity.size);
}

static bool key_of_bytes(const pn_cache_t *cache, const void *key, size_t size,
                         pn_cache_key_t *out_key) {
  if (!pn_cache_is_on(cache) || (!key && size))
    return false;
  pn_sha256_t hash;
  begin_key(cache, "bytes", &hash);
  add_sized(&hash, key, size);
  pn_sha256_end(&hash, out_key->bytes);
  return true;
}

bool pn_cache_store(pn_cache_t *cache, const void *key, size_t key_size,
                    const void *data, size_t size) {
  pn_cache_key_t name;
  return key_of_bytes(cache, key, key_size, &name) && (data || !size) &&
         store_file(cache, &name, data, size);
}

bool pn_cache_find(pn_cache_t *cache, const void *key, size_t key_size,
                   pn_write_fn write, void *user) {
  pn_cache_key_t name;
  pn_buffer_t data = {0};
  bool found = write && key_of_bytes(cache, key, key_size, &name) &&
               find_file(cache, &name, &data);
  if (found)
    write(user, pn_buffer_text(&data), data.size);
  pn_buffer_clear(&data);
  return found;
}

/* ------------------------------------------------------------------------ */
/* Keys of modules                                                          */
/* ------------------------------------------------------------------------ */

static void hash_text(MlirStringRef text, void *hash) {
  pn_sha256_add(hash, text.data, text.length);
}

/* The generic form shows every attribute and property, whatever an operation's
 * own form leaves out. */
static void add_module(pn_sha256_t *hash, const pn_module_t *module) {
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsPrintGenericOpForm(flags);
  pn_context_lock(module->context);
  mlirOperationPrintWithFlags(mlirModuleGetOperation(module->mlir), flags,
                              hash_text, hash);
  pn_context_unlock(module->context);
  mlirOpPrintingFlagsDestroy(flags);
}

pn_error_t *pn_cache_key_of(const pn_cache_t *cache, const pn_module_t *module,
                            const pn_target_info_t *target,
                            const pn_compile_options_t *options,
                            pn_cache_key_t *out_key) {
  pn_buffer_t text = {0};
  pn_error_t *error = NULL;
  for (int s = PN_STAGE_S1; !error && s <= PN_STAGE_S5; ++s) {
    error = pn_pipeline_append((pn_stage_t)s, target, options, &text);
    pn_buffer_append_text(&text, "\n");
  }
  pn_buffer_printf(&text, "level %d triple %s cpu %s features %s width %d",
                   (int)options->opt_level, target->llvm_triple,
                   target->llvm_cpu, target->llvm_features,
                   (int)target->prefer_vector_width_bits);
  if (!error && text.failed)
    error = out_of_memory();
  if (!error) {
    pn_sha256_t hash;
    begin_key(cache, "executable", &hash);
    add_sized(&hash, pn_buffer_text(&text), text.size);
    add_module(&hash, module);
    pn_sha256_end(&hash, out_key->bytes);
  }
  pn_buffer_clear(&text);
  return error;
}

/* ------------------------------------------------------------------------ */
/* Executables of the process                                               */
/* ------------------------------------------------------------------------ */

static size_t find_shared(const pn_cache_t *cache, const pn_cache_key_t *key) {
  size_t i = 0;
  while (i < cache->shared_count &&
         memcmp(&cache->shared[i].key, key, sizeof(*key)) != 0)
    ++i;
  return i;
}

/* Those found have a reference: the last one goes under the lock. */
static pn_executable_t *retain_shared(pn_cache_t *cache,
                                      const pn_cache_key_t *key) {
  (void)pthread_mutex_lock(&cache->lock);
  size_t i = find_shared(cache, key);
  pn_executable_t *found =
      i < cache->shared_count ? cache->shared[i].executable : NULL;
  if (found)
    pn_executable_retain(found);
  (void)pthread_mutex_unlock(&cache->lock);
  return found;
}

/* Makes room for one more; false where memory is short. */
static bool grow_shared(pn_cache_t *cache) {
  if (cache->shared_count < cache->shared_capacity)
    return true;
  size_t capacity = cache->shared_capacity ? 2 * cache->shared_capacity : 16;
  pn_shared_t *shared = reallocarray(cache->shared, capacity, sizeof(*shared));
  if (!shared)
    return false;
  cache->shared = shared;
  cache->shared_capacity = capacity;
  return true;
}

/* Lets others find the executable, or returns the one they find already. */
static pn_executable_t *share(pn_cache_t *cache, const pn_cache_key_t *key,
                              pn_executable_t *executable) {
  (void)pthread_mutex_lock(&cache->lock);
  size_t i = find_shared(cache, key);
  pn_executable_t *other =
      i < cache->shared_count ? cache->shared[i].executable : NULL;
  if (other)
    pn_executable_retain(other);
  else if (grow_shared(cache)) {
    cache->shared[cache->shared_count++] = (pn_shared_t){*key, executable};
    pn_executable_set_cache(executable, cache, key);
  }
  (void)pthread_mutex_unlock(&cache->lock);
  if (!other)
    return executable;
  pn_executable_release(executable);
  return other;
}

bool pn_cache_drop(pn_cache_t *cache, const pn_executable_t *executable,
                   atomic_size_t *references) {
  (void)pthread_mutex_lock(&cache->lock);
  bool last = atomic_fetch_sub(references, 1) == 1;
  for (size_t i = 0; last && i < cache->shared_count; ++i)
    if (cache->shared[i].executable == executable)
      cache->shared[i] = cache->shared[--cache->shared_count];
  (void)pthread_mutex_unlock(&cache->lock);
  return last;
}

/* ------------------------------------------------------------------------ */
/* Executables on disk                                                      */
/* ------------------------------------------------------------------------ */

void pn_cache_pack(const pn_objects_t *objects, pn_buffer_t *bytes) {
  for (size_t i = 0; i < objects->count; ++i) {
    uint64_t size = LLVMGetBufferSize(objects->buffers[i]);
    pn_buffer_append(bytes, (const char *)&size, sizeof(size));
    pn_buffer_append(bytes, LLVMGetBufferStart(objects->buffers[i]), size);
  }
}

static bool unpack(const pn_buffer_t *bytes, pn_objects_t *out_objects) {
  *out_objects = (pn_objects_t){.count = 0};
  const char *at = bytes->data;
  size_t left = bytes->size;
  while (left) {
    uint64_t size;
    if (left < sizeof(size) || out_objects->count == PN_CODEGEN_PARTS_MAX)
      break;
    memcpy(&size, at, sizeof(size));
    at += sizeof(size);
    left -= sizeof(size);
    if (size > left)
      break;
    out_objects->buffers[out_objects->count++] =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(at, (size_t)size, "cached");
    at += size;
    left -= (size_t)size;
  }
  bool whole = !left && out_objects->count;
  if (!whole)
    pn_objects_clear(out_objects);
  return whole;
}

/* Links what the entry holds; NULL where that fails. */
static pn_executable_t *link_entry(const pn_buffer_t *bytes,
                                   const pn_target_info_t *target) {
  pn_objects_t objects;
  pn_executable_t *executable = NULL;
  pn_jit_t *jit = NULL;
  pn_error_t *error = NULL;
  if (!unpack(bytes, &objects))
    return NULL;
  error = pn_jit_create(&objects, target, &jit);
  if (!error)
    error = pn_executable_create(
        (pn_code_t){jit, pn_jit_code_bytes(jit), pn_jit_lookup, pn_jit_destroy},
        &executable);
  pn_error_destroy(error);
  return executable;
}

pn_executable_t *pn_cache_load(pn_cache_t *cache, const pn_cache_key_t *key,
                               const pn_target_info_t *target,
                               pn_cache_outcome_t *out_outcome) {
  *out_outcome = PN_CACHE_OUTCOME_SHARED;
  pn_executable_t *executable = retain_shared(cache, key);
  if (executable) {
    atomic_fetch_add(&cache->shared_finds, 1);
    return executable;
  }
  pn_buffer_t bytes = {0};
  if (find_file(cache, key, &bytes)) {
    executable = link_entry(&bytes, target);
    if (!executable)
      atomic_fetch_add(&cache->damaged, 1);
  }
  pn_buffer_clear(&bytes);
  if (executable) {
    *out_outcome = PN_CACHE_OUTCOME_FOUND;
    atomic_fetch_add(&cache->disk_finds, 1);
    return share(cache, key, executable);
  }
  *out_outcome = PN_CACHE_OUTCOME_MISSING;
  atomic_fetch_add(&cache->missing, 1);
  return NULL;
}

pn_executable_t *pn_cache_keep(pn_cache_t *cache, const pn_cache_key_t *key,
                               const pn_buffer_t *bytes,
                               pn_executable_t *executable) {
  if (bytes->size && !bytes->failed)
    (void)store_file(cache, key, bytes->data, bytes->size);
  return share(cache, key, executable);
}

pn_error_t *pn_cache_find_executable(pn_cache_t *cache, const char *key,
                                     const pn_target_t *target,
                                     pn_executable_t **out_executable) {
  if (!out_executable)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "out_executable must not be null");
  *out_executable = NULL;
  pn_cache_key_t name;
  if (!cache || !target || !key)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "cache, key and target must not be null");
  if (!pn_cache_key_read(key, &name))
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "key '%.80s' is not one of 64 hexadecimal digits",
                           key);
  pn_target_info_t info = {.struct_size = sizeof(info)};
  pn_error_t *error = pn_target_get_info(target, &info);
  if (!error)
    error = pn_host_check_target(&info);
  pn_cache_outcome_t outcome;
  if (!error && pn_cache_is_on(cache))
    *out_executable = pn_cache_load(cache, &name, &info, &outcome);
  return error;
}
