/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/module.h: a program as MLIR, at any of the stages.
 *
 * Text and our own files are safe to read from anyone: whatever they hold, the
 * result is a module or an error with a location. Our file format is MLIR
 * bytecode behind a header with length and checksum; raw MLIR bytecode is
 * refused unless PN_MODULE_TRUST_BYTECODE is given, since MLIR's reader can be
 * crashed by damaged input.
 * Ownership: single owner; a module keeps its context alive.
 * Threads: one thread at a time.
 * Errors: PN_ERROR_PARSE, PN_ERROR_VERIFY, PN_ERROR_IO, PN_ERROR_CORRUPT,
 * PN_ERROR_VERSION, PN_ERROR_MEMORY, PN_ERROR_ARGUMENT.
 * Since: 0.1
 */
#ifndef POLYNEST_MODULE_H
#define POLYNEST_MODULE_H

#include "polynest/context.h"

PN_EXTERN_C_BEGIN

typedef struct pn_module pn_module_t;

enum pn_module_flags {
  PN_MODULE_DEFAULT = 0,
  PN_MODULE_TRUST_BYTECODE = 1 /* accept raw MLIR bytecode */
};

/* Parses text, bytecode or one of our files out of memory. `name` stands for
 * the file in diagnostics; NULL means "<input>". */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_module_parse(PN_KEEP pn_context_t *context, PN_KEEP const char *data,
                size_t size, PN_KEEP const char *name, uint32_t flags,
                PN_GIVE pn_module_t **out_module);

/* The same from a file. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_module_read_file(PN_KEEP pn_context_t *context, PN_KEEP const char *path,
                    uint32_t flags, PN_GIVE pn_module_t **out_module);

PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_module_clone(PN_KEEP const pn_module_t *module,
                PN_GIVE pn_module_t **out_module);

/* Marks an input of a public function as constant (`polynest.constant`): its
 * value may be bound once, see polynest/state.h. `entry` NULL means the only
 * public function. Before stage 1. PN_ERROR_ARGUMENT where there is no such
 * input, PN_ERROR_NOT_FOUND where there is no such function. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_module_mark_constant(PN_KEEP pn_module_t *module, PN_KEEP const char *entry,
                        size_t input);

/* Prints the module as text through `write`, in pieces. `write` must not use
 * the module's context. */
PN_EXPORT void pn_module_print(PN_KEEP const pn_module_t *module,
                               pn_write_fn write, PN_KEEP void *user);

/* Writes text (`bytecode` false) or our file format. The file appears whole or
 * not at all. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_module_write_file(PN_KEEP const pn_module_t *module,
                     PN_KEEP const char *path, bool bytecode);

/* Accepts NULL. */
PN_EXPORT void pn_module_destroy(PN_TAKE pn_module_t *module);

PN_EXTERN_C_END

#endif /* POLYNEST_MODULE_H */
