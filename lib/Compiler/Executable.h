/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Executable.h: making executables from loaded code. */
#ifndef POLYNEST_COMPILER_EXECUTABLE_H
#define POLYNEST_COMPILER_EXECUTABLE_H

#include "Compiler/CacheFiles.h"
#include "Compiler/Signature.h"
#include "Compiler/Touch.h"
#include "polynest/cache.h"

PN_EXTERN_C_BEGIN

/* Loaded code: where its symbols are and how to unload it. */
typedef struct pn_code {
  void *handle;
  size_t bytes; /* of machine code */
  void *(*lookup)(void *handle, const char *name);
  void (*destroy)(void *handle);
} pn_code_t;

/* Makes an executable of loaded code, which is taken over also on failure.
 * PN_ERROR_CORRUPT where symbols are missing. */
PN_MUST_USE pn_error_t *pn_executable_create(pn_code_t code,
                                             pn_executable_t **out_executable);

/* Notes that the cache holds the executable under the key. */
void pn_executable_set_cache(pn_executable_t *executable, pn_cache_t *cache,
                             const pn_cache_key_t *key);

/* Leaves memory with the executable, for the first state that is made of one of
 * its entries. */
void pn_executable_give_touched(pn_executable_t *executable,
                                PN_TAKE pn_touch_t *touch);

/* A block of the pool for a state of the entry; NULL where memory is short. */
PN_GIVE void *pn_entry_state_alloc(const pn_entry_t *entry);

/* One call's view of an argument: itself, or a copy in the layout that the
 * entry wants. */
typedef struct pn_bound {
  pn_memref_t memref;
  void *copy; /* from the pool; NULL where none was needed */
} pn_bound_t;

/* Binds a view to an argument of `type`; `strides` has room for its rank, and
 * is used where a copy is made. PN_ERROR_MEMORY. */
PN_MUST_USE pn_error_t *pn_argument_bind(const pn_value_type_t *type,
                                         const pn_memref_t *memref,
                                         int64_t *strides, bool is_input,
                                         pn_bound_t *out_bound);

/* PN_ERROR_SIGNATURE where element type, rank or sizes of input or result
 * `index` are others, or the view is none. */
PN_MUST_USE pn_error_t *pn_argument_check(const pn_memref_t *memref,
                                          const pn_value_type_t *type,
                                          const char *role, size_t index);

const pn_signature_entry_t *pn_entry_signature(const pn_entry_t *entry);
pn_executable_t *pn_entry_executable(const pn_entry_t *entry);

/* Fills `state` from the constants, bound views in their order. */
PN_MUST_USE pn_error_t *pn_entry_fill_state(const pn_entry_t *entry,
                                            const pn_memref_t *constants,
                                            void *state);

/* Calls the entry with all inputs, of which the constants were checked and
 * bound before; `state` is filled, or NULL where there is none. */
PN_MUST_USE pn_error_t *pn_entry_invoke_bound(const pn_entry_t *entry,
                                              void *state,
                                              const pn_memref_t *inputs,
                                              const pn_memref_t *results,
                                              size_t result_count);

/* Copies a strided view into another of the same sizes and element type. */
void pn_strided_copy(const pn_memref_t *to, const pn_memref_t *from);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_EXECUTABLE_H */
