/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Page.c: a compilation explained as one HTML page. */

#include "Page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ */
/* The model                                                                */
/* ------------------------------------------------------------------------ */

static bool is(const pn_decision_t *decision, const char *key,
               const char *value) {
  return strcmp(pn_decision_get(decision, key), value) == 0;
}

static double number_of(const pn_decision_t *decision, const char *key) {
  return strtod(pn_decision_get(decision, key), NULL);
}

pn_page_function_t *pn_page_find(pn_page_t *page, const char *name) {
  for (size_t i = page->function_count; i-- > 0;)
    if (strcmp(page->functions[i].name, name) == 0)
      return &page->functions[i];
  return NULL;
}

static pn_page_function_t *find_or_add(pn_page_t *page, const char *name) {
  pn_page_function_t *function = pn_page_find(page, name);
  if (function)
    return function;
  size_t count = page->function_count;
  pn_page_function_t *functions = pn_alloc_array(count + 1, sizeof(*functions));
  if (count)
    memcpy(functions, page->functions, count * sizeof(*functions));
  free(page->functions);
  page->functions = functions;
  page->function_count = count + 1;
  functions[count] = (pn_page_function_t){
      .name = name, .arena_bytes = -1, .unshared_bytes = -1};
  return &functions[count];
}

static bool is_description(const pn_decision_t *decision, const char *reason) {
  return strcmp(decision->pass, "describe-nests") == 0 &&
         is(decision, "reason", reason);
}

/* Counts first, so that arrays are allocated once. */
static void count_items(const pn_decision_t *decision, pn_page_t *page) {
  bool is_nest = is_description(decision, "nest");
  if (!is_nest && !is_description(decision, "buffer"))
    return;
  pn_page_function_t *function =
      find_or_add(page, pn_decision_get(decision, "function"));
  if (is(decision, "form", "plain")) {
    function->plain_count += is_nest;
    function->plain_flop += is_nest ? number_of(decision, "flop") : 0;
  } else {
    function->nest_count += is_nest;
    function->buffer_count += !is_nest;
  }
}

static int64_t read_end(const pn_decision_t *decision, const char *key) {
  const char *text = pn_decision_get(decision, key);
  return *text >= '0' && *text <= '9' ? (int64_t)strtoll(text, NULL, 10) : -1;
}

static void add_item(const pn_decision_t *decision, pn_page_t *page) {
  if (strcmp(decision->pass, "plan-memory") == 0 &&
      *pn_decision_get(decision, "arena-bytes")) {
    pn_page_function_t *function =
        pn_page_find(page, pn_decision_get(decision, "function"));
    if (function) {
      function->arena_bytes = number_of(decision, "arena-bytes");
      function->unshared_bytes = number_of(decision, "sum-bytes");
    }
    return;
  }
  bool is_nest = is_description(decision, "nest");
  if ((!is_nest && !is_description(decision, "buffer")) ||
      is(decision, "form", "plain"))
    return;
  pn_page_function_t *function =
      pn_page_find(page, pn_decision_get(decision, "function"));
  if (is_nest) {
    function->nests[function->nest_count++] = (pn_page_nest_t){
        .decision = decision,
        .number = (size_t)number_of(decision, "nest"),
        .flop = number_of(decision, "flop"),
        .flop_known = is(decision, "uncounted", "0"),
        .bytes_read = number_of(decision, "bytes-read"),
        .bytes_written = number_of(decision, "bytes-written"),
        .bytes_known = is(decision, "bytes-known", "true"),
    };
    return;
  }
  function->buffers[function->buffer_count++] = (pn_page_buffer_t){
      .decision = decision,
      .from = read_end(decision, "from"),
      .to = read_end(decision, "to"),
      .bytes = is(decision, "bytes", "?") ? -1 : number_of(decision, "bytes"),
  };
}

void pn_page_open(const pn_decisions_t *decisions, pn_page_t *out_page) {
  *out_page = (pn_page_t){.decisions = decisions};
  for (size_t i = 0; i < decisions->count; ++i)
    count_items(&decisions->items[i], out_page);
  for (size_t i = 0; i < out_page->function_count; ++i) {
    pn_page_function_t *function = &out_page->functions[i];
    function->nests =
        pn_alloc_array(function->nest_count, sizeof(*function->nests));
    function->buffers =
        pn_alloc_array(function->buffer_count, sizeof(*function->buffers));
    function->nest_count = function->buffer_count = 0;
  }
  for (size_t i = 0; i < decisions->count; ++i)
    add_item(&decisions->items[i], out_page);
}

void pn_page_close(pn_page_t *page) {
  for (size_t i = 0; i < page->function_count; ++i) {
    free(page->functions[i].nests);
    free(page->functions[i].buffers);
  }
  free(page->functions);
  *page = (pn_page_t){0};
}

const char *pn_page_kind_class(const pn_page_nest_t *nest) {
  static const char *const names[][2] = {
      {"matmul", "product"},   {"contraction", "product"},
      {"reduction", "reduce"}, {"pointwise", "point"},
      {"broadcast", "point"},  {"stencil", "product"},
      {"move", "move"},
  };
  const char *kind = pn_decision_get(nest->decision, "kind");
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (strcmp(kind, names[i][0]) == 0)
      return names[i][1];
  return "other";
}

double pn_page_limit(const pn_page_t *page, const pn_page_nest_t *nest,
                     const char **out_name) {
  *out_name = "";
  double bytes = nest->bytes_read + nest->bytes_written;
  bool cached = page->cache_gbytes > 0 && bytes <= page->cache_bytes;
  double bandwidth = cached ? page->cache_gbytes : page->memory_gbytes;
  double compute = nest->flop_known && page->peak_gflops > 0
                       ? nest->flop / page->peak_gflops
                       : 0;
  double memory = nest->bytes_known && bandwidth > 0 ? bytes / bandwidth : 0;
  if (compute <= 0 && memory <= 0)
    return 0;
  if (compute >= memory) {
    *out_name = "arithmetic";
    return compute;
  }
  *out_name = cached ? "cache" : "memory";
  return memory;
}

/* ------------------------------------------------------------------------ */
/* Text                                                                     */
/* ------------------------------------------------------------------------ */

/* Length of the UTF-8 sequence at `text`; 0 where it is none that HTML takes.
 */
static size_t sequence_length(const unsigned char *text) {
  if (text[0] < 0x80)
    return text[0] >= 0x20 || text[0] == '\n' || text[0] == '\t' ? 1 : 0;
  size_t size = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
  if (text[0] < 0xc2 || text[0] > 0xf4)
    return 0;
  uint32_t code = text[0] & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((text[i] & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (text[i] & 0x3f);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_valid = code >= least[size] && code <= 0x10ffff &&
                  (code < 0xd800 || code > 0xdfff) && code >= 0xa0 &&
                  (code & 0xfffe) != 0xfffe && (code < 0xfdd0 || code > 0xfdef);
  return is_valid ? size : 0;
}

void pn_page_escape(pn_text_t *html, const char *text) {
  while (*text) {
    size_t size = sequence_length((const unsigned char *)text);
    if (*text == '&')
      pn_text_printf(html, "&amp;");
    else if (*text == '<')
      pn_text_printf(html, "&lt;");
    else if (*text == '>')
      pn_text_printf(html, "&gt;");
    else if (*text == '"')
      pn_text_printf(html, "&quot;");
    else if (*text == '\'')
      pn_text_printf(html, "&#39;");
    else if (size)
      pn_text_append(html, text, size);
    else
      pn_text_printf(html, "\xef\xbf\xbd");
    text += size ? size : 1;
  }
}

/* A value with three digits and the largest unit that leaves it above 1. */
static void print_scaled(pn_text_t *html, double value, double step,
                         const char *const *units, size_t count) {
  size_t unit = 0;
  while (unit + 1 < count && value >= step) {
    value /= step;
    ++unit;
  }
  if (value < 10 && unit)
    pn_text_printf(html, "%.2f&nbsp;%s", value, units[unit]);
  else if (value < 100 && unit)
    pn_text_printf(html, "%.1f&nbsp;%s", value, units[unit]);
  else
    pn_text_printf(html, "%.0f&nbsp;%s", value, units[unit]);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void pn_page_bytes(pn_text_t *html, double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 0)
    pn_text_printf(html, "?");
  else
    print_scaled(html, bytes, 1024, units, COUNT_OF(units));
}

void pn_page_time(pn_text_t *html, double ns) {
  static const char *const units[] = {"ns", "\xc2\xb5s", "ms", "s"};
  if (ns <= 0)
    pn_text_printf(html, "?");
  else
    print_scaled(html, ns, 1000, units, COUNT_OF(units));
}

void pn_page_flop(pn_text_t *html, double flop) {
  static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP",
                                      "TFLOP"};
  if (flop < 0)
    pn_text_printf(html, "?");
  else
    print_scaled(html, flop, 1000, units, COUNT_OF(units));
}

/* ------------------------------------------------------------------------ */
/* Head                                                                     */
/* ------------------------------------------------------------------------ */

static const char *const style[] = {
#include "PageStyle.inc"
};

static void print_tile(pn_text_t *html, const char *value, const char *label) {
  pn_text_printf(html, "<div class=\"tile\"><b>%s</b><span>%s</span></div>\n",
                 value, label);
}

static double sum_flop(const pn_page_function_t *function, bool *out_known) {
  double flop = 0;
  *out_known = true;
  for (size_t i = 0; i < function->nest_count; ++i) {
    flop += function->nests[i].flop;
    *out_known &= function->nests[i].flop_known;
  }
  return flop;
}

static double sum_bytes(const pn_page_function_t *function, bool *out_known) {
  double bytes = 0;
  *out_known = true;
  for (size_t i = 0; i < function->nest_count; ++i) {
    const pn_page_nest_t *nest = &function->nests[i];
    bytes += nest->bytes_read + nest->bytes_written;
    *out_known &= nest->bytes_known;
  }
  return bytes;
}

static void print_tiles(const pn_page_t *page,
                        const pn_page_function_t *function, pn_text_t *html) {
  pn_text_t value = {0};
  bool known;
  pn_text_printf(html, "<div class=\"tiles\">\n");
  pn_text_printf(&value, "%zu &rarr; %zu", function->plain_count,
                 function->nest_count);
  print_tile(html, pn_text_get(&value),
             "loop nests, as written and as they run");
  pn_text_clear(&value);
  double flop = sum_flop(function, &known);
  pn_text_printf(&value, "%s", known ? "" : "&ge;&nbsp;");
  pn_page_flop(&value, flop);
  print_tile(html, pn_text_get(&value), "arithmetic in one call");
  pn_text_clear(&value);
  double bytes = sum_bytes(function, &known);
  pn_text_printf(&value, "%s", known ? "" : "&ge;&nbsp;");
  pn_page_bytes(&value, bytes);
  print_tile(html, pn_text_get(&value), "read and written by all nests");
  pn_text_clear(&value);
  pn_page_bytes(&value, function->arena_bytes < 0 ? 0 : function->arena_bytes);
  print_tile(html, pn_text_get(&value), "memory for temporaries, at most");
  pn_text_clear(&value);
  if (function->ns > 0) {
    pn_page_time(&value, function->ns);
    print_tile(html, pn_text_get(&value), "fastest call");
    pn_text_clear(&value);
    double limit = 0;
    const char *name;
    for (size_t i = 0; i < function->nest_count; ++i)
      limit += pn_page_limit(page, &function->nests[i], &name);
    if (limit > 0) {
      /* Data that a cache still holds come faster than the roof of memory. */
      if (limit > function->ns)
        pn_text_printf(&value, "&ge;&nbsp;100&nbsp;%%");
      else
        pn_text_printf(&value, "%.0f&nbsp;%%", 100 * limit / function->ns);
      print_tile(html, pn_text_get(&value), "of what the machine could do");
      pn_text_clear(&value);
    }
  }
  pn_text_printf(html, "</div>\n");
}

/* ------------------------------------------------------------------------ */
/* Nests                                                                    */
/* ------------------------------------------------------------------------ */

static void print_nest_row(const pn_page_t *page, size_t f, size_t n,
                           double whole_ns, pn_text_t *html) {
  const pn_page_function_t *function = &page->functions[f];
  const pn_page_nest_t *nest = &function->nests[n];
  const pn_decision_t *decision = nest->decision;
  double bytes = nest->bytes_read + nest->bytes_written;
  pn_text_printf(html,
                 "<tr id=\"f%zu-n%zu\" data-nest=\"%zu\" data-flop=\"%.0f\" "
                 "data-bytes=\"%.0f\" data-ns=\"%.0f\"><td class=\"n\">%zu</td>"
                 "<td><span class=\"dot %s\"></span>",
                 f, nest->number, nest->number, nest->flop, bytes, nest->ns,
                 nest->number, pn_page_kind_class(nest));
  pn_page_escape(html, pn_decision_get(decision, "kind"));
  pn_text_printf(html, "</td><td class=\"mono\">");
  pn_page_escape(html, pn_decision_get(decision, "loops"));
  if (*pn_decision_get(decision, "functions")) {
    pn_text_printf(html, "<br><span class=\"soft\">");
    pn_page_escape(html, pn_decision_get(decision, "functions"));
    pn_text_printf(html, "</span>");
  }
  pn_text_printf(html, "</td><td class=\"n\">%s",
                 nest->flop_known ? "" : "&ge;&nbsp;");
  pn_page_flop(html, nest->flop);
  pn_text_printf(html, "</td><td class=\"n\">%s",
                 nest->bytes_known ? "" : "&ge;&nbsp;");
  pn_page_bytes(html, nest->bytes_read);
  pn_text_printf(html, "</td><td class=\"n\">%s",
                 nest->bytes_known ? "" : "&ge;&nbsp;");
  pn_page_bytes(html, nest->bytes_written);
  pn_text_printf(html, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
                 pn_decision_get(decision, "lanes"),
                 number_of(decision, "grain") > 0 ? "yes" : "no");
  if (whole_ns > 0) {
    const char *name;
    double limit = pn_page_limit(page, nest, &name);
    pn_text_printf(html, "<td class=\"n\">");
    pn_page_time(html, nest->ns);
    pn_text_printf(html,
                   "</td><td><div class=\"bar\" title=\"%.1f %% of the "
                   "call\"><i style=\"width:%.1f%%\"></i></div></td>",
                   100 * nest->ns / whole_ns, 100 * nest->ns / whole_ns);
    if (nest->ns > 0 && nest->flop > 0)
      pn_text_printf(html, "<td class=\"n\">%.3g</td>", nest->flop / nest->ns);
    else
      pn_text_printf(html, "<td class=\"n\"></td>");
    if (nest->ns > 0 && bytes > 0)
      pn_text_printf(html, "<td class=\"n\">%.3g</td>", bytes / nest->ns);
    else
      pn_text_printf(html, "<td class=\"n\"></td>");
    if (limit > 0 && nest->ns > 0)
      pn_text_printf(html,
                     "<td class=\"n\">%.0f&nbsp;%% <span class=\"soft\">"
                     "%s</span></td>",
                     100 * limit / nest->ns, name);
    else
      pn_text_printf(html, "<td class=\"n\"></td>");
  }
  pn_text_printf(html, "<td class=\"mono\">");
  pn_page_escape(html, decision->place);
  pn_text_printf(html, "</td></tr>\n");
}

static void print_nests(const pn_page_t *page, size_t f, pn_text_t *html) {
  const pn_page_function_t *function = &page->functions[f];
  double whole_ns = 0;
  for (size_t i = 0; i < function->nest_count; ++i)
    whole_ns += function->nests[i].ns;
  pn_text_printf(html,
                 "<h3>Nests</h3>\n<p class=\"soft\">Work and bytes are "
                 "predicted from the loops%s</p>\n<div class=\"card scroll\">"
                 "<table><thead><tr><th class=\"n\">#</th><th>kind</th><th>"
                 "loops</th><th class=\"n\">work</th><th class=\"n\">reads</th>"
                 "<th class=\"n\">writes</th><th class=\"n\">lanes</th><th "
                 "class=\"n\">threads</th>",
                 whole_ns > 0 ? "; times are those of the fastest call. Of the "
                                "limit says how much of the measured peak of "
                                "arithmetic, cache or memory, whichever binds, "
                                "the nest reaches."
                              : ".");
  if (whole_ns > 0)
    pn_text_printf(html, "<th class=\"n\">time</th><th>share</th><th "
                         "class=\"n\">GFLOP/s</th><th class=\"n\">GB/s</th><th "
                         "class=\"n\">of the limit</th>");
  pn_text_printf(html, "<th>place</th></tr></thead><tbody>\n");
  for (size_t n = 0; n < function->nest_count; ++n)
    print_nest_row(page, f, n, whole_ns, html);
  pn_text_printf(html, "</tbody></table></div>\n");
}

/* ------------------------------------------------------------------------ */
/* Decisions                                                                */
/* ------------------------------------------------------------------------ */

/* Passes that decide what runs together. */
static bool is_fusion(const pn_decision_t *decision) {
  static const char *const passes[] = {
      "eliminate-buffers",  "fuse-nests", "fuse-blocks",
      "recompute-elements", "trim-loops", "recompute-indices",
      "replace-scalars",
  };
  for (size_t i = 0; i < COUNT_OF(passes); ++i)
    if (strcmp(decision->pass, passes[i]) == 0)
      return true;
  return false;
}

static void print_terms(const pn_decision_t *decision, pn_text_t *html) {
  for (size_t i = 0; i < decision->count; ++i) {
    const char *key = decision->keys[i], *value = decision->values[i];
    if (strcmp(key, "reason") == 0)
      continue;
    pn_text_printf(html, "<span class=\"chip\"><i>");
    pn_page_escape(html, key);
    pn_text_printf(html, "</i> ");
    char *end;
    double number = strtod(value, &end);
    if (strstr(key, "bytes") && *value && !*end && number >= 1024)
      pn_page_bytes(html, number);
    else
      pn_page_escape(html, value);
    pn_text_printf(html, "</span>");
  }
}

static void print_decision(const pn_decision_t *decision, bool with_pass,
                           pn_text_t *html) {
  const char *kind = pn_decision_kind_name(decision);
  pn_text_printf(html, "<tr data-pass=\"%s\" data-kind=\"%s\">", decision->pass,
                 kind);
  if (with_pass)
    pn_text_printf(html, "<td class=\"mono\">%s</td>", decision->pass);
  pn_text_printf(html, "<td class=\"%s\">%s</td><td>", kind,
                 decision->kind == PN_REMARK_APPLIED    ? "done"
                 : decision->kind == PN_REMARK_DECLINED ? "not done"
                                                        : "noted");
  pn_page_escape(html, pn_decision_get(decision, "reason"));
  pn_text_printf(html, "</td><td>");
  print_terms(decision, html);
  pn_text_printf(html, "</td><td class=\"mono\">");
  pn_page_escape(html, decision->place);
  pn_text_printf(html, "</td></tr>\n");
}

static void print_fusion(const pn_page_t *page, pn_text_t *html) {
  size_t applied = 0, declined = 0;
  for (size_t i = 0; i < page->decisions->count; ++i) {
    const pn_decision_t *decision = &page->decisions->items[i];
    applied += is_fusion(decision) && decision->kind == PN_REMARK_APPLIED;
    declined += is_fusion(decision) && decision->kind == PN_REMARK_DECLINED;
  }
  pn_text_printf(html,
                 "<h2 id=\"fusion\">What runs together, and why not</h2>\n"
                 "<p class=\"soft\">Passes that fuse nests, shrink buffers or "
                 "compute values again where they are used: %zu times done, "
                 "%zu times not. Each line has the numbers that it was decided "
                 "by.</p>\n",
                 applied, declined);
  if (!applied && !declined)
    return;
  pn_text_printf(html, "<div class=\"card scroll\"><table><thead><tr><th>pass"
                       "</th><th></th><th>what</th><th>terms</th><th>place"
                       "</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < page->decisions->count; ++i)
    if (is_fusion(&page->decisions->items[i]))
      print_decision(&page->decisions->items[i], true, html);
  pn_text_printf(html, "</tbody></table></div>\n");
}

/* All other decisions, folded, one fold a pass. */
static void print_others(const pn_page_t *page, pn_text_t *html) {
  const pn_decisions_t *decisions = page->decisions;
  bool *done = pn_alloc_array(decisions->count, sizeof(*done));
  pn_text_printf(html, "<h2 id=\"decisions\">All other decisions</h2>\n");
  for (size_t i = 0; i < decisions->count; ++i) {
    const char *pass = decisions->items[i].pass;
    if (done[i] || is_fusion(&decisions->items[i]) ||
        strcmp(pass, "describe-nests") == 0)
      continue;
    size_t applied = 0, declined = 0;
    for (size_t j = i; j < decisions->count; ++j) {
      const pn_decision_t *other = &decisions->items[j];
      if (strcmp(other->pass, pass) != 0)
        continue;
      applied += other->kind == PN_REMARK_APPLIED;
      declined += other->kind == PN_REMARK_DECLINED;
    }
    pn_text_printf(html,
                   "<details class=\"card\"><summary><span class=\"mono\">%s"
                   "</span> <span class=\"soft\">%zu done, %zu not</span>"
                   "</summary><div class=\"scroll\"><table><tbody>\n",
                   pass, applied, declined);
    for (size_t j = i; j < decisions->count; ++j) {
      if (strcmp(decisions->items[j].pass, pass) != 0)
        continue;
      done[j] = true;
      print_decision(&decisions->items[j], false, html);
    }
    pn_text_printf(html, "</tbody></table></div></details>\n");
  }
  free(done);
}

/* ------------------------------------------------------------------------ */
/* The page                                                                 */
/* ------------------------------------------------------------------------ */

static void print_head(const pn_page_t *page, pn_text_t *html) {
  pn_text_printf(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
                       "charset=\"utf-8\">\n<meta name=\"viewport\" content=\""
                       "width=device-width,initial-scale=1\">\n<title>");
  pn_page_escape(html, page->title);
  pn_text_printf(html, " &middot; Polynest</title>\n<style>\n");
  for (size_t i = 0; i < COUNT_OF(style); ++i)
    pn_text_append(html, style[i], strlen(style[i]));
  pn_text_printf(html, "</style>\n</head>\n<body>\n<main>\n<h1>");
  pn_page_escape(html, page->title);
  pn_text_printf(html, "</h1>\n<p class=\"soft\">compiled for ");
  pn_page_escape(html, page->target);
  if (page->calls)
    pn_text_printf(html, "; measured with %d thread%s", (int)page->threads,
                   page->threads == 1 ? "" : "s");
  if (page->peak_gflops > 0)
    pn_text_printf(html,
                   " on a machine that reaches %.0f GFLOP/s, %.1f GB/s from "
                   "its cache and %.1f GB/s from memory",
                   page->peak_gflops, page->cache_gbytes, page->memory_gbytes);
  pn_text_printf(html,
                 "</p>\n<p>The compiler takes a program apart into <em>loop "
                 "nests</em>: loops around a few operations on arrays. A nest "
                 "that reads what another has written waits for it, and the "
                 "array in between takes memory and time. So nests are fused "
                 "where that pays. This page shows the nests that are left, "
                 "what they hand each other, what was fused or not and why, "
                 "and where the time goes.</p>\n");
}

static void print_function(const pn_page_t *page, size_t f, pn_text_t *html) {
  const pn_page_function_t *function = &page->functions[f];
  pn_text_printf(html,
                 "<section id=\"f%zu\" data-nests=\"%zu\">\n<h2>Function "
                 "<code>",
                 f, function->nest_count);
  pn_page_escape(html, function->name);
  pn_text_printf(html, "</code></h2>\n");
  print_tiles(page, function, html);
  if (function->nest_count) {
    pn_page_print_graph(page, f, html);
    print_nests(page, f, html);
    pn_page_print_roofline(page, f, html);
    pn_page_print_memory(page, f, html);
  } else {
    pn_text_printf(html,
                   "<p class=\"soft\">Nothing is left to do in it.</p>\n");
  }
  pn_text_printf(html, "</section>\n");
}

void pn_page_print(const pn_page_t *page, pn_text_t *html) {
  print_head(page, html);
  if (!page->calls)
    pn_text_printf(html, "<p class=\"soft\">Nothing was run: there are no "
                         "times.</p>\n");
  if (page->function_count > 1) {
    pn_text_printf(html, "<p>Functions:");
    for (size_t f = 0; f < page->function_count; ++f) {
      pn_text_printf(html, " <a href=\"#f%zu\">", f);
      pn_page_escape(html, page->functions[f].name);
      pn_text_printf(html, "</a>");
    }
    pn_text_printf(html, "</p>\n");
  }
  for (size_t f = 0; f < page->function_count; ++f)
    print_function(page, f, html);
  print_fusion(page, html);
  pn_page_print_moves_html(page->decisions, html);
  print_others(page, html);
  pn_text_printf(html, "</main>\n</body>\n</html>\n");
}
