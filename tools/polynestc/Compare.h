/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Compare.h: results against a reference, by the tolerance table.
 *
 * Booleans and integers must be equal. NaN equals NaN, infinities equal
 * themselves. A finite real x may differ from its reference r by
 *   factor * unit * sqrt(n) * (|r| + mean)
 * where unit and factor are the element type's row of test/tolerances.json, n
 * is the length of the reductions, and mean is the mean magnitude of the finite
 * elements of the reference: sums of n terms in another order differ by about
 * sqrt(n) roundings of the terms' size, which the mean stands for where the
 * terms cancel.
 */
#ifndef POLYNESTC_COMPARE_H
#define POLYNESTC_COMPARE_H

#include "Array.h"

/* How results differ. */
typedef struct pn_difference {
  int64_t count; /* of elements that differ by more than they may */
  int64_t first; /* number of the first of them */
  double want, got, bound;
  double largest; /* difference among finite elements */
  double scale;   /* the largest difference in terms of its bound */
} pn_difference_t;

/* Compares arrays of the same type. `length` is n above. */
pn_difference_t pn_array_compare(const pn_array_t *want, const pn_array_t *got,
                                 double length);

/* A guess of n from inputs and results alone: the largest of the inputs' sizes
 * and of the elements an input has for each of the result. */
double pn_guess_reduction_length(const pn_array_t *inputs, size_t input_count,
                                 const pn_array_t *result);

/* Prints one element so that it reads back to the same value. */
void pn_print_element(pn_dtype_t dtype, const void *element);

#endif /* POLYNESTC_COMPARE_H */
