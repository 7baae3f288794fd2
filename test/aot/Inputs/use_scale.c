/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Uses the library of scale.mlir from several threads at once. */
#include "scale.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 37, N = 53, CALLS = 50, THREADS = 4 };

static float a[M * N];

static void *work(void *user) {
  float s = *(const float *)user;
  float *r = malloc(sizeof(a));
  pn_rt_context_t *ctx = pn_rt_context_create();
  pn_memref_f32_2 in = {a, a, 0, {M, N}, {N, 1}};
  pn_memref_f32_2 out = {r, r, 0, {M, N}, {N, 1}};
  for (int call = 0; call < CALLS; ++call) {
    if (scale(ctx, NULL, &in, &s, &out) != 0)
      return "failed";
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        if (r[i * N + j] != a[i * N + j] * s + (float)i)
          return "wrong";
  }
  pn_rt_context_destroy(ctx);
  free(r);
  return NULL;
}

int main(void) {
  if (scale_problem() || entry_main_problem())
    return 8;
  for (int i = 0; i < M * N; ++i)
    a[i] = (float)i * 0.25f - 100.0f;
  int64_t dims[] = {M, N}, sizes[2] = {0, 0};
  scale_shapes(dims, sizes);
  if (sizes[0] != M || sizes[1] != N)
    return 1;
  /* No state is kept yet, and any memory will do for it. */
  if (scale_state_size() != 0 || scale_init(NULL, NULL, NULL) != 0)
    return 2;
  pthread_t threads[THREADS];
  float factors[THREADS] = {0.5f, 1.0f, -2.0f, 8.0f};
  for (int i = 0; i < THREADS; ++i)
    if (pthread_create(&threads[i], NULL, work, &factors[i]) != 0)
      return 3;
  for (int i = 0; i < THREADS; ++i) {
    void *what = NULL;
    if (pthread_join(threads[i], &what) != 0 || what)
      return 4;
  }
  pn_rt_context_t *ctx = pn_rt_context_create();
  int32_t x = 7, r = 0;
  pn_memref_i32_0 out = {&r, &r, 0};
  if (entry_main(ctx, NULL, &x, &out) != 0 || r != 7)
    return 5;
  x = -1;
  if (entry_main(ctx, NULL, &x, &out) != 1)
    return 6;
  pn_rt_context_destroy(ctx);
  if (pn_thread_count_set(1) != 0 || pn_thread_count_get() != 1)
    return 7;
  printf("all right\n");
  return 0;
}
