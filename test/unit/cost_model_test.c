/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * cost_model_test.c: the models against published numbers and against sums
 * done by hand; prints each known chip's model values beside the expected ones.
 */

#include "Target/ContractionModel.h"
#include "Target/CostModel.h"
#include "Target/ReductionModel.h"
#include "Target/Row.h"
#include "Target/WindowModel.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pn_model_core_t core_of(const char *name, int32_t element_bytes) {
  return pn_model_core_from_target(&pn_target_find_row(name)->info,
                                   element_bytes);
}

/* Sandy Bridge as in the paper, section 4 and table 1: doubles, 4 lanes, one
 * multiply and one add pipe that count as one FMA of 8 cycles. */
static pn_model_core_t sandy_bridge(void) {
  return (pn_model_core_t){
      .element_bytes = 8,
      .accumulator_bytes = 8,
      .lanes = 4,
      .vector_registers = 16,
      .fma_ports = 1,
      .fma_latency_cycles = 8,
      .load_ports = 2,
      .caches = {{32, 64, 8, 1}, {256, 64, 8, 1}, {8192, 64, 16, 4}},
      .usable_llc_kib = 2048,
      .l2_bytes_per_cycle = 32,
      .l3_bytes_per_cycle = 16,
      .memory_bytes_per_cycle = 4};
}

/* A product of matrices for two cores, whose columns are packed ahead. */
static pn_model_contraction_t packed_product(int64_t m, int64_t n, int64_t k,
                                             bool is_bound) {
  return (pn_model_contraction_t){.m = {1, {m}},
                                  .n = {1, {n}},
                                  .k = {1, {k}},
                                  .batch = 1,
                                  .cores = 2,
                                  .packs_ahead = true,
                                  .is_bound = is_bound};
}

static void paper_numbers(void) {
  pn_model_core_t core = sandy_bridge();
  int32_t mr, nr;
  CHECK(pn_model_tile_low2016(&core, &mr, &nr));
  /* sqrt(4 * 8 * 1) = 5.7, two vectors of 4: 8; 32 / 8 = 4. */
  printf("  sandy bridge f64: mr %d (paper 8), nr %d (paper 4)\n", mr, nr);
  CHECK(mr == 8 && nr == 4);
  /* Ways of L1 are 4 KiB. C_Ar = floor(7 / (1 + 4/8)) = 4 of them hold
   * kc = 4 * 4096 / (8 * 8) = 256. Ways of L2 are 32 KiB: B takes one,
   * 4 * 256 * 8 = 8 KiB, C one: mc = 6 * 32768 / (256 * 8) = 96. */
  pn_model_tile_t tile = {.mr = 8, .vectors = 1, .nr = 4, .cycles_per_k = 8};
  pn_model_blocking_t b;
  CHECK(pn_model_blocking_low2016(&core, &tile, &b));
  printf("  sandy bridge f64: kc %lld (paper 256), mc %lld (paper 96)\n",
         (long long)b.kc, (long long)b.mc);
  CHECK(b.kc == 256 && b.mc == 96);
  /* Haswell doubles: 4 lanes * 5 cycles * 2 ports = 40; two vectors: 8 x 5. */
  core = core_of("haswell", 8);
  CHECK(pn_model_tile_low2016(&core, &mr, &nr));
  CHECK(mr == 8 && nr == 5);
}

/*
 * f32, by hand. Registers: mr*v + v + a + 1.
 * AVX2, 16: 6x2 = 12 + 2 + 1 + 1 = 16. 4x3 would need 17, 13x1 is not better.
 * AVX-512, 32: 6x4 = 24 + 4 + 2 = 30, 10 loads for 24 FMAs; 9x3 = 32 has 12
 * for 27, more per FMA; 5x5 is out, four vectors at most.
 * Neon, 32, a = mr/4: 12x2 = 24 + 2 + 3 + 1 = 30, 5 loads for 24 FMAs; 8x3 has
 * 5 as well; 6x4 = 24 + 4 + 2 + 1 = 31 has 6.
 * L1 of 32 KiB, 8 ways of 4 KiB, 6x16: B in 5 ways: kc = 20480 / 64 = 320, A
 * 6 * 320 * 4 = 7680 in 2, C in 1: 8 ways. B in 6: 384, A 9216 in 3: 10, no.
 * 6x64: B in 6 ways: kc = 24576 / 256 = 96, A 2304 in 1, C 1: 8.
 * 48 KiB, 12 ways, 6x64: B in 10: kc = 160, A 3840 in 1, C 1: 12.
 * 64 KiB, 4 ways of 16 KiB, 12x8: B in 1: kc = 16384 / 32 = 512, A 24576 in 2.
 * 128 KiB, 8 ways of 16 KiB, 12x8: B in 2: kc = 1024, A 49152 in 3, C 1: 6;
 * B in 3: 1536, A 73728 in 5, C 1: 9, no.
 * mc = (ways - 1 - B) * way / (kc * 4), down to a multiple of mr:
 * haswell  (8 - 1 - 1) * 32768 / 1280 = 153 -> 150
 * skylake  (16 - 1 - 1) * 65536 / 384 = 2389 -> 2388
 * rapids   (16 - 1 - 1) * 131072 / 640 = 2867 -> 2862
 * znver3   (8 - 1 - 1) * 65536 / 1280 = 307 -> 306
 * znver4   (8 - 1 - 1) * 131072 / 384 = 2048 -> 2046
 * znver5   (16 - 1 - 1) * 65536 / 640 = 1433 -> 1428
 * neoverse (8 - 1 - 1) * 131072 / 2048 = 384
 * m1       12 ways of 256 KiB of one core, B 1, (12 - 1 - 1) / 2 = 5:
 *          5 * 262144 / 4096 = 320 -> 312
 */
static const struct expected {
  const char *name;
  int32_t mr, nr;
  int64_t kc, mc;
} expected_f32[] = {
    {"haswell", 4, 24, 256, 192},         {"skylake-avx512", 6, 64, 96, 2388},
    {"sapphirerapids", 6, 64, 160, 2862}, {"graniterapids", 6, 64, 160, 2862},
    {"znver3", 4, 24, 256, 384},          {"znver4", 6, 64, 96, 2046},
    {"znver5", 6, 64, 160, 1428},         {"neoverse-n1", 12, 8, 512, 384},
    {"neoverse-v1", 12, 8, 512, 384},     {"apple-m1", 12, 8, 1024, 312}};

static void known_chips(void) {
  size_t count = sizeof(expected_f32) / sizeof(expected_f32[0]);
  CHECK(count == pn_target_known_count());
  for (size_t i = 0; i < count; ++i) {
    const struct expected *e = &expected_f32[i];
    pn_model_core_t core = core_of(e->name, 4);
    pn_model_tile_t tile;
    pn_model_blocking_t b, g;
    CHECK(pn_model_register_tile(&core, 0, 0, &tile));
    CHECK(pn_model_blocking_low2016(&core, &tile, &b));
    CHECK(pn_model_gemm_blocking(&core, &tile, 1920, 1920, 1920, &g));
    printf("  %-15s %2dx%-2d (%2dx%-2d) kc %4lld (%4lld) mc %4lld (%4lld) | "
           "1920: kc %lld mc %lld nc %lld\n",
           e->name, tile.mr, tile.nr, e->mr, e->nr, (long long)b.kc,
           (long long)e->kc, (long long)b.mc, (long long)e->mc, (long long)g.kc,
           (long long)g.mc, (long long)g.nc);
    CHECK(tile.mr == e->mr && tile.nr == e->nr);
    CHECK(b.kc == e->kc && b.mc == e->mc);
    CHECK(tile.registers <= core.vector_registers);
    CHECK(tile.fma_utilization == 1);
    /* The lower bound of the paper: enough chains to hide the latency. */
    CHECK(tile.mr * tile.vectors >= core.fma_ports * core.fma_latency_cycles);
    CHECK(g.mc % tile.mr == 0 && g.nc % tile.nr == 0);
    /* The block of A, at least one row of tiles, stays within half of L2. */
    CHECK(g.mc == tile.mr ||
          g.mc * g.kc * 4 * core.caches[1].shared_by_cores <=
              (int64_t)core.caches[1].size_kib * 1024 / 2 + tile.mr * g.kc * 4);
  }
}

/* Where a shape is known its edge counts. */
static void tile_of_shape(void) {
  pn_model_core_t core = core_of("sapphirerapids", 4);
  pn_model_tile_t tile;
  /* One row: as many vectors as hide the most latency, no second row. */
  CHECK(pn_model_register_tile(&core, 1, 4096, &tile));
  CHECK(tile.mr == 1 && tile.vectors == 4);
  /* Eight rows of 48: 8 x 48 exactly, 12 cycles; 6 x 64 would take 2 * 12. */
  CHECK(pn_model_register_tile(&core, 8, 48, &tile));
  CHECK(tile.mr == 8 && tile.nr == 48);
  CHECK(!pn_model_register_tile(&core, -1, 4, &tile) && tile.mr == 0);
  CHECK(!pn_model_register_tile(&core, INT64_MAX, 4, &tile));
  /* 9 * 4 + 4 + 1 = 41 registers of 32. */
  CHECK(!pn_model_tile_cost(&core, 9, 4, &tile));
  CHECK(!pn_model_tile_cost(&core, 0, 1, &tile));
  CHECK(!pn_model_tile_cost(&core, 1000000, 1000000, &tile));
  /* 1 x 1: bound by the latency of 4, half a cycle of FMA. */
  CHECK(pn_model_tile_cost(&core, 1, 1, &tile));
  CHECK(tile.cycles_per_k == 4 && tile.fma_utilization == 0.125);
}

/* Rows of an unknown number: of 9 rows of 3 vectors, 1 to 8 may be left. 3 rows
 * take max(9 / 2, 4) cycles: 3 * 4.5 + 3 * 9 + 2 * 13.5 = 67.5; 5 rows
 * take 7.5: 5 * 7.5 + 3 * 13.5 = 78; 2 take 4: 2 * 4 + 2 * 8 + 2 * 12 + 2
 * * 13.5 = 75. */
static void rest_of_rows(void) {
  pn_model_core_t core = core_of("znver4", 4);
  core.fma_ports = 2;
  core.fma_latency_cycles = 4;
  core.load_ports = 2;
  pn_model_tile_t tile;
  CHECK(pn_model_tile_cost(&core, 9, 3, &tile));
  CHECK(pn_model_rest_rows(&core, &tile) == 3);
  /* One row is all that is left, and none. */
  CHECK(pn_model_tile_cost(&core, 2, 3, &tile));
  CHECK(pn_model_rest_rows(&core, &tile) == 1);
  CHECK(pn_model_tile_cost(&core, 1, 3, &tile));
  CHECK(pn_model_rest_rows(&core, &tile) == 0);
}

/* Measured on Emerald Rapids with 12 GB/s of memory at about 3 GHz
 * (docs/architecture.md): 1920^3 with a 9x48 tile reached 81 % of the peak at
 * 384/240/1920 and 68 % at 240/96/480. */
static void measured_rank(void) {
  pn_model_core_t core = core_of("sapphirerapids", 4);
  core.memory_bytes_per_cycle = 4;
  pn_model_tile_t tile;
  CHECK(pn_model_tile_cost(&core, 9, 3, &tile));
  pn_model_blocking_t good = {384, 240, 1920}, bad = {240, 96, 480}, own;
  pn_model_gemm_cost_t cost_good, cost_bad, cost_own;
  CHECK(pn_model_gemm_cost(&core, &tile, &good, 1920, 1920, 1920, &cost_good));
  CHECK(pn_model_gemm_cost(&core, &tile, &bad, 1920, 1920, 1920, &cost_bad));
  CHECK(pn_model_gemm_blocking(&core, &tile, 1920, 1920, 1920, &own));
  CHECK(pn_model_gemm_cost(&core, &tile, &own, 1920, 1920, 1920, &cost_own));
  printf("  model %.0f %% (measured 81), model %.0f %% (measured 68), own "
         "choice %lld/%lld/%lld %.0f %%\n",
         100 * cost_good.fma_cycles / cost_good.total_cycles,
         100 * cost_bad.fma_cycles / cost_bad.total_cycles, (long long)own.kc,
         (long long)own.mc, (long long)own.nc,
         100 * cost_own.fma_cycles / cost_own.total_cycles);
  CHECK(cost_good.total_cycles < cost_bad.total_cycles);
  CHECK(cost_own.total_cycles <= cost_good.total_cycles);
}

/* kc fixes the order of accumulation: nothing measured may move it. */
static void kc_is_stable(void) {
  static const int64_t sizes[] = {1, 5, 64, 197, 1000, 1920, 4096, 50257};
  for (size_t i = 0; i < pn_target_known_count(); ++i) {
    pn_model_core_t core = core_of(pn_target_known_name(i), 4);
    pn_model_tile_t tile;
    CHECK(pn_model_register_tile(&core, 0, 0, &tile));
    for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); ++j) {
      pn_model_blocking_t first, other;
      CHECK(pn_model_gemm_blocking(&core, &tile, 512, 768, sizes[j], &first));
      CHECK(first.kc >= 1 && first.kc <= sizes[j]);
      pn_model_core_t noisy = core;
      noisy.usable_llc_kib = 100;
      noisy.memory_bytes_per_cycle = 50;
      CHECK(pn_model_gemm_blocking(&noisy, &tile, 512, 768, sizes[j], &other));
      CHECK(first.kc == other.kc);
    }
  }
}

/* A second pass over the result reads and writes it once more: 2 * 4 bytes an
 * element from the level that the result is in, memory here. */
static void passes_over_result(void) {
  pn_model_core_t core = core_of("sapphirerapids", 4);
  core.memory_bytes_per_cycle = 4;
  pn_model_tile_t tile;
  CHECK(pn_model_tile_cost(&core, 9, 3, &tile));
  const int64_t m = 9 * 4096, n = 48 * 256, k = 256;
  pn_model_blocking_t once = {256, 36, 48 * 256}, twice = {128, 36, 48 * 256};
  pn_model_gemm_cost_t one, two;
  CHECK(pn_model_gemm_cost(&core, &tile, &once, m, n, k, &one));
  CHECK(pn_model_gemm_cost(&core, &tile, &twice, m, n, k, &two));
  double more = (two.memory_cycles - one.memory_cycles) * 4 +
                (two.l3_cycles - one.l3_cycles) * core.l3_bytes_per_cycle;
  CHECK(fabs(more - 2.0 * 4 * (double)m * (double)n) < 1);
}

static void strange_input(void) {
  pn_model_core_t core = core_of("znver4", 4);
  pn_model_tile_t tile;
  CHECK(pn_model_register_tile(&core, 0, 0, &tile));
  pn_model_blocking_t b;
  pn_model_gemm_cost_t cost;
  CHECK(pn_model_gemm_blocking(&core, &tile, 0, 0, 0, &b));
  CHECK(pn_model_gemm_blocking(&core, &tile, 1, 1, 1, &b));
  CHECK(b.kc == 1 && b.mc == tile.mr && b.nc == tile.nr);
  CHECK(!pn_model_gemm_blocking(&core, &tile, -1, 1, 1, &b) && b.kc == 0);
  CHECK(!pn_model_gemm_blocking(&core, &tile, INT64_MAX, 1, 1, &b));
  CHECK(pn_model_gemm_blocking(&core, &tile, INT64_C(1) << 40, INT64_C(1) << 40,
                               INT64_C(1) << 40, &b));
  b = (pn_model_blocking_t){1, 1, 1};
  CHECK(pn_model_gemm_cost(&core, &tile, &b, 0, 0, 0, &cost));
  CHECK(cost.fma_cycles == 0 && isfinite(cost.total_cycles));
  b.kc = 0;
  CHECK(!pn_model_gemm_cost(&core, &tile, &b, 1, 1, 1, &cost));
  pn_model_core_t broken = {0};
  int32_t mr, nr;
  CHECK(!pn_model_tile_low2016(&broken, &mr, &nr) && mr == 0 && nr == 0);
  CHECK(!pn_model_register_tile(&broken, 0, 0, &tile));
  CHECK(!pn_model_blocking_low2016(&broken, &tile, &b) && b.kc == 0);
  CHECK(!pn_model_gemm_blocking(&broken, &tile, 1, 1, 1, &b));
}

static void streams(void) {
  pn_model_core_t core = core_of("znver3", 4);
  core.memory_bytes_per_cycle = 4;
  /* 2 loads of 32 bytes; L2 32; L3 32; memory 4 bytes a cycle. */
  CHECK(pn_model_stream_cycles(&core, 6400, 6400) == 100);
  CHECK(pn_model_stream_cycles(&core, 6400, 100000) == 200);
  CHECK(pn_model_stream_cycles(&core, 6400, 1e6) == 200);
  CHECK(pn_model_stream_cycles(&core, 6400, 1e9) == 1600);
}

static void grain(void) {
  /* 10 us at 2000 MHz are 20000 cycles: 200 iterations of 100. */
  CHECK(pn_model_parallel_grain(100000, 100, 2000, 10000) == 200);
  CHECK(pn_model_parallel_grain(400, 100, 2000, 10000) == 200);
  CHECK(pn_model_parallel_grain(399, 100, 2000, 10000) == 399);
  CHECK(pn_model_parallel_grain(10, 1e9, 2000, 10000) == 1);
  /* Unknown frequency counts as 2500 MHz. */
  CHECK(pn_model_parallel_grain(100000, 100, 0, 10000) == 250);
  CHECK(pn_model_parallel_grain(0, 100, 2000, 10000) == 1);
  CHECK(pn_model_parallel_grain(-5, 100, 2000, 10000) == 1);
  CHECK(pn_model_parallel_grain(7, 0, 2000, 10000) == 7);
  CHECK(pn_model_parallel_grain(7, NAN, 2000, 10000) == 7);
  CHECK(pn_model_parallel_grain(7, 1, 2000, INFINITY) == 7);
  CHECK(pn_model_parallel_grain(INT64_MAX, 1e-300, 2000, 1e300) == INT64_MAX);
}

static void memory_cost(void) {
  pn_target_info_t info = {.vector_bits = 512,
                           .caches = {[2] = {.size_kib = 32768}},
                           .l2_bytes_per_cycle = 64,
                           .l3_bytes_per_cycle = 32,
                           .frequency_mhz = 4000,
                           .memory_mib_per_s = 32768};
  /* 32 bytes a cycle for 8.6. */
  CHECK(pn_model_memory_cost(&info) == 4);
  /* Without L3 the last level is L2. */
  info.caches[2] = (pn_target_cache_t){0};
  info.l3_bytes_per_cycle = 0;
  CHECK(pn_model_memory_cost(&info) == 7);
  /* Memory never counts less than a cache. */
  info.l2_bytes_per_cycle = 4;
  CHECK(pn_model_memory_cost(&info) == 1);
}

static void stream_stores(void) {
  pn_target_info_t info = {
      .llvm_triple = "x86_64-pc-linux-gnu",
      .usable_llc_kib_per_core = 4096,
      .caches = {{.size_kib = 32, .shared_by_cores = 1},
                 {.size_kib = 512, .shared_by_cores = 1},
                 {.size_kib = 32768, .shared_by_cores = 8}}};
  /* All cores together: 8 * 4 MiB. */
  CHECK(pn_model_stream_threshold_kib(&info) == 32768);
  CHECK(strcmp(pn_model_stream_fence_name(&info), "llvm.x86.sse.sfence") == 0);
  /* Without L3 it is L2 that is shared. */
  info.caches[2] = (pn_target_cache_t){0};
  info.usable_llc_kib_per_core = 512;
  CHECK(pn_model_stream_threshold_kib(&info) == 512);
  info.llvm_triple = "aarch64-linux-gnu";
  CHECK(pn_model_stream_threshold_kib(&info) == 0);
  CHECK(pn_model_stream_fence_name(&info)[0] == '\0');
}

/* Blocks of mixed radix. */
static void cut_loops(void) {
  pn_model_block_t block;
  /* One loop: 1024 in parts of at most 219 are 5 of 205; of whole vectors 208,
   * 4 * 208 + 192. */
  pn_model_loops_t loops = {1, {1024}};
  CHECK(pn_model_cut_loops(&loops, 219, 1, &block));
  CHECK(block.level == 0 && block.tile == 205 && block.inner == 1);
  CHECK(pn_model_cut_loops(&loops, 219, 8, &block));
  CHECK(block.tile == 208 && block.points == 208);
  /* Image, row, column: 56 columns whole, rows in parts of 1024 / 56 = 18: 4 of
   * 14, whose 784 points are 49 vectors of 16. */
  loops = (pn_model_loops_t){3, {8, 56, 56}};
  CHECK(pn_model_cut_loops(&loops, 1024, 16, &block));
  CHECK(block.level == 1 && block.tile == 14 && block.inner == 56 &&
        block.points == 784);
  /* All of it fits: the outermost loop is whole, too. */
  loops = (pn_model_loops_t){3, {2, 7, 7}};
  CHECK(pn_model_cut_loops(&loops, 1024, 16, &block));
  CHECK(block.level == 0 && block.tile == 2 && block.points == 98);
  /* Nothing fits: single iterations. */
  loops = (pn_model_loops_t){2, {1000, 0}};
  CHECK(pn_model_cut_loops(&loops, 1, 16, &block));
  CHECK(block.level == 1 && block.points == 1);
  /* An unknown inner loop is tiled, an unknown outer one, too. */
  CHECK(pn_model_cut_loops(&loops, 64, 16, &block));
  CHECK(block.level == 1 && block.tile == 64 && block.inner == 1);
  loops = (pn_model_loops_t){2, {0, 10}};
  CHECK(pn_model_cut_loops(&loops, 64, 1, &block));
  CHECK(block.level == 0 && block.tile == 6 && block.points == 60);
  /* Out of range. */
  CHECK(!pn_model_cut_loops(&loops, 0, 1, &block));
  CHECK(!pn_model_cut_loops(&loops, 64, 0, &block));
  loops = (pn_model_loops_t){0, {0}};
  CHECK(!pn_model_cut_loops(&loops, 64, 1, &block));
  loops = (pn_model_loops_t){1, {-1}};
  CHECK(!pn_model_cut_loops(&loops, 64, 1, &block));
  loops = (pn_model_loops_t){1, {INT64_MAX}};
  CHECK(!pn_model_cut_loops(&loops, 64, 1, &block) && block.tile == 0);
}

/* Tiles, blocks and conditions of packed products on known chips. */
static void contraction_plans(void) {
  static const struct {
    const char *chip;
    int32_t mr, vectors;
    int64_t size;
    /* Of 512 deep, tiles of 6 x 16 take 2 blocks of 256, of 4 x 24 3 of 208:
     * that is 64 cycles of 3072 less. Of 3072 it is 2 * 64 of 18432, and fewer
     * loads decide; so they do at 1024, where 6 does not divide the rows. Nor
     * does 9 divide 3072, a multiple of 6 x 64. */
  } chips[] = {{"haswell", 4, 3, 3072},        {"znver3", 4, 3, 3072},
               {"znver3", 4, 3, 1024},         {"znver3", 6, 2, 512},
               {"skylake-avx512", 6, 4, 3072}, {"znver4", 6, 4, 3072}};
  for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); ++i) {
    pn_model_core_t core = core_of(chips[i].chip, 4);
    pn_model_contraction_t product = {.m = {1, {chips[i].size}},
                                      .n = {1, {chips[i].size}},
                                      .k = {1, {chips[i].size}},
                                      .batch = 1,
                                      .cores = 8};
    pn_model_contraction_plan_t plan, again;
    CHECK(pn_model_contraction_plan(&core, &product, &plan));
    printf("  %s: %d x %d, blocks %lld x %lld x %lld, useful %.3f\n",
           chips[i].chip, plan.tile.mr, plan.tile.nr, (long long)plan.m.points,
           (long long)plan.n.points, (long long)plan.k.points,
           plan.useful_share);
    CHECK(plan.tile.mr == chips[i].mr && plan.tile.vectors == chips[i].vectors);
    CHECK(plan.useful_share > 0.95 && plan.useful_share <= 1);
    /* Both panels in seven eighths of L1, sums in a quarter of L2. */
    int64_t panels = plan.k.points * 4 * (plan.tile.nr + 2 * plan.tile.mr);
    CHECK(panels * 8 <= (int64_t)core.caches[0].size_kib * 1024 * 7);
    CHECK(plan.m.points * plan.n.points * 4 * 4 <=
          (int64_t)core.caches[1].size_kib * 1024);
    /* The order of accumulation depends on the chip and the depth alone, once
     * the tile is the same. */
    product.cores = 64;
    product.batch = 100;
    CHECK(pn_model_contraction_plan(&core, &product, &again));
    CHECK(again.k.points == plan.k.points);
  }
  /* 49 columns: 7 vectors of 8 lose less than 4 of 16. */
  pn_model_core_t core = core_of("haswell", 4);
  pn_model_contraction_t small = {.m = {1, {512}},
                                  .n = {2, {7, 7}},
                                  .k = {1, {512}},
                                  .batch = 1,
                                  .cores = 1};
  pn_model_contraction_plan_t plan;
  CHECK(pn_model_contraction_plan(&core, &small, &plan));
  CHECK(plan.n.points == 49 && plan.useful_share >= 49.0 / 64);
  /* Of 49 rows, taps of a 3 x 3 window leave 36, 42 or 49: 6, 7 and 9 tiles of
   * 6, which is 1.2 times the products that are asked for. */
  core = core_of("skylake-avx512", 4);
  pn_model_contraction_t taps = {.m = {2, {7, 7}},
                                 .n = {1, {512}},
                                 .k = {3, {3, 3, 512}},
                                 .batch = 1,
                                 .cores = 1,
                                 .packs_ahead = true};
  CHECK(pn_model_contraction_plan(&core, &taps, &plan));
  double all = plan.fma_cycles;
  taps.tap_count = 9;
  for (int32_t i = 0; i < 9; ++i)
    taps.tap_rows[i] = (i / 3 == 1 ? 7 : 6) * (i % 3 == 1 ? 7 : 6) / 49.0;
  CHECK(pn_model_contraction_plan(&core, &taps, &plan));
  CHECK(plan.tile.mr == 6 && plan.useful_share > 1.2);
  CHECK(plan.fma_cycles < 0.85 * all);
  /* Of all rows, five blocks of 96 columns and one of 32 leave one of two cores
   * with 288 of 512; eight of 64 are even. */
  taps.tap_count = 0;
  taps.cores = 2;
  const pn_model_tiling_t tile_of_7 = {.mr = 7, .vectors = 2};
  const char *reason;
  CHECK(pn_model_contraction_plan_as(&core, &taps, &tile_of_7, &plan, &reason));
  CHECK(plan.n.points == 64);
  /* Columns that outgrow L2 serve all rows as they are packed, and are cut so
   * that two cores have four blocks each; of those that do not, rows are. */
  core = core_of("znver5", 4);
  pn_model_contraction_t wide = packed_product(128, 768, 3072, false);
  CHECK(pn_model_contraction_plan(&core, &wide, &plan));
  CHECK(plan.m.points == 128 && plan.n.points == 96);
  wide.n.trips[0] = wide.k.trips[0] = 512;
  CHECK(pn_model_contraction_plan(&core, &wide, &plan));
  CHECK(plan.m.points == 64 && plan.n.points == 64);
  /* Columns up to a diagonal, 32, 64, 96 or 128 of them: panels of 64 compute
   * 96 in the mean, panels of 32 just the 80. */
  core = core_of("skylake-avx512", 4);
  pn_model_contraction_t moving = {
      .m = {1, {32}}, .n = {1, {128}}, .k = {1, {64}}, .batch = 8, .cores = 1};
  CHECK(pn_model_contraction_plan(&core, &moving, &plan));
  CHECK(plan.tile.nr == 64);
  moving.n_fewest = moving.n_step = 32;
  CHECK(pn_model_contraction_plan(&core, &moving, &plan));
  CHECK(plan.tile.nr == 32);
  /* Nothing fits, or nonsense. */
  core = core_of("haswell", 4);
  core.vector_registers = 1;
  CHECK(!pn_model_contraction_plan(&core, &small, &plan));
  core = core_of("haswell", 4);
  small.k.count = 9;
  CHECK(!pn_model_contraction_plan(&core, &small, &plan));
}

/* Tiles of matrix registers. */
static void plans_of_tiles(void) {
  pn_model_core_t core = core_of("sapphirerapids", 4);
  core.matrix = (pn_model_matrix_t){16, 16, 16, 8, 52};
  pn_model_tile_t tile;
  /* Four products of 16 cycles hide 52; each takes 16 words. */
  CHECK(pn_model_matrix_tile_cost(&core, 32, 2, &tile));
  CHECK(tile.nr == 32 && tile.registers == 7 && tile.cycles_per_k == 4);
  CHECK(tile.fma_utilization == 1);
  CHECK(pn_model_matrix_tile_cost(&core, 16, 1, &tile));
  CHECK(tile.cycles_per_k == 52.0 / 16);
  /* 4 + 4 + 1 registers, parts of a tile, and no tile. */
  CHECK(!pn_model_matrix_tile_cost(&core, 16, 4, &tile) && tile.mr == 0);
  CHECK(!pn_model_matrix_tile_cost(&core, 24, 1, &tile));
  CHECK(!pn_model_matrix_tile_cost(&core, 0, 1, &tile));
  CHECK(!pn_model_matrix_tile_cost(&core, 16, 0, &tile));
  pn_model_contraction_t product = {.m = {1, {1024}},
                                    .n = {1, {1024}},
                                    .k = {1, {1000}},
                                    .batch = 1,
                                    .cores = 1,
                                    .step = 2};
  pn_model_contraction_plan_t plan, dots;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 32 && plan.tile.nr == 32);
  /* 500 words in blocks of whole tiles, of which both panels stay in L1. */
  CHECK(plan.k.points % 16 == 0 && plan.k.points * 4 * 64 <= 42 * 1024);
  CHECK(plan.m.points % 32 == 0 && plan.n.points % 32 == 0);
  CHECK(plan.fma_cycles == 32.0 * 32 * 512 * 4);
  CHECK(plan.useful_share == 500.0 / 512);
  pn_model_core_t lanes = core;
  lanes.matrix.rows = 0;
  CHECK(pn_model_contraction_plan(&lanes, &product, &dots));
  CHECK(dots.fma_cycles > 7 * plan.fma_cycles);
  /* Few rows: three tiles of columns, one of rows. */
  product.m.trips[0] = 16;
  product.n.trips[0] = 96;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 16 && plan.tile.vectors == 3);
  /* Tiles are not asked for, and nonsense has no plan. */
  const pn_model_tiling_t asked = {.mr = 4, .vectors = 2};
  const char *reason;
  CHECK(!pn_model_contraction_plan_as(&core, &product, &asked, &plan, &reason));
  CHECK(reason != NULL);
  core.matrix.rows = INT32_MAX;
  CHECK(!pn_model_contraction_plan(&core, &product, &plan));
  core.matrix.rows = 16;
  core.matrix.words = 0;
  CHECK(!pn_model_contraction_plan(&core, &product, &plan));
}

/* Words of several steps of the reduction. */
static void plans_of_words(void) {
  pn_model_core_t core = core_of("znver3", 4);
  pn_model_contraction_t product = {.m = {1, {1024}},
                                    .n = {1, {1024}},
                                    .k = {1, {1000}},
                                    .batch = 1,
                                    .cores = 2};
  pn_model_contraction_plan_t single, pairs;
  CHECK(pn_model_contraction_plan(&core, &product, &single));
  product.step = 2;
  CHECK(pn_model_contraction_plan(&core, &product, &pairs));
  /* As many bytes of panels, half the steps. */
  CHECK(pairs.k.points <= 500 && pairs.k.points * 2 > single.k.points);
  CHECK(pairs.fma_cycles < 0.51 * single.fma_cycles);
  CHECK(pn_model_depth_points(&product).trips[0] == 500);
  /* Of 3 x 3 windows each row takes two words of two, a quarter of them
   * empty. */
  product.k = (pn_model_loops_t){3, {64, 3, 3}};
  CHECK(pn_model_contraction_plan(&core, &product, &pairs));
  CHECK(pairs.useful_share > 0.7 && pairs.useful_share <= 0.75);
}

/* Blocks that all cores get as many of. */
static void even_blocks(void) {
  pn_model_core_t core = core_of("znver5", 4);
  pn_model_contraction_t product = packed_product(132, 128, 128, false);
  product.cores = 1;
  pn_model_contraction_plan_t plan;
  /* 132 rows in tiles of 6: 3 blocks of 48 for one core, 4 of 36 for two, both
   * of them 22 tiles. */
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.m.points == 48);
  product.cores = 2;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.m.points == 36);
  /* 6 does not divide 128, 4 does; nor does 9 the last of 126 rows in 100352.
   */
  product.m.trips[0] = 128;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 4 && plan.tile.vectors == 4);
  product.m.trips[0] = 100352;
  product.n.trips[0] = 96;
  product.k.trips[0] = 16;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 8 && plan.m.points == 128);
  /* Nor do 6 divide 4096 rows or 48 as many columns, and short sums pass
   * through memory. */
  product.m.trips[0] = product.n.trips[0] = 4096;
  product.k.trips[0] = 32;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 4 && plan.tile.vectors == 4);
}

/* Blocks of k are multiples of what packs and words take. */
static void depth_units(void) {
  pn_model_core_t core = core_of("znver5", 4);
  pn_model_contraction_t product = packed_product(1000, 1000, 1000, false);
  product.cores = 2;
  pn_model_contraction_plan_t plan;
  /* 42 KiB hold panels of 48 columns and twice 8 rows 168 deep: 6 blocks. */
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 8 && plan.tile.vectors == 3 && plan.k.points == 168);
  /* Of whole vectors they are 7, and 9 rows take fewer loads. */
  product.vectors_along_k = true;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.tile.mr == 9 && plan.k.points == 144);
  product.vectors_along_k = false;
  product.step = 2;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  CHECK(plan.k.points % 16 == 0 && plan.k.points < 500);
}

/* Sizes that are asked for in place of the model's. */
static void asked_plans(void) {
  pn_model_core_t core = core_of("haswell", 4);
  pn_model_contraction_t product = {.m = {1, {1000}},
                                    .n = {2, {30, 7}},
                                    .k = {1, {600}},
                                    .batch = 1,
                                    .cores = 8};
  pn_model_contraction_plan_t plan, own;
  const char *reason;
  CHECK(pn_model_contraction_plan(&core, &product, &own));
  /* Nothing asked for is the model's own. */
  pn_model_tiling_t tiling = {0};
  CHECK(pn_model_contraction_plan_as(&core, &product, &tiling, &plan, &reason));
  CHECK(plan.tile.mr == own.tile.mr && plan.m.points == own.m.points &&
        plan.n.points == own.n.points && plan.k.points == own.k.points);
  /* What is asked for stands, the model fills in the rest. */
  tiling = (pn_model_tiling_t){6, 2, 0, 21, 600};
  CHECK(pn_model_contraction_plan_as(&core, &product, &tiling, &plan, &reason));
  CHECK(plan.tile.mr == 6 && plan.tile.vectors == 2 && plan.tile.nr == 16);
  CHECK(plan.n.level == 0 && plan.n.tile == 3 && plan.n.inner == 7);
  CHECK(plan.k.points == 600 && plan.m.points > 0);
  /* More than there is: all of it. Less than the innermost loop: a part. */
  tiling = (pn_model_tiling_t){.rows = 4000, .columns = 5};
  CHECK(pn_model_contraction_plan_as(&core, &product, &tiling, &plan, &reason));
  CHECK(plan.m.points == 1000 && plan.n.level == 1 && plan.n.tile == 5);
  static const struct {
    pn_model_tiling_t tiling;
    const char *reason;
  } refused[] = {
      {{.mr = 4}, "a tile needs both rows and vectors"},
      {{.vectors = 2}, "a tile needs both rows and vectors"},
      {{.mr = 13, .vectors = 1}, "a tile has 1 to 12 rows and 1 to 4 vectors"},
      {{.mr = 1, .vectors = 5}, "a tile has 1 to 12 rows and 1 to 4 vectors"},
      /* 5 * 3 sums, 3 vectors and a broadcast are 19 of 16. */
      {{.mr = 5, .vectors = 3}, "the tile takes more registers than there are"},
      {{.columns = 10}, "a block is not whole iterations of its loops"},
      {{.depth = -1}, "a block has at least one point"},
  };
  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); ++i) {
    CHECK(!pn_model_contraction_plan_as(&core, &product, &refused[i].tiling,
                                        &plan, &reason));
    CHECK(reason && strcmp(reason, refused[i].reason) == 0);
    CHECK(plan.tile.mr == 0);
  }
  /* 4096 x 4096 sums in f32 are 64 MiB. */
  pn_model_contraction_t large = {.m = {1, {4096}},
                                  .n = {1, {4096}},
                                  .k = {1, {64}},
                                  .batch = 1,
                                  .cores = 8};
  tiling = (pn_model_tiling_t){.rows = 4096, .columns = 4096};
  CHECK(!pn_model_contraction_plan_as(&core, &large, &tiling, &plan, &reason));
  CHECK(strcmp(reason, "the buffers of a block take more than 4 MiB") == 0);
}

/* Few products for each element of a large result: tiles go along its rows, one
 * below the other where a panel (24 columns of 64 points are 6 KiB) is an
 * eighth of 32 KiB or more. */
static void rows_written(void) {
  pn_model_core_t core = core_of("haswell", 4);
  static const struct {
    int64_t m, n, k, batch;
    bool packs_ahead;
    int64_t tiles; /* 0: blocks stay tall */
  } cases[] = {
      {4096, 4096, 32, 1, true, 1},  {512, 512, 64, 12, true, 2},
      {1001, 777, 100, 1, true, 2},  {4096, 4096, 32, 1, false, 0},
      {4096, 4096, 160, 1, true, 0}, /* products count */
      {200, 300, 32, 1, true, 0},    /* fits L2 */
      {65536, 64, 32, 1, true, 0},   /* one block of columns */
      {3, 65536, 64, 1, true, 0},    /* one block of rows */
      {96, 4096, 64, 1, true, 2},    {0, 4096, 32, 1, true, 1},
      {4096, 0, 32, 1, true, 1},     {4096, 4096, 0, 1, true, 0},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    pn_model_contraction_t product = {.m = {1, {cases[i].m}},
                                      .n = {1, {cases[i].n}},
                                      .k = {1, {cases[i].k}},
                                      .batch = cases[i].batch,
                                      .cores = 2,
                                      .packs_ahead = cases[i].packs_ahead};
    pn_model_contraction_plan_t plan;
    CHECK(pn_model_contraction_plan(&core, &product, &plan));
    int64_t tiles = cases[i].tiles;
    bool along = plan.m.points == tiles * plan.tile.mr;
    bool tall = plan.m.points > 2 * plan.tile.mr || cases[i].m == 3;
    if (tiles ? !along : !tall)
      printf("  %lld x %lld x %lld: %lld rows\n", (long long)cases[i].m,
             (long long)cases[i].n, (long long)cases[i].k,
             (long long)plan.m.points);
    CHECK(tiles ? along : tall);
    CHECK(plan.n.points <= 1024 && plan.n.points % plan.tile.nr == 0);
    CHECK(!tiles || plan.n.points * plan.k.points * 4 <= 256 * 1024);
    /* What is asked for stays. */
    pn_model_tiling_t tiling = {.rows = plan.tile.mr * 3};
    const char *reason;
    if (!tiles || (cases[i].m && cases[i].m < tiling.rows))
      continue;
    CHECK(
        pn_model_contraction_plan_as(&core, &product, &tiling, &plan, &reason));
    CHECK(plan.m.points == tiling.rows);
  }
}

/* Parts of a long reduction: from shape and target alone. */
static void depth_parts(void) {
  pn_model_core_t core = core_of("haswell", 4);
  static const struct {
    int64_t m, n, k, batch, part;
    int32_t cores;
  } cases[] = {
      /* 2 blocks of 64 x 48 columns: 4 parts make two for each core. */
      {64, 64, 8192, 1, 2048, 4},
      /* 512 points at least: 16. */
      {64, 64, 8192, 1, 512, 64},
      /* 2^19 multiply-adds each: 4096 * 8192 / 2^19 = 64 parts at most, of 512
       * points 16; 8189 are 16 parts of 504 and a rest. */
      {64, 64, 8189, 1, 544, 64},
      /* Equal parts of whole vectors: 5 instead of 4. */
      {64, 64, 10000, 1, 2000, 4},
      /* Work for all cores, or too little work. */
      {64, 64, 8192, 1, 0, 1},
      {64, 64, 8192, 4, 0, 4},
      {2048, 2048, 8192, 1, 0, 4},
      {64, 64, 1000, 1, 0, 4},
      {16, 16, 4096, 1, 2048, 4},
      {8, 8, 8192, 1, 0, 4},
      /* Unknown sizes. */
      {0, 64, 8192, 1, 0, 4},
      {64, 64, 0, 1, 0, 4},
      {64, 64, 8192, 0, 0, 4},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    pn_model_contraction_t product = {.m = {1, {cases[i].m}},
                                      .n = {1, {cases[i].n}},
                                      .k = {1, {cases[i].k}},
                                      .batch = cases[i].batch,
                                      .cores = cases[i].cores};
    pn_model_contraction_plan_t plan;
    CHECK(pn_model_contraction_plan(&core, &product, &plan));
    int64_t part = pn_model_depth_part(&core, &product, &plan);
    if (part != cases[i].part)
      printf("  %lld x %lld x %lld: parts of %lld\n", (long long)cases[i].m,
             (long long)cases[i].n, (long long)cases[i].k, (long long)part);
    CHECK(part == cases[i].part);
  }
}

/* Columns that outgrow all caches: packed by blocks of columns, or in parts of
 * the depth that make enough of these. */
static void far_columns(void) {
  pn_model_core_t core = core_of("znver5", 2);
  static const struct {
    int64_t m, n, k, part;
    int32_t cores;
    bool is_bound, by_columns;
  } cases[] = {
      /* 131 blocks of 384 columns, 147 MiB. */
      {512, 50257, 768, 0, 2, false, true},
      {512, 50257, 768, 0, 32, false, false},
      {512, 50257, 768, 0, 2, true, false},
      {4096, 50257, 768, 0, 2, false, false},
      {512, 8192, 768, 0, 2, false, false},
      /* 2 blocks of columns: 8 parts at least, and 9 leave 1. */
      {512, 768, 50257, 5584, 2, false, false},
      /* 32 parts would have sums of a third of the columns. */
      {512, 768, 50257, 0, 8, false, false},
      /* Parts of 512 points are too few. */
      {32, 20000, 2500, 0, 96, false, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    pn_model_contraction_t product = {.m = {1, {cases[i].m}},
                                      .n = {1, {cases[i].n}},
                                      .k = {1, {cases[i].k}},
                                      .batch = 1,
                                      .cores = cases[i].cores,
                                      .packs_ahead = true,
                                      .is_bound = cases[i].is_bound};
    pn_model_contraction_plan_t plan;
    CHECK(pn_model_contraction_plan(&core, &product, &plan));
    bool by_columns = pn_model_packs_by_columns(&core, &product, &plan);
    int64_t part = pn_model_depth_part(&core, &product, &plan);
    if (part != cases[i].part || by_columns != cases[i].by_columns)
      printf("  %lld x %lld x %lld: parts of %lld, by columns %d\n",
             (long long)cases[i].m, (long long)cases[i].n,
             (long long)cases[i].k, (long long)part, by_columns);
    CHECK(part == cases[i].part);
    CHECK(by_columns == cases[i].by_columns);
    product.packs_ahead = false;
    CHECK(!pn_model_packs_by_columns(&core, &product, &plan));
    CHECK(pn_model_depth_part(&core, &product, &plan) == 0);
  }
}

/* What tiles of rows ask for of the next panel: all together all of it. */
static void panel_shares(void) {
  pn_model_core_t core = core_of("znver5", 4);
  static const struct {
    int64_t m, n, k;
    bool is_bound;
    int32_t share;
  } cases[] = {
      /* 16 tiles of 8 x 48; 7 of 11 x 32; 7 of 7 x 48; 3 of 7 x 48. */
      {128, 3072, 768, true, 3},
      {77, 2048, 512, true, 5},
      {49, 2048, 1024, true, 7},
      {20, 3072, 768, true, 16},
      /* One tile has all rows. */
      {7, 3072, 768, true, 0},
      /* Not bound: what fits L2 stays there. */
      {128, 3072, 768, false, 3},
      {128, 256, 512, false, 0},
      /* 16 tiles of 4 x 64. */
      {128, 256, 512, true, 4},
      /* What fits L1 beside everything else. */
      {128, 48, 96, true, 0},
      /* Any number of rows of 8 x 48: 3 tiles ask. Unknown bytes. */
      {0, 3072, 768, true, 16},
      {128, 0, 768, true, 0},
      {128, 3072, 0, true, 0},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    pn_model_contraction_t product =
        packed_product(cases[i].m, cases[i].n, cases[i].k, cases[i].is_bound);
    pn_model_contraction_plan_t plan;
    CHECK(pn_model_contraction_plan(&core, &product, &plan));
    int32_t share = pn_model_panel_share(&core, &product, &plan);
    if (share != cases[i].share)
      printf("  %lld x %lld x %lld: tiles of %d x %d ask for %d\n",
             (long long)cases[i].m, (long long)cases[i].n,
             (long long)cases[i].k, (int)plan.tile.mr, (int)plan.tile.nr,
             (int)share);
    CHECK(share == cases[i].share);
  }
  /* Loads of matrix registers are as they are. */
  pn_model_contraction_t product = packed_product(128, 3072, 768, true);
  pn_model_contraction_plan_t plan;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  core.matrix.rows = 16;
  CHECK(pn_model_panel_share(&core, &product, &plan) == 0);
}

/* Few rows by columns that are bound once: panels are one stream, which a tile
 * asks for 8 KiB ahead. */
static void panel_leads(void) {
  static const struct {
    const char *chip;
    int64_t m, n, k;
    bool is_bound, streams;
    int32_t mr, vectors;
  } cases[] = {
      {"znver5", 2, 4096, 4096, true, true, 2, 4},
      {"znver5", 8, 4096, 4096, true, true, 8, 3},
      /* 16 x 1 sums in one tile, not 8 x 3 in two. */
      {"znver5", 16, 4096, 4096, true, true, 16, 1},
      {"haswell", 4, 4096, 4096, true, true, 4, 3},
      /* What the second cache holds may come in blocks. */
      {"znver5", 16, 256, 256, true, false, 4, 4},
      /* Two tiles; columns of each call; rows of any number. */
      {"znver5", 20, 4096, 4096, true, false, 5, 4},
      {"znver5", 8, 4096, 4096, false, false, 8, 3},
      {"znver5", 0, 4096, 4096, true, false, 8, 3},
      /* Rows of more than a quarter of L2. */
      {"znver5", 8, 64, 16384, true, false, 8, 2},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    pn_model_core_t core = core_of(cases[i].chip, 4);
    pn_model_contraction_t product =
        packed_product(cases[i].m, cases[i].n, cases[i].k, cases[i].is_bound);
    pn_model_contraction_plan_t plan;
    CHECK(pn_model_contraction_plan(&core, &product, &plan));
    int64_t lead = pn_model_panel_lead(&core, &product, &plan);
    bool is_right = plan.streams == cases[i].streams &&
                    plan.tile.mr == cases[i].mr &&
                    plan.tile.vectors == cases[i].vectors &&
                    lead == (plan.streams ? 2048 : 0) &&
                    (plan.k.points == cases[i].k || !plan.streams);
    if (!is_right)
      printf("  %s, %lld x %lld x %lld: %d rows of %d vectors, depth %lld, "
             "streams %d, lead %lld\n",
             cases[i].chip, (long long)cases[i].m, (long long)cases[i].n,
             (long long)cases[i].k, (int)plan.tile.mr, (int)plan.tile.vectors,
             (long long)plan.k.points, (int)plan.streams, (long long)lead);
    CHECK(is_right);
  }
  /* Rows of any number: the tile that is best for a batch, a stream of panels
   * for as many rows as it has. */
  pn_model_core_t core = core_of("znver5", 4);
  pn_model_contraction_t any = packed_product(0, 1000, 16384, true);
  pn_model_contraction_plan_t many, few;
  CHECK(pn_model_contraction_plan(&core, &any, &many) && !many.streams);
  CHECK(pn_model_few_rows_plan(&core, &any, &many, &few));
  CHECK(few.streams && few.tile.mr == 8 && few.tile.vectors == 3);
  CHECK(few.m.points == 8 && few.n.points == many.n.points);
  CHECK(few.k.points == 16384 && many.k.points < 16384);
  /* 21 panels of 48 columns, 12 cycles for each point. */
  CHECK(few.fma_cycles == 21.0 * 16384 * 12);
  CHECK(pn_model_panel_lead(&core, &any, &few) == 2048);
  CHECK(pn_model_panel_share(&core, &any, &few) == 0);
  pn_model_contraction_t others[] = {any, any, any, any, any, any};
  others[0].m.trips[0] = 8;
  others[1].m = (pn_model_loops_t){2, {0, 7}};
  others[2].is_bound = false;
  others[3].n = (pn_model_loops_t){2, {10, 100}};
  others[4].k.trips[0] = 8; /* fits L1 */
  others[5].k.trips[0] = 0;
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i)
    CHECK(!pn_model_few_rows_plan(&core, &others[i], &many, &few));
  /* What L1 holds is not asked for. */
  pn_model_contraction_t small = packed_product(8, 96, 64, true);
  small.cores = 1;
  pn_model_contraction_plan_t plan;
  CHECK(pn_model_contraction_plan(&core, &small, &plan) && plan.streams);
  CHECK(pn_model_panel_lead(&core, &small, &plan) == 0);
  /* 1 MiB of L2. */
  CHECK(!pn_model_outgrows_l2(&core, 1 << 20));
  CHECK(pn_model_outgrows_l2(&core, (1 << 20) + 4));
  /* 12 ways of 4 KiB: seven rows 4 KiB apart lie in one set, or 8 KiB. */
  CHECK(!pn_model_rows_collide(&core, 6, 4096));
  CHECK(pn_model_rows_collide(&core, 7, 4096));
  CHECK(pn_model_rows_collide(&core, 8, 16384));
  CHECK(!pn_model_rows_collide(&core, 16, 16384 + 64));
  CHECK(!pn_model_rows_collide(&core, 12, 2048));
  CHECK(pn_model_rows_collide(&core, 13, 2048));
  CHECK(!pn_model_rows_collide(&core, 16, 0));
  CHECK(!pn_model_rows_collide(&core, 16, 4));
}

/* What a sweep tries is legal, differs, and is near where it should be. */
static void listed_tilings(void) {
  enum { MOST = 1 << 17 };
  pn_model_core_t core = core_of("haswell", 4);
  pn_model_contraction_t product = {.m = {1, {1000}},
                                    .n = {1, {768}},
                                    .k = {1, {600}},
                                    .batch = 1,
                                    .cores = 8};
  pn_model_contraction_plan_t plan, as;
  const char *reason;
  CHECK(pn_model_contraction_plan(&core, &product, &plan));
  pn_model_tiling_t *all = calloc(MOST, sizeof(*all));
  CHECK(all != NULL);
  int64_t count = pn_model_list_tilings(&core, &product, MOST, all);
  CHECK(count > 1000 && count <= MOST);
  /* The capacity bounds what is written, not the number. */
  pn_model_tiling_t few[3] = {{0}};
  CHECK(pn_model_list_tilings(&core, &product, 2, few) == count);
  CHECK(few[1].mr > 0 && few[2].mr == 0);
  for (int64_t i = 0; i < count; ++i) {
    const pn_model_tiling_t *t = &all[i];
    CHECK(pn_model_contraction_plan_as(&core, &product, t, &as, &reason));
    CHECK(t->mr * t->vectors >= 6 && t->depth >= 16);
    CHECK(t->rows == 1000 || t->rows % t->mr == 0);
    CHECK(t->columns == 768 || t->columns % as.tile.nr == 0);
    CHECK(t->depth == 600 || t->depth % 8 == 0);
  }
  count = pn_model_list_steps(&core, &product, &plan, MOST, all);
  printf("  %lld steps from %d x %d, %lld x %lld x %lld\n", (long long)count,
         plan.tile.mr, plan.tile.nr, (long long)plan.m.points,
         (long long)plan.n.points, (long long)plan.k.points);
  CHECK(count >= 16 && count <= 64);
  for (int64_t i = 0; i < count; ++i) {
    const pn_model_tiling_t *t = &all[i];
    CHECK(pn_model_contraction_plan_as(&core, &product, t, &as, &reason));
    bool is_tile = t->mr != plan.tile.mr || t->vectors != plan.tile.vectors;
    int differs = (t->rows != plan.m.points) + (t->columns != plan.n.points) +
                  (t->depth != plan.k.points);
    CHECK(is_tile ? t->depth == plan.k.points : differs == 1);
    for (int64_t j = 0; j < i; ++j)
      CHECK(memcmp(t, &all[j], sizeof(*t)) != 0);
  }
  /* At the edge of what is legal, too: large products on several chips. */
  static const char *const chips[] = {"haswell", "znver3", "sapphirerapids",
                                      "neoverse-n1"};
  for (size_t c = 0; c < sizeof(chips) / sizeof(*chips); ++c)
    for (int64_t size = 64; size <= 4096; size *= 4) {
      pn_model_core_t chip = core_of(chips[c], 4);
      pn_model_contraction_t square = {.m = {1, {size}},
                                       .n = {1, {size}},
                                       .k = {1, {4 * size}},
                                       .batch = 1,
                                       .cores = 2};
      CHECK(pn_model_contraction_plan(&chip, &square, &plan));
      count = pn_model_list_steps(&chip, &square, &plan, MOST, all);
      for (int64_t i = 0; i < count; ++i)
        CHECK(pn_model_contraction_plan_as(&chip, &square, &all[i], &as,
                                           &reason));
    }
  /* Tiny sizes have their one block, nonsense has none. */
  pn_model_contraction_t tiny = {
      .m = {1, {1}}, .n = {1, {1}}, .k = {1, {1}}, .batch = 1, .cores = 1};
  CHECK(pn_model_list_tilings(&core, &tiny, MOST, all) >= 1);
  CHECK(all[0].rows == 1 && all[0].columns == 1 && all[0].depth == 1);
  tiny.k.count = 0;
  CHECK(pn_model_list_tilings(&core, &tiny, MOST, all) == 0);
  CHECK(pn_model_list_steps(&core, &tiny, &plan, MOST, all) == 0);
  free(all);
}

static void row_strides(void) {
  /* 256 floats are 16 lines of 64 bytes: 17 of them, so that rows of a power of
   * two do not share a set; 250 round up to 256 first. */
  CHECK(pn_model_row_stride(256, 16, 4, 64) == 272);
  CHECK(pn_model_row_stride(250, 16, 4, 64) == 272);
  CHECK(pn_model_row_stride(272, 16, 4, 64) == 272);
  /* One panel stays as it is. */
  CHECK(pn_model_row_stride(13, 16, 4, 64) == 16);
  CHECK(pn_model_row_stride(13, 16, 0, 64) == 16);
}

/* Groups, runs, chunks and parts of reductions on known chips. */
static void reduction_plans(void) {
  pn_model_core_t core = core_of("haswell", 4);
  CHECK(core.caches[0].size_kib == 32 && core.caches[1].size_kib == 256);
  pn_model_reduction_t sums = {.rows = 1,
                               .batch = 1,
                               .columns = {1, {4096}},
                               .outer_depth = 4096,
                               .inner_depth = 1,
                               .stream_bytes = 4,
                               .sum_bytes = 4};
  pn_model_reduction_plan_t plan;
  /* Half of L1 holds 4096 sums: one run, so 16 parts. Nobody waits. */
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.unroll == 8 && plan.jam == 1 && !plan.prefetch && !plan.chunk);
  CHECK(plan.columns.points == 4096 && plan.part == 256);
  /* Half the rows where each is stored, too. */
  sums.stores = true;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.unroll == 4 && plan.part == 256);
  sums.stores = false;
  /* The number of cores plays no part; twice the columns make two runs. */
  sums.columns.trips[0] = 8192;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.columns.points == 4096 && plan.part == 512);
  /* 8 columns of 4 bytes: half of L2 are 4096 rows, a sixteenth of the depth
   * is more. */
  sums.columns.trips[0] = 8;
  sums.outer_depth = 1000000;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.part == 62504 && plan.part % plan.unroll == 0);
  sums.outer_depth = 10000;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.part == 4096);
  /* Too short for two parts. */
  sums.outer_depth = 8191;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.part == 0);
  /* Enough runs apart from each other. */
  sums.outer_depth = 1000000;
  sums.batch = 8;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.part == 0);
  /* Nothing known but the form. */
  sums.batch = 1;
  sums.columns.trips[0] = sums.outer_depth = 0;
  CHECK(pn_model_reduction_plan(&core, &sums, &plan));
  CHECK(plan.columns.points == 1024 && plan.part == 256);

  static const struct {
    const char *chip;
    int32_t unroll, jam;
  } chips[] = {{"haswell", 8, 8}, {"skylake-avx512", 4, 8}, {"znver3", 8, 8}};
  for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); ++i) {
    core = core_of(chips[i].chip, 4);
    pn_model_reduction_t product = {.rows = 8,
                                    .batch = 1,
                                    .columns = {1, {4096}},
                                    .outer_depth = 4096,
                                    .inner_depth = 1,
                                    .stream_bytes = 4,
                                    .sum_bytes = 4,
                                    .multiplies = true};
    CHECK(pn_model_reduction_plan(&core, &product, &plan));
    printf("  %s: %d x %d, runs of %lld, chunks of %lld, parts of %lld\n",
           chips[i].chip, plan.unroll, plan.jam, (long long)plan.columns.points,
           (long long)plan.chunk, (long long)plan.part);
    CHECK(plan.unroll == chips[i].unroll && plan.jam == chips[i].jam);
    /* All share what is loaded and take no turns; sums of a run in a quarter of
     * L2. */
    CHECK(!plan.prefetch && !plan.chunk);
    CHECK(plan.columns.points * 8 * 4 * 4 <=
          (int64_t)core.caches[1].size_kib * 1024);
    /* 16 rows take turns on what stays in L2 with the group behind it. */
    product.rows = 16;
    CHECK(pn_model_reduction_plan(&core, &product, &plan));
    CHECK(plan.jam >= 4 && plan.jam <= 8 && plan.prefetch);
    int64_t chunk = plan.chunk ? plan.chunk : plan.columns.points;
    CHECK(chunk * (16 * 4 + 2 * plan.unroll * 4) * 2 <=
          (int64_t)core.caches[1].size_kib * 1024);
    /* Up to 16, but maybe fewer: a power of two. */
    product.rows_vary = true;
    CHECK(pn_model_reduction_plan(&core, &product, &plan));
    CHECK(plan.jam == 4 || plan.jam == 8);
    product.rows_vary = false;
    product.rows = 5;
    CHECK(pn_model_reduction_plan(&core, &product, &plan));
    CHECK(plan.jam == 5 && !plan.prefetch);
  }
  /* Columns of several loops, and what is out of range. */
  core = core_of("haswell", 4);
  pn_model_reduction_t images = {.rows = 1,
                                 .batch = 64,
                                 .columns = {2, {14, 20}},
                                 .outer_depth = 96,
                                 .inner_depth = 1,
                                 .stream_bytes = 4,
                                 .sum_bytes = 4};
  CHECK(pn_model_reduction_plan(&core, &images, &plan));
  CHECK(plan.columns.level == 0 && plan.columns.points == 280 && !plan.part);
  images.rows = PN_MODEL_STREAM_ROWS + 1;
  CHECK(!pn_model_reduction_plan(&core, &images, &plan) && !plan.unroll);
  images.rows = 1;
  images.outer_depth = -1;
  CHECK(!pn_model_reduction_plan(&core, &images, &plan));
  images.outer_depth = 96;
  images.columns.count = 0;
  CHECK(!pn_model_reduction_plan(&core, &images, &plan));
  images.columns = (pn_model_loops_t){1, {INT64_MAX}};
  CHECK(!pn_model_reduction_plan(&core, &images, &plan));
}

/* Rows that are reduced together. */
static void jammed_rows(void) {
  int32_t rows, columns;
  pn_model_core_t core = core_of("haswell", 4);
  CHECK(pn_model_jam(&core, 1, 4096, 1, &rows, &columns));
  CHECK(rows == 1 && columns == 4);
  /* 16 registers: 8 sums, 4 rows, 2 more; 4 x 3 would take 17. */
  CHECK(pn_model_jam(&core, 8, 4096, 1, &rows, &columns));
  CHECK(rows == 2 && columns == 4);
  /* Two sums a pair: 2 x 2 and 1 x 4 both fit; 4 loads serve 4, 5 do. */
  CHECK(pn_model_jam(&core, 8, 4096, 2, &rows, &columns));
  CHECK(rows == 2 && columns == 2);
  CHECK(pn_model_jam(&core, 3, 3, 1, &rows, &columns));
  CHECK(rows == 2 && columns == 3);
  CHECK(pn_model_jam(&core, 1, 1, 1, &rows, &columns));
  CHECK(rows == 1 && columns == 1);
  CHECK(pn_model_jam(&core, 1, 0, 60, &rows, &columns));
  CHECK(rows == 1 && columns == 1);
  core = core_of("skylake-avx512", 4);
  CHECK(pn_model_jam(&core, 8, 0, 1, &rows, &columns));
  CHECK(rows == 4 && columns == 4);
  CHECK(!pn_model_jam(&core, 0, 1, 1, &rows, &columns) && !rows && !columns);
  CHECK(!pn_model_jam(&core, 1, -1, 1, &rows, &columns));
  CHECK(!pn_model_jam(&core, 1, 1, 0, &rows, &columns));
}

/* Rows of windows that slide. */
static void window_tiles(void) {
  pn_model_core_t core = core_of("haswell", 4);
  pn_model_window_tile_t tile;
  /* 3 taps, unit stride: rows r and r + 1 share two inputs of three. */
  pn_model_window_t window = {.taps = 3,
                              .row_step = 1,
                              .tap_step = 1,
                              .rows = 112,
                              .sums = 3,
                              .operations = 3,
                              .window_loads = 3,
                              .tap_loads = 1};
  CHECK(pn_model_window_inputs(&window, 1) == 3);
  CHECK(pn_model_window_inputs(&window, 4) == 6);
  /* 4 x 3 sums, 3 weights and an input are 16 registers: 6 * 3 + 3 loads for
   * 36 multiply-adds, which two ports start in 18 cycles. */
  CHECK(pn_model_window_tile(&core, &window, &tile));
  CHECK(tile.rows == 4 && fabs(tile.cycles_per_group - 1.5) < 1e-9);
  CHECK(fabs(tile.loads - 21.0 / 12) < 1e-9);
  /* 5 rows: one tile of 3 and one of 2, or of 4 and 1. */
  window.rows = 5;
  CHECK(pn_model_window_tile(&core, &window, &tile) && tile.rows == 3);
  window.rows = 1;
  CHECK(!pn_model_window_tile(&core, &window, &tile) && tile.rows == 0);
  /* Stride 2 shares one of three, stride 3 nothing; taps two apart, of rows
   * one apart, share as unit strides do. */
  window.rows = 0;
  window.row_step = 2;
  CHECK(pn_model_window_inputs(&window, 4) == 9);
  CHECK(pn_model_window_tile(&core, &window, &tile));
  window.row_step = 3;
  CHECK(pn_model_window_inputs(&window, 4) == 12);
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  window.row_step = 1;
  window.tap_step = 2;
  CHECK(pn_model_window_inputs(&window, 4) == 8);
  /* 2 x 6 sums and 4 weights leave no register for the input, 2 x 5 do. */
  window = (pn_model_window_t){.taps = 4,
                               .row_step = 1,
                               .tap_step = 1,
                               .rows = 112,
                               .sums = 6,
                               .operations = 6,
                               .window_loads = 6,
                               .tap_loads = 1};
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  window.sums = 5;
  CHECK(pn_model_window_tile(&core, &window, &tile) && tile.rows == 2);
  /* 7 taps leave 8 registers for sums. */
  window = (pn_model_window_t){.taps = 7,
                               .row_step = 20,
                               .tap_step = 20,
                               .rows = 56,
                               .sums = 2,
                               .operations = 2,
                               .window_loads = 2,
                               .tap_loads = 1};
  CHECK(pn_model_window_tile(&core, &window, &tile) && tile.rows == 4);
  window.sums = 5;
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  /* 2 x 6 sums and 4 weights leave no register for an input. */
  window.taps = 4;
  window.sums = 6;
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  window.taps = 7;
  window.sums = 5;
  core = core_of("skylake-avx512", 4);
  CHECK(pn_model_window_tile(&core, &window, &tile) && tile.rows == 4);
  /* 8 rows share most loads, but 6 leave none of 54 over, as 8 do of 56. */
  window.taps = 3;
  window.sums = window.operations = window.window_loads = 2;
  window.rows = 54;
  CHECK(pn_model_window_tile(&core, &window, &tile) && tile.rows == 6);
  window.rows = 56;
  CHECK(pn_model_window_tile(&core, &window, &tile) && tile.rows == 8);
  /* What vectorization leaves room for.
   * Latency 4, 2 ports: 2 vectors hide it with 4 rows, 4 with 2. */
  core = core_of("znver5", 4);
  CHECK(core.vector_registers == 32);
  CHECK(core.fma_latency_cycles == 4 && core.fma_ports == 2);
  CHECK(pn_model_window_vectors(&core, 3, 112, 0) == 3);
  CHECK(pn_model_window_vectors(&core, 3, 112, 36) == 2);
  CHECK(pn_model_window_vectors(&core, 3, 112, 9) == 3);
  CHECK(pn_model_window_vectors(&core, 3, 112, 7) == 3);
  CHECK(pn_model_window_vectors(&core, 3, 2, 12) == 4);
  CHECK(pn_model_window_vectors(&core, 3, 2, 13) == 5);
  /* Registers: (16 - 1 - 7) / 4, (8 - 1 - 6) / 4. */
  core.vector_registers = 16;
  CHECK(pn_model_window_vectors(&core, 7, 0, 9) == 2);
  core.vector_registers = 8;
  CHECK(pn_model_window_vectors(&core, 6, 100, 9) == 1);
  /* Out of range. */
  const pn_model_window_t sane = window;
  window.taps = PN_MODEL_WINDOW_TAPS + 1;
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  CHECK(pn_model_window_inputs(&window, 2) == 0);
  window = sane;
  window.row_step = INT64_MAX;
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  window = sane;
  window.sums = 0;
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  window = sane;
  window.rows = -1;
  CHECK(!pn_model_window_tile(&core, &window, &tile));
  CHECK(pn_model_window_inputs(&sane, 0) == 0);
  CHECK(pn_model_window_inputs(&sane, 9) == 0);
  core.load_ports = 0;
  CHECK(!pn_model_window_tile(&core, &sane, &tile) && tile.rows == 0);
}

int main(void) {
  CHECK_RUN(paper_numbers);
  CHECK_RUN(known_chips);
  CHECK_RUN(tile_of_shape);
  CHECK_RUN(rest_of_rows);
  CHECK_RUN(measured_rank);
  CHECK_RUN(kc_is_stable);
  CHECK_RUN(passes_over_result);
  CHECK_RUN(strange_input);
  CHECK_RUN(streams);
  CHECK_RUN(grain);
  CHECK_RUN(memory_cost);
  CHECK_RUN(stream_stores);
  CHECK_RUN(cut_loops);
  CHECK_RUN(contraction_plans);
  CHECK_RUN(plans_of_words);
  CHECK_RUN(plans_of_tiles);
  CHECK_RUN(even_blocks);
  CHECK_RUN(depth_units);
  CHECK_RUN(asked_plans);
  CHECK_RUN(rows_written);
  CHECK_RUN(depth_parts);
  CHECK_RUN(far_columns);
  CHECK_RUN(panel_shares);
  CHECK_RUN(panel_leads);
  CHECK_RUN(listed_tilings);
  CHECK_RUN(row_strides);
  CHECK_RUN(reduction_plans);
  CHECK_RUN(jammed_rows);
  CHECK_RUN(window_tiles);
  return check_result();
}
