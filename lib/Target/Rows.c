/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Target/Rows.c: the table of known chips.
 *
 * One row a chip, one source a group; docs/targets.md says how to add one.
 * Where a core comes in several products, the row is that of the product its
 * source names; core count and last level are what differs between them.
 * fma_ports, load_ports and store_ports count operations of vector_bits.
 */

#include "Target/Row.h"

#include <string.h>

#define BIT(name) (UINT64_C(1) << PN_TARGET_FEATURE_##name)
#define X86_TRIPLE "x86_64-unknown-linux-gnu"
#define ARM_TRIPLE "aarch64-unknown-linux-gnu"
#define LLVM_SOURCE "processor model of that name in LLVM 22"
#define INTEL_MANUAL                                                           \
  "Intel 64 and IA-32 Architectures Optimization Reference Manual 248966"
#define DIVIDES "; division: LLVM 22's scheduling model of that name, "
#define UOPS "uops.info, latency from the accumulator operand, and ports"

static const pn_target_row_t rows[] = {
    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 4,
              .name = "haswell",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "haswell",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C),
              .caches = {{32, 64, 8, 1}, {256, 64, 8, 1}, {8192, 64, 16, 4}},
              .usable_llc_kib_per_core = 2048,
              .vector_bits = 256,
              .vector_registers = 16,
              .prefer_vector_width_bits = 256,
              .fma_ports = 2,
              .fma_latency_cycles = 5,
              .divide_cycles = 14,
              .load_ports = 2,
              .store_ports = 1,
              .page_bytes = 4096,
              .l1_dtlb_entries = 64,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 25,
              .l3_bytes_per_cycle = 14},
     .sources = {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
                 [PN_TARGET_GROUP_CORES] = "Intel ARK, Core i7-4770",
                 [PN_TARGET_GROUP_L1] = INTEL_MANUAL ", Haswell caches",
                 [PN_TARGET_GROUP_L2] = INTEL_MANUAL ", Haswell caches",
                 [PN_TARGET_GROUP_L3] = "CPUID leaf 4 of a Core i7-4770",
                 [PN_TARGET_GROUP_USABLE] = "size by cores",
                 [PN_TARGET_GROUP_VECTOR] = "AVX2: 16 registers of 256 bits",
                 [PN_TARGET_GROUP_FMA] = UOPS
                 ", VFMADD231PS YMM: 5 cycles, p01" DIVIDES "VDIVPS YMM",
                 [PN_TARGET_GROUP_PORTS] =
                     INTEL_MANUAL ", Haswell: 2 loads and 1 store of 32 bytes",
                 [PN_TARGET_GROUP_PAGES] =
                     INTEL_MANUAL ", Haswell: L1 DTLB 64 of 4 K",
                 [PN_TARGET_GROUP_RATES] =
                     INTEL_MANUAL ", sustained rates listed for Broadwell"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 28,
              .name = "skylake-avx512",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "skylake-avx512",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C) | BIT(AVX512F),
              .caches = {{32, 64, 8, 1},
                         {1024, 64, 16, 1},
                         {39424, 64, 11, 28}},
              .usable_llc_kib_per_core = 1408,
              .vector_bits = 512,
              .vector_registers = 32,
              .prefer_vector_width_bits = 512,
              .fma_ports = 2,
              .fma_latency_cycles = 4,
              .divide_cycles = 10,
              .load_ports = 2,
              .store_ports = 1,
              .page_bytes = 4096,
              .l1_dtlb_entries = 64,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 48,
              .l3_bytes_per_cycle = 15},
     .sources = {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
                 [PN_TARGET_GROUP_CORES] = "Intel ARK, Xeon Platinum 8180",
                 [PN_TARGET_GROUP_L1] = INTEL_MANUAL ", Skylake server caches",
                 [PN_TARGET_GROUP_L2] = INTEL_MANUAL ", Skylake server caches",
                 [PN_TARGET_GROUP_L3] =
                     INTEL_MANUAL ", 1.375 MiB and 11 ways a core; Xeon 8180",
                 [PN_TARGET_GROUP_USABLE] = "size by cores",
                 [PN_TARGET_GROUP_VECTOR] =
                     "AVX-512: 32 registers of 512 bits; LLVM "
                     "prefers 256 unless told",
                 [PN_TARGET_GROUP_FMA] =
                     UOPS ", VFMADD231PS ZMM: 4 cycles, p05 of the two-FMA "
                          "models" DIVIDES "VDIVPS ZMM",
                 [PN_TARGET_GROUP_PORTS] = INTEL_MANUAL
                 ", Skylake server: 2 loads and 1 store of 64 bytes",
                 [PN_TARGET_GROUP_PAGES] =
                     INTEL_MANUAL ", Skylake: L1 DTLB 64 of 4 K",
                 [PN_TARGET_GROUP_RATES] =
                     INTEL_MANUAL ", sustained rates of Skylake server"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 56,
              .name = "sapphirerapids",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "sapphirerapids",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C) | BIT(AVX512F) |
                          BIT(AVX512_BF16) | BIT(AVX512_VNNI) |
                          BIT(AVX512_FP16) | BIT(AVX_VNNI) | BIT(AMX_BF16) |
                          BIT(AMX_INT8),
              .caches = {{48, 64, 12, 1},
                         {2048, 64, 16, 1},
                         {107520, 64, 15, 56}},
              .usable_llc_kib_per_core = 1920,
              .vector_bits = 512,
              .vector_registers = 32,
              .prefer_vector_width_bits = 512,
              .fma_ports = 2,
              .fma_latency_cycles = 4,
              .load_ports = 2,
              .store_ports = 1,
              .matrix_rows = 16,
              .matrix_row_bytes = 64,
              .matrix_tiles = 8,
              .page_bytes = 4096,
              .l1_dtlb_entries = 96,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 48,
              .l3_bytes_per_cycle = 10},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "Intel ARK, Xeon Platinum 8480+",
          [PN_TARGET_GROUP_L1] = INTEL_MANUAL ", Golden Cove caches",
          [PN_TARGET_GROUP_L2] = INTEL_MANUAL ", Golden Cove server: 2 MiB",
          [PN_TARGET_GROUP_L3] =
              "Intel ARK, Xeon 8480+: 105 MiB, 1.875 MiB and 15 ways a core",
          [PN_TARGET_GROUP_USABLE] = "size by cores",
          [PN_TARGET_GROUP_VECTOR] = "AVX-512: 32 registers of 512 bits; LLVM "
                                     "prefers 256 unless told",
          [PN_TARGET_GROUP_FMA] =
              UOPS ", Alder Lake P: VFMADD231PS ZMM 4 cycles, p05",
          [PN_TARGET_GROUP_PORTS] =
              INTEL_MANUAL ", Golden Cove: 2 loads and 1 store of 64 bytes",
          [PN_TARGET_GROUP_MATRIX] =
              "Intel ISA Extensions Reference 319433, AMX palette 1",
          [PN_TARGET_GROUP_PAGES] =
              INTEL_MANUAL ", Golden Cove: load DTLB 96 of 4 K",
          [PN_TARGET_GROUP_RATES] =
              "L2 " INTEL_MANUAL "; L3 one core read by Chips and Cheese"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 128,
              .name = "graniterapids",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "graniterapids",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C) | BIT(AVX512F) |
                          BIT(AVX512_BF16) | BIT(AVX512_VNNI) |
                          BIT(AVX512_FP16) | BIT(AVX_VNNI) | BIT(AMX_BF16) |
                          BIT(AMX_INT8) | BIT(AMX_FP16),
              .caches = {{48, 64, 12, 1},
                         {2048, 64, 16, 1},
                         {516096, 64, 16, 128}},
              .usable_llc_kib_per_core = 4032,
              .vector_bits = 512,
              .vector_registers = 32,
              .prefer_vector_width_bits = 512,
              .fma_ports = 2,
              .fma_latency_cycles = 4,
              .load_ports = 2,
              .store_ports = 1,
              .matrix_rows = 16,
              .matrix_row_bytes = 64,
              .matrix_tiles = 8,
              .page_bytes = 4096,
              .l1_dtlb_entries = 96,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 48,
              .l3_bytes_per_cycle = 10},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "Intel ARK, Xeon 6980P",
          [PN_TARGET_GROUP_L1] = INTEL_MANUAL ", Redwood Cove caches",
          [PN_TARGET_GROUP_L2] = INTEL_MANUAL ", Redwood Cove server: 2 MiB",
          [PN_TARGET_GROUP_L3] =
              "Intel ARK, Xeon 6980P: 504 MiB, 3 clusters of 168 MiB; ways "
              "assumed",
          [PN_TARGET_GROUP_USABLE] = "size by cores",
          [PN_TARGET_GROUP_VECTOR] = "AVX-512: 32 registers of 512 bits; LLVM "
                                     "prefers 256 unless told",
          [PN_TARGET_GROUP_FMA] = "as Golden Cove: " UOPS,
          [PN_TARGET_GROUP_PORTS] = "as Golden Cove: " INTEL_MANUAL,
          [PN_TARGET_GROUP_MATRIX] =
              "Intel ISA Extensions Reference 319433, AMX palette 1",
          [PN_TARGET_GROUP_PAGES] = "as Golden Cove: " INTEL_MANUAL,
          [PN_TARGET_GROUP_RATES] = "as sapphirerapids"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 64,
              .name = "znver3",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "znver3",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C),
              .caches = {{32, 64, 8, 1}, {512, 64, 8, 1}, {32768, 64, 16, 8}},
              .usable_llc_kib_per_core = 4096,
              .vector_bits = 256,
              .vector_registers = 16,
              .prefer_vector_width_bits = 256,
              .fma_ports = 2,
              .fma_latency_cycles = 4,
              .divide_cycles = 3,
              .load_ports = 2,
              .store_ports = 1,
              .page_bytes = 4096,
              .l1_dtlb_entries = 64,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 32,
              .l3_bytes_per_cycle = 32},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "AMD, EPYC 7763",
          [PN_TARGET_GROUP_L1] =
              "AMD Software Optimization Guide for Family 19h, 56665",
          [PN_TARGET_GROUP_L2] =
              "AMD Software Optimization Guide for Family 19h, 56665",
          [PN_TARGET_GROUP_L3] = "AMD Software Optimization Guide for Family "
                                 "19h, 56665: 32 MiB for 8 cores",
          [PN_TARGET_GROUP_USABLE] = "size by cores of one complex",
          [PN_TARGET_GROUP_VECTOR] = "AVX2: 16 registers of 256 bits",
          [PN_TARGET_GROUP_FMA] =
              UOPS ", VFMADD231PS YMM: 4 cycles, FP0 FP1" DIVIDES "VDIVPS YMM",
          [PN_TARGET_GROUP_PORTS] =
              "AMD 56665: 2 loads and 1 store of 32 bytes",
          [PN_TARGET_GROUP_PAGES] = "AMD 56665: L1 DTLB 64, any page size",
          [PN_TARGET_GROUP_RATES] = "AMD 56665: 32 bytes a cycle, peak"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 96,
              .name = "znver4",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "znver4",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C) | BIT(AVX512F) |
                          BIT(AVX512_BF16) | BIT(AVX512_VNNI),
              .caches = {{32, 64, 8, 1}, {1024, 64, 8, 1}, {32768, 64, 16, 8}},
              .usable_llc_kib_per_core = 4096,
              .vector_bits = 512,
              .vector_registers = 32,
              .prefer_vector_width_bits = 512,
              .fma_ports = 1,
              .fma_latency_cycles = 4,
              .divide_cycles = 6,
              .load_ports = 1,
              .store_ports = 1,
              .page_bytes = 4096,
              .l1_dtlb_entries = 72,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 32,
              .l3_bytes_per_cycle = 32,
              .row_requests = 1},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "AMD, EPYC 9654",
          [PN_TARGET_GROUP_L1] =
              "AMD Software Optimization Guide for Zen 4, 57647",
          [PN_TARGET_GROUP_L2] =
              "AMD Software Optimization Guide for Zen 4, 57647",
          [PN_TARGET_GROUP_L3] = "AMD Software Optimization Guide for Zen 4, "
                                 "57647: 32 MiB for 8 cores",
          [PN_TARGET_GROUP_USABLE] = "size by cores of one complex",
          [PN_TARGET_GROUP_VECTOR] =
              "AVX-512: 32 registers of 512 bits, on 256-bit units",
          [PN_TARGET_GROUP_FMA] =
              "AMD 57647: two 256-bit pipes make one 512-bit FMA a cycle; " UOPS
              ": 4 cycles" DIVIDES "VDIVPS ZMM, and measured",
          [PN_TARGET_GROUP_PORTS] = "AMD 57647: 2 loads and 1 store of 32 "
                                    "bytes, so 1 load of 64 and half a store",
          [PN_TARGET_GROUP_PAGES] = "AMD 57647: L1 DTLB 72, any page size",
          [PN_TARGET_GROUP_RATES] =
              "AMD 57647: 32 bytes a cycle, peak; requests: "
              "norms of rows, measured"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 128,
              .name = "znver5",
              .llvm_triple = X86_TRIPLE,
              .llvm_cpu = "znver5",
              .llvm_features = "",
              .features = BIT(AVX2) | BIT(F16C) | BIT(AVX512F) |
                          BIT(AVX512_BF16) | BIT(AVX512_VNNI) | BIT(AVX_VNNI),
              .caches = {{48, 64, 12, 1},
                         {1024, 64, 16, 1},
                         {32768, 64, 16, 8}},
              .usable_llc_kib_per_core = 4096,
              .vector_bits = 512,
              .vector_registers = 32,
              .prefer_vector_width_bits = 512,
              .fma_ports = 2,
              .fma_latency_cycles = 4,
              .load_ports = 2,
              .store_ports = 1,
              .page_bytes = 4096,
              .l1_dtlb_entries = 96,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 64,
              .l3_bytes_per_cycle = 32},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "AMD, EPYC 9755",
          [PN_TARGET_GROUP_L1] =
              "AMD Software Optimization Guide for Zen 5, 58455",
          [PN_TARGET_GROUP_L2] =
              "AMD Software Optimization Guide for Zen 5, 58455",
          [PN_TARGET_GROUP_L3] = "AMD Software Optimization Guide for Zen 5, "
                                 "58455: 32 MiB for 8 cores",
          [PN_TARGET_GROUP_USABLE] = "size by cores of one complex",
          [PN_TARGET_GROUP_VECTOR] = "AVX-512: 32 registers of 512 bits",
          [PN_TARGET_GROUP_FMA] =
              "AMD 58455: two 512-bit pipes (server and desktop), 4 cycles",
          [PN_TARGET_GROUP_PORTS] =
              "AMD 58455: 2 loads and 1 store of 64 bytes",
          [PN_TARGET_GROUP_PAGES] = "AMD 58455: L1 DTLB 96, any page size",
          [PN_TARGET_GROUP_RATES] =
              "AMD, Hot Chips 2024: L2 64 bytes a cycle; L3 32, peak"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 64,
              .name = "neoverse-n1",
              .llvm_triple = ARM_TRIPLE,
              .llvm_cpu = "neoverse-n1",
              .llvm_features = "",
              .features = BIT(NEON) | BIT(NEON_FP16) | BIT(NEON_DOTPROD),
              .caches = {{64, 64, 4, 1}, {1024, 64, 8, 1}, {32768, 64, 16, 64}},
              .usable_llc_kib_per_core = 512,
              .vector_bits = 128,
              .vector_registers = 32,
              .fma_ports = 2,
              .fma_latency_cycles = 4,
              .divide_cycles = 7,
              .load_ports = 2,
              .store_ports = 1,
              .page_bytes = 4096,
              .l1_dtlb_entries = 48,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 32,
              .l3_bytes_per_cycle = 16},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "AWS, Graviton2",
          [PN_TARGET_GROUP_L1] = "Arm Neoverse N1 TRM 100616; WikiChip",
          [PN_TARGET_GROUP_L2] =
              "Arm Neoverse N1 TRM 100616, 1 MiB choice; WikiChip",
          [PN_TARGET_GROUP_L3] =
              "AWS, Graviton2: 32 MiB for 64 cores; ways of CMN-600",
          [PN_TARGET_GROUP_USABLE] = "size by cores",
          [PN_TARGET_GROUP_VECTOR] = "Advanced SIMD: 32 registers of 128 bits",
          [PN_TARGET_GROUP_FMA] =
              "Arm Neoverse N1 Software Optimization Guide: FMLA 4 cycles on "
              "V0 V1, forwarding between accumulates not counted on" DIVIDES
              "FDIV 4S",
          [PN_TARGET_GROUP_PORTS] =
              "Arm Neoverse N1 Software Optimization Guide: 2 load/store pipes",
          [PN_TARGET_GROUP_PAGES] = "Arm Neoverse N1 TRM 100616: L1 DTLB 48",
          [PN_TARGET_GROUP_RATES] =
              "Arm Neoverse N1 TRM 100616: 256-bit L2 read; L3 assumed half"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 64,
              .name = "neoverse-v1",
              .llvm_triple = ARM_TRIPLE,
              .llvm_cpu = "neoverse-v1",
              .llvm_features = "",
              .features = BIT(NEON) | BIT(NEON_FP16) | BIT(NEON_DOTPROD) |
                          BIT(ARM_BF16) | BIT(ARM_I8MM) | BIT(SVE),
              .caches = {{64, 64, 4, 1}, {1024, 64, 8, 1}, {32768, 64, 16, 64}},
              .usable_llc_kib_per_core = 512,
              .vector_bits = 128,
              .vector_registers = 32,
              .fma_ports = 4,
              .fma_latency_cycles = 4,
              .load_ports = 3,
              .store_ports = 2,
              .page_bytes = 4096,
              .l1_dtlb_entries = 40,
              .huge_page_bytes = 2 << 20,
              .l2_bytes_per_cycle = 32,
              .l3_bytes_per_cycle = 16},
     .sources =
         {[PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
          [PN_TARGET_GROUP_CORES] = "AWS, Graviton3",
          [PN_TARGET_GROUP_L1] = "Arm Neoverse V1 TRM 101427",
          [PN_TARGET_GROUP_L2] = "Arm Neoverse V1 TRM 101427, 1 MiB choice",
          [PN_TARGET_GROUP_L3] =
              "AWS, Graviton3: 32 MiB for 64 cores; ways of CMN-650",
          [PN_TARGET_GROUP_USABLE] = "size by cores",
          [PN_TARGET_GROUP_VECTOR] =
              "Advanced SIMD, four 128-bit pipes; SVE would be two of 256",
          [PN_TARGET_GROUP_FMA] =
              "Arm Neoverse V1 Software Optimization Guide: FMLA 4 cycles on "
              "V0 to V3, forwarding between accumulates not counted on",
          [PN_TARGET_GROUP_PORTS] = "Arm Neoverse V1 Software Optimization "
                                    "Guide: 3 load pipes, 2 with stores",
          [PN_TARGET_GROUP_PAGES] = "Arm Neoverse V1 TRM 101427: L1 DTLB 40",
          [PN_TARGET_GROUP_RATES] = "assumed as neoverse-n1"}},

    {.info = {.struct_size = sizeof(pn_target_info_t),
              .kind = PN_TARGET_KIND_CPU,
              .cores = 4,
              .name = "apple-m1",
              .llvm_triple = "arm64-apple-macosx11.0.0",
              .llvm_cpu = "apple-m1",
              .llvm_features = "",
              .features = BIT(NEON) | BIT(NEON_FP16) | BIT(NEON_DOTPROD),
              .caches = {{128, 64, 8, 1}, {12288, 128, 12, 4}, {0, 0, 0, 0}},
              .usable_llc_kib_per_core = 3072,
              .vector_bits = 128,
              .vector_registers = 32,
              .fma_ports = 4,
              .fma_latency_cycles = 4,
              .load_ports = 3,
              .store_ports = 2,
              .frequency_mhz = 3200,
              .page_bytes = 16384,
              .l1_dtlb_entries = 160,
              .huge_page_bytes = 32 << 20,
              .l2_bytes_per_cycle = 32,
              .l3_bytes_per_cycle = 0,
              .memory_mib_per_s = 55300},
     .sources = {
         [PN_TARGET_GROUP_LLVM] = LLVM_SOURCE,
         [PN_TARGET_GROUP_CORES] = "Apple M1, performance cores",
         [PN_TARGET_GROUP_L1] = "AnandTech, Apple M1, 2020; sysctl hw",
         [PN_TARGET_GROUP_L2] =
             "AnandTech, Apple M1, 2020: 12 MiB for 4 cores; sysctl hw",
         [PN_TARGET_GROUP_L3] = "none; the 8 MiB system cache is smaller than "
                                "L2 and not counted",
         [PN_TARGET_GROUP_USABLE] = "L2 size by cores",
         [PN_TARGET_GROUP_VECTOR] = "Advanced SIMD: 32 registers of 128 bits",
         [PN_TARGET_GROUP_FMA] = "D. Johnson, Firestorm SIMD tables: FMLA 4 "
                                 "cycles on units 11 to 14",
         [PN_TARGET_GROUP_PORTS] =
             "D. Johnson, Firestorm overview: units 7 to 10",
         [PN_TARGET_GROUP_CLOCK] = "AnandTech, Apple M1, 2020",
         [PN_TARGET_GROUP_PAGES] = "AnandTech, Apple M1, 2020: L1 DTLB 160 of "
                                   "16 K; block of the 16 K granule",
         [PN_TARGET_GROUP_RATES] = "AnandTech, Apple M1, 2020: one core reads "
                                   "58 GB/s; L2 about 100 GB/s"}}};

size_t pn_target_known_row_count(void) {
  return sizeof(rows) / sizeof(rows[0]);
}

const pn_target_row_t *pn_target_known_row(size_t index) {
  return index < pn_target_known_row_count() ? &rows[index] : NULL;
}

const pn_target_row_t *pn_target_find_row(const char *name) {
  for (size_t i = 0; i < pn_target_known_row_count(); ++i)
    if (strcmp(rows[i].info.name, name) == 0)
      return &rows[i];
  return NULL;
}
