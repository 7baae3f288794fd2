/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Decisions.h: what passes report of a compilation, kept.
 *
 * Ownership: a list owns its texts; a zeroed one is empty.
 * Threads: one. The context must have no workers, so that remarks come one
 * after the other.
 */
#ifndef POLYNESTC_DECISIONS_H
#define POLYNESTC_DECISIONS_H

#include "polynest/context.h"

/* One decision of one pass. */
typedef struct pn_decision {
  char *place; /* "file:line:column" where it has that form */
  char *pass;
  pn_remark_kind_t kind;
  bool printed;
  char **keys, **values; /* "reason" is one of them */
  size_t count;
} pn_decision_t;

typedef struct pn_decisions {
  pn_decision_t *items;
  size_t count, capacity;
} pn_decisions_t;

/* A pn_remark_fn whose user is a pn_decisions_t. */
void pn_decisions_add(void *decisions, const char *pass, pn_remark_kind_t kind,
                      const char *location, const char *const *keys,
                      const char *const *values, size_t count);

void pn_decisions_clear(pn_decisions_t *decisions);

/* The value of a key, "" where there is none. */
const char *pn_decision_get(const pn_decision_t *decision, const char *key);

/* "applied", "declined" or "analysis". */
const char *pn_decision_kind_name(const pn_decision_t *decision);

#endif /* POLYNESTC_DECISIONS_H */
