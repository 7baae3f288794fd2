/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Library.h: object code to a shared library and a C header. */
#ifndef POLYNEST_COMPILER_LIBRARY_H
#define POLYNEST_COMPILER_LIBRARY_H

#include "polynest/compile.h"
#include "llvm-c/Core.h"

PN_EXTERN_C_BEGIN

/* Links object and runtime into `library_path`, and writes `header_path` unless
 * NULL. PN_ERROR_LINK where there is no linker or it fails, PN_ERROR_IO,
 * PN_ERROR_TARGET where the target's runtime is not the host's. */
PN_MUST_USE pn_error_t *pn_library_write(LLVMMemoryBufferRef object,
                                         const pn_target_info_t *target,
                                         const char *library_path,
                                         const char *header_path);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_LIBRARY_H */
