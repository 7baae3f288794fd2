/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Support/Error.c: the error object. */

#include "Support/Error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pn_error {
  pn_error_code_t code;
  bool is_static;
  char *message;
  pn_diagnostic_list_t diagnostics;
};

static char out_of_memory_text[] = "out of memory";

/* The only error that is never freed; it has no mutable part. */
static pn_error_t out_of_memory = {
    .code = PN_ERROR_MEMORY, .is_static = true, .message = out_of_memory_text};

/* Returns NULL where memory is short. */
static char *format_text(const char *format, va_list args) {
  va_list copy;
  va_copy(copy, args);
  int length = vsnprintf(NULL, 0, format, copy);
  va_end(copy);
  if (length < 0)
    return NULL;
  char *text = malloc((size_t)length + 1);
  if (text)
    (void)vsnprintf(text, (size_t)length + 1, format, args);
  return text;
}

pn_error_t *pn_error_create(pn_error_code_t code, const char *format, ...) {
  pn_error_t *error = calloc(1, sizeof(*error));
  if (!error)
    return &out_of_memory;
  va_list args;
  va_start(args, format);
  error->message = format_text(format, args);
  va_end(args);
  if (!error->message) {
    free(error);
    return &out_of_memory;
  }
  error->code = code;
  return error;
}

bool pn_diagnostic_list_add(pn_diagnostic_list_t *list,
                            const pn_diagnostic_t *diagnostic) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? list->capacity + list->capacity : 8;
    pn_diagnostic_t *items =
        reallocarray(list->items, capacity, sizeof(*items));
    if (!items)
      return false;
    list->items = items;
    list->capacity = capacity;
  }
  char *file = strdup(diagnostic->file ? diagnostic->file : "");
  char *text = strdup(diagnostic->text ? diagnostic->text : "");
  if (!file || !text) {
    free(file);
    free(text);
    return false;
  }
  pn_diagnostic_t *item = &list->items[list->count++];
  *item = *diagnostic;
  item->file = file;
  item->text = text;
  return true;
}

void pn_diagnostic_list_clear(pn_diagnostic_list_t *list) {
  for (size_t i = 0; i < list->count; ++i) {
    free((char *)list->items[i].file);
    free((char *)list->items[i].text);
  }
  free(list->items);
  *list = (pn_diagnostic_list_t){0};
}

void pn_error_add_diagnostic(pn_error_t *error,
                             const pn_diagnostic_t *diagnostic) {
  if (!error->is_static)
    (void)pn_diagnostic_list_add(&error->diagnostics, diagnostic);
}

/* The first diagnostic that is an error; NULL if there is none. */
static const char *first_error_text(const pn_diagnostic_list_t *list) {
  for (size_t i = 0; i < list->count; ++i)
    if (list->items[i].severity == PN_SEVERITY_ERROR)
      return list->items[i].text;
  return NULL;
}

pn_error_t *pn_error_from_list(pn_error_code_t code, const char *what,
                               pn_diagnostic_list_t *list) {
  const char *text = first_error_text(list);
  pn_error_t *error = text ? pn_error_create(code, "%s: %s", what, text)
                           : pn_error_create(code, "%s", what);
  if (error->is_static) {
    pn_diagnostic_list_clear(list);
    return error;
  }
  error->diagnostics = *list;
  *list = (pn_diagnostic_list_t){0};
  return error;
}

pn_error_code_t pn_error_code(const pn_error_t *error) {
  return error ? error->code : PN_ERROR_NONE;
}

const char *pn_error_message(const pn_error_t *error) {
  return error ? error->message : "";
}

const char *pn_error_code_name(pn_error_code_t code) {
  static const char *const names[] = {
      "none",   "internal",    "out of memory", "argument", "parse",
      "verify", "unsupported", "pass",          "io",       "not found",
      "link",   "signature",   "overlap",       "assert",   "corrupt",
      "target", "version"};
  size_t index = (size_t)code;
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : names[1];
}

size_t pn_error_diagnostic_count(const pn_error_t *error) {
  return error ? error->diagnostics.count : 0;
}

bool pn_error_diagnostic_at(const pn_error_t *error, size_t index,
                            pn_diagnostic_t *out_diagnostic) {
  if (!out_diagnostic)
    return false;
  *out_diagnostic = (pn_diagnostic_t){0};
  if (index >= pn_error_diagnostic_count(error))
    return false;
  *out_diagnostic = error->diagnostics.items[index];
  return true;
}

void pn_error_destroy(pn_error_t *error) {
  if (!error || error->is_static)
    return;
  pn_diagnostic_list_clear(&error->diagnostics);
  free(error->message);
  free(error);
}
