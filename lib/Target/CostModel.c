/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/CostModel.c: see the header for formulas and sources. */

#include "Target/CostModel.h"

#include <math.h>
#include <string.h>

static const int32_t max_tile_rows = 16;
static const int32_t max_tile_vectors = 4;
static const int64_t unknown_size = 4096;
static const int64_t min_kc = 64;
static const int64_t max_kc = 2048;
static const int64_t max_size = INT64_C(1) << 40;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

pn_model_core_t pn_model_core_from_target(const pn_target_info_t *info,
                                          int32_t element_bytes) {
  int32_t accumulator = element_bytes == 8 ? 8 : 4;
  int32_t memory = info->memory_mib_per_s ? info->memory_mib_per_s
                                          : PN_MODEL_DEFAULT_MEMORY_MIB_PER_S;
  int32_t mhz = info->frequency_mhz ? info->frequency_mhz
                                    : PN_MODEL_DEFAULT_FREQUENCY_MHZ;
  pn_model_core_t core = {
      .element_bytes = element_bytes,
      .accumulator_bytes = accumulator,
      .lanes = info->vector_bits / 8 / accumulator,
      .vector_registers = info->vector_registers,
      .fma_ports = info->fma_ports,
      .fma_latency_cycles = info->fma_latency_cycles,
      .load_ports = info->load_ports,
      .lane_operand = (info->features >> (unsigned)PN_TARGET_FEATURE_NEON) & 1,
      .usable_llc_kib = info->usable_llc_kib_per_core,
      .l2_bytes_per_cycle = info->l2_bytes_per_cycle,
      .l3_bytes_per_cycle = info->l3_bytes_per_cycle,
      .memory_bytes_per_cycle = (double)memory * 1.048576 / (double)mhz};
  for (int i = 0; i < 3; ++i)
    core.caches[i] = info->caches[i];
  return core;
}

/* One core's bytes of a private or shared level. */
static int64_t share_bytes(const pn_target_cache_t *cache) {
  if (cache->size_kib <= 0 || cache->shared_by_cores <= 0)
    return 0;
  return (int64_t)cache->size_kib * 1024 / cache->shared_by_cores;
}

/* Everything a model divides by, and sizes small enough not to overflow. */
static bool core_is_sane(const pn_model_core_t *core) {
  return core->element_bytes > 0 && core->element_bytes <= 8 &&
         core->accumulator_bytes > 0 && core->accumulator_bytes <= 8 &&
         core->lanes > 0 && core->lanes <= 256 && core->vector_registers > 0 &&
         core->fma_ports > 0 && core->fma_latency_cycles > 0 &&
         core->load_ports > 0 && core->l2_bytes_per_cycle > 0 &&
         core->l3_bytes_per_cycle >= 0 && core->memory_bytes_per_cycle > 0 &&
         core->usable_llc_kib > 0 && share_bytes(&core->caches[0]) > 0 &&
         share_bytes(&core->caches[1]) > 0;
}

static bool has_l3(const pn_model_core_t *core) {
  return core->caches[2].size_kib > 0 && core->l3_bytes_per_cycle > 0;
}

/*===--- Register tile ----------------------------------------------------===*/

bool pn_model_tile_low2016(const pn_model_core_t *core, int32_t *out_mr,
                           int32_t *out_nr) {
  *out_mr = 0;
  *out_nr = 0;
  if (!core_is_sane(core))
    return false;
  double needed =
      (double)core->lanes * core->fma_latency_cycles * core->fma_ports;
  *out_mr = (int32_t)ceil(sqrt(needed) / core->lanes) * core->lanes;
  *out_nr = (int32_t)ceil(needed / *out_mr);
  return true;
}

bool pn_model_tile_cost(const pn_model_core_t *core, int32_t mr,
                        int32_t vectors, pn_model_tile_t *out_tile) {
  *out_tile = (pn_model_tile_t){0};
  if (!core_is_sane(core) || mr < 1 || vectors < 1 || mr > 256 || vectors > 256)
    return false;
  int32_t a_vectors =
      core->lane_operand ? (int32_t)ceil_div(mr, core->lanes) : 1;
  int32_t registers = mr * vectors + vectors + a_vectors;
  if (registers > core->vector_registers)
    return false;
  double fmas = (double)mr * vectors;
  double loads = vectors + (core->lane_operand ? a_vectors : mr);
  double fma_cycles = fmas / core->fma_ports;
  double cycles = fmax(fmax(fma_cycles, (double)core->fma_latency_cycles),
                       loads / core->load_ports);
  *out_tile = (pn_model_tile_t){.mr = mr,
                                .vectors = vectors,
                                .nr = vectors * core->lanes,
                                .registers = registers,
                                .cycles_per_k = cycles,
                                .fma_utilization = fma_cycles / cycles};
  return true;
}

static bool matrix_is_sane(const pn_model_matrix_t *matrix) {
  const int32_t sizes[] = {matrix->rows, matrix->columns, matrix->words,
                           matrix->registers, matrix->latency_cycles};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i)
    if (sizes[i] < 1 || sizes[i] > 1024)
      return false;
  return true;
}

bool pn_model_matrix_tile_cost(const pn_model_core_t *core, int32_t mr,
                               int32_t vectors, pn_model_tile_t *out_tile) {
  const pn_model_matrix_t *matrix = &core->matrix;
  *out_tile = (pn_model_tile_t){0};
  if (!core_is_sane(core) || !matrix_is_sane(matrix) || mr < matrix->rows ||
      mr % matrix->rows != 0 || vectors < 1 || vectors > 256)
    return false;
  int32_t tiles = mr / matrix->rows;
  if (tiles > 256 || tiles * vectors + vectors + 1 > matrix->registers)
    return false;
  double products = (double)tiles * vectors * matrix->rows;
  double loads = (double)(tiles + vectors) * matrix->rows / core->load_ports;
  double cycles = fmax(fmax(products, (double)matrix->latency_cycles), loads);
  *out_tile = (pn_model_tile_t){.mr = mr,
                                .vectors = vectors,
                                .nr = vectors * matrix->columns,
                                .registers = tiles * vectors + vectors + 1,
                                .cycles_per_k = cycles / matrix->words,
                                .fma_utilization = products / cycles};
  return true;
}

/* Tiles that cover the whole result. */
static double tile_count(const pn_model_tile_t *tile, int64_t m, int64_t n) {
  double rows =
      m > 0 ? (double)ceil_div(m, tile->mr) : (double)unknown_size / tile->mr;
  double columns =
      n > 0 ? (double)ceil_div(n, tile->nr) : (double)unknown_size / tile->nr;
  return rows * columns;
}

static double loads_per_k(const pn_model_core_t *core,
                          const pn_model_tile_t *tile) {
  double a_loads = core->lane_operand ? (double)ceil_div(tile->mr, core->lanes)
                                      : (double)tile->mr;
  return a_loads + (double)ceil_div(tile->nr, core->lanes);
}

bool pn_model_register_tile(const pn_model_core_t *core, int64_t m, int64_t n,
                            pn_model_tile_t *out_tile) {
  *out_tile = (pn_model_tile_t){0};
  if (m < 0 || n < 0 || m > max_size || n > max_size)
    return false;
  bool found = false;
  double best_score = 0, best_loads = 0;
  for (int32_t vectors = 1; vectors <= max_tile_vectors; ++vectors)
    for (int32_t mr = 1; mr <= max_tile_rows; ++mr) {
      pn_model_tile_t tile;
      if (!pn_model_tile_cost(core, mr, vectors, &tile))
        continue;
      double count = tile_count(&tile, m, n);
      double score = count * tile.cycles_per_k;
      double loads = count * loads_per_k(core, &tile);
      /* A relative margin keeps rounding out of the comparison. */
      bool better = !found || score < best_score * (1 - 1e-9) ||
                    (score <= best_score * (1 + 1e-9) && loads < best_loads);
      if (!better)
        continue;
      found = true;
      best_score = score;
      best_loads = loads;
      *out_tile = tile;
    }
  return found;
}

int32_t pn_model_rest_rows(const pn_model_core_t *core,
                           const pn_model_tile_t *tile) {
  int32_t best = 0;
  double least = 0;
  for (int32_t rows = 1; rows < tile->mr; ++rows) {
    pn_model_tile_t part;
    if (!pn_model_tile_cost(core, rows, tile->vectors, &part))
      continue;
    double sum = 0;
    for (int32_t rest = 1; rest < tile->mr; ++rest) {
      int64_t count = ceil_div(rest, rows);
      sum += count * rows < tile->mr ? (double)count * part.cycles_per_k
                                     : tile->cycles_per_k;
    }
    if (best && sum > least * (1 + 1e-9))
      continue;
    best = rows;
    least = sum;
  }
  return best;
}

/*===--- Blocking of the paper --------------------------------------------===*/

/* Ways and bytes of one way of what one core has of a level. */
typedef struct way_view {
  int64_t ways;
  int64_t way_bytes;
} way_view_t;

static way_view_t view_of(int64_t bytes, int32_t ways) {
  int64_t counted = ways < 4 ? 8 : ways;
  return (way_view_t){counted, bytes / counted};
}

/* Largest kc with one streaming panel of A, one way of C and a resident panel
 * of B in L1; 0 where none fits. */
static int64_t low2016_kc(const pn_model_core_t *core,
                          const pn_model_tile_t *tile, way_view_t l1) {
  int64_t b_row = (int64_t)tile->nr * core->element_bytes;
  int64_t a_row = (int64_t)tile->mr * core->element_bytes;
  for (int64_t b_ways = l1.ways - 2; b_ways >= 1; --b_ways) {
    int64_t kc = b_ways * l1.way_bytes / b_row;
    if (kc >= 8)
      kc -= kc % 8;
    if (kc == 0)
      continue;
    int64_t a_ways = ceil_div(a_row * kc, l1.way_bytes);
    if (a_ways + 1 + b_ways <= l1.ways)
      return kc;
  }
  return 0;
}

bool pn_model_blocking_low2016(const pn_model_core_t *core,
                               const pn_model_tile_t *tile,
                               pn_model_blocking_t *out_blocking) {
  *out_blocking = (pn_model_blocking_t){0};
  if (!core_is_sane(core) || tile->mr < 1 || tile->nr < 1)
    return false;
  way_view_t l1 = view_of(share_bytes(&core->caches[0]), core->caches[0].ways);
  way_view_t l2 = view_of(share_bytes(&core->caches[1]), core->caches[1].ways);
  if (l1.way_bytes == 0 || l2.way_bytes == 0)
    return false;
  int64_t kc = low2016_kc(core, tile, l1);
  if (kc == 0)
    return false;
  int64_t row = kc * core->element_bytes;
  int64_t b_ways = ceil_div(tile->nr * row, l2.way_bytes);
  int64_t a_ways = l2.ways - 1 - b_ways;
  if (!has_l3(core))
    a_ways /= 2;
  int64_t mc = a_ways > 0 ? a_ways * l2.way_bytes / row : 0;
  mc -= mc % tile->mr;
  if (mc < tile->mr)
    return false;
  int64_t nc;
  if (has_l3(core)) {
    int64_t usable = (int64_t)core->usable_llc_kib * 1024;
    way_view_t l3 = view_of(usable, core->caches[2].ways);
    if (l3.way_bytes == 0)
      return false;
    bool holds_l2 = usable >= 2 * share_bytes(&core->caches[1]);
    int64_t a3_ways = holds_l2 ? ceil_div(mc * row, l3.way_bytes) : 0;
    nc = max_i64(l3.ways - 1 - a3_ways, 0) * l3.way_bytes / row;
  } else {
    nc = max_i64(l2.ways - 1 - b_ways - a_ways, 0) * l2.way_bytes / row;
  }
  nc = max_i64(nc - nc % tile->nr, tile->nr);
  *out_blocking = (pn_model_blocking_t){.kc = kc, .mc = mc, .nc = nc};
  return true;
}

/*===--- Counting bytes ---------------------------------------------------===*/

static bool sizes_are_sane(const pn_model_tile_t *tile, int64_t m, int64_t n,
                           int64_t k) {
  return tile->mr > 0 && tile->nr > 0 && tile->cycles_per_k > 0 && m >= 0 &&
         n >= 0 && k >= 0 && m <= max_size && n <= max_size && k <= max_size;
}

/* A resident micro-panel of B, two of A (the current and the next) and the
 * tile of C leave one way of L1 free. */
static bool b_panel_fits_l1(const pn_model_core_t *core,
                            const pn_model_tile_t *tile, int64_t kc) {
  way_view_t l1 = view_of(share_bytes(&core->caches[0]), core->caches[0].ways);
  int64_t panels = kc * core->element_bytes * (tile->nr + 2 * tile->mr);
  int64_t c_tile = (int64_t)tile->mr * tile->nr * core->accumulator_bytes;
  return panels + c_tile <= (l1.ways - 1) * l1.way_bytes;
}

static double last_level_bytes_per_cycle(const pn_model_core_t *core) {
  return has_l3(core) ? core->l3_bytes_per_cycle : core->l2_bytes_per_cycle;
}

bool pn_model_gemm_cost(const pn_model_core_t *core,
                        const pn_model_tile_t *tile,
                        const pn_model_blocking_t *blocking, int64_t m,
                        int64_t n, int64_t k, pn_model_gemm_cost_t *out_cost) {
  *out_cost = (pn_model_gemm_cost_t){0};
  if (!core_is_sane(core) || !sizes_are_sane(tile, m, n, k) ||
      blocking->kc < 1 || blocking->mc < 1 || blocking->nc < 1)
    return false;
  double s = core->element_bytes;
  double usable = (double)core->usable_llc_kib * 1024;
  double a_bytes = (double)m * (double)k * s;
  double b_bytes = (double)k * (double)n * s;
  double c_bytes = (double)m * (double)n * core->accumulator_bytes;
  double row_tiles = (double)ceil_div(m, tile->mr);
  double column_tiles = (double)ceil_div(n, tile->nr);
  double updates = row_tiles * column_tiles * (double)k;

  double l2_bytes = a_bytes * column_tiles;
  if (!b_panel_fits_l1(core, tile, blocking->kc))
    l2_bytes += b_bytes * row_tiles;

  double l3_bytes = b_bytes;
  double memory_bytes = a_bytes * (double)ceil_div(n, blocking->nc) + b_bytes;
  double b_again = b_bytes * (double)ceil_div(m, blocking->mc);
  double columns = (double)min_i64(blocking->nc, n);
  double b_panel = (double)min_i64(blocking->kc, k) * columns * s;
  if (b_panel <= usable)
    l3_bytes += b_again;
  else
    memory_bytes += b_again;

  /* The first pass over C stores only; every later one reads and writes. */
  double passes = (double)ceil_div(k, blocking->kc);
  double c_again = c_bytes * 2 * fmax(passes - 1, 0);
  memory_bytes += c_bytes;
  if ((double)m * columns * core->accumulator_bytes <= usable / 2)
    l3_bytes += c_again;
  else
    memory_bytes += c_again;

  pn_model_gemm_cost_t cost;
  cost.fma_cycles = updates * tile->cycles_per_k;
  cost.l1_cycles = updates * loads_per_k(core, tile) / core->load_ports;
  cost.l2_cycles = l2_bytes / core->l2_bytes_per_cycle;
  cost.l3_cycles = l3_bytes / last_level_bytes_per_cycle(core);
  cost.memory_cycles = memory_bytes / core->memory_bytes_per_cycle;
  cost.total_cycles = fmax(cost.fma_cycles, cost.l1_cycles + cost.l2_cycles) +
                      cost.l3_cycles + cost.memory_cycles;
  *out_cost = cost;
  return true;
}

/* Splits `size` in equal parts of at most `limit`, each a multiple of `unit`
 * and at least one unit. */
static int64_t even_part(int64_t size, int64_t limit, int64_t unit) {
  int64_t most = max_i64(limit - limit % unit, unit);
  int64_t parts = ceil_div(size, most);
  return round_up(ceil_div(size, max_i64(parts, 1)), unit);
}

/* mc and nc for a given kc, the cheapest of three panels of B: A in half of L2
 * (a quarter without L3) beside a micro-panel of B. */
static bool fill_caches(const pn_model_core_t *core,
                        const pn_model_tile_t *tile, int64_t m, int64_t n,
                        int64_t k, int64_t kc,
                        pn_model_blocking_t *out_blocking, double *out_cycles) {
  int64_t row = kc * core->element_bytes;
  int64_t l2 = share_bytes(&core->caches[1]);
  int64_t a_limit = l2 / (has_l3(core) ? 2 : 4) / row;
  int64_t outer = has_l3(core) ? (int64_t)core->usable_llc_kib * 1024 : l2;
  const int64_t limits[] = {outer / 2 / row, outer / row, n};
  bool found = false;
  for (int i = 0; i < 3; ++i) {
    pn_model_blocking_t blocking = {.kc = kc,
                                    .mc = even_part(m, a_limit, tile->mr),
                                    .nc = even_part(n, limits[i], tile->nr)};
    pn_model_gemm_cost_t cost;
    if (!pn_model_gemm_cost(core, tile, &blocking, m, n, k, &cost))
      return false;
    if (found && cost.total_cycles >= *out_cycles * (1 - 1e-9))
      continue;
    found = true;
    *out_cycles = cost.total_cycles;
    *out_blocking = blocking;
  }
  return true;
}

bool pn_model_gemm_blocking(const pn_model_core_t *core,
                            const pn_model_tile_t *tile, int64_t m, int64_t n,
                            int64_t k, pn_model_blocking_t *out_blocking) {
  *out_blocking = (pn_model_blocking_t){0};
  if (!core_is_sane(core) || !sizes_are_sane(tile, m, n, k))
    return false;
  m = m ? m : unknown_size;
  n = n ? n : unknown_size;
  k = k ? k : unknown_size;
  /* Nothing that may be measured decides kc. */
  pn_model_core_t fixed = *core;
  fixed.memory_bytes_per_cycle = PN_MODEL_DEFAULT_MEMORY_MIB_PER_S * 1.048576 /
                                 PN_MODEL_DEFAULT_FREQUENCY_MHZ;
  fixed.usable_llc_kib =
      (int32_t)max_i64(2 * share_bytes(&core->caches[1]) / 1024, 1);
  int64_t fewest = ceil_div(k, max_kc), best_kc = 0;
  double best = 0, cycles = 0;
  pn_model_blocking_t blocking;
  /* Past 64 more parts than the fewest, kc changes too little to matter. */
  for (int64_t parts = fewest; parts <= fewest + 64; ++parts) {
    int64_t kc = min_i64(round_up(ceil_div(k, parts), 8), k);
    if (best_kc != 0 && kc < min_kc)
      break;
    if (!fill_caches(&fixed, tile, m, n, k, kc, &blocking, &cycles))
      return false;
    if (best_kc == 0 || cycles < best * (1 - 1e-9)) {
      best = cycles;
      best_kc = kc;
    }
  }
  return fill_caches(core, tile, m, n, k, best_kc, out_blocking, &cycles);
}

double pn_model_stream_cycles(const pn_model_core_t *core, double bytes,
                              double working_set_bytes) {
  double usable = (double)core->usable_llc_kib * 1024;
  if (working_set_bytes <= (double)share_bytes(&core->caches[0]))
    return bytes /
           ((double)core->load_ports * core->lanes * core->accumulator_bytes);
  if (working_set_bytes <= (double)share_bytes(&core->caches[1]))
    return bytes / core->l2_bytes_per_cycle;
  if (has_l3(core) && working_set_bytes <= usable)
    return bytes / core->l3_bytes_per_cycle;
  return bytes / core->memory_bytes_per_cycle;
}

int64_t pn_model_parallel_grain(int64_t iterations, double cycles_per_iteration,
                                int32_t frequency_mhz, double min_chunk_ns) {
  if (iterations <= 1)
    return 1;
  double mhz =
      frequency_mhz > 0 ? frequency_mhz : PN_MODEL_DEFAULT_FREQUENCY_MHZ;
  double chunk_cycles = min_chunk_ns * mhz / 1000;
  /* Written so that NaN and nonsense end in "serial". */
  if (!(cycles_per_iteration > 0) || !(chunk_cycles > 0))
    return iterations;
  double grain = ceil(chunk_cycles / cycles_per_iteration);
  if (!(2 * grain <= (double)iterations))
    return iterations;
  return max_i64((int64_t)grain, 1);
}

int64_t pn_model_memory_cost(const pn_target_info_t *info) {
  pn_model_core_t core = pn_model_core_from_target(info, 4);
  double cost = last_level_bytes_per_cycle(&core) / core.memory_bytes_per_cycle;
  return cost > 1 ? (int64_t)(cost + 0.5) : 1;
}

static bool is_x86(const pn_target_info_t *info) {
  return strncmp(info->llvm_triple, "x86_64", 6) == 0;
}

int64_t pn_model_stream_threshold_kib(const pn_target_info_t *info) {
  if (!is_x86(info))
    return 0;
  int level = 2;
  while (level > 0 && info->caches[level].size_kib == 0)
    --level;
  return (int64_t)info->usable_llc_kib_per_core *
         info->caches[level].shared_by_cores;
}

const char *pn_model_stream_fence_name(const pn_target_info_t *info) {
  return is_x86(info) ? "llvm.x86.sse.sfence" : "";
}
