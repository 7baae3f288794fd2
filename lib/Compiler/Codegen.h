/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Codegen.h: from the LLVM dialect to object code. */
#ifndef POLYNEST_COMPILER_CODEGEN_H
#define POLYNEST_COMPILER_CODEGEN_H

#include "Compiler/Context.h"
#include "polynest/compile.h"
#include "llvm-c/TargetMachine.h"

PN_EXTERN_C_BEGIN

/* A target machine for the row; the caller disposes of it. PN_ERROR_TARGET
 * where LLVM has no such target. */
PN_MUST_USE pn_error_t *pn_codegen_machine(const pn_target_info_t *target,
                                           LLVMTargetMachineRef *out_machine);

enum { PN_CODEGEN_PARTS_MAX = 16 };

/* Object files in memory. */
typedef struct pn_objects {
  LLVMMemoryBufferRef buffers[PN_CODEGEN_PARTS_MAX];
  size_t count;
} pn_objects_t;

void pn_objects_clear(pn_objects_t *objects);

/* Translates the module, optimizes it and emits object files in memory, which
 * the caller clears: one for each of up to `threads` threads that work at once,
 * where the module has enough kernels, which then leave it. The first has the
 * entries and their description. `type` may ask for assembler text in place of
 * object code. Adds to the timing's translate, optimize and
 * codegen times, which add up to the time that has passed. */
PN_MUST_USE pn_error_t *
pn_codegen_objects(pn_module_t *module, const pn_target_info_t *target,
                   const pn_compile_options_t *options, int32_t threads,
                   LLVMCodeGenFileType type, pn_compile_timing_t *timing,
                   pn_objects_t *out_objects);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_CODEGEN_H */
