/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/PageMoves.c: the table of packs and changes of layout. */

#include "Page.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ */
/* Finding them                                                             */
/* ------------------------------------------------------------------------ */

/* A pack or a nest that only moves data, as describe-nests reports it. */
typedef struct pn_page_move {
  const pn_decision_t *decision;
  /* Why a pass left it: what it declined at the same place; or NULL. */
  const pn_decision_t *cause;
  double bytes; /* stored in one call; -1: not known */
  bool is_once; /* where constants are bound, not in a call */
} pn_page_move_t;

static bool is_move(const pn_decision_t *decision) {
  return strcmp(decision->pass, "describe-nests") == 0 &&
         strcmp(pn_decision_get(decision, "reason"), "move") == 0;
}

/* Passes that would have taken the move away. */
static bool is_mover(const char *pass) {
  static const char *const passes[] = {"fold-views", "eliminate-buffers",
                                       "fuse-nests", "recompute-elements",
                                       "assign-layouts"};
  for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); ++i)
    if (strcmp(passes[i], pass) == 0)
      return true;
  return false;
}

static bool is_pack(const pn_page_move_t *move) {
  return strcmp(pn_decision_get(move->decision, "what"), "moved") != 0;
}

static int compare_places(const void *a, const void *b) {
  const pn_decision_t *left = *(const pn_decision_t *const *)a;
  const pn_decision_t *right = *(const pn_decision_t *const *)b;
  int order = strcmp(left->place, right->place);
  return order ? order : (left > right) - (left < right);
}

/* What passes declined that would have taken moves away, by place and time. */
static const pn_decision_t **list_causes(const pn_decisions_t *decisions,
                                         size_t *out_count) {
  const pn_decision_t **causes =
      pn_alloc_array(decisions->count, sizeof(*causes));
  *out_count = 0;
  for (size_t i = 0; i < decisions->count; ++i) {
    const pn_decision_t *decision = &decisions->items[i];
    if (decision->kind == PN_REMARK_DECLINED && is_mover(decision->pass))
      causes[(*out_count)++] = decision;
  }
  qsort((void *)causes, *out_count, sizeof(*causes), compare_places);
  return causes;
}

/* The last one at a place, or NULL. */
static const pn_decision_t *find_cause(const pn_decision_t *const *causes,
                                       size_t count, const char *place) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(causes[middle]->place, place) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low && strcmp(causes[low - 1]->place, place) == 0 ? causes[low - 1]
                                                           : NULL;
}

/* In the order of the program; the caller frees them. */
static pn_page_move_t *list_moves(const pn_decisions_t *decisions,
                                  size_t *out_count) {
  size_t cause_count;
  const pn_decision_t **causes = list_causes(decisions, &cause_count);
  pn_page_move_t *moves = pn_alloc_array(decisions->count, sizeof(*moves));
  *out_count = 0;
  for (size_t i = 0; i < decisions->count; ++i) {
    const pn_decision_t *decision = &decisions->items[i];
    if (!is_move(decision))
      continue;
    pn_page_move_t *move = &moves[(*out_count)++];
    const char *bytes = pn_decision_get(decision, "bytes");
    *move = (pn_page_move_t){
        .decision = decision,
        .bytes = strcmp(bytes, "?") == 0 ? -1 : strtod(bytes, NULL),
        .is_once = strcmp(pn_decision_get(decision, "once"), "true") == 0};
    if (!is_pack(move) && !move->is_once)
      move->cause = find_cause(causes, cause_count, decision->place);
  }
  free((void *)causes);
  return moves;
}

/* ------------------------------------------------------------------------ */
/* Printing                                                                 */
/* ------------------------------------------------------------------------ */

/* How many of one kind there are, and what they store. */
typedef struct pn_move_sum {
  size_t count;
  double bytes;
  bool is_known;
} pn_move_sum_t;

static pn_move_sum_t sum_moves(const pn_page_move_t *moves, size_t count,
                               bool is_once, bool packs) {
  pn_move_sum_t sum = {.is_known = true};
  for (size_t i = 0; i < count; ++i) {
    if (moves[i].is_once != is_once || is_pack(&moves[i]) != packs)
      continue;
    ++sum.count;
    sum.is_known &= moves[i].bytes >= 0;
    sum.bytes += moves[i].bytes >= 0 ? moves[i].bytes : 0;
  }
  return sum;
}

static void print_sums(const pn_page_move_t *moves, size_t count,
                       pn_text_t *text) {
  for (int once = 0; once < 2; ++once) {
    pn_move_sum_t packs = sum_moves(moves, count, once, true);
    pn_move_sum_t others = sum_moves(moves, count, once, false);
    pn_text_printf(text, "%s: %zu packs, %.0f bytes%s; %zu moves, %.0f bytes%s",
                   once ? "; once, where constants are bound" : "in each call",
                   packs.count, packs.bytes, packs.is_known ? "" : " or more",
                   others.count, others.bytes,
                   others.is_known ? "" : " or more");
  }
}

/* "rows block by block", and why it is there. */
static void split_text(const pn_page_move_t *move, const char **out_what,
                       size_t *out_size, const char **out_why) {
  const char *what = pn_decision_get(move->decision, "what");
  const char *colon = strstr(what, ": ");
  *out_what = what;
  *out_size = colon ? (size_t)(colon - what) : strlen(what);
  *out_why = colon           ? colon + 2
             : move->is_once ? "it depends on constants alone"
             : move->cause   ? pn_decision_get(move->cause, "reason")
                             : "neither neighbour reads or writes it in place";
}

void pn_page_print_moves(const pn_decisions_t *decisions, pn_text_t *text) {
  size_t count;
  pn_page_move_t *moves = list_moves(decisions, &count);
  if (count) {
    pn_text_printf(text, "packs and layout changes\n");
    print_sums(moves, count, text);
    pn_text_printf(text, "\n%-16s %5s %12s  %s\n", "function", "nest", "bytes",
                   "what and why");
  }
  for (size_t i = 0; i < count; ++i) {
    const pn_page_move_t *move = &moves[i];
    const char *what, *why;
    size_t size;
    split_text(move, &what, &size, &why);
    pn_text_printf(text, "%-16s %5s %12s  %.*s: %s",
                   pn_decision_get(move->decision, "function"),
                   pn_decision_get(move->decision, "nest"),
                   pn_decision_get(move->decision, "bytes"), (int)size, what,
                   why);
    if (move->cause)
      pn_text_printf(text, " (%s)", move->cause->pass);
    pn_text_printf(text, "\n");
  }
  free(moves);
}

void pn_page_print_moves_html(const pn_decisions_t *decisions,
                              pn_text_t *html) {
  size_t count;
  pn_page_move_t *moves = list_moves(decisions, &count);
  pn_text_printf(html, "<h2 id=\"moves\">Packs and layout changes</h2>\n");
  pn_text_printf(html, "<p class=\"soft\">Data that is written again in "
                       "another order: ");
  print_sums(moves, count, html);
  pn_text_printf(html, ".</p>\n");
  if (count)
    pn_text_printf(html,
                   "<div class=\"card scroll\"><table><thead><tr><th>function"
                   "</th><th class=\"n\">nest</th><th class=\"n\">stores</th>"
                   "<th>what</th><th>why</th><th>place</th></tr></thead><tbody>"
                   "\n");
  for (size_t i = 0; i < count; ++i) {
    const pn_page_move_t *move = &moves[i];
    const char *what, *why;
    size_t size;
    split_text(move, &what, &size, &why);
    pn_text_printf(html, "<tr data-move=\"%.*s\" data-bytes=\"%.0f\"><td>",
                   (int)size, what, move->bytes);
    pn_page_escape(html, pn_decision_get(move->decision, "function"));
    pn_text_printf(html, "</td><td class=\"n\">%s</td><td class=\"n\">",
                   pn_decision_get(move->decision, "nest"));
    pn_page_bytes(html, move->bytes);
    pn_text_printf(html, "</td><td>%.*s</td><td>", (int)size, what);
    pn_page_escape(html, why);
    if (move->cause)
      pn_text_printf(html, " <span class=\"soft mono\">%s</span>",
                     move->cause->pass);
    pn_text_printf(html, "</td><td class=\"mono\">");
    pn_page_escape(html, move->decision->place);
    pn_text_printf(html, "</td></tr>\n");
  }
  if (count)
    pn_text_printf(html, "</tbody></table></div>\n");
  free(moves);
}
