/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/File.h: whole files, in and out. */
#ifndef POLYNEST_COMPILER_FILE_H
#define POLYNEST_COMPILER_FILE_H

#include "Support/Buffer.h"
#include "polynest/error.h"

PN_EXTERN_C_BEGIN

/* Appends the file's bytes. PN_ERROR_IO, PN_ERROR_NOT_FOUND, PN_ERROR_MEMORY.
 */
PN_MUST_USE pn_error_t *pn_file_read(const char *path, pn_buffer_t *buffer);

/* Writes a file that appears whole or not at all: a temporary beside it is
 * synced and renamed. What exists and is no regular file (a device, a pipe) is
 * written in place. PN_ERROR_IO names the path and the reason. */
PN_MUST_USE pn_error_t *pn_file_write(const char *path, const void *data,
                                      size_t size, unsigned mode);

/* True if the path exists and is no regular file. */
bool pn_file_is_special(const char *path);

/* Makes an empty temporary file beside `path` and appends its name. */
PN_MUST_USE pn_error_t *pn_file_temporary(const char *path, unsigned mode,
                                          pn_buffer_t *out_name);

/* Moves `from` over `to`. Removes `from` where that fails. */
PN_MUST_USE pn_error_t *pn_file_rename(const char *from, const char *to);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_FILE_H */
