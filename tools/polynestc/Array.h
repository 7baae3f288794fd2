/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Array.h: arguments and results that the tool owns.
 *
 * An array is a strided view into one block, with guard bytes on both sides
 * that show writes past its ends; its data begin at a cache line. Strides are
 * in elements. Ownership: an array owns all its pointers; a zeroed array is
 * empty. Where memory is short the tool ends (Text.h).
 */
#ifndef POLYNESTC_ARRAY_H
#define POLYNESTC_ARRAY_H

#include "polynest/runtime.h"

typedef struct pn_array {
  pn_dtype_t dtype;
  int32_t rank;
  int64_t *sizes;
  int64_t *strides;
  int64_t count; /* of elements */
  char *block;   /* guard, data, guard */
  char *data;    /* first byte of the data */
  size_t bytes;  /* of data */
} pn_array_t;

#define PN_ARRAY_GUARD_BYTES 256

/* Makes a contiguous array filled with the byte `fill`. Returns false and
 * reports where the sizes are negative or too large. */
bool pn_array_create(pn_dtype_t dtype, int32_t rank, const int64_t *sizes,
                     unsigned char fill, pn_array_t *out_array);

/* A copy with the same strides and its own data. */
void pn_array_clone(const pn_array_t *array, pn_array_t *out_array);

pn_memref_t pn_array_view(const pn_array_t *array);

/* Views of several arrays, which the caller frees. */
pn_memref_t *pn_array_views(const pn_array_t *arrays, size_t count);

/* Address of element number `i` in row-major order. */
void *pn_array_at(const pn_array_t *array, int64_t i);

/* Indices of element number `i`, rank values. */
void pn_array_index(const pn_array_t *array, int64_t i, int64_t *out_index);

/* Fills the array with values that depend on seed, stream and the element's
 * number alone: reals are spread over [-0.75, 1.25) and are no multiples of a
 * power of two worth noting; integers lie in [int_low, int_high]; booleans are
 * both. */
void pn_array_randomize(pn_array_t *array, uint64_t seed, uint64_t stream,
                        int64_t int_low, int64_t int_high);

/* False where something was written beside the data. */
bool pn_array_guards_intact(const pn_array_t *array);

void pn_array_destroy(pn_array_t *array);

bool pn_dtype_is_real(pn_dtype_t dtype);

/* One element as a number; integers are rounded beyond 2^53. */
double pn_element_real(pn_dtype_t dtype, const void *element);

/* One element of an integer type or a boolean. */
int64_t pn_element_integer(pn_dtype_t dtype, const void *element);

/* Stores a number, rounded to nearest even. */
void pn_element_store_real(pn_dtype_t dtype, double value, void *element);

#endif /* POLYNESTC_ARRAY_H */
