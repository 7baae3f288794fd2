/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/CostModel.h: analytical cost models, numbers in and numbers out.
 *
 * Matrix product C[m,n] += A[m,k] * B[k,n], five loops around a micro-kernel
 * (docs/architecture.md): B is packed in panels of kc x nr, A in panels of
 * mr x kc, and one micro-kernel call keeps an mr x nr tile of C in registers.
 * Shapes and blocks in elements, sizes in bytes or KiB, times in cycles.
 * Ownership: nothing is allocated. Errors: a function returns false where its
 * input is out of range or nothing fits; outputs are cleared first.
 * Threads: pure functions. A result depends on the arguments alone, never on
 * the number of threads, because kc fixes the order of accumulation.
 * Sources: T. M. Low, F. D. Igual, T. M. Smith, E. S. Quintana-Orti,
 * "Analytical Modeling Is Enough for High-Performance BLIS", ACM TOMS 43(2),
 * 2016; K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication", ACM TOMS 34(3), 2008.
 * Since: 0.1
 */
#ifndef POLYNEST_TARGET_COSTMODEL_H
#define POLYNEST_TARGET_COSTMODEL_H

#include "polynest/target.h"

PN_EXTERN_C_BEGIN

/* A matrix unit of one form (Target/DotUnits.h): a product of tiles starts
 * every `rows` cycles. */
typedef struct pn_model_matrix {
  int32_t rows, columns, words; /* of accumulators, and groups of depth; 0: no
                                   unit */
  int32_t registers;
  int32_t latency_cycles;
} pn_model_matrix_t;

/* What the models know of one core, for one element size. */
typedef struct pn_model_core {
  int32_t element_bytes;     /* of A and B as packed: 1, 2, 4, 8 */
  int32_t accumulator_bytes; /* of C: 4 or 8 */
  int32_t lanes;             /* accumulators in one vector */
  int32_t vector_registers;
  int32_t fma_ports;
  int32_t fma_latency_cycles;
  int32_t load_ports;
  /* FMA takes one lane of a register (Arm), so that a vector load brings
   * `lanes` elements of A; without it each element of A costs one broadcast
   * load (x86). */
  bool lane_operand;
  pn_model_matrix_t matrix; /* multiplies in place of FMAs, if there is one */
  pn_target_cache_t caches[3];
  int32_t usable_llc_kib; /* one core's share of the last level */
  int32_t l2_bytes_per_cycle;
  int32_t l3_bytes_per_cycle; /* 0: no L3 */
  double memory_bytes_per_cycle;
} pn_model_core_t;

/* The rate of memory assumed where a row has none: 8 GiB/s at 2500 MHz; both
 * are low for servers of 2020 and later, so that the models lean to fewer
 * passes over memory. */
#define PN_MODEL_DEFAULT_MEMORY_MIB_PER_S 8192
#define PN_MODEL_DEFAULT_FREQUENCY_MHZ 2500

pn_model_core_t pn_model_core_from_target(const pn_target_info_t *info,
                                          int32_t element_bytes);

/* A register tile: mr rows by nr = vectors * lanes columns of C. */
typedef struct pn_model_tile {
  int32_t mr;
  int32_t vectors;
  int32_t nr;
  int32_t registers;      /* accumulators, B vectors, A operands */
  double cycles_per_k;    /* one rank-1 update of the tile */
  double fma_utilization; /* 1: the FMA ports bound it */
} pn_model_tile_t;

/* Lower bound of the paper, equations (1) and (2): mr * nr accumulators must
 * hide the FMA latency, lanes * latency * ports of them, as square as lanes
 * allow, with nr a multiple of 1 and mr of lanes (the paper vectorizes rows).
 */
bool pn_model_tile_low2016(const pn_model_core_t *core, int32_t *out_mr,
                           int32_t *out_nr);

/* The cost of one given tile; false where it does not fit the registers.
 *   registers = mr*v + v + a, a = 1 (broadcast) or ceil(mr/lanes); e extra
 *   rows take e*v + 1 more
 *   cycles_per_k = max((mr+e)*v/ports, latency, loads/load_ports),
 *   loads = v + mr (broadcast) or v + ceil(mr/lanes) */
bool pn_model_tile_cost(const pn_model_core_t *core, int32_t mr,
                        int32_t vectors, pn_model_tile_t *out_tile);

/* The same for mr / rows by `vectors` tiles of the core's matrix unit, mr whole
 * tiles of rows:
 *   registers = t*v + v + 1, t = mr / rows
 *   cycles_per_k = max(t*v*rows, latency, (t+v)*rows/load_ports) / words
 * A load brings one row of a tile. */
bool pn_model_matrix_tile_cost(const pn_model_core_t *core, int32_t mr,
                               int32_t vectors, pn_model_tile_t *out_tile);

/* The tile with the fewest cycles for an m x n result (0: unknown, taken as
 * large), over mr from 1 to 16 and up to four vectors:
 *   ceil(m/mr) * ceil(n/nr) * cycles_per_k
 * Ties: fewer loads in all.
 * At most four vectors: wider tiles waste more on the edge of n than they save
 * in instructions. */
bool pn_model_register_tile(const pn_model_core_t *core, int64_t m, int64_t n,
                            pn_model_tile_t *out_tile);

/* Of a number of rows that is not known, some are left behind whole tiles.
 * Tiles of so many rows take them, one after the other where that is less than
 * mr, in the fewest cycles over 1 to mr - 1 rows; the largest of equals, 0
 * where mr is 1. */
int32_t pn_model_rest_rows(const pn_model_core_t *core,
                           const pn_model_tile_t *tile);

typedef struct pn_model_blocking {
  int64_t kc, mc, nc; /* mc a multiple of mr, nc of nr */
} pn_model_blocking_t;

/* The paper's blocking, section 4: with way = size / ways of each level,
 *   kc: largest with  ceil(mr*kc*S/way1) + 1 + ceil(nr*kc*S/way1) <= ways1
 *   mc = (ways2 - 1 - ceil(nr*kc*S/way2)) * way2 / (kc*S)
 *   nc = (ways3 - 1 - ceil(mc*kc*S/way3)) * way3 / (kc*S), way3 of the usable
 *        share; the block of A is not counted where that share is under twice
 *        L2 (such a level does not hold what L2 holds); without L3, nc and mc
 *        share what one core has of L2.
 * kc is a multiple of 8. A cache of fewer than 4 ways counts as 8 ways. */
bool pn_model_blocking_low2016(const pn_model_core_t *core,
                               const pn_model_tile_t *tile,
                               pn_model_blocking_t *out_blocking);

/* Terms of the estimate, in cycles of one core. */
typedef struct pn_model_gemm_cost {
  double fma_cycles;
  double l1_cycles;     /* load ports busy with operands of the micro-kernel */
  double l2_cycles;     /* panels that stream from L2 into L1 */
  double l3_cycles;     /* panels and packing that stay in the last level */
  double memory_cycles; /* A and B once per pack, C once per pass */
  double total_cycles;  /* max(fma, l1 + l2) + l3 + memory */
} pn_model_gemm_cost_t;

/* Byte-counting estimate of a blocked product on one core; S the element size,
 * Sc that of C, passes = ceil(k/kc):
 *   fma    ceil(m/mr) * ceil(n/nr) * k * cycles_per_k
 *   l1     the same with loads / load_ports for cycles_per_k
 *   l2     A block once per micro-panel of B: m*k*S * ceil(n/nr); and where a
 *          micro-panel of B does not fit in L1, B once per mr rows
 *   l3     packed B once per block of A: k*n*S * ceil(m/mc), and writing it;
 *          at the rate of memory where kc x nc of it exceeds the usable share
 *   memory A once per nc columns and B once, C read and written once per pass
 *          (from the last level where one slab m x nc of it fits in half)
 * L1 and L2 use the same ports and add up, both overlap with the FMAs, as in
 * the execution-cache-memory model (Stengel, Treibig, Hager, Wellein,
 * "Quantifying Performance Bottlenecks of Stencil Computations Using the
 * Execution-Cache-Memory Model", ICS 2015). The rest is exposed: prefetchers
 * run ahead within a panel, not across packs. Judged by rank:
 * test/unit/cost_model_test.c has the measured pair that it must order. */
bool pn_model_gemm_cost(const pn_model_core_t *core,
                        const pn_model_tile_t *tile,
                        const pn_model_blocking_t *blocking, int64_t m,
                        int64_t n, int64_t k, pn_model_gemm_cost_t *out_cost);

/* The blocking with the lowest estimate. kc runs over k split in 1, 2, ...
 * equal parts of 64 to 2048; mc fills half of L2; nc fills half of the usable
 * last level, all of it, or is n; mc and nc split m and n evenly. Sizes 0 are
 * unknown and taken as 4096.
 * kc is chosen with a fixed memory rate and usable share (the defaults above;
 * twice L2) instead of those of the core, which may come from a measurement:
 * the same shape on the same chip must give the same bits. */
bool pn_model_gemm_blocking(const pn_model_core_t *core,
                            const pn_model_tile_t *tile, int64_t m, int64_t n,
                            int64_t k, pn_model_blocking_t *out_blocking);

/* Cycles to stream `bytes` once through a core when they live in the level
 * that holds `working_set_bytes`; L1 counts as load_ports vectors a cycle. */
double pn_model_stream_cycles(const pn_model_core_t *core, double bytes,
                              double working_set_bytes);

/* Shortest chunk worth handing to another core: waking a sleeping OpenMP team
 * was measured at 10 to 12 microseconds (docs/architecture.md, Execution). */
#define PN_MODEL_MIN_CHUNK_NS 10000

/* Iterations in one chunk, at least 1 and at most `iterations`:
 *   ceil(min_chunk_ns * MHz / 1000 / cycles_per_iteration)
 * and all of them where the whole loop is shorter than two such chunks, so
 * that a tiny nest stays serial. Frequency 0: the default above. */
int64_t pn_model_parallel_grain(int64_t iterations, double cycles_per_iteration,
                                int32_t frequency_mhz, double min_chunk_ns);

/* Bytes that the last level gives one core in the time that memory takes for
 * one, rounded, at least 1. */
int64_t pn_model_memory_cost(const pn_target_info_t *info);

/* Results from this size on, in KiB, are written past the caches: what all
 * cores together may use of the last level, as ordinary stores leave no more
 * than that of it behind. 0: never, on targets whose non-temporal stores we
 * have not measured (all but x86). */
int64_t pn_model_stream_threshold_kib(const pn_target_info_t *info);

/* The LLVM intrinsic that orders non-temporal stores before what follows,
 * static; empty where none is needed. */
const char *pn_model_stream_fence_name(const pn_target_info_t *info);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_COSTMODEL_H */
