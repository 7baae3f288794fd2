/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* half_float_test.c: conversions of 16-bit floats, by what rounding means. */

#include "Runtime/HalfFloat.h"
#include "check.h"

#include <math.h>
#include <string.h>

static uint16_t half_bits(_Float16 value) {
  uint16_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static uint16_t brain_bits(__bf16 value) {
  uint16_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static _Float16 half_of(unsigned bits) {
  uint16_t narrow = (uint16_t)bits;
  _Float16 value;
  memcpy(&value, &narrow, sizeof(value));
  return value;
}

/* The value of a positive finite half, by its definition. */
static double value_of_half(unsigned bits) {
  unsigned exponent = bits >> 10, fraction = bits & 0x3ff;
  return exponent ? ldexp(1024 + fraction, (int)exponent - 25)
                  : ldexp(fraction, -24);
}

static double value_of_brain(unsigned bits) {
  unsigned exponent = bits >> 7, fraction = bits & 0x7f;
  return exponent ? ldexp(128 + fraction, (int)exponent - 134)
                  : ldexp(fraction, -133);
}

static void test_extend(void) {
  bool same = true;
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    double value = value_of_half(bits);
    same &= __extendhfdf2(half_of(bits)) == value;
    same &= (double)__extendhfsf2(half_of(bits)) == value;
    same &= __extendhfdf2(half_of(bits | 0x8000)) == -value;
  }
  CHECK(same);
  CHECK(signbit(__extendhfdf2(half_of(0x8000))));
  CHECK(isinf(__extendhfdf2(half_of(0x7c00))));
  CHECK(isnan(__extendhfdf2(half_of(0x7c01))));
}

/* Every value, every middle between two, and both sides of the middle. */
static void check_narrow(unsigned infinity, double (*value_of)(unsigned),
                         unsigned (*narrow)(double)) {
  bool same = true;
  for (unsigned bits = 0; bits < infinity; ++bits) {
    double low = value_of(bits);
    /* Beyond the largest value the next one would be a power of two. */
    double high = value_of(bits + 1);
    double middle = low + (high - low) / 2;
    same &= narrow(low) == bits && narrow(-low) == (bits | 0x8000);
    same &= narrow(middle) == (bits & 1 ? bits + 1 : bits);
    same &= narrow(nextafter(middle, 0)) == bits || middle == 0;
    same &= narrow(nextafter(middle, (double)INFINITY)) == bits + 1;
  }
  CHECK(same);
  CHECK(narrow((double)INFINITY) == infinity);
  CHECK(narrow(-(double)INFINITY) == (infinity | 0x8000));
  CHECK(narrow(1e308) == infinity);
  CHECK(narrow(5e-324) == 0 && narrow(-5e-324) == 0x8000);
  unsigned nan = narrow((double)NAN);
  CHECK((nan & 0x7fff) > infinity);
}

static unsigned narrow_half(double value) {
  return half_bits(__truncdfhf2(value));
}

static unsigned narrow_brain(double value) {
  return brain_bits(__truncdfbf2(value));
}

static void test_truncate_half(void) {
  check_narrow(0x7c00, value_of_half, narrow_half);
}

static void test_truncate_brain(void) {
  check_narrow(0x7f80, value_of_brain, narrow_brain);
}

/* Through float, and the values of a table known from elsewhere. */
static void test_float(void) {
  CHECK(half_bits(__truncsfhf2(0.3f)) == 0x34cd);
  CHECK(half_bits(__truncsfhf2(70000.0f)) == 0x7c00);
  CHECK(half_bits(__truncsfhf2(65519.0f)) == 0x7bff);
  CHECK(brain_bits(__truncsfbf2(1.0f / 3)) == 0x3eab);
  CHECK(brain_bits(__truncsfbf2(-0.0f)) == 0x8000);
  float quiet;
  const uint32_t bits = 0x7f800001; /* a signalling NaN with a low payload */
  memcpy(&quiet, &bits, sizeof(quiet));
  CHECK((brain_bits(__truncsfbf2(quiet)) & 0x7fff) > 0x7f80);
}

static void test_powers(void) {
  CHECK(__powidf2(3, 4) == 81 && __powidf2(2, -3) == 0.125);
  CHECK(__powidf2(0, 0) == 1 && __powisf2(-2, 3) == -8);
  CHECK(__powidf2(1, INT32_MIN) == 1 && __powisf2(2, INT32_MIN) == 0);
}

int main(void) {
  CHECK_RUN(test_extend);
  CHECK_RUN(test_truncate_half);
  CHECK_RUN(test_truncate_brain);
  CHECK_RUN(test_float);
  CHECK_RUN(test_powers);
  return check_result();
}
