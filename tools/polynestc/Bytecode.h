/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynestc/Bytecode.h: raw MLIR bytecode, read in a child process.
 *
 * MLIR's bytecode reader can be crashed or hung by damaged input, so a child
 * with limits on time and memory reads it and hands over one of our own files.
 */
#ifndef POLYNESTC_BYTECODE_H
#define POLYNESTC_BYTECODE_H

#include "Report.h"
#include "polynest/module.h"

/* True if the file begins as MLIR bytecode does. */
bool pn_is_raw_bytecode(const char *path);

/* Reads raw bytecode. What goes wrong, a crash of the child included, is
 * reported. */
pn_exit_t pn_raw_bytecode_read(pn_context_t *context, const char *path,
                               pn_module_t **out_module);

#endif /* POLYNESTC_BYTECODE_H */
