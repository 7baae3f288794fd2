/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Executable.c: entries of compiled code and their invocation. */

#include "Compiler/Executable.h"

#include "Compiler/Cache.h"
#include "Compiler/LibraryFile.h"
#include "Compiler/Signature.h"
#include "Runtime/Context.h"
#include "Runtime/Laps.h"
#include "Runtime/Processor.h"
#include "Support/Buffer.h"
#include "Support/Error.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef int32_t (*pn_packed_fn)(pn_rt_context_t *ctx, void *state, void **args);
typedef void (*pn_shapes_fn)(const int64_t *dims, int64_t *result_dims);

/* Memory status of generated code; see lib/Conversion/LowerEntries.cpp. */
#define STATUS_OUT_OF_MEMORY (-1)

struct pn_entry {
  pn_executable_t *executable;
  const pn_signature_entry_t *signature;
  pn_packed_fn packed;
  pn_packed_fn init;   /* fills the state; NULL where there is none */
  pn_shapes_fn shapes; /* NULL where all result sizes are fixed */
  size_t dim_count;    /* values that `shapes` reads */
  size_t result_dim_count;
  size_t result_rank_sum;
};

/* A free call context, kept for the next call. */
typedef struct pn_context_node {
  pn_rt_context_t *ctx;
  struct pn_context_node *next;
} pn_context_node_t;

struct pn_executable {
  atomic_size_t references;
  pn_code_t code;
  pn_signature_t signature;
  pn_entry_t *entries;
  pn_context_node_t *_Atomic spare; /* a free one, to be had without a lock */
  pthread_mutex_t lock;
  pn_context_node_t *free_contexts; /* more of them */
  pn_cache_t *cache;                /* where others may find it, or NULL */
  char cache_key[PN_CACHE_KEY_TEXT + 1];
  pn_touch_t *_Atomic touched; /* memory for a state, or NULL */
};

/* ------------------------------------------------------------------------ */
/* Creation                                                                 */
/* ------------------------------------------------------------------------ */

/* Looks up the symbol `name` with `suffix`; NULL where there is none. */
static pn_error_t *lookup_with_suffix(const pn_code_t *code, const char *name,
                                      const char *suffix, void **out_address) {
  pn_buffer_t symbol = {0};
  pn_buffer_printf(&symbol, "%s%s", name, suffix);
  *out_address = symbol.failed ? NULL : code->lookup(code->handle, symbol.data);
  pn_error_t *error =
      symbol.failed ? pn_error_create(PN_ERROR_MEMORY, "out of memory") : NULL;
  pn_buffer_clear(&symbol);
  return error;
}

/* Counts what the shape function reads and writes. */
static void count_dims(pn_entry_t *entry) {
  const pn_signature_entry_t *signature = entry->signature;
  for (size_t i = 0; i < signature->input_count; ++i) {
    const pn_signature_value_t *value = &signature->values[i];
    bool integer = value->type.dtype < PN_DTYPE_F16;
    entry->dim_count +=
        value->is_scalar ? (integer ? 1 : 0) : (size_t)value->type.rank;
  }
  for (size_t i = 0; i < signature->result_count; ++i) {
    const pn_value_type_t *type =
        &signature->values[signature->input_count + i].type;
    entry->result_rank_sum += (size_t)type->rank;
    for (int32_t d = 0; d < type->rank; ++d)
      entry->result_dim_count += type->sizes[d] == PN_DYNAMIC ? 1 : 0;
  }
}

static pn_error_t *bind_entry(pn_executable_t *executable, size_t index) {
  pn_entry_t *entry = &executable->entries[index];
  entry->executable = executable;
  entry->signature = &executable->signature.entries[index];
  const char *name = entry->signature->symbol;
  count_dims(entry);
  void *packed, *shapes = NULL, *init = NULL;
  pn_error_t *error =
      lookup_with_suffix(&executable->code, name, "_packed", &packed);
  if (!error)
    error = lookup_with_suffix(&executable->code, name, "_shapes", &shapes);
  if (!error && entry->signature->state_bytes)
    error = lookup_with_suffix(&executable->code, name, "_init", &init);
  if (error)
    return error;
  if (!packed || (entry->result_dim_count && !shapes) ||
      (entry->signature->state_bytes && !init))
    return pn_error_create(PN_ERROR_CORRUPT,
                           "the code of entry '%s' is missing",
                           entry->signature->name);
  /* ISO C has no conversion from object to function pointers; POSIX does. */
  memcpy(&entry->packed, &packed, sizeof(packed));
  memcpy(&entry->init, &init, sizeof(init));
  if (entry->result_dim_count)
    memcpy(&entry->shapes, &shapes, sizeof(shapes));
  return NULL;
}

pn_error_t *pn_executable_create(pn_code_t code,
                                 pn_executable_t **out_executable) {
  *out_executable = NULL;
  pn_executable_t *executable = calloc(1, sizeof(*executable));
  if (!executable || pthread_mutex_init(&executable->lock, NULL) != 0) {
    free(executable);
    code.destroy(code.handle);
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  atomic_init(&executable->references, 1);
  executable->code = code;
  const char *text = code.lookup(code.handle, "polynest_info");
  pn_error_t *error =
      text ? pn_signature_parse(text, &executable->signature)
           : pn_error_create(PN_ERROR_CORRUPT,
                             "the code has no description of its entries");
  size_t count = executable->signature.entry_count;
  if (!error) {
    executable->entries = calloc(count ? count : 1, sizeof(pn_entry_t));
    if (!executable->entries)
      error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  for (size_t i = 0; !error && i < count; ++i)
    error = bind_entry(executable, i);
  if (error) {
    pn_executable_release(executable);
    return error;
  }
  *out_executable = executable;
  return NULL;
}

void pn_executable_retain(pn_executable_t *executable) {
  if (executable)
    atomic_fetch_add(&executable->references, 1);
}

void pn_executable_set_cache(pn_executable_t *executable, pn_cache_t *cache,
                             const pn_cache_key_t *key) {
  pn_cache_retain(cache);
  executable->cache = cache;
  pn_cache_key_print(key, executable->cache_key);
}

void pn_executable_give_touched(pn_executable_t *executable,
                                pn_touch_t *touch) {
  pn_touch_cancel(atomic_exchange(&executable->touched, touch));
}

void *pn_entry_state_alloc(const pn_entry_t *entry) {
  pn_touch_t *touch = atomic_exchange(&entry->executable->touched, NULL);
  size_t bytes = (size_t)entry->signature->state_bytes;
  if (touch && pn_touch_bytes(touch) == bytes)
    return pn_touch_take(touch);
  pn_touch_cancel(touch);
  return pn_pool_alloc(bytes);
}

const char *pn_executable_cache_key(const pn_executable_t *executable) {
  return executable ? executable->cache_key : "";
}

/* True if it was the last. */
static bool drop_reference(pn_executable_t *executable) {
  if (executable->cache)
    return pn_cache_drop(executable->cache, executable,
                         &executable->references);
  return atomic_fetch_sub(&executable->references, 1) == 1;
}

static void destroy_context(pn_context_node_t *node) {
  if (!node)
    return;
  pn_rt_context_destroy(node->ctx);
  free(node);
}

void pn_executable_release(pn_executable_t *executable) {
  if (!executable || !drop_reference(executable))
    return;
  pn_touch_cancel(atomic_load(&executable->touched));
  destroy_context(atomic_load(&executable->spare));
  while (executable->free_contexts) {
    pn_context_node_t *node = executable->free_contexts;
    executable->free_contexts = node->next;
    destroy_context(node);
  }
  pn_signature_clear(&executable->signature);
  free(executable->entries);
  executable->code.destroy(executable->code.handle);
  (void)pthread_mutex_destroy(&executable->lock);
  pn_cache_release(executable->cache);
  free(executable);
}

static void *library_lookup(void *handle, const char *name) {
  return dlsym(handle, name);
}

static void library_close(void *handle) { (void)dlclose(handle); }

/* A path of the file that no other file ever had here. dlopen takes what was
 * loaded under the same path for the same library, even if a new one has taken
 * the file's place since: so the inode's bits stand between folder and name, a
 * dot between slashes for 1 and nothing for 0. */
static void append_own_path(const char *path, pn_buffer_t *name) {
  const char *slash = strrchr(path, '/');
  struct stat status;
  /* A name without a slash would be searched for in the system's folders. */
  if (slash)
    pn_buffer_append(name, path, (size_t)(slash - path));
  else
    pn_buffer_append_text(name, ".");
  if (stat(path, &status) == 0)
    for (uint64_t bits = (uint64_t)status.st_ino; bits; bits >>= 1)
      pn_buffer_append_text(name, bits & 1 ? "/." : "/");
  pn_buffer_printf(name, "/%s", slash ? slash + 1 : path);
}

/* The library that holds an address, and bytes of what it may execute. */
typedef struct pn_segments {
  uintptr_t address;
  size_t bytes;
} pn_segments_t;

/* Looks at one loaded library; ends at the one that is meant. */
static int count_segments(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size;
  pn_segments_t *segments = user;
  size_t bytes = 0;
  bool is_meant = false;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD)
      continue;
    is_meant |= segments->address - (info->dlpi_addr + segment->p_vaddr) <
                segment->p_memsz;
    bytes += segment->p_flags & PF_X ? segment->p_memsz : 0;
  }
  if (is_meant)
    segments->bytes = bytes;
  return is_meant;
}

/* PN_ERROR_TARGET where the code needs what this processor lacks. */
static pn_error_t *check_processor(const char *path, const pn_code_t *code) {
  const char *text = code->lookup(code->handle, "polynest_info");
  const char *problem = pn_description_problem(pn_processor_features(), text);
  return problem ? pn_error_create(PN_ERROR_TARGET, "cannot load '%s': %s",
                                   path, problem)
                 : NULL;
}

pn_error_t *pn_executable_load(const char *path,
                               pn_executable_t **out_executable) {
  if (!out_executable)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "out_executable must not be null");
  *out_executable = NULL;
  if (!path)
    return pn_error_create(PN_ERROR_ARGUMENT, "path must not be null");
  pn_error_t *error = pn_library_check(path);
  if (error)
    return error;
  pn_buffer_t name = {0};
  append_own_path(path, &name);
  if (name.failed) {
    pn_buffer_clear(&name);
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  void *handle = dlopen(name.data, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    reason = reason ? reason : "unknown reason";
    if (strncmp(reason, name.data, name.size) == 0)
      reason += name.size + strspn(reason + name.size, ": ");
    error = pn_error_create(PN_ERROR_IO, "cannot load '%s': %s", path, reason);
  }
  pn_buffer_clear(&name);
  if (error)
    return error;
  pn_code_t code = {handle, 0, library_lookup, library_close};
  error = check_processor(path, &code);
  if (error) {
    library_close(handle);
    return error;
  }
  pn_segments_t segments = {(uintptr_t)code.lookup(handle, "polynest_info"), 0};
  (void)dl_iterate_phdr(count_segments, &segments);
  code.bytes = segments.bytes;
  return pn_executable_create(code, out_executable);
}

/* ------------------------------------------------------------------------ */
/* Inspection                                                               */
/* ------------------------------------------------------------------------ */

size_t pn_executable_entry_count(const pn_executable_t *executable) {
  return executable ? executable->signature.entry_count : 0;
}

size_t pn_executable_code_bytes(const pn_executable_t *executable) {
  return executable ? executable->code.bytes : 0;
}

const pn_entry_t *pn_executable_entry_at(const pn_executable_t *executable,
                                         size_t index) {
  return executable && index < executable->signature.entry_count
             ? &executable->entries[index]
             : NULL;
}

/* "no entry 'x'; entries are a, b". */
static pn_error_t *no_entry(const pn_executable_t *executable,
                            const char *name) {
  pn_buffer_t names = {0};
  for (size_t i = 0; i < executable->signature.entry_count; ++i)
    pn_buffer_printf(&names, "%s%s", i ? ", " : "",
                     executable->signature.entries[i].name);
  pn_error_t *error =
      !names.size
          ? pn_error_create(PN_ERROR_NOT_FOUND,
                            "the program has no entry: it has no public "
                            "function")
      : name ? pn_error_create(PN_ERROR_NOT_FOUND,
                               "no entry '%s'; entries are: %s", name,
                               pn_buffer_text(&names))
             : pn_error_create(PN_ERROR_NOT_FOUND,
                               "the entry must be named; entries are: %s",
                               pn_buffer_text(&names));
  pn_buffer_clear(&names);
  return error;
}

pn_error_t *pn_executable_find_entry(const pn_executable_t *executable,
                                     const char *name,
                                     const pn_entry_t **out_entry) {
  if (!out_entry)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_entry must not be null");
  *out_entry = NULL;
  if (!executable)
    return pn_error_create(PN_ERROR_ARGUMENT, "executable must not be null");
  size_t count = executable->signature.entry_count;
  if (!name && count == 1)
    *out_entry = &executable->entries[0];
  for (size_t i = 0; name && i < count; ++i)
    if (strcmp(executable->signature.entries[i].name, name) == 0)
      *out_entry = &executable->entries[i];
  return *out_entry ? NULL : no_entry(executable, name);
}

const char *pn_entry_name(const pn_entry_t *entry) {
  return entry ? entry->signature->name : NULL;
}

size_t pn_entry_input_count(const pn_entry_t *entry) {
  return entry ? entry->signature->input_count : 0;
}

size_t pn_entry_result_count(const pn_entry_t *entry) {
  return entry ? entry->signature->result_count : 0;
}

bool pn_entry_input_type(const pn_entry_t *entry, size_t index,
                         pn_value_type_t *out_type) {
  if (out_type)
    *out_type = (pn_value_type_t){0};
  if (!entry || !out_type || index >= entry->signature->input_count)
    return false;
  *out_type = entry->signature->values[index].type;
  return true;
}

bool pn_entry_result_type(const pn_entry_t *entry, size_t index,
                          pn_value_type_t *out_type) {
  if (out_type)
    *out_type = (pn_value_type_t){0};
  if (!entry || !out_type || index >= entry->signature->result_count)
    return false;
  *out_type =
      entry->signature->values[entry->signature->input_count + index].type;
  return true;
}

const pn_signature_entry_t *pn_entry_signature(const pn_entry_t *entry) {
  return entry->signature;
}

pn_executable_t *pn_entry_executable(const pn_entry_t *entry) {
  return entry->executable;
}

bool pn_entry_input_is_constant(const pn_entry_t *entry, size_t index) {
  return entry && index < entry->signature->input_count &&
         entry->signature->values[index].is_constant;
}

bool pn_entry_input_is_mutable(const pn_entry_t *entry, size_t index) {
  return entry && index < entry->signature->input_count &&
         entry->signature->values[index].is_mutable;
}

size_t pn_entry_state_bytes(const pn_entry_t *entry) {
  return entry ? (size_t)entry->signature->state_bytes : 0;
}

size_t pn_entry_arena_bytes(const pn_entry_t *entry) {
  return entry ? (size_t)entry->signature->arena_bytes : 0;
}

/* ------------------------------------------------------------------------ */
/* Checks of a call                                                         */
/* ------------------------------------------------------------------------ */

static pn_error_t *check_size(const char *role, size_t index, int32_t d,
                              int64_t given, int64_t expected) {
  if (expected == PN_DYNAMIC || given == expected)
    return NULL;
  return pn_error_create(PN_ERROR_SIGNATURE,
                         "%s %zu has size %" PRId64
                         " in dimension %d; expected %" PRId64,
                         role, index, given, (int)d, expected);
}

pn_error_t *pn_argument_check(const pn_memref_t *memref,
                              const pn_value_type_t *type, const char *role,
                              size_t index) {
  if (memref->dtype != (int32_t)type->dtype)
    return pn_error_create(PN_ERROR_SIGNATURE,
                           "%s %zu has element type %s; expected %s", role,
                           index, pn_dtype_name((pn_dtype_t)memref->dtype),
                           pn_dtype_name(type->dtype));
  if (memref->rank != type->rank)
    return pn_error_create(PN_ERROR_SIGNATURE,
                           "%s %zu has rank %d; expected %d", role, index,
                           (int)memref->rank, (int)type->rank);
  if (pn_memref_check(memref) != PN_ERROR_NONE)
    return pn_error_create(
        PN_ERROR_SIGNATURE,
        "%s %zu is no valid view: sizes must not be negative, the data not "
        "null, and every address must fit",
        role, index);
  for (int32_t d = 0; d < type->rank; ++d) {
    pn_error_t *error =
        check_size(role, index, d, memref->sizes[d], type->sizes[d]);
    if (error)
      return error;
  }
  return NULL;
}

/* Leaves out constants that were checked when they were bound. */
static pn_error_t *check_inputs(const pn_entry_t *entry,
                                const pn_memref_t *inputs, size_t count,
                                bool constants_bound) {
  const pn_signature_entry_t *signature = entry->signature;
  if (count != signature->input_count)
    return pn_error_create(PN_ERROR_SIGNATURE,
                           "entry '%s' takes %zu inputs, not %zu",
                           signature->name, signature->input_count, count);
  if (count && !inputs)
    return pn_error_create(PN_ERROR_ARGUMENT, "inputs must not be null");
  for (size_t i = 0; i < count; ++i) {
    if (constants_bound && signature->values[i].is_constant)
      continue;
    pn_error_t *error =
        pn_argument_check(&inputs[i], &signature->values[i].type, "input", i);
    if (error)
      return error;
  }
  return NULL;
}

static int64_t read_integer(const pn_memref_t *memref) {
  const char *data =
      (const char *)memref->data +
      memref->offset * (int64_t)pn_dtype_size((pn_dtype_t)memref->dtype);
  switch (memref->dtype) {
  case PN_DTYPE_BOOL:
    return *(const uint8_t *)data != 0;
  case PN_DTYPE_I8:
    return *(const int8_t *)data;
  case PN_DTYPE_I16:
    return *(const int16_t *)(const void *)data;
  case PN_DTYPE_I32:
    return *(const int32_t *)(const void *)data;
  default:
    return *(const int64_t *)(const void *)data;
  }
}

/* Small arrays of a call live on the stack; larger ones come from malloc. */
#define SMALL_DIMS 64

/* Sizes of all results, in order, into `sizes`. */
static pn_error_t *compute_result_sizes(const pn_entry_t *entry,
                                        const pn_memref_t *inputs,
                                        int64_t *sizes) {
  const pn_signature_entry_t *signature = entry->signature;
  size_t total = entry->dim_count + entry->result_dim_count;
  int64_t small[SMALL_DIMS];
  int64_t *dims = total <= SMALL_DIMS ? small : calloc(total, sizeof(int64_t));
  if (!dims)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  if (entry->shapes) {
    size_t at = 0;
    for (size_t i = 0; i < signature->input_count; ++i) {
      const pn_signature_value_t *value = &signature->values[i];
      if (value->is_scalar && value->type.dtype < PN_DTYPE_F16)
        dims[at++] = read_integer(&inputs[i]);
      for (int32_t d = 0; d < value->type.rank; ++d)
        dims[at++] = inputs[i].sizes[d];
    }
    entry->shapes(dims, dims + entry->dim_count);
  }
  const int64_t *computed = dims + entry->dim_count;
  for (size_t i = 0; i < signature->result_count; ++i) {
    const pn_value_type_t *type =
        &signature->values[signature->input_count + i].type;
    for (int32_t d = 0; d < type->rank; ++d)
      *sizes++ = type->sizes[d] == PN_DYNAMIC ? *computed++ : type->sizes[d];
  }
  if (dims != small)
    free(dims);
  return NULL;
}

pn_error_t *pn_entry_result_sizes(const pn_entry_t *entry,
                                  const pn_memref_t *inputs, size_t input_count,
                                  int64_t *out_result_sizes) {
  if (!entry || (!out_result_sizes && entry->result_rank_sum))
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "entry and out_result_sizes must not be null");
  for (size_t i = 0; i < entry->result_rank_sum; ++i)
    out_result_sizes[i] = 0;
  pn_error_t *error = check_inputs(entry, inputs, input_count, false);
  return error ? error : compute_result_sizes(entry, inputs, out_result_sizes);
}

/* Checks results against the sizes that the inputs imply. */
static pn_error_t *check_results(const pn_entry_t *entry,
                                 const pn_memref_t *inputs,
                                 const pn_memref_t *results, size_t count) {
  const pn_signature_entry_t *signature = entry->signature;
  if (count != signature->result_count)
    return pn_error_create(PN_ERROR_SIGNATURE,
                           "entry '%s' has %zu results, not %zu",
                           signature->name, signature->result_count, count);
  if (count && !results)
    return pn_error_create(PN_ERROR_ARGUMENT, "results must not be null");
  int64_t small[SMALL_DIMS];
  size_t total = entry->result_rank_sum;
  int64_t *sizes = total <= SMALL_DIMS ? small : calloc(total, sizeof(int64_t));
  if (!sizes)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  pn_error_t *error = compute_result_sizes(entry, inputs, sizes);
  const int64_t *expected = sizes;
  for (size_t i = 0; !error && i < count; ++i) {
    const pn_value_type_t *type =
        &signature->values[signature->input_count + i].type;
    error = pn_argument_check(&results[i], type, "result", i);
    for (int32_t d = 0; !error && d < type->rank; ++d)
      error = check_size("result", i, d, results[i].sizes[d], *expected++);
  }
  if (sizes != small)
    free(sizes);
  return error;
}

static uint64_t magnitude(int64_t value) {
  return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* True if two indices of the view may share an element. Sorted by their
 * strides, no dimension may reach beyond the next one's stride. */
static bool overlaps_itself(const pn_memref_t *memref) {
  if (!memref->strides)
    return false;
  for (int32_t d = 0; d < memref->rank; ++d)
    if (memref->sizes[d] == 0)
      return false;
  for (int32_t d = 0; d < memref->rank; ++d) {
    uint64_t stride = magnitude(memref->strides[d]);
    if (memref->sizes[d] == 1)
      continue;
    /* What the dimensions of smaller strides span, and equal ones before. */
    uint64_t span = 0;
    for (int32_t e = 0; e < memref->rank; ++e) {
      uint64_t other = magnitude(memref->strides[e]);
      if (other < stride || (other == stride && e < d))
        span += (uint64_t)(memref->sizes[e] - 1) * other;
    }
    if (stride <= span || stride == 0)
      return true;
  }
  return false;
}

/* What a call may write: its own address range, and which argument it is. */
static pn_error_t *check_written(const pn_memref_t *written, const char *role,
                                 size_t index, const pn_memref_t *others,
                                 size_t count, const char *other_role) {
  for (size_t i = 0; i < count; ++i)
    if (&others[i] != written && pn_memref_overlaps(written, &others[i]))
      return pn_error_create(PN_ERROR_OVERLAP, "%s %zu overlaps %s %zu", role,
                             index, other_role, i);
  if (overlaps_itself(written))
    return pn_error_create(PN_ERROR_OVERLAP,
                           "%s %zu has strides with which elements may overlap",
                           role, index);
  return NULL;
}

/* Results overlap nothing; inputs that the program writes overlap nothing. */
static pn_error_t *check_overlap(const pn_entry_t *entry,
                                 const pn_memref_t *inputs,
                                 const pn_memref_t *results) {
  const pn_signature_entry_t *signature = entry->signature;
  pn_error_t *error = NULL;
  for (size_t r = 0; !error && r < signature->result_count; ++r) {
    error = check_written(&results[r], "result", r, inputs,
                          signature->input_count, "input");
    if (!error)
      error = check_written(&results[r], "result", r, results, r, "result");
  }
  for (size_t i = 0; !error && i < signature->input_count; ++i)
    if (signature->values[i].is_mutable)
      error = check_written(&inputs[i], "input", i, inputs,
                            signature->input_count, "input");
  return error;
}

/* ------------------------------------------------------------------------ */
/* Invocation                                                               */
/* ------------------------------------------------------------------------ */

/* Takes a free call context or makes one. */
static pn_context_node_t *acquire_context(pn_executable_t *executable) {
  pn_context_node_t *spare = atomic_exchange(&executable->spare, NULL);
  if (spare)
    return spare;
  (void)pthread_mutex_lock(&executable->lock);
  pn_context_node_t *node = executable->free_contexts;
  if (node)
    executable->free_contexts = node->next;
  (void)pthread_mutex_unlock(&executable->lock);
  if (node)
    return node;
  node = calloc(1, sizeof(*node));
  if (node && !(node->ctx = pn_rt_context_create())) {
    free(node);
    node = NULL;
  }
  return node;
}

static void release_context(pn_executable_t *executable,
                            pn_context_node_t *node) {
  pn_context_node_t *none = NULL;
  pn_rt_context_rest(node->ctx);
  if (atomic_compare_exchange_strong(&executable->spare, &none, node))
    return;
  (void)pthread_mutex_lock(&executable->lock);
  node->next = executable->free_contexts;
  executable->free_contexts = node;
  (void)pthread_mutex_unlock(&executable->lock);
}

size_t pn_executable_nest_times(pn_executable_t *executable, int64_t *out_ns,
                                size_t room) {
  for (size_t i = 0; out_ns && i < room; ++i)
    out_ns[i] = 0;
  pn_context_node_t *node = executable ? acquire_context(executable) : NULL;
  if (!node)
    return 0;
  size_t count = pn_rt_laps_get(node->ctx, out_ns, out_ns ? room : 0);
  release_context(executable, node);
  return count;
}

/* True if the entry accepts the view's strides as they are. */
static bool accepts_strides(const pn_value_type_t *type,
                            const pn_memref_t *memref) {
  if (!type->strides)
    return pn_memref_is_contiguous(memref);
  if (!memref->strides) {
    int64_t stride = 1;
    for (int32_t d = type->rank - 1; d >= 0; --d) {
      if (memref->sizes[d] > 1 && type->strides[d] != PN_DYNAMIC &&
          type->strides[d] != stride)
        return false;
      stride *= memref->sizes[d];
    }
    return true;
  }
  for (int32_t d = 0; d < type->rank; ++d)
    if (memref->sizes[d] > 1 && type->strides[d] != PN_DYNAMIC &&
        type->strides[d] != memref->strides[d])
      return false;
  return true;
}

/* Room the layout of `type` needs for the sizes, in elements; and its strides,
 * dynamic ones chosen as if contiguous. */
static int64_t layout_of(const pn_value_type_t *type, const pn_memref_t *memref,
                         int64_t *strides) {
  int64_t contiguous = 1, last = 0;
  bool empty = false;
  for (int32_t d = type->rank - 1; d >= 0; --d) {
    strides[d] = type->strides && type->strides[d] != PN_DYNAMIC
                     ? type->strides[d]
                     : contiguous;
    contiguous *= memref->sizes[d];
    empty |= memref->sizes[d] == 0;
    last += (memref->sizes[d] - 1) * strides[d];
  }
  return empty ? 0 : last + 1;
}

pn_error_t *pn_argument_bind(const pn_value_type_t *type,
                             const pn_memref_t *memref, int64_t *strides,
                             bool is_input, pn_bound_t *out_bound) {
  *out_bound = (pn_bound_t){.memref = *memref};
  if (accepts_strides(type, memref))
    return NULL;
  int64_t elements = layout_of(type, memref, strides);
  out_bound->copy =
      pn_pool_alloc((size_t)elements * pn_dtype_size(type->dtype));
  if (!out_bound->copy)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  out_bound->memref.data = out_bound->copy;
  out_bound->memref.offset = 0;
  out_bound->memref.strides = strides;
  if (is_input)
    pn_strided_copy(&out_bound->memref, memref);
  return NULL;
}

/* Everything one call needs, carved out of one block. */
typedef struct pn_call {
  void **args;
  pn_bound_t *bound;
  int64_t *strides; /* for copies: rank values an argument */
  char *descriptors;
} pn_call_t;

static size_t call_bytes(const pn_signature_entry_t *signature) {
  size_t count = signature->input_count + signature->result_count;
  size_t bytes = count * (sizeof(void *) + sizeof(pn_bound_t));
  for (size_t i = 0; i < count; ++i) {
    int32_t rank = signature->values[i].type.rank;
    bytes += pn_memref_descriptor_size(rank) + (size_t)rank * sizeof(int64_t);
  }
  return bytes;
}

static pn_call_t carve_call(const pn_signature_entry_t *signature,
                            char *block) {
  size_t count = signature->input_count + signature->result_count;
  pn_call_t call;
  call.args = (void **)(void *)block;
  call.bound = (pn_bound_t *)(void *)(block + count * sizeof(void *));
  call.strides = (int64_t *)(void *)(call.bound + count);
  size_t ranks = 0;
  for (size_t i = 0; i < count; ++i)
    ranks += (size_t)signature->values[i].type.rank;
  call.descriptors = (char *)(call.strides + ranks);
  return call;
}

/* What code is passed for a bound view: the address of a scalar, or
 * `descriptor`, filled; NULL where the view is none. */
static void *fill_argument(const pn_signature_value_t *value,
                           const pn_memref_t *bound, char *descriptor) {
  int64_t element_bytes = (int64_t)pn_dtype_size(value->type.dtype);
  if (value->is_scalar)
    return (char *)bound->data + bound->offset * element_bytes;
  if (pn_memref_descriptor_fill(bound, descriptor) != PN_ERROR_NONE)
    return NULL;
  /* Code reads identity layouts from the aligned pointer alone. */
  void **pointers = (void **)(void *)descriptor;
  int64_t *offset = (int64_t *)(void *)(pointers + 2);
  pointers[0] = pointers[1] = (char *)pointers[1] + *offset * element_bytes;
  *offset = 0;
  return descriptor;
}

/* Binds argument i and fills its descriptor. */
static pn_error_t *prepare_argument(const pn_signature_entry_t *signature,
                                    pn_call_t *call, size_t i,
                                    const pn_memref_t *memref, bool is_input) {
  const pn_signature_value_t *value = &signature->values[i];
  pn_error_t *error = pn_argument_bind(&value->type, memref, call->strides,
                                       is_input, &call->bound[i]);
  if (error)
    return error;
  const pn_memref_t *bound = &call->bound[i].memref;
  call->strides += value->type.rank;
  call->args[i] = fill_argument(value, bound, call->descriptors);
  if (!call->args[i])
    return pn_error_create(PN_ERROR_SIGNATURE, "argument %zu is no valid view",
                           i);
  if (!value->is_scalar)
    call->descriptors += pn_memref_descriptor_size(value->type.rank);
  return NULL;
}

static pn_error_t *status_error(const pn_entry_t *entry, int32_t status) {
  const pn_signature_t *signature = &entry->executable->signature;
  if (status == 0)
    return NULL;
  if (status == STATUS_OUT_OF_MEMORY)
    return pn_error_create(PN_ERROR_MEMORY,
                           "out of memory for the temporaries of '%s'",
                           entry->signature->name);
  if (status > 0 && (size_t)status <= signature->assert_count)
    return pn_error_create(PN_ERROR_ASSERT, "%s",
                           signature->asserts[status - 1]);
  return pn_error_create(PN_ERROR_INTERNAL, "entry '%s' returned status %d",
                         entry->signature->name, (int)status);
}

static pn_error_t *run(const pn_entry_t *entry, pn_packed_fn function,
                       void *state, void **args) {
  pn_context_node_t *node = acquire_context(entry->executable);
  if (!node)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  int32_t status = function(node->ctx, state, args);
  release_context(entry->executable, node);
  return status_error(entry, status);
}

/* Runs the entry; fills a state for this call alone where none is given. */
static pn_error_t *run_with_state(const pn_entry_t *entry, void *state,
                                  void **args) {
  const pn_signature_entry_t *signature = entry->signature;
  if (state || !signature->state_bytes)
    return run(entry, entry->packed, state, args);
  void *block = pn_entry_state_alloc(entry);
  void **constants = calloc(signature->constant_count + 1, sizeof(void *));
  pn_error_t *error = NULL;
  if (!block || !constants)
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  size_t at = 0;
  for (size_t i = 0; !error && i < signature->input_count; ++i)
    if (signature->values[i].is_constant)
      constants[at++] = args[i];
  if (!error)
    error = run(entry, entry->init, block, constants);
  if (!error)
    error = run(entry, entry->packed, block, args);
  free(constants);
  pn_pool_free(block);
  return error;
}

static pn_error_t *invoke_checked(const pn_entry_t *entry, void *state,
                                  const pn_memref_t *inputs,
                                  const pn_memref_t *results, char *block) {
  const pn_signature_entry_t *signature = entry->signature;
  size_t count = signature->input_count + signature->result_count;
  pn_call_t call = carve_call(signature, block);
  pn_bound_t *bound = call.bound;
  memset(bound, 0, count * sizeof(*bound));
  pn_error_t *error = NULL;
  for (size_t i = 0; !error && i < count; ++i) {
    bool is_input = i < signature->input_count;
    error = prepare_argument(
        signature, &call, i,
        is_input ? &inputs[i] : &results[i - signature->input_count], is_input);
  }
  if (!error)
    error = run_with_state(entry, state, call.args);
  for (size_t i = 0; i < count; ++i) {
    if (!bound[i].copy)
      continue;
    bool is_input = i < signature->input_count;
    if (!error && !is_input)
      pn_strided_copy(&results[i - signature->input_count], &bound[i].memref);
    else if (!error && signature->values[i].is_mutable)
      pn_strided_copy(&inputs[i], &bound[i].memref);
    pn_pool_free(bound[i].copy);
  }
  return error;
}

#define SMALL_CALL_BYTES 4096

/* The call behind the checks of inputs. */
static pn_error_t *invoke(const pn_entry_t *entry, void *state,
                          const pn_memref_t *inputs, const pn_memref_t *results,
                          size_t result_count) {
  pn_error_t *error = check_results(entry, inputs, results, result_count);
  if (!error)
    error = check_overlap(entry, inputs, results);
  if (error)
    return error;
  size_t bytes = call_bytes(entry->signature);
  _Alignas(16) char small[SMALL_CALL_BYTES];
  char *block = bytes <= sizeof(small) ? small : malloc(bytes);
  if (!block)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  error = invoke_checked(entry, state, inputs, results, block);
  if (block != small)
    free(block);
  return error;
}

pn_error_t *pn_entry_invoke(const pn_entry_t *entry, const pn_memref_t *inputs,
                            size_t input_count, const pn_memref_t *results,
                            size_t result_count) {
  if (!entry)
    return pn_error_create(PN_ERROR_ARGUMENT, "entry must not be null");
  pn_error_t *error = check_inputs(entry, inputs, input_count, false);
  return error ? error : invoke(entry, NULL, inputs, results, result_count);
}

pn_error_t *pn_entry_invoke_bound(const pn_entry_t *entry, void *state,
                                  const pn_memref_t *inputs,
                                  const pn_memref_t *results,
                                  size_t result_count) {
  pn_error_t *error =
      check_inputs(entry, inputs, entry->signature->input_count, true);
  return error ? error : invoke(entry, state, inputs, results, result_count);
}

pn_error_t *pn_entry_fill_state(const pn_entry_t *entry,
                                const pn_memref_t *constants, void *state) {
  const pn_signature_entry_t *signature = entry->signature;
  size_t count = signature->constant_count, bytes = 0;
  for (size_t i = 0; i < count; ++i)
    bytes += pn_memref_descriptor_size(constants[i].rank);
  void **args = calloc(count + 1, sizeof(void *));
  char *descriptors = malloc(bytes + 1);
  pn_error_t *error = NULL;
  if (!args || !descriptors)
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  char *at = descriptors;
  for (size_t i = 0, input = 0; !error && i < count; ++i, ++input) {
    while (!signature->values[input].is_constant)
      ++input;
    args[i] = fill_argument(&signature->values[input], &constants[i], at);
    at += pn_memref_descriptor_size(constants[i].rank);
    if (!args[i])
      error = pn_error_create(PN_ERROR_SIGNATURE,
                              "constant %zu is no valid view", i);
  }
  if (!error)
    error = run(entry, entry->init, state, args);
  free(descriptors);
  free(args);
  return error;
}
