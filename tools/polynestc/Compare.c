/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Compare.c: results against a reference. */

#include "Compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows {dtype, unit, factor}, made of test/tolerances.json. */
static const struct {
  pn_dtype_t dtype;
  double unit, factor;
} tolerances[] = {
#include "Tolerances.inc"
};

static double relative_bound(pn_dtype_t dtype, double length) {
  for (size_t i = 0; i < sizeof(tolerances) / sizeof(tolerances[0]); ++i)
    if (tolerances[i].dtype == dtype)
      return tolerances[i].factor * tolerances[i].unit *
             sqrt(length > 1 ? length : 1);
  return 0;
}

static double mean_magnitude(const pn_array_t *array) {
  double sum = 0, count = 0;
  for (int64_t i = 0; i < array->count; ++i) {
    double value = fabs(pn_element_real(array->dtype, pn_array_at(array, i)));
    if (!isfinite(value))
      continue;
    sum += value;
    count += 1;
  }
  return count > 0 && isfinite(sum) ? sum / count : 0;
}

static void note(pn_difference_t *difference, int64_t i, double want,
                 double got, double bound) {
  if (difference->count++ > 0)
    return;
  difference->first = i;
  difference->want = want;
  difference->got = got;
  difference->bound = bound;
}

static void compare_reals(const pn_array_t *want, const pn_array_t *got,
                          double length, pn_difference_t *difference) {
  double relative = relative_bound(want->dtype, length);
  double mean = mean_magnitude(want);
  for (int64_t i = 0; i < want->count; ++i) {
    double w = pn_element_real(want->dtype, pn_array_at(want, i));
    double g = pn_element_real(got->dtype, pn_array_at(got, i));
    double bound = relative * (fabs(w) + mean);
    if (isnan(w) || isnan(g) || isinf(w) || isinf(g)) {
      if (w != g && !(isnan(w) && isnan(g)))
        note(difference, i, w, g, bound);
      continue;
    }
    double off = fabs(w - g);
    if (off > difference->largest)
      difference->largest = off;
    if (bound > 0 && off / bound > difference->scale)
      difference->scale = off / bound;
    if (off > bound)
      note(difference, i, w, g, bound);
  }
}

pn_difference_t pn_array_compare(const pn_array_t *want, const pn_array_t *got,
                                 double length) {
  pn_difference_t difference = {0};
  if (pn_dtype_is_real(want->dtype)) {
    compare_reals(want, got, length, &difference);
    return difference;
  }
  for (int64_t i = 0; i < want->count; ++i) {
    int64_t w = pn_element_integer(want->dtype, pn_array_at(want, i));
    int64_t g = pn_element_integer(got->dtype, pn_array_at(got, i));
    if (w != g)
      note(&difference, i, (double)w, (double)g, 0);
  }
  return difference;
}

double pn_guess_reduction_length(const pn_array_t *inputs, size_t input_count,
                                 const pn_array_t *result) {
  double length = 1;
  for (size_t i = 0; i < input_count; ++i) {
    for (int32_t d = 0; d < inputs[i].rank; ++d)
      length = fmax(length, (double)inputs[i].sizes[d]);
    if (result->count > 0)
      length = fmax(length, (double)inputs[i].count / (double)result->count);
  }
  return length;
}

void pn_print_element(pn_dtype_t dtype, const void *element) {
  if (!pn_dtype_is_real(dtype)) {
    printf("%" PRId64, pn_element_integer(dtype, element));
    return;
  }
  double value = pn_element_real(dtype, element);
  if (isnan(value)) {
    printf("nan");
    return;
  }
  /* The fewest digits that read back to the same value of the type. */
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    (void)snprintf(text, sizeof(text), "%.*g", digits, value);
    double back = strtod(text, NULL), rounded;
    char bytes[8];
    pn_element_store_real(dtype, back, bytes);
    rounded = pn_element_real(dtype, bytes);
    if (rounded == value)
      break;
  }
  printf("%s", text);
}
