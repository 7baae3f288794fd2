/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/CacheFiles.c: checked entries in one directory. */

#include "Compiler/CacheFiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* In front of the bytes, in the order of the machine: another one's entries
 * have other keys. The checksum is over the header with zeros in its place, and
 * the bytes. */
typedef struct pn_entry_header {
  char magic[8];
  uint32_t format;
  uint32_t reserved; /* 0 */
  pn_cache_key_t key;
  uint64_t size; /* bytes behind the header */
  uint8_t checksum[PN_SHA256_BYTES];
} pn_entry_header_t;

PN_STATIC_ASSERT(sizeof(pn_entry_header_t) == 88, "no holes in the header");

static const char entry_magic[8] = "PNESTCC";
enum { ENTRY_FORMAT = 1 };

static const char entry_ending[] = ".pnc";
static const char temporary_start[] = ".polynest-";

/* "<64 digits>.pnc". */
enum { ENTRY_NAME_SIZE = PN_CACHE_KEY_TEXT + sizeof(entry_ending) };

/* A writer takes well under a second; what is older than this was left by one
 * that died. */
#define TEMPORARY_AGE_S 600

/* ------------------------------------------------------------------------ */
/* Keys and names                                                           */
/* ------------------------------------------------------------------------ */

void pn_cache_key_print(const pn_cache_key_t *key,
                        char out_text[PN_CACHE_KEY_TEXT + 1]) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < PN_SHA256_BYTES; ++i) {
    out_text[2 * i] = digits[key->bytes[i] >> 4];
    out_text[2 * i + 1] = digits[key->bytes[i] & 15];
  }
  out_text[PN_CACHE_KEY_TEXT] = '\0';
}

static int digit_value(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

bool pn_cache_key_read(const char *text, pn_cache_key_t *out_key) {
  *out_key = (pn_cache_key_t){{0}};
  for (size_t i = 0; i < PN_CACHE_KEY_TEXT; ++i) {
    int value = digit_value(text[i]);
    if (value < 0)
      return false;
    out_key->bytes[i / 2] = (uint8_t)(out_key->bytes[i / 2] << 4 | value);
  }
  return text[PN_CACHE_KEY_TEXT] == '\0';
}

static void name_entry(const pn_cache_key_t *key, char name[ENTRY_NAME_SIZE]) {
  pn_cache_key_print(key, name);
  memcpy(name + PN_CACHE_KEY_TEXT, entry_ending, sizeof(entry_ending));
}

static bool is_entry_name(const char *name) {
  for (size_t i = 0; i < PN_CACHE_KEY_TEXT; ++i)
    if (digit_value(name[i]) < 0)
      return false;
  return strcmp(name + PN_CACHE_KEY_TEXT, entry_ending) == 0;
}

static bool is_temporary_name(const char *name) {
  return strncmp(name, temporary_start, sizeof(temporary_start) - 1) == 0;
}

/* ------------------------------------------------------------------------ */
/* The directory                                                            */
/* ------------------------------------------------------------------------ */

static void explain(pn_buffer_t *reason, const char *verb, const char *path,
                    int code) {
  pn_buffer_printf(reason, "cannot %s '%s': %s", verb, path, strerror(code));
}

/* Whose entries these are: code that others could write would run as us. */
static const char *distrust(const struct stat *status) {
  return status->st_uid != geteuid() ? "it belongs to another user"
         : status->st_mode & (S_IWGRP | S_IWOTH)
             ? "others than its owner may write to it"
             : NULL;
}

/* Makes each missing directory of the path, for the user alone. */
static bool make_directories(const char *path, pn_buffer_t *reason) {
  size_t size = strlen(path);
  char *part = malloc(size + 1);
  if (!part) {
    pn_buffer_append_text(reason, "out of memory");
    return false;
  }
  int failed = 0;
  for (size_t i = 1; i <= size && !failed; ++i) {
    if (path[i] != '/' && path[i] != '\0')
      continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0700) != 0 && errno != EEXIST)
      failed = errno;
    /* On the way there may be what exists and cannot be made. */
    if (failed && i < size && access(part, X_OK) == 0)
      failed = 0;
  }
  free(part);
  if (failed)
    explain(reason, "make the folder", path, failed);
  return !failed;
}

/* Opens the directory if it is ours; -1 with or without a reason. A missing one
 * is none. */
static int open_directory(const char *path, pn_buffer_t *reason) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT)
      explain(reason, "open the folder", path, errno);
    return -1;
  }
  struct stat status;
  const char *why =
      fstat(fd, &status) != 0 ? "it has no owner" : distrust(&status);
  if (!why)
    return fd;
  pn_buffer_printf(reason, "the folder '%s' is not used: %s", path, why);
  (void)close(fd);
  return -1;
}

/* ------------------------------------------------------------------------ */
/* Reading                                                                  */
/* ------------------------------------------------------------------------ */

static void add_checksum(pn_entry_header_t *header, const void *data,
                         size_t size) {
  memset(header->checksum, 0, sizeof(header->checksum));
  pn_sha256_t hash;
  uint8_t digest[PN_SHA256_BYTES];
  pn_sha256_begin(&hash);
  pn_sha256_add(&hash, header, sizeof(*header));
  pn_sha256_add(&hash, data, size);
  pn_sha256_end(&hash, digest);
  memcpy(header->checksum, digest, sizeof(digest));
}

static bool is_sound(const pn_entry_header_t *found, const pn_cache_key_t *key,
                     const void *data, size_t size) {
  pn_entry_header_t expected = {
      .format = ENTRY_FORMAT, .key = *key, .size = size};
  memcpy(expected.magic, entry_magic, sizeof(entry_magic));
  add_checksum(&expected, data, size);
  return memcmp(found, &expected, sizeof(expected)) == 0;
}

/* Reads exactly `size` bytes and finds the end of the file there. */
static bool read_all(int fd, char *data, size_t size) {
  char beyond;
  for (;;) {
    ssize_t count = read(fd, size ? data : &beyond, size ? size : 1);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0 || !size)
      return count == 0 && !size;
    data += count;
    size -= (size_t)count;
  }
}

/* Reads the entry behind the open file; anything odd is damage, but for memory
 * that is short. */
static pn_cache_find_t read_entry(int fd, const pn_cache_key_t *key,
                                  pn_buffer_t *data) {
  struct stat status;
  pn_entry_header_t header;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
      distrust(&status) || status.st_size < (off_t)sizeof(header))
    return PN_CACHE_FIND_DAMAGED;
  size_t size = (size_t)status.st_size;
  char *bytes = malloc(size);
  if (!bytes)
    return PN_CACHE_FIND_NONE;
  bool sound = read_all(fd, bytes, size);
  if (sound) {
    memcpy(&header, bytes, sizeof(header));
    size -= sizeof(header);
    sound = is_sound(&header, key, bytes + sizeof(header), size);
  }
  if (sound)
    pn_buffer_append(data, bytes + sizeof(header), size);
  free(bytes);
  return !sound         ? PN_CACHE_FIND_DAMAGED
         : data->failed ? PN_CACHE_FIND_NONE
                        : PN_CACHE_FIND_FOUND;
}

/* The time of the last use is that of the last change: not every file system
 * keeps the former. */
static void mark_used(int fd) {
  struct timespec times[2];
  (void)clock_gettime(CLOCK_REALTIME, &times[0]);
  times[1] = times[0];
  (void)futimens(fd, times);
}

pn_cache_find_t pn_cache_file_find(const char *directory,
                                   const pn_cache_key_t *key, pn_buffer_t *data,
                                   pn_buffer_t *reason) {
  int folder = open_directory(directory, reason);
  if (folder < 0)
    return PN_CACHE_FIND_NONE;
  char name[ENTRY_NAME_SIZE];
  name_entry(key, name);
  /* A pipe in its place must not stop us. */
  int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  pn_cache_find_t answer = fd >= 0          ? read_entry(fd, key, data)
                           : errno == ELOOP ? PN_CACHE_FIND_DAMAGED
                                            : PN_CACHE_FIND_NONE;
  if (answer == PN_CACHE_FIND_FOUND)
    mark_used(fd);
  else
    pn_buffer_clear(data);
  if (answer == PN_CACHE_FIND_DAMAGED)
    (void)unlinkat(folder, name, 0);
  if (fd >= 0)
    (void)close(fd);
  (void)close(folder);
  return answer;
}

/* ------------------------------------------------------------------------ */
/* All entries                                                              */
/* ------------------------------------------------------------------------ */

typedef struct pn_listed {
  char name[ENTRY_NAME_SIZE];
  struct timespec used;
  uint64_t bytes;
} pn_listed_t;

typedef struct pn_listing {
  pn_listed_t *items;
  size_t count, capacity;
  uint64_t bytes;
  bool failed;
} pn_listing_t;

static void listing_add(pn_listing_t *listing, const char *name,
                        const struct stat *status) {
  if (listing->count == listing->capacity) {
    size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
    pn_listed_t *items = reallocarray(listing->items, capacity, sizeof(*items));
    if (!items) {
      listing->failed = true;
      return;
    }
    listing->items = items;
    listing->capacity = capacity;
  }
  pn_listed_t *item = &listing->items[listing->count++];
  memcpy(item->name, name, sizeof(item->name));
  item->used = status->st_mtim;
  item->bytes = (uint64_t)status->st_size;
  listing->bytes += item->bytes;
}

/* Lists the entries; removes temporary files of writers that died, of which
 * `all` takes the young ones too. */
static void list_entries(int folder, bool all, pn_listing_t *listing) {
  *listing = (pn_listing_t){0};
  int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = again < 0 ? NULL : fdopendir(again);
  if (!dir) {
    listing->failed = true;
    if (again >= 0)
      (void)close(again);
    return;
  }
  struct timespec now;
  (void)clock_gettime(CLOCK_REALTIME, &now);
  for (struct dirent *item; (item = readdir(dir));) {
    struct stat status;
    bool is_temporary = is_temporary_name(item->d_name);
    if ((!is_temporary && !is_entry_name(item->d_name)) ||
        fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode))
      continue;
    if (!is_temporary)
      listing_add(listing, item->d_name, &status);
    else if (all || now.tv_sec - status.st_mtim.tv_sec > TEMPORARY_AGE_S)
      (void)unlinkat(folder, item->d_name, 0);
  }
  (void)closedir(dir);
}

static int older(const void *left, const void *right) {
  const pn_listed_t *a = left, *b = right;
  if (a->used.tv_sec != b->used.tv_sec)
    return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec)
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Removes the entries that were not used for longest. */
static void trim(int folder, uint64_t limit_bytes) {
  pn_listing_t listing;
  list_entries(folder, false, &listing);
  if (listing.bytes > limit_bytes)
    qsort(listing.items, listing.count, sizeof(*listing.items), older);
  uint64_t bytes = listing.bytes;
  for (size_t i = 0; i < listing.count && bytes > limit_bytes; ++i) {
    (void)unlinkat(folder, listing.items[i].name, 0);
    bytes -= listing.items[i].bytes;
  }
  free(listing.items);
}

void pn_cache_file_count(const char *directory, uint64_t *out_entries,
                         uint64_t *out_bytes) {
  *out_entries = *out_bytes = 0;
  pn_buffer_t reason = {0};
  int folder = open_directory(directory, &reason);
  pn_buffer_clear(&reason);
  if (folder < 0)
    return;
  pn_listing_t listing;
  list_entries(folder, false, &listing);
  *out_entries = listing.count;
  *out_bytes = listing.bytes;
  free(listing.items);
  (void)close(folder);
}

bool pn_cache_file_clear(const char *directory, pn_buffer_t *reason) {
  int folder = open_directory(directory, reason);
  if (folder < 0)
    return !reason->size;
  pn_listing_t listing;
  list_entries(folder, true, &listing);
  int failed = listing.failed ? ENOMEM : 0;
  for (size_t i = 0; i < listing.count; ++i)
    if (unlinkat(folder, listing.items[i].name, 0) != 0 && errno != ENOENT)
      failed = errno;
  free(listing.items);
  (void)close(folder);
  if (failed)
    explain(reason, "clear the folder", directory, failed);
  return !failed;
}

/* ------------------------------------------------------------------------ */
/* Writing                                                                  */
/* ------------------------------------------------------------------------ */

static int write_all(int fd, const void *data, size_t size) {
  const char *at = data;
  while (size > 0) {
    ssize_t count = write(fd, at, size);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    at += count;
    size -= (size_t)count;
  }
  return 0;
}

/* Opens a new file in the folder; its name is no other writer's, whatever
 * machine that runs on. */
static int open_temporary(int folder, char name[64]) {
  static atomic_uint serial;
  int fd = -1;
  for (int tries = 0; fd < 0 && tries < 100; ++tries) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(name, 64, "%s%ld-%lx-%x", temporary_start, (long)getpid(),
                   (unsigned long)now.tv_nsec, atomic_fetch_add(&serial, 1));
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  return fd;
}

/* Writes the entry beside its place and moves it there; 0 or the reason. */
static int write_entry(int folder, pn_entry_header_t *header, const void *data,
                       size_t size) {
  char temporary[64], name[ENTRY_NAME_SIZE];
  int fd = open_temporary(folder, temporary);
  if (fd < 0)
    return errno;
  int failed = write_all(fd, header, sizeof(*header));
  if (!failed)
    failed = write_all(fd, data, size);
  if (close(fd) != 0 && !failed)
    failed = errno;
  name_entry(&header->key, name);
  if (!failed && renameat(folder, temporary, folder, name) != 0)
    failed = errno;
  if (failed)
    (void)unlinkat(folder, temporary, 0);
  return failed;
}

bool pn_cache_file_store(const char *directory, const pn_cache_key_t *key,
                         const void *data, size_t size, uint64_t limit_bytes,
                         pn_buffer_t *reason) {
  /* What alone is larger would drive out all others. */
  if (size > limit_bytes || size + sizeof(pn_entry_header_t) > limit_bytes) {
    pn_buffer_printf(reason, "an entry of %zu bytes is above the limit of %llu",
                     size, (unsigned long long)limit_bytes);
    return false;
  }
  int folder = open_directory(directory, reason);
  if (folder < 0 && !reason->size && make_directories(directory, reason))
    folder = open_directory(directory, reason);
  if (folder < 0) {
    if (!reason->size)
      explain(reason, "open the folder", directory, ENOENT);
    return false;
  }
  pn_entry_header_t header = {
      .format = ENTRY_FORMAT, .key = *key, .size = size};
  memcpy(header.magic, entry_magic, sizeof(entry_magic));
  add_checksum(&header, data, size);
  int failed = write_entry(folder, &header, data, size);
  trim(folder, limit_bytes);
  (void)close(folder);
  if (failed)
    explain(reason, "write to the folder", directory, failed);
  return !failed;
}
