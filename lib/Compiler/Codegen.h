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

/* Translates the module, optimizes it and emits an object file in memory,
 * which the caller disposes of. Adds to the timing's translate, optimize and
 * codegen times. */
PN_MUST_USE pn_error_t *pn_codegen_object(const pn_module_t *module,
                                          const pn_target_info_t *target,
                                          const pn_compile_options_t *options,
                                          pn_compile_timing_t *timing,
                                          LLVMMemoryBufferRef *out_object);

/* Monotonic time in nanoseconds. */
int64_t pn_clock_ns(void);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_CODEGEN_H */
