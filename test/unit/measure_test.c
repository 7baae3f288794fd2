/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * measure_test.c: arguments and plausibility of the peak measurements. With
 * "--print" it shows the numbers of this machine (about 20 s).
 */
#include "check.h"
#include "polynest/measure.h"
#include "polynest/runtime.h"

#include <string.h>

static void test_fma(void) {
  double one = -1.0, two = -1.0, wide = -1.0;
  CHECK(pn_measure_fma(PN_DTYPE_F32, 1, 0.01, &one) == PN_ERROR_NONE);
  CHECK(pn_measure_fma(PN_DTYPE_F32, 2, 0.01, &two) == PN_ERROR_NONE);
  CHECK(pn_measure_fma(PN_DTYPE_F64, 1, 0.01, &wide) == PN_ERROR_NONE);
  CHECK(one > 0.1 && one < 1e4);
  CHECK(two > 0.1 && two < 2e4);
  CHECK(wide > 0.1 && wide < 1e4);
}

static void test_fma_arguments(void) {
  double value = -1.0;
  CHECK(pn_measure_fma(PN_DTYPE_I32, 1, 0.0, &value) == PN_ERROR_ARGUMENT);
  CHECK(value == 0.0);
  CHECK(pn_measure_fma(PN_DTYPE_F32, 0, 0.0, &value) == PN_ERROR_ARGUMENT);
  CHECK(pn_measure_fma(PN_DTYPE_F32, -1, 0.0, &value) == PN_ERROR_ARGUMENT);
  CHECK(pn_measure_fma(PN_DTYPE_F32, 1 << 20, 0.0, &value) ==
        PN_ERROR_ARGUMENT);
  CHECK(pn_measure_fma(PN_DTYPE_F32, 1, -1.0, &value) == PN_ERROR_ARGUMENT);
  CHECK(pn_measure_fma(PN_DTYPE_F32, 1, 1e9, &value) == PN_ERROR_ARGUMENT);
}

static void test_stream(void) {
  for (int kind = PN_STREAM_READ; kind <= PN_STREAM_TRIAD; ++kind)
    for (int nontemporal = 0; nontemporal < 2; ++nontemporal)
      for (int threads = 1; threads <= 3; ++threads) {
        double value = -1.0;
        pn_error_code_t code = pn_measure_stream((pn_stream_t)kind, nontemporal,
                                                 300001, threads, 0.0, &value);
        CHECK(code == PN_ERROR_NONE ||
              (nontemporal && code == PN_ERROR_UNSUPPORTED));
        CHECK(code != PN_ERROR_NONE || (value > 0.01 && value < 1e5));
      }
}

static void test_stream_arguments(void) {
  double value = -1.0;
  CHECK(pn_measure_stream((pn_stream_t)0, false, 1 << 20, 1, 0.0, &value) ==
        PN_ERROR_ARGUMENT);
  CHECK(value == 0.0);
  CHECK(pn_measure_stream((pn_stream_t)9, false, 1 << 20, 1, 0.0, &value) ==
        PN_ERROR_ARGUMENT);
  CHECK(pn_measure_stream(PN_STREAM_COPY, false, 4095, 1, 0.0, &value) ==
        PN_ERROR_ARGUMENT);
  CHECK(pn_measure_stream(PN_STREAM_COPY, false, 8191, 2, 0.0, &value) ==
        PN_ERROR_ARGUMENT);
  CHECK(pn_measure_stream(PN_STREAM_COPY, false, SIZE_MAX, 1, 0.0, &value) ==
        PN_ERROR_MEMORY);
}

static void print_stream(const char *name, pn_stream_t stream, size_t bytes,
                         int32_t threads) {
  double plain = 0.0, nontemporal = 0.0;
  (void)!pn_measure_stream(stream, false, bytes, threads, 1.0, &plain);
  (void)!pn_measure_stream(stream, true, bytes, threads, 1.0, &nontemporal);
  printf("  %-6s %7.1f GB/s, non-temporal %7.1f GB/s\n", name, plain,
         nontemporal);
}

static void print_threads(int32_t threads) {
  double f32 = 0.0, f64 = 0.0;
  (void)!pn_measure_fma(PN_DTYPE_F32, threads, 0.5, &f32);
  (void)!pn_measure_fma(PN_DTYPE_F64, threads, 0.5, &f64);
  printf("%d threads: f32 %.1f, f64 %.1f GFLOP/s\n", threads, f32, f64);
  size_t bytes = (size_t)256 << 20;
  print_stream("read", PN_STREAM_READ, bytes, threads);
  print_stream("write", PN_STREAM_WRITE, bytes, threads);
  print_stream("copy", PN_STREAM_COPY, bytes, threads);
  print_stream("triad", PN_STREAM_TRIAD, bytes, threads);
}

int main(int argc, char **argv) {
  printf("isa %s\n", pn_measure_isa_name());
  if (argc > 1 && !strcmp(argv[1], "--print")) {
    print_threads(1);
    if (pn_thread_count_get() > 1)
      print_threads(pn_thread_count_get());
    return 0;
  }
  CHECK_RUN(test_fma);
  CHECK_RUN(test_fma_arguments);
  CHECK_RUN(test_stream);
  CHECK_RUN(test_stream_arguments);
  return check_result();
}
