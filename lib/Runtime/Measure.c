/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Measure.c: arithmetic peak and memory bandwidth of this machine.
 *
 * The kernels are stamped out of MeasureKernels.inc, once an instruction set;
 * the set is chosen at run time. Compiled with -ffp-contract=fast, so that the
 * product and sum of vector types are one FMA wherever the set has it.
 */
#include "polynest/measure.h"
#include "Runtime/CheckedMath.h"
#include "Runtime/Start.h"
#include "polynest/runtime.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* ---- Kernels ------------------------------------------------------------ */

/* FMAs that one call of an FMA kernel makes a lane and an accumulator. */
#define FMA_STEPS 20000

typedef float (*pn_fma_fn)(void);
typedef void (*pn_stream_fn)(float *a, const float *b, const float *c,
                             size_t count, float *out_sum);

typedef struct pn_kernels {
  const char *isa;
  pn_fma_fn fma_f32;
  pn_fma_fn fma_f64;
  double flops_f32; /* of one call */
  double flops_f64;
  pn_stream_fn plain[PN_STREAM_TRIAD + 1];
  pn_stream_fn nontemporal[PN_STREAM_TRIAD + 1]; /* NULL: none here */
} pn_kernels_t;

#if defined(__x86_64__)

#include <immintrin.h>

#define KERNEL_NAME(base) base##_avx512
#define KERNEL_ISA "avx512"
#define KERNEL_TARGET __attribute__((target("avx512f")))
#define KERNEL_BYTES 64
#define KERNEL_ACCUMULATORS 24
#define KERNEL_STREAM(p, v) _mm512_stream_ps(p, (__m512)(v))
#include "Runtime/MeasureKernels.inc"

#define KERNEL_NAME(base) base##_avx2
#define KERNEL_ISA "avx2"
#define KERNEL_TARGET __attribute__((target("avx2,fma")))
#define KERNEL_BYTES 32
#define KERNEL_ACCUMULATORS 12
#define KERNEL_STREAM(p, v) _mm256_stream_ps(p, (__m256)(v))
#include "Runtime/MeasureKernels.inc"

#define KERNEL_NAME(base) base##_generic
#define KERNEL_ISA "generic"
#define KERNEL_TARGET
#define KERNEL_BYTES 16
#define KERNEL_ACCUMULATORS 12
#define KERNEL_STREAM(p, v) _mm_stream_ps(p, (__m128)(v))
#include "Runtime/MeasureKernels.inc"

static const pn_kernels_t *kernels_get(void) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    return &kernels_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &kernels_avx2;
  return &kernels_generic;
}

static void stores_finish(void) { _mm_sfence(); }

#else

#if defined(__aarch64__)
#define KERNEL_ISA "neon"
#define KERNEL_ACCUMULATORS 24
#else
#define KERNEL_ISA "generic"
#define KERNEL_ACCUMULATORS 8
#endif
#define KERNEL_NAME(base) base##_generic
#define KERNEL_TARGET
#define KERNEL_BYTES 16
#include "Runtime/MeasureKernels.inc"

static const pn_kernels_t *kernels_get(void) { return &kernels_generic; }

static void stores_finish(void) {}

#endif

/* ---- Rounds ------------------------------------------------------------- */

/* One measurement: every thread calls `work` once a round, between barriers,
 * until the leader, thread 0, has had enough of them. */
typedef struct pn_rounds {
  void (*prepare)(void *data, int32_t thread);
  void (*work)(void *data, int32_t thread);
  void *data;
  int32_t threads;
  double seconds;
  double best; /* seconds of the fastest round */
  bool done;
  pthread_barrier_t barrier;
  pthread_mutex_t start; /* held until every thread exists */
} pn_rounds_t;

typedef struct pn_runner {
  pn_rounds_t *rounds;
  int32_t thread;
  pthread_t handle;
} pn_runner_t;

static double clock_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void rounds_follow(pn_rounds_t *rounds, int32_t thread) {
  rounds->prepare(rounds->data, thread);
  for (;;) {
    pthread_barrier_wait(&rounds->barrier);
    if (rounds->done)
      return;
    rounds->work(rounds->data, thread);
    pthread_barrier_wait(&rounds->barrier);
  }
}

static void rounds_lead(pn_rounds_t *rounds) {
  rounds->prepare(rounds->data, 0);
  double begin = clock_seconds(), last = begin;
  for (int round = 0; round < 3 || last - begin < rounds->seconds; ++round) {
    pthread_barrier_wait(&rounds->barrier);
    double start = clock_seconds();
    rounds->work(rounds->data, 0);
    pthread_barrier_wait(&rounds->barrier);
    last = clock_seconds();
    if (!round || last - start < rounds->best)
      rounds->best = last - start;
  }
  rounds->done = true;
  pthread_barrier_wait(&rounds->barrier);
}

/* Waits for the word to start; a crew that is not complete is told to leave. */
static void *runner_main(void *data) {
  pn_runner_t *runner = data;
  pthread_mutex_lock(&runner->rounds->start);
  bool start = !runner->rounds->done;
  pthread_mutex_unlock(&runner->rounds->start);
  if (start)
    rounds_follow(runner->rounds, runner->thread);
  return NULL;
}

static pn_error_code_t rounds_run(pn_rounds_t *rounds) {
  size_t bytes = 0;
  if (!pn_size_mul((size_t)rounds->threads, sizeof(pn_runner_t), &bytes))
    return PN_ERROR_MEMORY;
  pn_runner_t *runners = pn_pool_alloc(bytes);
  if (!runners)
    return PN_ERROR_MEMORY;
  pthread_barrier_init(&rounds->barrier, NULL, (unsigned)rounds->threads);
  pthread_mutex_init(&rounds->start, NULL);
  pthread_mutex_lock(&rounds->start);
  int32_t count = 1;
  for (; count < rounds->threads; ++count) {
    runners[count] = (pn_runner_t){.rounds = rounds, .thread = count};
    if (!pn_thread_start(runner_main, &runners[count], &runners[count].handle))
      break;
  }
  bool complete = count == rounds->threads;
  rounds->done = !complete;
  pthread_mutex_unlock(&rounds->start);
  if (complete)
    rounds_lead(rounds);
  while (--count > 0)
    pthread_join(runners[count].handle, NULL);
  pthread_mutex_destroy(&rounds->start);
  pthread_barrier_destroy(&rounds->barrier);
  pn_pool_free(runners);
  return complete ? PN_ERROR_NONE : PN_ERROR_MEMORY;
}

static bool limits_valid(int32_t threads, double seconds) {
  return threads >= 1 && threads <= PN_MEASURE_THREAD_COUNT_MAX &&
         seconds >= 0.0 && seconds <= PN_MEASURE_SECONDS_MAX;
}

/* ---- Arithmetic --------------------------------------------------------- */

typedef struct pn_fma_work {
  pn_fma_fn fma;
  volatile float sink; /* keeps the results alive */
} pn_fma_work_t;

static void fma_prepare(void *data, int32_t thread) {
  (void)data;
  (void)thread;
}

static void fma_work(void *data, int32_t thread) {
  pn_fma_work_t *work = data;
  float value = work->fma();
  if (thread == 0)
    work->sink = value;
}

const char *pn_measure_isa_name(void) { return kernels_get()->isa; }

pn_error_code_t pn_measure_fma(pn_dtype_t dtype, int32_t threads,
                               double seconds, double *out_gflops) {
  if (!out_gflops)
    return PN_ERROR_ARGUMENT;
  *out_gflops = 0.0;
  bool wide = dtype == PN_DTYPE_F64;
  if (!limits_valid(threads, seconds) || (dtype != PN_DTYPE_F32 && !wide))
    return PN_ERROR_ARGUMENT;
  const pn_kernels_t *kernels = kernels_get();
  pn_fma_work_t work = {.fma = wide ? kernels->fma_f64 : kernels->fma_f32};
  pn_rounds_t rounds = {.prepare = fma_prepare,
                        .work = fma_work,
                        .data = &work,
                        .threads = threads,
                        .seconds = seconds};
  pn_error_code_t code = rounds_run(&rounds);
  double flops = wide ? kernels->flops_f64 : kernels->flops_f32;
  if (code == PN_ERROR_NONE)
    *out_gflops = flops * (double)threads / rounds.best * 1e-9;
  return code;
}

/* ---- Memory ------------------------------------------------------------- */

/* Floats that one thread handles, a multiple of the longest kernel block. */
#define STREAM_STEP 1024
/* A round lasts long enough for the clock and the barriers not to count. */
#define STREAM_ROUND_BYTES (size_t)(32u << 20)

typedef struct pn_stream_work {
  pn_stream_fn stream;
  float *arrays[3];
  size_t share; /* floats a thread */
  size_t passes;
  volatile float sink;
} pn_stream_work_t;

/* First touch by the thread that will use the part. */
static void stream_prepare(void *data, int32_t thread) {
  pn_stream_work_t *work = data;
  size_t first = (size_t)thread * work->share;
  for (int array = 0; array < 3; ++array)
    for (size_t i = 0; work->arrays[array] && i < work->share; ++i)
      work->arrays[array][first + i] = (float)(array + 1);
}

static void stream_work(void *data, int32_t thread) {
  pn_stream_work_t *work = data;
  size_t first = (size_t)thread * work->share;
  float *a = work->arrays[0] + first;
  float *b = work->arrays[1] ? work->arrays[1] + first : a;
  float *c = work->arrays[2] ? work->arrays[2] + first : a;
  float sum = 0.0f;
  for (size_t pass = 0; pass < work->passes; ++pass)
    work->stream(a, b, c, work->share, &sum);
  stores_finish();
  if (thread == 0)
    work->sink = sum;
}

static int stream_array_count(pn_stream_t stream) {
  switch (stream) {
  case PN_STREAM_READ:
  case PN_STREAM_WRITE:
    return 1;
  case PN_STREAM_COPY:
    return 2;
  case PN_STREAM_TRIAD:
    return 3;
  }
  return 0;
}

static pn_error_code_t stream_run(pn_stream_work_t *work, int arrays,
                                  int32_t threads, double seconds,
                                  double *out_gbytes) {
  pn_rounds_t rounds = {.prepare = stream_prepare,
                        .work = stream_work,
                        .data = work,
                        .threads = threads,
                        .seconds = seconds};
  pn_error_code_t code = rounds_run(&rounds);
  double bytes = (double)work->share * (double)threads * sizeof(float);
  if (code == PN_ERROR_NONE)
    *out_gbytes = bytes * arrays * (double)work->passes / rounds.best * 1e-9;
  return code;
}

pn_error_code_t pn_measure_stream(pn_stream_t stream, bool nontemporal,
                                  size_t array_bytes, int32_t threads,
                                  double seconds, double *out_gbytes) {
  if (!out_gbytes)
    return PN_ERROR_ARGUMENT;
  *out_gbytes = 0.0;
  int arrays = stream_array_count(stream);
  if (!limits_valid(threads, seconds) || !arrays)
    return PN_ERROR_ARGUMENT;
  size_t steps = array_bytes / (STREAM_STEP * sizeof(float)) / (size_t)threads;
  size_t share = 0, floats = 0, bytes = 0;
  if (!steps || !pn_size_mul(steps, STREAM_STEP, &share) ||
      !pn_size_mul(share, (size_t)threads, &floats) ||
      !pn_size_mul(floats, sizeof(float), &bytes))
    return PN_ERROR_ARGUMENT;
  const pn_kernels_t *kernels = kernels_get();
  pn_stream_work_t work = {
      .stream = (nontemporal ? kernels->nontemporal : kernels->plain)[stream],
      .share = share,
      .passes = 1 + STREAM_ROUND_BYTES / bytes};
  if (!work.stream)
    return PN_ERROR_UNSUPPORTED;
  pn_error_code_t code = PN_ERROR_NONE;
  for (int array = 0; array < arrays && code == PN_ERROR_NONE; ++array)
    if (!(work.arrays[array] = pn_pool_alloc(bytes)))
      code = PN_ERROR_MEMORY;
  if (code == PN_ERROR_NONE)
    code = stream_run(&work, arrays, threads, seconds, out_gbytes);
  for (int array = 0; array < 3; ++array)
    pn_pool_free(work.arrays[array]);
  return code;
}
