/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs the instructions of AMX (palette 1) that a processor without them
 * refuses: a program that is linked with this file takes the signal, computes
 * what the instruction would have, and goes on behind it.
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume
 * 2, the instructions' pages and section 2.1.5 (addressing). */
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

static uint8_t tiles[TILES][ROWS][ROW_BYTES];
static uint8_t config[64];

/* Prefixes as VEX.pp has them. */
enum { NONE, P66, PF3, PF2 };

typedef struct instruction {
  const uint8_t *at;
  int prefix, opcode, modrm, extra; /* VEX.vvvv */
  int reg_high, index_high, base_high;
  size_t size;
} instruction_t;

static const int general[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static int rows_of(int tile) { return config[48 + tile]; }
static int bytes_of(int tile) {
  return config[16 + 2 * tile] | config[17 + 2 * tile] << 8;
}

/* What the SDM calls zeroing the upper rows: all that is not configured. */
static void put(int tile, uint8_t from[ROWS][ROW_BYTES]) {
  memset(tiles[tile], 0, sizeof(tiles[tile]));
  for (int i = 0; i < rows_of(tile); ++i)
    memcpy(tiles[tile][i], from[i], (size_t)bytes_of(tile));
}

static int64_t displacement(const uint8_t *at, int bytes) {
  int32_t wide;
  if (bytes == 1)
    return (int8_t)*at;
  memcpy(&wide, at, sizeof(wide));
  return wide;
}

/* The address without the index, and the index times its scale. */
static uint8_t *address_of(instruction_t *in, const greg_t *registers,
                           int64_t *out_stride) {
  int mode = in->modrm >> 6, base = in->modrm & 7;
  const uint8_t *at = in->at + 5;
  int64_t address = 0;
  *out_stride = 0;
  int has_sib = base == 4;
  if (has_sib) {
    int sib = *at++, index = (sib >> 3 & 7) | in->index_high << 3;
    base = sib & 7;
    if (index != 4)
      *out_stride = registers[general[index]] << (sib >> 6);
  }
  int is_absent = mode == 0 && base == 5;
  if (!is_absent)
    address = registers[general[base | in->base_high << 3]];
  int bytes = mode == 1 ? 1 : mode == 2 || is_absent ? 4 : 0;
  if (bytes)
    address += displacement(at, bytes);
  at += bytes;
  in->size = (size_t)(at - in->at);
  /* Without a base and a SIB byte: from the next instruction on. */
  if (is_absent && !has_sib)
    address += (int64_t)(uintptr_t)at;
  return (uint8_t *)(uintptr_t)address;
}

/* Denormal numbers are zero, as operands and results. */
static float flush(float value) {
  return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

static float half_at(const uint8_t *at) {
  uint32_t bits = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return flush(value);
}

static void multiply_halves(int to, int left, int right) {
  uint8_t sums[ROWS][ROW_BYTES];
  memcpy(sums, tiles[to], sizeof(sums));
  for (int m = 0; m < rows_of(to); ++m)
    for (int n = 0; n < bytes_of(to) / 4; ++n) {
      float even = 0, odd = 0, sum;
      for (int k = 0; k < bytes_of(left) / 4; ++k) {
        const uint8_t *a = &tiles[left][m][4 * k], *b = &tiles[right][k][4 * n];
        even = flush(fmaf(half_at(a), half_at(b), even));
        odd = flush(fmaf(half_at(a + 2), half_at(b + 2), odd));
      }
      memcpy(&sum, &sums[m][4 * n], sizeof(sum));
      sum = flush(flush(sum) + flush(even + odd));
      memcpy(&sums[m][4 * n], &sum, sizeof(sum));
    }
  put(to, sums);
}

static int32_t byte_at(const uint8_t *at, int is_signed) {
  return is_signed ? (int8_t)*at : *at;
}

static void multiply_bytes(int to, int left, int right, int left_is_signed,
                           int right_is_signed) {
  uint8_t sums[ROWS][ROW_BYTES];
  memcpy(sums, tiles[to], sizeof(sums));
  for (int m = 0; m < rows_of(to); ++m)
    for (int n = 0; n < bytes_of(to) / 4; ++n) {
      uint32_t sum;
      memcpy(&sum, &sums[m][4 * n], sizeof(sum));
      for (int k = 0; k < bytes_of(left); ++k)
        sum += (uint32_t)(byte_at(&tiles[left][m][k], left_is_signed) *
                          byte_at(&tiles[right][k / 4][4 * n + k % 4],
                                  right_is_signed));
      memcpy(&sums[m][4 * n], &sum, sizeof(sum));
    }
  put(to, sums);
}

/* True if the instruction is one of them; it has run then. */
static int run(instruction_t *in, const greg_t *registers) {
  int is_memory = in->modrm >> 6 != 3;
  int reg = (in->modrm >> 3 & 7) | in->reg_high << 3;
  int rm = in->modrm & 7;
  int64_t stride = 0;
  uint8_t *memory = is_memory ? address_of(in, registers, &stride) : NULL;
  int kind = in->opcode << 4 | in->prefix;
  if (kind == (0x49 << 4 | NONE) && is_memory && reg == 0) {
    memcpy(config, memory + stride, sizeof(config));
    memset(tiles, 0, sizeof(tiles));
    return config[0] == 1;
  }
  if (kind == (0x49 << 4 | NONE) && in->modrm == 0xc0) {
    memset(config, 0, sizeof(config));
    return 1;
  }
  /* All others need a configuration, and tiles that it has. */
  if (config[0] != 1 || reg >= TILES || rows_of(reg) == 0)
    return 0;
  if (kind == (0x49 << 4 | PF2) && !is_memory) {
    memset(tiles[reg], 0, sizeof(tiles[reg]));
    return 1;
  }
  if (in->opcode == 0x4b && is_memory && rm == 4 && in->prefix != NONE) {
    uint8_t rows[ROWS][ROW_BYTES];
    for (int i = 0; i < rows_of(reg); ++i)
      if (in->prefix == PF3)
        memcpy(memory + i * stride, tiles[reg][i], (size_t)bytes_of(reg));
      else
        memcpy(rows[i], memory + i * stride, (size_t)bytes_of(reg));
    if (in->prefix != PF3)
      put(reg, rows);
    return 1;
  }
  if (is_memory || in->extra >= TILES || rows_of(rm) != rows_of(reg) ||
      bytes_of(in->extra) != bytes_of(reg) ||
      bytes_of(rm) != 4 * rows_of(in->extra))
    return 0;
  if (kind == (0x5c << 4 | PF3))
    multiply_halves(reg, rm, in->extra);
  else if (in->opcode == 0x5e)
    multiply_bytes(reg, rm, in->extra, in->prefix == PF2 || in->prefix == PF3,
                   in->prefix == PF2 || in->prefix == P66);
  else
    return 0;
  return 1;
}

static void on_signal(int number, siginfo_t *info, void *user) {
  (void)info;
  greg_t *registers = ((ucontext_t *)user)->uc_mcontext.gregs;
  const uint8_t *at = (const uint8_t *)(uintptr_t)registers[REG_RIP];
  /* VEX in three bytes, the map of opcodes that begin with 0F 38, 128 bits. */
  if (at[0] == 0xc4 && (at[1] & 0x1f) == 2 && (at[2] & 0x84) == 0) {
    instruction_t in = {.at = at,
                        .prefix = at[2] & 3,
                        .opcode = at[3],
                        .modrm = at[4],
                        .extra = ~(at[2] >> 3) & 15,
                        .reg_high = ~(at[1] >> 7) & 1,
                        .index_high = ~(at[1] >> 6) & 1,
                        .base_high = ~(at[1] >> 5) & 1,
                        .size = 5};
    if (run(&in, registers)) {
      registers[REG_RIP] += (greg_t)in.size;
      return;
    }
  }
  /* Once more, without us. */
  (void)signal(number, SIG_DFL);
}

__attribute__((constructor)) static void take_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGILL, &action, NULL) != 0)
    abort();
}
