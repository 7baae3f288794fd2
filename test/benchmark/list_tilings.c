/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * list_tilings.c: the tilings that test/benchmark/sweep compares.
 *
 * Arguments: vector bits, vector registers, FMA latency, FMA ports, load ports,
 * KiB of L1 and L2, cores; batch, M, N, K of a product in f32; how many steps
 * from the model's plan, how many random tilings, and the seed. Prints a line
 * each: "model", "step" or "random", then rows and vectors of the tile and
 * rows, columns and depth of a block. None is printed twice.
 */
#include "Target/ContractionModel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARGUMENTS = 15, MOST_TILINGS = 1 << 18, MOST_PRINTED = 1024 };

typedef struct printed {
  pn_model_tiling_t tilings[MOST_PRINTED];
  int64_t count;
} printed_t;

static bool read_number(const char *text, int64_t *out_value) {
  char *end;
  *out_value = strtoll(text, &end, 10);
  return *text && !*end && *out_value >= 0 && *out_value <= INT32_MAX;
}

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift
 * generators, scrambled", ACM TOMS 42(4), 2016. */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

static bool is_same(const pn_model_tiling_t *a, const pn_model_tiling_t *b) {
  return a->mr == b->mr && a->vectors == b->vectors && a->rows == b->rows &&
         a->columns == b->columns && a->depth == b->depth;
}

/* False where it has been printed before. */
static bool print_tiling(printed_t *printed, const char *kind,
                         const pn_model_tiling_t *tiling) {
  for (int64_t i = 0; i < printed->count; ++i)
    if (is_same(&printed->tilings[i], tiling))
      return false;
  if (printed->count == MOST_PRINTED)
    return false;
  printed->tilings[printed->count++] = *tiling;
  printf("%s %d %d %" PRId64 " %" PRId64 " %" PRId64 "\n", kind, tiling->mr,
         tiling->vectors, tiling->rows, tiling->columns, tiling->depth);
  return true;
}

static void print_all(const pn_model_core_t *core,
                      const pn_model_contraction_t *product,
                      const pn_model_contraction_plan_t *plan,
                      const int64_t *numbers, pn_model_tiling_t *tilings) {
  static printed_t printed;
  print_tiling(&printed, "model",
               &(pn_model_tiling_t){plan->tile.mr, plan->tile.vectors,
                                    plan->m.points, plan->n.points,
                                    plan->k.points});
  int64_t count =
      pn_model_list_steps(core, product, plan, MOST_TILINGS, tilings);
  int64_t left = numbers[12];
  for (int64_t i = 0; i < count && left > 0; ++i)
    left -= print_tiling(&printed, "step", &tilings[i]);
  count = pn_model_list_tilings(core, product, MOST_TILINGS, tilings);
  if (count > MOST_TILINGS)
    count = MOST_TILINGS;
  uint64_t state = (uint64_t)numbers[14] * 2 + 1;
  left = numbers[13];
  /* Small products have few tilings. */
  for (int64_t tries = 0; left > 0 && count > 0 && tries < 64 * count; ++tries)
    left -= print_tiling(&printed, "random",
                         &tilings[next_random(&state) % (uint64_t)count]);
}

int main(int argc, char **argv) {
  int64_t numbers[ARGUMENTS];
  bool is_read = argc == ARGUMENTS + 1;
  for (int i = 0; is_read && i < ARGUMENTS; ++i)
    is_read = read_number(argv[i + 1], &numbers[i]);
  if (!is_read) {
    fputs("list-tilings takes 15 numbers; see the head of its source\n",
          stderr);
    return 2;
  }
  pn_model_core_t core = {
      .element_bytes = 4,
      .accumulator_bytes = 4,
      .lanes = (int32_t)numbers[0] / 32,
      .vector_registers = (int32_t)numbers[1],
      .fma_latency_cycles = (int32_t)numbers[2],
      .fma_ports = (int32_t)numbers[3],
      .load_ports = (int32_t)numbers[4],
      .caches = {{(int32_t)numbers[5], 64, 8, 1},
                 {(int32_t)numbers[6], 64, 8, 1}},
      .usable_llc_kib = (int32_t)numbers[6],
      .l2_bytes_per_cycle = 32,
      .memory_bytes_per_cycle = 1,
  };
  pn_model_contraction_t product = {.m = {1, {numbers[9]}},
                                    .n = {1, {numbers[10]}},
                                    .k = {1, {numbers[11]}},
                                    .batch = numbers[8],
                                    .cores = (int32_t)numbers[7],
                                    .packs_ahead = true};
  pn_model_contraction_plan_t plan;
  pn_model_tiling_t *tilings = calloc(MOST_TILINGS, sizeof(*tilings));
  if (!tilings || !pn_model_contraction_plan(&core, &product, &plan)) {
    fputs(tilings ? "the model has no plan\n" : "out of memory\n", stderr);
    free(tilings);
    return 1;
  }
  print_all(&core, &product, &plan, numbers, tilings);
  free(tilings);
  return 0;
}
