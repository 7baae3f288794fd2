/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Version.c: versions and element types. */

#include "polynest/base.h"
#include "llvm/Config/llvm-config.h"

#define PN_TEXT2(x) #x
#define PN_TEXT(x) PN_TEXT2(x)

uint32_t pn_version(void) { return PN_VERSION; }

const char *pn_version_string(void) {
  return PN_TEXT(PN_VERSION_MAJOR) "." PN_TEXT(PN_VERSION_MINOR) "." PN_TEXT(
      PN_VERSION_PATCH);
}

const char *pn_llvm_version_string(void) { return LLVM_VERSION_STRING; }

static const struct {
  const char *name;
  size_t size;
} dtypes[] = {
    [PN_DTYPE_INVALID] = {"invalid", 0}, [PN_DTYPE_BOOL] = {"i1", 1},
    [PN_DTYPE_I8] = {"i8", 1},           [PN_DTYPE_I16] = {"i16", 2},
    [PN_DTYPE_I32] = {"i32", 4},         [PN_DTYPE_I64] = {"i64", 8},
    [PN_DTYPE_INDEX] = {"index", 8},     [PN_DTYPE_F16] = {"f16", 2},
    [PN_DTYPE_BF16] = {"bf16", 2},       [PN_DTYPE_F32] = {"f32", 4},
    [PN_DTYPE_F64] = {"f64", 8},
};

static size_t dtype_row(pn_dtype_t dtype) {
  size_t row = (size_t)dtype;
  return row < sizeof(dtypes) / sizeof(dtypes[0]) ? row : PN_DTYPE_INVALID;
}

size_t pn_dtype_size(pn_dtype_t dtype) { return dtypes[dtype_row(dtype)].size; }

const char *pn_dtype_name(pn_dtype_t dtype) {
  return dtypes[dtype_row(dtype)].name;
}
