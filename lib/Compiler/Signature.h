/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiler/Signature.h: the description of an executable's entries.
 *
 * Compiled code carries it as text in the symbol `polynest_info`, written by
 * lib/Conversion/DescribeEntries.cpp and LowerEntries.cpp:
 *   polynest 2
 *   target <name> <feature>...       (first, where it is known)
 *   entry <symbol> arena <bytes>
 *   name <name>                      (where it is not the symbol)
 *   state <bytes>                    (where its constants fill one)
 *   in|out <dtype> <rank> <size or ?>... [strides <stride or ?>...]
 *   in <dtype> 0 scalar
 *   mutable
 *   constant read|unread             (by calls, once the state is filled)
 *   assert <message>
 * Ownership: a signature owns all that its fields point to.
 * Threads: immutable once parsed.
 */
#ifndef POLYNEST_COMPILER_SIGNATURE_H
#define POLYNEST_COMPILER_SIGNATURE_H

#include "polynest/executable.h"

PN_EXTERN_C_BEGIN

typedef struct pn_signature_value {
  pn_value_type_t type;
  bool is_scalar;   /* passed by value inside the program */
  bool is_mutable;  /* an input that the program may write */
  bool is_constant; /* an input that is bound once */
  bool is_read;     /* a constant that calls read beside the state */
} pn_signature_value_t;

typedef struct pn_signature_entry {
  char *name;   /* as in the program */
  char *symbol; /* as in C */
  int64_t arena_bytes;
  int64_t state_bytes;
  pn_signature_value_t *values; /* inputs, then results */
  size_t input_count;
  size_t result_count;
  size_t constant_count; /* of the inputs */
} pn_signature_entry_t;

typedef struct pn_signature {
  pn_signature_entry_t *entries;
  size_t entry_count;
  char **asserts;
  size_t assert_count;
} pn_signature_t;

/* PN_ERROR_CORRUPT, PN_ERROR_VERSION, PN_ERROR_MEMORY. */
PN_MUST_USE pn_error_t *pn_signature_parse(const char *text,
                                           pn_signature_t *out_signature);

void pn_signature_clear(pn_signature_t *signature);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_SIGNATURE_H */
