/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Page.h: a compilation explained as one HTML page.
 *
 * The page needs no network and no scripts: HTML, CSS and SVG. All text that
 * comes from a program is escaped; bytes that are no UTF-8 are replaced.
 * Units: bytes, nanoseconds, GFLOP/s, GB/s; 0 or less is "not known".
 * Ownership: pages and graphs borrow the decisions that they are made from.
 * Threads: one.
 */
#ifndef POLYNESTC_PAGE_H
#define POLYNESTC_PAGE_H

#include "Decisions.h"
#include "Text.h"

/* A nest of the program as it runs. */
typedef struct pn_page_nest {
  const pn_decision_t *decision; /* of polynest-describe-nests */
  size_t number;
  double flop, bytes_read, bytes_written;
  bool flop_known, bytes_known;
  double ns; /* of the fastest call; 0: not measured */
} pn_page_nest_t;

/* A buffer between two nests, in one direction. */
typedef struct pn_page_buffer {
  const pn_decision_t *decision;
  int64_t from, to; /* numbers of nests; -1: from or to outside */
  double bytes;     /* -1: not known */
} pn_page_buffer_t;

/* A function: nests and buffers in the order of the program. */
typedef struct pn_page_function {
  const char *name;
  pn_page_nest_t *nests;
  size_t nest_count;
  pn_page_buffer_t *buffers;
  size_t buffer_count;
  size_t plain_count;    /* nests before the optimizer */
  double plain_flop;     /* their work */
  double arena_bytes;    /* temporaries of a call; -1: not known */
  double unshared_bytes; /* the same if no two shared memory */
  double ns;             /* the fastest call; 0: not measured */
} pn_page_function_t;

typedef struct pn_page {
  const char *title; /* the program */
  const char *target;
  const pn_decisions_t *decisions;
  pn_page_function_t *functions;
  size_t function_count;
  /* Measured peaks of the machine; 0: not measured. */
  double peak_gflops, memory_gbytes, cache_gbytes;
  double cache_bytes; /* up to which the cache's bandwidth holds */
  int32_t threads;
  size_t calls; /* timed for each function */
} pn_page_t;

/* Makes the functions from the decisions. */
void pn_page_open(const pn_decisions_t *decisions, pn_page_t *out_page);

void pn_page_close(pn_page_t *page);

/* The function of that name, or NULL. */
pn_page_function_t *pn_page_find(pn_page_t *page, const char *name);

/* Appends the whole page. */
void pn_page_print(const pn_page_t *page, pn_text_t *html);

/* Parts of the page. */
void pn_page_print_graph(const pn_page_t *page, size_t function,
                         pn_text_t *html);
void pn_page_print_roofline(const pn_page_t *page, size_t function,
                            pn_text_t *html);
void pn_page_print_memory(const pn_page_t *page, size_t function,
                          pn_text_t *html);

/* Packs and nests that only move data: a table of all functions as text, and on
 * the page. */
void pn_page_print_moves(const pn_decisions_t *decisions, pn_text_t *text);
void pn_page_print_moves_html(const pn_decisions_t *decisions, pn_text_t *html);

/* Text, escaped for contents and attributes. */
void pn_page_escape(pn_text_t *html, const char *text);

/* "1.5 MiB", "2.3 µs", "4.1 MFLOP"; "?" for what is negative. */
void pn_page_bytes(pn_text_t *html, double bytes);
void pn_page_time(pn_text_t *html, double ns);
void pn_page_flop(pn_text_t *html, double flop);

/* The class of style.css that stands for what the nest does. */
const char *pn_page_kind_class(const pn_page_nest_t *nest);

/* What limits the nest, from its work and the measured peaks: shortest time in
 * nanoseconds, 0 where it is not known, and the limit's name. */
double pn_page_limit(const pn_page_t *page, const pn_page_nest_t *nest,
                     const char **out_name);

#endif /* POLYNESTC_PAGE_H */
