/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* polynestc/Array.c: arguments and results that the tool owns. */

#include "Array.h"

#include "Report.h"
#include "Text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTE 0x5c
/* Data begin where a cache line does, as those of frameworks do: what code does
 * only then is checked and timed, too. */
#define LINE_BYTES 64

bool pn_dtype_is_real(pn_dtype_t dtype) {
  return dtype == PN_DTYPE_F16 || dtype == PN_DTYPE_BF16 ||
         dtype == PN_DTYPE_F32 || dtype == PN_DTYPE_F64;
}

/* ------------------------------------------------------------------------ */
/* Elements                                                                 */
/* ------------------------------------------------------------------------ */

/* A small binary float: its exponent's bias, and the bits of its fraction. */
typedef struct pn_small_float {
  int bias, fraction_bits, exponent_bits;
} pn_small_float_t;

static const pn_small_float_t float16 = {15, 10, 5}, brain16 = {127, 7, 8};

static double decode(const pn_small_float_t *format, unsigned bits) {
  unsigned fraction = bits & ((1u << format->fraction_bits) - 1);
  unsigned all_ones = (1u << format->exponent_bits) - 1;
  unsigned exponent = (bits >> format->fraction_bits) & all_ones;
  double sign = bits & 0x8000u ? -1.0 : 1.0;
  if (exponent == all_ones)
    return fraction ? (double)NAN : sign * (double)INFINITY;
  if (exponent == 0)
    return sign * ldexp(fraction, 1 - format->bias - format->fraction_bits);
  return sign * ldexp(fraction + (1u << format->fraction_bits),
                      (int)exponent - format->bias - format->fraction_bits);
}

static unsigned encode(const pn_small_float_t *format, double value) {
  unsigned sign = signbit(value) ? 0x8000u : 0;
  unsigned infinity = ((1u << format->exponent_bits) - 1)
                      << format->fraction_bits;
  if (isnan(value))
    return sign | infinity | (1u << (format->fraction_bits - 1));
  int exponent;
  double magnitude = fabs(value);
  (void)frexp(magnitude, &exponent);
  /* The unit of the last place, which does not shrink below the smallest. */
  int unit = exponent - 1 - format->fraction_bits;
  int smallest = 1 - format->bias - format->fraction_bits;
  if (magnitude == 0 || unit < smallest)
    unit = smallest;
  if (isinf(value) || unit > format->bias - format->fraction_bits)
    return sign | infinity;
  /* Rounding up to the next power of two carries into the exponent. */
  unsigned units = (unsigned)nearbyint(ldexp(magnitude, -unit));
  unsigned biased = (unsigned)(unit - smallest);
  unsigned bits = (biased << format->fraction_bits) + units;
  return sign | (bits < infinity ? bits : infinity);
}

double pn_element_real(pn_dtype_t dtype, const void *element) {
  if (dtype == PN_DTYPE_F64) {
    double value;
    memcpy(&value, element, sizeof(value));
    return value;
  }
  if (dtype == PN_DTYPE_F32) {
    float value;
    memcpy(&value, element, sizeof(value));
    return (double)value;
  }
  if (pn_dtype_is_real(dtype)) {
    uint16_t bits;
    memcpy(&bits, element, sizeof(bits));
    return decode(dtype == PN_DTYPE_F16 ? &float16 : &brain16, bits);
  }
  return (double)pn_element_integer(dtype, element);
}

int64_t pn_element_integer(pn_dtype_t dtype, const void *element) {
  switch (pn_dtype_size(dtype)) {
  case 1: {
    int8_t value;
    memcpy(&value, element, sizeof(value));
    return dtype == PN_DTYPE_BOOL ? (uint8_t)value : value;
  }
  case 2: {
    int16_t value;
    memcpy(&value, element, sizeof(value));
    return value;
  }
  case 4: {
    int32_t value;
    memcpy(&value, element, sizeof(value));
    return value;
  }
  case 8: {
    int64_t value;
    memcpy(&value, element, sizeof(value));
    return value;
  }
  default:
    return 0;
  }
}

void pn_element_store_real(pn_dtype_t dtype, double value, void *element) {
  if (dtype == PN_DTYPE_F64) {
    memcpy(element, &value, sizeof(value));
  } else if (dtype == PN_DTYPE_F32) {
    float rounded = (float)value;
    memcpy(element, &rounded, sizeof(rounded));
  } else {
    uint16_t bits =
        (uint16_t)encode(dtype == PN_DTYPE_F16 ? &float16 : &brain16, value);
    memcpy(element, &bits, sizeof(bits));
  }
}

static void store_integer(pn_dtype_t dtype, int64_t value, void *element) {
  /* Little endian: the low bytes come first. */
  memcpy(element, &value, pn_dtype_size(dtype));
}

/* ------------------------------------------------------------------------ */
/* Arrays                                                                   */
/* ------------------------------------------------------------------------ */

/* Number of bytes of the elements, or a report. */
static bool count_bytes(pn_dtype_t dtype, int32_t rank, const int64_t *sizes,
                        int64_t *out_count, size_t *out_bytes) {
  pn_memref_t view = {
      .data = out_bytes, .sizes = sizes, .dtype = (int32_t)dtype, .rank = rank};
  size_t size = pn_dtype_size(dtype);
  if (pn_memref_element_count(&view, out_count) == PN_ERROR_NONE && size &&
      !__builtin_mul_overflow((size_t)*out_count, size, out_bytes) &&
      *out_bytes < SIZE_MAX / 4)
    return true;
  pn_text_t type = {0};
  for (int32_t d = 0; d < rank; ++d)
    pn_text_printf(&type, "%" PRId64 "x", sizes[d]);
  pn_report("error", "an array of %s%s is too large or has a negative size",
            pn_text_get(&type), pn_dtype_name(dtype));
  pn_text_clear(&type);
  return false;
}

bool pn_array_create(pn_dtype_t dtype, int32_t rank, const int64_t *sizes,
                     unsigned char fill, pn_array_t *out_array) {
  *out_array = (pn_array_t){.dtype = dtype, .rank = rank};
  int64_t count;
  size_t bytes;
  if (!count_bytes(dtype, rank, sizes, &count, &bytes))
    return false;
  out_array->count = count;
  out_array->bytes = bytes;
  out_array->sizes = pn_alloc_array((size_t)rank, sizeof(int64_t));
  out_array->strides = pn_alloc_array((size_t)rank, sizeof(int64_t));
  int64_t stride = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    out_array->sizes[d] = sizes[d];
    out_array->strides[d] = stride;
    /* Where there is an element this fits, else it is nobody's distance. */
    stride =
        (int64_t)((uint64_t)stride * (uint64_t)(sizes[d] > 0 ? sizes[d] : 1));
  }
  out_array->block =
      pn_alloc_array(bytes + 2 * PN_ARRAY_GUARD_BYTES + LINE_BYTES - 1, 1);
  size_t past = (uintptr_t)out_array->block % LINE_BYTES;
  size_t lead = PN_ARRAY_GUARD_BYTES + (past ? LINE_BYTES - past : 0);
  out_array->data = out_array->block + lead;
  memset(out_array->block, GUARD_BYTE, lead);
  memset(out_array->data, fill, bytes);
  memset(out_array->data + bytes, GUARD_BYTE, PN_ARRAY_GUARD_BYTES);
  return true;
}

void pn_array_clone(const pn_array_t *array, pn_array_t *out_array) {
  if (!pn_array_create(array->dtype, array->rank, array->sizes, 0, out_array))
    return;
  for (int32_t d = 0; d < array->rank; ++d)
    out_array->strides[d] = array->strides[d];
  memcpy(out_array->data, array->data, array->bytes);
}

pn_memref_t pn_array_view(const pn_array_t *array) {
  return (pn_memref_t){.data = array->data,
                       .sizes = array->sizes,
                       .strides = array->strides,
                       .dtype = (int32_t)array->dtype,
                       .rank = array->rank};
}

pn_memref_t *pn_array_views(const pn_array_t *arrays, size_t count) {
  pn_memref_t *views = pn_alloc_array(count, sizeof(*views));
  for (size_t i = 0; i < count; ++i)
    views[i] = pn_array_view(&arrays[i]);
  return views;
}

void pn_array_index(const pn_array_t *array, int64_t i, int64_t *out_index) {
  for (int32_t d = array->rank - 1; d >= 0; --d) {
    out_index[d] = i % array->sizes[d];
    i /= array->sizes[d];
  }
}

void *pn_array_at(const pn_array_t *array, int64_t i) {
  int64_t at = 0;
  for (int32_t d = array->rank - 1; d >= 0; --d) {
    at += i % array->sizes[d] * array->strides[d];
    i /= array->sizes[d];
  }
  return array->data + at * (int64_t)pn_dtype_size(array->dtype);
}

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable
 * pseudorandom number generators, 2014): any counter gives a good value. */
static uint64_t mix(uint64_t value) {
  value += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
  return value ^ (value >> 31);
}

void pn_array_randomize(pn_array_t *array, uint64_t seed, uint64_t stream,
                        int64_t int_low, int64_t int_high) {
  uint64_t start = mix(mix(seed) + stream);
  uint64_t range = (uint64_t)int_high - (uint64_t)int_low + 1;
  for (int64_t i = 0; i < array->count; ++i) {
    void *element = pn_array_at(array, i);
    uint64_t bits = mix(start + (uint64_t)i);
    if (pn_dtype_is_real(array->dtype))
      pn_element_store_real(array->dtype,
                            ldexp((double)(bits >> 11), -52) - 0.75, element);
    else if (array->dtype == PN_DTYPE_BOOL)
      store_integer(array->dtype, (int64_t)(bits >> 63), element);
    else
      store_integer(
          array->dtype,
          (int64_t)((uint64_t)int_low + (range ? (bits >> 16) % range : bits)),
          element);
  }
}

static bool is_guard(const char *bytes) {
  for (size_t i = 0; i < PN_ARRAY_GUARD_BYTES; ++i)
    if (bytes[i] != GUARD_BYTE)
      return false;
  return true;
}

bool pn_array_guards_intact(const pn_array_t *array) {
  return is_guard(array->data - PN_ARRAY_GUARD_BYTES) &&
         is_guard(array->data + array->bytes);
}

void pn_array_destroy(pn_array_t *array) {
  free(array->sizes);
  free(array->strides);
  free(array->block);
  *array = (pn_array_t){0};
}
