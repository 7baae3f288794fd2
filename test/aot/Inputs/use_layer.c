/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Uses the library of layer.mlir, with its constants bound once. */
#include "layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 3, N = 24, K = 40 };

static float x[M * K], w[N * K], b[N], y[M * N];

int main(void) {
  for (int i = 0; i < M * K; ++i)
    x[i] = (float)(i % 13) - 6.0f;
  for (int i = 0; i < N * K; ++i)
    w[i] = (float)(i % 5);
  for (int i = 0; i < N; ++i)
    b[i] = (float)i;
  pn_rt_context_t *ctx = pn_rt_context_create();
  pn_memref_f32_2 mx = {x, x, 0, {M, K}, {K, 1}};
  pn_memref_f32_2 mw = {w, w, 0, {N, K}, {K, 1}};
  pn_memref_f32_1 mb = {b, b, 0, {N}, {1}};
  pn_memref_f32_2 my = {y, y, 0, {M, N}, {N, 1}};
  if (layer_state_size() < (int64_t)sizeof(w))
    return 1;
  void *state = aligned_alloc(64, (size_t)(layer_state_size() + 63) / 64 * 64);
  void *constants[] = {&mw, &mb};
  if (!state || layer_init(ctx, state, constants) != 0)
    return 2;
  float kept[N * K];
  memcpy(kept, w, sizeof(w));
  memset(w, 0xff, sizeof(w));
  /* The weights are in the state; nothing need be passed for them. */
  for (int call = 0; call < 3; ++call)
    if (layer(ctx, state, &mx, NULL, &mb, &my) != 0)
      return 3;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = b[j];
      for (int k = 0; k < K; ++k) {
        float v = kept[j * K + K - 1 - k];
        sum += x[i * K + k] * v * v;
      }
      if (y[i * N + j] != sum)
        return 4;
    }
  free(state);
  pn_rt_context_destroy(ctx);
  puts("all right");
  return 0;
}
