/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/ReductionModel.c: see the header.
 */
#include "Target/ReductionModel.h"

#include <math.h>

/* Where a number of iterations is not known. */
static const int64_t unknown_trips = 1024;
static const int64_t unknown_columns = 1024;

/* Sums of a part are written and read once more. */
static const int64_t least_part_depth = 64, unknown_part_depth = 256;
static const int64_t enough_runs = 8, wanted_runs = 16;

/* Rows whose sums stay in registers beside a vector and a factor. */
static const int64_t most_jam = 8;

/* Bytes of a row of B in a run: pages and prefetched streams begin anew. */
static const int64_t least_run_bytes = 16384;

static const int64_t most_trips = INT32_MAX;

static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Iterations of the loops from `begin` to `end`; saturates. */
static int64_t count_trips(const pn_model_loops_t *loops, int32_t begin,
                           int32_t end) {
  int64_t count = 1;
  for (int32_t i = begin; i < end; ++i) {
    int64_t trips = loops->trips[i] > 0 ? loops->trips[i] : unknown_trips;
    count = trips > most_trips / count ? most_trips : count * trips;
  }
  return count;
}

/* Cycles of a multiply-add, jam rows by unroll rows of B. */
static double tile_cycles(const pn_model_core_t *core, int32_t jam,
                          int32_t unroll) {
  int32_t fmas = jam * unroll;
  /* Factors beyond the registers are loaded again for each column. */
  int32_t spilled = fmas + jam + 2 - core->vector_registers;
  int32_t loads = jam + unroll + (spilled > 0 ? spilled : 0);
  return fmax((double)fmas / core->fma_ports,
              fmax((double)loads / core->load_ports, (double)jam)) /
         fmas;
}

static int32_t best_unroll(const pn_model_core_t *core, int32_t jam) {
  return tile_cycles(core, jam, 8) < tile_cycles(core, jam, 4) * 0.99 ? 8 : 4;
}

static void choose_tile(const pn_model_core_t *core,
                        const pn_model_reduction_t *reduction,
                        pn_model_reduction_plan_t *plan) {
  plan->unroll = reduction->stores ? 4 : 8;
  plan->jam = 1;
  if (!reduction->multiplies)
    return;
  int64_t rows = reduction->rows;
  int32_t jam = (int32_t)min_i64(rows, most_jam);
  if (rows > most_jam || reduction->rows_vary) {
    /* Memory rests in some turns: multiply as fast as can be. */
    double best = INFINITY;
    for (int32_t j = 1; j <= min_i64(rows, most_jam); ++j) {
      double cycles = tile_cycles(core, j, best_unroll(core, j));
      if (cycles <= best * 1.001) {
        best = cycles;
        jam = j;
      }
    }
    jam = (int32_t)divide_up(rows, divide_up(rows, jam));
  }
  if (reduction->rows_vary)
    while (jam & (jam - 1))
      jam &= jam - 1;
  plan->jam = jam;
  plan->unroll = best_unroll(core, jam);
}

/* Runs and chunks. */
static bool choose_columns(const pn_model_core_t *core,
                           const pn_model_reduction_t *reduction,
                           pn_model_reduction_plan_t *plan) {
  int64_t l1 = (int64_t)core->caches[0].size_kib * 1024;
  int64_t l2 = (int64_t)core->caches[1].size_kib * 1024;
  int64_t sums = reduction->rows * reduction->sum_bytes;
  bool shares = reduction->rows > plan->jam;
  const pn_model_loops_t *loops = &reduction->columns;
  int64_t lane_trips = loops->trips[loops->count - 1];
  int64_t columns = (shares ? l2 / 4 : l1 / 2) / sums;
  if (reduction->rows > 1)
    columns =
        max_i64(columns, min_i64(l2 / 4 / sums,
                                 least_run_bytes / reduction->stream_bytes));
  if (lane_trips == 0)
    columns = min_i64(columns, unknown_columns);
  int64_t unit = max_i64(core->lanes, 1) * 4;
  columns = max_i64(columns / unit, 1) * unit;
  if (!pn_model_cut_loops(loops, columns, max_i64(core->lanes, 1),
                          &plan->columns))
    return false;
  if (!shares)
    return true;
  int64_t bytes = sums + 2 * (int64_t)plan->unroll * reduction->stream_bytes;
  int64_t chunk = max_i64(l2 / 2 / bytes / unit, 1) * unit;
  bool is_lane = plan->columns.level + 1 == loops->count;
  int64_t length = is_lane ? plan->columns.tile : lane_trips;
  if (length <= chunk)
    return true;
  int64_t pieces = divide_up(length, chunk);
  plan->chunk = divide_up(divide_up(length, pieces), unit) * unit;
  if (is_lane && plan->columns.tile != lane_trips) {
    plan->columns.tile = pieces * plan->chunk;
    plan->columns.points = plan->columns.tile;
  }
  return true;
}

/* Iterations of the outermost reduction loop with sums of their own. */
static int64_t choose_part(const pn_model_core_t *core,
                           const pn_model_reduction_t *reduction,
                           const pn_model_reduction_plan_t *plan) {
  const pn_model_loops_t *loops = &reduction->columns;
  int64_t level = loops->trips[plan->columns.level];
  int64_t batch = reduction->batch > 0 ? reduction->batch : unknown_trips;
  int64_t runs =
      divide_up(level > 0 ? level : unknown_trips, plan->columns.tile);
  runs = min_i64(runs * count_trips(loops, 0, plan->columns.level), most_trips);
  runs = min_i64(runs * batch, most_trips);
  if (runs >= enough_runs)
    return 0;
  int64_t inner =
      reduction->inner_depth > 0 ? reduction->inner_depth : unknown_trips;
  double bytes = (double)batch * (double)inner * reduction->stream_bytes *
                 (double)count_trips(loops, 0, loops->count);
  int64_t depth =
      reduction->outer_depth > 0 ? least_part_depth : unknown_part_depth;
  double least_bytes = (double)core->caches[1].size_kib * 512;
  int64_t part =
      max_i64(divide_up(depth, inner), (int64_t)ceil(least_bytes / bytes));
  if (reduction->outer_depth > 0)
    part = max_i64(
        part, divide_up(reduction->outer_depth, divide_up(wanted_runs, runs)));
  part = divide_up(part, plan->unroll) * plan->unroll;
  bool single = reduction->outer_depth > 0 && reduction->outer_depth < 2 * part;
  return single ? 0 : part;
}

bool pn_model_reduction_plan(const pn_model_core_t *core,
                             const pn_model_reduction_t *reduction,
                             pn_model_reduction_plan_t *out_plan) {
  *out_plan = (pn_model_reduction_plan_t){0};
  const pn_model_loops_t *loops = &reduction->columns;
  if (loops->count < 1 || loops->count > PN_MODEL_MAX_LOOPS)
    return false;
  if (core->vector_registers < 1 || core->fma_ports < 1 ||
      core->load_ports < 1 || core->caches[0].size_kib < 1 ||
      core->caches[1].size_kib < 1 || reduction->rows < 1 ||
      reduction->rows > PN_MODEL_STREAM_ROWS || reduction->batch < 0 ||
      reduction->batch > most_trips || reduction->stream_bytes < 1 ||
      reduction->stream_bytes > 4096 || reduction->sum_bytes < 1 ||
      reduction->sum_bytes > 4096 || reduction->outer_depth < 0 ||
      reduction->outer_depth > most_trips || reduction->inner_depth < 0 ||
      reduction->inner_depth > most_trips)
    return false;
  pn_model_reduction_plan_t plan = {0};
  choose_tile(core, reduction, &plan);
  if (!choose_columns(core, reduction, &plan))
    return false;
  plan.prefetch = reduction->rows > plan.jam;
  plan.part = choose_part(core, reduction, &plan);
  *out_plan = plan;
  return true;
}

bool pn_model_jam(const pn_model_core_t *core, int64_t rows, int64_t columns,
                  int32_t sums, int32_t *out_rows, int32_t *out_columns) {
  *out_rows = *out_columns = 0;
  if (core->vector_registers < 1 || rows < 1 || columns < 0 || sums < 1 ||
      sums > 64)
    return false;
  int32_t most_columns = columns > 0 ? (int32_t)min_i64(columns, 4) : 4;
  int32_t most_rows = (int32_t)min_i64(rows, 4);
  double best = INFINITY;
  for (int32_t r = 1; r <= most_rows; r *= 2)
    for (int32_t c = 1; c <= most_columns; ++c) {
      if (r * c > 1 && r * c * sums + c + 2 > core->vector_registers)
        continue;
      double loads = (double)(r + c) / (r * c);
      if (loads < best || (loads <= best && c > *out_columns)) {
        best = loads;
        *out_rows = r;
        *out_columns = c;
      }
    }
  return true;
}
