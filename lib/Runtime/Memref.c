/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runtime/Memref.c: sizes, spans and MLIR descriptors of strided views. */
#include "Runtime/CheckedMath.h"
#include "polynest/runtime.h"

/* The fixed head of an MLIR ranked descriptor; sizes and strides follow. */
typedef struct pn_descriptor_head {
  void *allocated;
  void *aligned;
  int64_t offset;
} pn_descriptor_head_t;

PN_STATIC_ASSERT(sizeof(pn_descriptor_head_t) == 2 * sizeof(void *) + 8,
                 "MLIR lays its descriptor out without padding");

/* pn_dtype_size, which ahead-of-time libraries do not carry. */
static int64_t element_bytes(int32_t dtype) {
  switch ((pn_dtype_t)dtype) {
  case PN_DTYPE_BOOL:
  case PN_DTYPE_I8:
    return 1;
  case PN_DTYPE_I16:
  case PN_DTYPE_F16:
  case PN_DTYPE_BF16:
    return 2;
  case PN_DTYPE_I32:
  case PN_DTYPE_F32:
    return 4;
  case PN_DTYPE_I64:
  case PN_DTYPE_INDEX:
  case PN_DTYPE_F64:
    return 8;
  case PN_DTYPE_INVALID:
    break;
  }
  return 0;
}

/* What is wrong independently of any product. */
static bool fields_valid(const pn_memref_t *memref) {
  if (!memref || memref->rank < 0 || memref->rank > PN_MEMREF_RANK_MAX ||
      !element_bytes(memref->dtype) || (memref->rank && !memref->sizes))
    return false;
  for (int32_t d = 0; d < memref->rank; ++d)
    if (memref->sizes[d] < 0)
      return false;
  return true;
}

static bool has_zero_size(const pn_memref_t *memref) {
  for (int32_t d = 0; d < memref->rank; ++d)
    if (memref->sizes[d] == 0)
      return true;
  return false;
}

/* A zero anywhere wins over an overflow elsewhere, whatever their order. */
pn_error_code_t pn_memref_element_count(const pn_memref_t *memref,
                                        int64_t *out_count) {
  if (!out_count)
    return PN_ERROR_ARGUMENT;
  *out_count = 0;
  if (!fields_valid(memref))
    return PN_ERROR_ARGUMENT;
  if (has_zero_size(memref))
    return PN_ERROR_NONE;
  int64_t count = 1;
  for (int32_t d = 0; d < memref->rank; ++d)
    if (!pn_i64_mul(count, memref->sizes[d], &count))
      return PN_ERROR_ARGUMENT;
  *out_count = count;
  return PN_ERROR_NONE;
}

/* Lowest and highest element offset of a view with elements. */
static bool element_range(const pn_memref_t *memref, int64_t count,
                          int64_t *out_low, int64_t *out_high) {
  int64_t low = memref->offset, high = memref->offset;
  *out_low = *out_high = 0;
  if (!memref->strides) {
    if (!pn_i64_add(high, count - 1, &high))
      return false;
  } else {
    for (int32_t d = 0; d < memref->rank; ++d) {
      int64_t reach = 0;
      if (!pn_i64_mul(memref->sizes[d] - 1, memref->strides[d], &reach))
        return false;
      int64_t *edge = reach < 0 ? &low : &high;
      if (!pn_i64_add(*edge, reach, edge))
        return false;
    }
  }
  *out_low = low;
  *out_high = high;
  return true;
}

/* data + bytes, or false where that leaves the address space. */
static bool address_add(const void *data, int64_t bytes, uintptr_t *out) {
  uintptr_t base = (uintptr_t)data;
  uintptr_t moved = base + (uintptr_t)bytes;
  *out = moved;
  return bytes < 0 ? moved < base : moved >= base;
}

pn_error_code_t pn_memref_span(const pn_memref_t *memref, uintptr_t *out_lo,
                               uintptr_t *out_hi) {
  if (!out_lo || !out_hi)
    return PN_ERROR_ARGUMENT;
  *out_lo = *out_hi = 0;
  int64_t count = 0;
  pn_error_code_t code = pn_memref_element_count(memref, &count);
  if (code != PN_ERROR_NONE || count == 0)
    return code;
  int64_t bytes = element_bytes(memref->dtype), low = 0, high = 0;
  uintptr_t lo = 0, hi = 0;
  if (!memref->data || !element_range(memref, count, &low, &high) ||
      !pn_i64_add(high, 1, &high) || !pn_i64_mul(low, bytes, &low) ||
      !pn_i64_mul(high, bytes, &high) || !address_add(memref->data, low, &lo) ||
      !address_add(memref->data, high, &hi))
    return PN_ERROR_ARGUMENT;
  *out_lo = lo;
  *out_hi = hi;
  return PN_ERROR_NONE;
}

pn_error_code_t pn_memref_check(const pn_memref_t *memref) {
  uintptr_t lo = 0, hi = 0;
  return pn_memref_span(memref, &lo, &hi);
}

bool pn_memref_overlaps(const pn_memref_t *a, const pn_memref_t *b) {
  uintptr_t a_lo = 0, a_hi = 0, b_lo = 0, b_hi = 0;
  if (pn_memref_span(a, &a_lo, &a_hi) != PN_ERROR_NONE ||
      pn_memref_span(b, &b_lo, &b_hi) != PN_ERROR_NONE)
    return true;
  return a_lo < a_hi && b_lo < b_hi && a_lo < b_hi && b_lo < a_hi;
}

bool pn_memref_is_contiguous(const pn_memref_t *memref) {
  int64_t count = 0;
  if (pn_memref_element_count(memref, &count) != PN_ERROR_NONE)
    return false;
  if (count == 0 || !memref->strides)
    return true;
  int64_t expected = 1;
  for (int32_t d = memref->rank - 1; d >= 0; --d) {
    if (memref->sizes[d] != 1 && memref->strides[d] != expected)
      return false;
    expected *= memref->sizes[d]; /* a factor of count, which fits */
  }
  return true;
}

size_t pn_memref_descriptor_size(int32_t rank) {
  if (rank < 0 || rank > PN_MEMREF_RANK_MAX)
    return 0;
  size_t tail = 0, bytes = 0;
  if (!pn_size_mul((size_t)rank, 2 * sizeof(int64_t), &tail) ||
      !pn_size_add(sizeof(pn_descriptor_head_t), tail, &bytes))
    return 0;
  return bytes;
}

/* Row-major strides. Sizes of 0 count as 1, and a product that overflows, which
 * is possible without elements alone, ends as 0. */
static void strides_fill(const pn_memref_t *memref, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t d = memref->rank - 1; d >= 0; --d) {
    strides[d] = stride;
    if (memref->sizes[d] > 1)
      (void)pn_i64_mul(stride, memref->sizes[d], &stride);
  }
}

pn_error_code_t pn_memref_descriptor_fill(const pn_memref_t *memref,
                                          void *out_descriptor) {
  if (!out_descriptor)
    return PN_ERROR_ARGUMENT;
  pn_error_code_t code = pn_memref_check(memref);
  if (code != PN_ERROR_NONE)
    return code;
  pn_descriptor_head_t *head = out_descriptor;
  head->allocated = head->aligned = memref->data;
  head->offset = memref->offset;
  if (!memref->rank)
    return PN_ERROR_NONE;
  size_t rank = (size_t)memref->rank;
  int64_t *sizes = (int64_t *)(head + 1), *strides = sizes + rank;
  for (size_t d = 0; d < rank; ++d)
    sizes[d] = memref->sizes[d];
  if (!memref->strides)
    strides_fill(memref, strides);
  for (size_t d = 0; memref->strides && d < rank; ++d)
    strides[d] = memref->strides[d];
  return PN_ERROR_NONE;
}
