/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/error.h: the error object that every fallible function returns.
 *
 * NULL is success. The object owns its message and its diagnostics; the caller
 * owns the object and destroys it with pn_error_destroy, which accepts NULL.
 * Running out of memory returns one static object, so that an error is never
 * lost; destroying it does nothing.
 * Messages are lower case, without a final stop, and name the offending value.
 * Threads: an error is immutable and may be read from any thread.
 * Since: 0.1
 */
#ifndef POLYNEST_ERROR_H
#define POLYNEST_ERROR_H

#include "polynest/base.h"

PN_EXTERN_C_BEGIN

/* Stable codes. New ones may be added; treat unknown ones as INTERNAL. */
typedef enum pn_error_code {
  PN_ERROR_NONE = 0,        /* only ever the code of NULL */
  PN_ERROR_INTERNAL = 1,    /* an invariant of ours broke: a bug */
  PN_ERROR_MEMORY = 2,      /* out of memory */
  PN_ERROR_ARGUMENT = 3,    /* a call with bad arguments or options */
  PN_ERROR_PARSE = 4,       /* text or bytecode that does not parse */
  PN_ERROR_VERIFY = 5,      /* IR that breaks the rules of its stage */
  PN_ERROR_UNSUPPORTED = 6, /* valid input that we do not compile (yet) */
  PN_ERROR_PASS = 7,        /* a pass failed */
  PN_ERROR_IO = 8,          /* a file could not be read or written */
  PN_ERROR_NOT_FOUND = 9,   /* no such entry, target, file or symbol */
  PN_ERROR_LINK = 10,       /* the linker is missing or failed */
  PN_ERROR_SIGNATURE = 11,  /* call does not fit the entry's signature */
  PN_ERROR_OVERLAP = 12,    /* a result overlaps another argument */
  PN_ERROR_ASSERT = 13,     /* an assertion of the program failed at run time */
  PN_ERROR_CORRUPT = 14,    /* one of our files is cut short or damaged */
  PN_ERROR_TARGET = 15,     /* an inconsistent or unusable target row */
  PN_ERROR_VERSION = 16     /* made by another, incompatible version */
} pn_error_code_t;

typedef enum pn_severity {
  PN_SEVERITY_ERROR = 1,
  PN_SEVERITY_WARNING = 2,
  PN_SEVERITY_REMARK = 3,
  PN_SEVERITY_NOTE = 4
} pn_severity_t;

/* One diagnostic. Strings are borrowed from the error, or, in a callback, for
 * the duration of the callback. `file` is "" and line and column are 0 where
 * the place is unknown. Lines and columns count from 1. */
typedef struct pn_diagnostic {
  pn_severity_t severity;
  int32_t line;
  int32_t column;
  int32_t reserved;
  const char *file;
  const char *text;
} pn_diagnostic_t;

PN_STATIC_ASSERT(sizeof(pn_diagnostic_t) == 32, "ABI of diagnostics");

typedef struct pn_error pn_error_t;

/* PN_ERROR_NONE for NULL. */
PN_EXPORT pn_error_code_t pn_error_code(PN_KEEP const pn_error_t *error);

/* "" for NULL. Valid until the error is destroyed. */
PN_EXPORT PN_KEEP const char *pn_error_message(PN_KEEP const pn_error_t *error);

/* Name of a code, for example "unsupported"; "internal" for unknown ones. */
PN_EXPORT PN_KEEP const char *pn_error_code_name(pn_error_code_t code);

PN_EXPORT size_t pn_error_diagnostic_count(PN_KEEP const pn_error_t *error);

/* Fills out_diagnostic and returns true, or clears it and returns false where
 * there is no such index. */
PN_EXPORT bool pn_error_diagnostic_at(PN_KEEP const pn_error_t *error,
                                      size_t index,
                                      PN_KEEP pn_diagnostic_t *out_diagnostic);

PN_EXPORT void pn_error_destroy(PN_TAKE pn_error_t *error);

PN_EXTERN_C_END

#endif /* POLYNEST_ERROR_H */
