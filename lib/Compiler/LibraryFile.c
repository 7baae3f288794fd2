/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/LibraryFile.c: whether the file of a library is whole. */

#include "Compiler/LibraryFile.h"

#include "Support/Error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last bytes of a library. */
typedef struct pn_seal {
  char magic[8];
  uint64_t size; /* of what stands before it */
  uint64_t checksum;
} pn_seal_t;

static const char seal_magic[8] = "PNSTSUM";

/* Reads all of [at, at + size); false where the file has less. */
static bool read_at(int fd, void *data, size_t size, uint64_t at) {
  char *to = data;
  while (size) {
    ssize_t count = pread(fd, to, size, (off_t)at);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    to += count;
    at += (uint64_t)count;
    size -= (size_t)count;
  }
  return true;
}

/* FNV-1a, 64 bits, over the first `size` bytes; false where they cannot be
 * read. */
static bool checksum_of(int fd, uint64_t size, uint64_t *out_checksum) {
  unsigned char block[16384];
  uint64_t hash = UINT64_C(14695981039346656037);
  for (uint64_t at = 0; at < size;) {
    size_t count =
        size - at < sizeof(block) ? (size_t)(size - at) : sizeof(block);
    if (!read_at(fd, block, count, at))
      return false;
    for (size_t i = 0; i < count; ++i)
      hash = (hash ^ block[i]) * UINT64_C(1099511628211);
    at += count;
  }
  *out_checksum = hash;
  return true;
}

static bool is_within(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

/* True unless the file is an ELF object whose headers name bytes that it does
 * not have. */
static bool is_whole(int fd, uint64_t size) {
  Elf64_Ehdr header = {0};
  size_t there = size < sizeof(header) ? (size_t)size : sizeof(header);
  size_t magic = there < SELFMAG ? there : SELFMAG;
  if (!read_at(fd, &header, there, 0))
    return false;
  if (memcmp(header.e_ident, ELFMAG, magic) != 0)
    return true;
  if (there < sizeof(header))
    return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return true;
  if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  if (!is_within(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr),
                 size) ||
      !is_within(header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize,
                 size))
    return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(fd, &segment, sizeof(segment),
                 header.e_phoff + i * sizeof(segment)) ||
        !is_within(segment.p_offset, segment.p_filesz, size))
      return false;
  }
  return true;
}

/* True unless the file has a checksum and it is that of other bytes. */
static bool has_right_checksum(int fd, uint64_t size) {
  pn_seal_t seal;
  if (size < sizeof(seal) ||
      !read_at(fd, &seal, sizeof(seal), size - sizeof(seal)) ||
      memcmp(seal.magic, seal_magic, sizeof(seal_magic)) != 0)
    return true;
  uint64_t checksum = 0;
  return seal.size == size - sizeof(seal) &&
         checksum_of(fd, seal.size, &checksum) && checksum == seal.checksum;
}

pn_error_t *pn_library_check(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  pn_error_t *error = NULL;
  if (fd < 0)
    return NULL;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    uint64_t size = (uint64_t)status.st_size;
    if (!is_whole(fd, size))
      error = pn_error_create(PN_ERROR_CORRUPT,
                              "'%s' is cut short: its headers name more than "
                              "its %llu bytes",
                              path, (unsigned long long)size);
    else if (!has_right_checksum(fd, size))
      error = pn_error_create(PN_ERROR_CORRUPT,
                              "'%s' is damaged: its checksum differs", path);
  }
  (void)close(fd);
  return error;
}

pn_error_t *pn_library_seal(const char *path) {
  pn_seal_t seal;
  struct stat status;
  memcpy(seal.magic, seal_magic, sizeof(seal_magic));
  int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
  bool sealed = fd >= 0 && fstat(fd, &status) == 0;
  if (sealed) {
    seal.size = (uint64_t)status.st_size;
    sealed = checksum_of(fd, seal.size, &seal.checksum) &&
             write(fd, &seal, sizeof(seal)) == (ssize_t)sizeof(seal);
  }
  int reason = errno;
  if (fd >= 0 && close(fd) != 0)
    sealed = false;
  return sealed ? NULL
                : pn_error_create(PN_ERROR_IO, "cannot write '%s': %s", path,
                                  strerror(reason));
}
