/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Support/Error.h: making errors and collecting diagnostics inside the library.
 *
 * Ownership: every function that returns pn_error_t * gives it to the caller.
 * Threads: an error under construction belongs to one thread.
 */
#ifndef POLYNEST_SUPPORT_ERROR_H
#define POLYNEST_SUPPORT_ERROR_H

#include "polynest/error.h"

PN_EXTERN_C_BEGIN

/* Makes an error with a printf-style message. Returns the static out-of-memory
 * error where memory is short; never NULL. */
PN_MUST_USE pn_error_t *pn_error_create(pn_error_code_t code,
                                        const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a copy of a diagnostic; silently dropped where memory is short, as
 * the error itself already says what failed. */
void pn_error_add_diagnostic(pn_error_t *error,
                             const pn_diagnostic_t *diagnostic);

/* A growing list of diagnostics that a handler fills while MLIR works. */
typedef struct pn_diagnostic_list {
  pn_diagnostic_t *items;
  size_t count;
  size_t capacity;
} pn_diagnostic_list_t;

/* Copies one diagnostic in. Returns false where memory is short. */
bool pn_diagnostic_list_add(pn_diagnostic_list_t *list,
                            const pn_diagnostic_t *diagnostic);

/* Frees the items; the list is empty and usable afterwards. */
void pn_diagnostic_list_clear(pn_diagnostic_list_t *list);

/* Makes an error that takes over the list's items. The message is the text of
 * `what`, followed by the first error diagnostic's text if there is one. */
PN_MUST_USE pn_error_t *pn_error_from_list(pn_error_code_t code,
                                           const char *what,
                                           pn_diagnostic_list_t *list);

PN_EXTERN_C_END

#endif /* POLYNEST_SUPPORT_ERROR_H */
