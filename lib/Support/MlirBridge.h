/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/MlirBridge.h: the few MLIR services that its C API lacks, as C
 * functions. Implemented in C++; everything else of the driver uses mlir-c.
 */
#ifndef POLYNEST_SUPPORT_MLIRBRIDGE_H
#define POLYNEST_SUPPORT_MLIRBRIDGE_H

#include "Support/Buffer.h"
#include "mlir-c/IR.h"
#include "mlir-c/Support.h"
#include "polynest/context.h"

PN_EXTERN_C_BEGIN

/* Routes every remark of the context to the callback; NULL turns it off. */
void pn_mlir_set_remark_callback(MlirContext context, pn_remark_fn callback,
                                 void *user);

/* Makes the parser take the generic form of dialects that frontends write and
 * that are not linked: tm_tensor. */
void pn_mlir_register_frontend_dialects(MlirDialectRegistry registry);

/* A pool of exactly `count` workers; mlirLlvmThreadPoolCreate takes all cores.
 */
MlirLlvmThreadPool pn_mlir_thread_pool_create(unsigned count);

/* True if LLVM's back end for the triple knows the CPU; it would print to
 * stderr and go on with another one where it does not. */
bool pn_llvm_knows_cpu(const char *triple, const char *cpu);

/* Diagnostics of the context no longer carry the whole operation as a note. */
void pn_mlir_shorten_diagnostics(MlirContext context);

/* Appends the text of a pipeline, given the text of its options. */
typedef pn_error_t *(*pn_pipeline_text_fn)(void *user, const char *options,
                                           size_t size, pn_buffer_t *buffer);

/* Registers a pipeline of builtin.module by name. `user` is kept. */
void pn_mlir_register_pipeline(const char *flag, const char *description,
                               pn_pipeline_text_fn text_fn, void *user);

/* Parses text or bytecode as a module; `name` stands for the file in
 * locations. The data need not end in NUL. Null where it does not parse;
 * diagnostics go to the context's handlers. */
MlirModule pn_mlir_parse_module(MlirContext context, const char *data,
                                size_t size, const char *name);

/* Bytes of the largest state of an entry of a module at stage s3 or s4. */
size_t pn_mlir_state_bytes(MlirModule module);

/* Writes MLIR bytecode through the callback. */
bool pn_mlir_write_bytecode(MlirOperation op,
                            void (*write)(void *user, const char *data,
                                          size_t size),
                            void *user);

/* File, line and column of a location, from 1; looks into fused, named and
 * call-site locations. `file` is appended to; line and column are 0 where the
 * place is unknown. */
void pn_mlir_location(MlirLocation location, pn_buffer_t *file,
                      int32_t *out_line, int32_t *out_column);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_MLIRBRIDGE_H */
