/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/ReductionModel.h: blocks of a reduction that streams, from numbers.
 *
 * S[m, n] op= f(A[m, k], B[k, n]): B is large, contiguous along n and used by
 * few rows m, or by one. It is read once, row after row in groups of a few
 * rows, each over a long run of columns, while the sums of that run stay in L1.
 * Both hardware prefetchers and address translation want it so: columns side by
 * side instead would touch one line of every row, pages apart.
 * Shapes and blocks in elements, sizes in bytes, rates a cycle.
 * Ownership: nothing is allocated. Errors: false where the input is out of
 * range or the nest is not worth it; outputs are cleared first.
 * Threads: pure functions. Nothing depends on the number of threads or cores,
 * because parts fix the order of accumulation.
 * Since: 0.1
 */
#ifndef POLYNEST_TARGET_REDUCTIONMODEL_H
#define POLYNEST_TARGET_REDUCTIONMODEL_H

#include "Target/ContractionModel.h"

PN_EXTERN_C_BEGIN

typedef struct pn_model_reduction {
  int64_t rows;   /* that use each element of B, 1 or more */
  bool rows_vary; /* there may be fewer */
  int64_t batch;  /* runs of columns apart from each other; 0: unknown */
  pn_model_loops_t columns; /* of a contiguous run */
  int64_t outer_depth;      /* outermost reduction loop; 0: unknown */
  int64_t inner_depth;      /* all others, 1 if there are none; 0: unknown */
  int32_t stream_bytes;     /* of B for a column and an iteration, 1 or more */
  int32_t sum_bytes;        /* of all sums of a row and column */
  bool multiplies;          /* by values that are the same in all columns */
  bool stores;              /* an element for each column and iteration */
} pn_model_reduction_t;

typedef struct pn_model_reduction_plan {
  int32_t unroll;           /* rows of B combined at a time */
  int32_t jam;              /* rows m that share what is loaded of B */
  int64_t chunk;            /* columns of the innermost loop on which all rows
                               m take turns before the next; 0: those of a run */
  pn_model_block_t columns; /* of one run */
  bool prefetch;            /* ask for the next rows of B in time */
  int64_t part;             /* iterations of the outermost reduction loop that
                               have sums of their own; 0: all */
} pn_model_reduction_plan_t;

/* Most rows of one product whose B is not packed: up to here reading B takes as
 * long as multiplying, and a packed copy would be written and read besides. */
#define PN_MODEL_STREAM_ROWS 16

/*
 * The plan:
 * - jam: up to 8 rows all share what is loaded, because memory would rest while
 *   they take turns. Of more, as many as have the fewest cycles a multiply-add,
 *   max(jam*unroll / fma_ports, (jam + unroll + reloads) / load_ports, jam),
 *   where factors, jam * unroll, that do not fit the registers beside jam sums
 *   and two temporaries are loaded again; a power of two where rows vary.
 * - unroll: 4 or 8, likewise; without factors 8 by 1, or 4 where as many rows
 *   are stored: lines of 16 rows that lie in one set of L1 drive each other out
 *   (ReLU of 64 MiB and its sums 4.6 ms for 5.0, softmax over columns 14.5 for
 *   16.3 on a Zen 4, the same in two processes).
 * - columns: rows * sum_bytes each in half of L1; for several rows at least 16
 *   KiB of a row of B, as long as sums take a quarter of L2: each row of B
 * costs an address translation and the start of a stream a run. Where rows take
 *   turns a quarter of L2. 1024 where their number is not known.
 * - chunk: rows * sum_bytes and two groups of B each in half of L2.
 * - prefetch: where rows take turns.
 * - part: where there are fewer than 8 runs: parts of at least half of L2 and
 * 64 iterations, 16 in all with the runs; where the depth is not known of 256
 *   iterations, as many as there are.
 */
bool pn_model_reduction_plan(const pn_model_core_t *core,
                             const pn_model_reduction_t *reduction,
                             pn_model_reduction_plan_t *out_plan);

/* Rows of a large operand, reduced along themselves, that one loop takes
 * together with rows of the other operand: `rows` of those in all, `columns` of
 * the large one (0: unknown), `sums` for each pair. The pair of numbers, up to
 * 4 by 4, that fits the registers, jam_rows * jam_columns * sums for the sums,
 * jam_columns for what is loaded of the large operand and one more, with the
 * fewest loads a multiply-add, (jam_rows + jam_columns) / (jam_rows *
 * jam_columns); of equals the one with more rows of the large operand, each of
 * which is a stream that memory serves at the same time. False where the input
 * is out of range. */
bool pn_model_jam(const pn_model_core_t *core, int64_t rows, int64_t columns,
                  int32_t sums, int32_t *out_rows, int32_t *out_columns);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_REDUCTIONMODEL_H */
