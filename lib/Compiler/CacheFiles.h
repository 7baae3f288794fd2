/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiler/CacheFiles.h: checked entries in one directory, named by keys.
 *
 * An entry is one file: a header, and bytes that are given back as they were
 * stored or not at all. The header holds the key and a SHA-256 checksum over
 * everything, so that a file that was cut short, changed, renamed or written by
 * another version counts as none; it is then removed.
 * Writers make a file of their own in the directory and rename it, so that a
 * reader sees a whole entry whatever other processes do. Nothing is forced to
 * the disk: after a loss of power the checksum finds what did not get there.
 * Directory and entries must belong to the user and be writable by nobody else.
 * Errors: none. What cannot be read is absent, what cannot be written is not
 * kept; the reason is text.
 * Threads: no state; several threads and processes may use one directory.
 */
#ifndef POLYNEST_COMPILER_CACHEFILES_H
#define POLYNEST_COMPILER_CACHEFILES_H

#include "Support/Buffer.h"
#include "Support/Sha256.h"

PN_EXTERN_C_BEGIN

typedef struct pn_cache_key {
  uint8_t bytes[PN_SHA256_BYTES];
} pn_cache_key_t;

/* Characters of a key as text, without the terminator. */
#define PN_CACHE_KEY_TEXT (2 * PN_SHA256_BYTES)

void pn_cache_key_print(const pn_cache_key_t *key,
                        char out_text[PN_CACHE_KEY_TEXT + 1]);
bool pn_cache_key_read(const char *text, pn_cache_key_t *out_key);

typedef enum pn_cache_find {
  PN_CACHE_FIND_NONE = 0,
  PN_CACHE_FIND_DAMAGED = 1, /* there was one; it is removed */
  PN_CACHE_FIND_FOUND = 2
} pn_cache_find_t;

/* Appends the bytes stored under the key to the empty `data`, and marks the
 * entry as used. Where it gives another answer, `data` is empty, and `reason`
 * says why the directory cannot be used, if that is it. */
pn_cache_find_t pn_cache_file_find(const char *directory,
                                   const pn_cache_key_t *key, pn_buffer_t *data,
                                   pn_buffer_t *reason);

/* Keeps the bytes under the key, then removes what was not used for longest
 * until all entries have at most `limit_bytes` together. False with a `reason`
 * where they are not kept. Makes the directory, for the user alone. */
bool pn_cache_file_store(const char *directory, const pn_cache_key_t *key,
                         const void *data, size_t size, uint64_t limit_bytes,
                         pn_buffer_t *reason);

/* Counts entries and their bytes. */
void pn_cache_file_count(const char *directory, uint64_t *out_entries,
                         uint64_t *out_bytes);

/* Removes every entry and what writers that died have left, and nothing else.
 * False with a `reason` where that fails. */
bool pn_cache_file_clear(const char *directory, pn_buffer_t *reason);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_CACHEFILES_H */
