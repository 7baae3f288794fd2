/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/base.h: export and ownership markers, versions, element types.
 *
 * Ownership markers stand on every pointer of a prototype and expand to
 * nothing; the binding check reads them:
 *   PN_GIVE  the function hands ownership to the caller
 *   PN_TAKE  the function takes ownership from the caller
 *   PN_KEEP  the function borrows for the duration of the call
 * Threads: everything here is immutable.
 * Since: 0.1
 */
#ifndef POLYNEST_BASE_H
#define POLYNEST_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PN_EXPORT __attribute__((visibility("default")))
#define PN_MUST_USE __attribute__((warn_unused_result))
#else
#define PN_EXPORT
#define PN_MUST_USE
#endif

#define PN_GIVE
#define PN_TAKE
#define PN_KEEP

#ifdef __cplusplus
#define PN_EXTERN_C_BEGIN extern "C" {
#define PN_EXTERN_C_END }
#define PN_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define PN_EXTERN_C_BEGIN
#define PN_EXTERN_C_END
#define PN_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define PN_VERSION_MAJOR 0
#define PN_VERSION_MINOR 1
#define PN_VERSION_PATCH 0
#define PN_VERSION                                                             \
  ((PN_VERSION_MAJOR << 16) | (PN_VERSION_MINOR << 8) | PN_VERSION_PATCH)

PN_EXTERN_C_BEGIN

/* Element types of buffers. Complex numbers and sub-byte types are not here:
 * programs that use them are refused with PN_ERROR_UNSUPPORTED. */
typedef enum pn_dtype {
  PN_DTYPE_INVALID = 0,
  PN_DTYPE_BOOL = 1, /* i1, one byte each, 0 or 1 */
  PN_DTYPE_I8 = 2,
  PN_DTYPE_I16 = 3,
  PN_DTYPE_I32 = 4,
  PN_DTYPE_I64 = 5,
  PN_DTYPE_INDEX = 6, /* 64 bits */
  PN_DTYPE_F16 = 7,
  PN_DTYPE_BF16 = 8,
  PN_DTYPE_F32 = 9,
  PN_DTYPE_F64 = 10
} pn_dtype_t;

/* Receives a piece of text, not terminated by NUL. */
typedef void (*pn_write_fn)(void *user, const char *data, size_t size);

/* Size of one element in bytes; 0 for PN_DTYPE_INVALID and unknown values. */
PN_EXPORT size_t pn_dtype_size(pn_dtype_t dtype);

/* Name as in MLIR ("i1", "f32", ...); "invalid" for unknown values. */
PN_EXPORT PN_KEEP const char *pn_dtype_name(pn_dtype_t dtype);

/* Version of the loaded library, in the form of PN_VERSION. A caller compares
 * its own PN_VERSION: another major, or in major 0 another minor, is not
 * compatible. */
PN_EXPORT uint32_t pn_version(void);

/* "0.1.0", static storage. */
PN_EXPORT PN_KEEP const char *pn_version_string(void);

/* Version of the LLVM and MLIR libraries in use, for example "22.1.8". */
PN_EXPORT PN_KEEP const char *pn_llvm_version_string(void);

PN_EXTERN_C_END

#endif /* POLYNEST_BASE_H */
