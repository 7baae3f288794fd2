/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiler/LibraryFile.h: whether the file of a library is whole.
 *
 * The system's loader maps what the headers name without looking at the file's
 * size, and a page behind the end is a signal. So the headers are compared with
 * the size first. Our own libraries end with a checksum over all that stands
 * before it; tools that rewrite a library, as strip does, drop it, and a
 * library without one is taken as it is. It finds damage, not malice.
 */
#ifndef POLYNEST_COMPILER_LIBRARYFILE_H
#define POLYNEST_COMPILER_LIBRARYFILE_H

#include "polynest/error.h"

PN_EXTERN_C_BEGIN

/* Appends the checksum to a library that was just linked. */
PN_MUST_USE pn_error_t *pn_library_seal(const char *path);

/* PN_ERROR_CORRUPT where the file is cut short or its checksum differs. What
 * cannot be read, or is no library at all, is the loader's to report. */
PN_MUST_USE pn_error_t *pn_library_check(const char *path);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_LIBRARYFILE_H */
