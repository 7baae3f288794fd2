/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/StridedCopy.c: one strided view into another. */

#include "Compiler/Executable.h"

#include <string.h>

/* Stride in elements of dimension d; contiguous where none are given. */
static int64_t stride_of(const pn_memref_t *memref, int32_t d) {
  if (memref->strides)
    return memref->strides[d];
  int64_t stride = 1;
  for (int32_t i = d + 1; i < memref->rank; ++i)
    stride *= memref->sizes[i];
  return stride;
}

static void copy_dims(char *to, const pn_memref_t *to_type, const char *from,
                      const pn_memref_t *from_type, int32_t d, size_t bytes) {
  if (d == to_type->rank) {
    memcpy(to, from, bytes);
    return;
  }
  int64_t to_stride = stride_of(to_type, d) * (int64_t)bytes;
  int64_t from_stride = stride_of(from_type, d) * (int64_t)bytes;
  int64_t size = to_type->sizes[d];
  if (d + 1 == to_type->rank && to_stride == (int64_t)bytes &&
      from_stride == (int64_t)bytes) {
    if (size > 0)
      memcpy(to, from, (size_t)size * bytes);
    return;
  }
  for (int64_t i = 0; i < size; ++i)
    copy_dims(to + i * to_stride, to_type, from + i * from_stride, from_type,
              d + 1, bytes);
}

void pn_strided_copy(const pn_memref_t *to, const pn_memref_t *from) {
  size_t bytes = pn_dtype_size((pn_dtype_t)to->dtype);
  copy_dims((char *)to->data + to->offset * (int64_t)bytes, to,
            (const char *)from->data + from->offset * (int64_t)bytes, from, 0,
            bytes);
}
