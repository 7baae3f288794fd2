/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Sanitizer.h: tells the address sanitizer which pool bytes are live,
 * and the thread sanitizer what an uninstrumented OpenMP runtime orders.
 *
 * Empty in ordinary builds.
 * Threads: as the memory named.
 */
#ifndef POLYNEST_RUNTIME_SANITIZER_H
#define POLYNEST_RUNTIME_SANITIZER_H

#include <stddef.h>

#if defined(__has_feature)
#define PN_HAS_FEATURE(name) __has_feature(name)
#else
#define PN_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || PN_HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
static inline void pn_asan_poison(const void *begin, size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
static inline void pn_asan_unpoison(const void *begin, size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
#else
static inline void pn_asan_poison(const void *begin, size_t bytes) {
  (void)begin;
  (void)bytes;
}
static inline void pn_asan_unpoison(const void *begin, size_t bytes) {
  (void)begin;
  (void)bytes;
}
#endif

#if defined(__SANITIZE_THREAD__) || PN_HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
static inline void pn_tsan_acquire(void *object) { __tsan_acquire(object); }
static inline void pn_tsan_release(void *object) { __tsan_release(object); }
#else
static inline void pn_tsan_acquire(void *object) { (void)object; }
static inline void pn_tsan_release(void *object) { (void)object; }
#endif

#endif /* POLYNEST_RUNTIME_SANITIZER_H */
