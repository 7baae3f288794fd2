/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/CheckedMath.h: the one place for arithmetic that may overflow on
 * sizes, shapes and strides.
 *
 * Each function stores the result and returns true, or stores 0 and returns
 * false where the exact result does not fit.
 * Threads: pure functions.
 */
#ifndef POLYNEST_RUNTIME_CHECKED_MATH_H
#define POLYNEST_RUNTIME_CHECKED_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool pn_size_mul(size_t a, size_t b, size_t *out_product) {
  if (!__builtin_mul_overflow(a, b, out_product))
    return true;
  *out_product = 0;
  return false;
}

static inline bool pn_size_add(size_t a, size_t b, size_t *out_sum) {
  if (!__builtin_add_overflow(a, b, out_sum))
    return true;
  *out_sum = 0;
  return false;
}

static inline bool pn_i64_mul(int64_t a, int64_t b, int64_t *out_product) {
  if (!__builtin_mul_overflow(a, b, out_product))
    return true;
  *out_product = 0;
  return false;
}

static inline bool pn_i64_add(int64_t a, int64_t b, int64_t *out_sum) {
  if (!__builtin_add_overflow(a, b, out_sum))
    return true;
  *out_sum = 0;
  return false;
}

#endif /* POLYNEST_RUNTIME_CHECKED_MATH_H */
