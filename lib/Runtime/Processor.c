/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runtime/Processor.c: whether this processor has what code was compiled for.
 *
 * Sources: Intel SDM vol. 2A, CPUID, and vol. 1, 13.3 (XCR0); Linux,
 * Documentation/arch/arm64/elf_hwcaps.rst and arch/x86/xstate.rst.
 */
#include "Runtime/Processor.h"

#include <string.h>

#define FEATURE(name)                                                          \
  { name, "the code needs a processor with " name ", which this one lacks" }

/* In the order of pn_target_feature_t. */
static const struct {
  const char *name;
  const char *problem;
} features[] = {
    FEATURE("avx2"),         FEATURE("f16c"),        FEATURE("avx512f"),
    FEATURE("avx512-bf16"),  FEATURE("avx512-vnni"), FEATURE("avx512-fp16"),
    FEATURE("avx-vnni"),     FEATURE("amx-bf16"),    FEATURE("amx-int8"),
    FEATURE("amx-fp16"),     FEATURE("neon"),        FEATURE("neon-fp16"),
    FEATURE("neon-dotprod"), FEATURE("arm-bf16"),    FEATURE("arm-i8mm"),
    FEATURE("sve"),
};

#define FEATURE_COUNT (sizeof(features) / sizeof(features[0]))

#if defined(__x86_64__)

#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct pn_leaf {
  unsigned eax, ebx, ecx, edx;
} pn_leaf_t;

/* All zero where the processor has no such leaf. */
static pn_leaf_t leaf(unsigned number, unsigned sub) {
  pn_leaf_t l = {0, 0, 0, 0};
  if (!__get_cpuid_count(number, sub, &l.eax, &l.ebx, &l.ecx, &l.edx))
    return (pn_leaf_t){0, 0, 0, 0};
  return l;
}

/* Which registers the system saves; 0 where it saves none by XSAVE. */
static uint64_t saved_registers(const pn_leaf_t *one) {
  if (!(one->ecx >> 27 & 1))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }

#ifdef __linux__

/* Linux, Documentation/arch/x86/xstate.rst: a process that has not asked for
 * the tile registers gets a signal when it uses them. */
static bool may_use_tiles(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#else

static bool may_use_tiles(void) { return true; }

#endif

uint64_t pn_processor_features(void) {
  pn_leaf_t one = leaf(1, 0), seven = leaf(7, 0);
  pn_leaf_t more = seven.eax >= 1 ? leaf(7, 1) : (pn_leaf_t){0, 0, 0, 0};
  uint64_t saved = saved_registers(&one);
  bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6;
  bool tile = (saved & 0x60000) == 0x60000 && has(seven.edx, 1u << 24) &&
              may_use_tiles();
  /* FMA3 beside AVX2; BW, DQ and VL beside F. */
  bool avx2 = ymm && has(one.ecx, 1u << 12) && has(seven.ebx, 1u << 5);
  bool avx512 =
      avx2 && zmm && has(seven.ebx, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31);
  const bool present[] = {
      avx2,
      ymm && has(one.ecx, 1u << 29),
      avx512,
      avx512 && has(more.eax, 1u << 5),
      avx512 && has(seven.ecx, 1u << 11),
      avx512 && has(seven.edx, 1u << 23),
      avx2 && has(more.eax, 1u << 4),
      tile && has(seven.edx, 1u << 22),
      tile && has(seven.edx, 1u << 25),
      tile && has(more.eax, 1u << 21),
  };
  uint64_t set = 0;
  for (size_t i = 0; i < sizeof(present) / sizeof(present[0]); ++i)
    set |= (uint64_t)present[i] << i;
  return set;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

uint64_t pn_processor_features(void) {
  unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
  bool neon = one >> 1 & 1;
  const bool present[] = {
      neon,
      neon && (one >> 9 & 1) && (one >> 10 & 1),
      neon && (one >> 20 & 1),
      neon && (two >> 14 & 1),
      neon && (two >> 13 & 1),
      neon && (one >> 22 & 1),
  };
  uint64_t set = 0;
  for (size_t i = 0; i < sizeof(present) / sizeof(present[0]); ++i)
    set |= (uint64_t)present[i] << (10 + i);
  return set;
}

#else

uint64_t pn_processor_features(void) { return 0; }

#endif

const char *pn_processor_problem(uint64_t have, const char *names,
                                 size_t size) {
  for (size_t at = 0; at < size;) {
    size_t length = 0;
    while (at + length < size && names[at + length] != ' ')
      ++length;
    size_t i = 0;
    while (i < FEATURE_COUNT &&
           (strlen(features[i].name) != length ||
            memcmp(features[i].name, names + at, length) != 0))
      ++i;
    if (length && i == FEATURE_COUNT)
      return "the code needs a feature of processors that its runtime does not "
             "know";
    if (length && !(have >> i & 1))
      return features[i].problem;
    at += length + 1;
  }
  return NULL;
}

const char *pn_description_problem(uint64_t have, const char *description) {
  static const char start[] = "target ";
  for (const char *line = description; line && *line;) {
    const char *end = strchr(line, '\n');
    size_t size = end ? (size_t)(end - line) : strlen(line);
    if (size >= sizeof(start) - 1 &&
        memcmp(line, start, sizeof(start) - 1) == 0) {
      /* The name comes first. */
      const char *names = line + sizeof(start) - 1;
      while (names < line + size && *names != ' ')
        ++names;
      return pn_processor_problem(have, names, (size_t)(line + size - names));
    }
    line = end ? end + 1 : NULL;
  }
  return NULL;
}
