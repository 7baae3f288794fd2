/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/PageGraph.c: nests and the buffers between them as a picture.
 *
 * Nests stand in rows, each below all that it waits for; within a row in the
 * order of what they read. What comes in and goes out has small boxes of its
 * own. Linear in nests and buffers, but for a sort of each row.
 */

#include "Page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOX_WIDTH 200.0
#define BOX_HEIGHT 58.0
#define PILL_HEIGHT 34.0
#define GAP_X 26.0
#define GAP_Y 54.0
#define MARGIN 16.0
/* A picture of more nests opens on demand. */
#define OPEN_NESTS 80

/* A nest, or a buffer that comes in or goes out. */
typedef struct pn_spot {
  int64_t nest; /* -1: what comes in or goes out */
  const pn_page_buffer_t *buffer;
  size_t rank;
  double wish; /* where it would stand best */
  double x, y; /* of its middle, and its top */
} pn_spot_t;

typedef struct pn_edge {
  size_t from, to; /* spots */
  const pn_page_buffer_t *buffer;
} pn_edge_t;

typedef struct pn_graph {
  pn_spot_t *spots; /* nests first */
  size_t spot_count;
  pn_edge_t *edges;
  size_t edge_count;
  size_t rank_count;
  double width, height;
} pn_graph_t;

static const char *name_of(const pn_page_buffer_t *buffer) {
  return pn_decision_get(buffer->decision, "buffer");
}

/* The spot of a buffer from or to outside; a buffer that comes in has one,
 * however many nests read it. */
static size_t find_or_add_pill(pn_graph_t *graph, size_t nest_count,
                               const pn_page_buffer_t *buffer) {
  for (size_t i = nest_count; i < graph->spot_count; ++i) {
    const pn_page_buffer_t *other = graph->spots[i].buffer;
    if ((other->from < 0) == (buffer->from < 0) &&
        strcmp(name_of(other), name_of(buffer)) == 0)
      return i;
  }
  graph->spots[graph->spot_count] = (pn_spot_t){.nest = -1, .buffer = buffer};
  return graph->spot_count++;
}

static void make_spots(const pn_page_function_t *function, pn_graph_t *graph) {
  size_t nests = function->nest_count, buffers = function->buffer_count;
  graph->spots = pn_alloc_array(nests + buffers, sizeof(*graph->spots));
  graph->edges = pn_alloc_array(buffers, sizeof(*graph->edges));
  for (size_t i = 0; i < nests; ++i)
    graph->spots[i] = (pn_spot_t){.nest = (int64_t)i};
  graph->spot_count = nests;
  for (size_t i = 0; i < buffers; ++i) {
    const pn_page_buffer_t *buffer = &function->buffers[i];
    if (buffer->from >= (int64_t)nests || buffer->to >= (int64_t)nests)
      continue;
    size_t from = buffer->from < 0 ? find_or_add_pill(graph, nests, buffer)
                                   : (size_t)buffer->from;
    size_t to = buffer->to < 0 ? find_or_add_pill(graph, nests, buffer)
                               : (size_t)buffer->to;
    graph->edges[graph->edge_count++] = (pn_edge_t){from, to, buffer};
  }
}

/* Nests that wait for no other (packs of weights) go down to where they are
 * needed first. */
static void lower_sources(pn_graph_t *graph, size_t nest_count) {
  size_t *least = pn_alloc_array(nest_count, sizeof(*least));
  bool *waits = pn_alloc_array(nest_count, sizeof(*waits));
  for (size_t i = 0; i < graph->edge_count; ++i) {
    size_t from = graph->edges[i].from, to = graph->edges[i].to;
    if (from >= nest_count || to >= nest_count)
      continue;
    waits[to] = true;
    if (!least[from] || graph->spots[to].rank < least[from])
      least[from] = graph->spots[to].rank;
  }
  for (size_t i = 0; i < nest_count; ++i)
    if (!waits[i] && least[i])
      graph->spots[i].rank = least[i] - 1;
  free(least);
  free(waits);
}

/* Rows: nests come in program order, so that one sweep over edges sorted by
 * their ends is enough. What comes in stands one row above its first reader,
 * what goes out one below its last writer. */
static void make_ranks(pn_graph_t *graph, size_t nest_count) {
  pn_spot_t *spots = graph->spots;
  bool changed = true;
  for (size_t i = 0; i < nest_count; ++i)
    spots[i].rank = 1;
  /* Edges are listed by the nest that writes: a second sweep seldom finds any
   * more. */
  for (int sweep = 0; changed && sweep < 8; ++sweep) {
    changed = false;
    for (size_t i = 0; i < graph->edge_count; ++i) {
      const pn_edge_t *edge = &graph->edges[i];
      if (edge->from >= nest_count || edge->to >= nest_count ||
          spots[edge->to].rank > spots[edge->from].rank)
        continue;
      spots[edge->to].rank = spots[edge->from].rank + 1;
      changed = true;
    }
  }
  lower_sources(graph, nest_count);
  for (size_t i = nest_count; i < graph->spot_count; ++i)
    spots[i].rank = spots[i].buffer->from < 0 ? SIZE_MAX : 0;
  for (size_t i = 0; i < graph->edge_count; ++i) {
    const pn_edge_t *edge = &graph->edges[i];
    if (edge->from >= nest_count &&
        spots[edge->to].rank - 1 < spots[edge->from].rank)
      spots[edge->from].rank = spots[edge->to].rank - 1;
    if (edge->to >= nest_count &&
        spots[edge->from].rank + 1 > spots[edge->to].rank)
      spots[edge->to].rank = spots[edge->from].rank + 1;
  }
  for (size_t i = 0; i < graph->spot_count; ++i)
    if (spots[i].rank + 1 > graph->rank_count)
      graph->rank_count = spots[i].rank + 1;
}

static int compare_spots(const void *a, const void *b) {
  const pn_spot_t *left = *(pn_spot_t *const *)a;
  const pn_spot_t *right = *(pn_spot_t *const *)b;
  if (left->rank != right->rank)
    return left->rank < right->rank ? -1 : 1;
  if (left->wish < right->wish || left->wish > right->wish)
    return left->wish < right->wish ? -1 : 1;
  return (left > right) - (left < right);
}

/* Each spot wishes to stand in the middle of those above it, or for a pill
 * that comes in, of those that read it. */
static void make_wishes(pn_graph_t *graph, bool upwards) {
  double *sums = pn_alloc_array(graph->spot_count, sizeof(*sums));
  double *counts = pn_alloc_array(graph->spot_count, sizeof(*counts));
  for (size_t i = 0; i < graph->edge_count; ++i) {
    size_t from = graph->edges[i].from, to = graph->edges[i].to;
    size_t at = upwards ? from : to, other = upwards ? to : from;
    sums[at] += graph->spots[other].x;
    counts[at] += 1;
  }
  for (size_t i = 0; i < graph->spot_count; ++i)
    if (counts[i] > 0)
      graph->spots[i].wish = sums[i] / counts[i];
  free(sums);
  free(counts);
}

/* Places the rows, each in the middle of the picture. */
static void place(pn_graph_t *graph, pn_spot_t **order) {
  double widest = 0, y = MARGIN;
  qsort((void *)order, graph->spot_count, sizeof(*order), compare_spots);
  for (int pass = 0; pass < 2; ++pass) {
    y = MARGIN;
    for (size_t i = 0; i < graph->spot_count;) {
      size_t end = i;
      double height = PILL_HEIGHT;
      while (end < graph->spot_count && order[end]->rank == order[i]->rank) {
        if (order[end]->nest >= 0)
          height = BOX_HEIGHT;
        ++end;
      }
      double width =
          (double)(end - i) * (BOX_WIDTH + GAP_X) - GAP_X + 2 * MARGIN;
      widest = width > widest ? width : widest;
      double x = (widest - width) / 2 + MARGIN + BOX_WIDTH / 2;
      for (; i < end; ++i, x += BOX_WIDTH + GAP_X) {
        order[i]->x = x;
        order[i]->y = y + (order[i]->nest < 0 ? (height - PILL_HEIGHT) / 2 : 0);
      }
      y += height + GAP_Y;
    }
  }
  graph->width = widest;
  graph->height = y - GAP_Y + MARGIN;
}

static void make_graph(const pn_page_function_t *function, pn_graph_t *graph) {
  *graph = (pn_graph_t){0};
  make_spots(function, graph);
  make_ranks(graph, function->nest_count);
  pn_spot_t **order = pn_alloc_array(graph->spot_count, sizeof(*order));
  for (size_t i = 0; i < graph->spot_count; ++i)
    order[i] = &graph->spots[i];
  place(graph, order);
  for (int sweep = 0; sweep < 3; ++sweep) {
    make_wishes(graph, false);
    place(graph, order);
    make_wishes(graph, true);
    place(graph, order);
  }
  free((void *)order);
}

static void print_edge(const pn_graph_t *graph, const pn_edge_t *edge,
                       pn_text_t *html) {
  const pn_spot_t *from = &graph->spots[edge->from];
  const pn_spot_t *to = &graph->spots[edge->to];
  double y0 = from->y + (from->nest < 0 ? PILL_HEIGHT : BOX_HEIGHT), y1 = to->y;
  double bend = (y1 - y0) * 0.5;
  double width =
      edge->buffer->bytes > 0 ? 1 + 0.22 * log2(1 + edge->buffer->bytes) : 1.5;
  pn_text_printf(html,
                 "<path class=\"edge\" data-from=\"%lld\" data-to=\"%lld\" "
                 "data-bytes=\"%.0f\" stroke-width=\"%.1f\" d=\"M%.0f %.0f"
                 "C%.0f %.0f %.0f %.0f %.0f %.0f\"><title>",
                 (long long)edge->buffer->from, (long long)edge->buffer->to,
                 edge->buffer->bytes, width, from->x, y0, from->x, y0 + bend,
                 to->x, y1 - bend, to->x, y1);
  pn_page_escape(html, name_of(edge->buffer));
  pn_text_printf(html, " ");
  pn_page_escape(html, pn_decision_get(edge->buffer->decision, "shape"));
  pn_text_printf(html, ", ");
  pn_page_bytes(html, edge->buffer->bytes);
  pn_text_printf(html, "</title></path>\n");
}

/* How much a nest hands on, where an edge begins. */
static void print_tag(const pn_graph_t *graph, const pn_edge_t *edge,
                      pn_text_t *html) {
  const pn_spot_t *from = &graph->spots[edge->from];
  const pn_spot_t *to = &graph->spots[edge->to];
  if (from->nest < 0 || to->nest < 0)
    return;
  double y0 = from->y + BOX_HEIGHT, y1 = to->y;
  /* The middle of the curve where the two are neighbours, else near its end. */
  double t = to->rank == from->rank + 1 ? 0.5 : 0.86;
  double s = 1 - t;
  double bend = (y1 - y0) * 0.5;
  double x = (s * s * s + 3 * s * s * t) * from->x +
             (3 * s * t * t + t * t * t) * to->x;
  double y = s * s * s * y0 + 3 * s * s * t * (y0 + bend) +
             3 * s * t * t * (y1 - bend) + t * t * t * y1;
  pn_text_printf(html,
                 "<g pointer-events=\"none\"><rect class=\"tag\" x=\"%.0f\" "
                 "y=\"%.0f\" width=\"64\" height=\"17\" rx=\"8\"/><text class="
                 "\"s\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">",
                 x - 32, y - 8.5, x, y + 4);
  pn_page_bytes(html, edge->buffer->bytes);
  pn_text_printf(html, "</text></g>\n");
}

static void print_pill(const pn_spot_t *spot, pn_text_t *html) {
  const pn_page_buffer_t *buffer = spot->buffer;
  pn_text_printf(html,
                 "<g><title>%s: ", buffer->from < 0 ? "comes in" : "goes out");
  pn_page_escape(html, name_of(buffer));
  pn_text_printf(html,
                 "</title><rect class=\"pill\" x=\"%.0f\" y=\"%.0f\" "
                 "width=\"%.0f\" height=\"%.0f\" rx=\"17\"/><text x=\"%.0f\" "
                 "y=\"%.0f\" text-anchor=\"middle\">",
                 spot->x - BOX_WIDTH / 2, spot->y, BOX_WIDTH, PILL_HEIGHT,
                 spot->x, spot->y + 15);
  /* Names of constants may be long. */
  char name[40];
  strncpy(name, name_of(buffer), sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  size_t size = strlen(name);
  if (size > 26) {
    size = 24;
    while (size && ((unsigned char)name[size] & 0xc0) == 0x80)
      --size;
    name[size] = '\0';
  }
  pn_page_escape(html, name);
  pn_text_printf(html,
                 "</text><text class=\"s\" x=\"%.0f\" y=\"%.0f\" "
                 "text-anchor=\"middle\">",
                 spot->x, spot->y + 28);
  pn_page_escape(html, pn_decision_get(buffer->decision, "shape"));
  pn_text_printf(html, ", ");
  pn_page_bytes(html, buffer->bytes);
  pn_text_printf(html, "</text></g>\n");
}

/* Loops and functions are cut to the box; the title has them whole. */
static void print_short(pn_text_t *html, const char *text, size_t room) {
  char cut[64];
  size_t size = strlen(text);
  if (size <= room) {
    pn_page_escape(html, text);
    return;
  }
  memcpy(cut, text, room - 1);
  cut[room - 1] = '\0';
  pn_page_escape(html, cut);
  pn_text_printf(html, "\xe2\x80\xa6");
}

static void print_box(const pn_page_function_t *function, size_t f,
                      const pn_spot_t *spot, double whole, pn_text_t *html) {
  const pn_page_nest_t *nest = &function->nests[spot->nest];
  const pn_decision_t *decision = nest->decision;
  double left = spot->x - BOX_WIDTH / 2;
  bool is_timed = function->ns > 0;
  double weight = is_timed ? nest->ns : nest->flop + nest->bytes_read;
  pn_text_printf(html, "<a href=\"#f%zu-n%zu\"><title>", f, nest->number);
  pn_page_escape(html, pn_decision_get(decision, "loops"));
  pn_text_printf(html, "; ");
  pn_page_flop(html, nest->flop);
  pn_text_printf(html, "; reads ");
  pn_page_bytes(html, nest->bytes_read);
  pn_text_printf(html, ", writes ");
  pn_page_bytes(html, nest->bytes_written);
  pn_text_printf(html, "; ");
  pn_page_escape(html, decision->place);
  pn_text_printf(html,
                 "</title><rect class=\"box\" x=\"%.0f\" y=\"%.0f\" "
                 "width=\"%.0f\" height=\"%.0f\" rx=\"8\"/><rect class=\"%s\" "
                 "x=\"%.0f\" y=\"%.0f\" width=\"6\" height=\"%.0f\" rx=\"3\"/>",
                 left, spot->y, BOX_WIDTH, BOX_HEIGHT, pn_page_kind_class(nest),
                 left + 5, spot->y + 8, BOX_HEIGHT - 16);
  pn_text_printf(html, "<text x=\"%.0f\" y=\"%.0f\" font-weight=\"600\">%zu ",
                 left + 18, spot->y + 19, nest->number);
  pn_page_escape(html, pn_decision_get(decision, "kind"));
  pn_text_printf(html, "</text>");
  if (is_timed) {
    pn_text_printf(html, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">",
                   left + BOX_WIDTH - 9, spot->y + 19);
    pn_page_time(html, nest->ns);
    pn_text_printf(html, "</text>");
  }
  pn_text_printf(html, "<text class=\"s\" x=\"%.0f\" y=\"%.0f\">", left + 18,
                 spot->y + 35);
  print_short(html, pn_decision_get(decision, "loops"), 28);
  pn_text_printf(html,
                 "</text><rect class=\"heat\" x=\"%.0f\" y=\"%.0f\" "
                 "width=\"%.1f\" height=\"4\" rx=\"2\"/></a>\n",
                 left + 18, spot->y + 45,
                 whole > 0 ? (BOX_WIDTH - 30) * weight / whole : 0);
}

void pn_page_print_graph(const pn_page_t *page, size_t f, pn_text_t *html) {
  const pn_page_function_t *function = &page->functions[f];
  pn_graph_t graph;
  make_graph(function, &graph);
  double whole = 0;
  for (size_t i = 0; i < function->nest_count; ++i) {
    const pn_page_nest_t *nest = &function->nests[i];
    whole += function->ns > 0 ? nest->ns : nest->flop + nest->bytes_read;
  }
  pn_text_printf(
      html,
      "<h3>Who hands what to whom</h3>\n<p class=\"soft\">From top to bottom. "
      "A line is a buffer, the thicker the larger; the bar in a box is its "
      "share of the %s. A box leads to its line in the table below.</p>\n"
      "<p class=\"legend\"><span><i class=\"dot product\"></i>products and "
      "convolutions</span><span><i class=\"dot reduce\"></i>reductions</span>"
      "<span><i class=\"dot point\"></i>element by element</span><span><i "
      "class=\"dot move\"></i>moves</span><span><i class=\"dot other\"></i>"
      "others</span></p>\n<details class=\"card\"%s><summary>%zu nests, %zu "
      "buffers</summary><div class=\"scroll\">\n<svg width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
      "aria-label=\"graph "
      "of nests\">\n",
      function->ns > 0 ? "time" : "predicted work",
      function->nest_count <= OPEN_NESTS ? " open" : "", function->nest_count,
      graph.edge_count, graph.width, graph.height, graph.width, graph.height);
  for (size_t i = 0; i < graph.edge_count; ++i)
    print_edge(&graph, &graph.edges[i], html);
  for (size_t i = 0; i < graph.spot_count; ++i) {
    if (graph.spots[i].nest < 0)
      print_pill(&graph.spots[i], html);
    else
      print_box(function, f, &graph.spots[i], whole, html);
  }
  for (size_t i = 0; i < graph.edge_count; ++i)
    print_tag(&graph, &graph.edges[i], html);
  pn_text_printf(html, "</svg></div></details>\n");
  free(graph.spots);
  free(graph.edges);
}
