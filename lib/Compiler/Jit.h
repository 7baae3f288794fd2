/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Jit.h: object code in memory, linked by ORC. */
#ifndef POLYNEST_COMPILER_JIT_H
#define POLYNEST_COMPILER_JIT_H

#include "Compiler/Codegen.h"

PN_EXTERN_C_BEGIN

typedef struct pn_jit pn_jit_t;

/* Links the objects, which are taken over also on failure. PN_ERROR_LINK. */
PN_MUST_USE pn_error_t *pn_jit_create(pn_objects_t *objects,
                                      const pn_target_info_t *target,
                                      pn_jit_t **out_jit);

/* Address of a symbol; NULL where there is none. */
void *pn_jit_lookup(void *jit, const char *name);

/* Bytes of machine code, constants apart. */
size_t pn_jit_code_bytes(const pn_jit_t *jit);

void pn_jit_destroy(void *jit);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_JIT_H */
