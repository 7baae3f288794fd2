/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/executable.h: compiled code and how to call it.
 *
 * An executable has entries, one for each public function of the module, in
 * the order of the module. An entry has inputs and results, each a ranked
 * memref: element type, rank, sizes (PN_DYNAMIC where not fixed) and, where
 * the signature fixes them, strides in elements. Scalars are rank 0.
 * The caller allocates the results. A result, or an input that the program
 * writes, may overlap no other argument, and no two of its elements may share
 * memory (PN_ERROR_OVERLAP); other inputs may overlap each other.
 * Ownership: executables are reference counted; an entry is borrowed from its
 * executable.
 * Threads: an executable is internally locked; an entry may be invoked from
 * several threads at once, each call with its own temporaries.
 * Since: 0.1
 */
#ifndef POLYNEST_EXECUTABLE_H
#define POLYNEST_EXECUTABLE_H

#include "polynest/error.h"
#include "polynest/runtime.h"

PN_EXTERN_C_BEGIN

typedef struct pn_executable pn_executable_t;
typedef struct pn_entry pn_entry_t;

#define PN_DYNAMIC INT64_MIN

/* Type of one argument or result. Arrays are borrowed from the entry. */
typedef struct pn_value_type {
  pn_dtype_t dtype;
  int32_t rank;
  const int64_t *sizes;   /* rank values, PN_DYNAMIC where not fixed */
  const int64_t *strides; /* rank values in elements, PN_DYNAMIC where any is
                             accepted; NULL means contiguous, row-major; an
                             input that is not is copied first */
} pn_value_type_t;

PN_STATIC_ASSERT(sizeof(pn_value_type_t) == 24, "ABI of types");

/* Loads a library written by pn_compile_to_library. PN_ERROR_IO,
 * PN_ERROR_CORRUPT, PN_ERROR_VERSION; PN_ERROR_TARGET where this processor
 * lacks what the code was compiled for. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_executable_load(PN_KEEP const char *path,
                   PN_GIVE pn_executable_t **out_executable);

PN_EXPORT void pn_executable_retain(PN_KEEP pn_executable_t *executable);

/* Accepts NULL. Code stays mapped until the last reference is gone. */
PN_EXPORT void pn_executable_release(PN_TAKE pn_executable_t *executable);

PN_EXPORT size_t
pn_executable_entry_count(PN_KEEP const pn_executable_t *executable);

/* NULL where there is no such index. */
PN_EXPORT PN_KEEP const pn_entry_t *
pn_executable_entry_at(PN_KEEP const pn_executable_t *executable, size_t index);

/* `name` NULL means the only entry. PN_ERROR_NOT_FOUND lists the names. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_executable_find_entry(PN_KEEP const pn_executable_t *executable,
                         PN_KEEP const char *name,
                         PN_KEEP const pn_entry_t **out_entry);

PN_EXPORT PN_KEEP const char *pn_entry_name(PN_KEEP const pn_entry_t *entry);
PN_EXPORT size_t pn_entry_input_count(PN_KEEP const pn_entry_t *entry);
PN_EXPORT size_t pn_entry_result_count(PN_KEEP const pn_entry_t *entry);

/* Return false and clear the type where there is no such index. */
PN_EXPORT bool pn_entry_input_type(PN_KEEP const pn_entry_t *entry,
                                   size_t index,
                                   PN_KEEP pn_value_type_t *out_type);
PN_EXPORT bool pn_entry_result_type(PN_KEEP const pn_entry_t *entry,
                                    size_t index,
                                    PN_KEEP pn_value_type_t *out_type);

/* Whether the program marks the input as one whose value never changes. Such
 * inputs may be bound once (polynest/state.h). */
PN_EXPORT bool pn_entry_input_is_constant(PN_KEEP const pn_entry_t *entry,
                                          size_t index);

/* Whether the program may write the input: its memory has to be writable. */
PN_EXPORT bool pn_entry_input_is_mutable(PN_KEEP const pn_entry_t *entry,
                                         size_t index);

/* Bytes of what is computed once from the constants; 0 where nothing is. */
PN_EXPORT size_t pn_entry_state_bytes(PN_KEEP const pn_entry_t *entry);

/* Bytes of temporaries one call needs, for static shapes. */
PN_EXPORT size_t pn_entry_arena_bytes(PN_KEEP const pn_entry_t *entry);

/* Bytes of machine code, constants apart; of a loaded library with those of the
 * runtime in it. 0 for NULL. */
PN_EXPORT size_t
pn_executable_code_bytes(PN_KEEP const pn_executable_t *executable);

/* Computes the sizes of every result from those of the inputs.
 * `out_result_sizes` has room for the sum of the results' ranks, in order.
 * PN_ERROR_SIGNATURE where the inputs do not fit. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_entry_result_sizes(PN_KEEP const pn_entry_t *entry,
                      PN_KEEP const pn_memref_t *inputs, size_t input_count,
                      PN_KEEP int64_t *out_result_sizes);

/* Nanoseconds that each nest of the last call took, in the order of the
 * program, where the code was compiled with `time_nests`. Fills `room` values,
 * 0 where there is no such nest, and returns how many nests were timed;
 * `out_ns` may be NULL where room is 0. No other call may run meanwhile. */
PN_EXPORT size_t pn_executable_nest_times(PN_KEEP pn_executable_t *executable,
                                          PN_KEEP int64_t *out_ns, size_t room);

/* Calls the entry with all inputs, constants included, which are then used for
 * this call alone; see polynest/state.h for binding them once. Checks count,
 * element type, rank, sizes, strides and overlap first (PN_ERROR_SIGNATURE,
 * PN_ERROR_OVERLAP); PN_ERROR_ASSERT where an assertion of the program fails
 * (results are then unspecified); PN_ERROR_MEMORY where temporaries cannot be
 * had. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_entry_invoke(PN_KEEP const pn_entry_t *entry,
                PN_KEEP const pn_memref_t *inputs, size_t input_count,
                PN_KEEP const pn_memref_t *results, size_t result_count);

PN_EXTERN_C_END

#endif /* POLYNEST_EXECUTABLE_H */
