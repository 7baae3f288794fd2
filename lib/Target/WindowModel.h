/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/WindowModel.h: register tiles of windows that slide, from numbers.
 *
 * S[r] op= f(X[a r + b t], W[t]): a reduction over `taps` inputs t, whose next
 * row r reads some of the same inputs: depthwise convolutions, pooling. With a
 * few rows and all taps unrolled each input is loaded once for all the rows
 * that it belongs to.
 * Units: counts of vector operations; times in cycles of one core.
 * Ownership: nothing is allocated. Errors: false where the input is out of
 * range or no tile is worth it; outputs are cleared first.
 * Threads: pure functions. Nothing depends on the number of threads.
 * Since: 0.1
 */
#ifndef POLYNEST_TARGET_WINDOWMODEL_H
#define POLYNEST_TARGET_WINDOWMODEL_H

#include "Target/CostModel.h"

PN_EXTERN_C_BEGIN

/* More taps than this are not unrolled. */
#define PN_MODEL_WINDOW_TAPS 8

/* What one row and one tap are made of. */
typedef struct pn_model_window {
  int32_t taps;         /* 2 to PN_MODEL_WINDOW_TAPS */
  int64_t row_step;     /* a, not 0 */
  int64_t tap_step;     /* b, not 0 */
  int64_t rows;         /* in all; 0: unknown */
  int32_t sums;         /* accumulators of a row, 1 or more */
  int32_t operations;   /* that combine into them, each tap, 1 or more */
  int32_t window_loads; /* of X, 1 or more */
  int32_t tap_loads;    /* that move with the taps alone: W */
  int32_t row_loads;    /* that move with the rows alone */
  int32_t other_loads;
} pn_model_window_t;

typedef struct pn_model_window_tile {
  int32_t rows;
  double loads;            /* for one row and tap */
  double cycles_per_group; /* all operations of one row and tap */
} pn_model_window_tile_t;

/* Different inputs of `rows` rows: |{a r + b t}|. */
int32_t pn_model_window_inputs(const pn_model_window_t *window, int32_t rows);

/*
 * The number of rows, 2 to 8, with the fewest cycles over all rows, those that
 * are left over taken together:
 *   registers  rows * sums + taps (where anything is loaded for the taps) + 1
 *   cycles     max(operations / fma_ports, loads / load_ports,
 *                  latency of one sum's chain)
 *   loads      inputs * window_loads + taps * tap_loads + rows * row_loads +
 *              other_loads
 * Ties within 1 %: no rows left over, which are one more body; then fewer
 * loads. False where rows share nothing, or two rows do not fit the registers.
 */
bool pn_model_window_tile(const pn_model_core_t *core,
                          const pn_model_window_t *window,
                          pn_model_window_tile_t *out_tile);

/*
 * Vectors of a row that vectorization should put side by side, of `vectors` in
 * all (0: unknown), with four rows jammed or as many as there are:
 *   enough   fma_latency_cycles * fma_ports / rows: sums that hide the latency
 *   most     what leaves registers for those rows and the taps
 * From enough to twice that, the first that divides `vectors`, since a rest is
 * one more body; else enough + 1. At most `most`, at least 1.
 */
int32_t pn_model_window_vectors(const pn_model_core_t *core, int32_t taps,
                                int64_t rows, int64_t vectors);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_WINDOWMODEL_H */
