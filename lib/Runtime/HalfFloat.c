/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/HalfFloat.c: what LLVM's code calls for 16-bit floats and powers. */

#include "Runtime/HalfFloat.h"

#include <string.h>

/* A binary format: bits of its fraction, and its exponent's bias, which is also
 * the largest exponent. */
typedef struct pn_format {
  int fraction_bits, bias;
} pn_format_t;

static const pn_format_t half = {10, 15}, brain = {7, 127}, whole = {52, 1023};

/* Rounds the bits of a double to a narrower format. */
static uint16_t narrow(double value, const pn_format_t *format) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  unsigned sign = (unsigned)(bits >> 63) << 15;
  unsigned infinity = (unsigned)(2 * format->bias + 1) << format->fraction_bits;
  uint64_t fraction = bits & ((UINT64_C(1) << whole.fraction_bits) - 1);
  int field = (int)(bits >> whole.fraction_bits & 0x7ff);
  int shift = whole.fraction_bits - format->fraction_bits;
  if (field == 0x7ff && fraction) {
    unsigned quiet = 1u << (format->fraction_bits - 1);
    return (uint16_t)(sign | infinity | quiet | (unsigned)(fraction >> shift));
  }
  int exponent = field - whole.bias + format->bias;
  if (exponent > 2 * format->bias)
    return (uint16_t)(sign | infinity);
  /* Doubles below the normal range are zero in every narrower format. */
  uint64_t significand = fraction | (UINT64_C(1) << whole.fraction_bits);
  if (exponent < 1) {
    shift += 1 - exponent;
    exponent = 1;
  }
  if (shift > whole.fraction_bits + 1)
    return (uint16_t)sign;
  uint64_t units = significand >> shift;
  uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
  uint64_t tie = UINT64_C(1) << (shift - 1);
  if (rest > tie || (rest == tie && (units & 1)))
    ++units;
  /* The leading one of `units` counts as one step of the exponent, and so does
   * a carry out of the rounding; up to infinity. */
  return (uint16_t)(sign |
                    (((unsigned)(exponent - 1) << format->fraction_bits) +
                     (unsigned)units));
}

/* The value of the bits of a half. */
static double widen(uint16_t bits) {
  unsigned field = bits >> half.fraction_bits & 0x1f;
  unsigned fraction = bits & 0x3ff;
  uint64_t sign = (uint64_t)(bits >> 15) << 63;
  uint64_t wide;
  if (field == 0x1f) {
    wide = UINT64_C(0x7ff) << 52 | (uint64_t)fraction << 42 |
           (fraction ? UINT64_C(1) << 51 : 0);
  } else if (field == 0) {
    /* Exact: the fraction is a small integer. */
    double value = (double)fraction * 0x1p-24;
    memcpy(&wide, &value, sizeof(wide));
  } else {
    wide = (uint64_t)(field - 15 + 1023) << 52 | (uint64_t)fraction << 42;
  }
  wide |= sign;
  double value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

_Float16 __truncdfhf2(double value) {
  uint16_t bits = narrow(value, &half);
  _Float16 result;
  memcpy(&result, &bits, sizeof(result));
  return result;
}

_Float16 __truncsfhf2(float value) { return __truncdfhf2((double)value); }

__bf16 __truncdfbf2(double value) {
  uint16_t bits = narrow(value, &brain);
  __bf16 result;
  memcpy(&result, &bits, sizeof(result));
  return result;
}

__bf16 __truncsfbf2(float value) { return __truncdfbf2((double)value); }

double __extendhfdf2(_Float16 value) {
  uint16_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return widen(bits);
}

/* Exact: every half is a float. */
float __extendhfsf2(_Float16 value) { return (float)__extendhfdf2(value); }

double __powidf2(double base, int exponent) {
  unsigned left = exponent < 0 ? -(unsigned)exponent : (unsigned)exponent;
  double result = 1;
  for (; left; left >>= 1) {
    if (left & 1)
      result *= base;
    base *= base;
  }
  return exponent < 0 ? 1 / result : result;
}

float __powisf2(float base, int exponent) {
  unsigned left = exponent < 0 ? -(unsigned)exponent : (unsigned)exponent;
  float result = 1;
  for (; left; left >>= 1) {
    if (left & 1)
      result *= base;
    base *= base;
  }
  return exponent < 0 ? 1 / result : result;
}
