/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Codegen.c: from the LLVM dialect to object code. */

#include "Compiler/Codegen.h"

#include "Conversion/SplitModule.h"
#include "Runtime/Clock.h"
#include "Runtime/Start.h"
#include "Support/MlirBridge.h"
#include "mlir-c/Target/LLVMIR.h"
#include "llvm-c/Core.h"
#include "llvm-c/Error.h"
#include "llvm-c/Target.h"
#include "llvm-c/Transforms/PassBuilder.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
  /* One level less than usual leaves out the scheduler behind the allocation of
   * registers: a tenth of the time for the same instructions, which processors
   * that run them out of order do not need in another order. */
  *out_machine = LLVMCreateTargetMachine(
      llvm_target, target->llvm_triple, target->llvm_cpu, target->llvm_features,
      LLVMCodeGenLevelLess, LLVMRelocPIC, LLVMCodeModelDefault);
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
    "gvn,instcombine<no-verify-fixpoint>,"
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

static bool is_index_min_or_max(LLVMValueRef instruction,
                                const unsigned *intrinsics, size_t count) {
  if (LLVMGetInstructionOpcode(instruction) != LLVMCall)
    return false;
  LLVMTypeRef type = LLVMTypeOf(instruction);
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
      LLVMGetIntTypeWidth(type) != 64)
    return false;
  unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(instruction));
  for (size_t i = 0; i < count; ++i)
    if (id && id == intrinsics[i])
      return true;
  return false;
}

/* Hides minima and maxima of indices, which clamp the rows that a block reads
 * and bound its loops, behind a freeze, which makes no code. Loop strength
 * reduction would else take each of them apart to find recurrences, for every
 * address that is made of it: half of the code generator's time for a product
 * of matrices, and more instructions in the end. */
static void freeze_minima(LLVMModuleRef module) {
  static const char *const names[] = {"llvm.smin", "llvm.smax", "llvm.umin",
                                      "llvm.umax"};
  enum { COUNT = sizeof(names) / sizeof(names[0]) };
  unsigned intrinsics[COUNT];
  for (size_t i = 0; i < COUNT; ++i)
    intrinsics[i] = LLVMLookupIntrinsicID(names[i], strlen(names[i]));
  LLVMBuilderRef builder =
      LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
       f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
         block = LLVMGetNextBasicBlock(block))
      for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
           i = LLVMGetNextInstruction(i)) {
        if (!is_index_min_or_max(i, intrinsics, COUNT))
          continue;
        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(i));
        LLVMValueRef frozen = LLVMBuildFreeze(builder, i, "");
        LLVMReplaceAllUsesWith(i, frozen);
        LLVMSetOperand(frozen, 0, i);
      }
  LLVMDisposeBuilder(builder);
}

/* Has what runs once, to bind constants, made into code quickly: packs are as
 * fast as memory either way, and their addresses and shuffles take loop
 * strength reduction and the selection of instructions as long as a fifth of
 * the rest. */
static void hurry_cold(LLVMModuleRef module) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMAttributeIndex index = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  unsigned cold = LLVMGetEnumAttributeKindForName("cold", 4);
  unsigned optnone = LLVMGetEnumAttributeKindForName("optnone", 7);
  unsigned noinline = LLVMGetEnumAttributeKindForName("noinline", 8);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
       f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f) || !LLVMGetEnumAttributeAtIndex(f, index, cold))
      continue;
    LLVMAddAttributeAtIndex(f, index,
                            LLVMCreateEnumAttribute(context, optnone, 0));
    LLVMAddAttributeAtIndex(f, index,
                            LLVMCreateEnumAttribute(context, noinline, 0));
  }
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
                        LLVMCodeGenFileType type,
                        LLVMMemoryBufferRef *out_object) {
  char *message = NULL;
  if (!LLVMTargetMachineEmitToMemoryBuffer(machine, module, type, &message,
                                           out_object))
    return NULL;
  pn_error_t *error = pn_error_create(
      PN_ERROR_INTERNAL, "llvm's code generator: %s", message ? message : "");
  LLVMDisposeMessage(message);
  return error;
}

/* One module on its way to an object file, in an LLVM context of its own. */
typedef struct pn_part {
  MlirModule mlir;
  bool is_own; /* made by the split */
  const pn_compile_options_t *options;
  LLVMCodeGenFileType type;
  LLVMContextRef context;
  LLVMTargetMachineRef machine;
  LLVMModuleRef llvm;
  pn_diagnostic_list_t diagnostics;
  LLVMMemoryBufferRef object;
  pn_error_t *error;
  int64_t optimize_ns, codegen_ns;
  pthread_t thread;
  bool is_running;
} pn_part_t;

/* Translates to LLVM IR, for the machine. */
static pn_error_t *part_translate(pn_part_t *part, pn_context_t *context,
                                  const pn_target_info_t *target) {
  pn_error_t *error = pn_codegen_machine(target, &part->machine);
  if (error)
    return error;
  part->context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(part->context, on_llvm_diagnostic,
                                  &part->diagnostics);
  pn_diagnostic_scope_t scope;
  pn_diagnostic_scope_open(&scope, context);
  part->llvm = mlirTranslateModuleToLLVMIR(mlirModuleGetOperation(part->mlir),
                                           part->context);
  error = pn_diagnostic_scope_close(&scope, part->llvm != NULL, PN_ERROR_PASS,
                                    "cannot translate to llvm ir");
  if (error)
    return error;
  LLVMSetTarget(part->llvm, target->llvm_triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(part->machine);
  LLVMSetModuleDataLayout(part->llvm, layout);
  LLVMDisposeTargetData(layout);
  set_function_attributes(part->llvm, target);
  return NULL;
}

/* Optimizes and emits; all that is touched belongs to the part. */
static void *part_compile(void *data) {
  pn_part_t *part = data;
  int64_t start = pn_clock_ns();
  part->error = optimize(part->llvm, part->machine, part->options);
  freeze_minima(part->llvm);
  hurry_cold(part->llvm);
  int64_t optimized = pn_clock_ns();
  if (!part->error)
    part->error = emit(part->llvm, part->machine, part->type, &part->object);
  part->optimize_ns = optimized - start;
  part->codegen_ns = pn_clock_ns() - optimized;
  return NULL;
}

/* Begins to compile on a thread of its own, or does it here where there is
 * none to be had. */
static void part_start(pn_part_t *part) {
  part->is_running = pn_thread_start(part_compile, part, &part->thread);
  if (!part->is_running)
    (void)part_compile(part);
}

/* Waits for the part and frees all but its object; the part's error. */
static pn_error_t *part_finish(pn_part_t *part, pn_context_t *context) {
  if (part->is_running)
    (void)pthread_join(part->thread, NULL);
  if (part->llvm)
    LLVMDisposeModule(part->llvm);
  if (part->context)
    LLVMContextDispose(part->context);
  if (part->machine)
    LLVMDisposeTargetMachine(part->machine);
  if (part->is_own) {
    pn_context_lock(context);
    mlirModuleDestroy(part->mlir);
    pn_context_unlock(context);
  }
  pn_error_t *reported = error_of(&part->diagnostics);
  if (!part->error)
    return reported;
  pn_error_destroy(reported);
  return part->error;
}

void pn_objects_clear(pn_objects_t *objects) {
  for (size_t i = 0; i < objects->count; ++i)
    if (objects->buffers[i])
      LLVMDisposeMemoryBuffer(objects->buffers[i]);
  *objects = (pn_objects_t){.count = 0};
}

/* Operations of the LLVM dialect that keep a thread busy for some 5 ms, far
 * longer than it takes to start one and to link one object more. */
#define PART_OPERATIONS_MIN 2000

/* Splits the module. Other parts come first, as they are started first. */
static size_t make_parts(pn_module_t *module,
                         const pn_compile_options_t *options, int32_t threads,
                         LLVMCodeGenFileType type, pn_part_t *parts) {
  MlirModule modules[PN_CODEGEN_PARTS_MAX];
  size_t most = threads < 1                      ? 1
                : threads > PN_CODEGEN_PARTS_MAX ? PN_CODEGEN_PARTS_MAX
                                                 : (size_t)threads;
  pn_context_lock(module->context);
  size_t count =
      pn_module_split(module->mlir, most, PART_OPERATIONS_MIN, modules);
  pn_context_unlock(module->context);
  parts[0] =
      (pn_part_t){.mlir = module->mlir, .options = options, .type = type};
  for (size_t i = 0; i < count; ++i)
    parts[i + 1] = (pn_part_t){
        .mlir = modules[i], .is_own = true, .options = options, .type = type};
  return count + 1;
}

pn_error_t *pn_codegen_objects(pn_module_t *module,
                               const pn_target_info_t *target,
                               const pn_compile_options_t *options,
                               int32_t threads, LLVMCodeGenFileType type,
                               pn_compile_timing_t *timing,
                               pn_objects_t *out_objects) {
  *out_objects = (pn_objects_t){.count = 0};
  pn_part_t parts[PN_CODEGEN_PARTS_MAX];
  int64_t start = pn_clock_ns(), translate_ns = 0;
  size_t count = make_parts(module, options, threads, type, parts);
  /* The last is compiled here, when all others are under way. */
  pn_error_t *error = NULL;
  for (size_t i = count; !error && i-- > 0;) {
    int64_t begin = pn_clock_ns();
    error = part_translate(&parts[i], module->context, target);
    translate_ns += pn_clock_ns() - begin;
    if (!error && i > 0)
      part_start(&parts[i]);
    else if (!error)
      (void)part_compile(&parts[i]);
  }
  int64_t optimize_ns = 0, codegen_ns = 0;
  for (size_t i = 0; i < count; ++i) {
    pn_error_t *failed = part_finish(&parts[i], module->context);
    optimize_ns += parts[i].optimize_ns;
    codegen_ns += parts[i].codegen_ns;
    out_objects->buffers[out_objects->count++] = parts[i].object;
    if (error)
      pn_error_destroy(failed);
    else
      error = failed;
  }
  /* What the threads did together took as long as it took. */
  int64_t rest = pn_clock_ns() - start - translate_ns;
  double optimizing =
      (double)optimize_ns / ((double)optimize_ns + (double)codegen_ns + 1.0);
  timing->translate_ns += translate_ns;
  timing->optimize_ns += (int64_t)((double)rest * optimizing);
  timing->codegen_ns += rest - (int64_t)((double)rest * optimizing);
  if (error)
    pn_objects_clear(out_objects);
  return error;
}
