/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/measure.h: what this machine can do at most, measured: arithmetic
 * and memory bandwidth, the limits that benchmarks and cost models refer to.
 *
 * Units: GFLOP/s (1e9 floating-point operations, an FMA counts 2), GB/s (1e9
 * bytes), bytes, seconds. Bandwidth counts the bytes that the program reads
 * and writes, as STREAM does, and not the reads that a cache adds before a
 * write.
 * Errors: PN_ERROR_ARGUMENT (a value out of range), PN_ERROR_MEMORY (buffers or
 * threads), PN_ERROR_UNSUPPORTED (no non-temporal stores here).
 * Threads: any; each call starts threads of its own, apart from those of
 * parallel loops, and they should have the processors to themselves.
 * Not part of ahead-of-time libraries. Since: 0.1
 */
#ifndef POLYNEST_MEASURE_H
#define POLYNEST_MEASURE_H

#include "polynest/base.h"
#include "polynest/error.h"

PN_EXTERN_C_BEGIN

/* Number of threads in 1 .. PN_MEASURE_THREAD_COUNT_MAX, time in
 * 0 .. PN_MEASURE_SECONDS_MAX: the best of as many rounds as fit, at least 3.
 */
#define PN_MEASURE_THREAD_COUNT_MAX 1024
#define PN_MEASURE_SECONDS_MAX 60.0

/* Instruction set that the functions below use here: "avx512", "avx2", "neon",
 * "generic". Static storage. */
PN_EXPORT PN_KEEP const char *pn_measure_isa_name(void);

/* Peak of independent FMAs on registers, all threads together. dtype is
 * PN_DTYPE_F32 or PN_DTYPE_F64. */
PN_EXPORT PN_MUST_USE pn_error_code_t
pn_measure_fma(pn_dtype_t dtype, int32_t threads, double seconds,
               PN_KEEP double *out_gflops);

typedef enum pn_stream {
  PN_STREAM_READ = 1,  /* s += a[i] */
  PN_STREAM_WRITE = 2, /* a[i] = s */
  PN_STREAM_COPY = 3,  /* a[i] = b[i] */
  PN_STREAM_TRIAD = 4  /* a[i] = b[i] + s * c[i] */
} pn_stream_t;

/* Bandwidth, all threads together, over arrays of `array_bytes` each, shared
 * out evenly to the threads (at least 4096 bytes a thread): far beyond the last
 * cache for memory, less for a cache. Non-temporal stores go around the caches;
 * they make no difference to PN_STREAM_READ. */
PN_EXPORT PN_MUST_USE pn_error_code_t
pn_measure_stream(pn_stream_t stream, bool nontemporal, size_t array_bytes,
                  int32_t threads, double seconds, PN_KEEP double *out_gbytes);

PN_EXTERN_C_END

#endif /* POLYNEST_MEASURE_H */
