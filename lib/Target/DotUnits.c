/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Target/DotUnits.c: see the header for terms and sources. */

#include "Target/DotUnits.h"

#include "Target/Row.h"

#include <string.h>

#define BIT(name) (UINT64_C(1) << PN_TARGET_FEATURE_##name)

/* A unit and who has it: targets of this architecture with one of these
 * features, or all of them where there are none. */
typedef struct unit_row {
  pn_dot_unit_t unit;
  const char *architecture;
  uint64_t features;
} unit_row_t;

/* Groups of four before pairs: twice the products of one instruction. Pairs of
 * 16 bits hold all products of 8-bit numbers exactly; without accumulators two
 * instructions do it, and the pair that alone could overflow, four times
 * -32768, wraps around as sums of 32 bits do. */
static const unit_row_t rows[] = {
#define VNNI (BIT(AVX512_VNNI) | BIT(AVX_VNNI))
    {{"u8s8x4", 512, true, true, "llvm.x86.avx512.vpdpbusd.512"},
     "x86_64",
     BIT(AVX512_VNNI)},
    {{"u8s8x4", 256, true, true, "llvm.x86.avx512.vpdpbusd.256"},
     "x86_64",
     VNNI},
    {{"u8s8x4", 128, true, true, "llvm.x86.avx512.vpdpbusd.128"},
     "x86_64",
     VNNI},
    {{"s16s16x2", 512, true, true, "llvm.x86.avx512.vpdpwssd.512"},
     "x86_64",
     BIT(AVX512_VNNI)},
    {{"s16s16x2", 512, false, true, "llvm.x86.avx512.pmaddw.d.512"},
     "x86_64",
     BIT(AVX512F)},
    {{"s16s16x2", 256, true, true, "llvm.x86.avx512.vpdpwssd.256"},
     "x86_64",
     VNNI},
    {{"s16s16x2", 256, false, true, "llvm.x86.avx2.pmadd.wd"},
     "x86_64",
     BIT(AVX2)},
    {{"s16s16x2", 128, true, true, "llvm.x86.avx512.vpdpwssd.128"},
     "x86_64",
     VNNI},
    {{"s16s16x2", 128, false, true, "llvm.x86.sse2.pmadd.wd"}, "x86_64", 0},
    {{"bf16bf16x2", 512, true, false, "llvm.x86.avx512bf16.dpbf16ps.512"},
     "x86_64",
     BIT(AVX512_BF16)},
    {{"bf16bf16x2", 256, true, false, "llvm.x86.avx512bf16.dpbf16ps.256"},
     "x86_64",
     BIT(AVX512_BF16)},
    {{"bf16bf16x2", 128, true, false, "llvm.x86.avx512bf16.dpbf16ps.128"},
     "x86_64",
     BIT(AVX512_BF16)},
    {{"s8s8x4", 128, true, true, "llvm.aarch64.neon.sdot.v4i32.v16i8"},
     "aarch64",
     BIT(NEON_DOTPROD)},
    {{"u8u8x4", 128, true, true, "llvm.aarch64.neon.udot.v4i32.v16i8"},
     "aarch64",
     BIT(NEON_DOTPROD)},
    {{"u8s8x4", 128, true, true, "llvm.aarch64.neon.usdot.v4i32.v16i8"},
     "aarch64",
     BIT(ARM_I8MM)},
    {{"bf16bf16x2", 128, true, false, "llvm.aarch64.neon.bfdot.v4f32.v8bf16"},
     "aarch64",
     BIT(ARM_BF16)},
#undef VNNI
};

static bool has_unit(const pn_target_info_t *info, const unit_row_t *row) {
  return strncmp(info->llvm_triple, row->architecture,
                 strlen(row->architecture)) == 0 &&
         (row->features == 0 || (info->features & row->features) != 0) &&
         row->unit.bits <= info->vector_bits;
}

/* Of units that do the same the first is the best. */
static bool is_best(const pn_target_info_t *info, size_t at) {
  for (size_t i = 0; i < at; ++i)
    if (rows[i].unit.bits == rows[at].unit.bits &&
        strcmp(rows[i].unit.form, rows[at].unit.form) == 0 &&
        has_unit(info, &rows[i]))
      return false;
  return true;
}

const pn_dot_unit_t *pn_dot_unit_get(const pn_target_info_t *info,
                                     size_t index) {
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
    if (has_unit(info, &rows[i]) && is_best(info, i) && index-- == 0)
      return &rows[i].unit;
  return NULL;
}

/* Of x86; sizes are the row's. */
typedef struct matrix_row {
  const char *form;
  bool is_exact;
  const char *intrinsic;
  uint64_t feature;
} matrix_row_t;

static const matrix_row_t matrix_rows[] = {
    {"s8s8x4", true, "llvm.x86.tdpbssd.internal", BIT(AMX_INT8)},
    {"s8u8x4", true, "llvm.x86.tdpbsud.internal", BIT(AMX_INT8)},
    {"u8s8x4", true, "llvm.x86.tdpbusd.internal", BIT(AMX_INT8)},
    {"u8u8x4", true, "llvm.x86.tdpbuud.internal", BIT(AMX_INT8)},
    {"bf16bf16x2", false, "llvm.x86.tdpbf16ps.internal", BIT(AMX_BF16)},
};

/* A word of either side and an accumulator have 4 bytes. The second side has as
 * many rows as the first has words in a row. */
bool pn_matrix_unit_get(const pn_target_info_t *info, size_t index,
                        pn_matrix_unit_t *out_unit) {
  static const int32_t latency_cycles = 52;
  *out_unit = (pn_matrix_unit_t){0};
  int32_t columns = info->matrix_row_bytes / 4;
  int32_t words = columns < info->matrix_rows ? columns : info->matrix_rows;
  if (words < 1 || info->matrix_tiles < 1)
    return false;
  for (size_t i = 0; i < sizeof(matrix_rows) / sizeof(matrix_rows[0]); ++i) {
    const matrix_row_t *row = &matrix_rows[i];
    if ((info->features & row->feature) == 0 || index-- != 0)
      continue;
    *out_unit = (pn_matrix_unit_t){
        row->form, row->is_exact, row->intrinsic,     info->matrix_rows,
        columns,   words,         info->matrix_tiles, latency_cycles};
    return true;
  }
  return false;
}
