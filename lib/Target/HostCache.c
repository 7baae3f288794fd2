/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/HostCache.c: the measurement of this machine on disk.
 *
 * Four lines of text and a checksum over them. Whoever writes it last wins;
 * a reader sees an old file or a new one, never a part.
 */

#include "Target/HostFacts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT_VERSION 1

/* FNV-1a: names a machine, guards against damage, not against an enemy. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static const uint64_t hash_start = UINT64_C(0xcbf29ce484222325);

uint64_t pn_host_cache_key(const pn_host_facts_t *facts) {
  int32_t numbers[] = {FORMAT_VERSION,
                       facts->family,
                       facts->model,
                       facts->sysfs[1].size_kib,
                       facts->sysfs[2].size_kib,
                       facts->sysfs[2].sharing_threads,
                       facts->cpuid[2].size_kib,
                       facts->threads_per_core};
  uint64_t hash = hash_bytes(hash_start, facts->vendor, sizeof(facts->vendor));
  hash = hash_bytes(hash, facts->brand, sizeof(facts->brand));
  return hash_bytes(hash, numbers, sizeof(numbers));
}

bool pn_host_cache_path(const char *directory, uint64_t key, char *path,
                        size_t capacity) {
  const char *middle = "";
  if (!directory) {
    /* Relative paths are to be ignored, XDG Base Directory Specification. */
    directory = getenv("XDG_CACHE_HOME");
    middle = "/polynest";
    if (!directory || directory[0] != '/') {
      directory = getenv("HOME");
      middle = "/.cache/polynest";
    }
    if (!directory || directory[0] != '/')
      return false;
  }
  int length = snprintf(path, capacity, "%s%s/host-%016" PRIx64 ".txt",
                        directory, middle, key);
  return length > 0 && (size_t)length < capacity;
}

/* Everything above the checksum line. */
static int format_body(char *text, size_t capacity, uint64_t key,
                       int32_t capacity_kib, int32_t memory_mib_per_s) {
  return snprintf(text, capacity,
                  "polynest-host %d\nkey %016" PRIx64 "\ncapacity_kib %" PRId32
                  "\nmemory_mib_per_s %" PRId32 "\n",
                  FORMAT_VERSION, key, capacity_kib, memory_mib_per_s);
}

static int format_file(char *text, size_t capacity, uint64_t key,
                       int32_t capacity_kib, int32_t memory_mib_per_s) {
  int body = format_body(text, capacity, key, capacity_kib, memory_mib_per_s);
  uint64_t sum = hash_bytes(hash_start, text, (size_t)body);
  return body + snprintf(text + body, capacity - (size_t)body,
                         "check %016" PRIx64 "\n", sum);
}

bool pn_host_cache_load(const char *path, uint64_t key,
                        int32_t *out_capacity_kib,
                        int32_t *out_memory_mib_per_s) {
  *out_capacity_kib = 0;
  *out_memory_mib_per_s = 0;
  FILE *stream = fopen(path, "rb");
  if (!stream)
    return false;
  char text[512];
  size_t length = fread(text, 1, sizeof(text) - 1, stream);
  (void)fclose(stream);
  text[length] = '\0';
  const char *at = strstr(text, "\ncapacity_kib ");
  int32_t capacity = 0, memory = -1;
  if (!at ||
      sscanf(at, "\ncapacity_kib %9" SCNd32 "\nmemory_mib_per_s %9" SCNd32,
             &capacity, &memory) != 2)
    return false;
  if (capacity < 1 || capacity > 1 << 22 || memory < 0 || memory > 1 << 24)
    return false;
  /* What we would write for these numbers must be what is there. */
  char expected[512];
  int size = format_file(expected, sizeof(expected), key, capacity, memory);
  if ((size_t)size != length || memcmp(expected, text, length) != 0)
    return false;
  *out_capacity_kib = capacity;
  *out_memory_mib_per_s = memory;
  return true;
}

/* Makes each missing directory above the file, for the user alone. */
static void make_directories(const char *path) {
  char part[4096];
  size_t length = strlen(path);
  if (length >= sizeof(part))
    return;
  for (size_t i = 1; i < length; ++i) {
    if (path[i] != '/')
      continue;
    memcpy(part, path, i);
    part[i] = '\0';
    (void)mkdir(part, 0700);
  }
}

bool pn_host_cache_store(const char *path, uint64_t key, int32_t capacity_kib,
                         int32_t memory_mib_per_s) {
  char text[512], temporary[4096];
  int size =
      format_file(text, sizeof(text), key, capacity_kib, memory_mib_per_s);
  int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
  if (length < 0 || (size_t)length >= sizeof(temporary))
    return false;
  make_directories(path);
  int file = mkstemp(temporary);
  if (file < 0)
    return false;
  bool written = write(file, text, (size_t)size) == size;
  written = close(file) == 0 && written;
  written = written && rename(temporary, path) == 0;
  if (!written)
    (void)unlink(temporary);
  return written;
}
