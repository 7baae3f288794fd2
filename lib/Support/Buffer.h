/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/Buffer.h: a growing, NUL-terminated piece of text.
 *
 * Ownership: the buffer owns `data`; pn_buffer_clear frees it.
 * Errors: appending where memory is short sets `failed`, which stays set; the
 * caller checks once at the end.
 * Threads: one at a time.
 */
#ifndef POLYNEST_SUPPORT_BUFFER_H
#define POLYNEST_SUPPORT_BUFFER_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

typedef struct pn_buffer {
  char *data; /* NULL while nothing was appended */
  size_t size;
  size_t capacity;
  bool failed;
} pn_buffer_t;

void pn_buffer_append(pn_buffer_t *buffer, const char *data, size_t size);
void pn_buffer_append_text(pn_buffer_t *buffer, const char *text);
void pn_buffer_printf(pn_buffer_t *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text, "" while empty. */
const char *pn_buffer_text(const pn_buffer_t *buffer);

/* Frees the data; the buffer is empty and usable afterwards. */
void pn_buffer_clear(pn_buffer_t *buffer);

/* A pn_write_fn whose user is a pn_buffer_t. */
void pn_buffer_write(void *buffer, const char *data, size_t size);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_BUFFER_H */
