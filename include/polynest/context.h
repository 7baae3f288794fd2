/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * polynest/context.h: the compiler's context, parent of every module.
 *
 * A context owns the dialects, types and worker threads of one compiler
 * instance. It is reference counted: modules and executables keep theirs alive,
 * so that handles can be destroyed in any order.
 * Threads: a context is internally locked; compile one module per thread.
 * Errors: PN_ERROR_MEMORY, PN_ERROR_ARGUMENT (bad options).
 * Since: 0.1
 */
#ifndef POLYNEST_CONTEXT_H
#define POLYNEST_CONTEXT_H

#include "polynest/error.h"

PN_EXTERN_C_BEGIN

typedef struct pn_context pn_context_t;

/* What a remark says happened. */
typedef enum pn_remark_kind {
  PN_REMARK_APPLIED = 1,  /* a transform was made; arguments are cost terms */
  PN_REMARK_DECLINED = 2, /* a transform was not made; "reason" says why */
  PN_REMARK_ANALYSIS = 3  /* numbers without an outcome */
} pn_remark_kind_t;

/* Receives one decision of one pass: its flag, the kind, the location as
 * text, and `count` key-value pairs of which one is "reason". All strings are
 * borrowed for the duration of the call. Called on the thread that compiles,
 * or on one of the context's workers; calls are not serialized. The context is
 * locked meanwhile: the callback must not use it. */
typedef void (*pn_remark_fn)(void *user, const char *pass,
                             pn_remark_kind_t kind, const char *location,
                             const char *const *keys, const char *const *values,
                             size_t count);

/* Receives a diagnostic (warnings and remarks of successful calls; the errors
 * of failed calls are in the error object). Borrowed strings. */
typedef void (*pn_diagnostic_fn)(void *user, const pn_diagnostic_t *diagnostic);

typedef struct pn_context_options {
  size_t struct_size; /* sizeof(pn_context_options_t) */
  /* Worker threads for passes; 0 runs them on the calling thread. */
  uint32_t worker_threads;
  uint32_t reserved;
  /* Either may be NULL. `user` is passed to both. */
  pn_remark_fn remark_fn;
  pn_diagnostic_fn diagnostic_fn;
  void *user;
} pn_context_options_t;

#define PN_CONTEXT_OPTIONS_INIT                                                \
  { sizeof(pn_context_options_t), 0, 0, NULL, NULL, NULL }

/* `options` may be NULL for the defaults. */
PN_EXPORT PN_MUST_USE PN_GIVE pn_error_t *
pn_context_create(PN_KEEP const pn_context_options_t *options,
                  PN_GIVE pn_context_t **out_context);

PN_EXPORT void pn_context_retain(PN_KEEP pn_context_t *context);

/* Accepts NULL. */
PN_EXPORT void pn_context_release(PN_TAKE pn_context_t *context);

PN_STATIC_ASSERT(sizeof(pn_context_options_t) == 40, "ABI of the options");

PN_EXTERN_C_END

#endif /* POLYNEST_CONTEXT_H */
