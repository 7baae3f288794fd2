/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Context.h: the context's inside, for the compile session. */
#ifndef POLYNEST_COMPILER_CONTEXT_H
#define POLYNEST_COMPILER_CONTEXT_H

#include "Support/Error.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "polynest/context.h"

PN_EXTERN_C_BEGIN

struct pn_module {
  pn_context_t *context; /* holds a reference */
  MlirModule mlir;
};

MlirContext pn_context_mlir(const pn_context_t *context);

/* The context's lock, which all that touches its MLIR context takes: without
 * workers, MLIR's own locks are off. */
void pn_context_lock(pn_context_t *context);
void pn_context_unlock(pn_context_t *context);

/* True where passes tell a callback what they do. */
bool pn_context_wants_remarks(const pn_context_t *context);

/* Hands a diagnostic to the context's callback, if there is one. */
void pn_context_report(const pn_context_t *context,
                       const pn_diagnostic_t *diagnostic);

/* While a scope is open, diagnostics of the context are collected into `list`
 * and the context is locked. */
typedef struct pn_diagnostic_scope {
  pn_context_t *context;
  pn_diagnostic_list_t list;
  MlirDiagnosticHandlerID handler;
} pn_diagnostic_scope_t;

void pn_diagnostic_scope_open(pn_diagnostic_scope_t *scope,
                              pn_context_t *context);

/* Closes the scope. Returns NULL if `ok`, handing what was collected to the
 * context's callback; else an error of `code` with message `what` and the
 * collected diagnostics. */
PN_MUST_USE pn_error_t *pn_diagnostic_scope_close(pn_diagnostic_scope_t *scope,
                                                  bool ok, pn_error_code_t code,
                                                  const char *what);

PN_EXTERN_C_END

#endif /* POLYNEST_COMPILER_CONTEXT_H */
