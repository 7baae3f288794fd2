/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/DotUnits.h: instructions that multiply groups of narrow elements.
 *
 * Such an instruction takes two vectors of `bits`, multiplies their elements
 * in pairs, and adds up each group of `step` neighbours into one accumulator
 * of 32 bits. A form says what is computed, in words of no processor: type of
 * the elements of one side, of the other, and the step, as in "u8s8x4". The
 * sides may change places. A unit is an instruction that computes a form.
 * A matrix unit multiplies a tile of `rows` by `words` words of the first side
 * by a tile of `words` by `columns` words of the second, each word a group, and
 * adds up `rows` by `columns` accumulators in registers of their own.
 * Ownership: all tables are constant. Errors: NULL or false past the end.
 * Threads: pure functions.
 * Sources: the instruction's page in the Intel 64 and IA-32 Architectures
 * Software Developer's Manual, volume 2, and in the Arm Architecture Reference
 * Manual for A-profile; names of intrinsics as of LLVM 22. Latency of matrix
 * units: Intel 64 and IA-32 Architectures Optimization Reference Manual, Intel
 * AMX: TDP instructions start every 16 cycles and take 52.
 * Since: 0.1
 */
#ifndef POLYNEST_TARGET_DOTUNITS_H
#define POLYNEST_TARGET_DOTUNITS_H

#include "polynest/target.h"

PN_EXTERN_C_BEGIN

typedef struct pn_dot_unit {
  const char *form;
  int32_t bits;
  bool adds_up; /* takes accumulators; else it returns sums of groups alone */
  /* Its sums are those of plain arithmetic on integers. Of floating-point ones
   * all of these take denormal numbers for zero. */
  bool is_exact;
  const char *intrinsic; /* arguments: accumulators, first side, second side */
} pn_dot_unit_t;

/* Units of the target, the most useful form first, of a form the widest first;
 * none is wider than the target's vectors. */
const pn_dot_unit_t *pn_dot_unit_get(const pn_target_info_t *info,
                                     size_t index);

typedef struct pn_matrix_unit {
  const char *form; /* the first side is that of rows; none changes places */
  bool is_exact;    /* as above */
  const char *intrinsic;
  int32_t rows, columns, words;
  int32_t registers; /* each holds one tile */
  int32_t latency_cycles;
} pn_matrix_unit_t;

/* Fills in the target's unit of that index; false past the last one. */
bool pn_matrix_unit_get(const pn_target_info_t *info, size_t index,
                        pn_matrix_unit_t *out_unit);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_DOTUNITS_H */
