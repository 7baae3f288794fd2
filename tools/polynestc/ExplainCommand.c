/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/ExplainCommand.c: the subcommand `explain`. */

#include "Commands.h"
#include "FileCommand.h"
#include "Text.h"

#include "Support/Names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One decision of one pass, as text. */
typedef struct pn_decision {
  char *place;
  char *pass;
  char *text;
  pn_remark_kind_t kind;
  bool printed;
} pn_decision_t;

typedef struct pn_decisions {
  pn_decision_t *items;
  size_t count, capacity;
} pn_decisions_t;

/* What to show. */
typedef struct pn_explain_request {
  const char *pass;
  bool applied, declined;
} pn_explain_request_t;

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

/* "reason (key value, key value)". */
static char *join_arguments(const char *const *keys, const char *const *values,
                            size_t count) {
  pn_text_t text = {0};
  pn_text_append(&text, "", 0);
  for (size_t i = 0; i < count; ++i)
    if (strcmp(keys[i], "reason") == 0)
      pn_text_printf(&text, "%s", values[i]);
  bool open = false;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(keys[i], "reason") == 0)
      continue;
    pn_text_printf(&text, "%s%s %s",
                   open        ? ", "
                   : text.size ? " ("
                               : "(",
                   keys[i], values[i]);
    open = true;
  }
  if (open)
    pn_text_append(&text, ")", 1);
  return text.data;
}

/* The context has no workers, so that calls come one after the other. */
static void on_remark(void *user, const char *pass, pn_remark_kind_t kind,
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
                      .text = join_arguments(keys, values, count),
                      .kind = kind};
}

static void clear_decisions(pn_decisions_t *decisions) {
  for (size_t i = 0; i < decisions->count; ++i) {
    free(decisions->items[i].place);
    free(decisions->items[i].pass);
    free(decisions->items[i].text);
  }
  free(decisions->items);
}

/* ------------------------------------------------------------------------ */
/* Printing                                                                 */
/* ------------------------------------------------------------------------ */

static const char *kind_name(pn_remark_kind_t kind) {
  switch (kind) {
  case PN_REMARK_APPLIED:
    return "applied";
  case PN_REMARK_DECLINED:
    return "declined";
  case PN_REMARK_ANALYSIS:
    return "analysis";
  }
  return "analysis";
}

static bool is_wanted(const pn_explain_request_t *request,
                      const pn_decision_t *decision) {
  if (request->pass && strcmp(request->pass, decision->pass) != 0)
    return false;
  if (!request->applied && !request->declined)
    return true;
  return (request->applied && decision->kind == PN_REMARK_APPLIED) ||
         (request->declined && decision->kind == PN_REMARK_DECLINED);
}

/* Orders by place, and by time within a place. Numbers in a place count as
 * numbers, so that line 9 comes before line 10. */
static int compare_places(const void *a, const void *b) {
  const pn_decision_t *left = *(const pn_decision_t *const *)a;
  const pn_decision_t *right = *(const pn_decision_t *const *)b;
  int order = strverscmp(left->place, right->place);
  return order ? order : (left > right) - (left < right);
}

static void print_decision(const pn_decision_t *decision) {
  printf("  %-20s %-9s %s\n", decision->pass, kind_name(decision->kind),
         decision->text);
}

static void print_by_place(const pn_explain_request_t *request,
                           const pn_decisions_t *decisions) {
  const pn_decision_t **order =
      pn_alloc_array(decisions->count, sizeof(*order));
  size_t count = 0;
  for (size_t i = 0; i < decisions->count; ++i)
    if (is_wanted(request, &decisions->items[i]))
      order[count++] = &decisions->items[i];
  qsort((void *)order, count, sizeof(*order), compare_places);
  for (size_t i = 0; i < count; ++i) {
    if (i == 0 || strcmp(order[i - 1]->place, order[i]->place) != 0)
      printf("%s%s\n", i ? "\n" : "", order[i]->place);
    print_decision(order[i]);
  }
  if (!count)
    printf("no decision was reported\n");
  free((void *)order);
}

/* One line a pass: how often it did what. */
static void print_totals(pn_decisions_t *decisions) {
  printf("\n%-22s %8s %8s\n", "pass", "applied", "declined");
  for (size_t i = 0; i < decisions->count; ++i) {
    if (decisions->items[i].printed ||
        decisions->items[i].kind == PN_REMARK_ANALYSIS)
      continue;
    size_t applied = 0, declined = 0;
    for (size_t j = i; j < decisions->count; ++j) {
      if (strcmp(decisions->items[j].pass, decisions->items[i].pass) != 0)
        continue;
      applied += decisions->items[j].kind == PN_REMARK_APPLIED;
      declined += decisions->items[j].kind == PN_REMARK_DECLINED;
      decisions->items[j].printed = true;
    }
    printf("%-22s %8zu %8zu\n", decisions->items[i].pass, applied, declined);
  }
}

/* Adds the names of the passes in the text of a pipeline; returns how many
 * there are then. */
static size_t list_passes(const char *text, char names[][PN_NAME_MAX + 1],
                          size_t count, size_t room) {
  static const char prefix[] = "polynest-";
  while (count < room && (text = strstr(text, prefix)) != NULL) {
    text += sizeof(prefix) - 1;
    size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (size <= PN_NAME_MAX) {
      memcpy(names[count], text, size);
      names[count++][size] = '\0';
    }
    text += size;
  }
  return count;
}

#define PASSES_MAX 128

/* Whether the pass is one of the pipelines', or reported something. */
static bool is_known_pass(const pn_session_t *session,
                          const pn_decisions_t *decisions, const char *pass) {
  static char names[PASSES_MAX][PN_NAME_MAX + 1];
  const char *list[PASSES_MAX];
  size_t count = 0;
  for (int s = PN_STAGE_S1; s <= (int)PN_STAGE_S5; ++s) {
    pn_text_t text = {0};
    pn_compile_options_t options = PN_COMPILE_OPTIONS_INIT;
    pn_error_destroy(pn_pipeline_print((pn_stage_t)s, session->target, &options,
                                       pn_text_write, &text));
    count = list_passes(pn_text_get(&text), names, count, PASSES_MAX);
    pn_text_clear(&text);
  }
  for (size_t i = 0; i < decisions->count; ++i)
    if (strcmp(decisions->items[i].pass, pass) == 0)
      return true;
  for (size_t i = 0; i < count; ++i) {
    list[i] = names[i];
    if (strcmp(names[i], pass) == 0)
      return true;
  }
  const char *nearest = pn_nearest_name(pass, list, count);
  if (nearest)
    pn_report("error", "option --pass: no pass '%s'; did you mean '%s'?", pass,
              nearest);
  else
    pn_report("error",
              "option --pass: no pass '%s'; 'polynestc pipeline' names them",
              pass);
  return false;
}

static pn_exit_t explain(const pn_session_options_t *options, void *user,
                         const char *path) {
  const pn_explain_request_t *request = user;
  pn_decisions_t decisions = {0};
  pn_context_options_t context = PN_CONTEXT_OPTIONS_INIT;
  context.remark_fn = on_remark;
  context.user = &decisions;
  pn_session_t session;
  pn_exit_t code = pn_session_open(options, &context, path, &session);
  if (code == PN_EXIT_OK) {
    pn_error_t *error =
        pn_compile_to_stage(session.module, PN_STAGE_S5, session.target,
                            &session.options, &session.timing);
    code = error ? pn_report_error(error) : pn_session_finish(&session);
  }
  if (code == PN_EXIT_OK && request->pass &&
      !is_known_pass(&session, &decisions, request->pass))
    code = PN_EXIT_USAGE;
  /* What was decided up to a failure helps to understand it. */
  if (code == PN_EXIT_OK || (code != PN_EXIT_USAGE && decisions.count))
    print_by_place(request, &decisions);
  if (code != PN_EXIT_USAGE && decisions.count)
    print_totals(&decisions);
  pn_session_close(&session);
  clear_decisions(&decisions);
  return code;
}

pn_exit_t pn_command_explain(int argc, char **argv) {
  pn_explain_request_t request = {0};
  const pn_option_row_t rows[] = {
      {"--pass", PN_OPTION_TEXT, &request.pass, "NAME",
       "only this pass, as in the output", 0, 0},
      {"--applied", PN_OPTION_FLAG, &request.applied, NULL,
       "only what was done", 0, 0},
      {"--declined", PN_OPTION_FLAG, &request.declined, NULL,
       "only what was not done", 0, 0},
  };
  const pn_file_command_t command = {
      .usage = "polynestc explain FILE [options]",
      .summary = "Prints the decisions of the optimizer: for each place in the "
                 "program what each\npass did or declined to do, the reason, "
                 "and the numbers behind it.",
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .run = explain,
      .request = &request,
  };
  return pn_file_command_run(&command, argc, argv);
}
