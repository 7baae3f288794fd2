/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/File.c: whole files, in and out. */

#include "Compiler/File.h"

#include "Support/Error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* Opens a new temporary file beside `path`, with the permissions that the
 * process's mask leaves of `mode`; returns -1 and sets the error. */
static int open_temporary(const char *path, mode_t mode, pn_buffer_t *name,
                          pn_error_t **out_error) {
  int fd = -1, reason = EEXIST;
  for (int tries = 0; fd < 0 && reason == EEXIST && tries < 1000; ++tries) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    pn_buffer_clear(name);
    pn_buffer_printf(name, "%s.%ld.%lx%x.tmp", path, (long)getpid(),
                     (unsigned long)now.tv_nsec, (unsigned)tries);
    if (name->failed) {
      *out_error = pn_error_create(PN_ERROR_MEMORY, "out of memory");
      return -1;
    }
    fd = open(name->data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    reason = errno;
  }
  if (fd < 0) {
    *out_error = io_error("create a file beside", path, reason);
    pn_buffer_clear(name);
  }
  return fd;
}

pn_error_t *pn_file_temporary(const char *path, unsigned mode,
                              pn_buffer_t *out_name) {
  pn_error_t *error = NULL;
  int fd = open_temporary(path, (mode_t)mode, out_name, &error);
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

/* Writes and closes; returns 0 or the reason. */
static int write_and_close(int fd, const void *data, size_t size, bool sync) {
  int reason = write_all(fd, data, size);
  if (!reason && sync && fsync(fd) != 0)
    reason = errno;
  if (close(fd) != 0 && !reason)
    reason = errno;
  return reason;
}

/* Devices and pipes are written in place: renaming would replace them. */
static pn_error_t *write_in_place(const char *path, const void *data,
                                  size_t size) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  int reason = fd < 0 ? errno : write_and_close(fd, data, size, false);
  return reason ? io_error("write", path, reason) : NULL;
}

bool pn_file_is_special(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

pn_error_t *pn_file_write(const char *path, const void *data, size_t size,
                          unsigned mode) {
  if (pn_file_is_special(path))
    return write_in_place(path, data, size);
  pn_buffer_t name = {0};
  pn_error_t *error = NULL;
  int fd = open_temporary(path, (mode_t)mode, &name, &error);
  if (fd >= 0) {
    int reason = write_and_close(fd, data, size, true);
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
