/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls the entries of dots.mlir, an object file alone, and compares with plain
 * loops. What the runtime does for them is here: one arena, one thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 33, N = 40, K = 131, ARENA = 1 << 22 };

typedef struct matrix {
  void *allocated, *data;
  int64_t offset, sizes[2], strides[2];
} matrix_t;

typedef int32_t entry_t(void *ctx, void *state, const matrix_t *a,
                        const matrix_t *b, const matrix_t *out);
entry_t s8s8, u8u8, u8s8, s8u8, halves;

void *pn_rt_arena(void *ctx, int64_t bytes);
void *pn_rt_arena(void *ctx, int64_t bytes) {
  static _Alignas(64) char arena[ARENA];
  (void)ctx;
  if (bytes > ARENA)
    abort();
  /* Nothing may depend on what lies there. */
  memset(arena, 0xff, sizeof(arena));
  return arena;
}

typedef void kernel_t(const void *args, int64_t begin, int64_t end);
int32_t pn_parallel_for(kernel_t *kernel, const void *args, int64_t begin,
                        int64_t end, int64_t grain);
int32_t pn_parallel_for(kernel_t *kernel, const void *args, int64_t begin,
                        int64_t end, int64_t grain) {
  (void)grain;
  kernel(args, begin, end);
  return 0;
}

static uint32_t seed = 1;

/* A byte, often an extreme one. */
static uint8_t next_byte(void) {
  static const uint8_t extremes[] = {0x80, 0x7f, 0xff, 0x00};
  seed = seed * 1664525u + 1013904223u;
  uint32_t high = seed >> 16;
  return high & 0x300 ? (uint8_t)high : extremes[high & 3];
}

static matrix_t view(void *data, int64_t rows, int64_t columns) {
  return (matrix_t){data, data, 0, {rows, columns}, {columns, 1}};
}

static int32_t value(uint8_t byte, int is_signed) {
  return is_signed ? (int8_t)byte : byte;
}

static int check_bytes(const char *name, entry_t *entry, int left_is_signed,
                       int right_is_signed, int is_turned) {
  static uint8_t a[M][K], b[K][N], turned[N][K];
  static int32_t out[M][N];
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      a[i][k] = i == M - 1 ? 0x80 : next_byte();
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j)
      turned[j][k] = b[k][j] = j == N - 1 ? 0x80 : next_byte();
  matrix_t left = view(a, M, K);
  matrix_t right = is_turned ? view(turned, N, K) : view(b, K, N);
  matrix_t result = view(out, M, N);
  if (entry(NULL, NULL, &left, &right, &result) != 0)
    return 1;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      int32_t sum = 0;
      for (int k = 0; k < K; ++k)
        sum += value(a[i][k], left_is_signed) * value(b[k][j], right_is_signed);
      if (out[i][j] == sum)
        continue;
      printf("%s: %d for %d at %d, %d\n", name, out[i][j], sum, i, j);
      return 1;
    }
  return 0;
}

/* A small whole number in bf16, the upper half of its f32. */
static uint16_t half_of(int number) {
  float wide = (float)number;
  uint32_t bits;
  memcpy(&bits, &wide, sizeof(bits));
  return (uint16_t)(bits >> 16);
}

static int check_halves(void) {
  static uint16_t a[M][K], b[K][N];
  static int x[M][K], y[K][N];
  static float out[M][N];
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k)
      a[i][k] = half_of(x[i][k] = next_byte() % 17 - 8);
  for (int k = 0; k < K; ++k)
    for (int j = 0; j < N; ++j)
      b[k][j] = half_of(y[k][j] = next_byte() % 17 - 8);
  matrix_t left = view(a, M, K), right = view(b, K, N),
           result = view(out, M, N);
  if (halves(NULL, NULL, &left, &right, &result) != 0)
    return 1;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      int sum = 0;
      for (int k = 0; k < K; ++k)
        sum += x[i][k] * y[k][j];
      if (out[i][j] == (float)sum)
        continue;
      printf("halves: %g for %d at %d, %d\n", (double)out[i][j], sum, i, j);
      return 1;
    }
  return 0;
}

int main(void) {
  int failed = check_bytes("s8s8", s8s8, 1, 1, 0) |
               check_bytes("u8u8", u8u8, 0, 0, 1) |
               check_bytes("u8s8", u8s8, 0, 1, 0) |
               check_bytes("s8u8", s8u8, 1, 0, 1) | check_halves();
  if (!failed)
    puts("all right");
  return failed;
}
