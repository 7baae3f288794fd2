/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/File.c: whole files, in and out. */

#include "Compiler/File.h"

#include "Support/Error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pn_error_t *io_error(const char *verb, const char *path, int reason) {
  return pn_error_create(reason == ENOENT ? PN_ERROR_NOT_FOUND : PN_ERROR_IO,
                         "cannot %s '%s': %s", verb, path, strerror(reason));
}

pn_error_t *pn_file_read(const char *path, pn_buffer_t *buffer) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return io_error("open", path, errno);
  pn_error_t *error = NULL;
  char piece[1 << 16];
  for (;;) {
    ssize_t count = read(fd, piece, sizeof(piece));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      error = io_error("read", path, errno);
    if (count <= 0)
      break;
    pn_buffer_append(buffer, piece, (size_t)count);
  }
  (void)close(fd);
  if (!error && buffer->failed)
    error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
  return error;
}

/* Writes everything; returns 0 or the reason. */
static int write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t count = write(fd, data, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    data += count;
    size -= (size_t)count;
  }
  return 0;
}

/* Opens a new temporary file beside `path`; returns -1 and sets the error. */
static int open_temporary(const char *path, pn_buffer_t *name,
                          pn_error_t **out_error) {
  pn_buffer_printf(name, "%s.XXXXXX", path);
  if (name->failed) {
    *out_error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
    return -1;
  }
  int fd = mkostemp(name->data, O_CLOEXEC);
  if (fd < 0)
    *out_error = io_error("create a file beside", path, errno);
  return fd;
}

pn_error_t *pn_file_temporary(const char *path, pn_buffer_t *out_name) {
  pn_error_t *error = NULL;
  int fd = open_temporary(path, out_name, &error);
  if (fd >= 0)
    (void)close(fd);
  return error;
}

pn_error_t *pn_file_rename(const char *from, const char *to) {
  if (rename(from, to) == 0)
    return NULL;
  int reason = errno;
  (void)unlink(from);
  return io_error("write", to, reason);
}

pn_error_t *pn_file_write(const char *path, const void *data, size_t size,
                          unsigned mode) {
  pn_buffer_t name = {0};
  pn_error_t *error = NULL;
  int fd = open_temporary(path, &name, &error);
  if (fd >= 0) {
    int reason = write_all(fd, data, size);
    mode_t mask = umask(0);
    (void)umask(mask);
    if (!reason && fchmod(fd, (mode_t)mode & ~mask) != 0)
      reason = errno;
    if (!reason && fsync(fd) != 0)
      reason = errno;
    if (close(fd) != 0 && !reason)
      reason = errno;
    if (reason) {
      (void)unlink(name.data);
      error = io_error("write", path, reason);
    } else {
      error = pn_file_rename(name.data, path);
    }
  }
  pn_buffer_clear(&name);
  return error;
}
