/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Context.c: the compiler's context and its diagnostics. */

#include "Compiler/Context.h"

#include "Support/Buffer.h"
#include "Support/MlirBridge.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/RegisterEverything.h"
#include "polynest/passes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct pn_context {
  atomic_size_t references;
  pthread_mutex_t lock;
  MlirContext mlir;
  MlirLlvmThreadPool pool; /* null without workers */
  pn_context_options_t options;
};

static void register_everything(void) {
  mlirRegisterAllPasses();
  pn_passes_register();
}

/* Registers passes with MLIR once in the process. */
static void ensure_registered(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, register_everything);
}

static pn_error_t *check_options(const pn_context_options_t *options) {
  if (options->struct_size != sizeof(*options))
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "struct_size %zu of the context options is not the expected %zu",
        options->struct_size, sizeof(*options));
  if (options->worker_threads > 1024)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "worker_threads %u is above the limit of 1024",
                           options->worker_threads);
  if (options->reserved != 0)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "reserved fields of the options must be zero");
  return NULL;
}

pn_error_t *pn_context_create(const pn_context_options_t *options,
                              pn_context_t **out_context) {
  if (!out_context)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_context must not be null");
  *out_context = NULL;
  const pn_context_options_t defaults = PN_CONTEXT_OPTIONS_INIT;
  options = options ? options : &defaults;
  pn_error_t *error = check_options(options);
  if (error)
    return error;
  pn_context_t *context = calloc(1, sizeof(*context));
  if (!context || pthread_mutex_init(&context->lock, NULL) != 0) {
    free(context);
    return pn_error_create(PN_ERROR_MEMORY, "out of memory");
  }
  atomic_init(&context->references, 1);
  context->options = *options;
  ensure_registered();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  pn_mlir_register_frontend_dialects(registry);
  context->mlir = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirRegisterAllLLVMTranslations(context->mlir);
  pn_mlir_shorten_diagnostics(context->mlir);
  if (options->worker_threads > 0) {
    context->pool = pn_mlir_thread_pool_create(options->worker_threads);
    mlirContextSetThreadPool(context->mlir, context->pool);
  }
  if (options->remark_fn)
    pn_mlir_set_remark_callback(context->mlir, options->remark_fn,
                                options->user);
  *out_context = context;
  return NULL;
}

void pn_context_retain(pn_context_t *context) {
  if (context)
    atomic_fetch_add(&context->references, 1);
}

void pn_context_release(pn_context_t *context) {
  if (!context || atomic_fetch_sub(&context->references, 1) != 1)
    return;
  mlirContextDestroy(context->mlir);
  if (context->pool.ptr)
    mlirLlvmThreadPoolDestroy(context->pool);
  (void)pthread_mutex_destroy(&context->lock);
  free(context);
}

void pn_context_lock(pn_context_t *context) {
  (void)pthread_mutex_lock(&context->lock);
}

void pn_context_unlock(pn_context_t *context) {
  (void)pthread_mutex_unlock(&context->lock);
}

MlirContext pn_context_mlir(const pn_context_t *context) {
  return context->mlir;
}

bool pn_context_wants_remarks(const pn_context_t *context) {
  return context->options.remark_fn != NULL;
}

void pn_context_report(const pn_context_t *context,
                       const pn_diagnostic_t *diagnostic) {
  if (context->options.diagnostic_fn)
    context->options.diagnostic_fn(context->options.user, diagnostic);
}

static void append_string(MlirStringRef text, void *user) {
  pn_buffer_append(user, text.data, text.length);
}

static pn_severity_t severity_of(MlirDiagnosticSeverity severity) {
  switch (severity) {
  case MlirDiagnosticError:
    return PN_SEVERITY_ERROR;
  case MlirDiagnosticWarning:
    return PN_SEVERITY_WARNING;
  case MlirDiagnosticNote:
    return PN_SEVERITY_NOTE;
  case MlirDiagnosticRemark:
    return PN_SEVERITY_REMARK;
  }
  return PN_SEVERITY_ERROR;
}

/* Copies one diagnostic and its notes into the list. */
static void collect(MlirDiagnostic diagnostic, pn_diagnostic_list_t *list) {
  pn_buffer_t text = {0}, file = {0};
  pn_diagnostic_t item = {0};
  mlirDiagnosticPrint(diagnostic, append_string, &text);
  pn_mlir_location(mlirDiagnosticGetLocation(diagnostic), &file, &item.line,
                   &item.column);
  item.severity = severity_of(mlirDiagnosticGetSeverity(diagnostic));
  item.file = pn_buffer_text(&file);
  item.text = pn_buffer_text(&text);
  (void)pn_diagnostic_list_add(list, &item);
  pn_buffer_clear(&text);
  pn_buffer_clear(&file);
  intptr_t notes = mlirDiagnosticGetNumNotes(diagnostic);
  for (intptr_t i = 0; i < notes; ++i)
    collect(mlirDiagnosticGetNote(diagnostic, i), list);
}

static MlirLogicalResult on_diagnostic(MlirDiagnostic diagnostic, void *user) {
  collect(diagnostic, user);
  return mlirLogicalResultSuccess();
}

void pn_diagnostic_scope_open(pn_diagnostic_scope_t *scope,
                              pn_context_t *context) {
  *scope = (pn_diagnostic_scope_t){.context = context};
  (void)pthread_mutex_lock(&context->lock);
  scope->handler = mlirContextAttachDiagnosticHandler(
      context->mlir, on_diagnostic, &scope->list, NULL);
}

pn_error_t *pn_diagnostic_scope_close(pn_diagnostic_scope_t *scope, bool ok,
                                      pn_error_code_t code, const char *what) {
  pn_context_t *context = scope->context;
  mlirContextDetachDiagnosticHandler(context->mlir, scope->handler);
  (void)pthread_mutex_unlock(&context->lock);
  if (!ok)
    return pn_error_from_list(code, what, &scope->list);
  if (context->options.diagnostic_fn)
    for (size_t i = 0; i < scope->list.count; ++i)
      context->options.diagnostic_fn(context->options.user,
                                     &scope->list.items[i]);
  pn_diagnostic_list_clear(&scope->list);
  return NULL;
}
