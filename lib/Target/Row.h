/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/Row.h: the row behind a target, its fields as a table, its rules.
 *
 * The field table is the single description of the row: the parser, the two
 * printers and the range checks walk it, and docs/targets.md is tested
 * against it.
 * Ownership: a row borrows its strings. A target copies them.
 * Threads: all tables are constant.
 */
#ifndef POLYNEST_TARGET_ROW_H
#define POLYNEST_TARGET_ROW_H

#include "polynest/target.h"

PN_EXTERN_C_BEGIN

/* Fields share their source in these groups. */
typedef enum pn_target_group {
  PN_TARGET_GROUP_LLVM = 0,
  PN_TARGET_GROUP_CORES,
  PN_TARGET_GROUP_L1,
  PN_TARGET_GROUP_L2,
  PN_TARGET_GROUP_L3,
  PN_TARGET_GROUP_USABLE,
  PN_TARGET_GROUP_VECTOR,
  PN_TARGET_GROUP_FMA,
  PN_TARGET_GROUP_PORTS,
  PN_TARGET_GROUP_MATRIX,
  PN_TARGET_GROUP_CLOCK,
  PN_TARGET_GROUP_PAGES,
  PN_TARGET_GROUP_RATES,
  PN_TARGET_GROUP_COUNT
} pn_target_group_t;

typedef struct pn_target_row {
  pn_target_info_t info;
  const char *sources[PN_TARGET_GROUP_COUNT]; /* NULL or text */
} pn_target_row_t;

typedef enum pn_target_field_type {
  PN_TARGET_FIELD_I32 = 1,
  PN_TARGET_FIELD_I64,
  PN_TARGET_FIELD_STRING,
  PN_TARGET_FIELD_FEATURES
} pn_target_field_type_t;

typedef struct pn_target_field {
  const char *key;
  const char *unit; /* "" where the value is a plain number or a text */
  pn_target_field_type_t type;
  pn_target_group_t group;
  size_t offset; /* in pn_target_info_t */
  int64_t min, max;
  bool required; /* a file without `base` must give it */
} pn_target_field_t;

size_t pn_target_field_count(void);
const pn_target_field_t *pn_target_field(size_t index);

/* "l1", "fma", ...: the key of a group's source is "source_" and this. */
const char *pn_target_group_name(pn_target_group_t group);

int64_t pn_target_field_get(const pn_target_info_t *info,
                            const pn_target_field_t *field);
void pn_target_field_set(pn_target_info_t *info, const pn_target_field_t *field,
                         int64_t value);
const char *pn_target_field_get_string(const pn_target_info_t *info,
                                       const pn_target_field_t *field);
void pn_target_field_set_string(pn_target_info_t *info,
                                const pn_target_field_t *field,
                                const char *value);

size_t pn_target_feature_count(void);
/* "avx2", ...; NULL past the end. Index is the bit number. */
const char *pn_target_feature_name(size_t index);

static inline bool pn_target_info_has(const pn_target_info_t *info,
                                      pn_target_feature_t feature) {
  return (info->features >> (unsigned)feature) & 1;
}

/* Index of the last level that is there: 0 to 2. */
int pn_target_info_last_level(const pn_target_info_t *info);

/* Known rows. */
size_t pn_target_known_row_count(void);
const pn_target_row_t *pn_target_known_row(size_t index);
/* NULL where there is none of that name. */
const pn_target_row_t *pn_target_find_row(const char *name);

/* Checks ranges and invariants. Writes the reason into `reason` and returns
 * false where one is broken. */
bool pn_target_row_check(const pn_target_row_t *row, char *reason,
                         size_t capacity);

/* Checks the row (PN_ERROR_TARGET, the message begins with `origin`), then
 * copies it with all strings. */
PN_MUST_USE pn_error_t *pn_target_create_from_row(const pn_target_row_t *row,
                                                  const char *origin,
                                                  pn_target_t **out_target);

/* The row of a target, borrowed. */
const pn_target_row_t *pn_target_row(const pn_target_t *target);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_ROW_H */
