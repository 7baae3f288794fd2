/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/runtime.h: what compiled programs need while they run: parallel
 * loops, memory, call contexts and memref descriptors.
 *
 * The archive behind this header (libpolynest_rt.a) needs libc, libpthread and
 * libdl alone. It is part of libpolynest.so and of every ahead-of-time library;
 * each of those has its own copy with its own pool, while the threads are those
 * of the one OpenMP runtime in the process (see pn_parallel_for).
 *
 * Errors: functions here return codes instead of error objects, because the
 * library that makes those objects is not linked into ahead-of-time libraries.
 * Names: pn_rt_* are called by generated code and by what calls generated code;
 * the others are for everyone.
 * Threads: the thread count and the pool are process-wide and internally
 * locked; a context is used by one thread at a time; descriptors are plain
 * data. Fork: supported between calls. A child forked while an entry is running
 * may only call exec or _exit. Since: 0.1
 */
#ifndef POLYNEST_RUNTIME_H
#define POLYNEST_RUNTIME_H

#include "polynest/base.h"
#include "polynest/error.h"

PN_EXTERN_C_BEGIN

/* ------------------------------------------------------------------------ */
/* Threads                                                                  */
/* ------------------------------------------------------------------------ */

#define PN_THREAD_COUNT_MAX 1024

/* Sets the number of threads of later parallel loops, the caller included.
 * 0 goes back to the default and reads environment and affinity mask afresh.
 * PN_ERROR_ARGUMENT, and no change, outside 0 .. PN_THREAD_COUNT_MAX. */
PN_EXPORT PN_MUST_USE pn_error_code_t pn_thread_count_set(int32_t count);

/* Number of threads a parallel loop started now by this thread would ask for,
 * at least 1. In order: pn_thread_count_set; POLYNEST_NUM_THREADS; what an
 * OpenMP runtime that was in the process at the first loop gives this thread
 * (omp_get_max_threads: what the host has set, else OMP_NUM_THREADS as it was
 * when that runtime was loaded, else the affinity mask); without one,
 * OMP_NUM_THREADS and the affinity mask. */
PN_EXPORT int32_t pn_thread_count_get(void);

/* The number of threads of parallel loops that the calling thread starts from
 * now on, in place of all of the above; 0 ends that. Returns what it was, 0 for
 * nothing; -1, and no change, outside 0 .. PN_THREAD_COUNT_MAX. */
PN_EXPORT int32_t pn_thread_count_override(int32_t count);

/* A kernel runs the iterations begin .. end-1 and returns 0, or the non-zero
 * status of the first assertion that failed. */
typedef int32_t (*pn_kernel_fn)(const void *args, int64_t begin, int64_t end);

/* Runs begin .. end-1 in contiguous pieces of at least about `grain` (values
 * below 1 mean 1). Each thread begins with a contiguous part of its own, the
 * same one for the same bounds and thread count, and then takes pieces of the
 * others' parts: one that is late or slowed holds back little.
 * Serial where end-begin <= grain, with one thread, and inside another kernel.
 * Returns the status of the lowest piece that failed, else 0; the other pieces
 * are still run. The floating-point control bits of the caller (rounding,
 * flush to zero) hold in every piece.
 *
 * Threads are our own; who runs a loop waits for those that have begun on it,
 * never for one that other programs keep from its processor. They spin for up
 * to 0.1 ms after a loop and then sleep. One loop at a time has them: others,
 * and those inside a parallel region of the host's OpenMP runtime, are run by
 * their caller alone. POLYNEST_OPENMP=any runs loops in an OpenMP runtime
 * already in the process, through its GOMP_parallel, else in libgomp.so.1 or
 * libomp.so.5 if they are there; =libgomp or =libomp in that one. The choice is
 * made by the first loop. In a forked child libgomp, which does not survive a
 * fork, is replaced by our own threads. Threads: callers may overlap. */
PN_EXPORT int32_t pn_parallel_for(pn_kernel_fn kernel, PN_KEEP const void *args,
                                  int64_t begin, int64_t end, int64_t grain);

/* "threads" (our own), "libomp", "libgomp", or "unbound" before the first
 * parallel call. Static storage. */
PN_EXPORT PN_KEEP const char *pn_parallel_runtime_name(void);

typedef int32_t (*pn_rt_region_fn)(void *data);

/* Calls fn(data) once, on the calling thread, inside one open parallel region:
 * parallel loops that fn starts from this thread hand their chunks to waiting
 * workers instead of opening a region each. Workers spin for a bounded time,
 * then sleep; none spins for us after the return. Worth its opening cost where
 * fn runs several parallel loops. Within another region or a kernel, or with
 * one thread, fn is just called. Returns what fn returns. fn must return
 * normally: no longjmp, no C++ exception. */
PN_EXPORT int32_t pn_rt_region_run(pn_rt_region_fn fn, PN_KEEP void *data);

/* ------------------------------------------------------------------------ */
/* Recycling pool                                                           */
/* ------------------------------------------------------------------------ */

/* Alignment of every block, in bytes. Blocks of PN_POOL_HUGE_BYTES and more are
 * aligned to PN_POOL_HUGE_BYTES and ask the system for huge pages: first touch
 * of fresh 4 KiB pages is the dearest part of a large result. */
#define PN_POOL_ALIGNMENT 64
#define PN_POOL_HUGE_BYTES (2u << 20)

typedef struct pn_pool_stats {
  uint64_t bytes_used;  /* in blocks handed out, rounded to size classes */
  uint64_t bytes_held;  /* bytes_used plus cached blocks */
  uint64_t bytes_limit; /* bound on the cached part */
  uint64_t hits;        /* allocations served by a cached block */
  uint64_t misses;      /* allocations that went to the system */
} pn_pool_stats_t;

PN_STATIC_ASSERT(sizeof(pn_pool_stats_t) == 40, "ABI of the statistics");

/* A block of at least `bytes` bytes, contents undefined; NULL when out of
 * memory. 0 bytes give a block like any other. At most 1/8 more than asked for
 * is taken (64 bytes below 512). */
PN_EXPORT PN_GIVE void *pn_pool_alloc(size_t bytes);

/* Gives a block back, from any thread; NULL is accepted. It is cached for the
 * next allocation of its size class; the blocks unused for longest leave first
 * when the cached bytes exceed the limit, and those that lay idle for 30 s
 * leave when a later block comes back. */
PN_EXPORT void pn_pool_free(PN_TAKE void *block);

/* Returns cached blocks to the system until at most `keep_bytes` are cached. */
PN_EXPORT void pn_pool_trim(size_t keep_bytes);

/* Bound on cached bytes; 1 GiB or 1/8 of the memory, whichever is less, until
 * set. 0 caches nothing. */
PN_EXPORT void pn_pool_limit_set(size_t bytes);

PN_EXPORT void pn_pool_stats_get(PN_KEEP pn_pool_stats_t *out_stats);

/* ------------------------------------------------------------------------ */
/* Call context                                                             */
/* ------------------------------------------------------------------------ */

/* Memory of one caller of an executable: the arena of planned temporaries, and
 * the temporaries whose size is known only at run time. Two calls that overlap
 * in time need two contexts. */
typedef struct pn_rt_context pn_rt_context_t;

/* NULL when out of memory. */
PN_EXPORT PN_GIVE pn_rt_context_t *pn_rt_context_create(void);

/* Frees the arena and every temporary still alive; accepts NULL. */
PN_EXPORT void pn_rt_context_destroy(PN_TAKE pn_rt_context_t *ctx);

/* Frees every temporary still alive, as generated code does at the end of a
 * call. The arena stays. Accepts NULL. */
PN_EXPORT void pn_rt_context_reset(PN_KEEP pn_rt_context_t *ctx);

/* The arena, `bytes` or larger, 64-byte aligned, contents undefined; it only
 * ever grows, and a call that need not grow it allocates nothing. The pointer
 * of an earlier call is invalid afterwards. NULL when out of memory (the old
 * arena is then gone), bytes is negative or ctx is NULL. 0 bytes give a valid
 * pointer. */
PN_EXPORT PN_KEEP void *pn_rt_arena(PN_KEEP pn_rt_context_t *ctx,
                                    int64_t bytes);

/* A temporary from the pool, 64-byte aligned, freed with pn_rt_free and the
 * same ctx. With a ctx it is freed at the latest by reset or destroy; ctx NULL
 * leaves that to the caller. NULL when out of memory or bytes is negative.
 * Threads: kernels of one call may call both at once with its ctx. */
PN_EXPORT PN_GIVE void *pn_rt_alloc(PN_KEEP pn_rt_context_t *ctx,
                                    int64_t bytes);
PN_EXPORT void pn_rt_free(PN_KEEP pn_rt_context_t *ctx, PN_TAKE void *block);

/* ------------------------------------------------------------------------ */
/* Memrefs                                                                  */
/* ------------------------------------------------------------------------ */

#define PN_MEMREF_RANK_MAX 64

/* A strided view. Element (i0, i1, ..) is at
 *   data + (offset + i0*strides[0] + i1*strides[1] + ..) * element size.
 * offset and strides count elements; strides may be zero or negative. NULL
 * strides mean contiguous row-major; NULL sizes are allowed at rank 0 alone;
 * data may be NULL where there is no element. All pointers are borrowed. */
typedef struct pn_memref {
  void *data;
  int64_t offset;
  const int64_t *sizes;
  const int64_t *strides;
  int32_t dtype; /* pn_dtype_t */
  int32_t rank;
} pn_memref_t;

PN_STATIC_ASSERT(sizeof(pn_memref_t) == 4 * sizeof(void *) + 8 ||
                     sizeof(void *) != 8,
                 "pn_memref_t is part of the binary interface");

/* PN_ERROR_NONE where the descriptor can be used: known element type, rank 0 ..
 * PN_MEMREF_RANK_MAX, no negative size, element count and every byte address
 * without overflow, data given. Else PN_ERROR_ARGUMENT. The functions below
 * report the same errors themselves. */
PN_EXPORT PN_MUST_USE pn_error_code_t
pn_memref_check(PN_KEEP const pn_memref_t *memref);

PN_EXPORT PN_MUST_USE pn_error_code_t pn_memref_element_count(
    PN_KEEP const pn_memref_t *memref, PN_KEEP int64_t *out_count);

/* The addresses [lo, hi) between which every byte of the view lies; lo == hi
 * where it has no element. */
PN_EXPORT PN_MUST_USE pn_error_code_t
pn_memref_span(PN_KEEP const pn_memref_t *memref, PN_KEEP uintptr_t *out_lo,
               PN_KEEP uintptr_t *out_hi);

/* Whether the spans of a and b meet. An interval test: views that interleave
 * without sharing an element count as overlapping, and so does a descriptor
 * with errors. A view without elements overlaps nothing. */
PN_EXPORT bool pn_memref_overlaps(PN_KEEP const pn_memref_t *a,
                                  PN_KEEP const pn_memref_t *b);

/* Whether the elements lie in row-major order without gaps. Strides of sizes 1
 * do not matter; a view without elements is contiguous; a descriptor with
 * errors is not. */
PN_EXPORT bool pn_memref_is_contiguous(PN_KEEP const pn_memref_t *memref);

/* Bytes of an MLIR ranked descriptor: allocated and aligned pointer, offset,
 * sizes[rank], strides[rank]. 0 for a rank out of range. */
PN_EXPORT size_t pn_memref_descriptor_size(int32_t rank);

/* Writes the MLIR ranked descriptor of memref to out_descriptor, 8-byte
 * aligned, of pn_memref_descriptor_size(rank) bytes. Strides that cannot matter
 * because there is no element may be 0. */
PN_EXPORT PN_MUST_USE pn_error_code_t pn_memref_descriptor_fill(
    PN_KEEP const pn_memref_t *memref, PN_KEEP void *out_descriptor);

PN_EXTERN_C_END

#endif /* POLYNEST_RUNTIME_H */
