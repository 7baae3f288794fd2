/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Text.c: a growing piece of text. */

#include "Text.h"

#include "Report.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn static void give_up(void) {
  pn_report("error", "out of memory");
  exit(PN_EXIT_FAILURE);
}

void *pn_alloc_array(size_t count, size_t size) {
  void *array = calloc(count ? count : 1, size ? size : 1);
  if (!array)
    give_up();
  return array;
}

static void reserve(pn_text_t *text, size_t size) {
  size_t capacity = text->capacity ? text->capacity : 64;
  while (capacity - text->size <= size) {
    if (capacity > SIZE_MAX / 2)
      give_up();
    capacity += capacity;
  }
  if (capacity == text->capacity)
    return;
  char *data = realloc(text->data, capacity);
  if (!data)
    give_up();
  text->data = data;
  text->capacity = capacity;
}

void pn_text_append(pn_text_t *text, const char *data, size_t size) {
  reserve(text, size);
  if (size)
    memcpy(text->data + text->size, data, size);
  text->size += size;
  text->data[text->size] = '\0';
}

void pn_text_printf(pn_text_t *text, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length > 0) {
    reserve(text, (size_t)length);
    (void)vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
    text->size += (size_t)length;
  }
  va_end(again);
}

void pn_text_write(void *text, const char *data, size_t size) {
  pn_text_append(text, data, size);
}

const char *pn_text_get(const pn_text_t *text) {
  return text->data ? text->data : "";
}

void pn_text_clear(pn_text_t *text) {
  free(text->data);
  *text = (pn_text_t){0};
}
