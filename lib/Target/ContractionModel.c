/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/ContractionModel.c: see the header for formulas and sources. */

#include "Target/ContractionModel.h"

#include <math.h>

/* Each row in place takes a pointer; x86 has 16 registers for them all. */
static const int32_t max_tile_rows = 12;
static const int32_t max_tile_vectors = 4;
static const int64_t max_trips = INT64_C(1) << 40;
/* What an unknown trip count is taken for. */
static const int64_t unknown_trips = 1024;
/* A block of C: rows amortize the packing of B, columns that of A. */
static const int64_t most_rows = 128;
static const int64_t most_columns = 1024;
/* Blocks are private to a thread and lie on its stack. */
static const int64_t most_sum_bytes = INT64_C(192) * 1024;
static const int64_t most_packed_bytes = INT64_C(256) * 1024;
static const int64_t least_block = INT64_C(64) * 64;

/* Accumulators that just cover the latency wait for every load that is late. */
static const double latency_slack = 1.25;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/* Points of all blocks of one loop, each rounded up to whole units. */
static int64_t padded_points(int64_t trips, int64_t tile, int64_t inner,
                             int64_t unit) {
  int64_t rest = trips % tile;
  return trips / tile * round_up(tile * inner, unit) +
         round_up(rest * inner, unit);
}

static int64_t gcd_of(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* The tile that loses fewest points: the even one, or one of whole units from
 * half of that to `most`; of equals the one next to the even one. */
static int64_t best_tile(int64_t trips, int64_t most, int64_t inner,
                         int64_t unit) {
  int64_t even = ceil_div(trips, ceil_div(trips, most));
  int64_t best = even;
  int64_t fewest = padded_points(trips, even, inner, unit);
  int64_t quantum = unit / gcd_of(unit, inner);
  int64_t start = round_up(even, quantum);
  for (int64_t i = 0; start + i <= most || 2 * (start - i) >= even;
       i += quantum) {
    const int64_t tiles[] = {start + i, start - i};
    for (int t = 0; t < 2; ++t) {
      if (tiles[t] > most || tiles[t] < quantum)
        continue;
      int64_t points = padded_points(trips, tiles[t], inner, unit);
      /* Half a percent is not worth uneven blocks. */
      if (points >= fewest - fewest / 200)
        continue;
      fewest = points;
      best = tiles[t];
    }
  }
  return best;
}

bool pn_model_cut_loops(const pn_model_loops_t *loops, int64_t limit,
                        int64_t unit, pn_model_block_t *out_block) {
  *out_block = (pn_model_block_t){0};
  if (loops->count < 1 || loops->count > PN_MODEL_MAX_LOOPS || limit < 1 ||
      limit > max_trips || unit < 1 || unit > 4096)
    return false;
  int64_t inner = 1;
  for (int32_t level = loops->count - 1;; --level) {
    int64_t trips = loops->trips[level];
    if (trips < 0 || trips > max_trips)
      return false;
    bool fits = trips > 0 && trips <= limit / inner;
    if (fits && level > 0) {
      inner *= trips;
      continue;
    }
    int64_t most = max_i64(limit / inner, 1);
    int64_t tile = fits        ? trips
                   : trips > 0 ? best_tile(trips, most, inner, unit)
                               : most;
    *out_block = (pn_model_block_t){level, tile, inner, tile * inner};
    return true;
  }
}

static double product_of(const pn_model_loops_t *loops) {
  double product = 1;
  for (int32_t i = 0; i < loops->count; ++i)
    product *= (double)(loops->trips[i] > 0 ? loops->trips[i] : unknown_trips);
  return product;
}

/* Units of `unit` points over all blocks of a group. */
static double count_units(const pn_model_loops_t *loops,
                          const pn_model_block_t *block, int64_t unit) {
  double blocks = 1;
  for (int32_t i = 0; i < block->level; ++i)
    blocks *= (double)(loops->trips[i] > 0 ? loops->trips[i] : unknown_trips);
  int64_t trips = loops->trips[block->level];
  return blocks *
         (double)padded_points(trips > 0 ? trips : unknown_trips, block->tile,
                               block->inner, unit) /
         (double)unit;
}

/* Blocks of a group. */
static double count_blocks(const pn_model_loops_t *loops,
                           const pn_model_block_t *block) {
  double blocks = 1;
  for (int32_t i = 0; i < block->level; ++i)
    blocks *= (double)(loops->trips[i] > 0 ? loops->trips[i] : unknown_trips);
  int64_t trips = loops->trips[block->level];
  return blocks *
         (double)ceil_div(trips > 0 ? trips : unknown_trips, block->tile);
}

static int64_t share_bytes(const pn_target_cache_t *cache) {
  if (cache->size_kib <= 0 || cache->shared_by_cores <= 0)
    return 0;
  return (int64_t)cache->size_kib * 1024 / cache->shared_by_cores;
}

/* Cuts m and n for a register tile, k being cut. */
static bool cut_result(const pn_model_core_t *core,
                       const pn_model_contraction_t *contraction,
                       const pn_model_tile_t *tile,
                       pn_model_contraction_plan_t *plan) {
  int64_t l2 = share_bytes(&core->caches[1]);
  int64_t elements = min_i64(l2 / 4, most_sum_bytes) / core->accumulator_bytes;
  int64_t packed = min_i64(l2 / 2, most_packed_bytes) /
                   (plan->k.points * core->accumulator_bytes);
  double batch =
      contraction->batch > 0 ? (double)contraction->batch : unknown_trips;
  double wanted = 4 * (double)max_i64(contraction->cores, 1);
  for (;; elements /= 2) {
    int64_t rows = max_i64(most_rows, tile->mr);
    /* Square blocks where the budget is small. */
    while (rows > 16 && rows * rows > elements)
      rows /= 2;
    rows = max_i64(rows / tile->mr, 1) * tile->mr;
    if (!pn_model_cut_loops(&contraction->m, rows, tile->mr, &plan->m))
      return false;
    int64_t columns = elements / round_up(plan->m.points, tile->mr);
    columns = min_i64(min_i64(columns, packed), most_columns);
    columns = max_i64(columns / tile->nr, 1) * tile->nr;
    if (!pn_model_cut_loops(&contraction->n, columns, tile->nr, &plan->n))
      return false;
    double blocks = batch * count_blocks(&contraction->m, &plan->m) *
                    count_blocks(&contraction->n, &plan->n);
    if (blocks >= wanted || elements / 2 < least_block)
      return true;
  }
}

/* The block of k: from the tile and L1 alone. */
static bool cut_depth(const pn_model_core_t *core,
                      const pn_model_contraction_t *contraction,
                      const pn_model_tile_t *tile, pn_model_block_t *out_k) {
  int64_t row = (int64_t)core->accumulator_bytes * (tile->nr + 2 * tile->mr);
  int64_t most = share_bytes(&core->caches[0]) * 3 / 4 / row;
  return pn_model_cut_loops(&contraction->k, max_i64(most, 16), core->lanes,
                            out_k);
}

bool pn_model_contraction_plan(const pn_model_core_t *core,
                               const pn_model_contraction_t *contraction,
                               pn_model_contraction_plan_t *out_plan) {
  *out_plan = (pn_model_contraction_plan_t){0};
  bool found = false;
  double best_loads = 0;
  double depth = product_of(&contraction->k);
  double useful = product_of(&contraction->m) * product_of(&contraction->n);
  for (int32_t vectors = 1; vectors <= max_tile_vectors; ++vectors)
    for (int32_t mr = 1; mr <= max_tile_rows; ++mr) {
      pn_model_contraction_plan_t plan = {0};
      if (!pn_model_tile_cost(core, mr, vectors, &plan.tile))
        continue;
      if (!cut_depth(core, contraction, &plan.tile, &plan.k) ||
          !cut_result(core, contraction, &plan.tile, &plan))
        return false;
      double rows = count_units(&contraction->m, &plan.m, mr);
      double columns = count_units(&contraction->n, &plan.n, plan.tile.nr);
      double tiles = rows * columns;
      double cycles = fmax(plan.tile.cycles_per_k,
                           latency_slack * core->fma_latency_cycles);
      plan.fma_cycles = tiles * depth * cycles;
      plan.useful_share = useful / (tiles * mr * plan.tile.nr);
      double loads = tiles * (mr + vectors);
      bool better = !found || plan.fma_cycles < out_plan->fma_cycles * 0.99 ||
                    (plan.fma_cycles <= out_plan->fma_cycles * 1.01 &&
                     loads < best_loads);
      if (!better)
        continue;
      found = true;
      best_loads = loads;
      *out_plan = plan;
    }
  return found;
}

int64_t pn_model_row_stride(int64_t points, int64_t unit, int32_t element_bytes,
                            int32_t line_bytes) {
  int64_t stride = round_up(points, unit);
  int64_t line = element_bytes > 0 ? line_bytes / element_bytes : 0;
  if (stride <= unit || line <= 0)
    return stride;
  int64_t lines = ceil_div(stride, line);
  return (lines | 1) * line;
}
