/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Codegen.c: from the LLVM dialect to object code. */

#include "Compiler/Codegen.h"

#include "Support/MlirBridge.h"
#include "mlir-c/Target/LLVMIR.h"
#include "llvm-c/Core.h"
#include "llvm-c/Error.h"
#include "llvm-c/Target.h"
#include "llvm-c/Transforms/PassBuilder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t pn_clock_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void initialize_targets(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeAArch64AsmParser();
}

static void ensure_targets(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, initialize_targets);
}

pn_error_t *pn_codegen_machine(const pn_target_info_t *target,
                               LLVMTargetMachineRef *out_machine) {
  *out_machine = NULL;
  ensure_targets();
  LLVMTargetRef llvm_target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(target->llvm_triple, &llvm_target, &message)) {
    pn_error_t *error =
        pn_error_create(PN_ERROR_TARGET, "target '%s': %s", target->name,
                        message ? message : "unknown triple");
    LLVMDisposeMessage(message);
    return error;
  }
  if (!pn_llvm_knows_cpu(target->llvm_triple, target->llvm_cpu))
    return pn_error_create(PN_ERROR_TARGET, "target '%s': llvm has no cpu '%s'",
                           target->name, target->llvm_cpu);
  *out_machine = LLVMCreateTargetMachine(
      llvm_target, target->llvm_triple, target->llvm_cpu, target->llvm_features,
      LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
  if (!*out_machine)
    return pn_error_create(PN_ERROR_TARGET,
                           "target '%s': cannot make a machine for cpu '%s'",
                           target->name, target->llvm_cpu);
  return NULL;
}

static void add_attribute(LLVMContextRef context, LLVMValueRef function,
                          const char *key, const char *value) {
  LLVMAttributeRef attribute = LLVMCreateStringAttribute(
      context, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(
      function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

/* Names the CPU on every function, so that the code does not depend on the
 * defaults of whoever compiles it. */
static void set_function_attributes(LLVMModuleRef module,
                                    const pn_target_info_t *target) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  char width[16];
  (void)snprintf(width, sizeof(width), "%d", target->prefer_vector_width_bits);
  unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
       f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    add_attribute(context, f, "target-cpu", target->llvm_cpu);
    if (*target->llvm_features)
      add_attribute(context, f, "target-features", target->llvm_features);
    if (target->prefer_vector_width_bits)
      add_attribute(context, f, "prefer-vector-width", width);
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, nounwind, 0));
  }
}

/* LLVM's passes. S3 has already fused, vectorized and unrolled what pays, so
 * what is left is to clean up after lowering: descriptors into scalars, equal
 * loads and address arithmetic into one, invariant code out of loops. The
 * default pipelines take three times as long for code of the same speed. */
static const char plain_passes[] =
    "function(sroa,early-cse,simplifycfg),globaldce";
static const char default_passes[] =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg,loop-mssa(loop-rotate<header-duplication>,licm),"
    "gvn,dse,instcombine<no-verify-fixpoint>,"
    "simplifycfg<hoist-common-insts;sink-common-insts>),"
    "globaldce";

static pn_error_t *optimize(LLVMModuleRef module, LLVMTargetMachineRef machine,
                            const pn_compile_options_t *options) {
  LLVMPassBuilderOptionsRef builder = LLVMCreatePassBuilderOptions();
  bool plain = options->opt_level == PN_OPT_PLAIN;
  LLVMErrorRef failed = LLVMRunPasses(
      module, plain ? plain_passes : default_passes, machine, builder);
  LLVMDisposePassBuilderOptions(builder);
  if (!failed)
    return NULL;
  char *message = LLVMGetErrorMessage(failed);
  pn_error_t *error =
      pn_error_create(PN_ERROR_INTERNAL, "llvm's optimizer: %s", message);
  LLVMDisposeErrorMessage(message);
  return error;
}

/* Collects what LLVM has to say: its own handler would print and exit. */
static void on_llvm_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  static const pn_severity_t severities[] = {
      [LLVMDSError] = PN_SEVERITY_ERROR,
      [LLVMDSWarning] = PN_SEVERITY_WARNING,
      [LLVMDSRemark] = PN_SEVERITY_REMARK,
      [LLVMDSNote] = PN_SEVERITY_NOTE};
  char *text = LLVMGetDiagInfoDescription(info);
  pn_diagnostic_t diagnostic = {.severity =
                                    severities[LLVMGetDiagInfoSeverity(info)],
                                .file = "",
                                .text = text ? text : ""};
  (void)pn_diagnostic_list_add(user, &diagnostic);
  LLVMDisposeMessage(text);
}

/* An error if LLVM reported one. The list is consumed. */
static pn_error_t *error_of(pn_diagnostic_list_t *list) {
  bool failed = false;
  for (size_t i = 0; i < list->count; ++i)
    failed |= list->items[i].severity == PN_SEVERITY_ERROR;
  if (failed)
    return pn_error_from_list(PN_ERROR_INTERNAL, "llvm", list);
  pn_diagnostic_list_clear(list);
  return NULL;
}

static pn_error_t *emit(LLVMModuleRef module, LLVMTargetMachineRef machine,
                        LLVMMemoryBufferRef *out_object) {
  char *message = NULL;
  if (!LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile,
                                           &message, out_object))
    return NULL;
  pn_error_t *error = pn_error_create(
      PN_ERROR_INTERNAL, "llvm's code generator: %s", message ? message : "");
  LLVMDisposeMessage(message);
  return error;
}

/* Translates to LLVM IR in `context`, for the machine. */
static pn_error_t *translate(const pn_module_t *module, LLVMContextRef context,
                             LLVMTargetMachineRef machine,
                             const pn_target_info_t *target,
                             LLVMModuleRef *out_module) {
  pn_diagnostic_scope_t scope;
  pn_diagnostic_scope_open(&scope, module->context);
  *out_module = mlirTranslateModuleToLLVMIR(
      mlirModuleGetOperation(module->mlir), context);
  pn_error_t *error =
      pn_diagnostic_scope_close(&scope, *out_module != NULL, PN_ERROR_PASS,
                                "cannot translate to llvm ir");
  if (error)
    return error;
  LLVMSetTarget(*out_module, target->llvm_triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(*out_module, layout);
  LLVMDisposeTargetData(layout);
  set_function_attributes(*out_module, target);
  return NULL;
}

pn_error_t *pn_codegen_object(const pn_module_t *module,
                              const pn_target_info_t *target,
                              const pn_compile_options_t *options,
                              pn_compile_timing_t *timing,
                              LLVMMemoryBufferRef *out_object) {
  *out_object = NULL;
  LLVMTargetMachineRef machine;
  pn_error_t *error = pn_codegen_machine(target, &machine);
  if (error)
    return error;
  LLVMContextRef context = LLVMContextCreate();
  pn_diagnostic_list_t diagnostics = {0};
  LLVMContextSetDiagnosticHandler(context, on_llvm_diagnostic, &diagnostics);
  LLVMModuleRef llvm = NULL;
  int64_t start = pn_clock_ns();
  error = translate(module, context, machine, target, &llvm);
  int64_t translated = pn_clock_ns(), optimized = translated;
  if (!error) {
    error = optimize(llvm, machine, options);
    optimized = pn_clock_ns();
  }
  if (!error)
    error = emit(llvm, machine, out_object);
  timing->translate_ns += translated - start;
  timing->optimize_ns += optimized - translated;
  timing->codegen_ns += pn_clock_ns() - optimized;
  if (llvm)
    LLVMDisposeModule(llvm);
  LLVMContextDispose(context);
  LLVMDisposeTargetMachine(machine);
  pn_error_t *reported = error_of(&diagnostics);
  if (error || !reported) {
    pn_error_destroy(reported);
    return error;
  }
  if (*out_object)
    LLVMDisposeMemoryBuffer(*out_object);
  *out_object = NULL;
  return reported;
}
