/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Support/Buffer.c: a growing, NUL-terminated piece of text. */

#include "Support/Buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `size` more bytes and the terminator. */
static bool reserve(pn_buffer_t *buffer, size_t size) {
  if (buffer->failed)
    return false;
  if (size < buffer->capacity - buffer->size)
    return true;
  size_t capacity = buffer->capacity ? buffer->capacity : 64;
  while (capacity - buffer->size <= size) {
    if (capacity > SIZE_MAX / 2) {
      buffer->failed = true;
      return false;
    }
    capacity += capacity;
  }
  char *data = realloc(buffer->data, capacity);
  if (!data) {
    buffer->failed = true;
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

void pn_buffer_append(pn_buffer_t *buffer, const char *data, size_t size) {
  if (!reserve(buffer, size))
    return;
  if (size)
    memcpy(buffer->data + buffer->size, data, size);
  buffer->size += size;
  buffer->data[buffer->size] = '\0';
}

void pn_buffer_append_text(pn_buffer_t *buffer, const char *text) {
  pn_buffer_append(buffer, text, strlen(text));
}

void pn_buffer_printf(pn_buffer_t *buffer, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length < 0) {
    buffer->failed = true;
  } else if (reserve(buffer, (size_t)length)) {
    (void)vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format,
                    again);
    buffer->size += (size_t)length;
  }
  va_end(again);
}

const char *pn_buffer_text(const pn_buffer_t *buffer) {
  return buffer->data ? buffer->data : "";
}

void pn_buffer_clear(pn_buffer_t *buffer) {
  free(buffer->data);
  *buffer = (pn_buffer_t){0};
}

void pn_buffer_write(void *buffer, const char *data, size_t size) {
  pn_buffer_append(buffer, data, size);
}
