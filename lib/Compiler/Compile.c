/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Compile.c: the compile session. */

#include "polynest/compile.h"

#include "Compiler/Cache.h"
#include "Compiler/Codegen.h"
#include "Compiler/Context.h"
#include "Compiler/Executable.h"
#include "Compiler/File.h"
#include "Compiler/Jit.h"
#include "Compiler/Library.h"
#include "Pipeline/Pipeline.h"
#include "Runtime/Binding.h"
#include "Runtime/Clock.h"
#include "Runtime/Environment.h"
#include "Support/MlirBridge.h"
#include "Support/Paths.h"
#include "Target/HostFacts.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/Pass.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------ */
/* Stages                                                                   */
/* ------------------------------------------------------------------------ */

pn_error_t *pn_module_stage(const pn_module_t *module, pn_stage_t *out_stage) {
  if (!out_stage)
    return pn_error_create(PN_ERROR_ARGUMENT, "out_stage must not be null");
  *out_stage = PN_STAGE_INPUT;
  if (!module)
    return pn_error_create(PN_ERROR_ARGUMENT, "module must not be null");
  MlirAttribute mark = mlirOperationGetAttributeByName(
      mlirModuleGetOperation(module->mlir),
      mlirStringRefCreateFromCString("polynest.stage"));
  if (mlirAttributeIsNull(mark))
    return NULL;
  MlirStringRef text = {0};
  if (mlirAttributeIsAString(mark))
    text = mlirStringAttrGetValue(mark);
  if (text.length != 2 || text.data[0] != 's' || text.data[1] < '1' ||
      text.data[1] > '5')
    return pn_error_create(PN_ERROR_VERIFY, "attribute polynest.stage of the "
                                            "module must be \"s1\" to \"s5\"");
  *out_stage = (pn_stage_t)(text.data[1] - '0');
  return NULL;
}

static void append_message(MlirStringRef text, void *user) {
  pn_buffer_append(user, text.data, text.length);
}

/* MLIR's verifier runs after each pass on what a program brings along, and
 * where its operations are lowered; what our own loops become is checked once a
 * stage. After each pass, that took a seventh of a small compilation.
 * polynest-opt still verifies after each. */
static bool verifies_each_pass(pn_stage_t stage) {
  return stage <= PN_STAGE_S2;
}

/* Parses the pipeline of one stage into a new pass manager. */
static pn_error_t *make_pass_manager(MlirContext context, pn_stage_t stage,
                                     const pn_target_info_t *target,
                                     const pn_compile_options_t *options,
                                     MlirPassManager *out_manager) {
  pn_buffer_t text = {0}, message = {0};
  pn_error_t *error = pn_pipeline_append(stage, target, options, &text);
  *out_manager = mlirPassManagerCreate(context);
  if (!error && mlirLogicalResultIsFailure(mlirOpPassManagerAddPipeline(
                    mlirPassManagerGetAsOpPassManager(*out_manager),
                    mlirStringRefCreateFromCString(pn_buffer_text(&text)),
                    append_message, &message)))
    error = pn_error_create(PN_ERROR_INTERNAL, "pipeline of s%d: %s",
                            (int)stage, pn_buffer_text(&message));
  mlirPassManagerEnableVerifier(*out_manager, options->verify_stages &&
                                                  verifies_each_pass(stage));
  pn_buffer_clear(&text);
  pn_buffer_clear(&message);
  return error;
}

static pn_error_t *run_stage(pn_module_t *module, pn_stage_t stage,
                             const pn_target_info_t *target,
                             const pn_compile_options_t *options) {
  pn_diagnostic_scope_t scope;
  pn_diagnostic_scope_open(&scope, module->context);
  MlirPassManager manager;
  pn_error_t *error = make_pass_manager(pn_context_mlir(module->context), stage,
                                        target, options, &manager);
  bool ok = !error && mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(
                          manager, mlirModuleGetOperation(module->mlir)));
  mlirPassManagerDestroy(manager);
  if (ok && options->verify_stages && !verifies_each_pass(stage))
    ok = mlirOperationVerify(mlirModuleGetOperation(module->mlir));
  char what[32];
  (void)snprintf(what, sizeof(what), "stage s%d failed", (int)stage);
  pn_error_t *failed = pn_diagnostic_scope_close(
      &scope, ok || error,
      stage <= PN_STAGE_S2 ? PN_ERROR_UNSUPPORTED : PN_ERROR_PASS, what);
  return error ? error : failed;
}

/* Brings the module to `stage`, with options and target already read. */
static pn_error_t *run_stages(pn_module_t *module, pn_stage_t stage,
                              const pn_target_info_t *target,
                              const pn_compile_options_t *options,
                              pn_compile_timing_t *timing) {
  pn_stage_t at;
  pn_error_t *error = pn_module_stage(module, &at);
  for (int s = (int)at + 1; !error && s <= (int)stage; ++s) {
    int64_t start = pn_clock_ns();
    error = run_stage(module, (pn_stage_t)s, target, options);
    timing->stage_ns[s] = pn_clock_ns() - start;
    if (!error && options->stage_fn)
      options->stage_fn(options->user, (pn_stage_t)s, module);
  }
  return error;
}

/* What every compilation reads first. */
typedef struct pn_session {
  pn_compile_options_t options;
  pn_target_info_t target;
  pn_compile_timing_t timing;
  int64_t start_ns;
} pn_session_t;

static pn_error_t *open_session(const pn_module_t *module,
                                const pn_target_t *target,
                                const pn_compile_options_t *options,
                                pn_compile_timing_t *out_timing,
                                pn_session_t *out_session) {
  *out_session = (pn_session_t){
      .target = {.struct_size = sizeof(pn_target_info_t)},
      .timing = {.struct_size = sizeof(pn_compile_timing_t)},
      .start_ns = pn_clock_ns(),
  };
  if (out_timing && out_timing->struct_size != sizeof(*out_timing))
    return pn_error_create(
        PN_ERROR_ARGUMENT,
        "struct_size %zu of the timing is not the expected %zu",
        out_timing->struct_size, sizeof(*out_timing));
  if (out_timing)
    *out_timing = out_session->timing;
  if (!module || !target)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "module and target must not be null");
  pn_error_t *error = pn_compile_options_read(options, &out_session->options);
  return error ? error : pn_target_get_info(target, &out_session->target);
}

static void close_session(pn_session_t *session,
                          pn_compile_timing_t *out_timing) {
  session->timing.total_ns = pn_clock_ns() - session->start_ns;
  if (out_timing)
    *out_timing = session->timing;
}

pn_error_t *pn_compile_to_stage(pn_module_t *module, pn_stage_t stage,
                                const pn_target_t *target,
                                const pn_compile_options_t *options,
                                pn_compile_timing_t *out_timing) {
  if (stage < PN_STAGE_INPUT || stage > PN_STAGE_S5)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "stage %d is out of range; stages are 1 to 5",
                           (int)stage);
  pn_session_t session;
  pn_error_t *error =
      open_session(module, target, options, out_timing, &session);
  if (!error)
    error = run_stages(module, stage, &session.target, &session.options,
                       &session.timing);
  if (!error)
    close_session(&session, out_timing);
  return error;
}

/* ------------------------------------------------------------------------ */
/* Code                                                                     */
/* ------------------------------------------------------------------------ */

/* Compiles a copy of the module to object files in memory, on that many
 * threads. Where `out_touched` is not NULL, it gets memory for a state, or
 * NULL, also with an error. */
static pn_error_t *compile_objects(const pn_module_t *module,
                                   pn_session_t *session, int32_t threads,
                                   LLVMCodeGenFileType type,
                                   pn_objects_t *out_objects,
                                   pn_touch_t **out_touched) {
  *out_objects = (pn_objects_t){.count = 0};
  if (out_touched)
    *out_touched = NULL;
  pn_module_t *copy;
  pn_error_t *error = pn_module_clone(module, &copy);
  if (error)
    return error;
  error = run_stages(copy, PN_STAGE_S3, &session->target, &session->options,
                     &session->timing);
  if (!error && out_touched)
    *out_touched = pn_touch_start(pn_mlir_state_bytes(copy->mlir));
  if (!error)
    error = run_stages(copy, PN_STAGE_S5, &session->target, &session->options,
                       &session->timing);
  if (!error)
    error = pn_codegen_objects(copy, &session->target, &session->options,
                               threads, type, &session->timing, out_objects);
  pn_module_destroy(copy);
  return error;
}

/* Threads that LLVM may use: one for each processor, but no more than the
 * target has cores. Calls may have fewer, as where several programs run side by
 * side for long; this is over before the first. */
static int32_t codegen_thread_count(const pn_target_info_t *target) {
  if (pn_binding_in_host_region(pn_binding_find()))
    return 1;
  int32_t count = pn_env_processor_count();
  return count < target->cores ? count : target->cores;
}

/* Whether the cache may answer: what callbacks ask for comes of compiling. */
static bool may_use_cache(const pn_module_t *module,
                          const pn_compile_options_t *options) {
  return pn_cache_is_on(options->cache) && !options->stage_fn &&
         !pn_context_wants_remarks(module->context);
}

/* Compiles the module and links it; `bytes` gets what it was linked from where
 * it is not NULL. */
static pn_error_t *compile_and_link(const pn_module_t *module,
                                    pn_session_t *session, pn_buffer_t *bytes,
                                    pn_executable_t **out_executable) {
  pn_objects_t objects;
  pn_touch_t *touched;
  pn_error_t *error =
      compile_objects(module, session, codegen_thread_count(&session->target),
                      LLVMObjectFile, &objects, &touched);
  if (error) {
    pn_touch_cancel(touched);
    return error;
  }
  if (bytes)
    pn_cache_pack(&objects, bytes);
  int64_t start = pn_clock_ns();
  pn_jit_t *jit = NULL;
  error = pn_jit_create(&objects, &session->target, &jit);
  if (!error)
    error = pn_executable_create(
        (pn_code_t){jit, pn_jit_code_bytes(jit), pn_jit_lookup, pn_jit_destroy},
        out_executable);
  session->timing.link_ns = pn_clock_ns() - start;
  if (error)
    pn_touch_cancel(touched);
  else
    pn_executable_give_touched(*out_executable, touched);
  return error;
}

/* The same by way of the cache. */
static pn_error_t *find_or_compile(const pn_module_t *module,
                                   pn_session_t *session,
                                   pn_executable_t **out_executable) {
  pn_cache_t *cache = session->options.cache;
  pn_compile_timing_t *timing = &session->timing;
  pn_cache_key_t key;
  int64_t start = pn_clock_ns();
  pn_error_t *error =
      pn_cache_key_of(cache, module, &session->target, &session->options, &key);
  if (error)
    return error;
  *out_executable =
      pn_cache_load(cache, &key, &session->target, &timing->cache_outcome);
  timing->cache_ns = pn_clock_ns() - start;
  if (*out_executable)
    return NULL;
  pn_buffer_t bytes = {0};
  error = compile_and_link(module, session, &bytes, out_executable);
  start = pn_clock_ns();
  if (!error) {
    *out_executable = pn_cache_keep(cache, &key, &bytes, *out_executable);
    pn_cache_report(cache, module->context);
  }
  timing->cache_ns += pn_clock_ns() - start;
  pn_buffer_clear(&bytes);
  return error;
}

pn_error_t *pn_compile_to_executable(const pn_module_t *module,
                                     const pn_target_t *target,
                                     const pn_compile_options_t *options,
                                     pn_compile_timing_t *out_timing,
                                     pn_executable_t **out_executable) {
  if (!out_executable)
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "out_executable must not be null");
  *out_executable = NULL;
  pn_session_t session;
  pn_error_t *error =
      open_session(module, target, options, out_timing, &session);
  if (!error)
    error = pn_host_check_target(&session.target);
  if (!error)
    error = may_use_cache(module, &session.options)
                ? find_or_compile(module, &session, out_executable)
                : compile_and_link(module, &session, NULL, out_executable);
  if (!error)
    close_session(&session, out_timing);
  return error;
}

/* What LLVM emits, in a file. */
static pn_error_t *compile_to_file(const pn_module_t *module,
                                   const pn_target_t *target,
                                   const pn_compile_options_t *options,
                                   LLVMCodeGenFileType type, const char *path) {
  if (!path)
    return pn_error_create(PN_ERROR_ARGUMENT, "path must not be null");
  pn_session_t session;
  pn_error_t *error = open_session(module, target, options, NULL, &session);
  pn_objects_t objects = {.count = 0};
  if (!error)
    error = compile_objects(module, &session, 1, type, &objects, NULL);
  if (!error)
    error = pn_file_write(path, LLVMGetBufferStart(objects.buffers[0]),
                          LLVMGetBufferSize(objects.buffers[0]), 0666);
  pn_objects_clear(&objects);
  return error;
}

pn_error_t *pn_compile_to_assembly(const pn_module_t *module,
                                   const pn_target_t *target,
                                   const pn_compile_options_t *options,
                                   const char *path) {
  return compile_to_file(module, target, options, LLVMAssemblyFile, path);
}

pn_error_t *pn_compile_to_object(const pn_module_t *module,
                                 const pn_target_t *target,
                                 const pn_compile_options_t *options,
                                 const char *path) {
  return compile_to_file(module, target, options, LLVMObjectFile, path);
}

pn_error_t *pn_compile_to_library(const pn_module_t *module,
                                  const pn_target_t *target,
                                  const pn_compile_options_t *options,
                                  const char *library_path,
                                  const char *header_path) {
  if (!library_path)
    return pn_error_create(PN_ERROR_ARGUMENT, "library_path must not be null");
  if (header_path && pn_path_is_same(library_path, header_path))
    return pn_error_create(PN_ERROR_ARGUMENT,
                           "library and header are both to be '%s'",
                           library_path);
  pn_session_t session;
  pn_error_t *error = open_session(module, target, options, NULL, &session);
  pn_objects_t objects = {.count = 0};
  if (!error)
    error =
        compile_objects(module, &session, 1, LLVMObjectFile, &objects, NULL);
  if (!error)
    error = pn_library_write(objects.buffers[0], &session.target, library_path,
                             header_path);
  pn_objects_clear(&objects);
  return error;
}
