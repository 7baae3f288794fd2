/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/ContractionModel.c: see the header for formulas and sources. */

#include "Target/ContractionModel.h"

#include <math.h>

/* Rows of a tile that columns stream by are packed, an even distance apart. */
static const int32_t max_stream_rows = 16;
static const int32_t max_tile_vectors = 4;
static const int64_t max_trips = INT64_C(1) << 40;
/* What an unknown trip count is taken for. */
static const int64_t unknown_trips = 1024;
/* Tiles of rows that ask for all of the next panel where rows may be few. */
static const int64_t few_tiles = 3;
/* Bounds of a loop that moves, up to which each is looked at. */
static const int64_t most_moves = 1024;
/* Points of k that blocks are whole multiples of: rows that are packed
 * together, and steps of a micro-kernel. */
static const int32_t depth_unit = 8;
/* Bytes of a stream of panels that are under way. */
static const int64_t lead_bytes = 8192;
/* A block of C: rows amortize the packing of B, columns that of A. */
static const int64_t most_rows = 128;
static const int64_t most_columns = 1024;
/* A batch: rows of a number that is not known are often as few. */
static const int64_t batch_rows = 8;
/* Parts of a reduction are worth a task and sums of their own. */
static const double least_part_depth = 512, least_part_work = 1 << 19;
/* Packed columns of so many times L2 are in memory; up to so many rows to pack
 * these is a hundredth of the product or more; and as many blocks of columns
 * for each core leave all cores alike to do. */
static const double far_caches = 32, most_far_rows = 2048, least_far_blocks = 8;
/* What may be asked for: more than any cache of one core holds. */
static const int64_t most_asked_bytes = INT64_C(4) << 20;
/* Blocks are private to a thread and lie on its stack. */
static const int64_t most_sum_bytes = INT64_C(192) * 1024;
static const int64_t most_packed_bytes = INT64_C(256) * 1024;
static const int64_t least_block = INT64_C(64) * 64;
/* Cycles of multiply-adds for an element of the result up to which the memory
 * that it is written to has a say. */
static const double most_written_cycles = 8;

/* Micro-tiles of rows that then share a panel of columns, from this part of L1
 * on: shorter ones come from L2 in time. */
static const int64_t tiles_along = 2, least_shared_part = 8;

/* Cycles that a micro-tile takes beside its multiply-adds in each block of k:
 * where it begins, sums that are added to and stored, a loop whose end is not
 * foreseen. */
static const double tile_cycles = 64;
/* More where the last tile of a block has fewer rows, and where it has fewer
 * columns and k is one block: how many there are is asked for. */
static const double uneven_tile_cycles = 16;
/* Bytes of short sums that then pass through memory in a cycle. */
static const double passing_bytes = 32;
/* Tiles whose cycles differ by less count as equal: fewer loads win, and with
 * them fewer rows that come from L2. */
static const double tie_share = 0.015;
/* Accumulators that just cover the latency wait for every load that is late. */
static const double latency_slack = 1.25;
/* What few rows wait for panels that come from memory with each block of k,
 * beside those of one stream: 13 rows of 4096 x 4096 take 3.2 ms in two tiles
 * and 2.3 in one. */
static const double wait_share = 0.1;
/* What smaller blocks, which read rows more often, have to win by being even.
 */
static const double least_evening = 0.05;

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
 * half of that to `most`; of equals the one next to the even one, and that of
 * whole units, which leaves a rest in the last block alone. */
static int64_t best_tile(int64_t trips, int64_t most, int64_t inner,
                         int64_t unit) {
  int64_t even = ceil_div(trips, ceil_div(trips, most));
  int64_t best = even;
  int64_t fewest = padded_points(trips, even, inner, unit);
  int64_t quantum = unit / gcd_of(unit, inner);
  int64_t start = round_up(even, quantum);
  if (start <= most && padded_points(trips, start, inner, unit) <= fewest) {
    fewest = padded_points(trips, start, inner, unit);
    best = start;
  }
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

/* A block of exactly `points`, or of all there are. */
static bool cut_exactly(const pn_model_loops_t *loops, int64_t points,
                        pn_model_block_t *out_block) {
  *out_block = (pn_model_block_t){0};
  if (loops->count < 1 || loops->count > PN_MODEL_MAX_LOOPS || points < 1 ||
      points > max_trips)
    return false;
  int64_t inner = 1;
  for (int32_t level = loops->count - 1;; --level) {
    int64_t trips = loops->trips[level];
    if (trips < 0 || trips > max_trips || points % inner != 0)
      return false;
    bool fits = trips > 0 && points / inner >= trips;
    if (fits && level > 0) {
      inner *= trips;
      continue;
    }
    int64_t tile = fits ? trips : points / inner;
    if (tile < 1)
      return false;
    *out_block = (pn_model_block_t){level, tile, inner, tile * inner};
    return true;
  }
}

pn_model_loops_t
pn_model_depth_points(const pn_model_contraction_t *contraction) {
  pn_model_loops_t points = contraction->k;
  if (contraction->step > 1 && points.count > 0 &&
      points.count <= PN_MODEL_MAX_LOOPS) {
    int64_t *trips = &points.trips[points.count - 1];
    *trips = *trips > 0 ? ceil_div(*trips, contraction->step) : *trips;
  }
  return points;
}

static int64_t assumed_trips(int64_t trips) {
  return trips > 0 ? trips : unknown_trips;
}

/* Iterations of the `count` outermost loops. */
static double product_of_outer(const pn_model_loops_t *loops, int32_t count) {
  double product = 1;
  for (int32_t i = 0; i < count; ++i)
    product *= (double)assumed_trips(loops->trips[i]);
  return product;
}

static double product_of(const pn_model_loops_t *loops) {
  return product_of_outer(loops, loops->count);
}

/* Blocks of a group. */
static double count_blocks(const pn_model_loops_t *loops,
                           const pn_model_block_t *block) {
  return product_of_outer(loops, block->level) *
         (double)ceil_div(assumed_trips(loops->trips[block->level]),
                          block->tile);
}

/* Units of `unit` points over all blocks of a group. */
static double count_units(const pn_model_loops_t *loops,
                          const pn_model_block_t *block, int64_t unit) {
  return product_of_outer(loops, block->level) *
         (double)padded_points(assumed_trips(loops->trips[block->level]),
                               block->tile, block->inner, unit) /
         (double)unit;
}

/* Units of `unit` columns, and columns (of `unit` 1), over all blocks: in the
 * mean where their number moves. */
static double count_columns(const pn_model_contraction_t *contraction,
                            const pn_model_block_t *block, int64_t unit) {
  int64_t most = contraction->n.trips[0], step = contraction->n_step;
  int64_t fewest = contraction->n_fewest;
  if (step < 1 || fewest < 0 || most < fewest || contraction->n.count != 1 ||
      (most - fewest) / step > most_moves)
    return count_units(&contraction->n, block, unit);
  double units = 0;
  int64_t counts = 0;
  for (int64_t columns = fewest; columns <= most; columns += step, ++counts)
    units += (double)(padded_points(columns, block->tile, 1, unit) / unit);
  return counts ? units / (double)counts : 0;
}

/* Tiles of `mr` rows over all blocks, in the mean over the taps. */
static double count_row_tiles(const pn_model_contraction_t *contraction,
                              const pn_model_block_t *block, int32_t mr) {
  if (contraction->tap_count < 1)
    return count_units(&contraction->m, block, mr);
  double blocks = count_blocks(&contraction->m, block);
  double rows = product_of(&contraction->m) / blocks;
  double tiles = 0;
  for (int32_t i = 0; i < contraction->tap_count; ++i)
    tiles += ceil(rows * contraction->tap_rows[i] / mr);
  return blocks * tiles / contraction->tap_count;
}

static int64_t share_bytes(const pn_target_cache_t *cache) {
  if (cache->size_kib <= 0 || cache->shared_by_cores <= 0)
    return 0;
  return (int64_t)cache->size_kib * 1024 / cache->shared_by_cores;
}

/* The cost of a tile of registers, of either kind. */
static bool tile_cost(const pn_model_core_t *core, int32_t mr, int32_t vectors,
                      pn_model_tile_t *out_tile) {
  return core->matrix.rows > 0
             ? pn_model_matrix_tile_cost(core, mr, vectors, out_tile)
             : pn_model_tile_cost(core, mr, vectors, out_tile);
}

/* As it is asked for, or for a limit. */
static bool cut_as(const pn_model_loops_t *loops, int64_t asked, int64_t limit,
                   int64_t unit, pn_model_block_t *out_block) {
  return asked > 0 ? cut_exactly(loops, asked, out_block)
                   : pn_model_cut_loops(loops, limit, unit, out_block);
}

/* Where cores have few blocks each, but all have one: cuts m in a few more, so
 * that all get as many, if that takes no more tiles. */
static void even_out_rows(const pn_model_contraction_t *contraction,
                          pn_model_contraction_plan_t *plan) {
  if (contraction->m.count != 1 || contraction->m.trips[0] < 1)
    return;
  int64_t trips = contraction->m.trips[0], mr = plan->tile.mr;
  double others = (double)assumed_trips(contraction->batch) *
                  count_blocks(&contraction->n, &plan->n);
  double tiles = count_units(&contraction->m, &plan->m, mr);
  int64_t parts = ceil_div(trips, plan->m.tile);
  for (int64_t more = parts; more <= 2 * parts; ++more) {
    pn_model_block_t m;
    int64_t rows = round_up(ceil_div(trips, more), mr);
    if (fmod((double)more * others, contraction->cores) != 0 ||
        ceil_div(trips, rows) != more)
      continue;
    if (cut_exactly(&contraction->m, rows, &m) &&
        count_units(&contraction->m, &m, mr) <= tiles)
      plan->m = m;
    return;
  }
}

static bool is_known(const pn_model_loops_t *loops) {
  for (int32_t i = 0; i < loops->count; ++i)
    if (loops->trips[i] < 1)
      return false;
  return loops->count > 0;
}

/* Columns of the core that has most to do, all rows being alike: whole blocks
 * in turn, the last one of each row in what is left. */
static double longest_share(const pn_model_contraction_t *contraction,
                            const pn_model_block_t *m,
                            const pn_model_block_t *n) {
  double cores = (double)max_i64(contraction->cores, 1);
  double rows = (double)assumed_trips(contraction->batch) *
                count_blocks(&contraction->m, m);
  double all = product_of(&contraction->n), points = (double)n->points;
  double full = floor(all / points), whole = rows * full;
  double rest = all - full * points;
  double rounds = floor(whole / cores), left = whole - rounds * cores;
  double room = left > 0 ? (cores - left) * points : 0;
  double over = fmax(rows * rest - room, 0);
  return (rounds + (left > 0 ? 1 : 0)) * points +
         ceil(over / cores / fmax(rest, 1)) * rest;
}

/* Cuts n in somewhat smaller blocks where that leaves no core with much less to
 * do than others. */
static void even_out_columns(const pn_model_contraction_t *contraction,
                             pn_model_contraction_plan_t *plan) {
  double longest = longest_share(contraction, &plan->m, &plan->n);
  int64_t least = plan->n.points / 2, unit = plan->tile.nr;
  for (int64_t most = plan->n.points - unit; most >= least; most -= unit) {
    pn_model_block_t n;
    if (!pn_model_cut_loops(&contraction->n, most, unit, &n) ||
        n.level != plan->n.level ||
        count_units(&contraction->n, &n, unit) >
            count_units(&contraction->n, &plan->n, unit))
      continue;
    double share = longest_share(contraction, &plan->m, &n);
    if (share >= longest * (1 - least_evening))
      continue;
    longest = share;
    plan->n = n;
  }
}

/* Bytes of all packed columns of one batch. */
static double packed_bytes(const pn_model_core_t *core,
                           const pn_model_contraction_t *contraction) {
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  return product_of(&contraction->n) * product_of(&points) *
         core->accumulator_bytes;
}

/* True if one block may hold all rows, and all columns outgrow L2. */
static bool keeps_rows(const pn_model_core_t *core,
                       const pn_model_contraction_t *contraction) {
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  return is_known(&contraction->m) && is_known(&contraction->n) &&
         is_known(&points) &&
         product_of(&contraction->m) <= (double)most_rows &&
         pn_model_outgrows_l2(core, packed_bytes(core, contraction));
}

/* Cuts m and n for a register tile, k being cut. */
static bool cut_result(const pn_model_core_t *core,
                       const pn_model_contraction_t *contraction,
                       const pn_model_tiling_t *asked,
                       const pn_model_tile_t *tile,
                       pn_model_contraction_plan_t *plan) {
  int64_t l2 = share_bytes(&core->caches[1]);
  int64_t elements = min_i64(l2 / 4, most_sum_bytes) / core->accumulator_bytes;
  int64_t packed = min_i64(l2 / 2, most_packed_bytes) /
                   (plan->k.points * core->accumulator_bytes);
  double batch = (double)assumed_trips(contraction->batch);
  double wanted = 4 * (double)max_i64(contraction->cores, 1);
  bool keeps = keeps_rows(core, contraction);
  for (;; elements /= 2) {
    int64_t rows =
        keeps ? round_up(most_rows, tile->mr) : max_i64(most_rows, tile->mr);
    /* Square blocks where the budget is small. */
    while (!keeps && rows > 16 && rows * rows > elements)
      rows /= 2;
    rows = max_i64(rows / tile->mr, 1) * tile->mr;
    if (!cut_as(&contraction->m, asked->rows, rows, tile->mr, &plan->m))
      return false;
    int64_t columns = elements / round_up(plan->m.points, tile->mr);
    columns = min_i64(min_i64(columns, packed), most_columns);
    columns = max_i64(columns / tile->nr, 1) * tile->nr;
    if (!cut_as(&contraction->n, asked->columns, columns, tile->nr, &plan->n))
      return false;
    double blocks = batch * count_blocks(&contraction->m, &plan->m) *
                    count_blocks(&contraction->n, &plan->n);
    if (blocks < wanted && elements / 2 >= least_block)
      continue;
    bool is_few = blocks < wanted;
    if (asked->rows == 0 && is_few && !keeps && blocks > contraction->cores)
      even_out_rows(contraction, plan);
    if (asked->columns == 0 && is_few && blocks >= contraction->cores &&
        is_known(&contraction->n))
      even_out_columns(contraction, plan);
    return true;
  }
}

/* True if packed columns are there before the call, and come in panels that
 * tiles of vectors multiply. */
static bool has_panels(const pn_model_core_t *core,
                       const pn_model_contraction_t *contraction) {
  return contraction->packs_ahead && contraction->is_bound &&
         contraction->tap_count < 1 && core->matrix.rows < 1;
}

/* True if a tile of `mr` rows has all rows, and packed columns are there before
 * the call: each of their elements is used once. */
static bool streams_panels(const pn_model_core_t *core,
                           const pn_model_contraction_t *contraction,
                           int32_t mr) {
  return has_panels(core, contraction) && is_known(&contraction->m) &&
         product_of(&contraction->m) <= mr;
}

/* True if rows, whose number is not known, may be few, so that panels of
 * columns are one stream. */
static bool may_stream_panels(const pn_model_core_t *core,
                              const pn_model_contraction_t *contraction) {
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  return has_panels(core, contraction) && contraction->m.count == 1 &&
         !is_known(&contraction->m) && contraction->n.count == 1 &&
         is_known(&contraction->n) && is_known(&points) &&
         packed_bytes(core, contraction) >
             (double)share_bytes(&core->caches[0]);
}

/* Points of k of which blocks are whole multiples where they can be. */
static int32_t unit_of_depth(const pn_model_core_t *core,
                             const pn_model_contraction_t *contraction) {
  if (core->matrix.rows > 0)
    return core->matrix.words;
  if (contraction->vectors_along_k || contraction->step > 1)
    return core->lanes;
  return core->lanes < depth_unit ? core->lanes : depth_unit;
}

/* The block of k: from the tile and L1 alone. Of eight ways one is left to what
 * passes by: sums and the result. Where columns stream by, L2 holds the rows.
 */
static bool cut_depth(const pn_model_core_t *core,
                      const pn_model_contraction_t *contraction, int64_t asked,
                      const pn_model_tile_t *tile, pn_model_block_t *out_k) {
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  bool is_matrix = core->matrix.rows > 0;
  int64_t row = (int64_t)core->accumulator_bytes *
                (tile->nr + (is_matrix ? 1 : 2) * tile->mr);
  int64_t most = share_bytes(&core->caches[0]) * 7 / 8 / row;
  if (streams_panels(core, contraction, tile->mr))
    most = max_i64(most, share_bytes(&core->caches[1]) / 4 /
                             (core->accumulator_bytes * tile->mr));
  int32_t unit = unit_of_depth(core, contraction);
  if (!cut_as(&points, asked, max_i64(most, 16), unit, out_k))
    return false;
  /* Blocks of whole tiles are filled up at the end alone; of others, the steps
   * of which a loop takes several come out even. */
  int64_t whole = round_up(out_k->points, unit);
  if (whole > max_i64(most, 16))
    whole -= unit;
  pn_model_block_t block;
  double blocks = count_blocks(&points, out_k);
  if (asked == 0 && whole > 0 && blocks > 1 &&
      cut_exactly(&points, whole, &block) && block.points % unit == 0 &&
      (is_matrix || count_blocks(&points, &block) <= blocks))
    *out_k = block;
  return true;
}

/* Cuts m and n anew where writing the result counts: a few micro-tiles, then
 * the next ones along the rows, not down the rows of a block. */
static void cut_along_rows(const pn_model_core_t *core,
                           const pn_model_contraction_t *contraction,
                           pn_model_contraction_plan_t *plan) {
  const pn_model_tile_t *tile = &plan->tile;
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  double depth = product_of(&points);
  int64_t l2 = share_bytes(&core->caches[1]);
  double bytes = (double)assumed_trips(contraction->batch) *
                 product_of(&contraction->m) * product_of(&contraction->n) *
                 core->accumulator_bytes;
  pn_model_block_t m, n;
  if (!contraction->packs_ahead || (double)plan->k.points != depth ||
      depth * tile->cycles_per_k > most_written_cycles * tile->mr * tile->nr ||
      bytes <= (double)l2 || count_blocks(&contraction->n, &plan->n) <= 1)
    return;
  int64_t columns = min_i64(l2 / 2, most_packed_bytes) /
                    (plan->k.points * core->accumulator_bytes);
  columns = min_i64(columns, most_columns) / tile->nr * tile->nr;
  if (columns <= plan->n.points ||
      !pn_model_cut_loops(&contraction->n, columns, tile->nr, &n))
    return;
  double others = (double)assumed_trips(contraction->batch) *
                  count_blocks(&contraction->n, &n);
  double wanted = 4 * (double)max_i64(contraction->cores, 1);
  int64_t panel = plan->k.points * tile->nr * core->accumulator_bytes;
  bool shares = panel >= share_bytes(&core->caches[0]) / least_shared_part;
  for (int64_t tiles = shares ? tiles_along : 1; tiles > 0; --tiles) {
    if (!pn_model_cut_loops(&contraction->m, tiles * tile->mr, tile->mr, &m) ||
        m.points % tile->mr != 0 ||
        (tiles > 1 && others * count_blocks(&contraction->m, &m) < wanted))
      continue;
    plan->m = m;
    plan->n = n;
    return;
  }
}

/* Why no plan may be as it is asked for; NULL if there is no reason. */
static const char *why_not_asked(const pn_model_core_t *core,
                                 const pn_model_contraction_t *contraction,
                                 const pn_model_tiling_t *asked) {
  pn_model_tile_t tile;
  pn_model_block_t block;
  if ((asked->mr == 0) != (asked->vectors == 0))
    return "a tile needs both rows and vectors";
  if (asked->mr != 0 && core->matrix.rows > 0)
    return "tiles of matrix registers are the model's";
  if (asked->mr < 0 || asked->mr > PN_MODEL_MAX_PLACES || asked->vectors < 0 ||
      asked->vectors > max_tile_vectors)
    return "a tile has 1 to 12 rows and 1 to 4 vectors";
  const pn_model_loops_t depth = pn_model_depth_points(contraction);
  if (asked->mr > 0 &&
      !pn_model_tile_cost(core, asked->mr, asked->vectors, &tile))
    return "the tile takes more registers than there are";
  if (asked->rows < 0 || asked->columns < 0 || asked->depth < 0)
    return "a block has at least one point";
  if ((asked->rows > 0 && !cut_exactly(&contraction->m, asked->rows, &block)) ||
      (asked->columns > 0 &&
       !cut_exactly(&contraction->n, asked->columns, &block)) ||
      (asked->depth > 0 && !cut_exactly(&depth, asked->depth, &block)))
    return "a block is not whole iterations of its loops";
  return NULL;
}

/* True if the buffers of a block that was asked for are not too large. */
static bool fits_asked(const pn_model_core_t *core,
                       const pn_model_contraction_plan_t *plan) {
  double most = (double)most_asked_bytes / core->accumulator_bytes;
  double m = (double)round_up(plan->m.points, plan->tile.mr);
  double n = (double)round_up(plan->n.points, plan->tile.nr);
  double k = (double)plan->k.points;
  return m * n <= most && m * k <= most && n * k <= most;
}

/* What plans are compared by; of equals the next counts. */
typedef struct plan_cost {
  double cycles;
  double batch_cycles; /* those of a batch, where rows may be few; else 0 */
  double loads;
} plan_cost_t;

static bool costs_less(const plan_cost_t *a, const plan_cost_t *b) {
  if (fabs(a->cycles - b->cycles) > b->cycles * tie_share)
    return a->cycles < b->cycles;
  if (fabs(a->batch_cycles - b->batch_cycles) > b->batch_cycles * tie_share)
    return a->batch_cycles < b->batch_cycles;
  return a->loads < b->loads;
}

/* True if the last tile of some block has fewer points than others. */
static bool has_uneven_tiles(const pn_model_loops_t *loops,
                             const pn_model_block_t *block, int32_t unit) {
  return block->points % unit != 0 ||
         (is_known(loops) &&
          count_units(loops, block, unit) * unit > product_of(loops));
}

/* Cycles that a tile takes for each point of depth. */
static double cycles_per_point(const pn_model_core_t *core,
                               const pn_model_tile_t *tile) {
  if (core->matrix.rows > 0)
    return tile->cycles_per_k;
  return fmax(tile->cycles_per_k, latency_slack * core->fma_latency_cycles);
}

/* The plan for one register tile. */
static bool plan_tile(const pn_model_core_t *core,
                      const pn_model_contraction_t *contraction,
                      const pn_model_tiling_t *asked,
                      pn_model_contraction_plan_t *plan,
                      plan_cost_t *out_cost) {
  const pn_model_tile_t *tile = &plan->tile;
  if (!cut_depth(core, contraction, asked->depth, tile, &plan->k) ||
      !cut_result(core, contraction, asked, tile, plan))
    return false;
  if (!asked->rows && !asked->columns)
    cut_along_rows(core, contraction, plan);
  double tiles = count_row_tiles(contraction, &plan->m, tile->mr) *
                 count_columns(contraction, &plan->n, tile->nr);
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  bool is_matrix = core->matrix.rows > 0;
  double depth = product_of(&points);
  if (is_matrix)
    depth =
        count_units(&points, &plan->k, core->matrix.words) * core->matrix.words;
  double step = contraction->step > 1 ? contraction->step : 1;
  double useful = product_of(&contraction->m) *
                  count_columns(contraction, &plan->n, 1) *
                  product_of(&contraction->k);
  double cycles = cycles_per_point(core, tile);
  plan->fma_cycles = tiles * depth * cycles;
  plan->streams = streams_panels(core, contraction, tile->mr) &&
                  is_known(&contraction->n) && is_known(&points) &&
                  (double)plan->k.points >= product_of(&points);
  plan->useful_share = useful / (tiles * tile->mr * tile->nr * depth * step);
  double ends = tile_cycles;
  int uneven = has_uneven_tiles(&contraction->m, &plan->m, tile->mr);
  if (count_blocks(&points, &plan->k) <= 1)
    uneven += has_uneven_tiles(&contraction->n, &plan->n, tile->nr);
  bool passes = uneven && depth <= PN_MODEL_SHORT_DEPTH && !is_matrix;
  double passed = passes ? (double)tile->mr * tile->nr *
                               core->accumulator_bytes / passing_bytes
                         : 0;
  ends += fmax(uneven * uneven_tile_cycles, passed);
  *out_cost = (plan_cost_t){0};
  out_cost->cycles =
      plan->fma_cycles + tiles * count_blocks(&points, &plan->k) * ends;
  /* Few rows wait for columns from memory, less so for those of a stream. */
  if (contraction->is_bound && !plan->streams && is_known(&contraction->m) &&
      product_of(&contraction->m) <= max_stream_rows &&
      packed_bytes(core, contraction) > (double)share_bytes(&core->caches[1]))
    out_cost->cycles *= 1 + wait_share;
  double rows = is_matrix ? tile->mr / core->matrix.rows : tile->mr;
  out_cost->loads = tiles * (rows + tile->vectors);
  if (may_stream_panels(core, contraction))
    out_cost->batch_cycles = (double)ceil_div(batch_rows, tile->mr) * cycles *
                             count_columns(contraction, &plan->n, tile->nr);
  return true;
}

bool pn_model_contraction_plan_as(const pn_model_core_t *core,
                                  const pn_model_contraction_t *contraction,
                                  const pn_model_tiling_t *tiling,
                                  pn_model_contraction_plan_t *out_plan,
                                  const char **out_reason) {
  *out_plan = (pn_model_contraction_plan_t){0};
  *out_reason = why_not_asked(core, contraction, tiling);
  if (*out_reason)
    return false;
  bool found = false;
  plan_cost_t best = {0};
  int32_t unit = (int32_t)min_i64(max_i64(core->matrix.rows, 1), 4096);
  for (int32_t vectors = 1; vectors <= max_tile_vectors; ++vectors)
    for (int32_t units = 1; units <= max_stream_rows; ++units) {
      pn_model_contraction_plan_t plan = {0};
      int32_t mr = units * unit;
      bool is_other =
          tiling->mr > 0 && (mr != tiling->mr || vectors != tiling->vectors);
      if (units > PN_MODEL_MAX_PLACES && !streams_panels(core, contraction, mr))
        continue;
      if (is_other || !tile_cost(core, mr, vectors, &plan.tile))
        continue;
      plan_cost_t cost = {0};
      if (!plan_tile(core, contraction, tiling, &plan, &cost))
        return false;
      if (found && !costs_less(&cost, &best))
        continue;
      found = true;
      best = cost;
      *out_plan = plan;
    }
  bool is_asked = tiling->rows > 0 || tiling->columns > 0 || tiling->depth > 0;
  if (!found || !is_asked || fits_asked(core, out_plan))
    return found;
  *out_plan = (pn_model_contraction_plan_t){0};
  *out_reason = "the buffers of a block take more than 4 MiB";
  return false;
}

bool pn_model_contraction_plan(const pn_model_core_t *core,
                               const pn_model_contraction_t *contraction,
                               pn_model_contraction_plan_t *out_plan) {
  const pn_model_tiling_t nothing = {0};
  const char *reason;
  return pn_model_contraction_plan_as(core, contraction, &nothing, out_plan,
                                      &reason);
}

bool pn_model_few_rows_plan(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan,
                            pn_model_contraction_plan_t *out_few) {
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  *out_few = (pn_model_contraction_plan_t){0};
  if (plan->tile.mr < 1 || !may_stream_panels(core, contraction) ||
      !pn_model_cut_loops(&points, max_trips, 1, &out_few->k))
    return false;
  out_few->tile = plan->tile;
  out_few->n = plan->n;
  out_few->m = (pn_model_block_t){0, plan->tile.mr, 1, plan->tile.mr};
  double panels = count_columns(contraction, &plan->n, plan->tile.nr);
  out_few->fma_cycles =
      panels * product_of(&points) * cycles_per_point(core, &plan->tile);
  out_few->useful_share =
      product_of(&contraction->n) / (panels * plan->tile.nr);
  out_few->streams = true;
  return true;
}

/* True if columns that are packed as a whole would go to memory and come back,
 * which the product is not long enough to hide. */
static bool packs_far(const pn_model_core_t *core,
                      const pn_model_contraction_t *contraction) {
  return contraction->packs_ahead && !contraction->is_bound &&
         is_known(&contraction->m) && is_known(&contraction->n) &&
         is_known(&contraction->k) && contraction->batch >= 1 &&
         product_of(&contraction->m) <= most_far_rows &&
         (double)contraction->batch * packed_bytes(core, contraction) >
             far_caches * (double)share_bytes(&core->caches[1]);
}

bool pn_model_packs_by_columns(const pn_model_core_t *core,
                               const pn_model_contraction_t *contraction,
                               const pn_model_contraction_plan_t *plan) {
  return packs_far(core, contraction) &&
         (double)contraction->batch * count_blocks(&contraction->n, &plan->n) >=
             least_far_blocks * contraction->cores;
}

int64_t pn_model_depth_part(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan) {
  if (!is_known(&contraction->m) || !is_known(&contraction->n) ||
      !is_known(&contraction->k) || contraction->batch < 1)
    return 0;
  double batch = (double)contraction->batch;
  double columns = batch * count_blocks(&contraction->n, &plan->n);
  double blocks = columns * count_blocks(&contraction->m, &plan->m);
  int64_t trips = contraction->k.trips[0];
  double each =
      batch * product_of(&contraction->m) * product_of(&contraction->n);
  double depth = product_of(&contraction->k);
  double most = fmin(depth / least_part_depth, each * depth / least_part_work);
  double wanted = 0;
  if (blocks < contraction->cores)
    wanted = ceil(2.0 * contraction->cores / blocks);
  else if (packs_far(core, contraction) &&
           !pn_model_packs_by_columns(core, contraction, plan))
    wanted = ceil(least_far_blocks * contraction->cores / columns);
  /* Sums of parts take memory, too. */
  bool is_far = blocks >= contraction->cores;
  if (is_far && 8 * wanted * each > batch * depth * product_of(&contraction->n))
    return 0;
  if (is_far && wanted > fmin(most, (double)trips))
    return 0;
  int64_t parts = (int64_t)fmin(fmin(wanted, most), (double)trips);
  if (parts < 2)
    return 0;
  /* Whole vectors, so that rows are read in place and nothing is left over. */
  int64_t unit = contraction->k.count == 1
                     ? core->lanes * max_i64(contraction->step, 1)
                     : 1;
  for (int64_t more = parts; more <= 2 * parts && more <= (int64_t)most; ++more)
    if (trips % more == 0 && trips / more % unit == 0)
      return trips / more;
  int64_t part = trips / parts / unit * unit;
  /* What is left over is added up beside the sums of many parts. */
  for (int64_t more = parts; is_far && more <= 2 * parts; ++more) {
    int64_t other = trips / more / unit * unit;
    if (other > 0 && trips % other < trips % part)
      part = other;
  }
  return part;
}

int32_t pn_model_panel_share(const pn_model_core_t *core,
                             const pn_model_contraction_t *contraction,
                             const pn_model_contraction_plan_t *plan) {
  if (!is_known(&contraction->n) || !is_known(&contraction->k) ||
      core->matrix.rows > 0 || plan->tile.mr < 1)
    return 0;
  int64_t tiles = ceil_div(plan->m.points, plan->tile.mr);
  if (!is_known(&contraction->m) && tiles > few_tiles)
    tiles = few_tiles;
  if (tiles < 2 || tiles > 2 * (int64_t)plan->tile.nr)
    return 0;
  int64_t near = share_bytes(&core->caches[contraction->is_bound ? 0 : 1]);
  return packed_bytes(core, contraction) > (double)near
             ? (int32_t)ceil_div(plan->tile.nr, tiles)
             : 0;
}

int64_t pn_model_panel_lead(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan) {
  bool stays =
      packed_bytes(core, contraction) <= (double)share_bytes(&core->caches[0]);
  return plan->streams && !stays ? lead_bytes / core->accumulator_bytes : 0;
}

bool pn_model_outgrows_l2(const pn_model_core_t *core, double bytes) {
  return bytes > (double)share_bytes(&core->caches[1]);
}

bool pn_model_rows_collide(const pn_model_core_t *core, int64_t rows,
                           int64_t step_bytes) {
  const pn_target_cache_t *l1 = &core->caches[0];
  if (l1->ways < 1 || l1->line_bytes < 1 || step_bytes < 1)
    return false;
  int64_t way = share_bytes(l1) / l1->ways;
  /* Sets are told by bits of the address. */
  while (way & (way - 1))
    way &= way - 1;
  int64_t places = way / max_i64(gcd_of(way, step_bytes), l1->line_bytes);
  return places > 0 && ceil_div(rows, places) > l1->ways / 2;
}

/*===--- Tilings for a sweep ----------------------------------------------===*/

enum { MAX_CUTS = 64, STEP_PLACES = 4 };

/* Sizes of blocks of one group, ascending. */
typedef struct cut_list {
  int64_t sizes[MAX_CUTS];
  int32_t count;
} cut_list_t;

static int64_t next_parts(int64_t parts) {
  int64_t step = 1;
  while (parts >= 8 * step)
    step *= 2;
  return parts + step;
}

/* The loop that is cut is the outermost one of the group; sweeps of groups of
 * several loops keep those inside whole. */
static cut_list_t list_cuts(const pn_model_loops_t *loops, int64_t unit,
                            int64_t least) {
  cut_list_t list = {{0}, 0};
  int64_t inner = 1;
  for (int32_t i = 1; i < loops->count; ++i)
    inner *= max_i64(loops->trips[i], 1);
  int64_t trips = assumed_trips(loops->trips[0]);
  int64_t quantum = unit / gcd_of(unit, inner);
  int64_t found[MAX_CUTS], count = 0, last = 0;
  for (int64_t parts = 1; parts <= trips && count < MAX_CUTS;
       parts = next_parts(parts)) {
    int64_t tile = min_i64(round_up(ceil_div(trips, parts), quantum), trips);
    if (parts > 1 && tile * inner < least)
      break;
    if (tile != last)
      found[count++] = tile * inner;
    last = tile;
  }
  while (count > 0)
    list.sizes[list.count++] = found[--count];
  return list;
}

static cut_list_t list_rows(const pn_model_contraction_t *contraction,
                            const pn_model_tile_t *tile) {
  return list_cuts(&contraction->m, tile->mr, tile->mr);
}

static cut_list_t list_columns(const pn_model_contraction_t *contraction,
                               const pn_model_tile_t *tile) {
  return list_cuts(&contraction->n, tile->nr, tile->nr);
}

static cut_list_t list_depths(const pn_model_core_t *core,
                              const pn_model_contraction_t *contraction) {
  const pn_model_loops_t points = pn_model_depth_points(contraction);
  return list_cuts(&points, unit_of_depth(core, contraction), 16);
}

/* Tilings that are collected; only legal ones are. */
typedef struct tiling_sink {
  const pn_model_core_t *core;
  const pn_model_contraction_t *contraction;
  int64_t capacity, count;
  pn_model_tiling_t *tilings;
} tiling_sink_t;

static bool is_legal(const tiling_sink_t *sink,
                     const pn_model_tiling_t *tiling) {
  pn_model_contraction_plan_t plan;
  const char *reason;
  return pn_model_contraction_plan_as(sink->core, sink->contraction, tiling,
                                      &plan, &reason);
}

static void collect(tiling_sink_t *sink, const pn_model_tiling_t *tiling) {
  if (!is_legal(sink, tiling))
    return;
  if (sink->count < sink->capacity)
    sink->tilings[sink->count] = *tiling;
  ++sink->count;
}

static bool loops_are_sane(const pn_model_contraction_t *contraction) {
  const pn_model_loops_t *groups[] = {&contraction->m, &contraction->n,
                                      &contraction->k};
  if (contraction->tap_count < 0 || contraction->tap_count > PN_MODEL_MAX_TAPS)
    return false;
  for (int g = 0; g < 3; ++g) {
    double points = 1;
    if (groups[g]->count < 1 || groups[g]->count > PN_MODEL_MAX_LOOPS)
      return false;
    for (int32_t i = 0; i < groups[g]->count; ++i) {
      points *= (double)max_i64(groups[g]->trips[i], 1);
      if (groups[g]->trips[i] < 0 || points > (double)max_trips)
        return false;
    }
  }
  return true;
}

static int32_t most_accumulators(const pn_model_core_t *core) {
  int32_t most = 0;
  pn_model_tile_t tile;
  for (int32_t vectors = 1; vectors <= max_tile_vectors; ++vectors)
    for (int32_t mr = 1; mr <= PN_MODEL_MAX_PLACES; ++mr)
      if (pn_model_tile_cost(core, mr, vectors, &tile))
        most = mr * vectors > most ? mr * vectors : most;
  return most;
}

int64_t pn_model_list_tilings(const pn_model_core_t *core,
                              const pn_model_contraction_t *contraction,
                              int64_t capacity,
                              pn_model_tiling_t *out_tilings) {
  tiling_sink_t sink = {core, contraction, capacity, 0, out_tilings};
  if (!loops_are_sane(contraction))
    return 0;
  cut_list_t depths = list_depths(core, contraction);
  int32_t least = most_accumulators(core) < 6 ? 1 : 6;
  for (int32_t vectors = 1; vectors <= max_tile_vectors; ++vectors)
    for (int32_t mr = 1; mr <= PN_MODEL_MAX_PLACES; ++mr) {
      pn_model_tile_t tile;
      if (mr * vectors < least || !pn_model_tile_cost(core, mr, vectors, &tile))
        continue;
      cut_list_t rows = list_rows(contraction, &tile);
      cut_list_t columns = list_columns(contraction, &tile);
      for (int32_t r = 0; r < rows.count; ++r)
        for (int32_t c = 0; c < columns.count; ++c)
          for (int32_t d = 0; d < depths.count; ++d)
            collect(&sink,
                    &(pn_model_tiling_t){mr, vectors, rows.sizes[r],
                                         columns.sizes[c], depths.sizes[d]});
    }
  return sink.count;
}

/* Where `size` stands in the list, or would stand: what is below, and above. */
static void place_in(const cut_list_t *list, int64_t size, int32_t *out_below,
                     int32_t *out_above) {
  *out_below = -1;
  *out_above = list->count;
  for (int32_t i = 0; i < list->count; ++i) {
    if (list->sizes[i] < size)
      *out_below = i;
    if (list->sizes[i] > size && *out_above == list->count)
      *out_above = i;
  }
}

/* One more step along one group; false where the list ends. */
static bool step_along(const cut_list_t *list, int64_t size, int32_t places,
                       int64_t *out_size) {
  int32_t below, above;
  place_in(list, size, &below, &above);
  int32_t at = places < 0 ? below + 1 + places : above - 1 + places;
  if (at < 0 || at >= list->count)
    return false;
  *out_size = list->sizes[at];
  return true;
}

/* Whole tiles, of which all are no more than one block. */
static int64_t whole_tiles(int64_t points, int64_t unit, int64_t all) {
  return min_i64(max_i64((points + unit / 2) / unit, 1) * unit, all);
}

static void step_tile(tiling_sink_t *sink, const pn_model_tiling_t *from,
                      int32_t mr, int32_t vectors) {
  pn_model_tile_t tile;
  if ((mr == from->mr && vectors == from->vectors) ||
      !pn_model_tile_cost(sink->core, mr, vectors, &tile))
    return;
  pn_model_tiling_t to = *from;
  to.mr = mr;
  to.vectors = vectors;
  if (sink->contraction->m.count == 1)
    to.rows = whole_tiles(to.rows, mr,
                          max_i64(sink->contraction->m.trips[0], to.rows));
  if (sink->contraction->n.count == 1)
    to.columns =
        whole_tiles(to.columns, tile.nr,
                    max_i64(sink->contraction->n.trips[0], to.columns));
  for (int64_t i = 0; i < sink->count && i < sink->capacity; ++i)
    if (sink->tilings[i].mr == mr && sink->tilings[i].vectors == vectors)
      return;
  collect(sink, &to);
}

int64_t pn_model_list_steps(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan,
                            int64_t capacity, pn_model_tiling_t *out_tilings) {
  tiling_sink_t sink = {core, contraction, capacity, 0, out_tilings};
  const pn_model_tiling_t from = {plan->tile.mr, plan->tile.vectors,
                                  plan->m.points, plan->n.points,
                                  plan->k.points};
  if (!loops_are_sane(contraction))
    return 0;
  cut_list_t rows = list_rows(contraction, &plan->tile);
  cut_list_t columns = list_columns(contraction, &plan->tile);
  cut_list_t depths = list_depths(core, contraction);
  for (int32_t places = 1; places <= STEP_PLACES; ++places)
    for (int32_t sign = -1; sign <= 1; sign += 2) {
      pn_model_tiling_t to = from;
      if (step_along(&rows, from.rows, sign * places, &to.rows))
        collect(&sink, &to);
      to = from;
      if (step_along(&columns, from.columns, sign * places, &to.columns))
        collect(&sink, &to);
      to = from;
      if (step_along(&depths, from.depth, sign * places, &to.depth))
        collect(&sink, &to);
      if (places > 1)
        continue;
      step_tile(&sink, &from, from.mr + sign, from.vectors);
      step_tile(&sink, &from, from.mr, from.vectors + sign);
      /* Another shape of as many accumulators. */
      pn_model_tile_t tile;
      int32_t mr = PN_MODEL_MAX_PLACES;
      while (mr > 1 &&
             !pn_model_tile_cost(core, mr, from.vectors + sign, &tile))
        --mr;
      if (from.vectors + sign >= 1 && from.vectors + sign <= max_tile_vectors)
        step_tile(&sink, &from, mr, from.vectors + sign);
    }
  return sink.count;
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
