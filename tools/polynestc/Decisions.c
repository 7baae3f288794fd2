/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Decisions.c: what passes report of a compilation, kept. */

#include "Decisions.h"

#include "Text.h"

#include <stdlib.h>
#include <string.h>

/* Makes `file:line:column` of `loc("file":line:column)`; leaves other forms. */
static char *plain_location(const char *location) {
  pn_text_t text = {0};
  static const char open[] = "loc(\"";
  size_t size = strlen(location);
  const char *quote = strncmp(location, open, sizeof(open) - 1) == 0
                          ? strchr(location + sizeof(open) - 1, '"')
                          : NULL;
  if (quote && quote[1] == ':' && location[size - 1] == ')' &&
      strspn(quote + 1, ":0123456789") ==
          (size_t)(location + size - quote) - 2) {
    const char *start = location + sizeof(open) - 1;
    pn_text_append(&text, start, (size_t)(quote - start));
    pn_text_append(&text, quote + 1, (size_t)(location + size - quote) - 2);
  } else {
    pn_text_append(&text, location, size);
  }
  return text.data;
}

static char *copy_text(const char *from) {
  pn_text_t text = {0};
  pn_text_append(&text, from, strlen(from));
  return text.data;
}

static char **copy_texts(const char *const *from, size_t count) {
  char **texts = pn_alloc_array(count, sizeof(*texts));
  for (size_t i = 0; i < count; ++i)
    texts[i] = copy_text(from[i]);
  return texts;
}

void pn_decisions_add(void *user, const char *pass, pn_remark_kind_t kind,
                      const char *location, const char *const *keys,
                      const char *const *values, size_t count) {
  pn_decisions_t *decisions = user;
  if (decisions->count == decisions->capacity) {
    size_t capacity = decisions->capacity ? 2 * decisions->capacity : 64;
    pn_decision_t *items = pn_alloc_array(capacity, sizeof(*items));
    if (decisions->count)
      memcpy(items, decisions->items, decisions->count * sizeof(*items));
    free(decisions->items);
    decisions->items = items;
    decisions->capacity = capacity;
  }
  decisions->items[decisions->count++] =
      (pn_decision_t){.place = plain_location(location),
                      .pass = copy_text(pass),
                      .kind = kind,
                      .keys = copy_texts(keys, count),
                      .values = copy_texts(values, count),
                      .count = count};
}

void pn_decisions_clear(pn_decisions_t *decisions) {
  for (size_t i = 0; i < decisions->count; ++i) {
    pn_decision_t *decision = &decisions->items[i];
    for (size_t k = 0; k < decision->count; ++k) {
      free(decision->keys[k]);
      free(decision->values[k]);
    }
    free((void *)decision->keys);
    free((void *)decision->values);
    free(decision->place);
    free(decision->pass);
  }
  free(decisions->items);
  *decisions = (pn_decisions_t){0};
}

const char *pn_decision_get(const pn_decision_t *decision, const char *key) {
  for (size_t i = 0; i < decision->count; ++i)
    if (strcmp(decision->keys[i], key) == 0)
      return decision->values[i];
  return "";
}

const char *pn_decision_kind_name(const pn_decision_t *decision) {
  switch (decision->kind) {
  case PN_REMARK_APPLIED:
    return "applied";
  case PN_REMARK_DECLINED:
    return "declined";
  case PN_REMARK_ANALYSIS:
    return "analysis";
  }
  return "analysis";
}
