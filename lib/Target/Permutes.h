/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/Permutes.h: instructions that look numbers up in a register.
 *
 * Such an instruction takes a vector of words of 32 bits and a vector of as
 * many indices, and gives for each index the word at that place. Indices count
 * modulo the number of words: at least eight. Units: bits of a vector.
 * Ownership: all tables are constant. Errors: NULL past the end. Threads: pure
 * functions. Sources: VPERMD in the Intel 64 and IA-32 Architectures Software
 * Developer's Manual, volume 2; names of intrinsics as of LLVM 22. Since: 0.1
 */
#ifndef POLYNEST_TARGET_PERMUTES_H
#define POLYNEST_TARGET_PERMUTES_H

#include "polynest/target.h"

PN_EXTERN_C_BEGIN

typedef struct pn_permute {
  int32_t bits;
  const char *intrinsic; /* arguments: words, indices */
} pn_permute_t;

/* Those of the target, the widest first; none is wider than its vectors. */
const pn_permute_t *pn_permute_get(const pn_target_info_t *info, size_t index);

PN_EXTERN_C_END

#endif /* POLYNEST_TARGET_PERMUTES_H */
