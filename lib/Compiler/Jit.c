/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compiler/Jit.c: object code in memory, linked by ORC. */

#include "Compiler/Jit.h"

#include "Runtime/Symbols.h"
#include "Support/Buffer.h"
#include "Support/Error.h"
#include "llvm-c/Core.h"
#include "llvm-c/Error.h"
#include "llvm-c/LLJIT.h"
#include "llvm-c/Object.h"
#include "llvm-c/Orc.h"

#include <stdlib.h>
#include <string.h>

struct pn_jit {
  LLVMOrcLLJITRef lljit;
  pn_buffer_t report; /* what ORC said went wrong */
  size_t code_bytes;
};

/* Turns an LLVM error, which is consumed, into ours. */
static pn_error_t *from_llvm(LLVMErrorRef failed, const char *what) {
  char *message = LLVMGetErrorMessage(failed);
  pn_error_t *error = pn_error_create(PN_ERROR_LINK, "%s: %s", what, message);
  LLVMDisposeErrorMessage(message);
  return error;
}

/* What generated code calls, by address: the library hides its symbols. */
static LLVMErrorRef define_runtime(LLVMOrcLLJITRef lljit,
                                   LLVMOrcJITDylibRef dylib) {
  enum { ROOM = 64 };
  LLVMOrcCSymbolMapPair pairs[ROOM];
  size_t count;
  const pn_rt_symbol_t *symbols = pn_rt_symbols_get(&count);
  count = count < ROOM ? count : ROOM;
  for (size_t i = 0; i < count; ++i)
    pairs[i] = (LLVMOrcCSymbolMapPair){
        .Name = LLVMOrcLLJITMangleAndIntern(lljit, symbols[i].name),
        .Sym = {.Address = (LLVMOrcExecutorAddress)symbols[i].address,
                .Flags = {.GenericFlags = LLVMJITSymbolGenericFlagsExported |
                                          LLVMJITSymbolGenericFlagsCallable}}};
  return LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(pairs, count));
}

/* libm and libc, which LLVM's own lowerings may call. */
static LLVMErrorRef add_process_symbols(LLVMOrcLLJITRef lljit,
                                        LLVMOrcJITDylibRef dylib) {
  LLVMOrcDefinitionGeneratorRef generator;
  LLVMErrorRef failed = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
      &generator, LLVMOrcLLJITGetGlobalPrefix(lljit), NULL, NULL);
  if (!failed)
    LLVMOrcJITDylibAddGenerator(dylib, generator);
  return failed;
}

/* Keeps what ORC would print: it names the symbols that are missing, which the
 * error of the lookup does not. */
static void keep_report(void *user, LLVMErrorRef failed) {
  char *message = LLVMGetErrorMessage(failed);
  pn_buffer_printf(user, " (%s)", message);
  LLVMDisposeErrorMessage(message);
}

/* Bytes of the sections with machine code; what cannot be read has none, and is
 * refused where it is linked. */
static size_t count_code(LLVMMemoryBufferRef object) {
  char *message = NULL;
  LLVMBinaryRef binary = LLVMCreateBinary(object, NULL, &message);
  if (!binary) {
    LLVMDisposeMessage(message);
    return 0;
  }
  size_t bytes = 0;
  LLVMSectionIteratorRef section = LLVMObjectFileCopySectionIterator(binary);
  while (!LLVMObjectFileIsSectionIteratorAtEnd(binary, section)) {
    const char *name = LLVMGetSectionName(section);
    if (name && strncmp(name, ".text", 5) == 0)
      bytes += LLVMGetSectionSize(section);
    LLVMMoveToNextSection(section);
  }
  LLVMDisposeSectionIterator(section);
  LLVMDisposeBinary(binary);
  return bytes;
}

/* Hands the objects to ORC, up to the first that it refuses. */
static LLVMErrorRef add_objects(pn_jit_t *jit, LLVMOrcJITDylibRef dylib,
                                pn_objects_t *objects) {
  LLVMErrorRef failed = LLVMErrorSuccess;
  for (size_t i = 0; !failed && i < objects->count; ++i) {
    LLVMMemoryBufferRef object = objects->buffers[i];
    objects->buffers[i] = NULL;
    jit->code_bytes += count_code(object);
    failed = LLVMOrcLLJITAddObjectFile(jit->lljit, dylib, object);
  }
  return failed;
}

pn_error_t *pn_jit_create(pn_objects_t *objects, const pn_target_info_t *target,
                          pn_jit_t **out_jit) {
  *out_jit = NULL;
  pn_jit_t *jit = calloc(1, sizeof(*jit));
  LLVMTargetMachineRef machine = NULL;
  pn_error_t *error = jit ? pn_codegen_machine(target, &machine)
                          : pn_error_create(PN_ERROR_MEMORY, "out of memory");
  if (error) {
    pn_objects_clear(objects);
    free(jit);
    return error;
  }
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
      builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(machine));
  LLVMErrorRef failed = LLVMOrcCreateLLJIT(&jit->lljit, builder);
  if (failed) {
    pn_objects_clear(objects);
    free(jit);
    return from_llvm(failed, "cannot start the jit");
  }
  LLVMOrcExecutionSessionSetErrorReporter(
      LLVMOrcLLJITGetExecutionSession(jit->lljit), keep_report, &jit->report);
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit->lljit);
  failed = define_runtime(jit->lljit, dylib);
  if (!failed)
    failed = add_process_symbols(jit->lljit, dylib);
  if (!failed)
    failed = add_objects(jit, dylib, objects);
  pn_objects_clear(objects);
  /* Links everything now, so that a missing symbol is found here. */
  LLVMOrcExecutorAddress address;
  if (!failed)
    failed = LLVMOrcLLJITLookup(jit->lljit, &address, "polynest_info");
  if (failed) {
    pn_buffer_t what = {0};
    pn_buffer_printf(&what, "cannot link the code%s",
                     pn_buffer_text(&jit->report));
    error = from_llvm(failed, pn_buffer_text(&what));
    pn_buffer_clear(&what);
    pn_jit_destroy(jit);
    return error;
  }
  *out_jit = jit;
  return NULL;
}

void *pn_jit_lookup(void *jit, const char *name) {
  LLVMOrcExecutorAddress address = 0;
  LLVMErrorRef failed =
      LLVMOrcLLJITLookup(((pn_jit_t *)jit)->lljit, &address, name);
  if (failed) {
    LLVMConsumeError(failed);
    return NULL;
  }
  return (void *)(uintptr_t)address;
}

size_t pn_jit_code_bytes(const pn_jit_t *jit) { return jit->code_bytes; }

void pn_jit_destroy(void *jit) {
  pn_jit_t *self = jit;
  if (!self)
    return;
  LLVMErrorRef failed = LLVMOrcDisposeLLJIT(self->lljit);
  if (failed)
    LLVMConsumeError(failed);
  pn_buffer_clear(&self->report);
  free(self);
}
