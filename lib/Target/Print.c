/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/Print.c: a row as a table for people and as a target file. */

#include "Target/Row.h"

#include "Support/Error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
  pn_write_fn write;
  void *user;
} writer_t;

static void put_bytes(writer_t *w, const char *text, size_t length) {
  if (length > 0)
    w->write(w->user, text, length);
}

static void put(writer_t *w, const char *text) {
  put_bytes(w, text, strlen(text));
}

/* For short pieces only: numbers and padded keys. */
__attribute__((format(printf, 2, 3))) static void
put_format(writer_t *w, const char *format, ...) {
  char text[128];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (length > 0)
    put_bytes(w, text,
              (size_t)length < sizeof(text) ? (size_t)length
                                            : sizeof(text) - 1);
}

static void put_quoted(writer_t *w, const char *text) {
  put(w, "\"");
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\')
      put(w, "\\");
    put_bytes(w, text, 1);
  }
  put(w, "\"");
}

static void put_features(writer_t *w, uint64_t features) {
  const char *separator = "";
  for (size_t i = 0; i < pn_target_feature_count(); ++i) {
    if (!((features >> i) & 1))
      continue;
    put(w, separator);
    put(w, pn_target_feature_name(i));
    separator = " ";
  }
  if (features == 0)
    put(w, "none");
}

static void put_value(writer_t *w, const pn_target_info_t *info,
                      const pn_target_field_t *field, bool quote) {
  switch (field->type) {
  case PN_TARGET_FIELD_I32:
  case PN_TARGET_FIELD_I64:
    put_format(w, "%lld", (long long)pn_target_field_get(info, field));
    return;
  case PN_TARGET_FIELD_STRING:
    if (quote)
      put_quoted(w, pn_target_field_get_string(info, field));
    else
      put(w, pn_target_field_get_string(info, field));
    return;
  case PN_TARGET_FIELD_FEATURES:
    put_features(w, info->features);
    return;
  }
}

/* Group by group: the source, then the fields with values and units. */
static void put_table(writer_t *w, const pn_target_row_t *row) {
  put(w, row->info.name);
  put(w, " (cpu)\n");
  for (int group = 0; group < PN_TARGET_GROUP_COUNT; ++group) {
    put(w, "  ");
    put(w, pn_target_group_name((pn_target_group_t)group));
    if (row->sources[group] && *row->sources[group]) {
      put(w, ": ");
      put(w, row->sources[group]);
    }
    put(w, "\n");
    for (size_t i = 0; i < pn_target_field_count(); ++i) {
      const pn_target_field_t *field = pn_target_field(i);
      if ((int)field->group != group)
        continue;
      put_format(w, "    %-26s", field->key);
      put_value(w, &row->info, field, false);
      put(w, *field->unit ? " " : "");
      put(w, field->unit);
      put(w, "\n");
    }
  }
}

static void put_file(writer_t *w, const pn_target_row_t *row) {
  put(w, "# Polynest target file, format of docs/targets.md\n");
  for (int group = 0; group < PN_TARGET_GROUP_COUNT; ++group) {
    put(w, "\n");
    if (row->sources[group] && *row->sources[group]) {
      put(w, "source_");
      put(w, pn_target_group_name((pn_target_group_t)group));
      put(w, " = ");
      put_quoted(w, row->sources[group]);
      put(w, "\n");
    }
    for (size_t i = 0; i < pn_target_field_count(); ++i) {
      const pn_target_field_t *field = pn_target_field(i);
      if ((int)field->group != group)
        continue;
      put(w, field->key);
      put(w, " = ");
      put_value(w, &row->info, field, true);
      put(w, *field->unit ? "  # " : "");
      put(w, field->unit);
      put(w, "\n");
    }
  }
}

pn_error_t *pn_target_print(const pn_target_t *target,
                            pn_target_format_t format, pn_write_fn write,
                            void *user) {
  if (!target || !write)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "target and write must not be null");
  writer_t writer = {write, user};
  const pn_target_row_t *row = pn_target_row(target);
  switch (format) {
  case PN_TARGET_FORMAT_TABLE:
    put_table(&writer, row);
    return NULL;
  case PN_TARGET_FORMAT_FILE:
    put_file(&writer, row);
    return NULL;
  }
  return pn_error_create(PN_ERROR_ARGUMENT,
                         "print format is %d, allowed are 1 and 2",
                         (int)format);
}
