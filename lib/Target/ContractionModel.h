/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/ContractionModel.h: blocks of a packed contraction, from numbers.
 *
 * C[m, n] += A[m, k] * B[k, n], where m, n and k each stand for a group of
 * loops (for a convolution n is the image, row and column, k the channel and
 * the window). A group is cut in blocks of mixed radix: its innermost loops are
 * taken whole, one loop is tiled, those outside of it run block by block. A
 * block of C is kept in a buffer of block m rows by block n columns while the
 * blocks of k pass; a micro-kernel updates mr x nr elements of it at a time.
 * Shapes and blocks in elements, sizes in bytes or KiB, times in cycles.
 * Ownership: nothing is allocated. Errors: a function returns false where its
 * input is out of range or nothing fits; outputs are cleared first.
 * Threads: pure functions. Nothing depends on the number of threads of a run;
 * the block of k, which fixes the order of accumulation, depends on the target
 * row and on the contraction alone.
 * Source of the cache conditions: see Target/CostModel.h.
 * Since: 0.1
 */
#ifndef POLYNEST_TARGET_CONTRACTIONMODEL_H
#define POLYNEST_TARGET_CONTRACTIONMODEL_H

#include "Target/CostModel.h"

PN_EXTERN_C_BEGIN

#define PN_MODEL_MAX_LOOPS 8
#define PN_MODEL_MAX_TAPS 64
/* Most rows of a tile that are read in place: each takes a pointer, and x86 has
 * 16 registers for them all. */
#define PN_MODEL_MAX_PLACES 12

/* Points of k up to which sums stay in registers to the end, where all tiles
 * are whole. */
#define PN_MODEL_SHORT_DEPTH 128

/* Iterations of a group of loops, outermost first; 0: unknown. */
typedef struct pn_model_loops {
  int32_t count;
  int64_t trips[PN_MODEL_MAX_LOOPS];
} pn_model_loops_t;

/* How a group is cut: loops outside of `level` run one iteration a block, loop
 * `level` runs `tile` of them, those inside run whole. */
typedef struct pn_model_block {
  int32_t level;
  int64_t tile;
  int64_t inner;  /* iterations of the loops inside of `level` */
  int64_t points; /* tile * inner */
} pn_model_block_t;

/* Cuts a group in blocks of at most `limit` points (one iteration of the
 * innermost loop at least), as equal as may be, with the fewest points lost
 * when each block is rounded up to `unit`; in whole units where that loses no
 * more. False for a negative trip count or no loop. */
bool pn_model_cut_loops(const pn_model_loops_t *loops, int64_t limit,
                        int64_t unit, pn_model_block_t *out_block);

typedef struct pn_model_contraction {
  pn_model_loops_t m, n, k;
  int64_t batch;    /* iterations of loops around all; 0: unknown */
  int32_t cores;    /* of the target; blocks of C enough for all of them */
  bool packs_ahead; /* packed columns may serve all blocks of rows */
  bool is_bound;    /* and are bound once: they are packed before the call */
  bool vectors_along_k; /* packs of columns turn squares of whole vectors */
  /* Iterations of the innermost loop of k that one instruction takes, which lie
   * side by side in one packed word of an accumulator's size; 0 is 1. Points of
   * k are such words, the last of a loop filled up. */
  int32_t step;
  /* Blocks of k in turn leave out rows: shares of the rows that stay, each for
   * as much of k; 0: all rows stay. Those of a block are counted by tiles. */
  int32_t tap_count;
  double tap_rows[PN_MODEL_MAX_TAPS];
  /* Where n is one loop whose bound moves with loops around: it runs this many
   * times at least, and by so many more each time, as many as `n` says at most.
   * 0: as many as `n` says. Tiles of columns are counted in the mean. */
  int64_t n_fewest, n_step;
} pn_model_contraction_t;

/* The loops of k in points: the innermost runs from word to word. */
pn_model_loops_t
pn_model_depth_points(const pn_model_contraction_t *contraction);

typedef struct pn_model_contraction_plan {
  pn_model_tile_t tile;
  pn_model_block_t m, n, k;
  double fma_cycles;   /* of the micro-kernel, edges included */
  double useful_share; /* multiply-adds asked for, of those done; above 1
                          where taps are left out */
  bool streams; /* columns that are bound once are one stream of panels, of
                   which each element is used once: one tile has all rows, one
                   block all of k */
} pn_model_contraction_plan_t;

/*
 * The plan with the fewest cycles. For each register tile that fits:
 *   kc  <= L1 share: (nr + 2 mr) * kc * S in seven eighths of L1
 *   C block: at most a quarter of L2 and 192 KiB, 16 to 128 rows, 1024 columns
 *   packed columns: nc * kc * S at most half of L2 and 256 KiB
 *   kc  of few rows: where one tile has all of them and columns are bound once,
 *          each packed element is used once, and L1 need not hold them; all of
 *          k, as far as the rows take no more than a quarter of L2
 *   cycles = blocks of m and n * ceil(m/mr) * ceil(n/nr) *
 *            (points of k * max(cycles_per_k, 1.25 FMA latencies) +
 *             blocks of k * 64, or 80 where mr does not divide each block of m,
 *             and 16 more where k is one block and nr does not divide each of
 *             n; for either at least one for 32 bytes of the tile's sums where
 *             k has at most 128 points); 1.1 times as many of up to 16 rows
 *             whose columns are bound once and outgrow L2, unless they are one
 *             stream
 * Blocks of k are multiples of 8 points where they can be, of whole vectors
 * where packs of columns take these along k, and of words.
 * S is the size of an accumulator, and of a packed word. Where taps leave out
 * rows, ceil(m/mr) is the mean over them of what is left; where the bound of n
 * moves, ceil(n/nr) is the mean over its values.
 * With a matrix unit, tiles of whole matrix registers and k in whole tiles:
 *   kc  <= L1 share: (nr + mr) * kc * S in seven eighths of L1: sums of a block
 *          pass through memory, and rows of A are read once for each of these
 *   cycles = blocks * ceil(m/mr) * ceil(n/nr) * k in whole tiles * cycles_per_k
 * Ties within 1.5 %: fewer loads; fewer cycles for 8 rows where rows are one
 * loop that runs any number of times, and columns that are bound once outgrow
 * L1 (pn_model_few_rows_plan). Blocks of C are halved until there are four
 * for each core or they hold less than 64 x 64; columns alone where one block
 * has all rows and all columns outgrow L2, which would else go to memory packed
 * and come back for each block of rows (128 x 768 x 3072 takes 0.95 of the time
 * with one thread of a Zen 5, 0.93 with two). Where there are fewer, but one
 * for each core, m is cut in more, up to twice as many, if all cores then have
 * the same number and no tile is added; and n in blocks down to half as large
 * if the core that has most to do then has 5 % less.
 *
 * Where k is one block of at most 8 cycles for an element of C, columns may be
 * packed ahead, and C outgrows L2 and has several blocks of columns: blocks of
 * mr rows and as many columns as may be packed. Down a block of many rows, each
 * in a page of its own, lines are written in parts and leave the cache between
 * them; along a row they are written at once (4096 x 4096 x 32 takes 0.64 of
 * the time, 2000 x 1280 x 64 0.83). Of 2 mr rows, if there are blocks enough,
 * where a panel, nr * k * S, is an eighth of L1 or more: it comes from L2 once
 * for both tiles (Zen 5: 12 x 512 x 512 x 64 0.91, 2000 x 1280 x 64 0.96; with
 * AVX2, 4096 x 4096 x 32, a panel of 3 KiB, would take 1.06).
 */
bool pn_model_contraction_plan(const pn_model_core_t *core,
                               const pn_model_contraction_t *contraction,
                               pn_model_contraction_plan_t *out_plan);

/* The plan for at most as many rows as one tile of `plan` has, by columns that
 * are packed as `plan` says: one stream of panels, all of k in one block. False
 * where the number of rows is known, or several loops make them up, and where
 * columns are not bound once, are of several loops, or fit L1. */
bool pn_model_few_rows_plan(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan,
                            pn_model_contraction_plan_t *out_few);

/*
 * True if columns are packed for one block of them at a time, inside of its
 * loop and for all blocks of rows, and not as a whole: packed they would take
 * more than 32 times L2, for at most 2048 rows, and there are 8 blocks of them
 * for each core. What is packed goes to memory and comes back else, and takes
 * as much of it as the operand. Measured (Zen 5, one thread): 512 x 50257 x 768
 * takes 1.00 of the time, 512 x 768 x 50257 in 9 parts 1.02.
 */
bool pn_model_packs_by_columns(const pn_model_core_t *core,
                               const pn_model_contraction_t *contraction,
                               const pn_model_contraction_plan_t *plan);

/* Iterations of the outermost loop of k that are summed up apart, so that all
 * cores of the target have work; 0: all together. Where the plan has fewer
 * blocks of C than cores: parts enough for two blocks for each core, each of
 * 2^19 multiply-adds and 512 points of k at least; a few parts more where these
 * are equal, with whole vectors, or leave less over. Where columns would be
 * packed as a whole for want of blocks alone (pn_model_packs_by_columns): parts
 * enough for these, if all their sums take at most a quarter of the packed
 * columns. Depends on shape and target row alone. */
int64_t pn_model_depth_part(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan);

/*
 * Packed elements of the next panel of columns that a tile of rows asks for at
 * each point of k, so that all tiles of a block of rows ask for all of it:
 *   ceil(nr / ceil(rows of a block / mr)); 0: nothing is asked for
 * The columns are packed ahead, in panels. Nothing is asked for where they fit
 * L2, unless they are bound once: what runs between two calls
 * takes their place there, and they outgrow L1; where one tile has all rows
 * (see pn_model_panel_lead); where tiles are more than twice the columns of
 * one; and with a matrix unit. Asked for in L1: hardware prefetchers follow one
 * panel and begin anew with each, which is most of what few rows wait for.
 * Where the number of rows is not known, 3 tiles ask for all of it, and those
 * behind them again. Measured (Zen 5, one thread, weights from memory, share of
 * the FMA peak before and with it): 20 x 768 x 3072 0.40 and 0.90, 49 x 1024 x
 * 2048 0.69 and 0.90, 77 x 512 x 2048 0.67 and 0.91, 128 x 768 x 3072 0.85 and
 * 0.95; from L2 nothing changes.
 */
int32_t pn_model_panel_share(const pn_model_core_t *core,
                             const pn_model_contraction_t *contraction,
                             const pn_model_contraction_plan_t *plan);

/*
 * Packed elements by which a tile that has all rows asks for columns ahead of
 * those that it multiplies; 0: nothing is asked for. Panels of columns that are
 * bound once are one stream (`streams`), of which 8 KiB are under way:
 * prefetchers end at each page and come a few lines ahead. Nothing is asked for
 * where all columns fit L1.
 * Measured (Zen 5, one thread, 4096 x 4096 from memory, ms for 2, 4, 8 and 16
 * rows): nothing asked for 1.4, 2.0, 2.3 and 8.0; 4 KiB ahead 1.4, 2.0, 2.0 and
 * 3.0; 8 KiB 1.3, 1.8, 1.7 and 2.5; reading alone 1.3 to 1.8.
 */
int64_t pn_model_panel_lead(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan);

/* True if so many bytes come from behind L2. Of an operand that is so large and
 * of which the code behind the sums takes an element for each, a tile asks for
 * its part before it is summed up. Measured (Zen 5, one thread, in ResNet-50 at
 * batch 8, sums with a residual, ms before and with it): 25088 x 256 x 64 7.5
 * and 4.3, 6272 x 512 x 128 4.1 and 3.6, 1568 x 1024 x 256 3.9 and 3.7. */
bool pn_model_outgrows_l2(const pn_model_core_t *core, double bytes);

/* True if so many rows in place, each `step_bytes` behind the last, would push
 * each other out of L1 in a stream of panels: more of them lie in one set than
 * half of its ways. Measured (Zen 5, 4096 x 4096, rows 16 KiB apart): 8 rows
 * take 1.13 times as long as rows 64 bytes further apart, 16 rows 1.7 times, 4
 * rows no longer. */
bool pn_model_rows_collide(const pn_model_core_t *core, int64_t rows,
                           int64_t step_bytes);

/* Sizes that are asked for in place of the model's; 0: the model's. */
typedef struct pn_model_tiling {
  int32_t mr, vectors;          /* both or neither */
  int64_t rows, columns, depth; /* points of a block of m, n, k; a group that
                                   has no more is one block */
} pn_model_tiling_t;

/* The model's plan with what is asked for in its place. False where the model
 * has no plan, and where a size is not legal; `out_reason` then says why, or is
 * NULL. Legal is:
 *   tile    1 to 12 rows by 1 to 4 vectors that fit the registers; none with a
 *           matrix unit
 *   blocks  whole iterations of a loop: a multiple of all loops inside of it,
 *           which are known
 *   bytes   sums and each packed operand of a block at most 4 MiB */
bool pn_model_contraction_plan_as(const pn_model_core_t *core,
                                  const pn_model_contraction_t *contraction,
                                  const pn_model_tiling_t *tiling,
                                  pn_model_contraction_plan_t *out_plan,
                                  const char **out_reason);

/* Lists the tilings that a sweep chooses from, at most `capacity`, and returns
 * how many there are: every legal tile with at least six accumulators, or all
 * of them where no tile has so many, times groups cut in 1 to 8, 10, 12, 14,
 * 16, 20, ... even blocks of whole tiles (for k of multiples as the plan's), at
 * least 16 points deep. */
int64_t pn_model_list_tilings(const pn_model_core_t *core,
                              const pn_model_contraction_t *contraction,
                              int64_t capacity, pn_model_tiling_t *out_tilings);

/* The same for legal tilings one step from `plan`, nearest first: a tile of one
 * row or vector more or less, or of another number of vectors and as many rows
 * as fit, its blocks rounded to whole tiles; or one group cut in a number of
 * blocks up to four places further in that row of numbers. */
int64_t pn_model_list_steps(const pn_model_core_t *core,
                            const pn_model_contraction_t *contraction,
                            const pn_model_contraction_plan_t *plan,
                            int64_t capacity, pn_model_tiling_t *out_tilings);

/* Elements from one row of a packed block to the next: whole vectors for
 * `points`, an odd number of cache lines, so that rows spread over all sets;
 * one micro-panel is left as it is. */
int64_t pn_model_row_stride(int64_t points, int64_t unit, int32_t element_bytes,
                            int32_t line_bytes);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_CONTRACTIONMODEL_H */
