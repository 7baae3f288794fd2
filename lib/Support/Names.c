/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Support/Names.c: the nearest of several names. */

#include "Support/Names.h"

#include <string.h>

/* Number of inserted, deleted and replaced characters between two names. */
static size_t edit_distance(const char *a, const char *b) {
  size_t row[PN_NAME_MAX + 1];
  size_t size_a = strlen(a), size_b = strlen(b);
  if (size_a > PN_NAME_MAX || size_b > PN_NAME_MAX)
    return SIZE_MAX;
  for (size_t j = 0; j <= size_b; ++j)
    row[j] = j;
  for (size_t i = 1; i <= size_a; ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= size_b; ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
      diagonal = row[j];
      row[j] = replaced < shorter ? replaced : shorter;
    }
  }
  return row[size_b];
}

const char *pn_nearest_name(const char *text, const char *const *names,
                            size_t count) {
  const char *best = NULL;
  /* More than a third of the characters wrong is another word. */
  size_t best_distance = strlen(text) / 3 + 1;
  for (size_t i = 0; i < count; ++i) {
    size_t distance = edit_distance(text, names[i]);
    if (distance <= best_distance && (!best || distance < best_distance)) {
      best = names[i];
      best_distance = distance;
    }
  }
  return best;
}
