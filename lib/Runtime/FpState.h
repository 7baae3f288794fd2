/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/FpState.h: the floating-point control bits of a thread.
 *
 * A caller that flushes denormals or rounds upwards must get the same bits from
 * every chunk, whichever thread runs it; so each job carries the caller's
 * control bits. Exception flags are not control bits: they stay per thread.
 * Threads: each function concerns the calling thread.
 */
#ifndef POLYNEST_RUNTIME_FP_STATE_H
#define POLYNEST_RUNTIME_FP_STATE_H

#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

/* MXCSR without its six sticky exception flags. */
#define PN_FP_CONTROL_MASK UINT64_C(0xffc0)

static inline uint64_t pn_fp_state_read(void) { return _mm_getcsr(); }
static inline void pn_fp_state_write(uint64_t state) {
  _mm_setcsr((unsigned)state);
}

#elif defined(__aarch64__)

/* FPCR has control bits alone; flags are in FPSR. */
#define PN_FP_CONTROL_MASK UINT64_MAX

static inline uint64_t pn_fp_state_read(void) {
  uint64_t state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state));
  return state;
}
static inline void pn_fp_state_write(uint64_t state) {
  __asm__ volatile("msr fpcr, %0" : : "r"(state));
}

#else

#define PN_FP_CONTROL_MASK UINT64_C(0)

static inline uint64_t pn_fp_state_read(void) { return 0; }
static inline void pn_fp_state_write(uint64_t state) { (void)state; }

#endif

static inline uint64_t pn_fp_control_get(void) {
  return pn_fp_state_read() & PN_FP_CONTROL_MASK;
}

/* Writing the register drains the pipeline, so that it is written only where
 * it changes. */
static inline void pn_fp_control_set(uint64_t control) {
  uint64_t state = pn_fp_state_read();
  if ((state & PN_FP_CONTROL_MASK) != control)
    pn_fp_state_write((state & ~PN_FP_CONTROL_MASK) | control);
}

#endif /* POLYNEST_RUNTIME_FP_STATE_H */
