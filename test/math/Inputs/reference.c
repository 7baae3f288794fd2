// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// reference.c: compares compiled elementwise kernels with the C library.
//
// A kernel is the C interface of an MLIR function over rank-1 memrefs of f32 or
// f64, called on blocks. f32 results are compared with the library's double
// functions and f64 results with its long double ones, in units of the last
// place of the reference (of the smallest subnormal below the normal range).
// Infinity counts as the next power of two beyond the largest number.
// NaN-ness must agree, as must the sign of zeros.

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096 };

typedef struct {
  void *allocated, *aligned;
  int64_t offset, size, stride;
} memref_t;

typedef void (*unary_t)(memref_t *, memref_t *);
typedef void (*binary_t)(memref_t *, memref_t *, memref_t *);

// The worst error and where it was; wrong counts NaN and sign mismatches.
typedef struct {
  double worst, x, y, got, want;
  int64_t wrong, count;
  double wrong_x, wrong_y, wrong_got, wrong_want;
} report_t;

#define FUNCTIONS(F, t, s)                                                     \
  static t F##_rsqrt(t x) { return 1 / sqrt##s(x); }                           \
  static t (*const F##_unary[])(                                               \
      t) = {acos##s,   acosh##s, asin##s,      asinh##s, atan##s,  atanh##s,   \
            cbrt##s,   cos##s,   cosh##s,      erf##s,   erfc##s,  exp##s,     \
            exp2##s,   expm1##s, log##s,       log10##s, log1p##s, log2##s,    \
            F##_rsqrt, sin##s,   sinh##s,      tan##s,   tanh##s,  ceil##s,    \
            floor##s,  round##s, roundeven##s, trunc##s};                      \
  static t (*const F##_binary[])(t, t) = {pow##s, atan2##s}

extern double roundeven(double);
extern long double roundevenl(long double);

FUNCTIONS(f32, double, );
FUNCTIONS(f64, long double, l);

static void note(report_t *r, int wide, double x, double y, double got,
                 long double want) {
  int digits = wide ? 53 : 24, top = wide ? 1024 : 128;
  int low = wide ? -1074 : -149;
  ++r->count;
  int bad = 0;
  double error = 0;
  if (isnan(got) || isnan(want)) {
    bad = !isnan(got) || !isnan(want);
  } else if (got == 0 && signbit(got) != signbit(want)) {
    bad = 1;
  } else {
    long double limit = ldexpl(1, top);
    long double a = isinf(got) ? copysignl(limit, got) : got;
    long double b = fabsl(want) > limit ? copysignl(limit, want) : want;
    int exponent;
    frexpl(b, &exponent);
    if (exponent > top)
      exponent = top;
    int ulp = exponent - digits;
    if (b == 0 || ulp < low)
      ulp = low;
    error = (double)ldexpl(fabsl(a - b), -ulp);
  }
  if (bad && !r->wrong++) {
    r->wrong_x = x, r->wrong_y = y;
    r->wrong_got = got, r->wrong_want = (double)want;
  }
  if (error > r->worst) {
    r->worst = error;
    r->x = x, r->y = y, r->got = got, r->want = (double)want;
  }
}

#define DRIVER(F, t)                                                           \
  static void F##_block(void *kernel, int arity, int id, int64_t n, t *x,      \
                        t *y, report_t *r) {                                   \
    static _Alignas(64) t out[BLOCK];                                          \
    memref_t mx = {x, x, 0, n, 1}, my = {y, y, 0, n, 1};                       \
    memref_t mo = {out, out, 0, n, 1};                                         \
    if (arity == 1)                                                            \
      ((unary_t)kernel)(&mx, &mo);                                             \
    else                                                                       \
      ((binary_t)kernel)(&mx, &my, &mo);                                       \
    for (int64_t k = 0; k < n; ++k)                                            \
      note(r, sizeof(t) == 8, (double)x[k], arity == 1 ? 0 : (double)y[k],     \
           (double)out[k],                                                     \
           arity == 1 ? F##_unary[id](x[k]) : F##_binary[id](x[k], y[k]));     \
  }                                                                            \
  void F##_list(void *kernel, int arity, int id, int64_t n, const t *x,        \
                const t *y, report_t *r) {                                     \
    static _Alignas(64) t a[BLOCK], b[BLOCK];                                  \
    for (int64_t k = 0; k < n; k += BLOCK) {                                   \
      int64_t m = n - k < BLOCK ? n - k : BLOCK;                               \
      /* The rest of a block repeats its first argument. */                    \
      for (int64_t j = 0; j < BLOCK; ++j) {                                    \
        a[j] = x[k + (j < m ? j : 0)];                                         \
        b[j] = arity == 1 ? 0 : y[k + (j < m ? j : 0)];                        \
      }                                                                        \
      F##_block(kernel, arity, id, BLOCK, a, b, r);                            \
    }                                                                          \
  }

DRIVER(f32, float)
DRIVER(f64, double)

// Every stride-th f32 bit pattern from first on, up to last.
void f32_patterns(void *kernel, int id, uint64_t first, uint64_t last,
                  uint64_t stride, report_t *r) {
  static _Alignas(64) float x[BLOCK];
  for (uint64_t p = first; p <= last;) {
    for (int k = 0; k < BLOCK; ++k) {
      uint32_t pattern = (uint32_t)(p <= last ? p : last);
      memcpy(&x[k], &pattern, sizeof pattern);
      p += stride;
    }
    f32_block(kernel, 1, id, BLOCK, x, x, r);
  }
}
