/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/WindowModel.c: see the header for formulas. */

#include "Target/WindowModel.h"

#include <math.h>

static const int32_t max_rows = 8;
/* Rows assumed where their number is not known. */
static const int64_t unknown_rows = 64;
/* Rows that should share an input: more gain little. */
static const int64_t wanted_rows = 4;

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

static bool window_is_sane(const pn_model_window_t *window) {
  const int64_t far = INT64_C(1) << 40;
  return window->taps >= 2 && window->taps <= PN_MODEL_WINDOW_TAPS &&
         window->row_step != 0 && window->tap_step != 0 &&
         window->row_step > -far && window->row_step < far &&
         window->tap_step > -far && window->tap_step < far &&
         window->rows >= 0 && window->sums >= 1 && window->sums <= 256 &&
         window->operations >= 1 && window->operations <= 4096 &&
         window->window_loads >= 1 && window->window_loads <= 4096 &&
         window->tap_loads >= 0 && window->tap_loads <= 4096 &&
         window->row_loads >= 0 && window->row_loads <= 4096 &&
         window->other_loads >= 0 && window->other_loads <= 4096;
}

int32_t pn_model_window_inputs(const pn_model_window_t *window, int32_t rows) {
  if (!window_is_sane(window) || rows < 1 || rows > max_rows)
    return 0;
  int32_t count = 0;
  for (int32_t row = 0; row < rows; ++row)
    for (int32_t tap = 0; tap < window->taps; ++tap) {
      bool is_new = true;
      for (int32_t r = 0; r < row && is_new; ++r)
        for (int32_t t = 0; t < window->taps && is_new; ++t)
          is_new = (row - r) * window->row_step != (t - tap) * window->tap_step;
      count += is_new;
    }
  return count;
}

/* Cycles and loads of one tile of `rows` rows and all taps. */
static double tile_cycles(const pn_model_core_t *core,
                          const pn_model_window_t *window, int32_t rows,
                          double *out_loads) {
  double loads =
      (double)pn_model_window_inputs(window, rows) * window->window_loads +
      (double)window->taps * window->tap_loads +
      (double)rows * window->row_loads + window->other_loads;
  double operations = (double)rows * window->taps * window->operations;
  double chain = (double)core->fma_latency_cycles * window->taps *
                 window->operations / window->sums;
  *out_loads = loads;
  return fmax(fmax(operations / core->fma_ports, loads / core->load_ports),
              chain);
}

bool pn_model_window_tile(const pn_model_core_t *core,
                          const pn_model_window_t *window,
                          pn_model_window_tile_t *out_tile) {
  *out_tile = (pn_model_window_tile_t){0};
  if (!window_is_sane(window) || core->fma_ports < 1 || core->load_ports < 1 ||
      core->fma_latency_cycles < 1 || core->vector_registers < 1)
    return false;
  int64_t all = window->rows > 0 ? window->rows : unknown_rows;
  int32_t held = (window->tap_loads > 0 ? window->taps : 0) + 1;
  double best = 0, best_loads = 0;
  int32_t best_rest = 0;
  for (int32_t rows = 2; rows <= min_i64(max_rows, all); ++rows) {
    if (rows * window->sums + held > core->vector_registers ||
        pn_model_window_inputs(window, rows) == rows * window->taps)
      continue;
    double loads, rest_loads = 0;
    double cycles = tile_cycles(core, window, rows, &loads);
    int32_t rest = (int32_t)(all % rows);
    double rest_cycles =
        rest > 0 ? tile_cycles(core, window, rest, &rest_loads) : 0;
    double groups = (double)all * window->taps;
    double tiles = (double)(all / rows);
    double total = (tiles * cycles + rest_cycles) / groups;
    double total_loads = (tiles * loads + rest_loads) / groups;
    bool is_tie = total >= best * 0.99 && total <= best * 1.01;
    bool is_better =
        is_tie && (rest == 0) != (best_rest == 0)
            ? rest == 0
            : total < best * 0.99 || (is_tie && total_loads < best_loads);
    if (out_tile->rows != 0 && !is_better)
      continue;
    best_rest = rest;
    best = total;
    best_loads = total_loads;
    *out_tile = (pn_model_window_tile_t){rows, total_loads, total};
  }
  return out_tile->rows != 0;
}

int32_t pn_model_window_vectors(const pn_model_core_t *core, int32_t taps,
                                int64_t rows, int64_t vectors) {
  int64_t together = rows > 0 ? min_i64(rows, wanted_rows) : wanted_rows;
  int64_t most =
      max_i64(((int64_t)core->vector_registers - 1 - taps) / together, 1);
  int64_t sums = (int64_t)core->fma_latency_cycles * core->fma_ports;
  int64_t enough = max_i64((sums + together - 1) / together, 1);
  int64_t count = enough + 1;
  for (int64_t n = 2 * enough; n >= enough; --n)
    if (vectors > 0 && vectors % n == 0)
      count = n;
  return (int32_t)min_i64(count, most);
}
