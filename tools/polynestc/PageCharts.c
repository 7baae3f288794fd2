/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/PageCharts.c: the roofline, and the lives of buffers. */

#include "Page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------ */
/* The roofline                                                             */
/* ------------------------------------------------------------------------ */

#define CHART_WIDTH 760.0
#define CHART_HEIGHT 380.0
#define CHART_LEFT 62.0
#define CHART_RIGHT 24.0
#define CHART_TOP 20.0
#define CHART_BOTTOM 44.0

/* Both axes are logarithmic: FLOP a byte, and GFLOP/s. */
typedef struct pn_chart {
  double x0, x1, y0, y1; /* binary logarithms */
} pn_chart_t;

static double place_x(const pn_chart_t *chart, double intensity) {
  return CHART_LEFT + (log2(intensity) - chart->x0) / (chart->x1 - chart->x0) *
                          (CHART_WIDTH - CHART_LEFT - CHART_RIGHT);
}

static double place_y(const pn_chart_t *chart, double gflops) {
  return CHART_HEIGHT - CHART_BOTTOM -
         (log2(gflops) - chart->y0) / (chart->y1 - chart->y0) *
             (CHART_HEIGHT - CHART_TOP - CHART_BOTTOM);
}

static bool has_point(const pn_page_nest_t *nest) {
  return nest->ns > 0 && nest->flop > 0 && nest->flop_known &&
         nest->bytes_known && nest->bytes_read + nest->bytes_written > 0;
}

static double intensity_of(const pn_page_nest_t *nest) {
  return nest->flop / (nest->bytes_read + nest->bytes_written);
}

static double keep_least(double a, double b) { return a < b ? a : b; }
static double keep_most(double a, double b) { return a > b ? a : b; }

static void print_grid(const pn_chart_t *chart, pn_text_t *html) {
  for (double e = ceil(chart->x0 / 2) * 2; e <= chart->x1; e += 2) {
    double x = place_x(chart, exp2(e));
    pn_text_printf(html,
                   "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                   "y2=\"%.1f\"/><text class=\"s\" x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"middle\">",
                   x, CHART_TOP, x, CHART_HEIGHT - CHART_BOTTOM, x,
                   CHART_HEIGHT - CHART_BOTTOM + 16);
    if (e < 0)
      pn_text_printf(html, "1/%.0f</text>", exp2(-e));
    else
      pn_text_printf(html, "%.0f</text>", exp2(e));
  }
  for (double e = ceil(chart->y0 / log2(10)); e * log2(10) <= chart->y1; ++e) {
    double y = place_y(chart, exp2(e * log2(10)));
    pn_text_printf(html,
                   "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                   "y2=\"%.1f\"/><text class=\"s\" x=\"%.1f\" y=\"%.1f\" "
                   "text-anchor=\"end\">%g</text>",
                   CHART_LEFT, y, CHART_WIDTH - CHART_RIGHT, y, CHART_LEFT - 8,
                   y + 4, pow(10, e));
  }
  pn_text_printf(html,
                 "<text class=\"s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle"
                 "\">FLOP per byte read or written</text><text class=\"s\" x=\""
                 "14\" y=\"%.1f\" transform=\"rotate(-90 14 %.1f)\" "
                 "text-anchor=\"middle\">GFLOP/s</text>\n",
                 (CHART_LEFT + CHART_WIDTH - CHART_RIGHT) / 2, CHART_HEIGHT - 8,
                 CHART_HEIGHT / 2, CHART_HEIGHT / 2);
}

/* The slope of a bandwidth up to the peak of arithmetic, and the peak. */
static void print_roof(const pn_page_t *page, const pn_chart_t *chart,
                       double gbytes, const char *name, const char *class,
                       pn_text_t *html) {
  if (gbytes <= 0)
    return;
  double least = exp2(chart->x0), low = least * gbytes;
  if (low < exp2(chart->y0)) {
    low = exp2(chart->y0);
    least = low / gbytes;
  }
  double ridge = page->peak_gflops / gbytes;
  pn_text_printf(
      html,
      "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\"/>"
      "<text class=\"s\" x=\"%.1f\" y=\"%.1f\" transform=\"rotate("
      "%.1f %.1f %.1f)\">%s %.0f GB/s</text>\n",
      class, place_x(chart, least), place_y(chart, low), place_x(chart, ridge),
      place_y(chart, page->peak_gflops), place_x(chart, exp2(chart->x1)),
      place_y(chart, page->peak_gflops), place_x(chart, least) + 8,
      place_y(chart, low) - 10,
      atan2(place_y(chart, page->peak_gflops) - place_y(chart, low),
            place_x(chart, ridge) - place_x(chart, least)) *
          180 / 3.14159265358979,
      place_x(chart, least) + 8, place_y(chart, low) - 10, name, gbytes);
}

static void print_point(const pn_chart_t *chart, size_t f,
                        const pn_page_nest_t *nest, double whole,
                        pn_text_t *html) {
  double rate = nest->flop / nest->ns;
  pn_text_printf(html,
                 "<a href=\"#f%zu-n%zu\"><title>nest %zu: %.3g FLOP per byte, "
                 "%.3g GFLOP/s, ",
                 f, nest->number, nest->number, intensity_of(nest), rate);
  pn_page_time(html, nest->ns);
  pn_text_printf(html,
                 "</title><circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" "
                 "r=\"%.1f\" fill-opacity=\".8\"/></a>\n",
                 pn_page_kind_class(nest), place_x(chart, intensity_of(nest)),
                 place_y(chart, rate), 4 + 10 * sqrt(nest->ns / whole));
}

void pn_page_print_roofline(const pn_page_t *page, size_t f, pn_text_t *html) {
  const pn_page_function_t *function = &page->functions[f];
  if (page->peak_gflops <= 0 || page->memory_gbytes <= 0 || function->ns <= 0)
    return;
  double whole = 0;
  size_t points = 0;
  pn_chart_t chart = {-4, 7, log2(page->peak_gflops) - 7,
                      log2(page->peak_gflops) + 0.6};
  for (size_t i = 0; i < function->nest_count; ++i) {
    const pn_page_nest_t *nest = &function->nests[i];
    whole += nest->ns;
    if (!has_point(nest))
      continue;
    ++points;
    double x = log2(intensity_of(nest)), y = log2(nest->flop / nest->ns);
    chart.x0 = keep_least(chart.x0, floor(x - 1));
    chart.x1 = keep_most(chart.x1, ceil(x + 1));
    chart.y0 = keep_least(chart.y0, floor(y - 1));
    chart.y1 = keep_most(chart.y1, y + 0.6);
  }
  if (!points)
    return;
  pn_text_printf(
      html,
      "<h3>Against what the machine can do</h3>\n<p class=\"soft\">Each circle "
      "is a nest, the larger the longer it takes. No nest that does arithmetic "
      "can be above the roof: on the left it waits for data, on the right for "
      "multiplications. The higher under its roof, the better. Data that a "
      "nest "
      "before has left in a cache comes faster than the roof of memory "
      "allows.</p>\n<div class=\"card scroll\"><svg width=\"%.0f\" height="
      "\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"roofline\">"
      "\n",
      CHART_WIDTH, CHART_HEIGHT, CHART_WIDTH, CHART_HEIGHT);
  print_grid(&chart, html);
  print_roof(page, &chart, page->cache_gbytes, "cache", "slope", html);
  print_roof(page, &chart, page->memory_gbytes, "memory", "roof", html);
  pn_text_printf(html,
                 "<text class=\"s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">"
                 "multiply and add, %.0f GFLOP/s</text>\n",
                 CHART_WIDTH - CHART_RIGHT - 4,
                 place_y(&chart, page->peak_gflops) - 6, page->peak_gflops);
  for (size_t i = 0; i < function->nest_count; ++i)
    if (has_point(&function->nests[i]))
      print_point(&chart, f, &function->nests[i], whole, html);
  pn_text_printf(html, "</svg></div>\n");
}

/* ------------------------------------------------------------------------ */
/* Memory                                                                   */
/* ------------------------------------------------------------------------ */

#define LIFE_ROWS 40
#define LIFE_WIDTH 640.0
#define LIFE_LEFT 250.0
#define LIFE_STEP 22.0

/* A temporary, from the first nest that writes it to the last that reads it. */
typedef struct pn_life {
  const pn_page_buffer_t *buffer;
  int64_t first, last;
} pn_life_t;

static int compare_buffers(const void *a, const void *b) {
  const pn_page_buffer_t *left = *(const pn_page_buffer_t *const *)a;
  const pn_page_buffer_t *right = *(const pn_page_buffer_t *const *)b;
  int order = strcmp(pn_decision_get(left->decision, "buffer"),
                     pn_decision_get(right->decision, "buffer"));
  if (order)
    return order;
  return (left > right) - (left < right);
}

static int compare_lives(const void *a, const void *b) {
  const pn_life_t *left = a, *right = b;
  if (left->buffer->bytes < right->buffer->bytes ||
      left->buffer->bytes > right->buffer->bytes)
    return left->buffer->bytes < right->buffer->bytes ? 1 : -1;
  return (left->first > right->first) - (left->first < right->first);
}

/* The temporaries, largest first; the caller frees the array. */
static pn_life_t *collect_lives(const pn_page_function_t *function,
                                size_t *out_count) {
  const pn_page_buffer_t **order =
      pn_alloc_array(function->buffer_count, sizeof(*order));
  pn_life_t *lives = pn_alloc_array(function->buffer_count, sizeof(*lives));
  size_t inner = 0, count = 0;
  for (size_t i = 0; i < function->buffer_count; ++i)
    if (function->buffers[i].from >= 0 && function->buffers[i].to >= 0)
      order[inner++] = &function->buffers[i];
  qsort((void *)order, inner, sizeof(*order), compare_buffers);
  for (size_t i = 0; i < inner; ++i) {
    const pn_page_buffer_t *buffer = order[i];
    bool is_new = i == 0 || strcmp(pn_decision_get(buffer->decision, "buffer"),
                                   pn_decision_get(order[i - 1]->decision,
                                                   "buffer")) != 0;
    if (is_new)
      lives[count++] = (pn_life_t){buffer, buffer->from, buffer->to};
    pn_life_t *life = &lives[count - 1];
    life->first = buffer->from < life->first ? buffer->from : life->first;
    life->last = buffer->to > life->last ? buffer->to : life->last;
  }
  qsort(lives, count, sizeof(*lives), compare_lives);
  free((void *)order);
  *out_count = count;
  return lives;
}

void pn_page_print_memory(const pn_page_t *page, size_t f, pn_text_t *html) {
  const pn_page_function_t *function = &page->functions[f];
  size_t count;
  pn_life_t *lives = collect_lives(function, &count);
  size_t shown = count < LIFE_ROWS ? count : LIFE_ROWS;
  pn_text_printf(html, "<h3>Memory</h3>\n<p class=\"soft\">");
  if (function->arena_bytes >= 0) {
    pn_text_printf(html, "Temporaries take <b>");
    pn_page_bytes(html, function->arena_bytes);
    pn_text_printf(html, "</b> at most; without sharing they would take ");
    pn_page_bytes(html, function->unshared_bytes);
    pn_text_printf(html, ". ");
  } else {
    pn_text_printf(html, "No temporaries of fixed size are needed. ");
  }
  if (count)
    pn_text_printf(html,
                   "Below, from which nest to which each buffer between "
                   "nests is needed%s.",
                   shown < count ? ", the largest ones" : "");
  pn_text_printf(html, "</p>\n");
  if (!count) {
    free(lives);
    return;
  }
  double height = 34 + LIFE_STEP * (double)shown;
  double step = LIFE_WIDTH / (double)function->nest_count;
  pn_text_printf(html,
                 "<div class=\"card scroll\"><svg width=\"%.0f\" height=\"%.0f"
                 "\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"lives "
                 "of buffers\">\n<text class=\"s\" x=\"%.0f\" y=\"14\">nest "
                 "0</text><text class=\"s\" x=\"%.0f\" y=\"14\" text-anchor="
                 "\"end\">nest %zu</text>\n",
                 LIFE_LEFT + LIFE_WIDTH + 20, height,
                 LIFE_LEFT + LIFE_WIDTH + 20, height, LIFE_LEFT,
                 LIFE_LEFT + LIFE_WIDTH, function->nest_count - 1);
  for (size_t i = 0; i < shown; ++i) {
    const pn_life_t *life = &lives[i];
    double y = 24 + LIFE_STEP * (double)i;
    pn_text_printf(html,
                   "<line class=\"grid\" x1=\"0\" y1=\"%.0f\" x2=\"%.0f\" "
                   "y2=\"%.0f\"/><text x=\"4\" y=\"%.0f\">",
                   y + LIFE_STEP - 2, LIFE_LEFT + LIFE_WIDTH, y + LIFE_STEP - 2,
                   y + 14);
    pn_page_escape(html, pn_decision_get(life->buffer->decision, "shape"));
    pn_text_printf(html,
                   "</text><text class=\"s\" x=\"%.0f\" y=\"%.0f\" "
                   "text-anchor=\"end\">",
                   LIFE_LEFT - 12, y + 14);
    pn_page_bytes(html, life->buffer->bytes);
    pn_text_printf(html,
                   "</text><rect class=\"heat\" x=\"%.1f\" y=\"%.0f\" width="
                   "\"%.1f\" height=\"11\" rx=\"4\" fill-opacity=\".75\">"
                   "<title>nests %lld to %lld</title></rect>\n",
                   LIFE_LEFT + step * (double)life->first, y + 4,
                   step * (double)(life->last - life->first + 1),
                   (long long)life->first, (long long)life->last);
  }
  pn_text_printf(html, "</svg></div>\n");
  free(lives);
}
