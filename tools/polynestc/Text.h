/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Text.h: a growing piece of text, for a tool that may give up where
 * memory is short: it reports and exits with PN_EXIT_FAILURE.
 */
#ifndef POLYNESTC_TEXT_H
#define POLYNESTC_TEXT_H

#include <stddef.h>

typedef struct pn_text {
  char *data; /* ends in NUL; NULL while empty */
  size_t size;
  size_t capacity;
} pn_text_t;

void pn_text_append(pn_text_t *text, const char *data, size_t size);
void pn_text_printf(pn_text_t *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A pn_write_fn whose user is a pn_text_t. */
void pn_text_write(void *text, const char *data, size_t size);

/* "" while empty. */
const char *pn_text_get(const pn_text_t *text);

void pn_text_clear(pn_text_t *text);

/* calloc that does not return where memory is short; never NULL. */
void *pn_alloc_array(size_t count, size_t size);

#endif /* POLYNESTC_TEXT_H */
