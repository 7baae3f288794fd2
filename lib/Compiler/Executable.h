/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Executable.h: making executables from loaded code. */
#ifndef POLYNEST_COMPILER_EXECUTABLE_H
#define POLYNEST_COMPILER_EXECUTABLE_H

#include "polynest/executable.h"

PN_EXTERN_C_BEGIN

/* Loaded code: where its symbols are and how to unload it. */
typedef struct pn_code {
  void *handle;
  void *(*lookup)(void *handle, const char *name);
  void (*destroy)(void *handle);
} pn_code_t;

/* Makes an executable of loaded code, which is taken over also on failure.
 * PN_ERROR_CORRUPT where symbols are missing. */
PN_MUST_USE pn_error_t *pn_executable_create(pn_code_t code,
                                             pn_executable_t **out_executable);

/* Copies a strided view into another of the same sizes and element type. */
void pn_strided_copy(const pn_memref_t *to, const pn_memref_t *from);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_EXECUTABLE_H */
