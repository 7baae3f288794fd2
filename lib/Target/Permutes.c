/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/Permutes.c: see the header for terms and sources. */

#include "Target/Permutes.h"

#include <string.h>

/* An instruction and the feature that has it. */
typedef struct permute_row {
  pn_permute_t permute;
  const char *architecture;
  uint64_t features;
} permute_row_t;

#define BIT(name) (UINT64_C(1) << PN_TARGET_FEATURE_##name)

static const permute_row_t rows[] = {
    {{512, "llvm.x86.avx512.permvar.si.512"}, "x86_64", BIT(AVX512F)},
    {{256, "llvm.x86.avx2.permd"}, "x86_64", BIT(AVX2)},
};

const pn_permute_t *pn_permute_get(const pn_target_info_t *info, size_t index) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    if (strncmp(info->llvm_triple, rows[i].architecture,
                strlen(rows[i].architecture)) == 0 &&
        (info->features & rows[i].features) != 0 &&
        rows[i].permute.bits <= info->vector_bits && index-- == 0)
      return &rows[i].permute;
  return NULL;
}
