/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/Target.c: the target object and the lookup by name. */

#include "Target/Row.h"

#include "Support/Error.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pn_target {
  atomic_size_t references;
  pn_target_row_t row; /* strings lie behind the object */
  char strings[];
};

/* Strings longer than any sensible source are refused. */
static const size_t max_string = 4096;

size_t pn_target_known_count(void) { return pn_target_known_row_count(); }

const char *pn_target_known_name(size_t index) {
  const pn_target_row_t *row = pn_target_known_row(index);
  return row ? row->info.name : NULL;
}

static bool is_string(const pn_target_field_t *field) {
  return field->type == PN_TARGET_FIELD_STRING;
}

/* Bytes of all strings with their NULs; 0 where one is too long. */
static size_t strings_size(const pn_target_row_t *row) {
  size_t size = 0;
  for (size_t i = 0; i < pn_target_field_count(); ++i) {
    const pn_target_field_t *field = pn_target_field(i);
    if (!is_string(field))
      continue;
    size_t length = strlen(pn_target_field_get_string(&row->info, field));
    if (length > max_string)
      return 0;
    size += length + 1;
  }
  for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i) {
    size_t length = row->sources[i] ? strlen(row->sources[i]) : 0;
    if (length > max_string)
      return 0;
    size += length + 1;
  }
  return size;
}

/* Copies `text` to *at and moves *at past it; returns the copy. */
static const char *append_string(char **at, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = memcpy(*at, text, size);
  *at += size;
  return copy;
}

/* Replaces the borrowed strings of the target's row by its own copies. */
static void own_strings(pn_target_t *target) {
  char *at = target->strings;
  pn_target_row_t *row = &target->row;
  for (size_t i = 0; i < pn_target_field_count(); ++i) {
    const pn_target_field_t *field = pn_target_field(i);
    if (is_string(field))
      pn_target_field_set_string(
          &row->info, field,
          append_string(&at, pn_target_field_get_string(&row->info, field)));
  }
  for (int i = 0; i < PN_TARGET_GROUP_COUNT; ++i)
    row->sources[i] =
        append_string(&at, row->sources[i] ? row->sources[i] : "");
}

pn_error_t *pn_target_create_from_row(const pn_target_row_t *row,
                                      const char *origin,
                                      pn_target_t **out_target) {
  *out_target = NULL;
  char reason[256];
  size_t size = strings_size(row);
  if (size == 0)
    return pn_error_create(PN_ERROR_TARGET,
                           "%s: a text is longer than %zu bytes", origin,
                           max_string);
  if (!pn_target_row_check(row, reason, sizeof(reason)))
    return pn_error_create(PN_ERROR_TARGET, "%s: %s", origin, reason);
  pn_target_t *target = malloc(sizeof(*target) + size);
  if (!target)
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  atomic_init(&target->references, 1);
  target->row = *row;
  target->row.info.struct_size = sizeof(pn_target_info_t);
  own_strings(target);
  *out_target = target;
  return NULL;
}

pn_target_t *pn_target_retain(pn_target_t *target) {
  if (target)
    atomic_fetch_add_explicit(&target->references, 1, memory_order_relaxed);
  return target;
}

void pn_target_release(pn_target_t *target) {
  if (!target || atomic_fetch_sub_explicit(&target->references, 1,
                                           memory_order_acq_rel) != 1)
    return;
  free(target);
}

const pn_target_row_t *pn_target_row(const pn_target_t *target) {
  return &target->row;
}

pn_error_t *pn_target_get_info(const pn_target_t *target,
                               pn_target_info_t *out_info) {
  if (!target || !out_info)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "target and out_info must not be null");
  size_t size = out_info->struct_size;
  /* Every version has had at least the fields up to memory_mib_per_s. */
  if (size < sizeof(pn_target_info_t) || size > 4096)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "struct_size of pn_target_info_t is %zu, expected "
                           "%zu to 4096",
                           size, sizeof(pn_target_info_t));
  memset(out_info, 0, size);
  *out_info = target->row.info;
  out_info->struct_size = size;
  return NULL;
}

bool pn_target_has_feature(const pn_target_t *target,
                           pn_target_feature_t feature) {
  return target && (size_t)feature < pn_target_feature_count() &&
         pn_target_info_has(&target->row.info, feature);
}

/* "a, b, c" of all names that create_by_name accepts. */
static void list_names(char *buffer, size_t capacity) {
  size_t used = (size_t)snprintf(buffer, capacity, "host");
  for (size_t i = 0; i < pn_target_known_count() && used < capacity; ++i)
    used += (size_t)snprintf(buffer + used, capacity - used, ", %s",
                             pn_target_known_name(i));
}

pn_error_t *pn_target_create_by_name(const char *name,
                                     pn_target_t **out_target) {
  if (!out_target)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_target must not be null");
  *out_target = NULL;
  if (!name)
    return pn_error_create(PN_ERROR_ARGUMENT, "name must not be null");
  static const char prefix[] = "cpu:";
  const char *bare = strncmp(name, prefix, sizeof(prefix) - 1) == 0
                         ? name + sizeof(prefix) - 1
                         : name;
  if (strcmp(bare, "host") == 0)
    return pn_target_create_host(out_target);
  const pn_target_row_t *row = pn_target_find_row(bare);
  if (row)
    return pn_target_create_from_row(row, bare, out_target);
  char known[512];
  list_names(known, sizeof(known));
  return pn_error_create(PN_ERROR_NOT_FOUND,
                         "unknown target '%.64s'; known are %s", name, known);
}
